// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tools/planned.hpp"

using namespace eindecomp_tests;

namespace {

using Json = nlohmann::ordered_json;

const std::string matmul = R"({"inputs": {"A": [8, 8], "B": [8, 8]}, "statements": [
    {"name": "Z", "einsum": "ij,jk->ik", "operands": ["A", "B"]}]})";

}  // namespace

TEST_CASE("a plan's figures as JSON, member by member") {
  Planned result = planned(matmul, 16, "exact");
  CHECK(result.complaint == "");
  REQUIRE(result.plan["plan_seconds"].get<double>() >= 0);
  result.plan["plan_seconds"] = 0;
  const double ratio = result.plan["lower_bound_ratio"];
  CHECK(ratio >= 1);
  result.plan["lower_bound_ratio"] = 0;
  // Of the vectors that cost 448 the first in descending order. A worker lacks half of its block
  // of A (2 x 4), three quarters of that of B (4 x 4), and the other partial half of its Z (2 x 4).
  const Json expected = Json::parse(R"({
    "strategy": "exact", "workers": 16,
    "cost": {"total": 448, "join": 384, "aggregate": 64, "repartition": 0},
    "words": {"busiest_worker": 20, "total": 320}, "peak_bytes": 0,
    "lower_bound_ratio": 0, "optimal": true, "gap": 0, "plan_seconds": 0,
    "statements": [{"name": "Z", "partition": {"i": 4, "j": 2, "k": 2},
      "cost": {"total": 448, "join": 384, "aggregate": 64, "repartition": 0},
      "words": 320, "peak_bytes": 0}]})");
  CHECK(result.plan["statements"][0]["peak_bytes"] > 0);
  // Blocks are aligned in the arena, to 64 bytes each, and the plan's peak counts what lies
  // between.
  CHECK(result.plan["peak_bytes"] >= result.plan["statements"][0]["peak_bytes"]);
  CHECK(result.plan["peak_bytes"] < result.plan["statements"][0]["peak_bytes"].get<int>() + 8 * 64);
  result.plan["statements"][0]["peak_bytes"] = 0;
  result.plan["peak_bytes"] = 0;
  CHECK(result.plan.dump(1) == expected.dump(1));
}

TEST_CASE("k_cut says what each cut converts") {
  const Planned result = planned(matmul, 8, "k_cut");
  REQUIRE(result.plan.contains("cuts"));
  CHECK(result.plan["cuts"].size() == 3);
  CHECK_FALSE(planned(matmul, 8, "square").plan.contains("cuts"));
}

TEST_CASE("what is not known is null") {
  const Json linearized = planned(matmul, 16, "linearized").plan;
  CHECK(linearized["optimal"] == false);
  CHECK(linearized["gap"].is_null());
  CHECK(planned(matmul, 1, "exact").plan["lower_bound_ratio"].is_null());
}

TEST_CASE("labels that may not be cut stay whole, inputs lie as they are told") {
  const std::string more = matmul.substr(0, matmul.size() - 1);
  const Planned uncut = planned(more + R"(, "uncut": ["i", "k"]})", 4, "placed");
  CHECK(uncut.plan["statements"][0]["partition"] == Json::parse(R"({"i": 1, "j": 4, "k": 1})"));
  // Stored on one worker, everything must go from there.
  const Planned told = planned(more + R"(, "layout": {"A": [1, 1], "B": [1, 1]}})", 4, "exact");
  const Planned free = planned(matmul, 4, "exact");
  CHECK(told.plan["words"]["total"] > free.plan["words"]["total"]);
  CHECK(planned(more + R"(, "layout": {"A": [5, 1]}})", 4, "exact").complaint.find("A") !=
        std::string::npos);
}

TEST_CASE("a strategy that does not apply says why") {
  CHECK(planned(matmul, 4, "data_parallel")
            .complaint.find("no label of the program has the role "
                            "'batch'") != std::string::npos);
  CHECK(planned(matmul, 4, "best").complaint.find("there is no strategy 'best'") !=
        std::string::npos);
  CHECK(planned(matmul, 0, "exact").complaint.find("a plan has at least one") != std::string::npos);
}
