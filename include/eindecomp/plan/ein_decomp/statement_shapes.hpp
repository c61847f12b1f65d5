// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Statements as dynamic programs see them: the partition vectors that neighbours can tell apart.
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
#include "eindecomp/graph/vertex_index.hpp"
#include "eindecomp/plan/ein_decomp/projection.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/words.hpp"

namespace eindecomp::plan {

/// A hash of a sequence of integers.
[[nodiscard]] constexpr std::uint64_t hash_of(std::span<const Extent> values) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (Extent e : values) {
    h = (h ^ static_cast<std::uint64_t>(e)) * 0x9e3779b97f4a7c15U;
    h ^= h >> 29U;
  }
  return h;
}

/// Gives sequences of integers the numbers 0, 1, 2, …, equal sequences equal ones (interning). What
/// is built from equal parts is then recognised by comparing numbers, however large it is.
class Numbering {
 public:
  struct Number {
    int value = 0;
    bool fresh = false;  ///< the sequence had no number before
  };

  constexpr Number operator()(std::span<const Extent> key) {
    const std::uint64_t h = hash_of(key);
    const graph::VertexIndex::Entry* known =
        m_index.find(h, [&](int n) { return std::ranges::equal(sequence(n), key); });
    if (known != nullptr) return {known->vertex, false};
    const int number = static_cast<int>(m_ends.size());
    m_index.add(h, number);
    m_entries.insert(m_entries.end(), key.begin(), key.end());
    m_ends.push_back(m_entries.size());
    return {number, true};
  }

 private:
  [[nodiscard]] constexpr std::span<const Extent> sequence(int n) const {
    const std::size_t begin = n == 0 ? 0 : m_ends[to_index(n - 1)];
    return std::span<const Extent>(m_entries).subspan(begin, m_ends[to_index(n)] - begin);
  }

  graph::VertexIndex m_index;  ///< the numbers by hash
  std::vector<Extent> m_entries;
  std::vector<std::size_t> m_ends;
};

/// What one neighbour sees of a statement: its partition vectors projected on the output, or on all
/// operands that one producer fills.
struct Face {
  int list = 0;           ///< the number of the list of the projected vectors; -1: of none
  std::size_t size = 0;   ///< how many there are
  std::vector<int> seen;  ///< per state, which of them
};

/// The states of a statement: classes of partition vectors that no neighbour can tell apart, each
/// represented by its cheapest vector.
struct StatementShape {
  std::vector<Extent> cost;             ///< per state: join + aggregation
  std::vector<PartitionVector> vector;  ///< per state: the vector it stands for
  /// The output (one blank vector if nobody reads it) and the readings; at last, unless the output
  /// tells all states apart, one that sees each state as itself and is of no list.
  std::vector<Face> faces;
  [[nodiscard]] constexpr std::size_t size() const { return cost.size(); }

  /// The first face with the same projection as the given one; of the operand of an element-wise
  /// statement, for example, the output.
  [[nodiscard]] constexpr int first_like(int face) const {
    int first = 0;
    const std::vector<int>& seen = faces[to_index(face)].seen;
    while (faces[to_index(first)].seen != seen) ++first;
    return first;
  }
  /// The face that sees each state as itself: states are in the order of what the output shows.
  [[nodiscard]] constexpr int face_of_states() const {
    return faces[0].size == size() ? 0 : static_cast<int>(faces.size()) - 1;
  }
};

/// The shapes of a graph's statements for p workers. Equal statements share one, so that a network
/// of many layers has a handful of shapes.
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
      for (const OperandIndex& index : operand.indices) {
        key.insert(key.end(), {-3, index.before + index.after, index.divisor,
                               static_cast<Extent>(index.boundary)});
        for (const OperandIndex::Term& term : index.terms) {
          key.insert(key.end(), {term.label, term.coefficient});
        }
      }
      key.push_back(-4);
      key.insert(key.end(), operand.block.begin(), operand.block.end());
    }
    key.push_back(vertex.scanned);
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

    // Brings vectors of one class together, the cheapest first; of equally cheap ones that whose
    // output is listed first.
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
    if (shape.faces[0].size != shape.size()) {
      std::vector<int> states(shape.size());
      std::iota(states.begin(), states.end(), 0);
      shape.faces.push_back({-1, shape.size(), std::move(states)});
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

}  // namespace eindecomp::plan
