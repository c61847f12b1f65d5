// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Networks of fully connected layers as programs: what they say, and one step of their training.
#pragma once

#include <cstddef>
#include <source_location>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/models/training.hpp"

namespace eindecomp {

/// A network of fully connected layers without biases.
struct FeedForward {
  Extent batch = 1;  ///< examples
  /// Of the input and of every layer's output: one more than there are layers.
  std::vector<Extent> widths;
  bool relu = false;     ///< after every layer but the last
  bool softmax = false;  ///< after the last
};

/// The classifier of EinDecomp's experiments: 597,540 features, 8192 hidden neurons, 14,588 labels.
[[nodiscard]] inline FeedForward amazon_classifier(Extent batch) {
  return {batch, {597540, 8192, 14588}, true, true};
}

/// SoyBean's MLP: layers of one width and nothing between them.
[[nodiscard]] inline FeedForward soybean_mlp(int layers, Extent width, Extent batch) {
  return {batch, std::vector<Extent>(static_cast<std::size_t>(layers) + 1, width), false, false};
}

/// The tensors of a network of fully connected layers.
template <class T, class Backend>
struct FeedForwardTensors {
  /// A tensor of rank 2.
  using Matrix = Symbol<T, 2, Backend>;
  Matrix input;                 ///< X, batch by the first width
  std::vector<Matrix> weights;  ///< W1, W2, …
  Matrix output;                ///< batch by the last width
};

/// One step of its training.
template <class T, class Backend>
using FeedForwardTraining =
    TrainingStep<Symbol<T, 2, Backend>, Symbol<T, 2, Backend>, Symbol<T, 2, Backend>>;

namespace models {

/// Writes one network into a program. In every statement b is the batch; a weight is W(i,j).
template <class T, class Backend>
class FeedForwardWriter {
  using Matrix = Symbol<T, 2, Backend>;

 public:
  FeedForwardWriter(BasicProgram<Backend>& program, const FeedForward& net)
      : m_program(program), m_net(net) {
    if (net.widths.size() < 2) {
      core::fail(ErrorKind::shape,
                 Text("a network of ") + net.widths.size() +
                     " widths (it has an input and at least one layer); give two or more");
    }
  }

  /// X, the weights, and the network's output for X.
  FeedForwardTensors<T, Backend> forward() {
    using namespace labels;
    const Matrix input = m_program.template input<T>("X", {m_net.batch, m_net.widths[0]});
    Matrix x = input;
    for (std::size_t l = 1; l < m_net.widths.size(); ++l) {
      const auto w =
          m_program.template input<T>(numbered("W", l), {m_net.widths[l - 1], m_net.widths[l]});
      m_weights.push_back(w);
      x = let(numbered("Z", l))(b, j) = sum(i)(x(b, i) * w(i, j));
      if (m_net.relu && l + 1 < m_net.widths.size()) {
        x = let(numbered("A", l))(b, j) = eindecomp::relu(x(b, j));
      }
    }
    m_logits = x.vertex();
    if (m_net.softmax) x = let("P")(b, j) = eindecomp::softmax(j)(x(b, j));
    m_program.role(b, "batch");
    m_program.role(i, "hidden");
    m_program.role(j, "hidden");
    return {input, m_weights, x};
  }

  /// The statements after forward() that bring every weight W to W - rate · dW, of the squared
  /// error's half, or behind a softmax of the cross entropy.
  FeedForwardTraining<T, Backend> backward(const FeedForwardTensors<T, Backend>& net, T rate,
                                           std::source_location where) {
    using namespace labels;
    const Matrix target = m_program.template input<T>("T", {m_net.batch, m_net.widths.back()});
    FeedForwardTraining<T, Backend> step{net.input, target, net.output, {}};
    const Matrix error = let("E")(b, j) = net.output(b, j) - target(b, j);
    std::vector<VertexId> weights;
    for (const Matrix& weight : m_weights) weights.push_back(weight.vertex());
    const std::vector<VertexId> next =
        descend(Matrix(m_program.state(), m_logits), error, weights, rate, where);
    for (std::size_t n = 0; n < next.size(); ++n) {
      step.updates.push_back({m_weights[n], {m_program.state(), next[n]}});
    }
    return step;
  }

 private:
  static Text numbered(const char* name, std::size_t layer) { return Text(name) + layer; }

  BasicProgram<Backend>& m_program;
  FeedForward m_net;
  VertexId m_logits = -1;  // what the last layer says, before a softmax
  std::vector<Matrix> m_weights;
};

}  // namespace models

/// Writes a network into a program: inputs X (batch by the first width), W1, W2, …; label b has the
/// role batch, i and j hidden.
///
/// \returns the symbols of X, of the weights and of the network's output.
/// \throws Error if it has no layer, an extent is not positive or a name is taken.
template <class T = float, class Backend>
FeedForwardTensors<T, Backend> feed_forward(BasicProgram<Backend>& program,
                                            const FeedForward& net) {
  return models::FeedForwardWriter<T, Backend>(program, net).forward();
}

/// Writes one step of training by gradient descent into a program that can be differentiated: the
/// network, its difference E to the target T, the gradients of half the squared error or, behind a
/// softmax, of the cross entropy, every weight's next value W'.
///
/// \returns the symbols of X, T, the network's output, and per weight its own and its next
/// value's. \throws Error as feed_forward.
template <class T = float, class Backend>
FeedForwardTraining<T, Backend> feed_forward_training(
    BasicProgram<Backend>& program, const FeedForward& net, T rate = T(0.01),
    std::source_location where = std::source_location::current()) {
  models::FeedForwardWriter<T, Backend> writer(program, net);
  return writer.backward(writer.forward(), rate, where);
}

}  // namespace eindecomp
