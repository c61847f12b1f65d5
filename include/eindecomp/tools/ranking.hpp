// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Plans of one program, the best first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/machine.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/simulate.hpp"
#include "eindecomp/tools/compare.hpp"
#include "eindecomp/tools/summary.hpp"
#include "eindecomp/tools/table.hpp"

namespace eindecomp {

/// A plan, how long it took to find, and its figures.
struct RankedPlan {
  TimedPlan timed;                ///< the plan, and how long it took to make
  PlanSummary summary;            ///< its figures, by which plans are ranked
  std::optional<Simulation> run;  ///< on the machine, if one is described
};

/// Orders plans of one program, the best by an objective first; equal ones by words, and then as
/// they are given. \param machine  what they are to run on, or Machine{}
/// \throws Error if plans are ordered by time and the machine is not well described or has fewer
///   workers than a plan has ranks.
[[nodiscard]] inline std::vector<RankedPlan> rank_plans(
    std::vector<TimedPlan> plans, Objective by, const Machine& machine = {},
    const std::source_location& where = std::source_location::current()) {
  std::vector<RankedPlan> ranked;
  for (TimedPlan& timed : plans) {
    RankedPlan plan{std::move(timed), {}, {}};
    plan.summary = summarize(plan.timed.plan);
    if (machine.described() || by == Objective::time) {
      plan.run = simulate(plan.timed.plan, machine, where);
    }
    ranked.push_back(std::move(plan));
  }
  std::ranges::stable_sort(ranked, [by](const RankedPlan& a, const RankedPlan& b) {
    const auto key = [by](const RankedPlan& r) {
      double first = 0;
      if (by == Objective::time) first = r.run->in_turn.seconds;
      if (by == Objective::paper) first = static_cast<double>(r.timed.plan.cost.total());
      return std::tuple(first, r.summary.busiest_words, r.summary.words);
    };
    return key(a) < key(b);
  });
  return ranked;
}

namespace tools {

/// How far a plan's cost is from the least there is, as far as that is proven.
[[nodiscard]] inline std::string gap_text(const std::optional<Extent>& gap) {
  if (!gap) return "";
  return *gap == 0 ? "optimal" : "<= " + grouped(*gap);
}

}  // namespace tools

/// Plans in the order given as one table: the workers in use; what the busiest rank receives and
/// all do; PlanSummary's ratio to the lower bounds; memory; the paper's cost and its gap to the
/// optimum; the seconds of planning and, on a described machine, of a run in turn.
[[nodiscard]] inline std::string ranking(std::span<const RankedPlan> plans) {
  using tools::grouped;
  const bool timed = !plans.empty() && plans.front().run.has_value();
  std::vector<std::string> header{"strategy", "in use",       "busiest", "words",     "ratio",
                                  "memory",   "paper's cost", "gap",     "planned in"};
  if (timed) header.emplace_back("runs in");
  tools::TextTable table(timed ? "lrrrrrrrrr" : "lrrrrrrrr", header);
  for (const RankedPlan& ranked : plans) {
    const Plan& plan = ranked.timed.plan;
    const PlanSummary& s = ranked.summary;
    std::vector<std::string> row{plan.strategy.str(),
                                 grouped(plan.workers_in_use()),
                                 grouped(s.busiest_words),
                                 grouped(s.words),
                                 tools::ratio_text(s.lower_bound_ratio()),
                                 tools::bytes_text(s.bytes),
                                 grouped(plan.cost.total()),
                                 tools::gap_text(plan.gap),
                                 tools::decimal(ranked.timed.seconds, 3) + " s"};
    if (timed) row.push_back(tools::decimal(ranked.run->in_turn.seconds, 6) + " s");
    table.add(row);
  }
  return table.text();
}

}  // namespace eindecomp
