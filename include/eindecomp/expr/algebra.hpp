// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Algebras: a join ⊗ and a monoid ⊕ together, and the laws that rewrites rely on.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "eindecomp/expr/element.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/expr/weak_scalar.hpp"

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

namespace expr {
/// Whether T are numbers: what std::numeric_limits knows, and complex numbers.
template <class T>
inline constexpr bool is_number = std::numeric_limits<T>::is_specialized || is_complex<T>;
/// The library's operators of numbers that may take them in any order and grouping.
template <class Join>
inline constexpr bool reorders_numbers = is_one_of<Join, Mul, Add, Min, Max, And, Or>;
}  // namespace expr

/// ⊗ may take its operands in any order and grouping. Specialise for a functor of your own; those
/// of the library are asked for numbers alone, since the `*` of matrices, say, may not.
template <class Join>
inline constexpr bool is_associative_commutative = expr::reorders_numbers<Join>;

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

/// What an operand is where its index leaves the tensor.
enum class OutsideValue : std::uint8_t {
  none,     ///< no index may leave
  zero,     ///< 0
  one,      ///< 1
  lowest,   ///< the identity of max: -∞, or the least integer
  highest,  ///< the identity of min: ∞, or the greatest integer
  stated,   ///< what the statement says, Operator::blocks
};

namespace expr {
/// Whether ⊗ of elements T may take them in any order and grouping.
template <class Join, class T>
inline constexpr bool is_reorderable = is_associative_commutative<Join> &&
                                       (is_number<T> || !reorders_numbers<Join>);
/// The identity of a monoid, where it is one of those values.
template <class Monoid>
inline constexpr OutsideValue identity_value = [] {
  if constexpr (is_one_of<Monoid, Sum, CompensatedSum, Or>) {
    return OutsideValue::zero;
  } else if constexpr (is_one_of<Monoid, Prod, And>) {
    return OutsideValue::one;
  } else if constexpr (is_one_of<Monoid, Max, LogSumExp>) {
    return OutsideValue::lowest;
  } else if constexpr (std::is_same_v<Monoid, Min>) {
    return OutsideValue::highest;
  } else {
    return OutsideValue::none;
  }
}();
/// Whether elements T have such a value: of what are no numbers only 0 is known, as bytes.
template <class T>
[[nodiscard]] constexpr bool is_stored_value(OutsideValue value) {
  return value == OutsideValue::zero || std::is_integral_v<T> ||
         ElementTraits<T>::kind != ElementKind::other;
}
template <class Join>
inline constexpr bool is_product = std::is_same_v<Join, Mul>;
template <class Factor>
inline constexpr bool is_product<ScaledMul<Factor>> = true;
/// Whether ⊕ passes over 0, or nothing is aggregated.
template <class Monoid>
inline constexpr bool passes_over_zero =
    std::is_same_v<Monoid, NoAggregation> || identity_value<Monoid> == OutsideValue::zero;
/// Operator::annihilates.
template <class Join, class Monoid>
inline constexpr bool annihilates = passes_over_zero<Monoid> &&
                                    (is_product<Join> || std::is_same_v<Join, Identity> ||
                                     std::is_same_v<Algebra<Join, Monoid>, OrAnd>);
}  // namespace expr

/// The value of an operand of elements T that makes ⊗ give the identity of ⊕, so that the other
/// operands do not matter: 0 for sums of products, -∞ for the longest paths.
/// \tparam First  whether it is the first operand
template <class Join, class Monoid, class T, bool First>
inline constexpr OutsideValue ignored_value = [] {
  constexpr bool absorbs =
      std::is_same_v<Join, Identity> ||
      (expr::is_product<Join> && expr::is_one_of<Monoid, Sum, CompensatedSum>) ||
      ((std::is_same_v<Join, Add> || (std::is_same_v<Join, Sub> && First)) &&
       expr::is_one_of<Monoid, Min, Max, LogSumExp> && std::is_floating_point_v<Widened<T>>) ||
      expr::is_one_of<Algebra<Join, Monoid>, MinMax, MaxMin, OrAnd, Algebra<Or, And>>;
  constexpr OutsideValue identity = expr::identity_value<Monoid>;
  return absorbs && expr::is_stored_value<T>(identity) ? identity : OutsideValue::none;
}();

}  // namespace eindecomp
