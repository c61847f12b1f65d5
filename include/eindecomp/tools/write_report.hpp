// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How report() is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/tools/report.hpp"
#include "eindecomp/tools/summary.hpp"
#include "eindecomp/tools/table.hpp"

namespace eindecomp {
namespace tools {

/// How many kernel calls a statement makes; and of how many, if more could be made.
[[nodiscard]] inline std::string calls_text(const StatementSummary& s) {
  if (s.calls >= s.most_calls) return grouped(s.calls);
  return grouped(s.calls) + " of " + grouped(s.most_calls);
}

/// Where the inputs lie before the program runs.
[[nodiscard]] inline std::string inputs_text(const Plan& plan) {
  TextTable table("llll", {"input", "extents", "elements", "stored in"});
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    const Vertex& tensor = plan.graph[v];
    if (!tensor.is_input()) continue;
    table.add({tensor.name.str(), shape_text(tensor.bound).str(),
               expr::element_text(tensor.element).str(), stored_text(plan, v).str()});
  }
  return table.text();
}

/// Which statements run in steps and tiles, a line per group; empty if none do.
[[nodiscard]] inline std::string steps_text(const Plan& plan) {
  Text text;
  for (const StepGroup& group : plan.steps) {
    const auto write = [&](const StepGroup& cut, const char* what, const char* how) {
      const Vertex& first = plan.graph[cut.first];
      text << what << first.name << " to " << plan.graph[cut.last].name << how;
      for (const StepAxis& axis : cut.axes) {
        text << ' ' << graph::label_text(plan.graph, first, axis.positions.front()) << ':'
             << (axis.size > 0 ? axis.size : axis.parts);
      }
      if (relation::adds_blocks(plan.graph, cut)) {
        text << ", added up by " << plan.graph[cut.last].name;
      }
      text += '\n';
    };
    if (!group.axes.empty()) write(group, "steps      ", " run block by block:");
    if (group.accumulates) {
      text << "sums       " << plan.graph[group.first].name << " to " << plan.graph[group.last].name
           << " accumulate in the memory of " << plan.graph[group.last].name << '\n';
    }
    for (const StepGroup& tiles : group.tiles) {
      write(tiles, "tiles      ", " run tile by tile, in tiles of");
    }
  }
  return text.str();
}

/// Words in all.
[[nodiscard]] inline std::string words_text(const std::vector<Extent>& of_ranks) {
  Extent words = 0;
  for (const Extent of_rank : of_ranks) words += of_rank;
  return grouped(words) + " words";
}

/// What a limit of memory costs; empty if it costs no word.
[[nodiscard]] inline std::string memory_text(const Plan& plan) {
  const plan::WordSum& more = plan.words_for_memory;
  if (more == plan::WordSum{}) return {};
  return "memory     the limit costs the busiest rank " + grouped(more.busiest) +
         " words more, and all together " + grouped(more.total) + "\n";
}

/// What moves between two runs, a line per result that is carried over; empty if none is.
[[nodiscard]] inline std::string carried_text(const Plan& plan) {
  Text text;
  for (const CarriedResult& pair : plan.carry) {
    text << "carried    " << plan.graph[pair.next].name << " to " << plan.graph[pair.input].name
         << ", "
         << Text(words_text(
                redistributed_words(plan.distribution(pair.next), plan.distribution(pair.input))))
         << " between two runs, apart from those above\n";
  }
  return text.str();
}

/// What moves before and after a run because of distributions, a line for each.
[[nodiscard]] inline std::string distributions_text(const Plan& plan,
                                                    const std::vector<TensorLayout>& layouts) {
  std::string text;
  for (const TensorLayout& given : layouts) {
    if (given.distribution.ranks() == 0) continue;
    const bool is_input = plan.graph[plan.vertex(given.tensor.view())].is_input();
    text += (is_input ? "bound      " : "wanted     ") + given.tensor.str() + ", " +
            words_text(is_input ? plan.input_words(given.tensor.view(), given.distribution)
                                : plan.result_words(given.tensor.view(), given.distribution)) +
            (is_input ? " before the run" : " after the run") + ", apart from those above\n";
  }
  return text;
}

/// report().
[[nodiscard]] inline std::string write_report(const Plan& plan) {
  const PlanSummary summary = summarize(plan);
  TextTable table("llrrrrrrrrl", {"statement", "partition", "calls", "join", "aggregate",
                                  "repartition", "words", "busiest", "ratio", "memory", "formula"});
  for (const StatementSummary& s : summary.statements) {
    table.add({plan.graph[s.statement].name.str(), partition_text(plan, s.statement).str(),
               calls_text(s), grouped(s.cost.join), grouped(s.cost.aggregate),
               grouped(s.cost.repartition), grouped(s.words()), grouped(s.busiest_words),
               ratio_text(s.lower_bound_ratio(), s.replicated), bytes_text(s.bytes),
               formula(plan.graph, s.statement).str()});
  }
  table.rule();
  table.add({"total", "", grouped(summary.calls), grouped(summary.cost.join),
             grouped(summary.cost.aggregate), grouped(summary.cost.repartition),
             grouped(summary.words), grouped(summary.busiest_words),
             ratio_text(summary.lower_bound_ratio()), bytes_text(summary.bytes)});

  return "Plan by " + plan.strategy.str() + " for " + counted(plan.workers, "worker") + " on " +
         counted(plan.ranks, "rank") + "\n\n" + inputs_text(plan) + '\n' + table.text() +
         "\n"
         "partition  parts that each label is cut into; their product is the number of blocks\n"
         "calls      calls of a local kernel on all ranks, one for each block\n"
         "join, aggregate, repartition\n"
         "           the paper's cost in elements, an upper bound: operands sent to calls, "
         "partial\n"
         "           results combined, results moved to other blocks; " +
         grouped(summary.cost.total()) +
         " in all\n"
         "words      elements that ranks send each other, exactly\n"
         "busiest    elements received by the rank that receives the most\n"
         "ratio      busiest over a lower bound for every partition; -: the bound is 0; *: a rank\n"
         "           already held part of an operand; the total's is only an indicator\n"
         "memory     bytes of tensors held while the statement runs, on the rank that holds the "
         "most\n" +
         steps_text(plan) + memory_text(plan) + carried_text(plan);
}

}  // namespace tools

#ifndef EINDECOMP_SEPARATE_PLANNER
inline std::string report(const Plan& plan) { return tools::write_report(plan); }

inline std::string report(const Plan& plan, const std::vector<TensorLayout>& layouts) {
  return tools::write_report(plan) + tools::distributions_text(plan, layouts);
}
#endif

}  // namespace eindecomp
