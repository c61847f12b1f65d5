// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What ⊗ gives of elements, as ⊕ aggregates it.
#pragma once

#include <type_traits>

#include "eindecomp/expr/element.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"

namespace eindecomp::expr {

/// Whether ⊗ can be called with elements Ts, those of 16 bits as floats.
template <class Join, class... Ts>
inline constexpr bool is_joinable = std::is_invocable_v<const Join&, const Widened<Ts>&...>;

template <class Join, class... Ts>
struct JoinedElements {
  using type = std::decay_t<std::invoke_result_t<const Join&, const Widened<Ts>&...>>;
};
/// What is only moved stays what it is.
template <class Join, Half T>
  requires is_one_of<Join, Identity, Mul, Add>
struct JoinedElements<Join, T> {
  using type = T;
};
/// What ⊗ gives of elements Ts.
template <class Join, class... Ts>
using Joined = typename JoinedElements<Join, Ts...>::type;

/// The same as ⊕ aggregates it, and as it is stored where ⊕ stands for nothing: truth values are
/// integers, and numbers of 16 bits are aggregated as floats.
template <class Join, class Monoid, class... Ts>
using JoinedValue =
    std::conditional_t<std::is_same_v<Monoid, NoAggregation>, Stored<Joined<Join, Ts...>>,
                       Widened<Stored<Joined<Join, Ts...>>>>;

}  // namespace eindecomp::expr
