// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/relation/schedule.hpp"

#include <doctest/doctest.h>

#include "eindecomp/relation/arena.hpp"
#include "eindecomp/relation/make_schedule.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "support.hpp"

using namespace eindecomp;
using relation_test::add;
using relation_test::at;
using relation_test::contains;
using relation_test::matmul;
using relation_test::message_of;

TEST_CASE("the arena fills the lowest gap and joins neighbours") {
  Arena arena;
  CHECK(arena.allocate(100) == 0);
  CHECK(arena.allocate(64) == 128);
  CHECK(arena.allocate(1) == 192);
  CHECK(arena.peak() == 256);
  CHECK(arena.allocate(0) == 256);  // and takes no room
  CHECK(arena.peak() == 256);
  arena.release(0, 100);
  CHECK(arena.allocate(129) == 256);
  CHECK(arena.allocate(64) == 0);
  CHECK(arena.allocate(60) == 64);
  arena.release(128, 64);
  arena.release(64, 60);
  CHECK(arena.allocate(128) == 64);
  // A gap at the end grows.
  arena.release(256, 129);
  CHECK(arena.allocate(256) == 256);
  CHECK(arena.peak() == 512);
}

TEST_CASE("one worker: operands in place, final elements straight into the result") {
  EinGraph graph = matmul(8, 8, 8);
  add(graph, "R", {{"ik", 2}}, "ik");
  const Placement placement = place(graph, {{}, {}, {1, 1, 1}, {1, 1}}, make_mesh(1));
  const RankSchedule s = make_schedule(graph, placement, 1, 0);
  REQUIRE(s.buffers.size() == 4);
  REQUIRE(s.steps.size() == 2);
  CHECK(s.buffers[0].role == Buffer::Role::input);
  CHECK(s.buffers[2].role == Buffer::Role::scratch);
  CHECK(s.buffers[2].first == 0);
  CHECK(s.buffers[2].last == 1);
  CHECK(s.buffers[3].role == Buffer::Role::result);
  REQUIRE(s.steps[0].calls.size() == 1);
  CHECK(s.steps[0].calls[0] == KernelCall{{{0, 0, 0}, {8, 8, 8}}, {0, 1}, 2, false, true});
  CHECK(s.steps[1].calls[0] == KernelCall{{{0, 0}, {8, 8}}, {2}, 3, false, true});
  for (const Step& step : s.steps) {
    CHECK(step.copies.empty());
    CHECK(step.receives.empty());
    CHECK(step.aggregations.empty());
  }
  CHECK(s.arena_bytes == 512);
  CHECK(s.result_bytes == 512);
  CHECK(s.input_bytes == 1024);
  CHECK(s.peak_bytes() == 2048);
}

TEST_CASE("a kept intermediate is a result") {
  EinGraph graph = matmul(8, 8, 8);
  add(graph, "R", {{"ik", 2}}, "ik");
  graph.vertices[2].kept = true;
  const Placement placement = place(graph, {{}, {}, {1, 1, 1}, {1, 1}}, make_mesh(1));
  const RankSchedule s = make_schedule(graph, placement, 1, 0);
  CHECK(s.arena_bytes == 0);
  CHECK(s.result_bytes == 1024);
}

TEST_CASE("several calls of a group on one rank accumulate, and nothing is sent") {
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement = place(graph, {{}, {}, {1, 4, 1}}, make_mesh(4));
  const RankSchedule s = make_schedule(graph, placement, 1, 0);
  const Step& step = s.steps[0];
  REQUIRE(step.calls.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(step.calls[i].accumulate == (i > 0));
    CHECK_FALSE(step.calls[i].finish);
    CHECK(step.calls[i].output == step.calls[0].output);
  }
  CHECK(step.receives.empty());
  CHECK(step.partial_receives.empty());
  CHECK(step.aggregations.size() == 4);  // one per stored block
  CHECK(s.arena_bytes == 512);           // the accumulators
}

TEST_CASE("what was assembled for one statement is read in place by the next") {
  EinGraph graph = matmul(8, 8, 8);
  add(graph, "C", {{"jk", 1}}, "j");
  add(graph, "D", {{"jk", 1}}, "k");
  const Placement placement = place(graph, {{}, {}, {4, 1, 1}, {4, 1}, {1, 4}}, make_mesh(4));
  const RankSchedule s = make_schedule(graph, placement, 4, 2);
  const int whole = s.steps[0].calls.at(0).operands.at(1);
  CHECK(s.buffers[at(whole)].box == Box::whole({8, 8}));
  CHECK(s.buffers[at(whole)].first == 0);
  CHECK(s.buffers[at(whole)].last == 2);
  for (const std::size_t step : {std::size_t{1}, std::size_t{2}}) {
    CHECK(s.steps[step].calls.at(0).operands == std::vector<int>{whole});
    CHECK(s.steps[step].copies.empty());
    CHECK(s.steps[step].receives.empty());
  }
}

TEST_CASE("one message per tensor and peer, and staging for all of them at once") {
  // Two workers a rank, each with its own block of Y to gather.
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement = place(graph, {{}, {}, {8, 1, 1}}, make_mesh(8));
  const RankSchedule s = make_schedule(graph, placement, 4, 1);
  const Step& step = s.steps[0];
  REQUIRE(step.receives.size() == 3);
  REQUIRE(step.sends.size() == 3);
  for (const Message& m : step.receives) {
    CHECK(m.words == 16);
    CHECK(m.regions.size() == 2);
  }
  CHECK(step.copies.size() == 2);
  // All of Y assembled once for both calls, and six messages of 16 elements.
  CHECK(s.arena_bytes == 512 + 6 * 128);
}

TEST_CASE("every rank sends to the next one first and receives from the previous one first") {
  // Y and then V are gathered, one statement after another; W and U at once.
  EinGraph graph = matmul(8, 8, 8);
  const VertexId u = graph.add_input("U", {8, 8}, {});
  const VertexId w = graph.add_input("W", {8, 8}, {});
  add(graph, "T", {{"ij", 0}, {"jk", w}, {"kl", u}}, "il");
  const Placement placement = place(graph, {{}, {}, {4, 1, 1}, {}, {}, {4, 1, 1, 1}}, make_mesh(4));
  const auto order = [](const RankSchedule& s, const std::vector<Message>& messages) {
    std::vector<std::pair<int, VertexId>> found;
    for (const Message& m : messages) {
      found.emplace_back(m.peer, s.buffers[at(m.regions.at(0).buffer)].tensor);
    }
    return found;
  };
  using Order = std::vector<std::pair<int, VertexId>>;
  const RankSchedule one = make_schedule(graph, placement, 4, 1);
  CHECK(order(one, one.steps[0].sends) == Order{{2, 1}, {3, 1}, {0, 1}});
  CHECK(order(one, one.steps[0].receives) == Order{{0, 1}, {3, 1}, {2, 1}});
  CHECK(order(one, one.steps[1].sends) == Order{{2, u}, {2, w}, {3, u}, {3, w}, {0, u}, {0, w}});
  CHECK(order(one, one.steps[1].receives) == Order{{0, u}, {0, w}, {3, u}, {3, w}, {2, u}, {2, w}});
  const RankSchedule last = make_schedule(graph, placement, 4, 3);
  CHECK(order(last, last.steps[0].sends) == Order{{0, 1}, {1, 1}, {2, 1}});
  // Partial results likewise.
  const EinGraph product = matmul(8, 8, 8);
  const RankSchedule summed =
      make_schedule(product, place(product, {{}, {}, {1, 4, 1}}, make_mesh(4)), 4, 2);
  CHECK(order(summed, summed.steps[0].partial_sends) == Order{{3, 2}, {0, 2}, {1, 2}});
  CHECK(order(summed, summed.steps[0].partial_receives) == Order{{1, 2}, {0, 2}, {3, 2}});
}

TEST_CASE("messages between two ranks come in one order on both") {
  relation_test::Random random(2024);
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    const auto program = relation_test::random_program(random);
    const Mesh mesh = make_mesh(random.pick({4, 8, 16}));
    const Placement placement = relation_test::random_placement(random, program.graph, mesh);
    const int ranks = random.pick({2, 4, 5});
    const auto schedules = make_schedules(program.graph, placement, ranks);
    const auto boxes = [&](std::size_t s, auto list, int owner, int peer) {
      std::vector<std::pair<VertexId, Box>> found;
      const RankSchedule& schedule = schedules[at(owner)];
      for (const Message& m : schedule.steps[s].*list) {
        if (m.peer != peer) continue;
        found.emplace_back(-1, Box{});  // where a message starts
        for (const Region& r : m.regions) {
          found.emplace_back(schedule.buffers[at(r.buffer)].tensor, r.box);
        }
      }
      return found;
    };
    for (std::size_t s = 0; s < schedules[0].steps.size(); ++s) {
      for (int a = 0; a < ranks; ++a) {
        for (int b = 0; b < ranks; ++b) {
          CHECK(boxes(s, &Step::sends, a, b) == boxes(s, &Step::receives, b, a));
          CHECK(boxes(s, &Step::partial_sends, a, b) == boxes(s, &Step::partial_receives, b, a));
        }
      }
    }
  }
}

TEST_CASE("memory of an intermediate is reused after its last reader") {
  EinGraph graph;
  VertexId x = graph.add_input("X", {64}, {});
  for (int i = 0; i < 6; ++i) x = add(graph, "S", {{"i", x}}, "i");
  std::vector<PartitionVector> partitions(7, PartitionVector{1});
  partitions[0].clear();
  const Placement placement = place(graph, partitions, make_mesh(1));
  CHECK(make_schedule(graph, placement, 1, 0).arena_bytes == 2 * 512);
}

TEST_CASE("a rank without workers has steps and nothing in them") {
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement = place(graph, {{}, {}, {2, 1, 1}}, make_mesh(2));
  const RankSchedule s = make_schedule(graph, placement, 3, 2);
  CHECK(s.buffers.empty());
  REQUIRE(s.steps.size() == 1);
  CHECK(s.steps[0].calls.empty());
  CHECK(s.peak_bytes() == 0);
}

TEST_CASE("schedules of many ranks, some at a time, are those made together and one by one") {
  relation_test::Random random(1024);
  for (const int ranks : {3, 64, 65, 150}) {
    CAPTURE(ranks);
    const auto program = relation_test::random_program(random);
    const Placement placement =
        relation_test::random_placement(random, program.graph, make_mesh(256));
    const auto together = make_schedules(program.graph, placement, ranks);
    std::vector<RankSchedule> apart;
    for_each_schedule(program.graph, placement, ranks, {},
                      [&](const RankSchedule& schedule) { apart.push_back(schedule); });
    CHECK(apart == together);
    CHECK(make_schedule(program.graph, placement, ranks, ranks - 1) == together.back());
  }
}

TEST_CASE("no schedule for a rank that does not exist") {
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement = place(graph, {{}, {}, {2, 1, 1}}, make_mesh(2));
  const auto refusal = [&](int ranks, int rank) {
    return message_of([&] { (void)make_schedule(graph, placement, ranks, rank); });
  };
  CHECK(contains(refusal(2, 2), "a schedule for rank 2 of 2"));
  CHECK(contains(refusal(2, -1), "a schedule for rank -1 of 2"));
  CHECK(contains(refusal(0, 0), "a schedule for 0 ranks"));
  CHECK(contains(message_of([&] { (void)make_schedules(graph, placement, -1); }), "for -1 ranks"));
  const auto unused = [](const RankSchedule&) { FAIL("called before the arguments are checked"); };
  CHECK(contains(message_of([&] { for_each_schedule(graph, placement, 0, {}, unused); }),
                 "for 0 ranks"));
  CHECK(contains(message_of([&] { for_each_schedule(graph, Placement{}, 1, {}, unused); }),
                 "belongs to another graph"));
  CHECK(contains(message_of([&] { (void)make_schedule(graph, Placement{}, 1, 0); }),
                 "belongs to another graph"));
}
