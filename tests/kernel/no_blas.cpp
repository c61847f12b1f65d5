// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where there is no BLAS everything compiles, and products take our own kernels.

#define EINDECOMP_DISABLE_BLAS
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <string>

#include "eindecomp/kernel/einsum.hpp"
#include "eindecomp/kernel/explain.hpp"

TEST_CASE("products without a BLAS") {
  using Space = Kokkos::DefaultHostExecutionSpace;
  using Matrix = Kokkos::View<double**, Space>;
  CHECK_FALSE(eindecomp::kernel::blas::available<Space>);
  const std::size_t n = 61;
  const Matrix a("a", n, n + 1);
  const Matrix b("b", n + 1, n + 2);
  const Matrix c("c", n, n + 2);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= n; ++j) {
      a(i, j) = static_cast<double>((7 * i + 3 * j) % 11);
      b(j, i) = static_cast<double>((5 * i + 2 * j) % 13);
    }
  }
  const std::string algorithm = eindecomp::explain<"ij,jk->ik">(Space(), a, b, c);
  CHECK(algorithm.find("gemm") == std::string::npos);
  eindecomp::einsum<"ij,jk->ik">(Space(), {.alpha = 2.0}, a, b, c);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n + 2; ++k) {
      double sum = 0;
      for (std::size_t j = 0; j <= n; ++j) sum += a(i, j) * b(j, k);
      wrong += c(i, k) != 2.0 * sum ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}
