// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a strategy chooses.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/partitions.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp {

/// What a strategy chose.
struct Labeling {
  Partitions partitions;  ///< a partition vector per vertex; empty for inputs
  /// How far the graph cost may be above the least one, in words; absent if nothing is proven.
  std::optional<Extent> gap;
  /// Where calls and tensors lie, of a strategy that decides that too; if empty, place() does.
  Placement placement;
  /// Which statements run in steps, if the strategy has found that all ranks then keep within the
  /// limit of memory; if empty, that is still to be seen.
  std::vector<StepGroup> steps;
  std::vector<Extent> cuts;             ///< of k_cut, see Plan::cuts
  plan::WordSum words_for_memory = {};  ///< of placed, see Plan::words_for_memory

  /// A choice, and how far it may be above the least cost.
  // NOLINTNEXTLINE(google-explicit-constructor): most strategies prove nothing.
  constexpr Labeling(Partitions chosen, std::optional<Extent> above = std::nullopt)
      : partitions(std::move(chosen)), gap(above) {}
};

}  // namespace eindecomp
