// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The derivative of one operator signature: what gradient.hpp calls through graph::Derivative.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/expr/derived_join.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/derivative_rules.hpp"
#include "eindecomp/graph/other_factors.hpp"
#include "eindecomp/graph/tangent_of.hpp"
#include "eindecomp/graph/write_derived.hpp"

namespace eindecomp::graph {

/// The derivative of ⊕ = Monoid of ⊗ = Join over elements Ts, in a program of backend B; what it
/// writes can be differentiated Order - 1 times.
template <class B, int Order, class Join, class Monoid, class... Ts>
class DerivativeOf final : public JoinDerivative,
                           private DerivativeRules<B, Order, Join, Monoid, Ts...> {
  using Rules = DerivativeRules<B, Order, Join, Monoid, Ts...>;
  using Rules::elementwise;
  using Rules::g;
  using Rules::kind;
  using Rules::operands;
  using Rules::z;
  using typename Rules::D;
  using typename Rules::Result;
  using typename Rules::Scope;
  using typename Rules::Value;
  template <std::size_t I>
  using OperandType = typename Rules::template OperandType<I>;
  template <std::size_t I>
  using Flow = typename Rules::template Flow<I, Direction::to_operand, Result, OperandType<I>>;

 public:
  DerivativeOf(const Join& join, const Monoid& monoid) : Rules(join, monoid) {}

  [[nodiscard]] bool depends_on(std::size_t operand) const override {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((I == operand && Rules::template depends<I>()) || ...);
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

 private:
  [[nodiscard]] Cotangent push_one(const Scope& scope, VertexId v, std::size_t operand,
                                   const Cotangent& tangent, std::string_view name) const override {
    const TangentOf<B, Order, Join, Monoid, Ts...> of(this->m_join, this->m_monoid);
    return of.push_one(scope, v, operand, tangent, name);
  }
  [[nodiscard]] const SignatureWriter* adds(int operand) const override {
    const SignatureWriter* found = nullptr;
    const auto add_if = [&]<class X>(int number, std::type_identity<X>) {
      if constexpr (has_derivatives<X>) {
        if (number == operand) found = &element_writers<B, Order - 1, X>.add;
      }
    };
    int number = -1;
    add_if(number++, std::type_identity<Result>{});
    (add_if(number++, std::type_identity<Widened<Ts>>{}), ...);
    return found;
  }

  template <std::size_t I>
  [[nodiscard]] Cotangent pull_operand(const Scope& scope, VertexId v, Cotangent of_result,
                                       std::string_view name) const {
    if constexpr (!Rules::template depends<I>()) {
      return of_result;  // is not asked for
    } else {
      return Rules::template write_if_there<I>(scope, v, [&](const auto& partial) {
        return pull_from<I>(scope, v, std::move(of_result), partial, name);
      });
    }
  }

  template <std::size_t I, class P>
  [[nodiscard]] Cotangent pull_from(const Scope& scope, VertexId v, Cotangent of_result,
                                    const P& partial, std::string_view name) const {
    using X = OperandType<I>;
    if constexpr (Rules::may_scan) {
      if (Rules::is_long_scan(scope.graph[v])) return pull_scan(scope, v, of_result, name);
    }
    if (of_result.is_number()) {
      if constexpr (!Rules::is_complex && kind == AggregateKind::sum && std::is_same_v<X, Result> &&
                    (expr::is_unit<P> || expr::is_value<P>)) {
        const auto slope = static_cast<double>(D::functor(partial).value);
        const std::optional<Cotangent> multiple = pull_number(scope, v, I, of_result, slope);
        if (multiple.has_value()) return *multiple;
      }
      of_result = scope.constant(of_result.value);
    }
    if constexpr (kind == AggregateKind::sum) {
      if constexpr (elementwise && I == 1 && is_quotient<Join, Ts...>) {
        // By the quotient that the numerator's cotangent is.
        of_result = this->under_result(scope, v, of_result, Div{}, {operands, 1}, {}, name);
        return Rules::template emit<Flow<I>>(scope, v, of_result, {},
                                             D::times(D::number(-1), D::times(g, z)), name);
      } else {
        return Rules::template emit<Flow<I>>(scope, v, of_result, {},
                                             Rules::template weighted<Flow<I>>(partial), name);
      }
    } else if constexpr (kind == AggregateKind::extremum) {
      return pull_extremum<I>(scope, v, of_result, partial, name);
    } else if constexpr (kind == AggregateKind::product && Order > 1) {
      // OtherFactors has no derivative where two factors are 0.
      const VertexId factors = this->write_elements(scope, v);
      const std::size_t kept = scope.graph[v].output.size();
      const ProductPull<B, Order - 1, Result> pull(scope, factors, kept);
      return pull_elements<I>(scope, factors, pull(of_result), name);
    } else if constexpr (kind == AggregateKind::product) {
      return Rules::template emit<Flow<I>>(scope, v, of_result, this->other_factors(scope, v),
                                           Rules::template weighted<Flow<I>>(partial), name);
    } else {
      return Rules::template emit<Flow<I>>(scope, v, of_result, {},
                                           Rules::template weighted<Flow<I>>(partial), name);
    }
  }

  [[nodiscard]] Cotangent pull_scan(const Scope& scope, VertexId v, Cotangent cotangent,
                                    std::string_view name) const {
    const std::vector<VertexId> passes = this->write_scan(scope, v);
    const DerivativeOf<B, Order, Identity, Monoid, typename Rules::Held> next({}, this->m_monoid);
    for (std::size_t p = passes.size(); --p > 0;) {
      cotangent = next.pull(scope, passes[p], 0, std::move(cotangent),
                            Text("d") + scope.graph[passes[p - 1]].name);
    }
    return pull(scope, passes.front(), 0, std::move(cotangent), name);
  }

  /// Elements that are as large as the extremum share its cotangent.
  template <std::size_t I, class P>
  [[nodiscard]] Cotangent pull_extremum(const Scope& scope, VertexId v, Cotangent of_result,
                                        const P& partial, std::string_view name) const {
    if constexpr (expr::keeps_bits<Join>) {
      const VertexId ties = this->ties(scope, v);
      of_result = this->under_result(scope, v, of_result, Div{}, {operands, operands + 2}, {ties},
                                     Text(name) + ".share");
      return Rules::template emit<Flow<I>>(scope, v, of_result, {},
                                           Rules::template weighted<Flow<I>>(partial), name);
    } else {
      // A kernel that computes ⊗ again might round otherwise, so what is compared is written.
      const VertexId elements = this->write_elements(scope, v);
      const VertexId again = this->write_again(scope, v, elements);
      const DerivativeOf<B, Order, Identity, Monoid, Value> of_elements(Identity{}, this->m_monoid);
      const Cotangent wide =
          of_elements.pull(scope, again, 0, of_result, Text("d") + scope.graph[v].name);
      return pull_elements<I>(scope, elements, wide, name);
    }
  }
  /// From the cotangent of write_elements().
  template <std::size_t I>
  [[nodiscard]] Cotangent pull_elements(const Scope& scope, VertexId elements,
                                        const Cotangent& cotangent, std::string_view name) const {
    const DerivativeOf<B, Order, Join, NoAggregation, Ts...> of_join(this->m_join, NoAggregation{});
    return of_join.pull(scope, elements, I, cotangent, name);
  }
};

}  // namespace eindecomp::graph
