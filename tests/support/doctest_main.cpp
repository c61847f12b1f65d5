// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main of a test program of one process.

#include <doctest/doctest.h>

#ifdef EINDECOMP_ENABLE_KOKKOS
#include <Kokkos_Core.hpp>
#endif

int main(int argc, char** argv) {
#ifdef EINDECOMP_ENABLE_KOKKOS
  const Kokkos::ScopeGuard kokkos(argc, argv);
#endif
  return doctest::Context(argc, argv).run();
}
