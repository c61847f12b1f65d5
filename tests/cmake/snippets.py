# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the C++ that the documentation shows.

A block of Markdown counts where a comment names it:

    <!-- snippet: matmul -->
    ```cpp
    auto plan = ein::decompose(g, {.workers = 16});
    ```

`<!-- snippet: more after matmul -->` compiles it after the statements of another one in the same
file, `<!-- snippet: types file -->` outside any function. A block with a main is a file as it
stands; the others are compiled together, each in a namespace of its own and, but for those outside
any function, in a function; their includes come first, the umbrella's before all.
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


def statements_of(path, found, name):
    """The includes of a snippet and of those it comes after, and their statements."""
    if name not in found:
        sys.exit(f"{path}: there is no snippet {name} to come after")
    match, line = found[name]
    includes, body = statements_of(path, found, match["after"]) if match["after"] else ("", "")
    body += line_directive(path, line)
    for text in match["text"].splitlines(keepends=True):
        is_include = text.startswith("#include")
        includes += text if is_include else ""
        body += "\n" if is_include else text
    return includes, body


def has_main(match):
    return re.search(r"\bint main\(", match["text"])


def programs(path, found):
    """The text of every file to compile, by its name."""
    made = {}
    includes, body = PREAMBLE, ""
    for name, (match, line) in found.items():
        if has_main(match):
            made[name] = line_directive(path, line) + match["text"]
            continue
        own_includes, statements = statements_of(path, found, name)
        includes += own_includes
        if not match["file"]:
            statements = f"[[maybe_unused]] static void snippet() {{\n{statements}}}\n"
        body += f"namespace snippet_{name.replace('-', '_')} {{\n{statements}}}\n"
    if body:
        made["together"] = includes + body
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    compiler.add_arguments(parser)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="a folder")
    parser.add_argument("markdown", type=pathlib.Path)
    arguments = parser.parse_args()

    found = snippets_of(arguments.markdown)
    if not found:
        sys.exit(f"{arguments.markdown} has no snippet")
    arguments.output.mkdir(parents=True, exist_ok=True)
    failed = False
    for name, text in programs(arguments.markdown, found).items():
        source = arguments.output / f"{name}.cpp"
        source.write_text(text)
        accepted, said = compiler.check_syntax(
            arguments, source, "-Wno-unused-variable", "-Wno-unused-but-set-variable")
        print(said)
        failed = failed or not accepted
    if failed:
        sys.exit(f"{arguments.markdown}: a snippet does not compile")


if __name__ == "__main__":
    main()
