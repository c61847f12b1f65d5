// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From a program to a plan by one of the strategies, in a constant expression too.
#pragma once

#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/labeling.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/placement/given_layouts.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/strategy.hpp"

namespace eindecomp::plan {

/// decompose(), the plan placed as far as its strategy does that.
[[nodiscard]] constexpr Plan make_plan(const EinGraph& graph, const DecomposeOptions& options,
                                       const std::source_location& where) {
  const Strategy& strategy = find_strategy(options.strategy, where);
  check_options(options, where);
  static_cast<void>(place_options(graph, options, where));    // refuses what cannot be
  static_cast<void>(carried_results(graph, options, where));  // likewise
  Labeling chosen = strategy.decompose(graph, options, where);
  Partitions partitions = std::move(chosen.partitions);
  std::vector<Cost> costs;
  Cost cost;
  for (VertexId v = 0; v < graph.size(); ++v) {
    costs.push_back(statement_cost(graph, v, partitions));
    cost += costs.back();
  }
  Plan plan{graph,
            options.strategy,
            options.workers,
            ranks_of(options),
            std::move(partitions),
            std::move(costs),
            cost,
            chosen.gap,
            std::move(chosen.placement),
            std::move(chosen.steps),
            carried_results(graph, options, where),
            std::move(chosen.cuts)};
  if (plan.cost.total() == unaffordable) {
    core::fail(
        ErrorKind::plan, where,
        "the plan would move more words than a 64-bit integer counts (the extents are too large "
        "for ",
        options.workers, " workers); use smaller extents or fewer workers");
  }
  return plan;
}

}  // namespace eindecomp::plan
