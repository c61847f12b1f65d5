// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// argmax and argmin, alone and of a join: einsum beside the loops that one would write.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "eindecomp/kernel/einsum.hpp"
#include "support/fastest.hpp"

namespace ein = eindecomp;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Space>;
using Indices = Kokkos::View<std::int64_t*, Space>;
using IndexMatrix = Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Space>;

template <class T>
Matrix<T> random_matrix(std::size_t rows, std::size_t columns) {
  Matrix<T> matrix(Kokkos::view_alloc("matrix", Kokkos::WithoutInitializing), rows, columns);
  std::uint32_t state = 12345;
  for (std::size_t n = 0; n < matrix.size(); ++n) {
    state = state * 1664525 + 1013904223;
    matrix.data()[n] = static_cast<T>(state >> 8);
  }
  return matrix;
}

/// Milliseconds of the fastest of several calls.
template <class Call>
double milliseconds(double seconds, const Call& call) {
  return 1e3 * eindecomp_benchmarks::fastest({.seconds = seconds}, call);
}

/// Prints milliseconds of an einsum beside those of the loop.
template <ein::fixed_string Text, class Algebra, class Result, class... Operands>
void compare(double seconds, std::string_view what, std::string_view type, double loop,
             const Result& of_loop, const Operands&... operands) {
  const Result ours(Kokkos::view_alloc("ours", Kokkos::WithoutInitializing), of_loop.layout());
  const double time = milliseconds(seconds, [&] {
    ein::einsum<Text, Algebra>(Space(), operands..., ours);
    Space().fence();
  });
  const bool equal = std::equal(ours.data(), ours.data() + ours.size(), of_loop.data());
  fmt::print("{:<44} {:<7} {:>9.3f} {:>9.3f} {:>7.2f}{}\n", what, type, loop, time, time / loop,
             equal ? "" : "  (results differ)");
}

template <class T>
void along_rows(double seconds, std::string_view type, std::size_t rows, std::size_t columns) {
  const auto X = random_matrix<T>(rows, columns);
  Indices theirs("theirs", rows);
  const double loop = milliseconds(seconds, [&] {
    Kokkos::parallel_for(Kokkos::RangePolicy<Space>(0, rows), [&](std::size_t i) {
      const T* const row = &X(i, 0);
      std::size_t best = 0;
      for (std::size_t j = 1; j < columns; ++j) {
        if (row[j] > row[best]) best = j;
      }
      theirs(i) = static_cast<std::int64_t>(best);
    });
    Space().fence();
  });
  compare<"ij->i", ein::Algebra<ein::Identity, ein::ArgMax>>(
      seconds, fmt::format("argmax of each row of {} x {}", rows, columns), type, loop, theirs, X);
}

template <class T>
void along_columns(double seconds, std::string_view type, std::size_t rows, std::size_t columns) {
  const auto X = random_matrix<T>(rows, columns);
  Indices theirs("theirs", columns);
  Kokkos::View<T*, Space> best("best", columns);
  const double loop = milliseconds(seconds, [&] {
    const std::size_t width = 2048;
    Kokkos::parallel_for(Kokkos::RangePolicy<Space>(0, (columns + width - 1) / width),
                         [&](std::size_t n) {
                           const std::size_t begin = n * width;
                           const std::size_t end = std::min(columns, begin + width);
                           for (std::size_t j = begin; j < end; ++j) {
                             best(j) = X(0, j);
                             theirs(j) = 0;
                           }
                           for (std::size_t i = 1; i < rows; ++i) {
                             const T* const row = &X(i, 0);
                             for (std::size_t j = begin; j < end; ++j) {
                               const bool better = row[j] > best(j);
                               best(j) = better ? row[j] : best(j);
                               theirs(j) = better ? static_cast<std::int64_t>(i) : theirs(j);
                             }
                           }
                         });
    Space().fence();
  });
  compare<"ij->j", ein::Algebra<ein::Identity, ein::ArgMax>>(
      seconds, fmt::format("argmax of each column of {} x {}", rows, columns), type, loop, theirs,
      X);
}

/// For every pair (i, k) the j on the shortest way from one over j to the other.
template <class T>
void of_sums(double seconds, std::string_view type, std::size_t n) {
  const auto X = random_matrix<T>(n, n);
  const auto Y = random_matrix<T>(n, n);
  IndexMatrix theirs("theirs", n, n);
  const double loop = milliseconds(seconds, [&] {
    Kokkos::parallel_for(Kokkos::RangePolicy<Space>(0, n), [&](std::size_t i) {
      Kokkos::View<T*, Space> best(Kokkos::view_alloc("best", Kokkos::WithoutInitializing), n);
      for (std::size_t k = 0; k < n; ++k) {
        best(k) = X(i, 0) + Y(0, k);
        theirs(i, k) = 0;
      }
      for (std::size_t j = 1; j < n; ++j) {
        const T x = X(i, j);
        const T* const y = &Y(j, 0);
        for (std::size_t k = 0; k < n; ++k) {
          const T sum = x + y[k];
          const bool better = sum < best(k);
          best(k) = better ? sum : best(k);
          theirs(i, k) = better ? static_cast<std::int64_t>(j) : theirs(i, k);
        }
      }
    });
    Space().fence();
  });
  compare<"ij,jk->ik", ein::Algebra<ein::Add, ein::ArgMin>>(
      seconds, fmt::format("argmin of X(i,j) + Y(j,k), {} x {} x {}", n, n, n), type, loop, theirs,
      X, Y);
}

template <class T>
void all(double seconds, std::string_view type) {
  along_rows<T>(seconds, type, 4096, 4096);
  along_rows<T>(seconds, type, 1000, 1000);
  along_rows<T>(seconds, type, 100'000, 10);
  along_rows<T>(seconds, type, 1, 1'000'000);
  along_columns<T>(seconds, type, 4096, 4096);
  along_columns<T>(seconds, type, 1000, 1000);
  along_columns<T>(seconds, type, 1'000'000, 8);
  of_sums<T>(seconds, type, 512);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times argmax and argmin beside loops."};
  double seconds = 0.3;
  app.add_option("--seconds", seconds, "for each measurement")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const Kokkos::ScopeGuard guard(argc, argv);
  fmt::print("{} threads; times in milliseconds\n\n", Space().concurrency());
  fmt::print("{:<44} {:<7} {:>9} {:>9} {:>7}\n", "", "type", "loop", "einsum", "ratio");
  all<double>(seconds, "double");
  all<float>(seconds, "float");
  all<std::int32_t>(seconds, "int32");
}
