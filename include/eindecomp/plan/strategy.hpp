// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Every way to decompose a program, by name and behind one interface.
#pragma once

#include <array>
#include <optional>
#include <source_location>
#include <string_view>
#include <utility>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/baselines.hpp"
#include "eindecomp/plan/by_hand.hpp"
#include "eindecomp/plan/ein_decomp.hpp"
#include "eindecomp/plan/exact.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partition.hpp"

namespace eindecomp {

/// What a strategy chose.
struct Labeling {
  Partitions partitions;
  /// How far the graph cost may be above the least one, in words; absent if nothing is proven.
  std::optional<Extent> gap;

  // NOLINTNEXTLINE(google-explicit-constructor): most strategies prove nothing.
  constexpr Labeling(Partitions chosen, std::optional<Extent> above = std::nullopt)
      : partitions(std::move(chosen)), gap(above) {}
};

/// A way to choose the partition vectors of a program.
struct Strategy {
  std::string_view name;
  std::string_view summary;
  /// \throws Error, with the caller's place, where the strategy does not apply.
  Labeling (*decompose)(const EinGraph&, const DecomposeOptions&, const std::source_location&);
  /// Whether any number of workers will do, or only a power of two.
  bool any_p = false;
};

/// All strategies.
inline constexpr std::array strategies{
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
               ExactResult found = exact(graph, options.workers);
               const Extent gap = found.gap();
               return {std::move(found.partitions), gap};
             },
             true},
    Strategy{"linearized", "dynamic programming along one longest path after another",
             [](const EinGraph& graph, const DecomposeOptions& options, const std::source_location&)
                 -> Labeling { return linearize(graph, options.workers); }},
    Strategy{"square", "the two largest labels of every output, cut evenly",
             [](const EinGraph& graph, const DecomposeOptions& options, const std::source_location&)
                 -> Labeling { return square(graph, options.workers); }},
    Strategy{"data_parallel", "the labels whose role is batch",
             [](const EinGraph& graph, const DecomposeOptions& options,
                const std::source_location& where) -> Labeling {
               return data_parallel(graph, options.workers, where);
             }},
    Strategy{"by_hand", "the partition vectors in DecomposeOptions::by_hand",
             [](const EinGraph& graph, const DecomposeOptions& options,
                const std::source_location& where) -> Labeling {
               return by_hand(graph, options.workers, options.by_hand, where);
             }},
};

/// The strategy of that name. \throws Error, naming those there are, if there is none.
[[nodiscard]] constexpr const Strategy& find_strategy(
    std::string_view name, const std::source_location& where = std::source_location::current()) {
  Text names;
  for (const Strategy& strategy : strategies) {
    if (strategy.name == name) return strategy;
    names += (names.empty() ? "" : ", ") + Text(strategy.name);
  }
  detail::fail("there is no strategy '" + Text(name) + "' (strategies go by name); choose " + names,
               where);
}

}  // namespace eindecomp
