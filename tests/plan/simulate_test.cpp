// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/simulate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/in_turn_seconds.hpp"
#include "eindecomp/relation/make_profile.hpp"
#include "eindecomp/relation/program_profile.hpp"
#include "plan/programs.hpp"
#include "plan/random_graph.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

using Kind = Event::Kind;

/// Two workers that do 256 operations in a second and send 256 bytes in one, half a second late.
Machine pair_of_workers() {
  return {.operations_per_second = 256, .axes = {{.size = 2, .latency = 0.5, .bandwidth = 256}}};
}

std::vector<Event> events_of(const std::vector<Event>& events, Kind kind) {
  std::vector<Event> found;
  for (const Event& e : events) {
    if (e.kind == kind) found.push_back(e);
  }
  return found;
}

/// Peer, tensor and words, message by message.
using Messages = std::vector<std::tuple<int, VertexId, Extent>>;
Messages messages_of(const std::vector<Event>& events, Kind kind) {
  Messages found;
  for (const Event& e : events_of(events, kind)) found.emplace_back(e.peer, e.tensor, e.words);
  return found;
}

/// Whether each event begins when or after the one before it ends.
bool one_after_another(const std::vector<Event>& events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].end < events[i].begin) return false;
    if (i > 0 && events[i].begin < events[i - 1].end) return false;
  }
  return true;
}

/// Checks one timeline against the programs and the task graph it stands for.
void check_timeline(const Plan& plan, const Timeline& timeline) {
  const TaskGraph tasks = plan.tasks();
  const std::vector<RankProgram> programs =
      compile_ranks(plan.graph, plan.placement, plan.ranks, plan.steps);
  REQUIRE(timeline.events.size() == static_cast<std::size_t>(plan.ranks));
  std::map<std::pair<int, int>, Extent> sent;
  std::map<std::pair<int, int>, Extent> received;
  double last = 0;
  for (std::size_t r = 0; r < timeline.events.size(); ++r) {
    const int rank = static_cast<int>(r);
    const std::vector<Event>& events = timeline.events[r];
    std::vector<Event> computed;
    for (const Event& e : events) {
      if (e.computes()) computed.push_back(e);
      last = std::max(last, e.end);
      if (e.kind == Kind::send) sent[{rank, e.peer}] += e.words;
      if (e.kind == Kind::receive) received[{e.peer, rank}] += e.words;
      if (e.kind != Kind::send) continue;
      const std::vector<Event>& there = timeline.events[static_cast<std::size_t>(e.peer)];
      REQUIRE(std::count_if(there.begin(), there.end(), [&](const Event& other) {
                return other.kind == Kind::receive && other.peer == rank &&
                       other.tensor == e.tensor && other.statement == e.statement &&
                       other.words == e.words && other.begin == e.begin && other.end == e.end;
              }) == 1);
    }
    REQUIRE(one_after_another(computed));
    REQUIRE(one_after_another(events_of(events, Kind::send)));
    REQUIRE(one_after_another(events_of(events, Kind::receive)));

    // The messages and calls are the program's, in its order.
    Messages sends;
    Messages receives;
    std::vector<VertexId> expected;
    for (const Instruction& i : programs[r].instructions) {
      if (i.as<KernelCall>() != nullptr) expected.push_back(i.statement);
      if (i.message() == nullptr) continue;
      const int buffer = i.message()->regions.front().buffer;
      (i.as<Send>() != nullptr ? sends : receives)
          .push_back({i.message()->peer,
                      programs[r].buffers[static_cast<std::size_t>(buffer)].tensor,
                      i.message()->words});
    }
    REQUIRE(messages_of(events, Kind::send) == sends);
    REQUIRE(messages_of(events, Kind::receive) == receives);
    std::vector<VertexId> called;
    for (const Event& e : events_of(events, Kind::call)) called.push_back(e.statement);
    REQUIRE(called == expected);

    for (const Event& e : events) {
      for (const Event& before : events) {
        // A call waits for its statement's operands where the rank has one call.
        if (e.kind == Kind::call && before.kind == Kind::receive && plan.ranks >= plan.workers &&
            before.statement == e.statement && before.tensor != e.statement) {
          REQUIRE(before.end <= e.begin);
        }
        // What is sent has been made, or received before to be combined.
        if (e.kind == Kind::send && before.tensor == e.tensor && before.computes() &&
            before.kind != Kind::copy && before.statement == e.tensor && e.statement != e.tensor) {
          REQUIRE(before.end <= e.begin);
        }
        if (e.kind == Kind::aggregate && before.kind == Kind::call && plan.ranks >= plan.workers &&
            before.statement == e.statement) {
          REQUIRE(before.end <= e.begin);
        }
      }
    }
  }
  REQUIRE(timeline.seconds == last);
  REQUIRE(sent == received);
  std::map<std::pair<int, int>, Extent> planned;
  for (const PairWords& pair : tasks.pairs) planned[{pair.from, pair.to}] = pair.words;
  REQUIRE(sent == planned);

  REQUIRE(timeline.statements.size() == tasks.statements.size());
  double sum = 0;
  for (std::size_t s = 0; s < timeline.statements.size(); ++s) {
    const StatementTime& time = timeline.statements[s];
    REQUIRE(time.statement == tasks.statements[s].statement);
    REQUIRE(time.begin <= time.end);
    REQUIRE(time.transfers <= timeline.seconds);
    REQUIRE(time.kernels <= timeline.seconds);
    REQUIRE(time.adds >= 0);
    sum += time.adds;
  }
  REQUIRE(sum == doctest::Approx(timeline.seconds));
}

}  // namespace

TEST_CASE("an operand that is gathered, by hand") {
  // Each worker has half of X's rows and half of Y's, and needs all of Y: 32 words of 8 bytes come,
  // 1.5 s; then 4 · 8 · 8 operations, 1 s.
  const Plan plan = decompose(matmul(8, 8, 8), {.workers = 2,
                                                .strategy = "by_hand",
                                                .by_hand = {{"Z", {{"i", 2}}}},
                                                .layouts = {{"X", {2, 1}}, {"Y", {2, 1}}}});
  const Simulation simulation = simulate(plan, pair_of_workers());
  CHECK(simulation.in_turn.seconds == 2.5);
  CHECK(simulation.overlapped.seconds == 2.5);
  for (const std::vector<Event>& events : simulation.in_turn.events) {
    const std::vector<Event> received = events_of(events, Kind::receive);
    REQUIRE(received.size() == 1);
    CHECK(received[0].begin == 0);
    CHECK(received[0].end == 1.5);
    CHECK(received[0].words == 32);
    const std::vector<Event> called = events_of(events, Kind::call);
    REQUIRE(called.size() == 1);
    CHECK(called[0].begin == 1.5);
    CHECK(called[0].end == 2.5);
  }
  const StatementTime& time = simulation.in_turn.statements.at(0);
  CHECK(time.adds == 2.5);
  CHECK(time.transfers == 1.5);
  CHECK(time.kernels == 1);
  CHECK(simulation.pairs == std::vector<PairWords>{{0, 1, 32}, {1, 0, 32}});
  CHECK(simulation.peak_bytes == plan.peak_bytes());
}

TEST_CASE("results that are aggregated, by hand") {
  // Half of the products each, 1 s; half of the 8 x 8 accumulators to the other, 1.5 s; 32 sums.
  const Plan plan = decompose(matmul(8, 8, 8), {.workers = 2,
                                                .strategy = "by_hand",
                                                .by_hand = {{"Z", {{"j", 2}}}},
                                                .layouts = {{"X", {1, 2}}, {"Y", {2, 1}}}});
  const Simulation simulation = simulate(plan, pair_of_workers());
  CHECK(simulation.in_turn.seconds == 2.625);
  CHECK(simulation.overlapped.seconds == 2.625);
}

TEST_CASE("memory is what a kernel waits for, by hand") {
  // 32 words of X, 64 of Y, 32 of Z: 1024 bytes at 512 in a second, longer than 1 s of operations.
  // The 32 words of Y that the worker has are copied beside those that come: 512 bytes, 1 s.
  Machine machine = pair_of_workers();
  machine.memory_bandwidth = 512;
  const Plan plan = decompose(matmul(8, 8, 8), {.workers = 2,
                                                .strategy = "by_hand",
                                                .by_hand = {{"Z", {{"i", 2}}}},
                                                .layouts = {{"X", {2, 1}}, {"Y", {2, 1}}}});
  const Simulation simulation = simulate(plan, machine);
  CHECK(simulation.in_turn.seconds == 1.5 + 1 + 2);
  CHECK(simulation.overlapped.seconds == 1.5 + 2);  // copied meanwhile
}

TEST_CASE("transfers run while kernels do, by hand") {
  // R: 256 operations on each worker's own rows of X, 1 s. Z: all of Y, 1.5 s; 1 s.
  EinGraph graph;
  const VertexId x = input(graph, "X", {32, 16});
  const VertexId y = input(graph, "Y", {16, 4});
  const VertexId r = write(graph, "R", "ij->ij", {x});
  write(graph, "Z", "ij,jk->ik", {r, y});
  const Plan plan = decompose(graph, {.workers = 2,
                                      .strategy = "by_hand",
                                      .by_hand = {{"R", {{"i", 2}}}, {"Z", {{"i", 2}}}},
                                      .layouts = {{"X", {2, 1}}, {"Y", {2, 1}}}});
  // 32 words of Y come; 16 · 16 · 4 operations take 4 s.
  const Simulation simulation = simulate(plan, pair_of_workers());
  CHECK(simulation.in_turn.seconds == 1 + 1.5 + 4);
  CHECK(simulation.overlapped.seconds == 1.5 + 4);
  CHECK(simulation.in_turn.statements.at(0).adds == 1);
  CHECK(simulation.in_turn.statements.at(1).adds == 5.5);
}

TEST_CASE("messages of a streamed statement move while kernels run, by hand") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {32, 16});
  const VertexId y = input(graph, "Y", {16, 4});
  write(graph, "Z", "ij,jk->ik", {x, y});
  const Plan plan = decompose(graph, {.workers = 2,
                                      .strategy = "by_hand",
                                      .by_hand = {{"Z", {{"i", 2}}}},
                                      .layouts = {{"X", {2, 1}}, {"Y", {2, 1}}},
                                      .steps = {{"Z", "Z", {{"j", 2}}}}});
  // Of each panel 16 words of Y come in 1 s, and take 16 · 8 · 4 operations, 2 s.
  const Simulation simulation = simulate(plan, pair_of_workers());
  CHECK(simulation.in_turn.seconds == 1 + 1 + 2 + 2);
  CHECK(simulation.as_run.seconds == 1 + 2 + 2);
  CHECK(simulation.overlapped.seconds == 1 + 2 + 2);
  CHECK(simulation.pairs == simulate(decompose(graph, {.workers = 2,
                                                       .strategy = "by_hand",
                                                       .by_hand = {{"Z", {{"i", 2}}}},
                                                       .layouts = {{"X", {2, 1}}, {"Y", {2, 1}}}}),
                                     pair_of_workers())
                                .pairs);
}

TEST_CASE("statements that run in steps, by hand") {
  // Half of R's 512 elements on each worker, then S of the same, 64 rows at a time.
  EinGraph graph;
  const VertexId x = input(graph, "X", {256, 2});
  const VertexId r = write(graph, "R", "ij->ij", {x});
  write(graph, "S", "ij->ij", {r});
  const Plan plan = decompose(graph, {.workers = 2,
                                      .strategy = "by_hand",
                                      .by_hand = {{"R", {{"i", 2}}}, {"S", {{"i", 2}}}},
                                      .steps = {{"R", "S", {{"i", 2}}}}});
  const Simulation simulation = simulate(plan, pair_of_workers());
  check_timeline(plan, simulation.in_turn);
  CHECK(simulation.in_turn.seconds == 2);
  REQUIRE(simulation.in_turn.statements.size() == 2);
  CHECK(simulation.in_turn.statements[0].begin == 0);
  CHECK(simulation.in_turn.statements[0].end == 1.5);
  CHECK(simulation.in_turn.statements[0].kernels == 1);
  CHECK(simulation.in_turn.statements[1].begin == 0.5);
  CHECK(simulation.in_turn.statements[1].end == 2);
  CHECK(simulation.in_turn.statements[1].adds == 1);
  std::vector<VertexId> order;
  for (const Event& e : simulation.in_turn.events[1]) order.push_back(e.statement);
  CHECK(order == std::vector<VertexId>{1, 2, 1, 2});
}

TEST_CASE("a gather crosses the slow links first, by hand") {
  // Y's quarters, 128 bytes, go to everybody: first between pairs, 2 s; then half of Y, 256 bytes,
  // within each pair, 2 s more.
  const Machine machine{.operations_per_second = 128,
                        .axes = {{.size = 2, .bandwidth = 64}, {.size = 2, .bandwidth = 128}}};
  const Plan plan = decompose(matmul(8, 8, 8), {.workers = 4,
                                                .strategy = "by_hand",
                                                .by_hand = {{"Z", {{"i", 4}}}},
                                                .layouts = {{"X", {4, 1}}, {"Y", {4, 1}}}});
  const Simulation simulation = simulate(plan, machine);
  const std::vector<Event> sent = events_of(simulation.in_turn.events[0], Kind::send);
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].peer == 2);
  CHECK(sent[0].end == 2);
  CHECK(sent[1].peer == 1);
  CHECK(sent[1].begin == 2);
  CHECK(sent[1].end == 4);
  CHECK(simulation.in_turn.seconds == 5);
  CHECK(simulation.in_turn.statements.at(0).transfers == 4);
}

TEST_CASE("timelines keep to the order of random programs") {
  const unsigned seed = 20261;
  std::mt19937 random(seed);
  CAPTURE(seed);
  for (int round = 0; round < 120; ++round) {
    CAPTURE(round);
    const EinGraph graph = random_graph(random, false);
    const int workers = 1 << draw(random, 0, 3);
    const int ranks = draw(random, 0, 1) == 0 ? workers : draw(random, 1, 9);
    Machine machine{.operations_per_second = draw(random, 1, 1000) * 1e3,
                    .memory_bandwidth = draw(random, 0, 2) * 1e4,
                    .axes = {{.size = 3, .latency = draw(random, 0, 9) * 1e-3, .bandwidth = 1e4},
                             {.size = 3, .latency = draw(random, 0, 9) * 1e-4, .bandwidth = 1e5}}};
    const char* const strategy = draw(random, 0, 1) == 0 ? "ein_decomp" : "square";
    const Plan plan = decompose(graph, {.workers = workers, .ranks = ranks, .strategy = strategy});
    const Simulation simulation = simulate(plan, machine);
    check_timeline(plan, simulation.in_turn);
    check_timeline(plan, simulation.overlapped);
    REQUIRE(simulation.overlapped.seconds <= simulation.in_turn.seconds);
    REQUIRE(simulation.peak_bytes == plan.peak_bytes());
    REQUIRE(simulation.pairs == plan.tasks().pairs);
    // From the profile, for searches.
    const relation::ProgramProfile profile =
        relation::Profiler(plan.graph, plan.ranks, {}, true).profile(plan.placement, plan.steps);
    REQUIRE(plan::in_turn_seconds(profile, machine) == simulation.in_turn.seconds);

    // Everything twice as fast.
    machine.operations_per_second *= 2;
    machine.memory_bandwidth *= 2;
    for (MachineAxis& axis : machine.axes) {
      axis.latency /= 2;
      axis.bandwidth *= 2;
    }
    REQUIRE(simulate(plan, machine).in_turn.seconds ==
            doctest::Approx(simulation.in_turn.seconds / 2));
  }
}

TEST_CASE("one worker computes and sends nothing") {
  const Plan plan = decompose(matmul(8, 8, 8), {.workers = 1, .strategy = "ein_decomp"});
  const Simulation simulation = simulate(plan, {.operations_per_second = 512});
  CHECK(simulation.in_turn.seconds == 1);
  CHECK(simulation.overlapped.seconds == 1);
  CHECK(simulation.pairs.empty());
}

TEST_CASE("programs of different plans are not simulated together") {
  const EinGraph graph = matmul(8, 8, 8);
  std::vector<std::vector<RankProgram>> of;
  for (const char* label : {"i", "j"}) {
    const Plan plan =
        decompose(graph, {.workers = 2, .strategy = "by_hand", .by_hand = {{"Z", {{label, 2}}}}});
    of.push_back(compile_ranks(plan.graph, plan.placement, 2));
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(make_timeline(graph, {of[0][0], of[1][1]},
                                                       pair_of_workers(), Overlap::none)),
                       doctest::Contains("the messages of rank 0 for statement 'Z' are not those "
                                         "of the other ranks"),
                       Error);
}

TEST_CASE("a plan needs a worker for each rank") {
  const Plan plan = decompose(matmul(8, 8, 8), {.workers = 4, .strategy = "ein_decomp"});
  CHECK_THROWS_WITH_AS(static_cast<void>(simulate(plan, pair_of_workers())),
                       doctest::Contains("a plan for 4 ranks on a machine of 2 workers"), Error);
  CHECK_THROWS_AS(static_cast<void>(simulate(plan, Machine{})), Error);
}
