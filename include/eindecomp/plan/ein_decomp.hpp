// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The paper's own strategies: the exact dynamic program on trees, and the linearisation of other
/// graphs into paths (paper, sections 8.2 to 8.4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/ein_decomp/dynamic_program.hpp"
#include "eindecomp/plan/partition.hpp"

namespace eindecomp {
namespace plan {

/// Per statement the only one that reads it: -1 if none does, -2 if several do. Of inputs -1.
[[nodiscard]] constexpr std::vector<VertexId> only_readers(const EinGraph& graph) {
  std::vector<VertexId> reader(graph.vertices.size(), -1);
  for (VertexId v = 0; v < graph.size(); ++v) {
    for (const Operand& operand : graph[v].operands) {
      if (graph[operand.vertex].is_input()) continue;
      VertexId& known = reader[to_index(operand.vertex)];
      known = known == -1 || known == v ? v : -2;
    }
  }
  return reader;
}

}  // namespace plan

/// Whether tree_dp may be used: no statement's result is read by two statements. (One that reads
/// the same result in two slots, X·X, is as good as a tree: the slots are decided together.)
[[nodiscard]] constexpr bool is_forest(const EinGraph& graph) {
  return std::ranges::count(plan::only_readers(graph), -2) == 0;
}

/// The partition vectors of least graph cost for p workers; exact.
///
/// The graph must be a forest (is_forest). Takes time per statement in proportion to its partition
/// vectors times its operands, and per operand to the partitions of the producer's output times
/// those that the consumer may ask for.
[[nodiscard]] constexpr Partitions tree_dp(const EinGraph& graph, int p) {
  Partitions partitions(graph.vertices.size());
  plan::DynamicProgram(graph, p).minimise(statements_of(graph), plan::only_readers(graph),
                                          partitions);
  return partitions;
}

/// The longest path, in graph order, of statements that have no partition vector yet; empty if all
/// have one. Of equally long paths the one that ends in the earliest statement and reaches each
/// from its earliest producer.
[[nodiscard]] constexpr std::vector<VertexId> longest_path(const EinGraph& graph,
                                                           const Flags& labelled) {
  std::vector<int> length(graph.vertices.size(), 0);
  std::vector<VertexId> before(graph.vertices.size(), -1);
  VertexId last = -1;
  for (VertexId v = 0; v < graph.size(); ++v) {
    const auto at = to_index(v);
    if (graph[v].is_input() || labelled[at]) continue;
    for (const Operand& operand : graph[v].operands) {
      const auto u = to_index(operand.vertex);
      if (length[u] > length[at] ||
          (length[u] == length[at] && length[u] > 0 && operand.vertex < before[at])) {
        length[at] = length[u];
        before[at] = operand.vertex;
      }
    }
    ++length[at];
    if (last < 0 || length[at] > length[to_index(last)]) last = v;
  }
  std::vector<VertexId> path;
  for (; last >= 0; last = before[to_index(last)]) path.push_back(last);
  std::ranges::reverse(path);
  return path;
}

/// The paper's approximation for general graphs (section 8.4): labels the longest path of
/// unlabelled statements by the dynamic program, without the repartition of operands off the path,
/// until all statements are labelled.
[[nodiscard]] constexpr Partitions linearize(const EinGraph& graph, int p) {
  plan::DynamicProgram program(graph, p);
  Partitions partitions(graph.vertices.size());
  Flags labelled(graph.vertices.size(), false);
  while (true) {
    const std::vector<VertexId> path = longest_path(graph, labelled);
    if (path.empty()) return partitions;
    std::vector<VertexId> reader(graph.vertices.size(), -1);
    for (std::size_t n = 0; n < path.size(); ++n) {
      labelled[to_index(path[n])] = true;
      if (n > 0) reader[to_index(path[n - 1])] = path[n];
    }
    program.minimise(path, reader, partitions);
  }
}

/// EinDecomp as the paper has it: tree_dp where the graph is a forest, else linearize.
[[nodiscard]] constexpr Partitions ein_decomp(const EinGraph& graph, int p) {
  // Not a conditional expression: g++ 12 destroys its result too early in constant expressions.
  if (is_forest(graph)) return tree_dp(graph, p);
  return linearize(graph, p);
}

}  // namespace eindecomp
