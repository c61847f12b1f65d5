// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the cotangents and the tangents of one operator signature have in common: its derivative
/// as an expression, and the statements around it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/expr/derived_join.hpp"
#include "eindecomp/expr/wirtinger.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/scanned_label.hpp"
#include "eindecomp/graph/tuning.hpp"
#include "eindecomp/graph/write_derived.hpp"

namespace eindecomp::graph {

/// How v = ⊕ ⊗ enters the derivative of a statement.
enum class AggregateKind : std::uint8_t { sum, extremum, product, exponential, users, none };

template <class Monoid, class V>
inline constexpr AggregateKind aggregate_kind = [] {
  if constexpr (expr::is_one_of<Monoid, Sum, CompensatedSum, NoAggregation>) {
    return AggregateKind::sum;
  } else if constexpr (expr::is_one_of<Monoid, Min, Max>) {
    return AggregateKind::extremum;
  } else if constexpr (std::is_same_v<Monoid, Prod>) {
    return AggregateKind::product;
  } else if constexpr (std::is_same_v<Monoid, LogSumExp>) {
    return AggregateKind::exponential;
  } else if constexpr (requires(const Monoid& m, const V& v) { m.derivative(v, v); }) {
    return AggregateKind::users;
  } else {
    return AggregateKind::none;
  }
}();

/// Whether ⊗ is the quotient of elements of one type.
template <class Join, class... Ts>
inline constexpr bool is_quotient = false;
template <class T>
inline constexpr bool is_quotient<Div, T, T> = !Half<T>;

/// ⊕ = Monoid of ⊗ = Join over elements Ts, in a program of backend B; what is written can be
/// differentiated Order - 1 times.
template <class B, int Order, class Join, class Monoid, class... Ts>
class DerivativeRules {
 protected:
  using Scope = DerivativeScope;
  using Value = JoinedValue<Join, Monoid, Ts...>;
  /// Of the result's elements; cotangents and tangents of those of 16 bits are floats.
  using Held = typename MonoidTraits<Monoid, Value>::Result;
  using Result = Widened<Held>;
  template <std::size_t I>
  using OperandType = Widened<std::tuple_element_t<I, std::tuple<Ts...>>>;
  static constexpr int operands = sizeof...(Ts);
  static constexpr AggregateKind kind = aggregate_kind<Monoid, Value>;
  static constexpr bool elementwise = std::is_same_v<Monoid, NoAggregation>;
  /// Of the numbers in derivatives: complex if one of the elements or of ⊗'s constants is.
  using Number = typename expr::ComplexAmong<Result, Widened<Ts>...,
                                             typename expr::ComplexConstant<Join>::type>::type;
  static constexpr bool is_complex = expr::is_complex<Number>;
  using D = expr::Derivatives<Number>;
  // What statements read besides the operands: a cotangent or tangent, the result, further tensors.
  static constexpr Arg<operands> g{};
  static constexpr Arg<operands + 1> z{};
  static constexpr Arg<operands + 2> more{};
  static constexpr Arg<operands + 3> still_more{};
  /// From a cotangent or tangent to another one.
  template <std::size_t I, Direction Way, class FromType, class ToType>
  struct Flow {
    static constexpr std::size_t operand = I;
    static constexpr Direction direction = Way;
    using From = FromType;
    using To = ToType;
    // Of each of what statements read, the type.
    using Types = std::tuple<Ts..., From, Held, Result, Result>;
  };

  DerivativeRules(const Join& join, const Monoid& monoid) : m_join(join), m_monoid(monoid) {}

  /// ⊗ as an expression of operands.
  [[nodiscard]] constexpr auto joined() const {
    if constexpr (expr::is_composed<Join>) {
      return m_join;
    } else if constexpr (std::is_same_v<Join, Identity>) {
      return Arg<0>{};
    } else {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return expr::node(m_join, Arg<static_cast<int>(I)>{}...);
      }
      (std::index_sequence_for<Ts...>{});
    }
  }
  /// ∂⊗/∂(operand I).
  template <std::size_t I>
  [[nodiscard]] constexpr auto partial() const {
    const auto f = joined();
    if constexpr (is_complex && elementwise) {
      return expr::wirtinger<static_cast<int>(I), Number, Widened<Ts>...>(f, z);
    } else if constexpr (is_complex) {
      return expr::wirtinger<static_cast<int>(I), Number, Widened<Ts>...>(f, f);
    } else if constexpr (elementwise) {
      return expr::derivative_of<static_cast<int>(I), Result, Widened<Ts>...>(f, z);
    } else {
      return expr::derivative_of<static_cast<int>(I), Result, Widened<Ts>...>(f, f);
    }
  }
  template <std::size_t I, class Rules = DerivativeRules>
  using Partial = decltype(std::declval<const Rules&>().template partial<I>());

  /// Whether changes of operand I, and of the result, are numbers with fractions.
  template <std::size_t I>
  static constexpr bool are_numbers = has_derivatives<OperandType<I>>&& has_derivatives<Result> &&
                                      ((std::is_arithmetic_v<Widened<Ts>> ||
                                        expr::is_complex<Ts>)&&...);
  template <std::size_t I>
  [[nodiscard]] static constexpr bool depends() {
    using X = OperandType<I>;
    if constexpr (std::is_integral_v<X> || std::is_integral_v<Result>) {
      return false;
    } else if constexpr (!are_numbers<I>) {
      return true;  // and is refused
    } else {
      return !expr::is_zero<Partial<I>>;
    }
  }

  /// What an element of ⊗'s operand with that partial derivative takes of g, the cotangent or the
  /// tangent. Where extrema tie it is to be divided by ties().
  template <class Flow, class P>
  [[nodiscard]] constexpr auto weighted(const P& partial) const {
    if constexpr (is_complex && Flow::direction == Direction::to_operand) {
      return expr::pulled<typename Flow::To, typename Flow::From, Number>(g, partial);
    } else if constexpr (is_complex) {
      return expr::pushed<typename Flow::From, typename Flow::To, Number>(g, partial);
    } else if constexpr (kind == AggregateKind::sum) {
      return D::times(g, partial);
    } else if constexpr (kind == AggregateKind::extremum) {
      return D::times(expr::node(expr::WhereEqual{}, g, joined(), z), partial);
    } else if constexpr (kind == AggregateKind::product) {
      const auto slope = expr::node(expr::OtherFactors{}, joined(), more, still_more);
      return D::times(D::times(g, slope), partial);
    } else if constexpr (kind == AggregateKind::exponential) {
      const auto slope = expr::node(Exp{}, expr::node(Sub{}, joined(), z));
      return D::times(D::times(g, slope), partial);
    } else {
      const auto slope = expr::node(expr::MonoidSlope<Monoid>{m_monoid}, joined(), z);
      return D::times(D::times(g, slope), partial);
    }
  }
  /// The product of the factors that are not 0, and the number of those that are: `more` and
  /// `still_more` of weighted().
  [[nodiscard]] std::array<VertexId, 2> other_factors(const DerivativeRequest& request) const {
    const VertexId zeros = aggregate<Sum>(request, expr::node(expr::IsZero{}, joined()));
    const VertexId others = aggregate<Prod>(request, expr::node(expr::OneIfZero{}, joined()));
    return {others, zeros};
  }
  /// How many elements are the extremum.
  [[nodiscard]] VertexId ties(const DerivativeRequest& request) const {
    return aggregate<Sum>(request, expr::node(expr::CountEqual<Result>{}, joined(), z));
  }

  /// Refuses what has no derivative by operand I; else calls `write`, which writes it.
  template <std::size_t I, class Write>
  [[nodiscard]] Cotangent write_if_there(const DerivativeRequest& request,
                                         const Write& write) const {
    const Scope& scope = request.scope;
    const VertexId v = request.v;
    if constexpr (!are_numbers<I>) {
      refuse_elements(scope, v);
    } else if constexpr (is_complex && kind != AggregateKind::sum) {
      refuse_complex(scope, v, core::type_name<Monoid>());
    } else if constexpr (expr::is_missing<Partial<I>>) {
      refuse_join(scope, v, missing_text(Partial<I>{}), I);
    } else if constexpr (kind == AggregateKind::none) {
      refuse_aggregation(scope, v, core::type_name<Monoid>());
    } else {
      return write(this->template partial<I>());
    }
  }
  template <class F>
  [[nodiscard]] static Text missing_text(expr::MissingDerivative<F>) {
    return core::type_name<F>();
  }
  template <class By, class ByConjugate>
  [[nodiscard]] static Text missing_text(const expr::Wirtinger<By, ByConjugate>& pair) {
    if constexpr (expr::is_missing<By>) {
      return missing_text(pair.by);
    } else {
      return missing_text(pair.by_conjugate);
    }
  }

  /// What ⊕ combines, as a statement of its own: under the result's labels, then all others.
  [[nodiscard]] VertexId write_elements(const Scope& scope, VertexId v) const {
    if constexpr (Half<expr::Joined<Join, Ts...>>) {
      const auto wide = expr::node(Cast<Value>{}, joined());
      return graph::write_elements(
          scope, v, operands,
          SignatureWriter::of<B, Order - 1, Ts...>(wide, stateless<NoAggregation>));
    }
    return graph::write_elements(
        scope, v, operands,
        SignatureWriter::of<B, Order - 1, Ts...>(m_join, stateless<NoAggregation>));
  }
  /// The aggregate of write_elements(), as a statement of those.
  [[nodiscard]] VertexId write_again(const Scope& scope, VertexId v, VertexId elements) const {
    return graph::write_again(
        scope, v, elements,
        SignatureWriter::of<B, Order - 1, Value>(stateless<Identity>, m_monoid));
  }
  /// Whether v may be a scan whose derivative is that of several statements.
  static constexpr bool may_scan = std::is_same_v<Join, Identity> && sizeof...(Ts) == 1 &&
                                   kind != AggregateKind::sum &&
                                   expr::identity_value<Monoid> != OutsideValue::none;
  [[nodiscard]] static bool is_long_scan(const Vertex& v) {
    return v.scanned >= 0 && v.extents[static_cast<std::size_t>(v.scanned)] > tuning::scan_radix;
  }
  /// A scan as statements that aggregate few elements each.
  [[nodiscard]] std::vector<VertexId> write_scan(const Scope& scope, VertexId v) const {
    return graph::write_scan(
        scope, v, SignatureWriter::of<B, Order - 1, Ts...>(m_join, m_monoid),
        SignatureWriter::of<B, Order - 1, Held>(stateless<Identity>, m_monoid));
  }
  /// ⊕ = M of an expression of the operands, under the result's labels.
  template <class M, class E>
  [[nodiscard]] VertexId aggregate(const DerivativeRequest& request, const E& e) const {
    using Read = expr::DerivedJoin<E, std::tuple<Ts..., Result, Held, Result, Result>>;
    const auto functor = Read::functor(e);
    return write_aggregate(request.scope, request.v, expr::describe(Read::head(e)), Read::leaves(),
                           writer_of<M, Read, decltype(functor)>().with_join(&functor));
  }
  /// F of two that are numbered, element by element, under those of the result's labels that they
  /// have. It is asked for from the result's cotangent or tangent.
  template <class F>
  [[nodiscard]] Cotangent under_result(const DerivativeRequest& request, const F& functor,
                                       const std::array<int, 2>& leaves,
                                       std::span<const VertexId> others = {}) const {
    return write_under_result(
        request, leaves, others,
        SignatureWriter::of<B, Order - 1, Result, Result>(functor, stateless<NoAggregation>));
  }

  /// ⊕ = M of a ⊗ of type F over the elements that Read reads.
  template <class M, class Read, class F>
  [[nodiscard]] static constexpr SignatureWriter writer_of() {
    return []<class... Us>(std::tuple<Us...>*) {
      return SignatureWriter::without_join<B, Order - 1, std::remove_const_t<F>, M, Us...>(
          stateless<M>);
    }(static_cast<typename Read::OperandTypes*>(nullptr));
  }

  /// Writes Σ e over all labels but those of what a flow goes to.
  template <class Flow, class E>
  [[nodiscard]] Cotangent emit(const DerivativeRequest& request, const E& e,
                               std::span<const VertexId> others = {}) const {
    using X = typename Flow::To;
    using Types = typename Flow::Types;
    using Read = expr::DerivedJoin<expr::Converted<E, X, Types>, Types>;
    if constexpr (Read::count > max_operands) {
      refuse_count(request.scope, request.v, Read::count);
    } else {
      const auto functor = Read::functor(expr::converted<X, Types>(e));
      using F = std::remove_const_t<decltype(functor)>;
      static constexpr DerivedSum sum = derived_sum<Read, Flow, F>();
      return write_derived(request, Flow::direction, sum.with_join(&functor), others);
    }
  }
  /// Σ of a ⊗ of type F.
  template <class Read, class Flow, class F>
  [[nodiscard]] static constexpr DerivedSum derived_sum() {
    using X = typename Flow::To;
    // Products have kernels both with and without a sum, and so have minima and maxima, for a
    // pool's windows overlap; of other functors one is compiled, the likelier.
    constexpr bool pools = kind == AggregateKind::extremum;
    constexpr bool is_copy = std::is_same_v<F, Identity>;
    constexpr bool is_product = expr::is_product<F>;
    constexpr bool has_both = (is_product && Read::count > 1) || is_copy || pools;
    constexpr bool sums = !elementwise && operands > 1 && Read::count > 1;
    using Way = DerivedSum::Way;
    constexpr Way way = has_both || sums ? Way::direct
                        : is_product     ? Way::multiple_of_sum
                                         : Way::sum_of_elements;
    const SignatureWriter plain = [] {
      if constexpr (has_both || !sums) {
        return writer_of<NoAggregation, Read, F>();
      } else {
        return writer_of<Sum, Read, F>();
      }
    }();
    const SignatureWriter summed = [&] {
      if constexpr (way == Way::direct) {
        return writer_of<Sum, Read, F>();
      } else if constexpr (way == Way::multiple_of_sum) {
        using First = expr::DerivedJoin<Arg<Read::args[0]>, typename Flow::Types>;
        return writer_of<Sum, First, Identity>();
      } else {
        return plain;  // is not asked for
      }
    }();
    const SignatureWriter multiple = [&] {
      if constexpr (way == Way::multiple_of_sum) {
        return SignatureWriter::without_join<B, Order - 1, F, NoAggregation, X>(
            stateless<NoAggregation>);
      } else {
        return plain;  // is not asked for
      }
    }();
    return {.leaves = Read::leaves(),
            .plain = plain,
            .summed = summed,
            .multiple = multiple,
            .widen = stateless_writer<B, Order - 1, Identity, NoAggregation, typename Flow::From>,
            .elements = &element_writers<B, Order - 1, X>,
            .way = way,
            .passes_on = is_copy && std::is_same_v<X, typename Flow::From>,
            .may_have_pole = expr::may_have_pole<F>,
            .may_be_infinite = may_be_infinite<F, Flow::operand>(),
            .may_be_nan = !is_copy && !is_product && !pools,
            .is_exponential = kind == AggregateKind::exponential};
  }

  /// Whether F, a cotangent times ∂⊕ times ∂⊗/∂(operand I), may be infinite of finite numbers:
  /// exp(… - result) is 1 at most, and products of other factors are finite.
  template <class F, std::size_t I>
  [[nodiscard]] static constexpr bool may_be_infinite() {
    if constexpr (kind == AggregateKind::exponential || kind == AggregateKind::product) {
      return expr::may_be_infinite<std::decay_t<decltype(D::functor(std::declval<Partial<I>>()))>>;
    } else {
      return expr::may_be_infinite<F>;
    }
  }

  Join m_join;
  Monoid m_monoid;
};

}  // namespace eindecomp::graph
