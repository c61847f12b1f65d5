// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A plan's figures, collected once for every way to show them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/lower_bound.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/make_schedule.hpp"
#include "eindecomp/relation/schedule.hpp"
#include "eindecomp/relation/task_graph.hpp"

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
  Cost cost;                 ///< in the paper's words: an upper bound
  Extent operand_words = 0;  ///< received by all ranks for the calls
  Extent partial_words = 0;  ///< received by all ranks to be aggregated
  Extent busiest_words = 0;  ///< received by the rank that receives most for this statement
  std::int64_t bytes = 0;    ///< of tensors held while it runs, on the rank that holds most
  double lower_bound = 0;    ///< words that some rank must receive or send for it (lower_bound())
  std::vector<OperandWords> operands;  ///< one entry per tensor read, in order

  [[nodiscard]] Extent words() const { return operand_words + partial_words; }
};

/// What a plan makes, moves and holds.
struct PlanSummary {
  std::vector<StatementSummary> statements;  ///< in the order of the graph
  Cost cost;
  Extent calls = 0;
  Extent words = 0;          ///< received by all ranks in a run, exactly
  Extent busiest_words = 0;  ///< received in a run by the rank that receives most
  std::int64_t bytes = 0;    ///< of tensors at most, on the rank that holds most

  /// The statements' words on their busiest ranks over their lower bounds, both summed up: an
  /// indicator of how good the plan is, as no bound on the program's words. Absent where nothing
  /// need move.
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

[[nodiscard]] inline std::int64_t staged_bytes(const EinGraph& graph, const RankSchedule& schedule,
                                               const std::vector<Message>& messages) {
  std::int64_t bytes = 0;
  for (const Message& message : messages) {
    if (message.staging < 0 || message.regions.empty()) continue;
    const auto at = static_cast<std::size_t>(message.regions.front().buffer);
    const Buffer& buffer = schedule.buffers[at];
    const Vertex& tensor = graph[buffer.tensor];
    bytes += message.words * (buffer.partial ? tensor.partial.bytes : tensor.element.bytes);
  }
  return bytes;
}

/// Bytes of tensors that a rank holds while it runs one of its steps.
[[nodiscard]] inline std::int64_t bytes_at(const EinGraph& graph, const RankSchedule& schedule,
                                           std::size_t step) {
  std::int64_t bytes = schedule.input_bytes + schedule.result_bytes;
  const int at = static_cast<int>(step);
  for (const Buffer& buffer : schedule.buffers) {
    if (buffer.role == Buffer::Role::scratch && buffer.first <= at && at <= buffer.last) {
      bytes += buffer.bytes;
    }
  }
  const Step& messages = schedule.steps[step];
  for (const auto* list :
       {&messages.receives, &messages.sends, &messages.partial_receives, &messages.partial_sends}) {
    bytes += staged_bytes(graph, schedule, *list);
  }
  return bytes;
}

/// The most bytes of tensors that a rank holds in any step of a statement.
[[nodiscard]] inline std::int64_t bytes_during(const EinGraph& graph, const RankSchedule& schedule,
                                               VertexId statement) {
  std::int64_t most = 0;
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    if (schedule.steps[step].statement != statement) continue;
    most = std::max(most, bytes_at(graph, schedule, step));
  }
  return most;
}

}  // namespace detail

/// Collects a plan's figures. Walks the whole program twice.
[[nodiscard]] inline PlanSummary summarize(const Plan& plan) {
  const TaskGraph tasks = plan.tasks();
  const std::vector<RankSchedule> schedules =
      make_schedules(plan.graph, plan.placement, plan.ranks, plan.steps);
  PlanSummary summary;
  for (std::size_t s = 0; s < tasks.statements.size(); ++s) {
    const StatementTasks& made = tasks.statements[s];
    StatementSummary statement;
    statement.statement = made.statement;
    statement.calls = static_cast<Extent>(made.calls.size());
    statement.cost = plan.cost_of(made.statement);
    statement.operand_words = made.repartition_words;
    statement.partial_words = made.aggregation_words;
    statement.lower_bound =
        lower_bound(plan.graph, made.statement, std::min(plan.ranks, plan.workers_in_use()));
    for (Extent words : made.received) {
      statement.busiest_words = std::max(statement.busiest_words, words);
    }
    for (const RankSchedule& schedule : schedules) {
      statement.bytes =
          std::max(statement.bytes, detail::bytes_during(plan.graph, schedule, made.statement));
    }
    for (const Operand& operand : plan.graph[made.statement].operands) {
      const auto known =
          std::ranges::find(statement.operands, operand.vertex, &OperandWords::operand);
      if (known == statement.operands.end()) statement.operands.push_back({operand.vertex, 0});
    }
    for (const Transfer& transfer : made.repartitions) {
      std::ranges::find(statement.operands, transfer.tensor, &OperandWords::operand)->words +=
          transfer.words();
    }
    summary.calls += statement.calls;
    summary.statements.push_back(std::move(statement));
  }
  summary.cost = plan.cost;
  summary.words = tasks.total_words();
  summary.busiest_words = tasks.busiest_words();
  for (const RankSchedule& schedule : schedules) {
    summary.bytes = std::max(summary.bytes, schedule.peak_bytes());
  }
  return summary;
}

namespace detail {

/// A statement's partition vector with its labels: `i:4 j:1 k:4`.
[[nodiscard]] inline Text partition_text(const Plan& plan, VertexId statement) {
  const Vertex& v = plan.graph[statement];
  const PartitionVector& d = plan.partitions[static_cast<std::size_t>(statement)];
  Text text;
  for (std::size_t l = 0; l < d.size(); ++l) {
    if (l != 0) text += ' ';
    text += plan.graph.labels[static_cast<std::size_t>(v.labels[l])].name;
    text += ':';
    text += to_text(d[l]);
  }
  return text.empty() ? Text("one call") : text;
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
