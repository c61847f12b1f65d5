// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Every way to decompose a program, by name and behind one interface.
#pragma once

#include <array>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/baselines.hpp"
#include "eindecomp/plan/by_hand.hpp"
#include "eindecomp/plan/ein_decomp.hpp"
#include "eindecomp/plan/exact.hpp"
#include "eindecomp/plan/k_cut.hpp"
#include "eindecomp/plan/labeling.hpp"
#include "eindecomp/plan/listed_strategy.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partitions.hpp"
#include "eindecomp/plan/placement/given_layouts.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"

namespace eindecomp {

namespace plan {
/// The strategy `placed`; with EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does not
/// compile it.
[[nodiscard]] Labeling placed_labeling(const EinGraph& graph, const DecomposeOptions& options,
                                       const std::source_location& where);

/// SoyBean's cuts and where they put things; in a constant expression the partition vectors alone.
[[nodiscard]] constexpr Labeling k_cut_labeling(const EinGraph& graph,
                                                const DecomposeOptions& options,
                                                const std::source_location& where,
                                                const KCutOptions& search = {}) {
  const Mesh mesh = make_mesh(options.workers, ranks_of(options), where);
  const std::vector<Cut> cuts = k_cuts(graph, mesh.axes, search, where).cuts;
  Labeling labeling(flatten(graph, cuts));
  for (const Cut& cut : cuts) labeling.cuts.push_back(cut.words);
  if (!std::is_constant_evaluated()) {
    labeling.placement = place_cuts(graph, cuts, place_options(graph, options, where), where);
  }
  return labeling;
}

/// A strategy that depends on nothing but the graph and the number of workers.
template <auto Choose>
[[nodiscard]] constexpr Labeling choose(const EinGraph& graph, const DecomposeOptions& options,
                                        const std::source_location& where) {
  if constexpr (std::is_invocable_v<decltype(Choose), const EinGraph&, int>) {
    return Choose(graph, options.workers);
  } else {
    return Choose(graph, options.workers, where);
  }
}
}  // namespace plan

/// All strategies, the default first.
inline constexpr std::array strategies{
    Strategy{"placed", "fewest words received by the busiest worker, calls and tensors placed",
             plan::placed_labeling},
    Strategy{"ein_decomp", "least cost by dynamic programming; exact on trees, else linearised",
             [](const EinGraph& graph, const DecomposeOptions& options,
                const std::source_location&) -> Labeling {
               Partitions partitions = ein_decomp(graph, options.workers);
               if (is_forest(graph)) return {std::move(partitions), Extent{0}};
               return partitions;
             }},
    Strategy{"exact", "least cost of any program, or as near as its budget allows, and how near",
             [](const EinGraph& graph, const DecomposeOptions& options,
                const std::source_location&) -> Labeling {
               ExactResult found = exact(graph, options.workers, options.effort.exact);
               const Extent gap = found.gap();
               return {std::move(found.partitions), gap};
             }},
    Strategy{"linearized", "dynamic programming along one longest path after another",
             plan::choose<linearize>},
    // The language has a function `square`, too: a call tells them apart, an address does not.
    Strategy{"square", "the two largest labels of every output, cut evenly",
             [](const EinGraph& graph, const DecomposeOptions& options, const std::source_location&)
                 -> Labeling { return square(graph, options.workers); }},
    Strategy{"k_cut", "one cut after another, each of fewest words for tensors' tilings",
             [](const EinGraph& graph, const DecomposeOptions& options,
                const std::source_location& where) -> Labeling {
               return plan::k_cut_labeling(graph, options, where);
             }},
    Strategy{
        "data_parallel", "the labels whose role is batch", plan::choose<data_parallel>, {"batch"}},
    Strategy{"model_parallel",
             "the labels whose role is hidden",
             plan::choose<model_parallel>,
             {"hidden"}},
    Strategy{"hybrid",
             "batch among groups of workers, hidden within a group",
             [](const EinGraph& graph, const DecomposeOptions& options,
                const std::source_location& where) -> Labeling {
               return hybrid(graph, options.workers, options.groups, where);
             },
             {"batch", "hidden"}},
    Strategy{
        "megatron", "heads, then the hidden labels", plan::choose<megatron>, {"head", "hidden"}},
    Strategy{"sequence",
             "the labels whose role is sequence",
             plan::choose<sequence_parallel>,
             {"sequence"}},
    Strategy{
        "attention", "the labels whose role is head", plan::choose<attention_parallel>, {"head"}},
    Strategy{"by_hand", "the partition vectors in DecomposeOptions::by_hand",
             [](const EinGraph& graph, const DecomposeOptions& options,
                const std::source_location& where) -> Labeling {
               return by_hand(graph, options.workers, options.by_hand, where);
             }},
};

/// The strategy of that name. \throws Error, naming those there are, if there is none.
[[nodiscard]] constexpr const Strategy& find_strategy(
    std::string_view name, const std::source_location& where = std::source_location::current()) {
  for (const Strategy& strategy : strategies) {
    if (strategy.name == name) return strategy;
  }
  const Text names =
      core::joined(strategies, ", ", [](const Strategy& strategy) { return strategy.name; });
  core::fail(ErrorKind::plan, where, "there is no strategy '", name,
             "' (strategies go by name); choose ", names);
}

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/plan/placed_strategy.hpp"
#endif
