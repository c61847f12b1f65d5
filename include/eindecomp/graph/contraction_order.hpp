// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The cheapest order to join many operands two at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/tuning.hpp"

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
/// needs it: by dynamic programming over subsets, in 3^n steps for n operands.
[[nodiscard]] constexpr ContractionOrder exact_order(const std::vector<LabelSet>& operands,
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

/// The order of exact_order for up to tuning::max_exactly_ordered operands. Of more, the two whose
/// join takes the least are joined first until so many are left.
[[nodiscard]] constexpr ContractionOrder contraction_order(std::vector<LabelSet> operands,
                                                           LabelSet output,
                                                           const std::vector<Extent>& extents) {
  std::vector<int> number;  // of each operand that is left
  for (std::size_t o = 0; o < operands.size(); ++o) number.push_back(static_cast<int>(o));
  int next = static_cast<int>(operands.size());
  ContractionOrder order;
  while (operands.size() > tuning::max_exactly_ordered) {
    std::size_t best_a = 0;
    std::size_t best_b = 0;
    LabelSet best_left = 0;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < operands.size(); ++a) {
      for (std::size_t b = a + 1; b < operands.size(); ++b) {
        LabelSet outside = output;
        for (std::size_t o = 0; o < operands.size(); ++o) {
          if (o != a && o != b) outside |= operands[o];
        }
        const LabelSet joined = operands[a] | operands[b];
        const LabelSet left = joined & outside;
        const double cost = volume(joined, extents) + volume(left, extents) -
                            volume(operands[a], extents) - volume(operands[b], extents);
        if (std::popcount(left) > max_rank || cost >= best) continue;
        best = cost;
        best_a = a;
        best_b = b;
        best_left = left;
      }
    }
    if (best_b == 0) return {{}, best};
    order.pairs.emplace_back(number[best_a], number[best_b]);
    order.cost += volume(operands[best_a] | operands[best_b], extents) + volume(best_left, extents);
    operands[best_a] = best_left;
    number[best_a] = next++;
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(best_b));
    number.erase(number.begin() + static_cast<std::ptrdiff_t>(best_b));
  }
  ContractionOrder rest = exact_order(operands, output, extents);
  if (rest.pairs.empty()) return rest;
  const int left = static_cast<int>(operands.size());
  const int joined = next - left;  // what the rest numbers from `left` on is so much higher here
  const auto renumbered = [&](int n) {
    return n < left ? number[static_cast<std::size_t>(n)] : n + joined;
  };
  for (const auto& [a, b] : rest.pairs) order.pairs.emplace_back(renumbered(a), renumbered(b));
  order.cost += rest.cost;
  return order;
}

}  // namespace eindecomp::graph
