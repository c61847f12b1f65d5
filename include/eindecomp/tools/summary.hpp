// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A plan's figures, collected once for every way to show them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/tools/table.hpp"

namespace eindecomp {

/// Words that one operand of a statement brings from other ranks.
struct OperandWords {
  VertexId operand = -1;  ///< the tensor that is read
  Extent words = 0;       ///< received by all ranks
};

/// What one statement of a plan makes, moves and holds.
struct StatementSummary {
  VertexId statement = -1;   ///< the statement that the figures are of
  Extent calls = 1;          ///< kernel calls N
  Extent most_calls = 1;     ///< that the plan's workers and the extents allow
  Cost cost;                 ///< in the paper's words: an upper bound
  Extent operand_words = 0;  ///< received by all ranks for the calls
  Extent partial_words = 0;  ///< received by all ranks to be aggregated
  Extent busiest_words = 0;  ///< received by the rank that receives most for this statement
  std::int64_t bytes = 0;    ///< of tensors held while it runs, on the rank that holds most
  std::vector<OperandWords> operands;  ///< one entry per tensor read, in order
  /// The words that the busiest of the ranks that compute must receive or send for it at least, see
  /// lower_bound(), if every operand is stored once; 0 where nothing is proven.
  double lower_bound = 0;
  /// Whether a rank has received something of an operand before, for another statement: the words
  /// may then be fewer than the bound.
  bool replicated = false;

  /// The words moved for the statement, over all ranks.
  [[nodiscard]] Extent words() const { return operand_words + partial_words; }
  /// The busiest rank's words over the lower bound; absent if that is 0.
  [[nodiscard]] std::optional<double> lower_bound_ratio() const {
    if (lower_bound <= 0) return std::nullopt;
    return static_cast<double>(busiest_words) / lower_bound;
  }
};

/// What a plan makes, moves and holds.
struct PlanSummary {
  std::vector<StatementSummary> statements;  ///< in the order of the graph
  Cost cost;                                 ///< in the paper's words: the sum over the statements
  Extent calls = 0;                          ///< kernel calls of all statements
  Extent words = 0;                          ///< received by all ranks in a run, exactly
  Extent busiest_words = 0;                  ///< received in a run by the rank that receives most
  std::int64_t bytes = 0;                    ///< of tensors at most, on the rank that holds most
  /// The share of the workers' time that goes unused because statements make fewer kernel calls
  /// than they might, if a worker takes as long for every index of every statement: 0 to 1.
  double idle = 0;

  /// The statements' words on their busiest ranks over their lower bounds, both summed up: an
  /// indicator, for no bound on a whole program's words is known. Absent if nothing need move.
  [[nodiscard]] std::optional<double> lower_bound_ratio() const {
    double moved = 0;
    double bound = 0;
    for (const StatementSummary& s : statements) {
      moved += static_cast<double>(s.busiest_words);
      bound += s.lower_bound;
    }
    if (bound <= 0) return std::nullopt;
    return moved / bound;
  }
};

/// Collects a plan's figures, those of all ranks from one of all statements and one of all ranks
/// that do alike. With EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does not compile
/// it.
[[nodiscard]] PlanSummary summarize(const Plan& plan);

namespace tools {

/// A partition vector of a statement with its labels: `i:4 j:1 k:4`.
[[nodiscard]] inline Text partition_text(const EinGraph& graph, VertexId statement,
                                         const PartitionVector& d) {
  const Vertex& v = graph[statement];
  Text text;
  for (std::size_t l = 0; l < d.size(); ++l) {
    text << (l == 0 ? "" : " ") << graph::label_text(graph, v, static_cast<int>(l)) << ':' << d[l];
  }
  return text.empty() ? Text("one call") : text;
}

/// The partition vector that the statement has in a plan.
[[nodiscard]] inline Text partition_text(const Plan& plan, VertexId statement) {
  return partition_text(plan.graph, statement, plan.partition(statement));
}

/// A ratio to a lower bound, `-` where there is none; with an asterisk where the bound need not
/// hold.
[[nodiscard]] inline std::string ratio_text(std::optional<double> ratio, bool replicated = false) {
  if (!ratio) return "-";
  return decimal(*ratio, 2) + (replicated ? "*" : "");
}

/// Numbers with a cross between: `512 x 1024`; of a scalar, `scalar`.
[[nodiscard]] inline Text shape_text(const std::vector<Extent>& extents) {
  return extents.empty() ? Text("scalar") : core::joined(extents, " x ", core::to_text);
}

/// How many blocks a tensor is stored in, per dimension: `4 x 1 blocks`.
[[nodiscard]] inline Text stored_text(const Plan& plan, VertexId tensor) {
  const std::vector<Extent> parts =
      parts_of(plan.placement.mesh, plan.placement.stored[static_cast<std::size_t>(tensor)]);
  const Extent blocks = kernel_calls(parts);
  if (blocks == 1) return "1 block";
  return shape_text(parts) + " blocks";
}

}  // namespace tools
}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/tools/make_summary.hpp"
#endif
