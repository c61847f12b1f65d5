// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The strategy `placed` on small programs: evaluates every placement that could be the best.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/placed/model.hpp"
#include "eindecomp/plan/placed/quick_words.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/plan/words.hpp"

namespace eindecomp::plan {

/// Branch and bound over the calls of every statement, then over the layouts of every tensor. A
/// branch ends where the tensors decided so far, each stored as suits it best, move no less than
/// the best placement known.
class PlacedExhaustive {
 public:
  /// \param known  a placement's words; only better ones are searched for
  PlacedExhaustive(PlacedModel& model, WordSum known) : m_model(model), m_best_score(known) {}

  /// Whether a better placement than the known one was found. Gives up, with the best so far, on
  /// programs of too many placements.
  bool run() {
    if (m_best_score.total == 0 || !prepare()) return false;
    Partial none{std::vector<Extent>(m_model.receivers(), 0), 0};
    branch(0, none);
    return m_found;
  }

  [[nodiscard]] const PlacedState& best() const { return m_best; }

 private:
  /// The layouts of a tensor under certain calls that are Pareto optimal: none costs every receiver
  /// as little as another.
  struct Layouts {
    struct Layout {
      AxisCuts cuts;
      std::vector<Extent> words;  ///< per receiver
      Extent total = 0;
    };
    std::vector<Layout> all;
    std::vector<Extent> min_words;  ///< per receiver
    Extent min_total = 0;
  };
  /// Words that are certain.
  struct Partial {
    std::vector<Extent> words;  ///< per receiver
    Extent total = 0;
  };

  bool prepare() {
    if (m_model.workers() < 2 || m_model.workers() > tuning::max_exhaustive_workers) return false;
    const std::size_t statements = m_model.classes().size();
    if (statements == 0 || statements > tuning::max_exhaustive_statements) return false;
    for (const StatementClass& c : m_model.classes()) {
      if (c.members.size() > 1) return false;
      std::vector<AxisCuts> all;
      if (!arrange({}, 0, c.limits, all)) return false;
      std::erase_if(all, [&](const AxisCuts& cuts) { return !m_model.allows(c, cuts); });
      // Where ranks host several workers, it matters which axes lie within a rank; where partial
      // results are reduced, along which they go first.
      if (m_cuts.empty() && !m_model.shared() && !reduces()) {
        std::erase_if(all, [&](const AxisCuts& a) { return !canonical(a); });
      }
      m_cuts.push_back(std::move(all));
    }
    for (const TensorGroup& t : m_model.groups()) {
      std::vector<AxisCuts> all;
      if (!arrange({}, 0, m_model.tensor(t).bound, all)) return false;
      // Which axes a result must use depends on its calls.
      const std::uint32_t axes = t.producer < 0 ? m_model.all_axes() : 0;
      std::erase_if(all, [&](const AxisCuts& cuts) { return !m_model.allows(t, cuts, axes); });
      m_stored.push_back(std::move(all));
    }
    // A tensor is decided with the last of its statements; inputs that nobody reads have none.
    m_decided.assign(statements, {});
    for (std::size_t t = 0; t < m_model.groups().size(); ++t) {
      const TensorGroup& group = m_model.groups()[t];
      int last = group.producer;
      for (const TensorGroup::Reader& r : group.readers) last = std::max(last, r.statement);
      if (last >= 0) m_decided[to_index(last)].push_back(t);
    }
    m_layouts.assign(m_model.groups().size(), {});
    m_now.assign(m_model.groups().size(), nullptr);
    m_calls.resize(statements);
    m_chosen.assign(statements, -1);
    return evaluate_classes();
  }

  /// For every class what the tensors that only it reads or produces move at least; its cuts with
  /// the least first. \returns false if that is too much work.
  bool evaluate_classes() {
    m_own.assign(m_cuts.size(), {});
    m_rest.assign(m_cuts.size() + 1, 0);
    for (std::size_t c = m_cuts.size(); c-- > 0;) {
      std::vector<std::pair<Extent, std::size_t>> order;
      for (std::size_t i = 0; i < m_cuts[c].size(); ++i) {
        if (m_steps > tuning::max_exhaustive_steps) return false;
        m_calls[c] = m_cuts[c][i];
        m_chosen[c] = static_cast<int>(i);
        Extent total = 0;
        for (std::size_t t : m_decided[c]) {
          if (!only(m_model.groups()[t], static_cast<int>(c))) continue;
          total = add_words(total, layouts_of(t).min_total);
        }
        order.emplace_back(total, i);
      }
      std::sort(order.begin(), order.end());
      const std::vector<AxisCuts> cuts = std::move(m_cuts[c]);
      m_cuts[c].clear();
      for (const auto& [total, i] : order) {
        m_own[c].push_back(total);
        m_cuts[c].push_back(cuts[i]);
      }
      for (std::size_t t : m_decided[c]) m_layouts[t].clear();  // they went by the old numbers
      m_rest[c] = add_words(m_rest[c + 1], order.front().first);
    }
    return true;
  }

  [[nodiscard]] static bool only(const TensorGroup& t, int c) {
    return (t.producer < 0 || t.producer == c) &&
           std::all_of(t.readers.begin(), t.readers.end(),
                       [c](const TensorGroup::Reader& r) { return r.statement == c; });
  }

  /// Whether the calls of any statement may compute parts of one result.
  [[nodiscard]] bool reduces() const {
    return std::ranges::any_of(m_model.classes(), [this](const StatementClass& c) {
      return !m_model.statement(c).aggregated.empty();
    });
  }

  /// All ways to put the axes from `a` on into the entries, or to leave them idle.
  bool arrange(const AxisCuts& cuts, std::size_t a, const std::vector<Extent>& limits,
               std::vector<AxisCuts>& all) const {
    if (a == m_model.axes()) {
      if (all.size() == tuning::max_exhaustive_cuts) return false;
      all.push_back(cuts.sorted());
      return true;
    }
    for (std::size_t e = 0; e < limits.size(); ++e) {
      if (m_model.parts(cuts, e) * m_model.axis_size(a) > limits[e]) continue;
      for (std::size_t i = 0; i <= cuts.size; ++i) {
        if (i < cuts.size && cuts.entry[i] != e) continue;
        AxisCuts longer = cuts;
        longer.insert(i, a, e);
        if (!arrange(longer, a + 1, limits, all)) return false;
      }
    }
    return arrange(cuts, a + 1, limits, all);
  }

  /// Of cuts that differ by an exchange of axes of one size, one: axes of one size in order.
  [[nodiscard]] bool canonical(const AxisCuts& cuts) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < cuts.size; ++i) order.push_back(cuts.axis[i]);
    for (std::size_t a = 0; a < m_model.axes(); ++a) {
      if ((cuts.used() >> a & 1U) == 0) order.push_back(a);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (order[j] > order[i] && m_model.axis_size(order[j]) == m_model.axis_size(order[i])) {
          return false;
        }
      }
    }
    return true;
  }

  /// Whether words that are certain, and so many more in all, rule out a better placement.
  [[nodiscard]] bool hopeless(const Partial& partial, Extent more) const {
    WordSum bound{0, add_words(partial.total, more)};
    for (Extent w : partial.words) bound.busiest = std::max(bound.busiest, w);
    return too_much(bound);
  }
  [[nodiscard]] bool too_much(WordSum bound) const {
    const auto p = static_cast<Extent>(m_model.receivers());
    bound.busiest = std::max(bound.busiest, ceil_div(bound.total, p));
    return bound >= m_best_score;
  }

  void branch(std::size_t c, const Partial& before) {
    if (c == m_cuts.size()) {
      finish(before);
      return;
    }
    for (std::size_t i = 0; i < m_cuts[c].size(); ++i) {
      if (m_steps > tuning::max_exhaustive_steps) return;
      if (too_much({0, add_words(before.total, add_words(m_own[c][i], m_rest[c + 1]))})) break;
      m_calls[c] = m_cuts[c][i];
      m_chosen[c] = static_cast<int>(i);
      Partial partial = before;
      bool pruned = false;
      for (std::size_t t : m_decided[c]) {
        m_now[t] = &layouts_of(t);
        for (std::size_t w = 0; w < partial.words.size(); ++w) {
          partial.words[w] += m_now[t]->min_words[w];
        }
        partial.total = add_words(partial.total, m_now[t]->min_total);
        m_steps += static_cast<std::int64_t>(partial.words.size());
        pruned = hopeless(partial, m_rest[c + 1]);
        if (pruned) break;
      }
      if (!pruned) branch(c + 1, partial);
    }
  }

  /// The layouts of a tensor under the calls chosen.
  const Layouts& layouts_of(std::size_t at) {
    const TensorGroup& t = m_model.groups()[at];
    std::vector<int> key;
    if (t.producer >= 0) key.push_back(m_chosen[to_index(t.producer)]);
    for (const TensorGroup::Reader& r : t.readers) {
      key.push_back(m_chosen[to_index(r.statement)]);
    }
    const auto [place, fresh] = m_layouts[at].try_emplace(std::move(key));
    Layouts& found = place->second;
    if (!fresh) return found;
    const std::uint32_t axes = m_model.store_axes(t, m_calls);
    std::vector<Extent> words;
    for (const AxisCuts& cuts : m_stored[at]) {
      if (!m_model.allows(t, cuts, axes)) continue;
      if (m_model.count(t, cuts, m_calls, words)) WordCounter::spread(words);
      m_steps += tuning::steps_per_count +
                 tuning::steps_per_receiver * static_cast<std::int64_t>(words.size());
      const auto beats = [](const std::vector<Extent>& a, const std::vector<Extent>& b) {
        return std::equal(a.begin(), a.end(), b.begin(), std::less_equal{});
      };
      if (std::any_of(found.all.begin(), found.all.end(),
                      [&](const auto& other) { return beats(other.words, words); })) {
        continue;
      }
      std::erase_if(found.all, [&](const auto& other) { return beats(words, other.words); });
      found.all.push_back({cuts, words, sum_of(words).total});
    }
    found.min_words = found.all.front().words;
    found.min_total = found.all.front().total;
    for (const auto& layout : found.all) {
      for (std::size_t w = 0; w < layout.words.size(); ++w) {
        found.min_words[w] = std::min(found.min_words[w], layout.words[w]);
      }
      found.min_total = std::min(found.min_total, layout.total);
    }
    return found;
  }

  /// All calls are chosen: the layouts. `bound` are the words if every tensor suited every
  /// receiver.
  void finish(const Partial& bound) {
    m_open.clear();
    for (std::size_t t = 0; t < m_now.size(); ++t) {
      if (m_now[t] != nullptr && m_now[t]->all.size() > 1) m_open.push_back(t);
    }
    m_picked.assign(m_now.size(), 0);
    pick(0, bound);
  }

  void pick(std::size_t n, const Partial& bound) {
    if (m_steps > tuning::max_exhaustive_steps) return;
    m_steps += static_cast<std::int64_t>(bound.words.size());
    if (hopeless(bound, 0)) return;
    if (n == m_open.size()) {
      take(bound);
      return;
    }
    const std::size_t t = m_open[n];
    const Layouts& layouts = *m_now[t];
    for (std::size_t i = 0; i < layouts.all.size(); ++i) {
      Partial closer = bound;
      for (std::size_t w = 0; w < closer.words.size(); ++w) {
        closer.words[w] += layouts.all[i].words[w] - layouts.min_words[w];
      }
      closer.total = add_words(closer.total, layouts.all[i].total - layouts.min_total);
      m_picked[t] = i;
      pick(n + 1, closer);
    }
    m_picked[t] = 0;
  }

  void take(const Partial& words) {
    m_found = true;
    m_best.calls = m_calls;
    m_best.stored.resize(m_now.size());
    for (std::size_t t = 0; t < m_now.size(); ++t) {
      m_best.stored[t] =
          m_now[t] != nullptr ? m_now[t]->all[m_picked[t]].cuts : m_stored[t].front();
    }
    m_model.recount(m_best);
    m_best_score = {*std::max_element(words.words.begin(), words.words.end()), words.total};
  }

  PlacedModel& m_model;
  WordSum m_best_score;
  PlacedState m_best;
  bool m_found = false;
  std::int64_t m_steps = 0;

  std::vector<std::vector<AxisCuts>> m_cuts;        ///< per class
  std::vector<std::vector<AxisCuts>> m_stored;      ///< per tensor, but for its calls' axes
  std::vector<std::vector<std::size_t>> m_decided;  ///< tensors per class, its last statement
  std::vector<std::vector<Extent>> m_own;           ///< per class, per cuts
  std::vector<Extent> m_rest;                       ///< of this class and later ones, at least
  std::vector<std::map<std::vector<int>, Layouts>> m_layouts;
  std::vector<const Layouts*> m_now;
  std::vector<int> m_chosen;
  std::vector<std::size_t> m_open;
  std::vector<std::size_t> m_picked;
  std::vector<AxisCuts> m_calls;  ///< per class
};

}  // namespace eindecomp::plan
