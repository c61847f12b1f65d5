// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fewest words over all placements of a small program, counted element by element: shares no
// code with the planner.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp_tests {

using eindecomp::Extent;

class PlacedBruteForce {
 public:
  using Lists = std::vector<std::vector<int>>;
  using Words = std::vector<Extent>;

  /// \param ranks  that share the workers, neighbours together; 0: one each
  PlacedBruteForce(const eindecomp::EinGraph& graph, std::vector<int> axes, int ranks = 0)
      : m_graph(graph), m_axes(std::move(axes)) {
    for (int a : m_axes) m_workers *= a;
    m_ranks = ranks > 0 ? std::min(ranks, m_workers) : m_workers;
    m_calls.resize(graph.vertices.size());
    m_stored.resize(graph.vertices.size());
    for (std::size_t v = 0; v < m_calls.size(); ++v) {
      const eindecomp::Vertex& vertex = graph.vertices[v];
      arrange(Lists(vertex.bound.size()), 0, vertex.bound, m_stored[v]);
      if (vertex.is_input()) continue;
      std::vector<Lists> all;
      arrange(Lists(vertex.extents.size()), 0, vertex.extents, all);
      Extent most = 0;
      for (const Lists& lists : all) most = std::max(most, parts(lists));
      for (const Lists& lists : all) {
        if (parts(lists) == most) m_calls[v].push_back(lists);
      }
      m_count *= static_cast<double>(m_calls[v].size());
      m_statements.push_back(v);
    }
  }

  /// Combinations of calls.
  double count() const { return m_count; }

  /// Words on the busiest rank, and in all, of the best placement.
  std::pair<Extent, Extent> least() {
    m_options.assign(m_calls.size(), {});
    m_chosen.assign(m_calls.size(), 0);
    m_best = {-1, -1};
    next(0);
    return m_best;
  }

 private:
  using Elements = std::bitset<1024>;

  Extent parts(const Lists& lists) const {
    Extent n = 1;
    for (const auto& list : lists) {
      for (int a : list) n *= m_axes[static_cast<std::size_t>(a)];
    }
    return n;
  }
  Extent parts(const std::vector<int>& list) const { return parts(Lists{list}); }

  void arrange(const Lists& lists, std::size_t a, const std::vector<Extent>& limits,
               std::vector<Lists>& all) const {
    if (a == m_axes.size()) {
      all.push_back(lists);
      return;
    }
    arrange(lists, a + 1, limits, all);
    for (std::size_t e = 0; e < lists.size(); ++e) {
      for (std::size_t i = 0; i <= lists[e].size(); ++i) {
        Lists more = lists;
        more[e].insert(more[e].begin() + static_cast<std::ptrdiff_t>(i), static_cast<int>(a));
        if (parts(more[e]) <= limits[e]) arrange(more, a + 1, limits, all);
      }
    }
  }

  int digit(int worker, int axis) const {
    for (std::size_t a = m_axes.size(); a-- > static_cast<std::size_t>(axis) + 1;) {
      worker /= m_axes[a];
    }
    return worker % m_axes[static_cast<std::size_t>(axis)];
  }
  bool present(int worker, const Lists& lists) const {
    for (int a = 0; a < static_cast<int>(m_axes.size()); ++a) {
      bool used = false;
      for (const auto& list : lists) used = used || std::count(list.begin(), list.end(), a) > 0;
      if (!used && digit(worker, a) != 0) return false;
    }
    return true;
  }

  /// The elements of a tensor whose dimension k carries entry labels[k] of the lists, of all
  /// workers of a rank.
  Elements elements(const std::vector<Extent>& bound, const Lists& lists,
                    const std::vector<int>& labels, int rank) const {
    Elements found;
    for (int w = 0; w < m_workers; ++w) {
      if (w * m_ranks / m_workers == rank) found |= of_worker(bound, lists, labels, w);
    }
    return found;
  }
  Elements of_worker(const std::vector<Extent>& bound, const Lists& lists,
                     const std::vector<int>& labels, int worker) const {
    Elements found;
    if (!present(worker, lists)) return found;
    Extent size = 1;
    for (Extent b : bound) size *= b;
    for (Extent n = 0; n < size; ++n) {
      Extent rest = n;
      bool within = true;
      for (std::size_t k = bound.size(); k-- > 0;) {
        const Extent index = rest % bound[k];
        rest /= bound[k];
        const std::vector<int>& list = lists[static_cast<std::size_t>(labels[k])];
        Extent part = 0;
        for (int a : list) part = part * m_axes[static_cast<std::size_t>(a)] + digit(worker, a);
        const Extent d = parts(list);
        within = within && index >= part * bound[k] / d && index < (part + 1) * bound[k] / d;
      }
      if (within) found.set(static_cast<std::size_t>(n));
    }
    return found;
  }

  /// Whether a tensor is spread as evenly as it allows: over the mesh, or over its calls' axes.
  bool spread(std::size_t t, const Lists& stored) const {
    for (int a = 0; a < static_cast<int>(m_axes.size()); ++a) {
      const auto has = [a](const Lists& lists) {
        return std::any_of(lists.begin(), lists.end(), [a](const auto& list) {
          return std::count(list.begin(), list.end(), a) > 0;
        });
      };
      if (has(stored)) continue;
      if (!m_graph.vertices[t].is_input() && !has(m_calls[t][m_chosen[t]])) continue;
      for (std::size_t k = 0; k < stored.size(); ++k) {
        std::vector<int> finer = stored[k];
        finer.push_back(a);
        if (parts(finer) <= m_graph.vertices[t].bound[k]) return false;
      }
    }
    return true;
  }

  int host(int worker) const { return worker * m_ranks / m_workers; }

  /// What each rank receives of one element that a group of workers has parts of and another
  /// worker stores. Their ranks pass their sums along one axis of the group after another, the
  /// fastest first, to the one that stores it, or that stands for that one in the group.
  Words reduction(std::size_t t, const std::vector<int>& group, int store) const {
    Words words(static_cast<std::size_t>(m_ranks), 0);
    std::vector<int> axes;
    for (int l : m_graph.vertices[t].aggregated) {
      const auto& list = m_calls[t][m_chosen[t]][static_cast<std::size_t>(l)];
      axes.insert(axes.end(), list.begin(), list.end());
    }
    std::sort(axes.begin(), axes.end());
    std::set<int> ranks;
    for (int w : group) ranks.insert(host(w));
    int exit = host(store);
    if (ranks.count(exit) == 0) {
      ++words[static_cast<std::size_t>(exit)];
      for (int w : group) {
        if (std::all_of(axes.begin(), axes.end(),
                        [&](int a) { return digit(w, a) == digit(store, a); })) {
          exit = host(w);
        }
      }
    }
    std::vector<std::size_t> lengths;
    if (m_ranks == m_workers) {
      for (int a : axes)
        lengths.push_back(static_cast<std::size_t>(m_axes[static_cast<std::size_t>(a)]));
    } else {
      std::size_t rest = ranks.size();
      for (std::size_t f = 2; f <= rest; ++f) {
        for (; rest % f == 0; rest /= f) lengths.push_back(f);
      }
    }
    const std::vector<int> members(ranks.begin(), ranks.end());
    const auto at =
        static_cast<std::size_t>(std::find(members.begin(), members.end(), exit) - members.begin());
    std::size_t stride = 1;
    for (std::size_t a = lengths.size(); a-- > 0; stride *= lengths[a]) {
      for (std::size_t m = 0; m < members.size(); ++m) {
        const auto place = [&](std::size_t member) { return member / stride % lengths[a]; };
        if (m % stride != at % stride || place(m) == place(at)) continue;
        const std::size_t to = m + place(at) * stride - place(m) * stride;
        ++words[static_cast<std::size_t>(members[to])];
      }
    }
    return words;
  }

  /// What each rank may receive of a tensor under the chosen calls, layout by layout.
  const std::set<Words>& options(std::size_t t) {
    std::vector<std::size_t> key;
    const eindecomp::Vertex& tensor = m_graph.vertices[t];
    if (!tensor.is_input()) key.push_back(m_chosen[t]);
    for (std::size_t v : m_statements) {
      for (const auto& o : m_graph.vertices[v].operands) {
        if (static_cast<std::size_t>(o.vertex) == t) key.push_back(m_chosen[v]);
      }
    }
    const auto [place, fresh] = m_options[t].try_emplace(key);
    if (!fresh) return place->second;
    std::vector<Elements> needed(static_cast<std::size_t>(m_ranks));
    std::vector<Elements> computed(static_cast<std::size_t>(m_workers));
    for (int w = 0; w < m_ranks; ++w) {
      for (std::size_t v : m_statements) {
        for (const auto& o : m_graph.vertices[v].operands) {
          if (static_cast<std::size_t>(o.vertex) != t) continue;
          needed[static_cast<std::size_t>(w)] |=
              elements(tensor.bound, m_calls[v][m_chosen[v]], o.labels, w);
        }
      }
    }
    if (!tensor.is_input()) {
      for (int w = 0; w < m_workers; ++w) {
        computed[static_cast<std::size_t>(w)] =
            of_worker(tensor.bound, m_calls[t][m_chosen[t]], tensor.output, w);
      }
    }
    std::map<std::pair<std::vector<int>, int>, Words> reductions;
    std::vector<int> identity;
    for (int k = 0; k < tensor.rank(); ++k) identity.push_back(k);
    for (const Lists& stored : m_stored[t]) {
      if (!spread(t, stored)) continue;
      Words words(needed.size(), 0);
      for (std::size_t w = 0; w < needed.size(); ++w) {
        const Elements held = elements(tensor.bound, stored, identity, static_cast<int>(w));
        words[w] = static_cast<Extent>((needed[w] & ~held).count());
      }
      for (int w = 0; w < m_workers && !tensor.is_input(); ++w) {
        const Elements held = of_worker(tensor.bound, stored, identity, w);
        for (std::size_t e = 0; e < held.size(); ++e) {
          if (!held.test(e)) continue;
          std::vector<int> group;
          for (int c = 0; c < m_workers; ++c) {
            if (computed[static_cast<std::size_t>(c)].test(e)) group.push_back(c);
          }
          const auto [known, unknown] = reductions.try_emplace({group, w});
          if (unknown) known->second = reduction(t, group, w);
          for (std::size_t r = 0; r < words.size(); ++r) words[r] += known->second[r];
        }
      }
      place->second.insert(std::move(words));
    }
    return place->second;
  }

  void next(std::size_t n) {
    if (n == m_statements.size()) {
      std::vector<const std::set<Words>*> choices;
      for (std::size_t t = 0; t < m_graph.vertices.size(); ++t) choices.push_back(&options(t));
      // Tensors of most choices last; what they cost at least, from behind.
      std::sort(choices.begin(), choices.end(),
                [](auto* a, auto* b) { return a->size() < b->size(); });
      std::vector<Words> rest(choices.size() + 1, Words(static_cast<std::size_t>(m_ranks), 0));
      for (std::size_t i = choices.size(); i-- > 0;) {
        for (std::size_t w = 0; w < rest[i].size(); ++w) {
          Extent least = -1;
          for (const Words& words : *choices[i]) {
            if (least < 0 || words[w] < least) least = words[w];
          }
          rest[i][w] = rest[i + 1][w] + least;
        }
      }
      store(choices, rest, 0, Words(static_cast<std::size_t>(m_ranks), 0));
      return;
    }
    const std::size_t v = m_statements[n];
    for (m_chosen[v] = 0; m_chosen[v] < m_calls[v].size(); ++m_chosen[v]) next(n + 1);
  }

  void store(const std::vector<const std::set<Words>*>& choices, const std::vector<Words>& rest,
             std::size_t i, const Words& sum) {
    std::pair<Extent, Extent> bound{0, 0};
    for (std::size_t w = 0; w < sum.size(); ++w) {
      bound.first = std::max(bound.first, sum[w] + rest[i][w]);
      bound.second += sum[w] + rest[i][w];
    }
    if (m_best.first >= 0 && bound >= m_best) return;
    if (i == choices.size()) {
      m_best = bound;
      return;
    }
    for (const Words& words : *choices[i]) {
      Words more = sum;
      for (std::size_t w = 0; w < more.size(); ++w) more[w] += words[w];
      store(choices, rest, i + 1, more);
    }
  }

  const eindecomp::EinGraph& m_graph;
  std::vector<int> m_axes;
  int m_workers = 1;
  int m_ranks = 1;
  double m_count = 1;
  std::vector<std::size_t> m_statements;
  std::vector<std::vector<Lists>> m_calls;   ///< per vertex
  std::vector<std::vector<Lists>> m_stored;  ///< per vertex, spread or not
  std::vector<std::map<std::vector<std::size_t>, std::set<Words>>> m_options;
  std::vector<std::size_t> m_chosen;
  std::pair<Extent, Extent> m_best;
};

}  // namespace eindecomp_tests
