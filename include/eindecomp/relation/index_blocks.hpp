// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Equal blocks of a dimension, a period apart: what a block-cyclic distribution leaves of it to
/// one process. Two such sets meet in closed form or in a walk over what they share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "eindecomp/core/types.hpp"

namespace eindecomp {

/// The indices first + q·period + o of a dimension with 0 <= o < block, those from `end` on left
/// out. In an array that holds them they follow one another.
struct IndexBlocks {
  Extent first = 0;   ///< the first index
  Extent block = 1;   ///< indices in a row
  Extent period = 1;  ///< from the begin of a block to that of the next; at least `block`
  Extent end = 0;     ///< one past the last index

  constexpr bool operator==(const IndexBlocks&) const = default;

  /// lo <= i < hi. No indices if hi <= lo.
  [[nodiscard]] static constexpr IndexBlocks interval(Extent lo, Extent hi) {
    return cyclic(lo, hi - lo, hi - lo, hi);
  }
  /// Blocks from `first` on, as many as a dimension of that extent has. Equal sets compare equal.
  [[nodiscard]] static constexpr IndexBlocks cyclic(Extent first, Extent block, Extent period,
                                                    Extent extent) {
    if (first >= extent) return {};
    const Extent begun = (extent - 1 - first) / period * period;  // of the last block, from `first`
    const Extent end = std::min(extent, first + begun + block);
    if (begun == 0 || block == period) return {first, end - first, end - first, end};
    return {first, block, period, end};
  }

  /// The number of indices.
  [[nodiscard]] constexpr Extent size() const { return end <= first ? 0 : position(end - 1) + 1; }
  /// Whether the indices follow one another.
  [[nodiscard]] constexpr bool is_interval() const { return end - first <= block; }
  /// How many indices of the set come before one that is in it.
  [[nodiscard]] constexpr Extent position(Extent index) const {
    return (index - first) / period * block + (index - first) % period;
  }
  /// The first index of the set that is not less than `index`, which is not less than `first`;
  /// where there is none, one not less than `end`.
  [[nodiscard]] constexpr Extent next(Extent index) const {
    const Extent offset = (index - first) % period;
    return offset < block ? index : index - offset + period;
  }
  /// One past the last index of the block that holds `index`.
  [[nodiscard]] constexpr Extent block_end(Extent index) const {
    return std::min(index - (index - first) % period + block, end);
  }
};

namespace relation {

/// Runs of indices that two sets share: `count` runs of `length` indices each. Run n begins at the
/// position a + n·a_step of one set and b + n·b_step of the other.
struct SharedRuns {
  Extent length = 0;  ///< of each run
  Extent count = 1;   ///< runs
  Extent a = 0;       ///< where the first run begins in the first set
  Extent b = 0;       ///< in the second
  Extent a_step = 0;  ///< from run to run in the first set
  Extent b_step = 0;  ///< in the second

  constexpr bool operator==(const SharedRuns&) const = default;
  /// The number of indices.
  [[nodiscard]] constexpr Extent size() const { return length * count; }
};

/// Whether blocks of two sets would meet somewhere if both went on for ever.
[[nodiscard]] constexpr bool phases_meet(const IndexBlocks& a, const IndexBlocks& b) {
  const Extent common = std::gcd(a.period, b.period);
  const Extent shift = ((b.first - a.first) % common + common) % common;
  return shift < a.block || common - shift < b.block;
}

/// Where two sets may meet.
struct SharedRange {
  Extent begin = 0;
  Extent end = 0;
};
[[nodiscard]] constexpr SharedRange shared_range(const IndexBlocks& a, const IndexBlocks& b) {
  const SharedRange range{std::max(a.first, b.first), std::min(a.end, b.end)};
  if (!a.is_interval() && !b.is_interval() && !phases_meet(a, b)) return {};
  return range;
}

/// Calls visit(first, last) for the runs that both sets have in the range, in order, each as long
/// as the blocks allow. Passes over what either lacks in one step.
template <class Visit>
constexpr void for_each_shared_run(const IndexBlocks& a, const IndexBlocks& b,
                                   const SharedRange& range, const Visit& visit) {
  Extent i = range.begin;
  while (i < range.end) {
    const Extent in_a = a.next(i);
    if (in_a >= range.end) return;
    i = b.next(in_a);
    if (i != in_a) continue;
    const Extent last = std::min({a.block_end(i), b.block_end(i), range.end});
    visit(i, last);
    i = last;
  }
}

/// How many indices two sets share. Looks at the blocks of one common period.
[[nodiscard]] constexpr Extent shared_size(const IndexBlocks& a, const IndexBlocks& b) {
  const SharedRange range = shared_range(a, b);
  const auto count = [&](Extent begin, Extent end) {
    Extent size = 0;
    for_each_shared_run(a, b, {begin, end},
                        [&size](Extent first, Extent last) { size += last - first; });
    return size;
  };
  // What an interval has is cut off by the range; what remains of it recurs with any period.
  const Extent of_a = a.is_interval() ? b.period : a.period;
  const Extent of_b = b.is_interval() ? a.period : b.period;
  const Extent length = range.end - range.begin;
  if (length <= 0) return 0;
  if (a.is_interval() && b.is_interval()) return length;
  const Extent common = of_a / std::gcd(of_a, of_b);
  if (common > length / of_b) return count(range.begin, range.end);
  const Extent periods = length / (common * of_b);
  const Extent rest = range.begin + periods * common * of_b;
  return periods * count(range.begin, range.begin + common * of_b) + count(rest, range.end);
}

/// The indices that two sets share, in order: few entries where both are regular, however many
/// blocks they have.
[[nodiscard]] constexpr std::vector<SharedRuns> shared_runs(const IndexBlocks& a,
                                                            const IndexBlocks& b) {
  std::vector<SharedRuns> runs;
  for_each_shared_run(a, b, shared_range(a, b), [&](Extent first, Extent last) {
    SharedRuns next{last - first, 1, a.position(first), b.position(first)};
    if (!runs.empty()) {
      SharedRuns& back = runs.back();
      if (back.count == 1 && back.a + back.length == next.a && back.b + back.length == next.b) {
        back.length += next.length;
        return;
      }
      if (back.length == next.length) {
        if (back.count == 1) {
          back.a_step = next.a - back.a;
          back.b_step = next.b - back.b;
        }
        if (back.a + back.count * back.a_step == next.a &&
            back.b + back.count * back.b_step == next.b) {
          ++back.count;
          return;
        }
        if (back.count == 1) back.a_step = back.b_step = 0;
      }
    }
    runs.push_back(next);
  });
  return runs;
}

}  // namespace relation
}  // namespace eindecomp
