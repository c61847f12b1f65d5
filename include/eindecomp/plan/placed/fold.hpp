// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Repeated blocks of a program (layers), which are cut alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/hash.hpp"
#include "eindecomp/plan/partition.hpp"

namespace eindecomp::detail {

/// Which statement every statement is cut like: in a program of repeated blocks the one at the same
/// place of the first of them; else itself. Blocks are stretches of statements that equal those
/// `period` earlier in labels, extents and in what they read relative to themselves.
[[nodiscard]] inline std::vector<VertexId> fold(const EinGraph& graph) {
  std::vector<VertexId> statements;
  std::vector<int> ordinal(graph.vertices.size(), -1);
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (graph[v].is_input()) continue;
    ordinal[static_cast<std::size_t>(v)] = static_cast<int>(statements.size());
    statements.push_back(v);
  }
  std::vector<VertexId> like(graph.vertices.size());
  for (VertexId v = 0; v < graph.size(); ++v) like[static_cast<std::size_t>(v)] = v;
  const std::size_t n = statements.size();
  if (n < 24) return like;

  std::vector<std::uint64_t> signature(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Vertex& v = graph[statements[i]];
    Hasher hasher;
    hasher.add(v.extents);
    for (Extent limit : part_limits(graph, statements[i])) {
      hasher.add(static_cast<std::uint64_t>(limit));
    }
    for (int l : v.output) hasher.add(static_cast<std::uint64_t>(l));
    for (const Operand& o : v.operands) {
      const int producer = ordinal[static_cast<std::size_t>(o.vertex)];
      hasher.add(producer < 0 ? std::uint64_t{0} : i - static_cast<std::size_t>(producer));
      for (int l : o.labels) hasher.add(static_cast<std::uint64_t>(l) + 100);
    }
    signature[i] = hasher.value();
  }
  // The period that spares most.
  std::size_t best_period = 0;
  std::size_t most = 0;
  for (std::size_t period = 2; period <= n / 2; ++period) {
    std::size_t spared = 0;
    std::size_t run = 0;
    for (std::size_t i = period; i <= n; ++i) {
      if (i < n && signature[i] == signature[i - period]) {
        ++run;
        continue;
      }
      if (run >= period) spared += run;
      run = 0;
    }
    if (spared > most) {
      most = spared;
      best_period = period;
    }
  }
  if (most == 0) return like;
  for (std::size_t i = best_period; i < n;) {
    std::size_t end = i;
    while (end < n && signature[end] == signature[end - best_period]) ++end;
    if (end - i >= best_period) {
      for (std::size_t j = i; j < end; ++j) {
        like[static_cast<std::size_t>(statements[j])] =
            like[static_cast<std::size_t>(statements[j - best_period])];
      }
    }
    i = end + 1;
  }
  return like;
}

}  // namespace eindecomp::detail
