// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Plans as JSON (docs/tools.md has the format). Needs nlohmann-json.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/plan/explain.hpp"
#include "eindecomp/plan/partitions.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/simulate.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/tools/ranking.hpp"
#include "eindecomp/tools/summary.hpp"

namespace eindecomp {
namespace tools {

[[nodiscard]] inline nlohmann::ordered_json cost_json(const Cost& cost) {
  return {{"total", cost.total()},
          {"join", cost.join},
          {"aggregate", cost.aggregate},
          {"repartition", cost.repartition}};
}

/// A value, or null where it is absent.
template <class T>
[[nodiscard]] nlohmann::ordered_json json_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

[[nodiscard]] inline nlohmann::ordered_json partition_json(const EinGraph& graph, VertexId v,
                                                           const PartitionVector& d) {
  nlohmann::ordered_json partition = nlohmann::ordered_json::object();
  for (std::size_t l = 0; l < d.size(); ++l) {
    partition[std::string(graph::label_text(graph, graph[v], static_cast<int>(l)))] = d[l];
  }
  return partition;
}

[[nodiscard]] inline nlohmann::ordered_json statement_json(const Plan& plan,
                                                           const StatementSummary& s) {
  return {{"name", plan.graph[s.statement].name.str()},
          {"partition", partition_json(plan.graph, s.statement, plan.partition(s.statement))},
          {"cost", cost_json(s.cost)},
          {"words", s.words()},
          {"peak_bytes", s.bytes}};
}

/// Adds how long a run takes, and by how much longer for each statement.
inline void add_run(nlohmann::ordered_json& plan, const Simulation& run) {
  plan["run_seconds"] = {{"in_turn", run.in_turn.seconds},
                         {"as_run", run.as_run.seconds},
                         {"overlapped", run.overlapped.seconds}};
  for (std::size_t s = 0; s < run.in_turn.statements.size(); ++s) {
    plan["statements"][s]["run_seconds"] = run.in_turn.statements[s].adds;
  }
}

[[nodiscard]] inline nlohmann::ordered_json alternative_json(const EinGraph& graph, VertexId v,
                                                             const Alternative& vector) {
  nlohmann::ordered_json cost = cost_json(vector.cost);
  cost["readers"] = vector.readers;
  cost["total"] = vector.total();
  return {{"partition", partition_json(graph, v, vector.partition)}, {"cost", std::move(cost)}};
}

/// Why a statement is cut as it is: its labels that are, what its vector costs and the next best.
[[nodiscard]] inline nlohmann::ordered_json reason_json(const Plan& plan,
                                                        const StatementExplanation& why) {
  nlohmann::ordered_json json{{"cut", nlohmann::ordered_json::array()},
                              {"chosen", alternative_json(plan.graph, why.statement, why.chosen)},
                              {"runner_up", nullptr}};
  const Vertex& statement = plan.graph[why.statement];
  for (int l : why.cut) json["cut"].push_back(graph::label_text(plan.graph, statement, l));
  if (why.runner_up) {
    json["runner_up"] = alternative_json(plan.graph, why.statement, *why.runner_up);
  }
  return json;
}

}  // namespace tools

/// A plan's figures as JSON; with what it takes on a machine, if that is described, and, with
/// `explained`, why every statement is cut as it is.
[[nodiscard]] inline nlohmann::ordered_json plan_json(const RankedPlan& ranked,
                                                      bool explained = false) {
  const Plan& plan = ranked.timed.plan;
  const PlanSummary& summary = ranked.summary;
  nlohmann::ordered_json json{
      {"strategy", plan.strategy.str()},
      {"workers", plan.workers},
      {"cost", tools::cost_json(plan.cost)},
      {"words", {{"busiest_worker", summary.busiest_words}, {"total", summary.words}}},
      {"peak_bytes", summary.bytes},
      {"lower_bound_ratio", tools::json_or_null(summary.lower_bound_ratio())},
      {"optimal", plan.optimal()},
      {"gap", tools::json_or_null(plan.gap)},
      {"plan_seconds", ranked.timed.seconds},
      {"statements", nlohmann::ordered_json::array()}};
  for (const StatementSummary& s : summary.statements) {
    json["statements"].push_back(tools::statement_json(plan, s));
  }
  if (plan.strategy == "k_cut") json["cuts"] = plan.cuts;
  if (ranked.run) tools::add_run(json, *ranked.run);
  if (explained) {
    const std::vector<StatementExplanation> reasons = explain(plan);
    for (std::size_t s = 0; s < reasons.size(); ++s) {
      json["statements"][s]["why"] = tools::reason_json(plan, reasons[s]);
    }
  }
  return json;
}

}  // namespace eindecomp
