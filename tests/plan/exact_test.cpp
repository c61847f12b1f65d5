// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/exact.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <map>
#include <random>
#include <vector>

#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/ein_decomp.hpp"
#include "plan/programs.hpp"
#include "plan/random_graph.hpp"
#include "support/cases.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

/// The cost that exact() claims, and that its labeling has.
Extent exact_total(const EinGraph& graph, int p) {
  const ExactResult found = exact(graph, p);
  CHECK(found.optimal());
  CHECK(found.gap() == 0);
  CHECK(total(graph, found.partitions) == found.cost);
  return found.cost;
}

constexpr Extent exact_chain_total(int p) { return exact(matrix_chain(1024), p).cost; }
static_assert(exact_chain_total(4) == 14680064);
static_assert(exact_chain_total(64) == 45088768);

bool reads_twice(const EinGraph& graph) {
  const std::vector<int> readers = graph.reader_counts();
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (!graph[v].is_input() && readers[static_cast<std::size_t>(v)] > 1) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("exact finds the golden totals") {
  const std::map<int, Extent> chain{{4, 14680064}, {8, 20971520}, {16, 27262976}, {64, 45088768}};
  for (const auto& [p, optimum] : chain) CHECK(exact_total(matrix_chain(1024), p) == optimum);
  const std::map<int, Extent> apart{{2, 2557952}, {4, 3082240}, {8, 3672064}, {16, 4593664}};
  const std::map<int, Extent> fused{{2, 2426880}, {4, 2951168}, {8, 3540992}, {16, 4462592}};
  for (const auto& [p, optimum] : apart) CHECK(exact_total(attention(true), p) == optimum);
  for (const auto& [p, optimum] : fused) CHECK(exact_total(attention(false), p) == optimum);
}

TEST_CASE("exact equals brute force on random programs, with any budget bounds it") {
  std::mt19937 random(20260407);
  const int wanted = random_cases(5000);
  int graphs = 0;
  int trees = 0;
  int general = 0;
  int shared = 0;
  int odd = 0;
  int split = 0;
  int above = 0;  // labelings of a small budget that are not the best
  for (int round = 0; graphs < wanted; ++round) {
    REQUIRE(round / 40 < wanted);
    const bool tree = draw(random, 0, 3) == 0;
    const EinGraph graph = random_graph(random, tree, 6);
    const int p = draw(random, 2, 16);
    const Labelings all(graph, p);
    if (all.count() > (graphs % 10 == 0 ? 1e6 : 1e5)) continue;
    ++graphs;
    CAPTURE(round);
    CAPTURE(p);
    const Extent least = all.least();
    const ExactResult found = exact(graph, p);
    REQUIRE(found.optimal());
    REQUIRE(found.cost == least);
    REQUIRE(total(graph, found.partitions) == least);
    for (VertexId v = 0; v < graph.size(); ++v) {
      if (graph[v].is_input()) continue;
      REQUIRE(kernel_calls(found.partitions[static_cast<std::size_t>(v)]) ==
              kernel_calls(partition_vectors(graph, v, p)[0]));
    }
    const Extent linear = total(graph, linearize(graph, p));
    REQUIRE(linear >= least);
    if (is_forest(graph)) {
      ++trees;
      REQUIRE(total(graph, ein_decomp(graph, p)) == least);
    } else {
      ++general;
    }
    shared += reads_twice(graph);
    odd += !std::has_single_bit(static_cast<unsigned>(p));

    ExactOptions small;
    if (draw(random, 0, 1) == 0) {
      small.max_states = 1 << draw(random, 0, 4);
    } else {
      small.max_work = draw(random, 0, 2000);
    }
    const ExactResult near = exact(graph, p, small);
    REQUIRE(near.lower_bound <= least);
    REQUIRE(near.cost >= least);
    REQUIRE(near.cost <= linear);
    REQUIRE(near.gap() == near.cost - near.lower_bound);
    REQUIRE(total(graph, near.partitions) == near.cost);
    REQUIRE(near.lower_bound >= 0);
    split += !near.optimal();
    above += near.cost > least;
  }
  // The test must not pass on trifles alone.
  CHECK(trees > wanted / 5);
  CHECK(general > wanted / 5);
  CHECK(shared > wanted / 5);
  CHECK(odd > 2 * wanted / 5);
  CHECK(split > wanted / 50);
  MESSAGE(split, " gaps, ", above, " of them with a labeling that is not the best");
}

namespace {

/// `layers` products by weights, each followed by a map; with their gradients if asked for.
EinGraph network(int layers, bool gradients) {
  EinGraph graph;
  std::vector<VertexId> activations{input(graph, "X", {24, 48})};
  std::vector<VertexId> weights;
  for (int l = 0; l < layers; ++l) {
    const std::string n = std::to_string(l);
    weights.push_back(input(graph, "W" + n, {48, 48}));
    const VertexId product =
        write(graph, "Z" + n, "ij,jk->ik", {activations.back(), weights.back()});
    activations.push_back(write(graph, "A" + n, "ij->ij", {product}));
  }
  VertexId gradient = activations.back();
  for (int l = layers; gradients && l-- > 0;) {
    const std::string n = std::to_string(l);
    const auto at = static_cast<std::size_t>(l);
    write(graph, "dW" + n, "ij,ik->jk", {activations[at], gradient});
    const VertexId back = write(graph, "dA" + n, "ik,jk->ij", {gradient, weights[at]});
    gradient = write(graph, "dZ" + n, "ij,ij->ij", {back, activations[at]});
  }
  return graph;
}

}  // namespace

TEST_CASE("many equal layers cost what the paper's dynamic program and the labeling say") {
  for (int p : {4, 6, 16, 64}) {
    CAPTURE(p);
    const EinGraph forest = network(40, false);
    CHECK(exact(forest, p).cost == total(forest, ein_decomp(forest, p)));
    const EinGraph training = network(40, true);
    const ExactResult found = exact(training, p);
    CHECK(found.optimal());
    CHECK(total(training, found.partitions) == found.cost);
    CHECK(found.cost <= total(training, linearize(training, p)));
  }
}

TEST_CASE("costs near the limit of 64 bits are added up without overflow") {
  constexpr Extent large = Extent{1} << 20;
  EinGraph graph = matmul(large, large, large);
  const VertexId z = graph.find("Z");
  write(graph, "R", "ik->ik", {z});
  write(graph, "S", "ki->ki", {z});
  for (int p : {6, 1024, 65536}) {
    const ExactResult found = exact(graph, p);
    CHECK(found.optimal());
    CHECK(found.cost > 0);
    CHECK(total(graph, found.partitions) == found.cost);
    CHECK(found.cost <= total(graph, linearize(graph, p)));
  }
}

TEST_CASE("labels that must not be cut stay whole") {
  EinGraph graph = attention(true);
  graph.labels[static_cast<std::size_t>(graph.find_label("h"))].uncut = true;
  const ExactResult found = exact(graph, 8);
  CHECK(found.optimal());
  CHECK(found.cost > exact(attention(true), 8).cost);
  for (VertexId v = 0; v < graph.size(); ++v) {
    for (std::size_t l = 0; l < graph[v].labels.size(); ++l) {
      if (graph[v].labels[l] != graph.find_label("h")) continue;
      CHECK(found.partitions[static_cast<std::size_t>(v)][l] == 1);
    }
  }
}

TEST_CASE("a plan by exact says that it is optimal, for any number of workers") {
  const EinGraph graph = attention(false);
  for (int p : {1, 6, 8, 12}) {
    CAPTURE(p);
    const Plan plan = decompose(graph, {.workers = p, .strategy = "exact"});
    CHECK(plan.optimal());
    CHECK(plan.gap == Extent{0});
    CHECK(plan.cost.total() == exact(graph, p).cost);
  }
  CHECK(!decompose(graph, {.workers = 8, .strategy = "linearized"}).gap.has_value());
  CHECK(decompose(matrix_chain(64), {.workers = 8, .strategy = "ein_decomp"}).optimal());
  CHECK_THROWS_WITH_AS(
      static_cast<void>(decompose(graph, {.workers = 65537, .strategy = "exact"})),
      doctest::Contains("65537 workers (numbers that are no power of two go up to 65536)"), Error);
}

TEST_CASE("an empty program and a program of inputs cost nothing") {
  EinGraph graph;
  CHECK(exact(graph, 8).cost == 0);
  input(graph, "X", {4, 4});
  CHECK(exact(graph, 8).cost == 0);
  CHECK(exact(graph, 8).partitions.size() == 1);
}
