// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a strategy decides about one statement.
#pragma once

#include <string_view>

#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/strategy.hpp"

namespace eindecomp_tests {

/// The partition vector of one statement under a strategy.
inline eindecomp::PartitionVector partition_of(const eindecomp::EinGraph& graph,
                                               std::string_view strategy, int p,
                                               std::string_view statement) {
  return decompose(graph, {.workers = p, .strategy = strategy}).partition(statement);
}

}  // namespace eindecomp_tests
