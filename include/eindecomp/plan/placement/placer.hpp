// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The placements of one labeling after another, for searches that change a few statements of
/// many.
#pragma once

#include <cstddef>
#include <optional>
#include <source_location>
#include <utility>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/partitions.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/placement.hpp"

namespace eindecomp::plan {

/// Places labelings of one graph on one mesh, as place() does: a statement of the partition vector
/// of before, whose operands lie as before, is where it was.
class Placer {
 public:
  /// What is given must outlive it.
  Placer(const EinGraph& graph, const Mesh& mesh, const PlaceOptions& layouts,
         const std::source_location& where)
      : m_graph(graph), m_mesh(mesh), m_layouts(layouts), m_where(where) {}

  /// The placement, until the next call. \throws Error as place().
  const Placement& place(const Partitions& partitions) {
    if (!m_placement) {
      m_placement = eindecomp::place(m_graph, partitions, m_mesh, m_layouts, m_where);
    } else {
      place_again(partitions);
    }
    m_partitions = partitions;
    return *m_placement;
  }

 private:
  void place_again(const Partitions& partitions) {
    const std::size_t n = m_graph.vertices.size();
    Flags decided(n, false);
    for (const InputLayout& given : m_layouts.inputs) decided[to_index(given.input)] = true;
    Flags moved(n, false);
    const auto store = [&](std::size_t tensor, AxisLists lists) {
      AxisLists& stored = m_placement->stored[tensor];
      moved[tensor] = lists != stored ? 1 : 0;
      stored = std::move(lists);
    };
    for (std::size_t i = 0; i < n; ++i) {
      const Vertex& v = m_graph.vertices[i];
      if (v.is_input()) continue;
      bool changed = partitions[i] != m_partitions[i];
      for (const Operand& o : v.operands) changed = changed || moved[to_index(o.vertex)];
      if (changed) {
        m_placement->calls[i] =
            relation::choose_axes(m_graph, static_cast<VertexId>(i), partitions[i], m_mesh,
                                  m_placement->stored, decided, m_where);
      }
      const AxisLists& calls = m_placement->calls[i];
      for (const Operand& o : v.operands) {
        const auto u = to_index(o.vertex);
        if (changed && !decided[u]) {
          store(u,
                relation::layout_after(m_mesh, m_graph.vertices[u].bound, o.labels, calls, true));
        }
        decided[u] = true;
      }
      if (changed) store(i, relation::layout_after(m_mesh, v.bound, v.output, calls, false));
      decided[i] = true;
    }
  }

  const EinGraph& m_graph;
  const Mesh& m_mesh;
  const PlaceOptions& m_layouts;
  std::source_location m_where;
  Partitions m_partitions;  ///< of the placement
  std::optional<Placement> m_placement;
};

}  // namespace eindecomp::plan
