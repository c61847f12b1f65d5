// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Why every statement of a plan has its partition vector: what it costs, and what the next best
/// would.
#pragma once

#include <optional>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp {

/// One partition vector that a statement may have, and what it costs the program if all other
/// statements keep theirs, in the paper's words.
struct Alternative {
  PartitionVector partition;  ///< in the order of Vertex::labels
  Cost cost;           ///< of the statement: its join, its aggregation, bringing its operands
  Extent readers = 0;  ///< to bring its result to the statements that read it

  /// What it costs the program: `cost` and `readers`.
  [[nodiscard]] constexpr Extent total() const { return plan::add_words(cost.total(), readers); }
};

/// Why a statement is cut as it is.
struct StatementExplanation {
  VertexId statement = -1;  ///< whose cut is explained
  std::vector<int> cut;     ///< positions in Vertex::labels of the labels in more than one part
  Alternative chosen;       ///< the one in the plan
  /// The cheapest other vector that makes as many kernel calls as can be; absent if there is none.
  /// It is cheaper than the chosen one where the strategy goes by something else than the paper's
  /// cost, or misses its least.
  std::optional<Alternative> runner_up;
};

/// For every statement of a plan, in the order of the graph: the labels it cuts, what its vector
/// costs, and the next best vector with the rest of the plan as it is.
/// \throws Error if a statement has more than max_partition_vectors.
[[nodiscard]] std::vector<StatementExplanation> explain(const Plan& plan);

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/plan/make_explanation.hpp"
#endif
