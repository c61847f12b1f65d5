// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Expressions in index notation: `sum(j)(X(i, j) * W(j, k))`.
///
/// An expression is a tree of values; it holds symbols and scalars by copy and does nothing until
/// `let` or an enclosing expression lowers it.
#pragma once

#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "eindecomp/expr/compose.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/expr/joined.hpp"
#include "eindecomp/expr/label.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/weak_scalar.hpp"

namespace eindecomp {

/// Base of all expressions.
struct ExpressionBase {};
/// What may stand on the right of a statement: tensors under labels, scalars, and operators of
/// them.
template <class T>
concept Expression = std::is_base_of_v<ExpressionBase, std::remove_cvref_t<T>>;

/// Base of the tensors that are read under labels, and are no expressions without.
struct TensorBase {};
/// A symbol that is not read under labels: what an expression refuses.
template <class T>
concept TensorWithoutLabels = std::is_base_of_v<TensorBase, std::remove_cvref_t<T>>;
/// Base of what a block is written to, which an expression refuses as well.
struct WrittenBlockBase : TensorBase {};

/// A number that may stand in an expression.
template <class T>
concept Scalar = std::is_arithmetic_v<std::remove_cvref_t<T>> ||
                 ElementTraits<std::remove_cvref_t<T>>::kind != ElementKind::other;

namespace expr {
template <class...>
inline constexpr bool never = false;
}  // namespace expr

/// A tensor read under labels: X(i, j).
template <class SymbolType, class... Labels>
struct Access : ExpressionBase {
  using Symbol = SymbolType;                ///< a typed symbol of a program
  using LabelTypes = LabelList<Labels...>;  ///< one per dimension
  Symbol symbol;                            ///< the tensor
  /// The tensor read under Labels.
  constexpr explicit Access(Symbol s) : symbol(s) {}
  constexpr Access(const Access&) = default;
  constexpr Access& operator=(const Access&) & = default;
  /// The program the tensor belongs to.
  [[nodiscard]] constexpr auto* program() const { return symbol.state(); }
  /// Refuses what looks like a statement.
  template <class T>
  constexpr void operator=(const T&) const {
    static_assert(expr::never<T>,
                  "EinDecomp: a tensor that is there is assigned to (a statement makes a tensor of "
                  "its own); write let<\"Y\">(i, k) = sum(j)(X(i, j) * W(j, k))");
  }
};

namespace expr {
template <class E>
inline constexpr bool is_access = false;
template <class S, class... Ls>
inline constexpr bool is_access<Access<S, Ls...>> = true;

template <class S, class... Ls>
[[nodiscard]] constexpr auto access_under(const S& symbol, LabelList<Ls...>) {
  return Access<S, Ls...>(symbol);
}
}  // namespace expr

/// A scalar, of the type that it takes beside the tensors of its operator.
template <class T>
struct Constant : ExpressionBase {
  using LabelTypes = LabelList<>;  ///< none
  T value;                         ///< the scalar
  bool held = true;                ///< whether the type that it takes can hold what was written
  /// A scalar whose type stays.
  constexpr explicit Constant(T v) : value(v) {}
  /// A scalar that was converted to T.
  constexpr explicit Constant(const expr::WeakScalar<T>& scalar)
      : value(scalar.value), held(scalar.held) {}
  /// None: a scalar belongs to no program.
  [[nodiscard]] constexpr std::nullptr_t program() const { return nullptr; }
};

namespace expr {
template <class First, class... Rest>
[[nodiscard]] constexpr auto first_program(const First& first, const Rest&... rest) {
  if constexpr (sizeof...(Rest) == 0 ||
                !std::is_same_v<decltype(first.program()), std::nullptr_t>) {
    return first.program();
  } else {
    return first_program(rest...);
  }
}
}  // namespace expr

/// A functor applied element by element.
template <class OpType, class... Operands>
struct Apply : ExpressionBase {
  /// Those of the operands by first appearance.
  using LabelTypes = UnitedLabels<typename Operands::LabelTypes...>;
  OpType op;                                 ///< the functor
  boost::hana::tuple<Operands...> operands;  ///< in the order of its arguments
  /// The functor of these operands.
  constexpr explicit Apply(OpType f, Operands... es) : op(f), operands(es...) {}
  /// That of the first operand which has one.
  [[nodiscard]] constexpr auto program() const {
    return boost::hana::unpack(operands,
                               [](const auto&... es) { return expr::first_program(es...); });
  }
};

/// ⊕ over labels of an expression.
template <class MonoidType, class Labels, class Body>
struct Aggregation : ExpressionBase {
  using Aggregated = Labels;                                              ///< the labels that go
  using LabelTypes = RemainingLabels<typename Body::LabelTypes, Labels>;  ///< the labels that stay
  MonoidType monoid;                                                      ///< ⊕
  Body body;                                                              ///< what is aggregated
  /// ⊕ over Labels of `b`.
  constexpr Aggregation(MonoidType m, Body b) : monoid(m), body(b) {}
  /// That of what is aggregated.
  [[nodiscard]] constexpr auto program() const { return body.program(); }
};

namespace expr {

/// The elements of an expression: `type`, void if its operators cannot take what they are given,
/// which is for the statement to say.
template <class E>
struct ElementsOf;
template <class E>
using Elements = typename ElementsOf<E>::type;
template <class S, class... Ls>
struct ElementsOf<Access<S, Ls...>> {
  using type = typename S::value_type;
};
template <class T>
struct ElementsOf<Constant<T>> {
  using type = T;
};
template <class Op, class... Ts>
struct ElementsApplied {
  using type = void;
};
template <class Op, class... Ts>
  requires is_joinable<Op, Ts...>
struct ElementsApplied<Op, Ts...> {
  using type = Joined<Op, Ts...>;
};
template <class Op, class... Es>
struct ElementsOf<Apply<Op, Es...>> {
  using type = typename ElementsApplied<Op, Elements<Es>...>::type;
};
template <class Monoid, class T>
struct ElementsAggregated {
  using type = void;
};
template <class Monoid, class T>
  requires(!std::is_void_v<T> && CommutativeMonoid<Monoid, Widened<Stored<T>>>)
struct ElementsAggregated<Monoid, T> {
  using type = typename MonoidTraits<Monoid, Widened<Stored<T>>>::Result;
};
template <class Monoid, class Labels, class Body>
struct ElementsOf<Aggregation<Monoid, Labels, Body>> {
  using type = typename ElementsAggregated<Monoid, Elements<Body>>::type;
};

template <class E>
[[nodiscard]] constexpr auto elements_if_tensor() {
  if constexpr (Expression<E>) {
    return TypeList<Elements<E>>();
  } else {
    return TypeList<>();
  }
}
/// The elements that the scalars among operands Es of Op adapt to.
template <class Op, class First, class... Rest>
[[nodiscard]] constexpr auto elements_of_tensors() {
  constexpr auto rest = (TypeList<>() + ... + elements_if_tensor<Rest>());
  if constexpr (std::is_same_v<Op, Select>) {
    return rest;  // a condition has no part in the value
  } else {
    return elements_if_tensor<First>() + rest;
  }
}

template <class List, class T>
[[nodiscard]] constexpr auto as_operand(const T& value) {
  if constexpr (Expression<T>) {
    return value;
  } else {
    using Weak = typename decltype(weak_type<T>(List()))::type;
    return Constant<Weak>(WeakScalar<Weak>(value));
  }
}

/// What is returned where nothing can be, so that one error is not followed by others.
struct Refused : ExpressionBase {
  using LabelTypes = LabelList<>;
  [[nodiscard]] static constexpr std::nullptr_t program() { return nullptr; }
  template <class T>
  constexpr auto operator()(const T&) const {
    return *this;
  }
};

/// Whether an expression stands for an index of a tensor alone, as skip(I(b)) does: where.hpp.
template <class E>
inline constexpr bool is_index_alone = false;
/// Refuses one that is computed with.
template <class E>
constexpr Refused refuse_index_alone();

template <class Op, class... Es>
[[nodiscard]] constexpr auto apply(Op op, const Es&... es) {
  if constexpr ((std::is_same_v<Es, Refused> || ...)) {
    return Refused{};
  } else if constexpr ((is_index_alone<Es> || ...) && !std::is_same_v<Op, Equal>) {
    return refuse_index_alone<Apply<Op, Es...>>();
  } else if constexpr ((Expression<Es> && ...)) {
    return Apply<Op, Es...>(op, es...);
  } else {
    using List = decltype(elements_of_tensors<Op, Es...>());
    return Apply<Op, decltype(as_operand<List>(es))...>(op, as_operand<List>(es)...);
  }
}

/// Refuses a tensor that stands in an expression without its labels, refusals.hpp.
template <class... Ts>
constexpr auto refuse_without_labels();

// At least one expression; the rest may be scalars.
template <class... Ts>
concept Operands = (Expression<Ts> || ...) && ((Expression<Ts> || Scalar<Ts>)&&...);

template <class E>
inline constexpr bool is_ordering = false;
template <class F, class... Es>
inline constexpr bool is_ordering<Apply<F, Es...>> =
    is_one_of<F, Less, LessEqual, Greater, GreaterEqual>;
/// a < b and the like, but not of what is such a comparison itself.
template <class Op, class A, class B>
[[nodiscard]] constexpr auto ordering(Op op, const A& a, const B& b) {
  if constexpr (is_ordering<A> || is_ordering<B>) {
    static_assert(never<A>,
                  "EinDecomp: comparisons are chained (a < b < c compares the truth value of a < b "
                  "with c in C++); write a < b && b < c");
    return Refused{};
  } else {
    return apply(op, a, b);
  }
}

/// ⊕ with its labels, waiting for the expression: what `sum(j)` is.
template <class Monoid, class... Labels>
struct Aggregate {
  static_assert(sizeof...(Labels) == 1 || !uses_index_of_element<Monoid>,
                "EinDecomp: an aggregation that gives an index along one label is given several");
  Monoid monoid;
  template <Expression Body>
  [[nodiscard]] constexpr auto operator()(const Body& body) const {
    return Aggregation<Monoid, LabelList<Labels...>, Body>(monoid, body);
  }
  constexpr Refused operator()(const Refused& body) const { return body; }
  template <class First, class Second, class... Others>
  constexpr Refused operator()(const First&, const Second&, const Others&...) const {
    static_assert(never<First>,
                  "EinDecomp: an aggregation is given several expressions (nothing says how they "
                  "are joined); write one, sum(j)(X(i, j) * W(j, k))");
    return {};
  }
  template <TensorWithoutLabels Tensor>
  constexpr auto operator()(const Tensor&) const {
    return refuse_without_labels<Tensor>();
  }
};

}  // namespace expr

/// ⊗ or a map of one's own: `join(MyJoin{}, X(i, j), W(j, k))`, any number of operands.
template <class F, class... Es>
  requires expr::Operands<Es...>
[[nodiscard]] constexpr auto join(F f, const Es&... es) { return expr::apply(f, es...); }
/// A functor of one operand: `map(MyMap{}, X(i, j))`.
template <class F, Expression E>
[[nodiscard]] constexpr auto map(F f, const E& e) {
  return expr::apply(f, e);
}

/// The expression's elements as elements T: `sum(j)(cast<double>(X(i, j)) * W(j, k))` multiplies
/// and sums floats in double.
template <class T, Expression E>
[[nodiscard]] constexpr auto cast(const E& e) {
  return expr::apply(Cast<T>{}, e);
}

/// ⊕ of one's own: `aggregate<MyMonoid>(j)(…)`.
template <class Monoid, AnyLabel... Labels>
[[nodiscard]] constexpr auto aggregate(Labels...) {
  return expr::Aggregate<Monoid, Labels...>{Monoid{}};
}
/// ⊕ with state: `aggregate(my_monoid, j)(…)`.
template <class Monoid, AnyLabel... Labels>
  requires(!AnyLabel<Monoid>)
[[nodiscard]] constexpr auto aggregate(Monoid monoid, Labels...) {
  return expr::Aggregate<Monoid, Labels...>{monoid};
}

// clang-format off
/// ⊕ over labels: `sum(j)(…)` is the sum over j of what stands in the parentheses, `max(j, k)(…)`
/// the largest element over both. The result has the labels that are left.
/// @{
#define EINDECOMP_AGGREGATION(function, Monoid)                         \
  template <AnyLabel... Labels>                                         \
    requires(sizeof...(Labels) > 0)                                     \
  [[nodiscard]] constexpr auto function(Labels...) {                    \
    return expr::Aggregate<Monoid, Labels...>{};                      \
  }
EINDECOMP_AGGREGATION(sum, Sum)
EINDECOMP_AGGREGATION(prod, Prod)
EINDECOMP_AGGREGATION(min, Min)
EINDECOMP_AGGREGATION(max, Max)
EINDECOMP_AGGREGATION(all, And)
EINDECOMP_AGGREGATION(any, Or)
EINDECOMP_AGGREGATION(log_sum_exp, LogSumExp)
EINDECOMP_AGGREGATION(compensated_sum, CompensatedSum)
#undef EINDECOMP_AGGREGATION
/// @}

/// ⊗ of two operands, element by element: an expression whose labels are those of both. One of them
/// may be a number. Comparisons, `&&` and `||` give truth values, stored as 32-bit integers.
/// @{
#define EINDECOMP_BINARY(function, Op)                                  \
  template <class A, class B>                                           \
    requires expr::Operands<A, B>                                     \
  [[nodiscard]] constexpr auto function(const A& a, const B& b) {       \
    return expr::apply(Op{}, a, b);                                   \
  }
EINDECOMP_BINARY(operator+, Add)
EINDECOMP_BINARY(operator-, Sub)
EINDECOMP_BINARY(operator*, Mul)
EINDECOMP_BINARY(operator/, Div)
EINDECOMP_BINARY(operator==, Equal)
EINDECOMP_BINARY(operator!=, NotEqual)
EINDECOMP_BINARY(operator&&, And)
EINDECOMP_BINARY(operator||, Or)
EINDECOMP_BINARY(min, Min)
EINDECOMP_BINARY(max, Max)
EINDECOMP_BINARY(abs_diff, AbsDiff)
EINDECOMP_BINARY(sq_diff, SqDiff)
#undef EINDECOMP_BINARY
#define EINDECOMP_ORDERING(op, Op)                                   \
  template <class A, class B>                                        \
    requires expr::Operands<A, B>                                    \
  [[nodiscard]] constexpr auto operator op(const A& a, const B& b) { \
    return expr::ordering(Op{}, a, b);                               \
  }
EINDECOMP_ORDERING(<, Less)
EINDECOMP_ORDERING(<=, LessEqual)
EINDECOMP_ORDERING(>, Greater)
EINDECOMP_ORDERING(>=, GreaterEqual)
#undef EINDECOMP_ORDERING
/// @}

/// A function of every element of an expression.
/// @{
#define EINDECOMP_UNARY(function, Op)                                   \
  template <Expression E>                                               \
  [[nodiscard]] constexpr auto function(const E& e) {                   \
    return expr::apply(Op{}, e);                                      \
  }
EINDECOMP_UNARY(operator-, Negate)
EINDECOMP_UNARY(operator!, Not)
EINDECOMP_UNARY(abs, Abs)
EINDECOMP_UNARY(exp, Exp)
EINDECOMP_UNARY(log, Log)
EINDECOMP_UNARY(sqrt, Sqrt)
EINDECOMP_UNARY(tanh, Tanh)
EINDECOMP_UNARY(relu, Relu)
#undef EINDECOMP_UNARY
/// @}
// clang-format on

// Operands of one type, for which std::min and Kokkos::min (found by the space that is part of the
// type) would be the closer match: these are as close, and constrained.
/// The smaller of two expressions of one type, element by element.
template <Expression E>
  requires expr::Operands<E, E>
[[nodiscard]] constexpr auto min(const E& a, const E& b) { return expr::apply(Min{}, a, b); }
/// The larger of two expressions of one type, element by element.
template <Expression E>
  requires expr::Operands<E, E>
[[nodiscard]] constexpr auto max(const E& a, const E& b) { return expr::apply(Max{}, a, b); }

/// The index, along one label, of the smallest element; of equal ones the smallest index.
template <AnyLabel Along>
[[nodiscard]] constexpr auto argmin(Along) {
  return expr::Aggregate<ArgMin, Along>{};
}
/// The index, along one label, of the largest element; of equal ones the smallest index.
template <AnyLabel Along>
[[nodiscard]] constexpr auto argmax(Along) {
  return expr::Aggregate<ArgMax, Along>{};
}

/// condition ? a : b, element by element.
template <class C, class A, class B>
  requires expr::Operands<C, A, B>
[[nodiscard]] constexpr auto select(const C& condition, const A& a, const B& b) {
  return expr::apply(Select{}, condition, a, b);
}

}  // namespace eindecomp
