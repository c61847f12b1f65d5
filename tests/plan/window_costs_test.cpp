// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of windows by the dynamic program and by the exact optimiser, against all labelings.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/exact.hpp"
#include "eindecomp/plan/partition.hpp"

using namespace eindecomp;

namespace {

/// The least that graph_cost() has of any labeling.
Extent least_graph_cost(const EinGraph& graph, int p) {
  std::vector<Partitions> all{Partitions(graph.vertices.size())};
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (graph[v].is_input()) continue;
    const VectorList vectors = partition_vectors(graph, v, p);
    std::vector<Partitions> longer;
    for (const Partitions& labeling : all) {
      for (std::size_t n = 0; n < vectors.size(); ++n) {
        longer.push_back(labeling);
        longer.back()[static_cast<std::size_t>(v)].assign(vectors[n].begin(), vectors[n].end());
      }
    }
    all = std::move(longer);
  }
  Extent least = std::numeric_limits<Extent>::max();
  for (const Partitions& labeling : all) {
    least = std::min<Extent>(least, graph_cost(graph, labeling).total());
  }
  return least;
}

}  // namespace

TEST_CASE("windows that differ in how far apart they read have costs of their own") {
  using namespace eindecomp::labels;
  for (const Extent apart : {2, 8, 60}) {
    for (const Extent taps : {3, 9}) {
      PlanProgram g;
      const auto X = g.input<double>("X", {512, 32});
      const auto F = g.input<double>("F", {taps, 32, 32});
      const auto G = g.input<double>("G", {taps, 32, 32});
      const auto T = let<"T">(j, d) = 2.0 * X(j, d);
      const auto A = let<"A">(extent(j, 512), c) = sum(k, d)(T(zero(j + k), d) * F(k, d, c));
      const auto B = let<"B">(extent(j, 512), c) =
          sum(k, d)(A(zero(j + apart * k), d) * G(k, d, c));
      (void)(let<"C">(j, c) = 3.0 * B(j, c));
      CAPTURE(apart);
      CAPTURE(taps);
      const Extent least = least_graph_cost(g.graph(), 8);
      const ExactResult found = exact(g.graph(), 8);
      CHECK(found.optimal());
      CHECK(found.cost == least);
      CHECK(decompose(g, {.workers = 8, .strategy = "ein_decomp"}).cost.total() == least);
    }
  }
}

TEST_CASE("tensors of other extents that one window reads alike have costs of their own") {
  using namespace eindecomp::labels;
  PlanProgram g;
  g.uncut(q);
  for (const Extent rows : {2, 64}) {
    const auto X = g.input<double>("X" + std::to_string(rows), {rows, 16});
    const auto W = g.input<double>("W" + std::to_string(rows), {128, 16});
    const auto T = g.input<double>("T" + std::to_string(rows), {16, 100});
    const auto U = let<"U">(i, q) = 2.0 * X(i, q);
    (void)(let<"V">(i, j) = sum(k)(U(periodic(i), j) * W(i, j) * T(j, k)));
  }
  const Partitions found = ein_decomp(g.graph(), 2);
  CHECK(graph_cost(g.graph(), found).total() == least_graph_cost(g.graph(), 2));
}
