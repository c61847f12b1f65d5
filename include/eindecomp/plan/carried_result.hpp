// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What goes round from run to run.
#pragma once

#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp {

/// A result that is an input of the next run, by vertex.
struct CarriedResult {
  VertexId next = -1;   ///< the result
  VertexId input = -1;  ///< the input it becomes
  constexpr bool operator==(const CarriedResult&) const = default;
};

}  // namespace eindecomp
