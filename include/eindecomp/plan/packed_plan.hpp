// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A plan as numbers, for ranks that hold its program already: what the planner decided. With
/// EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does not compile how.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp::plan {

/// Gives a plan that is placed its partition vectors and its costs, which follow from the
/// placement.
inline void complete_from_placement(Plan& plan) {
  plan.partitions.clear();
  plan.costs.clear();
  plan.cost = {};
  for (const AxisLists& calls : plan.placement.calls) {
    plan.partitions.push_back(parts_of(plan.placement.mesh, calls));
  }
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    plan.costs.push_back(statement_cost(plan.graph, v, plan.partitions));
    plan.cost += plan.costs.back();
  }
}

using Packed = std::vector<std::int64_t>;

/// What decompose() decided of a plan that is placed. A few numbers a tensor.
[[nodiscard]] Packed pack(const Plan& plan);

/// The plan that pack() was given, of the same program.
[[nodiscard]] Plan unpack(const EinGraph& graph, std::span<const std::int64_t> packed);

}  // namespace eindecomp::plan

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/plan/write_packed_plan.hpp"
#endif
