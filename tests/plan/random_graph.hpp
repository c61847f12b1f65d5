// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random small graphs, and the least cost over all their labelings by trying every one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/partition.hpp"
#include "plan/programs.hpp"

namespace eindecomp_tests {

/// A random number in first..last.
template <class Integer>
Integer draw(std::mt19937& random, Integer first, Integer last) {
  return std::uniform_int_distribution<Integer>(first, last)(random);
}

constexpr Extent total(const EinGraph& graph, const eindecomp::Partitions& partitions) {
  return graph_cost(graph, partitions).total();
}

/// One to `most` statements of one to three operands, ranks 0 to 3, uneven extents, diagonals,
/// broadcasts. A tree if asked for: no statement's result is read twice.
inline EinGraph random_graph(std::mt19937& random, bool tree, int most = 4) {
  EinGraph graph;
  std::vector<VertexId> results;
  const int statements = draw(random, 1, most);
  for (int s = 0; s < statements; ++s) {
    std::vector<VertexId> operands;
    std::string form;
    std::vector<Extent> extents;  // of the labels a, b, c, …
    const int count = draw(random, 1, 3);
    for (int o = 0; o < count; ++o) {
      if (!results.empty() && draw(random, 0, 3) != 0) {
        const auto at = draw<std::size_t>(random, 0, results.size() - 1);
        operands.push_back(results[at]);
        if (tree) results.erase(results.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        std::vector<Extent> bound(draw<std::size_t>(random, 0, 3));
        for (Extent& b : bound) b = draw<Extent>(random, 1, 9);
        operands.push_back(
            input(graph, "in" + std::to_string(graph.vertices.size()), std::move(bound)));
      }
      if (o > 0) form += ',';
      for (Extent b : graph[operands.back()].bound) {
        std::vector<std::size_t> fitting;
        for (std::size_t l = 0; l < extents.size(); ++l) {
          if (extents[l] == b) fitting.push_back(l);
        }
        std::size_t label = extents.size();
        if (!fitting.empty() && draw(random, 0, 2) != 0) {
          label = fitting[draw<std::size_t>(random, 0, fitting.size() - 1)];
        } else {
          extents.push_back(b);
        }
        form += static_cast<char>('a' + label);
      }
    }
    std::vector<std::size_t> order(extents.size());
    for (std::size_t l = 0; l < order.size(); ++l) order[l] = l;
    std::shuffle(order.begin(), order.end(), random);
    order.resize(std::min(order.size(), draw<std::size_t>(random, 0, 3)));
    std::vector<Extent> output_extents(order.size(), 0);
    form += "->";
    for (std::size_t l : order) form += static_cast<char>('a' + l);
    if (order.size() < 3 && draw(random, 0, 5) == 0) {  // a broadcast
      form += static_cast<char>('a' + extents.size());
      output_extents.push_back(draw<Extent>(random, 1, 5));
    }
    results.push_back(write(graph, "s" + std::to_string(s), form, operands, output_extents));
  }
  return graph;
}

/// All labelings of a graph for p workers, and what each costs.
class Labelings {
 public:
  Labelings(const eindecomp::EinGraph& graph, int p)
      : m_graph(graph), m_vectors(graph.vertices.size()), m_own(m_vectors.size()) {
    for (VertexId v = 0; v < graph.size(); ++v) {
      if (graph[v].is_input()) continue;
      const auto at = static_cast<std::size_t>(v);
      const eindecomp::VectorList found = eindecomp::partition_vectors(graph, v, p);
      for (std::size_t i = 0; i < found.size(); ++i) {
        m_vectors[at].emplace_back(found[i].begin(), found[i].end());
        m_own[at].push_back(eindecomp::join_cost(graph[v], found[i]) +
                            eindecomp::aggregate_cost(graph[v], found[i]));
      }
      m_count *= static_cast<double>(found.size());
      for (const eindecomp::Operand& operand : graph[v].operands) add_edge(v, operand);
    }
  }

  /// How many there are.
  double count() const { return m_count; }

  /// The least cost of any.
  Extent least() const {
    std::vector<std::size_t> chosen(m_vectors.size(), 0);
    Extent best = std::numeric_limits<Extent>::max();
    while (true) {
      Extent cost = 0;
      for (std::size_t v = 0; v < m_own.size(); ++v) {
        if (!m_own[v].empty()) cost += m_own[v][chosen[v]];
      }
      for (const Edge& edge : m_edges) {
        cost += edge.cost[chosen[edge.producer] * m_vectors[edge.consumer].size() +
                          chosen[edge.consumer]];
      }
      best = std::min(best, cost);
      std::size_t v = 0;
      for (; v < chosen.size(); ++v) {
        if (++chosen[v] < m_vectors[v].size()) break;
        chosen[v] = 0;
      }
      if (v == chosen.size()) return best;
    }
  }

 private:
  struct Edge {
    std::size_t producer = 0;
    std::size_t consumer = 0;
    std::vector<Extent> cost;  // per producer's vector, per consumer's vector
  };

  void add_edge(VertexId v, const eindecomp::Operand& operand) {
    const eindecomp::Vertex& producer = m_graph[operand.vertex];
    if (producer.is_input()) return;
    Edge edge{static_cast<std::size_t>(operand.vertex), static_cast<std::size_t>(v), {}};
    for (const auto& from : m_vectors[edge.producer]) {
      for (const auto& to : m_vectors[edge.consumer]) {
        std::vector<Extent> produced;
        std::vector<Extent> consumed;
        for (int l : producer.output) produced.push_back(from[static_cast<std::size_t>(l)]);
        for (int l : operand.labels) consumed.push_back(to[static_cast<std::size_t>(l)]);
        edge.cost.push_back(eindecomp::repartition_cost(producer.bound, produced, consumed));
      }
    }
    m_edges.push_back(std::move(edge));
  }

  const eindecomp::EinGraph& m_graph;
  std::vector<std::vector<std::vector<Extent>>> m_vectors;
  std::vector<std::vector<Extent>> m_own;
  std::vector<Edge> m_edges;
  double m_count = 1;
};

}  // namespace eindecomp_tests
