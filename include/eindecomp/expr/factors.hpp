// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What is joined and added in an expression under ⊕, as types: which parts of it a lowering may
/// compute by themselves.
#pragma once

#include <boost/hana/tuple.hpp>
#include <type_traits>
#include <utility>

#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/flatten.hpp"
#include "eindecomp/expr/label_value.hpp"

namespace eindecomp {

/// The body of an aggregation that is one statement and one kernel, as it stands.
template <class BodyType>
struct AsWritten : ExpressionBase {
  using LabelTypes = typename BodyType::LabelTypes;  ///< those of the body
  BodyType body;                                     ///< what is aggregated
  /// The body as it stands.
  constexpr explicit AsWritten(BodyType b) : body(b) {}
  /// That of the body.
  [[nodiscard]] constexpr auto program() const { return body.program(); }
};

/// Keeps all rewrites from what is aggregated: `sum(f)(as_written((T(i, f) + U(i, f)) * W(f, k)))`
/// is one statement, computed by one kernel of three operands.
template <Expression E>
[[nodiscard]] constexpr auto as_written(const E& e) {
  return AsWritten<E>(e);
}

namespace expr {

template <class E>
inline constexpr bool is_as_written = false;
template <class Body>
inline constexpr bool is_as_written<AsWritten<Body>> = true;

template <class Body>
struct ElementsOf<AsWritten<Body>> : ElementsOf<Body> {};

template <class E>
inline constexpr bool is_operand = false;
template <class S, class... Ls>
inline constexpr bool is_operand<Access<S, Ls...>> = true;
template <class T>
inline constexpr bool is_operand<Constant<T>> = true;

/// Whether E applies Op.
template <class Op, class E>
inline constexpr bool applies = false;
template <class Op, class... Es>
inline constexpr bool applies<Op, Apply<Op, Es...>> = true;

/// Whether E is the negative of what may be a factor: signs are taken out of products.
template <class F, class E>
inline constexpr bool is_sign = false;
template <class E>
inline constexpr bool is_sign<Mul, Apply<Negate, E>> =
    std::is_same_v<Elements<E>, Elements<Apply<Negate, E>>>;

/// Whether an operand of E is read at computed indices, or is the value of a label.
template <class E>
inline constexpr bool is_computed = false;
template <class S, class... Ls>
inline constexpr bool is_computed<Access<S, Ls...>> = requires(const S& symbol) {
  symbol.indices;
};
template <class L>
inline constexpr bool is_computed<LabelValue<L>> = true;
template <class Op, class... Es>
inline constexpr bool is_computed<Apply<Op, Es...>> = (is_computed<Es> || ...);

/// Whether an operand of E is read at computed indices.
template <class E>
inline constexpr bool reads_computed = is_computed<E>;
template <class L>
inline constexpr bool reads_computed<LabelValue<L>> = false;
template <class Op, class... Es>
inline constexpr bool reads_computed<Apply<Op, Es...>> = (reads_computed<Es> || ...);

/// Whether E has all labels of a list.
template <class E, class Labels>
inline constexpr bool has_labels = RemainingLabels<Labels, typename E::LabelTypes>::size == 0;

/// Whether a tensor that E reads has all labels of a list.
template <class E, class Labels>
inline constexpr bool reads_all = has_labels<E, Labels>;
template <class Op, class... Es, class Labels>
inline constexpr bool reads_all<Apply<Op, Es...>, Labels> = (reads_all<Es, Labels> || ...);

/// Whether the elements of E may be those of a tensor.
template <class E, class T = Elements<E>>
inline constexpr bool is_storable = Element<Stored<T>> && !is_foreign_half<Stored<T>>;
template <class E>
inline constexpr bool is_storable<E, void> = false;

/// Whether E joins by F, of which any grouping is the same: its operands are operands of ⊗ = F.
template <class F, class E>
inline constexpr bool joins_on = applies<F, E>&& is_associative_commutative<F>;

/// The factors of E, which is an operand of ⊗ = F in a statement of labels All.
template <class F, class All, class E>
struct Factors {
  static constexpr bool compound = !is_operand<E>;  ///< one is negated, or more than a tensor
  /// Whether every factor that is more than a tensor lacks one of the statement's labels, so that
  /// it takes less work computed first, and leaves ⊗ to be F of tensors. Comparisons of labels
  /// alone are not: they say what need not be computed.
  static constexpr bool separable =
      is_operand<E> || (!has_labels<E, All> && is_storable<E> && TreeTraits<E>::reads > 0);
  static constexpr int signs = 0;    ///< how many are negated
  static constexpr int scalars = 0;  ///< how many are constants
};
template <class F, class All, class T>
struct Factors<F, All, Constant<T>> {
  static constexpr bool compound = false;
  static constexpr bool separable = true;
  static constexpr int signs = 0;
  static constexpr int scalars = 1;
};
/// The same of several.
template <class F, class All, class... Es>
struct FactorsOfAll {
  static constexpr bool compound = (Factors<F, All, Es>::compound || ...);
  static constexpr bool separable = (Factors<F, All, Es>::separable && ...);
  static constexpr int signs = (Factors<F, All, Es>::signs + ... + 0);
  static constexpr int scalars = (Factors<F, All, Es>::scalars + ... + 0);
};
template <class F, class All, class... Es>
  requires is_associative_commutative<F>
struct Factors<F, All, Apply<F, Es...>> : FactorsOfAll<F, All, Es...> {
};
template <class F, class All, class E>
  requires is_sign<F, Apply<Negate, E>>
struct Factors<F, All, Apply<Negate, E>> : Factors<F, All, E> {
  static constexpr bool compound = true;
  static constexpr int signs = Factors<F, All, E>::signs + 1;
};

/// The ⊗ that a statement of body E has once factors are computed by themselves and signs taken
/// out; void if neither makes it an operator of tensors.
template <class E>
struct SeparatedJoin {
  using type = void;
  static constexpr int signs = 0;
};
template <class F, class... Es>
  requires(sizeof...(Es) > 1 && !(is_operand<Es> && ...) && !reads_computed<Apply<F, Es...>> &&
           (is_reorderable_in<F, Apply<F, Es...>> || !((joins_on<F, Es> || is_sign<F, Es>) || ...)))
struct SeparatedJoin<Apply<F, Es...>> {
  using Found = FactorsOfAll<F, typename Apply<F, Es...>::LabelTypes, Es...>;
  using type = std::conditional_t<Found::compound && Found::separable &&
                                      (Found::scalars == 0 || std::is_same_v<F, Mul>),
                                  F, void>;
  static constexpr int signs = Found::signs;
};
template <class... Es>
  requires(!is_computed<Apply<Mul, Es...>> && TreeTraits<Apply<Mul, Es...>>::of_numbers &&
           is_sign<Mul, Apply<Negate, Apply<Mul, Es...>>>)
struct SeparatedJoin<Apply<Negate, Apply<Mul, Es...>>> {
  using Found = FactorsOfAll<Mul, typename Apply<Mul, Es...>::LabelTypes, Es...>;
  using type = std::conditional_t<Found::separable, Mul, void>;
  static constexpr int signs = Found::signs + 1;
};

/// Whether a statement of ⊕ and body E is separated so.
template <class Monoid, class E>
inline constexpr bool is_separable_product = !std::is_void_v<typename SeparatedJoin<E>::type>;
template <class E>
inline constexpr bool is_separable_product<NoAggregation, E> = false;

/// Whether E, a factor of a product of labels All and elements T, is a tensor of other elements
/// that each meet several of the other factors': they are converted once, and not in each product,
/// for products of one type have the fast kernels. Those of 16 bits are converted by these.
template <class E, class T, class All>
inline constexpr bool is_converted_factor = false;
template <class S, class... Ls, class T, class All>
  requires(!is_computed<Access<S, Ls...>> && !Half<typename S::value_type> &&
           !std::is_same_v<Elements<Access<S, Ls...>>, T> && is_inexact_type<T>)
inline constexpr bool is_converted_factor<Access<S, Ls...>, T, All> =
    !has_labels<Access<S, Ls...>, All>;

/// A product of elements T with its factors as is_converted_factor says, and its numbers as T.
template <class T, class All, class E>
[[nodiscard]] constexpr auto with_converted_factors(const E& e) {
  if constexpr (is_converted_factor<E, T, All>) {
    return cast<T>(e);
  } else if constexpr (is_inexact_type<T> && requires { e.held; }) {
    return Constant<T>(static_cast<T>(e.value));
  } else if constexpr (applies<Mul, E>) {
    return boost::hana::unpack(e.operands, [&](const auto&... es) {
      return apply(Mul{}, with_converted_factors<T, All>(es)...);
    });
  } else {
    return e;
  }
}
template <class E>
[[nodiscard]] constexpr auto with_converted_factors(const E& product) {
  return with_converted_factors<Elements<E>, typename E::LabelTypes>(product);
}
/// Whether a product is separated once its factors are converted.
template <class Monoid, class E>
inline constexpr bool is_mixed_product = false;
template <class... Es>
  requires(!reads_computed<Apply<Mul, Es...>> && TreeTraits<Apply<Mul, Es...>>::of_numbers)
inline constexpr bool is_mixed_product<Sum, Apply<Mul, Es...>> =
    is_separable_product<Sum, decltype(with_converted_factors(
                                  std::declval<const Apply<Mul, Es...>&>()))>;

/// Whether a quotient of E may be rounded elsewhere: not that of integers.
template <class E>
inline constexpr bool is_inexact = is_inexact_type<Elements<E>>;
/// Whether E is a product of several tensors, divided.
template <class E>
inline constexpr bool is_divided_product = false;
template <class... Es, class Q>
  requires(TreeTraits<Apply<Mul, Es...>>::reads > 1)
inline constexpr bool is_divided_product<Apply<Div, Apply<Mul, Es...>, Q>> =
    is_inexact<Apply<Mul, Es...>> &&
    std::is_same_v<Elements<Apply<Mul, Es...>>, Elements<Apply<Div, Apply<Mul, Es...>, Q>>>;

/// Whether a sum of E, a product that is divided by what has no aggregated label, is the sum of the
/// product, divided.
template <class Monoid, class Aggregated, class E>
inline constexpr bool is_divided_sum = false;
template <class Aggregated, class P, class Q>
  requires is_divided_product<Apply<Div, P, Q>>
inline constexpr bool is_divided_sum<Sum, Aggregated, Apply<Div, P, Q>> =
    RemainingLabels<typename Q::LabelTypes, Aggregated>::size == Q::LabelTypes::size;

/// A divided product as one with the reciprocal as a factor.
template <class P, class Q>
[[nodiscard]] constexpr auto with_reciprocal(const Apply<Div, P, Q>& e) {
  using T = Elements<P>;
  return apply(Mul{}, e.operands[boost::hana::size_c<0>],
               apply(Div{}, Constant<T>(T(1)), e.operands[boost::hana::size_c<1>]));
}
/// Whether that, of a product or of one tensor that is divided, is separated
/// (is_separable_product).
template <class Monoid, class E>
inline constexpr bool is_separable_quotient = false;
template <class P, class Q>
  requires(is_divided_product<Apply<Div, P, Q>> || (is_operand<P> && TreeTraits<P>::reads == 1 &&
                                                    is_inexact<P> && is_inexact<Apply<Div, P, Q>>))
inline constexpr bool is_separable_quotient<Sum, Apply<Div, P, Q>> =
    is_separable_product<Sum, decltype(with_reciprocal(std::declval<const Apply<Div, P, Q>&>()))>;

/// Whether ⊕ of E is that of E's operands, each by itself, joined as E joins them: sums of sums, of
/// differences and of negatives.
template <class Monoid, class E>
inline constexpr bool is_sum = false;
template <class Monoid, class Op, class... Es>
inline constexpr bool is_sum<Monoid, Apply<Op, Es...>> =
    std::is_same_v<Op, Monoid> || (std::is_same_v<Op, Mul> && std::is_same_v<Monoid, Prod>) ||
    (is_one_of<Op, Add, Sub, Negate> && std::is_same_v<Monoid, Sum>);

/// The terms of a sum.
template <class Monoid, class Aggregated, class T, class E>
struct Terms {
  static constexpr int count = 1;
  static constexpr int tensors = is_operand<E> ? 1 : 0;  ///< those that are no more
  /// All have every aggregated label, and elements T.
  static constexpr bool alike = has_labels<E, Aggregated> && std::is_same_v<Elements<E>, T>;
};
template <class Monoid, class Aggregated, class T, class Op, class... Es>
  requires is_sum<Monoid, Apply<Op, Es...>>
struct Terms<Monoid, Aggregated, T, Apply<Op, Es...>> {
  static constexpr int count = (Terms<Monoid, Aggregated, T, Es>::count + ...);
  static constexpr int tensors = (Terms<Monoid, Aggregated, T, Es>::tensors + ...);
  static constexpr bool alike = (Terms<Monoid, Aggregated, T, Es>::alike && ...);
};

/// Whether ⊕ of E is taken of E's terms one by one: no tensor has all labels of the statement, so
/// that each term takes less work than they do together. Floating-point numbers that are added to
/// each other without having been rounded before stay together, for they may cancel.
template <class Monoid, class Aggregated, class E>
inline constexpr bool is_separable_sum = [] {
  if constexpr (is_sum<Monoid, E> && !is_computed<E>) {
    using T = Elements<E>;
    using Found = Terms<Monoid, Aggregated, T, E>;
    constexpr bool exact = std::is_integral_v<T> || !is_one_of<Monoid, Sum, Prod>;
    return Found::count > 1 && Found::alike && (exact || (is_number<T> && Found::tensors < 2)) &&
           !reads_all<E, typename E::LabelTypes>;
  } else {
    return false;
  }
}();

}  // namespace expr
}  // namespace eindecomp
