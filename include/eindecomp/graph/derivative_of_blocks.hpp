// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The derivative of what is put together from blocks: each block's is what the result's has in its
/// place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/core/make_as.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/derived_statement.hpp"
#include "eindecomp/graph/forward_statement.hpp"
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
      const EinGraph& graph = scope.graph;
      DerivedStatement here(scope, v, operand, of_result, {});
      if (of_result.is_number()) {
        of_result.labels = here.dimension_names();
        return of_result;
      }
      if (here.is_to_be_widened()) {
        const Written wide = copying(scope, here.widened(Text(name) + ".wide"));
        here.set_widened(wide.vertex, wide.writing);
      }
      const auto cotangent = static_cast<int>(graph[v].operands.size());
      const Written written = copying(scope, here.statement(name, {cotangent}));
      return here.result(written.vertex, written.writing);
    } else {
      refuse_elements(scope, v);
    }
  }

  /// The blocks' tangents, put together, and 0 in the place of blocks that have none.
  [[nodiscard]] Cotangent push(const Scope& scope, VertexId v, const Tangents& tangents,
                               std::string_view name) const override {
    if constexpr (has_derivatives<T>) {
      const Vertex of = scope.graph[v];  // a copy: the graph grows
      std::vector<Text> labels;
      for (const int l : of.output) {
        labels.push_back(
            scope.graph.labels[static_cast<std::size_t>(of.labels[static_cast<std::size_t>(l)])]
                .name);
      }
      const bool adds = tangents.own.has_value();
      StatementSpec spec;
      spec.name = adds ? Text(name) + ".blocks" : Text(name);
      spec.where = scope.where;
      for (std::size_t k = 0; k < labels.size(); ++k) {
        spec.output.push_back({labels[k], of.bound[k]});
      }
      for (std::size_t o = 0; o < of.operands.size(); ++o) {
        if (!tangents.of_operands[o].has_value()) continue;
        const Cotangent tangent = write_whole_tangent(scope, v, o, *tangents.of_operands[o],
                                                      Text(name) + ".whole", copying);
        ForwardStatement here(scope, v, o, tangent, {});
        StatementSpec::OperandSpec& operand = spec.operands.emplace_back(here.read_tangent());
        // Names that are here to stay.
        for (std::string_view& label : operand.labels) label = same_name(labels, label);
        for (IndexSpec& index : operand.indices) {
          for (auto& term : index.terms) term.label = same_name(labels, term.label);
        }
      }
      const bool is_full = of.op.state.empty() && spec.operands.size() == of.operands.size();
      const BlockFill fill = is_full ? BlockFill::nothing() : BlockFill::of(T(0));
      spec.op.join = Text("blocks") + fill.text;
      spec.op.state = fill.bytes;
      spec.name = scope.graph.unused_name(spec.name);
      Cotangent made{0, -1, -1, {}, labels};
      made.vertex = write_blocks_statement<T, AtOrder<B, Order - 1>>(
          static_cast<const GradientScope<B>&>(scope).state, std::move(spec));
      made.writing = scope.graph.last_writing();
      for (std::size_t k = 0; k < labels.size(); ++k) made.dims.push_back(static_cast<int>(k));
      return adds ? add_cotangents(scope, *tangents.own, made, name, adding) : made;
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

  [[nodiscard]] static std::string_view same_name(const std::vector<Text>& names,
                                                  std::string_view name) {
    return *std::find(names.begin(), names.end(), name);
  }
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
