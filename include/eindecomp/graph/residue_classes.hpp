// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which values of labels make divided indices whole, as those of convolutions transposed: class by
/// class of remainders, so that nothing is computed of what is between elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/bounded_index.hpp"
#include "eindecomp/graph/tuning.hpp"
#include "eindecomp/graph/vertex.hpp"

namespace eindecomp::graph {

/// Values of some labels, a period of each, one combination after another.
class Remainders {
 public:
  /// \param labels  positions in L
  /// \param lo, hi  per label, where values begin and end
  constexpr Remainders(const std::vector<int>& labels, const std::vector<Extent>& periods,
                       const std::vector<Extent>& lo, const std::vector<Extent>& hi)
      : m_lo(lo) {
    for (const int label : labels) {
      const auto l = static_cast<std::size_t>(label);
      if (periods[l] == 1) continue;
      m_labels.push_back(l);
      m_count.push_back(std::min(periods[l], hi[l] - lo[l]));
    }
  }

  /// The number of combinations.
  [[nodiscard]] constexpr Extent count() const {
    Extent n = 1;
    for (const Extent count : m_count) n *= count;
    return n;
  }
  /// Sets the labels to the first combination.
  constexpr void begin(std::vector<Extent>& values) const {
    for (const std::size_t l : m_labels) values[l] = m_lo[l];
  }
  /// Goes to the next combination, the first label the fastest. \returns false after the last.
  constexpr bool advance(std::vector<Extent>& values) const {
    for (std::size_t k = 0; k < m_labels.size(); ++k) {
      const std::size_t l = m_labels[k];
      if (++values[l] < m_lo[l] + m_count[k]) return true;
      values[l] = m_lo[l];
    }
    return false;
  }

 private:
  const std::vector<Extent>& m_lo;
  std::vector<std::size_t> m_labels;
  std::vector<Extent> m_count;
};

/// Whether all divided indices are whole at these values of labels.
[[nodiscard]] constexpr bool are_whole(const Vertex& v, const std::vector<Extent>& values) {
  for (const Operand& operand : v.operands) {
    for (const OperandIndex& index : operand.indices) {
      Extent at = index.offset;
      for (const OperandIndex::Term& term : index.terms) {
        at += term.coefficient * values[static_cast<std::size_t>(term.label)];
      }
      if (at % index.divisor != 0) return false;
    }
  }
  return true;
}

/// Whether a divided index of an operand that does not absorb is whole wherever one of an operand
/// that does is.
[[nodiscard]] constexpr bool is_whole_with_others(const Vertex& v, const OperandIndex& index) {
  for (const Operand& other : v.operands) {
    for (const OperandIndex& like : other.indices) {
      if (other.absorbing && like.terms == index.terms && like.divisor == index.divisor &&
          (like.offset - index.offset) % index.divisor == 0) {
        return true;
      }
    }
  }
  return false;
}

/// Vertex::periods of a statement whose operands, output and aggregated labels are known. Empty
/// where joins count whose indices are not whole, where ⊕ has no identity to write, where some
/// element has joins of several classes, and where there are too many.
[[nodiscard]] constexpr std::vector<Extent> residue_periods(const Vertex& v) {
  std::vector<Extent> periods(v.labels.size(), 1);
  bool divided = false;
  Extent combinations = 1;
  for (const Operand& operand : v.operands) {
    for (const OperandIndex& index : operand.indices) {
      if (index.divisor == 1) continue;
      divided = true;
      if (!operand.absorbing && !is_whole_with_others(v, index)) return {};
      for (const OperandIndex::Term& term : index.terms) {
        Extent& period = periods[static_cast<std::size_t>(term.label)];
        const Extent own = index.divisor / std::gcd(index.divisor, term.coefficient);
        if (own > tuning::max_remainders) return {};
        combinations /= period;
        period = std::lcm(period, own);
        combinations *= period;
        if (combinations > tuning::max_remainders) return {};
      }
    }
  }
  if (!divided || v.aggregated.empty() || v.op.index_tensors > 0 || v.op.blocks) return {};
  // A period from 0 on, whatever values there are: blocks may begin anywhere.
  std::vector<Extent> values(v.labels.size(), 0);
  const std::vector<Extent> lo = values;
  const Remainders outputs(v.output, periods, lo, periods);
  const Remainders aggregated(v.aggregated, periods, lo, periods);
  if (outputs.count() > tuning::max_residue_classes) return {};
  do {
    int found = 0;
    aggregated.begin(values);
    do {
      if (are_whole(v, values) && ++found > 1) return {};
    } while (aggregated.advance(values));
  } while (outputs.advance(values));
  return periods;
}

/// Visits what a call of a statement with periods computes, class by class: visit(lo, hi), with lo
/// the first value of each label, of which there are hi - lo, each a period after the one before.
/// Of elements without joins there are no values of aggregated labels.
/// \param lo, hi  per label, what the call's domain is
template <class Visit>
constexpr void for_each_residue_class(const Vertex& v, const std::vector<Extent>& lo,
                                      const std::vector<Extent>& hi, const Visit& visit) {
  const Remainders outputs(v.output, v.periods, lo, hi);
  const Remainders aggregated(v.aggregated, v.periods, lo, hi);
  std::vector<Extent> first = lo;
  std::vector<Extent> end = hi;
  const auto take = [&](int label, bool any) {
    const auto l = static_cast<std::size_t>(label);
    const Extent values = (hi[l] - first[l] - 1) / v.periods[l] + 1;
    end[l] = first[l] + (any ? values : 0);
  };
  do {
    bool whole = false;
    aggregated.begin(first);
    do {
      whole = are_whole(v, first);
    } while (!whole && aggregated.advance(first));
    for (const int l : v.output) take(l, true);
    for (const int l : v.aggregated) take(l, whole);
    visit(first, end);
  } while (outputs.advance(first));
}

}  // namespace eindecomp::graph
