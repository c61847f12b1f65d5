// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/models/transformer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/ein_decomp.hpp"
#include "eindecomp/plan/exact.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/rank_program.hpp"

using namespace eindecomp;

namespace {

EinGraph prefill(const TransformerSizes& sizes) {
  PlanProgram program;
  transformer_prefill(program, sizes);
  return program.graph();
}

std::vector<Extent> bound(const EinGraph& graph, const char* name) {
  const VertexId v = graph.find(name);
  REQUIRE(v >= 0);
  return graph[v].bound;
}

Extent total(const EinGraph& graph, const Partitions& partitions) {
  return graph_cost(graph, partitions).total();
}

}  // namespace

TEST_CASE("a transformer's layers are written statement by statement") {
  const EinGraph graph = prefill(llama_7b(4, 4096));
  const auto inputs = std::ranges::count_if(graph.vertices, &Vertex::is_input);
  CHECK(inputs == 3 + 32 * 9 + 1);
  CHECK(graph.size() - inputs == 32 * 24 + 2);
  CHECK(bound(graph, "Q.31") == std::vector<Extent>{4, 4096, 32, 64, 2});
  CHECK(bound(graph, "scores.0") == std::vector<Extent>{4, 32, 4096, 4096});
  CHECK(bound(graph, "gated.7") == std::vector<Extent>{4, 4096, 11008});
  CHECK(graph.results().size() == 1);
  CHECK(bound(graph, "final_norm") == std::vector<Extent>{4, 4096, 4096});
  // Parameters: 32 layers of 4·4096² + 3·4096·11008 and two gains, and the last gain.
  Extent parameters = 0;
  for (const Vertex& v : graph.vertices) {
    if (v.is_input() && v.name != "X" && v.name != "rotary" && v.name != "mask") {
      parameters += v.size();
    }
  }
  CHECK(parameters == 32 * (4 * 4096LL * 4096 + 3 * 4096LL * 11008 + 2 * 4096) + 4096);
}

TEST_CASE("a rank of many has no more messages than gathers and reductions in rounds take") {
  // The figure of the paper's 7B model on 1,024 workers; docs/performance.md has what each owner by
  // itself would take.
  const Plan plan = decompose(prefill(llama_7b(1, 1024)), {.workers = 1024});
  const RankProgram program = plan.program(0);
  const auto messages = std::ranges::count_if(
      program.instructions, [](const Instruction& i) { return i.message() != nullptr; });
  CHECK(messages > 1024);
  CHECK(messages <= 22'562);
}

TEST_CASE("an odd head size is an error") {
  PlanProgram program;
  CHECK_THROWS_WITH_AS(transformer_prefill(program, {.head_size = 3}),
                       doctest::Contains("give an even head size"), Error);
}

TEST_CASE("exact plans a transformer, layers folded") {
  TransformerSizes sizes = llama_7b(2, 1024);
  for (int p : {4, 12, 64}) {
    CAPTURE(p);
    Extent before = 0;
    for (int layers : {1, 2, 3, 32}) {
      sizes.layers = layers;
      const EinGraph graph = prefill(sizes);
      const ExactResult found = exact(graph, p);
      CHECK(found.optimal());
      CHECK(total(graph, found.partitions) == found.cost);
      CHECK(found.cost > before);
      if (layers == 1) CHECK(found.cost <= total(graph, linearize(graph, p)));
      before = found.cost;
    }
  }
}

TEST_CASE("exact of 256 layers needs no more eliminations than that of 32") {
  // Equal layers fold: the budget of work that is enough for few of them is enough for many.
  const auto optimal = [](int layers, double max_work) {
    TransformerSizes sizes = llama_7b(4, 4096);
    sizes.layers = layers;
    return exact(prefill(sizes), 256, {.max_work = max_work}).optimal();
  };
  double enough = 1 << 22;
  while (!optimal(32, enough)) enough *= 2;
  CHECK(optimal(256, 2 * enough));
}
