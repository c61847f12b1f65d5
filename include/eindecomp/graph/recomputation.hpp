// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What checkpoint() saves: the statements that a gradient writes again, to keep less from the
/// forward pass. Knows no operators.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp::graph {

/// Per tensor, which one the statements of a gradient read in its place: itself, or a copy that is
/// written before the first of them, so that the tensor may go as soon as the forward pass has
/// read it (Chen et al., Training deep nets with sublinear memory cost, 2016, section 4).
class Recomputation {
 public:
  /// Writes a statement again, with other operands.
  using Copy = std::function<VertexId(VertexId, const std::vector<VertexId>& operands)>;

  /// Tensors that a checkpoint is computed from are copied, but for inputs, results and
  /// checkpoints.
  /// \param checkpoints  per tensor, whether it is one
  /// \param from         that which is differentiated
  Recomputation(const EinGraph& graph, const std::vector<bool>& checkpoints, VertexId from,
                Copy copy)
      : m_graph(graph),
        m_copies(static_cast<std::size_t>(from) + 1, itself),
        m_copy(std::move(copy)) {
    std::vector<bool> leads(m_copies.size(), false);  // to a checkpoint
    for (VertexId v = from; v >= 0; --v) {
      const Vertex& tensor = graph[v];
      const bool is_checkpoint = checkpoints[to_index(v)];
      if (leads[to_index(v)] && !is_checkpoint && !tensor.is_input() && !tensor.is_result()) {
        m_copies[to_index(v)] = unwritten;
      }
      if (!leads[to_index(v)] && !is_checkpoint) continue;
      for (const Operand& operand : tensor.operands) leads[to_index(operand.vertex)] = true;
    }
  }

  /// The tensor that is read in the place of `v`.
  [[nodiscard]] VertexId operator()(VertexId v) {
    if (to_index(v) >= m_copies.size() || m_copies[to_index(v)] == itself) return v;
    if (m_copies[to_index(v)] == unwritten) {
      const std::vector<Operand> read = m_graph[v].operands;  // a copy: the graph grows
      std::vector<VertexId> operands;
      for (const Operand& o : read) operands.push_back((*this)(o.vertex));
      m_copies[to_index(v)] = m_copy(v, operands);
    }
    return m_copies[to_index(v)];
  }

 private:
  static constexpr VertexId itself = -1;
  static constexpr VertexId unwritten = -2;

  const EinGraph& m_graph;
  std::vector<VertexId> m_copies;
  Copy m_copy;
};

}  // namespace eindecomp::graph
