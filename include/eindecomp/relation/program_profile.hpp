// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the programs of all ranks move and hold, without the programs: from one of all statements
/// that are done alike, and from one of all ranks that do alike. So the figures of a deep network
/// on thousands of ranks are those of its programs, at the cost of a layer's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/instruction_work.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/memory.hpp"
#include "eindecomp/relation/profile_arena.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/unit_profile.hpp"

namespace eindecomp::relation {

/// The ranks from `first` to before `last`.
struct RankRange {
  int first = 0;
  int last = 0;
};

/// What ranks hold. See ProgramProfile::memory().
struct ProgramMemory {
  std::vector<std::int64_t> peak_bytes;    ///< per rank, as RankProgram::peak_bytes() has them
  std::vector<std::int64_t> by_statement;  ///< per vertex, on the rank that holds most during it
  MemoryPeak peak;                         ///< as memory_peak() has it of the programs
  /// Of the bytes above a limit, their sum over the stages of all ranks. No integer: it may exceed
  /// 2^63.
  double overflow = 0;
};

/// What the programs of all ranks move and hold.
struct ProgramProfile {
  using Part = ProfilePart;
  std::vector<Part> parts;                 ///< in the order of the statements
  std::vector<std::int64_t> input_bytes;   ///< per rank, as RankProgram has them
  std::vector<std::int64_t> result_bytes;  ///< per rank
  std::size_t vertices = 0;                ///< of the graph
  RankRange known;                         ///< the ranks whose programs were looked at

  /// The bytes that ranks hold: those that their programs say; 0 of ranks that are not known. Lays
  /// out the arena of one of all ranks that do alike. \param limit  of ProgramMemory::overflow.
  [[nodiscard]] ProgramMemory memory(std::int64_t limit = 0) const {
    ProgramMemory found;
    found.by_statement.assign(vertices, 0);
    const std::size_t ranks = input_bytes.size();
    found.peak_bytes.assign(ranks, 0);
    found.peak.bytes = -1;
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> classes;
    for (std::size_t r = to_index(known.first); r < to_index(known.last); ++r) {
      std::vector<std::int64_t> shapes{input_bytes[r] + result_bytes[r]};
      for (const Part& part : parts) shapes.push_back(part.unit->shape_of[r]);
      classes[std::move(shapes)].push_back(r);
    }
    ProfileArena arena(parts, vertices, limit);
    for (const auto& [shapes, members] : classes) {
      const std::int64_t peak = hold(arena, members.front(), members.size(), found);
      for (const std::size_t r : members) found.peak_bytes[r] = peak;
    }
    if (ranks == 0) found.peak.bytes = 0;
    return found;
  }

 private:
  /// Lays out the arena of a rank that stands for others. \returns its peak.
  std::int64_t hold(ProfileArena& arena, std::size_t rank, std::size_t alike,
                    ProgramMemory& found) const {
    const std::int64_t stored = input_bytes[rank] + result_bytes[rank];
    std::int64_t most = -1;
    VertexId busiest = -1;
    const auto note = [&](const Part& part, const HeldDuring& during) {
      for (std::size_t n = 0; n < part.statements.size(); ++n) {
        std::int64_t& here = found.by_statement[to_index(part.statements[n])];
        here = std::max(here, during.most[n]);
      }
      if (during.most_of_all > most) {
        most = during.most_of_all;
        busiest = part.statements[to_index(during.busiest)];
      }
      found.overflow += static_cast<double>(alike) * during.above_limit;
    };
    const std::int64_t peak = arena.lay_out(rank, stored, note) + stored;
    const auto number = static_cast<int>(rank);
    if (peak > found.peak.bytes || (peak == found.peak.bytes && number < found.peak.rank)) {
      found.peak = {peak, number, busiest};
    }
    return peak;
  }
};

/// The profile of a placed program on so many ranks, which must suit each other (check_placement,
/// check_step_groups). With EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does not
/// compile it.
[[nodiscard]] ProgramProfile profile_of(const EinGraph& graph, const Placement& placement,
                                        int ranks, const std::vector<StepGroup>& groups,
                                        const SpaceFacts& space);

}  // namespace eindecomp::relation

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/relation/make_profile.hpp"
#endif
