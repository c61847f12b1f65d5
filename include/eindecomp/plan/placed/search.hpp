// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Local search for the strategy `placed`: one class of statements after another takes the calls
/// under which the program's busiest receiver gets least, the tensors around it stored to suit.
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
#include "eindecomp/plan/placed/candidates.hpp"
#include "eindecomp/plan/placed/model.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/words_by_worker.hpp"

namespace eindecomp::detail {

class PlacedSearch {
 public:
  explicit PlacedSearch(PlacedModel& model) : m_model(model), m_candidates(model) {}

  /// A state with these calls and stored tensors; none if a statement has fewer calls than can be.
  [[nodiscard]] std::optional<PlacedState> state_of(const Placement& placement) {
    PlacedState state;
    for (const StatementClass& c : m_model.classes()) {
      state.calls.push_back(cuts_of(placement.calls[static_cast<std::size_t>(c.first)]));
      if (!m_model.allows(c, state.calls.back())) return std::nullopt;
    }
    for (const TensorGroup& t : m_model.groups()) {
      state.stored.push_back(cuts_of(placement.stored[static_cast<std::size_t>(t.first)]));
    }
    m_model.recount(state);
    return state;
  }

  /// States in which every statement gives an axis of the mesh to the first label that it has of a
  /// list, the same list throughout the program or one for the outer axes and one for the inner:
  /// data, sequence, head or hidden parallelism and their like, and mixtures of two. The best of
  /// them, at most so many; of what so much effort can weigh.
  [[nodiscard]] std::vector<PlacedState> by_priority(std::size_t most, std::int64_t budget) {
    m_limit = m_model.spent() + budget;
    const auto labels = static_cast<LabelId>(m_model.graph().labels.size());
    std::vector<Priority> lists;
    for (LabelId a = 0; a < labels; ++a) {
      lists.push_back({a, -1, -1});
      for (LabelId b = 0; b < labels; ++b) {
        if (b == a) continue;
        lists.push_back({a, b, -1});
        for (LabelId c = 0; c < labels && labels <= 12; ++c) {
          if (c != a && c != b) lists.push_back({a, b, c});
        }
      }
    }
    std::vector<PlacedState> best;
    std::vector<std::pair<WordSum, std::size_t>> order;
    const auto weigh = [&](const Priority& outer, const Priority& inner, std::size_t axes) {
      PlacedState state = guess(outer, inner, axes);
      const WordSum score = state.score;
      const auto better = [](const PlacedState& x, const PlacedState& y) {
        return x.score < y.score;
      };
      if (std::any_of(best.begin(), best.end(),
                      [&](const PlacedState& known) { return known.score == score; })) {
        return score;
      }
      best.insert(std::upper_bound(best.begin(), best.end(), state, better), std::move(state));
      if (best.size() > most) best.pop_back();
      return score;
    };
    if (lists.size() > most_lists) lists.resize(most_lists);
    for (std::size_t i = 0; i < lists.size() && !spent(); ++i) {
      order.emplace_back(weigh(lists[i], lists[i], m_model.axes()), i);
    }
    std::sort(order.begin(), order.end());
    const auto last = std::unique(order.begin(), order.end(),
                                  [](const auto& x, const auto& y) { return x.first == y.first; });
    order.erase(last, order.end());
    if (order.size() > most_mixed) order.resize(most_mixed);
    for (std::size_t axes = 1; axes < m_model.axes(); ++axes) {
      for (const auto& outer : order) {
        for (const auto& inner : order) {
          if (outer.second != inner.second && !spent()) {
            weigh(lists[outer.second], lists[inner.second], axes);
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
          const TensorGroup& group = m_model.groups()[static_cast<std::size_t>(t)];
          if (group.producer >= 0) due[static_cast<std::size_t>(group.producer)] = true;
          for (const TensorGroup::Reader& r : group.readers) {
            due[static_cast<std::size_t>(r.statement)] = true;
          }
        }
      }
    }
  }

 private:
  static constexpr std::size_t most_lists = 2000;
  static constexpr std::size_t most_mixed = 8;

  using Priority = std::array<LabelId, 3>;

  [[nodiscard]] PlacedState guess(const Priority& outer, const Priority& inner,
                                  std::size_t outer_axes) {
    PlacedState state;
    for (const StatementClass& c : m_model.classes()) {
      const Vertex& v = m_model.statement(c);
      AxisCuts preferred;
      for (std::size_t a = 0; a < m_model.axes(); ++a) {
        for (LabelId label : a < outer_axes ? outer : inner) {
          const auto at = std::find(v.labels.begin(), v.labels.end(), label);
          if (at == v.labels.end()) continue;
          const auto l = static_cast<std::size_t>(at - v.labels.begin());
          if (m_model.parts(preferred, l) * m_model.axis_size(a) > c.limits[l]) continue;
          preferred.push(a, l);
          break;
        }
      }
      AxisCuts cuts = m_candidates.calls_like(c, preferred, {}, 0).sorted();
      if (!m_model.allows(c, cuts))
        cuts = m_candidates.calls_of(m_candidates.a_vector(c), preferred, {}).sorted();
      state.calls.push_back(cuts);
    }
    const auto calls = [&](int c) -> const AxisCuts& {
      return state.calls[static_cast<std::size_t>(c)];
    };
    for (const TensorGroup& t : m_model.groups()) {
      state.stored.push_back(*m_candidates.layouts(t, calls, true).begin());
    }
    m_model.recount(state);
    return state;
  }

  [[nodiscard]] bool spent() const { return m_model.spent() >= m_limit; }

  /// Of some layouts the one that, on top of these words, gives the least sum.
  template <class Calls>
  WordSum choose_layout(const TensorGroup& t, const CutList& layouts, const Calls& calls,
                        std::span<const Extent> others, AxisCuts& chosen,
                        std::vector<Extent>& words) {
    const auto copies = static_cast<Extent>(t.members.size());
    const WordSum before = sum_of(others);
    const auto receivers = static_cast<Extent>(others.size());
    WordSum best;
    bool any = false;
    bool same = false;
    for (const AxisCuts& cuts : layouts) {
      const bool uniform = m_model.count(t, cuts, calls, m_counted);
      WordSum sum;
      if (uniform) {
        sum = {before.busiest + copies * m_counted[0], receivers * m_counted[0]};
      } else {
        for (std::size_t w = 0; w < m_counted.size(); ++w) {
          sum.busiest = std::max(sum.busiest, others[w] + copies * m_counted[w]);
          sum.total += m_counted[w];
        }
      }
      sum.total *= copies;
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
    const auto calls = [&](int c) -> const AxisCuts& {
      return state.calls[static_cast<std::size_t>(c)];
    };
    const auto copies = static_cast<Extent>(t.members.size());
    CutList& layouts = m_candidates.layouts(t, calls);
    layouts.offer(state.stored[at]);
    Extent before = 0;
    for (std::size_t w = 0; w < state.sum.size(); ++w) {
      state.sum[w] -= copies * state.words[at][w];
      before += copies * state.words[at][w];
    }
    const WordSum sum =
        choose_layout(t, layouts, calls, state.sum, state.stored[at], state.words[at]);
    for (std::size_t w = 0; w < state.sum.size(); ++w) {
      state.sum[w] += copies * state.words[at][w];
    }
    state.score = {sum.busiest, state.score.total - before + sum.total};
  }

  bool improve_class(PlacedState& state, std::size_t c) {
    bool better = false;
    for (const AxisCuts& calls : m_candidates.calls(state, c)) {
      if (spent()) break;
      if (calls != state.calls[c] && move(state, c, calls)) better = true;
    }
    return better;
  }

  /// Gives a class other calls if that is better, its tensors stored anew.
  bool move(PlacedState& state, std::size_t c, const AxisCuts& to) {
    const StatementClass& statement = m_model.classes()[c];
    const auto calls = [&](int other) -> const AxisCuts& {
      return static_cast<std::size_t>(other) == c ? to
                                                  : state.calls[static_cast<std::size_t>(other)];
    };
    const std::size_t n = statement.tensors.size();
    Extent before = 0;
    Extent least = 0;
    for (int at : statement.tensors) {
      const TensorGroup& t = m_model.groups()[static_cast<std::size_t>(at)];
      const auto copies = static_cast<Extent>(t.members.size());
      for (Extent w : state.words[static_cast<std::size_t>(at)]) before += copies * w;
      least += copies * at_least(t, calls);
    }
    if (least > before + before / 16) return false;

    m_trial_sum = state.sum;
    m_trial_words.resize(std::max(n, m_trial_words.size()));
    m_trial_stored.resize(std::max(n, m_trial_stored.size()));
    for (int at : statement.tensors) {
      const auto copies =
          static_cast<Extent>(m_model.groups()[static_cast<std::size_t>(at)].members.size());
      const std::vector<Extent>& words = state.words[static_cast<std::size_t>(at)];
      for (std::size_t w = 0; w < words.size(); ++w) m_trial_sum[w] -= copies * words[w];
    }
    WordSum score{0, state.score.total - before};
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(statement.tensors[i]);
      const TensorGroup& t = m_model.groups()[at];
      CutList& layouts = m_candidates.layouts(t, calls);
      if (m_model.allows(t, state.stored[at],
                         t.producer < 0 ? m_model.all_axes() : calls(t.producer).used())) {
        layouts.offer(state.stored[at]);
      }
      const WordSum sum =
          choose_layout(t, layouts, calls, m_trial_sum, m_trial_stored[i], m_trial_words[i]);
      score.busiest = sum.busiest;
      score.total += sum.total;
      if (score.busiest > state.score.busiest) return false;
      const auto copies = static_cast<Extent>(t.members.size());
      for (std::size_t w = 0; w < m_trial_sum.size(); ++w) {
        m_trial_sum[w] += copies * m_trial_words[i][w];
      }
    }
    if (score >= state.score) return false;
    state.score = score;
    state.sum.swap(m_trial_sum);
    state.calls[c] = to;
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(statement.tensors[i]);
      state.words[at].swap(m_trial_words[i]);
      state.stored[at] = m_trial_stored[i];
    }
    return true;
  }

  /// Words in all that a tensor costs however it is stored, about.
  template <class Calls>
  [[nodiscard]] Extent at_least(const TensorGroup& t, const Calls& calls) const {
    const Vertex& v = m_model.tensor(t);
    Extent most = 0;
    for (const TensorGroup::Reader& r : t.readers) {
      const AxisCuts& cuts = calls(r.statement);
      Extent block = m_model.classes()[static_cast<std::size_t>(r.statement)].calls;
      for (std::size_t k = 0; k < v.bound.size(); ++k) {
        block *= v.bound[k] / m_model.parts(cuts, static_cast<std::size_t>(r.labels[k]));
      }
      most = std::max(most, block);
    }
    most /= m_model.workers_each();  // calls of one rank may read one block
    Extent words = std::max<Extent>(most - v.size(), 0);
    if (t.producer >= 0) {
      const StatementClass& c = m_model.classes()[static_cast<std::size_t>(t.producer)];
      const Extent contributions = m_model.contributions_of(c, calls(t.producer));
      const Extent each = m_model.workers_each();
      words += v.size() * ((contributions + each - 1) / each - 1);
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

}  // namespace eindecomp::detail
