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
  Input input;                                ///< X
  Output target;                              ///< T, the target; of the output's shape
  Output output;                              ///< the network's output
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

/// W' = W - rate · dW.
template <int Rank, class T, class Backend>
VertexId write_next(graph::ProgramState<Backend>& state, VertexId weight, graph::Written gradient,
                    T rate) {
  const auto write = [&](auto... l) {
    const Symbol<T, Rank, Backend> w(&state, weight);
    const Symbol<T, Rank, Backend> g(&state, gradient.vertex, gradient.writing);
    return (let(state.graph[weight].name + "'")(l...) = w(l...) - rate * g(l...)).vertex();
  };
  using namespace labels;
  if constexpr (Rank == 1) {
    return write(i);
  } else if constexpr (Rank == 2) {
    return write(i, j);
  } else if constexpr (Rank == 3) {
    return write(i, j, k);
  } else {
    static_assert(Rank == 4);
    return write(i, j, k, l);
  }
}

/// Appends the gradients of Σ cotangent · y by weights, and for each weight W of rank 1 to 4 its
/// next value W' = W - rate · dW. The cotangent is no result of the program any more.
///
/// \param y          the network's output, before what is folded into the cotangent.
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
        gradients.push_back(call.symbol(AnyRank<T, Backend>(&state, w)));
      }
      call.commit();
    }
    state.graph.vertices[static_cast<std::size_t>(cotangent.vertex())].kept = false;
    for (std::size_t n = 0; n < weights.size(); ++n) {
      const graph::Written gradient{gradients[n].vertex(), gradients[n].writing()};
      switch (state.graph[weights[n]].rank()) {
        case 1:
          next.push_back(write_next<1>(state, weights[n], gradient, rate));
          break;
        case 2:
          next.push_back(write_next<2>(state, weights[n], gradient, rate));
          break;
        case 3:
          next.push_back(write_next<3>(state, weights[n], gradient, rate));
          break;
        default:
          next.push_back(write_next<4>(state, weights[n], gradient, rate));
      }
    }
  }
  return next;
}

}  // namespace models
}  // namespace eindecomp
