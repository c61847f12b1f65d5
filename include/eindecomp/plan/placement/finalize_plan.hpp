// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Completes a plan at run time: gives it a placement and steps, and checks what its ranks hold.
#pragma once

#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/placement/choose_placement.hpp"
#include "eindecomp/plan/placement/choose_steps.hpp"
#include "eindecomp/plan/placement/given_layouts.hpp"
#include "eindecomp/plan/placement/outside_words.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/memory.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"

namespace eindecomp::plan {

/// \throws Error, saying by how many bytes and for which statement, if a rank holds more than the
///   options allow.
inline void check_memory(const EinGraph& graph, const MemoryPeak& peak,
                         const DecomposeOptions& options, const std::source_location& where) {
  const std::int64_t limit = memory_limit(options);
  if (peak.bytes <= limit) return;
  const bool searched = options.strategy == "placed";
  Text during;
  if (peak.statement >= 0) during = " for statement '" + graph[peak.statement].name + "'";
  core::fail(
      ErrorKind::memory, where,
      (searched ? Text("the smallest plan that is found") : "the plan by " + options.strategy),
      " holds ", peak.bytes, " bytes of tensors on rank ", peak.rank, during, " (",
      peak.bytes - limit, " more than the ", limit, " that a rank may hold); allow more memory, ",
      (searched ? "or give more workers"
                : "give more workers, or let strategy placed look for a plan that fits"));
}

/// Places a plan, if its strategy has not, and chooses its steps.
/// \throws Error if steps given by hand are not possible, or a rank would hold more than the
///   options allow.
[[nodiscard]] inline Plan finalize_plan(Plan plan, const DecomposeOptions& options,
                                        const std::source_location& where) {
  const EinGraph& graph = plan.graph;
  if (plan.placement.stored.empty()) {
    plan.placement = place(graph, plan.partitions, make_mesh(plan.workers, plan.ranks),
                           place_options(graph, options, where), where);
  }
  if (!plan.steps.empty()) return plan;  // which are those of this placement
  const OutsideWords outside(graph, options, where);
  if (outside.any()) plan.placement = outside.settle(std::move(plan.placement)).placement;
  if (memory_limit(options) == 0) {
    plan.steps = choose_steps(graph, plan.placement, options, where);
    return plan;
  }
  MemoryProbe probe(graph, options);
  SteppedProgram made = step_all_within(graph, plan.placement, options, probe, where);
  check_memory(graph, made.memory.peak, options, where);
  plan.steps = std::move(made.steps);
  return plan;
}

}  // namespace eindecomp::plan
