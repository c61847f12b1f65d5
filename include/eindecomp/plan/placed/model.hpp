// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the strategy `placed` searches over: the axes that cut every statement's calls and every
/// tensor's storage, and the words of each worker or rank under them. Repeated statements (layers)
/// are one.
#pragma once

#include <algorithm>
#include <array>
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
#include "eindecomp/relation/cut_region.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/words_by_worker.hpp"

namespace eindecomp::detail {

/// Statements to be cut alike.
struct StatementClass {
  VertexId first = -1;
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
    bool operator==(const Reader&) const = default;
  };
  VertexId first = -1;
  std::vector<VertexId> members;
  int producer = -1;            ///< a class; -1 of an input
  std::vector<Reader> readers;  ///< distinct
  bool given = false;           ///< the user gives the parts of its dimensions
  std::vector<Extent> parts;    ///< those
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
  /// \param ranks  that share the workers; words within a rank are none
  PlacedModel(const EinGraph& graph, const Mesh& mesh, const PlaceOptions& layouts, int ranks)
      : m_graph(&graph), m_counter(mesh, ranks) {
    const std::vector<VertexId> like = fold(graph);
    m_class_of.assign(graph.vertices.size(), -1);
    for (VertexId v = 0; v < graph.size(); ++v) {
      if (graph[v].is_input()) continue;
      const auto at = static_cast<std::size_t>(v);
      if (like[at] != v) {
        m_class_of[at] = m_class_of[static_cast<std::size_t>(like[at])];
        m_classes[static_cast<std::size_t>(m_class_of[at])].members.push_back(v);
        continue;
      }
      m_class_of[at] = static_cast<int>(m_classes.size());
      StatementClass c;
      c.first = v;
      c.members.push_back(v);
      c.limits = part_limits(graph, v);
      c.calls = most_kernel_calls(c.limits, static_cast<int>(workers()));
      m_classes.push_back(std::move(c));
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
    const auto each = static_cast<Extent>(receivers());
    return (workers() + each - 1) / each;
  }
  [[nodiscard]] std::size_t axes() const { return mesh().axes.size(); }
  [[nodiscard]] Extent axis_size(std::size_t a) const { return mesh().axes[a]; }
  [[nodiscard]] const std::vector<StatementClass>& classes() const { return m_classes; }
  [[nodiscard]] const std::vector<TensorGroup>& groups() const { return m_groups; }
  [[nodiscard]] int group_of(VertexId v) const { return m_group_of[static_cast<std::size_t>(v)]; }

  /// The effort of all counts so far, see WordCounter.
  [[nodiscard]] std::int64_t spent() const { return m_counter.spent(); }

  [[nodiscard]] const Vertex& statement(const StatementClass& c) const {
    return (*m_graph)[c.first];
  }
  [[nodiscard]] const Vertex& tensor(const TensorGroup& t) const { return (*m_graph)[t.first]; }

  /// The product of the sizes of the axes of one entry.
  [[nodiscard]] Extent parts(const AxisCuts& cuts, std::size_t entry) const {
    Extent n = 1;
    for (std::size_t i = 0; i < cuts.size; ++i) {
      if (cuts.entry[i] == entry) n *= axis_size(cuts.axis[i]);
    }
    return n;
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

  [[nodiscard]] CutRegion stored_region(const AxisCuts& cuts) const {
    CutRegion region;
    region.idle = all_axes() & ~cuts.used();
    for (std::size_t i = 0; i < cuts.size; ++i) region.cut(cuts.entry[i], cuts.axis[i]);
    return region;
  }

  [[nodiscard]] CutRegion call_region(const AxisCuts& calls, std::span<const int> labels) const {
    CutRegion region;
    region.idle = all_axes() & ~calls.used();
    for (std::size_t i = 0; i < calls.size; ++i) {
      for (std::size_t k = 0; k < labels.size(); ++k) {
        if (labels[k] == calls.entry[i]) region.cut(k, calls.axis[i]);
      }
    }
    return region;
  }

  [[nodiscard]] Extent contributions_of(const StatementClass& c, const AxisCuts& calls) const {
    Extent n = 1;
    for (int l : statement(c).aggregated) n *= parts(calls, static_cast<std::size_t>(l));
    return n;
  }

  /// The words of one tensor of a group, per receiver, if it is stored so; the calls of the classes
  /// are given by calls(class). If all receive the same, only words[0] is written and true
  /// returned.
  template <class Calls>
  bool count(const TensorGroup& t, const AxisCuts& stored, const Calls& calls,
             std::vector<Extent>& words) {
    m_needs.clear();
    for (const TensorGroup::Reader& r : t.readers) {
      m_needs.push_back(call_region(calls(r.statement), r.labels));
    }
    const Vertex& v = tensor(t);
    if (t.producer < 0) {
      return m_counter.count(v.bound, stored_region(stored), m_needs, nullptr, 1, words);
    }
    const StatementClass& c = m_classes[static_cast<std::size_t>(t.producer)];
    const AxisCuts& own = calls(t.producer);
    const CutRegion produced = call_region(own, v.output);
    return m_counter.count(v.bound, stored_region(stored), m_needs, &produced,
                           contributions_of(c, own), words);
  }

  /// Whether a tensor may be stored so: no axis left out that a dimension could still take (of a
  /// result: none of its calls' axes); the parts that the user gives, if any.
  [[nodiscard]] bool allows(const TensorGroup& t, const AxisCuts& cuts,
                            std::uint32_t call_axes) const {
    const Vertex& v = tensor(t);
    std::array<Extent, max_rank> cut{};
    for (std::size_t k = 0; k < v.bound.size(); ++k) {
      cut[k] = parts(cuts, k);
      if (cut[k] > v.bound[k]) return false;
      if (t.given && cut[k] != t.parts[k]) return false;
    }
    if (t.given) return true;
    const std::uint32_t wanted = (t.producer < 0 ? all_axes() : call_axes) & ~cuts.used();
    for (std::size_t a = 0; a < axes(); ++a) {
      if ((wanted >> a & 1U) == 0) continue;
      for (std::size_t k = 0; k < v.bound.size(); ++k) {
        if (cut[k] * axis_size(a) <= v.bound[k]) return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::uint32_t all_axes() const {
    return (std::uint32_t{1} << mesh().axes.size()) - 1;
  }

  [[nodiscard]] Placement placement(const PlacedState& state) const {
    Placement result{mesh(), std::vector<AxisLists>(m_graph->vertices.size()),
                     std::vector<AxisLists>(m_graph->vertices.size())};
    for (std::size_t i = 0; i < m_graph->vertices.size(); ++i) {
      const Vertex& v = m_graph->vertices[i];
      if (!v.is_input()) {
        result.calls[i] =
            lists_of(state.calls[static_cast<std::size_t>(m_class_of[i])], v.labels.size());
      }
      result.stored[i] =
          lists_of(state.stored[static_cast<std::size_t>(m_group_of[i])], v.bound.size());
    }
    return result;
  }

  /// Counts a state's words anew.
  void recount(PlacedState& state) {
    state.words.resize(m_groups.size());
    state.sum.assign(receivers(), 0);
    state.score = {};
    for (std::size_t t = 0; t < m_groups.size(); ++t) {
      const auto calls = [&](int c) -> const AxisCuts& {
        return state.calls[static_cast<std::size_t>(c)];
      };
      if (count(m_groups[t], state.stored[t], calls, state.words[t])) {
        WordCounter::spread(state.words[t]);
      }
      const auto copies = static_cast<Extent>(m_groups[t].members.size());
      for (std::size_t w = 0; w < state.sum.size(); ++w) {
        state.sum[w] += copies * state.words[t][w];
      }
    }
    state.score = sum_of(state.sum);
  }

 private:
  void group_tensors(const PlaceOptions& layouts) {
    const std::size_t n = m_graph->vertices.size();
    std::vector<TensorGroup> single(n);
    for (std::size_t i = 0; i < n; ++i) {
      single[i].first = static_cast<VertexId>(i);
      single[i].producer = m_class_of[i];
      for (const Operand& o : m_graph->vertices[i].operands) {
        std::vector<TensorGroup::Reader>& readers =
            single[static_cast<std::size_t>(o.vertex)].readers;
        TensorGroup::Reader reader{m_class_of[i], o.labels};
        if (std::find(readers.begin(), readers.end(), reader) == readers.end()) {
          readers.push_back(std::move(reader));
        }
      }
    }
    for (const InputLayout& given : layouts.inputs) {
      single[static_cast<std::size_t>(given.input)].given = true;
      single[static_cast<std::size_t>(given.input)].parts = given.parts;
    }
    m_group_of.assign(n, -1);
    // Without repeated statements every tensor is its own group: two may be stored in two ways.
    const bool folded = std::any_of(m_classes.begin(), m_classes.end(),
                                    [](const auto& c) { return c.members.size() > 1; });
    std::vector<std::vector<int>> by_producer(m_classes.size() + 1);
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<int>& known = by_producer[static_cast<std::size_t>(single[i].producer + 1)];
      for (int g : known) {
        if (!folded) break;
        const TensorGroup& t = m_groups[static_cast<std::size_t>(g)];
        if (t.readers == single[i].readers && t.given == single[i].given &&
            t.parts == single[i].parts && tensor(t).bound == m_graph->vertices[i].bound) {
          m_group_of[i] = g;
          break;
        }
      }
      if (m_group_of[i] < 0) {
        m_group_of[i] = static_cast<int>(m_groups.size());
        known.push_back(m_group_of[i]);
        m_groups.push_back(std::move(single[i]));
      }
      m_groups[static_cast<std::size_t>(m_group_of[i])].members.push_back(static_cast<VertexId>(i));
    }
    for (std::size_t t = 0; t < m_groups.size(); ++t) {
      const auto touch = [&](int c) {
        std::vector<int>& tensors = m_classes[static_cast<std::size_t>(c)].tensors;
        if (tensors.empty() || tensors.back() != static_cast<int>(t)) {
          tensors.push_back(static_cast<int>(t));
        }
      };
      if (m_groups[t].producer >= 0) touch(m_groups[t].producer);
      std::vector<int> readers;
      for (const TensorGroup::Reader& r : m_groups[t].readers) {
        if (r.statement != m_groups[t].producer) readers.push_back(r.statement);
      }
      std::sort(readers.begin(), readers.end());
      readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
      for (int c : readers) touch(c);
    }
  }

  const EinGraph* m_graph;
  WordCounter m_counter;
  std::vector<StatementClass> m_classes;
  std::vector<TensorGroup> m_groups;
  std::vector<int> m_class_of;     ///< per vertex; -1 of inputs
  std::vector<int> m_group_of;     ///< per vertex
  std::vector<CutRegion> m_needs;  ///< kept to spare allocations
};

}  // namespace eindecomp::detail
