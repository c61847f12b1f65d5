// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From a placed program to what each rank does: its buffers and their places, and the instructions
/// that read and write them. With EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does
/// not compile how.
#pragma once

#include <functional>
#include <source_location>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp {

/// What one rank does to run a placed program on so many ranks, the groups among its statements in
/// steps and tiles. Every rank makes its own, without communication; sends and receives of all
/// ranks match in number, order and regions.
/// \throws Error if the placement does not suit the graph, a group cannot run in steps, or there is
///   no such rank.
[[nodiscard]] RankProgram compile_rank(
    const EinGraph& graph, const Placement& placement, int ranks, int rank,
    const std::vector<StepGroup>& groups = {}, const SpaceFacts& space = {},
    const std::source_location& where = std::source_location::current());

/// The programs of all ranks, as compile_rank gives them one by one, at the cost of one walk.
/// \throws Error if the placement does not suit the graph, a group cannot run in steps, or there is
///   no rank.
[[nodiscard]] std::vector<RankProgram> compile_ranks(
    const EinGraph& graph, const Placement& placement, int ranks,
    const std::vector<StepGroup>& groups = {}, const SpaceFacts& space = {},
    const std::source_location& where = std::source_location::current());

/// Calls `use` with the program of every rank, in the order of ranks, as compile_ranks gives
/// them: for many ranks, whose programs together would take gigabytes. Holds 64 at a time, at the
/// cost of a walk for every 64 ranks. \throws Error as compile_ranks, before the first call; and
/// what `use` throws.
void for_each_rank_program(const EinGraph& graph, const Placement& placement, int ranks,
                           const std::vector<StepGroup>& groups, const SpaceFacts& space,
                           const std::function<void(const RankProgram&)>& use,
                           const std::source_location& where = std::source_location::current());

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/relation/make_programs.hpp"
#endif
