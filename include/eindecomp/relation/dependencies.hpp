// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What each instruction of a rank's program waits for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"

namespace eindecomp {
namespace relation {

/// Collects dependencies in the order of a program.
class DependencyFinder {
 public:
  explicit DependencyFinder(const RankProgram& program)
      : m_program(program),
        m_writers(program.buffers.size()),
        m_users(program.buffers.size()),
        m_before(program.buffers.size()),
        m_placed(program.buffers.size(), false),
        m_found(program.instructions.size()) {}

  [[nodiscard]] std::vector<std::vector<int>> find() {
    const std::vector<Instruction>& list = m_program.instructions;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto use = [&](int b) { m_users[static_cast<std::size_t>(b)].push_back(number(i)); };
      for_each_access(list[i], use, use);
    }
    auto tiled = m_program.tiled.begin();
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (tiled != m_program.tiled.end() && static_cast<std::size_t>(tiled->first) == i) {
        take_tiles(*tiled++);
      }
      // Elements are written once, but for accumulators, which are read as well, and for those that
      // are filled before something is spread over them.
      for_each_region(
          list[i], [&](int b, const Box* box) { wait_for_writers(i, b, box); },
          [](int, const Box*) {});
      if (const auto* spread = list[i].as<Spread>()) wait_for_fills(i, *spread);
      if (const auto* await = list[i].as<Await>()) wait(i, m_flights[await->flight]);
      const auto claim = [&](int b) { take_place(i, b); };
      for_each_access(list[i], claim, claim);
      if (const Message* const m = list[i].message()) {
        if (m->staging >= 0) {
          take_memory(i, m->staging, message_bytes(m_program, *m), {number(i)});
        }
        if (m->flight >= 0) m_flights[m->flight].push_back(number(i));
      }
      for_each_region(
          list[i], [](int, const Box*) {},
          [&](int b, const Box* box) {
            m_writers[static_cast<std::size_t>(b)].push_back({number(i), box});
          });
    }
    for (std::vector<int>& found : m_found) {
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
    }
    return std::move(m_found);
  }

 private:
  /// An instruction, and what of a buffer it writes; null: anything.
  struct Writer {
    int instruction = 0;
    const Box* box = nullptr;
  };
  /// Memory of the arena, and the instructions that used what lay there last.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::vector<int> users;
  };

  [[nodiscard]] static int number(std::size_t i) { return static_cast<int>(i); }

  void wait_for_writers(std::size_t i, int b, const Box* box) {
    for (const Writer& writer : m_writers[static_cast<std::size_t>(b)]) {
      const bool apart =
          box != nullptr && writer.box != nullptr && intersect(*box, *writer.box).empty();
      if (!apart) m_found[i].push_back(writer.instruction);
    }
  }

  /// The gaps between what is spread are filled together with its place.
  void wait_for_fills(std::size_t i, const Spread& spread) {
    for (const Writer& writer : m_writers[static_cast<std::size_t>(spread.to)]) {
      const auto n = static_cast<std::size_t>(writer.instruction);
      if (m_program.instructions[n].as<Fill>() != nullptr &&
          !intersect(spread.written, *writer.box).empty()) {
        m_found[i].push_back(writer.instruction);
      }
    }
  }

  void wait(std::size_t i, const std::vector<int>& others) {
    for (const int other : others) {
      if (other < number(i)) m_found[i].push_back(other);
    }
  }

  /// The first use of a scratch buffer waits for the last of what lay in its place before. Every
  /// use waits for that, for none but the first may begin before it.
  void take_place(std::size_t i, int b) {
    const auto n = static_cast<std::size_t>(b);
    const Buffer& buffer = m_program.buffers[n];
    if (buffer.role != Buffer::Role::scratch) return;
    if (!m_placed[n]) {
      m_placed[n] = true;
      m_before[n] = take_memory(i, buffer.offset, buffer.bytes, m_users[n]);
    } else {
      wait(i, m_before[n]);
    }
  }

  /// The tiles of all threads take their memory together.
  void take_tiles(const TiledCalls& tiled) {
    std::vector<int> users;
    for (int i = tiled.first; i <= tiled.last; ++i) users.push_back(i);
    const std::int64_t bytes = m_program.threads * tiled.thread_bytes;
    const std::vector<int> before =
        take_memory(static_cast<std::size_t>(tiled.first), tiled.offset, bytes, users);
    for (int i : users) wait(static_cast<std::size_t>(i), before);
  }

  /// \returns what was waited for.
  std::vector<int> take_memory(std::size_t i, std::int64_t offset, std::int64_t bytes,
                               const std::vector<int>& users) {
    const std::int64_t end = offset + bytes;
    std::vector<int> before;
    std::vector<Range> kept;
    for (Range& range : m_ranges) {
      if (range.end <= offset || end <= range.begin) {
        kept.push_back(std::move(range));
        continue;
      }
      before.insert(before.end(), range.users.begin(), range.users.end());
      if (range.begin < offset) kept.push_back({range.begin, offset, range.users});
      if (end < range.end) kept.push_back({end, range.end, range.users});
    }
    kept.push_back({offset, end, users});
    m_ranges = std::move(kept);
    wait(i, before);
    return before;
  }

  const RankProgram& m_program;
  std::vector<std::vector<Writer>> m_writers;  ///< by buffer, so far
  std::vector<std::vector<int>> m_users;       ///< by buffer, all
  std::vector<std::vector<int>> m_before;      ///< by buffer, what its first use waited for
  Flags m_placed;                              ///< by buffer, whether it has been used
  std::vector<Range> m_ranges;
  std::map<int, std::vector<int>> m_flights;  ///< messages posted so far
  std::vector<std::vector<int>> m_found;
};

}  // namespace relation

/// For every instruction of a rank's program the earlier ones that must be over before it may
/// begin: those that wrote what it reads, those that filled what it spreads elements over, the
/// posts that it awaits, and those that used the memory which it is the first to use again.
/// Instructions that do not wait for each other may run at the same time, messages of an exchange
/// among them. Takes time in proportion to the square of the buffers.
[[nodiscard]] inline std::vector<std::vector<int>> dependencies(const RankProgram& program) {
  return relation::DependencyFinder(program).find();
}

}  // namespace eindecomp
