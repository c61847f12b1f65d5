// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Why a plan is as it is, as text.
#pragma once

#include <optional>
#include <string>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/plan/explain.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/tools/summary.hpp"
#include "eindecomp/tools/table.hpp"

namespace eindecomp {
namespace tools {

/// The labels that a statement cuts: `i and k`; `nothing`.
[[nodiscard]] inline Text cut_text(const EinGraph& graph, const StatementExplanation& why) {
  Text text;
  for (std::size_t n = 0; n < why.cut.size(); ++n) {
    if (n > 0) text += n + 1 == why.cut.size() ? " and " : ", ";
    text += graph::label_text(graph, graph[why.statement], why.cut[n]);
  }
  return text.empty() ? Text("nothing") : text;
}

/// What a vector costs, term by term: `join 256 + aggregate 192 = 448`.
[[nodiscard]] inline std::string terms_text(const Alternative& vector) {
  std::string text = "join " + grouped(vector.cost.join);
  int terms = 1;
  const auto add = [&](const char* name, Extent words) {
    if (words == 0) return;
    text += std::string(" + ") + name + ' ' + grouped(words);
    ++terms;
  };
  add("aggregate", vector.cost.aggregate);
  add("repartition", vector.cost.repartition);
  add("readers", vector.readers);
  return terms == 1 ? text : text + " = " + grouped(vector.total());
}

/// How much more or less the next best vector costs: `64 more`.
[[nodiscard]] inline std::string difference_text(Extent chosen, Extent other) {
  if (other == unaffordable) return "too much to count";
  if (other == chosen) return "as much";
  return other > chosen ? grouped(other - chosen) + " more" : grouped(chosen - other) + " less";
}

/// A statement's runner-up in few words: `runner-up i:4 k:4, 64 more`.
[[nodiscard]] inline std::string runner_up_text(const EinGraph& graph,
                                                const StatementExplanation& why) {
  if (!why.runner_up) return "no runner-up";
  return "runner-up " + partition_text(graph, why.statement, why.runner_up->partition).str() +
         ", " + difference_text(why.chosen.total(), why.runner_up->total());
}

}  // namespace tools

/// For every statement what its partition vector costs in the paper's words, term by term, and what
/// the next best one would if the others kept theirs.
[[nodiscard]] inline std::string explanation(const Plan& plan) {
  std::string text;
  for (const StatementExplanation& why : explain(plan)) {
    const auto line = [&](const char* what, const Alternative& vector) {
      text += std::string("  ") + what +
              tools::partition_text(plan.graph, why.statement, vector.partition).str() + "  " +
              tools::terms_text(vector);
    };
    text += plan.graph[why.statement].name.str() + " cuts " +
            tools::cut_text(plan.graph, why).str() + '\n';
    line("chosen     ", why.chosen);
    text += '\n';
    if (why.runner_up) {
      line("runner-up  ", *why.runner_up);
      text += " (" + tools::difference_text(why.chosen.total(), why.runner_up->total()) + ")\n";
    } else {
      text += "  there is no other way to make as many kernel calls\n";
    }
  }
  return text +
         "join, aggregate, repartition: the paper's cost in words; readers: to bring the result "
         "to\n"
         "the statements that read it\n";
}

}  // namespace eindecomp
