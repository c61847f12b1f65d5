// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The cheapest order to join many operands two at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"

namespace eindecomp::detail {

/// Sets of labels of one statement, a bit each.
using LabelSet = std::uint64_t;
inline constexpr int max_ordered_labels = 64;

/// An order of binary joins: operands are numbered 0 … n-1, the result of pair k is n + k. Without
/// pairs if every order has an intermediate of more dimensions than a tensor may have.
struct ContractionOrder {
  std::vector<std::pair<int, int>> pairs;
  double cost = 0;  ///< scalar operations, plus the elements of every intermediate
};

/// The number of points of the index space of some labels, as a double: only compared.
[[nodiscard]] constexpr double volume(LabelSet labels, const std::vector<Extent>& extents) {
  double v = 1;
  for (std::size_t l = 0; l < extents.size(); ++l) {
    if ((labels >> l & 1U) != 0) v *= static_cast<double>(extents[l]);
  }
  return v;
}

/// Exact, by dynamic programming over subsets: 3^n steps for n operands.
[[nodiscard]] constexpr ContractionOrder subset_order(const std::vector<LabelSet>& operands,
                                                      LabelSet output,
                                                      const std::vector<Extent>& extents) {
  const std::size_t n = operands.size();
  const std::size_t all = (std::size_t{1} << n) - 1;
  // What a subset's join leaves: labels that the output or an operand outside still needs.
  std::vector<LabelSet> left(all + 1, 0);
  for (std::size_t s = 1; s <= all; ++s) {
    LabelSet inside = 0;
    LabelSet outside = output;
    for (std::size_t o = 0; o < n; ++o) ((s >> o & 1U) != 0 ? inside : outside) |= operands[o];
    left[s] = inside & outside;
  }
  std::vector<double> best(all + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> split(all + 1, 0);
  for (std::size_t o = 0; o < n; ++o) {
    best[std::size_t{1} << o] = 0;
    left[std::size_t{1} << o] = operands[o];
  }
  for (std::size_t s = 1; s <= all; ++s) {
    if (std::popcount(left[s]) > max_rank) continue;
    // Each split once: the lowest operand stays in the first half.
    const std::size_t lowest = s & (~s + 1);
    for (std::size_t a = (s - 1) & s; a != 0; a = (a - 1) & s) {
      if ((a & lowest) == 0) continue;
      const std::size_t b = s ^ a;
      const double cost =
          best[a] + best[b] + volume(left[a] | left[b], extents) + volume(left[s], extents);
      if (cost < best[s]) {
        best[s] = cost;
        split[s] = a;
      }
    }
  }
  ContractionOrder order;
  order.cost = best[all];
  if (order.cost == std::numeric_limits<double>::infinity()) return order;
  // Subsets are joined smaller first, so that a pair's halves stand before it.
  const auto join = [&](const auto& self, std::size_t s) -> int {
    if ((s & (s - 1)) == 0) {
      int o = 0;
      while ((s >> o & 1U) == 0) ++o;
      return o;
    }
    const int a = self(self, split[s]);
    const int b = self(self, s ^ split[s]);
    order.pairs.emplace_back(a, b);
    return static_cast<int>(n + order.pairs.size()) - 1;
  };
  join(join, all);
  return order;
}

/// For more operands than 3^n allows: always the cheapest next pair.
[[nodiscard]] constexpr ContractionOrder greedy_order(const std::vector<LabelSet>& operands,
                                                      LabelSet output,
                                                      const std::vector<Extent>& extents) {
  ContractionOrder order;
  std::vector<LabelSet> sets = operands;
  std::vector<int> open;
  for (std::size_t o = 0; o < operands.size(); ++o) open.push_back(static_cast<int>(o));
  const auto set_of = [&sets](int o) { return sets[static_cast<std::size_t>(o)]; };
  while (open.size() > 1) {
    double best = std::numeric_limits<double>::infinity();
    std::size_t best_a = 0;
    std::size_t best_b = 1;
    LabelSet best_left = 0;
    for (std::size_t a = 0; a < open.size(); ++a) {
      for (std::size_t b = a + 1; b < open.size(); ++b) {
        LabelSet outside = output;
        for (std::size_t c = 0; c < open.size(); ++c) {
          if (c != a && c != b) outside |= set_of(open[c]);
        }
        const LabelSet joined = set_of(open[a]) | set_of(open[b]);
        if (std::popcount(joined & outside) > max_rank) continue;
        const double cost = volume(joined, extents) + volume(joined & outside, extents);
        if (cost < best) {
          best = cost;
          best_a = a;
          best_b = b;
          best_left = joined & outside;
        }
      }
    }
    order.cost += best;
    if (best == std::numeric_limits<double>::infinity()) {
      order.pairs.clear();
      return order;
    }
    order.pairs.emplace_back(open[best_a], open[best_b]);
    open[best_a] = static_cast<int>(sets.size());
    sets.push_back(best_left);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(best_b));
  }
  return order;
}

/// The order in which to join operands two at a time, each label gone as soon as nothing needs it.
[[nodiscard]] constexpr ContractionOrder contraction_order(const std::vector<LabelSet>& operands,
                                                           LabelSet output,
                                                           const std::vector<Extent>& extents) {
  constexpr std::size_t exact_up_to = 10;
  // No ?: here: g++ 12 mistakes its temporaries in constant expressions.
  if (operands.size() <= exact_up_to) return subset_order(operands, output, extents);
  return greedy_order(operands, output, extents);
}

}  // namespace eindecomp::detail
