// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What einsum costs beside its work, on Kokkos::Serial: products of small matrices, maps and sums
// of short rows, and products of batches of small matrices, beside plain loops over the same views.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "eindecomp/kernel/einsum.hpp"
#include "support/fastest.hpp"

namespace ein = eindecomp;

namespace {

using Space = Kokkos::Serial;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
using Vector = Kokkos::View<double*, Kokkos::LayoutRight, Space>;

/// Nanoseconds of one call, in the fastest of some batches of calls.
template <class Call>
double nanoseconds(int calls, const Call& call) {
  const auto batch = [&] {
    for (int n = 0; n < calls; ++n) call();
  };
  return 1e9 * eindecomp_benchmarks::fastest({.least = 20}, batch) / calls;
}

/// Keeps what loops wrote from being optimised away.
template <class View>
void keep(const View& view) {
  // NOLINTNEXTLINE(hicpp-no-assembler)
  asm volatile("" : : "r"(view.data()) : "memory");
}

void measure_product(int n, int calls) {
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
    keep(c);
  });
  const double plus_times = nanoseconds(calls, [&] { ein::einsum<"ij,jk->ik">(space, a, b, c); });
  const double min_plus =
      nanoseconds(calls, [&] { ein::einsum<"ij,jk->ik", ein::MinPlus>(space, a, b, c); });
  fmt::print("{:>2}x{:<2} {:>10.0f} {:>10.0f} {:>10.0f} {:>12.0f}\n", n, n, loops, plus_times,
             min_plus, plus_times - loops);
}

/// Maps and sums of matrices of about 20,000 elements, in rows of `columns`.
void measure_rows(int columns, int calls) {
  const Space space;
  const int rows = 20'000 / columns;
  const Matrix a("A", rows, columns);
  const Matrix c("C", rows, columns);
  const Matrix wide("wide", rows, 2 * columns);
  const auto part = Kokkos::subview(wide, Kokkos::ALL, std::pair(0, columns));
  const Kokkos::View<double***, Kokkos::LayoutRight, Space> blocks("blocks", rows / 4, 4, columns);
  const Vector by_column("by column", columns);
  const Vector by_row("by row", rows);
  const Vector sums("sums", rows);
  const Matrix fours("fours", rows / 4, 4);
  const auto of_blocks = Kokkos::subview(a, std::pair(0, rows / 4), Kokkos::ALL);
  Kokkos::deep_copy(a, 1.5);
  Kokkos::deep_copy(by_column, 0.25);
  Kokkos::deep_copy(by_row, 0.5);
  const auto show = [&](const char* name, const auto& of_row, const auto& result,
                        const auto& einsum) {
    const double loops = nanoseconds(calls, [&] {
      for (int i = 0; i < rows; ++i) of_row(i);
      keep(result);
    });
    const double ours = nanoseconds(calls, einsum);
    fmt::print("{:<12} {:>7} {:>10.0f} {:>10.0f} {:>7.2f}\n", name, columns, loops, ours,
               ours / loops);
  };
  show(
      "ij,j->ij",
      [&](int i) {
        for (int j = 0; j < columns; ++j) c(i, j) = a(i, j) * by_column(j);
      },
      c, [&] { ein::einsum<"ij,j->ij">(space, a, by_column, c); });
  show(
      "ij,j->ij *",
      [&](int i) {
        for (int j = 0; j < columns; ++j) part(i, j) = a(i, j) * by_column(j);
      },
      part, [&] { ein::einsum<"ij,j->ij">(space, a, by_column, part); });
  show(
      "bi,bj->bij",
      [&](int r) {
        if (r >= rows / 4 * 4) return;
        for (int j = 0; j < columns; ++j) {
          blocks(r / 4, r % 4, j) = fours(r / 4, r % 4) * a(r / 4, j);
        }
      },
      blocks, [&] { ein::einsum<"bi,bj->bij">(space, fours, of_blocks, blocks); });
  show(
      "ij,i,j->ij",
      [&](int i) {
        for (int j = 0; j < columns; ++j) c(i, j) = a(i, j) * by_row(i) * by_column(j);
      },
      c, [&] { ein::einsum<"ij,i,j->ij">(space, a, by_row, by_column, c); });
  show(
      "i,j->ij",
      [&](int i) {
        for (int j = 0; j < columns; ++j) c(i, j) = by_row(i) * by_column(j);
      },
      c, [&] { ein::einsum<"i,j->ij">(space, by_row, by_column, c); });
  show(
      "ij->i",
      [&](int i) {
        double sum = 0;
        for (int j = 0; j < columns; ++j) sum += a(i, j);
        sums(i) = sum;
      },
      sums, [&] { ein::einsum<"ij->i">(space, a, sums); });
}

/// Products of about 65,000 elements in matrices of n x n.
void measure_batches(int n, int calls) {
  const Space space;
  const int count = 65'536 / (n * n);
  const Kokkos::View<double***, Kokkos::LayoutRight, Space> a("A", count, n, n);
  const Kokkos::View<double***, Kokkos::LayoutRight, Space> b("B", count, n, n);
  const Kokkos::View<double***, Kokkos::LayoutRight, Space> c("C", count, n, n);
  const Matrix x("x", count, n);
  const Matrix y("y", count, n);
  const Vector s("s", count);
  Kokkos::deep_copy(a, 1.5);
  Kokkos::deep_copy(b, 0.25);
  Kokkos::deep_copy(x, 0.5);
  const auto show = [&](const char* name, const auto& of_member, const auto& result,
                        const auto& einsum) {
    const double loops = nanoseconds(calls, [&] {
      for (int m = 0; m < count; ++m) of_member(m);
      keep(result);
    });
    const double ours = nanoseconds(calls, einsum);
    fmt::print("{:<12} {:>7} {:>10.0f} {:>10.0f} {:>7.2f}\n", name, n, loops, ours, ours / loops);
  };
  show(
      "bij,bj->bi",
      [&](int m) {
        for (int i = 0; i < n; ++i) {
          double sum = 0;
          for (int j = 0; j < n; ++j) sum += a(m, i, j) * x(m, j);
          y(m, i) = sum;
        }
      },
      y, [&] { ein::einsum<"bij,bj->bi">(space, a, x, y); });
  show(
      "bij,bjk->bik",
      [&](int m) {
        for (int i = 0; i < n; ++i) {
          for (int k = 0; k < n; ++k) {
            double sum = 0;
            for (int j = 0; j < n; ++j) sum += a(m, i, j) * b(m, j, k);
            c(m, i, k) = sum;
          }
        }
      },
      c, [&] { ein::einsum<"bij,bjk->bik">(space, a, b, c); });
  show(
      "bi,bij,bj->b",
      [&](int m) {
        double sum = 0;
        for (int i = 0; i < n; ++i) {
          for (int j = 0; j < n; ++j) sum += x(m, i) * a(m, i, j) * x(m, j);
        }
        s(m) = sum;
      },
      s, [&] { ein::einsum<"bi,bij,bj->b">(space, x, a, x, s); });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Nanoseconds of small products, of short rows and of batches of small matrices");
  int calls = 20000;
  app.add_option("--calls", calls, "calls in a batch")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Kokkos::ScopeGuard kokkos;
  fmt::print("{:>5} {:>10} {:>10} {:>10} {:>12}\n", "size", "loops", "einsum", "min-plus",
             "overhead");
  for (int n : {2, 4, 8, 16}) measure_product(n, calls);
  fmt::print("\n{:<12} {:>7} {:>10} {:>10} {:>7}   * to the columns of a wider matrix\n", "",
             "columns", "loops", "einsum", "ratio");
  for (int columns : {3, 4, 8, 16, 32, 64, 256}) measure_rows(columns, std::max(1, calls / 100));
  fmt::print("\n{:<12} {:>7} {:>10} {:>10} {:>7}\n", "", "n", "loops", "einsum", "ratio");
  for (int n : {2, 3, 4, 5, 6, 8, 12, 16}) measure_batches(n, std::max(1, calls / 300));
  return 0;
}
