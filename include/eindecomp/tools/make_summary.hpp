// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How a plan's figures are collected, behind summarize().
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/lower_bound.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/program_profile.hpp"
#include "eindecomp/tools/summary.hpp"

namespace eindecomp {
namespace tools {

/// The figures of one statement. \param n  its number in the part.
[[nodiscard]] inline StatementSummary summarize_statement(
    const Plan& plan, const relation::ProgramProfile::Part& part, std::size_t n,
    const relation::ProgramMemory& memory) {
  const relation::UnitProfile::Statement& made = part.unit->statements[n];
  StatementSummary statement;
  statement.statement = part.statements[n];
  statement.calls = made.calls;
  statement.most_calls =
      max_kernel_calls(part_limits(plan.graph, statement.statement), plan.workers);
  statement.cost = plan.cost_of(statement.statement);
  statement.partial_words = made.partial_words;
  statement.bytes = memory.by_statement[to_index(statement.statement)];
  statement.replicated = made.rereads;
  for (Extent words : made.received) {
    statement.busiest_words = std::max(statement.busiest_words, words);
  }
  for (const Operand& operand : plan.graph[statement.statement].operands) {
    const auto known =
        std::ranges::find(statement.operands, operand.vertex, &OperandWords::operand);
    if (known != statement.operands.end()) continue;
    const auto tensor = std::ranges::find(part.tensors, operand.vertex) - part.tensors.begin();
    const Extent words = made.operand_words[to_index(tensor)];
    statement.operands.push_back({operand.vertex, words});
    statement.operand_words += words;
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
  const relation::ProgramProfile profile = relation::profile_of(
      plan.graph, plan.placement, plan.ranks, plan.steps, SpaceFacts().uninterrupted());
  const relation::ProgramMemory memory = profile.memory();
  summary.bytes = memory.peak.bytes;
  std::vector<Extent> received(static_cast<std::size_t>(plan.ranks), 0);
  // Bounds take their time, and are the same of statements that are done alike.
  std::map<std::pair<const relation::UnitProfile*, std::size_t>, double> bounds;
  const graph::Masks masks(plan.graph);
  for (const relation::ProgramProfile::Part& part : profile.parts) {
    for (std::size_t n = 0; n < part.statements.size(); ++n) {
      const relation::UnitProfile::Statement& made = part.unit->statements[n];
      StatementSummary statement = summarize_statement(plan, part, n, memory);
      const auto [bound, fresh] = bounds.try_emplace({part.unit.get(), n}, 0.0);
      if (fresh) {
        bound->second = lower_bound(plan.graph, masks, statement.statement, made.computing);
      }
      statement.lower_bound = bound->second;
      summary.calls += statement.calls;
      summary.words += statement.words();
      for (std::size_t r = 0; r < received.size(); ++r) received[r] += made.received[r];
      summary.statements.push_back(std::move(statement));
    }
  }
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
