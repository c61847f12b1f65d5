// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The natural logarithm and the hyperbolic tangent in straight-line code, as exponential() is.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/exponential.hpp"
#include "eindecomp/expr/vector.hpp"

namespace eindecomp::expr {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The constants of logarithm() for one type: x = 2^k·(1 + f) with 1 + f within √2 of 1, and, for
/// s = f/(2 + f), log(1 + f) = 2s + s·(even[0]·s² + odd[0]·s⁴ + even[1]·s⁶ + …).
template <class T>
struct LogarithmConstants;

// The coefficients and the parts of ln 2 are those of FreeBSD's e_log.c and e_logf.c (Sun
// Microsystems, 1993): off by less than 2^-58.45 and 2^-34.24.
template <>
struct LogarithmConstants<float> {
  static constexpr float ln2_high = 6.9313812256e-01F;
  static constexpr float ln2_low = 9.0580006145e-06F;
  template <class V>
  EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION static constexpr V series(V z) {
    const V w = z * z;
    const V even = 0x1.999c26p-2F + w * 0x1.f13c4cp-3F;
    return z * (0x1.555554p-1F + w * 0x1.23d3dcp-2F + z * even);
  }
};

template <>
struct LogarithmConstants<double> {
  static constexpr double ln2_high = 6.93147180369123816490e-01;
  static constexpr double ln2_low = 1.90821492927058770002e-10;
  template <class V>
  EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION static constexpr V series(V z) {
    const V w = z * z;
    const V even =
        3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01);
    const V odd = 6.666666666666735130e-01 +
                  w * (2.857142874366239149e-01 +
                       w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01));
    return z * (odd + z * even);
  }
};

/// log x within one unit in the last place; of 0, negative numbers, infinity and NaN as std::log.
/// \param x  a number, or a vector of the compiler: then of each of its elements
template <class V, class T = typename ElementOfVector<V>::type>
  requires(std::same_as<T, float> || std::same_as<T, double>)
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V logarithm(V x) {
  using Constants = LogarithmConstants<T>;
  using Limits = std::numeric_limits<T>;
  using Integer = typename ExponentialConstants<T>::Bits;
  using Bits = typename BitsOf<V, Integer>::type;
  constexpr int mantissa = Limits::digits - 1;
  constexpr Integer sign = Integer{1} << (std::numeric_limits<Integer>::digits - 1);
  constexpr Integer infinite = std::bit_cast<Integer>(Limits::infinity());
  constexpr Integer not_a_number = std::bit_cast<Integer>(Limits::quiet_NaN());
  constexpr Integer min_normal = std::bit_cast<Integer>(Limits::min());
  constexpr Integer one = std::bit_cast<Integer>(T(1));
  constexpr Integer root_of_half = std::bit_cast<Integer>(T(0.70710678118654752440));
  constexpr Integer fraction = (Integer{1} << mantissa) - 1;
  constexpr T scale = T(Integer{1} << mantissa);  // makes subnormal numbers normal

  const Bits given = std::bit_cast<Bits>(x);
  const Bits whole = given < min_normal ? std::bit_cast<Bits>(x * scale) : given;
  const Bits above = whole + (one - root_of_half);
  // The exponent, biased and not negative, in the last bits of a number of that scale.
  const V biased = std::bit_cast<V>((above >> mantissa) + std::bit_cast<Integer>(scale)) - scale;
  constexpr T bias = Limits::max_exponent - 1;
  const V subnormal = std::bit_cast<V>(
      (given < min_normal ? Bits{} + std::bit_cast<Integer>(T(mantissa)) : Bits{}));
  const V k = (biased - bias) - subnormal;
  const V f = std::bit_cast<V>((above & fraction) + root_of_half) - T(1);
  const V s = f / (f + T(2));
  // No sum is one of two products: compilers fuse the one or the other, of numbers and of vectors
  // not the same.
  const V square = f * f;
  const V half_square = square - square * T(0.5);
  const V rest = s * (half_square + Constants::series(s * s)) - half_square;
  const V result = ((rest + k * Constants::ln2_low) + f) + k * Constants::ln2_high;

  Bits bits = std::bit_cast<Bits>(result);
  bits = given == infinite ? given : bits;
  bits = given > infinite ? Bits{} + not_a_number : bits;  // negative numbers, too
  bits = (given & ~sign) == Integer{0} ? Bits{} + (infinite | sign) : bits;
  return std::bit_cast<V>(bits);
}

/// tanh x within three units in the last place; of infinities and NaN as std::tanh. It is
/// t/(t + 2) for t = e^2x - 1, which is computed without subtracting where x is small.
/// \param x  a number, or a vector of the compiler: then of each of its elements
template <class V, class T = typename ElementOfVector<V>::type>
  requires(std::same_as<T, float> || std::same_as<T, double>)
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V hyperbolic_tangent(V x) {
  using Constants = ExponentialConstants<T>;
  using Limits = std::numeric_limits<T>;
  using Integer = typename Constants::Bits;
  using Bits = typename BitsOf<V, Integer>::type;
  constexpr int mantissa = Limits::digits - 1;
  constexpr Integer bias = Limits::max_exponent - 1;
  constexpr Integer sign = Integer{1} << (std::numeric_limits<Integer>::digits - 1);
  constexpr Integer infinite = std::bit_cast<Integer>(Limits::infinity());
  constexpr Integer most = std::bit_cast<Integer>(T(Limits::digits == 24 ? 10 : 20));  // is 1 there
  // Adding it leaves a number's nearest integer and the exponents' bias in the lowest bits.
  constexpr T shift = static_cast<T>((Integer{3} << (mantissa - 1)) + bias);

  const Bits given = std::bit_cast<Bits>(x);
  const Bits magnitude = given & ~sign;
  const V half = std::bit_cast<V>(magnitude > most ? Bits{} + most : magnitude);
  const V y = half + half;
  const V shifted = y * Constants::log2_e + shift;
  const V k = shifted - shift;
  const V r = (y - k * Constants::ln2_high) - k * Constants::ln2_low;
  const V power = std::bit_cast<V>(std::bit_cast<Bits>(shifted) << mantissa);
  const V t = less_one<T>(r) * power + (power - T(1));
  const Bits result = std::bit_cast<Bits>(t / (t + T(2))) | (given & sign);
  return std::bit_cast<V>(magnitude > infinite ? given : result);  // NaN stays as it is
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::expr
