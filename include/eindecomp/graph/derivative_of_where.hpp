// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The derivative of statements that read index tensors: of a gather a scatter with sum, of a
/// scatter with sum a gather. Indices have none.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/expr/derived_join.hpp"
#include "eindecomp/expr/where.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/write_derived.hpp"

namespace eindecomp::graph {

/// An expression with the operands of numbers from First on in the place of those from 0 on.
template <int First, int I>
[[nodiscard]] constexpr auto renumbered_from(const Arg<I>&) {
  return Arg<First + I>{};
}
template <int First, class T>
[[nodiscard]] constexpr auto renumbered_from(const Value<T>& value) {
  return value;
}
template <int First, class Op, class... Es>
[[nodiscard]] constexpr auto renumbered_from(const Composed<Op, Es...>& e) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return expr::node(e.op, renumbered_from<First>(e.template child<I>())...);
  }
  (std::index_sequence_for<Es...>{});
}

template <class B, int Order, class Join, class Monoid, class... Ts>
class DerivativeOfWhere;

/// The derivative of ⊕ = Monoid of ⊗ = Where<Tensors, Join, Monoid> over elements Ts, in a program
/// of backend B; what it writes can be differentiated Order - 1 times.
template <class B, int Order, int Tensors, class Join, class Monoid, unsigned Skipped, class... Ts>
class DerivativeOfWhere<B, Order, expr::Where<Tensors, Join, Monoid, Skipped>, Monoid, Ts...> final
    : public JoinDerivative {
  using Scope = DerivativeScope;
  /// Cotangents and tangents of elements of 16 bits are floats.
  using Result = typename MonoidTraits<
      Monoid, JoinedValue<expr::Where<Tensors, Join, Monoid, Skipped>, Monoid, Ts...>>::Result;
  /// Index tensors, and what Join takes.
  static constexpr int operands = static_cast<int>(sizeof...(Ts)) - Tensors;
  static constexpr bool sums = expr::is_one_of<Monoid, Sum, CompensatedSum>;
  using D = expr::Derivatives<Result>;
  static constexpr Arg<operands> g{};
  template <std::size_t I>
  using OperandType = Widened<std::tuple_element_t<I, std::tuple<Ts...>>>;
  template <std::size_t>
  struct NumberOf {  // a class: nvcc loses packs that an alias forgets
    using type = expr::LabelNumber;
  };
  using Operands = std::make_index_sequence<static_cast<std::size_t>(operands)>;
  // Of the operands and of the cotangent or the tangent.
  template <class From, std::size_t... I>
  static std::tuple<std::tuple_element_t<I, std::tuple<Ts...>>..., From> types_of(
      std::index_sequence<I...>);

 public:
  DerivativeOfWhere(const expr::Where<Tensors, Join, Monoid, Skipped>& where, const Monoid&)
      : m_join(where.join) {}

  [[nodiscard]] bool depends_on(std::size_t operand) const override {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((I == operand && depends<I>()) || ...);
    }
    (Operands{});
  }

 private:
  [[nodiscard]] Cotangent pull_to(const DerivativeRequest& request) const override {
    Cotangent pulled;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (..., (I == request.operand ? void(pulled = pull_operand<I>(request)) : void()));
    }
    (Operands{});
    return pulled;
  }
  [[nodiscard]] Cotangent push_from(const DerivativeRequest& request) const override {
    Cotangent pushed;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (..., (I == request.operand ? void(pushed = push_operand<I>(request)) : void()));
    }
    (Operands{});
    return pushed;
  }
  [[nodiscard]] const ElementWriters* elements(int operand) const override {
    const ElementWriters* found = nullptr;
    const auto take_if = [&]<class X>(int number, std::type_identity<X>) {
      if constexpr (std::is_floating_point_v<X>) {
        if (number == operand) found = &element_writers<B, Order - 1, X>;
      }
    };
    take_if(-1, std::type_identity<Result>{});
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (take_if(static_cast<int>(I), std::type_identity<OperandType<I>>{}), ...);
    }
    (Operands{});
    return found;
  }

  /// ∂⊗/∂(operand I) of operands that are numbered after the index tensors.
  template <std::size_t I>
  [[nodiscard]] constexpr auto partial() const {
    const auto f = [&] {
      if constexpr (expr::is_composed<Join>) {
        return renumbered_from<Tensors>(m_join);
      } else if constexpr (std::is_same_v<Join, Identity>) {
        return Arg<Tensors>{};
      } else {
        return [&]<std::size_t... O>(std::index_sequence<O...>) {
          return expr::node(m_join, Arg<Tensors + static_cast<int>(O)>{}...);
        }
        (std::make_index_sequence<static_cast<std::size_t>(operands - Tensors)>{});
      }
    }();
    return [&]<std::size_t... O>(std::index_sequence<O...>) {
      return expr::derivative_of<static_cast<int>(I), Result, OperandType<O>...>(f, f);
    }
    (Operands{});
  }
  template <std::size_t I, class Self = DerivativeOfWhere>
  using Partial = decltype(std::declval<const Self&>().template partial<I>());
  static constexpr bool are_real =
      std::is_floating_point_v<Result> && (std::is_arithmetic_v<Widened<Ts>> && ...);

  template <std::size_t I>
  [[nodiscard]] static constexpr bool depends() {
    if constexpr (std::is_integral_v<OperandType<I>> || std::is_integral_v<Result>) {
      return false;  // so are index tensors
    } else if constexpr (!are_real || !sums) {
      return true;  // and is refused
    } else {
      return !expr::is_zero<Partial<I>>;
    }
  }

  /// Refuses what has no derivative by operand I; else calls `write`, which writes it.
  template <std::size_t I, class Write>
  [[nodiscard]] Cotangent write_if_real(const Scope& scope, VertexId v, const Write& write) const {
    const auto refuse = [&](const Text& why) {
      core::fail(ErrorKind::statement,
                 Text("the ") + scope.what + " leads through statement " + scope.graph[v].name +
                     ", which " + why,
                 scope.where);
    };
    if constexpr (!are_real) {
      refuse(
          "selects elements that are neither float nor double (only those are differentiated where "
          "index tensors select); keep the parts of complex numbers as two tensors");
    } else if constexpr (!sums) {
      refuse("aggregates by " + expr::describe(Monoid{}) +
             " what index tensors select (only sums of that are differentiated); read its operands "
             "by stop_gradient");
    } else if constexpr (expr::is_missing<Partial<I>>) {
      refuse(
          "has a join that has no derivative by operand " + Text() + (static_cast<int>(I) + 1) +
          "; give it `template <int Operand> auto derivative(operands...) const`, or write it as a "
          "statement of its own");
    } else {
      return write(refuse);
    }
    return {};
  }
  template <std::size_t I>
  [[nodiscard]] Cotangent pull_operand(const DerivativeRequest& request) const {
    if constexpr (!depends<I>()) {
      return {};  // is not asked for
    } else {
      return write_if_real<I>(request.scope, request.v, [&](const auto& refuse) {
        const Cotangent all = write_whole_result(
            request.scope, request.v, request.from, Text(request.name) + ".whole",
            stateless_writer<B, Order - 1, Identity, NoAggregation, Result>);
        return emit<I, Direction::to_operand, Result, OperandType<I>>(request.with(all), refuse);
      });
    }
  }
  template <std::size_t I>
  [[nodiscard]] Cotangent push_operand(const DerivativeRequest& request) const {
    if constexpr (!depends<I>()) {
      return {};  // is not asked for
    } else {
      return write_if_real<I>(request.scope, request.v, [&](const auto& refuse) {
        const Cotangent all = write_whole_tangent(
            request.scope, request.v, I, request.from, Text(request.name) + ".whole",
            stateless_writer<B, Order - 1, Identity, NoAggregation, OperandType<I>>);
        return emit<I, Direction::to_result, OperandType<I>, Result>(request.with(all), refuse);
      });
    }
  }

  /// Writes Σ of the cotangent or the tangent times ∂⊗/∂(operand I), under the same conditions.
  template <std::size_t I, Direction Way, class From, class X, class Refuse>
  [[nodiscard]] Cotangent emit(const DerivativeRequest& request, const Refuse& refuse) const {
    using Types = decltype(types_of<From>(Operands{}));
    const auto e = D::times(g, this->template partial<I>());
    using Read = expr::DerivedJoin<expr::Converted<std::decay_t<decltype(e)>, X, Types>, Types>;
    if constexpr (2 * Tensors + Read::count > max_operands) {
      refuse(Text(
          "has a derivative of more than 8 tensors and values of labels; write a part of it as "
          "a statement of its own"));
      return {};
    } else {
      const auto joined = Read::functor(expr::converted<X, Types>(e));
      using Where = expr::Where<Tensors, std::decay_t<decltype(joined)>, Sum, Skipped>;
      std::vector<int> leaves;
      for (int k = 0; k < Tensors; ++k) leaves.push_back(k);
      for (const int leaf : Read::leaves()) leaves.push_back(leaf);
      const Where where{joined, Sum{}};
      const SignatureWriter writer = [&]<std::size_t... K, class... Us>(std::index_sequence<K...>,
                                                                        std::tuple<Us...>*) {
        return SignatureWriter::of<B, Order - 1, OperandType<K>..., Us...,
                                   typename NumberOf<K>::type...>(where, stateless<Sum>);
      }
      (std::make_index_sequence<Tensors>{}, static_cast<typename Read::OperandTypes*>(nullptr));
      const DerivedSum sum{.leaves = leaves,
                           .plain = writer,
                           .summed = writer,
                           .multiple = writer,
                           .widen = stateless_writer<B, Order - 1, Identity, NoAggregation, From>,
                           .elements = &element_writers<B, Order - 1, X>,
                           .may_have_pole = expr::may_have_pole<std::decay_t<decltype(joined)>>,
                           .selects = true};
      return write_derived(request, Way, sum);
    }
  }

  Join m_join;
};

}  // namespace eindecomp::graph
