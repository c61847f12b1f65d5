// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What of a statement decides all that ranks do for it, as a key: statements of equal keys, such
/// as those of the equal layers of a network, are done alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/panels.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"

namespace eindecomp::relation {

/// A statement, or the statements of a step group, which only together are known in full.
struct Unit {
  std::vector<VertexId> statements;    ///< in order
  const StepGroup* group = nullptr;    ///< if they are one
  std::vector<VertexId> tensors = {};  ///< that they read and write, by first appearance
};

/// The units of a graph's statements, in order, without their tensors.
[[nodiscard]] inline std::vector<Unit> units_of(const EinGraph& graph,
                                                const std::vector<StepGroup>& groups) {
  std::vector<Unit> units;
  auto group = groups.begin();
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (graph[v].is_input()) continue;
    while (group != groups.end() && group->last < v) ++group;
    if (group != groups.end() && group->first == v) {
      units.push_back({statements_of(graph, *group), &*group});
      v = group->last;
    } else {
      units.push_back({{v}});
    }
  }
  return units;
}

/// Numbers in a row that tell units apart.
using UnitKey = std::vector<Extent>;

struct UnitKeyHash {
  std::size_t operator()(const UnitKey& key) const {
    std::size_t hash = key.size();
    for (const Extent n : key) hash = (hash ^ static_cast<std::size_t>(n)) * 0x9e3779b97f4a7c15ULL;
    return hash ^ hash >> 32;
  }
};

/// Numbers for the ways in which statements read tensors, and for lists of those that ranks have
/// put together of one, its history. Shared by the keys of one graph's placements, which can then
/// be compared.
class HistoryNumbers {
 public:
  /// The number of a way or a history, the same for equal ones. That of no history is 0.
  [[nodiscard]] Extent of(UnitKey numbers) {
    const auto [known, fresh] =
        m_numbers.try_emplace(std::move(numbers), static_cast<Extent>(m_known.size()));
    if (fresh) m_known.push_back(&known->first);
    return known->second;
  }
  [[nodiscard]] const UnitKey& operator[](Extent number) const {
    return *m_known[to_index(number)];
  }

 private:
  std::map<UnitKey, Extent> m_numbers{{{}, 0}};
  std::vector<const UnitKey*> m_known{&m_numbers.begin()->first};
};

/// Makes the keys of a placed program's units, one after another.
class UnitKeys {
 public:
  /// \param masks  of the graph
  UnitKeys(const EinGraph& graph, const graph::Masks& masks, const Placement& placement,
           const SpaceFacts& space, HistoryNumbers& numbers)
      : m_graph(graph),
        m_masks(masks),
        m_placement(placement),
        m_constants(space.constants),
        m_numbers(numbers),
        m_last_reader(last_readers(graph)),
        m_readers(graph.reader_counts()),
        m_history(graph.vertices.size(), 0) {}

  /// The key of the next unit, in order; and its tensors. Two of equal keys differ in nothing but
  /// which tensors these are.
  [[nodiscard]] UnitKey next(Unit& unit) {
    m_key.assign(m_placement.mesh.axes.begin(), m_placement.mesh.axes.end());
    m_key.push_back(-1);
    for (const VertexId v : unit.statements) add_statement(unit, v);
    if (unit.group != nullptr) add_group(unit);
    // Messages go by the order of tensors.
    std::vector<VertexId> order = unit.tensors;
    std::sort(order.begin(), order.end());
    for (const VertexId t : unit.tensors) {
      m_key.push_back(std::lower_bound(order.begin(), order.end(), t) - order.begin());
    }
    return std::move(m_key);
  }

 private:
  void add_list(const auto& list) {
    m_key.push_back(static_cast<Extent>(list.size()));
    m_key.insert(m_key.end(), list.begin(), list.end());
  }
  void add_lists(const AxisLists& lists) {
    for (const std::vector<int>& list : lists) add_list(list);
  }

  /// What tells computed indices apart; nothing where every index is a label.
  static void add_indices(UnitKey& key, const Operand& operand) {
    if (!operand.is_computed()) return;
    key.push_back(-3 - static_cast<Extent>(operand.outside));
    for (const OperandIndex& index : operand.indices) add_index(key, index);
  }
  static void add_index(UnitKey& key, const OperandIndex& index) {
    key.push_back(index.offset);
    key.push_back(index.before);
    key.push_back(index.after);
    key.push_back(index.divisor);
    key.push_back(static_cast<Extent>(index.boundary));
    key.push_back(static_cast<Extent>(index.terms.size()));
    for (const OperandIndex::Term& term : index.terms) {
      key.push_back(term.label);
      key.push_back(term.coefficient);
    }
  }

  void add_tensor(Unit& unit, VertexId t) {
    const auto known = std::find(unit.tensors.begin(), unit.tensors.end(), t);
    m_key.push_back(known - unit.tensors.begin());
    if (known != unit.tensors.end()) return;
    unit.tensors.push_back(t);
    const Vertex& tensor = m_graph[t];
    add_list(tensor.bound);
    add_lists(m_placement.stored[to_index(t)]);
    m_key.push_back(tensor.element.bytes);
    m_key.push_back(static_cast<Extent>(tensor.element.kind));
    m_key.push_back(tensor.partial.bytes);
    m_key.push_back(tensor.is_input() ? 2 : tensor.is_result() ? 1 : 0);
    m_key.push_back(std::binary_search(m_constants.begin(), m_constants.end(), t) ? 1 : 0);
  }

  void add_statement(Unit& unit, VertexId v) {
    const Vertex& vertex = m_graph[v];
    const AxisLists& calls = m_placement.calls[to_index(v)];
    add_list(vertex.extents);
    add_lists(calls);
    m_key.push_back(static_cast<Extent>(vertex.operands.size()));
    for (const Operand& o : vertex.operands) {
      add_tensor(unit, o.vertex);
      add_list(o.labels);
      add_indices(m_key, o);
      if (o.is_computed()) {
        m_key.push_back(m_last_reader[to_index(o.vertex)] == v ? 1 : 0);
        m_key.push_back(o.absorbing ? 1 : 0);
        m_key.push_back(o.mask.empty() ? 0 : 1);
        add_list(o.block);
      }
      Extent& history = m_history[to_index(o.vertex)];
      m_key.push_back(history);
      history = after(history, v, o, calls);
    }
    add_list(vertex.values);
    add_tensor(unit, v);
    add_list(vertex.output);
    m_key.push_back(vertex.op.finishes ? 1 : 0);
    m_key.push_back(vertex.periods.empty() ? 0 : 1);
    m_key.push_back(vertex.scanned);
    m_key.push_back(static_cast<Extent>(m_masks.of(v).size()));
    for (const OperandIndex& condition : m_masks.of(v)) add_index(m_key, condition);
    m_key.push_back(vertex.op.blocks ? -1 : vertex.op.index_tensors);
    if (vertex.op.blocks) m_key.push_back(vertex.op.state.empty() ? 0 : 1);
  }

  /// What a history becomes when calls read the tensor: what each rank then has follows from how
  /// they cut its dimensions, and from which axes have no calls. Calls that read it as others
  /// before find all there.
  [[nodiscard]] Extent after(Extent history, VertexId v, const Operand& o, const AxisLists& calls) {
    const Vertex& vertex = m_graph[v];
    UnitKey use(m_placement.mesh.axes.begin(), m_placement.mesh.axes.end());
    for (const int l : graph::read_labels(o)) {
      const std::vector<int>& list = calls[to_index(l)];
      use.push_back(-1);
      if (o.is_computed()) use.push_back(vertex.extents[to_index(l)]);
      use.insert(use.end(), list.begin(), list.end());
    }
    // All that equal ReadRelations have in common.
    if (o.is_computed()) {
      const bool scans = vertex.scanned >= 0 && calls[to_index(vertex.scanned)].empty();
      use.push_back((scans ? 1 : 0) + (o.is_bounded() ? 2 : 0) + (vertex.periods.empty() ? 0 : 4));
    }
    add_indices(use, o);
    if (const auto& conditions = m_masks.of(v); !conditions.empty()) {
      use.push_back(-2);
      use.insert(use.end(), vertex.extents.begin(), vertex.extents.end());
      for (const std::vector<int>& list : calls) {
        use.push_back(-1);
        use.insert(use.end(), list.begin(), list.end());
      }
      for (const int l : o.labels) use.push_back(l);
      use.push_back(-1);
      use.insert(use.end(), vertex.aggregated.begin(), vertex.aggregated.end());
      for (const OperandIndex& condition : conditions) add_index(use, condition);
    }
    use.push_back(-2);
    for (std::size_t a = 0; a < m_placement.mesh.axes.size(); ++a) {
      const bool cuts = std::any_of(calls.begin(), calls.end(), [&](const std::vector<int>& list) {
        return std::find(list.begin(), list.end(), static_cast<int>(a)) != list.end();
      });
      if (!cuts) use.push_back(static_cast<Extent>(a));
    }
    const Extent number = m_numbers.of(std::move(use));
    const UnitKey& uses = m_numbers[history];
    if (std::find(uses.begin(), uses.end(), number) != uses.end()) return history;
    UnitKey longer = uses;
    longer.push_back(number);
    return m_numbers.of(std::move(longer));
  }

  void add_axes(const StepGroup& group) {
    m_key.push_back(static_cast<Extent>(group.axes.size()));
    for (const StepAxis& axis : group.axes) {
      add_list(axis.positions);
      m_key.push_back(axis.parts);
      m_key.push_back(axis.size);
      m_key.push_back(axis.stripes);
    }
  }
  void add_group(const Unit& unit) {
    add_axes(*unit.group);
    m_key.push_back(unit.group->accumulates ? 1 : 0);
    if (is_streamed(m_graph, *unit.group)) {
      for (const bool streams : streamed_operands(m_graph, *unit.group, m_readers, m_constants)) {
        m_key.push_back(streams ? 1 : 0);
      }
    }
    for (const VertexId v : unit.statements) {
      const VertexId reader = m_last_reader[to_index(v)];
      m_key.push_back(is_passed_on(m_graph, *unit.group, v, reader) ? 1 : 0);
      // Whether a tile's result is read within the group.
      m_key.push_back(std::min(reader, unit.group->last) - unit.group->first);
    }
    const auto place = [&](VertexId v) {
      return std::find(unit.statements.begin(), unit.statements.end(), v) - unit.statements.begin();
    };
    for (const StepGroup& tiles : unit.group->tiles) {
      m_key.push_back(place(tiles.first));
      m_key.push_back(place(tiles.last));
      m_key.push_back(place(tiles.interleaved));
      add_axes(tiles);
    }
  }

  const EinGraph& m_graph;
  const graph::Masks& m_masks;
  const Placement& m_placement;
  const std::vector<VertexId>& m_constants;
  HistoryNumbers& m_numbers;
  std::vector<VertexId> m_last_reader;
  std::vector<int> m_readers;     ///< how many operands each tensor is
  std::vector<Extent> m_history;  ///< per tensor, of what its readers so far put together
  UnitKey m_key;
};

}  // namespace eindecomp::relation
