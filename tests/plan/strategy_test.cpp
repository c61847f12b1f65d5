// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/strategy.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "eindecomp/plan/decompose.hpp"
#include "plan/partition_of.hpp"
#include "plan/programs.hpp"
#include "plan/random_graph.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

EinGraph with_role(EinGraph graph, const char* label, const char* role) {
  graph.labels[static_cast<std::size_t>(graph.find_label(label))].role = role;
  return graph;
}

}  // namespace

TEST_CASE("square cuts the two largest labels of the output evenly") {
  using Vector = PartitionVector;
  // Labels i, j, k; output i, k.
  CHECK(partition_of(matmul(64, 64, 64), "square", 16, "Z") == Vector{4, 1, 4});
  CHECK(partition_of(matmul(64, 64, 64), "square", 8, "Z") == Vector{4, 1, 2});
  CHECK(partition_of(matmul(64, 64, 128), "square", 8, "Z") == Vector{2, 1, 4});
  CHECK(partition_of(matmul(64, 64, 64), "square", 12, "Z") == Vector{4, 1, 3});
  CHECK(partition_of(matmul(64, 64, 128), "square", 7, "Z") == Vector{1, 1, 7});
  CHECK(partition_of(matmul(64, 64, 64), "square", 720, "Z") == Vector{30, 1, 24});
  CHECK(partition_of(matmul(5, 64, 10), "square", 42, "Z") == Vector{3, 2, 7});
  // Of 12 parts i could have 4 and k 1, but 6 and 2 are more.
  CHECK(partition_of(matmul(6, 1, 2), "square", 12, "Z") == Vector{6, 1, 2});
  // What k cannot take goes back to i, and from there to the aggregated j.
  CHECK(partition_of(matmul(64, 64, 2), "square", 16, "Z") == Vector{8, 1, 2});
  CHECK(partition_of(matmul(4, 64, 2), "square", 64, "Z") == Vector{4, 8, 2});
  // What nothing can take is left.
  CHECK(partition_of(matmul(2, 2, 2), "square", 64, "Z") == Vector{2, 2, 2});

  EinGraph graph;
  const VertexId x = input(graph, "X", {4, 32, 8, 16});
  write(graph, "row", "abcd->b", {x});
  write(graph, "all", "abcd->", {x});
  write(graph, "most", "abcd->acbd", {x});
  CHECK(partition_of(graph, "square", 8, "row") == Vector{1, 8, 1, 1});
  CHECK(partition_of(graph, "square", 64, "row") == Vector{1, 32, 1, 2});
  CHECK(partition_of(graph, "square", 8, "all") == Vector{1, 8, 1, 1});
  CHECK(partition_of(graph, "square", 64, "most") == Vector{1, 8, 1, 8});
  CHECK(partition_of(graph, "square", 1024, "most") == Vector{1, 32, 2, 16});  // overflow to c

  graph.labels[static_cast<std::size_t>(graph.find_label("b"))].uncut = true;
  CHECK(partition_of(graph, "square", 64, "most") == Vector{1, 1, 8, 8});
}

TEST_CASE("data_parallel cuts the batch label, other statements as is cheapest") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {64, 32});
  const VertexId w = input(graph, "W", {32, 16});
  const VertexId h = write(graph, "H", "ij,jk->ik", {x, w});
  const VertexId s = write(graph, "S", "ik->k", {h});
  const VertexId t = write(graph, "T", "k->k", {s});
  const EinGraph batched = with_role(graph, "i", "batch");
  const Plan plan = decompose(batched, {.workers = 8, .strategy = "data_parallel"});
  CHECK(plan.partition(h) == PartitionVector{8, 1, 1});
  CHECK(plan.partition(s) == PartitionVector{8, 1});
  CHECK(plan.partition(t) == PartitionVector{8});

  // The statement without the role is no dearer under any other vector.
  Partitions trial = plan.partitions;
  const VectorList vectors = partition_vectors(batched, t, 8);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    trial[static_cast<std::size_t>(t)].assign(vectors[i].begin(), vectors[i].end());
    CHECK(statement_cost(batched, t, trial).total() >= plan.cost_of(t).total());
  }
  // A short batch leaves workers idle rather than cutting another label.
  const Plan wide = decompose(batched, {.workers = 128, .strategy = "data_parallel"});
  CHECK(wide.partition(h) == PartitionVector{64, 1, 1});
}

TEST_CASE("data_parallel without the role says which labels there are") {
  CHECK_THROWS_WITH_AS(
      static_cast<void>(decompose(matmul(8, 8, 8), {.workers = 4, .strategy = "data_parallel"})),
      doctest::Contains("no label of the program has the role 'batch'; its labels are i, j, k"),
      Error);
}

TEST_CASE("by_hand takes what it is given") {
  const EinGraph graph = matrix_chain(64);
  const Plan plan = decompose(graph, {.workers = 16,
                                      .strategy = "by_hand",
                                      .by_hand = {{"AB", {{"i", 4}, {"k", 4}}},
                                                  {"DE", {{"j", 16}}},
                                                  {"CDE", {{"i", 2}, {"j", 2}, {"k", 4}}},
                                                  {"S", {{"i", 4}}}}});
  CHECK(plan.partition("AB") == PartitionVector{4, 1, 4});
  CHECK(plan.partition("DE") == PartitionVector{1, 16, 1});
  CHECK(plan.partition("CDE") == PartitionVector{2, 2, 4});
  CHECK(plan.partition("S") == PartitionVector{4, 1});
  CHECK(plan.parts("CDE", "k") == 4);
  CHECK(plan.cost == graph_cost(graph, plan.partitions));
}

TEST_CASE("by_hand says what is wrong") {
  const auto error = [](const std::vector<StatementParts>& given, const char* message) {
    EinGraph graph = matmul(8, 6, 8);
    graph.labels[static_cast<std::size_t>(graph.find_label("j"))].uncut = true;
    CHECK_THROWS_WITH_AS(static_cast<void>(decompose(
                             graph, {.workers = 8, .strategy = "by_hand", .by_hand = given})),
                         doctest::Contains(message), Error);
  };
  error({}, "no partition vector is given by hand for statement 'Z'");
  error({{"Q", {}}}, "given by hand for 'Q' (there is no such statement)");
  error({{"X", {}}}, "given by hand for 'X' (it is an input, not a statement)");
  error({{"Z", {}}, {"Z", {}}}, "statement 'Z' is given by hand twice");
  error({{"Z", {{"q", 2}}}},
        "label 'q' of statement 'Z' is cut into 2 parts by hand (the "
        "statement has no such label); its labels are i, j, k");
  error({{"Z", {{"i", 2}, {"i", 2}}}}, "(it was given before)");
  error({{"Z", {{"i", 0}}}}, "cut into 0 parts by hand (its extent is 8)");
  error({{"Z", {{"i", 16}}}}, "cut into 16 parts by hand (its extent is 8)");
  error({{"Z", {{"j", 2}}}}, "(it is marked uncut)");
  error({{"Z", {{"i", 3}}}}, "does not fit 8 workers");
  error({{"Z", {{"i", 4}, {"k", 4}}}},
        "does not fit 8 workers (the product of its parts must "
        "divide their number); change the parts of label 'k'");
}

TEST_CASE("strategies go by name, and every one labels random graphs with what fits") {
  CHECK(find_strategy("square").name == "square");
  CHECK_THROWS_WITH_AS(static_cast<void>(find_strategy("best")),
                       doctest::Contains("there is no strategy 'best' (strategies go by name); "
                                         "choose placed, ein_decomp, "),
                       Error);
  std::mt19937 random(99);
  for (int round = 0; round < 200; ++round) {
    EinGraph graph = random_graph(random, false);
    if (graph.labels.empty()) continue;
    graph.labels[0].role = "batch";
    if (graph.labels.size() > 2) graph.labels[1].uncut = true;
    const int p = draw(random, 1, 24);
    CAPTURE(round);
    CAPTURE(p);
    for (const Strategy& strategy : strategies) {
      // placed has rules of its own: it may use fewer than p workers.
      if (strategy.name == "by_hand" || strategy.name == "placed") continue;
      if (strategy.by_role() && strategy.name != "data_parallel") continue;  // baselines_test.cpp
      CAPTURE(strategy.name);
      const Plan plan = decompose(graph, {.workers = p, .strategy = std::string(strategy.name)});
      for (VertexId v = 0; v < graph.size(); ++v) {
        if (graph[v].is_input()) continue;
        const PartitionVector& d = plan.partition(v);
        const std::vector<Extent> limits = part_limits(graph, v);
        REQUIRE(d.size() == limits.size());
        for (std::size_t l = 0; l < d.size(); ++l) REQUIRE(d[l] <= limits[l]);
        const Extent most = kernel_calls(partition_vectors(graph, v, p)[0]);
        if (strategy.name != "data_parallel") REQUIRE(kernel_calls(d) == most);
        REQUIRE(kernel_calls(d) <= most);
      }
    }
  }
}
