// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the training steps of all networks share.
#pragma once

#include <vector>

#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp {

/// A weight, and the result that is its next value and takes its place.
struct WeightUpdate {
  VertexId weight = -1;
  VertexId next = -1;
};

/// One step of training as it was written into a program.
struct TrainingStep {
  VertexId output = -1;               ///< what the network says
  std::vector<WeightUpdate> updates;  ///< one per weight, the first layer's first
};

namespace detail {

/// Writes a network, and the statements that bring every weight W to W - rate · dW.
template <class Writer, class T>
TrainingStep write_training(Writer writer, T rate) {
  const auto output = writer.forward();
  return writer.backward(output, rate);
}

}  // namespace detail
}  // namespace eindecomp
