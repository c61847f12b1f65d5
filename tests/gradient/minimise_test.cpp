// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of training as statements: their losses by Optax, what is carried, and what is refused.

#include "eindecomp/train/minimise.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/train/batches.hpp"
#include "eindecomp/train/step_plans.hpp"
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

/// An optimiser that gives a weight no next value.
struct Idle {
  void check(const std::source_location&) const {}
  template <class Writer>
  [[nodiscard]] auto write(Writer& to) const {
    return to.gradient();
  }
};
/// One that gives it two.
struct Doubled {
  void check(const std::source_location&) const {}
  template <class Writer>
  [[nodiscard]] auto write(Writer& to) const {
    (void)ein::Sgd{}.write(to);
    return ein::Sgd{}.write(to);
  }
};

}  // namespace

TEST_CASE("fifty steps by each optimiser have Optax's losses") {
  check_jax("sgd.double", losses(ein::Sgd{}, 0.1), 1e-12);
  check_jax("momentum.double", losses(ein::Momentum{.factor = 0.8}, 0.1), 1e-12);
  check_jax("adam.double", losses(ein::Adam{.decay = 0.03}, 0.02), 1e-12);
  check_jax("clipped.double", losses(ein::ClippedByNorm{ein::Sgd{}, 0.2}, 0.1), 1e-12);
}

TEST_CASE("the update of a mean over microbatches has Optax's losses") {
  // Every run has all statements here; what none but the last leaves are sums.
  constexpr std::size_t parts = 3;
  Loops g;
  const networks::Perceptron<double, Loops> net(g, 12 / parts);
  const auto updates = ein::minimise(net.loss, networks::weights_of(net),
                                     ein::Accumulated{ein::Adam{.decay = 0.03}, parts});
  std::map<std::string, std::vector<double>> values = net.values();
  const auto zero = [&](const std::vector<ein::CarriedTensor>& pairs) {
    for (const ein::CarriedTensor& pair : pairs) {
      const ein::Vertex& v = g.graph()[g.graph().find(pair.input)];
      values[pair.input.str()] = std::vector<double>(static_cast<std::size_t>(v.size()), 0.0);
    }
  };
  zero(updates.states);
  values["rate"] = {0.02};
  const auto X = values["X"];
  const auto D = values["D"];
  std::vector<double> found;
  for (int n = 0; n < 50; ++n) {
    zero(updates.accumulation.sums);
    for (std::size_t part = 0; part < parts; ++part) {
      const auto of = [part](const std::vector<double>& all) {
        const auto size = static_cast<std::ptrdiff_t>(all.size() / parts);
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(part) * size;
        return std::vector<double>(begin, begin + size);
      };
      values["X"] = of(X);
      values["D"] = of(D);
      const LoopRun run(g, values);
      const auto& pairs = part + 1 < parts ? updates.accumulation.sums : updates.carry();
      for (const ein::CarriedTensor& pair : std::vector<ein::CarriedTensor>(pairs)) {
        values[pair.input.str()] = run.of(ein::AnySymbol(g.graph(), g.graph().find(pair.next)));
      }
    }
    found.push_back(values["loss.sum"][0] / parts);
  }
  check_jax("adam.double", found, 1e-12);
}

TEST_CASE("a plan of microbatches is split where the update begins, with its step groups") {
  Program g;
  const networks::Perceptron<float, Program> net(g, 4);
  const auto updates =
      ein::minimise(net.loss, networks::weights_of(net), ein::Accumulated{ein::Adam{}, 3});
  CHECK(updates.accumulation.sums.size() == 3 + 1);
  CHECK(updates.states.size() == 2 * 3 + 1);
  const auto plan = ein::decompose(g, {.workers = 1,
                                       .carry = updates.carry(),
                                       .steps = {{"H", "H", {{"b", 2}}}},
                                       .tiles = {{"dW2.mean", "W2'", {{"j", 2}}}}});
  REQUIRE(plan.steps.size() == 2);
  const ein::VertexId begin = updates.accumulation.begin;
  const auto [gradients, update] = ein::step_plans(plan, updates);
  REQUIRE(update.has_value());
  CHECK(gradients.graph.size() == begin);
  CHECK(gradients.graph[gradients.graph.find("W1.gradient'")].is_result());
  CHECK(update->graph.find("X") < 0);
  CHECK(update->graph[update->graph.find("W1.gradient")].is_input());
  CHECK(update->graph[update->graph.find("W1'")].is_result());
  CHECK_FALSE(update->graph[update->graph.find("dW1.mean")].is_result());
  for (const ein::Plan& part : {ein::Plan(gradients), ein::Plan(*update)}) {
    REQUIRE(part.steps.size() == 1);
    CHECK(part.peak_bytes()[0] > 0);  // which checks the groups
    CHECK(part.tasks().total_words() == 0);
  }
  CHECK(gradients.graph[gradients.steps[0].last].name == "H");
  CHECK(update->graph[update->steps[0].first].name == "dW2.mean");
  CHECK(update->graph[update->steps[0].last].name == "W2'");
  CHECK(gradients.cost.total() + update->cost.total() == plan.cost.total());

  Program h;
  const networks::Perceptron<float, Program> one(h, 4);
  const auto whole =
      ein::minimise(one.loss, networks::weights_of(one), ein::Accumulated{ein::Adam{}, 1});
  CHECK(whole.accumulation.sums.empty());
  const auto whole_plan = ein::decompose(h, {.workers = 2, .carry = whole.carry()});
  CHECK_FALSE(ein::step_plans(whole_plan, whole).update.has_value());
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
  const auto updates = ein::minimise(loss, a, ein::ClippedByNorm{ein::Sgd{}, 1.0});
  const LoopRun run(g, {{"X", {1, 2, 3, 4}}, {"a", {0}}, {"rate", {0.5}}});
  CHECK(run.of(ein::AnySymbol(g.graph(), g.graph().find("a'")))[0] == doctest::Approx(0.5));
  CHECK(g.graph()[updates.loss.vertex()].is_result());
  // Gradients of a norm of at most 1, here 0.4 and 0, are not clipped.
  const auto next = [&](double at) {
    return LoopRun(g, {{"X", {1, 2, 3, 4}}, {"a", {at}}, {"rate", {0.5}}})
        .of(ein::AnySymbol(g.graph(), g.graph().find("a'")))[0];
  };
  CHECK(next(2.45) == doctest::Approx(2.65).epsilon(1e-14));
  CHECK(next(2.5) == 2.5);
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
  CHECK(message_here([&] { (void)ein::minimise(loss, {W}, Idle{}); }) ==
        "EinDecomp: the optimiser writes 0 next values of weight W (a step has one); let its "
        "write() call next() once");
  CHECK(message_here([&] { (void)ein::minimise(loss, {W}, Doubled{}); }) ==
        "EinDecomp: the optimiser writes 2 next values of weight W (a step has one); let its "
        "write() call next() once");
  CHECK(message_here([&] { (void)ein::minimise(loss, {W}, ein::Adam{.beta2 = 1}); }) ==
        "EinDecomp: beta2 of Adam is 1 (it must be at least 0 and less than 1); give another");
  CHECK(message_here([&] { (void)ein::minimise(loss, {W}, ein::Momentum{.factor = -0.5}); }) ==
        "EinDecomp: the factor of Momentum is -0.5 (it must be at least 0 and less than 1); give "
        "another");
  CHECK(message_here([&] { (void)ein::minimise(loss, {W}, ein::Adam{.epsilon = -1}); }) ==
        "EinDecomp: epsilon of Adam is -1 (it must be more than 0); give another");
  {
    // Settings are rounded to the elements of what is trained.
    Program h;
    const auto F = h.input<float>("F", {4});
    const auto error = let<"error">() = sum(i)(square(F(i)));
    const int size = h.graph().size();
    CHECK(message_here([&] { (void)ein::minimise(error, {F}, ein::Adam{.beta1 = 0.99999999}); }) ==
          "EinDecomp: beta1 of Adam is 0.99999999, as float 1 (it must be at least 0 and less "
          "than 1); give another");
    CHECK(message_here([&] {
            (void)ein::minimise(error, {F}, ein::Accumulated{ein::Adam{.epsilon = 1e-50}, 2});
          }) ==
          "EinDecomp: epsilon of Adam is 1e-50, as float 0 (it must be more than 0); give another");
    CHECK(message_here([&] {
            (void)ein::minimise(error, {F}, ein::ClippedByNorm{ein::Momentum{1 - 1e-9}, 1.0});
          }) ==
          "EinDecomp: the factor of Momentum is 0.999999999, as float 1 (it must be at least 0 and "
          "less than 1); give another");
    CHECK(h.graph().size() == size);
  }
  CHECK(message_here([&] {
          (void)ein::minimise(loss, {W}, ein::ClippedByNorm{ein::Sgd{}, 0.0});
        }) == "EinDecomp: max_norm of ClippedByNorm is 0 (it must be more than 0); give another");
  CHECK(message_here([&] {
          (void)ein::minimise(loss, {W}, ein::Accumulated{ein::Sgd{}, 0});
        }) == "EinDecomp: microbatches of Accumulated is 0 (it must be at least 1); give another");
  CHECK(message_here([&] {
          (void)ein::minimise(loss, {W}, ein::Accumulated{ein::Momentum{.factor = 2}, 4});
        }) ==
        "EinDecomp: the factor of Momentum is 2 (it must be at least 0 and less than 1); give "
        "another");
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
  CHECK(batches.samples(5) != ein::Batches(22, 5, 3 + (1ULL << 32)).samples(5));
  const auto row =
      batches.rows(5, [](ein::Extent sample, ein::Extent column) { return 100 * sample + column; });
  CHECK(row(2, 7) == 100 * batches.samples(5)[2] + 7);
  CHECK(message_here([&] { (void)row(5, 0); }).find("row 5 of a batch of 5 samples is asked for") !=
        std::string::npos);
  CHECK(message_here([&] {
          (void)batches.samples(-1);
        }).find("samples of batch -1 are asked for (batches count from 0)") != std::string::npos);
  CHECK(message_here([] { ein::Batches(4, 5); }) ==
        "EinDecomp: a batch of 5 of 4 samples (it has at least one, and each at most once); give "
        "another size");
}

TEST_CASE("microbatches are a batch in its order, cut evenly") {
  const ein::Batches batches(40, 12, 3);
  for (const ein::Extent parts : {1, 2, 3, 12}) {
    const ein::Batches cut = batches.split(parts);
    CHECK(cut.per_epoch() == batches.per_epoch());
    for (ein::Extent step = 0; step < 2 * batches.per_epoch(); ++step) {
      std::vector<ein::Extent> joined;
      for (ein::Extent part = 0; part < parts; ++part) {
        const auto samples = cut.samples(step * parts + part);
        CHECK(static_cast<ein::Extent>(samples.size()) == 12 / parts);
        joined.insert(joined.end(), samples.begin(), samples.end());
      }
      CHECK(joined == batches.samples(step));
    }
  }
  const auto row = batches.split(3).rows(7, [](ein::Extent sample) { return 10 * sample; });
  CHECK(row(3) == 10 * batches.samples(2)[7]);
  CHECK(message_here([&] { (void)batches.split(5); }) ==
        "EinDecomp: a batch of 12 samples in 5 microbatches (each has equally many, so that the "
        "mean of their means is that of all); give a divisor of 12");
  CHECK(message_here([&] { (void)batches.split(0); }) ==
        "EinDecomp: a batch of 12 samples in 0 microbatches (each has equally many, so that the "
        "mean of their means is that of all); give a divisor of 12");
  CHECK(message_here([&] { (void)batches.split(2).split(3); }) ==
        "EinDecomp: batches of 12 samples are cut into 3 and were cut into 2 before (a microbatch "
        "is not cut again); split the batches that were not");
}
