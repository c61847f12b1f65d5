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

namespace {

/// What two blocks of one tensor, cut in two ways, have in common.
struct Intersection {
  Extent from = 0;  ///< the producer's block
  Extent to = 0;    ///< the consumer's
  Box box;          ///< the elements that both have
};

/// Every non-empty intersection, in the order of `to`, then of `from`.
constexpr std::vector<Intersection> repartition_blocks(const TensorRelation& from,
                                                       const TensorRelation& to) {
  std::vector<Intersection> found;
  for (Extent n = 0; n < to.blocks(); ++n) {
    relation::repartition_into(from, to.block(n), [&](Extent number, const Box& box) {
      found.push_back({number, n, box});
    });
  }
  return found;
}

}  // namespace

static_assert(TensorRelation{{8, 8}, {2, 4}}.blocks() == 8);
static_assert(TensorRelation{{8, 8}, {2, 4}}.block(BlockKey{1, 2}) == Box{{4, 4}, {8, 6}});
static_assert(TensorRelation{{7}, {3}}.block(Extent{1}) == Box{{2}, {4}});
static_assert(TensorRelation{{}, {}}.blocks() == 1);
static_assert(TensorRelation{{}, {}}.block(Extent{0}).size() == 1);
// The paper's example: 8x8 from (2,4) to (4,1): each of the 4 rows of blocks meets 4 blocks.
static_assert(repartition_blocks(TensorRelation{{8, 8}, {2, 4}}, TensorRelation{{8, 8}, {4, 1}})
                  .size() == 16);

TEST_CASE("part_holding is the inverse of part_begin") {
  for (Extent b = 1; b <= 40; ++b) {
    for (Extent d = 1; d <= b; ++d) {
      for (Extent i = 0; i < b; ++i) {
        const Extent part = relation::part_holding(b, d, i);
        CHECK(relation::part_begin(b, d, part) <= i);
        CHECK(i < relation::part_begin(b, d, part + 1));
      }
    }
  }
  // Where i·d overflows.
  const Extent b = std::numeric_limits<Extent>::max();
  for (Extent part : {Extent{0}, Extent{5}, Extent{1022}}) {
    CHECK(relation::part_holding(b, 1023, relation::part_begin(b, 1023, part)) == part);
    CHECK(relation::part_holding(b, 1023, relation::part_begin(b, 1023, part + 1) - 1) == part);
  }
}

TEST_CASE("blocks tile the tensor, and keys are numbered in order") {
  const TensorRelation relation = TensorRelation{{7, 1, 5}, {3, 1, 4}};
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
      const TensorRelation from = TensorRelation({7, 5}, f);
      const TensorRelation to = TensorRelation({7, 5}, t);
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
  const TensorRelation scalar = TensorRelation{{}, {}};
  CHECK(repartition_blocks(scalar, scalar).size() == 1);
}

TEST_CASE("a box inside one block is contained, one across is not") {
  const TensorRelation relation = TensorRelation{{8, 9}, {2, 2}};
  CHECK(relation.containing({{4, 0}, {8, 4}}) == 2);
  CHECK(relation.containing({{5, 1}, {6, 2}}) == 2);
  CHECK(relation.containing({{3, 0}, {5, 1}}) == -1);
  CHECK(relation.containing({{4, 3}, {5, 5}}) == -1);
  CHECK(relation.meeting({{3, 4}, {5, 9}}) == Box{{0, 1}, {2, 2}});
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
  const EinGraph graph = matmul(8, 8, 3);
  CHECK(contains(message_of([&] {
                   (void)call_relation(graph, 2, {2, 2});
                 }),
                 "statement Z has 3 labels but its partition vector 2 entries"));
  CHECK(contains(message_of([&] {
                   (void)call_relation(graph, 2, {2, 4, 2});
                 }),
                 "label 'j' of statement Z has extent 3 and is cut into 4 parts"));
  CHECK(contains(message_of([&] {
                   (void)call_relation(graph, 2, {0, 1, 2});
                 }),
                 "label 'i' of statement Z has extent 8 and is cut into 0 parts"));
}
