// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which groups of statements can run in steps, and what exists of their tensors meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/scanned_label.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/step_axis.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp {

/// Whether a group is a statement cut along a label that it aggregates.
[[nodiscard]] constexpr bool is_streamed(const EinGraph& graph, const StepGroup& group) {
  if (group.first != group.last || group.axes.size() != 1 || !group.tiles.empty()) return false;
  const StepAxis& axis = group.axes.front();
  const std::vector<int>& aggregated = graph[group.first].aggregated;
  return axis.size == 0 && axis.positions.size() == 1 &&
         std::find(aggregated.begin(), aggregated.end(), axis.positions.front()) !=
             aggregated.end();
}

/// The statements of a group, in order.
[[nodiscard]] constexpr std::vector<VertexId> statements_of(const EinGraph& graph,
                                                            const StepGroup& group) {
  std::vector<VertexId> statements;
  for (VertexId v = group.first; v <= group.last; ++v) {
    if (!graph[v].is_input()) statements.push_back(v);
  }
  return statements;
}

namespace relation {

/// Whether the last statement of a group aggregates a label that the group is cut along: it adds
/// block after block to its result, whose parts on several workers are combined after the last.
[[nodiscard]] constexpr bool adds_blocks(const EinGraph& graph, const StepGroup& group) {
  const std::vector<int>& aggregated = graph[group.last].aggregated;
  return group.first < group.last &&
         std::any_of(group.axes.begin(), group.axes.end(), [&](const StepAxis& axis) {
           return std::find(aggregated.begin(), aggregated.end(), axis.positions.back()) !=
                  aggregated.end();
         });
}

/// The last statement that reads each tensor; -1 if none does.
[[nodiscard]] constexpr std::vector<VertexId> last_readers(const EinGraph& graph) {
  std::vector<VertexId> last(graph.vertices.size(), -1);
  for (VertexId v = 0; v < graph.size(); ++v) {
    for (const Operand& o : graph[v].operands) last[static_cast<std::size_t>(o.vertex)] = v;
  }
  return last;
}

/// Whether a tensor exists as one block at a time while a group runs: if the group makes it, and it
/// is no result and read by nobody else. \param last_reader  as last_readers() says.
[[nodiscard]] constexpr bool is_passed_on(const EinGraph& graph, const StepGroup& group,
                                          VertexId tensor, VertexId last_reader) {
  return group.contains(tensor) && !graph[tensor].is_input() && !graph[tensor].is_result() &&
         last_reader >= 0 && last_reader <= group.last;
}

/// The tensors of a group that exist as one block at a time, by vertex less group.first.
/// \param last_reader  as last_readers() says.
[[nodiscard]] constexpr Flags passed_on(const EinGraph& graph, const StepGroup& group,
                                        const std::vector<VertexId>& last_reader) {
  Flags inside;
  for (VertexId v = group.first; v <= group.last; ++v) {
    const bool passed_on = is_passed_on(graph, group, v, last_reader[static_cast<std::size_t>(v)]);
    inside.push_back(passed_on ? 1 : 0);
  }
  return inside;
}

/// Whether a statement's calls are cut along the labels on a tensor's dimensions as the tensor is
/// stored, and along no others: every call then has its block of the tensor where it runs.
[[nodiscard]] constexpr bool in_place(const AxisLists& calls, const std::vector<int>& positions,
                                      const AxisLists& stored) {
  std::size_t axes = 0;
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const std::vector<int>& list = calls[static_cast<std::size_t>(positions[k])];
    if (list != stored[k]) return false;
    axes += list.size();
  }
  for (const std::vector<int>& list : calls) axes -= list.size();
  return axes == 0;
}

/// Whether any of these statements reads a tensor.
[[nodiscard]] inline bool is_read_by(const EinGraph& graph, const std::vector<VertexId>& statements,
                                     VertexId tensor) {
  return std::any_of(statements.begin(), statements.end(), [&](VertexId v) {
    return std::any_of(graph[v].operands.begin(), graph[v].operands.end(),
                       [&](const Operand& o) { return o.vertex == tensor; });
  });
}

/// Why an axis cannot cut a group of statements; empty if it can.
/// \param may_add  whether the last of several statements may aggregate it: as blocks, which come
///   one after another, and not as tiles, which threads share out.
[[nodiscard]] constexpr Text axis_fault(const EinGraph& graph, const StepGroup& group,
                                        const std::vector<VertexId>& statements,
                                        const StepAxis& axis, bool may_add) {
  if (axis.positions.size() != statements.size()) {
    return "an axis names a label of " + core::to_text(static_cast<Extent>(axis.positions.size())) +
           " statements and the group has " + core::to_text(static_cast<Extent>(statements.size()));
  }
  for (std::size_t s = 0; s < statements.size(); ++s) {
    const Vertex& v = graph[statements[s]];
    const int position = axis.positions[s];
    if (v.op.blocks) return "statement '" + v.name + "' puts blocks together, and has no calls";
    if (position < 0 || static_cast<std::size_t>(position) >= v.labels.size()) {
      return "statement '" + v.name + "' has no label number " + core::to_text(position);
    }
    const Text& label =
        graph.labels[static_cast<std::size_t>(v.labels[static_cast<std::size_t>(position)])].name;
    const bool adds = may_add && s > 0 && s + 1 == statements.size() && v.scanned < 0;
    if (!adds && std::find(v.output.begin(), v.output.end(), position) == v.output.end()) {
      return "statement '" + v.name + "' aggregates label '" + label + "'" +
             (may_add && s > 0 ? " and is not the last" : "");
    }
    const Extent extent = v.extents[static_cast<std::size_t>(position)];
    if (axis.size == 0 && (axis.parts < 1 || axis.parts > extent)) {
      return "label '" + label + "' of statement '" + v.name + "' has extent " +
             core::to_text(extent) + " and would be cut into " + core::to_text(axis.parts) +
             " parts";
    }
    if (axis.size < 0) {
      return "label '" + label + "' of statement '" + v.name + "' would be cut into tiles of " +
             core::to_text(axis.size);
    }
    if (v.scanned >= 0 && graph::scan_along(v) == position) {
      return "statement '" + v.name + "' scans along label '" + label + "'";
    }
    for (const Operand& o : v.operands) {
      if (!group.contains(o.vertex) || graph[o.vertex].is_input()) continue;
      if (o.is_computed()) {
        return "statement '" + v.name + "' reads '" + graph[o.vertex].name +
               "' at indices computed from labels";
      }
      const auto made = static_cast<std::size_t>(
          std::find(statements.begin(), statements.end(), o.vertex) - statements.begin());
      for (std::size_t k = 0; k < o.labels.size(); ++k) {
        const bool cut = graph[o.vertex].output[k] == axis.positions[made];
        if (cut == (o.labels[k] == position)) continue;
        return "statement '" + v.name + "' reads '" + graph[o.vertex].name +
               "' across the blocks of label '" + label + "'";
      }
    }
  }
  return {};
}

/// Why the statements of a group cannot accumulate in the place of the last one's result; empty if
/// they can. \param last  as last_readers() says.
[[nodiscard]] constexpr Text accumulation_fault(const EinGraph& graph, const StepGroup& group,
                                                const std::vector<VertexId>& statements,
                                                const std::vector<VertexId>& last) {
  const Vertex& v = graph[group.last];
  if (!v.op.adds || !group.axes.empty() || !group.tiles.empty()) {
    return "statement '" + v.name + "' is no sum of tensors in one block";
  }
  std::size_t others = 0;  // operands that are there before
  for (const Operand& o : v.operands) {
    if (o.is_computed() || o.labels != v.output) {
      return "statement '" + v.name + "' reads '" + graph[o.vertex].name + "' under other labels";
    }
    if (!is_passed_on(graph, group, o.vertex, last[static_cast<std::size_t>(o.vertex)])) ++others;
  }
  std::size_t terms = 0;
  for (const VertexId s : statements) {
    if (s == group.last) continue;
    const bool is_term = std::any_of(v.operands.begin(), v.operands.end(),
                                     [&](const Operand& o) { return o.vertex == s; });
    const bool first = terms++ == 0 && others == 0;  // written, where others are added
    if (!is_term || graph[s].op.blocks || !(first || graph[s].op.sums) ||
        last[static_cast<std::size_t>(s)] != group.last ||
        is_read_by(graph, {statements.begin(), statements.end() - 1}, s)) {
      return "the result of statement '" + graph[s].name + "' is no term that accumulates";
    }
  }
  if (others > 1 || terms + others != v.operands.size() || terms == 0) {
    return "several terms of '" + v.name + "' are there before";
  }
  return {};
}

/// Why a statement cannot be streamed along a label that it aggregates; empty if it can.
[[nodiscard]] constexpr Text stream_fault(const EinGraph& graph, const StepGroup& group) {
  const StepAxis& axis = group.axes.front();
  const Vertex& v = graph[group.first];
  const auto l = static_cast<std::size_t>(axis.positions.front());
  const LabelInfo& label = graph.labels[static_cast<std::size_t>(v.labels[l])];
  if (label.uncut) {
    return "label '" + label.name + "' of statement '" + v.name + "' may not be cut";
  }
  if (v.scanned >= 0) {
    return "statement '" + v.name + "' scans, and aggregates label '" + label.name + "' as one";
  }
  if (axis.parts < 1 || axis.stripes < 1 || axis.parts > v.extents[l] / axis.stripes) {
    return "label '" + label.name + "' of statement '" + v.name + "' has extent " +
           core::to_text(v.extents[l]) + " and would be cut into " + core::to_text(axis.stripes) +
           " times " + core::to_text(axis.parts) + " parts";
  }
  return {};
}

}  // namespace relation

/// Why a group cannot run in steps under a placement, in words; empty if it can. A statement that
/// is streamed always can, along a label that may be cut. Other groups can if every
/// axis is a label of all its statements that none but the last aggregates, if a tensor that one
/// statement of the group passes on to another is read block by block along the axes, and if it is
/// read where it is made.
/// \param last_reader  as last_readers() says: who asks about many groups finds it once.
[[nodiscard]] constexpr Text step_fault(const EinGraph& graph, const Placement& placement,
                                        const StepGroup& group,
                                        const std::vector<VertexId>& last_reader) {
  if (group.first < 0 || group.last >= graph.size() || group.first > group.last ||
      graph[group.first].is_input() || graph[group.last].is_input()) {
    return "it does not go from one statement to another";
  }
  if (group.interleaved != -1 && !group.contains(group.interleaved)) {
    return "it is interleaved with a statement that it does not have";
  }
  if (is_streamed(graph, group)) return relation::stream_fault(graph, group);
  const std::vector<VertexId> statements = statements_of(graph, group);
  if (group.accumulates) {
    Text fault = relation::accumulation_fault(graph, group, statements, last_reader);
    if (!fault.empty()) return fault;
  }
  for (std::size_t a = 0; a < group.axes.size(); ++a) {
    const bool blocks = group.axes[a].size == 0;
    Text fault = relation::axis_fault(graph, group, statements, group.axes[a], blocks);
    if (!fault.empty()) return fault;
    for (std::size_t b = 0; b < a; ++b) {
      for (std::size_t s = 0; s < statements.size(); ++s) {
        if (group.axes[a].positions[s] == group.axes[b].positions[s]) {
          return "two axes are the same label of statement '" + graph[statements[s]].name + "'";
        }
      }
    }
  }
  const bool adds = relation::adds_blocks(graph, group);
  VertexId end = group.first - 1;
  for (const StepGroup& tiles : group.tiles) {
    if (tiles.first <= end || !group.contains(tiles.last)) {
      return "its tiles are of other statements or out of order";
    }
    if (tiles.axes.empty() || tiles.axes.size() > 2 ||
        std::any_of(tiles.axes.begin(), tiles.axes.end(),
                    [](const StepAxis& axis) { return axis.size == 0; })) {
      return "tiles have sizes along one or two labels";
    }
    if (adds && tiles.last == group.last) {
      return "statement '" + graph[group.last].name + "' adds blocks up, and is in no tiles";
    }
    if (!tiles.tiles.empty()) return "tiles have tiles";
    Text fault = step_fault(graph, placement, tiles, last_reader);
    if (!fault.empty()) return fault;
    end = tiles.last;
  }
  for (VertexId v : statements) {
    const AxisLists& calls = placement.calls[static_cast<std::size_t>(v)];
    const bool combined = adds && v == group.last;  // after the last block, wherever it is stored
    if (!combined && !relation::in_place(calls, graph[v].output,
                                         placement.stored[static_cast<std::size_t>(v)])) {
      return "the result of statement '" + graph[v].name + "' is not stored where it is computed";
    }
    for (const Operand& o : graph[v].operands) {
      const bool made = group.contains(o.vertex) && !graph[o.vertex].is_input();
      if (!made && !(group.accumulates && v == group.last)) continue;
      if (!relation::in_place(calls, o.labels,
                              placement.stored[static_cast<std::size_t>(o.vertex)])) {
        return "statement '" + graph[v].name + "' reads '" + graph[o.vertex].name +
               "' from other workers";
      }
    }
  }
  return {};
}

/// The same of a single group.
[[nodiscard]] constexpr Text step_fault(const EinGraph& graph, const Placement& placement,
                                        const StepGroup& group) {
  return step_fault(graph, placement, group, relation::last_readers(graph));
}

/// \throws Error if a group cannot run in steps (step_fault), or groups are not in order and apart.
constexpr void check_step_groups(
    const EinGraph& graph, const Placement& placement, const std::vector<StepGroup>& groups,
    const std::source_location& where = std::source_location::current()) {
  if (groups.empty()) return;
  const std::vector<VertexId> last_reader = relation::last_readers(graph);
  VertexId end = -1;
  for (const StepGroup& group : groups) {
    const Text fault = step_fault(graph, placement, group, last_reader);
    if (!fault.empty()) {
      core::fail(ErrorKind::plan,
                 "a group of statements cannot run in steps (" + fault +
                     "); end the group before that statement, or choose another label",
                 where);
    }
    if (group.first <= end) {
      core::fail(ErrorKind::plan,
                 "two groups that run in steps share statement '" + graph[group.first].name +
                     "' or are out of order (a statement runs once); give each statement to one "
                     "group, in the order of the program",
                 where);
    }
    end = group.last;
  }
}

}  // namespace eindecomp
