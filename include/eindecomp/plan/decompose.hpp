// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From a program to a plan. The planner is much of what a translation unit that plans compiles: a
/// program of many of them may define EINDECOMP_SEPARATE_PLANNER and compile it in one of them,
/// which includes separate_planner.hpp.
#pragma once

#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/given_layouts.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/strategy.hpp"
#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/plan/placed_in_steps.hpp"
#endif

namespace eindecomp {

template <class Backend>
class BasicProgram;

namespace detail {

/// decompose(), the plan placed as far as its strategy does that.
[[nodiscard]] constexpr Plan make_plan(const EinGraph& graph, const DecomposeOptions& options,
                                       const std::source_location& where) {
  const Strategy& strategy = find_strategy(options.strategy, where);
  check_options(options, where);
  static_cast<void>(place_options(graph, options, where));  // refuses what cannot be
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
            {},
            std::move(chosen.cuts)};
  if (plan.cost.total() == unaffordable) {
    fail(
        "the plan would move more words than a 64-bit integer counts (the extents are too "
        "large for " +
            to_text(options.workers) + " workers); use smaller extents or fewer workers",
        where);
  }
  return plan;
}

[[nodiscard]] Plan plan_at_run_time(const EinGraph& graph, const DecomposeOptions& options,
                                    const std::source_location& where);
}  // namespace detail

/// `strategies`, for use at run time: with EINDECOMP_SEPARATE_PLANNER, the caller's translation
/// unit does not compile them.
[[nodiscard]] std::span<const Strategy> list_strategies();

/// Decomposes a program: chooses every statement's partition vector, places the blocks on the mesh
/// of workers and costs the result. Works without data, without MPI, on any one process; not
/// collective: ranks that call it with equal arguments get equal plans. In a constant expression
/// the plan is costed but not placed.
///
/// \throws Error if an option is out of range, the strategy is unknown or does not apply, steps
///   given by hand are not possible, the graph's cost exceeds 64 bits, or a rank would hold more
///   bytes than `memory` allows.
[[nodiscard]] constexpr Plan decompose(
    const EinGraph& graph, const DecomposeOptions& options,
    const std::source_location& where = std::source_location::current()) {
  if (std::is_constant_evaluated()) return detail::make_plan(graph, options, where);
  return detail::plan_at_run_time(graph, options, where);
}

/// As above, for a program that names its backend: the plan can be executed.
template <class Backend>
[[nodiscard]] constexpr BasicPlan<Backend> decompose(
    const BasicProgram<Backend>& program, const DecomposeOptions& options,
    const std::source_location& where = std::source_location::current()) {
  return {decompose(program.graph(), options, where), program.launchers()};
}

#ifndef EINDECOMP_SEPARATE_PLANNER
inline Plan detail::plan_at_run_time(const EinGraph& graph, const DecomposeOptions& options,
                                     const std::source_location& where) {
  return placed_in_steps(make_plan(graph, options, where), options, where);
}

inline std::span<const Strategy> list_strategies() { return strategies; }
#endif

}  // namespace eindecomp
