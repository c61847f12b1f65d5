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
#include "eindecomp/relation/arena.hpp"
#include "eindecomp/relation/instruction_work.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/memory.hpp"
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
  /// Of the bytes above a limit, their sum over the stages of all ranks.
  std::int64_t overflow = 0;
};

/// What the programs of all ranks move and hold.
struct ProgramProfile {
  /// The profile of one unit.
  struct Part {
    std::shared_ptr<const UnitProfile> unit;
    std::vector<VertexId> statements;
    std::vector<VertexId> tensors;
  };
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
    for (const auto& [shapes, members] : classes) {
      const std::int64_t peak = hold(members.front(), members.size(), limit, found);
      for (const std::size_t r : members) found.peak_bytes[r] = peak;
    }
    if (ranks == 0) found.peak.bytes = 0;
    return found;
  }

 private:
  /// Lays out the arena of a rank for which others stand, too. \returns its peak.
  std::int64_t hold(std::size_t rank, std::size_t alike, std::int64_t limit,
                    ProgramMemory& found) const {
    ArenaPlan plan;
    std::vector<const UnitProfile::Stage*> stages;
    std::vector<std::size_t> kept;
    std::vector<const Part*> parts_of_stages;
    // What is known of a tensor: a list of its buffers' lives.
    struct Copy {
      int copy = 0;
      std::size_t life = 0;
      int next = -1;
    };
    std::vector<Copy> copies;
    std::vector<int> heads(vertices, -1);
    for (const Part& part : parts) {
      const UnitProfile::Shape& shape =
          part.unit->shapes[static_cast<std::size_t>(part.unit->shape_of[rank])];
      const auto before = static_cast<int>(plan.areas.size());
      for (const UnitProfile::Life& life : shape.lives) {
        const int last = before + life.last;
        if (life.copy >= 0) {
          int& head = heads[to_index(part.tensors[static_cast<std::size_t>(life.tensor)])];
          int at = head;
          while (at >= 0 && copies[to_index(at)].copy != life.copy) at = copies[to_index(at)].next;
          if (at >= 0) {
            plan.lives[copies[to_index(at)].life].last = last;
            continue;
          }
          copies.push_back({life.copy, plan.lives.size(), head});
          head = static_cast<int>(copies.size()) - 1;
        }
        if (life.kept) kept.push_back(plan.lives.size());
        plan.lives.push_back({before + life.first, last, life.bytes, 0});
      }
      for (const UnitProfile::Stage& stage : shape.stages) {
        plan.areas.push_back({stage.area, 0});
        stages.push_back(&stage);
        parts_of_stages.push_back(&part);
      }
    }
    for (const std::size_t n : kept) {
      plan.lives[n].first = 0;
      plan.lives[n].last = static_cast<int>(stages.size()) - 1;
    }
    const std::int64_t stored = input_bytes[rank] + result_bytes[rank];
    const std::int64_t peak = plan.place() + stored;
    // What begins and ends with a stage, then summed up.
    std::vector<std::int64_t> bytes(stages.size() + 1, 0);
    for (const ArenaPlan::Life& life : plan.lives) {
      bytes[static_cast<std::size_t>(life.first)] += life.bytes;
      bytes[static_cast<std::size_t>(life.last) + 1] -= life.bytes;
    }
    std::int64_t held = stored;
    std::int64_t most = -1;
    VertexId busiest = -1;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      held += bytes[s];
      const std::int64_t here = held + stages[s]->held;
      for (int n = stages[s]->first_statement; n <= stages[s]->last_statement; ++n) {
        const VertexId v = parts_of_stages[s]->statements[static_cast<std::size_t>(n)];
        found.by_statement[to_index(v)] = std::max(found.by_statement[to_index(v)], here);
      }
      if (here > most) {
        most = here;
        busiest =
            parts_of_stages[s]->statements[static_cast<std::size_t>(stages[s]->first_statement)];
      }
      found.overflow += static_cast<std::int64_t>(alike) * std::max<std::int64_t>(here - limit, 0);
    }
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
