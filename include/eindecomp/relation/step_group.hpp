// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The tiling tree of a program in time. What partition vectors give to one worker is cut on: into
/// blocks, of which a worker runs one after another, and within a block into tiles, which its
/// threads share out among them.
#pragma once

#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/step_axis.hpp"

namespace eindecomp {

/// The statements `first` to `last` of a graph run block by block: on each worker, all of them on
/// the first block, then all on the second, and so on. What they pass on to each other and nobody
/// else reads exists as one block at a time. The blocks are those of all axes together, the last
/// axis fastest. Moves no word that would not move otherwise. The last statement may aggregate what
/// the group is cut along: its calls on each block add to what those before have left.
///
/// `tiles` are groups of its statements whose blocks are cut on, into tiles: a thread takes a tile
/// from the group's first statement to its last before it takes another, and what the statements
/// pass on exists as one tile per thread. Their axes are one or two and have sizes.
///
/// A statement that is a group of its own, cut along one label that it aggregates, is streamed: its
/// kernel calls run panel by panel and accumulate. Of operands that only it reads, as many panels
/// are held as are needed and on their way, and those on their way travel while a panel is
/// computed. Moves no word that would not move otherwise either, in more messages.
struct StepGroup {
  VertexId first = -1;                ///< the first statement
  VertexId last = -1;                 ///< the last statement, which is one of them
  std::vector<StepAxis> axes = {};    ///< what is cut
  std::vector<StepGroup> tiles = {};  ///< in order; none of a group of tiles
  /// The last statement is a sum of the results of the others, which accumulate in its place: it
  /// has no calls of its own. One operand may be a tensor that is there before.
  bool accumulates = false;
  /// Of tiles, the statement that computes while the results of the last one's tile before are on
  /// their way to memory, the two interleaved; a thread then holds two tiles. -1: none does.
  VertexId interleaved = -1;
  constexpr bool operator==(const StepGroup&) const = default;

  /// Whether a vertex is one of its statements.
  [[nodiscard]] constexpr bool contains(VertexId v) const { return first <= v && v <= last; }

  /// The number of steps, of a group whose axes have parts.
  [[nodiscard]] constexpr Extent steps() const {
    Extent n = 1;
    for (const StepAxis& axis : axes) n *= axis.parts;
    return n;
  }
};

}  // namespace eindecomp
