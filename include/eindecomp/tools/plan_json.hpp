// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Plans as JSON (docs/tools.md has the format). Needs nlohmann-json.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/tools/compare.hpp"
#include "eindecomp/tools/summary.hpp"

namespace eindecomp {
namespace detail {

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

[[nodiscard]] inline nlohmann::ordered_json statement_json(const Plan& plan,
                                                           const StatementSummary& s) {
  const Vertex& v = plan.graph[s.statement];
  const PartitionVector& d = plan.partition(s.statement);
  nlohmann::ordered_json partition = nlohmann::ordered_json::object();
  for (std::size_t l = 0; l < d.size(); ++l) {
    partition[plan.graph.labels[static_cast<std::size_t>(v.labels[l])].name.str()] = d[l];
  }
  return {{"name", v.name.str()},
          {"partition", std::move(partition)},
          {"cost", cost_json(s.cost)},
          {"words", s.words()},
          {"peak_bytes", s.bytes}};
}

}  // namespace detail

/// A plan's figures as JSON. \param summary  of that plan
[[nodiscard]] inline nlohmann::ordered_json plan_json(const TimedPlan& timed,
                                                      const PlanSummary& summary) {
  const Plan& plan = timed.plan;
  nlohmann::ordered_json json{
      {"strategy", plan.strategy.str()},
      {"workers", plan.workers},
      {"cost", detail::cost_json(plan.cost)},
      {"words", {{"busiest_worker", summary.busiest_words}, {"total", summary.words}}},
      {"lower_bound_ratio", detail::json_or_null(summary.lower_bound_ratio())},
      {"optimal", plan.optimal()},
      {"gap", detail::json_or_null(plan.gap)},
      {"plan_seconds", timed.seconds},
      {"statements", nlohmann::ordered_json::array()}};
  for (const StatementSummary& s : summary.statements) {
    json["statements"].push_back(detail::statement_json(plan, s));
  }
  if (plan.strategy == "k_cut") json["cuts"] = plan.cuts;
  return json;
}

}  // namespace eindecomp
