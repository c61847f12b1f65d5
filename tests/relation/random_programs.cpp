// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/program_profile.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "simulation.hpp"
#include "support.hpp"

using namespace relation_test;

TEST_CASE("random programs run as planned, on any number of ranks") {
  const unsigned first_seed = 20240611;
  for (unsigned i = 0; i < 600; ++i) {
    const unsigned seed = first_seed + i;
    CAPTURE(seed);
    Random random(seed);
    const RandomProgram program = random_program(random);
    const Mesh mesh = eindecomp::make_mesh(random.pick({1, 2, 4, 8, 16, 6, 12}));
    const Placement placement = random_placement(random, program.graph, mesh);
    const int ranks = random.pick({1, 2, 3, 4, 5, 8, 16, 17});

    const auto tasks = eindecomp::make_task_graph(program.graph, placement, ranks);
    eindecomp::SpaceFacts facts{1, random_constants(random, program.graph)};
    if (i % 2 == 1) facts.longest_message = random.number(1, 64);
    const auto compiled = eindecomp::compile_ranks(program.graph, placement, ranks, {}, facts);
    check_run(program, compiled, tasks);
    CHECK(tasks.received == words_by_definition(program.graph, placement, ranks));
    for (int r = 0; r < ranks; ++r) {
      CHECK(eindecomp::compile_rank(program.graph, placement, ranks, r, {}, facts) ==
            compiled[at(r)]);
    }
  }
}

TEST_CASE("streamed statements give what they give whole, and move the same words") {
  const unsigned first_seed = 5501;
  int posted = 0;
  int smaller = 0;
  for (unsigned i = 0; i < 600; ++i) {
    const unsigned seed = first_seed + i;
    CAPTURE(seed);
    Random random(seed);
    const RandomProgram program = random_program(random);
    const EinGraph& graph = program.graph;
    const Mesh mesh = eindecomp::make_mesh(random.pick({2, 4, 8, 16, 6, 12}));
    const Placement placement = random_placement(random, graph, mesh);
    const int ranks = random.pick({1, 2, 3, 4, 5, 8, 16, 17});
    const auto groups = random_streams(random, graph);
    const eindecomp::SpaceFacts facts{random.number(0, 2), random_constants(random, graph),
                                      random.number(1, 40), random.number(1, 256)};
    const auto tasks = eindecomp::make_task_graph(graph, placement, ranks);
    const auto whole = eindecomp::compile_ranks(graph, placement, ranks, {}, facts);
    const auto streamed = eindecomp::compile_ranks(graph, placement, ranks, groups, facts);
    check_run(program, streamed, tasks);
    const auto profile =
        eindecomp::relation::profile_of(graph, placement, ranks, groups, facts.uninterrupted());
    for (int r = 0; r < ranks; ++r) {
      CHECK(eindecomp::compile_rank(graph, placement, ranks, r, groups, facts) == streamed[at(r)]);
      CHECK(profile.memory().peak_bytes[at(r)] == streamed[at(r)].peak_bytes());
      for (const auto& instruction : streamed[at(r)].instructions) {
        posted += instruction.as<eindecomp::Await>() != nullptr ? 1 : 0;
      }
      smaller += streamed[at(r)].arena_bytes < whole[at(r)].arena_bytes ? 1 : 0;
    }
  }
  CHECK(posted > 500);
  CHECK(smaller > 50);
}

TEST_CASE("long messages go in parts, and accumulators are combined part by part") {
  // Halves of j on two ranks: each sends the other half of C, 32 x 64 doubles of 512 bytes a row.
  const Mesh mesh = eindecomp::make_mesh(2);
  Placement placement;
  placement.mesh = mesh;
  placement.stored = {{{}, {0}}, {{0}, {}}, {{0}, {}}};
  placement.calls = {{}, {}, {{}, {0}, {}}};
  const auto program = [&](std::int64_t longest, const EinGraph& graph = matmul(64, 64, 8)) {
    eindecomp::SpaceFacts facts;
    facts.longest_message = longest;
    return eindecomp::compile_rank(graph, placement, 2, 0, {}, facts);
  };
  const auto messages = [](const eindecomp::RankProgram& p) {
    return std::ranges::count_if(p.instructions, [](const auto& instruction) {
      return instruction.template as<eindecomp::Receive>() != nullptr;
    });
  };
  const eindecomp::RankProgram whole = program(1 << 20);
  const eindecomp::RankProgram parts = program(4096);
  CHECK(messages(whole) == 1);
  CHECK(messages(parts) == 32 * 512 / 4096);
  // Accumulators of C and what has been received of the other's; then a fourth of that.
  CHECK(whole.arena_bytes == 64 * 512 + 32 * 512);
  CHECK(parts.arena_bytes == 64 * 512 + 4096);
  // Of 4 x 8 doubles 16 parts, where no dimension is as long.
  CHECK(messages(program(16, matmul(8, 8, 8))) == 16);
}

TEST_CASE("of a message of more parts than a round has, all are about as long") {
  // From each of the other rank's four workers a piece of its 32 rows, half of their columns.
  EinGraph graph;
  const VertexId x = graph.add_input("X", {256, 256}, {});
  add(graph, "Z", {{"ij", x}}, "i");
  const eindecomp::PlaceOptions rows{{{x, {8, 1}}}};
  const Placement placement = place(graph, {{}, {1, 8}}, eindecomp::make_mesh(8, 2), rows);
  eindecomp::SpaceFacts facts;
  facts.longest_message = 64;
  Extent most = 0;
  Extent all = 0;
  const auto program = eindecomp::compile_rank(graph, placement, 2, 0, {}, facts);
  for (const auto& instruction : program.instructions) {
    if (const auto* receive = instruction.as<eindecomp::Receive>()) {
      most = std::max(most, receive->words);
      all += receive->words;
    }
  }
  CHECK(all >= 4 * 32 * 128);
  CHECK(most * 1024 <= 2 * all);
}

TEST_CASE("calls that are interrupted for messages are cut into pieces as wide as they are high") {
  // Half of the rows of Z on each of two ranks. Y comes in panels of 4 rows.
  const EinGraph graph = matmul(96, 48, 16);
  const Vertex& product = graph[2];
  const Mesh mesh = eindecomp::make_mesh(2);
  Placement placement;
  placement.mesh = mesh;
  placement.stored = {{{0}, {}}, {{0}, {}}, {{0}, {}}};
  placement.calls = {{}, {}, std::vector<std::vector<int>>(3)};
  placement.calls[2][at(product.output[0])] = {0};
  const eindecomp::StepGroup streamed{2, 2, {{product.aggregated, 4}}};
  // A panel is 48 x 48 x 4 joins, 9 times as many.
  const eindecomp::SpaceFacts facts{.operations_between_polls = 48 * 48 * 4 / 9};
  const auto program = eindecomp::compile_rank(graph, placement, 2, 0, {streamed}, facts);
  std::vector<Extent> sides;
  for (const auto& instruction : program.instructions) {
    const auto* const call = instruction.as<eindecomp::KernelCall>();
    if (call == nullptr) continue;
    sides.push_back(call->domain.extent(product.output[0]));
    CHECK(call->domain.extent(product.output[1]) == sides.back());
    CHECK(call->domain.extent(product.aggregated[0]) == 4);
  }
  // While the fourth is computed nothing is under way.
  std::vector<Extent> expected(27, 16);
  expected.push_back(48);
  CHECK(sides == expected);
}
