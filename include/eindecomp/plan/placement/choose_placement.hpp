// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which of many placements is best: by words, by predicted time or by the paper's cost, among
/// those that fit into memory.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/make_timeline.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/placed/fold.hpp"
#include "eindecomp/plan/placed/model.hpp"
#include "eindecomp/plan/placement/choose_steps.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/make_schedule.hpp"
#include "eindecomp/relation/memory.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/schedule.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/words_by_worker.hpp"

namespace eindecomp::detail {

/// What a placement is judged by: the less, the better, the first figure first. Figures that are
/// not asked for are 0.
struct Merit {
  std::int64_t excess = 0;  ///< bytes that the rank which holds most holds too many
  /// The same summed over the statements: a placement that misses less often is nearer to one that
  /// fits, even if it misses by as much.
  std::int64_t overflow = 0;
  double seconds = 0;
  Extent cost = 0;
  WordSum words;

  auto operator<=>(const Merit&) const = default;
};

/// The partition vectors that a placement makes, one per vertex.
[[nodiscard]] inline Partitions partitions_of(const Placement& placement) {
  Partitions partitions;
  for (const AxisLists& calls : placement.calls) {
    partitions.push_back(parts_of(placement.mesh, calls));
  }
  return partitions;
}

/// A placed program run in steps.
struct SteppedSchedules {
  std::vector<StepGroup> steps;
  std::vector<RankSchedule> schedules;
  MemoryPeak peak;
};

/// A placed program within a limit of memory: in the steps that choose_steps() takes, or, if ranks
/// then hold more, in such as hold less whatever they cost, as few as do. If none is few enough,
/// in those that hold least.
/// \param schedule  makes the schedules of some steps.
/// \throws Error if steps given by hand are not possible.
template <class Schedule>
[[nodiscard]] SteppedSchedules step_within(const EinGraph& graph, const Placement& placement,
                                           const DecomposeOptions& options,
                                           const std::source_location& where,
                                           const Schedule& schedule) {
  const std::int64_t limit = memory_limit(options);
  const auto stepped = [&](std::vector<StepGroup> steps) {
    SteppedSchedules made{std::move(steps), {}, {}};
    made.schedules = schedule(made.steps);
    made.peak = memory_peak(graph, made.schedules);
    return made;
  };
  SteppedSchedules best = stepped(choose_steps(graph, placement, options, where));
  if (!options.steps.empty() || options.cache_bytes <= 0) return best;  // the user has decided
  std::vector<StepGroup> before = best.steps;
  for (std::int64_t passed : {limit / 2, limit / 16, limit / 128}) {
    if (best.peak.bytes <= limit || passed == 0) break;
    std::vector<StepGroup> steps = StepChooser(graph, placement, passed, StepAim::memory).choose();
    if (steps == before) continue;
    before = steps;
    SteppedSchedules other = stepped(std::move(steps));
    if (other.peak.bytes < best.peak.bytes) best = std::move(other);
  }
  return best;
}

/// The steps of a plan: as choose_steps() takes them, unless a limit of memory asks for others.
/// \throws Error if steps given by hand are not possible.
[[nodiscard]] inline std::vector<StepGroup> choose_fitting_steps(
    const EinGraph& graph, const Placement& placement, const DecomposeOptions& options,
    const std::source_location& where) {
  if (memory_limit(options) == 0) return choose_steps(graph, placement, options, where);
  const auto schedule = [&](const std::vector<StepGroup>& steps) {
    return make_schedules(graph, placement, ranks_of(options), steps, where);
  };
  return step_within(graph, placement, options, where, schedule).steps;
}

/// The best of the placements offered, and of those that it finds itself.
class PlacementChooser {
 public:
  PlacementChooser(const EinGraph& graph, const DecomposeOptions& options,
                   const PlaceOptions& layouts, const std::source_location& where)
      : m_graph(graph),
        m_options(options),
        m_layouts(layouts),
        m_where(where),
        m_mesh(make_mesh(options.workers, where)),
        m_ranks(ranks_of(options)),
        m_limit(memory_limit(options)) {}

  /// Whether more than words counts.
  [[nodiscard]] bool beyond_words() const {
    return m_limit > 0 || m_options.objective != Objective::words;
  }

  /// Keeps the placement if it is better than all before; a search begins at it, too, if it is for
  /// all workers (placed() may have left some idle).
  void offer(Placement placement) {
    const bool for_all = placement.mesh == m_mesh;
    Partitions partitions = partitions_of(placement);
    const Merit merit = keep_better(std::move(placement));
    if (!for_all) return;
    const auto after = std::upper_bound(m_starts.begin(), m_starts.end(), merit,
                                        [](const Merit& m, const Start& s) { return m < s.merit; });
    m_starts.insert(after, {merit, std::move(partitions)});
  }
  void offer(const Partitions& partitions) { offer(placed_as_usual(partitions)); }

  /// Weighs all labelings of a small program; of others those that differ from one of the best so
  /// far in the vector of one statement, and of those that are like it, again and again.
  void search() {
    list_vectors();
    m_spent = 0;
    if (enumerate()) return;
    const auto known =
        std::unique(m_starts.begin(), m_starts.end(),
                    [](const Start& a, const Start& b) { return a.partitions == b.partitions; });
    m_starts.erase(known, m_starts.end());
    const std::size_t starts = std::min(m_starts.size(), most_starts);
    for (std::size_t i = 0; i < starts; ++i) {
      descend(m_starts[i], m_spent + (most_effort - m_spent) / static_cast<double>(starts - i));
    }
  }

  [[nodiscard]] Placement take() { return std::move(*m_best); }

 private:
  /// When a search ends: buffers, steps and calls of all schedules it makes, each some microsecond.
  static constexpr double most_effort = 4'000'000;
  static constexpr std::size_t most_starts = 4;

  /// Where a search begins.
  struct Start {
    Merit merit;
    Partitions partitions;
  };

  [[nodiscard]] Placement placed_as_usual(const Partitions& partitions) const {
    return place(m_graph, partitions, m_mesh, m_layouts, m_where);
  }

  Merit keep_better(Placement placement) {
    const Merit merit = weigh(placement);
    if (!m_best || merit < m_merit) {
      m_merit = merit;
      m_best = std::move(placement);
    }
    return merit;
  }

  [[nodiscard]] Merit weigh(const Placement& placement) {
    Merit merit;
    merit.words = sum_of(words_by_rank(m_graph, placement, m_ranks, m_where));
    if (m_options.objective == Objective::paper) {
      merit.cost = graph_cost(m_graph, partitions_of(placement)).total();
    }
    const bool timed = m_options.objective == Objective::time;
    if (m_limit == 0 && !timed) return merit;
    // Steps move nothing, do the same operations and only ever spare memory: they are looked at
    // where the memory is wanted, for they make long schedules.
    const std::vector<RankSchedule> schedules = schedule(placement, {});
    if (timed) {
      merit.seconds =
          make_timeline(m_graph, schedules, m_options.machine, Overlap::none, m_where).seconds;
    }
    if (m_limit == 0 || memory_peak(m_graph, schedules).bytes <= m_limit) return merit;
    try {
      const auto in_steps = [&](const std::vector<StepGroup>& steps) {
        return schedule(placement, steps);
      };
      const SteppedSchedules best = step_within(m_graph, placement, m_options, m_where, in_steps);
      merit.excess = std::max<std::int64_t>(best.peak.bytes - m_limit, 0);
      if (merit.excess > 0) merit.overflow = overflow(best.schedules);
    } catch (const Error&) {  // steps given by hand are not possible here
      merit.excess = std::numeric_limits<std::int64_t>::max();
    }
    return merit;
  }

  [[nodiscard]] std::vector<RankSchedule> schedule(const Placement& placement,
                                                   const std::vector<StepGroup>& steps) {
    std::vector<RankSchedule> schedules =
        make_schedules(m_graph, placement, m_ranks, steps, m_where);
    for (const RankSchedule& s : schedules) {
      m_spent += static_cast<double>(s.buffers.size());
      for (const Step& step : s.steps) m_spent += static_cast<double>(step.calls.size() + 1);
    }
    return schedules;
  }

  [[nodiscard]] std::int64_t overflow(const std::vector<RankSchedule>& schedules) const {
    std::int64_t sum = 0;
    for (const RankSchedule& schedule : schedules) {
      for (std::int64_t bytes : bytes_by_step(m_graph, schedule)) {
        sum += std::max<std::int64_t>(bytes - m_limit, 0);
      }
    }
    return sum;
  }

  void list_vectors() {
    const std::vector<VertexId> like = fold(m_graph);
    m_alike.clear();
    std::vector<std::size_t> group(m_graph.vertices.size(), 0);
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      if (m_graph[v].is_input()) continue;
      const auto first = static_cast<std::size_t>(like[static_cast<std::size_t>(v)]);
      if (like[static_cast<std::size_t>(v)] == v) {
        group[first] = m_alike.size();
        m_alike.push_back({{}, partition_vectors(m_graph, v, m_options.workers)});
      }
      m_alike[group[first]].members.push_back(v);
    }
  }

  /// Gives statements that are alike their i-th vector.
  void cut(Partitions& partitions, std::size_t group, std::size_t i) const {
    const Alike& alike = m_alike[group];
    for (VertexId v : alike.members) {
      partitions[static_cast<std::size_t>(v)].assign(alike.vectors[i].begin(),
                                                     alike.vectors[i].end());
    }
  }

  /// \returns false if there are too many labelings, and then weighs none.
  bool enumerate() {
    double labelings = 1;
    for (const Alike& alike : m_alike) {
      if (alike.members.size() > 1) return false;  // like statements may be cut differently
      labelings *= static_cast<double>(alike.vectors.size());
    }
    // Per statement and rank some buffers, a step and a call.
    constexpr double each = 6;
    if (labelings * each * m_graph.size() * m_ranks > most_effort) return false;
    Partitions partitions(m_graph.vertices.size());
    for (std::size_t g = 0; g < m_alike.size(); ++g) cut(partitions, g, 0);
    std::vector<std::size_t> chosen(m_alike.size(), 0);
    while (true) {
      keep_better(placed_as_usual(partitions));
      std::size_t g = 0;
      for (; g < chosen.size(); ++g) {
        chosen[g] = (chosen[g] + 1) % m_alike[g].vectors.size();
        cut(partitions, g, chosen[g]);
        if (chosen[g] != 0) break;
      }
      if (g == chosen.size()) return true;
    }
  }

  /// \param until  what m_spent may grow to
  void descend(Start at, double until) {
    std::size_t unchanged = 0;
    for (std::size_t g = 0; unchanged < m_alike.size(); g = (g + 1) % m_alike.size()) {
      Partitions partitions = at.partitions;
      ++unchanged;
      for (std::size_t i = 0; i < m_alike[g].vectors.size(); ++i) {
        if (m_spent > until) return;
        cut(partitions, g, i);
        if (partitions == at.partitions) continue;
        const Merit merit = keep_better(placed_as_usual(partitions));
        if (!(merit < at.merit)) continue;
        at = {merit, partitions};
        unchanged = 0;
      }
    }
  }

  /// Statements that are alike, and their partition vectors.
  struct Alike {
    std::vector<VertexId> members;
    VectorList vectors;
  };

  const EinGraph& m_graph;
  const DecomposeOptions& m_options;
  const PlaceOptions& m_layouts;
  std::source_location m_where;
  Mesh m_mesh;
  int m_ranks;
  std::int64_t m_limit;
  std::optional<Placement> m_best;
  Merit m_merit;
  std::vector<Start> m_starts;  ///< the best first
  std::vector<Alike> m_alike;
  double m_spent = 0;  ///< see most_effort
};

}  // namespace eindecomp::detail
