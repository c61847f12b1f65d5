// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Offsets in one allocation for memory whose lifetimes are known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

namespace eindecomp {

/// Every offset an Arena hands out is a multiple of this many bytes: a cache line, and more than
/// any element type asks for.
inline constexpr std::int64_t arena_alignment = 64;

/// First fit over time: allocate() takes the lowest gap that is long enough, release() returns it.
class Arena {
 public:
  /// The offset of so many bytes; zero bytes take no room.
  [[nodiscard]] constexpr std::int64_t allocate(std::int64_t bytes) {
    const std::int64_t length = round_up(bytes);
    for (std::size_t i = 0; i < m_gaps.size(); ++i) {
      Gap& gap = m_gaps[i];
      if (gap.length < length) continue;
      const std::int64_t offset = gap.offset;
      gap.offset += length;
      gap.length -= length;
      if (gap.length == 0) m_gaps.erase(m_gaps.begin() + static_cast<std::ptrdiff_t>(i));
      return offset;
    }
    // At the end, together with a gap that reaches it.
    std::int64_t offset = m_end;
    if (!m_gaps.empty() && m_gaps.back().offset + m_gaps.back().length == m_end) {
      offset = m_gaps.back().offset;
      m_gaps.pop_back();
    }
    m_end = offset + length;
    m_peak = std::max(m_peak, m_end);
    return offset;
  }

  /// Gives back what allocate() returned for that many bytes.
  constexpr void release(std::int64_t offset, std::int64_t bytes) {
    const std::int64_t length = round_up(bytes);
    if (length == 0) return;
    const auto next =
        std::lower_bound(m_gaps.begin(), m_gaps.end(), offset,
                         [](const Gap& gap, std::int64_t at) { return gap.offset < at; });
    auto at = m_gaps.insert(next, {offset, length});
    if (const auto after = at + 1;
        after != m_gaps.end() && at->offset + at->length == after->offset) {
      at->length += after->length;
      m_gaps.erase(after);
    }
    if (at != m_gaps.begin()) {
      const auto before = at - 1;
      if (before->offset + before->length == at->offset) {
        before->length += at->length;
        m_gaps.erase(at);
      }
    }
  }

  /// The bytes needed so far.
  [[nodiscard]] constexpr std::int64_t peak() const { return m_peak; }

  /// Appends numbers that tell from others what an arena will hand out next.
  constexpr void describe(std::vector<std::int64_t>& numbers) const {
    for (const Gap& gap : m_gaps) numbers.insert(numbers.end(), {gap.offset, gap.length});
    numbers.push_back(m_end);
  }

  /// What so many bytes take.
  [[nodiscard]] static constexpr std::int64_t round_up(std::int64_t bytes) {
    return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
  }

 private:
  struct Gap {
    std::int64_t offset = 0;
    std::int64_t length = 0;
  };

  std::vector<Gap> m_gaps;  ///< by offset, never touching each other
  std::int64_t m_end = 0;
  std::int64_t m_peak = 0;
};

namespace relation {

/// What lives in an arena from when to when, in stages that run one after another. Where it lies
/// follows from lengths and lives, and not from the order in which they are listed: programs that
/// need alike hold alike.
struct ArenaPlan {
  /// Memory held from the begin of one stage to the end of another.
  struct Life {
    int first = 0;            ///< stage
    int last = 0;             ///< stage
    std::int64_t bytes = 0;   ///< at least 0
    std::int64_t offset = 0;  ///< set by place()
  };
  /// Memory held by one stage alone.
  struct Area {
    std::int64_t bytes = 0;
    std::int64_t offset = 0;  ///< set by place()
  };
  std::vector<Life> lives;
  std::vector<Area> areas;  ///< one per stage

  /// Gives everything its offset. \returns the bytes of the arena.
  std::int64_t place() {
    const auto born = by_stage(&Life::first);
    const auto dying = by_stage(&Life::last);
    std::vector<int> order = born.lives;
    Arena arena;
    for (std::size_t n = 0; n < areas.size(); ++n) {
      // Of what is born together, that which lives longest lies lowest, so that what goes soon
      // leaves one gap.
      const auto first = order.begin() + born.begin[n];
      const auto last = order.begin() + born.begin[n + 1];
      std::sort(first, last, [&](int a, int b) {
        const Life& x = life(a);
        const Life& y = life(b);
        return std::tuple(-x.last, -x.bytes, a) < std::tuple(-y.last, -y.bytes, b);
      });
      for (auto next = first; next != last; ++next) {
        life(*next).offset = arena.allocate(life(*next).bytes);
      }
      if (areas[n].bytes > 0) {
        areas[n].offset = arena.allocate(areas[n].bytes);
        arena.release(areas[n].offset, areas[n].bytes);
      }
      for (int i = dying.begin[n]; i < dying.begin[n + 1]; ++i) {
        const Life& gone = life(dying.lives[static_cast<std::size_t>(i)]);
        arena.release(gone.offset, gone.bytes);
      }
    }
    return arena.peak();
  }

 private:
  /// Lives, those of one stage together.
  struct ByStage {
    std::vector<int> begin;  ///< in `lives`, of each stage's, and the end
    std::vector<int> lives;
  };
  [[nodiscard]] Life& life(int n) { return lives[static_cast<std::size_t>(n)]; }
  [[nodiscard]] ByStage by_stage(int Life::*stage) const {
    ByStage sorted{std::vector<int>(areas.size() + 1, 0), std::vector<int>(lives.size())};
    for (const Life& l : lives) ++sorted.begin[static_cast<std::size_t>(l.*stage) + 1];
    std::partial_sum(sorted.begin.begin(), sorted.begin.end(), sorted.begin.begin());
    std::vector<int> next = sorted.begin;
    for (std::size_t n = 0; n < lives.size(); ++n) {
      int& at = next[static_cast<std::size_t>(lives[n].*stage)];
      sorted.lives[static_cast<std::size_t>(at++)] = static_cast<int>(n);
    }
    return sorted;
  }
};

}  // namespace relation
}  // namespace eindecomp
