// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What moves outside a plan's statements: inputs from the distributions they lie in, results to
/// those they are wanted in, results that become inputs of the next run. Stores these tensors so
/// that it is little.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/carried_result.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/placed/quick_words.hpp"
#include "eindecomp/plan/placed/words_by_layout.hpp"
#include "eindecomp/plan/placement/given_layouts.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/redistribution.hpp"
#include "eindecomp/relation/stored_distribution.hpp"

namespace eindecomp::plan {

/// Of a program and what its user says of the tensors that come and go.
class OutsideWords {
 public:
  /// `graph` and the distributions of `options` must outlive it. \throws Error as place_options()
  /// and carried_results().
  OutsideWords(const EinGraph& graph, const DecomposeOptions& options,
               const std::source_location& where)
      : m_graph(graph),
        m_carried(carried_results(graph, options, where)),
        m_ranks(ranks_of(options)) {
    for (const TensorLayout& given : options.layouts) {
      const VertexId v = graph.find(given.tensor);
      if (given.distribution.ranks() > 0) m_given.push_back({v, &given.distribution});
      if (given.distribution.ranks() == 0) m_fixed.push_back(v);
    }
  }

  /// Whether there is anything to count.
  [[nodiscard]] bool any() const { return !m_given.empty() || !m_carried.empty(); }

  /// The words that each rank receives outside the plan's statements, of one run and the passage to
  /// the next.
  [[nodiscard]] std::vector<Extent> count(const Placement& placement) const {
    std::vector<Extent> words(to_index(m_ranks), 0);
    for (const Given& given : m_given) add(words, words_of(placement, given));
    for (const CarriedResult& pair : m_carried) add(words, words_of(placement, pair));
    return words;
  }

  /// A placement, and the words that each rank then receives in all.
  struct Settled {
    Placement placement;
    std::vector<Extent> words;
  };

  /// The placement with these tensors stored as suits all words together best: of the layouts that
  /// spread a tensor over the axes that its calls, or of an input the whole mesh, may use, and of
  /// those of the tensor that it passes to or comes from.
  [[nodiscard]] Settled settle(Placement placement) const {
    ProgramWords words(m_graph, m_ranks);
    WordsByLayout layouts(m_graph, words, m_ranks);
    return *settle_below(std::move(placement), words, layouts, nullptr);
  }

  /// The same; nothing where the words of the other tensors, which this does not change, are no
  /// fewer than `limit`.
  /// \param program  counts the words of this graph's placements
  /// \param layouts  of that program
  [[nodiscard]] std::optional<Settled> settle_below(Placement placement, ProgramWords& program,
                                                    WordsByLayout& layouts,
                                                    const WordSum* limit) const {
    // Words are a sum over tensors: a layout changes those of its own tensor, and of what it passes
    // to or comes from.
    std::vector<Extent> words = program.count(placement);
    const std::vector<VertexId> movable = movable_tensors();
    if (limit != nullptr) {
      std::vector<Extent> others = words;
      for (const VertexId v : movable) add(others, program.of(v), -1);
      if (!(sum_of(others) < *limit)) return std::nullopt;
    }
    for (const VertexId v : movable) layouts.set_calls(placement, v);
    add(words, count(placement));
    for (int round = 0; round < tuning::outside_rounds; ++round) {
      bool changed = false;
      for (const VertexId v : movable) {
        AxisLists kept = placement.stored[to_index(v)];
        std::vector<Extent> others = words;
        add(others, layouts.of(v, kept), -1);
        add(others, count(placement, v), -1);
        for (AxisLists& lists : candidates(placement, v)) {
          if (lists == kept) continue;
          placement.stored[to_index(v)] = std::move(lists);
          std::vector<Extent> sum = others;
          add(sum, layouts.of(v, placement.stored[to_index(v)]));
          if (!(sum_of(sum) < sum_of(words))) continue;
          add(sum, count(placement, v));
          if (!(sum_of(sum) < sum_of(words))) continue;
          words = std::move(sum);
          kept = placement.stored[to_index(v)];
          changed = true;
        }
        placement.stored[to_index(v)] = std::move(kept);
      }
      if (!changed) break;
    }
    return Settled{std::move(placement), std::move(words)};
  }

 private:
  struct Given {
    VertexId tensor = -1;
    const Distribution* distribution = nullptr;
  };

  static void add(std::vector<Extent>& sum, const std::vector<Extent>& words, Extent factor = 1) {
    for (std::size_t r = 0; r < words.size(); ++r) sum[r] += factor * words[r];
  }

  /// Those of the tensors that come and go for which the user gives no parts.
  [[nodiscard]] std::vector<VertexId> movable_tensors() const {
    std::vector<VertexId> tensors;
    for (const Given& given : m_given) tensors.push_back(given.tensor);
    for (const CarriedResult& pair : m_carried) {
      tensors.push_back(pair.input);
      tensors.push_back(pair.next);
    }
    std::sort(tensors.begin(), tensors.end());
    tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
    std::erase_if(tensors, [this](VertexId v) {
      return std::find(m_fixed.begin(), m_fixed.end(), v) != m_fixed.end();
    });
    return tensors;
  }

  /// What count() has on account of one tensor.
  [[nodiscard]] std::vector<Extent> count(const Placement& placement, VertexId v) const {
    std::vector<Extent> words(to_index(m_ranks), 0);
    for (const Given& given : m_given) {
      if (given.tensor == v) add(words, words_of(placement, given));
    }
    for (const CarriedResult& pair : m_carried) {
      if (pair.input == v || pair.next == v) add(words, words_of(placement, pair));
    }
    return words;
  }

  [[nodiscard]] Distribution stored(const Placement& placement, VertexId v) const {
    return relation::stored_distribution(placement.mesh, m_graph[v].bound,
                                         placement.stored[to_index(v)], m_ranks);
  }
  [[nodiscard]] std::vector<Extent> words_of(const Placement& placement, const Given& given) const {
    const Distribution own = stored(placement, given.tensor);
    return m_graph[given.tensor].is_input() ? redistributed_words(*given.distribution, own)
                                            : redistributed_words(own, *given.distribution);
  }
  [[nodiscard]] std::vector<Extent> words_of(const Placement& placement,
                                             const CarriedResult& pair) const {
    if (placement.stored[to_index(pair.next)] == placement.stored[to_index(pair.input)]) {
      return std::vector<Extent>(to_index(m_ranks), 0);
    }
    return redistributed_words(stored(placement, pair.next), stored(placement, pair.input));
  }

  /// The layouts that a tensor may have.
  [[nodiscard]] std::vector<AxisLists> candidates(const Placement& placement, VertexId v) const {
    const std::vector<Extent>& bound = m_graph[v].bound;
    const Mesh& mesh = placement.mesh;
    std::vector<int> axes;
    if (m_graph[v].is_input()) {
      for (std::size_t a = 0; a < mesh.axes.size(); ++a) axes.push_back(static_cast<int>(a));
    } else {
      for (const std::vector<int>& list : placement.calls[to_index(v)]) {
        axes.insert(axes.end(), list.begin(), list.end());
      }
      std::sort(axes.begin(), axes.end());
    }
    std::vector<AxisLists> found;
    for (const CarriedResult& pair : m_carried) {
      const VertexId other = pair.input == v ? pair.next : pair.next == v ? pair.input : -1;
      if (other < 0) continue;
      const AxisLists& lists = placement.stored[to_index(other)];
      if (lists.size() == bound.size() && uses_only(lists, axes)) found.push_back(lists);
    }
    double many = 1;
    for (std::size_t a = 0; a < axes.size(); ++a) many *= static_cast<double>(bound.size());
    if (bound.empty() || many > tuning::max_outside_layouts) return found;
    AxisLists lists(bound.size());
    std::vector<Extent> parts(bound.size(), 1);
    spread(mesh, bound, axes, 0, parts, lists, found);
    return found;
  }

  [[nodiscard]] static bool uses_only(const AxisLists& lists, const std::vector<int>& axes) {
    return std::all_of(lists.begin(), lists.end(), [&](const std::vector<int>& list) {
      return std::all_of(list.begin(), list.end(), [&](int axis) {
        return std::binary_search(axes.begin(), axes.end(), axis);
      });
    });
  }

  /// All ways to cut dimensions by the axes from the n-th on; an axis for which every dimension is
  /// too short stays idle.
  static void spread(const Mesh& mesh, const std::vector<Extent>& bound,
                     const std::vector<int>& axes, std::size_t n, std::vector<Extent>& parts,
                     AxisLists& lists, std::vector<AxisLists>& found) {
    if (n == axes.size()) {
      found.push_back(lists);
      return;
    }
    const Extent size = mesh.axes[to_index(axes[n])];
    bool idle = true;
    for (std::size_t k = 0; k < bound.size(); ++k) {
      if (parts[k] * size > bound[k]) continue;
      idle = false;
      parts[k] *= size;
      lists[k].push_back(axes[n]);
      spread(mesh, bound, axes, n + 1, parts, lists, found);
      lists[k].pop_back();
      parts[k] /= size;
    }
    if (idle) spread(mesh, bound, axes, n + 1, parts, lists, found);
  }

  const EinGraph& m_graph;
  std::vector<CarriedResult> m_carried;
  int m_ranks;
  std::vector<Given> m_given;
  std::vector<VertexId> m_fixed;  ///< stored in the parts that the user gives
};

}  // namespace eindecomp::plan
