// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "support/quick_words.hpp"

#include "eindecomp/plan/placed/quick_words.hpp"

namespace eindecomp_tests {

std::vector<eindecomp::Extent> quick_words(const eindecomp::Plan& plan, int ranks) {
  return eindecomp::plan::quick_words(plan.graph, plan.placement, ranks);
}

}  // namespace eindecomp_tests
