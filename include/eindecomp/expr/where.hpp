// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Index tensors: `T(I(b), d)` reads a tensor at indices that another one holds, and
/// `sum(e)(where(I(e) == v, X(e, d)))` aggregates what an index tensor sends to each v.
///
/// Both are one EinSum. Where no I(b) is v, ⊗ is the identity of ⊕, so that of every v which an
/// index tensor is compared with one term at most counts; a gather is the sum over a label v that
/// it makes up. Kernels look that one up, and pass over no other.
#pragma once

#include <boost/hana/concat.hpp>
#include <boost/hana/tuple.hpp>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/compose.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/functor_record.hpp"
#include "eindecomp/expr/label_value.hpp"

namespace eindecomp {
namespace expr {

/// Whether there is an element of type T that ⊕ passes over, as sums do over 0.
template <class Monoid, class T>
concept HasNeutralElement = CommutativeMonoid<Monoid, T> && !uses_index_of_element<Monoid> &&
                            ((std::is_same_v<typename MonoidTraits<Monoid, T>::State, T> &&
                              !MonoidTraits<Monoid, T>::lifts) ||
                             identity_value<Monoid> != OutsideValue::none);

/// That element.
template <class T, class Monoid>
[[nodiscard]] EINDECOMP_FUNCTION constexpr T neutral_element(const Monoid& monoid) {
  if constexpr (identity_value<Monoid> == OutsideValue::zero) {
    return T(0);
  } else if constexpr (identity_value<Monoid> == OutsideValue::one) {
    return T(1);
  } else if constexpr (identity_value<Monoid> == OutsideValue::lowest) {
    return least<T>;
  } else if constexpr (identity_value<Monoid> == OutsideValue::highest) {
    return greatest<T>;
  } else {
    return MonoidTraits<Monoid, T>::identity(monoid);
  }
}

/// Another join, masked by index tensors: operands are `Tensors` indices, the other join's
/// operands, then the values of `Tensors` labels. Where every index equals its label it is the
/// other join's value, elsewhere the identity of ⊕. \tparam Skipped  bit k: elements of index
/// tensor k may be no value of the label
template <int Tensors, class Join, class Monoid, unsigned Skipped = 0>
struct Where {
  static constexpr int index_tensors = Tensors;  ///< how many operands are index tensors
  [[no_unique_address]] Join join;               ///< of the operands between
  [[no_unique_address]] Monoid monoid;           ///< ⊕

  /// \param all  indices, operands of `join`, values of labels
  template <class... Ts>
    requires(sizeof...(Ts) >= 2 * Tensors)
  EINDECOMP_FUNCTION constexpr auto operator()(const Ts&... all) const {
    constexpr int operands = static_cast<int>(sizeof...(Ts)) - 2 * Tensors;
    return [&]<int... I, int... O>(std::integer_sequence<int, I...>,
                                   std::integer_sequence<int, O...>) {
      using T = Stored<std::decay_t<decltype(join(Arg<Tensors + O>{}(all...)...))>>;
      const bool holds = (... && (static_cast<Extent>(Arg<I>{}(all...)) ==
                                  static_cast<Extent>(Arg<Tensors + operands + I>{}(all...))));
      return holds ? static_cast<T>(join(Arg<Tensors + O>{}(all...)...))
                   : neutral_element<T>(monoid);
    }
    (std::make_integer_sequence<int, Tensors>{}, std::make_integer_sequence<int, operands>{});
  }
};

/// How many of a join's operands are index tensors: the first.
template <int Tensors, class Join, class Monoid, unsigned Skipped>
inline constexpr int index_tensors<Where<Tensors, Join, Monoid, Skipped>> = Tensors;
template <int Tensors, class Join, class Monoid, unsigned Skipped>
inline constexpr unsigned skipped_indices<Where<Tensors, Join, Monoid, Skipped>> = Skipped;

template <int Tensors, class Join, class Monoid, unsigned Skipped>
EINDECOMP_ALWAYS_INLINE constexpr void record(const Where<Tensors, Join, Monoid, Skipped>& where,
                                              FunctorRecord& to) {
  to.text << "where ";
  record(where.join, to);
  if constexpr (!std::is_empty_v<Monoid>) to.is_whole = false;
}

/// An index tensor of which elements that are no index are passed over. Made by skip().
template <class IndexType>
struct SkippedIndex : ExpressionBase {
  using Index = IndexType;  ///< an expression of integers
  using LabelTypes = typename Index::LabelTypes;
  Index index;  ///< the index tensor
  constexpr explicit SkippedIndex(const Index& i) : index(i) {}
  [[nodiscard]] constexpr auto* program() const { return index.program(); }
};
template <class Index>
struct ElementsOf<SkippedIndex<Index>> : ElementsOf<Index> {};
template <class Index>
inline constexpr bool is_index_alone<SkippedIndex<Index>> = true;
template <class E>
constexpr Refused refuse_index_alone() {
  static_assert(never<E>,
                "EinDecomp: skip(...) stands elsewhere than as an index or beside == in where; "
                "write T(skip(I(b) + 1), d), or sum(e)(where(skip(I(e)) == v, X(e)))");
  return {};
}

/// That an index tensor, or what is computed from some, holds the value of a label.
template <class IndexType, AnyLabel L>
struct IndexCondition {
  using Index = IndexType;                ///< an expression of integers
  using Label = L;                        ///< whose value it holds
  static constexpr bool skipped = false;  ///< whether elements may be no index
  Index index;                            ///< the index tensor
  constexpr explicit IndexCondition(const Index& i) : index(i) {}
};
template <class IndexType, AnyLabel L>
struct IndexCondition<SkippedIndex<IndexType>, L> {
  using Index = IndexType;
  using Label = L;
  static constexpr bool skipped = true;
  Index index;
  constexpr explicit IndexCondition(const SkippedIndex<Index>& i) : index(i.index) {}
};
/// Those of some conditions whose elements may be no index, bit by bit.
template <class... Conditions>
inline constexpr unsigned skipped_conditions = [] {
  unsigned bits = 0;
  unsigned bit = 1;
  ((bits |= Conditions::skipped ? bit : 0, bit *= 2), ...);
  return bits;
}();

template <class E>
inline constexpr bool is_integral = false;
template <Expression E>
inline constexpr bool is_integral<E> = std::is_integral_v<Elements<E>>;

/// An expression where conditions hold. \tparam Gathers  whether the labels of the conditions are
///   aggregated here, and are nobody else's: those of a tensor that is read at index tensors
template <bool Gathers, class BodyType, class... Conditions>
struct Selection : ExpressionBase {
  using Body = BodyType;  ///< what is read
  /// Those whose values the indices hold.
  using ValueLabels = LabelList<typename Conditions::Label...>;
  using AllLabels = UnitedLabels<typename Conditions::Index::LabelTypes...,
                                 typename Body::LabelTypes, ValueLabels>;
  using LabelTypes = std::conditional_t<Gathers, RemainingLabels<AllLabels, ValueLabels>,
                                        AllLabels>;  ///< what can be aggregated around it
  static constexpr bool gathers = Gathers;
  /// Whether some elements of index tensors may be no index.
  static constexpr bool skips = skipped_conditions<Conditions...> != 0;
  boost::hana::tuple<Conditions...> conditions;
  Body body;
  constexpr Selection(const boost::hana::tuple<Conditions...>& c, const Body& b)
      : conditions(c), body(b) {}
  /// That of the first index tensor.
  [[nodiscard]] constexpr auto program() const {
    return boost::hana::unpack(
        conditions, [this](const auto&... c) { return first_program(c.index..., body); });
  }
};
template <bool Gathers, class Body, class... Conditions>
struct ReadLabels<Selection<Gathers, Body, Conditions...>> {
  using All = UnitedLabels<typename ReadLabels<typename Conditions::Index>::type...,
                           typename ReadLabels<Body>::type>;
  using type = std::conditional_t<
      Gathers, RemainingLabels<All, typename Selection<Gathers, Body, Conditions...>::ValueLabels>,
      All>;
};
/// What is scattered goes to rows of the tensor.
template <class Body, class... Conditions>
struct StoredLabelsOf<Selection<false, Body, Conditions...>> {
  using S = Selection<false, Body, Conditions...>;
  using type = UnitedLabels<typename S::ValueLabels, typename S::LabelTypes>;
};
template <class T>
inline constexpr bool is_selection = false;
template <bool Gathers, class Body, class... Conditions>
inline constexpr bool is_selection<Selection<Gathers, Body, Conditions...>> = true;

template <bool Gathers, class Body, class... Conditions>
struct ElementsOf<Selection<Gathers, Body, Conditions...>> {
  using type = Widened<Elements<Body>>;
};

template <bool Gathers, class Body, class... Conditions>
[[nodiscard]] constexpr auto selection(const boost::hana::tuple<Conditions...>& conditions,
                                       const Body& body) {
  return Selection<Gathers, Body, Conditions...>(conditions, body);
}

/// Refuses what is not of integers where indices belong.
template <class... Ts>
constexpr Refused refuse_as_indices() {
  static_assert(never<Ts...>,
                "EinDecomp: an index tensor is not of integers (its elements are indices); read a "
                "tensor of std::int32_t or std::int64_t, or cast<std::int64_t>(I(b))");
  return {};
}

/// What may stand for an index of a tensor that is read at index tensors, one at least.
template <class... Ts>
concept IndicesOfGather = ((Index<Ts> || Expression<Ts>)&&...) && (Expression<Ts> || ...);

/// The label that an index tensor in that place is looked up along: p', q', …
template <std::size_t Place>
inline constexpr auto gathered_name = [] {
  const char name[3] = {static_cast<char>('p' + Place), '\'', '\0'};
  return fixed_string(name);
}();
template <std::size_t Place>
using GatheredLabel = Label<gathered_name<Place>>;

template <std::size_t Place, class I>
[[nodiscard]] constexpr auto index_or_label(const I& index) {
  if constexpr (Expression<I>) {
    return GatheredLabel<Place>{};
  } else {
    return index;
  }
}
template <std::size_t Place, class I>
[[nodiscard]] constexpr auto gathered_condition(const I& index) {
  if constexpr (Expression<I>) {
    using Condition = IndexCondition<I, GatheredLabel<Place>>;
    return boost::hana::tuple<Condition>(Condition(index));
  } else {
    return boost::hana::tuple<>();
  }
}
template <class... Parts>
[[nodiscard]] constexpr auto joined_conditions(const Parts&... parts) {
  if constexpr (sizeof...(parts) == 1) {
    return (parts, ...);
  } else {
    return [](const auto& first, const auto&... rest) {
      return boost::hana::concat(first, joined_conditions(rest...));
    }(parts...);
  }
}

/// A tensor read at indices, some of which are index tensors.
template <class S, class... Indices>
[[nodiscard]] constexpr auto gathered(const S& symbol, const Indices&... indices) {
  if constexpr ((std::is_same_v<Indices, Refused> || ...)) {
    return Refused{};
  } else if constexpr (sizeof...(Indices) != static_cast<std::size_t>(S::rank)) {
    static_assert(never<Indices...>,
                  "EinDecomp: a tensor is given more or fewer indices than it has dimensions; give "
                  "each dimension one");
    return Refused{};
  } else if constexpr (!((!Expression<Indices> || is_integral<Indices>)&&...)) {
    return refuse_as_indices<Indices...>();
  } else {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      const auto conditions = joined_conditions(gathered_condition<K>(indices)...);
      if constexpr (((Expression<Indices> || AnyLabel<Indices>)&&...)) {
        return selection<true>(
            conditions,
            Access<S, std::remove_cvref_t<decltype(index_or_label<K>(indices))>...>(symbol));
      } else {
        using Labels = UnitedLabels<typename LabelsOfIndex<
            std::remove_cvref_t<decltype(index_or_label<K>(indices))>>::type...>;
        using Read = IndexedSymbol<S, sizeof...(Indices)>;
        return selection<true>(
            conditions,
            access_under(Read{symbol, {index_spec(index_or_label<K>(indices))...}}, Labels()));
      }
    }
    (std::index_sequence_for<Indices...>{});
  }
}

/// The conditions that a comparison of index tensors with labels is; void if it is none.
template <class C>
struct ConditionsOf {
  using type = void;
};
template <class E, AnyLabel L>
struct ConditionsOf<Apply<Equal, E, LabelValue<L>>> {
  using type = boost::hana::tuple<IndexCondition<E, L>>;
  static constexpr type of(const Apply<Equal, E, LabelValue<L>>& c) {
    return type(IndexCondition<E, L>(c.operands[boost::hana::size_c<0>]));
  }
};
template <class E, AnyLabel L>
struct ConditionsOf<Apply<Equal, LabelValue<L>, E>> {
  using type = boost::hana::tuple<IndexCondition<E, L>>;
  static constexpr type of(const Apply<Equal, LabelValue<L>, E>& c) {
    return type(IndexCondition<E, L>(c.operands[boost::hana::size_c<1>]));
  }
};
template <AnyLabel A, AnyLabel B>
struct ConditionsOf<Apply<Equal, LabelValue<A>, LabelValue<B>>> {
  using type = void;
};
template <class A, class B>
  requires(!std::is_void_v<typename ConditionsOf<A>::type> &&
           !std::is_void_v<typename ConditionsOf<B>::type>)
struct ConditionsOf<Apply<And, A, B>> {
  static constexpr auto of(const Apply<And, A, B>& c) {
    return boost::hana::concat(ConditionsOf<A>::of(c.operands[boost::hana::size_c<0>]),
                               ConditionsOf<B>::of(c.operands[boost::hana::size_c<1>]));
  }
  using type = decltype(of(std::declval<const Apply<And, A, B>&>()));
};

template <class Tuple>
inline constexpr bool are_integral = false;
template <class... Conditions>
inline constexpr bool are_integral<boost::hana::tuple<Conditions...>> =
    (is_integral<typename Conditions::Index> && ...);
/// Whether each condition has a label of its own, that no index tensor of them is read along.
template <class Tuple>
inline constexpr bool are_apart = false;
template <class... Conditions>
inline constexpr bool are_apart<boost::hana::tuple<Conditions...>> =
    UnitedLabels<LabelList<typename Conditions::Label>...,
                 typename Conditions::Index::LabelTypes...>::size ==
    static_cast<int>(sizeof...(Conditions)) +
        UnitedLabels<typename Conditions::Index::LabelTypes...>::size;

}  // namespace expr

/// An expression where index tensors hold the values of labels, in an aggregation, which passes
/// over all else: `sum(e)(where(I(e) == v, X(e, d)))` is the sum, for every v, over the e with
/// I(e) = v, a scatter: numpy.add.at. Several conditions are joined by &&. The body may be a
/// number: `where(I(e) == v, 1)` counts.
template <Expression C, class Body>
  requires(Expression<Body> || Scalar<Body>)
[[nodiscard]] constexpr auto where(const C& condition, const Body& body) {
  using Conditions = expr::ConditionsOf<C>;
  if constexpr (std::is_void_v<typename Conditions::type>) {
    static_assert(expr::never<C>,
                  "EinDecomp: where is given a condition that is no comparison of an index tensor "
                  "with a label, as I(e) == v, nor several of them joined by &&; write select(c, "
                  "x, y), with what the aggregation ignores for y");
    return expr::Refused{};
  } else if constexpr (!expr::are_integral<typename Conditions::type>) {
    return expr::refuse_as_indices<C>();
  } else if constexpr (!expr::are_apart<typename Conditions::type>) {
    static_assert(expr::never<C>,
                  "EinDecomp: a label that an index tensor is compared with is compared with "
                  "another, or is one of theirs; give each index tensor a label of its own");
    return expr::Refused{};
  } else if constexpr (Expression<Body>) {
    return expr::selection<false>(Conditions::of(condition), body);
  } else {
    return expr::selection<false>(Conditions::of(condition), Constant<Body>(body));
  }
}

/// An index tensor whose elements may be no index of the dimension: `T(skip(I(b)), d)` is 0 where
/// I(b) is none, and `sum(e)(where(skip(I(e)) == v, X(e, d)))` leaves out the e where I(e) is none.
/// Elsewhere such an element ends the run.
template <Expression E>
[[nodiscard]] constexpr auto skip(const E& index) {
  if constexpr (expr::is_integral<E>) {
    return expr::SkippedIndex<E>(index);
  } else {
    return expr::refuse_as_indices<E>();
  }
}

/// Refuses NumPy's where of three, which is select.
template <class C, class A, class B>
  requires(Expression<C> || Expression<A> || Expression<B>)
constexpr auto where(const C&, const A&, const B&) {
  static_assert(expr::never<C>,
                "EinDecomp: where is given two values (it selects what an aggregation aggregates); "
                "write select(c, x, y)");
  return expr::Refused{};
}

}  // namespace eindecomp
