# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the packed kernel does per element is inlined into its tile: a call would be handed the
accumulators by their addresses, and all of them would stay in memory.

    inlined_test.py nm program
"""

import re
import subprocess
import sys


def main():
    nm, program = sys.argv[1:]
    said = subprocess.run([nm, "--demangle", "--defined-only", program], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    if not re.search(r"accumulate_tile<.*TileAlgebra<", said):
        sys.exit("there is no tile: this test looks for the wrong thing")
    # What is called per lane, the user's functor among it, is handed no accumulator.
    called = re.findall(r"^.*(?:TileAlgebra<.*>::(?:step|merge|joined|combine)"
                        r"|LaneArray<[^()]*>::LaneArray)\((?!.*lambda).*$", said, re.MULTILINE)
    print(f"{len(called)} functions of a tile are called")
    sys.exit("\n".join(called[:10]) or 0)


if __name__ == "__main__":
    main()
