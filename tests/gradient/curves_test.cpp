// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fifty steps of three networks under every strategy that applies to them: their losses are JAX's,
// and training that is resumed from a checkpoint goes on bit for bit.

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "eindecomp/plan/strategy.hpp"
#include "eindecomp/train/minimise.hpp"
#include "eindecomp/train/trainer.hpp"
#include "gradient/jax.hpp"
#include "gradient/networks.hpp"
#include "gradient/trained.hpp"
#include "run/programs.hpp"
#include "support/cases.hpp"

using namespace run_test;
using networks::Trained;

namespace {

/// How a network is trained, and the name of what JAX found.
struct Training {
  std::string name;
  ein::Adam optimiser;
  double rate;
};
const Training of_perceptron{"adam", {.decay = 0.03}, 0.02};
const Training of_convolutional{"convolutional", {.epsilon = 1e-4}, 0.003};
const Training of_transformer{"transformer", {.epsilon = 1e-4, .decay = 0.01}, 0.003};

/// All strategies but by_hand and those that find no label of their roles.
std::vector<std::string> strategies_of(const ein::EinGraph& graph) {
  std::vector<std::string> names;
  for (const ein::Strategy& strategy : ein::list_strategies()) {
    if (strategy.name == "by_hand" || !strategy.finds_roles(graph)) continue;
    names.emplace_back(strategy.name);
  }
  return names;
}

/// The largest difference between losses and the first of JAX's, as a share of JAX's.
double off_jax(const std::string& name, const std::vector<double>& losses) {
  const std::vector<double>& expected = eindecomp_tests::jax_values_of(name);
  REQUIRE(losses.size() <= expected.size());
  double worst = 0;
  for (std::size_t n = 0; n < losses.size(); ++n) {
    const double off = std::abs(losses[n] - expected[n]) / std::abs(expected[n]);
    if (!(off <= worst)) worst = off;
  }
  return worst;
}

/// The losses of so many steps.
template <class Trainer, class Network>
std::vector<double> losses_of(Trainer& trainer, const Network& t, double rate, int steps) {
  std::vector<double> losses;
  for (int n = 0; n < steps; ++n) {
    trainer.step(rate, t.data());
    losses.push_back(static_cast<double>(trainer.loss()));
  }
  return losses;
}

/// Where ranks crowd on a test's cores, only the first steps are taken, and none in float, whose
/// plans are the same.
bool tries_all() { return eindecomp_tests::share_of_cases() > 100 || World().size <= 2; }

/// \param left_out  how many strategies the network has no roles for, by_hand among them
template <template <class, class> class Network, class T>
void check_curves(const Training& training, std::size_t left_out) {
  const bool is_float = std::is_same_v<T, float>;
  if (is_float && !tries_all()) return;
  const int steps = tries_all() ? 50 : 6;
  constexpr int resumed_steps = 3;
  const Trained<Network, T> t;
  const auto updates = ein::minimise(t.net.loss, networks::weights_of(t.net), training.optimiser);
  const std::string name = training.name + (is_float ? ".float" : ".double");
  const std::vector<std::string> strategies = strategies_of(t.g.graph());
  CHECK(strategies.size() + left_out == ein::list_strategies().size());
  for (const std::string& strategy : strategies) {
    CAPTURE(strategy);
    const auto plan = t.plan(updates, strategy, t.world.size, networks::quick);
    ein::Trainer whole(plan, MPI_COMM_WORLD, Space(), updates);
    whole.start(t.first());
    std::vector<double> losses = losses_of(whole, t, training.rate, steps - resumed_steps);
    const ein::Checkpoint made = whole.checkpoint();
    const std::vector<double> last = losses_of(whole, t, training.rate, resumed_steps);
    losses.insert(losses.end(), last.begin(), last.end());
    CHECK(off_jax(name, losses) <= (is_float ? 1e-4 : 1e-10));

    ein::Trainer resumed(plan, MPI_COMM_WORLD, Space(), updates);
    resumed.resume(made);
    CHECK(losses_of(resumed, t, training.rate, resumed_steps) == last);
    CHECK(resumed.checkpoint() == whole.checkpoint());
  }
}

/// Without the gradient of one of its weights, whichever, a network has other losses: what is
/// compared with JAX's depends on all of them.
template <template <class, class> class Network>
void check_each_weight_counts(const Training& training) {
  const std::size_t count = networks::weights_of(Trained<Network, double>().net).size();
  for (std::size_t left_out = 0; left_out < count; ++left_out) {
    CAPTURE(left_out);
    const Trained<Network, double> t;
    auto weights = networks::weights_of(t.net);
    std::vector<ein::Binding<Space>> first = t.first();
    const ein::Binding<Space> still = first[left_out];
    weights.erase(weights.begin() + static_cast<std::ptrdiff_t>(left_out));
    first.erase(first.begin() + static_cast<std::ptrdiff_t>(left_out));
    const auto updates = ein::minimise(t.net.loss, weights, training.optimiser);
    const auto plan = t.plan(updates, "data_parallel");
    ein::Trainer trainer(plan, MPI_COMM_WORLD, Space(), updates);
    trainer.start(std::move(first));
    std::vector<double> losses;
    for (int n = 0; n < 3; ++n) {
      std::vector<ein::Binding<Space>> inputs = t.data();
      inputs.push_back(still);
      trainer.step(training.rate, inputs);
      losses.push_back(trainer.loss());
    }
    CHECK(off_jax(training.name + ".double", {losses.front()}) <= 1e-10);
    CHECK(off_jax(training.name + ".double", losses) > 1e-6);
  }
}

}  // namespace

TEST_CASE("a perceptron has JAX's losses under every strategy") {
  check_curves<networks::Perceptron, double>(of_perceptron, 4);
  check_curves<networks::Perceptron, float>(of_perceptron, 4);
}

TEST_CASE("a convolutional network has JAX's losses under every strategy") {
  check_curves<networks::Convolutional, double>(of_convolutional, 4);
  check_curves<networks::Convolutional, float>(of_convolutional, 4);
}

TEST_CASE("a transformer of two layers has JAX's losses under every strategy") {
  check_curves<networks::Transformer, double>(of_transformer, 1);
  check_curves<networks::Transformer, float>(of_transformer, 1);
}

TEST_CASE("losses depend on the gradient of every weight") {
  if (World().size > 1) return;  // plans have nothing to do with it
  check_each_weight_counts<networks::Perceptron>(of_perceptron);
  check_each_weight_counts<networks::Convolutional>(of_convolutional);
  check_each_weight_counts<networks::Transformer>(of_transformer);
}
