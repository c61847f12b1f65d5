// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What reads like the language and is not in it: each is refused by a sentence that says what to
/// write instead, in the compiler's first line. Nothing here can be called.
#pragma once

#include <algorithm>
#include <cmath>
#include <source_location>
#include <type_traits>

#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/label_value.hpp"

namespace eindecomp {

namespace expr {

/// What is returned in place of a statement's left side.
struct RefusedTarget {
  template <class T>
  constexpr void operator=(const T&) const {}
  template <class T>
  constexpr void operator+=(const T&) const {}
};

template <class T>
concept SourceLocation = std::is_same_v<std::remove_cvref_t<T>, std::source_location>;

/// What is computed from labels, by other operators than those of sums and products: nothing.
template <class A, class B>
inline constexpr bool never_computed = false;

// Keeps the functions below from matching calls that belong to other libraries.
template <class T>
concept OfTheLanguage = AffineIndex<T> || Expression<T> || TensorWithoutLabels<T>;

/// Whether some of these are labels with their extents.
template <class... Ts>
inline constexpr bool have_extent = (is_sized_label<Ts> || ...);
template <class T>
constexpr auto refuse_label_with_extent() {
  static_assert(never<T>,
                "EinDecomp: a label with its extent stands where a label alone belongs; write "
                "extent(r, 3) on the left of the statement or in an index, X(i + extent(r, 3))");
  return Refused{};
}

/// Refuses what stands where a label belongs; T is a reference where it is a variable.
template <class T>
constexpr auto refuse_as_label() {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (Expression<T> || TensorWithoutLabels<T>) {
    static_assert(never<T>,
                  "EinDecomp: a tensor stands where a label belongs (index tensors are read, "
                  "X(I(b), j)); write to where one says by let<\"Z\">(extent(v, n), j) = "
                  "sum(b)(where(I(b) == v, X(b, j)))");
  } else if constexpr (is_sized_label<Plain>) {
    return refuse_label_with_extent<T>();
  } else if constexpr (std::is_lvalue_reference_v<T> && !std::is_array_v<Plain>) {
    static_assert(
        never<T>,
        "EinDecomp: a variable stands where a label belongs (one of the label's name "
        "hides it); rename the variable, or write eindecomp::labels::i for the label i, at(i) for "
        "the index");
  } else if constexpr (Integer<Plain>) {
    static_assert(never<T>,
                  "EinDecomp: an integer stands where a label of the output belongs; write "
                  "extent(k, 3) for a dimension of 3 elements");
  } else if constexpr (Index<T>) {
    static_assert(never<T>,
                  "EinDecomp: an index on the left of a statement is computed (a statement writes "
                  "all of its tensor); write a block of one, auto Z = blocks<double>(g, \"Z\", {n, "
                  "m}); Z(i + 4, j) = X(i, j)");
  } else if constexpr (std::is_arithmetic_v<Plain>) {
    static_assert(never<T>,
                  "EinDecomp: a number that is no integer stands where a label belongs; write a "
                  "label, or the integer that is the index");
  } else {
    static_assert(never<T>,
                  "EinDecomp: what stands where a label belongs is none; write a label, as i or "
                  "eindecomp::label<\"row\">");
  }
  return Refused{};
}
template <class First, class... Rest>
constexpr auto refuse_first_that_is_no_label() {
  // A label with its extent is one on the left of a statement, and a computed index or an integer
  // is an index elsewhere.
  constexpr bool is_last = ((Index<Rest> || is_sized_label<std::remove_cvref_t<Rest>>)&&...);
  constexpr bool passed =
      AnyLabel<First> || is_sized_label<std::remove_cvref_t<First>> || (Index<First> && !is_last);
  if constexpr (passed && sizeof...(Rest) > 0) {
    return refuse_first_that_is_no_label<Rest...>();
  } else {
    return refuse_as_label<First>();
  }
}

template <class... Ts>
constexpr auto refuse_without_labels() {
  if constexpr ((std::is_base_of_v<WrittenBlockBase, std::remove_cvref_t<Ts>> || ...)) {
    static_assert(never<Ts...>,
                  "EinDecomp: a tensor that is written block by block is read by B(i, j) (which "
                  "stands on the left of a block); write B.tensor()(i, j)");
  } else {
    static_assert(never<Ts...>,
                  "EinDecomp: a tensor stands in an expression without its labels; write one for "
                  "each dimension, X(i, j)");
  }
  return Refused{};
}

}  // namespace expr

/// Refuses what is no power in C++.
template <class A, class B>
  requires expr::Operands<A, B>
constexpr auto operator^(const A&, const B&) {
  static_assert(expr::never<A>, "EinDecomp: ^ is no power in C++; write pow(X(i, j), 2)");
  return expr::Refused{};
}

// clang-format off
#define EINDECOMP_REFUSED_OPERATOR(op, Computed)                                            \
  template <class A, class B>                                                               \
    requires((AffineIndex<A> || AffineIndex<B>) && !expr::Computed<A, B> &&                 \
             !expr::is_bounded_index<A> && !expr::is_bounded_index<B>)                      \
  constexpr auto operator op(const A& a, const B& b) {                                      \
    static_assert(expr::never<A, B>,                                                      \
        "EinDecomp: a label is computed with (it names a dimension; indices are sums of "   \
        "labels times integers, X(2 * i + k - 1)); write value(i) for its value, "          \
        "value(i) * X(i)");                                                                 \
    if constexpr (AffineIndex<A>) { return a; } else { return b; }                             \
  }
EINDECOMP_REFUSED_OPERATOR(+, AffineSum)
EINDECOMP_REFUSED_OPERATOR(-, AffineSum)
EINDECOMP_REFUSED_OPERATOR(*, AffineProduct)
EINDECOMP_REFUSED_OPERATOR(/, never_computed)
EINDECOMP_REFUSED_OPERATOR(%, never_computed)
#undef EINDECOMP_REFUSED_OPERATOR

#define EINDECOMP_REFUSED_OPERATOR(op)                                                      \
  template <class A, class B>                                                               \
    requires(expr::is_bounded_index<A> || expr::is_bounded_index<B>)                        \
  constexpr auto operator op(const A& a, const B& b) {                                      \
    static_assert(expr::never<A, B>,                                                        \
        "EinDecomp: an index that has a boundary or is divided is computed with; compute "  \
        "the index first, zero(i + 1) or whole(i + 1 - r, 2)");                             \
    if constexpr (expr::is_bounded_index<A>) { return a; } else { return b; }               \
  }
EINDECOMP_REFUSED_OPERATOR(+)
EINDECOMP_REFUSED_OPERATOR(-)
EINDECOMP_REFUSED_OPERATOR(*)
#undef EINDECOMP_REFUSED_OPERATOR

#define EINDECOMP_REFUSED_OPERATOR(op)                                                      \
  template <class A, class B>                                                               \
    requires((TensorWithoutLabels<A> || TensorWithoutLabels<B>) &&                          \
             !(AffineIndex<A> || AffineIndex<B>))                                              \
  constexpr auto operator op(const A&, const B&) {                                          \
    return expr::refuse_without_labels<A, B>();                                           \
  }
EINDECOMP_REFUSED_OPERATOR(+)
EINDECOMP_REFUSED_OPERATOR(-)
EINDECOMP_REFUSED_OPERATOR(*)
EINDECOMP_REFUSED_OPERATOR(/)
#undef EINDECOMP_REFUSED_OPERATOR

// A function of that name that a user writes for expressions is the closer match.
#define EINDECOMP_REFUSED_WITHOUT_LABELS(function)                                          \
  template <TensorWithoutLabels Tensor, class... Rest>                                      \
  constexpr auto function(const Tensor&, const Rest&...) {                                  \
    return expr::refuse_without_labels<Tensor>();                                         \
  }
EINDECOMP_REFUSED_WITHOUT_LABELS(abs)
EINDECOMP_REFUSED_WITHOUT_LABELS(exp)
EINDECOMP_REFUSED_WITHOUT_LABELS(log)
EINDECOMP_REFUSED_WITHOUT_LABELS(sqrt)
EINDECOMP_REFUSED_WITHOUT_LABELS(tanh)
EINDECOMP_REFUSED_WITHOUT_LABELS(relu)
EINDECOMP_REFUSED_WITHOUT_LABELS(sin)
EINDECOMP_REFUSED_WITHOUT_LABELS(cos)
EINDECOMP_REFUSED_WITHOUT_LABELS(tan)
EINDECOMP_REFUSED_WITHOUT_LABELS(asin)
EINDECOMP_REFUSED_WITHOUT_LABELS(acos)
EINDECOMP_REFUSED_WITHOUT_LABELS(atan)
EINDECOMP_REFUSED_WITHOUT_LABELS(atan2)
EINDECOMP_REFUSED_WITHOUT_LABELS(sinh)
EINDECOMP_REFUSED_WITHOUT_LABELS(cosh)
EINDECOMP_REFUSED_WITHOUT_LABELS(asinh)
EINDECOMP_REFUSED_WITHOUT_LABELS(acosh)
EINDECOMP_REFUSED_WITHOUT_LABELS(atanh)
EINDECOMP_REFUSED_WITHOUT_LABELS(exp2)
EINDECOMP_REFUSED_WITHOUT_LABELS(expm1)
EINDECOMP_REFUSED_WITHOUT_LABELS(log2)
EINDECOMP_REFUSED_WITHOUT_LABELS(log10)
EINDECOMP_REFUSED_WITHOUT_LABELS(log1p)
EINDECOMP_REFUSED_WITHOUT_LABELS(pow)
EINDECOMP_REFUSED_WITHOUT_LABELS(cbrt)
EINDECOMP_REFUSED_WITHOUT_LABELS(hypot)
EINDECOMP_REFUSED_WITHOUT_LABELS(erf)
EINDECOMP_REFUSED_WITHOUT_LABELS(erfc)
EINDECOMP_REFUSED_WITHOUT_LABELS(floor)
EINDECOMP_REFUSED_WITHOUT_LABELS(ceil)
EINDECOMP_REFUSED_WITHOUT_LABELS(round)
EINDECOMP_REFUSED_WITHOUT_LABELS(trunc)
EINDECOMP_REFUSED_WITHOUT_LABELS(sign)
EINDECOMP_REFUSED_WITHOUT_LABELS(real)
EINDECOMP_REFUSED_WITHOUT_LABELS(imag)
EINDECOMP_REFUSED_WITHOUT_LABELS(conj)
EINDECOMP_REFUSED_WITHOUT_LABELS(square)
EINDECOMP_REFUSED_WITHOUT_LABELS(sigmoid)
EINDECOMP_REFUSED_WITHOUT_LABELS(silu)
EINDECOMP_REFUSED_WITHOUT_LABELS(gelu)
EINDECOMP_REFUSED_WITHOUT_LABELS(isnan)
EINDECOMP_REFUSED_WITHOUT_LABELS(isinf)
EINDECOMP_REFUSED_WITHOUT_LABELS(isfinite)
EINDECOMP_REFUSED_WITHOUT_LABELS(mod)
EINDECOMP_REFUSED_WITHOUT_LABELS(clip)
#undef EINDECOMP_REFUSED_WITHOUT_LABELS

#define EINDECOMP_REFUSED_FUNCTION(function)                                                \
  template <class E, class... Rest>                                                         \
    requires(Expression<E> || TensorWithoutLabels<E>)                                       \
  constexpr auto function(const E&, const Rest&...) {                                       \
    static_assert(expr::never<E, Rest...>,                                                \
        "EinDecomp: expressions have no function " #function                                \
        "; write map(f, X(i, j)) or join(f, X(i, j), W(j, k)) with a functor f of yours "   \
        "that computes it for elements");                                                   \
    return expr::Refused{};                                                               \
  }
EINDECOMP_REFUSED_FUNCTION(fmod)
EINDECOMP_REFUSED_FUNCTION(fmin)
EINDECOMP_REFUSED_FUNCTION(fmax)
EINDECOMP_REFUSED_FUNCTION(fabs)
EINDECOMP_REFUSED_FUNCTION(tgamma)
EINDECOMP_REFUSED_FUNCTION(lgamma)
#undef EINDECOMP_REFUSED_FUNCTION

#define EINDECOMP_REFUSED_AGGREGATION(function)                                             \
  template <class First, class... Rest>                                                     \
    requires(!(AnyLabel<First> && (AnyLabel<Rest> && ...)) &&                               \
             (expr::OfTheLanguage<First> || (expr::OfTheLanguage<Rest> || ...) ||           \
              expr::have_extent<First, Rest...> ||                                          \
              (std::is_integral_v<First> && sizeof...(Rest) == 0)))                         \
  constexpr auto function(const First&, const Rest&...) {                                   \
    if constexpr (Expression<First> || TensorWithoutLabels<First>) {                        \
      static_assert(expr::never<First>,                                                   \
          "EinDecomp: an aggregation is given an expression before its labels; write "      \
          #function "(j)(X(i, j)), with the labels that it aggregates in front");           \
    } else if constexpr (expr::have_extent<First, Rest...>) {                               \
      expr::refuse_label_with_extent<First>();                                              \
    } else {                                                                                \
      expr::refuse_first_that_is_no_label<const First&, const Rest&...>();                \
    }                                                                                       \
    return expr::Refused{};                                                               \
  }
EINDECOMP_REFUSED_AGGREGATION(sum)
EINDECOMP_REFUSED_AGGREGATION(prod)
EINDECOMP_REFUSED_AGGREGATION(all)
EINDECOMP_REFUSED_AGGREGATION(any)
EINDECOMP_REFUSED_AGGREGATION(log_sum_exp)
EINDECOMP_REFUSED_AGGREGATION(compensated_sum)
EINDECOMP_REFUSED_AGGREGATION(argmin)
EINDECOMP_REFUSED_AGGREGATION(argmax)
EINDECOMP_REFUSED_AGGREGATION(mean)
EINDECOMP_REFUSED_AGGREGATION(var)
EINDECOMP_REFUSED_AGGREGATION(stddev)
EINDECOMP_REFUSED_AGGREGATION(norm)
#undef EINDECOMP_REFUSED_AGGREGATION

#define EINDECOMP_REFUSED_EXTENT(function)                                                  \
  template <class First, class... Rest>                                                     \
    requires(expr::have_extent<First, Rest...>)                                             \
  constexpr auto function(const First&, const Rest&...) {                                   \
    return expr::refuse_label_with_extent<First>();                                         \
  }
EINDECOMP_REFUSED_EXTENT(min)
EINDECOMP_REFUSED_EXTENT(max)
EINDECOMP_REFUSED_EXTENT(value)
#undef EINDECOMP_REFUSED_EXTENT
// clang-format on

}  // namespace eindecomp
