// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From a placed program to what each rank does: its buffers and their places, and the instructions
/// that read and write them.
#pragma once

#include <algorithm>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp {
namespace relation {

/// The programs of the ranks from `first` to before `last`, by a walk of the whole program. With
/// EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does not compile it.
[[nodiscard]] std::vector<RankProgram> programs_of(const EinGraph& graph,
                                                   const Placement& placement, int ranks, int first,
                                                   int last, const std::vector<StepGroup>& groups,
                                                   const SpaceFacts& space);

}  // namespace relation

/// What one rank does to run a placed program on so many ranks, the groups among its statements in
/// steps and tiles. Every rank makes its own, without communication; sends and receives of all
/// ranks match in number, order and regions. \throws Error if the placement does not suit the
/// graph, a group cannot run in steps, or there is
///   no such rank.
[[nodiscard]] inline RankProgram compile_rank(
    const EinGraph& graph, const Placement& placement, int ranks, int rank,
    const std::vector<StepGroup>& groups = {}, const SpaceFacts& space = {},
    const std::source_location& where = std::source_location::current()) {
  relation::check_ranks(ranks, where);
  if (rank < 0 || rank >= ranks) {
    core::fail(ErrorKind::plan,
               "the instructions of rank " + core::to_text(rank) + " of " + core::to_text(ranks) +
                   " (ranks count from 0); give a rank of the communicator",
               where);
  }
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, groups, where);
  return std::move(
      relation::programs_of(graph, placement, ranks, rank, rank + 1, groups, space).front());
}

/// The programs of all ranks, as compile_rank gives them one by one, at the cost of one walk.
/// \throws Error if the placement does not suit the graph, a group cannot run in steps, or there is
///   no rank.
[[nodiscard]] inline std::vector<RankProgram> compile_ranks(
    const EinGraph& graph, const Placement& placement, int ranks,
    const std::vector<StepGroup>& groups = {}, const SpaceFacts& space = {},
    const std::source_location& where = std::source_location::current()) {
  relation::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, groups, where);
  return relation::programs_of(graph, placement, ranks, 0, ranks, groups, space);
}

/// Calls `use` with the program of every rank, in the order of ranks, as compile_ranks gives
/// them: for many ranks, whose programs together would take gigabytes. Holds 64 at a time, at the
/// cost of a walk for every 64 ranks. \throws Error as compile_ranks, before the first call; and
/// what `use` throws.
template <class Use>
void for_each_rank_program(const EinGraph& graph, const Placement& placement, int ranks,
                           const std::vector<StepGroup>& groups, const SpaceFacts& space, Use&& use,
                           const std::source_location& where = std::source_location::current()) {
  relation::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, groups, where);
  constexpr int at_once = 64;
  for (int first = 0; first < ranks; first += at_once) {
    const int last = std::min(first + at_once, ranks);
    for (const RankProgram& program :
         relation::programs_of(graph, placement, ranks, first, last, groups, space)) {
      use(program);
    }
  }
}

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/relation/walk_programs.hpp"
#endif
