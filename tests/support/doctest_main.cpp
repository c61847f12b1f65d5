// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main of a test program of one process.

#include <doctest/doctest.h>

#include <cstdio>

#include "support/cases.hpp"

#ifdef EINDECOMP_ENABLE_KOKKOS
#include <Kokkos_Core.hpp>
#endif

int main(int argc, char** argv) {
  const int share = eindecomp_tests::share_of_cases();
  if (share != 100) std::printf("random tests that are long run %d %% of their cases\n", share);
#ifdef EINDECOMP_ENABLE_KOKKOS
  const Kokkos::ScopeGuard kokkos(argc, argv);
#endif
  return doctest::Context(argc, argv).run();
}
