// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/relation/task_graph.hpp"

#include <doctest/doctest.h>

#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "support.hpp"

using namespace eindecomp;
using relation_test::add;
using relation_test::at;
using relation_test::contains;
using relation_test::matmul;
using relation_test::message_of;

namespace {

TaskGraph tasks_of_matmul(const PartitionVector& d, int p, int ranks) {
  const EinGraph graph = matmul(8, 8, 8);
  return make_task_graph(graph, place(graph, {{}, {}, d}, make_mesh(p)), ranks);
}

}  // namespace

TEST_CASE("8x8 by 8x8 on 16 workers: the words that really move") {
  // Each worker needs blocks of its operands and stores 4 elements of each: the paper's join cost,
  // an upper bound, less 16 · (4 + 4) words. The aggregation has nothing to spare.
  struct Case {
    PartitionVector d;
    Extent join, aggregate, busiest;
  };
  const std::vector<Case> cases{{{4, 1, 4}, 512 - 128, 0, 24},
                                {{2, 4, 2}, 256 - 128, 192, 20},
                                {{2, 2, 4}, 384 - 128, 64, 20}};
  for (const Case& c : cases) {
    const TaskGraph tasks = tasks_of_matmul(c.d, 16, 16);
    REQUIRE(tasks.statements.size() == 1);
    const StatementTasks& z = tasks.statements[0];
    CHECK(z.calls.size() == 16);
    CHECK(z.repartition_words == c.join);
    CHECK(z.aggregation_words == c.aggregate);
    CHECK(z.words() == tasks.total_words());
    CHECK(tasks.busiest_words() == c.busiest);
    Extent moved = 0;
    for (const Transfer& t : z.repartitions) moved += t.words();
    CHECK(moved == c.join);
    for (const auto& blocks : tasks.stored) CHECK(blocks.size() == 16);
  }
}

TEST_CASE("a group's results are combined where they are stored: (n_agg - 1) n_Z words a group") {
  for (const PartitionVector& d : {PartitionVector{1, 4, 1}, {2, 4, 1}, {1, 8, 1}, {2, 2, 2}}) {
    const int p = static_cast<int>(d[0] * d[1] * d[2]);
    const TaskGraph tasks = tasks_of_matmul(d, p, p);
    const Extent groups = d[0] * d[2];
    CHECK(tasks.statements[0].aggregation_words == groups * (d[1] - 1) * (64 / groups));
    // Evenly: every worker of a group is the one that combines an equal share of it.
    for (Extent words : tasks.received) CHECK(words == tasks.total_words() / p);
  }
}

TEST_CASE("one rank moves nothing, and ranks that share workers move less") {
  CHECK(tasks_of_matmul({2, 4, 2}, 16, 1).total_words() == 0);
  // Four workers a rank: the axis of i, then that of k, tells the ranks apart. Each holds 16 of the
  // 32 elements it needs of either operand, and its groups alone.
  const TaskGraph tasks = tasks_of_matmul({2, 4, 2}, 16, 4);
  CHECK(tasks.statements[0].repartition_words == 4 * (16 + 16));
  CHECK(tasks.statements[0].aggregation_words == 0);
  // More ranks than workers: the others idle.
  const TaskGraph wide = tasks_of_matmul({2, 4, 2}, 16, 20);
  CHECK(wide.total_words() == 320);
  CHECK(wide.received.size() == 20);
  CHECK(wide.received[16] == 0);
}

TEST_CASE("blocks stay where they are when layouts match") {
  EinGraph graph = matmul(8, 8, 8);
  const VertexId r = add(graph, "R", {{"ik", 2}}, "ik");
  const VertexId t = add(graph, "T", {{"ik", r}, {"ik", 2}}, "ki");
  const auto words = [&](const PartitionVector& dr, const PartitionVector& dt) {
    const Placement placement = place(graph, {{}, {}, {4, 1, 4}, dr, dt}, make_mesh(16));
    return make_task_graph(graph, placement, 16);
  };
  const TaskGraph same = words({4, 4}, {4, 4});
  CHECK(same.statements[1].words() == 0);
  CHECK(same.statements[2].words() == 0);
  CHECK(same.statements[2].statement == t);
  // From 4x4 blocks of 2x2 to rows: half a row of the 8 is on its worker at most.
  const TaskGraph other = words({8, 2}, {8, 2});
  CHECK(other.statements[1].words() > 0);
  // R has them already where T wants them; only Z must come again, and Z has come for R.
  CHECK(other.statements[2].words() == 0);
}

TEST_CASE("a received block is not sent again to a later reader") {
  EinGraph graph;
  const VertexId x = graph.add_input("X", {8, 8}, {});
  const VertexId y = graph.add_input("Y", {8, 8}, {});
  add(graph, "A", {{"ij", x}, {"jk", y}}, "ik");
  add(graph, "B", {{"ij", x}, {"jk", y}}, "ik");
  add(graph, "C", {{"jk", y}}, "");
  const Placement placement = place(graph, {{}, {}, {4, 1, 1}, {4, 1, 1}, {1, 4}}, make_mesh(4));
  const TaskGraph tasks = make_task_graph(graph, placement, 4);
  CHECK(tasks.statements[0].repartition_words == 4 * (64 - 16));
  CHECK(tasks.statements[1].repartition_words == 0);
  CHECK(tasks.statements[2].repartition_words == 0);
}

TEST_CASE("an operand read twice by one statement comes once") {
  EinGraph graph;
  const VertexId x = graph.add_input("X", {8, 8}, {});
  add(graph, "S", {{"ij", x}, {"kj", x}}, "ik");
  const Placement placement = place(graph, {{}, {2, 1, 2}}, make_mesh(4));
  const TaskGraph tasks = make_task_graph(graph, placement, 4);
  // Workers (i,k): those with i = k need half of X, the others all of it; each stores a quarter.
  CHECK(tasks.total_words() == 2 * (32 - 16) + 2 * (64 - 16));
}

TEST_CASE("pairs, senders and receivers add up") {
  relation_test::Random random(99);
  for (int i = 0; i < 100; ++i) {
    const auto program = relation_test::random_program(random);
    const Mesh mesh = make_mesh(random.pick({2, 4, 8, 16}));
    const Placement placement = relation_test::random_placement(random, program.graph, mesh);
    const TaskGraph tasks = make_task_graph(program.graph, placement, random.pick({2, 3, 8}));
    Extent received = 0, sent = 0, pairs = 0, statements = 0, per_rank = 0;
    for (Extent w : tasks.received) received += w;
    for (Extent w : tasks.sent) sent += w;
    for (const PairWords& p : tasks.pairs) {
      pairs += p.words;
      CHECK(p.from != p.to);
    }
    for (const StatementTasks& s : tasks.statements) {
      statements += s.words();
      for (Extent w : s.received) per_rank += w;
    }
    CHECK(received == tasks.total_words());
    CHECK(received == sent);
    CHECK(received == pairs);
    CHECK(received == statements);
    CHECK(received == per_rank);
  }
}

TEST_CASE(
    "large programs on many workers: statements are told one by one as the task graph has them") {
  const auto agree = [](int statements, int p, PartitionVector d) {
    EinGraph graph;
    VertexId x = graph.add_input("X", {1024, 1024}, {});
    const VertexId w = graph.add_input("W", {1024, 1024}, {});
    for (int i = 0; i < statements; ++i) x = add(graph, "S", {{"ij", x}, {"jk", w}}, "ik");
    std::vector<PartitionVector> partitions(graph.vertices.size(), std::move(d));
    partitions[0].clear();
    partitions[1].clear();
    const Placement placement = place(graph, partitions, make_mesh(p));
    const TaskGraph tasks = make_task_graph(graph, placement, p);
    CHECK(tasks.total_words() > 0);
    std::size_t next = 0;
    for_each_statement_tasks(graph, placement, p, [&](const StatementTasks& made) {
      const StatementTasks& kept = tasks.statements.at(next++);
      CHECK(made.statement == kept.statement);
      CHECK(made.calls.size() == kept.calls.size());
      CHECK(made.repartitions.size() == kept.repartitions.size());
      CHECK(made.aggregations.size() == kept.aggregations.size());
      CHECK(made.received == kept.received);
    });
    CHECK(next == tasks.statements.size());
  };
  agree(100, 64, {4, 4, 4});
  agree(100, 64, {8, 1, 8});
  agree(4, 1024, {8, 16, 8});
}

TEST_CASE("wrong ranks and placements are refused") {
  const EinGraph graph = matmul(8, 8, 8);
  const Placement placement = place(graph, {{}, {}, {2, 2, 1}}, make_mesh(4));
  CHECK(contains(message_of([&] { (void)make_task_graph(graph, placement, 0); }), "for 0 ranks"));
  CHECK(contains(message_of([&] { (void)make_task_graph(graph, Placement{}, 1); }),
                 "belongs to another graph"));
  const auto unused = [](const StatementTasks&) {
    FAIL("called before the arguments are checked");
  };
  CHECK(contains(message_of([&] { for_each_statement_tasks(graph, placement, 0, unused); }),
                 "for 0 ranks"));
  CHECK(contains(message_of([&] { for_each_statement_tasks(graph, Placement{}, 1, unused); }),
                 "belongs to another graph"));
  CHECK(contains(message_of([&] { (void)make_task_graph(graph, placement, -2); }), "for -2 ranks"));
}
