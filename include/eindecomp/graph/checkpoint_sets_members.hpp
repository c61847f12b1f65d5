// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How a forward pass is cut into segments. With EINDECOMP_SEPARATE_PLANNER, one translation unit
/// compiles it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/graph/checkpoint_sets.hpp"
#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp::graph {

EINDECOMP_PLANNER_INLINE ForwardPass::ForwardPass(const EinGraph& graph, VertexId to) {
  const auto bytes_of = [](const Vertex& v) {
    return static_cast<double>(v.size()) * static_cast<double>(v.element.bytes);
  };
  std::vector<bool> leads(to_index(to) + 1, false);
  m_last_reader.assign(to_index(to) + 1, -1);
  leads[to_index(to)] = true;
  for (VertexId v = to; v >= 0; --v) {
    if (!leads[to_index(v)]) continue;
    for (const Operand& o : graph[v].operands) {
      leads[to_index(o.vertex)] = true;
      m_last_reader[to_index(o.vertex)] = std::max(m_last_reader[to_index(o.vertex)], v);
    }
  }
  std::vector<double> last_read(to_index(to) + 1, 0);  // bytes, by the last reader
  double live_bytes = 0;
  for (VertexId v = 0; v <= to; ++v) {
    if (!leads[to_index(v)] || graph[v].is_input()) continue;
    const double bytes = bytes_of(graph[v]);
    m_bytes += bytes;
    live_bytes += bytes - last_read[to_index(v)];
    m_cuts.push_back({v, m_bytes, live_bytes});
    if (v != to) last_read[to_index(m_last_reader[to_index(v)])] += bytes;
  }
}

EINDECOMP_PLANNER_INLINE bool ForwardPass::takes(int segments) const {
  return static_cast<std::size_t>(segments) * static_cast<std::size_t>(segments) <=
         4 * m_cuts.size();
}

EINDECOMP_PLANNER_INLINE std::vector<VertexId> ForwardPass::checkpoints(int segments) const {
  std::vector<VertexId> kept;
  for (int n = 1; n < segments; ++n) {
    const double wanted = m_bytes * n / segments;
    const double reach = m_bytes / (2.0 * segments);
    const Cut* best = nullptr;
    for (const Cut& cut : m_cuts) {
      const auto distance = [wanted](const Cut& c) { return std::abs(c.before - wanted); };
      if (distance(cut) > reach) continue;
      if (best == nullptr ||
          std::pair(cut.live_bytes, distance(cut)) < std::pair(best->live_bytes, distance(*best))) {
        best = &cut;
      }
    }
    if (best == nullptr) continue;
    for (const Cut* cut = m_cuts.data(); cut <= best; ++cut) {
      if (m_last_reader[to_index(cut->behind)] > best->behind) kept.push_back(cut->behind);
    }
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

}  // namespace eindecomp::graph
