// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distributions drawn at random, and what they say of single elements, written down without the
// library's arithmetic.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "eindecomp/relation/distribution.hpp"

namespace eindecomp_tests {

/// The indices of a set, one by one.
inline std::vector<eindecomp::Extent> indices_of(const eindecomp::IndexBlocks& set) {
  std::vector<eindecomp::Extent> indices;
  for (eindecomp::Extent begin = set.first; begin < set.end; begin += set.period) {
    for (eindecomp::Extent i = begin; i < std::min(begin + set.block, set.end); ++i) {
      indices.push_back(i);
    }
  }
  return indices;
}

/// Calls visit(index in the tensor, index in the array) for every element of an array.
template <class Visit>
void for_each_element(const eindecomp::LocalArray& array, const Visit& visit) {
  std::vector<std::vector<eindecomp::Extent>> sets;
  for (const auto& set : array.indices) sets.push_back(indices_of(set));
  std::vector<eindecomp::Extent> local(sets.size(), 0);
  std::vector<eindecomp::Extent> global(sets.size(), 0);
  while (true) {
    for (std::size_t k = 0; k < sets.size(); ++k) {
      global[k] = sets[k][static_cast<std::size_t>(local[k])];
    }
    visit(global, local);
    std::size_t k = sets.size();
    while (k > 0) {
      --k;
      if (++local[k] < static_cast<eindecomp::Extent>(sets[k].size())) break;
      local[k] = 0;
      if (k == 0) return;
    }
    if (sets.empty()) return;
  }
}

/// Boxes by cutting the tensor at random again and again, dealt out at random, some to several
/// ranks.
template <class Random>
eindecomp::Distribution random_boxes(Random& random, const std::vector<eindecomp::Extent>& bound,
                                     int ranks) {
  using eindecomp::Box;
  using eindecomp::Extent;
  std::vector<Box> boxes{Box::whole(bound)};
  const auto pick = [&random](Extent n) {
    return std::uniform_int_distribution<Extent>(0, n - 1)(random);
  };
  for (Extent cuts = pick(6); cuts > 0 && !bound.empty(); --cuts) {
    const auto n = static_cast<std::size_t>(pick(static_cast<Extent>(boxes.size())));
    const auto k = static_cast<std::size_t>(pick(static_cast<Extent>(bound.size())));
    const Extent extent = boxes[n].extent(static_cast<int>(k));
    if (extent < 2) continue;
    const Extent middle = boxes[n].lo[k] + 1 + pick(extent - 1);
    Box right = boxes[n];
    right.lo[k] = middle;
    boxes[n].hi[k] = middle;
    boxes.push_back(right);
  }
  std::vector<std::vector<Box>> by_rank(static_cast<std::size_t>(ranks));
  for (const Box& box : boxes) {
    const Extent first = pick(ranks);
    by_rank[static_cast<std::size_t>(first)].push_back(box);
    const Extent second = pick(ranks);
    if (pick(3) == 0 && second != first) by_rank[static_cast<std::size_t>(second)].push_back(box);
  }
  return eindecomp::Distribution::boxes(bound, by_rank);
}

/// A distribution of any kind.
template <class Random>
eindecomp::Distribution random_distribution(Random& random,
                                            const std::vector<eindecomp::Extent>& bound,
                                            int ranks) {
  using eindecomp::Distribution;
  using eindecomp::Extent;
  const auto pick = [&random](Extent n) {
    return std::uniform_int_distribution<Extent>(0, n - 1)(random);
  };
  switch (bound.empty() ? pick(2) : pick(4)) {
    case 0:
      return random_boxes(random, bound, ranks);
    case 1: {
      std::vector<int> holders;
      for (int r = 0; r < ranks; ++r) {
        if (pick(2) == 0) holders.push_back(r);
      }
      return Distribution::replicated(bound, ranks, holders);
    }
    case 2: {
      constexpr eindecomp::Split kinds[] = {eindecomp::Split::longer_first, eindecomp::Split::floor,
                                            eindecomp::Split::ceiling};
      return Distribution::split(bound, static_cast<int>(pick(static_cast<Extent>(bound.size()))),
                                 ranks, kinds[pick(3)]);
    }
    default: {
      std::vector<eindecomp::CyclicDimension> dimensions;
      int left = ranks;
      for (std::size_t k = 0; k < bound.size(); ++k) {
        const int processes = static_cast<int>(1 + pick(left));
        left /= processes;
        dimensions.push_back({1 + pick(4), processes, static_cast<int>(pick(processes))});
      }
      const auto order =
          pick(2) == 0 ? eindecomp::GridOrder::row_major : eindecomp::GridOrder::column_major;
      const Distribution dealt = Distribution::block_cyclic(bound, dimensions, ranks, order);
      return pick(2) == 0 ? dealt : dealt.column_major();
    }
  }
}

}  // namespace eindecomp_tests
