# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the C++ that the documentation shows.

A block of Markdown counts where a comment names it:

    <!-- snippet: matmul -->
    ```cpp
    auto plan = ein::decompose(g, {.workers = 16});
    ```

`<!-- snippet: more after matmul -->` compiles it after the statements of another one in the same
file, `<!-- snippet: types file -->` outside any function. A block with a main stands as it is;
others are wrapped in a function, their includes before it, the umbrella first.
"""

import argparse
import pathlib
import re
import sys

import compiler

MARK = re.compile(
    r"^<!-- snippet: (?P<name>[\w-]+)(?: after (?P<after>[\w-]+))?(?P<file> file)? -->\n"
    r"```cpp\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!-- snippet:", re.MULTILINE)
PREAMBLE = "#include <eindecomp/eindecomp.hpp>\n"


def snippets_of(path):
    """The snippets of a Markdown file, by name, each with its line."""
    text = path.read_text()
    found = {}
    for match in MARK.finditer(text):
        if match["name"] in found:
            sys.exit(f"{path}: two snippets are called {match['name']}")
        found[match["name"]] = (match, text.count("\n", 0, match.start("text")) + 1)
    if len(COMMENT.findall(text)) != len(found):
        sys.exit(f"{path}: a snippet comment is not followed by a ```cpp block, or is misspelt")
    return found


def line_directive(path, line):
    return f'#line {line} "{path}"\n'


def statements(path, found, name):
    """The includes of a snippet and of those it comes after, and their statements."""
    if name not in found:
        sys.exit(f"{path}: there is no snippet {name} to come after")
    match, line = found[name]
    includes, body = statements(path, found, match["after"]) if match["after"] else ("", "")
    body += line_directive(path, line)
    for text in match["text"].splitlines(keepends=True):
        is_include = text.startswith("#include")
        includes += text if is_include else ""
        body += "\n" if is_include else text
    return includes, body


def program(path, found, name):
    match, line = found[name]
    if re.search(r"\bint main\(", match["text"]):
        return line_directive(path, line) + match["text"]
    if match["file"]:
        return PREAMBLE + line_directive(path, line) + match["text"]
    includes, body = statements(path, found, name)
    return f"{PREAMBLE}{includes}[[maybe_unused]] static void snippet() {{\n{body}}}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subparsers = parser.add_subparsers(dest="action", required=True)
    lister = subparsers.add_parser("list", help="print the names in a file, one per line")
    lister.add_argument("markdown", type=pathlib.Path)
    checker = subparsers.add_parser("compile", help="compile one of them")
    compiler.add_arguments(checker)
    checker.add_argument("--output", type=pathlib.Path, required=True)
    checker.add_argument("markdown", type=pathlib.Path)
    checker.add_argument("name")
    arguments = parser.parse_args()

    found = snippets_of(arguments.markdown)
    if arguments.action == "list":
        print("\n".join(found))
        return
    if arguments.name not in found:
        sys.exit(f"{arguments.markdown}: the snippet {arguments.name} is gone: run CMake again")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(program(arguments.markdown, found, arguments.name))
    accepted, said = compiler.check_syntax(
        arguments, arguments.output, "-Wno-unused-variable", "-Wno-unused-but-set-variable")
    print(said)
    if not accepted:
        sys.exit(f"{arguments.markdown}: the snippet {arguments.name} does not compile")


if __name__ == "__main__":
    main()
