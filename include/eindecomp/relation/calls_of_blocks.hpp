// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which kernel calls of a statement read, or compute, each block of a tensor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/counting_joins.hpp"
#include "eindecomp/relation/read_relation.hpp"

namespace eindecomp::relation {

/// From the blocks of one operand, or of the result, to a statement's calls and their workers, and
/// back: by the coordinates of the mesh, without a table of all calls.
class CallsOfBlocks {
 public:
  /// \param calls      of the statement
  /// \param relation   the tensor, cut as the calls read or compute it
  /// \param positions  of the labels of its blocks
  /// \param statement   that makes the calls; outlives this
  /// \param conditions  of its joins (graph::Masks::of); outlive this, too
  CallsOfBlocks(BlockMap calls, ReadRelation relation, std::vector<int> positions,
                const Vertex& statement, const std::vector<graph::Condition>& conditions)
      : m_calls(std::move(calls)),
        m_relation(std::move(relation)),
        m_positions(std::move(positions)),
        m_statement(&statement),
        m_conditions(&conditions) {
    const PartitionVector& parts = m_calls.relation().parts;
    m_strides.assign(parts.size(), 1);
    for (std::size_t l = parts.size(); l-- > 1;) m_strides[l - 1] = m_strides[l] * parts[l];
    for (std::size_t l = 0; l < parts.size(); ++l) {
      const bool fixed = std::find(m_positions.begin(), m_positions.end(), static_cast<int>(l)) !=
                         m_positions.end();
      if (fixed || parts[l] == 1) continue;
      std::vector<Extent> calls_so_far;
      std::vector<int> workers_so_far;
      calls_so_far.reserve(m_free_calls.size() * to_index(parts[l]));
      workers_so_far.reserve(calls_so_far.capacity());
      for (std::size_t n = 0; n < m_free_calls.size(); ++n) {
        for (Extent part = 0; part < parts[l]; ++part) {
          calls_so_far.push_back(m_free_calls[n] + part * m_strides[l]);
          workers_so_far.push_back(m_free_workers[n] + m_calls.offset(l, part));
        }
      }
      m_free_calls = std::move(calls_so_far);
      m_free_workers = std::move(workers_so_far);
    }
    std::sort(m_free_workers.begin(), m_free_workers.end());
  }

  [[nodiscard]] const BlockMap& calls() const { return m_calls; }
  [[nodiscard]] const ReadRelation& relation() const { return m_relation; }
  /// How many calls every block has, but for blocks off a diagonal, which have none.
  [[nodiscard]] std::size_t calls_per_block() const { return m_free_calls.size(); }

  /// The block of a call.
  [[nodiscard]] Extent block_of(Extent call) const {
    Extent block = 0;
    for (std::size_t k = 0; k < m_positions.size(); ++k) {
      const auto l = static_cast<std::size_t>(m_positions[k]);
      block = block * m_relation.parts()[k] + call / m_strides[l] % m_calls.relation().parts[l];
    }
    return block;
  }

  /// Whether some joins of the calls may not count.
  [[nodiscard]] bool is_masked() const { return !m_conditions->empty(); }
  /// Whether calls may need less than their blocks of an operand.
  [[nodiscard]] bool needs_less() const { return is_masked() && !m_relation.is_bounded(); }
  /// What a call then needs of its block, beyond the ends of the tensor, too; nothing where no join
  /// counts.
  [[nodiscard]] Box need(Extent call) const {
    const Box joins = joins_of(call);
    const Box labels{project(joins.lo, m_positions), project(joins.hi, m_positions)};
    if (!joins.empty()) return m_relation.read_under(labels);
    const Box block = m_relation.block(block_of(call));
    return {block.lo, block.lo};
  }

  /// Lists a block's calls, in the order of their numbers.
  void list_calls(Extent block, std::vector<Extent>& calls) const {
    calls.clear();
    const First first = first_of(block);
    if (!first.any) return;
    for (const Extent free : m_free_calls) calls.push_back(first.call + free);
  }
  /// Lists the calls that are made to compute a block: those with joins that count or, if none has
  /// any, the first, which writes what ⊕ begins with.
  void list_made_calls(Extent block, std::vector<Extent>& calls) const {
    list_calls(block, calls);
    if (!is_masked() || calls.size() < 2) return;
    const Extent first = calls.front();
    std::erase_if(calls, [this](Extent call) { return !counts(call); });
    if (calls.empty()) calls.push_back(first);
  }
  /// Whether any join of a call counts.
  [[nodiscard]] bool counts(Extent call) const { return !is_masked() || !joins_of(call).empty(); }
  /// Lists the workers of a block's calls, in order.
  void list_workers(Extent block, std::vector<int>& workers) const {
    workers.clear();
    const First first = first_of(block);
    if (!first.any) return;
    for (const int free : m_free_workers) workers.push_back(first.worker + free);
  }

 private:
  [[nodiscard]] Box joins_of(Extent call) const {
    return counting_joins(*m_statement, *m_conditions, m_calls.relation().block(call));
  }
  /// Of a block's calls, the one whose other labels have part 0; a worker's share for its labels.
  struct First {
    bool any = true;
    Extent call = 0;
    int worker = 0;
  };
  [[nodiscard]] First first_of(Extent block) const {
    First first;
    for (std::size_t k = m_positions.size(); k-- > 0;) {
      const auto l = static_cast<std::size_t>(m_positions[k]);
      const Extent part = block % m_relation.parts()[k];
      block /= m_relation.parts()[k];
      const auto again = std::find(m_positions.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                                   m_positions.end(), m_positions[k]);
      if (again != m_positions.end()) {  // a diagonal: all its dimensions have one part
        first.any = first.any && first.call / m_strides[l] % m_calls.relation().parts[l] == part;
        continue;
      }
      first.call += part * m_strides[l];
      first.worker += m_calls.offset(l, part);
    }
    return first;
  }

  BlockMap m_calls;
  ReadRelation m_relation;
  std::vector<int> m_positions;
  const Vertex* m_statement;
  const std::vector<graph::Condition>* m_conditions;
  std::vector<Extent> m_strides;        ///< per label, of calls' numbers
  std::vector<Extent> m_free_calls{0};  ///< what the other labels add to a call's number
  std::vector<int> m_free_workers{0};   ///< and to the number of its worker
};

/// A statement's calls, and the blocks that they read of a piece of an operand (ReadRelation).
[[nodiscard]] inline CallsOfBlocks calls_reading(const EinGraph& graph, const Vertex& statement,
                                                 const Operand& operand, const BlockMap& calls,
                                                 const std::vector<graph::Condition>& conditions,
                                                 int piece = 0) {
  return {calls, ReadRelation(graph, statement, operand, calls.relation().parts, piece),
          graph::read_labels(operand), statement, conditions};
}

}  // namespace eindecomp::relation
