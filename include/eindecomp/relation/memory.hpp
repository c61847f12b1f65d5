// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How much memory schedules need, and for which statement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/schedule.hpp"

namespace eindecomp {
namespace detail {

[[nodiscard]] inline std::int64_t staged_bytes(const EinGraph& graph, const RankSchedule& schedule,
                                               const std::vector<Message>& messages) {
  std::int64_t bytes = 0;
  for (const Message& message : messages) {
    if (message.staging < 0 || message.regions.empty()) continue;
    const auto at = static_cast<std::size_t>(message.regions.front().buffer);
    const Buffer& buffer = schedule.buffers[at];
    const Vertex& tensor = graph[buffer.tensor];
    bytes += message.words * (buffer.partial ? tensor.partial.bytes : tensor.element.bytes);
  }
  return bytes;
}

}  // namespace detail

/// Bytes of tensors that a rank holds while it runs each of its steps: stored inputs and results,
/// assembled operands, accumulators and messages.
[[nodiscard]] inline std::vector<std::int64_t> bytes_by_step(const EinGraph& graph,
                                                             const RankSchedule& schedule) {
  // What begins and ends with a step, then summed up.
  std::vector<std::int64_t> bytes(schedule.steps.size() + 1, 0);
  for (const Buffer& buffer : schedule.buffers) {
    if (buffer.role != Buffer::Role::scratch) continue;
    bytes[static_cast<std::size_t>(buffer.first)] += buffer.bytes;
    bytes[static_cast<std::size_t>(buffer.last) + 1] -= buffer.bytes;
  }
  bytes.pop_back();
  std::int64_t held = schedule.input_bytes + schedule.result_bytes;
  for (std::size_t s = 0; s < bytes.size(); ++s) {
    held += bytes[s];
    bytes[s] = held;
    const Step& step = schedule.steps[s];
    for (const auto* list :
         {&step.receives, &step.sends, &step.partial_receives, &step.partial_sends}) {
      bytes[s] += detail::staged_bytes(graph, schedule, *list);
    }
  }
  return bytes;
}

/// The most bytes of tensors on any rank, and where.
struct MemoryPeak {
  std::int64_t bytes = 0;   ///< held by that rank
  int rank = 0;             ///< the one that holds most
  VertexId statement = -1;  ///< during which the rank holds most; -1 if there is none
};

/// The rank that holds most of these schedules, and its bytes as RankSchedule::peak_bytes() has
/// them: what a run allocates, gaps between blocks included.
[[nodiscard]] inline MemoryPeak memory_peak(const EinGraph& graph,
                                            const std::vector<RankSchedule>& schedules) {
  const auto most = std::max_element(
      schedules.begin(), schedules.end(),
      [](const RankSchedule& a, const RankSchedule& b) { return a.peak_bytes() < b.peak_bytes(); });
  if (most == schedules.end()) return {};
  MemoryPeak peak{most->peak_bytes(), most->rank, -1};
  const std::vector<std::int64_t> bytes = bytes_by_step(graph, *most);
  const auto step = std::max_element(bytes.begin(), bytes.end());
  if (step != bytes.end()) {
    peak.statement = most->steps[static_cast<std::size_t>(step - bytes.begin())].statement;
  }
  return peak;
}

}  // namespace eindecomp
