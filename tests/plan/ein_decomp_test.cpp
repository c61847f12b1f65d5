// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/ein_decomp.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "plan/programs.hpp"
#include "plan/random_graph.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

constexpr Extent chain_total(int p) {
  const EinGraph graph = matrix_chain(1024);
  return total(graph, ein_decomp(graph, p));
}

/// M[Z, ·] of the 8 by 8 matrix product on 16 workers: (d_i, d_k, least cost).
struct Entry {
  Extent i;
  Extent k;
  Extent cost;
};
constexpr Entry golden_table[] = {{1, 8, 640}, {1, 4, 512}, {1, 2, 640}, {2, 8, 640},
                                  {2, 4, 448}, {2, 2, 448}, {2, 1, 640}, {4, 4, 512},
                                  {4, 2, 448}, {4, 1, 512}, {8, 2, 640}, {8, 1, 640}};

constexpr bool table_is_golden() {
  EinGraph graph = matmul(8, 8, 8);
  const VertexId z = graph.find("Z");
  write(graph, "read", "ik->ik", {z});  // the table tells outputs apart only if somebody sees them
  const std::vector<VertexId> reader(graph.vertices.size(), -1);
  plan::DynamicProgram program(graph, 16);
  const plan::Table& table = program[program.table_of(z, reader, {})];
  const VectorList& outputs = program.shapes().list(program.shapes().of(z).faces[0].list);
  if (table.best.size() != std::size(golden_table)) return false;
  constexpr Extent least = 448;  // which the table leaves out
  for (const Entry& entry : golden_table) {
    bool found = false;
    for (std::size_t n = 0; n < table.best.size(); ++n) {
      const auto output = outputs[n];
      found = found ||
              (output[0] == entry.i && output[1] == entry.k && table.best[n] + least == entry.cost);
    }
    if (!found) return false;
  }
  return true;
}

// The golden figures in constant expressions, within the compiler's default limits.
static_assert(table_is_golden());
static_assert(chain_total(4) == 14680064);
static_assert(chain_total(8) == 20971520);
static_assert(chain_total(16) == 27262976);
static_assert(chain_total(64) == 45088768);

constexpr Extent attention_total(int p) {
  const EinGraph graph = attention(true);
  return total(graph, linearize(graph, p));
}
static_assert(attention_total(8) >= 3672064 && attention_total(8) <= 3672064 * 146 / 100);

}  // namespace

TEST_CASE("the table of a matrix product is the golden one") { CHECK(table_is_golden()); }

TEST_CASE("the matrix chain costs the golden totals") {
  CHECK(is_forest(matrix_chain(1024)));
  CHECK(chain_total(4) == 14680064);
  CHECK(chain_total(8) == 20971520);
  CHECK(chain_total(16) == 27262976);
  CHECK(chain_total(64) == 45088768);
}

TEST_CASE("linearised attention is between the golden optimum and 1.46 times it") {
  const std::map<int, Extent> apart{{2, 2557952}, {4, 3082240}, {8, 3672064}, {16, 4593664}};
  const std::map<int, Extent> fused{{2, 2426880}, {4, 2951168}, {8, 3540992}, {16, 4462592}};
  for (const bool split : {true, false}) {
    const EinGraph graph = attention(split);
    CHECK(!is_forest(graph));
    for (const auto& [p, optimum] : split ? apart : fused) {
      CAPTURE(split);
      CAPTURE(p);
      const Extent cost = total(graph, ein_decomp(graph, p));
      CHECK(cost >= optimum);
      CHECK(static_cast<double>(cost) <= 1.46 * static_cast<double>(optimum));
    }
  }
}

TEST_CASE("tree DP equals brute force on random trees, linearisation is never below it") {
  std::mt19937 random(12345);
  int trees = 0;
  int larger = 0;  // trees of several statements, so that the test cannot pass on trifles alone
  for (int round = 0; trees < 800; ++round) {
    REQUIRE(round < 100000);
    const EinGraph graph = random_graph(random, true);
    const int p = draw(random, 0, 2) == 0 ? 3 << draw(random, 0, 2) : 1 << draw(random, 0, 4);
    const Labelings all(graph, p);
    if (all.count() > 50000) continue;
    ++trees;
    if (graph.results().size() < 2 && all.count() > 100) ++larger;
    CAPTURE(round);
    CAPTURE(p);
    REQUIRE(is_forest(graph));
    const Extent least = all.least();
    REQUIRE(total(graph, tree_dp(graph, p)) == least);
    REQUIRE(total(graph, ein_decomp(graph, p)) == least);
    REQUIRE(total(graph, linearize(graph, p)) >= least);
  }
  CHECK(larger > 100);
}

TEST_CASE("on random graphs linearisation labels everything and is never below brute force") {
  std::mt19937 random(54321);
  int graphs = 0;
  int general = 0;
  for (int round = 0; graphs < 300; ++round) {
    REQUIRE(round < 100000);
    const EinGraph graph = random_graph(random, false);
    const int p = draw(random, 1, 12);
    const Labelings all(graph, p);
    if (all.count() > 50000) continue;
    ++graphs;
    CAPTURE(round);
    CAPTURE(p);
    const Partitions partitions = ein_decomp(graph, p);
    for (VertexId v = 0; v < graph.size(); ++v) {
      const PartitionVector& d = partitions[static_cast<std::size_t>(v)];
      REQUIRE(d.size() == graph[v].labels.size());
      if (graph[v].is_input()) continue;
      REQUIRE(kernel_calls(d) == kernel_calls(partition_vectors(graph, v, p)[0]));
    }
    const Extent least = all.least();
    if (is_forest(graph)) {
      REQUIRE(total(graph, partitions) == least);
    } else {
      ++general;
      REQUIRE(total(graph, partitions) >= least);
    }
  }
  CHECK(general > 50);
}

TEST_CASE("a result read twice by one statement is still planned exactly") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {8, 8});
  const VertexId h = write(graph, "H", "ij->ij", {x});
  write(graph, "R", "ij,jk->ik", {h, h});
  CHECK(is_forest(graph));
  CHECK(total(graph, tree_dp(graph, 8)) == Labelings(graph, 8).least());
}

TEST_CASE("paths are the longest, ties to the earliest statement") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {4});
  const VertexId a = write(graph, "a", "i->i", {x});
  const VertexId b = write(graph, "b", "i->i", {x});
  const VertexId c = write(graph, "c", "i,i->i", {b, a});
  const VertexId d = write(graph, "d", "i->i", {c});
  const VertexId e = write(graph, "e", "i->i", {c});
  Flags labelled(graph.vertices.size(), false);
  CHECK(longest_path(graph, labelled) == std::vector<VertexId>{a, c, d});
  for (VertexId v : {a, c, d}) labelled[static_cast<std::size_t>(v)] = true;
  CHECK(longest_path(graph, labelled) == std::vector<VertexId>{b});
  labelled[static_cast<std::size_t>(b)] = true;
  CHECK(longest_path(graph, labelled) == std::vector<VertexId>{e});
  labelled[static_cast<std::size_t>(e)] = true;
  CHECK(longest_path(graph, labelled).empty());
}
