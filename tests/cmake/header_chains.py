# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the sources that show that every header compiles by itself, with little read twice.

A header may stand behind others that it includes, directly or not: what they declare, it would have
declared itself, so they hide nothing that it lacks. Headers are therefore put into chains in which each
includes the one before it, and a chain is a source. Headers that include each other in a circle, and
those that define macros for what they include, begin a source each, because there the order matters.

Of all such chains those are taken whose last headers include the least, which is what compiling them
takes.
"""

import argparse
import os
import re
import sys


def includes(path):
    """What a header includes whatever is defined."""
    found, depth = [], 0
    with open(path) as file:
        for line in file:
            if re.match(r"\s*#\s*if", line):
                depth += 1
            elif re.match(r"\s*#\s*endif", line):
                depth -= 1
            elif depth == 0 and (name := re.match(r'\s*#\s*include "([^"]+)"', line)):
                found.append(name.group(1))
    return found


def defines_macros_first(path):
    """Whether a header defines a macro before one of its includes."""
    with open(path) as file:
        return re.search(r"^\s*#\s*define\b.*^\s*#\s*include\b", file.read(), re.MULTILINE | re.DOTALL)


def closures(headers, direct):
    """For each header all that it includes, directly or not."""
    result = {}
    for header in headers:
        seen, waiting = set(), [header]
        while waiting:
            for name in direct(waiting.pop()):
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        result[header] = seen
    return result


def make_chains(headers, closure, first):
    """Chains of headers, each header in one, in which each includes the one before it; some must be the
    first of theirs."""
    behind = {}  # by header: the one it stands behind
    ahead = {}   # and the one that stands behind it

    def place(header, tried):
        """Finds a header to stand behind this one, moving others where that takes it."""
        for other in headers:
            if header not in closure[other] or other in first or other in tried:
                continue
            tried.add(other)
            if other not in behind or place(behind[other], tried):
                behind[other] = header
                ahead[header] = other
                return True
        return False

    # Those that include most, and so take longest, are the last that should end a chain.
    for header in sorted(headers, key=lambda h: (-len(closure[h]), h)):
        place(header, set())
    chains = []
    for header in headers:
        if header in behind:
            continue
        chain = [header]
        while chain[-1] in ahead:
            chain.append(ahead[chain[-1]])
        chains.append(chain)
    return chains


def check_chains(headers, closure, first, chains):
    """What the argument above rests on."""
    assert sorted(sum(chains, [])) == sorted(headers), "a header is in no chain, or in two"
    for chain in chains:
        for before, after in zip(chain, chain[1:]):
            assert before in closure[after], f"{after} does not include {before}"
            assert after not in first, f"{after} must begin a source"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, help="the folder that includes are relative to")
    parser.add_argument("--output", required=True, help="the folder of the sources, which is made")
    parser.add_argument("headers", nargs="+")
    arguments = parser.parse_args()

    known = {}

    def direct(name):
        if name not in known:
            path = os.path.join(arguments.root, name)
            known[name] = includes(path) if os.path.exists(path) else []
        return known[name]

    sys.setrecursionlimit(10000)
    headers = sorted(os.path.relpath(header, arguments.root) for header in arguments.headers)
    closure = closures(headers, direct)
    first = {header for header in headers if header in closure[header]
             or defines_macros_first(os.path.join(arguments.root, header))}
    chains = make_chains(headers, closure, first)
    check_chains(headers, closure, first, chains)

    os.makedirs(arguments.output, exist_ok=True)
    for chain in chains:
        source = os.path.join(arguments.output, chain[-1].replace("/", "_") + ".cpp")
        text = "".join(f'#include "{header}"\n' for header in chain)
        try:
            with open(source) as file:
                same = file.read() == text
        except FileNotFoundError:
            same = False
        if not same:
            with open(source, "w") as file:
                file.write(text)
        print(source)


if __name__ == "__main__":
    main()
