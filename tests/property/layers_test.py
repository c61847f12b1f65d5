# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One layer of a transformer and many have the same kernels in their binary, symbol for symbol.

    layers_test.py nm one_layer many_layers
"""

import re
import subprocess
import sys


def symbols(nm, program, part):
    said = subprocess.run([nm, "--demangle", "--defined-only", program], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    names = (line.split(maxsplit=2)[2] for line in said.splitlines())
    # Kernels are what is instantiated per operator. The compiler's copies of one function for some
    # callers are no kernels of their own, but for the bodies of parallel loops; and whether it emits
    # a plain function is its own affair.
    return sorted(name for name in names if part in name and re.search(r"<[^()]*eindecomp::", name)
                  and (" [clone" not in name or "_omp_fn" in name))


def main():
    nm, one, many = sys.argv[1:]
    for part in "eindecomp::kernel::", "ParallelFor", "JoinAggregateLauncher<":
        in_one, in_many = symbols(nm, one, part), symbols(nm, many, part)
        print(f"{part}: {len(in_one)} symbols with one layer, {len(in_many)} with many")
        if not in_one:
            sys.exit("there are none: this test looks for the wrong thing")
        if in_one != in_many:
            sys.exit("\n".join(sorted(set(in_one) ^ set(in_many))))


if __name__ == "__main__":
    main()
