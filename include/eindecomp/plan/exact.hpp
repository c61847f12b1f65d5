// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The strategy `exact`: the least graph cost of any program, trees or not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/ein_decomp.hpp"
#include "eindecomp/plan/exact/search.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/tuning.hpp"

namespace eindecomp {

/// A labeling and how good it is proven to be.
struct ExactResult {
  Partitions partitions;   ///< a partition vector per vertex; empty for inputs
  Extent cost = 0;         ///< the graph cost of `partitions`
  Extent lower_bound = 0;  ///< no labeling costs less
  /// Whether no labeling is better.
  [[nodiscard]] constexpr bool optimal() const { return cost == lower_bound; }
  /// The labeling is at most this far above the optimum, in words.
  [[nodiscard]] constexpr Extent gap() const { return cost - lower_bound; }
};

/// The partition vectors of least graph cost for p workers, for any graph and any p.
///
/// Eliminates the statements one by one (bucket elimination), always the one that leaves the
/// smallest table. Each elimination minimises the sum of all costs that depend on a statement over
/// its vectors, for every combination of its neighbours' partitions. Equal eliminations, such as
/// those in the layers of a network, are computed once.
///
/// An elimination that would exceed the budget is split, and then only gives a lower bound. The
/// labeling then comes from the bound's tables, or from linearize() if that is affordable, and is
/// improved statement by statement. The result says how far it may be from the optimum.
///
/// \throws Error if a statement has more than max_partition_vectors vectors.
[[nodiscard]] constexpr ExactResult exact(const EinGraph& graph, int p,
                                          const ExactOptions& options = {}) {
  plan::ExactSearch search(graph, p, options);
  ExactResult result;
  result.lower_bound = search.lower_bound();
  if (search.complete()) {
    result.partitions = search.labeling();
    result.cost = result.lower_bound;
    return result;
  }
  search.improve(plan::tuning::max_sweeps);
  result.partitions = search.labeling();
  result.cost = graph_cost(graph, result.partitions).total();
  if (search.edge_entries() <= plan::tuning::max_linearized_entries) {
    search.start_from(graph, linearize(graph, p));
    search.improve(plan::tuning::max_sweeps);
    Partitions other = search.labeling();
    const Extent cost = graph_cost(graph, other).total();
    if (cost < result.cost) {
      result.cost = cost;
      result.partitions = std::move(other);
    }
  }
  return result;
}

}  // namespace eindecomp
