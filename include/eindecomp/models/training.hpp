// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the training steps of all networks share: a weight's next value, and gradient descent.
#pragma once

#include <cstddef>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/carried_tensor.hpp"
#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"

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

namespace models {

/// A tensor of a program whose rank is the program's to know, not this type's.
template <class T, class Backend>
using AnyRank = Symbol<T, 0, Backend>;

/// Appends the gradients of Σ cotangent · y by weights, and for each weight W of rank 2 or 4 its
/// next value W' = W - rate · dW. The cotangent is no result of the program any more.
///
/// \param y          what the network says, before what is folded into the cotangent.
/// \param cotangent  the loss' derivative by it, of its shape; a statement's result.
/// \returns the next values, in the weights' order. \throws Error as vjp.
template <class T, int Rank, class Backend>
std::vector<VertexId> descend(const Symbol<T, Rank, Backend>& y,
                              const Symbol<T, Rank, Backend>& cotangent,
                              const std::vector<VertexId>& weights, T rate,
                              std::source_location where) {
  graph::require_differentiable<Backend>();
  std::vector<VertexId> next;
  if constexpr (graph::is_differentiable<Backend>) {
    auto& state = *y.state();
    std::vector<AnyRank<T, Backend>> gradients;
    {
      graph::GradientCall<Backend> call(state, where);
      graph::Cotangent seed{0, cotangent.vertex(), cotangent.writing(), {}, {}};
      for (int k = 0; k < Rank; ++k) seed.dims.push_back(k);
      call.run(y.vertex(), seed, weights);
      for (VertexId w : weights) {
        gradients.push_back(call.symbol(AnyRank<T, Backend>(&state, w), y.name()));
      }
      call.commit();
    }
    state.graph.vertices[static_cast<std::size_t>(cotangent.vertex())].kept = false;
    using namespace labels;
    for (std::size_t n = 0; n < weights.size(); ++n) {
      const VertexId w = weights[n];
      const auto as = [&]<int R>(VertexId v, int writing) {
        return Symbol<T, R, Backend>(&state, v, writing);
      };
      const VertexId g = gradients[n].vertex();
      const int writing = gradients[n].writing();
      const Text name = state.graph[w].name + "'";
      if (state.graph[w].rank() == 2) {
        next.push_back((let(name)(i, j) = as.template operator()<2>(w, -1)(i, j) -
                                          rate * as.template operator()<2>(g, writing)(i, j))
                           .vertex());
      } else {
        next.push_back(
            (let(name)(i, j, k, l) = as.template operator()<4>(w, -1)(i, j, k, l) -
                                     rate * as.template operator()<4>(g, writing)(i, j, k, l))
                .vertex());
      }
    }
  }
  return next;
}

}  // namespace models
}  // namespace eindecomp
