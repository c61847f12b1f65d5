// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Plans of one program, the best first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/tools/compare.hpp"
#include "eindecomp/tools/summary.hpp"
#include "eindecomp/tools/table.hpp"

namespace eindecomp {

/// By what one plan is better than another.
enum class RankedBy {
  words,  ///< true words received by the busiest rank, then by all
  paper,  ///< the paper's cost
};

/// A plan, how long it took to find, and its figures.
struct RankedPlan {
  TimedPlan timed;
  PlanSummary summary;
};

/// Orders plans of one program, the best first; equal ones stay in the order given.
[[nodiscard]] inline std::vector<RankedPlan> rank_plans(std::vector<TimedPlan> plans, RankedBy by) {
  std::vector<RankedPlan> ranked;
  for (TimedPlan& timed : plans) {
    PlanSummary summary = summarize(timed.plan);
    ranked.push_back({std::move(timed), std::move(summary)});
  }
  std::ranges::stable_sort(ranked, [by](const RankedPlan& a, const RankedPlan& b) {
    const auto key = [by](const RankedPlan& r) {
      const Extent cost = r.timed.plan.cost.total();
      const Extent busiest = r.summary.busiest_words;
      return by == RankedBy::paper ? std::tuple(cost, busiest, r.summary.words)
                                   : std::tuple(busiest, r.summary.words, cost);
    };
    return key(a) < key(b);
  });
  return ranked;
}

namespace detail {

/// How far a plan's cost is from the least there is, as far as that is proven.
[[nodiscard]] inline std::string gap_text(const std::optional<Extent>& gap) {
  if (!gap) return "";
  return *gap == 0 ? "optimal" : "<= " + grouped(*gap);
}

}  // namespace detail

/// Plans in the order given as one table: what the busiest rank receives and all do, over the lower
/// bounds; memory; the paper's cost and its gap to the optimum; the seconds of planning.
[[nodiscard]] inline std::string ranking(std::span<const RankedPlan> plans) {
  using enum detail::TextTable::Align;
  using detail::grouped;
  detail::TextTable table({left, right, right, right, right, right, right, right, right});
  table.add({"strategy", "in use", "busiest", "words", "of bound", "memory", "paper's cost", "gap",
             "planned in"});
  table.rule();
  for (const RankedPlan& ranked : plans) {
    const Plan& plan = ranked.timed.plan;
    const PlanSummary& s = ranked.summary;
    const std::optional<double> ratio = s.lower_bound_ratio();
    table.add({plan.strategy.str(), grouped(plan.workers_in_use()), grouped(s.busiest_words),
               grouped(s.words), ratio ? detail::decimal(*ratio, 3) : "-",
               detail::bytes_text(s.bytes), grouped(plan.cost.total()), detail::gap_text(plan.gap),
               detail::decimal(ranked.timed.seconds, 3) + " s"});
  }
  return table.text();
}

}  // namespace eindecomp
