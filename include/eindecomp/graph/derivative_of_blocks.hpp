// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The derivative of what is put together from blocks: each block's is what the result's has in its
/// place.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/core/make_as.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/write_blocks.hpp"
#include "eindecomp/graph/write_derived.hpp"

namespace eindecomp::graph {

/// Of blocks of elements that are computed with as T, in a program of backend B; what it writes can
/// be differentiated Order - 1 times.
template <class B, int Order, class T>
class DerivativeOfBlocks final : public Derivative {
  using Scope = DerivativeScope;

 public:
  [[nodiscard]] bool depends_on(std::size_t) const override { return !std::is_integral_v<T>; }

  [[nodiscard]] Cotangent pull(const Scope& scope, VertexId v, std::size_t operand,
                               Cotangent of_result, std::string_view name) const override {
    if constexpr (has_derivatives<T>) {
      return pull_block(scope, v, operand, std::move(of_result), name, copying);
    } else {
      refuse_elements(scope, v);
    }
  }

  /// The blocks' tangents, put together, and 0 in the place of blocks that have none.
  [[nodiscard]] Cotangent push(const Scope& scope, VertexId v, const Tangents& tangents,
                               std::string_view name) const override {
    if constexpr (has_derivatives<T>) {
      TangentsOfBlocks blocks = tangents_of_blocks(scope, v, tangents, name, copying);
      const BlockFill fill = blocks.is_full ? BlockFill::nothing() : BlockFill::of(T(0));
      blocks.spec.op.join = Text("blocks") + fill.text;
      blocks.spec.op.state = fill.bytes;
      Cotangent made{0, -1, -1, {}, blocks.labels};
      for (int k = 0; k < scope.graph[v].rank(); ++k) made.dims.push_back(k);
      made.vertex = write_blocks_statement<T, AtOrder<B, Order - 1>>(
          static_cast<const GradientScope<B>&>(scope).state, std::move(blocks.spec));
      made.writing = scope.graph.last_writing();
      return tangents.own.has_value() ? add_cotangents(scope, *tangents.own, made, name, adding)
                                      : made;
    } else {
      refuse_elements(scope, v);
    }
  }

  [[nodiscard]] Cotangent add(const Scope& scope, std::size_t, const Cotangent& a,
                              const Cotangent& b, std::string_view name) const override {
    if constexpr (has_derivatives<T>) {
      return add_cotangents(scope, a, b, name, adding);
    } else {
      return a;
    }
  }

 private:
  static constexpr SignatureWriter copying =
      stateless_writer<B, Order - 1, Identity, NoAggregation, T>;
  static constexpr SignatureWriter adding =
      stateless_writer<B, Order - 1, Add, NoAggregation, T, T>;
};

/// Keeps the derivative of the last statement, which puts blocks of elements T together.
template <class T, class Backend>
void record_blocks_derivative(typename StateOf<Backend>::type& state) {
  if constexpr (Backend::order > 0) {
    using Program = typename StateOf<Backend>::Program;
    state.records.derivatives.back() =
        core::make_shared_as<Derivative, DerivativeOfBlocks<Program, Backend::order, Widened<T>>>();
  }
}

}  // namespace eindecomp::graph
