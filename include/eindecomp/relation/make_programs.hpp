// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How programs of ranks are made. With EINDECOMP_SEPARATE_PLANNER, one translation unit compiles
/// it.
#pragma once

#include <algorithm>
#include <functional>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "eindecomp/relation/tuning.hpp"
#include "eindecomp/relation/walk_programs.hpp"

namespace eindecomp {

namespace relation {
/// \throws Error if ranks have no programs of a placed graph in these steps.
inline void check_compiled(const EinGraph& graph, const Placement& placement, int ranks,
                           const std::vector<StepGroup>& groups,
                           const std::source_location& where) {
  check_ranks(ranks, where);
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, groups, where);
}
}  // namespace relation

EINDECOMP_PLANNER_INLINE RankProgram compile_rank(const EinGraph& graph, const Placement& placement,
                                                  int ranks, int rank,
                                                  const std::vector<StepGroup>& groups,
                                                  const SpaceFacts& space,
                                                  const std::source_location& where) {
  relation::check_compiled(graph, placement, ranks, groups, where);
  if (rank < 0 || rank >= ranks) {
    core::fail(ErrorKind::plan,
               "the instructions of rank " + core::to_text(rank) + " of " + core::to_text(ranks) +
                   " (ranks count from 0); give a rank of the communicator",
               where);
  }
  return std::move(
      relation::walk_programs(graph, placement, ranks, rank, rank + 1, groups, space).front());
}

EINDECOMP_PLANNER_INLINE std::vector<RankProgram> compile_ranks(
    const EinGraph& graph, const Placement& placement, int ranks,
    const std::vector<StepGroup>& groups, const SpaceFacts& space,
    const std::source_location& where) {
  relation::check_compiled(graph, placement, ranks, groups, where);
  return relation::walk_programs(graph, placement, ranks, 0, ranks, groups, space);
}

EINDECOMP_PLANNER_INLINE void for_each_rank_program(
    const EinGraph& graph, const Placement& placement, int ranks,
    const std::vector<StepGroup>& groups, const SpaceFacts& space,
    const std::function<void(const RankProgram&)>& use, const std::source_location& where) {
  relation::check_compiled(graph, placement, ranks, groups, where);
  constexpr int at_once = static_cast<int>(relation::tuning::programs_at_once);
  for (int first = 0; first < ranks; first += at_once) {
    const int last = std::min(first + at_once, ranks);
    for (const RankProgram& program :
         relation::walk_programs(graph, placement, ranks, first, last, groups, space)) {
      use(program);
    }
  }
}

}  // namespace eindecomp
