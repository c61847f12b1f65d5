// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of training on every number of ranks, by several strategies: what networks say, every
// weight's next value and the words that move, beside JAX and the plans.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/models/convolution.hpp"
#include "eindecomp/models/transformer.hpp"
#include "eindecomp/run/program.hpp"
#include "eindecomp/run/share_plan.hpp"
#include "run/programs.hpp"
#include "support/pmpi_counter.hpp"

using namespace run_test;

namespace {

using ein::VertexId;
using Differentiable = ein::DifferentiableProgramOn<Space>;

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

/// Between which numbers a weight begins.
struct Limits {
  double least;
  double most;
};

/// So large that what the layers say neither grows nor dies.
Limits of_convolutions(const std::vector<Extent>& bound) {
  const bool is_filter = bound.size() == 4 && bound[2] == bound[3];
  double fan_in = 1;
  for (std::size_t k = 0; k < bound.size(); ++k) {
    const bool is_summed = is_filter ? k > 0 : k + 1 < bound.size();
    if (is_summed) fan_in *= static_cast<double>(bound[k]);
  }
  return {-std::sqrt(6 / fan_in), std::sqrt(6 / fan_in)};
}

/// What a network says, and a step of its training by every strategy, beside JAX.
template <class Step>
class NetworkRun {
 public:
  /// \param write   writes the step into a program
  /// \param limits  of a weight of such extents
  template <class Write, class OfWeights>
  NetworkRun(std::string name, const Write& write, const OfWeights& limits)
      : m_name(std::move(name)), m_step(write(m_program)) {
    for (const auto& update : m_step.updates) m_program.keep(update.next);
    m_program.keep(m_step.output);
    bind(m_step.input.vertex(), 1, {-1, 1});
    bind(m_step.target.vertex(), 99, {-1, 1});
    int seed = 2;
    for (const auto& update : m_step.updates) {
      const VertexId w = update.weight.vertex();
      bind(w, seed++, limits(graph()[w].bound));
    }
  }

  [[nodiscard]] const Step& step() const { return m_step; }
  /// What of the inputs is neither X, T nor a weight.
  void bind(VertexId v, int seed, const Limits& limits) {
    bind(v, Element{graph()[v].bound, seed, limits.least, limits.most});
  }
  template <class Symbol, class F>
  void bind(const Symbol& symbol, const F& f) {
    m_bindings.push_back(ein::bind_generator(symbol, f));
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
    using Backend = typename Differentiable::Backend;
    auto* const state = m_step.input.state();
    switch (graph()[v].rank()) {
      case 1:
        return call(ein::Symbol<double, 1, Backend>(state, v));
      case 2:
        return call(ein::Symbol<double, 2, Backend>(state, v));
      case 3:
        return call(ein::Symbol<double, 3, Backend>(state, v));
      default:
        return call(ein::Symbol<double, 4, Backend>(state, v));
    }
  }
  void bind(VertexId v, const Element& element) {
    with_symbol(v, [&](const auto& symbol) { bind(symbol, element); });
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
  Step m_step;
  std::vector<ein::Binding<Space>> m_bindings;
};

NetworkRun<ein::ConvolutionalTraining<double, Differentiable::Backend>> convolutional(
    const std::string& name, const ein::ConvolutionalNet& net) {
  return {name, [&](auto& program) { return ein::convolutional_training<double>(program, net); },
          of_convolutions};
}

}  // namespace

TEST_CASE("convolutional networks say and learn what they do by JAX") {
  const int workers = World().size;
  auto alexnet = convolutional("alexnet", ein::narrowed(ein::alexnet(2), {67, 16, 128, 100}));
  alexnet.check("placed", workers);
  alexnet.check("data_parallel", workers);
  convolutional("vgg16", ein::narrowed(ein::vgg16(2), {32, 16, 128, 100}))
      .check("data_parallel", workers);
  auto small = convolutional("soybean.6", ein::soybean_cnn(6, 8, 3));
  for (const char* strategy : {"placed", "exact", "k_cut", "square", "model_parallel"}) {
    small.check(strategy, workers);
  }
  convolutional("soybean.24", ein::soybean_cnn(24, 4, 2)).check("placed", 2 * workers);
}

TEST_CASE("a transformer says and learns what it does by JAX") {
  const int workers = World().size;
  const ein::TransformerSizes sizes{
      .layers = 2, .batch = 3, .sequence = 5, .model = 8, .heads = 2, .head_size = 6, .hidden = 7};
  const auto limits = [](const std::vector<Extent>& bound) {
    return bound.size() == 1 ? Limits{0.5, 1.5} : Limits{-0.5, 0.5};
  };
  NetworkRun<ein::TransformerTraining<double, Differentiable::Backend>> transformer(
      "transformer",
      [&](auto& program) { return ein::transformer_training<double>(program, sizes, 0.5); },
      limits);
  transformer.bind(transformer.step().rotary.vertex(), 98, {-1, 1});
  transformer.bind(transformer.step().mask, [](Extent s, Extent t) {
    return t <= s ? 0 : -std::numeric_limits<double>::infinity();
  });
  for (const char* strategy : {"placed", "exact", "data_parallel", "megatron"}) {
    transformer.check(strategy, workers);
  }
}
