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
#include "eindecomp/expr/vector.hpp"

namespace eindecomp::detail {

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

/// c[0] + c[1]·r + …, even and odd powers apart, for they need not wait for each other. Without a
/// loop that would keep one around it from being vectorised.
template <class T, class V, std::size_t... N>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V polynomial(
    V r, V square, std::index_sequence<N...>) {
  constexpr auto& c = ExponentialConstants<T>::c;
  constexpr std::size_t last = 2 * sizeof...(N) + 2;
  V even = square * c[last] + c[last - 2];
  V odd = square * c[last + 1] + c[last - 1];
  ((even = even * square + c[last - 4 - 2 * N], odd = odd * square + c[last - 3 - 2 * N]), ...);
  return odd * r + even;
}

/// e^x within two units in the last place, subnormal results included; infinities and NaN as
/// std::exp. Unlike it, a loop over it is vectorised: no branch, no call, no table.
/// \param x a number, or a vector of the compiler: then of each of its elements.
template <class V, class T = typename ElementOfVector<V>::type>
  requires(std::same_as<T, float> || std::same_as<T, double>)
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V exponential(V x) {
  using Constants = ExponentialConstants<T>;
  using Integer = typename Constants::Bits;
  using Bits = typename BitsOf<V, Integer>::type;
  constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  // Adding it leaves in the lowest bits a number's nearest integer and twice the exponents' bias.
  constexpr T shift = static_cast<T>((Integer{3} << (mantissa - 1)) +
                                     Integer{2 * (std::numeric_limits<T>::max_exponent - 1)});

  // Integers are compared, for comparisons of real numbers may trap and so are not vectorised.
  constexpr Integer sign = Integer{1} << (std::numeric_limits<Integer>::digits - 1);
  constexpr Integer most = std::bit_cast<Integer>(Constants::most);
  constexpr Integer infinite = std::bit_cast<Integer>(std::numeric_limits<T>::infinity());
  const Bits bits_of_x = std::bit_cast<Bits>(x);
  const Bits magnitude = bits_of_x & ~sign;
  const V y = std::bit_cast<V>((magnitude > most ? Bits{} + most : magnitude) | (bits_of_x & sign));
  const V shifted = y * Constants::log2_e + shift;
  const V k = shifted - shift;
  const V r = (y - k * Constants::ln2_high) - k * Constants::ln2_low;
  const V square = r * r;
  V p = polynomial<T>(r, square, std::make_index_sequence<Constants::terms / 2 - 2>{});
  p = (p * square + r) + T(1);
  // 2^k in two factors, for k may be beyond the exponents of normal numbers.
  const Bits biased = std::bit_cast<Bits>(shifted);
  const Bits half = biased >> 1;
  const V first = std::bit_cast<V>(half << mantissa);
  const V second = std::bit_cast<V>((biased - half) << mantissa);
  const Bits result = std::bit_cast<Bits>(p * first * second);
  return std::bit_cast<V>(magnitude > infinite ? bits_of_x : result);  // NaN stays as it is
}

}  // namespace eindecomp::detail
