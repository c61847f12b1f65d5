// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/mesh.hpp"
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
    const eindecomp::SpaceFacts facts{1, random_constants(random, program.graph)};
    const auto compiled = eindecomp::compile_ranks(program.graph, placement, ranks, {}, facts);
    check_run(program, compiled, tasks);
    CHECK(tasks.received == words_by_definition(program.graph, placement, ranks));
    for (int r = 0; r < ranks; ++r) {
      CHECK(eindecomp::compile_rank(program.graph, placement, ranks, r, {}, facts) ==
            compiled[at(r)]);
    }
  }
}
