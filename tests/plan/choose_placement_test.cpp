// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans chosen by time, by the paper's cost and within a limit of memory.

#include "eindecomp/plan/placement/choose_placement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/simulate.hpp"
#include "plan/programs.hpp"
#include "plan/random_graph.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

Machine machine_of(int workers) {
  return {.operations_per_second = 1e6,
          .axes = {{.size = workers, .latency = 1e-4, .bandwidth = 1e6}}};
}

std::int64_t peak(const Plan& plan) {
  const std::vector<std::int64_t> bytes = plan.peak_bytes();
  return *std::max_element(bytes.begin(), bytes.end());
}

double seconds(const Plan& plan, const Machine& machine) {
  return simulate(plan, machine).in_turn.seconds;
}

/// Calls visit(plan) for every labeling of a graph, placed as usual.
template <class Visit>
void for_each_plan(const EinGraph& graph, int workers, const Visit& visit) {
  std::vector<VectorList> vectors;
  std::vector<std::size_t> chosen(graph.vertices.size(), 0);
  for (VertexId v = 0; v < graph.size(); ++v) {
    vectors.push_back(graph[v].is_input() ? VectorList() : partition_vectors(graph, v, workers));
  }
  while (true) {
    std::vector<StatementParts> by_hand;
    for (VertexId v = 0; v < graph.size(); ++v) {
      if (graph[v].is_input()) continue;
      const auto at = static_cast<std::size_t>(v);
      by_hand.push_back({graph[v].name, {}});
      for (std::size_t l = 0; l < graph[v].labels.size(); ++l) {
        by_hand.back().parts.push_back(
            {graph.labels[static_cast<std::size_t>(graph[v].labels[l])].name,
             vectors[at][chosen[at]][l]});
      }
    }
    visit(decompose(graph, {.workers = workers, .strategy = "by_hand", .by_hand = by_hand}));
    std::size_t v = 0;
    for (; v < chosen.size(); ++v) {
      if (vectors[v].empty()) continue;
      if (++chosen[v] < vectors[v].size()) break;
      chosen[v] = 0;
    }
    if (v == chosen.size()) return;
  }
}

}  // namespace

TEST_CASE("no labeling of a small program is faster, or cheaper, or leaner than the one chosen") {
  const unsigned seed = 41;
  std::mt19937 random(seed);
  CAPTURE(seed);
  for (int round = 0; round < 25; ++round) {
    CAPTURE(round);
    const EinGraph graph = random_graph(random, false, 2);
    const int workers = draw(random, 2, 6);
    const Machine machine = machine_of(workers);
    double fastest = std::numeric_limits<double>::max();
    Extent cheapest = std::numeric_limits<Extent>::max();
    std::int64_t leanest = std::numeric_limits<std::int64_t>::max();
    std::int64_t fattest = 0;
    for_each_plan(graph, workers, [&](const Plan& plan) {
      fastest = std::min(fastest, seconds(plan, machine));
      cheapest = std::min(cheapest, plan.cost.total());
      leanest = std::min(leanest, peak(plan));
      fattest = std::max(fattest, peak(plan));
    });
    const Plan fast = decompose(graph, {.workers = workers,
                                        .strategy = "placed",
                                        .objective = Objective::time,
                                        .machine = machine});
    REQUIRE(seconds(fast, machine) <= fastest);
    const Plan cheap =
        decompose(graph, {.workers = workers, .strategy = "placed", .objective = Objective::paper});
    REQUIRE(cheap.cost.total() <= cheapest);

    const std::int64_t limit = leanest + (fattest - leanest) / draw(random, 1, 3);
    const Plan lean = decompose(graph, {.workers = workers, .strategy = "placed", .memory = limit});
    REQUIRE(peak(lean) <= limit);
    for_each_plan(graph, workers, [&](const Plan& plan) {
      if (peak(plan) > limit) return;
      REQUIRE(lean.tasks().busiest_words() <= plan.tasks().busiest_words());
    });
  }
}

TEST_CASE("a limit of memory is kept by every strategy, or the plan refused") {
  const EinGraph graph = matmul(8, 8, 8);
  // All of Y and a quarter of X and Z, beside the stored quarters, for nothing is streamed.
  DecomposeOptions options{
      .workers = 4, .strategy = "by_hand", .by_hand = {{"Z", {{"i", 4}}}}, .cache_bytes = 0};
  const std::int64_t needed = peak(decompose(graph, options));
  CHECK(needed == 1408);
  options.memory = needed;
  CHECK(peak(decompose(graph, options)) == needed);
  options.memory = needed - 24;
  const std::string sentence = "the plan by by_hand holds " + std::to_string(needed) +
                               " bytes of tensors on rank 0 for statement 'Z' (24 more than the " +
                               std::to_string(needed - 24) +
                               " that a rank may hold); allow more memory, give more workers, or "
                               "let strategy placed look for a plan that fits";
  CHECK_THROWS_WITH_AS(static_cast<void>(decompose(graph, options)),
                       doctest::Contains(sentence.c_str()), Error);
  options.memory = 0;
  options.machine = machine_of(4);
  options.machine.memory = needed - 24;
  CHECK_THROWS_WITH_AS(static_cast<void>(decompose(graph, options)),
                       doctest::Contains(sentence.c_str()), Error);
  options.memory = needed;  // instead of the machine's
  CHECK(peak(decompose(graph, options)) == needed);

  // In panels less of Y is held at a time.
  options.cache_bytes = DecomposeOptions().cache_bytes;
  options.memory = needed - 24;
  const Plan streamed = decompose(graph, options);
  CHECK(peak(streamed) <= needed - 24);
  CHECK(streamed.tasks().busiest_words() ==
        decompose(graph, {.workers = 4, .strategy = "by_hand", .by_hand = {{"Z", {{"i", 4}}}}})
            .tasks()
            .busiest_words());
}

TEST_CASE("where no plan fits the error tells by how much the smallest misses") {
  const EinGraph graph = matmul(8, 8, 8);
  std::int64_t leanest = std::numeric_limits<std::int64_t>::max();
  for_each_plan(graph, 4, [&](const Plan& plan) { leanest = std::min(leanest, peak(plan)); });
  std::string said;
  try {
    static_cast<void>(decompose(graph, {.workers = 4, .strategy = "placed", .memory = 100}));
  } catch (const Error& error) {
    said = error.what();
  }
  const std::string beginning = "the smallest plan that is found holds ";
  const std::size_t at = said.find(beginning);
  REQUIRE(at != std::string::npos);
  const std::int64_t smallest = std::stoll(said.substr(at + beginning.size()));
  CHECK(smallest <= leanest);
  CHECK(said.find("(" + std::to_string(smallest - 100) + " more than the 100") !=
        std::string::npos);
  CHECK(said.find("for statement 'Z'") != std::string::npos);
}

TEST_CASE("deep programs are cut to fit, too") {
  // Eight layers H = X · W with a residual: too many statements to try all labelings.
  EinGraph graph;
  VertexId x = input(graph, "X", {64, 256});
  for (int layer = 0; layer < 8; ++layer) {
    const std::string number = std::to_string(layer);
    const VertexId w = input(graph, "W" + number, {256, 256});
    const VertexId h = write(graph, "H" + number, "ij,jk->ik", {x, w});
    const VertexId r = write(graph, "R" + number, "ik,ik->ik", {h, x});
    x = write(graph, "T" + number, "ik->ik", {r});
  }
  // The plan of fewest words is the leanest, too; that of fewest messages is not.
  const Machine late{.operations_per_second = 1e12,
                     .axes = {{.size = 8, .latency = 1e-3, .bandwidth = 1e12}}};
  DecomposeOptions options{.workers = 8, .objective = Objective::time, .machine = late};
  const Plan free = decompose(graph, options);
  options.memory = peak(free) - 1;
  const Plan lean = decompose(graph, options);
  CHECK(peak(lean) <= options.memory);
  CHECK(seconds(lean, late) >= seconds(free, late));
  const Machine machine = machine_of(8);
  const Plan fast = decompose(
      graph,
      {.workers = 8, .strategy = "placed", .objective = Objective::time, .machine = machine});
  for (const char* other : {"ein_decomp", "exact", "square", "k_cut", "placed"}) {
    CAPTURE(other);
    CHECK(seconds(fast, machine) <=
          seconds(decompose(graph, {.workers = 8, .strategy = other}), machine));
  }
}

TEST_CASE("a plan may fit because its statements run in steps") {
  // A chain of maps: what they pass on is whole in memory, or a block at a time.
  EinGraph graph;
  VertexId x = input(graph, "X", {512, 512});
  for (const char* name : {"R", "S", "T", "U"}) x = write(graph, name, "ij->ij", {x});
  const auto plan = [&](std::int64_t cache_bytes, std::int64_t memory) {
    return decompose(graph, {.workers = 2, .cache_bytes = cache_bytes, .memory = memory});
  };
  const std::int64_t whole = peak(plan(0, 0));
  const std::int64_t in_steps = peak(plan(256 * 1024, 0));
  REQUIRE(in_steps < whole);
  CHECK(peak(plan(256 * 1024, in_steps)) == in_steps);
  CHECK_THROWS_WITH_AS(static_cast<void>(plan(0, in_steps)),
                       doctest::Contains("the smallest plan that is found"), Error);
  // Finer steps than the cache asks for, where the memory does.
  const std::int64_t ends = 2 * 512 * 512 * 8 / 2;  // X and U, stored
  CHECK(peak(plan(256 * 1024, ends + 64 * 1024)) <= ends + 64 * 1024);
}

TEST_CASE("statements run in steps for memory's sake, though they read more for it") {
  // Z = relu(X · W) · V: every step reads W and V again, which is dearer than what it keeps in the
  // cache.
  EinGraph graph;
  const VertexId x = input(graph, "X", {2048, 256});
  const VertexId w = input(graph, "W", {256, 4096});
  const VertexId v = input(graph, "V", {4096, 256});
  const VertexId h = write(graph, "H", "bi,ij->bj", {x, w});
  const VertexId r = write(graph, "R", "bj->bj", {h});
  write(graph, "Z", "bj,jk->bk", {r, v});
  const auto plan = [&](std::int64_t memory) {
    return decompose(graph, {.workers = 2,
                             .strategy = "by_hand",
                             .by_hand = {{"H", {{"b", 2}}}, {"R", {{"b", 2}}}, {"Z", {{"b", 2}}}},
                             .memory = memory});
  };
  const Plan fast = plan(0);
  CHECK(fast.steps.empty());
  const std::int64_t hidden = 1024 * 4096 * 8;
  const Plan lean = plan(peak(fast) - hidden);
  CHECK(!lean.steps.empty());
  CHECK(peak(lean) <= peak(fast) - hidden);
  CHECK(lean.tasks().total_words() == fast.tasks().total_words());
}

TEST_CASE("the fewest words are not the shortest time") {
  const EinGraph graph = attention(false);
  const Machine machine{.operations_per_second = 1e9,
                        .memory_bandwidth = 1e10,
                        .axes = {{.size = 2, .latency = 1e-5, .bandwidth = 1e9},
                                 {.size = 4, .latency = 1e-6, .bandwidth = 1e10}}};
  const Plan words = decompose(graph, {.workers = 8, .strategy = "placed"});
  const Plan fast = decompose(
      graph,
      {.workers = 8, .strategy = "placed", .objective = Objective::time, .machine = machine});
  CHECK(seconds(fast, machine) < seconds(words, machine));
  CHECK(fast.tasks().busiest_words() > words.tasks().busiest_words());
}

TEST_CASE("options of choice are checked") {
  const EinGraph graph = matmul(8, 8, 8);
  const auto refuses = [&](const DecomposeOptions& options, const char* sentence) {
    CHECK_THROWS_WITH_AS(static_cast<void>(decompose(graph, options)), doctest::Contains(sentence),
                         Error);
  };
  refuses({.workers = 2, .strategy = "placed", .objective = Objective::time},
          "no machine is described");
  refuses({.workers = 2, .memory = -1}, "a rank that may hold -1 bytes");
  refuses({.workers = 2, .machine = {.memory = 5}}, "do no operations");
  refuses(
      {.workers = 4, .strategy = "placed", .objective = Objective::time, .machine = machine_of(2)},
      "a plan for 4 ranks on a machine of 2 workers");
}
