// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The error function, its complement and gelu in straight-line code, as exponential() is.
#pragma once

#include <bit>
#include <concepts>
#include <limits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/exponential.hpp"
#include "eindecomp/expr/vector.hpp"

namespace eindecomp::expr {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The constants for one type: for t = place / (place + a), e^(a²)·erfc(a) is t times a polynomial
/// of t - 1/2; it is the Chebyshev interpolation up to where erfc is 0, off by less than 2^-28
/// and 2^-56. erfc 0 is 1 by them.
template <class T>
struct ErfcConstants;

template <>
struct ErfcConstants<float> {
  static constexpr int terms = 10;
  static constexpr float c[terms] = {0.361431867F,   0.592371047F, 0.785164535F,   0.814047098F,
                                     0.609910846F,   0.254408181F, -0.0458198264F, -0.129162386F,
                                     -0.0293408222F, 0.0540319495F};
  static constexpr float place = 2.96875F;
  static constexpr float most = 10.19F;  ///< erfc(most) is 0
};

template <>
struct ErfcConstants<double> {
  static constexpr int terms = 22;
  static constexpr double c[terms] = {
      0x1.dc603a3e77e9bp-3,  0x1.b630b7b486819p-2, 0x1.725e38e9288fdp-1,   0x1.1f049c0438769p+0,
      0x1.966b206c8d8fbp+0,  0x1.057ce312d94cep+1, 0x1.2f64c335f32eep+1,   0x1.39b93fc65389cp+1,
      0x1.1be7689437a27p+1,  0x1.b3f22644ef644p+0, 0x1.0ae131257f5cap+0,   0x1.b6a364d0c1169p-2,
      0x1.2f4ef406c66c9p-6,  -0x1.19065bdafe2fp-3, -0x1.b8d895f50ce2cp-4,  -0x1.3188ca26f20fep-6,
      0x1.1098b5a31038p-5,   0x1.c0e919c27d1afp-6, -0x1.77b1f0fff3d6bp-10, -0x1.c2ff2c58fe7ddp-7,
      -0x1.7d6669c7ca31ap-9, 0x1.425a85a32f2b5p-8};
  static constexpr double place = 4.75;
  static constexpr double most = 27.3;
};

/// For |x| <= 1, erf x is x and x times a polynomial of x², the interpolation as above.
template <class T>
struct ErfConstants;

template <>
struct ErfConstants<float> {
  static constexpr int terms = 8;
  static constexpr float c[terms] = {0.128379167F,    -0.376126379F,   0.112837821F,
                                     -0.0268654302F,  0.00522103161F,  -0.000848408032F,
                                     0.000112659589F, -9.66704465e-06F};
};

template <>
struct ErfConstants<double> {
  static constexpr int terms = 12;
  static constexpr double c[terms] = {
      0x1.06eba8214db68p-3,  -0x1.812746b0379c1p-2,  0x1.ce2f21a040f66p-4,  -0x1.b82ce31203772p-6,
      0x1.565bccfa44156p-8,  -0x1.c02db0665e53dp-11, 0x1.f9a2be4f731a1p-14, -0x1.f4ca838adb73bp-17,
      0x1.b981d78881a5dp-20, -0x1.5c131500d3f88p-23, 0x1.d76af6ca49787p-27, -0x1.ac9585a44fe29p-31};
};

/// |x|, or `most` where it is above or x is NaN.
template <class T, class V>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V magnitude_below(V x, T most) {
  using Integer = typename ExponentialConstants<T>::Bits;
  using Bits = typename BitsOf<V, Integer>::type;
  const Bits magnitude = std::bit_cast<Bits>(x) & (std::numeric_limits<Integer>::max() >> 1);
  const Integer bound = std::bit_cast<Integer>(most);
  return std::bit_cast<V>(magnitude > bound ? Bits{} + bound : magnitude);
}

/// e^(-a²·scale) for a power of two `scale` and a result that is not below the least number. The
/// square is the exact one of a's leading half and a rest, since a rounded one would be off by
/// a²·scale units in the last place of the result.
template <class T, class V>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V bell(V a, T scale) {
  using Integer = typename ExponentialConstants<T>::Bits;
  using Bits = typename BitsOf<V, Integer>::type;
  constexpr Integer second_half = (Integer{1} << ((std::numeric_limits<T>::digits + 1) / 2)) - 1;
  const V first = std::bit_cast<V>(std::bit_cast<Bits>(a) & ~second_half);
  return exponential_within<T>(-(first * first) * scale, (first - a) * (first + a) * scale);
}

/// factor·e^(b²)·erfc(b) for b = a/unit, 0 <= b <= most.
template <class T, class V>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V erfc_by_bell(V a, T unit,
                                                                                  T factor) {
  using Constants = ErfcConstants<T>;
  const T place = Constants::place * unit;
  const V inverse = T(1) / (a + place);
  const V u = T(0.5) - a * inverse;  // is t - 1/2, more exactly where a is small
  return (inverse * (place * factor)) * polynomial<Constants>(u, u * u);
}

/// erfc x within seven units in the last place; of infinities and NaN as std::erfc.
/// \param x  a number, or a vector of the compiler: then of each of its elements
template <class V, class T = typename ElementOfVector<V>::type>
  requires(std::same_as<T, float> || std::same_as<T, double>)
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V error_function_complement(
    V x) {
  using Integer = typename ExponentialConstants<T>::Bits;
  using Bits = typename BitsOf<V, Integer>::type;
  constexpr Integer sign = Integer{1} << (std::numeric_limits<Integer>::digits - 1);
  const V a = magnitude_below(x, ErfcConstants<T>::most);
  const V above = erfc_by_bell(a, T(1), T(1)) * bell(a, T(1));
  const Bits given = std::bit_cast<Bits>(x);
  const Bits result = given > sign ? std::bit_cast<Bits>(T(2) - above) : std::bit_cast<Bits>(above);
  constexpr Integer infinite = std::bit_cast<Integer>(std::numeric_limits<T>::infinity());
  return std::bit_cast<V>((given & ~sign) > infinite ? given : result);  // NaN stays as it is
}

/// erf x within two units in the last place; of infinities and NaN as std::erf.
/// \param x  a number, or a vector of the compiler: then of each of its elements
template <class V, class T = typename ElementOfVector<V>::type>
  requires(std::same_as<T, float> || std::same_as<T, double>)
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V error_function(V x) {
  using Integer = typename ExponentialConstants<T>::Bits;
  using Bits = typename BitsOf<V, Integer>::type;
  constexpr Integer sign = Integer{1} << (std::numeric_limits<Integer>::digits - 1);
  const V a = magnitude_below(x, ErfcConstants<T>::most);
  const V far = T(1) - erfc_by_bell(a, T(1), T(1)) * bell(a, T(1));
  const V square = a * a;
  const V near = x * polynomial<ErfConstants<T>>(square, square * square) + x;
  const Bits given = std::bit_cast<Bits>(x);
  const Bits result = (given & ~sign) < std::bit_cast<Integer>(T(1))
                          ? std::bit_cast<Bits>(near)
                          : std::bit_cast<Bits>(far) | (given & sign);
  constexpr Integer infinite = std::bit_cast<Integer>(std::numeric_limits<T>::infinity());
  return std::bit_cast<V>((given & ~sign) > infinite ? given : result);  // NaN stays as it is
}

/// x·Φ(x) with the normal distribution Φ, within eight units in the last place, also far below 0;
/// of infinities and NaN as x/2·std::erfc(-x/√2). It is x where that is positive, less |x|·Φ(-|x|).
/// \param x  a number, or a vector of the compiler: then of each of its elements
template <class V, class T = typename ElementOfVector<V>::type>
  requires(std::same_as<T, float> || std::same_as<T, double>)
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr V gaussian_error_linear_unit(
    V x) {
  constexpr T root = T(1.41421356237309504880);
  const V a = magnitude_below(x, ErfcConstants<T>::most * root);
  const V positive = magnitude_below(x, std::numeric_limits<T>::infinity()) * T(0.5) + x * T(0.5);
  // In this order no product is a subnormal number, of few digits, before the last is.
  return positive - (a * erfc_by_bell(a, root, T(0.5))) * bell(a, T(0.5));
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::expr
