// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words that the search counts by, from a unit of its own: in a program whose tests compile
// that count, the planner, too, calls their unoptimised functions, of the same names as its own.
#pragma once

#include <vector>

#include "eindecomp/plan/plan.hpp"

namespace eindecomp_tests {

/// What each rank receives by plan::quick_words.
[[nodiscard]] std::vector<eindecomp::Extent> quick_words(const eindecomp::Plan& plan, int ranks);

}  // namespace eindecomp_tests
