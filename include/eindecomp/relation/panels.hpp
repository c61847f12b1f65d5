// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The panels of a statement that is streamed: which parts of its label each has, and which
/// operands come panel by panel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::relation {

/// A part of a streamed label.
struct PanelPart {
  Extent lo = 0;     ///< its first index
  Extent hi = 0;     ///< one past its last
  Extent panel = 0;  ///< which panel it belongs to
};

/// The parts of a streamed label, in order; none empty.
[[nodiscard]] inline std::vector<PanelPart> panel_parts(Extent extent, const StepAxis& axis) {
  std::vector<PanelPart> parts;
  for (Extent s = 0; s < axis.stripes; ++s) {
    const Extent begin = part_begin(extent, axis.stripes, s);
    const Extent length = part_begin(extent, axis.stripes, s + 1) - begin;
    for (Extent n = 0; n < axis.parts; ++n) {
      const PanelPart part{begin + axis.begin(length, n), begin + axis.begin(length, n + 1), n};
      if (part.lo < part.hi) parts.push_back(part);
    }
  }
  return parts;
}

/// Per operand of a streamed statement, whether it comes panel by panel: if the label is on one of
/// its dimensions, nothing else reads the tensor, and it is no constant, which is gathered
/// once and for all. The others are gathered whole, before the first panel.
/// \param readers  EinGraph::reader_counts()
[[nodiscard]] inline Flags streamed_operands(const EinGraph& graph, const StepGroup& group,
                                             const std::vector<int>& readers,
                                             const std::vector<VertexId>& constants) {
  const int label = group.axes.front().positions.front();
  Flags streamed;
  for (const Operand& o : graph[group.first].operands) {
    const bool comes_in_panels = !o.is_computed() &&
                                 std::count(o.labels.begin(), o.labels.end(), label) == 1 &&
                                 readers[to_index(o.vertex)] == 1 &&
                                 !std::binary_search(constants.begin(), constants.end(), o.vertex);
    streamed.push_back(comes_in_panels ? 1 : 0);
  }
  return streamed;
}

}  // namespace eindecomp::relation
