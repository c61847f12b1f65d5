// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/relation/placement.hpp"

#include <doctest/doctest.h>

#include "eindecomp/relation/mesh.hpp"
#include "support.hpp"

using namespace eindecomp;
using relation_test::add;
using relation_test::at;
using relation_test::contains;
using relation_test::matmul;
using relation_test::message_of;

// A placement in a constant expression.
static_assert([] {
  const Mesh mesh = make_mesh(16);
  std::vector<PartitionVector> partitions(3);
  partitions[2] = PartitionVector{2, 4, 2};
  const Placement placement = place(matmul(8, 8, 8), partitions, mesh);
  return parts_of(mesh, placement.calls[2]) == partitions[2];
}());

TEST_CASE("a matrix product: output labels outermost, aggregated ones on neighbours") {
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement = place(graph, {{}, {}, {2, 4, 2}}, make_mesh(16));
  CHECK(placement.calls[2] == AxisLists{{0}, {2, 3}, {1}});
  // X(i,j) as the calls want it, its blocks of 4x2 cut further along the axis of k; so Y, by that
  // of i.
  CHECK(placement.stored[0] == AxisLists{{0, 1}, {2, 3}});
  CHECK(placement.stored[1] == AxisLists{{2, 3}, {1, 0}});
  // Z(i,k): the axes of j scattered over its blocks of 4x4.
  CHECK(placement.stored[2] == AxisLists{{0, 2}, {1, 3}});
}

TEST_CASE("a statement takes the axes along which its operand is cut already") {
  EinGraph graph = matmul(8, 8, 8);
  const VertexId r = add(graph, "R", {{"ik", 2}}, "ki");
  const Mesh mesh = make_mesh(8);
  const Placement placement = place(graph, {{}, {}, {2, 1, 4}, {2, 4}}, mesh);
  CHECK(placement.calls[at(r)] == AxisLists{placement.stored[2][0], placement.stored[2][1]});
  CHECK(placement.stored[at(r)] == AxisLists{placement.stored[2][1], placement.stored[2][0]});
}

TEST_CASE("of two operands the larger one stays where it is") {
  EinGraph graph;
  const VertexId a = graph.add_input("A", {8, 64}, {});
  const VertexId b = graph.add_input("B", {8}, {});
  const VertexId a1 = add(graph, "A1", {{"ij", a}}, "ij");
  const VertexId b1 = add(graph, "B1", {{"i", b}}, "i");
  const VertexId c = add(graph, "C", {{"i", b1}, {"ij", a1}}, "ij");
  // A is cut along axis 0 in i and axis 1 in j; B along axis 0 in i, and C wants axis 1 for j.
  const Placement placement = place(graph, {{}, {}, {2, 2}, {2}, {2, 2}}, make_mesh(4));
  CHECK(placement.calls[at(c)] == placement.stored[at(a1)]);
}

TEST_CASE("every tensor is stored once, in no more parts than it has indices") {
  relation_test::Random random(7);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const auto program = relation_test::random_program(random);
    const Mesh mesh = make_mesh(random.pick({1, 2, 3, 4, 6, 8, 16, 30}));
    std::vector<PartitionVector> partitions;
    for (const Vertex& v : program.graph.vertices) {
      partitions.push_back(relation_test::random_vector(random, v, mesh));
      if (v.is_input()) partitions.back().clear();
    }
    const Placement placement = place(program.graph, partitions, mesh);
    CHECK_NOTHROW(check_placement(program.graph, placement));
    for (VertexId v = 0; v < program.graph.size(); ++v) {
      if (program.graph[v].is_input()) continue;
      CHECK(parts_of(mesh, placement.calls[at(v)]) == partitions[at(v)]);
    }
  }
}

TEST_CASE("an input is spread as evenly as its extents allow") {
  EinGraph graph;
  graph.add_input("X", {3, 100}, {});
  graph.add_input("Y", {2, 2}, {});
  graph.add_input("s", {}, {});
  const Placement placement = place(graph, {{}, {}, {}}, make_mesh(16));
  CHECK(parts_of(placement.mesh, placement.stored[0]) == PartitionVector{1, 16});
  CHECK(parts_of(placement.mesh, placement.stored[1]) == PartitionVector{2, 2});
  CHECK(placement.stored[2].empty());
}

TEST_CASE("a layout given for an input is kept") {
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement =
      place(graph, {{}, {}, {4, 1, 2}}, make_mesh(8), {.inputs = {{1, {1, 4}}, {0, {1, 1}}}});
  CHECK(parts_of(placement.mesh, placement.stored[0]) == PartitionVector{1, 1});
  CHECK(parts_of(placement.mesh, placement.stored[1]) == PartitionVector{1, 4});
  CHECK(parts_of(placement.mesh, placement.calls[2]) == PartitionVector{4, 1, 2});
}

TEST_CASE("axes of composite size are found where a product needs them") {
  // 4 = 4, and then 12 = 6·2: taking 2 for the first label would leave none for the second.
  const EinGraph graph = matmul(12, 12, 12);
  const Placement placement = place(graph, {{}, {}, {4, 1, 12}}, Mesh{{2, 4, 6}});
  CHECK(placement.calls[2] == AxisLists{{1}, {}, {0, 2}});
}

TEST_CASE("vectors that do not suit the statement or the mesh are refused by name") {
  const EinGraph graph = matmul(8, 8, 8);
  const auto refusal = [&](const std::vector<PartitionVector>& partitions, int p,
                           const PlaceOptions& options = {}) {
    return message_of([&] { (void)place(graph, partitions, make_mesh(p), options); });
  };
  CHECK(
      contains(refusal({{}, {}, {2, 2, 8}}, 16),
               "label 'k' of statement Z is cut into 8 parts (no axes of the mesh 2 x 2 x 2 x 2"));
  CHECK(contains(refusal({{}, {}, {1, 3, 1}}, 16), "label 'j' of statement Z is cut into 3 parts"));
  CHECK(contains(refusal({{}, {}, {1, 2, 1}}, 1), "(no axes of one worker"));
  CHECK(contains(refusal({{}, {}, {2, 2, 16}}, 64), "label 'k' of statement Z has extent 8"));
  CHECK(contains(refusal({{}, {}, {2, 2}}, 4), "statement Z has 3 labels"));
  CHECK(contains(refusal({{}, {2, 2, 1}}, 4), "a graph of 3 tensors with 2 partition vectors"));
  CHECK(contains(refusal({{}, {2, 2}, {2, 2, 1}}, 4), "a partition vector for input Y"));
  const std::vector<PartitionVector> good{{}, {}, {2, 2, 1}};
  CHECK(refusal(good, 4) == "no error");
  CHECK(contains(refusal(good, 4, {{{2, {1, 1}}}}), "a layout for tensor 2 (it is no input"));
  CHECK(contains(refusal(good, 4, {{{-1, {}}}}), "a layout for tensor -1"));
  CHECK(contains(refusal(good, 4, {{{0, {4}}}}), "the layout given for input X has 1 entries"));
  CHECK(contains(refusal(good, 16, {{{0, {1, 16}}}}),
                 "the layout given for input X cuts dimension 1 of extent 8 into 16 parts"));
  CHECK(
      contains(refusal(good, 4, {{{1, {4, 2}}}}),
               "the layout given for input Y cuts dimension 1 into 2 parts (no axes of the mesh"));
  CHECK(contains(refusal(good, 4, {{{0, {1, 1}}, {0, {2, 1}}}}), "input X is its second"));
}

TEST_CASE("a placement made by hand is checked") {
  const EinGraph graph = matmul(8, 8, 8);
  const Placement good = place(graph, {{}, {}, {2, 2, 1}}, make_mesh(4));
  CHECK_NOTHROW(check_placement(graph, good));
  const auto refusal = [&](auto&& change) {
    Placement bad = good;
    change(bad);
    return message_of([&] { check_placement(graph, bad); });
  };
  CHECK(contains(refusal([](Placement& p) { p.calls.pop_back(); }), "belongs to another graph"));
  CHECK(contains(refusal([](Placement& p) {
                   p.calls[2] = {{0}, {0}, {}};
                 }),
                 "the placement of Z has wrong axes for its labels"));
  CHECK(contains(refusal([](Placement& p) {
                   p.stored[1] = {{0}, {2}};
                 }),
                 "the placement of Y has wrong axes for its dimensions"));
  CHECK(contains(refusal([](Placement& p) { p.stored[1] = {{0}, {-1}}; }), "Y has wrong axes"));
  CHECK(contains(refusal([](Placement& p) { p.stored[0] = {{0}}; }), "X has wrong axes"));
  CHECK(contains(refusal([](Placement& p) {
                   p.mesh.axes = {2, 9};
                   p.stored[0] = {{}, {1}};
                 }),
                 "X has wrong axes"));
  CHECK(contains(refusal([](Placement& p) { p.mesh.axes = {2, 0}; }), "an axis of size 0"));
}
