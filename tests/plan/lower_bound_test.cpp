// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/lower_bound.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/plan/partition.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "plan/programs.hpp"
#include "plan/random_graph.hpp"
#include "support/near.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

/// The bound by the solver, also where there is a closed form.
double solved(const EinGraph& graph, VertexId v, int workers) {
  return plan::general_lower_bound(plan::work_shape(graph, v), workers);
}

VertexId last(const EinGraph& graph) { return graph.size() - 1; }

/// The fewest words on the busiest worker over all partition vectors that busy all of them.
Extent min_busiest(const EinGraph& graph, int p) {
  Extent best = std::numeric_limits<Extent>::max();
  const VectorList vectors = partition_vectors(graph, last(graph), p);
  Partitions partitions(graph.vertices.size());
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    if (kernel_calls(vectors[i]) != p) continue;
    partitions.back().assign(vectors[i].begin(), vectors[i].end());
    const Placement placement = place(graph, partitions, make_mesh(p));
    best = std::min(best, make_task_graph(graph, placement, p).busiest_words());
  }
  return best;
}

}  // namespace

TEST_CASE("the closed form of a matrix product, by hand in every regime") {
  // One: P <= m/n, only the smallest matrix moves.
  CHECK(matmul_lower_bound(1024, 16, 8, 4) == near(16 * 8 * 0.75));
  // Two: P <= mn/k², a grid over m and n.
  CHECK(matmul_lower_bound(64, 64, 4, 16) == near(2 * 64.0 + 256 - (4096 + 256 + 256) / 16.0));
  // Three: cubes.
  CHECK(matmul_lower_bound(64, 64, 64, 64) == near(3 * 256.0 - 3 * 64.0));
  // The order does not matter, and one worker moves nothing.
  CHECK(matmul_lower_bound(8, 1024, 16, 4) == matmul_lower_bound(1024, 16, 8, 4));
  CHECK(matmul_lower_bound(8, 16, 32, 1) == near(0));
}

TEST_CASE("the solver agrees with the closed form of matrix products in all regimes") {
  const unsigned seed = 5;
  CAPTURE(seed);
  std::mt19937 random(seed);
  int regimes[3] = {0, 0, 0};
  for (int round = 0; round < 400; ++round) {
    Extent size[3];
    for (Extent& s : size) s = Extent{1} << draw(random, 2, 13);
    for (Extent& s : size) s += draw<Extent>(random, 0, s - 1);
    const int p = draw(random, 2, 48);
    const EinGraph graph = matmul(size[0], size[1], size[2]);
    std::ranges::sort(size, std::ranges::greater{});
    const double ratio = static_cast<double>(size[0]) / static_cast<double>(size[1]);
    const double area = static_cast<double>(size[0] * size[1]);
    ++regimes[p <= ratio ? 0 : p <= area / static_cast<double>(size[2] * size[2]) ? 1 : 2];
    const double closed = matmul_lower_bound(size[0], size[1], size[2], p);
    CAPTURE(round);
    CAPTURE(p);
    CAPTURE(closed);
    CHECK(lower_bound(graph, 2, p) == closed);
    const double accessed =
        closed + (static_cast<double>(size[0] * size[1]) + static_cast<double>(size[0] * size[2]) +
                  static_cast<double>(size[1] * size[2])) /
                     p;
    CHECK(std::abs(solved(graph, 2, p) - closed) <= 1e-7 * accessed);
  }
  for (int count : regimes) CHECK(count > 20);
}

TEST_CASE("statements that need not move anything have no bound") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {64, 32});
  const VertexId y = input(graph, "Y", {64, 32});
  CHECK(lower_bound(graph, x, 8) == 0);
  CHECK(lower_bound(graph, write(graph, "sum", "ij,ij->ij", {x, y}), 8) == 0);
  CHECK(lower_bound(graph, write(graph, "turned", "ij->ji", {x}), 8) == 0);
  CHECK(lower_bound(graph, write(graph, "rows", "ij->i", {x}), 8) == 0);
  CHECK(lower_bound(graph, write(graph, "scalar", "ij->", {x}), 8) == 0);
  CHECK(lower_bound(graph, write(graph, "product", "ij,kj->ik", {x, y}), 1) == 0);
  CHECK(lower_bound(graph, write(graph, "product", "ij,kj->ik", {x, y}), 8) > 0);
}

TEST_CASE("nothing is proven where masks leave joins out") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {64, 64});
  const VertexId y = input(graph, "Y", {64, 64});
  const VertexId z = write(graph, "Z", "ij,jk->ik", {x, y});
  CHECK(lower_bound(graph, z, 8) > 0);
  graph.vertices[static_cast<std::size_t>(z)].mask.push_back({{{0, 1}, {1, -1}}, 0});  // j <= i
  CHECK(lower_bound(graph, z, 8) == 0);
}

TEST_CASE("bounds known by hand beyond matrices") {
  EinGraph graph;
  const VertexId a = input(graph, "A", {64, 64, 64});
  const VertexId b = input(graph, "B", {64, 64});
  const VertexId c = input(graph, "C", {64, 64});
  // Z(i,r) = Σ A(i,j,k) B(j,r) C(k,r) on 8 workers: A stays where it is, and each worker needs
  // half the rows of every matrix.
  const VertexId z = write(graph, "Z", "ijk,jr,kr->ir", {a, b, c});
  const double kept = lower_bound(graph, z, 8);
  CHECK(kept > 0);
  CHECK(kept == doctest::Approx(3 * 32.0 * 64 - 3 * 4096 / 8.0).epsilon(1e-6));
  // Y(m,o) = Σ X(m,c) W(o,c,r) on 64 workers, a convolution: xyw >= (|V|/P)²/8 = 2²⁷, as for each
  // of the 8 values of r a worker does √(xyw_r) at most.
  EinGraph convolution;
  const VertexId image = input(convolution, "X", {64, 64});
  const VertexId filter = input(convolution, "W", {64, 64, 8});
  const VertexId convolved = write(convolution, "Y", "mc,ocr->mo", {image, filter});
  CHECK(lower_bound(convolution, convolved, 64) ==
        doctest::Approx(3 * 512.0 - (2 * 4096 + 8 * 4096) / 64.0).epsilon(1e-6));
  // A·A looks at one matrix only; fewer words than of two different ones.
  const VertexId square = write(graph, "S", "ij,jk->ik", {b, b});
  const VertexId product = write(graph, "P", "ij,jk->ik", {b, c});
  CHECK(lower_bound(graph, square, 64) < lower_bound(graph, product, 64));
  CHECK(lower_bound(graph, square, 64) > 0);
}

TEST_CASE("no plan of one statement receives less than its bound") {
  const unsigned seed = 11;
  CAPTURE(seed);
  std::mt19937 random(seed);
  int bounded = 0;
  int reached = 0;
  for (int round = 0; round < 300; ++round) {
    EinGraph graph;
    const int labels = draw(random, 2, 4);
    std::vector<Extent> extents;
    for (int l = 0; l < labels; ++l) extents.push_back(Extent{8} << draw(random, 0, 2));
    std::string form;
    std::vector<VertexId> operands;
    std::string seen;
    const int count = draw(random, 1, 3);
    for (int o = 0; o < count; ++o) {
      if (o > 0) form += ',';
      std::vector<Extent> bound;
      std::string own;
      while (own.empty()) {
        for (int l = 0; l < labels; ++l) {
          if (draw(random, 0, 1) == 1) own += static_cast<char>('a' + l);
        }
      }
      for (char l : own) {
        bound.push_back(extents[static_cast<std::size_t>(l - 'a')]);
        if (seen.find(l) == std::string::npos) seen += l;
      }
      form += own;
      operands.push_back(input(graph, "in" + std::to_string(o), std::move(bound)));
    }
    std::string output;
    while (output.empty()) {
      for (char l : seen) {
        if (draw(random, 0, 1) == 1) output += l;
      }
    }
    form += "->" + output;
    write(graph, "Z", form, operands);
    const int p = 1 << draw(random, 1, 3);
    CAPTURE(form);
    CAPTURE(p);
    const double bound = lower_bound(graph, last(graph), p);
    const auto best = static_cast<double>(min_busiest(graph, p));
    CHECK(bound <= best * (1 + 1e-9) + 1e-6);
    if (bound > 0) ++bounded;
    if (bound > 0 && bound >= 0.999 * best) ++reached;
  }
  CHECK(bounded > 50);
  CHECK(reached > 10);
}
