// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The arena of a rank whose program is known by the profiles of its units: as ArenaPlan lays it
/// out, at the cost of the units that differ.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/arena.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/unit_key.hpp"
#include "eindecomp/relation/unit_profile.hpp"

namespace eindecomp::relation {

/// A unit of a program.
struct ProfilePart {
  std::shared_ptr<const UnitProfile> unit;
  std::vector<VertexId> statements;
  std::vector<VertexId> tensors;
};

/// What a rank holds during one part.
struct HeldDuring {
  std::vector<std::int64_t> most;  ///< bytes, per statement of the unit
  std::int64_t most_of_all = -1;   ///< bytes
  int busiest = -1;                ///< the statement of the unit that first holds those
  double above_limit = 0;          ///< bytes, summed over stages
};

/// Lays out the arena of one rank after another, part by part.
///
/// What a part does to the arena follows from its shape, from the gaps that it finds, from where
/// that lies which it releases, and from the order in which what it leaves is released. Layers of a
/// network soon find the gaps that the layer before found: what is known of a part that began like
/// that is taken from there.
class ProfileArena {
 public:
  ProfileArena(const std::vector<ProfilePart>& parts, std::size_t tensors, std::int64_t limit)
      : m_parts(parts), m_limit(limit), m_heads(tensors) {}

  /// \param held   by the rank beside the arena, in bytes
  /// \param visit  is called with every part and what is held during it (HeldDuring)
  /// \returns the bytes of the arena
  template <class Visit>
  std::int64_t lay_out(std::size_t rank, std::int64_t held, const Visit& visit) {
    find_buffers(rank);
    m_known.clear();
    Arena arena;
    m_before = 0;
    std::size_t seen = 0;
    for (const ProfilePart& part : m_parts) {
      const UnitProfile::Shape& shape = shape_of(part, rank);
      if (shape.stages.empty()) continue;
      const auto shared = to_index(
          std::ranges::count_if(shape.lives, [](const auto& life) { return life.copy >= 0; }));
      const auto buffers = std::span(m_of_lives).subspan(seen, shared);
      seen += shared;
      const Outcome& outcome = outcome_of(part, shape, buffers, held, arena);
      arena = outcome.arena;
      held = outcome.held;
      auto offset = outcome.offsets.begin();
      for (const int b : buffers) {
        SharedBuffer& buffer = m_buffers[to_index(b)];
        if (!buffer.kept && buffer.offset < 0) buffer.offset = *offset++;
      }
      visit(part, outcome.during);
      m_before += static_cast<int>(shape.stages.size());
    }
    return arena.peak();
  }

 private:
  /// A buffer that several parts may use.
  struct SharedBuffer {
    int copy = 0;   ///< of its tensor
    int next = -1;  ///< of its tensor
    int last = 0;   ///< stage of the program
    bool kept = false;
    std::int64_t offset = -1;  ///< -1: it has none yet
  };
  /// What becomes of a part.
  struct Outcome {
    Arena arena;
    std::int64_t held = 0;              ///< bytes, after it
    std::vector<std::int64_t> offsets;  ///< of the shared buffers that it begins
    HeldDuring during;
  };
  /// A life within a part, or what is left of it.
  struct Life {
    int first = 0;  ///< stage of the part; -1: it has begun before
    int last = 0;   ///< stage of the program
    std::int64_t bytes = 0;
    std::int64_t offset = -1;
  };

  [[nodiscard]] static const UnitProfile::Shape& shape_of(const ProfilePart& part,
                                                          std::size_t rank) {
    return part.unit->shapes[to_index(part.unit->shape_of[rank])];
  }

  /// Numbers the buffers that parts share, and finds out how long they live.
  void find_buffers(std::size_t rank) {
    std::ranges::fill(m_heads, -1);
    m_buffers.clear();
    m_of_lives.clear();
    m_kept.clear();
    m_before = 0;
    for (const ProfilePart& part : m_parts) {
      const UnitProfile::Shape& shape = shape_of(part, rank);
      for (const UnitProfile::Life& life : shape.lives) {
        if (life.copy < 0) {
          if (life.kept) m_kept.push_back(life.bytes);
          continue;
        }
        int& head = m_heads[to_index(part.tensors[to_index(life.tensor)])];
        int at = head;
        while (at >= 0 && m_buffers[to_index(at)].copy != life.copy) {
          at = m_buffers[to_index(at)].next;
        }
        if (at < 0) {
          at = static_cast<int>(m_buffers.size());
          m_buffers.push_back({life.copy, head, 0, life.kept, -1});
          head = at;
          if (life.kept) m_kept.push_back(life.bytes);
        }
        m_buffers[to_index(at)].last = m_before + life.last;
        m_of_lives.push_back(at);
      }
      m_before += static_cast<int>(shape.stages.size());
    }
    m_stages = m_before;
  }

  /// What becomes of a part that finds the arena like this.
  const Outcome& outcome_of(const ProfilePart& part, const UnitProfile::Shape& shape,
                            std::span<const int> buffers, std::int64_t held, const Arena& arena) {
    if (m_before == 0) {  // what is kept is taken with it
      m_first = run(part, shape, buffers, held, arena);
      return m_first;
    }
    describe(shape, buffers, held, arena);
    const auto [known, fresh] = m_known.try_emplace(m_key);
    if (fresh) known->second = run(part, shape, buffers, held, arena);
    return known->second;
  }

  /// Writes all that an outcome follows from as a key.
  void describe(const UnitProfile::Shape& shape, std::span<const int> buffers, std::int64_t held,
                const Arena& arena) {
    m_key.assign({static_cast<Extent>(reinterpret_cast<std::intptr_t>(&shape)), held});
    arena.describe(m_key);
    const int end = m_before + static_cast<int>(shape.stages.size());
    m_lasts.clear();
    for (const int b : buffers) {
      const SharedBuffer& buffer = m_buffers[to_index(b)];
      if (buffer.offset < 0 && !buffer.kept && buffer.last >= end) m_lasts.push_back(buffer.last);
    }
    std::ranges::sort(m_lasts);
    for (const int b : buffers) {
      const SharedBuffer& buffer = m_buffers[to_index(b)];
      const bool ends = buffer.last < end;
      if (buffer.kept) {
        m_key.push_back(-1);
      } else if (buffer.offset >= 0) {
        m_key.insert(m_key.end(), {-2, ends ? buffer.offset : -1});
      } else if (ends) {
        m_key.push_back(-3);
      } else {
        m_key.push_back(std::ranges::lower_bound(m_lasts, buffer.last) - m_lasts.begin());
      }
    }
  }

  [[nodiscard]] Outcome run(const ProfilePart& part, const UnitProfile::Shape& shape,
                            std::span<const int> buffers, std::int64_t held, const Arena& before) {
    const auto stages = shape.stages.size();
    list_lives(shape, buffers);
    sort_by_stage(stages);
    Outcome outcome{before, held, {}, {}};
    HeldDuring& during = outcome.during;
    during.most.assign(part.statements.size(), 0);
    std::size_t born = 0;
    std::size_t gone = 0;
    for (std::size_t s = 0; s < stages; ++s) {
      const UnitProfile::Stage& stage = shape.stages[s];
      for (; born < m_births.size() && stage_of_birth(m_births[born]) == s; ++born) {
        Life& life = m_lives[to_index(m_births[born])];
        life.offset = outcome.arena.allocate(life.bytes);
        outcome.held += life.bytes;
      }
      if (stage.area > 0) outcome.arena.release(outcome.arena.allocate(stage.area), stage.area);
      const std::int64_t here = outcome.held + stage.held;
      for (int n = stage.first_statement; n <= stage.last_statement; ++n) {
        during.most[to_index(n)] = std::max(during.most[to_index(n)], here);
      }
      if (here > during.most_of_all) {
        during.most_of_all = here;
        during.busiest = stage.first_statement;
      }
      during.above_limit += static_cast<double>(std::max<std::int64_t>(here - m_limit, 0));
      for (; gone < m_deaths.size() && m_lives[to_index(m_deaths[gone])].last == at(s); ++gone) {
        const Life& life = m_lives[to_index(m_deaths[gone])];
        outcome.arena.release(life.offset, life.bytes);
        outcome.held -= life.bytes;
      }
    }
    for (const int n : m_begun) outcome.offsets.push_back(m_lives[to_index(n)].offset);
    return outcome;
  }
  /// The stage of the program.
  [[nodiscard]] int at(std::size_t stage) const { return m_before + static_cast<int>(stage); }
  [[nodiscard]] std::size_t stage_of_birth(int life) const {
    return to_index(m_lives[to_index(life)].first);
  }

  /// Lists what a part takes and releases.
  void list_lives(const UnitProfile::Shape& shape, std::span<const int> buffers) {
    m_lives.clear();
    m_begun.clear();
    auto shared = buffers.begin();
    for (const UnitProfile::Life& life : shape.lives) {
      if (life.copy < 0) {
        if (!life.kept) m_lives.push_back({life.first, m_before + life.last, life.bytes, -1});
        continue;
      }
      const SharedBuffer& buffer = m_buffers[to_index(*shared++)];
      if (buffer.kept) continue;
      const bool begins = buffer.offset < 0;
      if (begins) m_begun.push_back(static_cast<int>(m_lives.size()));
      m_lives.push_back({begins ? life.first : -1, buffer.last, life.bytes, buffer.offset});
    }
    if (m_before > 0) return;
    for (const std::int64_t bytes : m_kept) m_lives.push_back({0, m_stages - 1, bytes, -1});
  }
  /// Lists births and deaths in order, births of one stage as ArenaPlan has them.
  void sort_by_stage(std::size_t stages) {
    const auto life = [&](int n) -> const Life& { return m_lives[to_index(n)]; };
    list_by_stage(stages, m_deaths, [&](const Life& l) { return l.last - m_before; });
    list_by_stage(stages, m_births, [](const Life& l) { return l.first; });
    for (std::size_t s = 0; s < stages; ++s) {  // m_ends has where the stages end
      const auto first = m_births.begin() + (s == 0 ? 0 : m_ends[s - 1]);
      std::sort(first, m_births.begin() + m_ends[s], [&](int a, int b) {
        return std::tuple(-life(a).last, -life(a).bytes, a) <
               std::tuple(-life(b).last, -life(b).bytes, b);
      });
    }
  }
  /// Lists the lives that have a stage of the part, by it; and sets m_ends to where those of each
  /// one end in the list.
  template <class StageOf>
  void list_by_stage(std::size_t stages, std::vector<int>& list, const StageOf& stage_of) {
    m_ends.assign(stages + 1, 0);  // first where they begin
    const auto stage = [&](const Life& life) {
      const int n = stage_of(life);
      return n < 0 ? stages : std::min(to_index(n), stages);
    };
    for (const Life& life : m_lives) {
      if (const std::size_t s = stage(life); s < stages) ++m_ends[s + 1];
    }
    std::partial_sum(m_ends.begin(), m_ends.end(), m_ends.begin());
    list.resize(to_index(m_ends.back()));
    for (std::size_t n = 0; n < m_lives.size(); ++n) {
      const std::size_t s = stage(m_lives[n]);
      if (s < stages) list[to_index(m_ends[s]++)] = static_cast<int>(n);
    }
  }

  const std::vector<ProfilePart>& m_parts;
  std::int64_t m_limit;
  // Of the rank at hand.
  std::vector<int> m_heads;  ///< per tensor, the last of its buffers
  std::vector<SharedBuffer> m_buffers;
  std::vector<int> m_of_lives;       ///< buffers of the shared lives of all parts, in order
  std::vector<std::int64_t> m_kept;  ///< bytes of what lives from the first stage to the last
  int m_stages = 0;
  Outcome m_first;
  std::unordered_map<UnitKey, Outcome, UnitKeyHash> m_known;
  // Of the part at hand; kept to spare allocations.
  int m_before = 0;  ///< stages of the parts before
  UnitKey m_key;
  std::vector<int> m_lasts;
  std::vector<Life> m_lives;
  std::vector<int> m_births, m_deaths;
  std::vector<int> m_ends;   ///< by stage
  std::vector<int> m_begun;  ///< lives of shared buffers
};

}  // namespace eindecomp::relation
