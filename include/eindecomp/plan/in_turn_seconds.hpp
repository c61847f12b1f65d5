// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How long a program takes on a described machine, transfers and kernels in turn, from its
/// profile: for searches, which need no timeline.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/plan/machine.hpp"
#include "eindecomp/relation/instruction_work.hpp"
#include "eindecomp/relation/program_profile.hpp"

namespace eindecomp::plan {

/// The seconds that make_timeline() has with Overlap::none of the programs of all ranks. What an
/// instruction needs is there by then: its rank has waited for every message before. O(messages
/// and calls of all ranks), a few nanoseconds each.
/// \param profile  with phases (relation::Profiler).
/// \param machine  of at least as many workers as there are ranks.
[[nodiscard]] inline double in_turn_seconds(const relation::ProgramProfile& profile,
                                            const Machine& machine) {
  /// When what a rank has is free.
  struct Rank {
    double kernels = 0;
    double sends = 0;
    double receives = 0;
    double done = 0;  ///< its messages of the phase
  };
  std::vector<Rank> ranks(profile.input_bytes.size());
  double last = 0;
  for (const relation::ProgramProfile::Part& part : profile.parts) {
    for (const relation::UnitProfile::Phase& phase : part.unit->phases) {
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        for (const relation::Work& work :
             part.unit->works[static_cast<std::size_t>(phase.works_of[r])]) {
          ranks[r].kernels += work.seconds(machine.operations_per_second, machine.memory_bandwidth);
        }
        last = std::max(last, ranks[r].kernels);
      }
      for (const relation::UnitProfile::Transit& t : phase.transits) {
        Rank& sender = ranks[static_cast<std::size_t>(t.from)];
        Rank& receiver = ranks[static_cast<std::size_t>(t.to)];
        const MachineAxis& link = machine.between(t.from, t.to);
        const double start =
            std::max({sender.sends, receiver.receives, sender.kernels, receiver.kernels});
        const double stop = start + link.latency + t.bytes / link.bandwidth;
        sender.sends = stop;
        receiver.receives = stop;
        receiver.done = std::max(receiver.done, stop);
        sender.done = std::max(sender.done, stop);
        last = std::max(last, stop);
      }
      for (Rank& rank : ranks) rank.kernels = std::max(rank.kernels, rank.done);
    }
  }
  return last;
}

}  // namespace eindecomp::plan
