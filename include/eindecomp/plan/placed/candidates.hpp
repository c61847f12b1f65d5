// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the search of the strategy `placed` tries: layouts of a tensor that suit the statements
/// around it, and calls of a statement that suit the tensors around it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/placed/model.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp::detail {

/// Cuts without repeats, in the order in which they were offered.
class CutList {
 public:
  void clear() { m_cuts.clear(); }
  void offer(const AxisCuts& cuts) {
    const AxisCuts sorted = cuts.sorted();
    if (std::find(m_cuts.begin(), m_cuts.end(), sorted) == m_cuts.end()) m_cuts.push_back(sorted);
  }
  [[nodiscard]] auto begin() const { return m_cuts.begin(); }
  [[nodiscard]] auto end() const { return m_cuts.end(); }
  [[nodiscard]] bool empty() const { return m_cuts.empty(); }
  [[nodiscard]] std::size_t size() const { return m_cuts.size(); }

 private:
  std::vector<AxisCuts> m_cuts;
};

/// Lists of layouts and of calls, each valid until the same kind is asked for again.
class PlacedCandidates {
 public:
  explicit PlacedCandidates(const PlacedModel& model)
      : m_model(model), m_vectors(model.classes().size()) {}

  /// Layouts worth weighing: a reader's or the producer's cuts outside, another's within, the axes
  /// left over innermost.
  template <class Calls>
  CutList& layouts(const TensorGroup& t, const Calls& calls, bool first_only = false) {
    m_layouts.clear();
    m_views.clear();
    const Vertex& v = m_model.tensor(t);
    std::uint32_t wanted = m_model.all_axes();
    if (t.producer >= 0) {
      m_views.offer(seen(calls(t.producer), v.output));
      wanted = calls(t.producer).used();
    }
    for (const TensorGroup::Reader& r : t.readers)
      m_views.offer(seen(calls(r.statement), r.labels));
    if (m_views.empty()) m_views.offer({});
    for (const AxisCuts& outer : m_views) {
      for (const AxisCuts& inner : m_views) {
        for (std::size_t favourite = 0; favourite <= v.bound.size(); ++favourite) {
          if (favourite == 1 && v.bound.size() == 1) break;
          const AxisCuts cuts = layout(t, outer, inner, favourite, wanted);
          if (m_model.allows(t, cuts, wanted)) m_layouts.offer(cuts);
          if (first_only && !m_layouts.empty()) return m_layouts;
          if (t.producer >= 0 && wanted != m_model.all_axes()) {
            m_layouts.offer(layout(t, outer, inner, favourite, m_model.all_axes()));
          }
          if (cuts.size == outer.size) break;
        }
      }
    }
    return m_layouts;
  }

  /// Calls worth trying for a class.
  const CutList& calls(const PlacedState& state, std::size_t c) {
    const StatementClass& statement = m_model.classes()[c];
    const AxisCuts now = state.calls[c];
    const std::size_t labels = statement.limits.size();
    m_calls.clear();
    const auto offer = [&](const AxisCuts& cuts) {
      if (m_model.allows(statement, cuts)) m_calls.offer(cuts);
    };
    list_views(state, c);
    // As its neighbours have it.
    for (const AxisCuts& first : m_views) {
      for (const AxisCuts& second : m_views) {
        for (std::size_t favourite = 0; favourite < labels; ++favourite) {
          offer(calls_like(statement, first, second, favourite));
        }
      }
    }
    // By vectors that cost little by themselves.
    const VectorList& vectors = vectors_of(c);
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      for (const AxisCuts& view : m_views) offer(calls_of(vectors[i], view, now));
      if (m_views.empty()) offer(calls_of(vectors[i], now, now));
    }
    // One axis to another place, or two exchanged.
    for (std::size_t i = 0; i < now.size; ++i) {
      AxisCuts without = now;
      without.erase(i);
      for (std::size_t l = 0; l < labels; ++l) {
        for (std::size_t j = 0; j <= without.size; ++j) {
          if (j < without.size && without.entry[j] != l) continue;
          AxisCuts moved = without;
          moved.insert(j, now.axis[i], static_cast<std::uint8_t>(l));
          offer(moved);
        }
      }
      for (std::size_t j = i + 1; j < now.size; ++j) {
        AxisCuts exchanged = now;
        std::swap(exchanged.axis[i], exchanged.axis[j]);
        offer(exchanged);
      }
      for (std::size_t a = 0; a < m_model.axes(); ++a) {
        if ((now.used() >> a & 1U) != 0) continue;
        AxisCuts other = now;
        other.axis[i] = static_cast<std::uint8_t>(a);
        offer(other);
      }
    }
    return m_calls;
  }

  /// Calls cut as the first view, then the second, then along one label, then any.
  [[nodiscard]] AxisCuts calls_like(const StatementClass& c, const AxisCuts& first,
                                    const AxisCuts& second, std::size_t favourite) const {
    AxisCuts cuts;
    std::uint32_t used = 0;
    Extent calls = 1;
    const auto take = [&](std::size_t a, std::size_t l) {
      if ((used >> a & 1U) != 0) return;
      if (m_model.parts(cuts, l) * m_model.axis_size(a) > c.limits[l]) return;
      if (c.calls % (calls * m_model.axis_size(a)) != 0) return;
      calls *= m_model.axis_size(a);
      used |= std::uint32_t{1} << a;
      cuts.push(a, l);
    };
    for (const AxisCuts* from : {&first, &second}) {
      for (std::size_t i = 0; i < from->size; ++i) take(from->axis[i], from->entry[i]);
    }
    for (std::size_t a = 0; a < m_model.axes() && favourite < c.limits.size(); ++a) {
      take(a, favourite);
    }
    for (std::size_t a = 0; a < m_model.axes(); ++a) {
      for (std::size_t l = 0; l < c.limits.size(); ++l) take(a, l);
    }
    return cuts;
  }

  /// Calls with these parts: axes as in the first view where it agrees, then as in the second, then
  /// any.
  [[nodiscard]] AxisCuts calls_of(std::span<const Extent> d, const AxisCuts& first,
                                  const AxisCuts& second) const {
    AxisCuts cuts;
    std::uint32_t used = 0;
    const auto take = [&](std::size_t a, std::size_t l) {
      if ((used >> a & 1U) != 0) return;
      if (d[l] % (m_model.parts(cuts, l) * m_model.axis_size(a)) != 0) return;
      used |= std::uint32_t{1} << a;
      cuts.push(a, l);
    };
    for (const AxisCuts* from : {&first, &second}) {
      for (std::size_t i = 0; i < from->size; ++i) take(from->axis[i], from->entry[i]);
    }
    for (std::size_t l = 0; l < d.size(); ++l) {
      for (std::size_t a = 0; a < m_model.axes(); ++a) take(a, l);
    }
    return cuts;
  }

  /// Some vector of as many calls as can be.
  [[nodiscard]] PartitionVector a_vector(const StatementClass& c) const {
    const VectorList all = partition_vectors(c.limits, static_cast<int>(m_model.workers()));
    return {all[0].begin(), all[0].end()};
  }

 private:
  static constexpr std::size_t most_vectors = 48;

  /// The cuts of a statement's calls as a tensor with these labels sees them.
  [[nodiscard]] static AxisCuts seen(const AxisCuts& calls, std::span<const int> labels) {
    AxisCuts cuts;
    for (std::size_t i = 0; i < calls.size; ++i) {
      for (std::size_t k = 0; k < labels.size(); ++k) {
        if (labels[k] != calls.entry[i]) continue;
        cuts.push(calls.axis[i], k);
        break;
      }
    }
    return cuts;
  }

  /// The axes of `outer`, then those of `inner`, then the others of `wanted` where the blocks are
  /// longest, or along dimension favourite - 1 as far as it takes them.
  [[nodiscard]] AxisCuts layout(const TensorGroup& t, const AxisCuts& outer, const AxisCuts& inner,
                                std::size_t favourite, std::uint32_t wanted) const {
    const std::vector<Extent>& bound = m_model.tensor(t).bound;
    AxisCuts cuts;
    std::uint32_t used = 0;
    std::array<Extent, max_rank> parts{};
    parts.fill(1);
    const auto take = [&](std::size_t a, std::size_t k) {
      if ((used >> a & 1U) != 0) return false;
      const Extent finer = parts[k] * m_model.axis_size(a);
      if (t.given ? t.parts[k] % finer != 0 : finer > bound[k]) return false;
      parts[k] = finer;
      used |= std::uint32_t{1} << a;
      cuts.push(a, k);
      return true;
    };
    for (const AxisCuts* from : {&outer, &inner}) {
      for (std::size_t i = 0; i < from->size; ++i) take(from->axis[i], from->entry[i]);
    }
    const std::uint32_t rest = (t.given ? m_model.all_axes() : wanted) & ~used;
    for (std::size_t a = 0; a < m_model.axes(); ++a) {
      if ((rest >> a & 1U) == 0) continue;
      if (favourite > 0 && take(a, favourite - 1)) continue;
      std::size_t best = bound.size();
      for (std::size_t k = 0; k < bound.size(); ++k) {
        const Extent finer = parts[k] * m_model.axis_size(a);
        if (t.given ? t.parts[k] % finer != 0 : finer > bound[k]) continue;
        // The longest blocks; of equal ones those that are cut evenly.
        if (best == bound.size() || bound[k] / parts[k] > bound[best] / parts[best] ||
            (bound[k] / parts[k] == bound[best] / parts[best] && bound[k] % finer == 0 &&
             bound[best] % (parts[best] * m_model.axis_size(a)) != 0)) {
          best = k;
        }
      }
      if (best < bound.size()) take(a, best);
    }
    return cuts;
  }

  /// The cuts around a class, in terms of its labels.
  void list_views(const PlacedState& state, std::size_t c) {
    m_views.clear();
    const auto offer = [&](const AxisCuts& cuts, std::span<const int> labels) {
      AxisCuts view;
      for (std::size_t i = 0; i < cuts.size; ++i) {
        view.push(cuts.axis[i], static_cast<std::size_t>(labels[cuts.entry[i]]));
      }
      m_views.offer(view);
    };
    const StatementClass& statement = m_model.classes()[c];
    for (int at : statement.tensors) {
      const TensorGroup& t = m_model.groups()[static_cast<std::size_t>(at)];
      const auto see = [&](std::span<const int> labels) {
        offer(state.stored[static_cast<std::size_t>(at)], labels);
        if (t.producer >= 0 && static_cast<std::size_t>(t.producer) != c) {
          offer(seen(state.calls[static_cast<std::size_t>(t.producer)], m_model.tensor(t).output),
                labels);
        }
        for (const TensorGroup::Reader& other : t.readers) {
          if (static_cast<std::size_t>(other.statement) == c) continue;
          offer(seen(state.calls[static_cast<std::size_t>(other.statement)], other.labels), labels);
        }
      };
      for (const TensorGroup::Reader& r : t.readers) {
        if (static_cast<std::size_t>(r.statement) == c) see(r.labels);
      }
      if (static_cast<std::size_t>(t.producer) == c && t.producer >= 0) {
        see(m_model.statement(statement).output);
      }
    }
  }

  /// The vectors of a class that cost least by themselves.
  const VectorList& vectors_of(std::size_t at) {
    std::optional<VectorList>& found = m_vectors[at];
    if (found) return *found;
    const StatementClass& c = m_model.classes()[at];
    const VectorList all = partition_vectors(c.limits, static_cast<int>(m_model.workers()));
    if (all.size() <= most_vectors) {
      found = all;
      return *found;
    }
    std::vector<std::pair<Extent, std::size_t>> order;
    for (std::size_t i = 0; i < all.size(); ++i) order.emplace_back(own_words(c, all[i]), i);
    std::partial_sort(order.begin(), order.begin() + most_vectors, order.end());
    found = VectorList(all.width());
    for (std::size_t i = 0; i < most_vectors; ++i) found->push_back(all[order[i].second]);
    return *found;
  }

  /// About what a worker receives if the operands are spread and lie as well as can be.
  [[nodiscard]] Extent own_words(const StatementClass& c, std::span<const Extent> d) const {
    const Vertex& v = m_model.statement(c);
    const auto block = [&](const std::vector<Extent>& bound, const std::vector<int>& labels) {
      Extent n = 1;
      for (std::size_t k = 0; k < bound.size(); ++k) {
        const Extent parts = d[static_cast<std::size_t>(labels[k])];
        n *= (bound[k] + parts - 1) / parts;
      }
      return n;
    };
    Extent words = 0;
    for (const Operand& o : v.operands) {
      const Vertex& u = m_model.graph()[o.vertex];
      words += std::max<Extent>(block(u.bound, o.labels) - u.size() / m_model.workers(), 0);
    }
    Extent combined = 1;
    for (int l : v.aggregated) combined *= d[static_cast<std::size_t>(l)];
    const Extent result = block(v.bound, v.output);
    return words + result - result / combined;
  }

  const PlacedModel& m_model;
  std::vector<std::optional<VectorList>> m_vectors;  ///< per class

  // Kept between uses to spare allocations.
  CutList m_layouts, m_views, m_calls;
};

}  // namespace eindecomp::detail
