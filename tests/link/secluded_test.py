# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of one of several instruction sets give none of their code to other units.

    secluded_test.py readelf object...

All that other units see of such an object are the functions that hand out its kernels, and data.
Those variables that a program has once it does share. Nothing of it runs before a set is chosen.
"""

import re
import subprocess
import sys

IN_SET = re.compile(r"10no_vectors|8baseline|[0-9]+avx(?:2|512)?(?:_fma)?(?:_f16c)?")
TABLE = re.compile(r"^_ZT[VTC]")
HANDED_OUT = re.compile(r"KernelsOfSet|SharedOfSet")
SYMBOL = re.compile(r"^\s*\d+: \S+\s+\S+ (FUNC|IFUNC|OBJECT|TLS|NOTYPE)\s+(\w+)"
                    r"\s+\S+\s+\d+ (\S+)$", re.MULTILINE)


def read(readelf, what, path):
    return subprocess.run([readelf, "--wide", what, path], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def main():
    readelf, *paths = sys.argv[1:]
    for path in paths:
        symbols = SYMBOL.findall(read(readelf, "--symbols", path))
        shared = [(kind, name) for kind, bound, name in symbols if bound != "LOCAL"]
        own = [(kind, name) for kind, bound, name in symbols if bound == "LOCAL"]
        functions = [name for kind, name in shared if kind not in ("OBJECT", "TLS")]
        handed_out = [name for name in functions if HANDED_OUT.search(name)]
        print(f"{path}: {len(handed_out)} functions handed out, {len(shared)} symbols shared")
        if not handed_out:
            sys.exit("there are none: this test looks for the wrong thing")
        if leaked := sorted(set(functions) - set(handed_out)):
            sys.exit("\n".join([f"gives others {len(leaked)} of its", *leaked[:20]]))
        if tables := [name for _, name in shared if TABLE.search(name)]:
            sys.exit("\n".join(["gives others its tables of functions", *tables]))
        if kept := [name for kind, name in own if kind in ("OBJECT", "TLS")
                    and re.match(r"_ZZ?N\w*9eindecomp", name) and not IN_SET.search(name)]:
            sys.exit("\n".join(["has to itself what a program has once", *kept]))
        if re.search(r"\s\.(pre)?init_array|\s\.ctors", read(readelf, "--sections", path)):
            sys.exit("runs before it is chosen")


if __name__ == "__main__":
    main()
