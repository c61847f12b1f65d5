// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of several microbatches on ranks: equal to steps of one batch, in any number of parts, by
// any plan.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
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
Trace trace_of(const Optimiser& optimiser, Extent microbatches, const std::string& strategy,
               int workers = 0) {
  InParts t(all_samples / microbatches);
  const auto size = size_of_output(t);
  const auto updates =
      ein::minimise(t.net.loss, networks::weights_of(t.net), optimiser, {size});
  const auto plan = t.plan(updates, strategy, workers);
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
