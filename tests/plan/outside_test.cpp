// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is outside a plan's statements: inputs and results in distributions, results that become
// inputs, the memory of a device.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "plan/programs.hpp"
#include "support/messages.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

/// y(i) = sum_j A(i, j) x(j).
EinGraph matrix_vector(Extent n) {
  EinGraph graph;
  const VertexId a = input(graph, "A", {n, n});
  const VertexId x = input(graph, "x", {n});
  write(graph, "y", "ij,j->i", {a, x});
  return graph;
}

Extent sum(const std::vector<Extent>& words) {
  Extent total = 0;
  for (Extent w : words) total += w;
  return total;
}

Extent busiest(std::vector<Extent> words, const std::vector<Extent>& more) {
  for (std::size_t r = 0; r < words.size(); ++r) words[r] += more[r];
  return *std::max_element(words.begin(), words.end());
}

}  // namespace

TEST_CASE("a result that becomes an input is stored as it, or what moves is paid for") {
  const EinGraph graph = matrix_vector(64);
  for (const int p : {2, 3, 4, 6, 8}) {
    for (const char* strategy : {"placed", "exact", "square"}) {
      CAPTURE(p);
      CAPTURE(strategy);
      const Plan plan =
          decompose(graph, {.workers = p, .strategy = strategy, .carry = {{"y", "x"}}});
      const Plan careless = decompose(graph, {.workers = p, .strategy = strategy});
      REQUIRE(plan.carry.size() == 1);
      CHECK(plan.carry[0] == CarriedResult{plan.vertex("y"), plan.vertex("x")});
      const std::vector<Extent> between =
          redistributed_words(careless.distribution("y"), careless.distribution("x"));
      CHECK(plan.carried_words() ==
            redistributed_words(plan.distribution("y"), plan.distribution("x")));
      CHECK(busiest(plan.tasks().received, plan.carried_words()) <=
            busiest(careless.tasks().received, between));
    }
  }
  // By rows the two fit without words.
  const Plan rows = decompose(
      graph,
      {.workers = 4, .strategy = "by_hand", .by_hand = {{"y", {{"i", 4}}}}, .carry = {{"y", "x"}}});
  CHECK(sum(rows.carried_words()) == 0);
  CHECK(rows.distribution("x") == rows.distribution("y"));
  CHECK(rows.hash() !=
        decompose(graph, {.workers = 4, .strategy = "by_hand", .by_hand = {{"y", {{"i", 4}}}}})
            .hash());
}

TEST_CASE("inputs and results are stored near the distributions that they have outside") {
  const EinGraph graph = matmul(48, 40, 36);
  for (const int p : {2, 4, 6, 8}) {
    CAPTURE(p);
    const Distribution x = Distribution::rows({48, 40}, p, Split::floor);
    const Distribution y = Distribution::columns({40, 36}, p);
    const Distribution z = Distribution::block_cyclic({48, 36}, {{4, 1}, {3, p}}, p);
    const auto total = [&](const Plan& plan) {
      std::vector<Extent> outside = plan.input_words("X", x);
      for (const auto& words : {plan.input_words("Y", y), plan.result_words("Z", z)}) {
        for (std::size_t r = 0; r < words.size(); ++r) outside[r] += words[r];
      }
      return busiest(plan.tasks().received, outside);
    };
    const Extent careless = total(decompose(graph, {.workers = p}));
    const Plan plan = decompose(graph, {.workers = p, .layouts = {{"X", x}, {"Y", y}, {"Z", z}}});
    CHECK(total(plan) <= careless);
  }
  // Rows in, and nothing else to move: X stays where it is.
  const EinGraph vector = matrix_vector(64);
  const Plan plan =
      decompose(vector, {.workers = 4, .layouts = {{"A", Distribution::rows({64, 64}, 4)}}});
  CHECK(sum(plan.input_words("A", Distribution::rows({64, 64}, 4))) == 0);
}

TEST_CASE("words from outside are counted for as many workers as placed searches for") {
  const EinGraph graph = matmul(1024, 1024, 1024);
  DecomposeOptions options{.workers = 1 << 17, .ranks = 4, .strategy = "ein_decomp"};
  CHECK(decompose(graph, options).workers == 1 << 17);
  options.layouts = {{"X", Distribution::rows({1024, 1024}, 4)}};
  CHECK(message_of([&] {
          (void)decompose(graph, options);
        }).find("a plan for 131072 workers has distributions or a result that is carried") !=
        std::string::npos);
  // Before the strategy runs: it would find that Q is not there.
  options.strategy = "by_hand";
  options.by_hand = {{"Q", {}}};
  CHECK(message_of([&] {
          (void)decompose(graph, options);
        }).find("a plan for 131072 workers has distributions or a result that is carried") !=
        std::string::npos);
}

TEST_CASE("what cannot be carried or laid out is refused") {
  const EinGraph graph = matrix_vector(8);
  const auto refused = [&graph](const DecomposeOptions& options) {
    return message_here([&] { (void)decompose(graph, options); }, ErrorKind::plan);
  };
  CHECK(refused({.workers = 2, .carry = {{"z", "x"}}}) ==
        "EinDecomp: 'z' is to be carried to the next run (there is no such tensor); name a result");
  CHECK(refused({.workers = 2, .carry = {{"x", "x"}}}) ==
        "EinDecomp: 'x' is to be carried to the next run (it is an input, which is the same after "
        "the run); carry a copy, let<\"last\">(i, j) = x(i, j)");
  CHECK(refused({.workers = 2, .carry = {{"y", "y"}}}) ==
        "EinDecomp: 'y' is to be carried to 'y' (it is computed by the run); name an input");
  CHECK(refused({.workers = 2, .carry = {{"y", "A"}}}) ==
        "EinDecomp: 'y', which is 8 of double, is to be carried to 'A', which is 8 x 8 of double "
        "(extents and value types are to be the same); declare them so");
  CHECK(refused({.workers = 2, .carry = {{"y", "x"}, {"y", "x"}}}) ==
        "EinDecomp: two results are to be carried to 'x' (an input has one value); leave one out");
  CHECK(
      refused({.workers = 2, .layouts = {{"Q", Distribution::rows({8}, 2)}}}) ==
      "EinDecomp: a distribution is given for 'Q' (there is no such tensor); give those of inputs "
      "and results, by name");
  CHECK(
      refused({.workers = 2, .layouts = {{"x", Distribution::rows({9}, 2)}}}) ==
      "EinDecomp: the distribution given for 'x' is of 9 (the tensor is 8); describe the tensor's "
      "own");
  const Distribution halves = Distribution::rows({8}, 2);
  CHECK(refused({.workers = 2, .layouts = {{"x", halves}, {"y", halves}, {"x", halves}}}) ==
        "EinDecomp: two distributions are given for 'x' (a tensor comes or goes in one); leave one "
        "out");
  CHECK(refused({.workers = 2, .layouts = {{"x", Distribution::rows({8}, 3)}}}) ==
        "EinDecomp: the distribution given for 'x' is for 3 ranks (the plan is for 2); describe it "
        "for the plan's, those without a part included");
}

namespace {

/// As that of programs for a device.
struct DeviceBackend : NoBackend {
  static constexpr bool is_device = true;
};

/// Five points of a plane, and the plan of it within so many bytes.
template <class Backend>
BasicPlan<Backend> stencil_within(std::int64_t bytes) {
  using namespace eindecomp::labels;
  BasicProgram<Backend> g;
  const auto X = g.template input<double>("X", {256, 256});
  (void)(let<"Y">(i, j) = X(zero(i - 1), j) + X(zero(i + 1), j) + X(i, zero(j - 1)) +
                          X(i, zero(j + 1)) - 4.0 * X(i, j));
  return decompose(g, {.workers = 1, .cache_bytes = 0, .memory = bytes});
}

}  // namespace

TEST_CASE("a program for a device is planned within the memory that runs there take") {
  const auto free = stencil_within<NoBackend>(0);
  const std::int64_t by_threads = free.peak_bytes({.threads = 1})[0];
  const std::int64_t on_device = free.peak_bytes({.threads = 0})[0];
  CHECK(by_threads == 2 * 256 * 256 * 8);
  CHECK(on_device >= 3 * 256 * 256 * 8);
  CHECK(stencil_within<NoBackend>(by_threads).peak_bytes()[0] == by_threads);
  CHECK(stencil_within<DeviceBackend>(on_device).peak_bytes({.threads = 0})[0] <= on_device);
  const std::string refused = message_of([&] { (void)stencil_within<DeviceBackend>(by_threads); });
  CHECK(contains(refused, "memory"));
}
