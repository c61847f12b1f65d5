// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Programs and plans in lines that say all that their hashes are of, for ranks that hold different
/// ones to be told where they differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::plan {

[[nodiscard]] inline std::string number_text(std::uint64_t bits) {
  char text[20];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(bits));
  return text;
}

/// A line per tensor: formula, elements, the extents of its labels, and what else a plan goes by.
[[nodiscard]] inline std::vector<std::string> lines_of(const EinGraph& graph) {
  std::vector<std::string> lines;
  for (VertexId id = 0; id < graph.size(); ++id) {
    const Vertex& v = graph[id];
    Text line = formula(graph, id) + " of " + expr::element_text(v.element);
    for (std::size_t l = 0; l < v.labels.size(); ++l) {
      const LabelInfo& label = graph.labels[to_index(v.labels[l])];
      line << (l == 0 ? " with " : ", ") << label.name << '=' << v.extents[l];
      if (!label.role.empty()) line << " as " << label.role;
      if (label.uncut) line << " uncut";
    }
    if (!v.op.state.empty()) {
      // Constants are written in the formula where they have names; all have bits.
      core::Hasher hasher;
      hasher.add(v.op.state);
      line << ", its constants " << number_text(hasher.value()) << " as a hash";
    }
    line << (v.is_input() ? ", an input" : v.is_result() ? ", a result" : "");
    lines.push_back(line);
  }
  lines.push_back(Text("a program of ") + graph.size() + " tensors");
  return lines;
}

/// The axes of the mesh that cut each label or dimension: "(0,2) ()".
[[nodiscard]] inline Text axes_text(const AxisLists& lists) {
  const auto text_of = [](const std::vector<int>& axes) {
    return "(" + core::joined(axes, ",", core::to_text) + ")";
  };
  return core::joined(lists, " ", text_of);
}

[[nodiscard]] inline Text steps_text(const EinGraph& graph, const StepGroup& group) {
  Text text = graph[group.first].name + " to " + graph[group.last].name;
  for (const StepAxis& axis : group.axes) {
    const LabelId label = graph[group.first].labels[to_index(axis.positions.front())];
    text << ", " << graph.labels[to_index(label)].name << " in ";
    if (axis.size > 0) {
      text << "pieces of " << axis.size;
    } else {
      text << axis.parts << " parts";
    }
    if (axis.stripes > 1) text << " of " << axis.stripes << " stripes";
  }
  if (group.accumulates) text << ", accumulated";
  if (group.interleaved >= 0) text << ", interleaved after " << graph[group.interleaved].name;
  for (const StepGroup& tiles : group.tiles) {
    text << "; tiles of " << steps_text(graph, tiles);
  }
  return text;
}

/// How a plan cuts, places and runs its program, a line per tensor and per group of steps.
[[nodiscard]] inline std::vector<std::string> lines_of(const Plan& plan) {
  std::vector<std::string> lines;
  const EinGraph& graph = plan.graph;
  lines.push_back(Text("a plan for ") + plan.workers + " workers on " + plan.ranks + " ranks");
  lines.push_back("a mesh of " + core::joined(plan.placement.mesh.axes, " x ", core::to_text));
  for (VertexId id = 0; id < graph.size(); ++id) {
    const Vertex& v = graph[id];
    if (v.is_input()) continue;
    Text line = v.name + " cut into";
    const PartitionVector& d = plan.partitions[to_index(id)];
    for (std::size_t l = 0; l < d.size(); ++l) {
      line << ' ' << graph::label_text(graph, v, static_cast<int>(l)) << '=' << d[l];
    }
    lines.push_back(line);
  }
  const Placement& placement = plan.placement;
  for (VertexId id = 0; id < static_cast<VertexId>(placement.stored.size()); ++id) {
    Text line = graph[id].name;
    if (!graph[id].is_input()) {
      line << " cut along axes " << axes_text(placement.calls[to_index(id)]) << " and";
    }
    lines.push_back(line << " stored along axes " << axes_text(placement.stored[to_index(id)]));
  }
  for (const StepGroup& group : plan.steps) lines.push_back("steps of " + steps_text(graph, group));
  for (const CarriedResult& pair : plan.carry) {
    lines.push_back(graph[pair.next].name + " carried to " + graph[pair.input].name);
  }
  return lines;
}

}  // namespace eindecomp::plan
