// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Tensors with the borders that `periodic`, `clamp` and `reflect` read around them, and the way
/// back: the cotangent of an element of a border belongs to the element that was read there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/bounded_index.hpp"

namespace eindecomp::graph {

/// A dimension of a tensor with its borders: element e is the tensor's at boundary(first + e).
struct Border {
  std::size_t dimension = 0;
  Extent bound = 1;  ///< of the tensor itself
  Extent first = 0;  ///< the least index
  Extent count = 1;  ///< how many indices
  Boundary boundary = Boundary::clamp;
};

/// Some elements of a dimension, and what of the tensor with borders they get: element to + n, for
/// n < length, the sum over t < turns of first + step · n + period · t, where there is such a one.
struct FoldPiece {
  Extent to = 0;
  Extent length = 1;
  Extent first = 0;
  Extent step = 0;
  Extent turns = 1;
  Extent period = 0;
  bool operator==(const FoldPiece&) const = default;
};

/// Of indices by clamp: the tensor itself, and an end from what is beyond it.
[[nodiscard]] inline std::vector<FoldPiece> clamped_pieces(const Border& border) {
  const Extent lo = std::clamp<Extent>(-border.first, 0, border.count);
  const Extent hi = std::clamp<Extent>(border.bound - border.first, 0, border.count);
  std::vector<FoldPiece> pieces;
  if (lo < hi) pieces.push_back({0, border.bound, -border.first, 1});
  if (lo > 0) pieces.push_back({0, 1, 0, 0, lo, 1});
  if (hi < border.count) pieces.push_back({border.bound - 1, 1, hi, 0, border.count - hi, 1});
  return pieces;
}
/// Adds the stretches of `length` indices that begin at `begin` and every `period` before and
/// behind it, and that are read forwards from element 0 on, or backwards up to element 1. Those
/// that are read as a whole are one piece.
inline void add_stretches(std::vector<FoldPiece>& pieces, const Border& border, Extent period,
                          Extent begin, Extent length, bool forwards) {
  const Extent end = border.first + border.count;
  const Extent last = floor_div(end - 1 - begin, period);
  for (Extent k = floor_div(border.first - begin, period); k <= last; ++k) {
    const Extent at = begin + k * period;
    const Extent lo = std::max(at, border.first);
    const Extent hi = std::min(at + length, end);
    if (lo >= hi) continue;
    const bool whole = hi - lo == length;
    const Extent turns = whole ? (end - at - length) / period + 1 : 1;
    const Extent to_next = turns > 1 ? period : 0;
    if (forwards) {
      pieces.push_back({0, length, at - border.first, 1, turns, to_next});
    } else {
      pieces.push_back({1 + at + length - hi, hi - lo, hi - 1 - border.first, -1, turns, to_next});
    }
    k += turns - 1;
  }
}
/// What makes up a dimension's elements. No two pieces have an element of the tensor with borders,
/// and each is in one.
[[nodiscard]] inline std::vector<FoldPiece> fold_pieces(const Border& border) {
  if (border.bound == 1) return {{0, 1, 0, 0, border.count, 1}};
  if (border.boundary == Boundary::clamp) return clamped_pieces(border);
  std::vector<FoldPiece> pieces;
  if (border.boundary == Boundary::periodic) {
    add_stretches(pieces, border, border.bound, 0, border.bound, true);
    return pieces;
  }
  const Extent period = 2 * (border.bound - 1);
  add_stretches(pieces, border, period, 0, border.bound, true);
  // Backwards without the ends.
  if (border.bound > 2) {
    add_stretches(pieces, border, period, border.bound, border.bound - 2, false);
  }
  return pieces;
}

}  // namespace eindecomp::graph
