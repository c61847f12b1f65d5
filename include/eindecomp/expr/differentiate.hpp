// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Derivatives of scalar functors, as functors: symbolic differentiation of the trees of
/// compose.hpp. What comes out is such a tree again, so that it can be differentiated, printed and
/// compared, and so that kernels recognise the products in it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/compose.hpp"
#include "eindecomp/expr/functions.hpp"
#include "eindecomp/expr/functor_record.hpp"
#include "eindecomp/expr/operator.hpp"

namespace eindecomp::expr {

/// A derivative that is 0 everywhere.
struct ZeroDerivative {};
/// One that is 1 everywhere.
struct UnitDerivative {};
/// One of a functor that says nothing of it.
template <class F>
struct MissingDerivative {};
/// 1 / of, until something is divided by it.
template <class E>
struct Inverse {
  E of;
};
/// 1 where a condition holds and 0 elsewhere, until something is multiplied by it: that is left out
/// elsewhere, and not 0 times what may be infinite.
template <class C>
struct Indicator {
  C condition;
};
/// g where a condition holds, else 0.
struct SelectOrZero {
  static constexpr std::string_view name = "select_or_zero";
  static constexpr bool takes_vectors = true;
  template <class C, class G>
  EINDECOMP_FUNCTION constexpr auto operator()(const C& condition, const G& g) const
      -> std::decay_t<decltype(Select{}(condition, g, G{}))> {
    return Select{}(condition, g, G{});
  }
};

template <class E>
inline constexpr bool is_zero = std::is_same_v<E, ZeroDerivative>;
template <class E>
inline constexpr bool is_unit = std::is_same_v<E, UnitDerivative>;
template <class E>
inline constexpr bool is_missing = false;
template <class F>
inline constexpr bool is_missing<MissingDerivative<F>> = true;
template <class E>
inline constexpr bool is_inverse = false;
template <class E>
inline constexpr bool is_inverse<Inverse<E>> = true;
template <class E>
inline constexpr bool is_value = false;
template <class T>
inline constexpr bool is_value<Value<T>> = true;
template <class E>
inline constexpr bool is_indicator = false;
template <class C>
inline constexpr bool is_indicator<Indicator<C>> = true;
template <class E>
inline constexpr bool is_selected = false;
template <class C, class G>
inline constexpr bool is_selected<Composed<SelectOrZero, C, G>> = true;
/// A product whose first factor is a number, as times() makes it.
template <class E>
inline constexpr bool is_scaled = false;
template <class T, class E>
inline constexpr bool is_scaled<Composed<Mul, Value<T>, E>> = true;

/// Sums and products of derivatives, simplified; numbers in them are of type R.
template <class R>
struct Derivatives {
  [[nodiscard]] static constexpr Value<R> number(double value) { return {static_cast<R>(value)}; }
  /// As a functor.
  template <class E>
  [[nodiscard]] static constexpr auto functor(const E& e) {
    if constexpr (is_unit<E>) {
      return number(1);
    } else if constexpr (is_inverse<E>) {
      return node(Div{}, number(1), e.of);
    } else if constexpr (is_indicator<E>) {
      return node(SelectOrZero{}, e.condition, number(1));
    } else {
      return e;
    }
  }
  template <class A, class B>
  [[nodiscard]] static constexpr auto times(const A& a, const B& b) {
    if constexpr (is_missing<A> || is_zero<A> || is_unit<B>) {
      return a;
    } else if constexpr (is_missing<B> || is_zero<B> || is_unit<A>) {
      return b;
    } else if constexpr (is_indicator<A>) {
      return node(SelectOrZero{}, a.condition, functor(b));
    } else if constexpr (is_selected<A>) {
      return node(SelectOrZero{}, a.template child<0>(), times(a.template child<1>(), b));
    } else if constexpr (is_value<A> && is_value<B>) {
      return Value<R>{static_cast<R>(a.value * b.value)};
    } else if constexpr (is_value<A> && is_scaled<B>) {
      return node(Mul{}, times(a, b.template child<0>()), b.template child<1>());
    } else if constexpr (is_indicator<B> || is_selected<B> || is_value<B>) {
      return times(b, a);
    } else if constexpr (is_inverse<A> && is_inverse<B>) {
      return inverse(times(a.of, b.of));
    } else if constexpr (is_inverse<B>) {
      return node(Div{}, a, b.of);
    } else if constexpr (is_inverse<A>) {
      return node(Div{}, b, a.of);
    } else if constexpr (is_scaled<A>) {
      return times(a.template child<0>(), times(a.template child<1>(), b));
    } else if constexpr (is_scaled<B>) {
      return times(b.template child<0>(), times(a, b.template child<1>()));
    } else {
      return node(Mul{}, a, b);
    }
  }
  template <class A, class B, class C, class... Rest>
  [[nodiscard]] static constexpr auto times(const A& a, const B& b, const C& c,
                                            const Rest&... rest) {
    return times(times(a, b), c, rest...);
  }
  template <class A, class B>
  [[nodiscard]] static constexpr auto plus(const A& a, const B& b) {
    if constexpr (is_missing<A> || is_zero<B>) {
      return a;
    } else if constexpr (is_missing<B> || is_zero<A>) {
      return b;
    } else {
      return node(Add{}, functor(a), functor(b));
    }
  }
  template <class A, class B>
  [[nodiscard]] static constexpr auto minus(const A& a, const B& b) {
    return node(Sub{}, functor(a), functor(b));
  }
  template <class A>
  [[nodiscard]] static constexpr auto negative(const A& a) {
    return times(number(-1), a);
  }
  /// \param condition  a functor of truth values
  template <class C>
  [[nodiscard]] static constexpr auto indicator(const C& condition) {
    return Indicator<C>{condition};
  }
  template <class A>
  [[nodiscard]] static constexpr auto inverse(const A& a) {
    if constexpr (is_value<A>) {
      return Value<R>{static_cast<R>(R(1) / static_cast<R>(a.value))};
    } else {
      return Inverse<A>{a};
    }
  }
};

/// A user's functor as its derivative: by `f.derivative<K>(operands…)` by one operand,
/// `f.derivative<K, L>(operands…)` by two, `f.derivative(operand)` by its only one.
template <class F, int... Ks>
struct DerivativeOfFunctor {
  F f;
  template <class... As>
  static constexpr bool given = requires(const F& g, const As&... as) {
    g.template derivative<Ks...>(as...);
  };
  template <class... As>
  static constexpr bool given_as_only = sizeof...(Ks) == 1 && sizeof...(As) == 1 &&
                                        requires(const F& g, const As&... as) {
    g.derivative(as...);
  };
  template <class... As>
    requires(given<As...> || given_as_only<As...>)
  EINDECOMP_FUNCTION constexpr auto operator()(const As&... as) const {
    if constexpr (given<As...>) {
      return f.template derivative<Ks...>(as...);
    } else {
      return f.derivative(as...);
    }
  }
};
template <class F, int... Ks>
EINDECOMP_ALWAYS_INLINE constexpr void record(const DerivativeOfFunctor<F, Ks...>& d,
                                              FunctorRecord& to) {
  to.text << functor_name<DerivativeOfFunctor<F, Ks...>>();
  FunctorRecord of;
  record(d.f, of);
  to.add_state(of);
}

/// 1 where a > b, a half where both are equal, else 0: what max(a, b) owes to a.
struct GreaterShare {
  static constexpr std::string_view name = "greater_share";
  template <class A, class B>
  EINDECOMP_FUNCTION constexpr std::common_type_t<A, B> operator()(const A& a, const B& b) const {
    using T = std::common_type_t<A, B>;
    return b < a ? T(1) : (a == b ? T(0.5) : T(0));
  }
};
/// ∂(aᵇ)/∂a = b·aᵇ⁻¹, and 0 where b is.
struct PowSlope {
  static constexpr std::string_view name = "pow_slope";
  template <class A, class B>
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a, const B& b) const {
    using T = decltype(Pow{}(a, b));
    return b == B(0) ? T(0) : static_cast<T>(T(b) * Pow{}(a, B(b - B(1))));
  }
};
/// The logarithm; 0 of 0.
struct LogOrZero {
  static constexpr std::string_view name = "log_or_zero";
  template <class A>
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a) const {
    using T = decltype(call_log(a));
    return a == A(0) ? T(0) : call_log(a);
  }
};
/// g where a == b, else 0.
struct WhereEqual {
  static constexpr std::string_view name = "where_equal";
  template <class G, class A, class B>
  EINDECOMP_FUNCTION constexpr G operator()(const G& g, const A& a, const B& b) const {
    return a == b ? g : G(0);
  }
};
/// 1 where a == b, else 0, as a number of type T.
template <class T>
struct CountEqual {
  static constexpr std::string_view name = "count_equal";
  template <class A, class B>
  EINDECOMP_FUNCTION constexpr T operator()(const A& a, const B& b) const {
    return a == b ? T(1) : T(0);
  }
};
/// 1 where a is 0, else 0.
struct IsZero {
  static constexpr std::string_view name = "is_zero";
  template <class A>
  EINDECOMP_FUNCTION constexpr A operator()(const A& a) const {
    return a == A(0) ? A(1) : A(0);
  }
};
/// a, or 1 where it is 0.
struct OneIfZero {
  static constexpr std::string_view name = "one_if_zero";
  template <class A>
  EINDECOMP_FUNCTION constexpr A operator()(const A& a) const {
    return a == A(0) ? A(1) : a;
  }
};
/// The product of all factors but `a`, from that of the factors which are not 0 and the number of
/// those that are.
struct OtherFactors {
  static constexpr std::string_view name = "other_factors";
  template <class A>
  EINDECOMP_FUNCTION constexpr A operator()(const A& a, const A& product, const A& zeros) const {
    if (a == A(0)) return zeros == A(1) ? product : A(0);
    return zeros == A(0) ? product / a : A(0);
  }
};
/// The value that it is made with, whatever the operand.
template <class T>
struct ConstantOf {
  static constexpr std::string_view name = "constant";
  T value{};
  template <class A>
  EINDECOMP_FUNCTION constexpr T operator()(const A&) const {
    return value;
  }
};
template <class T>
EINDECOMP_ALWAYS_INLINE constexpr void record(const ConstantOf<T>& constant, FunctorRecord& to) {
  to.text << ConstantOf<T>::name;
  record_state(constant.value, to);
}
/// A user's ⊕: what the aggregate z owes to the element v, by `monoid.derivative(v, z)`.
template <class Monoid>
struct MonoidSlope {
  Monoid monoid;
  template <class V, class Z>
  EINDECOMP_FUNCTION constexpr auto operator()(const V& v, const Z& z) const {
    return monoid.derivative(v, z);
  }
};

}  // namespace eindecomp::expr

namespace eindecomp {

/// The operand itself, which gradients take for a constant.
struct StopGradient {
  static constexpr std::string_view name = "stop_gradient";
  static constexpr bool takes_vectors = true;  ///< it computes nothing
  template <class A>
  EINDECOMP_FUNCTION constexpr A operator()(const A& a) const {
    return a;
  }
};

/// Functors whose derivatives are 0 wherever they have one: comparisons, roundings, signs.
/// Specialise for one of your own.
template <class F>
inline constexpr bool is_piecewise_constant =
    expr::is_one_of<F, Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, And, Or, Not, Floor,
                    Ceil, Trunc, Round, Sign, IsNan, IsInf, IsFinite, StopGradient,
                    expr::GreaterShare, expr::IsZero>;
template <class T>
inline constexpr bool is_piecewise_constant<expr::CountEqual<T>> = true;
template <class T>
inline constexpr bool is_piecewise_constant<expr::ConstantOf<T>> = true;

}  // namespace eindecomp
