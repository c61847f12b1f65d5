# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the compiler to refusing a program, and to the reason it gives.

EINDECOMP_CASE says which refusal; in case 0 the same file must compile: a program that is refused
for another reason, a missing header say, fails there and not in silence.

With --sentences the compiler's errors must be those that comments of the file begin, in any order,
and no others: "// refused: a label is computed with".

With --rules the rules that the compiler finds broken must be those that such comments begin, each by
the statement below its comment, and no others; what else goes wrong after a broken rule may be said.
"""

import argparse
import os
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


def broken_rules(source, said):
    """The sentences on broken rules, each with the line of the source that breaks it."""
    line = None  # the one named last before a failed assertion, or first after a rejection
    rejected = None
    found = []
    for text in said.splitlines():
        if where := re.match(rf".*{re.escape(os.path.basename(source))}:(\d+):", text):
            line = int(where.group(1))
            if rejected:
                found.append((rejected, line))
                rejected = None
        # g++ shows a sentence in a template argument as a literal, quotes escaped.
        if rule := re.search(r'In instantiation of .*Rejected<.*\{"EinDecomp: (.*)"\}>', text):
            rejected = re.sub(r"\\(['\"])", r"\1", rule.group(1))
        elif rule := re.search(r"static assertion failed: EinDecomp: (.*)", text):
            if not rule.group(1).startswith("this statement breaks a rule"):
                found.append((rule.group(1), line))
    return found


def check_rules(source, said):
    """Ends the program if statements break other rules than the comments above them say."""
    with open(source) as file:
        lines = file.read().splitlines()
    foretold = [(match.group(1), number) for number, line in enumerate(lines, 1)
                if (match := re.match(r" *// refused: (.*)", line))]
    found = broken_rules(source, said)
    for (sentence, begin), (_, end) in zip(foretold, foretold[1:] + [("", len(lines) + 1)]):
        here = [rule for rule, line in found if begin < line < end]
        if len(here) != 1 or not here[0].startswith(sentence):
            sys.exit(f"{said}\n{source}:{begin}: the compiler does not say once: {sentence}\n"
                     f"but: {here}")
    if len(found) != len(foretold):
        sys.exit(f"{said}\n{len(found)} rules are broken and {len(foretold)} foretold")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    compiler.add_arguments(parser)
    parser.add_argument("--case", type=int, required=True, help="the value of EINDECOMP_CASE")
    parser.add_argument("--sentences", action="store_true",
                        help="every error is one that the file foretells; not in case 0")
    parser.add_argument("--rules", action="store_true",
                        help="every broken rule is one that the file foretells; not in case 0")
    parser.add_argument("--message", help="a regular expression; not in case 0")
    parser.add_argument("--define", action="append", default=[], help="a further macro")
    parser.add_argument("source")
    arguments = parser.parse_args()
    expectations = [arguments.message is not None, arguments.sentences, arguments.rules]
    if sum(expectations) != (arguments.case != 0):
        parser.error("a case has a message, sentences or rules, case 0 has none")

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
    if arguments.rules:
        check_rules(arguments.source, said)
        return
    # g++ shows a sentence in a template argument as a literal, quotes escaped.
    said = said.replace("\\'", "'").replace('\\"', '"')
    if not re.search(arguments.message, said):
        sys.exit(f"{said}\nthe compiler refuses it, but does not say: {arguments.message}")


if __name__ == "__main__":
    main()
