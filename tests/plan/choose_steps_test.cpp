// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/placement/choose_steps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "eindecomp/plan/decompose.hpp"
#include "plan/programs.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

template <class Call>
void check_error(Call&& call, const char* message) {
  CHECK_THROWS_WITH_AS(call(), doctest::Contains(message), Error);
}

/// softmax(Q·Kᵀ)·V over b batch entries and h heads.
EinGraph attention_block(Extent b, Extent h, Extent s, Extent d) {
  EinGraph graph;
  const VertexId q = input(graph, "Q", {b, s, h, d});
  const VertexId k = input(graph, "K", {b, s, h, d});
  const VertexId v = input(graph, "V", {b, s, h, d});
  const VertexId t = write(graph, "T", "bshd,bthd->bhst", {q, k});
  const VertexId mx = write(graph, "mx", "bhst->bhs", {t});
  const VertexId ex = write(graph, "ex", "bhst,bhs->bhst", {t, mx});
  const VertexId sm = write(graph, "sm", "bhst->bhs", {ex});
  const VertexId p = write(graph, "P", "bhst,bhs->bhst", {ex, sm});
  write(graph, "O", "bhst,bthd->bshd", {p, v});
  return graph;
}

std::int64_t most(const std::vector<std::int64_t>& bytes) {
  return *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace

TEST_CASE("attention runs head by head, and its scores are never whole") {
  const EinGraph graph = attention_block(4, 16, 512, 64);
  for (const int workers : {1, 8}) {
    CAPTURE(workers);
    const Plan plan = decompose(graph, {.workers = workers});
    REQUIRE(plan.steps.size() == 1);
    const StepGroup& group = plan.steps[0];
    CHECK(graph[group.first].name == "T");
    CHECK(graph[group.last].name == "O");
    // T, ex and P of one head alone are 6 MiB: all heads apart, and each head's rows in pieces.
    CHECK(group.steps() * workers >= 4 * 16 * 3);
    const Plan whole = decompose(graph, {.workers = workers, .cache_bytes = 0});
    CHECK(whole.steps.empty());
    CHECK(whole.tasks().total_words() == plan.tasks().total_words());
    CHECK(whole.hash() != plan.hash());
    const std::int64_t scores = 4 * 16 * 512 * 512 * 8 / workers;
    CHECK(most(whole.peak_bytes()) > 2 * scores);
    const std::int64_t outside = most(whole.peak_bytes()) - 3 * scores;
    CHECK(most(plan.peak_bytes()) < std::max<std::int64_t>(outside, 0) + scores);
  }
}

TEST_CASE("what fits the cache, or would be read again too often, does not run in steps") {
  CHECK(decompose(attention_block(1, 1, 64, 64), {.workers = 1}).steps.empty());
  // One product after another: each block of rows would read all of the next matrix again.
  EinGraph chain;
  VertexId x = input(chain, "X", {2048, 2048});
  for (const char* name : {"A", "B", "C"}) {
    const VertexId w = input(chain, std::string("W") + name, {2048, 2048});
    x = write(chain, name, "ij,jk->ik", {x, w});
  }
  CHECK(decompose(chain, {.workers = 1}).steps.empty());
}

TEST_CASE("a chain of maps runs in steps along its outermost label") {
  EinGraph graph;
  VertexId x = input(graph, "X", {1 << 10, 1 << 10});
  for (const char* name : {"A", "B", "C"}) x = write(graph, name, "ij->ij", {x});
  const Plan plan = decompose(graph, {.workers = 1});
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].first == 1);
  CHECK(plan.steps[0].last == 3);
  REQUIRE(plan.steps[0].axes.size() == 1);
  CHECK(plan.steps[0].axes[0].positions == std::vector<int>{0, 0, 0});
  CHECK(plan.steps[0].axes[0].parts == 8);  // A and B are 16 MiB together
  // X and C are the user's and the result; blocks of A and B are one MiB.
  CHECK(most(plan.peak_bytes()) == (16 + 2) << 20);
}

TEST_CASE("steps by hand") {
  const EinGraph graph = attention_block(2, 4, 32, 8);
  const Plan plan = decompose(
      graph, {.workers = 4, .steps = {{"T", "P", {{"h", 2}, {"s", 5}}}}, .cache_bytes = 0});
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].steps() == 10);
  CHECK(plan.graph[plan.steps[0].last].name == "P");
  const auto refused = [&](std::vector<StatementSteps> steps) {
    return [&graph, steps] { return decompose(graph, {.workers = 1, .steps = steps}); };
  };
  check_error(refused({{"no", "P", {}}}), "steps are given for 'no' (there is no such statement)");
  check_error(refused({{"T", "V", {}}}), "steps are given for 'V' (it is an input");
  check_error(refused({{"T", "P", {{"z", 2}}}}), "label 'z' of statement 'T'");
  check_error(refused({{"T", "P", {{"s", 33}}}}), "extent 32 and would be cut into 33 parts");
  check_error(refused({{"T", "mx", {{"t", 2}}}}), "'mx' aggregates label 't'");
  check_error(refused({{"P", "T", {}}}), "does not go from one statement to another");
  check_error(refused({{"T", "mx", {{"s", 2}}}, {"mx", "ex", {{"s", 2}}}}), "share statement 'mx'");
}
