// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of training as statements: their losses by Optax, what is carried, and what is refused.

#include "eindecomp/train/minimise.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/train/batches.hpp"
#include "gradient/networks.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;
using eindecomp_tests::check_jax;
using eindecomp_tests::LoopRun;
using eindecomp_tests::message_here;
using Program = ein::DifferentiablePlanProgram;
using Loops = ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend>>;

namespace {

/// The losses of 50 steps, each a run whose results are the next one's inputs.
template <class Optimiser>
std::vector<double> losses(const Optimiser& optimiser, double rate) {
  Loops g;
  const networks::Perceptron<double, Loops> net(g);
  const auto updates = ein::minimise(net.loss, networks::weights_of(net), optimiser);
  std::map<std::string, std::vector<double>> values = net.values();
  for (const ein::CarriedTensor& state : updates.states) {
    const ein::Vertex& v = g.graph()[g.graph().find(state.input)];
    values[state.input.str()] = std::vector<double>(static_cast<std::size_t>(v.size()), 0.0);
  }
  values["rate"] = {rate};
  std::vector<double> found;
  for (int n = 0; n < 50; ++n) {
    const LoopRun run(g, values);
    found.push_back(run.of(updates.loss)[0]);
    for (const ein::CarriedTensor& pair : updates.carry()) {
      values[pair.input.str()] = run.of(ein::AnySymbol(g.graph(), g.graph().find(pair.next)));
    }
  }
  return found;
}

}  // namespace

TEST_CASE("fifty steps by each optimiser have Optax's losses") {
  check_jax("sgd.double", losses(ein::Sgd{}, 0.1), 1e-12);
  check_jax("momentum.double", losses(ein::Momentum{.factor = 0.8}, 0.1), 1e-12);
  check_jax("adam.double", losses(ein::Adam{.decay = 0.03}, 0.02), 1e-12);
  check_jax("clipped.double", losses(ein::ClippedByNorm{ein::Sgd{}, 0.2}, 0.1), 1e-12);
}

TEST_CASE("weights and states are carried, and plans store each as its next value") {
  Program g;
  const networks::Perceptron<float, Program> net(g);
  const auto updates = ein::minimise(net.loss, networks::weights_of(net), ein::Adam{});
  CHECK(updates.weights.size() == 3);
  CHECK(updates.states.size() == 2 * 3 + 1);
  CHECK(updates.weights[0].input == "W1");
  CHECK(updates.weights[0].next == "W1'");
  CHECK(updates.states[0].input == "W1.mean");
  for (const ein::CarriedTensor& pair : updates.carry()) {
    const ein::Vertex& next = g.graph()[g.graph().find(pair.next)];
    const ein::Vertex& input = g.graph()[g.graph().find(pair.input)];
    CHECK(next.is_result());
    CHECK(input.is_input());
    CHECK(next.bound == input.bound);
  }
  CHECK(g.graph()[updates.loss.vertex()].is_result());
  const auto plan = ein::decompose(g, {.workers = 4, .carry = updates.carry()});
  for (const ein::Extent words : plan.carried_words()) CHECK(words == 0);
}

TEST_CASE("a scalar is a weight like any other, and a loss may be read by other statements") {
  Loops g;
  const auto X = g.input<double>("X", {4});
  const auto a = g.input<double>("a");
  const auto loss = let<"loss">() = sum(i)(square(X(i) - a()));
  let<"shown">() = 2.0 * loss();
  const auto updates = ein::minimise(loss, {a}, ein::ClippedByNorm{ein::Sgd{}, 1.0});
  const LoopRun run(g, {{"X", {1, 2, 3, 4}}, {"a", {0}}, {"rate", {0.5}}});
  CHECK(run.of(ein::AnySymbol(g.graph(), g.graph().find("a'")))[0] == doctest::Approx(0.5));
  CHECK(g.graph()[updates.loss.vertex()].is_result());
}

TEST_CASE("what cannot be trained is refused in one sentence, and nothing is written") {
  Program g;
  const auto X = g.input<double>("X", {4});
  const auto W = g.input<double>("W", {4});
  const auto other = g.input<double>("other", {4});
  const auto V = let<"V">(i) = W(i) * W(i);
  const auto loss = let<"loss">() = sum(i)(square(X(i) - V(i)));
  const int before = g.graph().size();
  CHECK(message_here([&] { (void)ein::minimise(loss, {}); }) ==
        "EinDecomp: no weight is given to minimise a loss by; give one or more");
  CHECK(message_here([&] { (void)ein::minimise(loss, {V}); }) ==
        "EinDecomp: weight V is the result of a statement (its next value would have nowhere to "
        "go); give inputs of the program");
  CHECK(message_here([&] {
          (void)ein::minimise(loss, {W, W});
        }) == "EinDecomp: weight W is given twice; give each once");
  CHECK(message_here([&] {
          (void)ein::minimise(loss, {W, other});
        }) ==
        "EinDecomp: the gradient of loss by other is 0 everywhere (no statement that can be "
        "differentiated leads from other to loss); leave it out");
  CHECK(message_here([&] { (void)ein::minimise(loss, {W}, ein::Adam{.beta2 = 1}); }) ==
        "EinDecomp: beta2 of Adam is 1 (it must be at least 0 and less than 1); give another");
  CHECK(message_here([&] { (void)ein::minimise(loss, {W}, ein::Momentum{.factor = -0.5}); }) ==
        "EinDecomp: the factor of Momentum is -0.5 (it must be at least 0 and less than 1); give "
        "another");
  CHECK(message_here([&] { (void)ein::minimise(loss, {W}, ein::Adam{.epsilon = -1}); }) ==
        "EinDecomp: epsilon of Adam is -1 (it must be at least 0); give another");
  CHECK(message_here([&] {
          (void)ein::minimise(loss, {W}, ein::ClippedByNorm{ein::Sgd{}, 0.0});
        }) == "EinDecomp: max_norm of ClippedByNorm is 0 (it must be more than 0); give another");
  const auto a = g.input<double>("a");
  CHECK(
      message_here([&] { (void)ein::minimise(loss, {W}, ein::Sgd{}, {a}); }) ==
      "EinDecomp: metric a is an input (a step does not find it); give the result of a statement");
  Program h;
  const auto Y = h.input<double>("Y", {4});
  const auto foreign = let<"foreign">() = sum(i)(Y(i));
  CHECK(
      message_here([&] { (void)ein::minimise(loss, {W}, ein::Sgd{}, {foreign}); }) ==
      "EinDecomp: tensor foreign, a metric of training, belongs to another program or to one that "
      "is no more; use symbols of one program");
  CHECK(g.graph().size() == before + 1);
}

TEST_CASE("every epoch of batches has each sample once, in an order of its own") {
  const ein::Batches batches(22, 5, 3);
  REQUIRE(batches.per_epoch() == 4);
  std::vector<std::vector<ein::Extent>> epochs(2);
  for (ein::Extent step = 0; step < 8; ++step) {
    const auto samples = batches.samples(step);
    REQUIRE(samples.size() == 5);
    auto& epoch = epochs[static_cast<std::size_t>(step / 4)];
    epoch.insert(epoch.end(), samples.begin(), samples.end());
  }
  CHECK(epochs[0] != epochs[1]);
  for (auto& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    CHECK(std::adjacent_find(epoch.begin(), epoch.end()) == epoch.end());
    CHECK(epoch.front() >= 0);
    CHECK(epoch.back() < 22);
  }
  CHECK(batches.samples(5) == ein::Batches(22, 5, 3).samples(5));
  CHECK(batches.samples(5) != ein::Batches(22, 5, 4).samples(5));
  const auto row =
      batches.rows(5, [](ein::Extent sample, ein::Extent column) { return 100 * sample + column; });
  CHECK(row(2, 7) == 100 * batches.samples(5)[2] + 7);
  CHECK(message_here([] { ein::Batches(4, 5); }) ==
        "EinDecomp: a batch of 5 of 4 samples (it has at least one, and each at most once); give "
        "another size");
}
