// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A plan as a picture, in Graphviz' DOT language.
#pragma once

#include <algorithm>
#include <filesystem>
#include <source_location>
#include <string>
#include <string_view>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/plan/explain.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/tools/explanation.hpp"
#include "eindecomp/tools/summary.hpp"
#include "eindecomp/tools/table.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace eindecomp {
namespace tools {

/// Text between quotes of DOT; \n is a line end there.
[[nodiscard]] inline std::string dot_escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

[[nodiscard]] inline std::string dot_node(VertexId v) { return "v" + core::to_text(v).str(); }

/// A width of 1 for an edge that moves nothing, of 8 for the one that moves most.
[[nodiscard]] inline std::string dot_width(Extent words, Extent most) {
  const double tenths =
      most == 0 ? 10.0 : 10.0 + 70.0 * static_cast<double>(words) / static_cast<double>(most);
  const auto n = static_cast<long long>(tenths);
  return (core::to_text(n / 10) + "." + n % 10).str();
}

}  // namespace tools

/// A plan in DOT: inputs with their stored blocks, statements with formula, partition vector and
/// the runner-up, by how much it costs more in the paper's words (explain()); results framed twice;
/// an edge per operand, as thick as the words it brings from other ranks, and dashed if it brings
/// none. `dot -Tsvg` makes a picture of it.
/// \throws Error if a statement has more than max_partition_vectors.
[[nodiscard]] inline std::string to_dot(const Plan& plan) {
  using tools::dot_escaped;
  using tools::dot_node;
  using tools::grouped;
  const PlanSummary summary = summarize(plan);
  Extent most = 0;
  for (const StatementSummary& s : summary.statements) {
    for (const OperandWords& operand : s.operands) most = std::max(most, operand.words);
  }

  std::string dot = "digraph plan {\n  label=\"" + dot_escaped(plan.strategy.view()) + ", " +
                    tools::counted(plan.workers, "worker") + " on " +
                    tools::counted(plan.ranks, "rank") + ": " + grouped(summary.words) +
                    " words, " + grouped(summary.busiest_words) +
                    " on the busiest rank\";\n"
                    "  labelloc=t;\n  fontname=\"sans-serif\";\n"
                    "  node [fontname=\"sans-serif\", fontsize=11];\n"
                    "  edge [fontname=\"sans-serif\", fontsize=10];\n";
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    const Vertex& tensor = plan.graph[v];
    if (!tensor.is_input()) continue;
    dot += "  " + dot_node(v) + " [shape=ellipse, label=\"" + dot_escaped(tensor.name.view()) +
           "\\n" + tools::shape_text(tensor.bound).str() + "\\n" +
           tools::stored_text(plan, v).str() + "\"];\n";
  }
  const std::vector<StatementExplanation> reasons = explain(plan);
  auto why = reasons.begin();
  for (const StatementSummary& s : summary.statements) {
    const bool result = plan.graph[s.statement].is_result();
    dot += "  " + dot_node(s.statement) + " [shape=box, peripheries=" + (result ? "2" : "1") +
           ", label=\"" + dot_escaped(formula(plan.graph, s.statement).view()) + "\\n" +
           dot_escaped(tools::partition_text(plan, s.statement).view()) + "\\n" +
           tools::counted(s.calls, "call");
    if (s.partial_words > 0) dot += ", " + grouped(s.partial_words) + " words aggregated";
    dot += "\\n" + dot_escaped(tools::runner_up_text(plan.graph, *why++)) + "\"];\n";
    for (const OperandWords& operand : s.operands) {
      dot += "  " + dot_node(operand.operand) + " -> " + dot_node(s.statement) + " [label=\"" +
             grouped(operand.words) + "\", penwidth=" + tools::dot_width(operand.words, most) +
             (operand.words == 0 ? ", style=dashed, color=gray50" : "") + "];\n";
    }
  }
  return dot + "}\n";
}

/// Writes to_dot(plan) to a file, which is replaced as a whole or, on an error, left as it was.
/// \throws Error if the file cannot be written.
inline void write_dot(const Plan& plan, const std::filesystem::path& path,
                      const std::source_location& where = std::source_location::current()) {
  tools::replace_file(path, {to_dot(plan)}, "the plan", where);
}

}  // namespace eindecomp
