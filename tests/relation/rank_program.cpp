// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/relation/rank_program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "eindecomp/relation/arena.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/relay_rounds.hpp"
#include "support.hpp"

using namespace eindecomp;
using relation_test::add;
using relation_test::at;
using relation_test::contains;
using relation_test::matmul;
using relation_test::message_of;

namespace {

/// The work of one kind that a rank does in a turn.
template <class Work>
std::vector<Work> work_of(const RankProgram& program, int turn) {
  std::vector<Work> found;
  for (const Instruction& instruction : program.instructions) {
    const Work* const work = instruction.as<Work>();
    if (work != nullptr && instruction.turn == turn) found.push_back(*work);
  }
  return found;
}

}  // namespace

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
  const RankProgram s = compile_rank(graph, placement, 1, 0);
  REQUIRE(s.buffers.size() == 4);
  CHECK(s.turns == 2);
  CHECK(s.buffers[0].role == Buffer::Role::input);
  CHECK(s.buffers[2].role == Buffer::Role::scratch);
  CHECK(s.buffers[2].first == 0);
  CHECK(s.buffers[2].last == 1);
  CHECK(s.buffers[3].role == Buffer::Role::result);
  REQUIRE(s.instructions.size() == 2);
  CHECK(s.instructions[0] ==
        Instruction{2, 0, KernelCall{{{0, 0, 0}, {8, 8, 8}}, {0, 1}, 2, false, true}});
  CHECK(s.instructions[1] == Instruction{3, 1, KernelCall{{{0, 0}, {8, 8}}, {2}, 3, false, true}});
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
  const RankProgram s = compile_rank(graph, placement, 1, 0);
  CHECK(s.arena_bytes == 0);
  CHECK(s.result_bytes == 1024);
}

TEST_CASE("several calls of a group on one rank accumulate, and nothing is sent") {
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement = place(graph, {{}, {}, {1, 4, 1}}, make_mesh(4));
  const RankProgram s = compile_rank(graph, placement, 1, 0);
  const auto calls = work_of<KernelCall>(s, 0);
  REQUIRE(calls.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(calls[i].accumulate == (i > 0));
    CHECK_FALSE(calls[i].finish);
    CHECK(calls[i].output == calls[0].output);
  }
  CHECK(work_of<Combine>(s, 0).size() == 4);  // one per stored block
  CHECK(s.instructions.size() == 8);
  CHECK(s.arena_bytes == 512);  // the accumulators
}

TEST_CASE("what was assembled for one statement is read in place by the next") {
  EinGraph graph = matmul(8, 8, 8);
  add(graph, "C", {{"jk", 1}}, "j");
  add(graph, "D", {{"jk", 1}}, "k");
  const Placement placement = place(graph, {{}, {}, {4, 1, 1}, {4, 1}, {1, 4}}, make_mesh(4));
  const RankProgram s = compile_rank(graph, placement, 4, 2);
  const int whole = work_of<KernelCall>(s, 0).at(0).operands.at(1);
  const int last = static_cast<int>(s.instructions.size()) - 1;
  CHECK(s.buffers[at(whole)].box == Box::whole({8, 8}));
  CHECK(s.buffers[at(whole)].first == 0);
  CHECK(s.buffers[at(whole)].last == last);
  for (const int turn : {1, 2}) {
    CHECK(work_of<KernelCall>(s, turn).at(0).operands == std::vector<int>{whole});
    CHECK(work_of<Copy>(s, turn).empty());
    CHECK(work_of<Receive>(s, turn).empty());
  }
}

TEST_CASE("one message per peer and round, and staging for those of one round at once") {
  // Two workers a rank, each with its own block of Y, which four ranks gather in two rounds.
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement = place(graph, {{}, {}, {8, 1, 1}}, make_mesh(8));
  const RankProgram s = compile_rank(graph, placement, 4, 1);
  const auto receives = work_of<Receive>(s, 0);
  REQUIRE(receives.size() == 2);
  REQUIRE(work_of<Send>(s, 0).size() == 2);
  CHECK(work_of<Copy>(s, 0).size() == 2);
  CHECK(relation::exchange_end(s, 2) == 4);
  CHECK(relation::exchange_end(s, 4) == 6);
  CHECK(receives[0].peer == 3);
  CHECK(receives[0].words == 16);
  CHECK(receives[0].regions.size() == 2);
  CHECK(receives[1].peer == 0);
  CHECK(receives[1].words == 32);
  CHECK(receives[1].regions.size() == 4);
  // All of Y assembled once for both calls, and the two messages of the second round.
  CHECK(s.arena_bytes == 512 + 2 * 256);
}

TEST_CASE("a gather takes a message per other coordinate of each axis, and no word twice") {
  for (const int p : {2, 4, 6, 7, 8, 12, 16, 30, 64}) {
    CAPTURE(p);
    int expected = 0;
    for (const int axis : make_mesh(p).axes) expected += axis - 1;
    const EinGraph graph = matmul(64, 64, 64);
    const Placement placement = place(graph, {{}, {}, {p, 1, 1}}, make_mesh(p));
    for (const int rank : {0, p / 2, p - 1}) {
      const RankProgram program = compile_rank(graph, placement, p, rank);
      const auto receives = work_of<Receive>(program, 0);
      CHECK(static_cast<int>(receives.size()) == expected);
      Extent words = 0;
      for (const Receive& m : receives) words += m.words;
      for (const Buffer& b : program.buffers) {
        if (b.role == Buffer::Role::input && b.tensor == 1) words += b.box.size();
      }
      CHECK(words == 64 * 64);
    }
  }
}

TEST_CASE("a scalar reaches every rank in log p messages") {
  EinGraph graph;
  const VertexId x = graph.add_input("X", {4096}, {});
  const VertexId s = add(graph, "s", {{"i", x}}, "");
  add(graph, "Y", {{"i", x}, {"", s}}, "i");
  const int p = 1024;
  const Placement placement = place(graph, {{}, {p}, {p}}, make_mesh(p));
  for (const int rank : {0, 1, 512, 1023}) {
    CAPTURE(rank);
    const RankProgram program = compile_rank(graph, placement, p, rank);
    CHECK(work_of<Send>(program, 1).size() <= 10);
    CHECK(work_of<Receive>(program, 1).size() == (rank == 0 ? 0 : 1));
  }
}

TEST_CASE(
    "a reduction takes a message per other coordinate of each axis, and halves what is left") {
  for (const int p : {2, 4, 6, 7, 8, 12, 16, 30, 64}) {
    CAPTURE(p);
    int expected = 0;
    for (const int axis : make_mesh(p).axes) expected += axis - 1;
    const EinGraph graph = matmul(64, 64, 64);
    const Placement placement = place(graph, {{}, {}, {1, p, 1}}, make_mesh(p));
    for (const int rank : {0, p / 2, p - 1}) {
      const RankProgram program = compile_rank(graph, placement, p, rank);
      CHECK(static_cast<int>(work_of<Send>(program, 0).size()) == expected);
      CHECK(static_cast<int>(work_of<Receive>(program, 0).size()) == expected);
      Extent sent = 0;
      for (const Send& m : work_of<Send>(program, 0)) sent += m.words;
      for (const Buffer& b : program.buffers) {
        if (b.role == Buffer::Role::result) CHECK(sent == 64 * 64 - b.box.size());
      }
    }
  }
}

TEST_CASE("the sum of a dot product takes log p messages on every rank, and reaches rank 0") {
  EinGraph graph;
  const VertexId x = graph.add_input("X", {4096}, {});
  const VertexId y = graph.add_input("Y", {4096}, {});
  const VertexId s = add(graph, "s", {{"i", x}, {"i", y}}, "");
  add(graph, "Z", {{"i", x}, {"", s}}, "i");
  const int p = 1024;
  const Placement placement = place(graph, {{}, {}, {p}, {p}}, make_mesh(p));
  int combined = 0;
  int finished = 0;
  for (int rank = 0; rank < p; ++rank) {
    const RankProgram program = compile_rank(graph, placement, p, rank);
    CHECK(work_of<Send>(program, 0).size() == (rank == 0 ? 0 : 1));
    CHECK(work_of<Receive>(program, 0).size() <= 10);
    std::size_t messages = 0;
    for (const Instruction& i : program.instructions) messages += i.message() != nullptr ? 1 : 0;
    CHECK(messages <= 20);
    for (const Combine& combine : work_of<Combine>(program, 0)) {
      combined += static_cast<int>(combine.parts.size()) - 1;
      finished += combine.finishes();
      CHECK((rank == 0 || !combine.finishes()));
    }
  }
  CHECK(finished == 1);
  CHECK(combined == p - 1);
}

TEST_CASE("what a group computes and others store leaves it at as many of its ranks") {
  // Calls by row, stored by column: axis 1 sums, axis 0 cuts rows, then columns.
  const EinGraph graph = matmul(8, 8, 8);
  Placement placement = place(graph, {{}, {}, {2, 4, 1}}, make_mesh(8));
  placement.stored[2] = {{}, {0, 1, 2}};
  for (int rank = 0; rank < 8; ++rank) {
    CAPTURE(rank);
    const RankProgram program = compile_rank(graph, placement, 8, rank);
    // Its group's columns in two rounds, and half of its own column from the other group.
    Extent words = 0;
    for (const Receive& m : work_of<Receive>(program, 0)) {
      if (program.buffers[at(m.regions.at(0).buffer)].partial) words += m.words;
    }
    CHECK(words == 4 * 8 / 2 + 4 * 8 / 4 + 4);
    int finished = 0;
    for (const Combine& combine : work_of<Combine>(program, 0)) finished += combine.finishes();
    CHECK(finished == 2);
  }
}

TEST_CASE("a member combines what comes by the same hops in reverse") {
  for (const std::vector<int>& lengths :
       {std::vector<int>{}, {2}, {3, 2}, {2, 2, 2}, {4, 3}, {2, 3, 5}}) {
    const eindecomp::relation::RelayRounds relay{std::span<const int>(lengths)};
    CHECK(relay.rounds() == static_cast<int>(lengths.size()) + 1);
    for (int exit = 0; exit < relay.size(); ++exit) {
      std::vector<int> senders;
      for (int member = 0; member < relay.size(); ++member) {
        int before = relay.rounds();
        relay.for_each_sender(exit, member, [&](int from, int round) {
          CHECK(relay.hop(exit, from).from == member);
          CHECK(relay.hop(exit, from).round == round);
          CHECK(round <= before);
          before = round;
          senders.push_back(from);
        });
      }
      std::sort(senders.begin(), senders.end());
      std::vector<int> others;
      for (int member = 0; member < relay.size(); ++member) {
        if (member != exit) others.push_back(member);
      }
      CHECK(senders == others);
    }
  }
}

TEST_CASE("members of a group get everything in the round of the last axis on which they differ") {
  for (const int size : {1, 2, 3, 4, 6, 8, 12, 25, 30, 64}) {
    CAPTURE(size);
    const eindecomp::relation::RelayRounds relay(size);
    for (int entry = 0; entry < size; ++entry) {
      for (int to = 0; to < size; ++to) {
        if (to == entry) continue;
        const auto hop = relay.hop(entry, to);
        CHECK(hop.round >= 1);
        CHECK(hop.round < relay.rounds());
        // The sender has it, by an earlier round.
        CHECK((hop.from == entry || relay.hop(entry, hop.from).round < hop.round));
        bool peers = false;
        relay.for_each_peer(to, [&](int peer) { peers |= peer == hop.from; });
        CHECK(peers);
      }
    }
  }
}

TEST_CASE("every rank sends to the next one first and receives from the previous one first") {
  // Y and then V are gathered, one statement after another; W and U at once.
  EinGraph graph = matmul(8, 8, 8);
  const VertexId u = graph.add_input("U", {8, 8}, {});
  const VertexId w = graph.add_input("W", {8, 8}, {});
  add(graph, "T", {{"ij", 0}, {"jk", w}, {"kl", u}}, "il");
  const Placement placement = place(graph, {{}, {}, {4, 1, 1}, {}, {}, {4, 1, 1, 1}}, make_mesh(4));
  using Order = std::vector<std::pair<int, VertexId>>;
  const auto order = [](const RankProgram& s, const auto& messages) {
    Order found;
    for (const Message& m : messages) {
      found.emplace_back(m.peer, s.buffers[at(m.regions.at(0).buffer)].tensor);
    }
    return found;
  };
  // Along axis 1, then along axis 0; small messages of two tensors are one.
  const RankProgram one = compile_rank(graph, placement, 4, 1);
  CHECK(order(one, work_of<Send>(one, 0)) == Order{{3, 1}, {0, 1}});
  CHECK(order(one, work_of<Receive>(one, 0)) == Order{{3, 1}, {0, 1}});
  CHECK(order(one, work_of<Send>(one, 1)) == Order{{3, u}, {0, u}});
  CHECK(work_of<Send>(one, 1).at(0).regions.size() == 2);
  CHECK(order(one, work_of<Receive>(one, 1)) == Order{{3, u}, {0, u}});
  // Along an axis of three.
  const EinGraph third = matmul(9, 9, 9);
  const RankProgram last =
      compile_rank(third, place(third, {{}, {}, {3, 1, 1}}, make_mesh(3)), 3, 2);
  CHECK(order(last, work_of<Send>(last, 0)) == Order{{0, 1}, {1, 1}});
  CHECK(order(last, work_of<Receive>(last, 0)) == Order{{1, 1}, {0, 1}});
  // Partial results likewise, along axis 1 first.
  const EinGraph product = matmul(8, 8, 8);
  const RankProgram summed =
      compile_rank(product, place(product, {{}, {}, {1, 4, 1}}, make_mesh(4)), 4, 2);
  CHECK(order(summed, work_of<Send>(summed, 0)) == Order{{3, 2}, {0, 2}});
  CHECK(order(summed, work_of<Receive>(summed, 0)) == Order{{3, 2}, {0, 2}});
  const EinGraph nine = matmul(9, 9, 9);
  const RankProgram third_of_sum =
      compile_rank(nine, place(nine, {{}, {}, {1, 3, 1}}, make_mesh(3)), 3, 1);
  CHECK(order(third_of_sum, work_of<Send>(third_of_sum, 0)) == Order{{2, 2}, {0, 2}});
  CHECK(order(third_of_sum, work_of<Receive>(third_of_sum, 0)) == Order{{0, 2}, {2, 2}});
}

TEST_CASE("messages between two ranks come in one order on both") {
  relation_test::Random random(2024);
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    const auto program = relation_test::random_program(random);
    const Mesh mesh = make_mesh(random.pick({4, 8, 16}));
    const Placement placement = relation_test::random_placement(random, program.graph, mesh);
    const int ranks = random.pick({2, 4, 5});
    const auto compiled =
        compile_ranks(program.graph, placement, ranks, {},
                      {1, relation_test::random_constants(random, program.graph)});
    // What the messages of one kind between two ranks carry, turn by turn.
    const auto boxes = [&]<class Kind>(const Kind&, int owner, int peer) {
      std::vector<std::pair<int, Box>> found;
      const RankProgram& own = compiled[at(owner)];
      for (const Instruction& instruction : own.instructions) {
        const Message* const m = instruction.as<Kind>();
        if (m == nullptr || m->peer != peer) continue;
        found.emplace_back(-1 - instruction.turn, Box{});  // where a message starts
        for (const Region& r : m->regions) {
          const Buffer& buffer = own.buffers[at(r.buffer)];
          found.emplace_back(2 * buffer.tensor + (buffer.partial ? 1 : 0), r.box);
        }
      }
      return found;
    };
    for (int a = 0; a < ranks; ++a) {
      for (int b = 0; b < ranks; ++b) CHECK(boxes(Send{}, a, b) == boxes(Receive{}, b, a));
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
  CHECK(compile_rank(graph, placement, 1, 0).arena_bytes == 2 * 512);
}

TEST_CASE("what is gathered of constants is kept, and gathered by the first run alone") {
  relation_test::Random random(77);
  int divided = 0;
  int kept = 0;
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    const auto program = relation_test::random_program(random);
    const EinGraph& graph = program.graph;
    const Placement placement =
        relation_test::random_placement(random, graph, make_mesh(random.pick({1, 2, 4, 8, 16})));
    const int ranks = random.pick({1, 2, 4, 5});
    const SpaceFacts facts{1, relation_test::random_constants(random, graph)};
    const auto is_constant = [&](VertexId v) {
      return std::count(facts.constants.begin(), facts.constants.end(), v) == 1;
    };
    const auto plain = compile_ranks(graph, placement, ranks);
    const auto compiled = compile_ranks(graph, placement, ranks, {}, facts);
    for (int r = 0; r < ranks; ++r) {
      const RankProgram& with = compiled[at(r)];
      CHECK(with.constants == facts.constants);
      // Buffers keep their numbers; those that hold constants share their memory with no other.
      REQUIRE(with.buffers.size() == plain[at(r)].buffers.size());
      std::int64_t bytes = 0;
      for (std::size_t b = 0; b < with.buffers.size(); ++b) {
        const Buffer& buffer = with.buffers[b];
        CHECK(buffer.tensor == plain[at(r)].buffers[b].tensor);
        CHECK(buffer.box == plain[at(r)].buffers[b].box);
        CHECK(relation::is_kept(with, buffer) ==
              (buffer.role == Buffer::Role::scratch && is_constant(buffer.tensor)));
        if (!relation::is_kept(with, buffer)) continue;
        bytes += buffer.bytes;
        for (const Buffer& other : with.buffers) {
          if (&other == &buffer || other.role != Buffer::Role::scratch) continue;
          CHECK((other.offset + other.bytes <= buffer.offset ||
                 buffer.offset + buffer.bytes <= other.offset));
        }
        for (const Instruction& instruction : with.instructions) {
          const Message* const m = instruction.message();
          if (m == nullptr || m->staging < 0) continue;
          CHECK((m->staging >= buffer.offset + buffer.bytes ||
                 m->staging + relation::message_bytes(with, *m) <= buffer.offset));
        }
      }
      CHECK(with.kept_bytes == bytes);
      kept += bytes > 0 ? 1 : 0;
      // A message is of constants or of others, and so is an instruction that writes a buffer.
      Extent words[2] = {0, 0};
      for (const RankProgram* p : {&plain[at(r)], &with}) {
        for (const Instruction& instruction : p->instructions) {
          const bool once = relation::is_done_once(with, instruction);
          const auto agrees = [&](int b) {
            if (p == &with) CHECK(is_constant(p->buffers[at(b)].tensor) == once);
          };
          if (const Message* const m = instruction.message()) {
            words[p == &with ? 1 : 0] += m->words;
            for (const Region& region : m->regions) agrees(region.buffer);
          }
          relation::for_each_access(
              instruction, [](int) {}, agrees);
        }
      }
      CHECK(words[0] == words[1]);
      divided += with.instructions.size() > plain[at(r)].instructions.size() ? 1 : 0;
    }
  }
  CHECK(kept > 20);
  CHECK(divided > 0);
}

TEST_CASE("a rank without workers has turns and nothing in them") {
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement = place(graph, {{}, {}, {2, 1, 1}}, make_mesh(2));
  const RankProgram s = compile_rank(graph, placement, 3, 2);
  CHECK(s.buffers.empty());
  CHECK(s.turns == 1);
  CHECK(s.instructions.empty());
  CHECK(s.peak_bytes() == 0);
}

TEST_CASE("programs of many ranks, some at a time, are those made together and one by one") {
  relation_test::Random random(1024);
  for (const int ranks : {3, 64, 65, 150}) {
    CAPTURE(ranks);
    const auto program = relation_test::random_program(random);
    const Placement placement =
        relation_test::random_placement(random, program.graph, make_mesh(256));
    const auto together = compile_ranks(program.graph, placement, ranks);
    std::vector<RankProgram> apart;
    for_each_rank_program(program.graph, placement, ranks, {}, {},
                          [&](const RankProgram& compiled) { apart.push_back(compiled); });
    CHECK(apart == together);
    CHECK(compile_rank(program.graph, placement, ranks, ranks - 1) == together.back());
  }
}

TEST_CASE("no program for a rank that does not exist") {
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement = place(graph, {{}, {}, {2, 1, 1}}, make_mesh(2));
  const auto refusal = [&](int ranks, int rank) {
    return message_of([&] { (void)compile_rank(graph, placement, ranks, rank); });
  };
  CHECK(contains(refusal(2, 2), "the instructions of rank 2 of 2"));
  CHECK(contains(refusal(2, -1), "the instructions of rank -1 of 2"));
  CHECK(contains(refusal(0, 0), "instructions for 0 ranks"));
  CHECK(contains(message_of([&] { (void)compile_ranks(graph, placement, -1); }), "for -1 ranks"));
  const auto unused = [](const RankProgram&) { FAIL("called before the arguments are checked"); };
  CHECK(contains(message_of([&] { for_each_rank_program(graph, placement, 0, {}, {}, unused); }),
                 "for 0 ranks"));
  CHECK(contains(message_of([&] { for_each_rank_program(graph, Placement{}, 1, {}, {}, unused); }),
                 "belongs to another graph"));
  CHECK(contains(message_of([&] { (void)compile_rank(graph, Placement{}, 1, 0); }),
                 "belongs to another graph"));
}
