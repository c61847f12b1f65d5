# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the compiler to refusing a program, and to the reason it gives.

The same file must compile without EINDECOMP_EXPECT_REJECTION: a program that is refused for
another reason, a missing header say, fails here and not in silence.
"""

import argparse
import re
import sys

import compiler


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    compiler.add_arguments(parser)
    parser.add_argument("--case", default="0", help="the value of EINDECOMP_CASE")
    parser.add_argument("--message", required=True, help="a regular expression")
    parser.add_argument("source")
    arguments = parser.parse_args()
    case = f"-DEINDECOMP_CASE={arguments.case}"

    accepted, said = compiler.check_syntax(arguments, arguments.source, case)
    if not accepted:
        sys.exit(f"{said}\nthe positive control does not compile")

    accepted, said = compiler.check_syntax(
        arguments, arguments.source, case, "-DEINDECOMP_EXPECT_REJECTION")
    if accepted:
        sys.exit("the compiler accepts what it should refuse")
    # g++ shows a sentence in a template argument as a literal, quotes escaped.
    said = said.replace("\\'", "'").replace('\\"', '"')
    if not re.search(arguments.message, said):
        sys.exit(f"{said}\nthe compiler refuses it, but does not say: {arguments.message}")


if __name__ == "__main__":
    main()
