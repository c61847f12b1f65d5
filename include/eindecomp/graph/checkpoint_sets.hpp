// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where a forward pass may be cut into segments, between which checkpoints lie. Knows no
/// operators.
#pragma once

#include <vector>

#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp::graph {

/// How many segments with_checkpoints() tries.
inline constexpr int segment_counts[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

/// The statements that lead to a tensor, cut into segments of about equal bytes at places where
/// little is read across.
class ForwardPass {
 public:
  ForwardPass(const EinGraph& graph, VertexId to);

  /// Whether so many segments may save more memory than fewer: with more than some √n of n
  /// statements, the checkpoints are more than what lies between two of them.
  [[nodiscard]] bool takes(int segments) const;

  /// The tensors that are read across the places that cut the pass into so many segments.
  [[nodiscard]] std::vector<VertexId> checkpoints(int segments) const;

 private:
  /// A place behind a statement.
  struct Cut {
    VertexId behind = -1;   ///< the statement
    double before = 0;      ///< bytes of the results before it
    double live_bytes = 0;  ///< of those before it that are read behind it
  };

  double m_bytes = 0;
  std::vector<Cut> m_cuts;              ///< one for each statement that leads to the tensor
  std::vector<VertexId> m_last_reader;  ///< of each tensor, among what leads there; or -1
};

}  // namespace eindecomp::graph

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/graph/checkpoint_sets_members.hpp"
#endif
