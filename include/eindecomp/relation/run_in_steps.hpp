// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From a schedule that runs statement after statement to one that runs groups of them in steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/schedule.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::detail {

/// Rewrites the steps and the buffers of one rank's schedule, before buffers have places. A group
/// becomes one step per statement for what its statements copy and exchange, in their order, and
/// then, block by block, one step per statement for the calls. So every rank has the same steps.
class StepSplitter {
 public:
  StepSplitter(const EinGraph& graph, const std::vector<StepGroup>& groups, RankSchedule& schedule)
      : m_graph(graph), m_groups(groups), m_schedule(schedule) {}

  void run() {
    std::vector<Step> before = std::move(m_schedule.steps);
    m_schedule.steps.clear();
    m_first.resize(before.size());
    m_last.resize(before.size());
    const std::size_t buffers = m_schedule.buffers.size();
    auto group = m_groups.begin();
    for (std::size_t s = 0; s < before.size();) {
      while (group != m_groups.end() && group->last < before[s].statement) ++group;
      if (group == m_groups.end() || !group->contains(before[s].statement)) {
        m_first[s] = m_last[s] = now();
        m_schedule.steps.push_back(std::move(before[s++]));
        continue;
      }
      std::size_t end = s;
      while (end < before.size() && group->contains(before[end].statement)) ++end;
      split(*group, before, s, end);
      s = end;
    }
    for (std::size_t b = 0; b < buffers; ++b) {
      Buffer& buffer = m_schedule.buffers[b];
      buffer.first = m_first[static_cast<std::size_t>(buffer.first)];
      buffer.last = m_last[static_cast<std::size_t>(buffer.last)];
    }
    remove_whole_buffers();
  }

 private:
  [[nodiscard]] int now() const { return static_cast<int>(m_schedule.steps.size()); }

  void split(const StepGroup& group, std::vector<Step>& before, std::size_t begin,
             std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) m_first[s] = now();
    std::vector<VertexId> statements;
    std::vector<std::vector<KernelCall>> calls;
    for (std::size_t s = begin; s < end; ++s) {
      statements.push_back(before[s].statement);
      calls.push_back(std::move(before[s].calls));
      before[s].calls.clear();
      m_schedule.steps.push_back(std::move(before[s]));
    }
    m_replaced.resize(m_schedule.buffers.size(), false);
    const Flags inside = passed_on(m_graph, group);
    const Extent blocks = group.steps();
    for (Extent n = 0; n < blocks; ++n) {
      m_blocks.clear();
      for (std::size_t s = 0; s < calls.size(); ++s) {
        Step step;
        step.statement = statements[s];
        for (const KernelCall& whole : calls[s]) {
          KernelCall call = whole;
          restrict_domain(call.domain, group, s, n);
          if (call.domain.empty()) continue;
          const Vertex& v = m_graph[step.statement];
          for (std::size_t o = 0; o < call.operands.size(); ++o) {
            call.operands[o] =
                block_of(call.operands[o], v.operands[o].labels, call.domain, group, inside);
          }
          call.output = block_of(call.output, v.output, call.domain, group, inside);
          step.calls.push_back(std::move(call));
        }
        m_schedule.steps.push_back(std::move(step));
      }
    }
    for (std::size_t s = begin; s < end; ++s) m_last[s] = now() - 1;
  }

  /// Leaves of a call's domain what belongs to block n of its group.
  static void restrict_domain(Box& domain, const StepGroup& group, std::size_t statement,
                              Extent n) {
    for (std::size_t a = group.axes.size(); a-- > 0;) {
      const StepAxis& axis = group.axes[a];
      const auto l = static_cast<std::size_t>(axis.positions[statement]);
      const Extent lo = domain.lo[l];
      const Extent extent = domain.hi[l] - lo;
      const Extent part = n % axis.parts;
      n /= axis.parts;
      domain.lo[l] = lo + part_begin(extent, axis.parts, part);
      domain.hi[l] = lo + part_begin(extent, axis.parts, part + 1);
    }
  }

  /// The buffer of one block in place of the whole one, if the tensor exists block by block.
  int block_of(int whole, const std::vector<int>& positions, const Box& domain,
               const StepGroup& group, const Flags& inside) {
    const VertexId tensor = m_schedule.buffers[static_cast<std::size_t>(whole)].tensor;
    if (!group.contains(tensor) || !inside[static_cast<std::size_t>(tensor - group.first)]) {
      return whole;
    }
    m_replaced[static_cast<std::size_t>(whole)] = true;
    const auto [found, fresh] = m_blocks.try_emplace(whole, 0);
    if (fresh) {
      found->second = static_cast<int>(m_schedule.buffers.size());
      Buffer block = m_schedule.buffers[static_cast<std::size_t>(whole)];
      const std::int64_t element = block.bytes / block.box.size();
      for (std::size_t k = 0; k < positions.size(); ++k) {
        block.box.lo[k] = domain.lo[static_cast<std::size_t>(positions[k])];
        block.box.hi[k] = domain.hi[static_cast<std::size_t>(positions[k])];
      }
      block.bytes = element * block.box.size();
      block.first = now();
      m_schedule.buffers.push_back(std::move(block));
    }
    m_schedule.buffers[static_cast<std::size_t>(found->second)].last = now();
    return found->second;
  }

  /// Takes out the buffers that nobody uses any more, and renumbers the others.
  void remove_whole_buffers() {
    m_replaced.resize(m_schedule.buffers.size(), false);
    std::vector<int> number(m_schedule.buffers.size(), -1);
    std::vector<Buffer> kept;
    for (std::size_t b = 0; b < m_schedule.buffers.size(); ++b) {
      if (m_replaced[b]) continue;
      number[b] = static_cast<int>(kept.size());
      kept.push_back(std::move(m_schedule.buffers[b]));
    }
    m_schedule.buffers = std::move(kept);
    const auto renumber = [&](int& buffer) { buffer = number[static_cast<std::size_t>(buffer)]; };
    for (Step& step : m_schedule.steps) {
      for (auto* messages :
           {&step.receives, &step.sends, &step.partial_receives, &step.partial_sends}) {
        for (Message& m : *messages) {
          for (Region& region : m.regions) renumber(region.buffer);
        }
      }
      for (Copy& copy : step.copies) {
        renumber(copy.from);
        renumber(copy.to);
      }
      for (KernelCall& call : step.calls) {
        for (int& operand : call.operands) renumber(operand);
        renumber(call.output);
      }
      for (BlockAggregation& aggregation : step.aggregations) {
        renumber(aggregation.target.buffer);
        for (Region& part : aggregation.parts) renumber(part.buffer);
      }
    }
  }

  const EinGraph& m_graph;
  const std::vector<StepGroup>& m_groups;
  RankSchedule& m_schedule;
  std::vector<int> m_first, m_last;       ///< by step before: the steps it has become
  Flags m_replaced;                       ///< by buffer: exists block by block instead
  std::unordered_map<int, int> m_blocks;  ///< of the block at hand, by whole buffer
};

}  // namespace eindecomp::detail
