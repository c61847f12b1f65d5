// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where a forward pass may be cut into segments, between which checkpoints lie. Knows no
/// operators.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp::graph {

/// How many segments with_checkpoints() tries.
inline constexpr int segment_counts[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

/// The statements that lead to a tensor, cut into segments of about equal bytes at places where
/// little is read across.
class ForwardPass {
 public:
  ForwardPass(const EinGraph& graph, VertexId to) {
    const auto at = [](VertexId v) { return static_cast<std::size_t>(v); };
    std::vector<bool> leads(at(to) + 1, false);
    std::vector<VertexId> last_reader(at(to) + 1, -1);
    leads[at(to)] = true;
    for (VertexId v = to; v >= 0; --v) {
      if (!leads[at(v)]) continue;
      for (const Operand& o : graph[v].operands) {
        leads[at(o.vertex)] = true;
        last_reader[at(o.vertex)] = std::max(last_reader[at(o.vertex)], v);
      }
    }
    std::vector<VertexId> live;
    for (VertexId v = 0; v <= to; ++v) {
      if (!leads[at(v)] || graph[v].is_input()) continue;
      std::erase_if(live, [&](VertexId u) { return last_reader[at(u)] <= v; });
      live.push_back(v);
      m_bytes += bytes_of(graph[v]);
      Cut cut{m_bytes, 0, live};
      for (const VertexId u : live) cut.live_bytes += bytes_of(graph[u]);
      m_cuts.push_back(std::move(cut));
    }
  }

  /// Whether so many segments may save more memory than fewer: with more than some √n of n
  /// statements, the checkpoints are more than what lies between two of them.
  [[nodiscard]] bool takes(int segments) const {
    return static_cast<std::size_t>(segments) * static_cast<std::size_t>(segments) <=
           4 * m_cuts.size();
  }

  /// The tensors that are read across the places that cut the pass into so many segments.
  [[nodiscard]] std::vector<VertexId> checkpoints(int segments) const {
    std::vector<VertexId> kept;
    for (int n = 1; n < segments; ++n) {
      const double wanted = m_bytes * n / segments;
      const double reach = m_bytes / (2.0 * segments);
      const Cut* best = nullptr;
      for (const Cut& cut : m_cuts) {
        const auto distance = [wanted](const Cut& c) { return std::abs(c.before - wanted); };
        if (distance(cut) > reach) continue;
        if (best == nullptr || std::pair(cut.live_bytes, distance(cut)) <
                                   std::pair(best->live_bytes, distance(*best))) {
          best = &cut;
        }
      }
      if (best != nullptr) kept.insert(kept.end(), best->live.begin(), best->live.end());
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    return kept;
  }

 private:
  /// A place behind a statement.
  struct Cut {
    double before = 0;           ///< bytes of the results before it
    double live_bytes = 0;       ///< those of `live`
    std::vector<VertexId> live;  ///< results before it that are read behind it
  };
  [[nodiscard]] static double bytes_of(const Vertex& v) {
    return static_cast<double>(v.size()) * static_cast<double>(v.element.bytes);
  }

  double m_bytes = 0;
  std::vector<Cut> m_cuts;
};

}  // namespace eindecomp::graph
