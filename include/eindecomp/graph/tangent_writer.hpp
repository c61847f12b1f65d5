// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The way from tensors to another, on which jvp() writes tangents. With EINDECOMP_SEPARATE_PLANNER
/// the caller's translation unit does not compile it (make_derived.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "eindecomp/graph/derivative.hpp"

namespace eindecomp::graph {

/// The derivative of statement v. \throws Error if it has none
[[nodiscard]] std::shared_ptr<const Derivative> derivative_of_statement(
    const DerivativeScope& scope, VertexId v);

/// Walks from tensors with tangents to another, statement by statement, and writes the tangents of
/// those that lie between.
class TangentWriter {
 public:
  TangentWriter(const DerivativeScope& scope, VertexId to);

  /// Whether a change of a tensor's elements changes those of the tensor walked to.
  [[nodiscard]] bool leads_from(VertexId v) const;
  /// Gives a tensor a tangent with all dimensions. \returns false if it has one
  [[nodiscard]] bool give(VertexId v, VertexId tangent, int writing);
  /// The tangent of the tensor walked to, which some tensor with a tangent leads to.
  [[nodiscard]] Cotangent run();

 private:
  [[nodiscard]] const EinGraph& graph() const { return m_scope.graph; }

  /// Whether tangents pass through an operand of statement v.
  [[nodiscard]] bool passes(VertexId v, std::size_t o) const;
  void push(VertexId v);

  const DerivativeScope& m_scope;
  std::vector<bool> m_leads;
  std::vector<std::optional<Cotangent>> m_tangents;
};

}  // namespace eindecomp::graph
