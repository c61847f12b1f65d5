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

/// After how many indices, and positions of each, blocks of two sets lie to each other as before.
struct CommonPeriod {
  Extent indices = 0;  ///< 0 if the sets do not recur within a length
  Extent a = 0;        ///< positions of the first set
  Extent b = 0;        ///< of the second
};
/// \param length  of the range that is looked at, in which an interval has all indices
[[nodiscard]] constexpr CommonPeriod common_period(const IndexBlocks& a, const IndexBlocks& b,
                                                   Extent length) {
  if (a.is_interval() && b.is_interval()) return {};
  // What an interval has is cut off by the range; what remains of it recurs with any period.
  const Extent of_a = a.is_interval() ? b.period : a.period;
  const Extent of_b = b.is_interval() ? a.period : b.period;
  const Extent times = of_a / std::gcd(of_a, of_b);
  if (times > length / of_b) return {};
  const Extent indices = times * of_b;
  const auto positions = [indices](const IndexBlocks& set) {
    return set.is_interval() ? indices : indices / set.period * set.block;
  };
  return {indices, positions(a), positions(b)};
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
  const Extent length = range.end - range.begin;
  if (length <= 0) return 0;
  if (a.is_interval() && b.is_interval()) return length;
  const CommonPeriod period = common_period(a, b, length);
  if (period.indices == 0) return count(range.begin, range.end);
  const Extent periods = length / period.indices;
  const Extent rest = range.begin + periods * period.indices;
  return periods * count(range.begin, range.begin + period.indices) + count(rest, range.end);
}

/// Lets a run go on where another ends in both sets. \returns whether it does
[[nodiscard]] constexpr bool lengthen(SharedRuns& run, const SharedRuns& next) {
  if (run.count != 1 || next.count != 1) return false;
  if (run.a + run.length != next.a || run.b + run.length != next.b) return false;
  run.length += next.length;
  return true;
}
/// Lets runs have one more. \returns whether the next is that
[[nodiscard]] constexpr bool repeat(SharedRuns& runs, const SharedRuns& next) {
  if (runs.length != next.length || next.count != 1) return false;
  if (runs.count == 1) {
    runs.a_step = next.a - runs.a;
    runs.b_step = next.b - runs.b;
  }
  if (runs.a + runs.count * runs.a_step != next.a) return false;
  if (runs.b + runs.count * runs.b_step != next.b) return false;
  ++runs.count;
  return true;
}

/// The runs that two sets share in a range, one by one in order.
[[nodiscard]] constexpr std::vector<SharedRuns> single_runs(const IndexBlocks& a,
                                                            const IndexBlocks& b,
                                                            const SharedRange& range) {
  std::vector<SharedRuns> runs;
  for_each_shared_run(a, b, range, [&](Extent first, Extent last) {
    const SharedRuns next{last - first, 1, a.position(first), b.position(first)};
    if (runs.empty() || !lengthen(runs.back(), next)) runs.push_back(next);
  });
  return runs;
}

/// A list of runs that is kept short.
class SharedRunList {
 public:
  [[nodiscard]] constexpr const std::vector<SharedRuns>& runs() const { return m_runs; }

  /// Adds a run that comes behind all others.
  constexpr void add(const SharedRuns& next) {
    if (m_runs.empty() || !(lengthen(m_runs.back(), next) || repeat(m_runs.back(), next))) {
      m_runs.push_back(next);
    }
  }
  /// Adds runs that recur so many times, period by period, in order.
  constexpr void add_in_order(const std::vector<SharedRuns>& once, const CommonPeriod& period,
                              Extent times) {
    for (Extent n = 0; n < times; ++n) {
      for (SharedRuns run : once) {
        run.a += n * period.a;
        run.b += n * period.b;
        add(run);
      }
    }
  }
  /// Adds them run by run, an entry for each, of which the first ones may have one more.
  constexpr void add_run_by_run(const std::vector<SharedRuns>& once, const CommonPeriod& period,
                                Extent times, const std::vector<SharedRuns>& rest) {
    std::vector<SharedRuns> entries;
    for (SharedRuns run : once) {
      run.count = times;
      run.a_step = period.a;
      run.b_step = period.b;
      entries.push_back(run);
    }
    std::size_t more = 0;
    while (more < std::min(rest.size(), entries.size()) && repeat(entries[more], rest[more])) {
      ++more;
    }
    m_runs.insert(m_runs.end(), entries.begin(), entries.end());
    for (; more < rest.size(); ++more) add(rest[more]);
  }

 private:
  std::vector<SharedRuns> m_runs;
};

/// The indices that two sets share: few entries where both are regular, however many blocks they
/// have. In order, or where that takes more entries, run by run of the period that both have in
/// common.
[[nodiscard]] constexpr std::vector<SharedRuns> shared_runs(const IndexBlocks& a,
                                                            const IndexBlocks& b) {
  const SharedRange range = shared_range(a, b);
  SharedRunList list;
  if (range.begin >= range.end) return {};
  // Periods begin where no block of one of the sets is cut, and so no run.
  const IndexBlocks& one = a.is_interval() ? b : a;
  const bool is_cut = (range.begin - one.first) % one.period != 0;
  const Extent begin = is_cut && one.next(range.begin) == range.begin
                           ? std::min(one.block_end(range.begin), range.end)
                           : range.begin;
  const CommonPeriod period = common_period(a, b, range.end - begin);
  const Extent times = period.indices > 0 ? (range.end - begin) / period.indices : 0;
  const Extent rest = begin + times * period.indices;
  if (times < 2) {
    for (const SharedRuns& run : single_runs(a, b, range)) list.add(run);
    return list.runs();
  }
  for (const SharedRuns& run : single_runs(a, b, {range.begin, begin})) list.add(run);
  const std::vector<SharedRuns> once = single_runs(a, b, {begin, begin + period.indices});
  const std::vector<SharedRuns> last = single_runs(a, b, {rest, range.end});
  // What two periods take in order tells what all take.
  SharedRunList two;
  two.add_in_order(once, period, 2);
  const auto entries = static_cast<Extent>(two.runs().size());
  if (entries > 1 && static_cast<Extent>(once.size()) < times * entries / 2) {
    list.add_run_by_run(once, period, times, last);
    return list.runs();
  }
  if (entries == 1) {
    SharedRuns all = two.runs().front();
    Extent& recurring = all.count > 1 ? all.count : all.length;
    recurring = recurring / 2 * times;
    list.add(all);
  } else {
    list.add_in_order(once, period, times);
  }
  for (const SharedRuns& run : last) list.add(run);
  return list.runs();
}

}  // namespace relation
}  // namespace eindecomp
