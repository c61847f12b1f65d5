// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The terms of a sum of contractions as statements that can accumulate in its result: with their
/// signs and factors, stored as it is.
#pragma once

#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <string_view>
#include <type_traits>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/terms.hpp"
#include "eindecomp/graph/separate.hpp"

namespace eindecomp::graph {

/// What a contraction aggregates, times a factor.
template <class Body>
[[nodiscard]] constexpr const Body& scaled_body(const Body& body, expr::Unscaled) {
  return body;
}
template <class T, class Body>
[[nodiscard]] constexpr auto scaled_body(const Body& body, const Constant<T>& factor) {
  return Apply<Mul, Constant<T>, Body>(Mul{}, factor, body);
}

/// Whether the extent of a label is given.
template <class Labels>
inline constexpr bool has_sized_label = false;
template <class... Ls>
inline constexpr bool has_sized_label<LabelList<Ls...>> = (expr::is_sized_label<Ls> || ...);

/// The labels of a term in the order of the sum's, if they are the same ones.
template <class Output, class Labels>
using LabelsOfTerm =
    std::conditional_t<Output::size == Labels::size && RemainingLabels<Labels, Output>::size == 0 &&
                           UnitedLabels<Output>::size == Output::size && !has_sized_label<Output>,
                       Output, Labels>;

/// Whether E is one contraction with a sign or a factor, of the labels of Output: a statement.
template <class Output, class E>
inline constexpr bool is_one_contraction =
    expr::term_count<E>.contractions == 1 && expr::term_count<E>.tensors == 0 &&
    std::is_same_v<LabelsOfTerm<Output, typename E::LabelTypes>, Output>;

/// A sum of contractions (expr::is_sum_of_contractions) of elements T as one of tensors: each
/// contraction is a statement of its own.
/// \param name  of the statement, if there is one; else the statements are numbered
template <class Output, class T, class Backend, class Factor, class S, class... Ls>
[[nodiscard]] constexpr auto write_terms(LoweringScope<Backend>&, std::string_view, Factor,
                                         const Access<S, Ls...>& access) {
  return access;
}
template <class Output, class T, class Backend, class Factor, class Monoid, class Labels,
          class Body>
[[nodiscard]] constexpr auto write_terms(LoweringScope<Backend>& scope, std::string_view name,
                                         Factor factor,
                                         const Aggregation<Monoid, Labels, Body>& term) {
  using Own = LabelsOfTerm<Output, typename Aggregation<Monoid, Labels, Body>::LabelTypes>;
  Text own_name(name);
  if (name.empty()) own_name = scope.name + "." + ++scope.inner;
  const auto symbol =
      lower_part<Own, Labels>(scope, own_name, term.monoid, scaled_body(term.body, factor));
  return expr::access_under(symbol, Own{});
}
template <class Output, class T, class Backend, class Factor, class Op, class... Es>
[[nodiscard]] constexpr auto write_terms(LoweringScope<Backend>& scope, std::string_view name,
                                         Factor factor, const Apply<Op, Es...>& e) {
  const auto write = [&](const auto& own, const auto& operand) {
    return write_terms<Output, T>(scope, name, own, operand);
  };
  if constexpr (std::is_same_v<Op, Add>) {
    return boost::hana::unpack(e.operands, [&](const auto&... es) {
      // Braces, for left-to-right order.
      return Apply<Add, decltype(write(factor, es))...>{Add{}, write(factor, es)...};
    });
  } else if constexpr (std::is_same_v<Op, Mul>) {
    return boost::hana::unpack(e.operands, [&](const auto& a, const auto& b) {
      if constexpr (expr::term_count<std::decay_t<decltype(a)>>.others > 0) {
        return write(expr::scaled_by(a, factor), b);  // a is the number
      } else {
        return write(expr::scaled_by(b, factor), a);
      }
    });
  } else {
    const auto negative = expr::scaled_by(Constant<T>(T(-1)), factor);
    return boost::hana::unpack(e.operands, [&](const auto& first, const auto&... second) {
      if constexpr (std::is_same_v<Op, Negate>) {
        return write(negative, first);
      } else {
        return Apply<Add, decltype(write(factor, first)), decltype(write(negative, second))...>{
            Add{}, write(factor, first), write(negative, second)...};
      }
    });
  }
}

}  // namespace eindecomp::graph
