// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/expr/functions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "expr/functions_expected.hpp"

namespace ein = eindecomp;

namespace {

/// Within a few units of the last place, NaN as NaN.
template <class T>
bool close(T ours, double expected) {
  if (std::isnan(expected)) return std::isnan(static_cast<double>(ours));
  if (std::isinf(expected)) return static_cast<double>(ours) == expected;
  const double unit = std::is_same_v<T, float> ? 1e-6 : 4e-15;
  return std::abs(static_cast<double>(ours) - expected) <= unit * std::abs(expected) ||
         std::abs(static_cast<double>(ours) - expected) <= std::numeric_limits<T>::min();
}

}  // namespace

TEST_CASE("functions of one element give what NumPy and SciPy do") {
#define EXPECT_UNARY(Functor, x, expected)                \
  CHECK_MESSAGE(close(1.0 * ein::Functor{}(x), expected), \
                #Functor "(" #x ") = ", ein::Functor{}(x), ", NumPy's is " #expected);
  EINDECOMP_UNARY_EXPECTED(EXPECT_UNARY)
#undef EXPECT_UNARY
}

TEST_CASE("functions of two elements give what NumPy does") {
#define EXPECT_BINARY(Functor, a, b, expected) CHECK(close(ein::Functor{}(a, b), expected));
  EINDECOMP_BINARY_EXPECTED(EXPECT_BINARY)
#undef EXPECT_BINARY
#define EXPECT_WHOLE(Functor, a, b, expected) CHECK(ein::Functor{}(a, b) == (expected));
  EINDECOMP_WHOLE_EXPECTED(EXPECT_WHOLE)
#undef EXPECT_WHOLE
#define EXPECT_CLIP(a, least, most, expected) CHECK(ein::Clip{}(a, least, most) == (expected));
  EINDECOMP_CLIP_EXPECTED(EXPECT_CLIP)
#undef EXPECT_CLIP
  CHECK(std::isnan(ein::Clip{}(std::nan(""), 0.0, 1.0)));
}

TEST_CASE_TEMPLATE("sign and clip of vectors are those of their elements", T, float, double,
                   std::int32_t, std::uint8_t) {
  typedef T V __attribute__((vector_size(16)));
  std::vector<T> values{0, 1, 2, 3, 100, std::numeric_limits<T>::lowest(), static_cast<T>(-1)};
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    constexpr T infinity = std::numeric_limits<T>::infinity();
    for (const T value : {T(-0.0), T(0.5), infinity, -infinity, nan}) values.push_back(value);
  }
  const auto same = [](T a, T b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0 || (a != a && b != b);
  };
  for (const T a : values) {
    const V all_a = a - V{};
    CHECK(same(ein::Sign{}(all_a)[1], ein::Sign{}(a)));
    for (const T least : values) {
      for (const T most : values) {
        const T expected = ein::Clip{}(a, least, most);
        const V all_least = least - V{};
        CHECK(same(ein::Clip{}(all_a, least, most)[1], expected));
        CHECK(same(ein::Clip{}(all_a, all_least, most - V{})[0], expected));
        CHECK(same(ein::Clip{}(all_a, all_least, most)[1], expected));
      }
    }
  }
}

TEST_CASE("parts and conjugates are numbers of the parts' type, of real numbers themselves") {
  using Single = std::complex<float>;
  static_assert(std::is_same_v<decltype(ein::Real{}(Single())), float>);
  static_assert(std::is_same_v<decltype(ein::Conj{}(Single())), Single>);
  static_assert(std::is_same_v<decltype(ein::Imag{}(3)), int>);
  const std::complex<double> z(1.5, -2);
  CHECK(ein::Real{}(z) == 1.5);
  CHECK(ein::Imag{}(z) == -2);
  CHECK(ein::Conj{}(z) == std::complex<double>(1.5, 2));
  CHECK(ein::Real{}(-2.5F) == -2.5F);
  CHECK(ein::Imag{}(-2.5F) == 0);
  CHECK(ein::Conj{}(-2.5F) == -2.5F);
}

TEST_CASE("floats stay floats, and integers become doubles where they must") {
  static_assert(std::is_same_v<decltype(ein::Sin{}(1.0F)), float>);
  static_assert(std::is_same_v<decltype(ein::Sin{}(1)), double>);
  static_assert(std::is_same_v<decltype(ein::Gelu{}(1.0F)), float>);
  static_assert(std::is_same_v<decltype(ein::Sigmoid{}(1)), double>);
  static_assert(std::is_same_v<decltype(ein::Pow{}(2.0F, 2)), float>);
  static_assert(std::is_same_v<decltype(ein::Pow{}(2, 2)), int>);
  static_assert(std::is_same_v<decltype(ein::Floor{}(3)), int>);
  static_assert(std::is_same_v<decltype(ein::IsNan{}(3)), bool>);
  CHECK(close(ein::Gelu{}(1.5F), 1.5 * 0.9331927987311419));
  CHECK_FALSE(ein::IsNan{}(3));
  CHECK(ein::IsFinite{}(3));
  CHECK(ein::Sign{}(-7) == -1);
}

TEST_CASE("integers have powers and remainders where division would trap") {
  CHECK(ein::Pow{}(2, -1) == 0);
  CHECK(ein::Pow{}(0, -1) == 0);
  CHECK(ein::Pow{}(1, -5) == 1);
  CHECK(ein::Pow{}(-1, -5) == -1);
  CHECK(ein::Mod{}(5, 0) == 0);
  CHECK(ein::Mod{}(std::numeric_limits<std::int32_t>::min(), -1) == 0);
  CHECK(std::isnan(ein::Mod{}(5.0, 0.0)));
  CHECK(ein::Mod{}(7U, std::numeric_limits<unsigned>::max()) == 7U);
  CHECK(ein::Mod{}(std::uint8_t{7}, std::uint8_t{255}) == 7);
  CHECK(ein::Mod{}(-7, 5U) == 3U);
  CHECK(ein::Mod{}(-5, 5U) == 0U);
  CHECK(ein::Mod{}(std::numeric_limits<std::int64_t>::min(), std::uint64_t{10}) == 2U);
  // NumPy's zeros have the sign of the divisor.
  CHECK_FALSE(std::signbit(ein::Mod{}(-4.0, 2.0)));
  CHECK(std::signbit(ein::Mod{}(4.0, -2.0)));
  CHECK(ein::Div{}(-5, 2) == -2);
  CHECK(ein::Div{}(5, 0) == 0);
  CHECK(ein::Div{}(std::int64_t{5}, 0) == 0);
  CHECK(ein::Div{}(7, -1) == -7);
  CHECK(ein::Div{}(std::numeric_limits<std::int32_t>::min(), -1) ==
        std::numeric_limits<std::int32_t>::min());
  CHECK(ein::Div{}(std::uint8_t{200}, true) == 200);
  CHECK(ein::Div{}(-4, 8U) == 536870911U);  // as C++ converts
  CHECK(std::isinf(ein::Div{}(5, 0.0)));
}

TEST_CASE("complex numbers have the functions that <complex> has, and no others") {
  using Complex = std::complex<double>;
  const Complex z(0.5, -0.25);
  CHECK(ein::Sin{}(z) == std::sin(z));
  CHECK(ein::Square{}(z) == z * z);
  CHECK(ein::Pow{}(z, 2.0) == std::pow(z, 2.0));
  static_assert(!std::is_invocable_v<ein::Erf, Complex>);
  static_assert(!std::is_invocable_v<ein::Floor, Complex>);
  static_assert(!std::is_invocable_v<ein::Mod, Complex, Complex>);
  static_assert(!std::is_invocable_v<ein::Clip, Complex, double, double>);
}
