// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The default strategy, which works at run time alone.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/partitions.hpp"
#include "eindecomp/plan/placed.hpp"
#include "eindecomp/plan/placement/choose_placement.hpp"
#include "eindecomp/plan/placement/given_layouts.hpp"
#include "eindecomp/plan/strategy.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/relation/placement.hpp"

namespace eindecomp::plan {

/// Whether a strategy gives `placed` another labeling to start from.
[[nodiscard]] inline bool is_start(const Strategy& other, const EinGraph& graph,
                                   const DecomposeOptions& options) {
  if (other.name == "placed" || other.name == "by_hand" || !other.finds_roles(graph)) return false;
  if (other.name == "hybrid") return groups_fit(options.workers, options.groups);
  // On programs that are not trees it is the same as `linearized`.
  return other.name != "ein_decomp" || is_forest(graph);
}

/// What a strategy gives `placed` to start from. Where `exact` exceeds its budget, another budget
/// gives another labeling of about the same cost, whose words may be a quarter fewer or more: so it
/// gives one by each of several, all of them small.
[[nodiscard]] inline std::vector<Labeling> starts_of(const Strategy& other, const EinGraph& graph,
                                                     const DecomposeOptions& options,
                                                     const std::source_location& where) {
  std::vector<Labeling> found;
  if (other.name == "k_cut") {
    found.push_back(
        k_cut_labeling(graph, options, where, {.max_states = tuning::max_start_tilings}));
    return found;
  }
  if (other.name != "exact") {
    found.push_back(other.decompose(graph, options, where));
    return found;
  }
  for (const double work : tuning::start_work) {
    DecomposeOptions small = options;
    ExactOptions& budget = small.effort.exact;
    budget.max_states = std::min(budget.max_states, tuning::max_start_states);
    budget.max_work = std::min(budget.max_work, work);
    found.push_back(other.decompose(graph, small, where));
    if (found.back().gap == Extent{0}) break;
  }
  return found;
}

/// Whether a labeling makes fewer calls of a statement than its extents allow: strategies by role
/// cut nothing but labels of their role.
[[nodiscard]] inline bool leaves_idle(const EinGraph& graph, const Partitions& partitions,
                                      int workers) {
  return std::ranges::any_of(statements_of(graph), [&](VertexId v) {
    return kernel_calls(partitions[to_index(v)]) < max_kernel_calls(part_limits(graph, v), workers);
  });
}

/// The strategy `placed`, its search started from every other strategy's partition vectors.
[[nodiscard]] inline Labeling search_placed(const EinGraph& graph, const DecomposeOptions& options,
                                            const std::source_location& where) {
  std::vector<Partitions> labelings;
  std::vector<Placement> starts;
  std::vector<Placement> placements;
  for (const Strategy& other : strategies) {
    if (!is_start(other, graph, options)) continue;
    for (Labeling& found : starts_of(other, graph, options, where)) {
      labelings.push_back(std::move(found.partitions));
      if (!found.placement.stored.empty()) placements.push_back(std::move(found.placement));
    }
  }
  const PlaceOptions layouts = place_options(graph, options, where);
  PlacedOptions search{.max_idle = options.max_idle, .effort = options.effort.placed};
  if (ranks_of(options) < options.workers) {
    // The search by worker sometimes finds what the search by rank, whose blocks are larger,
    // misses.
    starts.push_back(placed(graph, options.workers, search, layouts, labelings, where));
    search.ranks = ranks_of(options);
  }
  starts.push_back(placed(graph, options.workers, search, layouts, labelings, where));
  std::ranges::move(placements, std::back_inserter(starts));
  const auto choose = [&](Excess excess) -> std::optional<Labeling> {
    PlacementChooser chooser(graph, options, layouts, excess, where);
    for (const Placement& start : starts) chooser.consider(start);
    if (chooser.beyond_words()) {  // placed() evaluates nothing else
      for (const Partitions& partitions : labelings) {
        // Workers without work move nothing and cost nothing, but by time they count.
        if (options.objective != Objective::time &&
            leaves_idle(graph, partitions, options.workers)) {
          continue;
        }
        chooser.consider(partitions);
      }
      chooser.search();
    }
    if (!chooser.choose_best_steps()) return std::nullopt;
    const WordSum more = chooser.words_for_memory();
    Placement placement = chooser.take();
    Labeling labeling(partitions_of(placement));
    labeling.words_for_memory = more;
    labeling.placement = std::move(placement);
    labeling.steps = chooser.take_steps();
    return labeling;
  };
  if (std::optional<Labeling> found = choose(Excess::bounded)) return std::move(*found);
  return *choose(Excess::exact);
}

#ifndef EINDECOMP_SEPARATE_PLANNER
inline Labeling placed_labeling(const EinGraph& graph, const DecomposeOptions& options,
                                const std::source_location& where) {
  return search_placed(graph, options, where);
}
#endif

}  // namespace eindecomp::plan
