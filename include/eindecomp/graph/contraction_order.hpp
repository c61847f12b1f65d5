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

namespace eindecomp::graph {

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

/// The cheapest order in which to join operands two at a time, each label gone as soon as nothing
/// needs it: by dynamic programming over subsets, in 3^n steps for n operands, of which a statement
/// has at most max_operands.
[[nodiscard]] constexpr ContractionOrder contraction_order(const std::vector<LabelSet>& operands,
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

}  // namespace eindecomp::graph
