// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Finds vertices of a graph by what a hash is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "eindecomp/core/types.hpp"

namespace eindecomp::graph {

/// A hash table of vertices with open addressing, which works in constant expressions. Entries are
/// never removed: a vertex that the graph took back stays, and the caller's predicate rejects it.
class VertexIndex {
 public:
  struct Entry {
    std::uint64_t hash = 0;
    int vertex = -1;  ///< none
    int next = 2;     ///< for the owner's use
  };

  /// \param is  whether a vertex exists and is the one looked for.
  /// \returns its entry, valid until the next is added, or null.
  template <class Is>
  [[nodiscard]] constexpr const Entry* find(std::uint64_t hash, const Is& is) const {
    if (m_entries.empty()) return nullptr;
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Entry& entry = m_entries[at];
      if (entry.vertex < 0) return nullptr;
      if (entry.hash == hash && is(entry.vertex)) return &entry;
    }
  }
  template <class Is>
  [[nodiscard]] constexpr Entry* find(std::uint64_t hash, const Is& is) {
    return const_cast<Entry*>(static_cast<const VertexIndex&>(*this).find(hash, is));
  }

  constexpr void add(std::uint64_t hash, int vertex) {
    if (2 * (m_used + 1) > m_entries.size()) grow();
    place({hash, vertex});
    ++m_used;
  }

 private:
  [[nodiscard]] constexpr std::size_t mask() const { return m_entries.size() - 1; }
  constexpr void place(const Entry& entry) {
    std::size_t at = entry.hash & mask();
    while (m_entries[at].vertex >= 0) at = (at + 1) & mask();
    m_entries[at] = entry;
  }
  constexpr void grow() {
    std::vector<Entry> before(m_entries.empty() ? 16 : 2 * m_entries.size());
    before.swap(m_entries);
    for (const Entry& entry : before) {
      if (entry.vertex >= 0) place(entry);
    }
  }

  std::vector<Entry> m_entries;  ///< a power of two, at least half of them empty
  std::size_t m_used = 0;
};

}  // namespace eindecomp::graph
