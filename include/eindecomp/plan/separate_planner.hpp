// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The planner, compiled once for a program of many translation units. The program defines
/// EINDECOMP_SEPARATE_PLANNER in all of them, and one of them includes this header, which no other
/// may.
#pragma once

#ifndef EINDECOMP_SEPARATE_PLANNER
#define EINDECOMP_SEPARATE_PLANNER
#endif

#include <source_location>
#include <span>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/strategy.hpp"

namespace eindecomp {

Plan detail::plan_at_run_time(const EinGraph& graph, const DecomposeOptions& options,
                              const std::source_location& where) {
  return make_plan(graph, options, where);
}

std::span<const Strategy> list_strategies() { return strategies; }

}  // namespace eindecomp
