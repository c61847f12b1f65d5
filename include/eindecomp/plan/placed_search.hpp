// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Local search for the strategy `placed`: one class of statements after another takes the calls
/// under which the program's busiest worker receives least, the tensors around it stored to suit.
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
#include "eindecomp/plan/placed_model.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/words_by_worker.hpp"

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

class PlacedSearch {
 public:
  explicit PlacedSearch(PlacedModel& model) : m_model(model), m_vectors(model.classes().size()) {}

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
  static constexpr std::size_t most_vectors = 48;
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
      AxisCuts cuts = calls_like(c, preferred, {}, 0).sorted();
      if (!m_model.allows(c, cuts)) cuts = calls_of(a_vector(c), preferred, {}).sorted();
      state.calls.push_back(cuts);
    }
    const auto calls = [&](int c) -> const AxisCuts& {
      return state.calls[static_cast<std::size_t>(c)];
    };
    for (const TensorGroup& t : m_model.groups()) {
      list_layouts(t, calls, true);
      state.stored.push_back(*m_layouts.begin());
    }
    m_model.recount(state);
    return state;
  }

  /// Some vector of as many calls as can be.
  [[nodiscard]] PartitionVector a_vector(const StatementClass& c) const {
    const VectorList all = partition_vectors(c.limits, static_cast<int>(m_model.workers()));
    return {all[0].begin(), all[0].end()};
  }

  [[nodiscard]] bool spent() const { return m_model.spent() >= m_limit; }

  // --- Where a tensor is stored ---

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

  /// Layouts worth weighing: a reader's or the producer's cuts outside, another's within, the axes
  /// left over innermost.
  template <class Calls>
  void list_layouts(const TensorGroup& t, const Calls& calls, bool first_only = false) {
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
          if (first_only && !m_layouts.empty()) return;
          if (t.producer >= 0 && wanted != m_model.all_axes()) {
            m_layouts.offer(layout(t, outer, inner, favourite, m_model.all_axes()));
          }
          if (cuts.size == outer.size) break;
        }
      }
    }
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

  /// Of the listed layouts the one that, on top of these words, gives the least sum.
  template <class Calls>
  WordSum choose_layout(const TensorGroup& t, const Calls& calls, std::span<const Extent> others,
                        AxisCuts& chosen, std::vector<Extent>& words) {
    const auto copies = static_cast<Extent>(t.members.size());
    const WordSum before = sum_of(others);
    const auto workers = static_cast<Extent>(others.size());
    WordSum best;
    bool any = false;
    bool same = false;
    for (const AxisCuts& cuts : m_layouts) {
      const bool uniform = m_model.count(t, cuts, calls, m_counted);
      WordSum sum;
      if (uniform) {
        sum = {before.busiest + copies * m_counted[0], workers * m_counted[0]};
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
    list_layouts(t, calls);
    m_layouts.offer(state.stored[at]);
    Extent before = 0;
    for (std::size_t w = 0; w < state.sum.size(); ++w) {
      state.sum[w] -= copies * state.words[at][w];
      before += copies * state.words[at][w];
    }
    const WordSum sum = choose_layout(t, calls, state.sum, state.stored[at], state.words[at]);
    for (std::size_t w = 0; w < state.sum.size(); ++w) {
      state.sum[w] += copies * state.words[at][w];
    }
    state.score = {sum.busiest, state.score.total - before + sum.total};
  }

  // --- How a class is cut ---

  bool improve_class(PlacedState& state, std::size_t c) {
    list_calls(state, c);
    const CutList list = m_calls;
    bool better = false;
    for (const AxisCuts& calls : list) {
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
      list_layouts(t, calls);
      if (m_model.allows(t, state.stored[at],
                         t.producer < 0 ? m_model.all_axes() : calls(t.producer).used())) {
        m_layouts.offer(state.stored[at]);
      }
      const WordSum sum = choose_layout(t, calls, m_trial_sum, m_trial_stored[i], m_trial_words[i]);
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
    Extent words = std::max<Extent>(most - v.size(), 0);
    if (t.producer >= 0) {
      const StatementClass& c = m_model.classes()[static_cast<std::size_t>(t.producer)];
      words += v.size() * (m_model.contributions_of(c, calls(t.producer)) - 1);
    }
    return words;
  }

  /// Calls worth trying for a class.
  void list_calls(const PlacedState& state, std::size_t c) {
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

  PlacedModel& m_model;
  std::vector<std::optional<VectorList>> m_vectors;  ///< per class
  std::int64_t m_limit = 0;

  // Kept between uses to spare allocations.
  CutList m_layouts, m_views, m_calls;
  std::vector<Extent> m_counted, m_trial_sum;
  std::vector<std::vector<Extent>> m_trial_words;
  std::vector<AxisCuts> m_trial_stored;
};

}  // namespace eindecomp::detail
