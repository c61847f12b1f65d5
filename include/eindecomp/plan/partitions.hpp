// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The partition vectors of a graph, and the labels that they cut.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp {

/// A partition vector for every vertex of a graph; empty for inputs.
using Partitions = std::vector<PartitionVector>;

namespace plan {

/// The names of a statement's labels: `i, j, k`.
[[nodiscard]] constexpr Text label_names(const EinGraph& graph, const Vertex& v) {
  return core::joined(v.labels, ", ",
                      [&](LabelId label) { return graph.labels[to_index(label)].name; });
}

/// The position of a label in a statement, or -1.
[[nodiscard]] constexpr int label_position(const EinGraph& graph, const Vertex& v,
                                           std::string_view label) {
  const auto found = std::ranges::find_if(
      v.labels, [&](LabelId l) { return graph.labels[to_index(l)].name == label; });
  return found == v.labels.end() ? -1 : static_cast<int>(found - v.labels.begin());
}

}  // namespace plan

}  // namespace eindecomp
