// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of 16 bits against the definition of their formats, and what the language makes of them.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <type_traits>

#include "eindecomp/expr/expression.hpp"

namespace ein = eindecomp;
using ein::bfloat16;
using ein::float16;

namespace {

template <class T>
inline constexpr int mantissa_bits = std::is_same_v<T, float16> ? 10 : 7;

/// What a magnitude stands for, as the formats are defined; infinity and NaN as the next power of
/// two, which is where numbers begin to be rounded to infinity.
template <class T>
double value_of(std::uint32_t magnitude) {
  const int bits = mantissa_bits<T>;
  const int bias = (1 << (14 - bits)) - 1;
  const auto exponent = static_cast<int>(magnitude >> bits);
  const auto mantissa = static_cast<int>(magnitude & ((1U << bits) - 1U));
  return exponent == 0 ? std::ldexp(mantissa, 1 - bias - bits)
                       : std::ldexp((1 << bits) + mantissa, exponent - bias - bits);
}
template <class T>
inline constexpr std::uint32_t infinite = 0x7fffU >> mantissa_bits<T> << mantissa_bits<T>;

template <class T>
T of_bits(std::uint32_t bits) {
  return T::from_bits(static_cast<std::uint16_t>(bits));
}

template <class T>
void check_every_pattern() {
  static_assert(sizeof(T) == 2 && std::is_trivially_copyable_v<T> &&
                std::is_trivially_default_constructible_v<T>);
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float number = of_bits<T>(bits);
    const std::uint32_t magnitude = bits & 0x7fffU;
    const bool negative = bits >> 15 != 0;
    bool right = std::signbit(number) == negative;
    if (magnitude > infinite<T>) {
      right = right && std::isnan(number) && std::isnan(float(T(number))) &&
              std::isnan(float(T(static_cast<double>(number))));
    } else if (magnitude == infinite<T>) {
      right = right && std::isinf(number) && T(number).bits() == bits;
    } else {
      const double value = value_of<T>(magnitude);
      right = right && number == (negative ? -value : value) && T(number).bits() == bits &&
              T(static_cast<double>(number)).bits() == bits;
    }
    if (!right) ++wrong;
  }
  CHECK(wrong == 0);
}

/// Numbers between each two neighbours: half way, and as little as float and double allow beside.
template <class T>
void check_rounding() {
  int wrong = 0;
  const auto expect = [&](auto number, std::uint32_t magnitude) {
    if (T(number).bits() != magnitude) ++wrong;
    if (T(-number).bits() != (magnitude | 0x8000U)) ++wrong;
  };
  for (std::uint32_t lower = 0; lower < infinite<T>; ++lower) {
    const std::uint32_t upper = lower + 1;
    const double middle = (value_of<T>(lower) + value_of<T>(upper)) / 2;
    const std::uint32_t even = lower % 2 == 0 ? lower : upper;
    expect(middle, even);
    expect(std::nextafter(middle, 0.0), lower);
    expect(std::nextafter(middle, 1e300), upper);
    const auto narrow = static_cast<float>(middle);
    REQUIRE(narrow == middle);
    expect(narrow, even);
    expect(std::nextafter(narrow, 0.0F), lower);
    expect(std::nextafter(narrow, std::numeric_limits<float>::infinity()), upper);
  }
  CHECK(wrong == 0);
  for (const double large : {1e39, 1e300, std::numeric_limits<double>::max()}) {
    CHECK(T(large).bits() == infinite<T>);
    CHECK(T(-large).bits() == (infinite<T> | 0x8000U));
  }
  CHECK(T(std::numeric_limits<float>::max()).bits() == infinite<T>);
  CHECK(T(1e-300).bits() == 0);
  CHECK(T(-1e-300).bits() == 0x8000U);
  CHECK(T(std::numeric_limits<float>::denorm_min()).bits() == 0);
}

template <class T>
void check_limits() {
  using Limits = std::numeric_limits<T>;
  static_assert(Limits::is_specialized && Limits::has_infinity && !Limits::is_integer);
  CHECK(Limits::infinity().bits() == infinite<T>);
  CHECK(Limits::max().bits() == infinite<T> - 1);
  CHECK(float(Limits::lowest()) == -float(Limits::max()));
  CHECK(Limits::min().bits() == 1U << mantissa_bits<T>);
  CHECK(Limits::denorm_min().bits() == 1);
  CHECK(Limits::epsilon().bits() == T(std::ldexp(1.0, -mantissa_bits<T>)).bits());
  CHECK(std::isnan(float(Limits::quiet_NaN())));
  CHECK(float(Limits::min()) == std::ldexp(1.0F, Limits::min_exponent - 1));
  CHECK(float(Limits::max()) < std::ldexp(1.0, Limits::max_exponent));
  CHECK(float(Limits::max()) >= std::ldexp(1.0, Limits::max_exponent - 1));
  CHECK(float(Limits::max()) >= std::pow(10.0, Limits::max_exponent10));
  CHECK(float(Limits::min()) <= std::pow(10.0, Limits::min_exponent10));
}

template <class Op, class... Ts>
using Applied = ein::expr::Joined<Op, Ts...>;

}  // namespace

TEST_CASE("every pattern of 16 bits is the number of its format, and comes back") {
  check_every_pattern<float16>();
  check_every_pattern<bfloat16>();
}

TEST_CASE("numbers are rounded once, to the nearest, half way to the even one") {
  check_rounding<float16>();
  check_rounding<bfloat16>();
}

TEST_CASE("integers are rounded as numbers") {
  CHECK(float(float16(2049)) == 2048.0F);
  CHECK(float(float16(2051)) == 2052.0F);
  CHECK(float(bfloat16(257)) == 256.0F);
  CHECK(float(bfloat16(std::int64_t{259})) == 260.0F);
  // Rounded to a float first, it would be half way between neighbours, the even one of which is
  // less.
  CHECK(float(bfloat16(33685505)) == 33816576.0F);
  CHECK(float(float16(70000)) == std::numeric_limits<float>::infinity());
  CHECK(float(bfloat16(true)) == 1.0F);
}

TEST_CASE("values of NumPy and of ml_dtypes") {
  // numpy.float16(x).view(numpy.uint16), ml_dtypes.bfloat16(x).view(numpy.uint16)
  CHECK(float16(0.1).bits() == 0x2e66U);
  CHECK(float16(1.0 / 3).bits() == 0x3555U);
  CHECK(float16(65519.99).bits() == 0x7bffU);
  CHECK(float16(65520.0).bits() == 0x7c00U);
  CHECK(float16(6e-8).bits() == 0x0001U);
  CHECK(float16(-2.0).bits() == 0xc000U);
  CHECK(bfloat16(0.1).bits() == 0x3dcdU);
  CHECK(bfloat16(1.0 / 3).bits() == 0x3eabU);
  CHECK(bfloat16(3.14159265).bits() == 0x4049U);
}

TEST_CASE("limits") {
  check_limits<float16>();
  check_limits<bfloat16>();
}

TEST_CASE("conversions work in constant expressions, and arithmetic is that of floats") {
  static_assert(float(float16(0.5)) == 0.5F && float(bfloat16(-3)) == -3.0F);
  static_assert(float16(1.0F / 3.0F).bits() == 0x3555U);
  constexpr float16 a(1.5F);
  constexpr bfloat16 b(2);
  static_assert(std::is_same_v<decltype(a * b), float> && std::is_same_v<decltype(a + 1), float> &&
                std::is_same_v<decltype(a * 0.5), double> && a * b == 3.0F && a < b);
  static_assert(std::is_same_v<std::common_type_t<float16, float>, float>);
  static_assert(!std::is_convertible_v<float, float16> &&
                !std::is_convertible_v<float16, bfloat16>);
  std::ostringstream text;
  text << a;
  CHECK(text.str() == "1.5");
}

TEST_CASE("what is computed from numbers of 16 bits is float, what is moved stays") {
  using namespace ein;
  static_assert(std::is_same_v<Applied<Mul, bfloat16, bfloat16>, float>);
  static_assert(std::is_same_v<Applied<Mul, bfloat16, double>, double>);
  static_assert(std::is_same_v<Applied<Add, float16, std::int32_t>, float>);
  static_assert(std::is_same_v<Applied<Exp, float16>, float>);
  static_assert(std::is_same_v<Applied<Relu, bfloat16>, float>);
  static_assert(std::is_same_v<Applied<Max, bfloat16, bfloat16>, float>);
  static_assert(std::is_same_v<Applied<Less, bfloat16, bfloat16>, bool>);
  static_assert(std::is_same_v<Applied<Identity, bfloat16>, bfloat16>);
  static_assert(std::is_same_v<Applied<Mul, bfloat16>, bfloat16>);
  static_assert(std::is_same_v<Applied<Cast<float16>, double>, float16>);
  static_assert(std::is_same_v<Applied<Cast<double, Mul>, float16, float16>, double>);
  static_assert(std::is_same_v<expr::JoinedValue<Identity, NoAggregation, bfloat16>, bfloat16>);
  static_assert(std::is_same_v<expr::JoinedValue<Identity, Sum, bfloat16>, float>);
  static_assert(std::is_same_v<expr::JoinedValue<Cast<float16>, Max, double>, float>);
  CHECK(float(Cast<float16>{}(1.0 / 3)) == float(float16(1.0 / 3)));
}

TEST_CASE("scalars beside them are floats") {
  using ein::expr::TypeList;
  using ein::expr::weak_type;
  static_assert(std::is_same_v<decltype(weak_type<double>(TypeList<bfloat16>()))::type, float>);
  static_assert(
      std::is_same_v<decltype(weak_type<int>(TypeList<float16, bfloat16>()))::type, float>);
  static_assert(
      std::is_same_v<decltype(weak_type<int>(TypeList<float16, double>()))::type, double>);
  static_assert(std::is_same_v<decltype(weak_type<bfloat16>(TypeList<double>()))::type, double>);
  static_assert(
      std::is_same_v<decltype(weak_type<float16>(TypeList<std::int64_t>()))::type, double>);
  CHECK_FALSE(ein::expr::WeakScalar<float16>(70000).held);
  CHECK(ein::expr::WeakScalar<float16>(65504).held);
  CHECK(ein::expr::WeakScalar<bfloat16>(70000).held);
  CHECK_FALSE(ein::expr::WeakScalar<bfloat16>(1e39).held);
  CHECK(ein::expr::WeakScalar<float16>(std::numeric_limits<double>::infinity()).held);
  CHECK(float(ein::expr::WeakScalar<float16>(0.1).value) == float(float16(0.1)));
}

TEST_CASE("they are kinds of elements of their own") {
  CHECK(ein::element_type<float16>() == ein::ElementType{ein::ElementKind::float16, 2});
  CHECK(ein::element_type<bfloat16>() == ein::ElementType{ein::ElementKind::bfloat16, 2});
  CHECK(ein::expr::element_text(ein::element_type<float16>()) == "float16");
  CHECK(ein::expr::element_text(ein::element_type<bfloat16>()) == "bfloat16");
  CHECK(ein::expr::element_text({ein::ElementKind::other, 3}) == "a 3-byte type");
}
