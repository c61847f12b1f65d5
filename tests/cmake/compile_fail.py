# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the compiler to refusing a program, and to the reason it gives.

EINDECOMP_CASE says which refusal; in case 0 the same file must compile: a program that is refused
for another reason, a missing header say, fails there and not in silence.

With --sentences the compiler's errors must be those that comments of the file begin, in any order,
and no others: "// refused: a label is computed with".
"""

import argparse
import re
import sys

import compiler


def check_sentences(source, said):
    """Ends the program if the errors are not those that the source foretells."""
    with open(source) as file:
        foretold = re.findall(r"^ *// refused: (.*)$", file.read(), re.MULTILINE)
    errors = [line for line in said.splitlines() if re.search(r"\berror: ", line)]
    for error in errors:
        found = [sentence for sentence in foretold if f"EinDecomp: {sentence}" in error]
        if not found:
            sys.exit(f"{said}\nnot foretold: {error}")
        foretold.remove(max(found, key=len))
    if foretold:
        sys.exit(f"{said}\nthe compiler does not say: {foretold}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    compiler.add_arguments(parser)
    parser.add_argument("--case", type=int, required=True, help="the value of EINDECOMP_CASE")
    parser.add_argument("--sentences", action="store_true",
                        help="every error is one that the file foretells; not in case 0")
    parser.add_argument("--message", help="a regular expression; not in case 0")
    parser.add_argument("--define", action="append", default=[], help="a further macro")
    parser.add_argument("source")
    arguments = parser.parse_args()
    if (arguments.message is None and not arguments.sentences) != (arguments.case == 0):
        parser.error("a case has a message or sentences, case 0 has none")

    accepted, said = compiler.check_syntax(
        arguments, arguments.source, f"-DEINDECOMP_CASE={arguments.case}",
        *(f"-D{macro}" for macro in arguments.define))
    if arguments.case == 0:
        if not accepted:
            sys.exit(f"{said}\nthe positive control does not compile")
        return
    if accepted:
        sys.exit("the compiler accepts what it should refuse")
    if arguments.sentences:
        check_sentences(arguments.source, said)
        return
    # g++ shows a sentence in a template argument as a literal, quotes escaped.
    said = said.replace("\\'", "'").replace('\\"', '"')
    if not re.search(arguments.message, said):
        sys.exit(f"{said}\nthe compiler refuses it, but does not say: {arguments.message}")


if __name__ == "__main__":
    main()
