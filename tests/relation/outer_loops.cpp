// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups in steps whose last statement aggregates what they are cut along.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/make_profile.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "simulation.hpp"
#include "support.hpp"

using namespace relation_test;
using eindecomp::StepAxis;
using eindecomp::StepGroup;

namespace {

/// A(i,j,c) = ⊕ X(i,j,e) ⊗ V(e,c) and, of which it reads nothing, B(j,i,c) = Y(i,j) ⊗ W(c), then
/// C(i,j,c) = A ⊗ B, and E(output) = ⊕ C ⊗ A.
EinGraph two_branches(Extent i, Extent j, Extent c, Extent e, const char* output) {
  EinGraph graph;
  const VertexId x = graph.add_input("X", {i, j, e}, {});
  const VertexId v = graph.add_input("V", {e, c}, {});
  const VertexId y = graph.add_input("Y", {i, j}, {});
  const VertexId w = graph.add_input("W", {c}, {});
  const VertexId a = add(graph, "A", {{"ije", x}, {"ec", v}}, "ijc");
  const VertexId b = add(graph, "B", {{"pq", y}, {"r", w}}, "qpr");
  const VertexId both = add(graph, "C", {{"ijc", a}, {"jic", b}}, "ijc");
  add(graph, "E", {{"ijc", both}, {"ijc", a}}, output);
  return graph;
}

/// The whole of it along label number `position` of A.
StepAxis along(const EinGraph& graph, int position, Extent parts) {
  StepAxis axis = eindecomp::relation::axis_through(graph, {4, 5, 6, 7}, position);
  axis.parts = parts;
  return axis;
}

}  // namespace

TEST_CASE("reads tell where statements have an axis, those before and after") {
  const EinGraph graph = two_branches(6, 5, 4, 3, "");
  CHECK(along(graph, 0, 1).positions == std::vector<int>{0, 0, 0, 0});
  CHECK(along(graph, 1, 1).positions == std::vector<int>{1, 1, 1, 1});
  CHECK(along(graph, 3, 1).positions == std::vector<int>{3, 2, 2, 2});
  CHECK(along(graph, 2, 1).positions == std::vector<int>{2, -1, -1, -1});  // e
  CHECK(eindecomp::relation::axis_through(graph, {4, 5}, 0).positions == std::vector<int>{0, -1});
}

TEST_CASE("the last statement adds block after block to its result") {
  const EinGraph graph = two_branches(6, 5, 4, 3, "");
  std::vector<PartitionVector> uncut;
  for (const Vertex& v : graph.vertices) uncut.emplace_back(v.labels.size(), 1);
  const Placement placement = place(graph, uncut, eindecomp::make_mesh(1));
  const StepGroup group{4, 7, {along(graph, 0, 3), along(graph, 1, 5)}};
  CHECK(eindecomp::relation::adds_blocks(graph, group));
  CHECK(!eindecomp::relation::adds_blocks(graph, StepGroup{4, 6, {StepAxis{{0, 0, 0}, 3}}}));
  const auto program = eindecomp::compile_rank(graph, placement, 1, 0, {group});
  int calls = 0;
  int added = 0;
  for (const eindecomp::Instruction& i : program.instructions) {
    if (i.statement != 7 || i.as<eindecomp::KernelCall>() == nullptr) continue;
    ++calls;
    added += i.as<eindecomp::KernelCall>()->accumulate ? 1 : 0;
  }
  CHECK(calls == 3 * 5);
  CHECK(added == 3 * 5 - 1);
  // A, B and C of 2 x 1 x 4 elements, and accumulators of one, in multiples of 64 bytes.
  CHECK(program.arena_bytes == 3 * 64 + 64);
}

TEST_CASE("programs whose steps are added up give what they give whole, and move the same words") {
  int combined = 0;
  for (unsigned seed = 91001; seed < 91301; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const char* const output = random.pick({"", "c", "i", "j", "jc", "ci"});
    const Extent i = random.number(4, 7);
    const Extent j = random.number(2, 5);
    const Extent c = random.number(1, 4);
    RandomProgram program;
    program.graph = two_branches(i, j, c, random.number(1, 3), output);
    EinGraph& graph = program.graph;
    program.algebra.assign(graph.vertices.size(), Aggregation::sum);
    program.algebra.back() =
        random.pick({Aggregation::sum, Aggregation::sum_then_scale, Aggregation::pair});
    Vertex& last = graph.vertices.back();
    if (program.algebra.back() == Aggregation::pair) last.partial.bytes = 16;
    last.op.finishes = program.algebra.back() != Aggregation::sum || random.chance(50);
    const Extent parts_i = random.pick({1, 2, 4});
    const Extent parts_j = random.pick({1, 2});
    std::vector<PartitionVector> d;
    for (const Vertex& v : graph.vertices) {
      PartitionVector parts(v.labels.size(), 1);
      for (std::size_t l = 0; l < parts.size(); ++l) {
        const std::string_view label = graph.labels[at(v.labels[l])].name;
        if (label == "i" || label == "p") parts[l] = parts_i;
        if (label == "j" || label == "q") parts[l] = parts_j;
      }
      d.push_back(parts);
    }
    const int workers = static_cast<int>(parts_i * parts_j);
    const Placement placement = place(graph, d, eindecomp::make_mesh(workers));
    StepGroup group{random.number(4, 6), 7};
    for (const int position : {0, 1, 3}) {
      if (random.chance(40)) continue;
      StepAxis axis = along(graph, position, 1);
      const Extent extent = graph[4].extents[at(axis.positions.front())];
      axis.parts = random.number(1, static_cast<int>(extent));
      axis.positions.erase(axis.positions.begin(), axis.positions.begin() + group.first - 4);
      group.axes.push_back(axis);
    }
    const std::string fault = step_fault(graph, placement, group).str();
    if (!fault.empty()) {
      // Not added up, and combined from several workers; or calls of B are placed elsewhere.
      const bool expected = contains(fault, "not stored where it is computed") ||
                            contains(fault, "from other workers");
      CHECK_MESSAGE(expected, fault);
      continue;
    }
    const int ranks = random.pick({1, 2, 3, 8});
    const auto tasks = eindecomp::make_task_graph(graph, placement, ranks);
    const auto plain = eindecomp::compile_ranks(graph, placement, ranks);
    const auto stepped = eindecomp::compile_ranks(graph, placement, ranks, {group});
    check_run(program, stepped, tasks);
    const auto profile = eindecomp::relation::profile_of(graph, placement, ranks, {group}, {});
    const std::vector<std::int64_t> peaks = profile.memory().peak_bytes;
    for (int r = 0; r < ranks; ++r) {
      CHECK(eindecomp::compile_rank(graph, placement, ranks, r, {group}) == stepped[at(r)]);
      CHECK(peaks[at(r)] == stepped[at(r)].peak_bytes());
      CHECK(stepped[at(r)].turns == stepped[0].turns);
      CHECK(stepped[at(r)].result_bytes == plain[at(r)].result_bytes);
    }
    combined += eindecomp::relation::adds_blocks(graph, group) && workers > 1 ? 1 : 0;
  }
  CHECK(combined > 60);
}

TEST_CASE("a label may be added up by the last statement alone, and in no tiles") {
  const EinGraph graph = two_branches(6, 5, 4, 3, "c");
  std::vector<PartitionVector> uncut;
  for (const Vertex& v : graph.vertices) uncut.emplace_back(v.labels.size(), 1);
  const Placement placement = place(graph, uncut, eindecomp::make_mesh(1));
  const auto fault = [&](const StepGroup& group) {
    return step_fault(graph, placement, group).str();
  };
  StepGroup group{4, 7, {along(graph, 0, 2)}};
  CHECK(fault(group) == "");
  group.tiles = {{6, 7, {{{2, 2}, 1, 2}}}};
  CHECK(contains(fault(group), "statement 'E' adds blocks up, and is in no tiles"));
  group.tiles = {{4, 6, {{{3, 2, 2}, 1, 2}}}};
  CHECK(fault(group) == "");
  group.axes = {};
  group.tiles = {{6, 7, {{{0, 0}, 1, 2}}}};
  CHECK(contains(fault(group), "statement 'E' aggregates label 'i'"));
  CHECK(contains(fault({7, 7, {{{0}, 2}, {{2}, 2}}}), "statement 'E' aggregates label 'i'"));
  CHECK(contains(fault({4, 7, {{{2, -1, -1, -1}, 2}}}), "statement 'A' aggregates label 'e'"));
}
