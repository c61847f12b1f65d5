// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From an expression tree to one functor and the tensors it reads, in order.
#pragma once

#include <array>
#include <boost/hana/flatten.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/label_value.hpp"

namespace eindecomp::expr {

template <class... As, class... Bs>
[[nodiscard]] constexpr LabelList<As..., Bs...> operator+(LabelList<As...>, LabelList<Bs...>) {
  return {};
}

/// Facts about a tree without aggregations: how many tensors, scalars and values of labels it
/// reads, whether it is a chain of one operator, whether all that it reads are elements T, where a
/// label's value is of any type, and whether all that it reads and computes are numbers.
template <class E>
struct TreeTraits;
template <class S, class... Ls>
struct TreeTraits<Access<S, Ls...>> {
  static constexpr int reads = 1;
  static constexpr int scalars = 0;
  static constexpr int values = 0;
  using ValueLabels = LabelList<>;
  template <class Op>
  static constexpr bool chain_of = true;
  template <class T>
  static constexpr bool all_of = std::is_same_v<Widened<Elements<Access<S, Ls...>>>, T>;
  static constexpr bool of_numbers = is_number<Elements<Access<S, Ls...>>>;
};
template <class Number>
struct TreeTraits<Constant<Number>> {
  static constexpr int reads = 0;
  static constexpr int scalars = 1;
  static constexpr int values = 0;
  using ValueLabels = LabelList<>;
  template <class Op>
  static constexpr bool chain_of = true;
  template <class T>
  static constexpr bool all_of = std::is_same_v<Widened<Number>, T>;
  static constexpr bool of_numbers = is_number<Number>;
};
template <class L>
struct TreeTraits<LabelValue<L>> {
  static constexpr int reads = 0;
  static constexpr int scalars = 0;
  static constexpr int values = 1;
  using ValueLabels = LabelList<L>;
  template <class Op>
  static constexpr bool chain_of = true;
  template <class T>
  static constexpr bool all_of = true;
  static constexpr bool of_numbers = true;
};
template <class F, class... Es>
struct TreeTraits<Apply<F, Es...>> {
  static constexpr int reads = (TreeTraits<Es>::reads + ... + 0);
  static constexpr int scalars = (TreeTraits<Es>::scalars + ... + 0);
  static constexpr int values = (TreeTraits<Es>::values + ... + 0);
  /// By first appearance, each once, however often its value is taken.
  using ValueLabels = UnitedLabels<typename TreeTraits<Es>::ValueLabels...>;
  template <class Op>
  static constexpr bool chain_of = std::is_same_v<F, Op> &&
                                   (TreeTraits<Es>::template chain_of<Op> && ...);
  template <class T>
  static constexpr bool all_of = (TreeTraits<Es>::template all_of<T> && ...);
  static constexpr bool of_numbers =
      (TreeTraits<Es>::of_numbers && ...) && is_number<Elements<Apply<F, Es...>>>;
};

/// Whether F may take operands in any order and grouping in E, which applies it.
template <class F, class E>
inline constexpr bool is_reorderable_in = is_associative_commutative<F> &&
                                          (!reorders_numbers<F> || TreeTraits<E>::of_numbers);

template <class E>
inline constexpr bool is_applied = false;
template <class F, class... Es>
inline constexpr bool is_applied<Apply<F, Es...>> = true;
/// Whether a chain of one operator is computed from left to right as it is written.
template <class E>
inline constexpr bool goes_left_to_right = true;
template <class F, class First, class... Es>
inline constexpr bool goes_left_to_right<Apply<F, First, Es...>> = goes_left_to_right<First> &&
                                                                   (!is_applied<Es> && ...);

/// The tree's Access leaves from left to right.
template <class S, class... Ls>
[[nodiscard]] constexpr auto accesses_of(const Access<S, Ls...>& access) {
  return boost::hana::tuple<Access<S, Ls...>>(access);
}
template <class T>
[[nodiscard]] constexpr auto accesses_of(const Constant<T>&) {
  return boost::hana::tuple<>();
}
template <class L>
[[nodiscard]] constexpr auto accesses_of(const LabelValue<L>&) {
  return boost::hana::tuple<>();
}
template <class F, class... Es>
[[nodiscard]] constexpr auto accesses_of(const Apply<F, Es...>& node) {
  return boost::hana::unpack(node.operands, [](const auto&... es) {
    return boost::hana::flatten(boost::hana::make_tuple(accesses_of(es)...));
  });
}

/// Where a label is in a list that has it.
template <class L, class... Ls>
[[nodiscard]] constexpr int position_in(LabelList<Ls...>) {
  int position = 0;
  (void)((std::is_same_v<L, Ls> || (++position, false)) || ...);
  return position;
}

/// The tree as a functor of the tensors it reads, the first of which is number First, and, from
/// number Reads on, of the values of Labels.
template <int First, int Reads, class Labels, class S, class... Ls>
[[nodiscard]] constexpr auto functor_from(const Access<S, Ls...>&) {
  return Arg<First>{};
}
template <int First, int Reads, class Labels, class T>
[[nodiscard]] constexpr auto functor_from(const Constant<T>& constant) {
  return Value<T>{constant.value};
}
template <int First, int Reads, class Labels, class L>
[[nodiscard]] constexpr auto functor_from(const LabelValue<L>&) {
  return Arg<Reads + position_in<L>(Labels())>{};
}
template <int First, int Reads, class Labels, class F, class... Es>
[[nodiscard]] constexpr auto functor_from(const Apply<F, Es...>& applied) {
  return [&applied]<std::size_t... I>(std::index_sequence<I...>) {
    // first[i]: the number of tensors to the left of child i.
    constexpr auto first = [] {
      std::array<int, sizeof...(Es) + 1> numbers{First};
      const int reads[] = {TreeTraits<Es>::reads...};
      for (std::size_t i = 0; i < sizeof...(Es); ++i) numbers[i + 1] = numbers[i] + reads[i];
      return numbers;
    }();
    return node(applied.op,
                functor_from<first[I], Reads, Labels>(applied.operands[boost::hana::size_c<I>])...);
  }
  (std::index_sequence_for<Es...>{});
}
template <class E>
[[nodiscard]] constexpr auto functor_from_tree(const E& expression) {
  return functor_from<0, TreeTraits<E>::reads, typename TreeTraits<E>::ValueLabels>(expression);
}

/// A factor of 1 of any type.
struct One {
  template <class T>
  friend constexpr T operator*(One, const T& factor) {
    return factor;
  }
};

/// `factor` times the scalars in chains of Mul, from left to right.
template <class Factor>
[[nodiscard]] constexpr auto scalar_product(Factor factor) {
  return factor;
}
template <class Factor, class First, class... Rest>
[[nodiscard]] constexpr auto scalar_product(Factor factor, const First& first,
                                            const Rest&... rest) {
  if constexpr (requires { first.operands; }) {
    return boost::hana::unpack(
        first.operands, [&](const auto&... es) { return scalar_product(factor, es..., rest...); });
  } else if constexpr (requires { first.value; }) {
    return scalar_product(factor * first.value, rest...);
  } else {
    return scalar_product(factor, rest...);
  }
}

/// Whether a functor is an operator of the operands in their order.
template <class F>
struct IsOperatorOnLeaves : std::false_type {};
template <class Op, int... I>
struct IsOperatorOnLeaves<Composed<Op, Arg<I>...>>
    : std::is_same<std::integer_sequence<int, I...>,
                   std::make_integer_sequence<int, static_cast<int>(sizeof...(I))>> {};

/// The statement's ⊗ in its simplest form: kernels recognise Mul, ScaledMul and every operator
/// applied to the operands as they are; a chain of one associative and commutative operator over
/// elements of one type is that operator of many operands.
/// \tparam Reorders  whether numbers may be rounded in another order than they are written in
template <bool Reorders, class E>
[[nodiscard]] constexpr auto functor_of(const E& expression) {
  return functor_from_tree(expression);
}
template <bool Reorders, class S, class... Ls>
[[nodiscard]] constexpr auto functor_of(const Access<S, Ls...>&) {
  return Identity{};
}
template <bool Reorders, class F, class... Es>
[[nodiscard]] constexpr auto functor_of(const Apply<F, Es...>& node) {
  using Tree = TreeTraits<Apply<F, Es...>>;
  using AsWritten = decltype(functor_from_tree(node));
  // A value that is taken twice is one operand of the functor, and two of the chain.
  constexpr bool has_own_operands = Tree::values == Tree::ValueLabels::size;
  using T = Widened<Elements<Apply<F, Es...>>>;
  constexpr bool has_one_type = Tree::template all_of<T> || is_one_of<F, And, Or>;
  // What is no number may have a * that groups otherwise, and is of what rounds.
  constexpr bool is_exact = !is_one_of<F, Add, Mul> || std::is_integral_v<T>;
  constexpr bool any_order = (Reorders && is_reorderable_in<F, Apply<F, Es...>>) || is_exact;
  constexpr bool is_one_chain = has_own_operands && has_one_type && is_associative_commutative<F> &&
                                Tree::template chain_of<F> && Tree::scalars == 0 &&
                                std::is_invocable_v<F, int, int, int> &&
                                (any_order || goes_left_to_right<Apply<F, Es...>>);
  if constexpr (IsOperatorOnLeaves<AsWritten>::value || is_one_chain) {
    return node.op;
  } else if constexpr (has_own_operands && has_one_type && std::is_same_v<F, Mul> &&
                       Tree::template chain_of<Mul> && Tree::scalars > 0 &&
                       (any_order || Tree::reads + Tree::values == 1)) {
    return ScaledMul<decltype(scalar_product(One{}, node))>{scalar_product(One{}, node)};
  } else {
    return functor_from_tree(node);
  }
}

}  // namespace eindecomp::expr
