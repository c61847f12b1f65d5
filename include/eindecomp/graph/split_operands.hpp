// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Expressions of more operands than a kernel has: parts of them become statements of their own.
#pragma once

#include <algorithm>
#include <array>
#include <boost/hana/integral_constant.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/factors.hpp"
#include "eindecomp/expr/flatten.hpp"
#include "eindecomp/expr/label_rules.hpp"
#include "eindecomp/graph/lower_selection.hpp"
#include "eindecomp/graph/separate.hpp"

namespace eindecomp::graph {

/// How many operands a statement of E has.
template <class E>
inline constexpr int operand_count =
    expr::TreeTraits<E>::reads + expr::TreeTraits<E>::ValueLabels::size;

/// The most operands that a part is given. A derivative reads the cotangent beside the operands.
template <class Backend>
inline constexpr int max_in_part = keeps_derivatives<Backend> ? max_operands - 1 : max_operands;

/// Whether E may be computed before what reads it: of an aggregation, only where that takes no more
/// memory than a tensor that is there.
template <bool Aggregates, class E>
inline constexpr bool is_separate_part = false;
template <bool Aggregates, class F, class... Es>
inline constexpr bool is_separate_part<Aggregates, Apply<F, Es...>> =
    expr::is_storable<Apply<F, Es...>>&& Apply<F, Es...>::LabelTypes::size <= max_rank &&
    (!Aggregates || expr::reads_all<Apply<F, Es...>, typename Apply<F, Es...>::LabelTypes>);

/// A part as an access to a statement of its own. It may have labels in sums of labels alone, of
/// which their extents do not follow: the scope has those of all.
template <class Backend, class E>
[[nodiscard]] constexpr auto part_of(LoweringScope<Backend>& scope, const E& e) {
  using Output = typename E::LabelTypes;
  const Text name = scope.name + "." + ++scope.inner;
  return expr::access_under(lower_part<Output, LabelList<>>(scope, name, NoAggregation{}, e),
                            Output{});
}

/// How many operands the largest separate part of E has, E itself included; 1 if there is none.
template <bool Aggregates, class E>
inline constexpr int largest_part = 1;
template <bool Aggregates, class F, class... Es>
inline constexpr int largest_part<Aggregates, Apply<F, Es...>> =
    is_separate_part<Aggregates, Apply<F, Es...>> ? operand_count<Apply<F, Es...>>
                                                  : std::max({largest_part<Aggregates, Es>...});

template <bool Aggregates, class Backend, class F, class... Es>
[[nodiscard]] constexpr auto with_a_part(LoweringScope<Backend>& scope, const Apply<F, Es...>& e);

/// An expression whose largest separate part is a statement.
template <bool Aggregates, class Backend, class E>
[[nodiscard]] constexpr auto separated_part(LoweringScope<Backend>& scope, const E& e) {
  if constexpr (is_separate_part<Aggregates, E>) {
    return part_of(scope, e);
  } else {
    return with_a_part<Aggregates>(scope, e);
  }
}

/// The same of what is below its operator.
template <bool Aggregates, class Backend, class F, class... Es>
[[nodiscard]] constexpr auto with_a_part(LoweringScope<Backend>& scope, const Apply<F, Es...>& e) {
  constexpr std::array<int, sizeof...(Es)> sizes{largest_part<Aggregates, Es>...};
  constexpr auto largest = std::max_element(sizes.begin(), sizes.end()) - sizes.begin();
  const auto operand = [&](auto n) {
    if constexpr (decltype(n)::value == largest) {
      return separated_part<Aggregates>(scope, e.operands[n]);
    } else {
      return e.operands[n];
    }
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return Apply<F, decltype(operand(boost::hana::size_c<I>))...>(
        e.op, operand(boost::hana::size_c<I>)...);
  }
  (std::index_sequence_for<Es...>{});
}

/// An operator whose operands are each few enough, with parts as statements until they are few
/// enough together.
template <bool Aggregates, class Backend, class F, class... Es>
[[nodiscard]] constexpr auto shortened(LoweringScope<Backend>& scope, const Apply<F, Es...>& e) {
  if constexpr (operand_count<Apply<F, Es...>> <= max_in_part<Backend> ||
                std::max({largest_part<Aggregates, Es>...}) == 1) {
    return e;
  } else {
    return shortened<Aggregates>(scope, with_a_part<Aggregates>(scope, e));
  }
}

/// An expression with parts of it as statements, so that no more operands are left than a kernel
/// has, if that can be.
template <bool Aggregates, class Backend, class E>
[[nodiscard]] constexpr auto split_operands(LoweringScope<Backend>& scope, const E& e) {
  if constexpr (operand_count<E> <= max_in_part<Backend>) {
    return e;
  } else {
    return boost::hana::unpack(e.operands, [&](const auto&... es) {
      // Braces, for left-to-right order.
      return shortened<Aggregates>(
          scope, Apply<decltype(e.op), decltype(split_operands<Aggregates>(scope, es))...>{
                     e.op, split_operands<Aggregates>(scope, es)...});
    });
  }
}

}  // namespace eindecomp::graph
