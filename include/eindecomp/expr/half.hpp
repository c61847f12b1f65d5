// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Floating-point numbers of 16 bits, float16 and bfloat16: types to store elements in. They have
/// no arithmetic of their own; what computes with them computes with floats.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "eindecomp/core/config.hpp"

namespace eindecomp {
namespace expr {

// Conversions are written without branches on integers of 32 bits, so that loops of them vectorise
// on every machine and are the same on all.

/// condition ? a : b.
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr std::uint32_t choose(
    bool condition, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (a & mask) | (b & ~mask);
}

[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr float float_of_float16(
    std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7fffU;
  const std::uint32_t sign = (half & 0x8000U) << 16;
  constexpr std::uint32_t bias = (127U - 15U) << 23;
  const std::uint32_t normal = (magnitude << 13) + bias;
  // As an int, from which vectors convert.
  const auto subnormal = __builtin_bit_cast(
      std::uint32_t, static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
  const std::uint32_t finite = choose(magnitude < 0x0400U, subnormal, normal);
  return __builtin_bit_cast(float, sign | choose(magnitude < 0x7c00U, finite, normal + bias));
}

/// To the nearest, of two as near the even one.
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr std::uint16_t float16_of_float(
    float number) {
  const auto bits = __builtin_bit_cast(std::uint32_t, number);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  constexpr std::uint32_t bias = (127U - 15U) << 23;
  const std::uint32_t normal = (magnitude - bias + 0x0fffU + (magnitude >> 13 & 1U)) >> 13;
  // Beside 0.5 a float has the least bit that a subnormal half has.
  const std::uint32_t subnormal =
      __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0.5F) -
      __builtin_bit_cast(std::uint32_t, 0.5F);
  const std::uint32_t finite = choose(magnitude < 0x38800000U, subnormal, normal);
  const std::uint32_t number_bits = choose(magnitude < 0x47800000U, finite, 0x7c00U);
  const std::uint32_t half =
      choose(magnitude > 0x7f800000U, 0x7e00U | (magnitude >> 13 & 0x3ffU), number_bits);
  return static_cast<std::uint16_t>(half | (bits >> 16 & 0x8000U));
}

[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr float float_of_bfloat16(
    std::uint16_t half) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(half) << 16);
}

/// To the nearest, of two as near the even one.
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr std::uint16_t bfloat16_of_float(
    float number) {
  const auto bits = __builtin_bit_cast(std::uint32_t, number);
  const std::uint32_t nearest = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const std::uint32_t not_a_number = bits >> 16 | 0x40U;
  return static_cast<std::uint16_t>(
      choose((bits & 0x7fffffffU) > 0x7f800000U, not_a_number, nearest));
}

/// A number cut off to a float whose last bit is 1 where that loses something ("round to odd"), so
/// that it is rounded once when it is rounded again to fewer bits.
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr float float_to_odd(
    double number) {
  const auto nearest = static_cast<float>(number);
  const auto bits = __builtin_bit_cast(std::uint32_t, nearest);
  const auto back = static_cast<double>(nearest);
  const bool beyond = number < 0 ? back < number : back > number;
  const std::uint32_t odd = (bits - static_cast<std::uint32_t>(beyond)) | 1U;
  return __builtin_bit_cast(float, choose(back == number, bits, odd));
}

}  // namespace expr

/// A number of 1 sign, 5 exponent and 10 mantissa bits (IEEE 754's binary16, NumPy's float16):
/// about three decimals, from 6e-8 to 65504.
///
/// Of 2 bytes, trivially copyable, usable in device code and constant expressions. It converts to
/// float by itself; a conversion to it is written, `float16(x)`, and rounds once, to the nearest
/// number, of two as near the even one. What is too large becomes infinite, NaN stays NaN.
// NOLINTNEXTLINE(readability-identifier-naming): a type of numbers, as float is.
class float16 {
 public:
  /// Not initialised, as a float.
  float16() = default;
  /// The nearest number.
  EINDECOMP_FUNCTION constexpr explicit float16(float number)
      : m_bits(expr::float16_of_float(number)) {}
  /// The nearest number, of an integer of more than 53 bits that of the nearest double.
  template <class T>
  requires std::is_arithmetic_v<T> EINDECOMP_FUNCTION constexpr explicit float16(T number)
      : m_bits(expr::float16_of_float(expr::float_to_odd(static_cast<double>(number)))) {}

  /// The number with these bits.
  [[nodiscard]] EINDECOMP_FUNCTION static constexpr float16 from_bits(std::uint16_t bits) {
    float16 number{};
    number.m_bits = bits;
    return number;
  }
  /// The bits of the number.
  [[nodiscard]] EINDECOMP_FUNCTION constexpr std::uint16_t bits() const { return m_bits; }

  /// The same number.
  // NOLINTNEXTLINE(google-explicit-constructor): every such number is a float.
  EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr operator float() const {
    return expr::float_of_float16(m_bits);
  }

 private:
  std::uint16_t m_bits;
};

/// A number of 1 sign, 8 exponent and 7 mantissa bits: the upper half of a float, with its range
/// and two decimals. As float16 otherwise.
// NOLINTNEXTLINE(readability-identifier-naming): a type of numbers, as float is.
class bfloat16 {
 public:
  /// Not initialised, as a float.
  bfloat16() = default;
  /// The nearest number.
  EINDECOMP_FUNCTION constexpr explicit bfloat16(float number)
      : m_bits(expr::bfloat16_of_float(number)) {}
  /// The nearest number, of an integer of more than 53 bits that of the nearest double.
  template <class T>
  requires std::is_arithmetic_v<T> EINDECOMP_FUNCTION constexpr explicit bfloat16(T number)
      : m_bits(expr::bfloat16_of_float(expr::float_to_odd(static_cast<double>(number)))) {}

  /// The number with these bits.
  [[nodiscard]] EINDECOMP_FUNCTION static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 number{};
    number.m_bits = bits;
    return number;
  }
  /// The bits of the number.
  [[nodiscard]] EINDECOMP_FUNCTION constexpr std::uint16_t bits() const { return m_bits; }

  /// The same number.
  // NOLINTNEXTLINE(google-explicit-constructor): every such number is a float.
  EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr operator float() const {
    return expr::float_of_bfloat16(m_bits);
  }

 private:
  std::uint16_t m_bits;
};

/// A type of 16 bits whose elements are computed with as floats.
template <class T>
concept Half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// What elements T are computed with as: float for those of 16 bits, else T.
template <class T>
using Widened = std::conditional_t<Half<T>, float, T>;

namespace expr {
/// An element as what it is computed with.
template <class T>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr const T& widened(
    const T& element) {
  return element;
}
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr float widened(
    const float16& element) {
  return element;
}
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr float widened(
    const bfloat16& element) {
  return element;
}

/// What std::numeric_limits says of numbers with an implicit 1 before so many bits of mantissa.
template <class T, int MantissaBits, int LeastExponent, int MostExponent>
struct HalfLimits : std::numeric_limits<float> {
  static constexpr std::uint16_t one_step = std::uint16_t{1} << MantissaBits;
  static constexpr int digits = MantissaBits + 1;
  static constexpr int digits10 = MantissaBits * 301 / 1000;
  static constexpr int max_digits10 = 2 + (MantissaBits + 1) * 301 / 1000;
  static constexpr int min_exponent = LeastExponent;
  static constexpr int max_exponent = MostExponent;
  static constexpr int min_exponent10 = (LeastExponent - 1) * 301 / 1000;
  static constexpr int max_exponent10 = MostExponent * 301 / 1000;
  static constexpr T infinity() noexcept {
    return T::from_bits(static_cast<std::uint16_t>(0x7fffU / one_step * one_step));
  }
  static constexpr T max() noexcept {
    return T::from_bits(static_cast<std::uint16_t>(infinity().bits() - 1));
  }
  static constexpr T lowest() noexcept {
    return T::from_bits(static_cast<std::uint16_t>(max().bits() | 0x8000U));
  }
  static constexpr T min() noexcept { return T::from_bits(one_step); }
  static constexpr T denorm_min() noexcept { return T::from_bits(1); }
  static constexpr T epsilon() noexcept { return T(1.0F / static_cast<float>(one_step)); }
  static constexpr T round_error() noexcept { return T(0.5F); }
  static constexpr T quiet_NaN() noexcept {
    return T::from_bits(static_cast<std::uint16_t>(infinity().bits() | one_step / 2U));
  }
  static constexpr T signaling_NaN() noexcept {
    return T::from_bits(static_cast<std::uint16_t>(infinity().bits() | 1U));
  }
};
}  // namespace expr
}  // namespace eindecomp

// Doxygen does not find the template.
/// \cond
template <>
class std::numeric_limits<eindecomp::float16>
    : public eindecomp::expr::HalfLimits<eindecomp::float16, 10, -13, 16> {};
template <>
class std::numeric_limits<eindecomp::bfloat16>
    : public eindecomp::expr::HalfLimits<eindecomp::bfloat16, 7, -125, 128> {};
/// \endcond
