// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A rank's program as text and as a number.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "eindecomp/relation/rank_program.hpp"

namespace eindecomp {

/// Writes the buffers of a rank's program, with their places and lifetimes, and its instructions,
/// each with what it waits for (dependencies()). With EINDECOMP_SEPARATE_PLANNER, the caller's
/// translation unit does not compile it.
std::ostream& operator<<(std::ostream& out, const RankProgram& program);

/// A number that differs between programs of other instructions or buffers; the same on every
/// machine. What the calls compute is the graph's, whose operators Plan::hash() has. With
/// EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does not compile it.
[[nodiscard]] std::uint64_t hash_of(const RankProgram& program);

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/relation/program_writer.hpp"
#endif
