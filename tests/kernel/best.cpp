// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// argmin and argmax by vectors: ties, infinities, what is not a number, ends of runs, any strides.

#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "eindecomp/kernel/einsum.hpp"
#include "support/cases.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
template <class T>
using Matrix = Kokkos::View<const T**, Kokkos::LayoutStride, Space::memory_space>;
template <class T>
using Vector = Kokkos::View<const T*, Kokkos::LayoutStride, Space::memory_space>;
using Indices = Kokkos::View<std::int64_t*, Space::memory_space>;
using IndexMatrix = Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Space::memory_space>;

/// Few different values, so that many are equal; some are the ends of T, some are not numbers.
template <class T>
struct Values {
  std::mt19937 random;

  T operator()() {
    const auto n = static_cast<int>(random() % 40);
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::has_infinity) {
      if (n == 0) return Limits::infinity();
      if (n == 1) return -Limits::infinity();
      if (n == 2) return Limits::quiet_NaN();
      if (n == 3) return T(-0.0);
    } else {
      if (n == 0) return Limits::max();
      if (n == 1) return Limits::min();
    }
    return static_cast<T>(n % 5);
  }
};

/// A user's ⊗, which does not promise to take vectors.
struct Gap {
  template <class T>
  EINDECOMP_FUNCTION T operator()(T a, T b) const {
    return a < b ? b - a : a - b;
  }
};

template <class T>
struct Elements {
  std::vector<T> data;

  /// \param kind  of what all are: 0 of any value, 1 of the worst, 2 of none that is a number
  Elements(std::size_t count, Values<T>& values, int kind, bool smallest) : data(count) {
    using Limits = std::numeric_limits<T>;
    for (T& element : data) {
      element = values();
      if (kind == 2 && Limits::has_quiet_NaN) element = Limits::quiet_NaN();
      if (kind == 1) {
        const T least = Limits::has_infinity ? -Limits::infinity() : Limits::min();
        const T greatest = Limits::has_infinity ? Limits::infinity() : Limits::max();
        element = smallest ? greatest : least;
      }
    }
  }
  [[nodiscard]] Matrix<T> matrix(std::size_t rows, std::size_t row_stride, std::size_t columns,
                                 std::size_t column_stride) const {
    return Matrix<T>(data.data(), Kokkos::LayoutStride(rows, row_stride, columns, column_stride));
  }
};

/// The position of the best of value(0), …, of equal ones the first; what is not a number is as bad
/// as can be.
template <bool Smallest, class Value>
std::int64_t best_of(std::size_t count, const Value& value) {
  using T = std::decay_t<decltype(value(0))>;
  std::int64_t best = -1;
  T of_best{};
  for (std::size_t n = 0; n < count; ++n) {
    T v = value(n);
    if (v != v) v = Smallest ? expr::greatest<T> : expr::least<T>;
    if (best >= 0 && (Smallest ? !(v < of_best) : !(v > of_best))) continue;
    best = static_cast<std::int64_t>(n);
    of_best = v;
  }
  return best;
}

const std::size_t lengths[] = {1,  2,  3,  7,   8,   9,   15,  16,  17,  31,   33,
                               63, 64, 65, 100, 127, 129, 200, 255, 257, 1000, 20'000};

template <class T, class Monoid>
void check_one(unsigned seed) {
  constexpr bool smallest = Monoid::smallest;
  Values<T> values{std::mt19937(seed)};
  for (const std::size_t length : lengths) {
    const std::size_t outputs = length > 1000 ? 2 : 1 + values.random() % 40;
    const int kind = static_cast<int>(values.random() % 5);
    const std::size_t step = 1 + values.random() % 3 / 2;
    const Elements<T> elements(length * outputs * step, values, kind, smallest);
    CAPTURE(seed);
    CAPTURE(length);
    CAPTURE(outputs);
    CAPTURE(kind);
    CAPTURE(step);
    const Indices best("best", outputs);
    const auto check = [&](const Matrix<T>& X) {
      einsum<"ij->i", Algebra<Identity, Monoid>>(Space(), X, best);
      Space().fence();
      for (std::size_t i = 0; i < outputs; ++i) {
        CAPTURE(i);
        REQUIRE(best(i) == best_of<smallest>(length, [&](std::size_t j) { return X(i, j); }));
      }
    };
    check(elements.matrix(outputs, length * step, length, step));
    check(elements.matrix(outputs, step, length, outputs * step));
  }
}

template <class T, class Join, class Monoid>
void check_joins(unsigned seed) {
  constexpr bool smallest = Monoid::smallest;
  Values<T> values{std::mt19937(seed)};
  for (const std::size_t length : lengths) {
    const std::size_t m = 1 + values.random() % 5;
    const std::size_t n = length > 1000 ? 1 : 1 + values.random() % 40;
    const int kind = static_cast<int>(values.random() % 5);
    const Elements<T> x(m * length, values, kind, smallest);
    const Elements<T> y(length * n, values, kind, smallest);
    CAPTURE(seed);
    CAPTURE(length);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(kind);
    const IndexMatrix best("best", m, n);
    const auto check = [&](const Matrix<T>& X, const Matrix<T>& Y) {
      einsum<"ij,jk->ik", Algebra<Join, Monoid>>(Space(), X, Y, best);
      Space().fence();
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t k = 0; k < n; ++k) {
          CAPTURE(i);
          CAPTURE(k);
          REQUIRE(best(i, k) == best_of<smallest>(length, [&](std::size_t j) {
                    return static_cast<T>(Join{}(X(i, j), Y(j, k)));
                  }));
        }
      }
    };
    check(x.matrix(m, length, length, 1), y.matrix(length, n, n, 1));
    check(x.matrix(m, length, length, 1), y.matrix(length, 1, n, length));
    check(x.matrix(m, 1, length, m), y.matrix(length, 1, n, length));
  }
}

}  // namespace

TEST_CASE("argmin and argmax along rows and columns of any stride") {
  for (int n = 0; n < random_cases(20); ++n) {
    const auto seed = static_cast<unsigned>(n);
    check_one<double, ArgMax>(seed);
    check_one<float, ArgMin>(seed);
    check_one<std::int32_t, ArgMax>(seed);
    check_one<std::uint32_t, ArgMin>(seed);
    check_one<std::int64_t, ArgMin>(seed);
    check_one<std::uint64_t, ArgMax>(seed);
  }
}

TEST_CASE("argmin and argmax of joins, of which an operand may be the same all along") {
  for (int n = 0; n < random_cases(20); ++n) {
    const auto seed = static_cast<unsigned>(1000 + n);
    check_joins<double, Add, ArgMin>(seed);
    check_joins<float, Add, ArgMax>(seed);
    check_joins<float, Gap, ArgMin>(seed);
  }
}
