// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cstdio>
#include <eindecomp/eindecomp.hpp>

int main() {
  std::printf("EinDecomp %d\n", EINDECOMP_VERSION);
#if defined(EINDECOMP_SEPARATE_PLANNER)
  std::printf("%zu strategies\n", eindecomp::list_strategies().size());
#endif
#if defined(EINDECOMP_ENABLE_KOKKOS)
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::View<double**> a("a", 2, 3);
  Kokkos::deep_copy(a, 1.5);
  const auto sum = eindecomp::einsum<"ij->">(Kokkos::DefaultHostExecutionSpace(), a);
  std::printf("%g\n", sum());
  const Kokkos::View<double**> b("b", 131, 97);
  for (int i = 0; i < 131; ++i) {
    for (int j = 0; j < 97; ++j) b(i, j) = i - 2 * j;
  }
  const auto c = eindecomp::einsum<"ij->ji">(Kokkos::DefaultHostExecutionSpace(), b);
  for (int i = 0; i < 131; ++i) {
    for (int j = 0; j < 97; ++j) {
      if (c(j, i) != b(i, j)) return 1;
    }
  }
  return sum() == 9 ? 0 : 1;
#endif
}
