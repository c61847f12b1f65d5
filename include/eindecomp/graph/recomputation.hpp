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
  /// \param from  that which is differentiated
  Recomputation(const EinGraph& graph, const std::vector<VertexId>& checkpoints, VertexId from,
                Copy copy)
      : m_graph(graph),
        m_copies(static_cast<std::size_t>(from) + 1, itself),
        m_copy(std::move(copy)) {
    std::vector<bool> is_checkpoint(m_copies.size(), false);
    for (const VertexId v : checkpoints) {
      if (v <= from) is_checkpoint[to_index(v)] = true;
    }
    std::vector<bool> leads(m_copies.size(), false);  // to a checkpoint
    for (VertexId v = from; v >= 0; --v) {
      const Vertex& tensor = graph[v];
      if (leads[to_index(v)] && !is_checkpoint[to_index(v)] && !tensor.is_input() &&
          !tensor.is_result()) {
        m_copies[to_index(v)] = unwritten;
      }
      if (!leads[to_index(v)] && !is_checkpoint[to_index(v)]) continue;
      for (const Operand& operand : tensor.operands) leads[to_index(operand.vertex)] = true;
    }
  }

  /// The tensor that is read in the place of `v`.
  [[nodiscard]] VertexId operator()(VertexId v) {
    // Not by recursion: chains of statements are long.
    std::vector<Pending> pending;
    if (state_of(v) == unwritten) pending.push_back({v, {}});
    while (!pending.empty()) {
      const auto& [next, operands] = pending.back();
      const std::vector<Operand>& reads = m_graph[next].operands;
      if (operands.size() < reads.size()) {
        const VertexId read = reads[operands.size()].vertex;
        if (state_of(read) == unwritten) {
          pending.push_back({read, {}});
        } else {
          pending.back().operands.push_back(written(read));
        }
        continue;
      }
      const Pending done = std::move(pending.back());
      pending.pop_back();
      m_copies[to_index(done.v)] = m_copy(done.v, done.operands);
    }
    return written(v);
  }

 private:
  static constexpr VertexId itself = -1;
  static constexpr VertexId unwritten = -2;

  /// A statement to be copied, and what stands for its first operands.
  struct Pending {
    VertexId v = -1;
    std::vector<VertexId> operands;
  };

  [[nodiscard]] VertexId state_of(VertexId v) const {
    return to_index(v) < m_copies.size() ? m_copies[to_index(v)] : itself;
  }
  [[nodiscard]] VertexId written(VertexId v) const {
    return state_of(v) == itself ? v : state_of(v);
  }

  const EinGraph& m_graph;
  std::vector<VertexId> m_copies;
  Copy m_copy;
};

}  // namespace eindecomp::graph
