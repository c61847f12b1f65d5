// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/models/attention.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "eindecomp/graph/print.hpp"
#include "eindecomp/plan/exact.hpp"
#include "eindecomp/plan/static_plan.hpp"

using namespace eindecomp;

namespace {

template <SoftmaxForm Form>
struct Attention {
  constexpr EinGraph operator()() const {
    PlanProgram program;
    multi_head_attention_model(program, {}, Form);
    return program.graph();
  }
};

// The golden figures while compiling, within the compiler's default limits.
constexpr auto fused = static_plan<8, "exact">(Attention<SoftmaxForm::fused>{});
static_assert(fused.cost.total() == 3540992);
static_assert(fused.size() == 10);

}  // namespace

TEST_CASE("attention costs the golden totals") {
  const std::map<int, Extent> four{{2, 2426880}, {4, 2951168}, {8, 3540992}, {16, 4462592}};
  const std::map<int, Extent> five{{2, 2557952}, {4, 3082240}, {8, 3672064}, {16, 4593664}};
  for (const auto& [p, total] : four) {
    CHECK(exact(Attention<SoftmaxForm::fused>{}(), p).cost == total);
  }
  for (const auto& [p, total] : five) {
    CHECK(exact(Attention<SoftmaxForm::apart>{}(), p).cost == total);
  }
}

TEST_CASE("attention is written with the paper's labels") {
  const EinGraph graph = Attention<SoftmaxForm::apart>{}();
  CHECK(graph.size() == 7 + 11);
  REQUIRE(graph.results().size() == 1);
  const Vertex& y = graph[graph.results().front()];
  CHECK(y.name == "Y");
  CHECK(y.bound == std::vector<Extent>{128, 512});
  CHECK(graph[graph.find("T")].bound == std::vector<Extent>{8, 128, 128});
  CHECK(graph.labels[static_cast<std::size_t>(graph.find_label("h"))].role == "head");
}

TEST_CASE("attention takes sizes") {
  PlanProgram program;
  const auto y = multi_head_attention_model<double>(
      program, {.sequence = 6, .model = 10, .heads = 2, .head_size = 5});
  CHECK(program.graph()[y.output.vertex()].bound == std::vector<Extent>{6, 10});
  CHECK(program.graph()[y.output.vertex()].element == element_type<double>());
}
