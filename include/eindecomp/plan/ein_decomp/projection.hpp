// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Partition vectors of a statement projected on the labels of one tensor: all that a neighbour
/// sees of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/partition.hpp"

namespace eindecomp {

/// A list of vectors projected on some of their positions.
struct Projection {
  VectorList distinct;  ///< the different projected vectors, in descending lexicographic order
  std::vector<int> of;  ///< for each vector, which of `distinct` it projects to
};

/// Projects every vector of a list on the given positions. O(n log n).
[[nodiscard]] constexpr Projection project(const VectorList& vectors,
                                           std::span<const int> positions) {
  VectorList all(positions.size());
  std::vector<Extent> selected;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    plan::select(vectors[i], positions, selected);
    all.push_back(selected);
  }
  std::vector<int> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&all](int a, int b) {
    return std::ranges::lexicographical_compare(all[to_index(b)], all[to_index(a)]);
  });
  Projection projection{VectorList(positions.size()), std::vector<int>(all.size())};
  for (int i : order) {
    const auto vector = all[to_index(i)];
    VectorList& distinct = projection.distinct;
    if (distinct.empty() || !std::ranges::equal(distinct[distinct.size() - 1], vector)) {
      distinct.push_back(vector);
    }
    projection.of[to_index(i)] = static_cast<int>(distinct.size()) - 1;
  }
  return projection;
}

/// The partition vectors a statement may have, and what each costs by itself.
struct Candidates {
  VectorList vectors;        ///< each as long as Vertex::labels
  std::vector<Extent> cost;  ///< join + aggregation of each vector
};

/// The partition vectors of statement v for p workers. \throws Error if they are too many.
[[nodiscard]] constexpr Candidates candidates(const EinGraph& graph, VertexId v, int p) {
  Candidates found{partition_vectors(graph, v, p), {}};
  found.cost.reserve(found.vectors.size());
  for (std::size_t i = 0; i < found.vectors.size(); ++i) {
    found.cost.push_back(plan::add_words(join_cost(graph[v], found.vectors[i]),
                                         aggregate_cost(graph[v], found.vectors[i])));
  }
  return found;
}

namespace plan {

/// All operand slots of a statement that read one producer, as one wide operand.
struct Reading {
  VertexId producer = -1;
  std::vector<int> positions;  ///< the slots' label positions, one slot after another
};

/// A statement's operands, those of one producer together. Inputs of the graph are left out.
[[nodiscard]] constexpr std::vector<Reading> readings(const EinGraph& graph, VertexId v) {
  std::vector<Reading> found;
  for (const Operand& operand : graph[v].operands) {
    if (graph[operand.vertex].is_input()) continue;
    auto reading = std::ranges::find(found, operand.vertex, &Reading::producer);
    if (reading == found.end()) reading = found.insert(found.end(), Reading{operand.vertex, {}});
    reading->positions.insert(reading->positions.end(), operand.labels.begin(),
                              operand.labels.end());
  }
  return found;
}

}  // namespace plan
}  // namespace eindecomp
