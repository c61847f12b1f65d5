// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the ranks of a placed program hold at most.
#pragma once

#include <cstdint>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::relation {

/// The bytes that each rank holds at most, as the memory of profile_of() has them. With
/// EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does not compile it.
[[nodiscard]] std::vector<std::int64_t> peak_bytes_of(const EinGraph& graph,
                                                      const Placement& placement, int ranks,
                                                      const std::vector<StepGroup>& groups,
                                                      const SpaceFacts& space);

}  // namespace eindecomp::relation

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/relation/make_profile.hpp"
#endif
