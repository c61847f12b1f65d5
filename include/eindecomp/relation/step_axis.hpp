// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A label that is cut in time: where each statement of a group has it, and what a piece of it
/// leaves of a call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp {

/// A label along which a group is cut. Every statement of the group has it, under whatever name,
/// and none aggregates it but the last (adds_blocks), or one that is streamed (StepGroup). Of
/// blocks the number is given, of tiles the length.
struct StepAxis {
  std::vector<int> positions;  ///< in Vertex::labels of each statement, in the group's order
  Extent parts = 1;            ///< pieces of nearly equal length that every kernel call is cut into
  Extent size = 0;             ///< if not 0: pieces are so long, but for the last
  /// Of a label that is aggregated: it is first cut into so many stripes, and each of them into
  /// `parts`; a panel has one part of every stripe.
  Extent stripes = 1;
  constexpr bool operator==(const StepAxis&) const = default;

  /// The number of pieces of a range.
  [[nodiscard]] constexpr Extent pieces(Extent extent) const {
    return size > 0 ? ceil_div(extent, size) : parts;
  }
  /// Where piece n of a range begins; the range ends where the piece after the last would begin.
  [[nodiscard]] constexpr Extent begin(Extent extent, Extent n) const {
    return size > 0 ? std::min(n * size, extent) : relation::part_begin(extent, parts, n);
  }
};

namespace relation {

/// Leaves of the domain of a call of a group's statement number `statement` its n-th piece.
inline void restrict_domain(Box& domain, const std::vector<StepAxis>& axes, std::size_t statement,
                            Extent n) {
  for (std::size_t a = axes.size(); a-- > 0;) {
    const auto l = static_cast<std::size_t>(axes[a].positions[statement]);
    const Extent lo = domain.lo[l];
    const Extent extent = domain.hi[l] - lo;
    const Extent pieces = axes[a].pieces(extent);
    domain.lo[l] = lo + axes[a].begin(extent, n % pieces);
    domain.hi[l] = lo + axes[a].begin(extent, n % pieces + 1);
    n /= pieces;
  }
}

/// Finds where statements of a group have the label of an axis, as far as it is known where others
/// do: what one reads of another says so, of either from the other.
/// \param known  so many statements from the first on have their positions already
constexpr void follow_reads(const EinGraph& graph, const std::vector<VertexId>& statements,
                            StepAxis& axis, std::size_t known = 0) {
  for (bool found = true; found;) {
    found = false;
    for (std::size_t reader = known; reader < statements.size(); ++reader) {
      int& read = axis.positions[reader];
      for (const Operand& o : graph[statements[reader]].operands) {
        const auto at = std::find(statements.begin(), statements.end(), o.vertex);
        if (at == statements.end()) continue;
        int& made = axis.positions[static_cast<std::size_t>(at - statements.begin())];
        if ((read < 0) == (made < 0)) continue;
        const std::vector<int>& output = graph[o.vertex].output;
        for (std::size_t k = 0; k < o.labels.size() && (read < 0 || made < 0); ++k) {
          if (made >= 0 && output[k] == made) read = o.labels[k];
          if (read >= 0 && o.labels[k] == read) made = output[k];
        }
        found = found || (read >= 0 && made >= 0);
      }
    }
  }
}

/// The axis that is label number `position` of the first of a group's statements; its position is
/// -1 in those that the reads of the group do not tell of.
[[nodiscard]] constexpr StepAxis axis_through(const EinGraph& graph,
                                              const std::vector<VertexId>& statements,
                                              int position) {
  StepAxis axis{std::vector<int>(statements.size(), -1)};
  axis.positions.front() = position;
  follow_reads(graph, statements, axis);
  return axis;
}

}  // namespace relation
}  // namespace eindecomp
