// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which statements of a placed program are streamed, and in how many panels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/machine.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/instruction_work.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/panels.hpp"
#include "eindecomp/relation/relay_rounds.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"

namespace eindecomp::plan {

/// Gives a streamed statement its stripes: as many as the parts in which ranks store its operands
/// and call its kernels along the label, so that of every panel each rank has some to send, and
/// something to compute.
/// \param readers  EinGraph::reader_counts()
inline void set_stripes(const EinGraph& graph, const std::vector<int>& readers,
                        const Placement& placement, StepGroup& group) {
  if (!is_streamed(graph, group)) return;
  StepAxis& axis = group.axes.front();
  const int label = axis.positions.front();
  const Vertex& v = graph[group.first];
  const auto parts = [&](const AxisLists& lists, std::ptrdiff_t at) {
    return parts_of(placement.mesh, lists)[to_index(at)];
  };
  Extent stripes = parts(placement.calls[to_index(group.first)], label);
  const Flags streamed = relation::streamed_operands(graph, group, readers, {});
  for (std::size_t o = 0; o < v.operands.size(); ++o) {
    if (!streamed[o]) continue;
    const std::vector<int>& labels = v.operands[o].labels;
    const auto k = std::find(labels.begin(), labels.end(), label) - labels.begin();
    stripes = std::lcm(stripes, parts(placement.stored[to_index(v.operands[o].vertex)], k));
  }
  if (stripes <= v.extents[to_index(label)] / std::max<Extent>(axis.parts, 1)) {
    axis.stripes = stripes;
  }
}

/// Chooses the statements that are streamed: those for which transfers and kernels together take
/// less time on the machine than one after the other, or, for memory's sake, those that gather most
/// of their operands.
class PanelChooser {
 public:
  PanelChooser(const EinGraph& graph, const Placement& placement, const DecomposeOptions& options)
      : m_graph(graph),
        m_readers(graph.reader_counts()),
        m_last_reader(relation::last_readers(graph)),
        m_placement(placement),
        m_options(options),
        m_ranks(ranks_of(options)) {}

  /// Adds streamed statements to groups of steps, for those that are in none.
  /// \param held  bytes of panels that a statement may hold at a time; 0: as many as are fast
  void add_to(std::vector<StepGroup>& groups, std::int64_t held) const {
    if (m_ranks == 1) return;
    std::vector<StepGroup> found;
    auto group = groups.begin();
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      while (group != groups.end() && group->last < v) ++group;
      if (m_graph[v].is_input() || (group != groups.end() && group->contains(v))) continue;
      if (auto streamed = best(v, held)) found.push_back(std::move(*streamed));
    }
    if (found.empty()) return;
    groups.insert(groups.end(), found.begin(), found.end());
    std::ranges::sort(groups, {}, &StepGroup::first);
  }

 private:
  /// What a worker gathers for a statement.
  struct Gathered {
    std::int64_t bytes = 0;    ///< from other workers, panel by panel
    std::int64_t whole = 0;    ///< before the first panel
    std::int64_t message = 0;  ///< of the shortest message, if there were one panel
    int messages = 0;          ///< for one panel
    int rounds = 0;            ///< of a panel's messages
  };

  [[nodiscard]] std::optional<StepGroup> best(VertexId v, std::int64_t held) const {
    std::optional<StepGroup> best;
    std::int64_t most = 0;
    for (const int label : m_graph[v].aggregated) {
      StepGroup group{v, v, {{{label}}}};
      set_stripes(m_graph, m_readers, m_placement, group);
      if (!step_fault(m_graph, m_placement, group, m_last_reader).empty()) continue;
      const Gathered gathered = gathered_for(group);
      if (gathered.bytes <= most) continue;
      const Extent stripe = m_graph[v].extents[to_index(label)] / group.axes.front().stripes;
      const Extent panels =
          held > 0 ? panels_within(gathered, stripe, held) : fastest(v, gathered, stripe);
      if (panels <= 1) continue;
      most = gathered.bytes;
      group.axes.front().parts = panels;
      best = std::move(group);
    }
    return best;
  }

  /// What the busier of the first and the last worker gathers.
  [[nodiscard]] Gathered gathered_for(const StepGroup& group) const {
    const Vertex& v = m_graph[group.first];
    const BlockMap calls(m_placement.mesh, v.extents, m_placement.calls[to_index(group.first)]);
    const Flags streamed = relation::streamed_operands(m_graph, group, m_readers, {});
    Gathered most;
    for (const int worker : {0, m_placement.mesh.workers() - 1}) {
      const Extent call = calls.block(worker);
      if (call < 0) continue;
      Gathered here;
      here.message = std::numeric_limits<std::int64_t>::max();
      const Box domain = calls.relation().block(call);
      for (std::size_t o = 0; o < v.operands.size(); ++o) {
        const Operand& operand = v.operands[o];
        if (operand.is_computed()) continue;
        const Vertex& tensor = m_graph[operand.vertex];
        Box needed;
        for (const int l : operand.labels) {
          needed.lo.push_back(domain.lo[to_index(l)]);
          needed.hi.push_back(domain.hi[to_index(l)]);
        }
        const BlockMap stored(m_placement.mesh, tensor.bound,
                              m_placement.stored[to_index(operand.vertex)]);
        const Extent own = stored.block(worker);
        Extent words = needed.size();
        if (own >= 0) words -= intersect(needed, stored.relation().block(own)).size();
        if (words == 0) continue;
        if (!streamed[o]) {
          here.whole += words * tensor.element.bytes;
          continue;
        }
        const Extent pieces = stored.relation().meeting(needed).size();
        const relation::RelayRounds relay(static_cast<int>(pieces));
        here.bytes += words * tensor.element.bytes;
        here.messages += static_cast<int>(pieces);
        here.rounds = std::max(here.rounds, relay.rounds() - 1);
        here.message = std::min(here.message, words * tensor.element.bytes / pieces);
      }
      if (here.bytes > most.bytes) most = here;
    }
    return most;
  }

  /// The fewest panels of which so many bytes hold those that are needed and under way.
  [[nodiscard]] Extent panels_within(const Gathered& gathered, Extent stripe,
                                     std::int64_t held) const {
    const std::int64_t alive = gathered.bytes * (gathered.rounds + 1);
    const Extent messages = Extent{m_ranks} * std::max(gathered.messages, 1);
    const Extent most =
        std::min({stripe, tuning::max_panels_for_memory,
                  std::max(tuning::max_streamed_messages / messages, tuning::max_panels)});
    return std::clamp<Extent>(ceil_div(alive, held), 1, most);
  }

  /// The number of panels that takes least time; 1 if streaming gains too little. If nothing is
  /// known of the machine, as many as cost little on any, where what is gathered is much or memory
  /// is limited: they hold less.
  [[nodiscard]] Extent fastest(VertexId v, const Gathered& gathered, Extent stripe) const {
    Extent best = 1;
    if (m_options.machine.axes.empty()) {
      const bool much = gathered.bytes >= tuning::min_free_gather_bytes;
      if (!much && memory_limit(m_options) == 0) return 1;
      while (best < tuning::max_panels && stripe / (2 * best) >= tuning::min_panel_terms &&
             gathered.message / (2 * best) >= tuning::min_free_panel_bytes) {
        best *= 2;
      }
      return best;
    }
    double least = seconds(v, gathered, 1) * (1 - tuning::min_streaming_gain);
    for (Extent panels = 2; panels <= tuning::max_panels; panels *= 2) {
      if (stripe / panels < tuning::min_panel_terms) break;
      if (gathered.message / panels < tuning::min_panel_bytes) break;
      const double taken = seconds(v, gathered, panels);
      if (taken >= least) continue;
      least = taken;
      best = panels;
    }
    return best;
  }

  /// How long a worker of the machine gathers and computes.
  [[nodiscard]] double seconds(VertexId v, const Gathered& gathered, Extent panels) const {
    const Machine& machine = m_options.machine;
    double latency = 0;
    double bandwidth = machine.axes.front().bandwidth;
    for (const MachineAxis& axis : machine.axes) {
      latency = std::max(latency, axis.latency);
      bandwidth = std::min(bandwidth, axis.bandwidth);
    }
    const std::vector<Extent> parts = parts_of(m_placement.mesh, m_placement.calls[to_index(v)]);
    Box domain{std::vector<Extent>(parts.size(), 0), {}};
    for (std::size_t l = 0; l < parts.size(); ++l) {
      domain.hi.push_back(ceil_div(m_graph[v].extents[l], parts[l]));
    }
    const auto operations = static_cast<double>(relation::joins_of(m_graph[v], domain));
    const double kernels = operations / machine.operations_per_second;
    const auto n = static_cast<double>(panels);
    const double before = static_cast<double>(gathered.whole) / bandwidth;
    const double transfer =
        static_cast<double>(gathered.bytes) / bandwidth + n * gathered.messages * latency;
    // The first panel comes and the last is computed by itself.
    return before + (transfer + kernels) / n + std::max(transfer, kernels) * (n - 1) / n;
  }

  const EinGraph& m_graph;
  std::vector<int> m_readers;  ///< how many operands each tensor is
  std::vector<VertexId> m_last_reader;
  const Placement& m_placement;
  const DecomposeOptions& m_options;
  int m_ranks;
};

}  // namespace eindecomp::plan
