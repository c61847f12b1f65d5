// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/explanation.hpp"

#include <doctest/doctest.h>

#include "eindecomp/plan/decompose.hpp"
#include "plan/programs.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

TEST_CASE("the explanation of a small plan, letter for letter") {
  EinGraph graph = matmul(8, 8, 8);
  write(graph, "S", "ik->", {graph.find("Z")});
  const Plan plan =
      decompose(graph, {.workers = 16,
                        .strategy = "by_hand",
                        .by_hand = {{"Z", {{"i", 4}, {"k", 4}}}, {"S", {{"i", 8}, {"k", 2}}}}});
  CHECK(explanation(plan) ==
        "Z cuts i and k\n"
        "  chosen     i:4 j:1 k:4  join 512 + readers 192 = 704\n"
        "  runner-up  i:4 j:2 k:2  join 384 + aggregate 64 + readers 128 = 576 (128 less)\n"
        "S cuts i and k\n"
        "  chosen     i:8 k:2  join 64 + aggregate 15 + repartition 192 = 271\n"
        "  runner-up  i:4 k:4  join 64 + aggregate 15 = 79 (192 less)\n"
        "join, aggregate, repartition: the paper's cost in words; readers: to bring the result to\n"
        "the statements that read it\n");
}

TEST_CASE("a statement that can be cut in one way only has no runner-up") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {});
  write(graph, "Y", "->", {x});
  const std::string text = explanation(decompose(graph, {.workers = 2}));
  CHECK(text.find("Y cuts nothing\n  chosen     one call  join 1\n  there is no other way") == 0);
}

TEST_CASE("lists and differences") {
  CHECK(tools::difference_text(5, 5) == "as much");
  CHECK(tools::difference_text(5, 1005) == "1,000 more");
  CHECK(tools::difference_text(5, unaffordable) == "too much to count");
  EinGraph graph = matmul(8, 8, 8);
  const Plan plan = decompose(
      graph,
      {.workers = 8, .strategy = "by_hand", .by_hand = {{"Z", {{"i", 2}, {"j", 2}, {"k", 2}}}}});
  CHECK(explanation(plan).find("Z cuts i, j and k\n") == 0);
}
