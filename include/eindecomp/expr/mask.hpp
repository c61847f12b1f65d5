// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Masks, which are comparisons of labels: where they make an expression 0, and which of the
/// tensors that it reads they choose.
#pragma once

#include <algorithm>
#include <boost/hana/flatten.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/factors.hpp"
#include "eindecomp/expr/flatten.hpp"
#include "eindecomp/expr/label_value.hpp"
#include "eindecomp/expr/operator.hpp"

namespace eindecomp::expr {

/// What an expression is as a function of labels; none if it is no affine one.
/// \{
template <class E>
[[nodiscard]] constexpr std::optional<IndexSpec> affine_of(const E&) {
  return std::nullopt;
}
template <class L>
[[nodiscard]] constexpr std::optional<IndexSpec> affine_of(const LabelValue<L>&) {
  return IndexSpec::of({{LabelList<L>::names()[0], 1}});
}
template <std::integral T>
[[nodiscard]] constexpr std::optional<IndexSpec> affine_of(const Constant<T>& constant) {
  return IndexSpec::of({}, static_cast<Extent>(constant.value));
}
template <std::size_t Labels, class... Ls>
[[nodiscard]] constexpr std::optional<IndexSpec> affine_of(
    const Apply<AffineValue<Labels>, LabelValue<Ls>...>& value) {
  IndexSpec index;
  index.offset = value.op.offset;
  std::size_t n = 0;
  (index.terms.push_back({LabelList<Ls>::names()[0], value.op.coefficients[n++]}), ...);
  return index;
}
/// \}

/// Adds the condition a + offset <= b, if both are known, and it has few enough labels and numbers
/// that can be computed with: j - i <= w may be written with a w that is no limit.
constexpr void add_condition(const std::optional<IndexSpec>& a, const std::optional<IndexSpec>& b,
                             Extent offset, std::vector<IndexSpec>& conditions) {
  if (!a || !b || !a->is_computable() || !b->is_computable()) return;
  IndexSpec difference = *b;
  difference.offset -= a->offset + offset;
  for (const IndexSpec::Term& term : a->terms) {
    const auto same =
        std::find_if(difference.terms.begin(), difference.terms.end(),
                     [&](const IndexSpec::Term& other) { return other.label == term.label; });
    if (same != difference.terms.end()) {
      same->coefficient -= term.coefficient;
    } else if (difference.terms.size() == max_index_labels) {
      return;
    } else {
      difference.terms.push_back({term.label, -term.coefficient});
    }
  }
  if (difference.is_computable()) conditions.push_back(difference);
}

/// Adds what a comparison of labels says, each that an index is not negative, or what it says where
/// it does not hold.
template <class F, class A, class B>
constexpr void add_comparison(const Apply<F, A, B>& e, bool holds,
                              std::vector<IndexSpec>& conditions) {
  const auto a = affine_of(e.operands[boost::hana::size_c<0>]);
  const auto b = affine_of(e.operands[boost::hana::size_c<1>]);
  if constexpr (is_one_of<F, Equal, NotEqual>) {
    if (holds != std::is_same_v<F, Equal>) return;
    add_condition(a, b, 0, conditions);
    add_condition(b, a, 0, conditions);
  } else if constexpr (is_one_of<F, Less, LessEqual>) {
    constexpr bool strict = std::is_same_v<F, Less>;
    if (holds) add_condition(a, b, strict ? 1 : 0, conditions);
    if (!holds) add_condition(b, a, strict ? 0 : 1, conditions);
  } else {
    constexpr bool strict = std::is_same_v<F, Greater>;
    if (holds) add_condition(b, a, strict ? 1 : 0, conditions);
    if (!holds) add_condition(a, b, strict ? 0 : 1, conditions);
  }
}

/// Adds conditions on labels, each that an index is not negative, without any of which an
/// expression is 0: those of comparisons that are its factors, and of what is selected instead of
/// 0. Other factors are not looked at: one that is infinite is taken for finite.
template <class E>
struct Mask {
  static constexpr void add(const E&, std::vector<IndexSpec>&) {}
};
template <class F, class A, class B>
  requires is_one_of<F, Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual>
struct Mask<Apply<F, A, B>> {
  static constexpr void add(const Apply<F, A, B>& e, std::vector<IndexSpec>& conditions) {
    add_comparison(e, true, conditions);
  }
};
template <class F, class... Es>
  requires is_one_of<F, Mul, And>
struct Mask<Apply<F, Es...>> {
  static constexpr void add(const Apply<F, Es...>& e, std::vector<IndexSpec>& conditions) {
    boost::hana::unpack(e.operands,
                        [&](const Es&... factors) { (Mask<Es>::add(factors, conditions), ...); });
  }
};
/// Of a quotient, and of what changes one operand and keeps 0.
template <class F, class First, class... Rest>
  requires is_one_of<F, Div, Negate, Cast<Elements<Apply<F, First, Rest...>>>>
struct Mask<Apply<F, First, Rest...>> {
  static constexpr void add(const Apply<F, First, Rest...>& e, std::vector<IndexSpec>& conditions) {
    Mask<First>::add(e.operands[boost::hana::size_c<0>], conditions);
  }
};
template <class C, class A, class T>
struct Mask<Apply<Select, C, A, Constant<T>>> {
  static constexpr void add(const Apply<Select, C, A, Constant<T>>& e,
                            std::vector<IndexSpec>& conditions) {
    if (e.operands[boost::hana::size_c<2>].value != T(0)) return;
    Mask<C>::add(e.operands[boost::hana::size_c<0>], conditions);
    Mask<A>::add(e.operands[boost::hana::size_c<1>], conditions);
  }
};

/// Whether an expression is a comparison of labels, a factor of 0 or 1.
template <class E>
inline constexpr bool is_mask = false;
template <class F, class A, class B>
  requires is_one_of<F, Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual>
inline constexpr bool is_mask<Apply<F, A, B>> =
    TreeTraits<Apply<F, A, B>>::reads == 0 && TreeTraits<Apply<F, A, B>>::values > 0;
template <class T, class E>
inline constexpr bool is_mask<Apply<Cast<T>, E>> = is_mask<E>;
template <class A, class B>
inline constexpr bool is_mask<Apply<And, A, B>> = is_mask<A>&& is_mask<B>;

/// Whether an expression is a product of what it reads, of constants and of comparisons of labels.
template <class E>
inline constexpr bool is_product_of_operands = is_operand<E>;
template <class E>
  requires is_mask<E>
inline constexpr bool is_product_of_operands<E> = true;
template <class... Es>
inline constexpr bool is_product_of_operands<Apply<Mul, Es...>> = (is_product_of_operands<Es> &&
                                                                   ...);

/// The factors of a product, from left to right.
/// \{
template <class E>
[[nodiscard]] constexpr auto factors_of(const E& e) {
  return boost::hana::tuple<E>(e);
}
template <class... Es>
[[nodiscard]] constexpr auto factors_of(const Apply<Mul, Es...>& product) {
  return boost::hana::unpack(product.operands, [](const auto&... es) {
    return boost::hana::flatten(boost::hana::make_tuple(factors_of(es)...));
  });
}
/// \}

/// The number of the first of some factors that is a tensor with all labels of a mask, and lacks
/// one of all labels: -1 if none is.
template <class Mask, class All, class... Factors>
inline constexpr int holder_of = [] {
  int number = 0;
  const bool found =
      (((is_operand<Factors> && !is_computed<Factors> &&
         has_labels<Factors, typename Mask::LabelTypes> && !has_labels<Factors, All>) ||
        (++number, false)) ||
       ...);
  return found ? number : -1;
}();

/// Whether each of the factors of a product is a tensor or a mask of one of them.
template <class Product, class Factors>
inline constexpr bool are_masked_tensors = false;
template <class Product, class... Fs>
inline constexpr bool are_masked_tensors<Product, boost::hana::tuple<Fs...>> = [] {
  constexpr auto fits = []<class F>(std::type_identity<F>) {
    if constexpr (is_mask<F>) {
      return holder_of<F, typename Product::LabelTypes, Fs...> >= 0;
    } else if constexpr (is_operand<F>) {
      return !is_computed<F> && std::is_same_v<Elements<F>, Elements<Product>>;
    } else {
      return false;
    }
  };
  return (fits(std::type_identity<Fs>{}) && ...);
}();

/// Whether a sum of a product of tensors with masks is one of products of masked tensors, which
/// have fewer labels than it has.
template <class Monoid, class E>
inline constexpr bool is_masked_product = false;
template <class... Es>
  requires(TreeTraits<Apply<Mul, Es...>>::values > 0 && TreeTraits<Apply<Mul, Es...>>::of_numbers)
inline constexpr bool is_masked_product<Sum, Apply<Mul, Es...>> =
    are_masked_tensors<Apply<Mul, Es...>,
                       decltype(factors_of(std::declval<const Apply<Mul, Es...>&>()))>;

/// Adds for each tensor that an expression reads, from left to right, the conditions without any of
/// which it does not matter: those by which it is selected.
template <class E>
struct ReadMasks {
  using Conditions = std::vector<IndexSpec>;
  static constexpr void add(const E&, const Conditions& so_far, std::vector<Conditions>& reads) {
    reads.insert(reads.end(), to_index(TreeTraits<E>::reads), so_far);
  }
};
template <class F, class... Es>
struct ReadMasks<Apply<F, Es...>> {
  using Conditions = std::vector<IndexSpec>;
  static constexpr void add(const Apply<F, Es...>& e, const Conditions& so_far,
                            std::vector<Conditions>& reads) {
    boost::hana::unpack(e.operands,
                        [&](const Es&... es) { (ReadMasks<Es>::add(es, so_far, reads), ...); });
  }
};
template <class C, class A, class B>
struct ReadMasks<Apply<Select, C, A, B>> {
  using Conditions = std::vector<IndexSpec>;
  static constexpr void add(const Apply<Select, C, A, B>& e, const Conditions& so_far,
                            std::vector<Conditions>& reads) {
    const C& condition = e.operands[boost::hana::size_c<0>];
    ReadMasks<C>::add(condition, so_far, reads);
    Conditions chosen = so_far;
    Mask<C>::add(condition, chosen);
    ReadMasks<A>::add(e.operands[boost::hana::size_c<1>], chosen, reads);
    Conditions otherwise = so_far;
    if constexpr (is_mask<C> && requires { add_comparison(condition, false, otherwise); }) {
      add_comparison(condition, false, otherwise);
    }
    ReadMasks<B>::add(e.operands[boost::hana::size_c<2>], otherwise, reads);
  }
};

/// What the masks in an expression say of it and of the tensors that it reads.
struct Masked {
  std::vector<IndexSpec> by_factors;             ///< StatementSpec::mask
  bool by_operands = false;                      ///< Operator::annihilates
  std::vector<std::vector<IndexSpec>> operands;  ///< StatementSpec::OperandSpec::mask, of each
};

/// What is known of a tree without aggregations.
template <class E>
[[nodiscard]] constexpr Masked masked(const E& expression) {
  Masked found;
  if constexpr (TreeTraits<E>::values > 0) {
    Mask<E>::add(expression, found.by_factors);
    found.by_operands = is_product_of_operands<E>;
    ReadMasks<E>::add(expression, {}, found.operands);
  }
  return found;
}

}  // namespace eindecomp::expr
