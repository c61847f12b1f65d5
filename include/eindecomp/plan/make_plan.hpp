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
#include "eindecomp/relation/instruction_work.hpp"

namespace eindecomp::plan {

/// The most bytes that the tensors of a program may have together. A rank may hold a tensor several
/// times, stored, gathered and as partial results, and these bytes are counted, too.
inline constexpr double max_program_bytes = 0x1p60;

/// \throws Error if the bytes of a program's tensors, or the joins of a statement, are too many to
///   be counted.
constexpr void check_sizes(const EinGraph& graph, const std::source_location& where) {
  const auto bytes_of = [](const Vertex& v) {
    return static_cast<double>(v.size()) * v.element.bytes;
  };
  const auto in_tebibytes = [](double bytes) { return static_cast<Extent>(bytes / 0x1p40); };
  double bytes = 0;
  const Vertex* largest = nullptr;
  for (const Vertex& v : graph.vertices) {
    bytes += bytes_of(v);
    if (largest == nullptr || bytes_of(v) > bytes_of(*largest)) largest = &v;
    if (relation::has_countable_joins(v)) continue;
    core::fail(ErrorKind::plan, where, "statement '", v.name,
               "' has more scalar operations than a 64-bit integer counts (a plan counts them); "
               "use smaller extents");
  }
  if (bytes <= max_program_bytes) return;
  core::fail(ErrorKind::plan, where, "the program's tensors have ", in_tebibytes(bytes),
             " TiB together, of which '", largest->name, "' has ", in_tebibytes(bytes_of(*largest)),
             " (a plan counts bytes of up to ", in_tebibytes(max_program_bytes),
             " TiB of tensors); use smaller extents");
}

/// decompose(), the plan placed as far as its strategy does that.
[[nodiscard]] constexpr Plan make_plan(const EinGraph& graph, const DecomposeOptions& options,
                                       const std::source_location& where) {
  const Strategy& strategy = find_strategy(options.strategy, where);
  check_options(options, where);
  check_sizes(graph, where);
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
            std::move(chosen.cuts),
            chosen.words_for_memory};
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
