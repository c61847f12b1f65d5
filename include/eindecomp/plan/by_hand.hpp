// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The strategy `by_hand`: the user gives every partition vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partitions.hpp"

namespace eindecomp {
namespace plan {

/// One statement's vector from the user's parts. \throws Error as by_hand.
[[nodiscard]] constexpr PartitionVector vector_by_hand(const EinGraph& graph, VertexId statement,
                                                       const StatementParts& given, int p,
                                                       const std::source_location& where) {
  const Vertex& v = graph[statement];
  PartitionVector d(v.labels.size(), 0);
  for (const LabelParts& part : given.parts) {
    const Text cut = "label '" + part.label + "' of statement '" + v.name + "' is cut into " +
                     core::to_text(part.parts) + " parts by hand ";
    const int position = label_position(graph, v, part.label);
    if (position < 0) {
      core::fail(ErrorKind::plan, where, cut, "(the statement has no such label); its labels are ",
                 label_names(graph, v));
    }
    const auto l = to_index(position);
    if (d[l] != 0) {
      core::fail(ErrorKind::plan, where, cut, "(it was given before); give each label once");
    }
    if (part.parts < 1 || part.parts > v.extents[l]) {
      core::fail(ErrorKind::plan, where, cut, "(its extent is ", v.extents[l], "); give 1 to ",
                 v.extents[l], " parts");
    }
    if (part.parts > 1 && graph.labels[to_index(v.labels[l])].uncut) {
      core::fail(ErrorKind::plan, where, cut, "(it is marked uncut); leave it whole");
    }
    d[l] = part.parts;
  }
  Extent left = p;
  for (std::size_t l = 0; l < d.size(); ++l) {
    d[l] = std::max<Extent>(d[l], 1);
    if (left % d[l] != 0) {
      core::fail(
          ErrorKind::plan, where, "the partition vector of statement '", v.name,
          "' given by hand does not fit ", p,
          " workers (the product of its parts must divide their number); change the parts of "
          "label '",
          graph.labels[to_index(v.labels[l])].name, "'");
    }
    left /= d[l];
  }
  return d;
}

}  // namespace plan

/// The partition vectors the user gives, one for every statement of the graph. Their products may
/// be less than p, which leaves workers idle, but must divide it.
///
/// \throws Error if a statement is missing, unknown or given twice; if a label is unknown to its
///   statement, given twice, cut though it is marked uncut, or cut into less than one part or more
///   parts than its extent; or if a vector does not fit p workers.
[[nodiscard]] constexpr Partitions by_hand(
    const EinGraph& graph, int p, const std::vector<StatementParts>& given,
    const std::source_location& where = std::source_location::current()) {
  Partitions partitions(graph.vertices.size());
  Flags done(graph.vertices.size(), false);
  for (const StatementParts& statement : given) {
    const VertexId v = graph.find(statement.statement);
    if (v < 0 || graph[v].is_input()) {
      core::fail(ErrorKind::plan, where, "a partition vector is given by hand for '",
                 statement.statement, "' (",
                 (v < 0 ? "there is no such statement" : "it is an input, not a statement"),
                 "); give one for each statement, by its name");
    }
    const auto at = to_index(v);
    if (done[at]) {
      core::fail(ErrorKind::plan, where, "the partition vector of statement '", statement.statement,
                 "' is given by hand twice (a statement has one); remove one of them");
    }
    done[at] = true;
    partitions[at] = plan::vector_by_hand(graph, v, statement, p, where);
  }
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (graph[v].is_input() || done[to_index(v)]) continue;
    core::fail(
        ErrorKind::plan, where, "no partition vector is given by hand for statement '",
        graph[v].name,
        "' (the strategy by_hand takes one for every statement); give the parts of its labels ",
        plan::label_names(graph, graph[v]));
  }
  return partitions;
}

}  // namespace eindecomp
