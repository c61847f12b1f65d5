// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The candidates of the strategy `placed`: layouts of a tensor that suit the statements around it,
/// and calls of a statement that suit the tensors around it.
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
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/partition.hpp"
#include "eindecomp/plan/placed/model.hpp"
#include "eindecomp/plan/tuning.hpp"

namespace eindecomp::plan {

/// Cuts without repeats, in the order in which they were added.
class CutList {
 public:
  void clear() { m_cuts.clear(); }
  void add(const AxisCuts& cuts) {
    const AxisCuts sorted = cuts.sorted();
    if (std::find(m_cuts.begin(), m_cuts.end(), sorted) == m_cuts.end()) m_cuts.push_back(sorted);
  }
  [[nodiscard]] auto begin() const { return m_cuts.begin(); }
  [[nodiscard]] auto end() const { return m_cuts.end(); }
  [[nodiscard]] bool empty() const { return m_cuts.empty(); }

 private:
  std::vector<AxisCuts> m_cuts;
};

/// Builds cuts axis by axis, each axis used once.
/// \tparam Fits  fits(entry, parts): whether an entry may have so many parts
template <class Fits>
class CutBuilder {
 public:
  /// \param entries  of the cuts: labels or dimensions
  CutBuilder(const PlacedModel& model, std::size_t entries, Fits fits)
      : m_model(model), m_fits(std::move(fits)) {
    std::fill_n(m_parts.begin(), entries, 1);
  }

  [[nodiscard]] bool is_used(std::size_t axis) const { return (m_used >> axis & 1U) != 0; }
  [[nodiscard]] Extent parts(std::size_t entry) const { return m_parts[entry]; }
  /// Cuts an entry by an axis, innermost, if the axis is free and the entry may be cut so.
  bool take(std::size_t axis, std::size_t entry) {
    if (is_used(axis)) return false;
    const Extent finer = m_parts[entry] * m_model.axis_size(axis);
    if (!m_fits(entry, finer)) return false;
    m_parts[entry] = finer;
    m_used |= std::uint32_t{1} << axis;
    m_cuts.push(axis, entry);
    return true;
  }
  /// Takes what it can of other cuts.
  void follow(const AxisCuts& other) {
    for (std::size_t i = 0; i < other.size; ++i) take(other.axis[i], other.entry[i]);
  }
  [[nodiscard]] const AxisCuts& cuts() const { return m_cuts; }

 private:
  /// A statement's labels are those of its operands and of its result.
  static constexpr std::size_t max_entries = (max_operands + 1) * max_rank;

  const PlacedModel& m_model;
  Fits m_fits;
  AxisCuts m_cuts;
  std::uint32_t m_used = 0;
  std::array<Extent, max_entries> m_parts;  ///< those of the entries are set
};

/// An estimate of what a worker receives for a statement by itself: operands spread over all
/// workers, each of them lying as well as it can, and the share of the results that others compute.
[[nodiscard]] inline double own_words(const EinGraph& graph, const Vertex& v,
                                      std::span<const Extent> d, double workers) {
  double words = 0;
  for (auto o = v.operands.begin(); o != v.operands.end(); ++o) {
    if (std::find(v.operands.begin(), o, *o) != o) continue;  // received once
    const Vertex& u = graph[o->vertex];
    const auto need = static_cast<double>(operand_words(v, *o, d));
    words += std::max(need - static_cast<double>(u.size()) / workers, 0.0);
  }
  double contributions = 1;
  for (int l : v.aggregated) contributions *= static_cast<double>(d[to_index(l)]);
  const auto result = static_cast<double>(operand_words(v, v.output, d));
  return words + result - result / contributions;
}

/// Lists of layouts and of calls, each valid until the same kind is asked for again.
class PlacedCandidates {
 public:
  explicit PlacedCandidates(const PlacedModel& model)
      : m_model(model), m_vectors(model.classes().size()) {}

  /// Layouts worth evaluating: a reader's or the producer's cuts outside, another's within, the
  /// axes left over innermost.
  CutList& layouts(const TensorGroup& t, PlacedModel::Calls calls, bool first_only = false) {
    m_layouts.clear();
    m_views.clear();
    const Vertex& v = m_model.tensor(t);
    const std::uint32_t axes = m_model.store_axes(t, calls);
    if (t.producer >= 0) {
      m_views.add(seen(calls[to_index(t.producer)], v.output));
    }
    for (const TensorGroup::Reader& r : t.readers) {
      m_views.add(seen(calls[to_index(r.statement)], r.labels));
    }
    if (m_views.empty()) m_views.add({});
    for (const AxisCuts& outer : m_views) {
      for (const AxisCuts& inner : m_views) {
        for (std::size_t preferred = 0; preferred <= v.bound.size(); ++preferred) {
          if (preferred == 1 && v.bound.size() == 1) break;
          const AxisCuts cuts = layout(t, outer, inner, preferred, axes);
          if (m_model.allows(t, cuts, axes)) m_layouts.add(cuts);
          if (first_only && !m_layouts.empty()) return m_layouts;
          if (axes != m_model.all_axes()) {
            m_layouts.add(layout(t, outer, inner, preferred, m_model.all_axes()));
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
    const auto consider = [&](const AxisCuts& cuts) {
      if (m_model.allows(statement, cuts)) m_calls.add(cuts);
    };
    list_views(state, static_cast<int>(c));
    // As its neighbours have it.
    for (const AxisCuts& first : m_views) {
      for (const AxisCuts& second : m_views) {
        for (std::size_t preferred = 0; preferred < labels; ++preferred) {
          consider(calls_like(statement, first, second, preferred));
        }
      }
    }
    // By vectors that cost little by themselves.
    const VectorList& vectors = vectors_of(c);
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      for (const AxisCuts& view : m_views) consider(calls_of(vectors[i], view, now));
      if (m_views.empty()) consider(calls_of(vectors[i], now, now));
    }
    // One axis to another place, or two exchanged.
    for (std::size_t i = 0; i < now.size; ++i) {
      AxisCuts without = now;
      without.erase(i);
      for (std::size_t l = 0; l < labels; ++l) {
        for (std::size_t j = 0; j <= without.size; ++j) {
          if (j < without.size && without.entry[j] != l) continue;
          AxisCuts moved = without;
          moved.insert(j, now.axis[i], l);
          consider(moved);
        }
      }
      for (std::size_t j = i + 1; j < now.size; ++j) {
        AxisCuts exchanged = now;
        std::swap(exchanged.axis[i], exchanged.axis[j]);
        consider(exchanged);
      }
      for (std::size_t a = 0; a < m_model.axes(); ++a) {
        if ((now.used() >> a & 1U) != 0) continue;
        AxisCuts other = now;
        other.axis[i] = static_cast<std::uint8_t>(a);
        consider(other);
      }
    }
    return m_calls;
  }

  /// Calls cut as the first view, then the second, then along one label, then any.
  [[nodiscard]] AxisCuts calls_like(const StatementClass& c, const AxisCuts& first,
                                    const AxisCuts& second, std::size_t preferred) const {
    Extent calls = 1;
    CutBuilder builder(m_model, c.limits.size(),
                       [&](std::size_t l, Extent parts) { return parts <= c.limits[l]; });
    const auto take = [&](std::size_t a, std::size_t l) {
      const Extent finer = calls * m_model.axis_size(a);
      if (c.calls % finer == 0 && builder.take(a, l)) calls = finer;
    };
    for (const AxisCuts* from : {&first, &second}) {
      for (std::size_t i = 0; i < from->size; ++i) take(from->axis[i], from->entry[i]);
    }
    for (std::size_t a = 0; a < m_model.axes() && preferred < c.limits.size(); ++a) {
      take(a, preferred);
    }
    for (std::size_t a = 0; a < m_model.axes(); ++a) {
      for (std::size_t l = 0; l < c.limits.size(); ++l) take(a, l);
    }
    return builder.cuts();
  }

  /// Calls with these parts: axes as in the first view where it agrees, then as in the second, then
  /// any.
  [[nodiscard]] AxisCuts calls_of(std::span<const Extent> d, const AxisCuts& first,
                                  const AxisCuts& second) const {
    CutBuilder builder(m_model, d.size(),
                       [&](std::size_t l, Extent parts) { return d[l] % parts == 0; });
    builder.follow(first);
    builder.follow(second);
    for (std::size_t l = 0; l < d.size(); ++l) {
      for (std::size_t a = 0; a < m_model.axes(); ++a) builder.take(a, l);
    }
    return builder.cuts();
  }

 private:
  /// The cuts of a statement's calls as a tensor with these labels sees them.
  [[nodiscard]] static AxisCuts seen(const AxisCuts& calls, std::span<const int> labels) {
    AxisCuts cuts;
    for (std::size_t i = 0; i < calls.size; ++i) {
      const auto label = std::find(labels.begin(), labels.end(), calls.entry[i]);
      if (label == labels.end()) continue;
      cuts.push(calls.axis[i], to_index(label - labels.begin()));
    }
    return cuts;
  }

  /// The axes of `outer`, then those of `inner`, then the other axes offered where the blocks are
  /// longest, or along dimension preferred - 1 as far as it takes them.
  [[nodiscard]] AxisCuts layout(const TensorGroup& t, const AxisCuts& outer, const AxisCuts& inner,
                                std::size_t preferred, std::uint32_t axes) const {
    const std::vector<Extent>& bound = m_model.tensor(t).bound;
    const auto fits = [&](std::size_t k, Extent parts) {
      return t.given ? t.parts[k] % parts == 0 : parts <= bound[k];
    };
    CutBuilder builder(m_model, bound.size(), fits);
    builder.follow(outer);
    builder.follow(inner);
    for (std::size_t a = 0; a < m_model.axes(); ++a) {
      if (builder.is_used(a) || (!t.given && (axes >> a & 1U) == 0)) continue;
      if (preferred > 0 && builder.take(a, preferred - 1)) continue;
      std::size_t best = bound.size();
      Extent best_length = 0;
      bool best_is_even = false;
      for (std::size_t k = 0; k < bound.size(); ++k) {
        const Extent parts = builder.parts(k);
        const Extent finer = parts * m_model.axis_size(a);
        if (!fits(k, finer)) continue;
        // The longest blocks; of equal ones those that are cut evenly.
        const Extent length = bound[k] / parts;
        const bool even = bound[k] % finer == 0;
        if (best < bound.size() &&
            (length < best_length || (length == best_length && (best_is_even || !even)))) {
          continue;
        }
        best = k;
        best_length = length;
        best_is_even = even;
      }
      if (best < bound.size()) builder.take(a, best);
    }
    return builder.cuts();
  }

  /// The cuts around a class, in terms of its labels.
  void list_views(const PlacedState& state, int c) {
    m_views.clear();
    const auto add = [&](const AxisCuts& cuts, std::span<const int> labels) {
      AxisCuts view;
      for (std::size_t i = 0; i < cuts.size; ++i) {
        view.push(cuts.axis[i], to_index(labels[cuts.entry[i]]));
      }
      m_views.add(view);
    };
    const auto calls = [&](int other) -> const AxisCuts& { return state.calls[to_index(other)]; };
    const StatementClass& statement = m_model.class_at(c);
    for (int at : statement.tensors) {
      const TensorGroup& t = m_model.groups()[to_index(at)];
      const auto look = [&](std::span<const int> labels) {
        add(state.stored[to_index(at)], labels);
        if (t.producer >= 0 && t.producer != c) {
          add(seen(calls(t.producer), m_model.tensor(t).output), labels);
        }
        for (const TensorGroup::Reader& other : t.readers) {
          if (other.statement != c) add(seen(calls(other.statement), other.labels), labels);
        }
      };
      for (const TensorGroup::Reader& r : t.readers) {
        if (r.statement == c) look(r.labels);
      }
      if (t.producer == c) look(m_model.statement(statement).output);
    }
  }

  /// The vectors of a class that cost least by themselves.
  const VectorList& vectors_of(std::size_t at) {
    std::optional<VectorList>& found = m_vectors[at];
    if (found) return *found;
    const StatementClass& c = m_model.classes()[at];
    const VectorList all = m_model.partition_vectors_of(c);
    if (all.size() <= tuning::max_vectors) return found.emplace(all);
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < all.size(); ++i) {
      order.emplace_back(own_words(m_model.graph(), m_model.statement(c), all[i],
                                   static_cast<double>(m_model.workers())),
                         i);
    }
    std::partial_sort(order.begin(), order.begin() + tuning::max_vectors, order.end());
    found.emplace(all.width());
    for (std::size_t i = 0; i < tuning::max_vectors; ++i) found->push_back(all[order[i].second]);
    return *found;
  }

  const PlacedModel& m_model;
  std::vector<std::optional<VectorList>> m_vectors;  ///< per class

  // Kept between uses to spare allocations.
  CutList m_layouts, m_views, m_calls;
};

}  // namespace eindecomp::plan
