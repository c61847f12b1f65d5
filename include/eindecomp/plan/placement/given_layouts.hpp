// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The layouts of inputs that the user asks for.
#pragma once

#include <algorithm>
#include <source_location>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/carried_result.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/placement.hpp"

namespace eindecomp::plan {

/// \throws Error unless a distribution suits a tensor that comes or goes.
constexpr void check_given(const EinGraph& graph, const TensorLayout& given, int ranks,
                           const std::source_location& where) {
  const VertexId v = graph.find(given.tensor);
  if (v < 0 || (!graph[v].is_input() && !graph[v].is_result())) {
    core::fail(ErrorKind::plan, where, "a distribution is given for '", given.tensor, "' (",
               (v < 0 ? "there is no such tensor" : "it is no result, and ends with the run"),
               "); give those of inputs and results, by name");
  }
  if (given.distribution.bound() != graph[v].bound) {
    core::fail(ErrorKind::plan, where, "the distribution given for '", given.tensor, "' is of ",
               core::extents_text(given.distribution.bound()), " (the tensor is ",
               core::extents_text(graph[v].bound), "); describe the tensor's own");
  }
  if (given.distribution.ranks() != ranks) {
    core::fail(ErrorKind::plan, where, "the distribution given for '", given.tensor, "' is for ",
               given.distribution.ranks(), " ranks (the plan is for ", ranks,
               "); describe it for the plan's, those without a part included");
  }
}

/// The layouts given by hand, by vertex. \throws Error if one is not for an input, or a
/// distribution does not suit its tensor.
[[nodiscard]] constexpr PlaceOptions place_options(const EinGraph& graph,
                                                   const DecomposeOptions& options,
                                                   const std::source_location& where) {
  PlaceOptions found;
  for (auto layout = options.layouts.begin(); layout != options.layouts.end(); ++layout) {
    const TensorLayout& given = *layout;
    if (given.distribution.ranks() > 0) {
      check_given(graph, given, ranks_of(options), where);
      const bool is_second =
          std::any_of(options.layouts.begin(), layout, [&](const TensorLayout& other) {
            return other.tensor == given.tensor && other.distribution.ranks() > 0;
          });
      if (is_second) {
        core::fail(ErrorKind::plan, where, "two distributions are given for '", given.tensor,
                   "' (a tensor comes or goes in one); leave one out");
      }
      continue;
    }
    const VertexId v = graph.find(given.tensor);
    if (v < 0 || !graph[v].is_input()) {
      core::fail(ErrorKind::plan, where, "a layout is given for '", given.tensor, "' (",
                 (v < 0 ? "there is no such tensor" : "it is a statement, whose layout is planned"),
                 "); give layouts of inputs, by name");
    }
    found.inputs.push_back({v, given.parts});
  }
  return found;
}

/// The results that become inputs, by vertex. \throws Error if one is no result, or no input, or
/// does not suit the other.
[[nodiscard]] constexpr std::vector<CarriedResult> carried_results(
    const EinGraph& graph, const DecomposeOptions& options, const std::source_location& where) {
  std::vector<CarriedResult> carried;
  for (const CarriedTensor& pair : options.carry) {
    const VertexId next = graph.find(pair.next);
    const VertexId input = graph.find(pair.input);
    if (next >= 0 && graph[next].is_input()) {
      core::fail(ErrorKind::plan, where, "'", pair.next, "' is to be carried to the next run (",
                 "it is an input, which is the same after the run); carry a copy, "
                 "let<\"last\">(i, j) = ",
                 pair.next, "(i, j)");
    }
    if (next < 0 || !graph[next].is_result()) {
      core::fail(ErrorKind::plan, where, "'", pair.next, "' is to be carried to the next run (",
                 (next < 0 ? "there is no such tensor); name a result"
                           : "it is no result of this one); name a result, or keep it: "
                             "program.keep(" +
                                 pair.next + ")"));
    }
    if (input < 0 || !graph[input].is_input()) {
      core::fail(ErrorKind::plan, where, "'", pair.next, "' is to be carried to '", pair.input,
                 "' (", (input < 0 ? "there is no such tensor" : "it is computed by the run"),
                 "); name an input");
    }
    if (graph[next].bound != graph[input].bound || !(graph[next].element == graph[input].element)) {
      core::fail(ErrorKind::plan, where, "'", pair.next, "', which is ",
                 core::extents_text(graph[next].bound), " of ",
                 expr::element_text(graph[next].element), ", is to be carried to '", pair.input,
                 "', which is ", core::extents_text(graph[input].bound), " of ",
                 expr::element_text(graph[input].element),
                 " (extents and value types are to be the same); declare them so");
    }
    for (const CarriedResult& other : carried) {
      if (other.input != input) continue;
      core::fail(ErrorKind::plan, where, "two results are to be carried to '", pair.input,
                 "' (an input has one value); leave one out");
    }
    carried.push_back({next, input});
  }
  return carried;
}

}  // namespace eindecomp::plan
