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

 private:
  using Request = DerivativeRequest;

  [[nodiscard]] Cotangent pull_to(const Request& request) const override {
    return pull_operand<0>(request);
  }
  [[nodiscard]] Cotangent push_from(const Request& request) const override {
    const TangentOf<B, Order, Join, Monoid, Ts...> of(this->m_join, this->m_monoid);
    return of.template push_operand<0>(request);
  }
  [[nodiscard]] const ElementWriters* elements(int operand) const override {
    const ElementWriters* found = nullptr;
    const auto take_if = [&]<class X>(int number, std::type_identity<X>) {
      if constexpr (has_derivatives<X>) {
        if (number == operand) found = &element_writers<B, Order - 1, X>;
      }
    };
    int number = -1;
    take_if(number++, std::type_identity<Result>{});
    (take_if(number++, std::type_identity<Widened<Ts>>{}), ...);
    return found;
  }

  /// Of operand I or one behind it.
  template <std::size_t I>
  [[nodiscard]] Cotangent pull_operand(const Request& request) const {
    if constexpr (I + 1 < sizeof...(Ts)) {
      if (request.operand != I) return pull_operand<I + 1>(request);
    }
    if constexpr (!Rules::template depends<I>()) {
      return {};  // is not asked for
    } else {
      return Rules::template write_if_there<I>(
          request, [&](const auto& partial) { return pull_by<I>(request, partial); });
    }
  }

  template <std::size_t I, class P>
  [[nodiscard]] Cotangent pull_by(const Request& request, const P& partial) const {
    using X = OperandType<I>;
    if constexpr (Rules::may_scan) {
      if (Rules::is_long_scan(request.statement())) {
        const DerivativeOf<B, Order, Identity, Monoid, typename Rules::Held> next({},
                                                                                  this->m_monoid);
        return pull_scan(request, this->write_scan(request.scope, request.v), *this, next);
      }
    }
    if constexpr (!Rules::is_complex && kind == AggregateKind::sum && std::is_same_v<X, Result> &&
                  (expr::is_unit<P> || expr::is_value<P>)) {
      if (request.from.is_number()) {
        const auto slope = static_cast<double>(D::functor(partial).value);
        std::optional<Cotangent> multiple = pull_number(request, slope);
        if (multiple.has_value()) return std::move(*multiple);
      }
    }
    if constexpr (kind == AggregateKind::sum && elementwise && I == 1 && is_quotient<Join, Ts...>) {
      // By the quotient that the numerator's cotangent is.
      const Cotangent quotient = this->under_result(request, Div{}, {operands, 1});
      return Rules::template emit<Flow<I>>(request.with(quotient),
                                           D::times(D::number(-1), D::times(g, z)));
    } else if constexpr (kind == AggregateKind::extremum) {
      return pull_extremum<I>(request, partial);
    } else if constexpr (kind == AggregateKind::product && Order > 1) {
      // OtherFactors has no derivative where two factors are 0.
      const VertexId factors = this->write_elements(request.scope, request.v);
      const std::size_t kept = request.statement().output.size();
      const ProductPull<B, Order - 1, Result> pull(request.scope, factors, kept);
      const Cotangent wide = pull(as_tensor(request.scope, request.from));
      return pull_elements<I>(request.with(wide), factors);
    } else if constexpr (kind == AggregateKind::product) {
      return Rules::template emit<Flow<I>>(request, Rules::template weighted<Flow<I>>(partial),
                                           this->other_factors(request));
    } else {
      return Rules::template emit<Flow<I>>(request, Rules::template weighted<Flow<I>>(partial));
    }
  }

  /// Elements that are as large as the extremum share its cotangent.
  template <std::size_t I, class P>
  [[nodiscard]] Cotangent pull_extremum(const Request& request, const P& partial) const {
    if constexpr (expr::keeps_bits<Join>) {
      const VertexId ties = this->ties(request);
      const Text name = Text(request.name) + ".share";
      const Cotangent share = this->under_result({request.scope, request.v, I, request.from, name},
                                                 Div{}, {operands, operands + 2}, {&ties, 1});
      return Rules::template emit<Flow<I>>(request.with(share),
                                           Rules::template weighted<Flow<I>>(partial));
    } else {
      // A kernel that computes ⊗ again might round otherwise, so what is compared is written.
      const VertexId elements = this->write_elements(request.scope, request.v);
      const VertexId again = this->write_again(request.scope, request.v, elements);
      const DerivativeOf<B, Order, Identity, Monoid, Value> of_elements(Identity{}, this->m_monoid);
      const Cotangent wide = of_elements.pull(request.scope, again, 0, request.from,
                                              Text("d") + request.statement().name);
      return pull_elements<I>(request.with(wide), elements);
    }
  }
  /// From the cotangent of write_elements().
  template <std::size_t I>
  [[nodiscard]] Cotangent pull_elements(const Request& request, VertexId elements) const {
    const DerivativeOf<B, Order, Join, NoAggregation, Ts...> of_join(this->m_join, NoAggregation{});
    return of_join.pull(request.scope, elements, I, request.from, request.name);
  }
};

}  // namespace eindecomp::graph
