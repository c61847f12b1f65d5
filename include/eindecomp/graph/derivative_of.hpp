// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The derivative of one operator signature: what gradient.hpp calls through
/// graph::Derivative, and the statements that it writes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/expr/derived_join.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/derived_statement.hpp"
#include "eindecomp/graph/other_factors.hpp"
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

/// The derivative of ⊕ = Monoid of ⊗ = Join over elements Ts, in a program of backend B; what it
/// writes can be differentiated Order - 1 times.
template <class B, int Order, class Join, class Monoid, class... Ts>
class DerivativeOf final : public Derivative<B> {
  using Scope = GradientScope<B>;
  using Value = JoinResult<Join, Ts...>;
  using Result = typename MonoidTraits<Monoid, Value>::Result;
  template <std::size_t I>
  using OperandType = std::tuple_element_t<I, std::tuple<Ts...>>;
  static constexpr int operands = sizeof...(Ts);
  static constexpr AggregateKind kind = aggregate_kind<Monoid, Value>;
  static constexpr bool elementwise = std::is_same_v<Monoid, NoAggregation>;
  using D = expr::Derivatives<Result>;
  // What statements read besides the operands.
  static constexpr Arg<operands> g{};
  static constexpr Arg<operands + 1> z{};
  static constexpr Arg<operands + 2> more{};
  static constexpr Arg<operands + 3> still_more{};
  // Of each of them, the type.
  using Types = std::tuple<Ts..., Result, Result, Result, Result>;

 public:
  DerivativeOf(const Join& join, const Monoid& monoid) : m_join(join), m_monoid(monoid) {}

  [[nodiscard]] bool depends_on(std::size_t operand) const override {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((I == operand && depends<I>()) || ...);
    }
    (std::index_sequence_for<Ts...>{});
  }

  [[nodiscard]] Cotangent pull(const Scope& scope, VertexId v, std::size_t operand,
                               Cotangent of_result, std::string_view name) const override {
    Cotangent pulled;
    const auto pull_if = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if (I == operand) pulled = pull_operand<I>(scope, v, of_result, name);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (pull_if(std::integral_constant<std::size_t, I>{}), ...);
    }
    (std::index_sequence_for<Ts...>{});
    return pulled;
  }

  [[nodiscard]] Cotangent add(const Scope& scope, std::size_t operand, const Cotangent& a,
                              const Cotangent& b, std::string_view name) const override {
    Cotangent sum;
    const auto add_if = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if constexpr (std::is_floating_point_v<OperandType<I>>) {
        if (I == operand) sum = add_cotangents<B, Order - 1, OperandType<I>>(scope, a, b, name);
      }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (add_if(std::integral_constant<std::size_t, I>{}), ...);
    }
    (std::index_sequence_for<Ts...>{});
    return sum;
  }

 private:
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
  using Partial = decltype(std::declval<const DerivativeOf&>().template partial<I>());

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

  template <std::size_t I>
  [[nodiscard]] Cotangent pull_operand(const Scope& scope, VertexId v, Cotangent of_result,
                                       std::string_view name) const {
    const Text statement = scope.state.graph[v].name;
    if constexpr (!depends<I>()) {
      return of_result;  // is not asked for
    } else if constexpr (!are_real<I>) {
      core::fail(ErrorKind::statement,
                 Text("the gradient leads through statement ") + statement +
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
      return pull_from<I>(scope, v, std::move(of_result), name);
    }
  }
  template <class F>
  [[nodiscard]] static Text missing_text(expr::MissingDerivative<F>) {
    return core::type_name<F>();
  }

  template <std::size_t I>
  [[nodiscard]] Cotangent pull_from(const Scope& scope, VertexId v, Cotangent of_result,
                                    std::string_view name) const {
    using X = OperandType<I>;
    const auto partial = this->template partial<I>();
    using P = std::decay_t<decltype(partial)>;
    if (of_result.is_number()) {
      if constexpr (kind == AggregateKind::sum && std::is_same_v<X, Result> &&
                    (expr::is_unit<P> || expr::is_value<P>)) {
        const DerivedStatement statement(scope.state.graph, v, I, of_result, {}, scope.where);
        if (statement.is_plain()) {
          Cotangent scaled = of_result;
          scaled.value *=
              statement.repetitions({}) * static_cast<double>(D::functor(partial).value);
          scaled.labels = statement.dimension_names();
          return scaled;
        }
      }
      of_result = scope.constant(of_result.value);
    }
    if constexpr (kind == AggregateKind::sum) {
      if constexpr (elementwise && I == 1 && is_quotient<Join, Ts...>) {
        // By the quotient that the numerator's cotangent is.
        of_result = under_result<Div, 0, Result, Result>(scope, v, of_result, {operands, 1}, name);
        return emit<I>(scope, v, of_result, {}, D::times(D::number(-1), D::times(g, z)), name);
      } else {
        return emit<I>(scope, v, of_result, {}, D::times(g, partial), name);
      }
    } else if constexpr (kind == AggregateKind::extremum) {
      return pull_extremum<I>(scope, v, of_result, partial, name);
    } else if constexpr (kind == AggregateKind::product && Order > 1) {
      // OtherFactors has no derivative where two factors are 0.
      const VertexId factors = write_elements(scope, v);
      const std::size_t kept = scope.state.graph[v].output.size();
      const ProductPull<B, Order - 1, Result> pull(scope, factors, kept);
      return pull_elements<I>(scope, factors, pull(of_result), name);
    } else if constexpr (kind == AggregateKind::product) {
      const VertexId zeros = aggregate<Sum>(scope, v, expr::node(expr::IsZero{}, joined()));
      const VertexId others = aggregate<Prod>(scope, v, expr::node(expr::OneIfZero{}, joined()));
      const auto slope = expr::node(expr::OtherFactors{}, joined(), more, still_more);
      return emit<I>(scope, v, of_result, {others, zeros}, D::times(D::times(g, slope), partial),
                     name);
    } else if constexpr (kind == AggregateKind::exponential) {
      const auto slope = expr::node(Exp{}, expr::node(Sub{}, joined(), z));
      return emit<I>(scope, v, of_result, {}, D::times(D::times(g, slope), partial), name);
    } else {
      const auto slope = expr::node(expr::MonoidSlope<Monoid>{m_monoid}, joined(), z);
      return emit<I>(scope, v, of_result, {}, D::times(D::times(g, slope), partial), name);
    }
  }

  /// Elements that are as large as the extremum share its cotangent.
  template <std::size_t I, class P>
  [[nodiscard]] Cotangent pull_extremum(const Scope& scope, VertexId v, Cotangent of_result,
                                        const P& partial, std::string_view name) const {
    if constexpr (expr::keeps_bits<Join>) {
      const VertexId ties =
          aggregate<Sum>(scope, v, expr::node(expr::CountEqual<Result>{}, joined(), z));
      of_result = under_result<Div, 0, Result, Result>(scope, v, of_result,
                                                       {operands, operands + 2}, name, {ties});
      return emit<I>(scope, v, of_result, {},
                     D::times(expr::node(expr::WhereEqual{}, g, joined(), z), partial), name);
    } else {
      // A kernel that computes ⊗ again might round otherwise, so what is compared is written.
      const EinGraph& graph = scope.state.graph;
      const DerivedStatement here(graph, v, I, of_result, {}, scope.where);
      const VertexId elements = write_elements(scope, v);
      StatementSpec again = here.forward(graph[v].name + ".again", {operands + 1}, false);
      again.operands.clear();
      StatementSpec::OperandSpec operand;
      operand.vertex = elements;
      std::vector<Text> names;
      for (const int l : graph[elements].output) {
        names.push_back(graph
                            .labels[static_cast<std::size_t>(
                                graph[elements].labels[static_cast<std::size_t>(l)])]
                            .name);
      }
      for (const Text& label : names) operand.labels.push_back(label);
      again.operands.push_back(operand);
      const Written extremum =
          write_at<B, Order - 1, Identity, Monoid, Value>(scope, again, Identity{}, m_monoid);
      const DerivativeOf<B, Order, Identity, Monoid, Value> of_elements(Identity{}, m_monoid);
      const Cotangent wide =
          of_elements.pull(scope, extremum.vertex, 0, of_result, Text("d") + graph[v].name);
      return pull_elements<I>(scope, elements, wide, name);
    }
  }
  /// What ⊕ combines, as a statement of its own: under the result's labels, then all others.
  [[nodiscard]] VertexId write_elements(const Scope& scope, VertexId v) const {
    std::vector<int> all;
    for (int o = 0; o < operands; ++o) all.push_back(o);
    const DerivedStatement here(scope.state.graph, v, 0, {}, {}, scope.where);
    const Text name = scope.state.graph[v].name + ".elements";
    return write_at<B, Order - 1, Join, NoAggregation, Ts...>(scope, here.forward(name, all, true),
                                                              m_join, NoAggregation{})
        .vertex;
  }
  /// From the cotangent of write_elements().
  template <std::size_t I>
  [[nodiscard]] Cotangent pull_elements(const Scope& scope, VertexId elements,
                                        const Cotangent& cotangent, std::string_view name) const {
    const DerivativeOf<B, Order, Join, NoAggregation, Ts...> of_join(m_join, NoAggregation{});
    return of_join.pull(scope, elements, I, cotangent, name);
  }

  /// ⊕ = M of an expression of the operands, under the result's labels.
  template <class M, class E>
  [[nodiscard]] VertexId aggregate(const Scope& scope, VertexId v, const E& e) const {
    using Read = expr::DerivedJoin<E, Types>;
    const DerivedStatement here(scope.state.graph, v, 0, {}, {}, scope.where);
    const StatementSpec spec = here.forward(
        scope.state.graph[v].name + "." + expr::describe(Read::head(e)), Read::leaves(), false);
    return write_read<M, Read>(scope, spec, Read::functor(e)).vertex;
  }
  /// F of what is numbered, element by element, where the cotangent is: under those of the result's
  /// labels that it reads.
  template <class F, std::size_t, class... Us>
  [[nodiscard]] Cotangent under_result(const Scope& scope, VertexId v, const Cotangent& of_result,
                                       const std::vector<int>& leaves, std::string_view name,
                                       std::vector<VertexId> others = {}) const {
    const DerivedStatement here(scope.state.graph, v, 0, of_result, std::move(others), scope.where);
    Cotangent made = of_result;
    made.dims.clear();
    const StatementSpec spec = here.forward(name, leaves, false, &made.dims);
    const Written written =
        write_at<B, Order - 1, F, NoAggregation, Us...>(scope, spec, F{}, NoAggregation{});
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

  /// Writes Σ e over all labels but operand I's.
  template <std::size_t I, class E>
  [[nodiscard]] Cotangent emit(const Scope& scope, VertexId v, const Cotangent& of_result,
                               std::vector<VertexId> others, const E& e,
                               std::string_view name) const {
    using X = OperandType<I>;
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
      DerivedStatement here(scope.state.graph, v, I, of_result, std::move(others), scope.where);
      if constexpr (expr::may_have_pole<F>) here.read_ones_outside();
      here.note_bare_values(leaves);
      if (here.is_to_be_widened()) {
        const Written wide = write_at<B, Order - 1, Identity, NoAggregation, Result>(
            scope, here.widened(Text(name) + ".wide"), Identity{}, NoAggregation{});
        here.set_widened(wide.vertex, wide.writing);
      }
      StatementSpec spec = here.statement(name, leaves);
      const double repeated = here.repetitions(leaves);
      constexpr bool passes = std::is_same_v<F, Identity> && std::is_same_v<X, Result>;
      if (passes && repeated == 1 && here.is_plain() && !here.aggregates()) {
        return passed_on(here, spec);
      }
      Written written = write_sum<Read>(scope, here, spec, leaves, functor);
      if (repeated != 1) {
        written = write_at<B, Order - 1, ScaledMul<X>, NoAggregation, X>(
            scope, here.after(name, written.vertex, written.writing, here.statement(name, leaves)),
            ScaledMul<X>{static_cast<X>(repeated)}, NoAggregation{});
      }
      return here.result(written.vertex, written.writing);
    }
  }
  /// The cotangent itself, with its dimensions as those of the operand.
  [[nodiscard]] static Cotangent passed_on(const DerivedStatement& here,
                                           const StatementSpec& spec) {
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
  template <class Read, class F>
  [[nodiscard]] Written write_sum(const Scope& scope, DerivedStatement& here,
                                  const StatementSpec& spec, const std::vector<int>& leaves,
                                  const F& functor) const {
    using X = std::decay_t<typename Read::template ResultOf<F>>;
    // Products have kernels both with and without a sum; of other functors one is compiled, the
    // likelier.
    constexpr bool is_copy = std::is_same_v<F, Identity>;
    constexpr bool is_product = expr::is_product<F> && Read::count > 1;
    constexpr bool sums = !elementwise && operands > 1 && Read::count > 1;
    if (!here.aggregates()) {
      if constexpr (is_product || is_copy || !sums) {
        return write_read<NoAggregation, Read>(scope, spec, functor);
      } else {
        return write_read<Sum, Read>(scope, spec, functor);
      }
    }
    if constexpr (is_product || is_copy || sums) {
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
