// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Why every statement of a plan has its partition vector: what it costs, and what the next best
/// would.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/plan.hpp"

namespace eindecomp {

/// One partition vector that a statement may have, and what it costs the program if all other
/// statements keep theirs, in the paper's words.
struct Alternative {
  PartitionVector partition;  ///< in the order of Vertex::labels
  Cost cost;           ///< of the statement: its join, its aggregation, bringing its operands
  Extent readers = 0;  ///< to bring its result to the statements that read it

  /// What it costs the program: `cost` and `readers`.
  [[nodiscard]] constexpr Extent total() const { return plan::add_words(cost.total(), readers); }
};

/// Why a statement is cut as it is.
struct StatementExplanation {
  VertexId statement = -1;  ///< whose cut is explained
  std::vector<int> cut;     ///< positions in Vertex::labels of the labels in more than one part
  Alternative chosen;       ///< the one in the plan
  /// The cheapest other vector that makes as many kernel calls as can be; absent if there is none.
  /// It is cheaper than the chosen one where the strategy goes by something else than the paper's
  /// cost, or misses its least.
  std::optional<Alternative> runner_up;
};

namespace plan {

/// An operand slot that a statement's result fills.
struct ReaderSlot {
  VertexId reader = -1;
  const Operand* operand = nullptr;
};

/// What a vector of statement v costs among the partitions of the others.
[[nodiscard]] constexpr Alternative evaluate_vector(const EinGraph& graph, VertexId v,
                                                    std::span<const Extent> d,
                                                    std::span<const ReaderSlot> readers,
                                                    Partitions& partitions) {
  partitions[to_index(v)].assign(d.begin(), d.end());
  Alternative evaluated{PartitionVector(d.begin(), d.end()), statement_cost(graph, v, partitions),
                        0};
  std::vector<Extent> produced;
  std::vector<Extent> consumed;
  select(d, graph[v].output, produced);
  for (const ReaderSlot& slot : readers) {
    select(partitions[to_index(slot.reader)], slot.operand->labels, consumed);
    evaluated.readers =
        add_words(evaluated.readers, repartition_cost(graph[v].bound, produced, consumed));
  }
  return evaluated;
}

}  // namespace plan

/// For every statement of a plan, in the order of the graph: the labels it cuts, what its vector
/// costs, and the next best vector with the rest of the plan as it is.
/// \throws Error if a statement has more than max_partition_vectors.
[[nodiscard]] inline std::vector<StatementExplanation> explain(const Plan& plan) {
  const EinGraph& graph = plan.graph;
  std::vector<std::vector<plan::ReaderSlot>> readers(graph.vertices.size());
  for (VertexId v = 0; v < graph.size(); ++v) {
    for (const Operand& operand : graph[v].operands) {
      readers[to_index(operand.vertex)].push_back({v, &operand});
    }
  }
  Partitions partitions = plan.partitions;
  std::vector<StatementExplanation> explanations;
  for (VertexId v : statements_of(graph)) {
    const auto at = to_index(v);
    const PartitionVector& own = plan.partitions[at];
    StatementExplanation explanation;
    explanation.statement = v;
    for (std::size_t l = 0; l < own.size(); ++l) {
      if (own[l] > 1) explanation.cut.push_back(static_cast<int>(l));
    }
    const VectorList vectors = partition_vectors(graph, v, plan.workers_in_use());
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      if (std::ranges::equal(vectors[i], own)) continue;
      Alternative other = plan::evaluate_vector(graph, v, vectors[i], readers[at], partitions);
      if (!explanation.runner_up || other.total() < explanation.runner_up->total()) {
        explanation.runner_up = std::move(other);
      }
    }
    explanation.chosen = plan::evaluate_vector(graph, v, own, readers[at], partitions);
    explanations.push_back(std::move(explanation));
  }
  return explanations;
}

}  // namespace eindecomp
