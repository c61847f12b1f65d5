// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the training steps of all networks share.
#pragma once

#include <vector>

#include "eindecomp/graph/carried_tensor.hpp"

namespace eindecomp {

/// A weight, and the result that is its next value: what a run's `next` says is bound to `weight`
/// in the run after it.
template <class Weight>
struct WeightUpdate {
  Weight weight;  ///< the input
  Weight next;    ///< the result, of the same shape
};

/// One step of training as it was written into a program.
template <class Input, class Output, class Weight>
struct TrainingStep {
  Input input;    ///< X
  Output target;  ///< T, what the network should say; of the output's shape
  Output output;  ///< what the network says
  std::vector<WeightUpdate<Weight>> updates;  ///< one per weight, the first layer's first

  /// The updates for DecomposeOptions::carry: weights stay where they are from step to step.
  [[nodiscard]] std::vector<CarriedTensor> carry() const {
    std::vector<CarriedTensor> carried;
    for (const WeightUpdate<Weight>& update : updates) {
      carried.push_back({update.next.name(), update.weight.name()});
    }
    return carried;
  }
};

}  // namespace eindecomp
