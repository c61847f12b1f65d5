// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// When each statement of a timeline runs. With EINDECOMP_SEPARATE_PLANNER, one translation unit
/// compiles it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/timeline.hpp"

namespace eindecomp {

EINDECOMP_PLANNER_INLINE Timeline timeline_of(const EinGraph& graph,
                                              std::vector<std::vector<Event>> events) {
  Timeline timeline;
  std::vector<std::size_t> time_of(graph.vertices.size(), 0);
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (graph[v].is_input()) continue;
    time_of[to_index(v)] = timeline.statements.size();
    timeline.statements.push_back({v, -1, 0, 0, 0, 0});
  }
  std::vector<double> transfers;  // of a rank, per statement, in seconds
  std::vector<double> kernels;
  for (const std::vector<Event>& rank : events) {
    transfers.assign(timeline.statements.size(), 0);
    kernels.assign(timeline.statements.size(), 0);
    double transferred = 0;  // until when; messages that are under way together count once
    for (const Event& e : rank) {
      const std::size_t at = time_of[to_index(e.statement)];
      StatementTime& time = timeline.statements[at];
      time.begin = time.begin < 0 ? e.begin : std::min(time.begin, e.begin);
      time.end = std::max(time.end, e.end);
      if (e.computes()) {
        kernels[at] += e.seconds();
      } else {
        transfers[at] += std::max(e.end - std::max(e.begin, transferred), 0.0);
        transferred = std::max(transferred, e.end);
      }
    }
    for (std::size_t s = 0; s < timeline.statements.size(); ++s) {
      StatementTime& time = timeline.statements[s];
      time.transfers = std::max(time.transfers, transfers[s]);
      time.kernels = std::max(time.kernels, kernels[s]);
    }
  }
  for (StatementTime& time : timeline.statements) {
    time.begin = std::max(time.begin, 0.0);
    time.adds = std::max(time.end - timeline.seconds, 0.0);
    timeline.seconds = std::max(timeline.seconds, time.end);
  }
  timeline.events = std::move(events);
  return timeline;
}

}  // namespace eindecomp
