// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of several microbatches on ranks: equal to steps of one batch, in any number of parts, by
// any plan.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/graph/statistics.hpp"
#include "eindecomp/train/batches.hpp"
#include "eindecomp/train/fit.hpp"
#include "gradient/jax.hpp"
#include "gradient/trained.hpp"
#include "support/pmpi_counter.hpp"

using namespace run_test;
using namespace eindecomp::labels;
using ein::let;
using networks::Trained;

namespace {

/// Results that Kokkos has allocated, but for scalars.
std::string allocated_results;
void note_results(const Kokkos_Profiling_SpaceHandle, const char* label, const void*,
                  const std::uint64_t bytes) {
  if (bytes > 64 && std::string_view(label).starts_with("EinDecomp::result ")) {
    allocated_results += std::string(label) + ", ";
  }
}

using InParts = Trained<networks::Perceptron, double>;
constexpr Extent all_samples = 12;

/// Binds the microbatch of that number, of steps that have all samples.
auto parts_of(const InParts& t, Extent microbatches) {
  return [&t, microbatches](Extent number) {
    return t.data(number % microbatches * (all_samples / microbatches));
  };
}

/// The mean of squares of what the network says, which depends on the samples.
auto size_of_output(const InParts& t) {
  const auto H = let<"H.shown">(b, j) = relu(sum(i)(t.net.X(b, i) * t.net.W1(i, j)) + t.net.B1(j));
  return let<"size">() = ein::mean(b)(sum(j)(square(H(b, j))));
}

/// What training in so many microbatches comes to.
struct Trace {
  std::vector<double> losses;
  std::vector<double> sizes;
  std::vector<double> weights;
};

template <class Optimiser>
Trace trace_of(const Optimiser& optimiser, Extent microbatches, const std::string& strategy) {
  InParts t(all_samples / microbatches);
  const auto size = size_of_output(t);
  const auto updates = ein::minimise(t.net.loss, networks::weights_of(t.net), optimiser, {size});
  const auto plan = t.plan(updates, strategy, 0, networks::quick);
  ein::Trainer trainer(plan, MPI_COMM_WORLD, Space(), updates);
  CHECK(trainer.microbatches() == microbatches);
  trainer.start(t.first());
  Trace trace;
  for (int n = 0; n < 8; ++n) {
    trainer.step(0.05, parts_of(t, microbatches));
    trace.losses.push_back(trainer.loss());
    trace.sizes.push_back(trainer.metrics()[0].value);
  }
  t.net.each_weight([&](const auto& weight) {
    const auto whole = on_host(trainer.gather(weight));
    trace.weights.insert(trace.weights.end(), whole.data(), whole.data() + whole.size());
  });
  return trace;
}

void check_close(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t n = 0; n < found.size(); ++n) {
    CHECK(std::abs(found[n] - expected[n]) <= 1e-11 * std::max(1.0, std::abs(expected[n])));
  }
}

/// Steps of 2, 3 and 6 microbatches against steps of all samples.
template <class Optimiser>
void check_equal(const Optimiser& optimiser, const std::vector<std::string>& strategies) {
  const Trace expected = trace_of(optimiser, 1, "placed");
  CHECK(std::abs(expected.losses[7] - expected.losses[0]) > 1e-3);  // else there is nothing to see
  for (const std::string& strategy : strategies) {
    for (const Extent microbatches : {2, 3, 6}) {
      CAPTURE(strategy);
      CAPTURE(microbatches);
      const Trace found =
          trace_of(ein::Accumulated{optimiser, microbatches}, microbatches, strategy);
      check_close(found.losses, expected.losses);
      check_close(found.sizes, expected.sizes);
      check_close(found.weights, expected.weights);
    }
  }
}

}  // namespace

TEST_CASE("a step of microbatches is that of their samples in one batch") {
  check_equal(ein::Sgd{}, {"placed", "data_parallel"});
  check_equal(ein::Momentum{}, {"exact"});
  check_equal(ein::Adam{.decay = 0.03}, {"placed", "data_parallel", "model_parallel", "hybrid"});
  check_equal(ein::ClippedByNorm{ein::Adam{}, 0.2}, {"placed", "square"});
}

TEST_CASE("steps of three microbatches have Optax's losses") {
  InParts t(4);
  const auto updates = ein::minimise(t.net.loss, networks::weights_of(t.net),
                                     ein::Accumulated{ein::Adam{.decay = 0.03}, 3});
  const bool is_crowded = t.world.size > 4;
  const auto plan = t.plan(updates, "placed", 2 * t.world.size);
  ein::Trainer trainer(plan, MPI_COMM_WORLD, Space(), updates);
  trainer.start(t.first());
  std::vector<double> losses;
  for (int n = 0; n < (is_crowded ? 10 : 50); ++n) {
    trainer.step(0.02, parts_of(t, 3));
    losses.push_back(trainer.loss());
  }
  eindecomp_tests::check_jax("adam.double", losses, 1e-10, is_crowded);
}

TEST_CASE("a step moves the words of its microbatches and of one update") {
  InParts t(4);
  const auto updates = ein::minimise(t.net.loss, networks::weights_of(t.net),
                                     ein::Accumulated{ein::ClippedByNorm{ein::Adam{}, 0.2}, 3});
  for (const char* strategy : {"placed", "data_parallel", "square"}) {
    CAPTURE(strategy);
    const auto plan = t.plan(updates, strategy);
    const auto plans = ein::step_plans(plan, updates);
    REQUIRE(plans.update.has_value());
    CHECK(plans.gradients.graph.size() + static_cast<int>(plans.update->graph.size()) <
          plan.graph.size() + 8);  // weights and sums are in both
    const Extent words =
        plans.gradients.tasks().total_words() + plans.update->tasks().total_words();
    CHECK(words == plan.tasks().total_words());
    ein::Trainer trainer(plan, MPI_COMM_WORLD, Space(), updates);
    trainer.start(t.first());
    trainer.step(0.02, parts_of(t, 3));
    pmpi::reset();
    trainer.step(0.02, parts_of(t, 3));
    const pmpi::Counts moved = pmpi::counts("EinDecomp transfers");
    CHECK(moved.received == 3 * of_this_rank(plans.gradients.tasks().received) +
                                of_this_rank(plans.update->tasks().received));
    CHECK(moved.sent == 3 * of_this_rank(plans.gradients.tasks().sent) +
                            of_this_rank(plans.update->tasks().sent));
  }
}

TEST_CASE("microbatches are resumed bit for bit, and in another number of them") {
  InParts t(4);
  const auto updates = ein::minimise(t.net.loss, networks::weights_of(t.net),
                                     ein::Accumulated{ein::Adam{.decay = 0.03}, 3});
  const auto plan = t.plan(updates);
  const ein::Batches batches(24, all_samples, 5);
  const auto batch_of = [](const InParts& of, const ein::Batches& cut) {
    return [&of, cut](Extent number) {
      const auto row = [&of, rows = cut.samples(number)](const auto& tensor) {
        return [all = of.element(tensor), rows](Extent n, Extent k) {
          return all(rows[static_cast<std::size_t>(n)] % all_samples, k);
        };
      };
      return std::vector<ein::Binding<Space>>{ein::bind_generator(of.net.X, row(of.net.X)),
                                              ein::bind_generator(of.net.D, row(of.net.D))};
    };
  };
  ein::Checkpoint middle;
  ein::Checkpoint end;
  ein::FitOptions options{.steps = 7, .rate = [](Extent n) { return 0.02 / (1.0 + 0.1 * n); }};
  options.checkpoint_every = 3;
  options.checkpoint = [&](const ein::Checkpoint& made) {
    if (made.steps == 3) middle = made;
    end = made;
  };
  ein::Trainer whole(plan, MPI_COMM_WORLD, Space(), updates);
  whole.start(t.first());
  CHECK(ein::fit(whole, options, batch_of(t, batches.split(3))));
  CHECK(whole.steps() == 7);
  if (t.world.rank == 0) CHECK(end.tensors.size() == 3 + 2 * 3 + 1);  // sums are 0 between steps

  ein::Trainer resumed(plan, MPI_COMM_WORLD, Space(), updates);
  resumed.resume(middle);
  ein::Checkpoint again;
  options.checkpoint = [&](const ein::Checkpoint& made) { again = made; };
  CHECK(ein::fit(resumed, options, batch_of(t, batches.split(3))));
  CHECK(again == end);
  CHECK(resumed.loss() == whole.loss());

  InParts other(all_samples);
  const auto in_one =
      ein::minimise(other.net.loss, networks::weights_of(other.net), ein::Adam{.decay = 0.03});
  const auto other_plan = other.plan(in_one);
  ein::Trainer elsewhere(other_plan, MPI_COMM_WORLD, Space(), in_one);
  elsewhere.resume(middle);
  CHECK(ein::fit(elsewhere, options, batch_of(other, batches)));
  CHECK(elsewhere.loss() == doctest::Approx(whole.loss()).epsilon(1e-10));
  // A step in which something is thrown was not taken.
  const std::vector<double> before = [&] {
    const auto w = on_host(whole.gather(t.net.W1));
    return std::vector<double>(w.data(), w.data() + w.size());
  }();
  const auto no_third = [&](Extent number) {
    if (number % 3 == 2) throw std::runtime_error("there is no third");
    return t.data();
  };
  CHECK_THROWS_AS(whole.step(0.02, no_third), std::runtime_error);
  CHECK(whole.steps() == 7);
  const auto after = on_host(whole.gather(t.net.W1));
  CHECK(std::equal(before.begin(), before.end(), after.data()));
}

TEST_CASE("steps of microbatches allocate no results but in the first two") {
  InParts t(4);
  const auto H = let<"H.kept">(b, j) = relu(sum(i)(t.net.X(b, i) * t.net.W1(i, j)));
  t.g.keep(H);
  const auto updates = ein::minimise(t.net.loss, networks::weights_of(t.net),
                                     ein::Accumulated{ein::Adam{.decay = 0.03}, 3});
  const auto plan = t.plan(updates);
  ein::Trainer trainer(plan, MPI_COMM_WORLD, Space(), updates);
  trainer.start(t.first());
  allocated_results.clear();
  Kokkos::Tools::Experimental::set_allocate_data_callback(note_results);
  for (int n = 0; n < 2; ++n) trainer.step(0.02, parts_of(t, 3));
  // On more ranks a rank's part of it is as small as what is not noted.
  if (t.world.rank == 0 && t.world.size <= 4) {
    CHECK(contains(allocated_results, "W1.gradient'"));
  }
  allocated_results.clear();
  for (int n = 0; n < 3; ++n) trainer.step(0.02, parts_of(t, 3));
  Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
  CHECK(allocated_results.empty());
  CHECK(trainer.last().gather(H).size() == 4 * 8);
  CHECK(contains(
      message_of([&] { (void)trainer.last().template gather_as<double, 2>("W1.gradient'"); }),
      "tensor W1.gradient' is no result of this run any more (it was released, and "
      "later runs write where it lay); read it before"));
  CHECK(contains(message_of([&] { (void)trainer.last().carry(); }),
                 "is no result of this run any more"));
}

TEST_CASE("a trainer that was moved goes on with its microbatches and metrics") {
  InParts t(6);
  const auto size = size_of_output(t);
  const auto updates = ein::minimise(t.net.loss, networks::weights_of(t.net),
                                     ein::Accumulated{ein::Momentum{}, 2}, {size, t.net.loss});
  const auto plan = t.plan(updates);
  ein::Trainer first(plan, MPI_COMM_WORLD, Space(), updates);
  first.start(t.first());
  first.step(0.05, parts_of(t, 2));
  const std::vector<ein::MetricValue> metrics = first.metrics();
  CHECK(metrics[1].value == doctest::Approx(first.loss()).epsilon(1e-15));
  ein::Trainer second(std::move(first));
  CHECK(second.metrics() == metrics);
  second.step(0.05, parts_of(t, 2));
  CHECK(second.loss() < metrics[1].value);
  CHECK(second.metrics()[0].name == "size");
  CHECK(second.metrics()[0].value != metrics[0].value);
}

TEST_CASE("what is no step of microbatches is refused") {
  InParts t(6);
  const auto moved = let<"moved">(b, i) = 2.0 * t.net.X(b, i);
  const auto updates =
      ein::minimise(t.net.loss, networks::weights_of(t.net), ein::Accumulated{ein::Sgd{}, 2});
  const auto plan = t.plan(updates);
  ein::Trainer trainer(plan, MPI_COMM_WORLD, Space(), updates);
  CHECK(contains(message_of([&] { trainer.step(0.1, parts_of(t, 2)); }),
                 "a trainer takes a step before it has weights"));
  trainer.start(t.first());
  CHECK(contains(message_of([&] { trainer.step(0.1, t.data()); }),
                 "a step of 2 microbatches is given the bindings of one (each has samples of its "
                 "own); give a function of the microbatch's number that returns them"));
  const auto without_sums = ein::decompose(t.g, {.workers = t.world.size, .carry = [&] {
                                                   auto carry = updates.carry();
                                                   carry.pop_back();
                                                   return carry;
                                                 }()});
  CHECK(contains(message_of([&] { ein::Trainer(without_sums, MPI_COMM_WORLD, Space(), updates); }),
                 "the plan does not carry loss.sum' to loss.sum"));
  const auto with_others = ein::decompose(t.g, {.workers = t.world.size, .carry = [&] {
                                                  auto carry = updates.carry();
                                                  carry.push_back({moved.name(), t.net.X.name()});
                                                  return carry;
                                                }()});
  CHECK(contains(message_of([&] { ein::Trainer(with_others, MPI_COMM_WORLD, Space(), updates); }),
                 "the plan carries moved to X besides what an Accumulated optimiser updates (a "
                 "step is several runs); carry updates.carry() alone"));
  auto crossing = plan;
  const ein::VertexId begin = updates.accumulation.begin;
  crossing.steps = {{.first = begin - 1, .last = begin}};
  CHECK(contains(message_of([&] { (void)ein::step_plans(crossing, updates); }),
                 "go from the gradients into the update (which runs once for all microbatches); "
                 "let them end before"));
  const auto late = let<"late">(j) = 2.0 * t.net.B1(j);
  const auto longer = t.plan(updates);
  CHECK(contains(message_of([&] { ein::Trainer(longer, MPI_COMM_WORLD, Space(), updates); }),
                 "tensor late was written after minimise() of an Accumulated optimiser (what is "
                 "before the update runs for every microbatch, and the update ends the program); "
                 "write it before minimise()"));
  CHECK(late.rank == 1);
}
