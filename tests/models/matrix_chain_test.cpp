// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/models/matrix_chain.hpp"

#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "eindecomp/plan/exact.hpp"
#include "models/numbers.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

TEST_CASE("a square chain costs the golden totals") {
  PlanProgram program;
  matrix_chain(program, square_chain(1024));
  const std::map<int, Extent> totals{{4, 14680064}, {8, 20971520}, {16, 27262976}, {64, 45088768}};
  for (const auto& [p, total] : totals) CHECK(exact(program, p).cost == total);
}

TEST_CASE("a skewed chain has the sizes it says") {
  PlanProgram program;
  matrix_chain(program, skewed_chain(1000));
  const EinGraph& graph = program.graph();
  const auto bound = [&](const char* name) { return graph[graph.find(name)].bound; };
  using Bound = std::vector<Extent>;
  CHECK(bound("A") == Bound{1000, 100});
  CHECK(bound("B") == Bound{100, 1000});
  CHECK(bound("C") == Bound{1000, 100});
  CHECK(bound("D") == Bound{100, 10000});
  CHECK(bound("E") == Bound{10000, 1000});
  CHECK(bound("S") == Bound{1000, 1000});
  CHECK(graph.results().size() == 1);
  CHECK(points(graph) == 2 * 1000 * 100 * 1000 + 100LL * 10000 * 1000 + 1000 * 1000);
}

TEST_CASE("a chain computes its sum of products") {
  PlanProgram program;
  const MatrixChainSizes n{.rows = 3, .columns = 4, .ab = 2, .cd = 5, .de = 6};
  const auto s = matrix_chain<double>(program, n);
  const Numbers numbers(program.graph(), 7);
  const auto& a = numbers["A"];
  const auto& b = numbers["B"];
  const auto& c = numbers["C"];
  const auto& d = numbers["D"];
  const auto& e = numbers["E"];
  const auto got = numbers.of(s.output.vertex());
  for (Extent i = 0; i < n.rows; ++i) {
    for (Extent k = 0; k < n.columns; ++k) {
      double sum = 0;
      for (Extent j = 0; j < n.ab; ++j) sum += a(i, j) * b(j, k);
      for (Extent j = 0; j < n.cd; ++j) {
        for (Extent l = 0; l < n.de; ++l) sum += c(i, j) * d(j, l) * e(l, k);
      }
      CHECK(got(i, k) == doctest::Approx(sum));
    }
  }
}
