// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which values of labels a statement need not compute: where comparisons of labels make it 0,
/// where tensors that it reads are 0 for that reason, and where no reader looks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/bounded_index.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/operand_index.hpp"

namespace eindecomp::graph {

/// A condition: that an index is not negative.
using Condition = OperandIndex;

/// Cuts a domain down to where a condition may hold.
/// \param domain  has lo and hi, per label where values begin and end
/// \param may_cut  may_cut(label)
/// \returns false if it holds nowhere; the domain may then be anything
template <class Domain, class MayCut>
[[nodiscard]] constexpr bool tighten(const Condition& condition, Domain& domain,
                                     const MayCut& may_cut) {
  const auto lo = [&](int l) -> Extent& { return domain.lo[static_cast<std::size_t>(l)]; };
  const auto hi = [&](int l) -> Extent& { return domain.hi[static_cast<std::size_t>(l)]; };
  if (index_range(condition, lo, hi).hi <= 0) return false;
  for (const Condition::Term& term : condition.terms) {
    if (term.coefficient == 0 || !may_cut(term.label)) continue;
    // What the others are at most.
    Extent most = condition.offset;
    for (const Condition::Term& other : condition.terms) {
      if (other.label == term.label) continue;
      most +=
          std::max(other.coefficient * lo(other.label), other.coefficient * (hi(other.label) - 1));
    }
    if (term.coefficient > 0) {
      lo(term.label) = std::max(lo(term.label), -floor_div(most, term.coefficient));
    } else {
      hi(term.label) = std::min(hi(term.label), floor_div(most, -term.coefficient) + 1);
    }
    if (hi(term.label) <= lo(term.label)) return false;
  }
  return true;
}

/// The masks of all statements of a graph: what follows from Vertex::mask of one for the others,
/// whose ⊗ 0 annihilates or whose results are multiplied by 0 or not looked at.
class Masks {
 public:
  constexpr explicit Masks(const EinGraph& graph) {
    const auto masked = [](const Vertex& v) {
      return !v.mask.empty() || std::any_of(v.operands.begin(), v.operands.end(),
                                            [](const Operand& o) { return !o.mask.empty(); });
    };
    if (std::none_of(graph.vertices.begin(), graph.vertices.end(), masked)) return;
    find_zeros(graph);
    find_reads(graph);
    for (std::size_t s = 0; s < m_joins.size(); ++s) {
      if (!may_leave_out(graph.vertices[s])) m_joins[s].clear();
      m_any = m_any || !m_joins[s].empty();
    }
  }

  /// Whether a statement has any that its calls can make use of.
  [[nodiscard]] constexpr bool any() const { return m_any; }
  /// Conditions on the labels of a statement that aggregates, without any of which a join is the
  /// identity of ⊕, or may be taken for it.
  [[nodiscard]] constexpr const std::vector<Condition>& of(VertexId v) const {
    return any() ? m_joins[static_cast<std::size_t>(v)] : m_none;
  }

 private:
  /// Whether calls of a statement can leave out joins.
  [[nodiscard]] static constexpr bool may_leave_out(const Vertex& v) {
    return !v.aggregated.empty() && v.periods.empty() && v.scanned < 0 && v.op.index_tensors == 0 &&
           !v.op.blocks;
  }
  /// Adds the condition with other labels, in their order, or nothing if one has no other:
  /// other(label) < 0.
  template <class Other>
  static constexpr void add_renamed(std::vector<Condition>& conditions, const Condition& condition,
                                    const Other& other) {
    Condition renamed{{}, condition.offset};
    for (const Condition::Term& term : condition.terms) {
      const int label = other(term.label);
      if (label < 0) return;
      const auto at = std::find_if(renamed.terms.begin(), renamed.terms.end(),
                                   [&](const Condition::Term& t) { return t.label >= label; });
      if (at != renamed.terms.end() && at->label == label) {
        at->coefficient += term.coefficient;
      } else {
        renamed.terms.insert(at, {label, term.coefficient});
      }
    }
    add(renamed, conditions);
  }
  [[nodiscard]] static constexpr int place_of(const std::vector<int>& list, int label) {
    const auto found = std::find(list.begin(), list.end(), label);
    return found == list.end() ? -1 : static_cast<int>(found - list.begin());
  }
  static constexpr void add(const Condition& condition, std::vector<Condition>& conditions) {
    if (std::find(conditions.begin(), conditions.end(), condition) != conditions.end()) return;
    conditions.push_back(condition);
  }

  /// Goes from tensors to their readers: where joins are 0, and elements.
  constexpr void find_zeros(const EinGraph& graph) {
    m_joins.resize(graph.vertices.size());
    m_zeros.resize(graph.vertices.size());
    for (VertexId s = 0; s < graph.size(); ++s) {
      const Vertex& v = graph[s];
      if (v.is_input() || v.op.blocks) continue;
      std::vector<Condition>& joins = m_joins[static_cast<std::size_t>(s)];
      for (const Condition& own : v.mask) add_renamed(joins, own, [](int l) { return l; });
      for (const Operand& o : v.operands) {
        if (!v.op.annihilates || o.is_computed()) continue;
        for (const Condition& zero : m_zeros[static_cast<std::size_t>(o.vertex)]) {
          add_renamed(joins, zero, [&](int k) { return o.labels[static_cast<std::size_t>(k)]; });
        }
      }
      if (v.op.finishes && !v.aggregated.empty()) continue;  // elements are no accumulators
      for (const Condition& join : joins) {
        add_renamed(m_zeros[static_cast<std::size_t>(s)], join,
                    [&](int l) { return place_of(v.output, l); });
      }
    }
  }

  /// Goes from readers to what they read: where elements are multiplied by 0, or not looked at, so
  /// that 0 is as good.
  constexpr void find_reads(const EinGraph& graph) {
    std::vector<std::optional<std::vector<Condition>>> reads(graph.vertices.size());
    for (VertexId s = graph.size(); s-- > 0;) {
      const Vertex& v = graph[s];
      if (v.is_input()) continue;
      std::vector<Condition>& joins = m_joins[static_cast<std::size_t>(s)];
      const auto& own = reads[static_cast<std::size_t>(s)];
      // An operand may be left 0 where the result is not read only if ⊗ of zeros is finite.
      const bool passes_zeros = v.op.annihilates || v.op.adds;
      std::vector<Condition> unread;
      if (!v.is_result() && own && (passes_zeros || v.op.sums)) {
        for (const Condition& read : *own) {
          add_renamed(unread, read, [&](int k) { return v.output[static_cast<std::size_t>(k)]; });
        }
      }
      if (v.op.annihilates) {
        for (const Condition& join : joins) add(join, unread);
      }
      if (v.op.sums) {
        for (const Condition& read : unread) add(read, joins);
      }
      for (const Operand& o : v.operands) {
        std::vector<Condition> here;
        const auto note = [&](const Condition& condition) {
          add_renamed(here, condition, [&](int l) { return place_of(o.labels, l); });
        };
        if (!o.is_computed()) {
          if (passes_zeros) std::for_each(unread.begin(), unread.end(), note);
          std::for_each(o.mask.begin(), o.mask.end(), note);
        }
        keep_common(std::move(here), reads[static_cast<std::size_t>(o.vertex)]);
      }
    }
  }
  /// Leaves of the conditions of the readers so far those that one more has, too, or the weaker
  /// ones of the two.
  static constexpr void keep_common(std::vector<Condition>&& one_more,
                                    std::optional<std::vector<Condition>>& so_far) {
    if (!so_far) {
      so_far = std::move(one_more);
      return;
    }
    std::vector<Condition> common;
    for (Condition& condition : *so_far) {
      for (const Condition& other : one_more) {
        if (condition.terms != other.terms) continue;
        condition.offset = std::max(condition.offset, other.offset);
        add(condition, common);
        break;
      }
    }
    so_far = std::move(common);
  }

  std::vector<std::vector<Condition>> m_joins;  ///< per vertex, on its labels
  std::vector<std::vector<Condition>> m_zeros;  ///< per vertex, on its dimensions
  std::vector<Condition> m_none;
  bool m_any = false;
};

}  // namespace eindecomp::graph
