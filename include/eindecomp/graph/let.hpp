// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// `let<"H">(i, k) = sum(j)(X(i, j) * W(j, k))`: writes a statement.
#pragma once

#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/graph/lowering.hpp"

namespace eindecomp {

namespace graph {

template <class L>
[[nodiscard]] constexpr Extent extent_of(const L& l) {
  if constexpr (expr::is_sized_label<L>) {
    return l.extent;
  } else {
    return 0;
  }
}
/// The same of a label that a statement writes: 0 where it is given none.
/// \throws Error if an extent is given and not positive.
template <class L>
[[nodiscard]] constexpr Extent extent_of(const L& l, const Text& statement,
                                         const std::source_location& where) {
  if (expr::is_sized_label<L> && extent_of(l) <= 0) {
    core::fail(ErrorKind::shape,
               Text("label ") + expr::quoted(L::name) + " of the output of " + statement +
                   " has extent " + extent_of(l) + " (extents are positive)",
               where);
  }
  return extent_of(l);
}

/// The left side of a statement.
template <class... Labels>
class LetTarget {
 public:
  constexpr LetTarget(std::string_view name, std::source_location where, const Labels&... labels)
      : m_name(name), m_where(where), m_extents{extent_of(labels, m_name, m_where)...} {}

  /// Writes the statement into the program its tensors belong to.
  /// \returns the symbol of the result, of rank sizeof...(Labels).
  /// \throws Error if extents disagree, tensors belong to two programs or the element count
  ///   overflows; the program is then as it was.
  template <Expression E>
  constexpr auto operator=(const E& expression) const {
    return lower<LabelList<Labels...>>(m_name, m_extents, expression, m_where);
  }
  /// Refuses what is no expression.
  template <class T>
    requires(!Expression<T>)
  constexpr auto operator=(const T&) const {
    if constexpr (TensorWithoutLabels<T>) {
      expr::refuse_without_labels<T>();
    } else {
      static_assert(
          expr::never<T>,
          "EinDecomp: the statement reads no tensor; write an expression of tensors under "
          "their labels, 2.0 * X(i, j)");
    }
  }
  constexpr void operator=(expr::Refused) const {}
  template <class T>
  constexpr auto operator+=(const T&) const {
    static_assert(expr::never<T>,
                  "EinDecomp: a statement adds to its result (every tensor is written once); write "
                  "let<\"C2\">(i, k) = C(i, k) + sum(j)(X(i, j) * W(j, k))");
  }

 private:
  Text m_name;
  std::source_location m_where;
  std::vector<Extent> m_extents;
};

/// `let(name)`, waiting for the output's labels.
struct NamedLet {
  Text name;
  std::source_location where;
  template <OutputLabel... Labels>
  [[nodiscard]] constexpr auto operator()(const Labels&... labels) const {
    return LetTarget<Labels...>(name, where, labels...);
  }
  template <class... Indices>
    requires(!(OutputLabel<Indices> && ...))
  constexpr auto operator()(Indices&&...) const {
    expr::refuse_first_that_is_no_label<Indices...>();
    return expr::RefusedTarget{};
  }
};

}  // namespace graph

/// Begins a statement whose name is known at run time: `let("Q" + suffix)(i, k) = …`.
[[nodiscard]] constexpr graph::NamedLet let(
    std::string_view name, std::source_location where = std::source_location::current()) {
  return {name, where};
}

/// Refuses what is no label, and more labels than a tensor has dimensions.
template <fixed_string Name, class... Indices>
  requires((!(OutputLabel<Indices> && ...) && !(expr::SourceLocation<Indices> || ...)) ||
           ((OutputLabel<Indices> && ...) && sizeof...(Indices) > max_rank))
constexpr auto let(Indices&&...) {
  if constexpr ((OutputLabel<Indices> && ...)) {
    static_assert(expr::never<Indices...>, "EinDecomp: a tensor has at most 8 dimensions");
  } else {
    expr::refuse_first_that_is_no_label<Indices...>();
  }
  return expr::RefusedTarget{};
}

// One overload per rank: a pack cannot be followed by the caller's place.
// clang-format off
/// Begins a statement: `let<"H">(i, k) = sum(j)(X(i, j) * W(j, k))` writes it into the program of its
/// operands and gives the symbol of the result, which has one dimension per label, at most 8. A label
/// that no operand has is written `extent(k, n)` on the left. What breaks a rule of labels does not
/// compile.
/// \tparam Name  of the result, as reports and errors have it.
/// \throws Error, from the assignment, if extents disagree, tensors belong to two programs or the
///   element count overflows; the program is then as it was.
/// @{
template <fixed_string Name>
[[nodiscard]] constexpr auto let(
    std::source_location where = std::source_location::current()) {
  return graph::LetTarget<>(Name.view(), where);
}
template <fixed_string Name, OutputLabel L1>
[[nodiscard]] constexpr auto let(
    L1 l1,
    std::source_location where = std::source_location::current()) {
  return graph::LetTarget<L1>(Name.view(), where, l1);
}
template <fixed_string Name, OutputLabel L1, OutputLabel L2>
[[nodiscard]] constexpr auto let(
    L1 l1, L2 l2,
    std::source_location where = std::source_location::current()) {
  return graph::LetTarget<L1, L2>(Name.view(), where, l1, l2);
}
template <fixed_string Name, OutputLabel L1, OutputLabel L2, OutputLabel L3>
[[nodiscard]] constexpr auto let(
    L1 l1, L2 l2, L3 l3,
    std::source_location where = std::source_location::current()) {
  return graph::LetTarget<L1, L2, L3>(Name.view(), where, l1, l2, l3);
}
template <fixed_string Name, OutputLabel L1, OutputLabel L2, OutputLabel L3, OutputLabel L4>
[[nodiscard]] constexpr auto let(
    L1 l1, L2 l2, L3 l3, L4 l4,
    std::source_location where = std::source_location::current()) {
  return graph::LetTarget<L1, L2, L3, L4>(Name.view(), where, l1, l2, l3, l4);
}
template <fixed_string Name, OutputLabel L1, OutputLabel L2, OutputLabel L3, OutputLabel L4, OutputLabel L5>
[[nodiscard]] constexpr auto let(
    L1 l1, L2 l2, L3 l3, L4 l4, L5 l5,
    std::source_location where = std::source_location::current()) {
  return graph::LetTarget<L1, L2, L3, L4, L5>(Name.view(), where, l1, l2, l3, l4, l5);
}
template <fixed_string Name, OutputLabel L1, OutputLabel L2, OutputLabel L3, OutputLabel L4, OutputLabel L5, OutputLabel L6>
[[nodiscard]] constexpr auto let(
    L1 l1, L2 l2, L3 l3, L4 l4, L5 l5, L6 l6,
    std::source_location where = std::source_location::current()) {
  return graph::LetTarget<L1, L2, L3, L4, L5, L6>(Name.view(), where, l1, l2, l3, l4, l5, l6);
}
template <fixed_string Name, OutputLabel L1, OutputLabel L2, OutputLabel L3, OutputLabel L4, OutputLabel L5, OutputLabel L6, OutputLabel L7>
[[nodiscard]] constexpr auto let(
    L1 l1, L2 l2, L3 l3, L4 l4, L5 l5, L6 l6, L7 l7,
    std::source_location where = std::source_location::current()) {
  return graph::LetTarget<L1, L2, L3, L4, L5, L6, L7>(Name.view(), where, l1, l2, l3, l4, l5, l6, l7);
}
template <fixed_string Name, OutputLabel L1, OutputLabel L2, OutputLabel L3, OutputLabel L4, OutputLabel L5, OutputLabel L6, OutputLabel L7, OutputLabel L8>
[[nodiscard]] constexpr auto let(
    L1 l1, L2 l2, L3 l3, L4 l4, L5 l5, L6 l6, L7 l7, L8 l8,
    std::source_location where = std::source_location::current()) {
  return graph::LetTarget<L1, L2, L3, L4, L5, L6, L7, L8>(Name.view(), where, l1, l2, l3, l4, l5, l6, l7, l8);
}
/// @}
// clang-format on

}  // namespace eindecomp
