// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Local search for the strategy `placed`: gives one class of statements after another the calls
/// under which the program's busiest receiver gets least, and stores the tensors around it to suit.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/placed/candidates.hpp"
#include "eindecomp/plan/placed/model.hpp"
#include "eindecomp/plan/placed/quick_words.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp::plan {

class PlacedSearch {
 public:
  explicit PlacedSearch(PlacedModel& model) : m_model(model), m_candidates(model) {}

  /// A state with these calls and stored tensors; none if a statement has fewer calls than can be.
  [[nodiscard]] std::optional<PlacedState> state_of(const Placement& placement) {
    PlacedState state;
    for (const StatementClass& c : m_model.classes()) {
      const auto first = to_index(c.members.front());
      state.calls.push_back(cuts_of(placement.calls[first]));
      if (!m_model.allows(c, state.calls.back())) return std::nullopt;
    }
    for (const TensorGroup& t : m_model.groups()) {
      const auto first = to_index(t.members.front());
      state.stored.push_back(cuts_of(placement.stored[first]));
    }
    m_model.recount(state);
    return state;
  }

  /// States in which every statement gives an axis of the mesh to the first label that it has of a
  /// list, the same list throughout the program or one for the outer axes and one for the inner:
  /// data, sequence, head or hidden parallelism and their like, and mixtures of two. The best
  /// `max_states` of those that so much effort can evaluate.
  [[nodiscard]] std::vector<PlacedState> by_priority(std::size_t max_states, std::int64_t budget) {
    m_limit = m_model.spent() + budget;
    const std::vector<Priority> lists = label_lists();
    std::vector<PlacedState> best;
    const auto evaluate = [&](const Priority& outer, const Priority& inner, std::size_t axes) {
      PlacedState state = guess(outer, inner, axes);
      const WordSum score = state.score;
      const auto at = std::lower_bound(
          best.begin(), best.end(), score,
          [](const PlacedState& known, const WordSum& other) { return known.score < other; });
      if (at != best.end() && at->score == score) return score;
      best.insert(at, std::move(state));
      if (best.size() > max_states) best.pop_back();
      return score;
    };
    std::vector<std::pair<WordSum, std::size_t>> order;
    for (std::size_t i = 0; i < lists.size() && !spent(); ++i) {
      order.emplace_back(evaluate(lists[i], lists[i], m_model.axes()), i);
    }
    std::sort(order.begin(), order.end());
    const auto last = std::unique(order.begin(), order.end(),
                                  [](const auto& x, const auto& y) { return x.first == y.first; });
    order.erase(last, order.end());
    if (order.size() > tuning::max_mixed_lists) order.resize(tuning::max_mixed_lists);
    for (std::size_t axes = 1; axes < m_model.axes(); ++axes) {
      for (const auto& outer : order) {
        for (const auto& inner : order) {
          if (outer.second != inner.second && !spent()) {
            evaluate(lists[outer.second], lists[inner.second], axes);
          }
        }
      }
    }
    return best;
  }

  /// Improves a state until no single change does, or so much effort (WordCounter::spent) is made.
  void improve(PlacedState& state, std::int64_t budget) {
    m_limit = m_model.spent() + budget;
    for (std::size_t t = 0; t < m_model.groups().size(); ++t) store_better(state, t);
    Flags due(m_model.classes().size(), true);
    bool changed = true;
    while (changed && !spent()) {
      changed = false;
      for (std::size_t c = 0; c < due.size() && !spent(); ++c) {
        if (!due[c]) continue;
        due[c] = false;
        if (!improve_class(state, c)) continue;
        changed = true;
        for (int t : m_model.classes()[c].tensors) {
          const TensorGroup& group = m_model.groups()[to_index(t)];
          if (group.producer >= 0) due[to_index(group.producer)] = true;
          for (const TensorGroup::Reader& r : group.readers) {
            due[to_index(r.statement)] = true;
          }
        }
      }
    }
  }

 private:
  using Priority = std::array<LabelId, 3>;

  /// Lists of labels to try: of one, two and, of few labels, three.
  [[nodiscard]] std::vector<Priority> label_lists() const {
    const auto labels = static_cast<LabelId>(m_model.graph().labels.size());
    std::vector<Priority> lists;
    if (to_index(labels) * to_index(labels) > tuning::max_label_lists) {
      // Of so many labels each by itself, then what goes before the first ones.
      const auto has_room = [&] { return lists.size() < tuning::max_label_lists; };
      for (LabelId a = 0; a < labels && has_room(); ++a) lists.push_back({a, -1, -1});
      for (LabelId b = 0; b < labels && has_room(); ++b) {
        for (LabelId a = 0; a < labels && has_room(); ++a) {
          if (b != a) lists.push_back({a, b, -1});
        }
      }
      return lists;
    }
    for (LabelId a = 0; a < labels; ++a) {
      lists.push_back({a, -1, -1});
      for (LabelId b = 0; b < labels; ++b) {
        if (b == a) continue;
        lists.push_back({a, b, -1});
        for (LabelId c = 0; c < labels && labels <= tuning::max_labels_for_triples; ++c) {
          if (c != a && c != b) lists.push_back({a, b, c});
        }
      }
    }
    return lists;
  }

  [[nodiscard]] PlacedState guess(const Priority& outer, const Priority& inner,
                                  std::size_t outer_axes) {
    PlacedState state;
    for (const StatementClass& c : m_model.classes()) {
      const Vertex& v = m_model.statement(c);
      CutBuilder preferred(m_model, c.limits.size(),
                           [&](std::size_t l, Extent parts) { return parts <= c.limits[l]; });
      for (std::size_t a = 0; a < m_model.axes(); ++a) {
        for (LabelId label : a < outer_axes ? outer : inner) {
          const auto at = std::find(v.labels.begin(), v.labels.end(), label);
          if (at == v.labels.end()) continue;
          if (preferred.take(a, to_index(at - v.labels.begin()))) break;
        }
      }
      AxisCuts cuts = m_candidates.calls_like(c, preferred.cuts(), {}, 0).sorted();
      if (!m_model.allows(c, cuts)) {
        const VectorList all = m_model.partition_vectors_of(c);
        cuts = m_candidates.calls_of(all[0], preferred.cuts(), {}).sorted();
      }
      state.calls.push_back(cuts);
    }
    for (const TensorGroup& t : m_model.groups()) {
      state.stored.push_back(*m_candidates.layouts(t, state.calls, true).begin());
    }
    m_model.recount(state);
    return state;
  }

  [[nodiscard]] bool spent() const { return m_model.spent() >= m_limit; }

  /// Of some layouts the one that, on top of these words, gives the least sum.
  WordSum choose_layout(const TensorGroup& t, const CutList& layouts, PlacedModel::Calls calls,
                        std::span<const Extent> others, AxisCuts& chosen,
                        std::vector<Extent>& words) {
    const WordSum before = sum_of(others);
    const auto receivers = static_cast<Extent>(others.size());
    WordSum best;
    bool any = false;
    bool same = false;
    for (const AxisCuts& cuts : layouts) {
      const bool uniform = m_model.count(t, cuts, calls, m_counted);
      WordSum sum;
      if (uniform) {
        sum = {before.busiest + t.copies() * m_counted[0], multiply_words(receivers, m_counted[0])};
      } else {
        for (std::size_t w = 0; w < m_counted.size(); ++w) {
          sum.busiest = std::max(sum.busiest, others[w] + t.copies() * m_counted[w]);
          sum.total = add_words(sum.total, m_counted[w]);
        }
      }
      sum.total = multiply_words(sum.total, t.copies());
      if (any && sum >= best) continue;
      any = true;
      best = sum;
      chosen = cuts;
      same = uniform;
      words.swap(m_counted);
    }
    if (same) WordCounter::spread(words);
    return best;
  }

  void store_better(PlacedState& state, std::size_t at) {
    const TensorGroup& t = m_model.groups()[at];
    CutList& layouts = m_candidates.layouts(t, state.calls);
    layouts.add(state.stored[at]);
    std::vector<Extent>& words = state.words[at];
    const Extent before = multiply_words(t.copies(), sum_of(words).total);
    PlacedModel::add_copies(-t.copies(), words, state.sum);
    const WordSum sum = choose_layout(t, layouts, state.calls, state.sum, state.stored[at], words);
    PlacedModel::add_copies(t.copies(), words, state.sum);
    state.score = {sum.busiest, add_words(state.score.total - before, sum.total)};
  }

  bool improve_class(PlacedState& state, std::size_t c) {
    bool better = false;
    for (const AxisCuts& calls : m_candidates.calls(state, c)) {
      if (spent()) break;
      if (calls == state.calls[c]) continue;
      const AxisCuts before = std::exchange(state.calls[c], calls);
      if (store_around(state, c)) {
        better = true;
      } else {
        state.calls[c] = before;
      }
    }
    return better;
  }

  /// Stores the tensors around a class, whose calls are new, to suit. \returns whether that is
  /// better than the state was; if not, its words stay as they are.
  bool store_around(PlacedState& state, std::size_t c) {
    const std::vector<int>& tensors = m_model.classes()[c].tensors;
    const std::size_t n = tensors.size();
    Extent before = 0;
    double bound = 0;
    for (int at : tensors) {
      const TensorGroup& t = m_model.groups()[to_index(at)];
      const Extent total = sum_of(state.words[to_index(at)]).total;
      before = add_words(before, multiply_words(t.copies(), total));
      bound += static_cast<double>(t.copies()) * estimate(t, state.calls);
    }
    const Extent tolerated = add_words(before, before / tuning::bound_tolerance);
    if (bound > static_cast<double>(tolerated)) return false;

    m_trial_sum = state.sum;
    m_trial_words.resize(std::max(n, m_trial_words.size()));
    m_trial_stored.resize(std::max(n, m_trial_stored.size()));
    for (int at : tensors) {
      const Extent copies = m_model.groups()[to_index(at)].copies();
      PlacedModel::add_copies(-copies, state.words[to_index(at)], m_trial_sum);
    }
    WordSum score{0, state.score.total - before};
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = to_index(tensors[i]);
      const TensorGroup& t = m_model.groups()[at];
      CutList& layouts = m_candidates.layouts(t, state.calls);
      if (m_model.allows(t, state.stored[at], m_model.store_axes(t, state.calls))) {
        layouts.add(state.stored[at]);
      }
      const WordSum sum =
          choose_layout(t, layouts, state.calls, m_trial_sum, m_trial_stored[i], m_trial_words[i]);
      score.busiest = sum.busiest;
      score.total = add_words(score.total, sum.total);
      if (score.busiest > state.score.busiest) return false;
      PlacedModel::add_copies(t.copies(), m_trial_words[i], m_trial_sum);
    }
    if (score >= state.score) return false;
    state.score = score;
    state.sum.swap(m_trial_sum);
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = to_index(tensors[i]);
      state.words[at].swap(m_trial_words[i]);
      state.stored[at] = m_trial_stored[i];
    }
    return true;
  }

  /// About the fewest words in all that a tensor costs, however it is stored. No integer: what all
  /// workers read together may exceed 2^63.
  [[nodiscard]] double estimate(const TensorGroup& t, PlacedModel::Calls calls) const {
    const Vertex& v = m_model.tensor(t);
    const auto size = static_cast<double>(v.size());
    const Extent each = m_model.workers_each();
    double needed = 0;
    for (const TensorGroup::Reader& r : t.readers) {
      const AxisCuts& cuts = calls[to_index(r.statement)];
      auto block = static_cast<double>(m_model.class_at(r.statement).calls);
      for (std::size_t k = 0; k < v.bound.size(); ++k) {
        const Extent length = v.bound[k] / m_model.parts(cuts, to_index(r.labels[k]));
        block *= static_cast<double>(length);
      }
      needed = std::max(needed, block);
    }
    // Calls of one rank may read one block.
    double words = std::max(std::floor(needed / static_cast<double>(each)) - size, 0.0);
    if (t.producer >= 0) {
      const Extent contributions =
          m_model.contributions_of(m_model.class_at(t.producer), calls[to_index(t.producer)]);
      words += size * static_cast<double>(ceil_div(contributions, each) - 1);
    }
    return words;
  }

  PlacedModel& m_model;
  PlacedCandidates m_candidates;
  std::int64_t m_limit = 0;

  // Kept between uses to spare allocations.
  std::vector<Extent> m_counted, m_trial_sum;
  std::vector<std::vector<Extent>> m_trial_words;
  std::vector<AxisCuts> m_trial_stored;
};

}  // namespace eindecomp::plan
