// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/compare.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "eindecomp/tools/ranking.hpp"
#include "eindecomp/tools/report.hpp"
#include "plan/programs.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

std::vector<std::string> names(const std::vector<Plan>& plans) {
  std::vector<std::string> found;
  for (const Plan& plan : plans) found.push_back(plan.strategy.str());
  return found;
}

}  // namespace

TEST_CASE("every strategy that applies is planned") {
  const auto expected = [](bool role, bool by_hand) {
    std::vector<std::string> found;
    for (const Strategy& strategy : strategies) {
      if (strategy.by_role() && !(role && strategy.name == "data_parallel")) continue;
      if (strategy.name == "by_hand" && !by_hand) continue;
      found.emplace_back(strategy.name);
    }
    return found;
  };
  EinGraph graph = matmul(8, 8, 8);
  CHECK(names(decompose_all(graph, {.workers = 4})) == expected(false, false));
  CHECK(names(decompose_all(graph, {.workers = 3})) == expected(false, false));
  graph.labels[0].role = "batch";
  CHECK(names(decompose_all(graph, {.workers = 4, .by_hand = {{"Z", {{"j", 4}}}}})) ==
        expected(true, true));
  CHECK_THROWS_AS(static_cast<void>(decompose_all(graph, {.workers = 0})), Error);
  CHECK_THROWS_AS(static_cast<void>(decompose_all(graph, {.workers = 4, .ranks = -1})), Error);
  CHECK_THROWS_AS(static_cast<void>(decompose_all(graph, {.workers = 4, .by_hand = {{"Q", {}}}})),
                  Error);
  // Groups matter to hybrid alone, which needs both roles.
  CHECK_NOTHROW(static_cast<void>(decompose_all(graph, {.workers = 8, .groups = 3})));
  graph.labels[1].role = "hidden";
  CHECK_THROWS_WITH_AS(static_cast<void>(decompose_all(graph, {.workers = 8, .groups = 3})),
                       doctest::Contains("the strategy hybrid with 3 groups of 8 workers"), Error);
}

TEST_CASE("plans that do not fit into memory are left out") {
  const EinGraph graph = matmul(8, 8, 8);
  const auto peak = [](const Plan& plan) {
    const std::vector<std::int64_t> bytes = plan.peak_bytes();
    return *std::max_element(bytes.begin(), bytes.end());
  };
  const std::vector<Plan> all = decompose_all(graph, {.workers = 4});
  std::int64_t least = peak(all[0]);
  std::int64_t most = least;
  for (const Plan& plan : all) {
    least = std::min(least, peak(plan));
    most = std::max(most, peak(plan));
  }
  REQUIRE(least < most);
  // With panels all of them would fit.
  const std::vector<Plan> fitting =
      decompose_all(graph, {.workers = 4, .cache_bytes = 0, .memory = most - 1});
  CHECK(!fitting.empty());
  CHECK(fitting.size() < all.size());
  for (const Plan& plan : fitting) CHECK(peak(plan) < most);
  CHECK_THROWS_WITH_AS(static_cast<void>(decompose_all(graph, {.workers = 4, .memory = 1})),
                       doctest::Contains("the smallest plan that is found"), Error);
  CHECK_THROWS_AS(
      static_cast<void>(decompose_all(graph, {.workers = 4, .ranks = -1, .memory = 1000})), Error);
}

TEST_CASE("the plan whose busiest rank receives least comes first") {
  const EinGraph graph = matmul(8, 8, 8);
  const std::vector<Plan> plans{
      decompose(graph, {.workers = 4, .strategy = "by_hand", .by_hand = {{"Z", {{"j", 4}}}}}),
      decompose(graph, {.workers = 4, .strategy = "square"})};
  const Extent by_hand = summarize(plans[0]).busiest_words;
  const Extent square = summarize(plans[1]).busiest_words;
  REQUIRE(by_hand != square);
  const std::string text = compare(plans);
  CHECK((text.find("\nby_hand ") < text.find("\nsquare ")) == (by_hand < square));
  CHECK(text.find("\nZ ") != std::string::npos);
  CHECK(text.find("i:1 j:4 k:1") != std::string::npos);
}

TEST_CASE("the table of ranked plans has the ratio of a report under its name") {
  const EinGraph graph = matmul(8, 8, 8);
  const std::vector<RankedPlan> ranked =
      rank_plans({decompose_timed(graph, {.workers = 4, .strategy = "square"})}, Objective::words);
  const std::string text = ranking(ranked);
  const std::string ratio = tools::ratio_text(ranked[0].summary.lower_bound_ratio());
  REQUIRE(text.find(" ratio ") != std::string::npos);
  REQUIRE(ratio != "-");
  // Figures end below the ends of their headers.
  const std::string row = text.substr(text.find("\nsquare ") + 1);
  CHECK(row.substr(text.find(" ratio ") + 6 - ratio.size(), ratio.size()) == ratio);
}

TEST_CASE("a plan that leaves workers idle is marked") {
  const EinGraph graph = matmul(8, 8, 8);
  const std::vector<Plan> plans{
      decompose(graph, {.workers = 4, .strategy = "by_hand", .by_hand = {{"Z", {{"i", 1}}}}}),
      decompose(graph, {.workers = 4, .strategy = "square"})};
  CHECK(summarize(plans[0]).idle == 0.75);
  CHECK(summarize(plans[1]).idle == 0);
  const std::string text = compare(plans);
  CHECK(text.find(" 75 % ") != std::string::npos);
  CHECK(report(plans[0]).find(" 1 of 4 ") != std::string::npos);
  CHECK(report(plans[1]).find(" of 4 ") == std::string::npos);
  // Extents that take no more parts leave nobody idle.
  const EinGraph tiny = matmul(1, 2, 1);
  CHECK(summarize(decompose(tiny, {.workers = 4, .strategy = "square"})).idle == 0);
  CHECK(tools::idle_text(0.001) == "< 1 %");
  CHECK(tools::idle_text(0.006) == "1 %");
}

TEST_CASE("nothing and strangers are handled") {
  CHECK(compare({}).find("strategy") == 0);
  const std::vector<Plan> plans{decompose(matmul(8, 8, 8), {.workers = 4}),
                                decompose(matrix_chain(8), {.workers = 4})};
  CHECK_THROWS_WITH_AS(static_cast<void>(compare(plans)),
                       doctest::Contains("plans of different programs are compared"), Error);
}
