// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From the expression of a derivative to a statement's ⊗: of the tensors that it reads and no
/// others, in the form that kernels recognise.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "eindecomp/core/static_vector.hpp"
#include "eindecomp/expr/flatten.hpp"
#include "eindecomp/expr/label_value.hpp"
#include "eindecomp/expr/partials.hpp"

namespace eindecomp::expr {

template <class F>
inline constexpr bool is_composed = false;
template <class Op, class... Es>
inline constexpr bool is_composed<Composed<Op, Es...>> = true;

/// Whether a join gives the same bits wherever it is computed, whoever compiles it for whatever
/// machine: it is one operation or products alone, which no compiler contracts.
template <class F>
inline constexpr bool keeps_bits =
    is_one_of<F, Identity, Mul, Add, Sub, Negate, Min, Max, AbsDiff, SqDiff, Relu> ||
    is_scaled_mul<F>;
template <class E>
inline constexpr bool is_leaf = is_value<E>;
template <int I>
inline constexpr bool is_leaf<Arg<I>> = true;
template <class Op, class... Es>
inline constexpr bool keeps_bits<Composed<Op, Es...>> = keeps_bits<Op> && (is_leaf<Es> && ...);

/// Whether a join is, or is composed of, an operator of which Is says so.
template <template <class> class Is, class F>
inline constexpr bool has_operator = Is<F>::value;
template <template <class> class Is, int I>
inline constexpr bool has_operator<Is, Arg<I>> = false;
template <template <class> class Is, class T>
inline constexpr bool has_operator<Is, Value<T>> = false;
template <template <class> class Is, class Op, class... Es>
inline constexpr bool has_operator<Is, Composed<Op, Es...>> = Is<Op>::value ||
                                                              (has_operator<Is, Es> || ...);

/// Whether an operator may be no number where an operand is 0: it is more than sums, products and
/// choices of its operands.
template <class Op>
struct HasPole : std::bool_constant<!(keeps_bits<Op> || is_piecewise_constant<Op> ||
                                      is_one_of<Op, Square, Exp, Tanh, Sigmoid, Sin, Cos, Select,
                                                SelectOrZero, WhereEqual, Real, Imag, Conj>)> {};
template <class Op>
struct IsExp : std::is_same<Op, Exp> {};

/// Whether a join may be no number where an operand is 0.
template <class F>
inline constexpr bool may_have_pole = has_operator<HasPole, F>;
/// Whether a join of finite operands may be infinite or no number.
template <class F>
inline constexpr bool may_be_infinite = may_have_pole<F> || has_operator<IsExp, F>;

/// The most tensors that a derivative speaks of.
using ArgList = static_vector<int, 16>;

/// What is known of an expression's leaves.
template <class E>
struct Leaves;
template <int I>
struct Leaves<Arg<I>> {
  static constexpr int reads = 1;
  static constexpr bool product = true;
  static constexpr void add(ArgList& list) {
    for (const int i : list) {
      if (i == I) return;
    }
    list.push_back(I);
  }
};
template <class T>
struct Leaves<Value<T>> {
  static constexpr int reads = 0;
  static constexpr bool product = true;
  static constexpr void add(ArgList&) {}
};
template <class Op, class... Es>
struct Leaves<Composed<Op, Es...>> {
  static constexpr int reads = (0 + ... + Leaves<Es>::reads);
  static constexpr bool product = std::is_same_v<Op, Mul> && (Leaves<Es>::product && ...);
  static constexpr void add(ArgList& list) { (Leaves<Es>::add(list), ...); }
};

/// Leaves renumbered by their place in a list.
template <class List, int I>
[[nodiscard]] constexpr auto renumbered(const Arg<I>&) {
  constexpr int place = [] {
    int at = 0;
    while (List::args[static_cast<std::size_t>(at)] != I) ++at;
    return at;
  }();
  return Arg<place>{};
}
template <class List, class T>
[[nodiscard]] constexpr auto renumbered(const Value<T>& value) {
  return value;
}
template <class List, class Op, class... Es>
[[nodiscard]] constexpr auto renumbered(const Composed<Op, Es...>& e) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return node(e.op, renumbered<List>(e.template child<I>())...);
  }
  (std::index_sequence_for<Es...>{});
}

/// The ⊗ of an expression E over tensors of which Types are the elements.
template <class E, class Types>
struct DerivedJoin {
  /// What is read, in the order of the expression; then what may be the value of a label, in
  /// its own: a statement takes values after elements.
  static constexpr ArgList args = [] {
    constexpr auto is_number = []<class... Ts>(std::tuple<Ts...>*) {
      return std::array<bool, sizeof...(Ts)>{std::is_same_v<Ts, LabelNumber>...};
    }(static_cast<Types*>(nullptr));
    ArgList list;
    Leaves<E>::add(list);
    ArgList ordered;
    for (const int i : list) {
      if (!is_number[static_cast<std::size_t>(i)]) ordered.push_back(i);
    }
    for (int i = 0; i < static_cast<int>(is_number.size()); ++i) {
      for (const int read : list) {
        if (read == i && is_number[static_cast<std::size_t>(i)]) ordered.push_back(i);
      }
    }
    return ordered;
  }();
  static constexpr int count = static_cast<int>(args.size());  ///< of the tensors that it reads

  template <std::size_t... I>
  static std::tuple<std::tuple_element_t<static_cast<std::size_t>(args[I]), Types>...> types_of(
      std::index_sequence<I...>);
  /// Of the tensors in their order.
  using OperandTypes = decltype(types_of(std::make_index_sequence<args.size()>{}));

  [[nodiscard]] static constexpr std::span<const int> leaves() {
    return {args.begin(), args.end()};
  }
  /// The operator on top, by which a statement is named.
  [[nodiscard]] static constexpr const auto& head(const E& e) { return e.op; }

  [[nodiscard]] static constexpr auto functor(const E& e) {
    const auto ordered = renumbered<DerivedJoin>(e);
    using Ordered = std::decay_t<decltype(ordered)>;
    if constexpr (std::is_same_v<Ordered, Arg<0>>) {
      return Identity{};
    } else if constexpr (Leaves<E>::product && Leaves<E>::reads == count && is_scaled<Ordered>) {
      using Factor = decltype(ordered.template child<0>().value);
      return ScaledMul<std::remove_cv_t<Factor>>{ordered.template child<0>().value};
    } else if constexpr (Leaves<E>::product && Leaves<E>::reads == count) {
      return Mul{};
    } else if constexpr (IsOperatorOnLeaves<Ordered>::value) {
      return ordered.op;
    } else {
      return ordered;
    }
  }
};

/// The expression as elements X.
template <class X, class Types, class E>
[[nodiscard]] constexpr auto converted(const E& e) {
  const auto f = Derivatives<X>::functor(e);
  using F = std::decay_t<decltype(f)>;
  using Invoked = decltype([]<class... Us>(std::tuple<Us...>*) {
    return std::type_identity<std::decay_t<std::invoke_result_t<const F&, const Us&...>>>{};
  }(static_cast<Types*>(nullptr)));
  if constexpr (std::is_same_v<typename Invoked::type, X>) {
    return f;
  } else if constexpr (is_complex<typename Invoked::type> && !is_complex<X>) {
    return converted<X, Types>(node(Real{}, f));
  } else {
    return node(Cast<X>{}, f);
  }
}
template <class E, class X, class Types>
using Converted = decltype(converted<X, Types>(std::declval<const E&>()));

}  // namespace eindecomp::expr
