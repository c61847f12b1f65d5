// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/cost.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "eindecomp/plan/ein_decomp/edge_costs.hpp"
#include "plan/programs.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

constexpr Extent join_of_matmul(const PartitionVector& d) {
  return join_cost(matmul(8, 8, 8)[2], d);
}
constexpr Extent aggregate_of_matmul(const PartitionVector& d) {
  return aggregate_cost(matmul(8, 8, 8)[2], d);
}
constexpr Extent repartition_of(const std::vector<Extent>& bound, const PartitionVector& produced,
                                const PartitionVector& consumed) {
  return repartition_cost(bound, produced, consumed);
}

// The paper's figures (its figure 2 and section 7), at compile time; below again at run time.
static_assert(join_of_matmul({4, 1, 4}) == 512 && aggregate_of_matmul({4, 1, 4}) == 0);
static_assert(join_of_matmul({2, 4, 2}) == 256 && aggregate_of_matmul({2, 4, 2}) == 192);
static_assert(join_of_matmul({2, 2, 4}) == 384 && aggregate_of_matmul({2, 2, 4}) == 64);
static_assert(repartition_of({8, 8}, {2, 4}, {4, 1}) == 192 + 128);
static_assert(repartition_of({8, 8}, {2, 4}, {2, 4}) == 0);
static_assert(repartition_of({}, {}, {}) == 0);

/// A block as begin and end per dimension.
struct Block {
  std::vector<Extent> begin;
  std::vector<Extent> end;
};

/// All blocks of a tensor, by the definition ⌊i·b/d⌋.
std::vector<Block> blocks_of(const std::vector<Extent>& bound, const std::vector<Extent>& d) {
  std::vector<Block> blocks{{}};
  for (std::size_t k = 0; k < bound.size(); ++k) {
    std::vector<Block> longer;
    for (const Block& block : blocks) {
      for (Extent i = 0; i < d[k]; ++i) {
        Block next = block;
        next.begin.push_back(i * bound[k] / d[k]);
        next.end.push_back((i + 1) * bound[k] / d[k]);
        longer.push_back(next);
      }
    }
    blocks = longer;
  }
  return blocks;
}

bool meet(const Block& a, const Block& b) {
  for (std::size_t k = 0; k < a.begin.size(); ++k) {
    if (std::max(a.begin[k], b.begin[k]) >= std::min(a.end[k], b.end[k])) return false;
  }
  return true;
}

Extent product(const std::vector<Extent>& numbers) {
  Extent n = 1;
  for (Extent number : numbers) n *= number;
  return n;
}

Extent largest_block(const std::vector<Extent>& bound, const std::vector<Extent>& d) {
  Extent n = 1;
  for (std::size_t k = 0; k < bound.size(); ++k) n *= (bound[k] + d[k] - 1) / d[k];
  return n;
}

/// The general formula, its intersections counted one by one.
Extent counted_repartition(const std::vector<Extent>& bound, const std::vector<Extent>& produced,
                           const std::vector<Extent>& consumed) {
  if (produced == consumed) return 0;
  Extent intersections = 0;
  Extent single = 0;
  for (const Block& from : blocks_of(bound, produced)) {
    Extent met = 0;
    for (const Block& to : blocks_of(bound, consumed)) met += meet(from, to) ? 1 : 0;
    intersections += met;
    single += met == 1 ? 1 : 0;
  }
  return (intersections - product(consumed)) * largest_block(bound, consumed) +
         (intersections - single) * largest_block(bound, produced);
}

/// The paper's formula for powers of two, as it is written.
Extent paper_repartition(const std::vector<Extent>& bound, const std::vector<Extent>& produced,
                         const std::vector<Extent>& consumed) {
  Extent per_consumer = 1;
  Extent per_producer = 1;
  for (std::size_t k = 0; k < bound.size(); ++k) {
    const Extent finest = std::max(produced[k], consumed[k]);
    per_consumer *= finest / consumed[k];
    per_producer *= finest / produced[k];
  }
  return product(consumed) * (per_consumer - 1) * largest_block(bound, consumed) +
         (per_producer == 1 ? 0
                            : product(produced) * per_producer * largest_block(bound, produced));
}

}  // namespace

TEST_CASE("the paper's figures for an 8 by 8 matrix product on 16 workers") {
  const EinGraph graph = matmul(8, 8, 8);
  const Vertex& z = graph[graph.find("Z")];
  CHECK(join_cost(z, PartitionVector{4, 1, 4}) == 512);
  CHECK(aggregate_cost(z, PartitionVector{4, 1, 4}) == 0);
  CHECK(join_cost(z, PartitionVector{2, 4, 2}) == 256);
  CHECK(aggregate_cost(z, PartitionVector{2, 4, 2}) == 192);
  CHECK(join_cost(z, PartitionVector{2, 2, 4}) == 384);
  CHECK(aggregate_cost(z, PartitionVector{2, 2, 4}) == 64);
  CHECK(repartition_of({8, 8}, {2, 4}, {4, 1}) == 320);
}

TEST_CASE(
    "repartition agrees with intersections counted one by one, powers of two with the paper") {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const bool powers = round % 2 == 0;
    const auto rank = static_cast<std::size_t>(round % 4);
    std::vector<Extent> bound(rank);
    std::vector<Extent> produced(rank);
    std::vector<Extent> consumed(rank);
    for (std::size_t k = 0; k < rank; ++k) {
      bound[k] = std::uniform_int_distribution<Extent>(1, 13)(random);
      for (auto* d : {&produced, &consumed}) {
        do {
          (*d)[k] = powers ? Extent{1} << std::uniform_int_distribution<int>(0, 3)(random)
                           : std::uniform_int_distribution<Extent>(1, 13)(random);
        } while ((*d)[k] > bound[k]);
      }
    }
    CAPTURE(round);
    const Extent cost = repartition_cost(bound, produced, consumed);
    REQUIRE(cost == counted_repartition(bound, produced, consumed));
    if (powers) REQUIRE(cost == paper_repartition(bound, produced, consumed));
  }
}

TEST_CASE("uneven extents count the largest block") {
  const EinGraph graph = matmul(5, 7, 3);
  const Vertex& z = graph[graph.find("Z")];
  // Blocks of X are at most 3 by 4, of Y 4 by 2, of Z 3 by 2.
  CHECK(join_cost(z, PartitionVector{2, 2, 2}) == 8 * (12 + 8));
  CHECK(aggregate_cost(z, PartitionVector{2, 2, 2}) == 4 * 1 * 6);
}

TEST_CASE("a repeated label counts at every position, a broadcast one in the calls") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {6, 6});
  const VertexId trace = write(graph, "trace", "ii->", {x});
  CHECK(join_cost(graph[trace], PartitionVector{2}) == 2 * 9);
  CHECK(aggregate_cost(graph[trace], PartitionVector{2}) == 1);
  const VertexId wide = write(graph, "wide", "->b", {trace}, {8});
  CHECK(join_cost(graph[wide], PartitionVector{4}) == 4);
}

TEST_CASE("edges from inputs are free, a tensor read twice pays each edge") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {8, 8});
  const VertexId h = write(graph, "H", "ij->ij", {x});
  const VertexId r = write(graph, "R", "ij,ji->ij", {h, h});
  Partitions partitions(3);
  partitions[static_cast<std::size_t>(h)] = {4, 1};
  partitions[static_cast<std::size_t>(r)] = {4, 1};
  CHECK(statement_cost(graph, h, partitions) == Cost{64, 0, 0});
  // The second slot reads it under (1, 4).
  const Extent moved = counted_repartition({8, 8}, {4, 1}, {1, 4});
  CHECK(statement_cost(graph, r, partitions) == Cost{128, 0, moved});
  CHECK(graph_cost(graph, partitions) == Cost{192, 0, moved});
  CHECK(graph_cost(graph, partitions).total() == 192 + moved);
}

TEST_CASE("costs beyond 64 bits are unaffordable, not negative") {
  const EinGraph graph = matmul(Extent{1} << 28, Extent{1} << 28, Extent{1} << 28);
  const Vertex& z = graph[graph.find("Z")];
  CHECK(join_cost(z, PartitionVector{1 << 16, 1, 1}) == unaffordable);
  CHECK(Cost{unaffordable, 1, 1}.total() == unaffordable);
}

TEST_CASE(
    "tables of edges have the costs of each, also where parts are more than a dimension has") {
  // A label of an output of 2n positions may be an index into a tensor of n.
  for (const int p : {4, 6, 12}) {
    for (const std::vector<Extent>& bound : std::vector<std::vector<Extent>>{{3, 5}, {2, 12}}) {
      VectorList produced(2);
      VectorList consumed(2);
      for (const Extent a : divisors(p)) {
        for (const Extent b : divisors(p)) {
          const std::vector<Extent> d{a, b};
          if (a <= bound[0] && b <= bound[1]) produced.push_back(d);
          consumed.push_back(d);
        }
      }
      plan::Meetings meetings(p);
      const plan::EdgeCosts edges(meetings, bound, produced, consumed);
      std::vector<Extent> column(produced.size());
      for (std::size_t c = 0; c < consumed.size(); ++c) {
        std::ranges::fill(column, 0);
        edges.column(c, column);
        for (std::size_t u = 0; u < produced.size(); ++u) {
          const Extent cost = repartition_cost(bound, produced[u], consumed[c]);
          CHECK(cost >= 0);
          CHECK(edges.cost(u, c) == cost);
          CHECK(column[u] == cost);
        }
      }
    }
  }
}
