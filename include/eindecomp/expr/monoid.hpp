// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Aggregations ⊕: commutative monoids, ours and the user's.
///
/// A monoid M of elements T is a functor with
///   - `T operator()(T, T) const`, the combination,
///   - `identity<T>()` or `identity()`, its neutral element,
///   - `static constexpr bool commutative_monoid = true`, the promise of associativity and
///     commutativity, which no compiler can check (or specialise promises_commutative_monoid).
/// One whose accumulator is not an element (argmin, log-sum-exp) has besides
///   - `State<T>`, the accumulator's type, which identity and operator() then speak of,
///   - `lift(value, index)`, the state of one element (index: its place along the one aggregated
///     label, in the whole tensor; 0 unless `uses_index`),
///   - `finish(state)`, the result.
/// A monoid may also have `aggregate(accumulator, next)`: a cheaper combination that is right for
/// accumulators that started as the identity.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/monoid_traits.hpp"
#include "eindecomp/expr/operator.hpp"

namespace eindecomp {

namespace expr {
// Constants, since device code may use their values but not call numeric_limits.
template <class T>
inline constexpr T greatest = std::numeric_limits<T>::has_infinity
                                  ? std::numeric_limits<T>::infinity()
                                  : std::numeric_limits<T>::max();
// Not numeric_limits::min(), which is the least positive.
template <class T>
inline constexpr T least = std::numeric_limits<T>::has_infinity
                               ? -std::numeric_limits<T>::infinity()
                               : std::numeric_limits<T>::lowest();
/// What has an order and, as std::numeric_limits knows, a least and a greatest value.
template <class T>
concept HasExtremes = std::totally_ordered<T> && std::numeric_limits<T>::is_specialized;
}  // namespace expr

/// Σ, whose identity is 0.
struct Sum {
  static constexpr std::string_view name = "sum";
  static constexpr bool commutative_monoid = true;
  template <class T>
  EINDECOMP_FUNCTION static constexpr T identity() {
    return T(0);
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr T operator()(const T& a, const T& b) const {
    EINDECOMP_CONTRACT
    return a + b;
  }
};

/// Π, whose identity is 1.
struct Prod {
  static constexpr std::string_view name = "prod";
  static constexpr bool commutative_monoid = true;
  template <class T>
  EINDECOMP_FUNCTION static constexpr T identity() {
    return T(1);
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr T operator()(const T& a, const T& b) const {
    return a * b;
  }
};

/// The smaller, as a join and as a monoid, whose identity is infinity or the greatest integer. As a
/// join it is NaN where either operand is. As a monoid it passes over every NaN, wherever it
/// stands, and is the identity of nothing but NaN.
struct Min {
  static constexpr std::string_view name = "min";
  static constexpr bool commutative_monoid = true;
  template <class T>
  requires expr::HasExtremes<T> EINDECOMP_FUNCTION static constexpr T identity() {
    return expr::greatest<T>;
  }
  template <class A, class B>
  requires std::totally_ordered_with<A, B> EINDECOMP_FUNCTION constexpr auto operator()(
      const A& a, const B& b) const -> std::common_type_t<A, B> {
    return b < a ? b : (b == b ? a : b);
  }
  template <expr::Vector V>
  constexpr V operator()(const V& a, const V& b) const {
    const V lesser = b < a ? b : a;
    return b == b ? lesser : b;
  }
  template <expr::Vector V>
  constexpr V operator()(const V& a, const typename expr::ElementOfVector<V>::type& b) const {
    return (*this)(a, b - V{});
  }
  template <expr::Vector V>
  constexpr V operator()(const typename expr::ElementOfVector<V>::type& a, const V& b) const {
    return (*this)(a - V{}, b);
  }
  /// Takes one instruction, because the aggregate is never NaN; one that was would stay NaN.
  template <class T>
  EINDECOMP_FUNCTION constexpr T aggregate(const T& state, const T& next) const {
    return next < state ? next : state;
  }
};

/// The larger, as a join and as a monoid, whose identity is -infinity or the least integer. Of NaN
/// what holds of Min.
struct Max {
  static constexpr std::string_view name = "max";
  static constexpr bool commutative_monoid = true;
  template <class T>
  requires expr::HasExtremes<T> EINDECOMP_FUNCTION static constexpr T identity() {
    return expr::least<T>;
  }
  template <class A, class B>
  requires std::totally_ordered_with<A, B> EINDECOMP_FUNCTION constexpr auto operator()(
      const A& a, const B& b) const -> std::common_type_t<A, B> {
    return a < b ? b : (b == b ? a : b);
  }
  template <expr::Vector V>
  constexpr V operator()(const V& a, const V& b) const {
    const V greater = a < b ? b : a;
    return b == b ? greater : b;
  }
  template <expr::Vector V>
  constexpr V operator()(const V& a, const typename expr::ElementOfVector<V>::type& b) const {
    return (*this)(a, b - V{});
  }
  template <expr::Vector V>
  constexpr V operator()(const typename expr::ElementOfVector<V>::type& a, const V& b) const {
    return (*this)(a - V{}, b);
  }
  /// As Min::aggregate.
  template <class T>
  EINDECOMP_FUNCTION constexpr T aggregate(const T& state, const T& next) const {
    return state < next ? next : state;
  }
};

namespace expr {
/// What And and Or share: accumulators are 0 or 1, whatever the elements.
struct TruthMonoid {
  static constexpr bool commutative_monoid = true;
  template <class T>
  using State = std::int32_t;
  template <class T>
  EINDECOMP_FUNCTION constexpr std::int32_t lift(const T& value, std::int64_t) const {
    return value != T(0) ? 1 : 0;
  }
  EINDECOMP_FUNCTION constexpr std::int32_t finish(std::int32_t state) const { return state; }
};
}  // namespace expr

/// Whether all are not zero, as a join and as a monoid; the result is 0 or 1.
struct And : expr::TruthMonoid {
  static constexpr std::string_view name = "and";
  template <class T>
  EINDECOMP_FUNCTION static constexpr std::int32_t identity() {
    return 1;
  }
  template <class A, class B>
  EINDECOMP_FUNCTION constexpr std::int32_t operator()(const A& a, const B& b) const {
    return (a != A(0)) && (b != B(0)) ? 1 : 0;
  }
};

/// Whether any is not zero, as a join and as a monoid; the result is 0 or 1.
struct Or : expr::TruthMonoid {
  static constexpr std::string_view name = "or";
  template <class T>
  EINDECOMP_FUNCTION static constexpr std::int32_t identity() {
    return 0;
  }
  template <class A, class B>
  EINDECOMP_FUNCTION constexpr std::int32_t operator()(const A& a, const B& b) const {
    return (a != A(0)) || (b != B(0)) ? 1 : 0;
  }
};

/// An element and where it stands.
template <class T>
struct Indexed {
  T value;             ///< the element
  std::int64_t index;  ///< its place along the label, in the whole tensor
};

namespace expr {
/// Argmin and argmax: the best value, of equal ones the smallest index. What is not a number counts
/// as the worst of all values.
template <bool Smallest>
struct ArgExtremum {
  static constexpr bool smallest = Smallest;
  static constexpr std::string_view name = Smallest ? "argmin" : "argmax";
  static constexpr bool commutative_monoid = true;
  static constexpr bool uses_index = true;
  template <class T>
  using State = Indexed<T>;
  template <class T>
  requires expr::HasExtremes<T> EINDECOMP_FUNCTION static constexpr Indexed<T> identity() {
    return {Smallest ? greatest<T> : least<T>, greatest<std::int64_t>};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr Indexed<T> operator()(const Indexed<T>& a,
                                                     const Indexed<T>& b) const {
    if (Smallest ? a.value < b.value : b.value < a.value) return a;
    if (Smallest ? b.value < a.value : a.value < b.value) return b;
    return a.index < b.index ? a : b;
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr Indexed<T> lift(const T& value, std::int64_t index) const {
    return {value == value ? value : identity<T>().value, index};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr std::int64_t finish(const Indexed<T>& state) const {
    return state.index;
  }
};
}  // namespace expr

/// The index, in the whole tensor, of the smallest element; of equal ones the smallest index.
using ArgMin = expr::ArgExtremum<true>;
/// The index, in the whole tensor, of the largest element; of equal ones the smallest index.
using ArgMax = expr::ArgExtremum<false>;

/// Σ factor·exp(max) in two numbers that do not overflow.
template <class T>
struct ScaledExponential {
  T max;     ///< the largest exponent so far
  T factor;  ///< Σ exp(x - max)
};

/// log Σ exp(x), without overflow.
struct LogSumExp {
  static constexpr std::string_view name = "log_sum_exp";
  static constexpr bool commutative_monoid = true;
  template <class T>
  using State = ScaledExponential<T>;
  template <class T>
  requires std::floating_point<T> EINDECOMP_FUNCTION static constexpr ScaledExponential<T>
  identity() {
    return {expr::least<T>, T(0)};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr ScaledExponential<T> operator()(
      const ScaledExponential<T>& a, const ScaledExponential<T>& b) const {
    // Equal maxima apart: inf - inf is not a number.
    if (a.max == b.max) return {a.max, a.factor + b.factor};
    if (b.max < a.max) return {a.max, a.factor + b.factor * expr::call_exp(b.max - a.max)};
    return {b.max, b.factor + a.factor * expr::call_exp(a.max - b.max)};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr ScaledExponential<T> lift(const T& value, std::int64_t) const {
    return {value, T(1)};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr T finish(const ScaledExponential<T>& state) const {
    return state.max + expr::call_log(state.factor);
  }
};

/// A sum and what rounding took from it.
template <class T>
struct CompensatedTerms {
  T sum;    ///< as rounded
  T error;  ///< to be added to it
};

/// Σ with the rounding errors summed beside it (Knuth's TwoSum, as in Ogita, Rump and Oishi 2005,
/// algorithm 4.3): as accurate as if computed in twice the precision and rounded once. Not under
/// -ffast-math, which takes the errors to be 0.
struct CompensatedSum {
  static constexpr std::string_view name = "compensated_sum";
  static constexpr bool commutative_monoid = true;
  template <class T>
  using State = CompensatedTerms<T>;
  template <class T>
  requires std::floating_point<T> EINDECOMP_FUNCTION static constexpr CompensatedTerms<T>
  identity() {
    return {T(0), T(0)};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr CompensatedTerms<T> operator()(const CompensatedTerms<T>& a,
                                                              const CompensatedTerms<T>& b) const {
    const T sum = a.sum + b.sum;
    const T of_b = sum - a.sum;
    const T error = (a.sum - (sum - of_b)) + (b.sum - of_b);
    return {sum, a.error + b.error + error};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr CompensatedTerms<T> lift(const T& value, std::int64_t) const {
    return {value, T(0)};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr T finish(const CompensatedTerms<T>& state) const {
    // The error of an infinite sum is not a number.
    return state.sum - state.sum == T(0) ? state.sum + state.error : state.sum;
  }
};

/// Stands for ⊕ where nothing is aggregated.
struct NoAggregation {
  static constexpr std::string_view name{};
  static constexpr bool commutative_monoid = true;
  template <class T>
  EINDECOMP_FUNCTION static constexpr T identity() {
    return T{};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr T operator()(const T& a, const T&) const {
    return a;
  }
};

template <>
inline constexpr bool takes_vectors<Sum> = true;
template <>
inline constexpr bool takes_vectors<Prod> = true;
template <>
inline constexpr bool takes_vectors<Min> = true;
template <>
inline constexpr bool takes_vectors<Max> = true;

}  // namespace eindecomp
