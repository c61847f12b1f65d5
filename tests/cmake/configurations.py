# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configures the library with Kokkos where a user may have it, alone and inside another project.

    configurations.py CMAKE GENERATOR MAKE COMPILER

Kokkos, Kokkos Kernels and Boost are packages without contents, and no others are seen, so that what
this machine has does not matter. Nothing is compiled but the compiler's own check.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE, GENERATOR, MAKE, COMPILER = sys.argv[1:]
PARENT = """cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
add_library(headers INTERFACE)  # in no export set
add_library(Boost::headers ALIAS headers)
add_subdirectory({root} eindecomp)
get_target_property(flags eindecomp_planner COMPILE_OPTIONS)
get_target_property(linked eindecomp_planner LINK_LIBRARIES)
message(STATUS "planner: ${{flags}}, ${{linked}}")
"""
CONSUMER = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(EinDecomp REQUIRED COMPONENTS {component})
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def package(prefix, name, target):
    write(prefix / f"lib/cmake/{name}/{name}Config.cmake",
          f"add_library({target} INTERFACE IMPORTED)\n")
    version = "set(PACKAGE_VERSION 9)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n"
    write(prefix / f"lib/cmake/{name}/{name}ConfigVersion.cmake", version)


def kokkos(prefix):
    package(prefix, "Kokkos", "Kokkos::kokkos")
    package(prefix, "KokkosKernels", "Kokkos::kokkoskernels")
    return prefix


def main(folder):
    package(folder / "boost", "Boost", "Boost::headers")
    clean = {name: value for name, value in os.environ.items()
             if name not in ("CMAKE_PREFIX_PATH", "CMAKE_BUILD_TYPE", "Kokkos_ROOT",
                             "KokkosKernels_ROOT", "XDG_CACHE_HOME", "EINDECOMP_DEPS_PREFIX")}
    clean["HOME"] = str(folder / "home")
    wrong = []

    def configure(build, *options, source=ROOT, **environment):
        command = [CMAKE, "-S", source, "-B", folder / build, "-G", GENERATOR, "-Wno-dev",
                   f"-DCMAKE_MAKE_PROGRAM={MAKE}", f"-DCMAKE_CXX_COMPILER={COMPILER}",
                   f"-DBoost_DIR={folder}/boost/lib/cmake/Boost",
                   "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF",
                   "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF",
                   "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF"]
        if source == ROOT:
            command += [f"-DEINDECOMP_BUILD_{part}=OFF"
                        for part in ("TESTS", "EXAMPLES", "BENCHMARKS", "TOOLS")]
        result = subprocess.run(command + list(options), env=clean | environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return " ".join(result.stdout.split())

    def expect(what, said, *words):
        if any(word not in said for word in words):
            wrong.append(f"{what}: {' and '.join(words)} expected: {said}")

    def cached(build, variable):
        lines = (folder / build / "CMakeCache.txt").read_text().splitlines()
        return next(line.partition("=")[2] for line in lines if line.startswith(variable + ":"))

    # What was not found at first is looked for again.
    mine = kokkos(folder / "mine")
    said = configure("again")
    expect("without Kokkos", said, "Kokkos OFF, MPI OFF", "name their folders by CMAKE_PREFIX_PATH",
           "MPI not found")
    expect("with it", configure("again", f"-DCMAKE_PREFIX_PATH={mine}"), "Kokkos ON, MPI OFF")
    expect("OFF", configure("off", "-DEINDECOMP_ENABLE_KOKKOS=OFF", f"-DCMAKE_PREFIX_PATH={mine}"),
           "Kokkos OFF")
    expect("ON", configure("on", "-DEINDECOMP_ENABLE_KOKKOS=ON"), "Could not find", "Kokkos")
    if "Makefiles" in GENERATOR or GENERATOR == "Ninja":
        expect("the type of build", cached("again", "CMAKE_BUILD_TYPE"), "Release")

    # bootstrap's folder is found as scripts/env.sh names it, after what the user names.
    built = kokkos(folder / "home/.cache/eindecomp/kokkos-3.4.01")
    configure("home", XDG_CACHE_HOME="")
    expect("an empty XDG_CACHE_HOME", cached("home", "Kokkos_DIR"), str(built))
    configure("environment", CMAKE_PREFIX_PATH=str(mine))
    expect("the environment's CMAKE_PREFIX_PATH", cached("environment", "Kokkos_DIR"), str(mine))

    # A component that is none, and one that was left out.
    subprocess.run([CMAKE, "--install", folder / "off", "--prefix", folder / "stage"], check=True,
                   stdout=subprocess.DEVNULL)
    for component, words in (("executor", "Components are core, kokkos and mpi"),
                             ("kokkos", "again with -DEINDECOMP_ENABLE_KOKKOS=ON")):
        write(folder / component / "CMakeLists.txt", CONSUMER.format(component=component))
        said = configure(f"{component}-build", f"-DCMAKE_PREFIX_PATH={folder}/stage",
                         source=folder / component)
        expect(f"the component {component}", said, words)

    # Inside another project nothing is installed, and the parts have that project's flags.
    write(folder / "parent/CMakeLists.txt", PARENT.format(root=ROOT))
    said = configure("inside", source=folder / "parent")
    expect("inside another project", said, "Generating done",
           "planner: flags-NOTFOUND, EinDecomp::core ")
    subprocess.run([CMAKE, "--install", folder / "inside", "--prefix", folder / "none"], check=True,
                   stdout=subprocess.DEVNULL)
    if any(path.is_file() for path in (folder / "none").rglob("*")):
        wrong.append("inside another project: EinDecomp installs itself")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(pathlib.Path(temporary).resolve())
