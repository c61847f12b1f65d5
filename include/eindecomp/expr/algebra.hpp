// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Algebras: a join ⊗ and a monoid ⊕ together, and the laws by which rewrites may go.
#pragma once

#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"

namespace eindecomp {

/// ⊗ may take its operands in any order and grouping. Specialise for a functor of your own.
template <class Join>
inline constexpr bool is_associative_commutative = false;
template <>
inline constexpr bool is_associative_commutative<Mul> = true;
template <>
inline constexpr bool is_associative_commutative<Add> = true;
template <>
inline constexpr bool is_associative_commutative<Min> = true;
template <>
inline constexpr bool is_associative_commutative<Max> = true;
template <>
inline constexpr bool is_associative_commutative<And> = true;
template <>
inline constexpr bool is_associative_commutative<Or> = true;

/// a ⊗ b = b ⊗ a. Specialise for a functor of your own.
template <class Join>
inline constexpr bool is_commutative = is_associative_commutative<Join>;
template <class Factor>
inline constexpr bool is_commutative<ScaledMul<Factor>> = true;
template <>
inline constexpr bool is_commutative<AbsDiff> = true;
template <>
inline constexpr bool is_commutative<SqDiff> = true;

/// a ⊗ (b ⊕ c) = (a ⊗ b) ⊕ (a ⊗ c). Specialise for functors of your own.
template <class Join, class Monoid>
inline constexpr bool distributes_over = false;
template <>
inline constexpr bool distributes_over<Mul, Sum> = true;
template <>
inline constexpr bool distributes_over<Add, Min> = true;
template <>
inline constexpr bool distributes_over<Add, Max> = true;
template <>
inline constexpr bool distributes_over<Min, Max> = true;
template <>
inline constexpr bool distributes_over<Max, Min> = true;
template <>
inline constexpr bool distributes_over<And, Or> = true;
template <>
inline constexpr bool distributes_over<Or, And> = true;

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

}  // namespace eindecomp
