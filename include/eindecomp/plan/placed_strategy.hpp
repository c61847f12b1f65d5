// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The default strategy, which works at run time alone.
#pragma once

#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/placed.hpp"
#include "eindecomp/plan/placement/choose_placement.hpp"
#include "eindecomp/plan/placement/given_layouts.hpp"
#include "eindecomp/plan/strategy.hpp"
#include "eindecomp/relation/placement.hpp"

namespace eindecomp::detail {

/// The strategy `placed`, its search started from every other strategy's partition vectors.
[[nodiscard]] inline Labeling search_placed(const EinGraph& graph, const DecomposeOptions& options,
                                            const std::source_location& where) {
  std::vector<Partitions> labelings;
  std::vector<Placement> placements;
  for (const Strategy& other : strategies) {
    if (other.name == "placed" || other.name == "by_hand") continue;
    // On programs that are not trees it is the same as `linearized`.
    if (other.name == "ein_decomp" && !is_forest(graph)) continue;
    try {
      Labeling found = other.decompose(graph, options, where);
      labelings.push_back(std::move(found.partitions));
      if (!found.placement.stored.empty()) placements.push_back(std::move(found.placement));
    } catch (const Error&) {  // it does not apply to this program
    }
  }
  const PlaceOptions layouts = place_options(graph, options, where);
  PlacementChooser chooser(graph, options, layouts, where);
  PlacedOptions search{.max_idle = options.max_idle};
  if (ranks_of(options) < options.workers) {
    // The ranks see larger blocks, so the search by worker may come upon what theirs has missed.
    chooser.offer(placed(graph, options.workers, search, layouts, labelings, where));
    search.ranks = ranks_of(options);
  }
  chooser.offer(placed(graph, options.workers, search, layouts, labelings, where));
  for (Placement& other : placements) chooser.offer(std::move(other));
  if (chooser.beyond_words()) {  // placed() weighs nothing else
    for (const Partitions& partitions : labelings) chooser.offer(partitions);
    chooser.search();
  }
  Placement placement = chooser.take();
  Labeling labeling(partitions_of(placement));
  labeling.placement = std::move(placement);
  return labeling;
}

#ifndef EINDECOMP_SEPARATE_PLANNER
inline Labeling placed_labeling(const EinGraph& graph, const DecomposeOptions& options,
                                const std::source_location& where) {
  return search_placed(graph, options, where);
}
#endif

}  // namespace eindecomp::detail
