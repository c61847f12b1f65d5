// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every model run on every number of ranks, bound and read by the symbols that its builder returns,
// beside the slow evaluator.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/models/attention.hpp"
#include "eindecomp/models/convolution.hpp"
#include "eindecomp/models/feed_forward.hpp"
#include "eindecomp/models/matrix_chain.hpp"
#include "eindecomp/models/transformer.hpp"
#include "eindecomp/run/program.hpp"
#include "eindecomp/run/share_plan.hpp"
#include "run/programs.hpp"
#include "support/pmpi_counter.hpp"
#include "support/reference.hpp"

using namespace run_test;

namespace {

using ein::VertexId;
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

namespace {

/// What make_expected.py computed by JAX.
const std::vector<double>& jax(const std::string& name) {
  static const std::map<std::string, std::vector<double>> all = {
#include "models/expected.inc"
  };
  return all.at(name);
}

/// Numbers between least and most, in no order, that any language computes alike.
struct Element {
  std::vector<Extent> bound;
  int seed;
  double least;
  double most;
  template <class... Indices>
  double operator()(Indices... indices) const {
    Extent place = 0;
    std::size_t k = 0;
    ((place = place * bound[k++] + indices), ...);
    return (*this)[place];
  }
  double operator[](Extent place) const {
    const auto step = static_cast<double>((place * 7919 + seed * 104729) % 1009);
    return least + (most - least) * (step + 0.5) / 1009;
  }
};

/// A network with so many fewer channels and neurons, on smaller images.
ein::ConvolutionalNet scaled(ein::ConvolutionalNet net, Extent image, Extent channels,
                             Extent neurons) {
  net.image = image;
  for (auto& layer : net.layers) {
    const bool is_last = layer.features == 1000;
    layer.features /= layer.kind != ein::ConvolutionalLayer::Kind::dense ? channels
                      : is_last                                          ? 100
                                                                         : neurons;
  }
  return net;
}

/// What a network says, and a step of its training by every strategy, beside JAX.
class NetworkRun {
 public:
  NetworkRun(std::string name, const ein::ConvolutionalNet& net)
      : m_name(std::move(name)), m_step(ein::convolutional_training<double>(m_program, net)) {
    for (const auto& update : m_step.updates) m_program.keep(update.next);
    m_program.keep(m_step.output);
    bind(m_step.input.vertex(), 1, 1);
    bind(m_step.target.vertex(), 99, 1);
    int seed = 2;
    for (const auto& update : m_step.updates) {
      const auto& bound = graph()[update.weight.vertex()].bound;
      const bool is_filter = bound.size() == 4 && bound[2] == bound[3];
      double fan_in = 1;
      for (std::size_t k = 0; k < bound.size(); ++k) {
        const bool is_summed = is_filter ? k > 0 : k + 1 < bound.size();
        if (is_summed) fan_in *= static_cast<double>(bound[k]);
      }
      bind(update.weight.vertex(), seed++, std::sqrt(6 / fan_in));
    }
  }

  void check(const std::string& strategy, int workers) {
    CAPTURE(m_name);
    CAPTURE(strategy);
    CAPTURE(workers);
    const World world;
    const auto plan = ein::share_plan(m_program, MPI_COMM_WORLD, [&] {
      return ein::decompose(m_program,
                            {.workers = workers, .ranks = world.size, .strategy = strategy});
    });
    const ein::TaskGraph tasks = plan.tasks();
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    pmpi::reset();
    const auto run = executor.run(m_bindings);
    const pmpi::Counts moved = pmpi::counts("EinDecomp transfers");
    CHECK(moved.received == of_this_rank(tasks.received));
    CHECK(moved.sent == of_this_rank(tasks.sent));

    const std::vector<double> says = gather(run, m_step.output.vertex());
    const std::vector<double>& expected = jax(m_name);
    const std::size_t stride = std::max<std::size_t>(1, says.size() / 100);
    REQUIRE((says.size() + stride - 1) / stride == expected.size());
    double largest = 0;
    for (double value : expected) largest = std::max(largest, std::abs(value));
    double worst = 0;
    for (std::size_t n = 0; n < expected.size(); ++n) {
      const double off = std::abs(says[n * stride] - expected[n]);
      if (!(off <= worst)) worst = off;
    }
    CHECK(worst < 1e-12 * largest);
    for (std::size_t n = 0; n < m_step.updates.size(); ++n) {
      const Element times{{}, 7, -1, 1};
      double sum = 0;
      Extent place = 0;
      for (double value : gather(run, m_step.updates[n].next.vertex())) {
        sum += value * times[place++];
      }
      CAPTURE(n);
      CHECK(sum == doctest::Approx(jax(m_name + ".step")[n]).epsilon(1e-11));
    }
  }

 private:
  [[nodiscard]] const ein::EinGraph& graph() const { return m_program.graph(); }

  template <class Call>
  void with_symbol(VertexId v, const Call& call) const {
    using Backend = Differentiable::Backend;
    auto* const state = m_step.input.state();
    graph()[v].rank() == 4 ? call(ein::Symbol<double, 4, Backend>(state, v))
                           : call(ein::Symbol<double, 2, Backend>(state, v));
  }
  void bind(VertexId v, int seed, double most) {
    with_symbol(v, [&](const auto& symbol) {
      m_bindings.push_back(
          ein::bind_generator(symbol, Element{graph()[v].bound, seed, -most, most}));
    });
  }
  template <class Run>
  std::vector<double> gather(const Run& run, VertexId v) const {
    std::vector<double> values;
    with_symbol(v, [&](const auto& symbol) {
      const auto got = on_host(run.gather(symbol));
      values.assign(got.data(), got.data() + got.size());
    });
    return values;
  }

  std::string m_name;
  Differentiable m_program;
  ein::ConvolutionalTraining<double, Differentiable::Backend> m_step;
  std::vector<ein::Binding<Space>> m_bindings;
};

}  // namespace

TEST_CASE("convolutional networks say and learn what they do by JAX") {
  const int workers = World().size;
  NetworkRun alexnet("alexnet", scaled(ein::alexnet(2), 67, 16, 128));
  alexnet.check("placed", workers);
  alexnet.check("data_parallel", workers);
  NetworkRun("vgg16", scaled(ein::vgg16(2), 32, 16, 128)).check("data_parallel", workers);
  NetworkRun small("soybean.6", ein::soybean_cnn(6, 8, 3));
  for (const char* strategy : {"placed", "exact", "k_cut", "square", "model_parallel"}) {
    small.check(strategy, workers);
  }
  NetworkRun("soybean.24", ein::soybean_cnn(24, 4, 2)).check("placed", 2 * workers);
}
