// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A LLaMA-style transformer as a program, every statement written out: its prefill, and one step
/// of its training.
#pragma once

#include <cmath>
#include <cstddef>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/models/training.hpp"

namespace eindecomp {

/// The sizes of a transformer.
struct TransformerSizes {
  int layers = 1;        ///< each attention and a gated network
  Extent batch = 1;      ///< sequences
  Extent sequence = 1;   ///< positions of each
  Extent model = 1;      ///< features between layers
  Extent heads = 1;      ///< each attends by itself
  Extent head_size = 2;  ///< even: the rotary embedding turns pairs
  Extent hidden = 1;     ///< features within the gated network
};

/// LLaMA with 7 billion parameters.
[[nodiscard]] constexpr TransformerSizes llama_7b(Extent batch, Extent sequence) {
  return {32, batch, sequence, 4096, 32, 128, 11008};
}
/// LLaMA with 65 billion parameters.
[[nodiscard]] constexpr TransformerSizes llama_65b(Extent batch, Extent sequence) {
  return {80, batch, sequence, 8192, 64, 128, 22016};
}

/// gain · x / √(mean square + ε), the mean square given as a sum: what an RMS norm does to an
/// element.
template <class T>
struct RmsScale {
  static constexpr std::string_view name = "rms_scale";
  T count;    ///< elements summed
  T epsilon;  ///< ε
  EINDECOMP_FUNCTION T operator()(const T& x, const T& sum_of_squares, const T& gain) const {
    return gain * x / Sqrt{}(sum_of_squares / count + epsilon);
  }
  /// By x, by the sum of squares or by the gain.
  template <int Operand>
  EINDECOMP_FUNCTION T derivative(const T& x, const T& sum_of_squares, const T& gain) const {
    const T square = sum_of_squares / count + epsilon;
    if constexpr (Operand == 0) return gain / Sqrt{}(square);
    if constexpr (Operand == 1) return -gain * x / (2 * count * square * Sqrt{}(square));
    return x / Sqrt{}(square);
  }
};

/// The weights of one layer of a transformer.
template <class T, class Backend>
struct TransformerLayer {
  Symbol<T, 1, Backend> attention_gain;  ///< of the norm before the attention: model
  Symbol<T, 1, Backend> network_gain;    ///< of the norm before the gated network: model
  Symbol<T, 4, Backend> wq;              ///< model by heads by pairs of features by 2
  Symbol<T, 4, Backend> wk;              ///< of wq's shape
  Symbol<T, 3, Backend> wv;              ///< model by heads by head size
  Symbol<T, 3, Backend> wo;              ///< heads by head size by model
  Symbol<T, 2, Backend> w1;              ///< model by hidden
  Symbol<T, 2, Backend> w2;              ///< hidden by model
  Symbol<T, 2, Backend> w3;              ///< model by hidden
};

/// The tensors of a transformer's prefill.
template <class T, class Backend>
struct TransformerTensors {
  Symbol<T, 3, Backend> input;                       ///< X, batch by sequence by model
  Symbol<T, 4, Backend> rotary;                      ///< R(s,r,·,·) turns pair r of position s
  Symbol<T, 2, Backend> mask;                        ///< added to scores(s,t): 0 or -∞
  std::vector<TransformerLayer<T, Backend>> layers;  ///< the first layer first
  Symbol<T, 1, Backend> final_gain;                  ///< of the norm after the last layer: model
  Symbol<T, 3, Backend> output;                      ///< of X's shape
};

/// One step of its training. The weights are in the order of TransformerLayer, layer by layer, the
/// last norm's gain behind them.
template <class T, class Backend>
struct TransformerTraining : TrainingStep<Symbol<T, 3, Backend>, Symbol<T, 3, Backend>, AnySymbol> {
  Symbol<T, 4, Backend> rotary;  ///< as of TransformerTensors
  Symbol<T, 2, Backend> mask;    ///< as of TransformerTensors
};

namespace models {

/// Writes one transformer after another layer into a program.
template <class T, class Backend>
class TransformerWriter {
  template <int Rank>
  using Tensor = Symbol<T, Rank, Backend>;

 public:
  TransformerWriter(BasicProgram<Backend>& program, const TransformerSizes& sizes)
      : m_program(program),
        m_sizes(sizes),
        m_rotary(program.template input<T>("rotary", {sizes.sequence, sizes.head_size / 2, 2, 2})),
        m_mask(program.template input<T>("mask", {sizes.sequence, sizes.sequence})) {}

  /// Writes the whole.
  TransformerTensors<T, Backend> write() {
    const auto input =
        m_program.template input<T>("X", {m_sizes.batch, m_sizes.sequence, m_sizes.model});
    std::vector<TransformerLayer<T, Backend>> layers;
    Tensor<3> x = input;
    for (int number = 0; number < m_sizes.layers; ++number) {
      m_suffix = Text(".") + number;
      layers.push_back(layer(x));
    }
    m_suffix = {};
    const Normed last = norm("final_norm", x);
    return {input, m_rotary, m_mask, std::move(layers), last.gain, last.result};
  }

 private:
  struct Normed {
    Tensor<1> gain;
    Tensor<3> result;
  };
  struct Attended {
    Tensor<4> wq, wk;
    Tensor<3> wv, wo;
    Tensor<3> result;
  };
  struct Fed {
    Tensor<2> w1, w2, w3;
    Tensor<3> result;
  };

  /// x + attention(norm(x)), and that + network(norm(that)), which becomes x.
  TransformerLayer<T, Backend> layer(Tensor<3>& x) {
    using namespace labels;
    const Normed before = norm("attention_norm", x);
    const Attended attended = attention(before.result);
    const auto middle = let(name("middle"))(b, s, a) = x(b, s, a) + attended.result(b, s, a);
    const Normed between = norm("network_norm", middle);
    const Fed fed = network(between.result);
    x = let(name("out"))(b, s, a) = middle(b, s, a) + fed.result(b, s, a);
    return {before.gain, between.gain, attended.wq, attended.wk, attended.wv,
            attended.wo, fed.w1,       fed.w2,      fed.w3};
  }

  [[nodiscard]] Text name(const Text& what) const { return what + m_suffix; }

  /// gain · x / √(mean x² + ε), in two statements.
  Normed norm(std::string_view which, Tensor<3> x) {
    using namespace labels;
    const auto gain = m_program.template input<T>(name(Text(which) + ".gain"), {m_sizes.model});
    const auto squares = let(name(Text(which) + ".squares"))(b, s) = sum(a)(square(x(b, s, a)));
    const RmsScale<T> scale{static_cast<T>(m_sizes.model), static_cast<T>(1e-6)};
    const auto result = let(name(which))(b, s, a) = join(scale, x(b, s, a), squares(b, s), gain(a));
    return {gain, result};
  }

  /// Causal attention of x to itself. A head's features come as pairs (r, u): r the pair, u which
  /// of the two; the rotary embedding turns pair r of position s by the matrix R(s, r, ·, ·).
  Attended attention(Tensor<3> x) {
    using namespace labels;
    const Extent heads = m_sizes.heads;
    const Extent pairs = m_sizes.head_size / 2;
    const auto wq = m_program.template input<T>(name("WQ"), {m_sizes.model, heads, pairs, 2});
    const auto wk = m_program.template input<T>(name("WK"), {m_sizes.model, heads, pairs, 2});
    const auto wv = m_program.template input<T>(name("WV"), {m_sizes.model, heads, 2 * pairs});
    const auto wo = m_program.template input<T>(name("WO"), {heads, 2 * pairs, m_sizes.model});

    const auto q = let(name("Q"))(b, s, h, r, u) = sum(a)(x(b, s, a) * wq(a, h, r, u));
    const auto k = let(name("K"))(b, s, h, r, u) = sum(a)(x(b, s, a) * wk(a, h, r, u));
    const auto v = let(name("V"))(b, t, h, d) = sum(a)(x(b, t, a) * wv(a, h, d));
    const auto qr = let(name("Qr"))(b, s, h, r, w) =
        sum(u)(q(b, s, h, r, u) * m_rotary(s, r, u, w));
    const auto kr = let(name("Kr"))(b, s, h, r, w) =
        sum(u)(k(b, s, h, r, u) * m_rotary(s, r, u, w));
    const T scale = T(1) / std::sqrt(static_cast<T>(2 * pairs));
    const auto scores = let(name("scores"))(b, h, s, t) =
        sum(r, w)(scale * qr(b, s, h, r, w) * kr(b, t, h, r, w));
    const auto masked = let(name("masked"))(b, h, s, t) = scores(b, h, s, t) + m_mask(s, t);
    const auto weights = let(name("weights"))(b, h, s, t) = softmax(t)(masked(b, h, s, t));
    const auto heads_out = let(name("heads"))(b, s, h, d) =
        sum(t)(weights(b, h, s, t) * v(b, t, h, d));
    const auto result = let(name("attention"))(b, s, a) =
        sum(h, d)(heads_out(b, s, h, d) * wo(h, d, a));
    return {wq, wk, wv, wo, result};
  }

  /// The gated network (SwiGLU): (silu(x·W1) ∘ (x·W3))·W2.
  Fed network(Tensor<3> x) {
    using namespace labels;
    const auto w1 = m_program.template input<T>(name("W1"), {m_sizes.model, m_sizes.hidden});
    const auto w2 = m_program.template input<T>(name("W2"), {m_sizes.hidden, m_sizes.model});
    const auto w3 = m_program.template input<T>(name("W3"), {m_sizes.model, m_sizes.hidden});
    const auto gate = let(name("gate"))(b, s, f) = sum(a)(x(b, s, a) * w1(a, f));
    const auto up = let(name("up"))(b, s, f) = sum(a)(x(b, s, a) * w3(a, f));
    const auto open = let(name("silu"))(b, s, f) = silu(gate(b, s, f));
    const auto gated = let(name("gated"))(b, s, f) = open(b, s, f) * up(b, s, f);
    const auto result = let(name("network"))(b, s, a) = sum(f)(gated(b, s, f) * w2(f, a));
    return {w1, w2, w3, result};
  }

  BasicProgram<Backend>& m_program;
  TransformerSizes m_sizes;
  Tensor<4> m_rotary;
  Tensor<2> m_mask;
  Text m_suffix;
};

}  // namespace models

/// Writes the prefill of a LLaMA-style transformer into a program: from the embedded prompt X
/// (batch by sequence by model) through every layer (RMS norms, rotary embedding, causal attention,
/// gated network, residuals) and the last norm. Every layer has weights of its own; the rotary
/// matrices R(s,r,u,w) and the mask, 0 or -∞, are inputs `rotary` and `mask` that all layers read.
/// Labels have the roles batch, sequence, head and hidden.
///
/// \returns the symbols of the inputs and of the result, of X's shape.
/// \throws Error if an extent is not positive, the head size is odd or a name is taken.
template <class T = float, class Backend>
TransformerTensors<T, Backend> transformer_prefill(BasicProgram<Backend>& program,
                                                   const TransformerSizes& sizes) {
  using namespace labels;
  if (sizes.head_size % 2 != 0) {
    core::fail(
        ErrorKind::shape,
        Text("a transformer with heads of ") + sizes.head_size +
            " attributes (the rotary embedding turns pairs of them); give an even head size");
  }
  const auto written = models::TransformerWriter<T, Backend>(program, sizes).write();
  program.role(b, "batch");
  program.role(s, "sequence");
  program.role(t, "sequence");
  program.role(h, "head");
  program.role(f, "hidden");
  return written;
}

/// Writes one step of training by gradient descent into a program that can be differentiated: the
/// prefill, its difference E to the target T, the gradients of half the squared error by all
/// weights, gains included, every weight's next value W'.
///
/// \returns the symbols of X, T, the rotary matrices, the mask, what the transformer says, and per
/// weight its own and its next value's. \throws Error as transformer_prefill.
template <class T = float, class Backend>
TransformerTraining<T, Backend> transformer_training(
    BasicProgram<Backend>& program, const TransformerSizes& sizes, T rate = T(0.01),
    std::source_location where = std::source_location::current()) {
  using namespace labels;
  const auto net = transformer_prefill<T>(program, sizes);
  const Symbol<T, 3, Backend> y = net.output;
  const auto target = program.template input<T>("T", {sizes.batch, sizes.sequence, sizes.model});
  const auto error = let<"E">(b, s, a) = y(b, s, a) - target(b, s, a);
  std::vector<VertexId> weights;
  const auto add = [&](const auto&... symbol) { (weights.push_back(symbol.vertex()), ...); };
  for (const auto& layer : net.layers) {
    add(layer.attention_gain, layer.network_gain, layer.wq, layer.wk, layer.wv, layer.wo, layer.w1,
        layer.w2, layer.w3);
  }
  add(net.final_gain);
  const std::vector<VertexId> next = models::descend(y, error, weights, rate, where);
  TransformerTraining<T, Backend> step{{net.input, target, y, {}}, net.rotary, net.mask};
  const auto any = [&](VertexId v) { return AnySymbol(program.graph(), v); };
  for (std::size_t n = 0; n < next.size(); ++n) {
    step.updates.push_back({any(weights[n]), any(next[n])});
  }
  return step;
}

}  // namespace eindecomp
