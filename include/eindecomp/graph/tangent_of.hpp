// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The tangent of one operator signature: from the tangents of operands to that of the result.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/expr/derived_join.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/derivative_rules.hpp"
#include "eindecomp/graph/other_factors.hpp"
#include "eindecomp/graph/write_derived.hpp"

namespace eindecomp::graph {

/// The tangent of ⊕ = Monoid of ⊗ = Join over elements Ts: the rules of DerivativeOf, transposed.
/// An operand is read where the statement reads it, whatever computes its indices. The functors
/// are those of cotangents, so that few kernels are compiled for tangents alone.
template <class B, int Order, class Join, class Monoid, class... Ts>
class TangentOf : private DerivativeRules<B, Order, Join, Monoid, Ts...> {
  using Rules = DerivativeRules<B, Order, Join, Monoid, Ts...>;
  using Rules::elementwise;
  using Rules::kind;
  using Rules::operands;
  using typename Rules::Result;
  using typename Rules::Scope;
  using typename Rules::Value;
  template <std::size_t I>
  using OperandType = typename Rules::template OperandType<I>;
  template <std::size_t I>
  using Flow = typename Rules::template Flow<I, Direction::to_result, OperandType<I>, Result>;

 public:
  TangentOf(const Join& join, const Monoid& monoid) : Rules(join, monoid) {}

  /// What an operand contributes.
  [[nodiscard]] Cotangent push_one(const Scope& scope, VertexId v, std::size_t operand,
                                   const Cotangent& tangent, std::string_view name) const {
    Cotangent pushed;
    const auto push_if = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if (I == operand) pushed = push_operand<I>(scope, v, tangent, name);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (push_if(std::integral_constant<std::size_t, I>{}), ...);
    }
    (std::index_sequence_for<Ts...>{});
    return pushed;
  }
  /// What operand I contributes.
  template <std::size_t I>
  [[nodiscard]] Cotangent push_operand(const Scope& scope, VertexId v, const Cotangent& tangent,
                                       std::string_view name) const {
    if constexpr (!Rules::template depends<I>()) {
      return tangent;  // is not asked for
    } else {
      return Rules::template write_if_there<I>(scope, v, [&](const auto& partial) {
        if (!scope.graph[v].operands[I].is_computed()) {
          return push_from<I>(scope, v, tangent, partial, name);
        }
        // Where an index leaves the tensor a tangent is 0, along what it lacks too.
        const Cotangent whole = write_whole_tangent(
            scope, v, I, tangent, Text(name) + ".whole",
            stateless_writer<B, Order - 1, Identity, NoAggregation, OperandType<I>>);
        return push_from<I>(scope, v, whole, partial, name);
      });
    }
  }

 private:
  template <std::size_t I, class P>
  [[nodiscard]] Cotangent push_from(const Scope& scope, VertexId v, const Cotangent& tangent,
                                    const P& partial, std::string_view name) const {
    if constexpr (Rules::may_scan) {
      if (Rules::is_long_scan(scope.graph[v])) return push_scan(scope, v, tangent, name);
    }
    if constexpr (elementwise && I == 1 && is_quotient<Join, Ts...>) {
      const Cotangent quotient = write_tangent_quotient(
          scope, v, I, tangent, {operands, 1}, Text(name) + ".quotient",
          stateless_writer<B, Order - 1, Div, NoAggregation, Result, Result>);
      return this->under_result(scope, v, quotient, ScaledMul<Result>{-1}, {operands, operands + 1},
                                {}, name);
    } else if constexpr (kind == AggregateKind::extremum) {
      return push_extremum<I>(scope, v, tangent, partial, name);
    } else if constexpr (kind == AggregateKind::product && Order > 1) {
      return push_product<I>(scope, v, tangent, name);
    } else if constexpr (kind == AggregateKind::product) {
      return Rules::template emit<Flow<I>>(scope, v, tangent, this->other_factors(scope, v),
                                           Rules::template weighted<Flow<I>>(partial), name);
    } else {
      return Rules::template emit<Flow<I>>(scope, v, tangent, {},
                                           Rules::template weighted<Flow<I>>(partial), name);
    }
  }

  [[nodiscard]] Cotangent push_scan(const Scope& scope, VertexId v, const Cotangent& tangent,
                                    std::string_view name) const {
    const std::vector<VertexId> passes = this->write_scan(scope, v);
    const TangentOf<B, Order, Identity, Monoid, typename Rules::Held> next({}, this->m_monoid);
    Cotangent made = tangent;
    for (std::size_t p = 0; p < passes.size(); ++p) {
      const Text own = p + 1 == passes.size() ? Text(name) : Text(name) + ".pass";
      made = p == 0 ? push_one(scope, passes[p], 0, made, own)
                    : next.push_one(scope, passes[p], 0, made, own);
    }
    return made;
  }

  /// The mean over the elements that are as large as the extremum.
  template <std::size_t I, class P>
  [[nodiscard]] Cotangent push_extremum(const Scope& scope, VertexId v, const Cotangent& tangent,
                                        const P& partial, std::string_view name) const {
    if constexpr (expr::keeps_bits<Join>) {
      const Cotangent sum = Rules::template emit<Flow<I>>(
          scope, v, tangent, {}, Rules::template weighted<Flow<I>>(partial), Text(name) + ".ties");
      return this->under_result(scope, v, sum, Div{}, {operands, operands + 2},
                                {this->ties(scope, v)}, name);
    } else {
      const VertexId elements = this->write_elements(scope, v);
      const Cotangent wide = push_elements<I>(scope, elements, tangent, name);
      const VertexId again = this->write_again(scope, v, elements);
      const TangentOf<B, Order, Identity, Monoid, Value> of_elements(Identity{}, this->m_monoid);
      return of_elements.template push_operand<0>(scope, again, wide, name);
    }
  }
  /// The sum of the elements' tangents, each times the product of all other elements.
  template <std::size_t I>
  [[nodiscard]] Cotangent push_product(const Scope& scope, VertexId v, const Cotangent& tangent,
                                       std::string_view name) const {
    const VertexId elements = this->write_elements(scope, v);
    const Cotangent wide = push_elements<I>(scope, elements, tangent, name);
    const std::size_t kept = scope.graph[v].output.size();
    const ProductPull<B, Order - 1, Result> pull(scope, elements, kept);
    const Cotangent others = pull({1, -1, -1, {}, {}});

    StatementSpec spec;
    spec.name = name;
    spec.where = scope.where;
    const std::vector<Text> labels = wide.labels;
    const std::vector<Extent> bound = scope.graph[elements].bound;
    Cotangent made{
        0, -1, -1, {}, {labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(kept)}};
    std::vector<bool> seen(labels.size(), false);
    for (const Cotangent* c : {&wide, &others}) {
      if (c->is_number()) continue;
      StatementSpec::OperandSpec operand;
      operand.vertex = c->vertex;
      operand.writing = c->writing;
      for (const int d : c->dims) {
        operand.labels.push_back(labels[static_cast<std::size_t>(d)]);
        seen[static_cast<std::size_t>(d)] = true;
      }
      spec.operands.push_back(operand);
    }
    for (std::size_t k = 0; k < kept; ++k) {
      if (!seen[k]) continue;
      spec.output.push_back({labels[k], bound[k]});
      made.dims.push_back(static_cast<int>(k));
    }
    const Written written =
        others.is_number()
            ? write_at<B, Order - 1, Identity, Sum, Result>(scope, spec, Identity{}, Sum{})
            : write_at<B, Order - 1, Mul, Sum, Result, Result>(scope, spec, Mul{}, Sum{});
    made.vertex = written.vertex;
    made.writing = written.writing;
    return made;
  }
  /// The tangent of write_elements().
  template <std::size_t I>
  [[nodiscard]] Cotangent push_elements(const Scope& scope, VertexId elements,
                                        const Cotangent& tangent, std::string_view name) const {
    const TangentOf<B, Order, Join, NoAggregation, Ts...> of_join(this->m_join, NoAggregation{});
    return of_join.template push_operand<I>(scope, elements, tangent, Text(name) + ".elements");
  }

  template <class, int, class, class, class...>
  friend class TangentOf;
};

}  // namespace eindecomp::graph
