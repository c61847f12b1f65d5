// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every model run on every number of ranks, bound and read by the symbols that its builder returns,
// beside the slow evaluator.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/models/attention.hpp"
#include "eindecomp/models/feed_forward.hpp"
#include "eindecomp/models/matrix_chain.hpp"
#include "eindecomp/models/transformer.hpp"
#include "eindecomp/run/program.hpp"
#include "run/programs.hpp"
#include "support/reference.hpp"

using namespace run_test;

namespace {

using Differentiable = ein::DifferentiableProgramOn<Space>;

/// Between -1 and 1, of a tensor's name and an index.
struct Wave {
  double phase;
  explicit Wave(const std::string& name) : phase(0) {
    for (char c : name) phase = phase * 1.7 + c;
  }
  template <class... Indices>
  double operator()(Indices... indices) const {
    double x = phase;
    ((x = x * 1.3 + static_cast<double>(indices)), ...);
    return std::sin(x);
  }
};
/// What is to come gets nothing.
struct Causal {
  double operator()(Extent s, Extent t) const {
    return t <= s ? 0 : -std::numeric_limits<double>::infinity();
  }
};

constexpr int model = 6;  // attributes of the transformer, which its norm divides by

/// A model's inputs, for the library and for the evaluator.
template <class Program>
class Data {
 public:
  explicit Data(const Program& program)
      : m_graph(program.graph()), m_tensors(m_graph.vertices.size()) {}

  template <class Symbol>
  void bind(const Symbol& symbol) {
    bind(symbol, Wave(symbol.name().str()));
  }
  template <class Symbol, class F>
  void bind(const Symbol& symbol, const F& f) {
    bindings.push_back(ein::bind_generator(symbol, f));
    reference::Tensor& tensor = m_tensors.at(static_cast<std::size_t>(symbol.vertex()));
    tensor.bound = m_graph[symbol.vertex()].bound;
    std::vector<Extent> index(tensor.bound.size(), 0);
    do {
      tensor.values.emplace_back([&]<std::size_t... I>(std::index_sequence<I...>) {
        return f(index[I]...);
      }(std::make_index_sequence<Symbol::rank>()));
    } while (reference::detail::next(index, tensor.bound));
  }

  /// Of a result, the largest difference of a run of so many workers.
  template <class... Symbols>
  double error(const Program& program, int workers, const Symbols&... results) const {
    const auto plan = ein::decompose(program, {.workers = workers, .ranks = World().size});
    const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), bindings);
    const auto square = [](const reference::Operands& x) {
      return reference::apply("mul", {x[0], x[0]}, {});
    };
    const auto silu = [](const reference::Operands& x) {
      const long double v = x[0].real();
      return reference::rounded(x[0].kind, v / (1 + std::exp(-v)));
    };
    const auto rms_scale = [](const reference::Operands& x) {
      const long double mean = x[1].real() / model + 1e-6L;
      return reference::rounded(x[0].kind, x[2].real() * x[0].real() / std::sqrt(mean));
    };
    const auto all = reference::evaluate(
        m_graph, m_tensors, {{{"square", square}, {"silu", silu}, {"rms_scale", rms_scale}}, {}});
    double worst = 0;
    const auto compare = [&](const auto& symbol) {
      const auto got = on_host(run.gather(symbol));
      const reference::Tensor& expected = all[static_cast<std::size_t>(symbol.vertex())];
      std::vector<Extent> index(expected.bound.size(), 0);
      for (std::size_t n = 0; n < expected.values.size(); ++n) {
        const double value = [&]<std::size_t... I>(std::index_sequence<I...>) {
          return got(index[I]...);
        }
        (std::make_index_sequence<std::decay_t<decltype(symbol)>::rank>());
        const double off = std::abs(value - static_cast<double>(expected.values[n].real()));
        if (!(off <= worst)) worst = off;
        reference::detail::next(index, expected.bound);
      }
    };
    (compare(results), ...);
    return worst;
  }

  std::vector<ein::Binding<Space>> bindings;

 private:
  const ein::EinGraph& m_graph;
  std::vector<reference::Tensor> m_tensors;
};

}  // namespace

TEST_CASE("a matrix chain") {
  Program program;
  const auto chain = ein::matrix_chain<double>(program, {5, 4, 3, 6, 7});
  Data data(program);
  for (const auto& tensor : {chain.a, chain.b, chain.c, chain.d, chain.e}) data.bind(tensor);
  CHECK(data.error(program, 4, chain.output) < 1e-12);
  CHECK(chain.c.name() == "C");
  CHECK(chain.e.name() == "E");
}

TEST_CASE("a network, and a step of its training") {
  const ein::FeedForward net{6, {5, 8, 3}, true, true};
  {
    Program program;
    const auto says = ein::feed_forward<double>(program, net);
    Data data(program);
    data.bind(says.input);
    for (const auto& weight : says.weights) data.bind(weight);
    CHECK(data.error(program, 4, says.output) < 1e-12);
  }
  Differentiable program;
  const auto step = ein::feed_forward_training<double>(program, net);
  program.keep(step.output);
  Data data(program);
  data.bind(step.input);
  data.bind(step.target);
  for (const auto& update : step.updates) data.bind(update.weight);
  REQUIRE(step.updates.size() == 2);
  CHECK(data.error(program, 4, step.output, step.updates[0].next, step.updates[1].next) < 1e-12);
}

TEST_CASE("multi-head attention") {
  for (const auto form : {ein::SoftmaxForm::fused, ein::SoftmaxForm::apart}) {
    Program program;
    const auto made = ein::multi_head_attention_model<double>(
        program, {.sequence = 5, .model = 6, .heads = 2, .head_size = 3}, form);
    Data data(program);
    for (const auto& tensor : {made.q, made.k, made.v}) data.bind(tensor);
    for (const auto& weight : {made.wq, made.wk, made.wv, made.wo}) data.bind(weight);
    CHECK(data.error(program, 4, made.output) < 1e-12);
    CHECK(made.k.name() == "K");
    CHECK(made.wo.name() == "WO");
  }
}

TEST_CASE("a transformer of two layers") {
  Program program;
  const auto made = ein::transformer_prefill<double>(program, {.layers = 2,
                                                               .batch = 2,
                                                               .sequence = 4,
                                                               .model = model,
                                                               .heads = 2,
                                                               .head_size = 4,
                                                               .hidden = 5});
  Data data(program);
  data.bind(made.input);
  data.bind(made.rotary);
  data.bind(made.mask, Causal{});
  REQUIRE(made.layers.size() == 2);
  for (const auto& layer : made.layers) {
    for (const auto& gain : {layer.attention_gain, layer.network_gain}) data.bind(gain);
    for (const auto& weight : {layer.wq, layer.wk}) data.bind(weight);
    for (const auto& weight : {layer.wv, layer.wo}) data.bind(weight);
    for (const auto& weight : {layer.w1, layer.w2, layer.w3}) data.bind(weight);
  }
  data.bind(made.final_gain);
  CHECK(made.layers[0].network_gain.name() == "network_norm.gain.0");
  CHECK(made.layers[1].wk.name() == "WK.1");
  CHECK(made.layers[1].w3.name() == "W3.1");
  CHECK(data.error(program, 4, made.output) < 1e-12);
}
