// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Labels as values: the `i < j` of a mask, the `value(i)` of a ramp.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/functor_record.hpp"

namespace eindecomp {

/// The index that a label stands for, as an element.
template <AnyLabel L>
struct LabelValue : ExpressionBase {
  using LabelTypes = LabelList<L>;  ///< the label
  /// None: a label belongs to no program.
  [[nodiscard]] static constexpr std::nullptr_t program() { return nullptr; }
};

namespace expr {

/// The labels of what an expression reads, by first appearance.
template <class E>
struct ReadLabels {
  using type = typename E::LabelTypes;
};
template <class L>
struct ReadLabels<LabelValue<L>> {
  using type = LabelList<>;
};
template <class F, class... Es>
struct ReadLabels<Apply<F, Es...>> {
  using type = UnitedLabels<typename ReadLabels<Es>::type...>;
};
template <class Monoid, class Labels, class Body>
struct ReadLabels<Aggregation<Monoid, Labels, Body>> {
  using type = RemainingLabels<typename ReadLabels<Body>::type, Labels>;
};
/// The labels of an expression in the order in which it is stored where it becomes a tensor: those
/// of what it reads come first, so that a mask does not turn it.
template <class E>
struct StoredLabelsOf {
  using type = UnitedLabels<typename ReadLabels<E>::type, typename E::LabelTypes>;
};
template <class E>
using StoredLabels = typename StoredLabelsOf<E>::type;

/// The elements that labels are as values.
using LabelNumber = std::int64_t;

template <class L>
struct ElementsOf<LabelValue<L>> {
  using type = LabelNumber;
};

/// offset + Σ coefficient · value, of as many labels.
template <std::size_t Labels>
struct AffineValue {
  Extent coefficients[Labels] = {};  // no std::array, of which device code may call nothing
  Extent offset = 0;
  template <class... Values>
  EINDECOMP_FUNCTION constexpr LabelNumber operator()(const Values&... values) const {
    LabelNumber sum = offset;
    std::size_t n = 0;
    ((sum += coefficients[n++] * values), ...);
    return sum;
  }
};
template <std::size_t Labels>
constexpr void record(const AffineValue<Labels>& f, FunctorRecord& to) {
  to.text << "affine";
  for (const Extent c : f.coefficients) record_state(c, to);
  record_state(f.offset, to);
}

template <AnyLabel L>
[[nodiscard]] constexpr LabelValue<L> value_of(L) {
  return {};
}
template <class... Ls>
[[nodiscard]] constexpr auto value_of(const Affine<Ls...>& index) {
  AffineValue<sizeof...(Ls)> sum;
  std::copy_n(index.coefficients.begin(), sizeof...(Ls), sum.coefficients);
  sum.offset = index.offset;
  return Apply<AffineValue<sizeof...(Ls)>, LabelValue<Ls>...>(sum, LabelValue<Ls>{}...);
}
template <class T>
  requires(!AffineIndex<T>)
[[nodiscard]] constexpr const T& value_of(const T& number_or_expression) {
  return number_or_expression;
}

/// A label, or what is computed from labels, beside what it may be compared with. That there is one
/// of them is asked first: the operators below are candidates for all types of this namespace.
template <class A, class B>
concept ComparedValues = (AffineIndex<A> || AffineIndex<B>)&&(
    AffineIndex<A> || Expression<A> || Scalar<A>)&&(AffineIndex<B> || Expression<B> || Scalar<B>);

}  // namespace expr

/// The index that a label stands for, or that is computed from labels, as an element of 64 bits:
/// `value(i)` is 0, 1, 2, … along i, `value(2 * i - j)` their combination. The label's extent is
/// that of an operand or of the output. Nothing of that size is stored but its values, once.
template <AffineIndex A>
[[nodiscard]] constexpr auto value(const A& index) {
  return expr::value_of(index);
}

// clang-format off
/// Labels, and what is computed from them, compared as values: `i <= j` is the mask of a triangle,
/// `I(b) == v` a one-hot row.
/// @{
#define EINDECOMP_COMPARISON(op, Op, compared)                                              \
  template <class A, class B>                                                               \
    requires expr::ComparedValues<A, B>                                                     \
  [[nodiscard]] constexpr auto operator op(const A& a, const B& b) {                        \
    return expr::compared(Op{}, expr::value_of(a), expr::value_of(b));                      \
  }
EINDECOMP_COMPARISON(<, Less, ordering)
EINDECOMP_COMPARISON(<=, LessEqual, ordering)
EINDECOMP_COMPARISON(>, Greater, ordering)
EINDECOMP_COMPARISON(>=, GreaterEqual, ordering)
EINDECOMP_COMPARISON(==, Equal, apply)
EINDECOMP_COMPARISON(!=, NotEqual, apply)
#undef EINDECOMP_COMPARISON
/// @}
// clang-format on

}  // namespace eindecomp
