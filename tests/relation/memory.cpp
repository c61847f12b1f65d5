// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/relation/memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eindecomp/relation/make_schedule.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "support.hpp"

using namespace eindecomp;
using namespace relation_test;

namespace {

/// The bytes of every byte of a rank's memory that something lies in during a step.
std::int64_t occupied(const EinGraph& graph, const RankSchedule& schedule, std::size_t s) {
  const int step = static_cast<int>(s);
  std::int64_t bytes = 0;
  for (const Buffer& b : schedule.buffers) {
    if (b.role != Buffer::Role::scratch || (b.first <= step && step <= b.last)) bytes += b.bytes;
  }
  const Step& messages = schedule.steps[s];
  for (const auto* list :
       {&messages.receives, &messages.sends, &messages.partial_receives, &messages.partial_sends}) {
    for (const Message& m : *list) {
      for (const Region& region : m.regions) {
        const Buffer& b = schedule.buffers[at(region.buffer)];
        const Vertex& v = graph[b.tensor];
        bytes += region.box.size() * (b.partial ? v.partial.bytes : v.element.bytes);
      }
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("the bytes of every step are those of what lies in memory") {
  for (unsigned seed = 500; seed < 600; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const EinGraph graph = random_program(random).graph;
    const Mesh mesh = make_mesh(random.pick({1, 2, 4, 8, 6, 12}));
    const Placement placement = random_placement(random, graph, mesh);
    const std::vector<RankSchedule> schedules =
        make_schedules(graph, placement, random.pick({1, 2, 3, 4, 8, 13}));
    std::int64_t most = 0;
    for (const RankSchedule& schedule : schedules) {
      const std::vector<std::int64_t> bytes = bytes_by_step(graph, schedule);
      REQUIRE(bytes.size() == schedule.steps.size());
      for (std::size_t s = 0; s < bytes.size(); ++s) {
        REQUIRE(bytes[s] == occupied(graph, schedule, s));
        REQUIRE(bytes[s] <= schedule.peak_bytes());
      }
      most = std::max(most, schedule.peak_bytes());
    }
    const MemoryPeak peak = memory_peak(graph, schedules);
    REQUIRE(peak.bytes == most);
    const RankSchedule& where = schedules.at(at(peak.rank));
    REQUIRE(where.peak_bytes() == most);
    const std::vector<std::int64_t> bytes = bytes_by_step(graph, where);
    const auto step = std::ranges::find(where.steps, peak.statement, &Step::statement);
    REQUIRE(step != where.steps.end());
    REQUIRE(bytes[static_cast<std::size_t>(step - where.steps.begin())] ==
            *std::ranges::max_element(bytes));
  }
}

TEST_CASE("where nothing runs nothing is held for a statement") {
  EinGraph graph;
  graph.add_input("X", {8, 8}, {});
  const Placement placement = place(graph, {{}}, make_mesh(2));
  const MemoryPeak peak = memory_peak(graph, make_schedules(graph, placement, 2));
  CHECK(peak.bytes == 8 * 8 * 8 / 2);
  CHECK(peak.statement == -1);
  CHECK(memory_peak(graph, {}).bytes == 0);
}
