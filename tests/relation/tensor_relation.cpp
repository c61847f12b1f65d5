// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/relation/tensor_relation.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "eindecomp/relation/block_map.hpp"
#include "simulation.hpp"
#include "support.hpp"

using namespace eindecomp;
using relation_test::add;
using relation_test::at;
using relation_test::contains;
using relation_test::matmul;
using relation_test::message_of;

static_assert(make_relation({8, 8}, {2, 4}).blocks() == 8);
static_assert(make_relation({8, 8}, {2, 4}).block(BlockKey{1, 2}) == Box{{4, 4}, {8, 6}});
static_assert(make_relation({7}, {3}).block(Extent{1}) == Box{{2}, {4}});
static_assert(make_relation({}, {}).blocks() == 1);
static_assert(make_relation({}, {}).block(Extent{0}).size() == 1);
// The paper's example: 8x8 from (2,4) to (4,1): each of the 4 rows of blocks meets 4 blocks.
static_assert(
    repartition_blocks(make_relation({8, 8}, {2, 4}), make_relation({8, 8}, {4, 1})).size() == 16);

TEST_CASE("part_holding is the inverse of part_begin") {
  for (Extent b = 1; b <= 40; ++b) {
    for (Extent d = 1; d <= b; ++d) {
      for (Extent i = 0; i < b; ++i) {
        const Extent part = part_holding(b, d, i);
        CHECK(part_begin(b, d, part) <= i);
        CHECK(i < part_begin(b, d, part + 1));
      }
    }
  }
  // Where i·d overflows.
  const Extent b = std::numeric_limits<Extent>::max();
  for (Extent part : {Extent{0}, Extent{5}, Extent{1022}}) {
    CHECK(part_holding(b, 1023, part_begin(b, 1023, part)) == part);
    CHECK(part_holding(b, 1023, part_begin(b, 1023, part + 1) - 1) == part);
  }
}

TEST_CASE("blocks tile the tensor, and keys are numbered in order") {
  const TensorRelation relation = make_relation({7, 1, 5}, {3, 1, 4});
  std::vector<int> seen(35, 0);
  for (Extent n = 0; n < relation.blocks(); ++n) {
    CHECK(relation.number(relation.key(n)) == n);
    relation_test::for_each_index(relation.block(n), [&](const std::vector<Extent>& index) {
      ++seen[relation_test::position(Box::whole(relation.bound), index)];
    });
  }
  CHECK(seen == std::vector<int>(35, 1));
}

TEST_CASE("repartition finds every non-empty intersection, and no other") {
  const std::vector<std::vector<Extent>> cuts{{1, 1}, {2, 3}, {7, 1}, {1, 5}, {4, 2}, {3, 5}};
  for (const auto& f : cuts) {
    for (const auto& t : cuts) {
      const TensorRelation from = make_relation({7, 5}, f);
      const TensorRelation to = make_relation({7, 5}, t);
      const std::vector<Intersection> found = repartition_blocks(from, to);
      std::size_t next = 0;
      for (Extent n = 0; n < to.blocks(); ++n) {
        for (Extent m = 0; m < from.blocks(); ++m) {
          const Box both = intersect(from.block(m), to.block(n));
          if (both.empty()) continue;
          REQUIRE(next < found.size());
          CHECK(found[next].from == m);
          CHECK(found[next].to == n);
          CHECK(found[next].box == both);
          ++next;
        }
      }
      CHECK(next == found.size());
    }
  }
  const TensorRelation scalar = make_relation({}, {});
  CHECK(repartition_blocks(scalar, scalar).size() == 1);
}

TEST_CASE("a box inside one block is contained, one across is not") {
  const TensorRelation relation = make_relation({8, 9}, {2, 2});
  CHECK(relation.containing({{4, 0}, {8, 4}}) == 2);
  CHECK(relation.containing({{5, 1}, {6, 2}}) == 2);
  CHECK(relation.containing({{3, 0}, {5, 1}}) == -1);
  CHECK(relation.containing({{4, 3}, {5, 5}}) == -1);
  CHECK(relation.meeting({{3, 4}, {5, 9}}) == Box{{0, 1}, {2, 2}});
}

TEST_CASE("the join of a matrix product under d = (2,4,2)") {
  const EinGraph graph = matmul(8, 8, 8);
  const PartitionVector d{2, 4, 2};
  const std::vector<JoinedBlocks> joined = join_blocks(graph, 2, d);
  REQUIRE(joined.size() == 16);
  // Call (1,2,1) reads block (1,2) of X, of 2x4 blocks, and block (2,1) of Y, of 4x2.
  const JoinedBlocks& tuple = joined[13];
  CHECK(tuple.key == BlockKey{1, 2, 1});
  CHECK(tuple.operands == std::vector<Extent>{6, 5});
  CHECK(tuple.output == 3);
  const std::vector<AggregationGroup> groups = aggregate_blocks(joined);
  REQUIRE(groups.size() == 4);
  CHECK(groups[3].calls == std::vector<std::size_t>{9, 11, 13, 15});
}

TEST_CASE("a join with a diagonal and a broadcast") {
  EinGraph graph;
  const VertexId x = graph.add_input("X", {6, 6}, {});
  StatementSpec spec;
  spec.name = "S";
  spec.operands = {{x, {"i", "i"}}};
  spec.output = {{"z", 4}, {"i", 0}};
  const VertexId s = graph.add_statement(spec);
  const std::vector<JoinedBlocks> joined = join_blocks(graph, s, {3, 2});
  REQUIRE(joined.size() == 6);
  CHECK(joined[3].key == BlockKey{1, 1});
  CHECK(joined[3].operands == std::vector<Extent>{4});  // block (1,1) of 3x3
  CHECK(joined[3].output == 4);                         // block (1,1) of 2x3
}

TEST_CASE("a block map puts every block on its worker") {
  const Mesh mesh = make_mesh(12);
  const BlockMap map(mesh, {8, 9}, {{1}, {2}});
  CHECK(map.relation().parts == PartitionVector{2, 3});
  for (Extent n = 0; n < 6; ++n) {
    const std::vector<int> c = coordinates(mesh, map.worker(n));
    CHECK(c == std::vector<int>{0, static_cast<int>(n / 3), static_cast<int>(n % 3)});
    CHECK(map.block(map.worker(n)) == n);
  }
  for (int w = 6; w < 12; ++w) CHECK(map.block(w) == -1);

  // Several axes on one dimension, outermost first, in another order than the mesh's.
  const BlockMap turned(make_mesh(4), {8}, {{1, 0}});
  CHECK(turned.worker(0) == 0);
  CHECK(turned.worker(1) == 2);
  CHECK(turned.worker(2) == 1);
  CHECK(turned.worker(3) == 3);
}

TEST_CASE("what does not fit is refused by name") {
  CHECK(contains(message_of([] {
                   (void)make_relation({8, 8}, {2});
                 }),
                 "a tensor of rank 2 with 1 entries in its partition vector"));
  CHECK(contains(message_of([] {
                   (void)make_relation({8, 3}, {2, 4});
                 }),
                 "dimension 1 of extent 3 in 4 parts"));
  CHECK(contains(message_of([] { (void)make_relation({8}, {0}); }),
                 "dimension 0 of extent 8 in 0 parts"));
  CHECK(contains(message_of([] {
                   (void)repartition_blocks(make_relation({8}, {2}), make_relation({9}, {2}));
                 }),
                 "a repartition between relations of different bounds"));
  const EinGraph graph = matmul(8, 8, 3);
  CHECK(contains(message_of([&] {
                   (void)join_blocks(graph, 2, {2, 2});
                 }),
                 "statement Z has 3 labels but its partition vector 2 entries"));
  CHECK(contains(message_of([&] {
                   (void)join_blocks(graph, 2, {2, 4, 2});
                 }),
                 "label 'j' of statement Z has extent 3 and is cut into 4 parts"));
  CHECK(contains(message_of([&] {
                   (void)join_blocks(graph, 2, {0, 1, 2});
                 }),
                 "label 'i' of statement Z has extent 8 and is cut into 0 parts"));
}
