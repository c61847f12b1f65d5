// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/explain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "eindecomp/plan/decompose.hpp"
#include "plan/programs.hpp"
#include "plan/random_graph.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

TEST_CASE("a matrix product and its next best vector") {
  // Section 7 of the paper: 448 words each.
  const Plan plan =
      decompose(matmul(8, 8, 8),
                {.workers = 16, .strategy = "by_hand", .by_hand = {{"Z", {{"i", 4}, {"k", 4}}}}});
  const std::vector<StatementExplanation> why = explain(plan);
  REQUIRE(why.size() == 1);
  CHECK(why[0].statement == 2);
  CHECK(why[0].cut == std::vector<int>{0, 2});
  CHECK(why[0].chosen.partition == PartitionVector{4, 1, 4});
  CHECK(why[0].chosen.cost == Cost{512, 0, 0});
  CHECK(why[0].chosen.readers == 0);
  REQUIRE(why[0].runner_up);
  CHECK(why[0].runner_up->partition == PartitionVector{4, 2, 2});
  CHECK(why[0].runner_up->total() == 448);
}

TEST_CASE("alternatives cost what the whole graph would cost more or less") {
  const unsigned seed = 99;
  std::mt19937 random(seed);
  CAPTURE(seed);
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    const EinGraph graph = random_graph(random, false);
    const int workers = draw(random, 1, 12);
    const Plan plan = decompose(graph, {.workers = workers, .strategy = "exact"});
    for (const StatementExplanation& why : explain(plan)) {
      const auto at = static_cast<std::size_t>(why.statement);
      REQUIRE(why.chosen.partition == plan.partitions[at]);
      REQUIRE(why.chosen.cost == plan.costs[at]);
      for (int l : why.cut) REQUIRE(plan.partitions[at][static_cast<std::size_t>(l)] > 1);

      // The same by the cost of whole graphs.
      std::optional<Extent> next;
      const VectorList vectors = partition_vectors(graph, why.statement, workers);
      Partitions partitions = plan.partitions;
      for (std::size_t i = 0; i < vectors.size(); ++i) {
        if (std::ranges::equal(vectors[i], plan.partitions[at])) continue;
        partitions[at].assign(vectors[i].begin(), vectors[i].end());
        const Extent cost = graph_cost(graph, partitions).total();
        next = std::min(next.value_or(cost), cost);
      }
      REQUIRE(next.has_value() == why.runner_up.has_value());
      if (!next) continue;
      REQUIRE(*next - plan.cost.total() == why.runner_up->total() - why.chosen.total());
      if (plan.optimal()) REQUIRE(why.runner_up->total() >= why.chosen.total());
    }
  }
}

TEST_CASE("a runner-up may cost as much as the vector chosen") {
  const Plan plan = decompose(matmul(8, 8, 8), {.workers = 16, .strategy = "exact"});
  const std::vector<StatementExplanation> why = explain(plan);
  CHECK(why.at(0).chosen.total() == 448);  // as do three vectors
  CHECK(why.at(0).runner_up->total() == 448);
}
