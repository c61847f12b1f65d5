// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The strategy `exact`: eliminates statements in a greedy order, then goes back to find the
/// vectors that attain the minimum.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/vertex_index.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/ein_decomp/edge_costs.hpp"
#include "eindecomp/plan/ein_decomp/projection.hpp"
#include "eindecomp/plan/ein_decomp/statement_shapes.hpp"
#include "eindecomp/plan/exact/eliminate.hpp"
#include "eindecomp/plan/exact/tables.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/partition.hpp"

namespace eindecomp::plan {

/// An argument of a cost table within a graph: a face of a statement.
struct Axis {
  VertexId vertex = -1;
  int face = 0;
  constexpr auto operator<=>(const Axis&) const = default;
};

/// A cost table applied to some statements.
struct CostFactor {
  int table = -1;
  std::vector<Axis> scope;  ///< in the order of the table's axes
};

/// Minimises the graph cost by eliminating statement after statement, the one that leaves the
/// smallest table first.
class ExactSearch {
 public:
  constexpr ExactSearch(const EinGraph& graph, int p, const ExactOptions& options)
      : m_options(options),
        m_shapes(graph, p),
        m_edges(p),
        m_statements(statements_of(graph)),
        m_touching(graph.vertices.size()),
        m_stamp(graph.vertices.size(), 0),
        m_state(graph.vertices.size(), -1) {
    add_edges(graph);
    m_edge_factors = m_touching;
    for (VertexId v : m_statements) push(v);
    while (!m_heap.empty()) {
      std::ranges::pop_heap(m_heap, later);
      const Candidate next = m_heap.back();
      m_heap.pop_back();
      if (next.stamp == m_stamp[to_index(next.vertex)]) eliminate(next.vertex);
    }
    for (std::size_t n = m_steps.size(); n-- > 0;) {
      m_state[to_index(m_steps[n].vertex)] = best_state(m_steps[n].vertex, m_steps[n].factors);
    }
  }
  ExactSearch(const ExactSearch&) = delete;
  ExactSearch& operator=(const ExactSearch&) = delete;

  /// No labeling costs less.
  [[nodiscard]] constexpr Extent lower_bound() const { return m_bound; }
  /// Whether no elimination had to be split: the labeling then attains the bound.
  [[nodiscard]] constexpr bool complete() const { return m_complete; }

  /// Gives one statement after another the state that is best for its neighbours' states, until
  /// that changes nothing, at most `sweeps` times over.
  constexpr void improve(int sweeps) {
    for (bool moved = true; moved && sweeps > 0; --sweeps) {
      moved = false;
      for (VertexId v : m_statements) {
        const auto at = to_index(v);
        const int better = best_state(v, m_edge_factors[at]);
        moved = moved || better != m_state[at];
        m_state[at] = better;
      }
    }
  }

  [[nodiscard]] constexpr Partitions labeling() const {
    Partitions partitions(m_state.size());
    for (VertexId v : m_statements) {
      const auto at = to_index(v);
      partitions[at] = m_shapes.of(v).vector[to_index(m_state[at])];
    }
    return partitions;
  }
  /// Continues from a labeling by partition vectors of this graph.
  constexpr void start_from(const EinGraph& graph, const Partitions& partitions) {
    for (VertexId v : m_statements) {
      m_state[to_index(v)] = state_of(graph, v, partitions[to_index(v)]);
    }
  }

  /// The number of repartition costs between neighbours, all of which the paper's dynamic program
  /// evaluates.
  [[nodiscard]] constexpr double edge_entries() const { return m_edge_entries; }

 private:
  struct Candidate {
    double size = 0;
    VertexId vertex = -1;
    int stamp = 0;
  };
  [[nodiscard]] static constexpr bool later(const Candidate& a, const Candidate& b) {
    return a.size > b.size || (a.size == b.size && a.vertex > b.vertex);
  }
  struct Step {
    VertexId vertex = -1;
    std::vector<int> factors;
  };

  constexpr void add_edges(const EinGraph& graph) {
    struct Found {
      int table;
      Axis producer;
      Axis consumer;
    };
    std::vector<Found> found;
    for (VertexId v : m_statements) {
      int face = 0;
      for (const Reading& reading : readings(graph, v)) {
        ++face;
        const Vertex& producer = graph[reading.producer];
        if (producer.bound.empty()) continue;  // a scalar has one partition
        const int produced = m_shapes.of(reading.producer).faces[0].list;
        const int consumed = m_shapes.of(v).faces[to_index(face)].list;
        const int edge = m_edges.number_of(m_shapes, producer.bound, produced, consumed);
        found.push_back({edge, {reading.producer, 0}, {v, m_shapes.of(v).first_like(face)}});
      }
    }
    for (int e = 0; e < m_edges.size(); ++e) {
      const EdgeCosts& edge = m_edges[e];
      m_tables.push_back({{edge.produced(), edge.consumed()}, {}, &edge});
    }
    for (const Found& f : found) {
      const EdgeCosts& edge = m_edges[f.table];
      m_edge_entries += static_cast<double>(edge.produced()) * static_cast<double>(edge.consumed());
      add_factor(f.table, {f.producer, f.consumer});
    }
  }

  constexpr void add_factor(int table, std::vector<Axis> scope) {
    const int factor = static_cast<int>(m_factors.size());
    for (const Axis& axis : scope) {
      std::vector<int>& touching = m_touching[to_index(axis.vertex)];
      if (touching.empty() || touching.back() != factor) touching.push_back(factor);
    }
    m_factors.push_back({table, std::move(scope)});
  }

  [[nodiscard]] constexpr const CostFactor& factor(int number) const {
    return m_factors[to_index(number)];
  }
  [[nodiscard]] constexpr const CostTable& table(int number) const {
    return m_tables[to_index(number)];
  }

  /// The axes of some factors that are not v's, sorted, each once. Several faces of one statement
  /// that have no fewer combinations than the statement has states give way to all its states.
  [[nodiscard]] constexpr std::vector<Axis> other_axes(VertexId v,
                                                       std::span<const int> factors) const {
    std::vector<Axis> axes;
    for (int f : factors) {
      for (const Axis& axis : factor(f).scope) {
        if (axis.vertex != v) axes.push_back(axis);
      }
    }
    std::ranges::sort(axes);
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    std::size_t kept = 0;
    for (std::size_t begin = 0, end = 0; begin < axes.size(); begin = end) {
      const VertexId neighbour = axes[begin].vertex;
      double combinations = 1;
      for (; end < axes.size() && axes[end].vertex == neighbour; ++end) {
        combinations *= static_cast<double>(size_of(axes[end]));
      }
      const StatementShape& shape = m_shapes.of(neighbour);
      if (end - begin > 1 && combinations >= static_cast<double>(shape.size())) {
        axes[kept++] = {neighbour, shape.face_of_states()};
      } else {
        for (std::size_t n = begin; n < end; ++n) axes[kept++] = axes[n];
      }
    }
    axes.resize(kept);
    return axes;
  }
  [[nodiscard]] constexpr std::size_t size_of(const Axis& axis) const {
    return m_shapes.of(axis.vertex).faces[to_index(axis.face)].size;
  }
  [[nodiscard]] constexpr double result_size(VertexId v, std::span<const int> factors) const {
    double size = 1;
    for (const Axis& axis : other_axes(v, factors)) size *= static_cast<double>(size_of(axis));
    return size;
  }

  constexpr void push(VertexId v) {
    const auto at = to_index(v);
    m_heap.push_back({result_size(v, m_touching[at]), v, ++m_stamp[at]});
    std::ranges::push_heap(m_heap, later);
  }

  constexpr void eliminate(VertexId v) {
    // A canonical order, so that equal eliminations are recognised in every layer.
    std::vector<int> factors = m_touching[to_index(v)];
    std::ranges::sort(factors, [this](int a, int b) {
      const CostFactor& x = factor(a);
      const CostFactor& y = factor(b);
      return x.scope < y.scope || (x.scope == y.scope && x.table < y.table);
    });
    m_steps.push_back({v, factors});
    m_stamp[to_index(v)] = -1;
    const std::vector<Axis> neighbours = other_axes(v, factors);
    for (const Axis& axis : neighbours) {
      std::erase_if(m_touching[to_index(axis.vertex)],
                    [&](int f) { return std::ranges::find(factors, f) != factors.end(); });
    }
    if (!replace(v, factors, true)) split(v, factors);
    for (std::size_t n = 0; n < neighbours.size(); ++n) {
      if (n == 0 || neighbours[n].vertex != neighbours[n - 1].vertex) push(neighbours[n].vertex);
    }
  }

  /// Replaces factors on v by the minimum of their sum over v's states.
  /// \returns false, and does nothing, if that is beyond the budget.
  constexpr bool replace(VertexId v, std::span<const int> factors, bool own) {
    const std::vector<Axis> axes = other_axes(v, factors);
    std::vector<Extent> key{m_shapes.number_of(v), own};
    std::vector<Term> terms = terms_of(v, factors, key, [&](const Axis& axis) -> TermAxis {
      const auto known = std::ranges::lower_bound(axes, axis);
      if (known != axes.end() && *known == axis) {
        return {static_cast<int>(known - axes.begin())};
      }
      const StatementShape& shape = m_shapes.of(axis.vertex);
      const auto all = std::ranges::lower_bound(axes, Axis{axis.vertex, shape.face_of_states()});
      return {static_cast<int>(all - axes.begin()), &shape.faces[to_index(axis.face)].seen};
    });
    const Numbering::Number number = m_eliminations(key);
    if (number.fresh) m_results.push_back(run(v, own, axes, std::move(terms)));
    const Result& result = m_results[to_index(number.value)];
    if (result.table < 0) return false;
    m_bound = add_words(m_bound, result.least);
    if (!axes.empty()) add_factor(result.table, axes);
    return true;
  }

  /// Factors as the elimination of v sees them. \param key  gets all that they depend on.
  /// \param place  of an axis that is not v's, among those of the result.
  template <class Place>
  [[nodiscard]] constexpr std::vector<Term> terms_of(VertexId v, std::span<const int> factors,
                                                     std::vector<Extent>& key,
                                                     const Place& place) const {
    std::vector<Term> terms;
    for (int f : factors) {
      key.push_back(factor(f).table);
      terms.push_back({&table(factor(f).table), {}});
      for (const Axis& axis : factor(f).scope) {
        terms.back().axes.push_back(axis.vertex == v ? TermAxis{-1 - axis.face} : place(axis));
        const TermAxis& made = terms.back().axes.back();
        key.push_back(made.at);
        key.push_back(made.seen == nullptr ? -1 : m_shapes.number_of(axis.vertex));
        key.push_back(made.seen == nullptr ? -1 : axis.face);
      }
    }
    return terms;
  }

  /// The result of an elimination: a table less its least value. What one layer of a network after
  /// another leaves soon differs by a constant only, and is then the same table.
  struct Result {
    int table = -1;  ///< -1: the elimination is beyond the budget
    Extent least = 0;
  };

  constexpr Result run(VertexId v, bool own, const std::vector<Axis>& axes,
                       std::vector<Term> terms) {
    std::vector<std::size_t> shape;
    double size = 1;
    for (const Axis& axis : axes) {
      shape.push_back(size_of(axis));
      size *= static_cast<double>(shape.back());
    }
    const bool can_be_split = terms.size() > 1;
    const StatementElimination elimination(m_shapes.of(v), own, std::move(terms), std::move(shape));
    const bool affordable =
        size <= m_options.max_states && m_work + elimination.work() <= m_options.max_work;
    if (!affordable && can_be_split) return {};
    m_work += elimination.work();
    CostTable made = elimination.run();
    const Extent least = *std::ranges::min_element(made.values);
    for (Extent& value : made.values) {
      if (value != unaffordable) value -= least;
    }
    const std::uint64_t h = made.hash();
    const graph::VertexIndex::Entry* known =
        m_known_tables.find(h, [&](int n) { return table(n) == made; });
    if (known != nullptr) return {known->vertex, least};
    const int number = static_cast<int>(m_tables.size());
    m_known_tables.add(h, number);
    m_tables.push_back(std::move(made));
    return {number, least};
  }

  /// Minimises several groups of v's factors separately, each within the budget. The sum of their
  /// minima is a lower bound of the minimum of the sum.
  constexpr void split(VertexId v, const std::vector<int>& factors) {
    m_complete = false;
    bool own = true;
    for (std::size_t begin = 0; begin < factors.size();) {
      std::size_t end = factors.size();
      const auto group = [&] { return std::span(factors).subspan(begin, end - begin); };
      while (!replace(v, group(), own)) --end;  // one by itself is replaced: run() has seen to it
      own = false;
      begin = end;
    }
  }

  /// The state of v that costs least under the given factors, with all other statements where they
  /// are; of equally good ones the first.
  constexpr int best_state(VertexId v, std::span<const int> factors) {
    std::vector<Extent> key{m_shapes.number_of(v)};
    std::vector<std::size_t> point;
    const std::vector<Term> terms = terms_of(v, factors, key, [&](const Axis& axis) -> TermAxis {
      const Face& face = m_shapes.of(axis.vertex).faces[to_index(axis.face)];
      point.push_back(to_index(face.seen[to_index(m_state[to_index(axis.vertex)])]));
      return {static_cast<int>(point.size()) - 1};
    });
    key.insert(key.end(), point.begin(), point.end());
    const Numbering::Number number = m_choices(key);
    if (number.fresh) {
      const StatementShape& shape = m_shapes.of(v);
      std::vector<Slice> slices;
      for (const Term& term : terms) slices.emplace_back(shape, term);
      std::vector<Extent> sums = shape.cost;
      add_slices(shape, slices, point, sums);
      m_chosen.push_back(static_cast<int>(std::ranges::min_element(sums) - sums.begin()));
    }
    return m_chosen[to_index(number.value)];
  }

  [[nodiscard]] constexpr int state_of(const EinGraph& graph, VertexId v,
                                       const PartitionVector& d) const {
    const StatementShape& shape = m_shapes.of(v);
    std::vector<std::vector<int>> positions{graph[v].output};
    if (m_shapes.list(shape.faces[0].list).width() == 0) positions[0].clear();
    for (const Reading& reading : readings(graph, v)) positions.push_back(reading.positions);
    std::vector<Extent> seen;
    for (std::size_t s = 0; s < shape.size(); ++s) {
      bool same = true;
      for (std::size_t f = 0; f < positions.size() && same; ++f) {
        select(d, positions[f], seen);
        same = std::ranges::equal(
            seen, m_shapes.list(shape.faces[f].list)[to_index(shape.faces[f].seen[s])]);
      }
      if (same) return static_cast<int>(s);
    }
    return 0;
  }

  ExactOptions m_options;
  Shapes m_shapes;
  SharedEdges m_edges;  // all made before the tables that point at them
  std::vector<VertexId> m_statements;
  std::vector<CostTable> m_tables;
  std::vector<CostFactor> m_factors;
  std::vector<std::vector<int>> m_touching;      // per vertex: the factors not yet replaced
  std::vector<std::vector<int>> m_edge_factors;  // per vertex: those of its edges
  std::vector<Candidate> m_heap;
  std::vector<int> m_stamp;  // per vertex: of its latest candidate; -1 once it is eliminated
  std::vector<Step> m_steps;
  Numbering m_eliminations;
  std::vector<Result> m_results;      // per elimination
  graph::VertexIndex m_known_tables;  // the eliminations' results by hash
  Numbering m_choices;
  std::vector<int> m_chosen;  // per choice: the state
  std::vector<int> m_state;   // per vertex
  Extent m_bound = 0;
  double m_work = 0;  // spent
  double m_edge_entries = 0;
  bool m_complete = true;
};

}  // namespace eindecomp::plan
