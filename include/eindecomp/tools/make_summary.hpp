// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How a plan's figures are collected, behind summarize().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/lower_bound.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/memory.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "eindecomp/tools/summary.hpp"

namespace eindecomp {
namespace tools {

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
  statement.most_calls = max_kernel_calls(part_limits(plan.graph, tasks.statement), plan.workers);
  statement.cost = plan.cost_of(tasks.statement);
  statement.operand_words = tasks.repartition_words;
  statement.partial_words = tasks.aggregation_words;
  statement.bytes = bytes;
  for (Extent words : tasks.received) {
    statement.busiest_words = std::max(statement.busiest_words, words);
  }
  std::set<int> computing;
  for (const CallTask& call : tasks.calls) computing.insert(call.rank);
  statement.lower_bound =
      lower_bound(plan.graph, tasks.statement, static_cast<int>(computing.size()));
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

/// summarize().
[[nodiscard]] inline PlanSummary make_summary(const Plan& plan) {
  PlanSummary summary;
  std::vector<std::int64_t> bytes(plan.graph.vertices.size(), 0);
  for_each_rank_program(plan.graph, plan.placement, plan.ranks, plan.steps, {},
                        [&](const RankProgram& program) {
                          summary.bytes = std::max(summary.bytes, program.peak_bytes());
                          const auto held = bytes_by_instruction(program);
                          for (std::size_t s = 0; s < held.size(); ++s) {
                            const VertexId statement = program.instructions[s].statement;
                            std::int64_t& most = bytes[static_cast<std::size_t>(statement)];
                            most = std::max(most, held[s]);
                          }
                        });
  Arrivals arrivals(plan.graph);
  std::vector<Extent> received(static_cast<std::size_t>(plan.ranks), 0);
  for_each_statement_tasks(plan.graph, plan.placement, plan.ranks, [&](const StatementTasks& made) {
    summary.statements.push_back(
        summarize_statement(plan, made, bytes[static_cast<std::size_t>(made.statement)]));
    summary.statements.back().replicated = arrivals.serve(made);
    arrivals.add(made);
    summary.calls += summary.statements.back().calls;
    summary.words += made.words();
    for (std::size_t r = 0; r < received.size(); ++r) received[r] += made.received[r];
  });
  for (Extent words : received) summary.busiest_words = std::max(summary.busiest_words, words);
  summary.idle = idle_share(plan.graph, summary.statements);
  summary.cost = plan.cost;
  return summary;
}

}  // namespace tools

#ifndef EINDECOMP_SEPARATE_PLANNER
inline PlanSummary summarize(const Plan& plan) { return tools::make_summary(plan); }
#endif

}  // namespace eindecomp
