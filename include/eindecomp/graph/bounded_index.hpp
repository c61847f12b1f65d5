// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Indices that are divided, or taken back into the tensor where they leave it: which elements are
/// read, and for which indices each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/operand_index.hpp"
#include "eindecomp/graph/vertex.hpp"

namespace eindecomp::graph {

/// The greatest integer that is not above a / b; b is positive.
[[nodiscard]] constexpr Extent floor_div(Extent a, Extent b) { return a / b - (a % b < 0 ? 1 : 0); }
/// The remainder of that, from 0 to b - 1.
[[nodiscard]] constexpr Extent floor_mod(Extent a, Extent b) { return a - b * floor_div(a, b); }

/// How many intervals of a dimension are read at most under an index: two where it may pass from
/// the last element to the first.
[[nodiscard]] constexpr int interval_count(const OperandIndex& index) {
  return index.boundary == Boundary::periodic ? 2 : 1;
}
/// How many boxes of its tensor the calls of one block read of an operand at most.
[[nodiscard]] constexpr int piece_count(const Operand& operand) {
  int pieces = 1;
  for (const OperandIndex& index : operand.indices) pieces *= interval_count(index);
  return pieces;
}
/// Of a piece of an operand, the interval of the first dimension; leaves the number of the piece
/// of the other dimensions.
[[nodiscard]] constexpr int take_interval(const OperandIndex& index, int& piece) {
  const int intervals = interval_count(index);
  const int interval = piece % intervals;
  piece /= intervals;
  return interval;
}

/// The element that is read at an index beyond an end where the tensor is reflected there.
[[nodiscard]] constexpr Extent reflected(Extent index, Extent bound) {
  if (bound == 1) return 0;
  const Extent at = floor_mod(index, 2 * (bound - 1));
  return at < bound ? at : 2 * (bound - 1) - at;
}
/// The elements read at indices of a range where the tensor is reflected at its ends.
[[nodiscard]] constexpr IndexRange reflected(const IndexRange& range, Extent bound) {
  if (bound == 1) return {0, 1};
  const Extent period = 2 * (bound - 1);
  const auto passes = [&](Extent end) {  // one of the indices at which that end is read
    return floor_div(range.hi - 1 - end, period) > floor_div(range.lo - 1 - end, period);
  };
  const Extent a = reflected(range.lo, bound);
  const Extent b = reflected(range.hi - 1, bound);
  return {passes(0) ? 0 : std::min(a, b), (passes(bound - 1) ? bound - 1 : std::max(a, b)) + 1};
}

/// The elements of a dimension that are read at indices of a range, before they are divided; empty
/// where hi <= lo.
/// \param bound     of the dimension
/// \param interval  which of interval_count(index), that do not overlap
[[nodiscard]] constexpr IndexRange read_range(const OperandIndex& index, const IndexRange& range,
                                              Extent bound, int interval) {
  const Extent length = range.hi - range.lo;
  switch (index.boundary) {
    case Boundary::periodic: {
      if (length >= bound) return interval == 0 ? IndexRange{0, bound} : IndexRange{0, 0};
      const Extent first = floor_mod(range.lo, bound);
      return interval == 0 ? IndexRange{first, std::min(first + length, bound)}
                           : IndexRange{0, std::max<Extent>(first + length - bound, 0)};
    }
    case Boundary::clamp:
      return {std::clamp<Extent>(range.lo, 0, bound - 1),
              std::clamp<Extent>(range.hi - 1, 0, bound - 1) + 1};
    case Boundary::reflect:
      return reflected(range, bound);
    case Boundary::ignored:
    case Boundary::zero:
      break;
  }
  // From the first quotient on that is whole to the last one.
  return {std::max<Extent>(-floor_div(-range.lo, index.divisor), 0),
          std::min(floor_div(range.hi - 1, index.divisor) + 1, bound)};
}

/// Neighbouring elements of a dimension, and the indices at which they are read.
struct IndexRun {
  IndexRange read;     ///< the elements
  IndexRange indices;  ///< from the first to the last
  /// From one element's index to the next one's; -1: backwards; 0: one element at all of them.
  Extent step = 1;
};

/// The runs of a dimension that are read at indices of a range, before they are divided. At other
/// indices of the range nothing of the tensor is read.
[[nodiscard]] inline std::vector<IndexRun> index_runs(const OperandIndex& index,
                                                      const IndexRange& range, Extent bound) {
  std::vector<IndexRun> runs;
  const auto add = [&](Extent lo, Extent hi, Extent first, Extent step) {
    lo = std::max(lo, range.lo);
    hi = std::min(hi, range.hi);
    if (lo >= hi) return;
    const Extent a = first + step * lo;
    const Extent b = first + step * (hi - 1);
    runs.push_back({{std::min(a, b), std::max(a, b) + 1}, {lo, hi}, step});
  };
  switch (index.boundary) {
    case Boundary::periodic:
      for (Extent turn = floor_div(range.lo, bound) * bound; turn < range.hi; turn += bound) {
        add(turn, turn + bound, -turn, 1);
      }
      return runs;
    case Boundary::clamp:
      add(range.lo, 0, 0, 0);
      add(0, bound, 0, 1);
      add(bound, range.hi, bound - 1, 0);
      return runs;
    case Boundary::reflect: {
      if (bound == 1) {
        add(range.lo, range.hi, 0, 0);
        return runs;
      }
      const Extent length = bound - 1;
      for (Extent turn = floor_div(range.lo, length); turn * length < range.hi; ++turn) {
        const bool forwards = floor_mod(turn, 2) == 0;
        add(turn * length, (turn + 1) * length, forwards ? -turn * length : (turn + 1) * length,
            forwards ? 1 : -1);
      }
      return runs;
    }
    case Boundary::ignored:
    case Boundary::zero:
      break;
  }
  const IndexRange read = read_range(index, range, bound, 0);
  if (read.lo < read.hi) {
    runs.push_back(
        {read, {read.lo * index.divisor, (read.hi - 1) * index.divisor + 1}, index.divisor});
  }
  return runs;
}

}  // namespace eindecomp::graph
