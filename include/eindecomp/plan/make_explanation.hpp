// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How a plan is explained. With EINDECOMP_SEPARATE_PLANNER, one translation unit compiles it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/explain.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/plan.hpp"

namespace eindecomp {
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

EINDECOMP_PLANNER_INLINE std::vector<StatementExplanation> explain(const Plan& plan) {
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
