// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Joins with masks, which are comparisons of labels: what of the join is left where they hold and
/// where they do not, as joins that do not ask.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/compose.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/expr/label_value.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether a part of a join of elements Types is affine in values of labels, or in what may be one.
template <class E, class Types>
inline constexpr bool is_affine_part = false;
template <int I, class... Ts>
inline constexpr bool is_affine_part<Arg<I>, std::tuple<Ts...>> =
    std::is_same_v<std::tuple_element_t<std::size_t{I}, std::tuple<Ts...>>, expr::LabelNumber>;
template <std::signed_integral T, class Types>
inline constexpr bool is_affine_part<Value<T>, Types> = true;
template <std::size_t Labels, class... Es, class Types>
inline constexpr bool is_affine_part<Composed<expr::AffineValue<Labels>, Es...>, Types> =
    (is_affine_part<Es, Types> && ...);

template <class F>
inline constexpr bool is_comparison =
    expr::is_one_of<F, Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual>;
/// Whether a part of a join is a mask: comparisons of labels, or what is said of several.
template <class E, class Types>
inline constexpr bool is_mask_part = false;
template <class F, class A, class B, class Types>
  requires is_comparison<F>
inline constexpr bool is_mask_part<Composed<F, A, B>, Types> =
    is_affine_part<A, Types> && is_affine_part<B, Types>;
template <class F, class... Es, class Types>
  requires expr::is_one_of<F, And, Or, Not>
inline constexpr bool is_mask_part<Composed<F, Es...>, Types> = (is_mask_part<Es, Types> && ...);

/// The number of the first operand that a part of a join reads.
template <class E>
inline constexpr int first_read = max_operands;
template <int I>
inline constexpr int first_read<Arg<I>> = I;
template <class Op, class... Es>
inline constexpr int first_read<Composed<Op, Es...>> = std::min({first_read<Es>...});

/// What is known of a part of a join of elements Types.
template <class E, class Types>
struct JoinPart {
  static constexpr int masks = 0;              ///< those in it that are in no other
  static constexpr int comparisons = 0;        ///< in masks
  static constexpr int reads = 0;              ///< operands up to the last read outside of masks
  static constexpr int labels = max_operands;  ///< the first operand that masks compare
};
template <int I, class Types>
struct JoinPart<Arg<I>, Types> : JoinPart<void, Types> {
  static constexpr int reads = I + 1;
};
template <class Op, class... Es, class Types>
struct JoinPart<Composed<Op, Es...>, Types> {
  static constexpr int masks = (0 + ... + JoinPart<Es, Types>::masks);
  static constexpr int comparisons = (0 + ... + JoinPart<Es, Types>::comparisons);
  static constexpr int reads = std::max({JoinPart<Es, Types>::reads...});
  static constexpr int labels = std::min({JoinPart<Es, Types>::labels...});
};
template <class Op, class... Es, class Types>
  requires is_mask_part<Composed<Op, Es...>, Types>
struct JoinPart<Composed<Op, Es...>, Types> {
  static constexpr int masks = 1;
  static constexpr int comparisons =
      is_comparison<Op> ? 1 : (0 + ... + JoinPart<Es, Types>::comparisons);
  static constexpr int reads = 0;
  static constexpr int labels = first_read<Composed<Op, Es...>>;
};

/// A mask of which it is known whether it holds.
template <bool Holds>
struct KnownMask {};
template <class E>
inline constexpr bool is_known_mask = false;
template <bool Holds>
inline constexpr bool is_known_mask<KnownMask<Holds>> = true;
template <class E>
inline constexpr bool is_constant = false;
template <class T>
inline constexpr bool is_constant<Value<T>> = true;
/// A join of which nothing simpler is known.
struct NoSimplerJoin {};

/// The parts of a join of elements Ts where its masks hold or not, as the bits say, mask 0 first.
template <unsigned Bits, class... Ts>
struct UnderMasks {
  using Types = std::tuple<Ts...>;

  /// What is left of a part the first of whose masks is number First.
  template <int First, class E>
  [[nodiscard]] static constexpr auto part(const E& e) {
    using Part = JoinPart<E, Types>;
    if constexpr (is_mask_part<E, Types>) {
      return KnownMask<(Bits >> First & 1U) != 0>{};
    } else if constexpr (Part::masks == 0) {
      return e;
    } else {
      return part_of_several<First>(e);
    }
  }
  /// Of a whole join.
  template <class E>
  [[nodiscard]] static constexpr auto join(const E& e) {
    return as_join(as_number<bool>(part<0>(e)));
  }

 private:
  template <class E>
  using Result = std::decay_t<std::invoke_result_t<const E&, const Widened<Ts>&...>>;

  /// One operand alone as what gives its element, and no reference to it.
  template <class E>
  [[nodiscard]] static constexpr auto as_join(const E& e) {
    return e;
  }
  template <int I>
  [[nodiscard]] static constexpr auto as_join(const Arg<I>& e) {
    return expr::node(Identity{}, e);
  }
  template <class T, class E>
  [[nodiscard]] static constexpr auto as_number(const E& e) {
    return e;
  }
  template <class T, bool Holds>
  [[nodiscard]] static constexpr Value<T> as_number(const KnownMask<Holds>&) {
    return {T(Holds ? 1 : 0)};
  }

  template <int First, class Op, class... Es>
  [[nodiscard]] static constexpr auto part_of_several(const Composed<Op, Es...>& e) {
    return [&e]<std::size_t... I>(std::index_sequence<I...>) {
      // first(i): the number of masks to the left of child i.
      constexpr auto first = [](std::size_t child) {
        const int masks[] = {JoinPart<Es, Types>::masks...};
        int number = First;
        for (std::size_t i = 0; i < child; ++i) number += masks[i];
        return number;
      };
      return simplified<Result<Composed<Op, Es...>>>(e.op,
                                                     part<first(I)>(e.template child<I>())...);
    }
    (std::index_sequence_for<Es...>{});
  }

  /// op of parts, some of which are known, as a part that gives R.
  template <class R, class Op, class... Es>
  [[nodiscard]] static constexpr auto simplified(const Op& op, const Es&... es) {
    if constexpr ((std::is_same_v<Es, NoSimplerJoin> || ...)) {
      return NoSimplerJoin{};
    } else if constexpr (std::is_same_v<Op, Select>) {
      return chosen<R>(es...);
    } else if constexpr (std::is_same_v<Op, Mul>) {
      return product<R>(std::tuple<>(), es...);
    } else if constexpr (expr::is_one_of<Op, Add, Sub, Div>) {
      return folded<R>(op, as_number<R>(es)...);
    } else if constexpr ((is_known_mask<Es> || ...)) {
      // Of a cast a number; what else takes truth values is not known.
      return cast<R>(op, es...);
    } else {
      return folded<R>(op, es...);
    }
  }
  template <class R, class T, bool Holds>
  [[nodiscard]] static constexpr auto cast(const Cast<T>& op, const KnownMask<Holds>&) {
    return Value<R>{static_cast<R>(op(Holds))};
  }
  template <class R, class Op, class... Es>
  [[nodiscard]] static constexpr auto cast(const Op&, const Es&...) {
    return NoSimplerJoin{};
  }
  template <class R, class Op, class... Es>
  [[nodiscard]] static constexpr auto folded(const Op& op, const Es&... es) {
    if constexpr ((is_constant<Es> && ...)) {
      return Value<R>{op(expr::widened(es.value)...)};
    } else {
      return expr::node(op, es...);
    }
  }
  template <class R, class C, class A, class B>
  [[nodiscard]] static constexpr auto chosen(const C& condition, const A& a, const B& b) {
    if constexpr (std::is_same_v<C, KnownMask<true>>) {
      return converted<R>(as_number<R>(a));
    } else if constexpr (std::is_same_v<C, KnownMask<false>>) {
      return converted<R>(as_number<R>(b));
    } else {
      return expr::node(Select{}, condition, as_number<R>(a), as_number<R>(b));
    }
  }
  template <class R, class E>
  [[nodiscard]] static constexpr auto converted(const E& e) {
    if constexpr (is_constant<E>) {
      return Value<R>{static_cast<R>(expr::widened(e.value))};
    } else if constexpr (std::is_same_v<Result<E>, R>) {
      return as_join(e);
    } else {
      return NoSimplerJoin{};
    }
  }
  /// Of factors of which the first are in a tuple, without those that are 1.
  template <class R, class... Kept>
  [[nodiscard]] static constexpr auto product(const std::tuple<Kept...>& kept) {
    if constexpr (sizeof...(Kept) == 0) {
      return Value<R>{R(1)};
    } else if constexpr (sizeof...(Kept) == 1) {
      return converted<R>(std::get<0>(kept));
    } else {
      return std::apply([](const Kept&... factors) { return expr::node(Mul{}, factors...); }, kept);
    }
  }
  template <class R, class... Kept, class E, class... Es>
  [[nodiscard]] static constexpr auto product(const std::tuple<Kept...>& kept, const E& e,
                                              const Es&... es) {
    if constexpr (std::is_same_v<E, KnownMask<true>>) {
      return product<R>(kept, es...);
    } else if constexpr ((std::is_same_v<KnownMask<false>, E> || ... ||
                          std::is_same_v<KnownMask<false>, Es>)) {
      return Value<R>{R(0)};
    } else {
      return product<R>(std::tuple_cat(kept, std::tuple<E>(e)), es...);
    }
  }
};

/// A join of elements Ts and its masks.
template <class Join, class... Ts>
struct MaskedJoin {
  using Types = std::tuple<Ts...>;
  /// A tree whatever the join is written as.
  [[nodiscard]] static constexpr auto tree(const Join& join) {
    if constexpr (is_comparison<Join> && sizeof...(Ts) == 2) {
      return expr::node(join, Arg<0>{}, Arg<1>{});
    } else {
      return join;
    }
  }
  using Tree = decltype(tree(std::declval<const Join&>()));
  using Part = JoinPart<Tree, Types>;
  static constexpr int masks = Part::masks;
  static constexpr int comparisons = Part::comparisons;  ///< in all of them
  static constexpr int max_masks = 2;  ///< as joins are compiled for each of their combinations
  static constexpr int reads = Part::reads;         ///< operands, the first, outside of masks
  static constexpr int first_label = Part::labels;  ///< of the operands that masks compare
  static constexpr bool is_one = masks > 0 && masks <= max_masks&& reads <= first_label;

  /// The join where masks hold as the bits say: of the first `reads` operands.
  template <unsigned Bits>
  [[nodiscard]] static constexpr auto under(const Join& join) {
    return UnderMasks<Bits, Ts...>::join(tree(join));
  }
  template <unsigned Bits>
  using Under = decltype(under<Bits>(std::declval<const Join&>()));

  /// Calls f(mask) for each, in order.
  template <class E, class F>
  EINDECOMP_ALWAYS_INLINE static constexpr void for_each_mask(const E& e, const F& f) {
    if constexpr (is_mask_part<E, Types>) {
      f(e);
    } else if constexpr (JoinPart<E, Types>::masks > 0) {
      for_each_child(e, [&](const auto& child) { for_each_mask(child, f); });
    }
  }
  /// Calls f(a, b) for each comparison of a with b in a mask.
  template <class F, class Op, class... Es>
  EINDECOMP_ALWAYS_INLINE static constexpr void for_each_comparison(const Composed<Op, Es...>& mask,
                                                                    const F& f) {
    if constexpr (is_comparison<Op>) {
      f(mask.template child<0>(), mask.template child<1>());
    } else {
      for_each_child(mask, [&](const auto& child) { for_each_comparison(child, f); });
    }
  }

 private:
  template <class Op, class... Es, class F>
  EINDECOMP_ALWAYS_INLINE static constexpr void for_each_child(const Composed<Op, Es...>& e,
                                                               const F& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(e.template child<I>()), ...); }
    (std::index_sequence_for<Es...>{});
  }
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
