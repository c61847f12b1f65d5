// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The way from tensors to another, on which jvp() writes tangents.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/graph/derivative.hpp"

namespace eindecomp::graph {

/// The derivative of statement v. \throws Error if it has none
[[nodiscard]] inline std::shared_ptr<const Derivative> derivative_of_statement(
    const DerivativeScope& scope, VertexId v) {
  auto derivative = scope.derivatives[static_cast<std::size_t>(v)];
  if (derivative == nullptr) {
    core::fail(ErrorKind::statement,
               Text("the ") + scope.what + " leads through statement " + scope.graph[v].name +
                   ", which a derivative wrote (the program can be differentiated " + scope.order +
                   (scope.order == 1 ? Text(" time") : Text(" times")) +
                   "); make it a BasicProgram<Differentiable<…, " + (scope.order + 1) + ">>",
               scope.where);
  }
  return derivative;
}

/// Walks from tensors with tangents to another, statement by statement, and writes the tangents of
/// those that lie between.
class TangentWriter {
 public:
  TangentWriter(const DerivativeScope& scope, VertexId to)
      : m_scope(scope), m_leads(at(to) + 1, false), m_tangents(at(to) + 1) {
    m_leads[at(to)] = true;
    for (VertexId v = to; v >= 0; --v) {
      for (std::size_t o = 0; m_leads[at(v)] && o < graph()[v].operands.size(); ++o) {
        if (passes(v, o)) m_leads[at(graph()[v].operands[o].vertex)] = true;
      }
    }
  }

  /// Whether a change of a tensor's elements changes those of the tensor walked to.
  [[nodiscard]] bool leads_from(VertexId v) const {
    return at(v) < m_leads.size() && m_leads[at(v)];
  }
  /// Gives a tensor a tangent with all dimensions. \returns false if it has one
  [[nodiscard]] bool give(VertexId v, Cotangent tangent) {
    if (m_tangents[at(v)].has_value()) return false;
    const Vertex& of = graph()[v];
    for (int k = 0; k < of.rank(); ++k) {
      tangent.dims.push_back(k);
      tangent.labels.push_back(of.is_input() ? Text("d") + k : label_name(of, k));
    }
    m_tangents[at(v)] = std::move(tangent);
    return true;
  }
  /// The tangent of the tensor walked to, which some tensor with a tangent leads to.
  [[nodiscard]] Cotangent run() {
    for (VertexId v = 0; at(v) < m_leads.size(); ++v) {
      if (m_leads[at(v)]) push(v);
    }
    return *m_tangents.back();
  }

 private:
  [[nodiscard]] static std::size_t at(VertexId v) { return static_cast<std::size_t>(v); }
  [[nodiscard]] const EinGraph& graph() const { return m_scope.graph; }
  [[nodiscard]] Text label_name(const Vertex& v, int k) const {
    const int l = v.labels[static_cast<std::size_t>(v.output[static_cast<std::size_t>(k)])];
    return graph().labels[static_cast<std::size_t>(l)].name;
  }

  /// Whether tangents pass through an operand of statement v.
  [[nodiscard]] bool passes(VertexId v, std::size_t o) const {
    if (graph()[v].operands[o].constant) return false;
    const auto& derivative = m_scope.derivatives[at(v)];
    return derivative == nullptr || derivative->depends_on(o);
  }
  void push(VertexId v) {
    Tangents tangents{{}, m_tangents[at(v)]};
    bool has_any = false;
    for (std::size_t o = 0; o < graph()[v].operands.size(); ++o) {
      std::optional<Cotangent> tangent;
      if (passes(v, o)) tangent = m_tangents[at(graph()[v].operands[o].vertex)];
      has_any = has_any || tangent.has_value();
      tangents.of_operands.push_back(std::move(tangent));
    }
    if (!has_any) return;
    const Text name = graph()[v].name + ".tangent";
    m_tangents[at(v)] = derivative_of_statement(m_scope, v)->push(m_scope, v, tangents, name);
  }

  const DerivativeScope& m_scope;
  std::vector<bool> m_leads;
  std::vector<std::optional<Cotangent>> m_tangents;
};

}  // namespace eindecomp::graph
