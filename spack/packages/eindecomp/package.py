# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

from spack.package import *


class Eindecomp(CMakePackage, CudaPackage):
    """Tensor computations in extended Einstein notation, checked at compile time, planned for p
    workers so that little data moves, and run on Kokkos and MPI. A header-only C++20 library with
    a command line planner."""

    # The checkout that this recipe lies in; `spack dev-build` takes its work tree instead.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))

    license("Apache-2.0 WITH LLVM-exception")

    version("0.1.0", branch="main")

    variant("kokkos", default=True, description="Run on Kokkos execution spaces")
    variant("openmp", default=True, when="+kokkos", description="With Kokkos' OpenMP backend")
    variant("blas", default=True, when="+kokkos", description="Products by Kokkos Kernels' BLAS")
    variant("mpi", default=True, description="Run on several processes")
    variant("tools", default=True, description="Build the command line tool eindecomp-plan")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("boost@1.70:")  # headers only: Hana
    depends_on("kokkos@3.4:", when="+kokkos")
    depends_on("kokkos-kernels@3.4:", when="+kokkos")
    depends_on("kokkos+openmp", when="+openmp")
    depends_on("kokkos-kernels+openmp", when="+openmp")
    depends_on("kokkos-kernels+blas", when="+blas")
    depends_on("mpi", when="+mpi")
    depends_on("cli11", when="+tools", type="build")
    depends_on("fmt", when="+tools")
    depends_on("nlohmann-json", when="+tools", type="build")
    depends_on("doctest", type="test")
    depends_on("python@3:", type="test")

    depends_on("kokkos+cuda+cuda_lambda+wrapper cxxstd=20", when="+cuda")
    depends_on("kokkos-kernels+cuda+cublas", when="+cuda")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
        depends_on(f"kokkos-kernels cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")

    conflicts("+cuda", when="~kokkos", msg="CUDA is reached through Kokkos")
    conflicts("+cuda", when="cuda_arch=none", msg="name the GPU, as in cuda_arch=90")
    conflicts("%gcc@:11", msg="C++20 as g++ 12 has it")
    conflicts("%clang@:15", msg="C++20 as clang 16 has it")

    def cmake_args(self):
        args = [
            self.define_from_variant("EINDECOMP_ENABLE_KOKKOS", "kokkos"),
            self.define_from_variant("EINDECOMP_ENABLE_MPI", "mpi"),
            self.define_from_variant("EINDECOMP_BUILD_TOOLS", "tools"),
            self.define("EINDECOMP_BUILD_TESTS", self.run_tests),
            self.define("EINDECOMP_BUILD_EXAMPLES", False),
            self.define("EINDECOMP_BUILD_BENCHMARKS", False),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CXX_COMPILER", self.spec["kokkos"].package.kokkos_cxx))
            # fmt 9 takes nvcc for a compiler without constexpr.
            args.append(self.define("CMAKE_CXX_FLAGS", "-DFMT_USE_CONSTEXPR=1 -DFMT_CONSTEVAL="))
        return args
