#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call of einsum costs its translation unit, beside one of KokkosBlas::gemm.

    cmake --preset native && benchmarks/compile_time.py

Compiles small files as the build compiles the benchmarks, but for optimisation, and prints the CPU
seconds of the compiler, the least of several runs of all files by turns, and in brackets how many
times those of the file that calls gemm. `separate` is with EINDECOMP_SEPARATE_KERNELS.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests/cmake"))
import compiler  # noqa: E402

HEADER = '#include "eindecomp/kernel/einsum.hpp"\n'
VIEWS = "using View = Kokkos::View<double**>;\n"
FUNCTION = "void compute(const View& a, const View& b, const View& c) {\n"
SPACE = "  const Kokkos::DefaultExecutionSpace space;\n"
TEXTS = ["ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ji,kj->ik", "ij,jk->ki", "ij,kj->ki", "ji,jk->ki",
         "ji,kj->ki", "ij,ij->ij", "ij,ji->ij"]


def einsums(texts, algebra=""):
    calls = "".join(f'  eindecomp::einsum<"{text}"{algebra}>(space, a, b, c);\n' for text in texts)
    return HEADER + VIEWS + FUNCTION + SPACE + calls + "}\n"


GEMM = "KokkosBlas::gemm"
FILES = {
    GEMM: ("#include <Kokkos_Core.hpp>\n#include <KokkosBlas3_gemm.hpp>\n" + VIEWS + FUNCTION +
           '  KokkosBlas::gemm("N", "N", 1.0, a, b, 0.0, c);\n}\n'),
    "einsum.hpp, no call": HEADER,
    "one einsum": einsums(TEXTS[:1]),
    "ten einsum": einsums(TEXTS),
    "one einsum of another algebra": einsums(TEXTS[:1], ", eindecomp::SquaredDistance"),
    "one of each algebra": einsums(TEXTS[:1]) + einsums(TEXTS[:1], ", eindecomp::SquaredDistance")
                   .replace(HEADER + VIEWS, "").replace("compute", "compute_another"),
    "the kernels, once": '#include "eindecomp/kernel/separate_kernels.hpp"\n',
}
SEPARATE = ["one einsum", "ten einsum", "one einsum of another algebra", "one of each algebra"]


def seconds_to_compile(command, directory):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=directory, check=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", default=ROOT / "build/native/compile_commands.json")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--flags", action="append", help="--flags=-O2, may be repeated")
    arguments = parser.parse_args()

    command, directory = compiler.command_like(arguments.database,
                                               ROOT / "benchmarks/contractions.cpp")
    command = [word for word in command
               if not word.startswith(("-O", "-g", "-march", "-DEINDECOMP_SEPARATE"))]
    ways = [(name, False) for name in FILES] + [(name, True) for name in SEPARATE]
    with tempfile.TemporaryDirectory() as folder:
        source = {}
        for number, (name, text) in enumerate(FILES.items()):
            source[name] = pathlib.Path(folder, f"{number}.cpp")
            source[name].write_text(text)
        for flags in arguments.flags or ["-O0", "-Og", "-O1", "-O2", "-O3 -march=native"]:
            least = {}
            for _ in range(arguments.runs):
                for name, separate in ways:
                    definition = ["-DEINDECOMP_SEPARATE_KERNELS"] if separate else []
                    taken = seconds_to_compile(
                        [*command, *flags.split(), *definition, "-c", source[name], "-o",
                         pathlib.Path(folder, "object.o")], directory)
                    least[name, separate] = min(taken, least.get((name, separate), taken))
            print(flags)
            for (name, separate), seconds in least.items():
                print(f"  {name + (', separate' if separate else ''):42}{seconds:6.2f} "
                      f"({seconds / least[GEMM, False]:.2f})", flush=True)


if __name__ == "__main__":
    main()
