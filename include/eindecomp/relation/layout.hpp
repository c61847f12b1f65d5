// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where a tensor's blocks and a statement's kernel calls lie on the mesh of workers.
#pragma once

#include <vector>

#include "eindecomp/core/types.hpp"

namespace eindecomp {

/// Parts per label of a statement, in the order of Vertex::labels (paper, section 4.4: d).
using PartitionVector = std::vector<Extent>;

/// p workers as a mesh: axis sizes whose product is p, the slowest link first. Worker w has the
/// mixed-radix digits of w as its coordinates, axis 0 the most significant.
struct Mesh {
  std::vector<int> axes;  ///< their sizes

  /// p, the product of the sizes.
  [[nodiscard]] constexpr int workers() const {
    int p = 1;
    for (int a : axes) p *= a;
    return p;
  }
  constexpr bool operator==(const Mesh&) const = default;
};

/// For every label of a statement, or every dimension of a tensor, the axes of the mesh that cut
/// it, outermost first. The number of parts is the product of the axes' sizes; a worker's part is
/// its coordinates along them read as mixed-radix digits. An axis stands in at most one list; one
/// that stands in none is idle: of a statement, only coordinate 0 computes; of a stored tensor,
/// only coordinate 0 holds it.
using AxisLists = std::vector<std::vector<int>>;

/// The number of parts along each entry of the lists.
[[nodiscard]] constexpr std::vector<Extent> parts_of(const Mesh& mesh, const AxisLists& lists) {
  std::vector<Extent> parts;
  for (const std::vector<int>& list : lists) {
    Extent d = 1;
    for (int axis : list) d *= mesh.axes[static_cast<std::size_t>(axis)];
    parts.push_back(d);
  }
  return parts;
}

/// A whole program on the mesh.
struct Placement {
  Mesh mesh;                      ///< the workers
  std::vector<AxisLists> calls;   ///< per vertex, per label of L; empty for inputs
  std::vector<AxisLists> stored;  ///< per vertex, per dimension: the layout it is stored in, once
};

}  // namespace eindecomp
