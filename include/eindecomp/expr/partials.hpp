// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What differentiate.hpp knows of each functor: its partial derivatives. At points where there is
/// none they are JAX's, but for Abs and Hypot, of which they are 0.
#pragma once

#include <numbers>
#include <tuple>
#include <type_traits>
#include <utility>

#include "eindecomp/expr/differentiate.hpp"
#include "eindecomp/expr/monoid.hpp"

namespace eindecomp::expr {

/// ∂f/∂a of a functor of one operand, where `z` is f(a).
template <class R, class F, class Z, class A>
[[nodiscard]] constexpr auto partial_of_one(const F&, const Z& z, const A& a) {
  using D = Derivatives<R>;
  const auto one = D::number(1);
  const auto inverse_root = [](const auto& e) { return D::inverse(node(Sqrt{}, e)); };
  // 1 - a², whose square would be rounded where the difference is small.
  const auto one_less_square = [&] { return D::times(D::minus(one, a), D::plus(one, a)); };
  if constexpr (is_one_of<F, Identity, Mul, Add>) {
    return UnitDerivative{};
  } else if constexpr (std::is_same_v<F, Negate>) {
    return D::number(-1);
  } else if constexpr (std::is_same_v<F, Relu>) {
    return D::indicator(node(Greater{}, a, D::number(0)));
  } else if constexpr (std::is_same_v<F, Abs>) {
    return node(Sign{}, a);
  } else if constexpr (std::is_same_v<F, Exp>) {
    return z;
  } else if constexpr (is_one_of<F, Log, LogOrZero>) {
    return D::inverse(a);
  } else if constexpr (std::is_same_v<F, Sqrt>) {
    return D::times(D::number(0.5), D::inverse(z));
  } else if constexpr (std::is_same_v<F, Tanh>) {
    return D::minus(one, node(Square{}, z));
  } else if constexpr (std::is_same_v<F, Sin>) {
    return node(Cos{}, a);
  } else if constexpr (std::is_same_v<F, Cos>) {
    return D::negative(node(Sin{}, a));
  } else if constexpr (std::is_same_v<F, Tan>) {
    return D::plus(one, node(Square{}, z));
  } else if constexpr (std::is_same_v<F, Asin>) {
    return inverse_root(one_less_square());
  } else if constexpr (std::is_same_v<F, Acos>) {
    return D::times(D::number(-1), inverse_root(one_less_square()));
  } else if constexpr (std::is_same_v<F, Atan>) {
    return D::inverse(D::plus(one, node(Square{}, a)));
  } else if constexpr (std::is_same_v<F, Sinh>) {
    return node(Cosh{}, a);
  } else if constexpr (std::is_same_v<F, Cosh>) {
    return node(Sinh{}, a);
  } else if constexpr (std::is_same_v<F, Asinh>) {
    return inverse_root(D::plus(node(Square{}, a), one));
  } else if constexpr (std::is_same_v<F, Acosh>) {
    return inverse_root(D::times(D::minus(a, one), D::plus(a, one)));
  } else if constexpr (std::is_same_v<F, Atanh>) {
    return D::inverse(one_less_square());
  } else if constexpr (std::is_same_v<F, Exp2>) {
    return D::times(D::number(std::numbers::ln2), z);
  } else if constexpr (std::is_same_v<F, Expm1>) {
    return D::plus(z, one);
  } else if constexpr (std::is_same_v<F, Log2>) {
    return D::times(D::number(std::numbers::log2e), D::inverse(a));
  } else if constexpr (std::is_same_v<F, Log10>) {
    return D::times(D::number(std::numbers::log10e), D::inverse(a));
  } else if constexpr (std::is_same_v<F, Log1p>) {
    return D::inverse(D::plus(one, a));
  } else if constexpr (std::is_same_v<F, Cbrt>) {
    return D::times(D::number(1.0 / 3), D::inverse(node(Square{}, z)));
  } else if constexpr (std::is_same_v<F, Erf>) {
    return D::times(D::number(2 * std::numbers::inv_sqrtpi),
                    node(Exp{}, node(Negate{}, node(Square{}, a))));
  } else if constexpr (std::is_same_v<F, Erfc>) {
    return D::times(D::number(-2 * std::numbers::inv_sqrtpi),
                    node(Exp{}, node(Negate{}, node(Square{}, a))));
  } else if constexpr (std::is_same_v<F, Square>) {
    return D::times(D::number(2), a);
  } else if constexpr (std::is_same_v<F, Sigmoid>) {
    return D::times(z, D::minus(one, z));
  } else if constexpr (std::is_same_v<F, Silu>) {
    const auto s = node(Sigmoid{}, a);
    return D::plus(s, D::times(z, D::minus(one, s)));
  } else if constexpr (std::is_same_v<F, Gelu>) {
    const auto above = node(Erfc{}, D::times(D::number(-0.5 * std::numbers::sqrt2), a));
    const auto bell = node(Exp{}, D::times(D::number(-0.5), node(Square{}, a)));
    return D::plus(D::times(D::number(0.5), above),
                   D::times(D::number(0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi),
                            D::times(a, bell)));
  } else if constexpr (std::is_same_v<F, OneIfZero>) {
    return node(Not{}, node(IsZero{}, a));
  } else {
    return MissingDerivative<F>{};
  }
}

/// ∂f/∂(operand K) of a functor of two operands, where `z` is f(a, b).
template <int K, class R, class F, class Z, class A, class B>
[[nodiscard]] constexpr auto partial_of_two(const F&, const Z& z, const A& a, const B& b) {
  using D = Derivatives<R>;
  constexpr bool first = K == 0;
  const auto of_first = [](const auto& one, const auto& two) {
    if constexpr (first) {
      return one;
    } else {
      return two;
    }
  };
  if constexpr (std::is_same_v<F, SelectOrZero>) {
    return of_first(ZeroDerivative{}, D::indicator(a));
  } else if constexpr (std::is_same_v<F, Sub>) {
    return of_first(UnitDerivative{}, D::number(-1));
  } else if constexpr (std::is_same_v<F, Div>) {
    return of_first(D::inverse(b), D::times(D::negative(z), D::inverse(b)));
  } else if constexpr (std::is_same_v<F, SqDiff>) {
    return D::times(D::number(first ? 2 : -2), D::minus(a, b));
  } else if constexpr (std::is_same_v<F, AbsDiff>) {
    return of_first(node(Sign{}, D::minus(a, b)), node(Sign{}, D::minus(b, a)));
  } else if constexpr (std::is_same_v<F, Max>) {
    return of_first(node(GreaterShare{}, a, b), node(GreaterShare{}, b, a));
  } else if constexpr (std::is_same_v<F, Min>) {
    return of_first(node(GreaterShare{}, b, a), node(GreaterShare{}, a, b));
  } else if constexpr (std::is_same_v<F, Pow>) {
    return of_first(node(PowSlope{}, a, b), D::times(node(LogOrZero{}, a), z));
  } else if constexpr (std::is_same_v<F, PowSlope>) {
    const auto less = D::minus(b, D::number(1));
    return of_first(D::times(b, node(PowSlope{}, a, less)),
                    D::plus(node(Pow{}, a, less), D::times(node(LogOrZero{}, a), z)));
  } else if constexpr (std::is_same_v<F, Mod>) {
    return of_first(UnitDerivative{}, D::negative(node(Floor{}, node(Div{}, a, b))));
  } else if constexpr (std::is_same_v<F, Atan2>) {
    const auto square = D::plus(node(Square{}, a), node(Square{}, b));
    return of_first(D::times(b, D::inverse(square)), D::times(D::negative(a), D::inverse(square)));
  } else if constexpr (std::is_same_v<F, Hypot>) {
    // Both are 0 where z is.
    const auto size = node(Select{}, node(NotEqual{}, z, D::number(0)), z, D::number(1));
    return of_first(D::times(a, D::inverse(size)), D::times(b, D::inverse(size)));
  } else {
    return MissingDerivative<F>{};
  }
}

/// Likewise of three.
template <int K, class R, class F, class Z, class A, class B, class C>
[[nodiscard]] constexpr auto partial_of_three(const F&, const Z&, const A& a, const B& b,
                                              const C& c) {
  using D = Derivatives<R>;
  if constexpr (std::is_same_v<F, Select>) {
    if constexpr (K == 0) {
      return ZeroDerivative{};
    } else {
      if constexpr (K == 1) {
        return D::indicator(a);
      } else {
        return D::indicator(node(Not{}, a));
      }
    }
  } else if constexpr (std::is_same_v<F, Clip>) {
    // min(max(a, least), most)
    const auto from_below = node(Max{}, a, b);
    if constexpr (K == 2) {
      return node(GreaterShare{}, from_below, c);
    } else {
      const auto within = node(GreaterShare{}, c, from_below);
      if constexpr (K == 0) {
        return D::times(within, node(GreaterShare{}, a, b));
      } else {
        return D::times(within, node(GreaterShare{}, b, a));
      }
    }
  } else if constexpr (std::is_same_v<F, WhereEqual>) {
    if constexpr (K == 0) {
      return node(CountEqual<R>{}, b, c);
    } else {
      return ZeroDerivative{};
    }
  } else {
    return MissingDerivative<F>{};
  }
}

/// An operand of elements V in a product of derivatives: integers are converted, for their products
/// by each other would overflow.
template <class R, class V, class E>
[[nodiscard]] constexpr auto as_number(const E& e) {
  if constexpr (std::is_integral_v<V> && !std::is_same_v<V, bool>) {
    return node(Cast<R>{}, e);
  } else {
    return e;
  }
}

/// A derivative to be added to others by a fold.
template <class R, class E>
struct SumOfDerivatives {
  E sum{};
  template <class F>
  [[nodiscard]] constexpr auto operator+(const SumOfDerivatives<R, F>& other) const {
    using Sum = decltype(Derivatives<R>::plus(sum, other.sum));
    return SumOfDerivatives<R, Sum>{Derivatives<R>::plus(sum, other.sum)};
  }
};

/// The product of all operands but number K.
template <int K, class R, class... Es, std::size_t... I>
[[nodiscard]] constexpr auto other_operands(std::index_sequence<I...>, const Es&... es) {
  using D = Derivatives<R>;
  const auto factor = [](auto is_k, const auto& e) {
    if constexpr (decltype(is_k)::value) {
      return UnitDerivative{};
    } else {
      return e;
    }
  };
  return D::times(UnitDerivative{}, UnitDerivative{},
                  factor(std::bool_constant<static_cast<int>(I) == K>{}, es)...);
}

template <class F>
inline constexpr bool is_scaled_mul = false;
template <class T>
inline constexpr bool is_scaled_mul<ScaledMul<T>> = true;
template <class F>
struct CastOf {
  static constexpr bool is = false;
};
template <class T, class F>
struct CastOf<Cast<T, F>> {
  static constexpr bool is = true;
  using Target = T;
};
/// The functor whose partial derivative by operand K is looked for, and that derivative if the
/// functor's author gave it.
template <class F, int K>
struct GivenDerivative {
  using type = DerivativeOfFunctor<F, K>;
  static constexpr const F& of(const F& f) { return f; }
};
template <class F, int... Ks, int K>
struct GivenDerivative<DerivativeOfFunctor<F, Ks...>, K> {
  using type = DerivativeOfFunctor<F, Ks..., K>;
  static constexpr const F& of(const DerivativeOfFunctor<F, Ks...>& f) { return f.f; }
};
template <class Derivative, class... Vs>
inline constexpr bool gives_derivative = std::is_invocable_v<const Derivative&, const Vs&...>;

/// ∂f/∂(operand K) where the operands are expressions Es whose elements are Vs, and `z` is f's.
template <int K, class R, class... Vs, class F, class Z, class... Es>
[[nodiscard]] constexpr auto partial(const F& f, const Z& z, const Es&... es) {
  using D = Derivatives<R>;
  using Given = GivenDerivative<F, K>;
  if constexpr (is_piecewise_constant<F>) {
    return ZeroDerivative{};
  } else if constexpr (CastOf<F>::is) {
    using T = typename CastOf<F>::Target;
    if constexpr (std::is_integral_v<T>) {
      return ZeroDerivative{};
    } else {
      using Wide = Widened<T>;
      return partial<K, Wide, typename SameForAll<Wide, Vs>::type...>(f.f, z,
                                                                      node(Cast<T>{}, es)...);
    }
  } else if constexpr (std::is_same_v<F, Add>) {
    return UnitDerivative{};
  } else if constexpr (std::is_same_v<F, Mul>) {
    return other_operands<K, R>(std::index_sequence_for<Es...>{}, as_number<R, Vs>(es)...);
  } else if constexpr (is_scaled_mul<F>) {
    return D::times(
        Value<R>{static_cast<R>(f.factor)},
        other_operands<K, R>(std::index_sequence_for<Es...>{}, as_number<R, Vs>(es)...));
  } else if constexpr (std::is_same_v<F, Div>) {
    return partial_of_two<K, R>(f, z, as_number<R, Vs>(es)...);
  } else if constexpr (gives_derivative<typename Given::type, Vs...>) {
    return node(typename Given::type{Given::of(f)}, es...);
  } else if constexpr (sizeof...(Es) == 1) {
    return partial_of_one<R>(f, z, es...);
  } else if constexpr (sizeof...(Es) == 2) {
    return partial_of_two<K, R>(f, z, es...);
  } else if constexpr (sizeof...(Es) == 3) {
    return partial_of_three<K, R>(f, z, es...);
  } else {
    return MissingDerivative<F>{};
  }
}

/// The derivative of an expression by the operand Arg<I>, where operands have elements Vs and
/// `z` stands for the expression.
template <int I, class R, class... Vs, int K, class Z>
[[nodiscard]] constexpr auto derivative_of(const Arg<K>&, const Z&) {
  if constexpr (K == I) {
    return UnitDerivative{};
  } else {
    return ZeroDerivative{};
  }
}
template <int I, class R, class... Vs, class T, class Z>
[[nodiscard]] constexpr auto derivative_of(const Value<T>&, const Z&) {
  return ZeroDerivative{};
}
template <int I, class R, class... Vs, class Op, class... Es, class Z>
[[nodiscard]] constexpr auto derivative_of(const Composed<Op, Es...>& f, const Z& z);

/// What child K of a tree contributes to its derivative.
template <int K, int I, class R, class... Vs, class Op, class... Es, class Z, std::size_t... C>
[[nodiscard]] constexpr auto derivative_by_child(std::index_sequence<C...>,
                                                 const Composed<Op, Es...>& f, const Z& z) {
  const auto& child = f.template child<K>();
  const auto inner = derivative_of<I, R, Vs...>(child, child);
  if constexpr (is_zero<std::decay_t<decltype(inner)>>) {
    return inner;
  } else {
    return Derivatives<R>::times(
        partial<K, R, std::decay_t<std::invoke_result_t<const Es&, const Vs&...>>...>(
            f.op, z, f.template child<C>()...),
        inner);
  }
}
template <int I, class R, class... Vs, class Op, class... Es, class Z>
[[nodiscard]] constexpr auto derivative_of(const Composed<Op, Es...>& f, const Z& z) {
  constexpr auto children = std::index_sequence_for<Es...>{};
  const auto sum_from = [&]<std::size_t... K>(std::index_sequence<K...>) {
    return (SumOfDerivatives<R, ZeroDerivative>{} + ... +
            SumOfDerivatives<R, decltype(derivative_by_child<K, I, R, Vs...>(children, f, z))>{
                derivative_by_child<K, I, R, Vs...>(children, f, z)});
  };
  return sum_from(children).sum;
}

}  // namespace eindecomp::expr
