// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What dynamic programs know of a statement: its partition vectors as its neighbours tell them
/// apart.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/ein_decomp/projection.hpp"
#include "eindecomp/plan/partition.hpp"

namespace eindecomp::detail {

/// Numbers sequences of integers 0, 1, 2, … as they come; equal sequences get equal numbers. What
/// is built from equal parts is so recognised by its number, however large it is.
class Numbering {
 public:
  struct Number {
    int value = 0;
    bool fresh = false;  ///< the sequence had no number before
  };

  constexpr Number operator()(std::span<const Extent> key) {
    if (2 * (m_ends.size() + 1) > m_slots.size()) grow();
    std::size_t slot = hash(key) & (m_slots.size() - 1);
    for (; m_slots[slot] >= 0; slot = (slot + 1) & (m_slots.size() - 1)) {
      if (std::ranges::equal(sequence(m_slots[slot]), key)) return {m_slots[slot], false};
    }
    m_slots[slot] = static_cast<int>(m_ends.size());
    m_entries.insert(m_entries.end(), key.begin(), key.end());
    m_ends.push_back(m_entries.size());
    return {m_slots[slot], true};
  }

 private:
  [[nodiscard]] static constexpr std::size_t hash(std::span<const Extent> key) {
    std::uint64_t h = 0xcbf29ce484222325U;
    for (Extent e : key) {
      h = (h ^ static_cast<std::uint64_t>(e)) * 0x9e3779b97f4a7c15U;
      h ^= h >> 29U;
    }
    return static_cast<std::size_t>(h);
  }

  [[nodiscard]] constexpr std::span<const Extent> sequence(int n) const {
    const auto at = to_index(n);
    const std::size_t begin = at == 0 ? 0 : m_ends[at - 1];
    return std::span<const Extent>(m_entries).subspan(begin, m_ends[at] - begin);
  }

  constexpr void grow() {
    m_slots.assign(std::max<std::size_t>(16, 2 * m_slots.size()), -1);
    for (std::size_t n = 0; n < m_ends.size(); ++n) {
      std::size_t slot = hash(sequence(static_cast<int>(n))) & (m_slots.size() - 1);
      while (m_slots[slot] >= 0) slot = (slot + 1) & (m_slots.size() - 1);
      m_slots[slot] = static_cast<int>(n);
    }
  }

  std::vector<int> m_slots;  // open addressing; -1 where free
  std::vector<Extent> m_entries;
  std::vector<std::size_t> m_ends;
};

/// A side from which a neighbour sees a statement: its output, or all operands that one producer
/// fills. The neighbour knows the statement's vector only as projected there.
struct Face {
  int list = 0;           ///< the number of the list of the projected vectors
  std::size_t size = 0;   ///< how many there are
  std::vector<int> seen;  ///< per state, which of them
};

/// The states of a statement: its partition vectors, those that look the same from every face as
/// one, which stands for the cheapest of them.
struct StatementShape {
  std::vector<Extent> cost;             ///< per state: join + aggregation
  std::vector<PartitionVector> vector;  ///< per state: the vector it stands for
  std::vector<Face> faces;  ///< the output (one blank vector if nobody reads it), readings
  [[nodiscard]] constexpr std::size_t size() const { return cost.size(); }

  /// The first face that shows exactly what the given one shows, such as the output of an
  /// element-wise statement for its operand.
  [[nodiscard]] constexpr int first_like(int face) const {
    int first = 0;
    const std::vector<int>& seen = faces[to_index(face)].seen;
    while (faces[to_index(first)].seen != seen) ++first;
    return first;
  }
};

/// The shapes of a graph's statements for p workers. Equal statements share one, so that all layers
/// of a network are a handful of shapes.
class Shapes {
 public:
  constexpr Shapes(const EinGraph& graph, int p) : m_of(graph.vertices.size(), -1) {
    const std::vector<int> readers = graph.reader_counts();
    for (VertexId v : statements_of(graph)) {
      const bool read = readers[to_index(v)] > 0;
      const std::vector<Reading> slots = readings(graph, v);
      const Numbering::Number number = m_shape_numbers(key(graph, v, slots, read));
      if (number.fresh) add(graph, v, p, slots, read);
      m_of[to_index(v)] = number.value;
    }
  }

  /// The number of a statement's shape; -1 for inputs.
  [[nodiscard]] constexpr int number_of(VertexId v) const { return m_of[to_index(v)]; }
  [[nodiscard]] constexpr const StatementShape& operator[](int number) const {
    return m_shapes[to_index(number)];
  }
  [[nodiscard]] constexpr const StatementShape& of(VertexId v) const {
    return (*this)[number_of(v)];
  }
  /// The list of projected vectors of that number.
  [[nodiscard]] constexpr const VectorList& list(int number) const {
    return m_lists[to_index(number)];
  }

 private:
  /// All that a shape depends on.
  [[nodiscard]] static constexpr std::vector<Extent> key(const EinGraph& graph, VertexId v,
                                                         const std::vector<Reading>& slots,
                                                         bool read) {
    const Vertex& vertex = graph[v];
    std::vector<Extent> key = part_limits(graph, v);
    key.insert(key.end(), vertex.extents.begin(), vertex.extents.end());
    key.push_back(read);
    key.insert(key.end(), vertex.output.begin(), vertex.output.end());
    for (const Operand& operand : vertex.operands) {
      key.push_back(-1);
      key.insert(key.end(), operand.labels.begin(), operand.labels.end());
    }
    for (const Reading& reading : slots) {
      key.push_back(-2);
      key.insert(key.end(), reading.positions.begin(), reading.positions.end());
    }
    return key;
  }

  constexpr void add(const EinGraph& graph, VertexId v, int p, const std::vector<Reading>& slots,
                     bool read) {
    const Candidates own = candidates(graph, v, p);
    const Projection output = project(own.vectors, graph[v].output);
    std::vector<int> shown;
    if (read) shown = graph[v].output;
    std::vector<Projection> sides;
    sides.push_back(project(own.vectors, shown));
    for (const Reading& reading : slots) sides.push_back(project(own.vectors, reading.positions));

    // Vectors that look alike side by side, the cheapest first, of equals the one whose output is
    // listed first.
    std::vector<int> order(own.vectors.size());
    std::iota(order.begin(), order.end(), 0);
    const auto compare = [&sides](std::size_t a, std::size_t b) {
      for (const Projection& side : sides) {
        if (side.of[a] != side.of[b]) return side.of[a] - side.of[b];
      }
      return 0;
    };
    std::ranges::sort(order, [&](int left, int right) {
      const auto a = to_index(left);
      const auto b = to_index(right);
      const int seen = compare(a, b);
      if (seen != 0) return seen < 0;
      if (own.cost[a] != own.cost[b]) return own.cost[a] < own.cost[b];
      return output.of[a] < output.of[b] || (output.of[a] == output.of[b] && a < b);
    });

    StatementShape shape;
    shape.faces.resize(sides.size());
    for (std::size_t n = 0; n < order.size(); ++n) {
      const auto i = to_index(order[n]);
      if (n > 0 && compare(to_index(order[n - 1]), i) == 0) continue;
      shape.cost.push_back(own.cost[i]);
      shape.vector.emplace_back(own.vectors[i].begin(), own.vectors[i].end());
      for (std::size_t f = 0; f < sides.size(); ++f) shape.faces[f].seen.push_back(sides[f].of[i]);
    }
    for (std::size_t f = 0; f < sides.size(); ++f) {
      shape.faces[f].size = sides[f].distinct.size();
      shape.faces[f].list = number_list(std::move(sides[f].distinct));
    }
    m_shapes.push_back(std::move(shape));
  }

  constexpr int number_list(VectorList list) {
    std::vector<Extent> key{static_cast<Extent>(list.width())};
    for (std::size_t i = 0; i < list.size(); ++i) {
      key.insert(key.end(), list[i].begin(), list[i].end());
    }
    const Numbering::Number number = m_list_numbers(key);
    if (number.fresh) m_lists.push_back(std::move(list));
    return number.value;
  }

  std::vector<int> m_of;
  Numbering m_shape_numbers;
  std::vector<StatementShape> m_shapes;
  Numbering m_list_numbers;
  std::vector<VectorList> m_lists;
};

}  // namespace eindecomp::detail
