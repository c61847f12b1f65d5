// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Offsets in one allocation for memory whose lifetimes are known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

 private:
  struct Gap {
    std::int64_t offset = 0;
    std::int64_t length = 0;
  };

  static constexpr std::int64_t round_up(std::int64_t bytes) {
    return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
  }

  std::vector<Gap> m_gaps;  ///< by offset, never touching each other
  std::int64_t m_end = 0;
  std::int64_t m_peak = 0;
};

}  // namespace eindecomp
