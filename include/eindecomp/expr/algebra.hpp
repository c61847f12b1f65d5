// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Algebras: a join ⊗ and a monoid ⊕ together, and the laws that rewrites rely on.
#pragma once

#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"

namespace eindecomp {

/// ⊗ and ⊕ together, as in `einsum<"ij,jk->ik", MinPlus>`.
template <class JoinType, class MonoidType>
struct Algebra {
  using Join = JoinType;      ///< ⊗
  using Monoid = MonoidType;  ///< ⊕
  Join join{};                ///< with its state, if it has any
  Monoid monoid{};            ///< with its state, if it has any
};
using PlusTimes = Algebra<Mul, Sum>;           ///< sums of products: what NumPy computes
using MinPlus = Algebra<Add, Min>;             ///< shortest paths
using MaxPlus = Algebra<Add, Max>;             ///< longest paths
using MaxTimes = Algebra<Mul, Max>;            ///< most likely paths
using MinMax = Algebra<Max, Min>;              ///< paths whose largest step is smallest
using MaxMin = Algebra<Min, Max>;              ///< widest paths
using OrAnd = Algebra<And, Or>;                ///< whether there is a path
using SquaredDistance = Algebra<SqDiff, Sum>;  ///< Σ(a - b)²
using Chebyshev = Algebra<AbsDiff, Max>;       ///< max |a - b|

/// ⊗ may take its operands in any order and grouping. Specialise for a functor of your own.
template <class Join>
inline constexpr bool is_associative_commutative =
    expr::is_one_of<Join, Mul, Add, Min, Max, And, Or>;

/// a ⊗ b = b ⊗ a. Specialise for a functor of your own.
template <class Join>
inline constexpr bool is_commutative =
    is_associative_commutative<Join> || expr::is_one_of<Join, AbsDiff, SqDiff>;
template <class Factor>
inline constexpr bool is_commutative<ScaledMul<Factor>> = true;

/// a ⊗ (b ⊕ c) = (a ⊗ b) ⊕ (a ⊗ c). Specialise for functors of your own.
template <class Join, class Monoid>
inline constexpr bool distributes_over =
    expr::is_one_of<Algebra<Join, Monoid>, PlusTimes, MinPlus, MaxPlus, MinMax, MaxMin, OrAnd,
                    Algebra<Or, And>>;

}  // namespace eindecomp
