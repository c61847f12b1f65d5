// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/plan/placed/quick_words.hpp"

#include <doctest/doctest.h>

#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/plan/placed/words_by_layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "plan/programs.hpp"
#include "relation/support.hpp"

using namespace relation_test;
using eindecomp::make_task_graph;
using eindecomp::plan::quick_words;

namespace {

/// The words of a placement whose workers are ranks of their own.
std::vector<Extent> words_by_worker(const EinGraph& graph, const Placement& placement) {
  return quick_words(graph, placement, placement.mesh.workers());
}

/// The words of accumulators, of all ranks.
Extent accumulator_words(const eindecomp::TaskGraph& tasks) {
  Extent words = 0;
  for (const auto& statement : tasks.statements) words += statement.aggregation_words;
  return words;
}

}  // namespace

TEST_CASE("quick words are those of the task graph") {
  const unsigned first_seed = 20250117;
  int moving = 0;
  for (unsigned i = 0; i < 4000; ++i) {
    const unsigned seed = first_seed + i;
    CAPTURE(seed);
    Random random(seed);
    RandomProgram program = random_program(random);
    const Mesh mesh = eindecomp::make_mesh(random.pick({1, 2, 4, 8, 16, 6, 12, 3, 5, 18}));
    const Placement placement = random_placement(random, program.graph, mesh);
    const auto words = words_by_worker(program.graph, placement);
    const auto tasks = make_task_graph(program.graph, placement, mesh.workers());
    CHECK(words == tasks.received);
    if (tasks.busiest_words() > 0) ++moving;
  }
  CHECK(moving > 2500);
}

TEST_CASE("quick words by rank are those of the task graph, however many workers share a rank") {
  const unsigned first_seed = 20250119;
  int moving = 0;
  int fewer = 0;
  for (unsigned i = 0; i < 3000; ++i) {
    const unsigned seed = first_seed + i;
    CAPTURE(seed);
    Random random(seed);
    RandomProgram program = random_program(random);
    const Mesh mesh = eindecomp::make_mesh(random.pick({2, 4, 8, 16, 6, 12, 3, 5, 18}));
    const int ranks = random.pick({1, 2, 3, 4, 5, 7, 8, 11, 24});
    CAPTURE(ranks);
    const Placement placement = random_placement(random, program.graph, mesh);
    const auto words = quick_words(program.graph, placement, ranks);
    const auto tasks = make_task_graph(program.graph, placement, ranks);
    CHECK(words == tasks.received);
    if (ranks >= mesh.workers()) continue;
    if (tasks.busiest_words() > 0) ++moving;
    const auto by_worker = words_by_worker(program.graph, placement);
    Extent all = 0;
    for (Extent w : by_worker) all += w;
    CHECK(tasks.total_words() <= all);
    if (tasks.total_words() < all) ++fewer;
  }
  CHECK(moving > 600);
  CHECK(fewer > 600);
}

TEST_CASE("quick words of masked calls are those of the task graph") {
  const unsigned first_seed = 20261127;
  int fewer = 0;
  int reduced = 0;
  for (unsigned i = 0; i < 3000; ++i) {
    const unsigned seed = first_seed + i;
    CAPTURE(seed);
    Random random(seed);
    RandomProgram program = random_program(random);
    const Mesh mesh = eindecomp::make_mesh(random.pick({2, 4, 8, 16, 6, 12, 3, 5, 18}));
    const int ranks = random.chance(50) ? mesh.workers() : random.pick({2, 3, 4, 5, 7});
    CAPTURE(ranks);
    const Placement placement = random_placement(random, program.graph, mesh);
    const auto unmasked = make_task_graph(program.graph, placement, ranks);
    add_masks(random, program.graph);
    const auto masked = make_task_graph(program.graph, placement, ranks);
    CHECK(quick_words(program.graph, placement, ranks) == masked.received);
    if (masked.total_words() < unmasked.total_words()) ++fewer;
    if (accumulator_words(masked) < accumulator_words(unmasked)) ++reduced;
    CHECK(masked.total_words() <= unmasked.total_words());
  }
  CHECK(fewer > 800);
  CHECK(reduced > 300);
}

TEST_CASE("overlapping windows that operands read of one tensor are received once") {
  using namespace eindecomp::labels;
  eindecomp::PlanProgram program;
  const auto x = program.input<float>("X", {7, 6});
  eindecomp::let<"Y">(i, j) = eindecomp::sum(k)(x(i, k) * x(j, eindecomp::periodic(k + 1)) -
                                                x(j, k) * x(i, eindecomp::periodic(k + 1)));
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Mesh mesh = eindecomp::make_mesh(random.pick({4, 6, 8, 12}));
    const int ranks = random.pick({2, 3, 5});
    const Placement placement = random_placement(random, program.graph(), mesh);
    CHECK(quick_words(program.graph(), placement, ranks) ==
          make_task_graph(program.graph(), placement, ranks).received);
  }
}

TEST_CASE("words of placements one after another, of which some tensors are placed as before") {
  eindecomp::PlanProgram windows;
  {
    using namespace eindecomp::labels;
    // Tensors alike that are read by the same calls at different indices.
    const auto x = windows.input<float>("X", {13, 10});
    const auto w = windows.input<float>("W", {13, 10});
    eindecomp::let<"Y">(i, j) = x(eindecomp::periodic(i + 4), j) * w(12 - i, j);
  }
  const unsigned first_seed = 20250120;
  for (unsigned i = 0; i < 300; ++i) {
    const unsigned seed = first_seed + i;
    CAPTURE(seed);
    Random random(seed);
    const EinGraph graph = i % 2 == 0 ? random_program(random).graph : windows.graph();
    const int ranks = random.pick({2, 3, 4, 6});
    eindecomp::plan::ProgramWords words(graph, ranks);
    eindecomp::plan::WordsByLayout layouts(graph, words, ranks);
    const Mesh mesh = eindecomp::make_mesh(random.pick({2, 4, 6, 12}));
    Placement placement = random_placement(random, graph, mesh);
    for (int change = 0; change < 12; ++change) {
      CAPTURE(change);
      CHECK(words.count(placement) == make_task_graph(graph, placement, ranks).received);
      const Placement other = random_placement(random, graph, mesh);
      const auto v = static_cast<std::size_t>(random.number(0, graph.size() - 1));
      const auto tensor = static_cast<eindecomp::VertexId>(v);
      layouts.set_calls(placement, tensor);
      for (const auto& stored : {placement.stored[v], other.stored[v], placement.stored[v]}) {
        Placement moved = placement;
        moved.stored[v] = stored;
        eindecomp::plan::ProgramWords anew(graph, ranks);
        (void)anew.count(moved);
        CHECK(layouts.of(tensor, stored) == anew.of(tensor));
      }
      if (change == 6) {  // another mesh: nothing is as before
        const Mesh new_mesh = eindecomp::make_mesh(random.pick({3, 8}));
        placement = random_placement(random, graph, new_mesh);
        CHECK(words.count(placement) == make_task_graph(graph, placement, ranks).received);
        placement = other;
      } else if (change % 3 == 0) {
        placement.stored[v] = other.stored[v];
      } else {
        placement.calls[v] = other.calls[v];
        placement.stored[v] = other.stored[v];
      }
    }
  }
}

TEST_CASE("quick words where all parts are even") {
  // Extents that every mesh below divides: the closed form.
  const unsigned first_seed = 20250118;
  for (unsigned i = 0; i < 1000; ++i) {
    const unsigned seed = first_seed + i;
    CAPTURE(seed);
    Random random(seed);
    EinGraph graph;
    const Extent n = random.pick<Extent>({16, 36, 48});
    const VertexId x = graph.add_input("X", {n, n}, {});
    const VertexId y = graph.add_input("Y", {n, n}, {});
    const VertexId z = add(graph, "Z", {{"ij", x}, {"jk", y}}, "ik");
    const VertexId t = add(graph, "T", {{"ik", z}, {"kl", random.pick({x, y, z})}}, "il");
    const VertexId u = add(graph, "U", {{"ii", t}, {"ij", z}, {"jl", z}}, "lj");
    add(graph, "V", {{"ab", u}, {"ba", z}, {"bb", t}}, "ba");
    const Mesh mesh = eindecomp::make_mesh(random.pick({2, 4, 8, 16, 6, 12, 18, 36}));
    const Placement placement = random_placement(random, graph, mesh);
    CHECK(words_by_worker(graph, placement) ==
          make_task_graph(graph, placement, mesh.workers()).received);
  }
}

TEST_CASE("quick words where the slowest axis is not the smallest") {
  for (unsigned seed = 1; seed <= 600; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const RandomProgram program = random_program(random);
    const Mesh mesh =
        random.pick<Mesh>({{{3, 2}}, {{3, 2, 2}}, {{2, 3, 2}}, {{5, 2, 2}}, {{7, 3}}, {{4, 2}}});
    const Placement placement = random_placement(random, program.graph, mesh);
    const int ranks = random.pick({mesh.workers(), mesh.workers() / 2});
    CHECK(quick_words(program.graph, placement, ranks) ==
          make_task_graph(program.graph, placement, ranks).received);
  }
}

TEST_CASE("quick words of many readers are counted once") {
  EinGraph graph;
  const VertexId x = graph.add_input("X", {12, 18}, {});
  for (const char* name : {"A", "B", "C", "D", "E", "F", "G"}) {
    add(graph, name, {{"ij", x}}, "ij");
  }
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Mesh mesh = eindecomp::make_mesh(random.pick({4, 6, 8, 12}));
    const Placement placement = random_placement(random, graph, mesh);
    CHECK(words_by_worker(graph, placement) ==
          make_task_graph(graph, placement, mesh.workers()).received);
  }
}

TEST_CASE("quick words of a large mesh") {
  const EinGraph graph = eindecomp_tests::matmul(4096, 4096, 4096);
  for (int p : {1024, 720, 509}) {
    const Mesh mesh = eindecomp::make_mesh(p);
    PartitionVector d{1, 1, 1};
    std::size_t l = 0;
    for (int axis : mesh.axes) d[l++ % 3] *= axis;
    const Placement placement = place(graph, {{}, {}, d}, mesh);
    CAPTURE(p);
    CHECK(words_by_worker(graph, placement) == make_task_graph(graph, placement, p).received);
  }
}
