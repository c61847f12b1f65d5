// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Derivatives of functors of complex numbers. Most functions of a complex z have one derivative,
/// f'(z); real and imaginary part, modulus and conjugate have none, but all have Wirtinger's two:
/// df = ∂f/∂z dz + ∂f/∂z̄ dz̄.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/partials.hpp"

namespace eindecomp::expr {

/// ∂f/∂z and ∂f/∂z̄ of a functor; of a real z their sum is df/dz.
template <class A, class B>
struct Wirtinger {
  A by;            ///< ∂f/∂z
  B by_conjugate;  ///< ∂f/∂z̄
};
template <class A, class B>
inline constexpr bool is_zero<Wirtinger<A, B>> = is_zero<A>&& is_zero<B>;
template <class A, class B>
inline constexpr bool is_missing<Wirtinger<A, B>> = is_missing<A> || is_missing<B>;

/// The complex type among types of elements, the first if none is.
template <class T, class... Ts>
struct ComplexAmong {
  using type = T;
};
template <class T, class U, class... Ts>
  requires(!is_complex<T> && (is_complex<U> || (is_complex<Ts> || ...)))
struct ComplexAmong<T, U, Ts...> : ComplexAmong<U, Ts...> {};

/// The type of a complex constant in an expression; bool if there is none.
template <class E>
struct ComplexConstant {
  using type = bool;
};
template <class T>
struct ComplexConstant<Value<T>> {
  using type = std::conditional_t<is_complex<T>, T, bool>;
};
template <class Op, class... Es>
struct ComplexConstant<Composed<Op, Es...>>
    : ComplexAmong<bool, typename ComplexConstant<Es>::type...> {};

/// a/|a|, and 0 of 0.
struct Phase {
  static constexpr std::string_view name = "phase";
  template <class A>
  EINDECOMP_FUNCTION constexpr A operator()(const A& a) const {
    return a == A(0) ? A(0) : A(a / call_abs(a));
  }
};

template <class E>
inline constexpr bool is_conjugate = false;
template <class E>
inline constexpr bool is_conjugate<Composed<Conj, E>> = true;

/// The conjugate of a derivative.
template <class E>
[[nodiscard]] constexpr auto conjugate(const E& e) {
  if constexpr (is_missing<E> || is_zero<E> || is_unit<E> || is_indicator<E>) {
    return e;
  } else if constexpr (is_value<E>) {
    return E{Conj{}(e.value)};
  } else if constexpr (is_selected<E>) {
    return node(SelectOrZero{}, e.template child<0>(), conjugate(e.template child<1>()));
  } else if constexpr (is_inverse<E>) {
    return Inverse<decltype(conjugate(e.of))>{conjugate(e.of)};
  } else if constexpr (is_conjugate<E>) {
    return e.template child<0>();
  } else if constexpr (is_scaled<E>) {
    return node(Mul{}, conjugate(e.template child<0>()), conjugate(e.template child<1>()));
  } else {
    return node(Conj{}, e);
  }
}

/// Wirtinger's derivatives of f by operand K, whose elements are Vs and whose expressions es; what
/// partial() gives is that by z of a function that has one derivative.
/// \tparam R  the complex type of the numbers in it
template <int K, class R, class... Vs, class F, class Z, class... Es>
[[nodiscard]] constexpr auto wirtinger_partial(const F& f, const Z& z, const Es&... es) {
  using D = Derivatives<R>;
  using V = std::tuple_element_t<K, std::tuple<Vs...>>;
  using Part = typename RealPart<R>::type;
  const auto pair = []<class A, class B>(const A& a, const B& b) { return Wirtinger<A, B>{a, b}; };
  if constexpr (is_complex<V> && std::is_same_v<F, Conj>) {
    return pair(ZeroDerivative{}, UnitDerivative{});
  } else if constexpr (is_complex<V> && std::is_same_v<F, Real>) {
    return pair(D::number(0.5), D::number(0.5));
  } else if constexpr (is_complex<V> && std::is_same_v<F, Imag>) {
    return pair(Value<R>{R(Part(0), Part(-0.5))}, Value<R>{R(Part(0), Part(0.5))});
  } else if constexpr (is_complex<V> && std::is_same_v<F, Abs>) {
    const auto half = D::times(D::number(0.5), node(Phase{}, es...));
    return pair(conjugate(half), half);
  } else if constexpr (is_complex<V> && std::is_same_v<F, Phase>) {
    const auto half = D::times(D::number(0.5), D::inverse(node(Abs{}, es...)));
    return pair(half, D::times(D::number(-1), node(Square{}, z), half));
  } else if constexpr (is_one_of<F, Real, Conj>) {
    return pair(UnitDerivative{}, ZeroDerivative{});
  } else if constexpr (std::is_same_v<F, Imag>) {
    return pair(ZeroDerivative{}, ZeroDerivative{});
  } else {
    // Of functors of real numbers that are parts of complex ones, such as a comparison.
    using Own = std::conditional_t<(is_complex<Vs> || ...), R, Part>;
    return pair(partial<K, Own, Vs...>(f, z, es...), ZeroDerivative{});
  }
}

/// Wirtinger's derivatives of an expression by the operand Arg<I>, as derivative_of() has the one
/// of an expression of real numbers.
template <int I, class R, class... Vs, int K, class Z>
[[nodiscard]] constexpr auto wirtinger(const Arg<K>&, const Z&) {
  using Own = std::conditional_t<K == I, UnitDerivative, ZeroDerivative>;
  return Wirtinger<Own, ZeroDerivative>{};
}
template <int I, class R, class... Vs, class T, class Z>
[[nodiscard]] constexpr auto wirtinger(const Value<T>&, const Z&) {
  return Wirtinger<ZeroDerivative, ZeroDerivative>{};
}
template <int I, class R, class... Vs, class Op, class... Es, class Z>
[[nodiscard]] constexpr auto wirtinger(const Composed<Op, Es...>& f, const Z& z);

/// Those of |e|², ē and e, need no root, and are there where e is 0.
template <int I, class R, class... Vs, class E, class Z>
  requires(is_complex<std::decay_t<std::invoke_result_t<const E&, const Vs&...>>>)
[[nodiscard]] constexpr auto wirtinger(const Composed<Square, Composed<Abs, E>>& f, const Z&) {
  using D = Derivatives<R>;
  const auto& e = f.template child<0>().template child<0>();
  const auto inner = wirtinger<I, R, Vs...>(e, e);
  const auto by =
      D::plus(D::times(conjugate(e), inner.by), D::times(e, conjugate(inner.by_conjugate)));
  const auto by_conjugate = conjugate(by);
  return Wirtinger<std::decay_t<decltype(by)>, std::decay_t<decltype(by_conjugate)>>{by,
                                                                                     by_conjugate};
}

template <int K, int I, class R, class... Vs, class Op, class... Es, class Z, std::size_t... C>
[[nodiscard]] constexpr auto wirtinger_by_child(std::index_sequence<C...>,
                                                const Composed<Op, Es...>& f, const Z& z) {
  using D = Derivatives<R>;
  const auto& child = f.template child<K>();
  const auto inner = wirtinger<I, R, Vs...>(child, child);
  if constexpr (is_zero<std::decay_t<decltype(inner)>>) {
    return inner;
  } else {
    const auto outer =
        wirtinger_partial<K, R, std::decay_t<std::invoke_result_t<const Es&, const Vs&...>>...>(
            f.op, z, f.template child<C>()...);
    const auto by = D::plus(D::times(outer.by, inner.by),
                            D::times(outer.by_conjugate, conjugate(inner.by_conjugate)));
    const auto by_conjugate = D::plus(D::times(outer.by, inner.by_conjugate),
                                      D::times(outer.by_conjugate, conjugate(inner.by)));
    return Wirtinger<std::decay_t<decltype(by)>, std::decay_t<decltype(by_conjugate)>>{
        by, by_conjugate};
  }
}
template <int I, class R, class... Vs, class Op, class... Es, class Z>
[[nodiscard]] constexpr auto wirtinger(const Composed<Op, Es...>& f, const Z& z) {
  using D = Derivatives<R>;
  constexpr auto children = std::index_sequence_for<Es...>{};
  const auto add = [](const auto& one, const auto& two) {
    const auto by = D::plus(one.by, two.by);
    const auto by_conjugate = D::plus(one.by_conjugate, two.by_conjugate);
    return Wirtinger<std::decay_t<decltype(by)>, std::decay_t<decltype(by_conjugate)>>{
        by, by_conjugate};
  };
  const auto sum = [&](const auto& self, auto k) {
    constexpr int K = decltype(k)::value;
    const auto own = wirtinger_by_child<K, I, R, Vs...>(children, f, z);
    if constexpr (K + 1 == static_cast<int>(sizeof...(Es))) {
      return own;
    } else {
      return add(own, self(self, std::integral_constant<int, K + 1>{}));
    }
  };
  return sum(sum, std::integral_constant<int, 0>{});
}

/// What an operand X of a statement takes of g, the cotangent of its result Y: that number whose
/// product with X's change has the loss' change as its real part, as in JAX. Of a real X it is
/// real; of a real Y both of Wirtinger's derivatives are each other's conjugate, and one is enough.
template <class X, class Y, class R, class G, class A, class B>
[[nodiscard]] constexpr auto pulled(const G& g, const Wirtinger<A, B>& by) {
  using D = Derivatives<R>;
  if constexpr (!is_complex<X>) {
    return D::times(g, D::plus(by.by, by.by_conjugate));
  } else if constexpr (!is_complex<Y>) {
    return D::times(g, D::times(D::number(2), by.by));
  } else {
    return D::plus(D::times(g, by.by), D::times(node(Conj{}, g), conjugate(by.by_conjugate)));
  }
}
/// What a result Y changes by where its operand X changes by t; of a real Y, the real part is
/// meant.
template <class X, class Y, class R, class T, class A, class B>
[[nodiscard]] constexpr auto pushed(const T& t, const Wirtinger<A, B>& by) {
  using D = Derivatives<R>;
  if constexpr (!is_complex<X>) {
    return D::times(t, D::plus(by.by, by.by_conjugate));
  } else if constexpr (!is_complex<Y>) {
    return D::times(t, D::times(D::number(2), by.by));
  } else {
    return D::plus(D::times(t, by.by), D::times(node(Conj{}, t), by.by_conjugate));
  }
}

}  // namespace eindecomp::expr
