// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/baselines.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <random>
#include <string>
#include <vector>

#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/strategy.hpp"
#include "eindecomp/relation/placement.hpp"
#include "plan/partition_of.hpp"
#include "plan/programs.hpp"
#include "plan/random_graph.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

void give_role(EinGraph& graph, const char* label, const char* role) {
  graph.labels[static_cast<std::size_t>(graph.find_label(label))].role = role;
}

/// Two layers of a network: rows b of 64, hidden sizes 32, 128, 16.
EinGraph network() {
  EinGraph graph;
  const VertexId x = input(graph, "X", {64, 32});
  const VertexId w = input(graph, "W", {32, 128});
  const VertexId u = input(graph, "U", {128, 16});
  const VertexId h = write(graph, "H", "bi,ij->bj", {x, w});
  const VertexId r = write(graph, "R", "bj->bj", {h});
  write(graph, "Z", "bj,jk->bk", {r, u});
  give_role(graph, "b", "batch");
  give_role(graph, "j", "hidden");
  return graph;
}

/// The attention of programs.hpp with the roles of a transformer.
EinGraph transformer() {
  EinGraph graph = attention(false);
  give_role(graph, "s", "sequence");
  give_role(graph, "t", "sequence");
  give_role(graph, "h", "head");
  give_role(graph, "a", "hidden");
  return graph;
}

}  // namespace

TEST_CASE("model parallelism cuts hidden labels, of the output before aggregated ones") {
  using Vector = PartitionVector;
  const EinGraph graph = network();
  CHECK(partition_of(graph, "model_parallel", 8, "H") == Vector{1, 1, 8});
  CHECK(partition_of(graph, "model_parallel", 8, "R") == Vector{1, 8});
  CHECK(partition_of(graph, "model_parallel", 8, "Z") == Vector{1, 8, 1});
  EinGraph all = graph;
  give_role(all, "k", "hidden");
  give_role(all, "i", "hidden");
  CHECK(partition_of(all, "model_parallel", 8, "Z") == Vector{1, 1, 8});
  CHECK(partition_of(all, "model_parallel", 8, "H") == Vector{1, 1, 8});
  CHECK(partition_of(all, "model_parallel", 64, "Z") == Vector{1, 4, 16});  // what k cannot take
}

TEST_CASE("hybrid parallelism cuts the batch among groups and hidden labels within") {
  using Vector = PartitionVector;
  const EinGraph graph = network();
  const auto hybrid_of = [&](int p, int groups, const char* statement) {
    return decompose(graph, {.workers = p, .strategy = "hybrid", .groups = groups})
        .partition(statement);
  };
  CHECK(hybrid_of(16, 0, "H") == Vector{4, 1, 4});
  CHECK(hybrid_of(8, 0, "H") == Vector{2, 1, 4});
  CHECK(hybrid_of(16, 8, "Z") == Vector{8, 2, 1});
  CHECK(hybrid_of(12, 0, "H") == Vector{3, 1, 4});
  CHECK(hybrid_of(30, 6, "Z") == Vector{6, 5, 1});
  CHECK(hybrid_of(16, 16, "H") == partition_of(graph, "data_parallel", 16, "H"));
  CHECK(hybrid_of(16, 1, "H") == partition_of(graph, "model_parallel", 16, "H"));
  for (const int groups : {-1, 3, 32}) {
    CHECK_THROWS_WITH_AS(static_cast<void>(hybrid_of(16, groups, "H")),
                         doctest::Contains("the strategy hybrid with"), Error);
  }
}

TEST_CASE("the baselines of transformers cut heads and the sequence") {
  using Vector = PartitionVector;
  const EinGraph graph = transformer();
  // Qh: s, a, h, d. T: s, h, d, t. O: h, s, t, d. Y: s, h, d, a.
  CHECK(partition_of(graph, "megatron", 8, "Qh") == Vector{1, 1, 8, 1});
  CHECK(partition_of(graph, "megatron", 8, "Y") == Vector{1, 8, 1, 1});
  CHECK(partition_of(graph, "megatron", 32, "Qh") == Vector{1, 4, 8, 1});  // what heads leave
  CHECK(partition_of(graph, "attention", 32, "Qh") == Vector{1, 1, 8, 1});
  CHECK(partition_of(graph, "attention", 4, "T") == Vector{1, 4, 1, 1});
  CHECK(partition_of(graph, "sequence", 16, "Qh") == Vector{16, 1, 1, 1});
  CHECK(partition_of(graph, "sequence", 16, "Kh") == Vector{16, 1, 1, 1});
  CHECK(partition_of(graph, "sequence", 16, "T") == Vector{16, 1, 1, 1});
  CHECK(partition_of(graph, "sequence", 16, "O") == Vector{1, 16, 1, 1});
  // megatron's network, without heads
  EinGraph both = network();
  both.label("unused head");
  give_role(both, "unused head", "head");
  CHECK(partition_of(both, "megatron", 8, "H") == Vector{1, 1, 8});
}

TEST_CASE("strategies by role say which role is missing") {
  const auto missing = [](const EinGraph& graph, const char* strategy, const char* role) {
    CHECK_THROWS_WITH_AS(
        static_cast<void>(decompose(graph, {.workers = 4, .strategy = strategy})),
        doctest::Contains((std::string("the strategy ") + strategy +
                           " has nothing to cut (no label of the program has the role '" + role +
                           "'; its labels are i, j, k)")
                              .c_str()),
        Error);
  };
  EinGraph graph = matmul(8, 8, 8);
  missing(graph, "data_parallel", "batch");
  missing(graph, "model_parallel", "hidden");
  missing(graph, "hybrid", "batch");
  missing(graph, "megatron", "head");
  missing(graph, "sequence", "sequence");
  missing(graph, "attention", "head");
  give_role(graph, "i", "batch");
  missing(graph, "hybrid", "hidden");
  give_role(graph, "i", "head");
  missing(graph, "megatron", "hidden");
}

TEST_CASE("strategies by role suit random programs that have their roles") {
  constexpr const char* roles[] = {"batch", "hidden", "head", "sequence"};
  int made = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    EinGraph graph = random_graph(random, false);
    for (std::size_t l = 0; l < graph.labels.size(); ++l) graph.labels[l].role = roles[l % 4];
    if (graph.labels.size() > 5) graph.labels[4].uncut = true;
    const int p = draw(random, 1, 24);
    for (const Strategy& strategy : strategies) {
      if (!strategy.by_role()) continue;
      CAPTURE(strategy.name);
      try {
        const Plan plan = decompose(graph, {.workers = p, .strategy = strategy.name});
        ++made;
        CHECK_NOTHROW(check_placement(plan.graph, plan.placement));
        for (VertexId v = 0; v < graph.size(); ++v) {
          if (graph[v].is_input()) continue;
          const PartitionVector& d = plan.partition(v);
          const std::vector<Extent> limits = part_limits(graph, v);
          for (std::size_t l = 0; l < d.size(); ++l) CHECK(d[l] <= limits[l]);
          CHECK(kernel_calls(d) <= p);
        }
      } catch (const Error& error) {
        CHECK(std::string(error.what()).find("has nothing to cut") != std::string::npos);
        CHECK(graph.labels.size() < 4);
      }
    }
  }
  CHECK(made > 600);
}
