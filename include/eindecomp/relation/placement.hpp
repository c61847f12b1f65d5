// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From partition vectors to places: which axes of the mesh cut which label, and where every tensor
/// is stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/tensor_relation.hpp"

namespace eindecomp {

/// How an input is to be stored: so many parts per dimension. Axes of the mesh not needed for it
/// stay idle: the tensor then lies on fewer workers.
struct InputLayout {
  VertexId input = -1;        ///< of the graph that is placed
  std::vector<Extent> parts;  ///< one per dimension
};

/// Settings of place().
struct PlaceOptions {
  std::vector<InputLayout> inputs;  ///< the inputs whose layout the user gives
};

namespace relation {

/// Hands the axes of a mesh to the labels of one statement, or to the dimensions of one tensor.
class AxisAssignment {
 public:
  constexpr AxisAssignment(const Mesh& mesh, std::vector<Extent> parts)
      : m_mesh(&mesh), m_parts(std::move(parts)), m_lists(m_parts.size()) {
    for (int size : mesh.axes) {
      if (std::find(m_sizes.begin(), m_sizes.end(), size) == m_sizes.end()) m_sizes.push_back(size);
    }
    m_wanted.assign(m_parts.size(), std::vector<int>(m_sizes.size(), 0));
    std::vector<int> left(m_sizes.size(), 0);
    for (std::size_t s = 0; s < m_sizes.size(); ++s) {
      left[s] = static_cast<int>(std::count(mesh.axes.begin(), mesh.axes.end(), m_sizes[s]));
    }
    m_taken.assign(mesh.axes.size(), false);
    m_feasible = split(0, 0, m_parts.empty() ? 1 : m_parts[0], left);
  }

  /// Whether the parts are products of disjoint axes.
  [[nodiscard]] constexpr bool feasible() const { return m_feasible; }

  /// The first entry for which no axes were left, whatever the entries before it took.
  [[nodiscard]] constexpr std::size_t stuck_at() const { return m_deepest; }

  /// Gives the axis to entry i, innermost so far, if it is free and the entry still wants one of
  /// its size.
  constexpr bool take(std::size_t i, int axis) {
    const auto a = to_index(axis);
    const auto s =
        to_index(std::find(m_sizes.begin(), m_sizes.end(), m_mesh->axes[a]) - m_sizes.begin());
    if (m_taken[a] || m_wanted[i][s] == 0) return false;
    m_taken[a] = true;
    --m_wanted[i][s];
    m_lists[i].push_back(axis);
    return true;
  }

  /// Gives entry i the axes it still wants: the first free ones of the mesh.
  constexpr void take_rest(std::size_t i) {
    for (std::size_t a = 0; a < m_taken.size(); ++a) take(i, static_cast<int>(a));
  }

  [[nodiscard]] constexpr bool taken(std::size_t axis) const { return m_taken[axis]; }
  [[nodiscard]] constexpr AxisLists& lists() { return m_lists; }

 private:
  /// Decides how many axes of every size each entry takes, by backtracking. If all sizes are
  /// primes, there is one way.
  constexpr bool split(std::size_t i, std::size_t s, Extent rest, std::vector<int>& left) {
    if (i == m_parts.size()) return true;
    if (i > m_deepest) m_deepest = i;
    if (s == m_sizes.size()) {
      if (rest != 1) return false;
      return split(i + 1, 0, i + 1 < m_parts.size() ? m_parts[i + 1] : 1, left);
    }
    int max_axes = 0;
    Extent remaining = rest;
    while (m_sizes[s] > 1 && max_axes < left[s] && remaining % m_sizes[s] == 0) {
      remaining /= m_sizes[s];
      ++max_axes;
    }
    for (int n = max_axes; n >= 0; --n) {
      m_wanted[i][s] = n;
      left[s] -= n;
      if (split(i, s + 1, remaining, left)) return true;
      left[s] += n;
      remaining *= m_sizes[s];
    }
    m_wanted[i][s] = 0;
    return false;
  }

  const Mesh* m_mesh;
  std::vector<Extent> m_parts;
  AxisLists m_lists;
  std::vector<int> m_sizes;
  std::vector<std::vector<int>> m_wanted;
  Flags m_taken;
  std::size_t m_deepest = 0;
  bool m_feasible = false;
};

[[nodiscard]] constexpr std::string axes_text(const Mesh& mesh) {
  std::string text;
  for (int a : mesh.axes) text += (text.empty() ? "" : " x ") + core::to_text(a);
  return text.empty() ? "one worker" : "the mesh " + text;
}

/// Cuts a dimension of the tensor by the axis, innermost: the dimension with the longest blocks; of
/// several one that the axis divides evenly, then the first. Leaves the axis idle if all blocks are
/// too short.
constexpr void spread(const Mesh& mesh, int axis, const std::vector<Extent>& bound,
                      std::vector<Extent>& parts, AxisLists& lists) {
  const Extent size = mesh.axes[to_index(axis)];
  std::size_t best = bound.size();
  const auto longest = [&](std::size_t k) { return ceil_div(bound[k], parts[k]); };
  for (std::size_t k = 0; k < bound.size(); ++k) {
    if (bound[k] / parts[k] < size) continue;
    if (best == bound.size() || longest(k) > longest(best) ||
        (longest(k) == longest(best) && bound[k] % (parts[k] * size) == 0 &&
         bound[best] % (parts[best] * size) != 0)) {
      best = k;
    }
  }
  if (best == bound.size()) return;
  parts[best] *= size;
  lists[best].push_back(axis);
}

/// The layout of a tensor whose dimensions carry these labels of a statement. The axes that cut a
/// label cut its first dimension; the other axes of `calls`, or of the whole mesh, are then spread
/// over the longest dimensions.
[[nodiscard]] constexpr AxisLists layout_after(const Mesh& mesh, const std::vector<Extent>& bound,
                                               const std::vector<int>& labels,
                                               const AxisLists& calls, bool whole_mesh) {
  AxisLists lists(bound.size());
  Flags used(mesh.axes.size(), false);
  Flags allowed(mesh.axes.size(), whole_mesh ? 1 : 0);
  for (const std::vector<int>& list : calls) {
    for (int axis : list) allowed[to_index(axis)] = true;
  }
  std::vector<Extent> parts(bound.size(), 1);
  for (std::size_t k = 0; k < bound.size(); ++k) {
    for (int axis : calls[to_index(labels[k])]) {
      if (used[to_index(axis)]) continue;  // a diagonal
      // Where indices are computed, a label may be cut more finely than a dimension can be.
      if (parts[k] * mesh.axes[to_index(axis)] > bound[k]) continue;
      parts[k] *= mesh.axes[to_index(axis)];
      used[to_index(axis)] = true;
      lists[k].push_back(axis);
    }
  }
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
    if (allowed[a] && !used[a]) spread(mesh, static_cast<int>(a), bound, parts, lists);
  }
  return lists;
}

/// Assigns axes to a statement's labels. Axes that already cut an operand along a label come first,
/// those of the largest operand before others, so that its blocks stay where they are. Free axes
/// follow, those of aggregated labels last, so that workers that combine results are neighbours.
[[nodiscard]] constexpr AxisLists choose_axes(const EinGraph& graph, VertexId statement,
                                              const PartitionVector& d, const Mesh& mesh,
                                              const std::vector<AxisLists>& stored,
                                              const Flags& decided,
                                              const std::source_location& where) {
  const Vertex& v = graph[statement];
  AxisAssignment assignment(mesh, call_relation(graph, statement, d, where).parts);
  if (!assignment.feasible()) {
    const std::size_t l = assignment.stuck_at();
    const std::string& label = graph.labels[to_index(v.labels[l])].name;
    core::fail(ErrorKind::plan, where, "label '", label, "' of statement ", v.name, " is cut into ",
               d[l], " parts (no axes of ", axes_text(mesh),
               " that the labels before it leave have ",
               "that product); give entries that are products of different axes");
  }

  std::vector<const Operand*> order;
  for (const Operand& o : v.operands) {
    if (decided[to_index(o.vertex)]) order.push_back(&o);
  }
  // Stable by insertion: a handful of operands.
  for (std::size_t i = 1; i < order.size(); ++i) {
    for (std::size_t j = i; j > 0; --j) {
      if (graph[order[j]->vertex].size() <= graph[order[j - 1]->vertex].size()) break;
      std::swap(order[j], order[j - 1]);
    }
  }
  for (const Operand* o : order) {
    for (std::size_t k = 0; k < o->labels.size(); ++k) {
      const auto l = to_index(o->labels[k]);
      // Inner axes match only below the outer ones.
      for (int axis : stored[to_index(o->vertex)][k]) {
        const std::vector<int>& list = assignment.lists()[l];
        const bool has = std::find(list.begin(), list.end(), axis) != list.end();
        if (!has && !assignment.take(l, axis)) break;
      }
    }
  }
  for (int l : v.output) assignment.take_rest(to_index(l));
  for (int l : v.aggregated) assignment.take_rest(to_index(l));
  return std::move(assignment.lists());
}

/// The axes of a layout that is given for an input.
/// \throws Error if it is no input's, or no such parts can be cut on the mesh.
[[nodiscard]] constexpr AxisLists given_lists(const EinGraph& graph, const InputLayout& given,
                                              const Mesh& mesh, const std::source_location& where) {
  if (given.input < 0 || given.input >= graph.size() || !graph[given.input].is_input()) {
    core::fail(ErrorKind::plan, where, "a layout for tensor ", given.input,
               " (it is no input of this graph; the plan chooses the layout of results); give "
               "layouts of inputs only");
  }
  const Vertex& input = graph[given.input];
  const auto fail = [&](const auto&... text) {
    core::fail(ErrorKind::plan, where, "the layout given for input ", input.name, text...);
  };
  if (given.parts.size() != input.bound.size()) {
    fail(" has ", given.parts.size(), " entries (the tensor has rank ", input.rank(),
         "); give the parts of every dimension");
  }
  for (std::size_t k = 0; k < input.bound.size(); ++k) {
    if (given.parts[k] >= 1 && given.parts[k] <= input.bound[k]) continue;
    fail(" cuts dimension ", k, " of extent ", input.bound[k], " into ", given.parts[k],
         " parts (every part needs an index); cut it into 1 to ", input.bound[k], " parts");
  }
  AxisAssignment assignment(mesh, given.parts);
  if (!assignment.feasible()) {
    fail(" cuts dimension ", assignment.stuck_at(), " into ", given.parts[assignment.stuck_at()],
         " parts (no axes of ", axes_text(mesh),
         " that the dimensions before it leave have that product); give entries that are products "
         "of different axes");
  }
  for (std::size_t k = 0; k < given.parts.size(); ++k) assignment.take_rest(k);
  return std::move(assignment.lists());
}

/// Stores what lies around the calls of a statement, that are placed: operands that are not decided
/// as the calls want them, the result as the calls leave it. All of them are decided then.
constexpr void store_around(const EinGraph& graph, VertexId statement, Placement& placement,
                            Flags& decided) {
  const Vertex& v = graph[statement];
  const AxisLists& calls = placement.calls[to_index(statement)];
  for (const Operand& o : v.operands) {
    const auto u = to_index(o.vertex);
    if (decided[u]) continue;
    placement.stored[u] =
        layout_after(placement.mesh, graph[o.vertex].bound, o.labels, calls, true);
    decided[u] = true;
  }
  placement.stored[to_index(statement)] =
      layout_after(placement.mesh, v.bound, v.output, calls, false);
  decided[to_index(statement)] = true;
}

/// The axes of a mesh spread over a tensor's longest dimensions.
[[nodiscard]] constexpr AxisLists spread_all(const Mesh& mesh, const std::vector<Extent>& bound) {
  AxisLists lists(bound.size());
  std::vector<Extent> parts(bound.size(), 1);
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
    spread(mesh, static_cast<int>(a), bound, parts, lists);
  }
  return lists;
}

}  // namespace relation

/// Places a program whose statements are cut by these partition vectors, one per vertex (empty for
/// inputs; entries in the order of Vertex::labels), on a mesh. Statements are placed in order.
/// Workers on an idle axis (where the entries' product is less than the mesh) compute nothing but
/// may store. Every tensor is stored once: results as the calls leave them, the axes of aggregated
/// labels scattered over their dimensions; inputs as their first reader wants them, the remaining
/// axes spread over the longest dimensions.
///
/// \throws Error if a vector does not suit its statement or the mesh, or a given layout its input,
///   naming statement, label and extents.
[[nodiscard]] constexpr Placement place(
    const EinGraph& graph, const std::vector<PartitionVector>& partitions, const Mesh& mesh,
    const PlaceOptions& options = {},
    const std::source_location& where = std::source_location::current()) {
  const std::size_t n = graph.vertices.size();
  if (partitions.size() != n) {
    core::fail(
        ErrorKind::plan, where, "a graph of ", n, " tensors with ", partitions.size(),
        " partition vectors (each tensor has one, empty for inputs); give one for every tensor");
  }
  Placement placement{mesh, std::vector<AxisLists>(n), std::vector<AxisLists>(n)};
  Flags decided(n, false);

  for (const InputLayout& given : options.inputs) {
    AxisLists lists = relation::given_lists(graph, given, mesh, where);
    const auto i = to_index(given.input);
    if (decided[i]) {
      core::fail(ErrorKind::plan, where, "the layout given for input ", graph[given.input].name,
                 " is its second (a tensor is stored once); give one layout per input");
    }
    placement.stored[i] = std::move(lists);
    decided[i] = true;
  }

  for (std::size_t i = 0; i < n; ++i) {
    const Vertex& v = graph.vertices[i];
    if (v.is_input()) {
      if (!partitions[i].empty()) {
        core::fail(ErrorKind::plan, where, "a partition vector for input ", v.name,
                   " (an input has no kernel calls); give its layout in the options");
      }
      continue;
    }
    placement.calls[i] = relation::choose_axes(graph, static_cast<VertexId>(i), partitions[i], mesh,
                                               placement.stored, decided, where);
    relation::store_around(graph, static_cast<VertexId>(i), placement, decided);
  }

  for (std::size_t i = 0; i < n; ++i) {
    if (decided[i]) continue;  // else an input that nobody reads
    placement.stored[i] = relation::spread_all(mesh, graph.vertices[i].bound);
  }
  return placement;
}

/// Checks a placement made elsewhere, so that no program is compiled from a wrong one.
/// \throws Error if lists are missing, an axis is unknown or stands twice, or a label or dimension
///   is cut into more parts than it has indices.
constexpr void check_placement(
    const EinGraph& graph, const Placement& placement,
    const std::source_location& where = std::source_location::current()) {
  const std::size_t n = graph.vertices.size();
  if (placement.calls.size() != n || placement.stored.size() != n) {
    core::fail(ErrorKind::plan, where, "a placement of ", placement.stored.size(),
               " tensors for a graph of ", n, " (it belongs to another graph); place this graph");
  }
  const auto check = [&](const std::string& name, const char* what, const AxisLists& lists,
                         const std::vector<Extent>& extents) {
    bool good = lists.size() == extents.size();
    Flags seen(placement.mesh.axes.size(), false);
    for (std::size_t l = 0; good && l < lists.size(); ++l) {
      Extent parts = 1;
      for (int axis : lists[l]) {
        const auto a = to_index(axis);
        good = good && axis >= 0 && a < seen.size() && !seen[a];
        if (!good) break;
        seen[a] = true;
        parts *= placement.mesh.axes[a];
      }
      good = good && parts <= extents[l];
    }
    if (good) return;
    core::fail(
        ErrorKind::plan, where, "the placement of ", name, " has wrong axes for its ", what,
        " (one list each, an axis at most once, no more parts than indices); let place() make it");
  };
  for (int a : placement.mesh.axes) {
    if (a < 1) {
      core::fail(ErrorKind::plan, where, "a mesh with an axis of size ", a,
                 " (there must be a worker); use make_mesh()");
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Vertex& v = graph.vertices[i];
    check(v.name, "labels", placement.calls[i], v.is_input() ? std::vector<Extent>{} : v.extents);
    check(v.name, "dimensions", placement.stored[i], v.bound);
  }
}

}  // namespace eindecomp
