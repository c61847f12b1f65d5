// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What einsum costs beside its work: products of small matrices on Kokkos::Serial, beside three
// plain loops over the same views.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>

#include "eindecomp/kernel/einsum.hpp"

namespace ein = eindecomp;

namespace {

using Space = Kokkos::Serial;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Space>;

/// Nanoseconds of one call, in the fastest of some batches of calls.
template <class Call>
double nanoseconds(int calls, const Call& call) {
  double fastest = 0;
  for (int batch = 0; batch < 20; ++batch) {
    const auto begin = std::chrono::steady_clock::now();
    for (int n = 0; n < calls; ++n) call();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    const double each = time.count() / calls;
    fastest = batch == 0 ? each : std::min(fastest, each);
  }
  return fastest;
}

void measure(int n, int calls) {
  const Space space;
  const Matrix a("A", n, n);
  const Matrix b("B", n, n);
  const Matrix c("C", n, n);
  Kokkos::deep_copy(a, 1.5);
  Kokkos::deep_copy(b, 0.25);
  const double loops = nanoseconds(calls, [&] {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < n; ++k) {
        double sum = 0;
        for (int j = 0; j < n; ++j) sum += a(i, j) * b(j, k);
        c(i, k) = sum;
      }
    }
    // NOLINTNEXTLINE(hicpp-no-assembler): keeps the loops' result from being optimised away.
    asm volatile("" : : "r"(c.data()) : "memory");
  });
  const double plus_times = nanoseconds(calls, [&] { ein::einsum<"ij,jk->ik">(space, a, b, c); });
  const double min_plus =
      nanoseconds(calls, [&] { ein::einsum<"ij,jk->ik", ein::MinPlus>(space, a, b, c); });
  fmt::print("{:>2}x{:<2} {:>10.0f} {:>10.0f} {:>10.0f} {:>12.0f}\n", n, n, loops, plus_times,
             min_plus, plus_times - loops);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Nanoseconds of small products");
  int calls = 20000;
  app.add_option("--calls", calls, "calls in a batch")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Kokkos::ScopeGuard kokkos;
  fmt::print("{:>5} {:>10} {:>10} {:>10} {:>12}\n", "size", "loops", "einsum", "min-plus",
             "overhead");
  for (int n : {2, 4, 8, 16}) measure(n, calls);
  return 0;
}
