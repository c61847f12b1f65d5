// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Statements that run in steps: cut in time as partition vectors cut them among workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp {

/// A label along which a group runs in steps. Every statement of the group has it, under whatever
/// name, and none aggregates it.
struct StepAxis {
  std::vector<int> positions;  ///< in Vertex::labels of each statement, in the group's order
  Extent parts = 1;            ///< pieces that every kernel call is cut into
  constexpr bool operator==(const StepAxis&) const = default;
};

/// The statements `first` to `last` of a graph run block by block: on each worker, all of them on
/// the first block, then all on the second, and so on. What they pass on to each other and nobody
/// else reads exists as one block at a time. The blocks are those of all axes together, the last
/// axis fastest. Moves no word that would not move otherwise.
struct StepGroup {
  VertexId first = -1;         ///< the first statement
  VertexId last = -1;          ///< the last statement, which is one of them
  std::vector<StepAxis> axes;  ///< what is cut
  constexpr bool operator==(const StepGroup&) const = default;

  /// Whether a vertex is one of its statements.
  [[nodiscard]] constexpr bool contains(VertexId v) const { return first <= v && v <= last; }

  /// The number of steps.
  [[nodiscard]] constexpr Extent steps() const {
    Extent n = 1;
    for (const StepAxis& axis : axes) n *= axis.parts;
    return n;
  }
};

/// The statements of a group, in order.
[[nodiscard]] constexpr std::vector<VertexId> statements_of(const EinGraph& graph,
                                                            const StepGroup& group) {
  std::vector<VertexId> statements;
  for (VertexId v = group.first; v <= group.last; ++v) {
    if (!graph[v].is_input()) statements.push_back(v);
  }
  return statements;
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
[[nodiscard]] constexpr Flags passed_on(const EinGraph& graph, const StepGroup& group) {
  const std::vector<VertexId> last = last_readers(graph);
  Flags inside;
  for (VertexId v = group.first; v <= group.last; ++v) {
    const bool passed_on = is_passed_on(graph, group, v, last[static_cast<std::size_t>(v)]);
    inside.push_back(passed_on ? 1 : 0);
  }
  return inside;
}

namespace relation {

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

/// Where statement v of a group that begins with `statements` has the label of an axis: what it
/// reads of the group says so. -1 if it reads nothing of it, or not along the axis.
[[nodiscard]] inline int axis_position(const EinGraph& graph,
                                       const std::vector<VertexId>& statements,
                                       const StepAxis& axis, VertexId v) {
  for (const Operand& o : graph[v].operands) {
    const auto made = std::find(statements.begin(), statements.end(), o.vertex);
    if (made == statements.end()) continue;
    const int position = axis.positions[static_cast<std::size_t>(made - statements.begin())];
    for (std::size_t k = 0; k < o.labels.size(); ++k) {
      if (graph[o.vertex].output[k] == position) return o.labels[k];
    }
  }
  return -1;
}

/// Why an axis cannot cut a group of statements; empty if it can.
[[nodiscard]] constexpr Text axis_fault(const EinGraph& graph, const StepGroup& group,
                                        const std::vector<VertexId>& statements,
                                        const StepAxis& axis) {
  if (axis.positions.size() != statements.size()) {
    return "an axis names a label of " + core::to_text(static_cast<Extent>(axis.positions.size())) +
           " statements and the group has " + core::to_text(static_cast<Extent>(statements.size()));
  }
  for (std::size_t s = 0; s < statements.size(); ++s) {
    const Vertex& v = graph[statements[s]];
    const int position = axis.positions[s];
    if (position < 0 || static_cast<std::size_t>(position) >= v.labels.size()) {
      return "statement '" + v.name + "' has no label number " + core::to_text(position);
    }
    const Text& label =
        graph.labels[static_cast<std::size_t>(v.labels[static_cast<std::size_t>(position)])].name;
    if (std::find(v.output.begin(), v.output.end(), position) == v.output.end()) {
      return "statement '" + v.name + "' aggregates label '" + label + "'";
    }
    const Extent extent = v.extents[static_cast<std::size_t>(position)];
    if (axis.parts < 1 || axis.parts > extent) {
      return "label '" + label + "' of statement '" + v.name + "' has extent " +
             core::to_text(extent) + " and would be cut into " + core::to_text(axis.parts) +
             " parts";
    }
    for (const Operand& o : v.operands) {
      if (!group.contains(o.vertex) || graph[o.vertex].is_input()) continue;
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

}  // namespace relation

/// Why a group cannot run in steps under a placement, in words; empty if it can. It can if every
/// axis is a label of all its statements that none aggregates, if a tensor that one statement of
/// the group passes on to another is read block by block along the axes, and if it is read where
/// it is made.
[[nodiscard]] constexpr Text step_fault(const EinGraph& graph, const Placement& placement,
                                        const StepGroup& group) {
  if (group.first < 0 || group.last >= graph.size() || group.first > group.last ||
      graph[group.first].is_input() || graph[group.last].is_input()) {
    return "it does not go from one statement to another";
  }
  const std::vector<VertexId> statements = statements_of(graph, group);
  for (std::size_t a = 0; a < group.axes.size(); ++a) {
    Text fault = relation::axis_fault(graph, group, statements, group.axes[a]);
    if (!fault.empty()) return fault;
    for (std::size_t b = 0; b < a; ++b) {
      for (std::size_t s = 0; s < statements.size(); ++s) {
        if (group.axes[a].positions[s] == group.axes[b].positions[s]) {
          return "two axes are the same label of statement '" + graph[statements[s]].name + "'";
        }
      }
    }
  }
  for (VertexId v : statements) {
    const AxisLists& calls = placement.calls[static_cast<std::size_t>(v)];
    if (!relation::in_place(calls, graph[v].output,
                            placement.stored[static_cast<std::size_t>(v)])) {
      return "the result of statement '" + graph[v].name + "' is not stored where it is computed";
    }
    for (const Operand& o : graph[v].operands) {
      if (!group.contains(o.vertex) || graph[o.vertex].is_input()) continue;
      if (!relation::in_place(calls, o.labels,
                              placement.stored[static_cast<std::size_t>(o.vertex)])) {
        return "statement '" + graph[v].name + "' reads '" + graph[o.vertex].name +
               "' from other workers";
      }
    }
  }
  return {};
}

/// \throws Error if a group cannot run in steps (step_fault), or groups are not in order and apart.
constexpr void check_step_groups(
    const EinGraph& graph, const Placement& placement, const std::vector<StepGroup>& groups,
    const std::source_location& where = std::source_location::current()) {
  VertexId end = -1;
  for (const StepGroup& group : groups) {
    const Text fault = step_fault(graph, placement, group);
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
