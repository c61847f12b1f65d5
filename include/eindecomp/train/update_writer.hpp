// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Writes the statements of an optimiser into a program.
#pragma once

#include <cstddef>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/carried_tensor.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/statement_writer.hpp"
#include "eindecomp/graph/write_derived.hpp"
#include "eindecomp/train/optimisers.hpp"

namespace eindecomp::train {

/// What an optimiser's write() is handed, one weight after another: their tensors, and the
/// statements that it may write. Elements are T. Statements are not to be differentiated.
template <class T, class Backend>
class UpdateWriter {
  using State = graph::ProgramState<Backend>;

 public:
  /// A weight and its gradient.
  struct Trained {
    VertexId weight;          ///< an input
    graph::Written gradient;  ///< of the loss by it
  };
  /// A tensor to be read: under the weight's labels, or a scalar.
  struct Tensor {
    graph::Written written;  ///< which
    bool is_scalar = false;  ///< whether it is of rank 0
  };

  /// \param trained  all weights; write() is called for each, after begin().
  UpdateWriter(State& state, std::vector<Trained> trained, std::source_location where)
      : m_state(state),
        m_trained(std::move(trained)),
        m_where(where),
        m_needs_mean(m_trained.size(), 0) {}

  /// Writes what adds up the gradients of a step's microbatches, and scalars that each of them has.
  /// Lets gradient() be the mean. \returns which sum is which input of the next microbatch: those
  /// of the weights' gradients, then those of the scalars.
  [[nodiscard]] std::vector<CarriedTensor> accumulate(Extent microbatches,
                                                      const std::vector<graph::Written>& scalars) {
    std::vector<CarriedTensor> sums;
    const auto add = [&](const Text& wanted, const Tensor& tensor, std::vector<Extent> bound) {
      const Text name = graph().unused_name(wanted);
      const Tensor old{{input(name, std::move(bound)), -1}, tensor.is_scalar};
      const Tensor sum = write(name + "'", tensor.is_scalar, Add{}, old, tensor);
      carry(sum, name, sums);
      return sum.written;
    };
    for (std::size_t n = 0; n < m_trained.size(); ++n) {
      begin(n);
      m_trained[n].gradient =
          add(m_name + ".gradient", m_gradient, graph()[m_trained[n].weight].bound);
    }
    for (const graph::Written& scalar : scalars) {
      (void)add(graph()[scalar.vertex].name + ".sum", {scalar, true}, {});
    }
    m_microbatches = microbatches;
    m_needs_mean.assign(m_trained.size(), 1);
    return sums;
  }
  /// Begins what runs once a step.
  void begin_update() { m_rate = {{input("rate", {}), -1}, true}; }

  /// Lets the functions below be of weight number `n`.
  void begin(std::size_t n) {
    m_number = n;
    const Vertex& gradient = graph()[m_trained[n].gradient.vertex];
    m_name = graph()[m_trained[n].weight].name;
    m_labels.clear();
    for (const int l : gradient.output) {
      const int label = gradient.labels[static_cast<std::size_t>(l)];
      m_labels.push_back(graph().labels[static_cast<std::size_t>(label)].name);
    }
    m_weight = {{m_trained[n].weight, -1}, false};
    m_gradient = {m_trained[n].gradient, false};
    if (m_needs_mean[n] == 0) return;
    const auto mean = expr::node(Mul{}, number(1 / static_cast<double>(m_microbatches)), Arg<0>{});
    m_gradient = write(Text("d") + m_name + ".mean", false, mean, m_gradient);
    m_trained[n].gradient = m_gradient.written;
    m_needs_mean[n] = 0;
  }

  /// The learning rate, an input of rank 0.
  [[nodiscard]] Tensor rate() const { return m_rate; }
  /// The weight at hand.
  [[nodiscard]] Tensor weight() const { return m_weight; }
  /// The loss' derivative by it, clipped if clip() was called.
  [[nodiscard]] Tensor gradient() const { return m_gradient; }
  /// A number in the expression of a statement.
  [[nodiscard]] static Value<T> number(double value) { return {static_cast<T>(value)}; }

  /// Writes the weight's next value, ⊗ = join of tensors.
  template <class Join, class... Tensors>
  [[nodiscard]] Tensor next(const Join& join, const Tensors&... tensors) {
    const Tensor next = write(m_name + "'", false, join, tensors...);
    carry(next, m_state.graph[m_weight.written.vertex].name, m_weights);
    return next;
  }
  /// Writes the next value of a state of the weight, an input of its shape that is 0 at first:
  /// ⊗ = join of the state and tensors.
  template <class Join, class... Tensors>
  [[nodiscard]] Tensor state(std::string_view suffix, const Join& join, const Tensors&... tensors) {
    const Text name = graph().unused_name(m_name + suffix);
    const Tensor old{{input(name, graph()[m_weight.written.vertex].bound), -1}, false};
    const Tensor next = write(name + "'", false, join, old, tensors...);
    carry(next, name, m_states);
    return next;
  }
  /// Likewise of a scalar that all weights share.
  template <class Join>
  [[nodiscard]] Tensor scalar_state(std::string_view name, const Join& join) {
    for (const auto& [known, tensor] : m_scalars) {
      if (known == name) return tensor;
    }
    const Text unused = graph().unused_name(name);
    const Tensor old{{input(unused, {}), -1}, true};
    const Tensor next = write(unused + "'", true, join, old);
    carry(next, unused, m_states);
    m_scalars.emplace_back(name, next);
    return next;
  }
  /// Writes a scalar from scalars. Equal ones are written once, whichever weights they are for.
  template <class Join, class... Tensors>
  [[nodiscard]] Tensor scalar(std::string_view name, const Join& join, const Tensors&... tensors) {
    return write(name, true, join, tensors...);
  }
  /// Lets gradient() be the gradient times min(1, max_norm / √Σ dW²), Σ over all weights.
  void clip(double max_norm) {
    if (m_scale.written.vertex < 0) {
      const std::size_t at_hand = m_number;
      Tensor total;
      for (std::size_t n = 0; n < m_trained.size(); ++n) {
        begin(n);
        const Tensor square = write_as<Square, Sum>(m_name + ".norm", true, Square{}, m_gradient);
        total = n == 0 ? square : write("norm", true, Add{}, total, square);
      }
      begin(at_hand);
      const auto quotient = expr::node(Div{}, number(max_norm), expr::node(Sqrt{}, Arg<0>{}));
      m_scale = write("clip", true, expr::node(Min{}, number(1), quotient), total);
    }
    m_gradient = write(Text("d") + m_name + ".clipped", false, Mul{}, m_scale, m_gradient);
  }

  /// What was written for all weights, and for states.
  [[nodiscard]] const std::vector<CarriedTensor>& weights() const { return m_weights; }
  /// The same for states.
  [[nodiscard]] const std::vector<CarriedTensor>& states() const { return m_states; }

 private:
  [[nodiscard]] EinGraph& graph() { return m_state.graph; }

  [[nodiscard]] VertexId input(std::string_view wanted, std::vector<Extent> bound) {
    const Text name = graph().unused_name(wanted);
    const VertexId v = graph().add_input(name, std::move(bound), element_type<T>(), m_where);
    m_state.resize(static_cast<std::size_t>(graph().size()));
    return v;
  }
  void carry(const Tensor& next, const Text& input, std::vector<CarriedTensor>& list) {
    Vertex& v = graph().vertices[static_cast<std::size_t>(next.written.vertex)];
    v.kept = true;
    list.push_back({v.name, input});
  }
  template <class Join, class... Tensors>
  [[nodiscard]] Tensor write(const Text& name, bool is_scalar, const Join& join,
                             const Tensors&... tensors) {
    return write_as<Join, NoAggregation>(name, is_scalar, join, tensors...);
  }
  template <class Join, class Monoid, class... Tensors>
  [[nodiscard]] Tensor write_as(const Text& name, bool is_scalar, const Join& join,
                                const Tensors&... tensors) {
    StatementSpec spec;
    const Text unused = graph().unused_name(name);
    spec.name = unused;
    spec.where = m_where;
    (spec.operands.push_back(read(tensors)), ...);
    for (const Text& label : m_labels) {
      if (!is_scalar) spec.output.push_back({label, 0});
    }
    const graph::StatementWriter<graph::AtOrder<Backend, 0>, Join, Monoid,
                                 typename expr::SameForAll<T, Tensors>::type...>
        writer(m_state, join, Monoid{});
    const VertexId v = writer.write(std::move(spec));
    return {{v, graph().last_writing()}, is_scalar};
  }
  [[nodiscard]] StatementSpec::OperandSpec read(const Tensor& tensor) const {
    StatementSpec::OperandSpec operand;
    operand.vertex = tensor.written.vertex;
    operand.writing = tensor.written.writing;
    for (const Text& label : m_labels) {
      if (!tensor.is_scalar) operand.labels.push_back(label);
    }
    return operand;
  }

  State& m_state;
  std::vector<Trained> m_trained;
  std::source_location m_where;
  Extent m_microbatches = 1;
  Flags m_needs_mean;  // by weight, whether its gradient is to be divided by their number
  Tensor m_rate;
  std::size_t m_number = 0;  // the weight at hand
  Text m_name;
  std::vector<Text> m_labels;
  Tensor m_weight;
  Tensor m_gradient;
  Tensor m_scale{{-1, -1}, true};  // of all gradients, once one was clipped
  std::vector<std::pair<Text, Tensor>> m_scalars;
  std::vector<CarriedTensor> m_weights;
  std::vector<CarriedTensor> m_states;
};

}  // namespace eindecomp::train
