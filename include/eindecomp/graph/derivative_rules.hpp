// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the cotangents and the tangents of one operator signature have in common: its derivative
/// as an expression, and the statements around it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/expr/derived_join.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/derived_reads.hpp"
#include "eindecomp/graph/fold_border.hpp"
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
inline constexpr bool is_quotient<Div, T, T> = true;

/// ⊕ = Monoid of ⊗ = Join over elements Ts, in a program of backend B; what is written can be
/// differentiated Order - 1 times.
template <class B, int Order, class Join, class Monoid, class... Ts>
class DerivativeRules {
 protected:
  using Scope = GradientScope<B>;
  using Value = JoinResult<Join, Ts...>;
  using Result = typename MonoidTraits<Monoid, Value>::Result;
  template <std::size_t I>
  using OperandType = std::tuple_element_t<I, std::tuple<Ts...>>;
  static constexpr int operands = sizeof...(Ts);
  static constexpr AggregateKind kind = aggregate_kind<Monoid, Value>;
  static constexpr bool elementwise = std::is_same_v<Monoid, NoAggregation>;
  using D = expr::Derivatives<Result>;
  // What statements read besides the operands: a cotangent or tangent, the result, further tensors.
  static constexpr Arg<operands> g{};
  static constexpr Arg<operands + 1> z{};
  static constexpr Arg<operands + 2> more{};
  static constexpr Arg<operands + 3> still_more{};
  /// From a cotangent or tangent to another one.
  template <std::size_t I, class StatementType, class FromType, class ToType>
  struct Flow {
    static constexpr std::size_t operand = I;
    using Statement = StatementType;
    using From = FromType;
    using To = ToType;
    // Of each of what statements read, the type.
    using Types = std::tuple<Ts..., From, Result, Result, Result>;
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
    if constexpr (elementwise) {
      return expr::derivative_of<static_cast<int>(I), Result, Ts...>(f, z);
    } else {
      return expr::derivative_of<static_cast<int>(I), Result, Ts...>(f, f);
    }
  }
  template <std::size_t I>
  using Partial = decltype(std::declval<const DerivativeRules&>().template partial<I>());

  template <std::size_t I>
  static constexpr bool are_real =
      std::is_floating_point_v<OperandType<I>>&& std::is_floating_point_v<Result> &&
      (std::is_arithmetic_v<Ts> && ...);
  template <std::size_t I>
  [[nodiscard]] static constexpr bool depends() {
    using X = OperandType<I>;
    if constexpr (std::is_integral_v<X> || std::is_integral_v<Result>) {
      return false;
    } else if constexpr (!are_real<I>) {
      return true;  // and is refused
    } else {
      return !expr::is_zero<Partial<I>>;
    }
  }

  /// What an element of ⊗'s operand with that partial derivative takes of g, the cotangent or the
  /// tangent. Where extrema tie it is to be divided by ties().
  template <class P>
  [[nodiscard]] constexpr auto weighted(const P& partial) const {
    if constexpr (kind == AggregateKind::sum) {
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
  [[nodiscard]] std::vector<VertexId> other_factors(const Scope& scope, VertexId v) const {
    const VertexId zeros = aggregate<Sum>(scope, v, expr::node(expr::IsZero{}, joined()));
    const VertexId others = aggregate<Prod>(scope, v, expr::node(expr::OneIfZero{}, joined()));
    return {others, zeros};
  }
  /// How many elements are the extremum.
  [[nodiscard]] VertexId ties(const Scope& scope, VertexId v) const {
    return aggregate<Sum>(scope, v, expr::node(expr::CountEqual<Result>{}, joined(), z));
  }

  /// Refuses what has no derivative by operand I; else calls `write`, which writes it.
  template <std::size_t I, class Write>
  [[nodiscard]] Cotangent write_if_real(const Scope& scope, VertexId v, const Write& write) const {
    const Text statement = scope.state.graph[v].name;
    if constexpr (!are_real<I>) {
      core::fail(ErrorKind::statement,
                 Text("the ") + scope.what + " leads through statement " + statement +
                     ", which has elements that are neither float nor double (derivatives are of "
                     "real numbers); keep the parts of complex numbers as two tensors",
                 scope.where);
    } else if constexpr (expr::is_missing<Partial<I>>) {
      core::fail(ErrorKind::statement,
                 Text("the join ") + missing_text(Partial<I>{}) + " of statement " + statement +
                     " has no derivative by its operand " + (I + 1) +
                     "; give it `template <int Operand> auto derivative(operands...) const`, or "
                     "read the operand by stop_gradient",
                 scope.where);
    } else if constexpr (kind == AggregateKind::none) {
      core::fail(ErrorKind::statement,
                 Text("the aggregation ") + core::type_name<Monoid>() + " of statement " +
                     statement +
                     " has no derivative; give it `T derivative(T element, T aggregate) const`, "
                     "or read its operands by stop_gradient",
                 scope.where);
    } else {
      return write(this->template partial<I>());
    }
  }
  template <class F>
  [[nodiscard]] static Text missing_text(expr::MissingDerivative<F>) {
    return core::type_name<F>();
  }

  /// What ⊕ combines, as a statement of its own: under the result's labels, then all others.
  [[nodiscard]] VertexId write_elements(const Scope& scope, VertexId v) const {
    std::vector<int> all;
    for (int o = 0; o < operands; ++o) all.push_back(o);
    const DerivedReads here(scope.state.graph, v, {}, {}, scope.where);
    const Text name = scope.state.graph[v].name + ".elements";
    return write_at<B, Order - 1, Join, NoAggregation, Ts...>(scope, here.forward(name, all, true),
                                                              m_join, NoAggregation{})
        .vertex;
  }
  /// The aggregate of write_elements(), as a statement of those.
  [[nodiscard]] VertexId write_again(const Scope& scope, VertexId v, VertexId elements) const {
    const EinGraph& graph = scope.state.graph;
    const DerivedReads here(graph, v, {}, {}, scope.where);
    StatementSpec again = here.forward(graph[v].name + ".again", {operands + 1}, false);
    again.operands.clear();
    StatementSpec::OperandSpec operand;
    operand.vertex = elements;
    std::vector<Text> names;
    for (const int l : graph[elements].output) {
      names.push_back(
          graph
              .labels[static_cast<std::size_t>(graph[elements].labels[static_cast<std::size_t>(l)])]
              .name);
    }
    for (const Text& label : names) operand.labels.push_back(label);
    again.operands.push_back(operand);
    return write_at<B, Order - 1, Identity, Monoid, Value>(scope, again, Identity{}, m_monoid)
        .vertex;
  }
  /// ⊕ = M of an expression of the operands, under the result's labels.
  template <class M, class E>
  [[nodiscard]] VertexId aggregate(const Scope& scope, VertexId v, const E& e) const {
    using Read = expr::DerivedJoin<E, std::tuple<Ts..., Result, Result, Result, Result>>;
    const DerivedReads here(scope.state.graph, v, {}, {}, scope.where);
    const StatementSpec spec = here.forward(
        scope.state.graph[v].name + "." + expr::describe(Read::head(e)), Read::leaves(), false);
    return write_read<M, Read>(scope, spec, Read::functor(e)).vertex;
  }
  /// F of two that are numbered, element by element, under those of the result's labels that they
  /// have. \param of_result  the cotangent or tangent of v
  template <class F>
  [[nodiscard]] Cotangent under_result(const Scope& scope, VertexId v, const Cotangent& of_result,
                                       const F& functor, const std::vector<int>& leaves,
                                       std::vector<VertexId> others, std::string_view name) const {
    DerivedReads here(scope.state.graph, v, of_result, std::move(others), scope.where);
    here.read_as_result();
    Cotangent made = of_result;
    made.dims.clear();
    const StatementSpec spec = here.forward(name, leaves, false, &made.dims);
    const Written written =
        write_at<B, Order - 1, F, NoAggregation, Result, Result>(scope, spec, functor, {});
    made.vertex = written.vertex;
    made.writing = written.writing;
    return made;
  }

  template <class M, class Read, class F>
  [[nodiscard]] static Written write_read(const Scope& scope, const StatementSpec& spec,
                                          const F& functor) {
    return [&]<class... Us>(std::tuple<Us...>*) {
      return write_at<B, Order - 1, F, M, Us...>(scope, spec, functor, M{});
    }(static_cast<typename Read::OperandTypes*>(nullptr));
  }

  /// Writes Σ e over all labels but those of what a flow goes to.
  template <class Flow, class E>
  [[nodiscard]] Cotangent emit(const Scope& scope, VertexId v, const Cotangent& from,
                               std::vector<VertexId> others, const E& e,
                               std::string_view name) const {
    using X = typename Flow::To;
    using Types = typename Flow::Types;
    using Read = expr::DerivedJoin<expr::Converted<E, X, Types>, Types>;
    if constexpr (Read::count > max_operands) {
      core::fail(ErrorKind::statement,
                 Text("the derivative of statement ") + scope.state.graph[v].name + " reads " +
                     Read::count +
                     " tensors (the limit is 8); write a part of it as a statement "
                     "of its own",
                 scope.where);
    } else {
      const auto functor = Read::functor(expr::converted<X, Types>(e));
      using F = std::decay_t<decltype(functor)>;
      const std::vector<int> leaves = Read::leaves();
      typename Flow::Statement here(scope.state.graph, v, Flow::operand, from, std::move(others),
                                    scope.where);
      if constexpr (expr::may_have_pole<F>) here.read_ones_outside();
      here.note_bare_values(leaves);
      if (here.is_to_be_widened()) {
        const Written wide = write_at<B, Order - 1, Identity, NoAggregation, typename Flow::From>(
            scope, here.widened(Text(name) + ".wide"), Identity{}, NoAggregation{});
        here.set_widened(wide.vertex, wide.writing);
      }
      const Text own = here.borders().empty() ? Text(name) : Text(name) + ".bordered";
      StatementSpec spec = here.statement(own, leaves);
      const double repeated = here.repetitions(leaves);
      constexpr bool passes = std::is_same_v<F, Identity> && std::is_same_v<X, typename Flow::From>;
      if (passes && repeated == 1 && spec.operands[0].indices.empty() && !here.aggregates()) {
        return fold_borders<B, Order - 1, X>(scope, here.borders(), passed_on(here, spec), name);
      }
      Written written = write_sum<Read, Types>(scope, here, spec, leaves, functor);
      if (repeated != 1) {
        written = write_at<B, Order - 1, ScaledMul<X>, NoAggregation, X>(
            scope, here.after(own, written.vertex, written.writing, here.statement(own, leaves)),
            ScaledMul<X>{static_cast<X>(repeated)}, NoAggregation{});
      }
      return fold_borders<B, Order - 1, X>(scope, here.borders(),
                                           here.result(written.vertex, written.writing), name);
    }
  }
  /// What is read itself, with its dimensions as those of what it is passed on to.
  template <class Statement>
  [[nodiscard]] static Cotangent passed_on(const Statement& here, const StatementSpec& spec) {
    Cotangent same = here.cotangent();
    same.labels = here.dimension_names();
    same.dims.clear();
    for (const std::string_view label : spec.operands[0].labels) {
      const auto at = std::find(same.labels.begin(), same.labels.end(), label);
      same.dims.push_back(static_cast<int>(at - same.labels.begin()));
    }
    return same;
  }
  [[nodiscard]] static StatementSpec named(StatementSpec spec, const char* suffix) {
    spec.name = spec.name + suffix;
    return spec;
  }
  template <class Read, class Types, class Statement, class F>
  [[nodiscard]] Written write_sum(const Scope& scope, Statement& here, const StatementSpec& spec,
                                  const std::vector<int>& leaves, const F& functor) const {
    using X = std::decay_t<typename Read::template ResultOf<F>>;
    // Products have kernels both with and without a sum, and so have minima and maxima, for a
    // pool's windows overlap; of other functors one is compiled, the likelier.
    constexpr bool pools = kind == AggregateKind::extremum;
    constexpr bool is_copy = std::is_same_v<F, Identity>;
    constexpr bool is_product = expr::is_product<F> && Read::count > 1;
    constexpr bool sums = !elementwise && operands > 1 && Read::count > 1;
    if (!here.aggregates()) {
      if constexpr (is_product || is_copy || pools || !sums) {
        return write_read<NoAggregation, Read>(scope, spec, functor);
      } else {
        return write_read<Sum, Read>(scope, spec, functor);
      }
    }
    if constexpr (is_product || is_copy || pools || sums) {
      return write_read<Sum, Read>(scope, spec, functor);
    } else if constexpr (expr::is_product<F>) {
      // A multiple of a sum.
      const Written sum = write_read<Sum, expr::DerivedJoin<Arg<Read::args[0]>, Types>>(
          scope, named(spec, ".sum"), Identity{});
      return write_at<B, Order - 1, F, NoAggregation, X>(
          scope, here.after(spec.name, sum.vertex, sum.writing, spec), functor, NoAggregation{});
    } else {
      const Text name = spec.name + ".elements";
      const StatementSpec whole = here.statement(name, leaves, true);
      const Written elements = write_read<NoAggregation, Read>(scope, whole, functor);
      return write_at<B, Order - 1, Identity, Sum, X>(
          scope, here.after(spec.name, elements.vertex, elements.writing, whole), Identity{},
          Sum{});
    }
  }

  Join m_join;
  Monoid m_monoid;
};

}  // namespace eindecomp::graph
