// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The tangent of one operator signature: from the tangents of operands to that of the result.
#pragma once

#include <array>
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

template <class B, int Order, class Join, class Monoid, class... Ts>
class DerivativeOf;

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
  using Request = DerivativeRequest;
  using typename Rules::Value;
  template <std::size_t I>
  using OperandType = typename Rules::template OperandType<I>;
  template <std::size_t I>
  using Flow = typename Rules::template Flow<I, Direction::to_result, OperandType<I>, Result>;

 public:
  TangentOf(const Join& join, const Monoid& monoid) : Rules(join, monoid) {}

  /// What an operand contributes, number I or one behind it.
  template <std::size_t I>
  [[nodiscard]] Cotangent push_operand(const Request& request) const {
    if constexpr (I + 1 < sizeof...(Ts)) {
      if (request.operand != I) return push_operand<I + 1>(request);
    }
    if constexpr (!Rules::template depends<I>()) {
      return {};  // is not asked for
    } else {
      return Rules::template write_if_there<I>(
          request, [&](const auto& partial) { return push_by<I>(request, partial); });
    }
  }

 private:
  template <std::size_t I, class P>
  [[nodiscard]] Cotangent push_by(const Request& request, const P& partial) const {
    if constexpr (Rules::may_scan) {
      if (Rules::is_long_scan(request.statement())) {
        const DerivativeOf<B, Order, Join, Monoid, Ts...> first(this->m_join, this->m_monoid);
        const DerivativeOf<B, Order, Identity, Monoid, typename Rules::Held> next({},
                                                                                  this->m_monoid);
        return push_scan(request, this->write_scan(request.scope, request.v), first, next);
      }
    }
    if constexpr (elementwise && I == 1 && is_quotient<Join, Ts...>) {
      const std::array<int, 2> leaves = {operands, 1};
      const Cotangent quotient = write_tangent_quotient(
          request, leaves, stateless_writer<B, Order - 1, Div, NoAggregation, Result, Result>);
      return this->under_result(request.with(quotient), ScaledMul<Result>{-1},
                                {operands, operands + 1});
    } else if constexpr (kind == AggregateKind::extremum) {
      return push_extremum<I>(request, partial);
    } else if constexpr (kind == AggregateKind::product && Order > 1) {
      return push_product<I>(request);
    } else if constexpr (kind == AggregateKind::product) {
      return Rules::template emit<Flow<I>>(request, Rules::template weighted<Flow<I>>(partial),
                                           this->other_factors(request));
    } else {
      return Rules::template emit<Flow<I>>(request, Rules::template weighted<Flow<I>>(partial));
    }
  }

  /// The mean over the elements that are as large as the extremum.
  template <std::size_t I, class P>
  [[nodiscard]] Cotangent push_extremum(const Request& request, const P& partial) const {
    if constexpr (expr::keeps_bits<Join>) {
      const Text name = Text(request.name) + ".ties";
      const Cotangent sum =
          Rules::template emit<Flow<I>>({request.scope, request.v, I, request.from, name},
                                        Rules::template weighted<Flow<I>>(partial));
      const VertexId ties = this->ties(request);
      return this->under_result(request.with(sum), Div{}, {operands, operands + 2}, {&ties, 1});
    } else {
      const VertexId elements = this->write_elements(request.scope, request.v);
      const Cotangent wide = push_elements<I>(request, elements);
      const VertexId again = this->write_again(request.scope, request.v, elements);
      const TangentOf<B, Order, Identity, Monoid, Value> of_elements(Identity{}, this->m_monoid);
      return of_elements.template push_operand<0>({request.scope, again, 0, wide, request.name});
    }
  }
  /// The sum of the elements' tangents, each times the product of all other elements.
  template <std::size_t I>
  [[nodiscard]] Cotangent push_product(const Request& request) const {
    const DerivativeScope& scope = request.scope;
    const VertexId elements = this->write_elements(scope, request.v);
    const Cotangent wide = push_elements<I>(request, elements);
    const std::size_t kept = request.statement().output.size();
    const ProductPull<B, Order - 1, Result> pull(scope, elements, kept);
    const Cotangent others = pull({1, -1, -1, {}, {}});

    StatementSpec spec;
    spec.name = request.name;
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
        others.is_number() ? stateless_writer<B, Order - 1, Identity, Sum, Result>(scope, spec)
                           : stateless_writer<B, Order - 1, Mul, Sum, Result, Result>(scope, spec);
    made.vertex = written.vertex;
    made.writing = written.writing;
    return made;
  }
  /// The tangent of write_elements().
  template <std::size_t I>
  [[nodiscard]] Cotangent push_elements(const Request& request, VertexId elements) const {
    const TangentOf<B, Order, Join, NoAggregation, Ts...> of_join(this->m_join, NoAggregation{});
    const Text name = Text(request.name) + ".elements";
    return of_join.template push_operand<I>({request.scope, elements, I, request.from, name});
  }

  template <class, int, class, class, class...>
  friend class TangentOf;
};

}  // namespace eindecomp::graph
