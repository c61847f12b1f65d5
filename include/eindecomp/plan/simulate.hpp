// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How long a plan takes on a described machine, and what it moves and holds there.
#pragma once

#include <cstdint>
#include <map>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/machine.hpp"
#include "eindecomp/plan/make_timeline.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/timeline.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/task_graph.hpp"

namespace eindecomp {

/// A plan on a machine, one worker of it per rank.
struct Simulation {
  Timeline in_turn;                      ///< transfers and kernels one after the other
  Timeline as_run;                       ///< transfers while kernels run where execute() does so
  Timeline overlapped;                   ///< transfers while kernels run, wherever that is possible
  std::vector<std::int64_t> peak_bytes;  ///< of tensors, per rank
  std::vector<PairWords> pairs;          ///< pairs of ranks that exchange any, by sender, receiver
};

/// Runs a plan's programs on a machine: those that execute() runs, so the words, the memory and
/// the order are a run's own. See make_timeline() for what takes how long.
/// \throws Error as make_timeline().
[[nodiscard]] inline Simulation simulate(
    const Plan& plan, const Machine& machine,
    const std::source_location& where = std::source_location::current()) {
  const std::vector<RankProgram> programs =
      compile_ranks(plan.graph, plan.placement, plan.ranks, plan.steps, {}, where);
  Simulation simulation;
  simulation.in_turn = make_timeline(plan.graph, programs, machine, Overlap::none, where);
  simulation.as_run = make_timeline(plan.graph, programs, machine, Overlap::as_run, where);
  simulation.overlapped = make_timeline(plan.graph, programs, machine, Overlap::all, where);
  std::map<std::pair<int, int>, Extent> words;
  for (const RankProgram& program : programs) {
    simulation.peak_bytes.push_back(program.peak_bytes());
    for (const Event& e : simulation.in_turn.events[simulation.peak_bytes.size() - 1]) {
      if (e.kind == Event::Kind::send) words[{program.rank, e.peer}] += e.words;
    }
  }
  for (const auto& [pair, sum] : words) simulation.pairs.push_back({pair.first, pair.second, sum});
  return simulation;
}

}  // namespace eindecomp
