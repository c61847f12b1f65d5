// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The layouts of inputs that the user asks for.
#pragma once

#include <source_location>

#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/relation/placement.hpp"

namespace eindecomp::plan {

/// The layouts given by hand, by vertex. \throws Error if one is not for an input.
[[nodiscard]] constexpr PlaceOptions place_options(const EinGraph& graph,
                                                   const DecomposeOptions& options,
                                                   const std::source_location& where) {
  PlaceOptions found;
  for (const InputParts& given : options.layouts) {
    const VertexId v = graph.find(given.input);
    if (v < 0 || !graph[v].is_input()) {
      core::fail(ErrorKind::plan, where, "a layout is given for '", given.input, "' (",
                 (v < 0 ? "there is no such tensor" : "it is a statement, whose layout is planned"),
                 "); give layouts of inputs, by name");
    }
    found.inputs.push_back({v, given.parts});
  }
  return found;
}

}  // namespace eindecomp::plan
