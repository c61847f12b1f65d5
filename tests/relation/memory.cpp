// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/relation/memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "support.hpp"

using namespace eindecomp;
using namespace relation_test;

namespace {

/// The bytes of every byte of a rank's memory that something lies in during a stage.
std::int64_t occupied(const EinGraph& graph, const RankProgram& program, std::size_t first,
                      std::size_t last) {
  std::int64_t bytes = 0;
  for (const Buffer& b : program.buffers) {
    const bool lives = at(b.first) <= first && last <= at(b.last);
    if (b.role != Buffer::Role::scratch || lives) bytes += b.bytes;
  }
  for (std::size_t i = first; i <= last; ++i) {
    const Message* const message = program.instructions[i].message();
    if (message == nullptr || message->staging < 0) continue;
    for (const Region& region : message->regions) {
      const Buffer& b = program.buffers[at(region.buffer)];
      const Vertex& v = graph[b.tensor];
      bytes += region.box.size() * (b.partial ? v.partial.bytes : v.element.bytes);
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("the bytes of every instruction are those of what lies in memory") {
  for (unsigned seed = 500; seed < 600; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const EinGraph graph = random_program(random).graph;
    const Mesh mesh = make_mesh(random.pick({1, 2, 4, 8, 6, 12}));
    const Placement placement = random_placement(random, graph, mesh);
    const std::vector<RankProgram> programs =
        compile_ranks(graph, placement, random.pick({1, 2, 3, 4, 8, 13}));
    std::int64_t most = 0;
    for (const RankProgram& program : programs) {
      const std::vector<std::int64_t> bytes = bytes_by_instruction(program);
      REQUIRE(bytes.size() == program.instructions.size());
      for_each_stage(program, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i <= last; ++i) {
          REQUIRE(bytes[i] == occupied(graph, program, first, last));
          REQUIRE(bytes[i] <= program.peak_bytes());
        }
      });
      most = std::max(most, program.peak_bytes());
    }
    const MemoryPeak peak = memory_peak(programs);
    REQUIRE(peak.bytes == most);
    const RankProgram& where = programs.at(at(peak.rank));
    REQUIRE(where.peak_bytes() == most);
    if (where.instructions.empty()) continue;
    const std::vector<std::int64_t> bytes = bytes_by_instruction(where);
    const auto busiest = std::ranges::max_element(bytes);
    REQUIRE(where.instructions[static_cast<std::size_t>(busiest - bytes.begin())].statement ==
            peak.statement);
  }
}

TEST_CASE("where nothing runs nothing is held for a statement") {
  EinGraph graph;
  graph.add_input("X", {8, 8}, {});
  const Placement placement = place(graph, {{}}, make_mesh(2));
  const MemoryPeak peak = memory_peak(compile_ranks(graph, placement, 2));
  CHECK(peak.bytes == 8 * 8 * 8 / 2);
  CHECK(peak.statement == -1);
  CHECK(memory_peak({}).bytes == 0);
}
