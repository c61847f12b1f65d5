// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The EinDecomp dynamic program over the tables M[v, d_Z] (paper, sections 8.2 and 8.3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/ein_decomp/edge_costs.hpp"
#include "eindecomp/plan/ein_decomp/projection.hpp"
#include "eindecomp/plan/ein_decomp/statement_shapes.hpp"
#include "eindecomp/plan/partitions.hpp"
#include "eindecomp/plan/words.hpp"

namespace eindecomp::plan {

/// M[v, ·] relative to its minimum, with the choices that attain it.
struct Table {
  int shape = -1;            ///< of the statement
  std::vector<Extent> best;  ///< per vector of the output: M[v, d_Z] − min M[v, ·]
  std::vector<int> choice;   ///< per vector of the output: the state that attains it
  std::vector<int> order;    ///< the vectors of the output, the best first
  int content = -1;          ///< equal for tables of equal vectors and entries
  /// Per reading, and per partition that it asks for: the producer's best output. Empty for a
  /// producer whose cost is not counted.
  std::vector<std::vector<int>> outputs;
};

/// The dynamic program for p workers on parts of a graph. Equal statements share their shapes, and
/// equal paths their tables, so that all but the first few layers of a network only look tables up.
/// (Tables repeat from layer to layer because they are relative to their minimum.)
class DynamicProgram {
 public:
  constexpr DynamicProgram(const EinGraph& graph, int p)
      : m_graph(&graph), m_shapes(graph, p), m_edges(p) {}
  DynamicProgram(const DynamicProgram&) = delete;
  DynamicProgram& operator=(const DynamicProgram&) = delete;
  constexpr ~DynamicProgram() = default;  // said, nvcc believes that the type is literal

  /// Labels the given statements, in graph order, with the vectors of least total cost. Of the
  /// repartitions only those from a statement u to reader[u] are counted (-1: none), so the result
  /// is optimal if no statement has another reader. Ties go to the vector listed first.
  constexpr void minimise(std::span<const VertexId> statements, std::span<const VertexId> reader,
                          Partitions& partitions) {
    std::vector<int> table(m_graph->vertices.size(), -1);
    for (VertexId v : statements) {
      table[to_index(v)] = table_of(v, reader, table);
    }
    std::vector<int> wanted(table.size(), -1);  // the output that the reader settled on
    for (std::size_t n = statements.size(); n-- > 0;) {
      const auto v = to_index(statements[n]);
      const Table& found = (*this)[table[v]];
      if (wanted[v] < 0) wanted[v] = found.order.front();
      const auto state = to_index(found.choice[to_index(wanted[v])]);
      const StatementShape& shape = m_shapes[found.shape];
      partitions[v] = shape.vector[state];
      const std::vector<Reading> sources = readings(*m_graph, statements[n]);
      for (std::size_t r = 0; r < sources.size(); ++r) {
        if (found.outputs[r].empty()) continue;
        const auto asked = to_index(shape.faces[r + 1].seen[state]);
        wanted[to_index(sources[r].producer)] = found.outputs[r][asked];
      }
    }
  }

  /// The number of a statement's table. \param table  the tables' numbers of its producers.
  constexpr int table_of(VertexId v, std::span<const VertexId> reader, std::span<const int> table) {
    const std::vector<Reading> sources = readings(*m_graph, v);
    std::vector<Extent> key{m_shapes.number_of(v)};
    for (const Reading& source : sources) {
      const auto u = to_index(source.producer);
      if (reader[u] != v) {
        key.push_back(-1);
        continue;
      }
      // What delivering costs depends on the tensor's extents, which a computed index does not say.
      const std::vector<Extent>& bound = (*m_graph)[source.producer].bound;
      key.push_back((*this)[table[u]].content);
      key.insert(key.end(), bound.begin(), bound.end());
    }
    const Numbering::Number number = m_table_numbers(key);
    if (number.fresh) m_tables.push_back(make(v, sources, reader, table));
    return number.value;
  }

  [[nodiscard]] constexpr const Table& operator[](int number) const {
    return m_tables[to_index(number)];
  }
  [[nodiscard]] constexpr const Shapes& shapes() const { return m_shapes; }

 private:
  [[nodiscard]] constexpr Table make(VertexId v, const std::vector<Reading>& sources,
                                     std::span<const VertexId> reader, std::span<const int> table) {
    const StatementShape& shape = m_shapes.of(v);
    Table made;
    made.shape = m_shapes.number_of(v);
    std::vector<Extent> cost = shape.cost;
    for (std::size_t r = 0; r < sources.size(); ++r) {
      made.outputs.emplace_back();
      const VertexId producer = sources[r].producer;
      const auto u = to_index(producer);
      if (reader[u] != v) continue;
      const Face& asked = shape.faces[r + 1];
      const int edge = m_edges.number_of(m_shapes, (*m_graph)[producer].bound,
                                         m_shapes.of(producer).faces[0].list, asked.list);
      made.outputs.back().resize(asked.size);
      const std::vector<Extent> cheapest =
          delivery((*this)[table[u]], m_edges[edge], made.outputs.back());
      for (std::size_t s = 0; s < cost.size(); ++s) {
        cost[s] = add_words(cost[s], cheapest[to_index(asked.seen[s])]);
      }
    }
    choose(shape.faces[0], cost, made);
    return made;
  }

  /// For each partition of the operand that a consumer may ask for, the least cost at which the
  /// producer delivers it: min over its outputs of M[producer, d_Z] + repartition, and the output
  /// that attains it. Repartitions cost at least 0, so the search ends at the first output that by
  /// itself costs more than the minimum so far.
  [[nodiscard]] static constexpr std::vector<Extent> delivery(const Table& producer,
                                                              const EdgeCosts& edge,
                                                              std::vector<int>& outputs) {
    std::vector<Extent> min_cost(outputs.size());
    int at = producer.order.front();  // what serves one partition serves the next one well
    const auto words = [&](int output, std::size_t asked) {
      const auto z = to_index(output);
      return add_words(producer.best[z], edge.cost(z, asked));
    };
    for (std::size_t asked = 0; asked < min_cost.size(); ++asked) {
      min_cost[asked] = words(at, asked);
      for (int z : producer.order) {
        if (producer.best[to_index(z)] > min_cost[asked]) break;
        const Extent sum = words(z, asked);
        if (sum > min_cost[asked] || (sum == min_cost[asked] && z >= at)) continue;
        min_cost[asked] = sum;
        at = z;
      }
      outputs[asked] = at;
    }
    return min_cost;
  }

  /// Minimises over the states that have the same output.
  constexpr void choose(const Face& output, std::span<const Extent> cost, Table& made) {
    made.best.assign(output.size, unaffordable);
    made.choice.assign(output.size, -1);
    for (std::size_t s = 0; s < cost.size(); ++s) {
      const auto z = to_index(output.seen[s]);
      if (made.choice[z] >= 0 && cost[s] >= made.best[z]) continue;
      made.best[z] = cost[s];
      made.choice[z] = static_cast<int>(s);
    }
    made.order.resize(output.size);
    std::iota(made.order.begin(), made.order.end(), 0);
    std::ranges::sort(made.order, [&](int a, int b) {
      const Extent x = made.best[to_index(a)];
      const Extent y = made.best[to_index(b)];
      return x < y || (x == y && a < b);
    });
    const Extent min_cost = made.best[to_index(made.order.front())];
    for (Extent& entry : made.best) {
      if (entry != unaffordable) entry -= min_cost;
    }
    std::vector<Extent> key = made.best;
    key.push_back(output.list);
    made.content = m_contents(key).value;
  }

  const EinGraph* m_graph;
  Shapes m_shapes;
  SharedEdges m_edges;
  Numbering m_table_numbers;
  std::vector<Table> m_tables;
  Numbering m_contents;
};

}  // namespace eindecomp::plan
