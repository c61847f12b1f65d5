// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where a placed program stores its tensors, as distributions.
#pragma once

#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"

namespace eindecomp::relation {

/// The distribution over so many ranks of a tensor with that bound and layout on the mesh: on each
/// rank the blocks of its workers, in their order. The lists must suit the mesh and the bound.
[[nodiscard]] inline Distribution stored_distribution(const Mesh& mesh,
                                                      const std::vector<Extent>& bound,
                                                      const AxisLists& lists, int ranks) {
  const BlockMap blocks(mesh, bound, lists);
  const int workers = mesh.workers();
  std::vector<std::vector<LocalArray>> arrays(to_index(ranks));
  for (int worker = 0; worker < workers; ++worker) {
    const Extent block = blocks.block(worker);
    if (block < 0) continue;
    arrays[to_index(rank_of(worker, workers, ranks))].push_back(
        LocalArray::of(blocks.relation().block(block)));
  }
  return Distribution::unchecked(bound, std::move(arrays));
}

}  // namespace eindecomp::relation
