// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Half-open boxes of tensor indices: what a block holds, what a kernel call needs.
#pragma once

#include <algorithm>
#include <vector>

#include "eindecomp/core/types.hpp"

namespace eindecomp {

/// The key of a block: one part number per dimension.
using BlockKey = std::vector<Extent>;

/// The indices lo <= i < hi of a tensor, dimension by dimension. Of rank 0: the one element.
struct Box {
  std::vector<Extent> lo;  ///< per dimension, the first index
  std::vector<Extent> hi;  ///< per dimension, one past the last index

  constexpr bool operator==(const Box&) const = default;

  /// All of a tensor.
  [[nodiscard]] static constexpr Box whole(const std::vector<Extent>& bound) {
    return {std::vector<Extent>(bound.size(), 0), bound};
  }

  /// The number of dimensions.
  [[nodiscard]] constexpr int rank() const { return static_cast<int>(lo.size()); }
  /// The number of indices along dimension k; not positive if there are none.
  [[nodiscard]] constexpr Extent extent(int k) const {
    return hi[static_cast<std::size_t>(k)] - lo[static_cast<std::size_t>(k)];
  }
  /// The same of all dimensions.
  [[nodiscard]] constexpr std::vector<Extent> extents() const {
    std::vector<Extent> all(lo.size());
    for (std::size_t k = 0; k < lo.size(); ++k) all[k] = hi[k] - lo[k];
    return all;
  }
  [[nodiscard]] constexpr bool empty() const {
    for (std::size_t k = 0; k < lo.size(); ++k) {
      if (hi[k] <= lo[k]) return true;
    }
    return false;
  }
  /// The number of elements.
  [[nodiscard]] constexpr Extent size() const {
    Extent n = 1;
    for (std::size_t k = 0; k < lo.size(); ++k) n *= std::max<Extent>(hi[k] - lo[k], 0);
    return n;
  }
  /// Whether all of another box of the same rank lies in this one.
  [[nodiscard]] constexpr bool contains(const Box& other) const {
    for (std::size_t k = 0; k < lo.size(); ++k) {
      if (other.lo[k] < lo[k] || other.hi[k] > hi[k]) return false;
    }
    return true;
  }
};

/// Whether a box has indices outside of a tensor with that bound.
[[nodiscard]] constexpr bool leaves(const Box& box, const std::vector<Extent>& bound) {
  for (std::size_t k = 0; k < bound.size(); ++k) {
    if (box.lo[k] < 0 || box.hi[k] > bound[k]) return true;
  }
  return false;
}

/// Whether the elements of `part` follow one another in row-major order without gaps where all of
/// `whole`, which contains it, does.
[[nodiscard]] constexpr bool is_contiguous(const Box& part, const Box& whole) {
  bool inner = true;  // whether all dimensions so far are whole
  for (int k = part.rank() - 1; k >= 0; --k) {
    if (!inner && part.extent(k) != 1) return false;
    inner = inner && part.extent(k) == whole.extent(k);
  }
  return true;
}

/// The indices in both, possibly empty.
[[nodiscard]] constexpr Box intersect(const Box& a, const Box& b) {
  Box both = a;
  for (std::size_t k = 0; k < a.lo.size(); ++k) {
    both.lo[k] = std::max(a.lo[k], b.lo[k]);
    both.hi[k] = std::min(a.hi[k], b.hi[k]);
  }
  return both;
}

namespace relation {

/// The smallest box with the indices of both, neither of which is empty.
[[nodiscard]] constexpr Box hull(const Box& a, const Box& b) {
  Box all = a;
  for (std::size_t k = 0; k < a.lo.size(); ++k) {
    all.lo[k] = std::min(a.lo[k], b.lo[k]);
    all.hi[k] = std::max(a.hi[k], b.hi[k]);
  }
  return all;
}

/// Appends the indices of `from` that are not in `hole`, as disjoint boxes.
constexpr void subtract(const Box& from, const Box& hole, std::vector<Box>& rest) {
  const Box both = intersect(from, hole);
  if (both.empty()) {
    if (!from.empty()) rest.push_back(from);
    return;
  }
  Box left = from;
  for (std::size_t k = 0; k < from.lo.size(); ++k) {
    if (left.lo[k] < both.lo[k]) {
      Box below = left;
      below.hi[k] = both.lo[k];
      rest.push_back(below);
      left.lo[k] = both.lo[k];
    }
    if (both.hi[k] < left.hi[k]) {
      Box above = left;
      above.lo[k] = both.hi[k];
      rest.push_back(above);
      left.hi[k] = both.hi[k];
    }
  }
}

/// Part i of a dimension of extent b cut into d parts: [i·b/d, (i+1)·b/d), rounded down, so that
/// parts nest when one d divides another.
[[nodiscard]] constexpr Extent part_begin(Extent b, Extent d, Extent i) {
  return i * (b / d) + i * (b % d) / d;  // as i·b/d, without its overflow
}

}  // namespace relation

/// The parts of a box of which dimension k is cut into counts[k], in row-major order.
[[nodiscard]] constexpr std::vector<Box> parts_of_box(const Box& box,
                                                      const std::vector<Extent>& counts) {
  Extent number = 1;
  for (const Extent count : counts) number *= count;
  std::vector<Box> parts(static_cast<std::size_t>(number), box);
  for (Extent n = 0; n < number; ++n) {
    Box& part = parts[static_cast<std::size_t>(n)];
    Extent rest = n;
    for (std::size_t k = counts.size(); k-- > 0; rest /= counts[k]) {
      const Extent extent = box.hi[k] - box.lo[k];
      part.lo[k] = box.lo[k] + relation::part_begin(extent, counts[k], rest % counts[k]);
      part.hi[k] = box.lo[k] + relation::part_begin(extent, counts[k], rest % counts[k] + 1);
    }
  }
  return parts;
}

}  // namespace eindecomp
