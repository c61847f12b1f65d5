// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The optimal one-cut of a program, by variable elimination over its tensors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/k_cut/tiles.hpp"
#include "eindecomp/plan/words.hpp"

namespace eindecomp::plan {

/// Minimises one cut's words over all tensors' tilings. An input that no result replaces is
/// replicated: that costs nothing, and no tiling is better for a reader.
class OneCutSearch {
 public:
  constexpr OneCutSearch(const EinGraph& graph, const Tiles& tiles, int parts,
                         std::span<const InPlace> in_place, std::size_t max_states)
      : m_rules(graph, tiles, parts), m_max_states(max_states), m_variable(graph.vertices.size()) {
    Flags free(graph.vertices.size());
    for (VertexId v = 0; v < graph.size(); ++v) {
      m_variable[to_index(v)] = v;
      free[to_index(v)] = graph[v].is_input() ? 0 : 1;
    }
    for (const InPlace& pair : in_place) {
      m_variable[to_index(pair.input)] = pair.result;
    }
    for (VertexId v = 0; v < graph.size(); ++v) {
      std::vector<int> tilings{replicated};
      if (free[to_index(v)]) tilings = m_rules.tilings(v);
      m_tilings.push_back(std::move(tilings));
    }
    for (const InPlace& pair : in_place) {  // what neither may be tiled along, both may not
      const std::vector<int> allowed = m_rules.tilings(pair.input);
      std::erase_if(m_tilings[to_index(pair.result)], [&](int tiling) {
        return std::ranges::find(allowed, tiling) == allowed.end();
      });
    }
    m_touching.resize(graph.vertices.size());
    m_chosen.assign(graph.vertices.size(), 0);
    std::vector<int> tilings(graph.vertices.size(), replicated);
    for (VertexId v = 0; v < graph.size(); ++v) {
      if (!graph[v].is_input()) add(statement_table(graph, v, tilings));
    }
    eliminate_all();
  }
  OneCutSearch(const OneCutSearch&) = delete;
  OneCutSearch& operator=(const OneCutSearch&) = delete;

  /// No cut moves fewer words.
  [[nodiscard]] constexpr Extent lower_bound() const { return m_bound; }

  /// Between one and `max_cuts` cuts of the fewest words, with different tilings. If tables had to
  /// be split, they may move more than lower_bound().
  [[nodiscard]] constexpr std::vector<Cut> cuts(std::size_t max_cuts) {
    std::vector<Cut> found;
    choose(max_cuts, found);
    return found;
  }

 private:
  /// A cost that depends on some tensors' tilings, the last one's fastest.
  struct Table {
    std::vector<int> scope;
    std::vector<Extent> values;
    bool gone = false;
  };
  struct Step {
    int variable = -1;
    std::vector<int> tables;  ///< all that depended on it
  };

  [[nodiscard]] constexpr std::size_t choices(int variable) const {
    return m_tilings[to_index(variable)].size();
  }
  [[nodiscard]] constexpr std::size_t size_of(std::span<const int> scope) const {
    std::size_t size = 1;
    for (int variable : scope) {
      if (size > m_max_states) return size;
      size *= choices(variable);
    }
    return size;
  }
  static constexpr void include(std::vector<int>& scope, int variable) {
    const auto at = std::ranges::lower_bound(scope, variable);
    if (at == scope.end() || *at != variable) scope.insert(at, variable);
  }
  constexpr void add(Table table) {
    const int number = static_cast<int>(m_tables.size());
    for (int variable : table.scope) {
      m_touching[to_index(variable)].push_back(number);
    }
    m_tables.push_back(std::move(table));
  }

  /// \param tilings  room for those of all tensors.
  [[nodiscard]] constexpr Table statement_table(const EinGraph& graph, VertexId v,
                                                std::vector<int>& tilings) {
    Table table;
    std::vector<VertexId> tensors{v};
    for (const Operand& operand : graph[v].operands) tensors.push_back(operand.vertex);
    for (VertexId tensor : tensors) {
      const int variable = m_variable[to_index(tensor)];
      if (choices(variable) > 1) include(table.scope, variable);
    }
    const std::vector<int> forms = m_rules.forms(v);
    do {
      for (VertexId tensor : tensors) {
        const auto variable = to_index(m_variable[to_index(tensor)]);
        tilings[to_index(tensor)] = m_tilings[variable][m_chosen[variable]];
      }
      table.values.push_back(m_rules.form(v, tilings, forms).words);
    } while (advance(table.scope));
    return table;
  }

  /// Goes to the next point of a scope; from the last back to the first, and returns false.
  constexpr bool advance(std::span<const int> scope) {
    for (std::size_t n = scope.size(); n-- > 0;) {
      std::size_t& choice = m_chosen[to_index(scope[n])];
      if (++choice < choices(scope[n])) return true;
      choice = 0;
    }
    return false;
  }
  /// A table's entry at the point that is chosen.
  [[nodiscard]] constexpr Extent value(const Table& table) const {
    std::size_t place = 0;
    for (int variable : table.scope) {
      place = place * choices(variable) + m_chosen[to_index(variable)];
    }
    return table.values[place];
  }

  [[nodiscard]] constexpr std::vector<int> live_tables(int variable) const {
    std::vector<int> found;
    for (int number : m_touching[to_index(variable)]) {
      if (!m_tables[to_index(number)].gone) found.push_back(number);
    }
    return found;
  }
  [[nodiscard]] constexpr std::vector<int> joint_scope(std::span<const int> tables) const {
    std::vector<int> scope;
    for (int number : tables) {
      for (int variable : m_tables[to_index(number)].scope) {
        include(scope, variable);
      }
    }
    return scope;
  }

  /// Eliminates the variable that leaves the smallest table, of several the first, until none is
  /// left.
  constexpr void eliminate_all() {
    for (const Table& table : m_tables) {  // statements with nothing to choose
      if (table.scope.empty()) m_bound = add_words(m_bound, table.values[0]);
    }
    using Candidate = std::pair<std::size_t, int>;  // the table that is left, the variable
    constexpr std::size_t done = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> size(m_tilings.size(), done);
    std::vector<Candidate> heap;
    const auto push = [&](int variable) {
      const std::size_t left = size_of(joint_scope(live_tables(variable)));
      size[to_index(variable)] = left;
      heap.emplace_back(left, variable);
      std::ranges::push_heap(heap, std::greater{});
    };
    for (std::size_t v = 0; v < size.size(); ++v) {
      if (!m_touching[v].empty()) push(static_cast<int>(v));
    }
    while (!heap.empty()) {
      std::ranges::pop_heap(heap, std::greater{});
      const auto [left, variable] = heap.back();
      heap.pop_back();
      std::size_t& known = size[to_index(variable)];
      if (left != known) continue;  // its size has changed since, or it is gone
      known = done;
      const std::vector<int> tables = live_tables(variable);
      m_steps.push_back({variable, tables});
      for (const std::vector<int>& group : affordable(tables)) remove(variable, group);
      for (int other : joint_scope(tables)) {
        if (size[to_index(other)] != done) push(other);
      }
    }
  }

  /// Divides tables into groups, each of which has a sum of affordable size; usually one group is
  /// enough. Minimising several separately gives only a lower bound.
  [[nodiscard]] constexpr std::vector<std::vector<int>> affordable(
      const std::vector<int>& tables) const {
    std::vector<std::vector<int>> groups;
    for (int number : tables) {
      bool fits = false;
      for (std::vector<int>& group : groups) {
        group.push_back(number);
        fits = size_of(joint_scope(group)) <= m_max_states;
        if (fits) break;
        group.pop_back();
      }
      if (!fits) groups.push_back({number});
    }
    return groups;
  }

  /// Replaces some tables by the minimum of their sum over a variable.
  constexpr void remove(int variable, const std::vector<int>& tables) {
    Table table;
    table.scope = joint_scope(tables);
    std::erase(table.scope, variable);
    do {
      table.values.push_back(min_over(variable, tables));
    } while (advance(table.scope));
    for (int number : tables) m_tables[to_index(number)].gone = true;
    if (table.scope.empty()) {
      m_bound = add_words(m_bound, table.values[0]);
    } else {
      add(std::move(table));
    }
  }
  [[nodiscard]] constexpr Extent sum_of(const std::vector<int>& tables) const {
    Extent sum = 0;
    for (int number : tables) {
      sum = add_words(sum, value(m_tables[to_index(number)]));
    }
    return sum;
  }
  [[nodiscard]] constexpr Extent min_over(int variable, const std::vector<int>& tables) {
    Extent best = unaffordable;
    std::size_t& choice = m_chosen[to_index(variable)];
    for (choice = 0; choice < choices(variable); ++choice) best = std::min(best, sum_of(tables));
    choice = 0;
    return best;
  }

  /// Goes back from the last elimination and collects the choices that attain the minimum. (Not by
  /// recursion: there are as many steps as tensors.)
  constexpr void choose(std::size_t max_cuts, std::vector<Cut>& found) {
    const std::size_t all = m_steps.size();
    if (all == 0) {
      found.push_back(chosen_cut());
      return;
    }
    std::vector<Extent> best(all);
    std::vector<std::size_t> next(all);  // per step, the choice to be tried
    std::size_t at = all;                // this step, and all from it on
    const auto begin_step_before = [&] {
      --at;
      best[at] = min_over(m_steps[at].variable, m_steps[at].tables);
      next[at] = 0;
    };
    begin_step_before();
    while (at < all) {
      const Step& step = m_steps[at];
      std::size_t& choice = m_chosen[to_index(step.variable)];
      bool is_chosen = false;
      while (!is_chosen && next[at] < choices(step.variable) && found.size() < max_cuts) {
        choice = next[at]++;
        is_chosen = sum_of(step.tables) == best[at];
      }
      if (!is_chosen) {
        choice = 0;
        ++at;
      } else if (at > 0) {
        begin_step_before();
      } else {
        found.push_back(chosen_cut());
      }
    }
  }
  [[nodiscard]] constexpr Cut chosen_cut() const {
    std::vector<int> tilings;
    for (int variable : m_variable) {
      const auto v = to_index(variable);
      tilings.push_back(m_tilings[v][m_chosen[v]]);
    }
    return m_rules.cut(std::move(tilings));
  }

  CutRules m_rules;
  std::size_t m_max_states;
  std::vector<int> m_variable;              // per tensor
  std::vector<std::vector<int>> m_tilings;  // per variable
  std::vector<Table> m_tables;
  std::vector<std::vector<int>> m_touching;  // per variable: tables
  std::vector<Step> m_steps;
  std::vector<std::size_t> m_chosen;  // per variable: a tiling; the first but in loops over points
  Extent m_bound = 0;
};

}  // namespace eindecomp::plan
