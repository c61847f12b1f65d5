// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/models/feed_forward.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "eindecomp/plan/k_cut.hpp"
#include "models/numbers.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

std::ptrdiff_t statements(const EinGraph& graph) {
  return graph.size() - std::ranges::count_if(graph.vertices, &Vertex::is_input);
}

/// What a network says of X, in plain loops.
Matrix say(const FeedForward& net, const Numbers& numbers) {
  Matrix x = numbers["X"];
  for (std::size_t l = 1; l < net.widths.size(); ++l) {
    const Matrix& w = numbers["W" + std::to_string(l)];
    Matrix z{net.widths[l],
             std::vector<double>(static_cast<std::size_t>(net.batch * net.widths[l]))};
    for (Extent n = 0; n < net.batch; ++n) {
      for (Extent j = 0; j < net.widths[l]; ++j) {
        double sum = 0;
        for (Extent i = 0; i < net.widths[l - 1]; ++i) sum += x(n, i) * w(i, j);
        z(n, j) = net.relu && l + 1 < net.widths.size() ? std::max(sum, 0.0) : sum;
      }
    }
    x = z;
  }
  if (!net.softmax) return x;
  for (Extent n = 0; n < net.batch; ++n) {
    double sum = 0;
    for (Extent j = 0; j < x.columns; ++j) sum += std::exp(x(n, j));
    for (Extent j = 0; j < x.columns; ++j) x(n, j) = std::exp(x(n, j)) / sum;
  }
  return x;
}

/// What training makes smaller: half the squared error, or the cross entropy.
double loss(const FeedForward& net, const Numbers& numbers) {
  const Matrix y = say(net, numbers);
  const Matrix& target = numbers["T"];
  double sum = 0;
  for (std::size_t n = 0; n < y.values.size(); ++n) {
    const double t = target.values[n];
    sum += net.softmax ? -t * std::log(y.values[n]) : (y.values[n] - t) * (y.values[n] - t) / 2;
  }
  return sum;
}

const FeedForward with_relu{5, {4, 6, 3}, true, true};
const FeedForward without{5, {4, 6, 3, 2}, false, false};

}  // namespace

TEST_CASE("a network says what plain loops say") {
  for (const FeedForward& net : {with_relu, without}) {
    PlanProgram program;
    const auto y = feed_forward<double>(program, net);
    const Numbers numbers(program.graph(), 11);
    const Matrix got = numbers.of(y.output.vertex());
    const Matrix expected = say(net, numbers);
    REQUIRE(got.values.size() == expected.values.size());
    for (std::size_t n = 0; n < got.values.size(); ++n) {
      CHECK(got.values[n] == doctest::Approx(expected.values[n]));
    }
  }
}

TEST_CASE("a step of training goes down the slope of the loss") {
  constexpr double rate = 0.25;
  for (const FeedForward& net : {with_relu, without}) {
    DifferentiablePlanProgram program;
    const auto step = feed_forward_training<double>(program, net, rate);
    REQUIRE(step.updates.size() == net.widths.size() - 1);
    Numbers numbers(program.graph(), 12);
    if (net.softmax) {  // targets are shares then
      Matrix& target = numbers["T"];
      for (Extent n = 0; n < net.batch; ++n) {
        double sum = 0;
        for (Extent j = 0; j < target.columns; ++j) sum += target(n, j) = std::abs(target(n, j));
        for (Extent j = 0; j < target.columns; ++j) target(n, j) /= sum;
      }
    }
    for (std::size_t l = 0; l < step.updates.size(); ++l) {
      const std::string name = "W" + std::to_string(l + 1);
      CHECK(program.graph()[step.updates[l].weight.vertex()].name == name);
      const Matrix next = numbers.of(step.updates[l].next.vertex());
      for (std::size_t n = 0; n < next.values.size(); ++n) {
        CAPTURE(name);
        CAPTURE(n);
        constexpr double h = 1e-5;
        double& w = numbers[name].values[n];
        const double before = w;
        w = before + h;
        const double above = loss(net, numbers);
        w = before - h;
        const double below = loss(net, numbers);
        w = before;
        CHECK(next.values[n] ==
              doctest::Approx(before - rate * (above - below) / (2 * h)).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("the classifier of EinDecomp's experiments") {
  DifferentiablePlanProgram program;
  feed_forward_training(program, amazon_classifier(128));
  const EinGraph& graph = program.graph();
  CHECK(graph[graph.find("W1")].bound == std::vector<Extent>{597540, 8192});
  CHECK(graph[graph.find("W2")].bound == std::vector<Extent>{8192, 14588});
  // Two products, relu, softmax in four; the error, two gradients of weights, two statements back
  // through the hidden layer, two updates.
  CHECK(statements(graph) == 2 + 1 + 4 + 1 + 2 + 2 + 2);
  CHECK(graph.results().size() == 2);
  // Products are nearly all of the work: forward, dW, and dA of the second layer.
  const Extent w1 = 597540LL * 8192;
  const Extent w2 = 8192LL * 14588;
  const Extent products = 128 * (2 * w1 + 3 * w2);
  CHECK(points(graph) > products);
  CHECK(points(graph) < products + products / 100);
}

TEST_CASE("SoyBean's MLP has three products a layer but for the first") {
  DifferentiablePlanProgram program;
  const auto step = feed_forward_training(program, soybean_mlp(5, 300, 400));
  const EinGraph& graph = program.graph();
  const auto products = std::ranges::count_if(
      graph.vertices, [](const Vertex& v) { return v.op.aggregate == "sum"; });
  CHECK(products == 3 * 5 - 1);
  CHECK(statements(graph) == products + 1 + 5);
  CHECK(graph.find("dA0") < 0);
  CHECK(step.updates.size() == 5);
  Extent parameters = 0;
  for (const auto& update : step.updates) parameters += graph[update.weight.vertex()].size();
  CHECK(parameters * 4 == 1'800'000);  // the paper's 1.8 MB
  const Extent activations = 5 * graph[graph.find("Z1")].size();
  CHECK(activations * 4 == 2'400'000);
  const ClosedForm form = soybean_closed_form(parameters * 4, activations * 4, 16, 4);
  CHECK(form.data == 57'600'000);
  CHECK(form.model == 76'800'000);
  CHECK(form.hybrid == 33'600'000);
}

TEST_CASE("a network without layers is an error") {
  PlanProgram program;
  CHECK_THROWS_WITH_AS(feed_forward(program, {4, {3}}), doctest::Contains("a network of 1 widths"),
                       Error);
}
