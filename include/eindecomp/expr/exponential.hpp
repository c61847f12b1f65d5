// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// e to the power of x in straight-line code.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/instructions.hpp"
#include "eindecomp/expr/vector.hpp"

namespace eindecomp::expr {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The constants of exponential() for one type: x = k·ln 2 + r, |r| <= ln 2 / 2, and
/// e^r = 1 + r + r²·(c[0] + c[1]·r + …), of an even number of terms.
template <class T>
struct ExponentialConstants;

template <>
struct ExponentialConstants<float> {
  using Bits = std::uint32_t;
  static constexpr int terms = 6;
  // Cephes' minimax coefficients.
  static constexpr float c[terms] = {5.0000001201e-1F, 1.6666665459e-1F, 4.1665795894e-2F,
                                     8.3334519073e-3F, 1.3981999507e-3F, 1.9875691500e-4F};
  static constexpr float most = 104.0F;  ///< e^most is infinite already, and e^-most is 0
  static constexpr float ln2_high = 0.693359375F;
  static constexpr float ln2_low = -2.12194440e-4F;
  static constexpr float log2_e = 1.44269504F;
};

template <>
struct ExponentialConstants<double> {
  using Bits = std::uint64_t;
  static constexpr int terms = 10;
  // (e^r - 1 - r)/r² at Chebyshev's nodes: off by a seventh of half a unit in the last place of
  // e^r.
  static constexpr double c[terms] = {
      0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553d68p-5,  0x1.11111111109b5p-7,
      0x1.6c16c17889ef9p-10, 0x1.a01a01a7c2f03p-13, 0x1.a019b914985a9p-16, 0x1.71de0db2f585ep-19,
      0x1.28917c8be7ad6p-22, 0x1.af389ed28db09p-26};
  static constexpr double most = 746.0;
  static constexpr double ln2_high = 6.93145751953125e-1;
  static constexpr double ln2_low = 1.42860682030941723212e-6;
  static constexpr double log2_e = 1.4426950408889634074;
};

/// Integers of the size of a real number, or a vector of them.
template <class V, class Bits>
struct BitsOf {
  using type = Bits;
};
template <Vector V, class Bits>
struct BitsOf<V, Bits> {
  using type [[gnu::vector_size(sizeof(V))]] = Bits;
};

/// c[0] + c[1]·r + …, even and odd powers apart because they do not depend on each other. There is
/// no loop, which would keep a loop around the call from being vectorised.
template <class Constants, class V, std::size_t... N>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V polynomial(
    V r, V square, std::index_sequence<N...>) {
  constexpr auto& c = Constants::c;
  constexpr std::size_t last = 2 * sizeof...(N) + 2;
  V even = square * c[last] + c[last - 2];
  V odd = square * c[last + 1] + c[last - 1];
  ((even = even * square + c[last - 4 - 2 * N], odd = odd * square + c[last - 3 - 2 * N]), ...);
  return odd * r + even;
}
template <class Constants, class V>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V polynomial(V r, V square) {
  return polynomial<Constants>(r, square, std::make_index_sequence<Constants::terms / 2 - 2>{});
}

/// e^r - 1 for |r| <= ln 2 / 2.
template <class T, class V>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V less_one(V r) {
  const V square = r * r;
  return polynomial<ExponentialConstants<T>>(r, square) * square + r;
}
/// e^r for |r| <= ln 2 / 2.
template <class T, class V>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V near_zero(V r) {
  return less_one<T>(r) + T(1);
}

/// p·2^k, where `biased` is k + 2·bias. 2^k is applied as two factors, because k may lie outside
/// the exponents of normal numbers.
template <int Mantissa, class V, class Bits>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V scaled(V p, Bits biased) {
  const Bits half = biased >> 1;
  const V first = std::bit_cast<V>(half << Mantissa);
  const V second = std::bit_cast<V>((biased - half) << Mantissa);
  return p * first * second;
}

#if defined(__AVX512F__) && EINDECOMP_VECTOR_ELEMENTARY
/// Whether a vector fills a register of AVX-512, which has instructions for bounded() and
/// scaled_by_power().
template <class V>
inline constexpr bool fills_register = Vector<V> && sizeof(V) == 64;

/// x, or what is nearest to it between -most and most; NaN as it is.
template <class T, class V>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE V bounded(V x) {
  const V most = V{} + ExponentialConstants<T>::most;
  return core::greater(-most, core::lesser(most, x));
}

/// 2 to the power of 0, 1/8, …, 7/8.
inline constexpr double power_of_eighths[] = {1.0,
                                              0x1.172b83c7d517bp+0,
                                              0x1.306fe0a31b715p+0,
                                              0x1.4bfdad5362a27p+0,
                                              0x1.6a09e667f3bcdp+0,
                                              0x1.8ace5422aa0dbp+0,
                                              0x1.ae89f995ad3adp+0,
                                              0x1.d5818dcfba487p+0};

/// power_of_eighths[index modulo 8], or a vector of those.
template <class V, class Bits>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE constexpr V look_up_power(Bits index) {
  if constexpr (fills_register<V>) {
    return core::look_up(std::bit_cast<V>(power_of_eighths), index);
  } else if constexpr (Vector<V>) {
    V found{};
    for (std::size_t l = 0; l < sizeof(V) / sizeof(double); ++l) {
      found[l] = power_of_eighths[index[l] % 8];
    }
    return found;
  } else {
    return power_of_eighths[index % 8];
  }
}

/// exponential_within() of doubles: x = k·ln 2 + r for k in eighths. 2 to the power of their
/// fractions is a table that one register holds, so that r is an eighth as long and five terms
/// fewer do. Numbers take it as vectors do, for the same bits.
template <class V, class... Low>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE constexpr V exponential_by_table(V x, Low... low) {
  using Constants = ExponentialConstants<double>;
  using Bits = typename BitsOf<V, std::uint64_t>::type;
  // Its last bit is an eighth, and it leaves twice the exponents' bias.
  constexpr double shift = 0x1.8p49 + 2 * (std::numeric_limits<double>::max_exponent - 1);
  const V shifted = (x + ... + low) * Constants::log2_e + shift;
  const V k = shifted - shift;
  const V r = (((x - k * Constants::ln2_high) - k * Constants::ln2_low) + ... + low);
  const Bits eighths = std::bit_cast<Bits>(shifted);
  const V power = look_up_power<V>(eighths);
  const V square = r * r;
  // (e^r - 1 - r)/r² at Chebyshev's nodes, as the terms above.
  const V even =
      (square * 0x1.6c1b70f444aa0p-10 + 0x1.5555554e945d8p-5) * square + 0x1.000000000002ep-1;
  const V odd =
      (square * 0x1.a01e2bdf18c20p-13 + 0x1.1111110e10a40p-7) * square + 0x1.555555555556ap-3;
  const V result = power * ((odd * r + even) * square + r) + power;
  if constexpr (fills_register<V>) {
    return core::scaled_by_power(result, k);
  } else {
    return scaled<std::numeric_limits<double>::digits - 1>(result, eighths >> 3);
  }
}
#endif

/// e^x for -most <= x <= most, as exponential().
/// \param low  none, or a number far smaller than x: then the result is e^(x + low) of the exact
///             sum
template <class T, class V, class... Low>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V exponential_within(
    V x, Low... low) {
  using Constants = ExponentialConstants<T>;
  using Integer = typename Constants::Bits;
  using Bits = typename BitsOf<V, Integer>::type;
  constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  // Adding it leaves in the lowest bits a number's nearest integer and twice the exponents' bias.
  constexpr T shift = static_cast<T>((Integer{3} << (mantissa - 1)) +
                                     Integer{2 * (std::numeric_limits<T>::max_exponent - 1)});
#if defined(__AVX512F__) && EINDECOMP_VECTOR_ELEMENTARY
  if constexpr (std::same_as<T, double>) return exponential_by_table(x, low...);
#endif
  const V shifted = (x + ... + low) * Constants::log2_e + shift;
  const V k = shifted - shift;
  const V r = (((x - k * Constants::ln2_high) - k * Constants::ln2_low) + ... + low);
#if defined(__AVX512F__) && EINDECOMP_VECTOR_ELEMENTARY
  if constexpr (fills_register<V>) return core::scaled_by_power(near_zero<T>(r), k);
#endif
  return scaled<mantissa>(near_zero<T>(r), std::bit_cast<Bits>(shifted));
}

/// e^x within two units in the last place, subnormal results included; infinities and NaN as
/// std::exp. Unlike it, a loop over it is vectorised: no branch, no call.
/// \param x a number, or a vector of the compiler: then of each of its elements.
template <class V, class T = typename ElementOfVector<V>::type>
  requires(std::same_as<T, float> || std::same_as<T, double>)
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V exponential(V x) {
  using Constants = ExponentialConstants<T>;
  using Integer = typename Constants::Bits;
  using Bits = typename BitsOf<V, Integer>::type;
#if defined(__AVX512F__) && EINDECOMP_VECTOR_ELEMENTARY
  if constexpr (fills_register<V>) return exponential_within<T>(bounded<T>(x));
#endif
  // Integers are compared, for comparisons of real numbers may trap and so are not vectorised.
  constexpr Integer sign = Integer{1} << (std::numeric_limits<Integer>::digits - 1);
  constexpr Integer most = std::bit_cast<Integer>(Constants::most);
  constexpr Integer infinite = std::bit_cast<Integer>(std::numeric_limits<T>::infinity());
  const Bits bits_of_x = std::bit_cast<Bits>(x);
  const Bits magnitude = bits_of_x & ~sign;
  const V y = std::bit_cast<V>((magnitude > most ? Bits{} + most : magnitude) | (bits_of_x & sign));
  const Bits result = std::bit_cast<Bits>(exponential_within<T>(y));
  return std::bit_cast<V>(magnitude > infinite ? bits_of_x : result);  // NaN stays as it is
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::expr
