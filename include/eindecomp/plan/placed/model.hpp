// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the strategy `placed` searches over: the axes that cut every statement's calls and every
/// tensor's storage, and the words that each rank then receives. Repeated statements (layers) are
/// cut alike.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/placed/axis_cuts.hpp"
#include "eindecomp/plan/placed/fold.hpp"
#include "eindecomp/plan/placed/quick_words.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"

namespace eindecomp::plan {

/// Statements that are cut alike.
struct StatementClass {
  std::vector<VertexId> members;
  std::vector<Extent> limits;  ///< the most parts of each label
  Extent calls = 1;            ///< N: the largest number of calls that can be reached
  std::vector<int> tensors;    ///< groups of tensors whose words depend on its calls
};

/// Tensors that are produced and read alike, and so are stored alike.
struct TensorGroup {
  struct Reader {
    int statement = -1;  ///< a class
    std::vector<int> labels;
    ComputedRead computed;
    bool operator==(const Reader&) const = default;
  };
  std::vector<VertexId> members;
  int producer = -1;            ///< a class; -1 of an input
  std::vector<Reader> readers;  ///< distinct
  ComputedRead masked;          ///< of a result: masked_result
  bool given = false;           ///< the user gives the parts of its dimensions
  std::vector<Extent> parts;    ///< those

  /// How often the words of one of its tensors count.
  [[nodiscard]] Extent copies() const { return static_cast<Extent>(members.size()); }
};

/// A placement under search, with the words that follow from it.
struct PlacedState {
  std::vector<AxisCuts> calls;             ///< per class
  std::vector<AxisCuts> stored;            ///< per group
  std::vector<std::vector<Extent>> words;  ///< per group, per receiver, of one tensor of the group
  std::vector<Extent> sum;                 ///< per receiver, of the program
  WordSum score;
};

/// A program on one mesh.
class PlacedModel {
 public:
  /// The calls of all classes.
  using Calls = std::span<const AxisCuts>;

  /// \param ranks  that share the workers; words within a rank are none
  PlacedModel(const EinGraph& graph, const Mesh& mesh, const PlaceOptions& layouts, int ranks)
      : m_graph(&graph), m_counter(mesh, ranks), m_class_of(graph.vertices.size(), -1) {
    for (std::vector<VertexId>& members : fold(graph)) {
      for (VertexId v : members) {
        m_class_of[to_index(v)] = static_cast<int>(m_classes.size());
      }
      std::vector<Extent> limits = part_limits(graph, members.front());
      const Extent calls = max_kernel_calls(limits, static_cast<int>(workers()));
      m_classes.push_back({std::move(members), std::move(limits), calls, {}});
    }
    group_tensors(layouts);
  }

  [[nodiscard]] const EinGraph& graph() const { return *m_graph; }
  [[nodiscard]] const Mesh& mesh() const { return m_counter.mesh(); }
  [[nodiscard]] Extent workers() const { return static_cast<Extent>(m_counter.workers()); }
  /// Whom words are counted for, and whether some of them are ranks of several workers.
  [[nodiscard]] std::size_t receivers() const { return m_counter.receivers(); }
  [[nodiscard]] bool shared() const { return m_counter.shared(); }
  /// The most workers that a receiver hosts.
  [[nodiscard]] Extent workers_each() const {
    return ceil_div(workers(), static_cast<Extent>(receivers()));
  }
  [[nodiscard]] std::size_t axes() const { return mesh().axes.size(); }
  [[nodiscard]] std::uint32_t all_axes() const { return m_counter.all_axes(); }
  [[nodiscard]] Extent axis_size(std::size_t a) const { return mesh().axes[a]; }
  [[nodiscard]] const std::vector<StatementClass>& classes() const { return m_classes; }
  [[nodiscard]] const StatementClass& class_at(int c) const { return m_classes[to_index(c)]; }
  [[nodiscard]] const std::vector<TensorGroup>& groups() const { return m_groups; }

  /// The effort of all counts so far, see WordCounter.
  [[nodiscard]] std::int64_t spent() const { return m_counter.spent(); }

  [[nodiscard]] const Vertex& statement(const StatementClass& c) const {
    return (*m_graph)[c.members.front()];
  }
  /// The partition vectors of a class. \throws Error, naming its first statement, if they are too
  /// many.
  [[nodiscard]] VectorList partition_vectors_of(const StatementClass& c) const {
    return partition_vectors(c.limits, static_cast<int>(workers()), &statement(c));
  }
  [[nodiscard]] const Vertex& tensor(const TensorGroup& t) const {
    return (*m_graph)[t.members.front()];
  }

  /// The product of the sizes of the axes of one entry.
  [[nodiscard]] Extent parts(const AxisCuts& cuts, std::size_t entry) const {
    return cuts.parts(mesh(), entry);
  }
  [[nodiscard]] Extent contributions_of(const StatementClass& c, const AxisCuts& calls) const {
    return m_counter.contributions(statement(c), calls);
  }

  /// Whether these calls are as many as can be, and no label is cut too finely.
  [[nodiscard]] bool allows(const StatementClass& c, const AxisCuts& cuts) const {
    Extent n = 1;
    for (std::size_t i = 0; i < cuts.size; ++i) n *= axis_size(cuts.axis[i]);
    if (n != c.calls) return false;
    for (std::size_t l = 0; l < c.limits.size(); ++l) {
      if (parts(cuts, l) > c.limits[l]) return false;
    }
    return true;
  }

  /// The axes that may cut a tensor where it is stored: of a result those of its calls.
  [[nodiscard]] std::uint32_t store_axes(const TensorGroup& t, Calls calls) const {
    return t.producer < 0 ? all_axes() : calls[to_index(t.producer)].used();
  }

  /// Whether a tensor may be stored so: in the parts that the user gives, or else with none of
  /// these axes left out that a dimension could still take.
  [[nodiscard]] bool allows(const TensorGroup& t, const AxisCuts& cuts, std::uint32_t axes) const {
    const Vertex& v = tensor(t);
    std::array<Extent, max_rank> cut{};
    for (std::size_t k = 0; k < v.bound.size(); ++k) {
      cut[k] = parts(cuts, k);
      if (cut[k] > v.bound[k]) return false;
      if (t.given && cut[k] != t.parts[k]) return false;
    }
    if (t.given) return true;
    for (std::uint32_t left = axes & ~cuts.used(); left != 0; left &= left - 1) {
      const Extent size = axis_size(to_index(std::countr_zero(left)));
      for (std::size_t k = 0; k < v.bound.size(); ++k) {
        if (cut[k] * size <= v.bound[k]) return false;
      }
    }
    return true;
  }

  /// The words of one tensor of a group, per receiver, if it is stored so. If all receive the same,
  /// only words[0] is written and true returned.
  bool count(const TensorGroup& t, const AxisCuts& stored, Calls calls,
             std::vector<Extent>& words) {
    m_needs.clear();
    for (const TensorGroup::Reader& r : t.readers) {
      m_needs.push_back(m_counter.need(calls[to_index(r.statement)], r.labels, r.computed));
    }
    constexpr AxisCuts none;
    const AxisCuts& own = t.producer < 0 ? none : calls[to_index(t.producer)];
    return m_counter.count(tensor(t), stored, m_needs, own, t.masked, words);
  }

  [[nodiscard]] Placement placement(const PlacedState& state) const {
    const std::size_t n = m_graph->vertices.size();
    Placement result{mesh(), std::vector<AxisLists>(n), std::vector<AxisLists>(n)};
    for (std::size_t i = 0; i < n; ++i) {
      const Vertex& v = m_graph->vertices[i];
      if (!v.is_input()) {
        result.calls[i] = lists_of(state.calls[to_index(m_class_of[i])], v.labels.size());
      }
      result.stored[i] = lists_of(state.stored[to_index(m_group_of[i])], v.bound.size());
    }
    return result;
  }

  /// Counts a state's words anew.
  void recount(PlacedState& state) {
    state.words.resize(m_groups.size());
    state.sum.assign(receivers(), 0);
    for (std::size_t t = 0; t < m_groups.size(); ++t) {
      if (count(m_groups[t], state.stored[t], state.calls, state.words[t])) {
        WordCounter::spread(state.words[t]);
      }
      add_copies(m_groups[t].copies(), state.words[t], state.sum);
    }
    state.score = sum_of(state.sum);
  }

  /// Adds the words of so many tensors, per receiver, to a sum.
  static void add_copies(Extent copies, std::span<const Extent> words, std::vector<Extent>& sum) {
    for (std::size_t w = 0; w < sum.size(); ++w) sum[w] += copies * words[w];
  }

 private:
  void group_tensors(const PlaceOptions& layouts) {
    const std::size_t n = m_graph->vertices.size();
    std::vector<TensorGroup> single(n);
    const graph::Masks masks(*m_graph);
    for (std::size_t i = 0; i < n; ++i) {
      const std::vector<graph::Condition>& conditions = masks.of(static_cast<VertexId>(i));
      single[i].masked = masked_result(m_graph->vertices[i], conditions);
      single[i].members.push_back(static_cast<VertexId>(i));
      single[i].producer = m_class_of[i];
      for (const Operand& o : m_graph->vertices[i].operands) {
        std::vector<TensorGroup::Reader>& readers = single[to_index(o.vertex)].readers;
        for (int piece = 0; piece < graph::piece_count(o); ++piece) {
          TensorGroup::Reader reader{m_class_of[i], o.labels,
                                     computed_read(m_graph->vertices[i], o, piece, conditions)};
          if (std::find(readers.begin(), readers.end(), reader) == readers.end()) {
            readers.push_back(std::move(reader));
          }
        }
      }
    }
    for (const InputLayout& given : layouts.inputs) {
      single[to_index(given.input)].given = true;
      single[to_index(given.input)].parts = given.parts;
    }
    // Without repeated statements every tensor is its own group: two may be stored in two ways.
    const bool folded = std::any_of(m_classes.begin(), m_classes.end(),
                                    [](const auto& c) { return c.members.size() > 1; });
    std::vector<std::vector<int>> by_producer(m_classes.size() + 1);
    for (TensorGroup& own : single) {
      std::vector<int>& known = by_producer[to_index(own.producer + 1)];
      const auto same = std::find_if(known.begin(), known.end(), [&](int g) {
        const TensorGroup& t = m_groups[to_index(g)];
        return folded && t.readers == own.readers && t.masked == own.masked &&
               t.given == own.given && t.parts == own.parts && tensor(t).bound == tensor(own).bound;
      });
      if (same == known.end()) {
        m_group_of.push_back(static_cast<int>(m_groups.size()));
        known.push_back(m_group_of.back());
        m_groups.push_back(std::move(own));
      } else {
        m_group_of.push_back(*same);
        m_groups[to_index(*same)].members.push_back(own.members.front());
      }
    }
    for (std::size_t t = 0; t < m_groups.size(); ++t) {
      std::vector<int> around;
      for (const TensorGroup::Reader& r : m_groups[t].readers) around.push_back(r.statement);
      if (m_groups[t].producer >= 0) around.push_back(m_groups[t].producer);
      std::sort(around.begin(), around.end());
      around.erase(std::unique(around.begin(), around.end()), around.end());
      for (int c : around) {
        m_classes[to_index(c)].tensors.push_back(static_cast<int>(t));
      }
    }
  }

  const EinGraph* m_graph;
  WordCounter m_counter;
  std::vector<StatementClass> m_classes;
  std::vector<TensorGroup> m_groups;
  std::vector<int> m_class_of;  ///< per vertex; -1 of inputs
  std::vector<int> m_group_of;  ///< per vertex
  std::vector<Need> m_needs;    ///< kept to spare allocations
};

}  // namespace eindecomp::plan
