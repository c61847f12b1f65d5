# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a translation unit shares with others by name does not depend on its instructions.

    crossing_test.py objdump c++filt object other object...

Of a function or a table of functions that several units have, the linker keeps one. Those that call into the inline
namespace of the instruction set, or take addresses there, are therefore in it themselves. Exempt are
a few that call there once, for something whole, so that any unit's will do. The objects are
unoptimised, for there nothing is inlined. The first two are compiled for different vectors, and have
no function of an instruction set in common.
"""

import re
import subprocess
import sys

# As symbols have them: the length and the name of a namespace.
IN_SET = re.compile(r"10no_vectors|8baseline|[0-9]+avx(?:2|512)?(?:_fma)?(?:_f16c)?")
SHARED = re.compile(r"^RELOCATION RECORDS FOR \[\.(?:text|rodata|data|data\.rel\.ro)"
                    r"\.(?:\w+\.)*(_Z\w+)\]:$")
EXEMPT = re.compile(
    # What makes all launchers of a unit: a launcher is one object of one unit.
    r"eindecomp::KokkosBackend<.*>::make<"
    # An elementary function of a number, or of a vector as wide as its type says.
    r"|eindecomp::(?:Exp|Log|Tanh|Erfc?|Sigmoid|Silu|Gelu)::operator\(\)<"
    # A copy of a box, or one made ready; a fence of stores.
    r"|eindecomp::run::copy_part<|eindecomp::run::ProgramPreparer<"
    r"|eindecomp::run::FusedTiles::run<")


def crossings(objdump, path):
    said = subprocess.run([objdump, "--reloc", path], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    name, found, functions = None, {}, set()
    for line in said.splitlines():
        if line.startswith("RELOCATION RECORDS"):
            match = SHARED.match(line)
            name = match and match.group(1)
            if name and IN_SET.search(name):
                functions.add(name)
                name = None
        elif name and (match := re.search(r"\s(_Z\w+)(?:[-+]0x[0-9a-f]+)?$", line)):
            if IN_SET.search(match.group(1)):
                found.setdefault(name, match.group(1))
    if not functions:
        sys.exit(f"{path} has no function of an instruction set: this test looks for the wrong thing")
    print(f"{path}: {len(functions)} functions of an instruction set")
    return found, functions


def demangle(filt, names):
    said = subprocess.run([filt], input="\n".join(names), check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    return said.splitlines()


def main():
    objdump, filt, *paths = sys.argv[1:]
    found, functions = {}, []
    for path in paths:
        found_here, functions_here = crossings(objdump, path)
        found |= found_here
        functions.append(functions_here)
    if both := demangle(filt, sorted(functions[0] & functions[1])[:20]):
        sys.exit("\n".join(["of two instruction sets, by one name", *both]))
    pairs = zip(demangle(filt, found.keys()), demangle(filt, found.values()))
    wrong = [f"{name}\n    uses {used}" for name, used in pairs if not EXEMPT.search(name)]
    print(f"{len(found)} others use them, {len(wrong)} of them may not")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
