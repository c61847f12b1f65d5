// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The derivative of what is put together from blocks: each block's is what the result's has in its
/// place.
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/derived_statement.hpp"
#include "eindecomp/graph/write_derived.hpp"

namespace eindecomp::graph {

/// Of blocks of elements T, in a program of backend B; what it writes can be differentiated
/// Order - 1 times.
template <class B, int Order, class T>
class DerivativeOfBlocks final : public Derivative<B> {
  using Scope = GradientScope<B>;

 public:
  [[nodiscard]] bool depends_on(std::size_t) const override { return !std::is_integral_v<T>; }

  [[nodiscard]] Cotangent pull(const Scope& scope, VertexId v, std::size_t operand,
                               Cotangent of_result, std::string_view name) const override {
    if constexpr (std::is_floating_point_v<T>) {
      const EinGraph& graph = scope.state.graph;
      DerivedStatement here(graph, v, operand, of_result, {}, scope.where);
      if (of_result.is_number()) {
        of_result.labels = here.dimension_names();
        return of_result;
      }
      const auto write = [&](const StatementSpec& spec) {
        return write_at<B, Order - 1, Identity, NoAggregation, T>(scope, spec, Identity{},
                                                                  NoAggregation{});
      };
      if (here.is_to_be_widened()) {
        const Written wide = write(here.widened(Text(name) + ".wide"));
        here.set_widened(wide.vertex, wide.writing);
      }
      const auto cotangent = static_cast<int>(graph[v].operands.size());
      const Written written = write(here.statement(name, {cotangent}));
      return here.result(written.vertex, written.writing);
    } else {
      core::fail(ErrorKind::statement,
                 Text("the gradient leads through statement ") + scope.state.graph[v].name +
                     ", which has elements that are neither float nor double (derivatives are of "
                     "real numbers); keep the parts of complex numbers as two tensors",
                 scope.where);
    }
  }

  [[nodiscard]] Cotangent add(const Scope& scope, std::size_t, const Cotangent& a,
                              const Cotangent& b, std::string_view name) const override {
    if constexpr (std::is_floating_point_v<T>) {
      return add_cotangents<B, Order - 1, T>(scope, a, b, name);
    } else {
      return a;
    }
  }
};

/// Keeps the derivative of the last statement, which puts blocks of elements T together.
template <class T, class Backend>
void record_blocks_derivative(ProgramState<Backend>& state) {
  state.records.derivatives.back() =
      std::make_shared<const DerivativeOfBlocks<Backend, Backend::order, T>>();
}

}  // namespace eindecomp::graph
