// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The interpreter of a rank's schedule: transfers, copies, kernel calls, aggregations.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/kernel/copy/box_kernel.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/relation/schedule.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/strips.hpp"
#include "eindecomp/run/transport.hpp"

namespace eindecomp::detail {

/// The launchers of a program's statements, by vertex; null for inputs.
template <class Space>
using Launchers = std::vector<const kernel::Launcher<Space>*>;

/// The size of the elements a buffer holds.
[[nodiscard]] inline int element_bytes(const EinGraph& graph, const Buffer& buffer) {
  const Vertex& v = graph[buffer.tensor];
  return static_cast<int>(buffer.partial ? v.partial.bytes : v.element.bytes);
}

/// The most bytes of messages, in and out together, of any phase of a schedule.
[[nodiscard]] inline std::int64_t most_message_bytes(const EinGraph& graph,
                                                     const RankSchedule& schedule) {
  std::int64_t most = 0;
  const auto phase = [&](const std::vector<Message>& one, const std::vector<Message>& other) {
    std::int64_t bytes = 0;
    for (const std::vector<Message>* messages : {&one, &other}) {
      for (const Message& m : *messages) {
        if (m.regions.empty()) continue;
        bytes += m.words * element_bytes(graph, schedule.buffers[at(m.regions[0].buffer)]);
      }
    }
    most = std::max(most, bytes);
  };
  for (const Step& step : schedule.steps) {
    phase(step.receives, step.sends);
    phase(step.partial_receives, step.partial_sends);
  }
  return most;
}

/// The most bytes that any kernel call of a schedule takes for itself.
template <class Space>
[[nodiscard]] std::int64_t most_workspace_bytes(const Space& space, const EinGraph& graph,
                                                const RankSchedule& schedule,
                                                const Launchers<Space>& launchers,
                                                const std::vector<BlockMemory>& buffers) {
  std::int64_t most = 0;
  for (const Step& step : schedule.steps) {
    for (const KernelCall& call : step.calls) {
      const CallMemory memory = call_memory(graph[step.statement], call, buffers);
      most = std::max(most, launchers[at(step.statement)]->workspace_bytes(space, memory.shape));
    }
  }
  return most;
}

/// Runs a schedule's steps once, on buffers that all have memory. Allocates nothing itself.
template <class Space, comm::Communicator Group>
class StepRunner {
 public:
  /// \param buffers where each buffer of the schedule lies. \param arena of schedule.arena_bytes.
  /// \param strips what runs strip by strip, in the schedule's order. \param own memory for it.
  /// \param host for messages that pass through the host, of most_message_bytes; null if none do.
  /// \param current the step that runs, for others to read.
  StepRunner(const Space& space, Group& group, const EinGraph& graph, const RankSchedule& schedule,
             const Launchers<Space>& launchers, const std::vector<BlockMemory>& buffers,
             const std::vector<StripRun>& strips, char* own, char* arena, char* host,
             std::atomic<int>& current)
      : m_space(space),
        m_group(group),
        m_graph(graph),
        m_schedule(schedule),
        m_launchers(launchers),
        m_buffers(buffers),
        m_strips(strips),
        m_own(own),
        m_arena(arena),
        m_host(host),
        m_current(current) {}

  /// Collective over the ranks of the schedule. Fences `space` before MPI reads or writes what its
  /// kernels touch, and once at the end.
  void run() {
    int tag = 0;
    auto strips = m_strips.begin();
    for (std::size_t s = 0; s < m_schedule.steps.size(); ++s) {
      const Step& step = m_schedule.steps[s];
      m_current.store(static_cast<int>(s), std::memory_order_relaxed);
      const compat::ScopedRegion region("EinDecomp::", m_graph[step.statement].name);
      if (strips != m_strips.end() && strips->begin == s) {
        strips->run(m_space, m_buffers, m_own, compat::host_threads(m_space));
        tag = static_cast<int>((tag + 2 * (strips->end - s)) % most_tags);
        s = strips->end - 1;
        ++strips;
        continue;
      }
      // Tags wrap at what every MPI allows; messages of a pair stay in order all the same.
      transfer(step.receives, step.sends, tag);
      for (const Copy& c : step.copies) {
        copy_part(m_space, c.box, m_buffers[at(c.to)], m_buffers[at(c.from)]);
      }
      for (const KernelCall& call : step.calls) join(step, call);
      transfer(step.partial_receives, step.partial_sends, tag + 1);
      for (const BlockAggregation& a : step.aggregations) aggregate(step, a);
      tag = (tag + 2) % most_tags;
    }
    compat::fence(m_space, "EinDecomp::end of a run");
  }

 private:
  static constexpr int most_tags = 32766;

  /// A message's memory in the space: its staging, or the one region it consists of.
  [[nodiscard]] char* packed(const Message& m) const {
    if (m.staging >= 0) return m_arena + m.staging;
    const Region& only = m.regions.front();
    return m_buffers[at(only.buffer)].at(only.box.lo);
  }
  [[nodiscard]] int bytes_of(const Message& m) const {
    return m_buffers[at(m.regions.front().buffer)].bytes;
  }

  /// Calls visit(box, block in the staging, block of the buffer) for each region of a message.
  template <class Visit>
  void for_each_region(const Message& m, const Visit& visit) const {
    if (m.staging < 0) return;
    char* next = m_arena + m.staging;
    for (const Region& region : m.regions) {
      const BlockMemory& buffer = m_buffers[at(region.buffer)];
      visit(region.box, BlockMemory::dense(next, region.box, buffer.bytes), buffer);
      next += region.box.size() * buffer.bytes;
    }
  }

  void transfer(const std::vector<Message>& receives, const std::vector<Message>& sends, int tag) {
    if (receives.empty() && sends.empty()) return;
    for (const Message& m : sends) {
      for_each_region(m,
                      [this](const Box& box, const BlockMemory& staged, const BlockMemory& buffer) {
                        copy_part(m_space, box, staged, buffer);
                      });
    }
    char* host = m_host;
    if (host != nullptr) {
      for (const Message& m : sends) {
        const std::int64_t bytes = m.words * bytes_of(m);
        copy_to_host(m_space, host, packed(m), bytes);
        host += bytes;
      }
    }
    // Also for the receives: kernels may still read what lay in their place before.
    compat::fence(m_space, "EinDecomp::before messages");
    host = m_host;
    const auto next_on_host = [&](const Message& m) {
      char* here = host;
      host += m.words * bytes_of(m);
      return here;
    };
    for (const Message& m : sends) {
      if (m.words == 0) continue;
      const char* data = host != nullptr ? next_on_host(m) : packed(m);
      m_group.send(m.peer, data, m.words, bytes_of(m), tag);
    }
    char* const received = host;
    for (const Message& m : receives) {
      if (m.words == 0) continue;
      char* data = host != nullptr ? next_on_host(m) : packed(m);
      m_group.receive(m.peer, data, m.words, bytes_of(m), tag);
    }
    m_group.wait();
    host = received;
    for (const Message& m : receives) {
      if (host != nullptr && m.words > 0) {
        copy_from_host(m_space, packed(m), next_on_host(m), m.words * bytes_of(m));
      }
      for_each_region(m,
                      [this](const Box& box, const BlockMemory& staged, const BlockMemory& buffer) {
                        copy_part(m_space, box, buffer, staged);
                      });
    }
    // The next phase writes to the host's copies again.
    if (m_host != nullptr) compat::fence(m_space, "EinDecomp::after messages");
  }

  void join(const Step& step, const KernelCall& call) {
    const CallMemory memory = call_memory(m_graph[step.statement], call, m_buffers);
    const kernel::Write write = call.finish       ? kernel::Write::finished
                                : call.accumulate ? kernel::Write::accumulate
                                                  : kernel::Write::partial;
    launcher(step).join(m_space, memory.shape, memory.operands, memory.output, write);
  }

  void aggregate(const Step& step, const BlockAggregation& aggregation) {
    if (aggregation.parts.empty() || aggregation.target.box.empty()) return;
    // The first part takes the others in; its box belongs to this aggregation alone.
    const Box& box = aggregation.target.box;
    const BlockMemory& total = m_buffers[at(aggregation.parts.front().buffer)];
    for (std::size_t i = 1; i < aggregation.parts.size(); ++i) {
      const BlockMemory& part = m_buffers[at(aggregation.parts[i].buffer)];
      launcher(step).combine(m_space, strided_box(box, total, part), total.at(box.lo),
                             part.at(box.lo));
    }
    const BlockMemory& target = m_buffers[at(aggregation.target.buffer)];
    launcher(step).finish(m_space, strided_box(box, target, total), target.at(box.lo),
                          total.at(box.lo));
  }

  [[nodiscard]] const kernel::Launcher<Space>& launcher(const Step& step) const {
    return *m_launchers[at(step.statement)];
  }

  const Space& m_space;
  Group& m_group;
  const EinGraph& m_graph;
  const RankSchedule& m_schedule;
  const Launchers<Space>& m_launchers;
  const std::vector<BlockMemory>& m_buffers;
  const std::vector<StripRun>& m_strips;
  char* m_own;
  char* m_arena;
  char* m_host;
  std::atomic<int>& m_current;
};

}  // namespace eindecomp::detail
