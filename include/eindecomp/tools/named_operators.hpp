// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Joins ⊗ and aggregations ⊕ by name, as files have them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "eindecomp/expr/element.hpp"
#include "eindecomp/expr/functions.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"

namespace eindecomp::tools {

/// A join that files may name.
struct NamedJoin {
  std::string_view name;
  std::size_t least = 1;  ///< operands
  std::size_t most = 1;
  bool floating = false;  ///< of integers too it gives floating-point numbers
};

inline constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

/// Every join whose algebra is known; files may name others, which are opaque.
inline constexpr std::array named_joins{
    NamedJoin{Identity::name},
    NamedJoin{Exp::name, 1, 1, true},
    NamedJoin{Log::name, 1, 1, true},
    NamedJoin{Tanh::name, 1, 1, true},
    NamedJoin{Relu::name},
    NamedJoin{Square::name},
    NamedJoin{Sin::name, 1, 1, true},
    NamedJoin{Cos::name, 1, 1, true},
    NamedJoin{Erf::name, 1, 1, true},
    NamedJoin{Sigmoid::name, 1, 1, true},
    NamedJoin{Silu::name, 1, 1, true},
    NamedJoin{Gelu::name, 1, 1, true},
    NamedJoin{Floor::name},
    NamedJoin{Ceil::name},
    NamedJoin{Round::name},
    NamedJoin{Sign::name},
    NamedJoin{Pow::name, 2, 2},
    NamedJoin{Mod::name, 2, 2},
    NamedJoin{Clip::name, 3, 3},
    NamedJoin{Mul::name, 2, any_number},
    NamedJoin{Add::name, 2, any_number},
    NamedJoin{Sub::name, 2, 2},
    NamedJoin{Div::name, 2, 2},
    NamedJoin{Min::name, 2, 2},
    NamedJoin{Max::name, 2, 2},
    NamedJoin{AbsDiff::name, 2, 2},
    NamedJoin{SqDiff::name, 2, 2},
};

/// The types that an aggregation makes of elements.
struct AggregateTypes {
  ElementType result;    ///< of the finished elements
  ElementType partial;   ///< of accumulators
  bool finishes = true;  ///< Operator::finishes
};

/// An aggregation that files may name.
struct NamedAggregate {
  std::string_view name;
  bool uses_index = false;  ///< it is over exactly one label
  AggregateTypes (*types)(ElementKind) = nullptr;
};

/// Calls f with the type of elements of a kind; of kinds that no file has, double.
template <class F>
constexpr auto with_element(ElementKind kind, const F& f) {
  switch (kind) {
    case ElementKind::float32:
      return f(std::type_identity<float>{});
    case ElementKind::int32:
      return f(std::type_identity<std::int32_t>{});
    case ElementKind::int64:
      return f(std::type_identity<std::int64_t>{});
    default:
      return f(std::type_identity<double>{});
  }
}

/// Whether a monoid takes elements T as they are; log-sum-exp takes integers as doubles.
template <class Monoid, class T>
using Aggregated = std::conditional_t<expr::HasIdentity<Monoid, T>, T, double>;

template <class Monoid>
[[nodiscard]] constexpr NamedAggregate named_aggregate() {
  return {Monoid::name, MonoidTraits<Monoid, double>::uses_index, [](ElementKind kind) {
            return with_element(kind, [](auto t) {
              using T = tools::Aggregated<Monoid, typename decltype(t)::type>;
              using Traits = MonoidTraits<Monoid, T>;
              return AggregateTypes{element_type<typename Traits::Result>(),
                                    element_type<typename Traits::State>(),
                                    Traits::finishes || !std::is_same_v<typename Traits::State, T>};
            });
          }};
}

/// Every aggregation whose algebra is known; files may name others, which are opaque.
inline constexpr std::array named_aggregates{
    named_aggregate<Sum>(),    named_aggregate<Prod>(),   named_aggregate<Min>(),
    named_aggregate<Max>(),    named_aggregate<And>(),    named_aggregate<Or>(),
    named_aggregate<ArgMin>(), named_aggregate<ArgMax>(), named_aggregate<LogSumExp>(),
};

/// The entry of that name, or null if there is none.
template <class Named, std::size_t N>
[[nodiscard]] constexpr const Named* find_named(const std::array<Named, N>& table,
                                                std::string_view name) {
  const auto found = std::ranges::find(table, name, &Named::name);
  return found == table.end() ? nullptr : &*found;
}

/// The elements of a join of elements of some kinds, promoted as C++ does. \param join  null if it
/// is opaque
[[nodiscard]] inline ElementType joined_element(const NamedJoin* join,
                                                std::span<const ElementKind> operands) {
  constexpr std::array from_low{ElementKind::int32, ElementKind::int64, ElementKind::float32,
                                ElementKind::float64};
  std::size_t highest = 0;
  for (ElementKind kind : operands) {
    const auto at = static_cast<std::size_t>(std::ranges::find(from_low, kind) - from_low.begin());
    highest = std::max(highest, std::min(at, from_low.size() - 1));
  }
  if (join != nullptr && join->floating && highest < 2) return element_type<double>();
  return with_element(from_low[highest],
                      [](auto t) { return element_type<typename decltype(t)::type>(); });
}

}  // namespace eindecomp::tools
