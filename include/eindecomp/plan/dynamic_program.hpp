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
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/partition.hpp"

namespace eindecomp {

/// A list of vectors as seen at some of their positions: what a neighbour sees of a statement.
struct Projection {
  VectorList distinct;  ///< the different projected vectors, in descending lexicographic order
  std::vector<int> of;  ///< for each vector, which of `distinct` it projects to
};

/// Projects every vector of a list on the given positions. O(n log n).
[[nodiscard]] constexpr Projection project(const VectorList& vectors,
                                           std::span<const int> positions) {
  VectorList all(positions.size());
  std::vector<Extent> selected;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    detail::select(vectors[i], positions, selected);
    all.push_back(selected);
  }
  std::vector<int> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&all](int a, int b) {
    return std::ranges::lexicographical_compare(all[static_cast<std::size_t>(b)],
                                                all[static_cast<std::size_t>(a)]);
  });
  Projection projection{VectorList(positions.size()), std::vector<int>(all.size())};
  for (int i : order) {
    const auto vector = all[static_cast<std::size_t>(i)];
    VectorList& distinct = projection.distinct;
    if (distinct.empty() || !std::ranges::equal(distinct[distinct.size() - 1], vector)) {
      distinct.push_back(vector);
    }
    projection.of[static_cast<std::size_t>(i)] = static_cast<int>(distinct.size()) - 1;
  }
  return projection;
}

/// The partition vectors a statement may have, and what each costs by itself.
struct Candidates {
  VectorList vectors;
  std::vector<Extent> cost;  ///< join + aggregation of each vector
};

/// The partition vectors of statement v for p workers. \throws Error if they are too many.
[[nodiscard]] constexpr Candidates candidates(const EinGraph& graph, VertexId v, int p) {
  Candidates found{partition_vectors(graph, v, p), {}};
  found.cost.reserve(found.vectors.size());
  for (std::size_t i = 0; i < found.vectors.size(); ++i) {
    found.cost.push_back(detail::add_words(join_cost(graph[v], found.vectors[i]),
                                           aggregate_cost(graph[v], found.vectors[i])));
  }
  return found;
}

namespace detail {

/// All slots of one statement that one producer fills, as one wide operand.
struct Reading {
  VertexId producer = -1;
  std::vector<int> positions;  ///< the slots' label positions, one slot after another
};

/// Words to bring a tensor to every slot of a reading; `consumed` holds the slots' partitions one
/// after another.
[[nodiscard]] constexpr Extent reading_cost(const Vertex& producer,
                                            std::span<const Extent> produced,
                                            std::span<const Extent> consumed) {
  Extent words = 0;
  if (producer.bound.empty()) return words;
  for (std::size_t at = 0; at < consumed.size(); at += produced.size()) {
    words = add_words(
        words, repartition_cost(producer.bound, produced, consumed.subspan(at, produced.size())));
  }
  return words;
}

/// A statement's operands, those of one producer together. Inputs of the graph are left out.
[[nodiscard]] constexpr std::vector<Reading> readings(const EinGraph& graph, VertexId v) {
  std::vector<Reading> found;
  for (const Operand& operand : graph[v].operands) {
    if (graph[operand.vertex].is_input()) continue;
    auto reading = std::ranges::find(found, operand.vertex, &Reading::producer);
    if (reading == found.end()) reading = found.insert(found.end(), Reading{operand.vertex, {}});
    reading->positions.insert(reading->positions.end(), operand.labels.begin(),
                              operand.labels.end());
  }
  return found;
}

/// M[v, ·] and how to get back from it.
struct Table {
  VectorList vectors;        ///< candidates for d
  VectorList outputs;        ///< the different d_Z
  std::vector<Extent> best;  ///< M[v, d_Z] per output
  std::vector<int> choice;   ///< the vector that attains it
  struct Source {
    VertexId producer = -1;
    std::vector<int> seen;    ///< per vector: which partition of the operand it asks for
    std::vector<int> output;  ///< per partition asked for: the producer's best output
  };
  std::vector<Source> sources;
};

/// For each partition of the operand that a consumer may ask for, the least a producer needs to
/// deliver it: min over the producer's outputs of M[producer, d_Z] + repartition.
constexpr std::vector<Extent> delivery(const Vertex& producer, const Table& table,
                                       const VectorList& asked, std::vector<int>& output) {
  std::vector<Extent> least(asked.size(), unaffordable);
  output.assign(asked.size(), 0);
  for (std::size_t a = 0; a < asked.size(); ++a) {
    for (std::size_t z = 0; z < table.outputs.size(); ++z) {
      if (table.best[z] >= least[a]) continue;  // already beaten without the repartition
      const Extent words =
          add_words(table.best[z], reading_cost(producer, table.outputs[z], asked[a]));
      if (words < least[a]) {
        least[a] = words;
        output[a] = static_cast<int>(z);
      }
    }
  }
  return least;
}

/// Builds the table of one statement from those of the producers that count.
[[nodiscard]] constexpr Table make_table(const EinGraph& graph, VertexId v, int p,
                                         std::span<const VertexId> reader,
                                         std::span<const Table> tables) {
  Candidates own = candidates(graph, v, p);
  Projection output = project(own.vectors, graph[v].output);
  Table table;
  for (const Reading& reading : readings(graph, v)) {
    const auto u = static_cast<std::size_t>(reading.producer);
    if (reader[u] != v) continue;
    Projection seen = project(own.vectors, reading.positions);
    Table::Source source{reading.producer, std::move(seen.of), {}};
    const std::vector<Extent> least =
        delivery(graph[reading.producer], tables[u], seen.distinct, source.output);
    for (std::size_t i = 0; i < own.cost.size(); ++i) {
      own.cost[i] = add_words(own.cost[i], least[static_cast<std::size_t>(source.seen[i])]);
    }
    table.sources.push_back(std::move(source));
  }
  table.best.assign(output.distinct.size(), unaffordable);
  table.choice.assign(output.distinct.size(), -1);
  for (std::size_t i = 0; i < own.cost.size(); ++i) {
    const auto z = static_cast<std::size_t>(output.of[i]);
    if (table.choice[z] < 0 || own.cost[i] < table.best[z]) {
      table.best[z] = own.cost[i];
      table.choice[z] = static_cast<int>(i);
    }
  }
  table.vectors = std::move(own.vectors);
  table.outputs = std::move(output.distinct);
  return table;
}

/// Labels the given statements, in graph order, with the vectors of least total cost, counting
/// only the repartitions from a statement u to reader[u] (-1: none counts). Exact where a
/// statement's readers other than that one do not matter. Ties go to the earliest candidate.
constexpr void minimise(const EinGraph& graph, std::span<const VertexId> statements, int p,
                        std::span<const VertexId> reader, Partitions& partitions) {
  std::vector<Table> tables(graph.vertices.size());
  for (VertexId v : statements) {
    tables[static_cast<std::size_t>(v)] = make_table(graph, v, p, reader, tables);
  }
  std::vector<int> wanted(graph.vertices.size(), -1);  // the output that the reader settled on
  for (std::size_t n = statements.size(); n-- > 0;) {
    const auto v = static_cast<std::size_t>(statements[n]);
    const Table& table = tables[v];
    if (wanted[v] < 0) {
      wanted[v] = static_cast<int>(std::ranges::min_element(table.best) - table.best.begin());
    }
    const auto i = static_cast<std::size_t>(table.choice[static_cast<std::size_t>(wanted[v])]);
    partitions[v].assign(table.vectors[i].begin(), table.vectors[i].end());
    for (const Table::Source& source : table.sources) {
      wanted[static_cast<std::size_t>(source.producer)] =
          source.output[static_cast<std::size_t>(source.seen[i])];
    }
  }
}

}  // namespace detail
}  // namespace eindecomp
