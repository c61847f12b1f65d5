#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call of einsum, and the program at the head of the README, cost their translation units,
beside a call of KokkosBlas::gemm.

    cmake --preset native && benchmarks/compile_time.py

Compiles small files as the build compiles the examples, but for optimisation, and prints the CPU
seconds of the compiler, the least of several runs of all files by turns, and in brackets how many
times those of the file that calls gemm. `separate` is with planner, kernels and executor compiled
in files of their own, which come last.
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


def program_of_readme():
    text = (ROOT / "README.md").read_text()
    begin = text.index("```cpp\n", text.index("<!-- snippet: program -->")) + len("```cpp\n")
    return text[begin:text.index("```", begin)]


def gradient_of_readme(text):
    """The same with a loss, and a step of gradient descent on W."""
    return (text.replace("ein::Program g", "ein::DifferentiableProgram g")
            .replace("  auto plan =", """  auto loss = let<"loss">() = sum(i, k)(square(S(i, k)));
  auto G = ein::gradient(loss, W);
  auto next = let<"W'">(j, k) = W(j, k) - 0.1 * G(j, k);
  auto plan =""")
            .replace("run.gather(S, 0)", "run.gather(next, 0)"))


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
    "the README's program": program_of_readme(),
    "the same, differentiable": program_of_readme().replace("ein::Program g",
                                                            "ein::DifferentiableProgram g"),
    "the same and a gradient": gradient_of_readme(program_of_readme()),
}
ONCE = {
    f"the {name}, once": f'#include "eindecomp/{room}/separate_{name}.hpp"\n'
    for name, room in (("kernels", "kernel"), ("planner", "tools"), ("executor", "run"))
}
FILES |= ONCE
SEPARATE = ["one einsum", "ten einsum", "one einsum of another algebra", "one of each algebra",
            "the README's program", "the same, differentiable", "the same and a gradient"]
ONLY_SEPARATE = ["the same, differentiable", "the same and a gradient"]
DEFINITIONS = [f"-DEINDECOMP_SEPARATE_{name}" for name in ("KERNELS", "PLANNER", "EXECUTOR")]


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
    parser.add_argument("--only", help="files whose name has this in it, and the one of gemm")
    arguments = parser.parse_args()

    command, directory = compiler.command_like(arguments.database,
                                               ROOT / "examples/quickstart.cpp")
    command = [word for word in command
               if not word.startswith(("-O", "-g", "-march", "-DEINDECOMP_SEPARATE"))]
    ways = [(name, name in ONCE) for name in FILES if name not in ONLY_SEPARATE]
    ways += [(name, True) for name in SEPARATE]
    if arguments.only:
        ways = [way for way in ways if way[0] == GEMM or arguments.only in way[0]]
    with tempfile.TemporaryDirectory() as folder:
        source = {}
        for number, (name, text) in enumerate(FILES.items()):
            source[name] = pathlib.Path(folder, f"{number}.cpp")
            source[name].write_text(text)
        for flags in arguments.flags or ["-O0", "-Og", "-O1", "-O2", "-O3 -march=native"]:
            least = {}
            for _ in range(arguments.runs):
                for name, separate in ways:
                    definitions = DEFINITIONS if separate else []
                    taken = seconds_to_compile(
                        [*command, *flags.split(), *definitions, "-c", source[name], "-o",
                         pathlib.Path(folder, "object.o")], directory)
                    least[name, separate] = min(taken, least.get((name, separate), taken))
            print(flags)
            for (name, separate), seconds in least.items():
                way = ", separate" if separate and name not in ONCE else ""
                print(f"  {name + way:42}{seconds:6.2f} "
                      f"({seconds / least[GEMM, False]:.2f})", flush=True)


if __name__ == "__main__":
    main()
