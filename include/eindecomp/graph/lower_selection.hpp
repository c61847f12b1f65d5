// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Statements of index tensors: what `T(I(b), d)` and `sum(e)(where(I(e) == v, X(e)))` become.
#pragma once

#include <boost/hana/concat.hpp>
#include <boost/hana/transform.hpp>
#include <boost/hana/unpack.hpp>
#include <string_view>
#include <type_traits>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/flatten.hpp"
#include "eindecomp/expr/mask.hpp"
#include "eindecomp/expr/where.hpp"
#include "eindecomp/graph/separate.hpp"

namespace eindecomp::graph {

template <class Backend, class E>
[[nodiscard]] constexpr auto materialise(LoweringScope<Backend>& scope, const E& expression);
template <class Output, class Aggregated, class Values, bool AsItIs, class Backend, class Join,
          class Monoid, class... Accesses>
[[nodiscard]] constexpr auto write_statement(const LoweringScope<Backend>& scope,
                                             std::string_view name, const Join& join,
                                             const Monoid& monoid,
                                             const std::vector<Extent>& extents,
                                             const expr::Masked& masked,
                                             const Accesses&... accesses);

/// Whether programs of a backend can be differentiated.
template <class Backend>
inline constexpr bool keeps_derivatives = requires {
  Backend::order;
};

/// An expression that a kernel call can take the elements of: itself, or a statement of its own if
/// it takes the values of labels, or `AsTensor`, and is more than a tensor.
template <bool AsTensor, class Backend, class E>
[[nodiscard]] constexpr auto operand_of(LoweringScope<Backend>& scope, const E& expression) {
  const auto flat = materialise(scope, expression);
  using Flat = std::remove_const_t<decltype(flat)>;
  if constexpr (expr::TreeTraits<Flat>::values > 0 || (AsTensor && !expr::is_access<Flat>)) {
    return statement_of<LabelList<>>(scope, NoAggregation{}, flat);
  } else {
    return flat;
  }
}

/// Writes ⊕ of a selection.
template <class Output, class Aggregated, class Values, class Backend, class Monoid, bool Gathers,
          class Body, class... Conditions>
[[nodiscard]] constexpr auto write_selection(
    LoweringScope<Backend>& scope, std::string_view name, const Monoid& monoid,
    const std::vector<Extent>& extents,
    const expr::Selection<Gathers, Body, Conditions...>& selection) {
  const auto body = operand_of<false>(scope, selection.body);
  const auto indices = boost::hana::transform(selection.conditions, [&](const auto& condition) {
    return operand_of<true>(scope, condition.index);
  });
  const auto inner = expr::functor_of<(Aggregated::size > 0)>(body);
  using Join = expr::Where<sizeof...(Conditions), std::remove_const_t<decltype(inner)>, Monoid,
                           expr::skipped_conditions<Conditions...>>;
  return boost::hana::unpack(
      boost::hana::concat(indices, expr::accesses_of(body)), [&](const auto&... accesses) {
        return write_statement<Output, Aggregated, Values, true>(scope, name, Join{inner, monoid},
                                                                 monoid, extents, {}, accesses...);
      });
}

/// Lowers ⊕ of a selection under explicit output labels. A tensor read at index tensors is a sum
/// over the labels that stand for them.
template <class Output, class Aggregated, class Backend, class Monoid, class Selection>
[[nodiscard]] constexpr auto lower_selection(LoweringScope<Backend>& scope, std::string_view name,
                                             const Monoid& monoid,
                                             const std::vector<Extent>& extents,
                                             const Selection& selection) {
  using Values = typename Selection::ValueLabels;
  using T = Widened<expr::Elements<typename Selection::Body>>;
  constexpr bool aggregates = !std::is_same_v<Monoid, NoAggregation>;
  if constexpr (Selection::gathers && !aggregates) {
    return write_selection<Output, Values, Values>(scope, name, Sum{}, extents, selection);
  } else if constexpr (Selection::gathers && (!expr::HasNeutralElement<Monoid, T> ||
                                              ((keeps_derivatives<Backend> || Selection::skips) &&
                                               !std::is_same_v<Monoid, Sum>))) {
    // Where there are derivatives, minima and products have theirs of tensors that are there. What
    // is read at no index is 0, which other aggregations than sums do not pass over.
    return lower_statement<Output, Aggregated>(scope, name, monoid, extents,
                                               materialise(scope, selection));
  } else if constexpr (Selection::gathers) {
    using All = decltype(expr::operator+(Aggregated(), Values()));
    return write_selection<Output, All, Values>(scope, name, monoid, extents, selection);
  } else if constexpr (!aggregates) {
    static_assert(expr::never<Selection>,
                  "EinDecomp: where(...) is not what an aggregation aggregates (only that has a "
                  "value to pass over); write sum(e)(where(I(e) == v, X(e))), or select(c, x, y)");
    return expr::Refused{};
  } else if constexpr (!expr::HasNeutralElement<Monoid, T>) {
    static_assert(expr::never<Selection>,
                  "EinDecomp: an aggregation of where(...) has no element that it passes over, as "
                  "sum has 0 (argmin and argmax have none, nor have monoids of accumulators that "
                  "are no elements); aggregate select(c, x, y)");
    return expr::Refused{};
  } else {
    return write_selection<Output, Aggregated, Values>(scope, name, monoid, extents, selection);
  }
}

/// Replaces a tensor that is read at index tensors by a statement of its own.
template <class Backend, bool Gathers, class Body, class... Conditions>
[[nodiscard]] constexpr auto materialise_node(
    LoweringScope<Backend>& scope, const expr::Selection<Gathers, Body, Conditions...>& selection) {
  return statement_of<LabelList<>>(scope, NoAggregation{}, selection);
}

/// Refuses skip(...) that is no index.
template <class Backend, class E>
[[nodiscard]] constexpr auto materialise_node(LoweringScope<Backend>&,
                                              const expr::SkippedIndex<E>&) {
  return expr::refuse_index_alone<E>();
}

}  // namespace eindecomp::graph
