// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A plan's figures, collected once for every way to show them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/lower_bound.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/make_schedule.hpp"
#include "eindecomp/relation/memory.hpp"
#include "eindecomp/relation/schedule.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "eindecomp/tools/table.hpp"

namespace eindecomp {

/// Words that one operand of a statement brings from other ranks.
struct OperandWords {
  VertexId operand = -1;
  Extent words = 0;
};

/// What one statement of a plan makes, moves and holds.
struct StatementSummary {
  VertexId statement = -1;
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
  Cost cost;
  Extent calls = 0;
  Extent words = 0;          ///< received by all ranks in a run, exactly
  Extent busiest_words = 0;  ///< received in a run by the rank that receives most
  std::int64_t bytes = 0;    ///< of tensors at most, on the rank that holds most
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

namespace detail {

/// What ranks have received of tensors that several statements read.
class Arrivals {
 public:
  explicit Arrivals(const EinGraph& graph)
      : m_graph(graph), m_readers(graph.reader_counts()), m_boxes(graph.vertices.size()) {}

  /// Whether a call reads something that its rank has received for an earlier statement.
  [[nodiscard]] bool serve(const StatementTasks& tasks) const {
    return std::ranges::any_of(m_graph[tasks.statement].operands, [&](const Operand& operand) {
      const auto& by_rank = m_boxes[static_cast<std::size_t>(operand.vertex)];
      if (by_rank.empty()) return false;
      return std::ranges::any_of(tasks.calls, [&](const CallTask& call) {
        const auto received = by_rank.find(call.rank);
        if (received == by_rank.end()) return false;
        Box read;
        for (int l : operand.labels) {
          read.lo.push_back(call.domain.lo[static_cast<std::size_t>(l)]);
          read.hi.push_back(call.domain.hi[static_cast<std::size_t>(l)]);
        }
        return std::ranges::any_of(received->second,
                                   [&](const Box& box) { return !intersect(box, read).empty(); });
      });
    });
  }

  void add(const StatementTasks& tasks) {
    for (const Transfer& transfer : tasks.repartitions) {
      const auto tensor = static_cast<std::size_t>(transfer.tensor);
      if (m_readers[tensor] > 1) m_boxes[tensor][transfer.to].push_back(transfer.box);
    }
  }

 private:
  const EinGraph& m_graph;
  std::vector<int> m_readers;
  std::vector<std::map<int, std::vector<Box>>> m_boxes;  ///< per tensor, by rank
};

/// The figures of one statement, from its tasks and from the bytes that ranks hold during it.
[[nodiscard]] inline StatementSummary summarize_statement(const Plan& plan,
                                                          const StatementTasks& tasks,
                                                          std::int64_t bytes) {
  StatementSummary statement;
  statement.statement = tasks.statement;
  statement.calls = static_cast<Extent>(tasks.calls.size());
  statement.most_calls = most_kernel_calls(part_limits(plan.graph, tasks.statement), plan.workers);
  statement.cost = plan.cost_of(tasks.statement);
  statement.operand_words = tasks.repartition_words;
  statement.partial_words = tasks.aggregation_words;
  statement.bytes = bytes;
  for (Extent words : tasks.received) {
    statement.busiest_words = std::max(statement.busiest_words, words);
  }
  const Extent computing = std::min<Extent>(plan.ranks, statement.calls);
  statement.lower_bound = lower_bound(plan.graph, tasks.statement, static_cast<int>(computing));
  for (const Operand& operand : plan.graph[tasks.statement].operands) {
    const auto known =
        std::ranges::find(statement.operands, operand.vertex, &OperandWords::operand);
    if (known == statement.operands.end()) statement.operands.push_back({operand.vertex, 0});
  }
  for (const Transfer& transfer : tasks.repartitions) {
    std::ranges::find(statement.operands, transfer.tensor, &OperandWords::operand)->words +=
        transfer.words();
  }
  return statement;
}

/// The share of the workers' time that statements leave unused which might make more calls.
[[nodiscard]] inline double idle_share(const EinGraph& graph,
                                       const std::vector<StatementSummary>& statements) {
  double all = 0;
  double unused = 0;
  for (const StatementSummary& s : statements) {
    double points = 1;
    for (Extent extent : graph[s.statement].extents) points *= static_cast<double>(extent);
    all += points;
    if (s.calls >= s.most_calls) continue;
    unused += points * (1 - static_cast<double>(s.calls) / static_cast<double>(s.most_calls));
  }
  return all > 0 ? unused / all : 0;
}

}  // namespace detail

/// Collects a plan's figures. Walks the whole program, once and once more for every 64 ranks.
[[nodiscard]] inline PlanSummary summarize(const Plan& plan) {
  PlanSummary summary;
  std::vector<std::int64_t> bytes(plan.graph.vertices.size(), 0);
  for_each_schedule(plan.graph, plan.placement, plan.ranks, plan.steps,
                    [&](const RankSchedule& schedule) {
                      summary.bytes = std::max(summary.bytes, schedule.peak_bytes());
                      const auto held = bytes_by_step(plan.graph, schedule);
                      for (std::size_t s = 0; s < held.size(); ++s) {
                        const VertexId statement = schedule.steps[s].statement;
                        std::int64_t& most = bytes[static_cast<std::size_t>(statement)];
                        most = std::max(most, held[s]);
                      }
                    });
  detail::Arrivals arrivals(plan.graph);
  std::vector<Extent> received(static_cast<std::size_t>(plan.ranks), 0);
  for_each_statement_tasks(plan.graph, plan.placement, plan.ranks, [&](const StatementTasks& made) {
    summary.statements.push_back(
        detail::summarize_statement(plan, made, bytes[static_cast<std::size_t>(made.statement)]));
    summary.statements.back().replicated = arrivals.serve(made);
    arrivals.add(made);
    summary.calls += summary.statements.back().calls;
    summary.words += made.words();
    for (std::size_t r = 0; r < received.size(); ++r) received[r] += made.received[r];
  });
  for (Extent words : received) summary.busiest_words = std::max(summary.busiest_words, words);
  summary.idle = detail::idle_share(plan.graph, summary.statements);
  summary.cost = plan.cost;
  return summary;
}

namespace detail {

/// A partition vector of a statement with its labels: `i:4 j:1 k:4`.
[[nodiscard]] inline Text partition_text(const EinGraph& graph, VertexId statement,
                                         const PartitionVector& d) {
  const Vertex& v = graph[statement];
  Text text;
  for (std::size_t l = 0; l < d.size(); ++l) {
    if (l != 0) text += ' ';
    text += graph.labels[static_cast<std::size_t>(v.labels[l])].name;
    text += ':';
    text += to_text(d[l]);
  }
  return text.empty() ? Text("one call") : text;
}

/// The partition vector that the statement has in a plan.
[[nodiscard]] inline Text partition_text(const Plan& plan, VertexId statement) {
  return partition_text(plan.graph, statement,
                        plan.partitions[static_cast<std::size_t>(statement)]);
}

/// A ratio to a lower bound, `-` where there is none; with an asterisk where the bound need not
/// hold.
[[nodiscard]] inline std::string ratio_text(std::optional<double> ratio, bool replicated = false) {
  if (!ratio) return "-";
  return decimal(*ratio, 2) + (replicated ? "*" : "");
}

/// Numbers with a cross between: `512 x 1024`; of a scalar, `scalar`.
[[nodiscard]] inline Text shape_text(const std::vector<Extent>& extents) {
  Text text;
  for (Extent extent : extents) {
    if (!text.empty()) text += " x ";
    text += to_text(extent);
  }
  return text.empty() ? Text("scalar") : text;
}

/// How many blocks a tensor is stored in, per dimension: `4 x 1 blocks`.
[[nodiscard]] inline Text stored_text(const Plan& plan, VertexId tensor) {
  const std::vector<Extent> parts =
      parts_of(plan.placement.mesh, plan.placement.stored[static_cast<std::size_t>(tensor)]);
  const Extent blocks = kernel_calls(parts);
  if (blocks == 1) return "1 block";
  return shape_text(parts) + " blocks";
}

}  // namespace detail
}  // namespace eindecomp
