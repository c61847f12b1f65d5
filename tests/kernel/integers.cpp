// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What vectors of the compiler do otherwise than numbers: comparisons give all bits, not 1, and
// nothing looks for a division by 0.

#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "eindecomp/expr/compose.hpp"
#include "eindecomp/expr/functions.hpp"
#include "eindecomp/kernel/einsum.hpp"

using eindecomp::Algebra;
using eindecomp::Arg;
using eindecomp::Composed;
using eindecomp::einsum;
using eindecomp::Sum;

namespace {

constexpr std::size_t n = 103;  // vectors and what is left

template <class T>
struct NumberPair {
  Kokkos::View<T*, Kokkos::HostSpace> x{"x", n};
  Kokkos::View<T*, Kokkos::HostSpace> y{"y", n};
  NumberPair() {
    for (std::size_t i = 0; i < n; ++i) {
      x(i) = static_cast<T>(i % 7);
      y(i) = static_cast<T>(i % 5);
    }
  }
};

/// Whether an element-wise EinSum gives what the functor gives of numbers.
template <class Join, class T>
[[nodiscard]] bool maps_as_numbers(const Join& join, const NumberPair<T>& of) {
  const auto z = einsum<"i,i->i", Algebra<Join, Sum>>(of.x, of.y);
  for (std::size_t i = 0; i < n; ++i) {
    if (z(i) != static_cast<typename decltype(z)::value_type>(join(of.x(i), of.y(i)))) return false;
  }
  return true;
}

template <class Op>
using OfBoth = Composed<Op, Arg<0>, Arg<1>>;

template <class T>
void check_comparisons() {
  using namespace eindecomp;
  const NumberPair<T> of;
  CHECK(maps_as_numbers(Less{}, of));
  CHECK(maps_as_numbers(NotEqual{}, of));
  CHECK(maps_as_numbers(Composed<Mul, OfBoth<GreaterEqual>, Arg<0>>{}, of));
  CHECK(maps_as_numbers(Composed<Select, OfBoth<Less>, Arg<0>, Arg<1>>{}, of));
  CHECK(maps_as_numbers(
      Composed<Select, Composed<Greater, OfBoth<Less>, OfBoth<Equal>>, Arg<0>, Arg<1>>{}, of));

  const auto equal = einsum<"i,i->", Algebra<Equal, Sum>>(of.x, of.y);
  int expected = 0;
  for (std::size_t i = 0; i < n; ++i) expected += of.x(i) == of.y(i) ? 1 : 0;
  CHECK(equal() == expected);
}

template <class T>
void check_division() {
  const NumberPair<T> of;
  of.x(9) = std::numeric_limits<T>::min();
  of.y(9) = T(-1);
  CHECK(maps_as_numbers(eindecomp::Div{}, of));  // of which each fifth is by 0
  const auto sum = einsum<"i,i->", Algebra<eindecomp::Div, Sum>>(of.x, of.y);
  T expected{};
  for (std::size_t i = 0; i < n; ++i) {
    expected = static_cast<T>(expected + eindecomp::Div{}(of.x(i), of.y(i)));
  }
  CHECK(sum() == expected);
}

}  // namespace

TEST_CASE("comparisons are 0 or 1, of vectors too") {
  check_comparisons<std::int32_t>();
  check_comparisons<std::uint32_t>();
  check_comparisons<std::int64_t>();
  check_comparisons<double>();
}

TEST_CASE("integers divided by 0 give 0, in vectors too") {
  check_division<std::int32_t>();
  check_division<std::int64_t>();
}
