// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// e to the power of x in straight-line code.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "eindecomp/core/config.hpp"

namespace eindecomp::detail {

/// The constants of exponential() for one type: x = k·ln 2 + r, |r| <= ln 2 / 2, and
/// e^r = 1 + r + r²·(c[0] + c[1]·r + …).
template <class T>
struct ExponentialConstants;

template <>
struct ExponentialConstants<float> {
  using Bits = std::uint32_t;
  using Integer = std::int32_t;
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
  using Integer = std::int64_t;
  static constexpr int terms = 12;
  // Taylor's: the next term is below half a unit in the last place.
  static constexpr double c[terms] = {1.0 / 2,        1.0 / 6,         1.0 / 24,
                                      1.0 / 120,      1.0 / 720,       1.0 / 5040,
                                      1.0 / 40320,    1.0 / 362880,    1.0 / 3628800,
                                      1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  static constexpr double most = 746.0;
  static constexpr double ln2_high = 6.93145751953125e-1;
  static constexpr double ln2_low = 1.42860682030941723212e-6;
  static constexpr double log2_e = 1.4426950408889634074;
};

/// c[0] + c[1]·r + …, without a loop that would keep one around it from being vectorised.
template <class T, std::size_t... N>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr T horner(
    T r, std::index_sequence<N...>) {
  T p = 0;
  ((p = p * r + ExponentialConstants<T>::c[sizeof...(N) - 1 - N]), ...);
  return p;
}

/// e^x within two units in the last place, subnormal results included; infinities and NaN as
/// std::exp. Unlike it, a loop over it is vectorised: no branch, no call, no table.
template <class T>
  requires(std::same_as<T, float> || std::same_as<T, double>)
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr T exponential(T x) {
  using Constants = ExponentialConstants<T>;
  using Bits = typename Constants::Bits;
  using Integer = typename Constants::Integer;
  constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  constexpr Integer bias = std::numeric_limits<T>::max_exponent - 1;
  // Adding it leaves a number's nearest integer in the lowest bits.
  constexpr T shift = static_cast<T>(Bits{3} << (mantissa - 1));

  // Integers are compared, for comparisons of real numbers may trap and so are not vectorised.
  constexpr Bits sign = Bits{1} << (std::numeric_limits<Bits>::digits - 1);
  constexpr Bits most = std::bit_cast<Bits>(Constants::most);
  constexpr Bits infinite = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  const Bits bits_of_x = std::bit_cast<Bits>(x);
  const Bits magnitude = bits_of_x & ~sign;
  const T y = std::bit_cast<T>((magnitude > most ? most : magnitude) | (bits_of_x & sign));
  const T shifted = y * Constants::log2_e + shift;
  const auto k = static_cast<Integer>(std::bit_cast<Bits>(shifted) - std::bit_cast<Bits>(shift));
  const T k_as_real = shifted - shift;
  const T r = (y - k_as_real * Constants::ln2_high) - k_as_real * Constants::ln2_low;
  T p = horner(r, std::make_index_sequence<Constants::terms>{});
  p = (p * (r * r) + r) + T(1);
  // 2^k in two factors, for k may be beyond the exponents of normal numbers.
  const Integer half = k >> 1;
  const T first = std::bit_cast<T>(static_cast<Bits>(half + bias) << mantissa);
  const T second = std::bit_cast<T>(static_cast<Bits>(k - half + bias) << mantissa);
  const Bits result = std::bit_cast<Bits>(p * first * second);
  return std::bit_cast<T>(magnitude > infinite ? bits_of_x : result);  // NaN stays as it is
}

}  // namespace eindecomp::detail
