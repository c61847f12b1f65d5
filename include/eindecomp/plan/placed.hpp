// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The strategy `placed`: the plan whose busiest rank receives the fewest words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partitions.hpp"
#include "eindecomp/plan/placed/exhaustive.hpp"
#include "eindecomp/plan/placed/model.hpp"
#include "eindecomp/plan/placed/quick_words.hpp"
#include "eindecomp/plan/placed/search.hpp"
#include "eindecomp/plan/placed/start.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"

namespace eindecomp {

/// How `placed` searches.
struct PlacedOptions {
  /// The most workers, in percent, that may be left without work, where the busiest then receives
  /// fewer words by more than the share left out. Negative: 3 %, but at least one worker.
  double max_idle = -1;
  std::int64_t effort = SearchEffort{}.placed;  ///< see there
  /// The processes that share the workers; what moves between workers of one costs nothing. 0, or
  /// more than workers: each worker has its own.
  int ranks = 0;
};

/// The fewest workers that a plan for p may use.
[[nodiscard]] constexpr int min_workers(int p, double max_idle) {
  // One worker moves nothing, but who asks for more wants them to work.
  const int fewest = std::min(p, 2);
  const int idle = max_idle < 0 ? std::max(1, static_cast<int>(static_cast<Extent>(p) * 3 / 100))
                                : static_cast<int>(p * std::min(max_idle, 100.0) / 100.0);
  return std::max(fewest, p - idle);
}

namespace plan {

/// A placement and what it moves.
struct PlacedPlan {
  Placement placement;
  WordSum words;
};

/// Searches the best placement on one mesh.
class PlacedOnMesh {
 public:
  PlacedOnMesh(const EinGraph& graph, int workers, int ranks, const PlaceOptions& layouts,
               std::int64_t effort, const std::source_location& where)
      : m_graph(graph),
        m_layouts(layouts),
        m_where(where),
        m_model(graph, make_mesh(workers, ranks), layouts, ranks),
        m_search(m_model),
        m_budget(std::clamp<std::int64_t>(effort, 0, max_effort) * tuning::placed_effort_unit) {}

  [[nodiscard]] const PlacedModel& model() const { return m_model; }

  /// Evaluates the placement of a labeling, if it makes enough calls, and starts a search from it.
  void add(const Partitions& partitions) {
    Placement placement = place(m_graph, partitions, m_model.mesh(), m_layouts, m_where);
    std::optional<PlacedState> state = m_search.state_of(placement);
    if (!state || !complete(placement)) return;
    const auto ranks = static_cast<int>(m_model.receivers());
    const WordSum words = sum_of(quick_words(m_graph, placement, ranks));
    if (!m_best || words < m_best->words) m_best = PlacedPlan{std::move(placement), words};
    m_starts.push_back(std::move(*state));
  }

  /// The best of the placements added, and of all if they are few.
  [[nodiscard]] std::optional<PlacedPlan> find() {
    add(each_best_alone(m_model));
    // Of a single statement all vectors are evaluated anyway.
    if (m_model.classes().size() > 1) {
      for (PlacedState& state :
           m_search.by_priority(tuning::max_starts, m_budget / tuning::label_lists_share)) {
        m_starts.push_back(std::move(state));
      }
    }
    std::sort(m_starts.begin(), m_starts.end(),
              [](const PlacedState& a, const PlacedState& b) { return a.score < b.score; });
    // The worst of many are not worth the time.
    if (m_starts.size() > tuning::max_starts) m_starts.resize(tuning::max_starts);
    std::int64_t left = m_budget;
    for (std::size_t i = 0; i < m_starts.size(); ++i) {
      const std::int64_t before = m_model.spent();
      m_search.improve(m_starts[i], i + 1 == m_starts.size() ? left : left / 2);
      left = std::max<std::int64_t>(left - (m_model.spent() - before), 0);
      consider(m_starts[i]);
    }
    if (m_best) {
      PlacedExhaustive exhaustive(m_model, m_best->words);
      if (exhaustive.run()) consider(exhaustive.best());
    }
    return std::move(m_best);
  }

 private:
  /// Beyond it no search comes to an end.
  static constexpr std::int64_t max_effort =
      std::numeric_limits<std::int64_t>::max() / 2 / tuning::placed_effort_unit;

  /// Whether every statement makes as many calls as it can, not only the first of each class.
  [[nodiscard]] bool complete(const Placement& placement) const {
    for (const StatementClass& c : m_model.classes()) {
      for (VertexId v : c.members) {
        if (!m_model.allows(c, cuts_of(placement.calls[to_index(v)]))) return false;
      }
    }
    return true;
  }
  void consider(const PlacedState& state) {
    if (!m_best || state.score < m_best->words) {
      m_best = PlacedPlan{m_model.placement(state), state.score};
    }
  }

  const EinGraph& m_graph;
  const PlaceOptions& m_layouts;
  std::source_location m_where;
  PlacedModel m_model;
  PlacedSearch m_search;
  std::int64_t m_budget;
  std::vector<PlacedState> m_starts;
  std::optional<PlacedPlan> m_best;
};

/// Whether the inputs' layouts given by the user suit a mesh of so many workers.
[[nodiscard]] inline bool layouts_fit(const EinGraph& graph, int workers,
                                      const PlaceOptions& layouts) {
  const Mesh mesh = make_mesh(workers);
  for (const InputLayout& given : layouts.inputs) {
    if (graph[given.input].bound.size() != given.parts.size()) continue;  // place() says so
    if (!relation::AxisAssignment(mesh, given.parts).feasible()) return false;
  }
  return true;
}

}  // namespace plan

/// The placement for p workers, or a few less, whose busiest rank receives the fewest words; of
/// several such, one that moves fewest in all. Every statement is cut into as many calls as its
/// extents, the labels kept whole and the workers allow; every tensor is stored once, spread over
/// the workers as evenly as it can be, inputs in the layouts given. All placements are evaluated
/// where they are few; else a local search starts from several labelings, so the result is no worse
/// than any of those given that leave no worker idle.
///
/// \param labelings  other strategies' partition vectors for p workers
/// \returns a placement whose mesh has the workers in use
/// \throws Error if p is not positive or exceeds max_workers, or a given layout does not suit its
/// input.
[[nodiscard]] inline Placement placed(
    const EinGraph& graph, int p, const PlacedOptions& options = {},
    const PlaceOptions& layouts = {}, std::span<const Partitions> labelings = {},
    const std::source_location& where = std::source_location::current()) {
  static_assert(1 << plan::max_mesh_axes == max_workers, "no mesh has more axes");
  if (p < 1 || p > max_workers) {
    core::fail(ErrorKind::plan, where, "the strategy placed for ", p,
               " workers (it searches for 1 to ", max_workers,
               "); give another number of workers, or choose another strategy");
  }
  plan::PlacedOnMesh all(graph, p, options.ranks, layouts, options.effort, where);
  for (const Partitions& partitions : labelings) all.add(partitions);
  plan::PlacedPlan best = std::move(*all.find());

  // Fewer workers, where their words might be fewer by more than the share of the others.
  const Extent of_all = best.words.busiest;
  const std::vector<int> counts =
      plan::worker_counts(all.model(), min_workers(p, options.max_idle));
  const std::int64_t effort =
      options.effort / 2 / std::max<std::int64_t>(static_cast<std::int64_t>(counts.size()), 1);
  for (int workers : counts) {
    if (!plan::layouts_fit(graph, workers, layouts)) continue;
    plan::PlacedOnMesh fewer(graph, workers, options.ranks, layouts, effort, where);
    std::optional<plan::PlacedPlan> found = fewer.find();
    if (!found || found->words >= best.words) continue;
    if (static_cast<double>(found->words.busiest) * p < static_cast<double>(of_all) * workers) {
      best = std::move(*found);
    }
  }
  return std::move(best.placement);
}

}  // namespace eindecomp
