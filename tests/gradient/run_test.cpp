// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs with their gradients run on ranks: equal to plain loops under every plan, and the words
// that move are those predicted.

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "eindecomp/run/program.hpp"
#include "gradient/jax.hpp"
#include "run/programs.hpp"
#include "support/pmpi_counter.hpp"

using namespace run_test;
using namespace eindecomp::labels;
using ein::extent;
using ein::let;
using eindecomp_tests::LoopRun;
using eindecomp_tests::numbers;

namespace {

using Loops = ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend>>;

/// Two layers, the cross entropy of a softmax, and a step of gradient descent.
template <class Program>
auto perceptron(Program& g) {
  const auto X = g.template input<double>("X", {12, 9});
  const auto T = g.template input<double>("T", {12, 5});
  const auto W1 = g.template input<double>("W1", {9, 8});
  const auto b1 = g.template input<double>("b1", {8});
  const auto W2 = g.template input<double>("W2", {8, 5});
  const auto H = let<"H">(b, j) = relu(sum(i)(X(b, i) * W1(i, j)) + b1(j));
  const auto P = let<"P">(b, k) = ein::softmax(k)(sum(j)(H(b, j) * W2(j, k)));
  const auto loss = let<"loss">() = ein::mean(b)(sum(k)(T(b, k) * log(P(b, k)))) * -1.0;
  const auto [dW1, db1, dW2] = ein::gradient(loss, W1, b1, W2);
  const auto N1 = let<"N1">(i, j) = W1(i, j) - 0.1 * dW1(i, j);
  const auto N2 = let<"N2">(j, k) = W2(j, k) - 0.1 * dW2(j, k);
  return std::tuple(loss, db1, N1, N2);
}

/// A convolution, a pool, a product without the usual algebra.
template <class Program>
auto network(Program& g) {
  const auto X = g.template input<double>("X", {2, 2, 8, 8});
  const auto F = g.template input<double>("F", {3, 2, 3, 3});
  const auto V = g.template input<double>("V", {3, 4});
  const auto Y = let<"Y">(b, o, y, x) =
      sum(c, r, s)(X(b, c, 2 * y + r - 1, 2 * x + s - 1) * F(o, c, r, s));
  const auto P = let<"P">(b, o, y, x) =
      max(r, s)(Y(b, o, 2 * y + extent(r, 2), 2 * x + extent(s, 2)));
  const auto S = let<"S">(b, o) = sum(y, x)(square(P(b, o, y, x)));
  const auto D = let<"D">(b, k) = min(o)(S(b, o) + V(o, k));
  const auto loss = let<"loss">() = sum(b, k)(D(b, k));
  const auto [dX, dF, dV] = ein::gradient(loss, X, F, V);
  return std::tuple(loss, dX, dF, dV);
}

/// Runs a program under every strategy, and compares with plain loops and predicted words.
template <class Write>
void check(const Write& write, const std::vector<std::string>& strategies) {
  const World world;
  Loops loops;
  const auto expected_symbols = write(loops);
  std::map<std::string, std::vector<double>> values;
  ein::BasicProgram<ein::Differentiable<ein::KokkosBackend<Space>>> g;
  const auto symbols = write(g);
  g.role(b, "batch");
  g.role(j, "hidden");
  int seed = 1;
  for (const ein::Vertex& v : g.graph().vertices) {
    if (v.is_input()) values[v.name.str()] = numbers(v.size(), seed++, 0.05, 1);
  }
  const LoopRun expected(loops, values);
  std::vector<ein::Binding<Space>> bindings;
  const auto bind = [&](const auto& symbol) {
    const auto& all = values.at(symbol.name().str());
    const std::vector<Extent> bound = g.graph()[symbol.vertex()].bound;
    bindings.push_back(ein::bind_generator(symbol, [&all, bound](auto... indices) {
      Extent place = 0;
      std::size_t k = 0;
      ((place = place * bound[k++] + indices), ...);
      return all[static_cast<std::size_t>(place)];
    }));
  };
  const auto bind_as = [&](ein::VertexId v) {
    using Backend = ein::Differentiable<ein::KokkosBackend<Space>>;
    switch (g.graph()[v].rank()) {
      case 1:
        return bind(ein::Symbol<double, 1, Backend>(g.state(), v));
      case 2:
        return bind(ein::Symbol<double, 2, Backend>(g.state(), v));
      default:
        return bind(ein::Symbol<double, 4, Backend>(g.state(), v));
    }
  };
  for (ein::VertexId v = 0; v < g.graph().size(); ++v) {
    if (g.graph()[v].is_input()) bind_as(v);
  }
  for (const std::string& strategy : strategies) {
    CAPTURE(strategy);
    const auto plan =
        ein::decompose(g, {.workers = world.size, .ranks = world.size, .strategy = strategy});
    const ein::TaskGraph tasks = plan.tasks();
    pmpi::reset();
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    auto run = executor.run(bindings);
    const pmpi::Counts moved = pmpi::counts("EinDecomp transfers");
    const auto r = static_cast<std::size_t>(world.rank);
    CHECK(moved.received == tasks.received[r]);
    CHECK(moved.sent == tasks.sent[r]);
    const auto compare = [&](const auto& symbol, const auto& loop_symbol) {
      CAPTURE(symbol.name().str());
      const auto got = on_host(run.gather(symbol));
      const std::vector<double>& right = expected.of(loop_symbol);
      REQUIRE(got.size() == right.size());
      double worst = 0;
      for (std::size_t n = 0; n < right.size(); ++n) {
        const double off = std::abs(got.data()[n] - right[n]) / std::max(1.0, std::abs(right[n]));
        if (!(off <= worst)) worst = off;
      }
      CHECK(worst < 1e-12);
    };
    std::apply(
        [&](const auto&... symbol) {
          std::apply([&](const auto&... loop) { (compare(symbol, loop), ...); }, expected_symbols);
        },
        symbols);
  }
}

}  // namespace

TEST_CASE("a step of training a perceptron") {
  check([](auto& g) { return perceptron(g); },
        {"placed", "exact", "linearized", "data_parallel", "model_parallel", "square"});
}

TEST_CASE("the gradients of a convolution, a pool and a min-plus product") {
  check([](auto& g) { return network(g); }, {"placed", "exact", "data_parallel"});
}
