// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Steps of training, from statements to statements: `minimise(loss, {W1, W2}, Adam{})`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/graph/carried_tensor.hpp"
#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/train/optimisers.hpp"
#include "eindecomp/train/update_writer.hpp"

namespace eindecomp {

/// An input of a program that is trained, whatever its rank.
template <class T, class Backend>
struct Weight {
  /// The input's symbol. \tparam U  its elements, which must be the loss'.
  template <class U, int Rank>
  // NOLINTNEXTLINE(google-explicit-constructor): a symbol is a weight wherever weights are listed.
  Weight(const Symbol<U, Rank, Backend>& symbol)
      : tensor(symbol.state(), symbol.vertex(), symbol.writing()) {
    static_assert(std::is_same_v<U, T>,
                  "EinDecomp: a weight has other elements than the loss; declare both of one type");
  }
  /// The same tensor; its rank is the program's to know, not this type's.
  Symbol<T, 0, Backend> tensor;
};

/// A number that a step finds beside the loss.
template <class T, class Backend>
struct Metric {
  Text name;                     ///< for those who read it
  Symbol<T, 0, Backend> tensor;  ///< a result
};

/// How a step adds up what its microbatches find.
struct Accumulation {
  Extent microbatches = 1;          ///< of a step; where it is 1 there are no sums
  std::vector<CarriedTensor> sums;  ///< of the gradients of all weights, loss and metrics
  VertexId begin = -1;              ///< the first tensor of the update, which runs once a step
  VertexId end = -1;                ///< the tensors of the program
  int writing = -1;                 ///< EinGraph::last_writing() before the update
};

/// What minimise() wrote into a program.
template <class T, class Backend>
struct Updates {
  Symbol<T, 0, Backend> loss;          ///< what is minimised, a result
  Symbol<T, 0, Backend> rate;          ///< the learning rate, an input, bound in every run
  std::vector<CarriedTensor> weights;  ///< which result is which weight's next value
  std::vector<CarriedTensor> states;   ///< the same of the optimiser's states, which begin as 0
  std::vector<Metric<T, Backend>> metrics;  ///< what a step finds beside the loss
  Accumulation accumulation = {};           ///< of an Accumulated optimiser

  /// All of them, for DecomposeOptions::carry: weights, states and sums stay where they are.
  [[nodiscard]] std::vector<CarriedTensor> carry() const {
    std::vector<CarriedTensor> all = weights;
    all.insert(all.end(), states.begin(), states.end());
    all.insert(all.end(), accumulation.sums.begin(), accumulation.sums.end());
    return all;
  }
};

namespace train {

/// Whether minimise() can take it: its settings can be checked.
template <class Optimiser>
inline constexpr bool is_optimiser = requires(const Optimiser& optimiser,
                                              const std::source_location& where) {
  optimiser.check(where);
};

/// Refuses what cannot be trained.
template <class T, class Backend>
void check_weights(const std::vector<Weight<T, Backend>>& weights,
                   const graph::GradientCall<Backend>& call, const EinGraph& graph,
                   const std::source_location& where) {
  if (weights.empty()) {
    core::fail(ErrorKind::statement, "no weight is given to minimise a loss by; give one or more",
               where);
  }
  for (std::size_t n = 0; n < weights.size(); ++n) {
    const auto& weight = weights[n].tensor;
    call.require(weight, "by which a loss is minimised");
    if (!graph[weight.vertex()].is_input()) {
      core::fail(ErrorKind::statement,
                 Text("weight ") + weight.name() +
                     " is the result of a statement (its next value would have nowhere to go); "
                     "give inputs of the program",
                 where);
    }
    const auto is_it = [&](const auto& w) { return w.tensor.vertex() == weight.vertex(); };
    if (std::count_if(weights.begin(), weights.end(), is_it) > 1) {
      core::fail(ErrorKind::statement,
                 Text("weight ") + weight.name() + " is given twice; give each once", where);
    }
  }
}

/// Refuses what is no metric.
template <class T, class Backend>
void check_metrics(const std::vector<Symbol<T, 0, Backend>>& metrics,
                   const graph::GradientCall<Backend>& call, const EinGraph& graph,
                   const std::source_location& where) {
  for (const auto& metric : metrics) {
    call.require(metric, "a metric of training");
    if (!graph[metric.vertex()].is_input()) continue;
    core::fail(ErrorKind::statement,
               Text("metric ") + metric.name() +
                   " is an input (a step does not find it); give the result of a statement",
               where);
  }
}

}  // namespace train

/// Appends to a program the gradients of a loss by weights, and the statements that bring each
/// weight W to its next value W' by an optimiser. What a run leaves of weights and of the
/// optimiser's states is the next run's input: plan with `.carry = updates.carry()`, and go on by
/// Run::carry(), or leave both to a Trainer (train/trainer.hpp).
///
///     auto updates = ein::minimise(loss, {W1, b1, W2}, ein::Adam{.decay = 0.01});
///     auto plan = ein::decompose(g, {.workers = ranks, .carry = updates.carry()});
///
/// \param loss       a tensor of rank 0 of a program of a Differentiable backend; becomes a result.
/// \param weights    inputs of the loss' type, each once, of any rank.
/// \param optimiser  Sgd, Momentum, Adam, ClippedByNorm or Accumulated of one of them, or one of
///   your own (optimisers.hpp). Accumulated ends the program: nothing is to be written after it.
/// \param metrics    what is to be known of each step beside its loss, such as the share of samples
///   that are classified rightly: tensors of rank 0 of the loss' type, which become results.
/// \throws Error as gradient() does, and if a weight is not an input or given twice, none is given,
///   a metric is an input or of another program, or a setting of the optimiser is out of its
///   bounds, be it after it was rounded to the loss' type. The program is then as it was.
template <class T, class Backend, class Optimiser = Sgd>
[[nodiscard]] Updates<T, Backend> minimise(
    const Symbol<T, 0, Backend>& loss,
    const std::type_identity_t<std::vector<Weight<T, Backend>>>& weights,
    const Optimiser& optimiser = {},
    const std::type_identity_t<std::vector<Symbol<T, 0, Backend>>>& metrics = {},
    std::source_location where = std::source_location::current()) {
  graph::require_differentiable<Backend>();
  static_assert(!Half<T>,
                "EinDecomp: a loss of 16-bit numbers is minimised (what is trained is rounded in "
                "every step); keep loss and weights as float, and cast where they are read");
  static_assert(train::is_optimiser<Optimiser>,
                "EinDecomp: minimise takes a loss, weights and an optimiser; several weights are "
                "given in braces, as in minimise(loss, {W1, W2}, Adam{})");
  if constexpr (graph::is_differentiable<Backend> && train::is_optimiser<Optimiser>) {
    train::check_optimiser<T>(optimiser, where);
    auto& state = *loss.state();
    graph::Transaction<Backend> transaction(state);
    std::vector<typename train::UpdateWriter<T, Backend>::Trained> trained;
    {
      graph::GradientCall<Backend> call(state, where);
      call.require_loss(loss, "which is minimised");
      train::check_weights(weights, call, state.graph, where);
      train::check_metrics(metrics, call, state.graph, where);
      std::vector<VertexId> vertices;
      for (const auto& weight : weights) vertices.push_back(weight.tensor.vertex());
      call.run(loss, vertices);
      for (const auto& weight : weights) {
        const auto gradient = call.symbol(weight.tensor);
        trained.push_back({weight.tensor.vertex(), {gradient.vertex(), gradient.writing()}});
      }
      call.commit();
    }
    std::vector<graph::Written> numbers{{loss.vertex(), loss.writing()}};
    for (const auto& metric : metrics) numbers.push_back({metric.vertex(), metric.writing()});
    train::UpdateWriter<T, Backend> writer(state, std::move(trained), where);
    Accumulation accumulation{train::microbatches_of(optimiser), {}, -1, -1, -1};
    if (accumulation.microbatches > 1) {
      accumulation.sums = writer.accumulate(accumulation.microbatches, numbers);
    }
    accumulation.begin = state.graph.size();
    accumulation.writing = state.graph.last_writing();
    writer.begin_update();
    for (std::size_t n = 0; n < weights.size(); ++n) {
      writer.begin(n);
      (void)optimiser.write(writer);
      const std::size_t written = writer.weights().size() - n;
      if (written == 1) continue;
      core::fail(ErrorKind::statement, where, "the optimiser writes ", written,
                 " next values of weight ", weights[n].tensor.name(),
                 " (a step has one); let its write() call next() once");
    }
    const auto keep = [&state](const auto& result) {
      state.graph.vertices[static_cast<std::size_t>(result.vertex())].kept = true;
    };
    accumulation.end = state.graph.size();
    Updates<T, Backend> updates{loss,
                                {&state, writer.rate().written.vertex},
                                writer.weights(),
                                writer.states(),
                                {},
                                std::move(accumulation)};
    keep(loss);
    for (const auto& metric : metrics) {
      keep(metric);
      updates.metrics.push_back({metric.name(), metric});
    }
    transaction.commit();
    return updates;
  } else {
    return {loss, loss, {}, {}, {}, {}};
  }
}
/// The same by one weight.
template <class T, class Backend, int Rank, class Optimiser = Sgd>
[[nodiscard]] Updates<T, Backend> minimise(
    const Symbol<T, 0, Backend>& loss, const Symbol<T, Rank, Backend>& weight,
    const Optimiser& optimiser = {},
    const std::type_identity_t<std::vector<Symbol<T, 0, Backend>>>& metrics = {},
    std::source_location where = std::source_location::current()) {
  return minimise(loss, {weight}, optimiser, metrics, where);
}

}  // namespace eindecomp
