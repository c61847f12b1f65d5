// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// NumPy's functions of elements: `sin(X(i, j))`, `pow(X(i), 2)`, `clip(X(i), 0, 1)`. Each is a
/// functor, as the joins of operator.hpp, and a function of expressions. Of integers, functions
/// with no integer result give doubles, as those of the C library do.
#pragma once

#include <cmath>
#include <string_view>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/operator.hpp"

namespace eindecomp {

namespace expr {
template <class A>
inline constexpr bool is_real = std::is_arithmetic_v<A>;

/// aⁿ of integers; for n < 0 the whole part of 1/a⁻ⁿ, and 0 where that is a division by zero.
template <class A, class N>
EINDECOMP_FUNCTION constexpr A integer_power(A a, N n) {
  if constexpr (std::is_signed_v<N>) {
    const bool is_root = a == 1 || (std::is_signed_v<A> && a == static_cast<A>(-1));
    if (n < 0) return is_root ? (n % 2 == 0 ? A(1) : a) : A(0);
  }
  A power = 1;
  for (; n != 0; n /= 2) {
    if (n % 2 != 0) power = static_cast<A>(power * a);
    if (n > 1) a = static_cast<A>(a * a);
  }
  return power;
}

/// a <= b, of two integers also where one type has no negative numbers.
template <class A, class B>
EINDECOMP_FUNCTION constexpr bool at_most(A a, B b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> &&
                std::is_signed_v<A> != std::is_signed_v<B>) {
    using Common = std::common_type_t<A, B>;
    if constexpr (std::is_signed_v<A>) {
      return a < 0 || static_cast<Common>(a) <= static_cast<Common>(b);
    } else {
      return b >= 0 && static_cast<Common>(a) <= static_cast<Common>(b);
    }
  } else {
    return a <= b;
  }
}

/// The remainder with the sign of the divisor, given the one with the sign of the dividend.
template <class A>
EINDECOMP_FUNCTION constexpr A floored(A remainder, A divisor) {
  if constexpr (std::is_floating_point_v<A>) {
    if (remainder == 0) return divisor < 0 ? A(-0.0) : A(0);
  }
  return remainder != 0 && (remainder < 0) != (divisor < 0) ? A(remainder + divisor) : remainder;
}
}  // namespace expr

// clang-format off
// A function of <cmath>, which complex types overload in their namespaces.
#define EINDECOMP_MATH(Name, function)                                                    \
  namespace expr {                                                                        \
  using std::function;                                                                    \
  template <class A>                                                                      \
  EINDECOMP_FUNCTION constexpr auto call_##function(const A& a) -> decltype(function(a)) { \
    return function(a);                                                                   \
  }                                                                                       \
  }                                                                                       \
  struct Name {                                                                           \
    static constexpr std::string_view name = #function;                                   \
    template <class A>                                                                    \
    EINDECOMP_FUNCTION constexpr auto operator()(const A& a) const                        \
        -> decltype(expr::call_##function(a)) { return expr::call_##function(a); }        \
  };
// A function that leaves integers as they are.
#define EINDECOMP_ROUNDING(Name, text, function)                                          \
  struct Name {                                                                           \
    static constexpr std::string_view name = text;                                        \
    template <class A>                                                                    \
      requires expr::is_real<A>                                                           \
    EINDECOMP_FUNCTION constexpr A operator()(A a) const {                                \
      if constexpr (std::is_integral_v<A>) return a; else return std::function(a);        \
    }                                                                                     \
  };
// A question about a floating-point number; integers answer no, or yes to isfinite.
#define EINDECOMP_QUESTION(Name, text, expression)                                        \
  struct Name {                                                                           \
    static constexpr std::string_view name = text;                                        \
    template <class A>                                                                    \
      requires expr::is_real<A>                                                           \
    EINDECOMP_FUNCTION constexpr bool operator()(A a) const { return expression; }        \
  };

/// The sine of a, in radians.
EINDECOMP_MATH(Sin, sin)
/// The cosine of a, in radians.
EINDECOMP_MATH(Cos, cos)
/// The tangent of a, in radians.
EINDECOMP_MATH(Tan, tan)
/// The angle in [-π/2, π/2] whose sine is a.
EINDECOMP_MATH(Asin, asin)
/// The angle in [0, π] whose cosine is a.
EINDECOMP_MATH(Acos, acos)
/// The angle in [-π/2, π/2] whose tangent is a.
EINDECOMP_MATH(Atan, atan)
/// The hyperbolic sine of a.
EINDECOMP_MATH(Sinh, sinh)
/// The hyperbolic cosine of a.
EINDECOMP_MATH(Cosh, cosh)
/// The number whose hyperbolic sine is a.
EINDECOMP_MATH(Asinh, asinh)
/// The number from 0 on whose hyperbolic cosine is a.
EINDECOMP_MATH(Acosh, acosh)
/// The number whose hyperbolic tangent is a.
EINDECOMP_MATH(Atanh, atanh)
/// 2 to the power a.
EINDECOMP_MATH(Exp2, exp2)
/// e to the power a, less 1, accurate near 0.
EINDECOMP_MATH(Expm1, expm1)
/// The logarithm of a to base 2.
EINDECOMP_MATH(Log2, log2)
/// The logarithm of a to base 10.
EINDECOMP_MATH(Log10, log10)
/// The natural logarithm of 1 + a, accurate near 0.
EINDECOMP_MATH(Log1p, log1p)
/// ∛a.
EINDECOMP_MATH(Cbrt, cbrt)
/// The largest whole number that is not above a.
EINDECOMP_ROUNDING(Floor, "floor", floor)
/// The smallest whole number that is not below a.
EINDECOMP_ROUNDING(Ceil, "ceil", ceil)
/// a without its fraction.
EINDECOMP_ROUNDING(Trunc, "trunc", trunc)
/// The nearest whole number, of two the even one, as NumPy's round.
EINDECOMP_ROUNDING(Round, "round", rint)

/// Whether a is not a number.
EINDECOMP_QUESTION(IsNan, "isnan", a != a)
/// Whether a is infinite.
EINDECOMP_QUESTION(IsInf, "isinf", a == a && !(a - a == a - a))
/// Whether a is a number and not infinite.
EINDECOMP_QUESTION(IsFinite, "isfinite", a - a == a - a)
#undef EINDECOMP_MATH
#undef EINDECOMP_ROUNDING
#undef EINDECOMP_QUESTION
// clang-format on

/// -1, 0 or 1 as a is negative, 0 or positive; NaN of NaN.
struct Sign {
  static constexpr std::string_view name = "sign";
  template <class A>
  requires expr::is_real<A> EINDECOMP_FUNCTION constexpr A operator()(A a) const {
    return a != a ? a : static_cast<A>((a > A(0)) - (a < A(0)));
  }
  template <expr::Vector V>
  EINDECOMP_ALWAYS_INLINE constexpr V operator()(const V& a) const {
    const V zero{};
    const V one = zero + typename expr::ElementOfVector<V>::type(1);
    const V sign = a > zero ? one : (a < zero ? zero - one : zero);
    return a == a ? sign : a;
  }
};

/// The real part of a; of a real number the number.
struct Real {
  static constexpr std::string_view name = "real";
  template <class A>
    requires(expr::is_real<A> || expr::is_complex<A>)
  EINDECOMP_FUNCTION constexpr typename expr::RealPart<A>::type operator()(const A& a) const {
    if constexpr (expr::is_complex<A>) {
      return a.real();
    } else {
      return a;
    }
  }
};

/// The imaginary part of a; of a real number 0.
struct Imag {
  static constexpr std::string_view name = "imag";
  template <class A>
    requires(expr::is_real<A> || expr::is_complex<A>)
  EINDECOMP_FUNCTION constexpr typename expr::RealPart<A>::type operator()(const A& a) const {
    if constexpr (expr::is_complex<A>) {
      return a.imag();
    } else {
      return A(0);
    }
  }
};

/// The complex conjugate of a; of a real number the number.
struct Conj {
  static constexpr std::string_view name = "conj";
  template <class A>
    requires(expr::is_real<A> || expr::is_complex<A>)
  EINDECOMP_FUNCTION constexpr A operator()(const A& a) const {
    if constexpr (expr::is_complex<A>) {
      return A(a.real(), -a.imag());
    } else {
      return a;
    }
  }
};

/// a².
struct Square {
  static constexpr std::string_view name = "square";
  template <class A>
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a) const -> std::decay_t<decltype(a * a)> {
    return a * a;
  }
};

/// The logistic function, 1 / (1 + e⁻ᵃ).
struct Sigmoid {
  static constexpr std::string_view name = "sigmoid";
  template <class A>
    requires(expr::is_real<A> || expr::Vector<A>)
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a) const {
    using Real = decltype(expr::call_exp(a));
    constexpr typename expr::ElementOfVector<Real>::type one(1);
    return one / (expr::call_exp(-Real(a)) + one);
  }
};

/// a·sigmoid(a), which is also called swish.
struct Silu {
  static constexpr std::string_view name = "silu";
  template <class A>
    requires(expr::is_real<A> || expr::Vector<A>)
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a) const {
    using Real = decltype(expr::call_exp(a));
    constexpr typename expr::ElementOfVector<Real>::type one(1);
    return Real(a) / (expr::call_exp(-Real(a)) + one);
  }
};

/// The error function, 2/√π ∫₀ᵃ e^(-t²) dt.
struct Erf {
  static constexpr std::string_view name = "erf";
  template <class A>
    requires(expr::is_real<A> || expr::Vector<A>)
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a) const { return expr::call_erf(a); }
};

/// 1 - erf(a), accurate where that is small.
struct Erfc {
  static constexpr std::string_view name = "erfc";
  template <class A>
    requires(expr::is_real<A> || expr::Vector<A>)
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a) const { return expr::call_erfc(a); }
};

/// a·Φ(a) with the normal distribution Φ, by the error function: PyTorch's gelu, and JAX's with
/// `approximate=False`.
struct Gelu {
  static constexpr std::string_view name = "gelu";
  template <class A>
    requires(expr::is_real<A> || expr::Vector<A>)
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a) const {
    return expr::call_gelu(decltype(expr::call_erfc(a))(a));
  }
};

/// a to the power b. Of two integers it is one, computed by squaring; to a negative power, the
/// whole part.
struct Pow {
  static constexpr std::string_view name = "pow";
  template <class A, class B>
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a, const B& b) const {
    using std::pow;
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
      using Whole = std::common_type_t<A, B>;
      return expr::integer_power<Whole>(a, b);
    } else if constexpr (expr::is_real<A> && expr::is_real<B>) {
      // pow(float, int) of <cmath> is of doubles.
      using Real = std::common_type_t<A, B>;
      return pow(static_cast<Real>(a), static_cast<Real>(b));
    } else {
      return pow(a, b);
    }
  }
};

/// The remainder of a / b with the sign of b, as NumPy's and Python's `%`; of integers and 0 it is
/// 0, of floating-point numbers NaN.
struct Mod {
  static constexpr std::string_view name = "mod";
  template <class A, class B>
    requires(expr::is_real<A>&& expr::is_real<B>)
  EINDECOMP_FUNCTION constexpr std::common_type_t<A, B> operator()(A a, B b) const {
    using Common = std::common_type_t<A, B>;
    const auto divisor = static_cast<Common>(b);
    if constexpr (std::is_integral_v<Common>) {
      if (divisor == 0) return 0;
      // The least integer has no quotient by -1.
      if (std::is_signed_v<Common> && divisor == static_cast<Common>(-1)) return 0;
      if constexpr (std::is_signed_v<A> && std::is_unsigned_v<Common>) {
        // -1 is the last before a multiple of the divisor.
        if (a < 0) return divisor - 1 - static_cast<Common>(-(a + 1)) % divisor;
      }
      return expr::floored<Common>(static_cast<Common>(static_cast<Common>(a) % divisor), divisor);
    } else {
      return expr::floored<Common>(std::fmod(static_cast<Common>(a), divisor), divisor);
    }
  }
};

/// The angle in [-π, π] of the point (b, a) from the first axis.
struct Atan2 {
  static constexpr std::string_view name = "atan2";
  template <class A, class B>
    requires(expr::is_real<A>&& expr::is_real<B>)
  EINDECOMP_FUNCTION constexpr auto operator()(A a, B b) const { return std::atan2(a, b); }
};

/// √(a² + b²), without overflow in between.
struct Hypot {
  static constexpr std::string_view name = "hypot";
  template <class A, class B>
    requires(expr::is_real<A>&& expr::is_real<B>)
  EINDECOMP_FUNCTION constexpr auto operator()(A a, B b) const { return std::hypot(a, b); }
};

/// a, or the bound it is beyond: min(max(a, least), most). NaN if one of the three is.
struct Clip {
  static constexpr std::string_view name = "clip";
  template <class A, class B, class C>
    requires(expr::is_real<A>&& expr::is_real<B>&& expr::is_real<C>)
  EINDECOMP_FUNCTION constexpr std::common_type_t<A, B, C> operator()(A a, B least, C most) const {
    using Common = std::common_type_t<A, B, C>;
    const bool is_below = a == a && !expr::at_most(least, a);
    const Common from_below = is_below ? static_cast<Common>(least) : static_cast<Common>(a);
    const bool stays = from_below != from_below || from_below <= static_cast<Common>(most);
    return stays ? from_below : static_cast<Common>(most);
  }
  /// Of vectors element by element; a bound may be a number, which is the same for all.
  template <expr::Vector V, class B, class C, class T = typename expr::ElementOfVector<V>::type>
    requires(expr::is_one_of<B, V, T>&& expr::is_one_of<C, V, T>)
  EINDECOMP_ALWAYS_INLINE constexpr V operator()(const V& a, const B& least, const C& most) const {
    const V low = least - V{};
    const V high = most - V{};
    const V from_below = a == a ? (low <= a ? a : low) : a;
    const V within = from_below <= high ? from_below : high;
    return from_below == from_below ? within : from_below;
  }
};

template <class F>
  requires expr::is_one_of<F, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh,
                           Exp2, Expm1, Log2, Log10, Log1p, Cbrt, Erf, Erfc, Sigmoid, Silu, Gelu,
                           Pow, Atan2, Hypot>
inline constexpr bool is_compute_bound<F> = true;
template <>
inline constexpr bool takes_vectors<Square> = true;
template <>
inline constexpr bool takes_vectors<Sign> = true;
template <>
inline constexpr bool takes_vectors<Clip> = true;
template <>
inline constexpr bool takes_vectors<Sigmoid> = expr::vector_elementary;
template <>
inline constexpr bool takes_vectors<Silu> = expr::vector_elementary;
template <>
inline constexpr bool takes_vectors<Erf> = expr::vector_elementary;
template <>
inline constexpr bool takes_vectors<Erfc> = expr::vector_elementary;
template <>
inline constexpr bool takes_vectors<Gelu> = expr::vector_elementary;

// clang-format off
/// A function of every element of an expression, by NumPy's name; the functor of the name says what
/// it gives. `round` is to the nearest even number, `gelu` by the error function.
/// @{
#define EINDECOMP_UNARY(function, Op)                                   \
  template <Expression E>                                               \
  [[nodiscard]] constexpr auto function(const E& e) {                   \
    return expr::apply(Op{}, e);                                        \
  }
EINDECOMP_UNARY(sin, Sin)
EINDECOMP_UNARY(cos, Cos)
EINDECOMP_UNARY(tan, Tan)
EINDECOMP_UNARY(asin, Asin)
EINDECOMP_UNARY(acos, Acos)
EINDECOMP_UNARY(atan, Atan)
EINDECOMP_UNARY(sinh, Sinh)
EINDECOMP_UNARY(cosh, Cosh)
EINDECOMP_UNARY(asinh, Asinh)
EINDECOMP_UNARY(acosh, Acosh)
EINDECOMP_UNARY(atanh, Atanh)
EINDECOMP_UNARY(exp2, Exp2)
EINDECOMP_UNARY(expm1, Expm1)
EINDECOMP_UNARY(log2, Log2)
EINDECOMP_UNARY(log10, Log10)
EINDECOMP_UNARY(log1p, Log1p)
EINDECOMP_UNARY(cbrt, Cbrt)
EINDECOMP_UNARY(erf, Erf)
EINDECOMP_UNARY(erfc, Erfc)
EINDECOMP_UNARY(floor, Floor)
EINDECOMP_UNARY(ceil, Ceil)
EINDECOMP_UNARY(trunc, Trunc)
EINDECOMP_UNARY(round, Round)
EINDECOMP_UNARY(isnan, IsNan)
EINDECOMP_UNARY(isinf, IsInf)
EINDECOMP_UNARY(isfinite, IsFinite)
EINDECOMP_UNARY(sign, Sign)
EINDECOMP_UNARY(real, Real)
EINDECOMP_UNARY(imag, Imag)
EINDECOMP_UNARY(conj, Conj)
EINDECOMP_UNARY(square, Square)
EINDECOMP_UNARY(sigmoid, Sigmoid)
EINDECOMP_UNARY(silu, Silu)
EINDECOMP_UNARY(gelu, Gelu)
#undef EINDECOMP_UNARY
/// @}

/// A function of two operands, element by element: an expression whose labels are those of both. One
/// of them may be a number.
/// @{
#define EINDECOMP_BINARY(function, Op)                                  \
  template <class A, class B>                                           \
    requires expr::Operands<A, B>                                       \
  [[nodiscard]] constexpr auto function(const A& a, const B& b) {       \
    return expr::apply(Op{}, a, b);                                     \
  }
EINDECOMP_BINARY(pow, Pow)
EINDECOMP_BINARY(mod, Mod)
EINDECOMP_BINARY(operator%, Mod)
EINDECOMP_BINARY(atan2, Atan2)
EINDECOMP_BINARY(hypot, Hypot)
#undef EINDECOMP_BINARY
/// @}
// clang-format on

/// Every element, or the bound it is beyond: `clip(X(i), 0, 1)`. The bounds may be expressions.
template <class A, class Least, class Most>
  requires expr::Operands<A, Least, Most>
[[nodiscard]] constexpr auto clip(const A& a, const Least& least, const Most& most) {
  return expr::apply(Clip{}, a, least, most);
}

}  // namespace eindecomp
