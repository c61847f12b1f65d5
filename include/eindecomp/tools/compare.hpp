// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Strategies side by side.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <numeric>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/strategy.hpp"
#include "eindecomp/tools/summary.hpp"
#include "eindecomp/tools/table.hpp"

namespace eindecomp {
namespace tools {

/// A share as `25 %`; `-` if it is none, `< 1 %` if next to none.
[[nodiscard]] inline std::string idle_text(double share) {
  if (share <= 0) return "-";
  return share < 0.005 ? "< 1 %" : decimal(100 * share, 0) + " %";
}

}  // namespace tools

/// A plan, and how long it took to find.
struct TimedPlan {
  Plan plan;           ///< the plan of one strategy
  double seconds = 0;  ///< that planning took
};

/// decompose(), timed.
[[nodiscard]] inline TimedPlan decompose_timed(
    const EinGraph& graph, const DecomposeOptions& options,
    const std::source_location& where = std::source_location::current()) {
  const auto begin = std::chrono::steady_clock::now();
  Plan plan = decompose(graph, options, where);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return {std::move(plan), took.count()};
}

/// One plan per strategy that applies to the program, in the order of `strategies`: one by roles
/// only if labels have them, by_hand only if partition vectors are given, placed only for as many
/// workers as it plans. `options.strategy` does not matter. Plans that need more memory than the
/// options allow are left out.
///
/// \throws Error if another option is wrong, or no plan fits into memory.
[[nodiscard]] inline std::vector<TimedPlan> decompose_all_timed(
    const EinGraph& graph, DecomposeOptions options,
    const std::source_location& where = std::source_location::current()) {
  std::vector<TimedPlan> plans;
  std::exception_ptr refusal;
  const std::vector<StatementParts> by_hand = options.by_hand;
  for (const Strategy& strategy : list_strategies()) {
    const bool hand = strategy.name == "by_hand";
    if (hand && by_hand.empty()) continue;
    if (!strategy.finds_roles(graph)) continue;
    if (strategy.name == "placed" && options.workers > max_workers) continue;
    options.strategy = strategy.name;
    options.by_hand = hand ? by_hand : std::vector<StatementParts>{};
    try {
      plans.push_back(decompose_timed(graph, options, where));
    } catch (const Error& error) {
      // What is wrong for one that applies is wrong, unless it is that it needs too much memory.
      if (error.kind() != ErrorKind::memory) throw;
      if (!refusal || strategy.name == "placed") refusal = std::current_exception();
    }
  }
  if (plans.empty() && refusal) std::rethrow_exception(refusal);
  return plans;
}

/// The same, not timed.
[[nodiscard]] inline std::vector<Plan> decompose_all(
    const EinGraph& graph, const DecomposeOptions& options,
    const std::source_location& where = std::source_location::current()) {
  std::vector<Plan> plans;
  for (TimedPlan& timed : decompose_all_timed(graph, options, where)) {
    plans.push_back(std::move(timed.plan));
  }
  return plans;
}

/// Plans of one program in a table, the one with the fewest words on the busiest rank first (ties
/// to fewer words in all, then to the order given), and a second with their partition vectors. The
/// ratio is PlanSummary's to the lower bounds; idle, its share of the workers' time that goes
/// unused because labels are left whole that might be cut.
/// \throws Error if the plans are of different programs.
[[nodiscard]] inline std::string compare(
    std::span<const Plan> plans,
    const std::source_location& where = std::source_location::current()) {
  using tools::grouped;
  std::vector<PlanSummary> summaries;
  for (const Plan& plan : plans) {
    if (!plan.graph.same_tensors(plans.front().graph)) {
      core::fail(ErrorKind::plan,
                 "plans of different programs are compared (their statements do not pair); "
                 "compare plans of one program",
                 where);
    }
    summaries.push_back(summarize(plan));
  }
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const PlanSummary& x = summaries[a];
    const PlanSummary& y = summaries[b];
    return x.busiest_words != y.busiest_words ? x.busiest_words < y.busiest_words
                                              : x.words < y.words;
  });

  tools::TextTable table("lrrrrrrrrr", {"strategy", "busiest", "ratio", "words", "memory", "idle",
                                        "paper's cost", "join", "aggregate", "repartition"});
  for (std::size_t n : order) {
    const PlanSummary& s = summaries[n];
    table.add({plans[n].strategy.str(), grouped(s.busiest_words),
               tools::ratio_text(s.lower_bound_ratio()), grouped(s.words),
               tools::bytes_text(s.bytes), tools::idle_text(s.idle), grouped(s.cost.total()),
               grouped(s.cost.join), grouped(s.cost.aggregate), grouped(s.cost.repartition)});
  }
  if (plans.empty()) return table.text();

  std::vector<std::string> row{"partition of"};
  for (std::size_t n : order) row.push_back(plans[n].strategy.str());
  tools::TextTable vectors(std::string(row.size(), 'l'), row);
  for (const StatementSummary& s : summaries.front().statements) {
    row = {plans.front().graph[s.statement].name.str()};
    for (std::size_t n : order) {
      row.push_back(tools::partition_text(plans[n], s.statement).str());
    }
    vectors.add(row);
  }
  return table.text() + '\n' + vectors.text();
}

}  // namespace eindecomp
