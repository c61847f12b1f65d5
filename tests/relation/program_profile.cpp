// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the profile says of all ranks, against their programs and tasks, each made by itself.

#include "eindecomp/relation/program_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/counting_joins.hpp"
#include "eindecomp/relation/make_profile.hpp"
#include "eindecomp/relation/memory.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/rank_classes.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "eindecomp/relation/walk.hpp"
#include "support.hpp"

using namespace eindecomp;
using namespace relation_test;

namespace {

/// Holds the memory of a profile against every rank's program.
void check_memory(const EinGraph& graph, const Placement& placement, int ranks,
                  const std::vector<StepGroup>& groups, const SpaceFacts& space) {
  const std::vector<RankProgram> programs = compile_ranks(graph, placement, ranks, groups, space);
  const relation::ProgramProfile profile =
      relation::profile_of(graph, placement, ranks, groups, space);
  const std::int64_t limit = memory_peak(programs).bytes / 2;
  const relation::ProgramMemory memory = profile.memory(limit);
  std::vector<std::int64_t> by_statement(graph.vertices.size(), 0);
  double overflow = 0;
  REQUIRE(memory.peak_bytes.size() == programs.size());
  for (const RankProgram& program : programs) {
    REQUIRE(memory.peak_bytes[at(program.rank)] == program.peak_bytes());
    const std::vector<std::int64_t> bytes = bytes_by_instruction(program);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::int64_t& most = by_statement[at(program.instructions[i].statement)];
      most = std::max(most, bytes[i]);
    }
    for_each_stage(program, [&](std::size_t first, std::size_t) {
      overflow += static_cast<double>(std::max<std::int64_t>(bytes[first] - limit, 0));
    });
  }
  const MemoryPeak peak = memory_peak(programs);
  REQUIRE(memory.peak.bytes == peak.bytes);
  REQUIRE(memory.peak.rank == peak.rank);
  REQUIRE(memory.peak.statement == peak.statement);
  REQUIRE(memory.by_statement == by_statement);
  REQUIRE(memory.overflow == overflow);
  for (const int rank : {0, ranks / 2, ranks - 1}) {
    const relation::ProgramMemory own = relation::Profiler(graph, ranks, {rank, rank + 1}, space)
                                            .profile(placement, groups)
                                            .memory();
    REQUIRE(own.peak.bytes == programs[at(rank)].peak_bytes());
    REQUIRE(own.peak.rank == rank);
    for (int other = 0; other < ranks; ++other) {
      REQUIRE(own.peak_bytes[at(other)] == (other == rank ? own.peak.bytes : 0));
    }
  }
}

/// Whether a call reads something that its rank has received for an earlier statement.
bool rereads(const TaskGraph& tasks, const EinGraph& graph, std::size_t statement) {
  const StatementTasks& now = tasks.statements[statement];
  const graph::Masks masks(graph);
  for (const CallTask& call : now.calls) {
    const Box joins =
        relation::counting_joins(graph[now.statement], masks.of(now.statement), call.domain);
    for (const Operand& operand : graph[now.statement].operands) {
      const Box read = project(joins, operand.labels);
      for (std::size_t before = 0; before < statement; ++before) {
        for (const Transfer& t : tasks.statements[before].repartitions) {
          if (t.tensor == operand.vertex && t.to == call.rank && !intersect(t.box, read).empty()) {
            return true;
          }
        }
      }
    }
  }
  return false;
}

/// Holds the words of a profile against every task.
void check_words(const EinGraph& graph, const Placement& placement, int ranks) {
  const TaskGraph tasks = make_task_graph(graph, placement, ranks);
  const relation::ProgramProfile profile = relation::profile_of(graph, placement, ranks, {}, {});
  REQUIRE(profile.parts.size() == tasks.statements.size());
  for (std::size_t s = 0; s < tasks.statements.size(); ++s) {
    const StatementTasks& expected = tasks.statements[s];
    const relation::ProgramProfile::Part& part = profile.parts[s];
    REQUIRE(part.statements == std::vector<VertexId>{expected.statement});
    const auto& words = part.unit->statements.front();
    REQUIRE(words.received == expected.received);
    REQUIRE(words.partial_words == expected.aggregation_words);
    REQUIRE(words.calls == static_cast<Extent>(expected.calls.size()));
    REQUIRE(words.rereads == rereads(tasks, graph, s));
    std::set<int> computing;
    for (const CallTask& call : expected.calls) computing.insert(call.rank);
    REQUIRE(words.computing == static_cast<int>(computing.size()));
    std::map<VertexId, Extent> by_tensor;
    for (const Transfer& t : expected.repartitions) by_tensor[t.tensor] += t.words();
    for (std::size_t t = 0; t < part.tensors.size(); ++t) {
      REQUIRE(words.operand_words[t] == by_tensor[part.tensors[t]]);
    }
  }
}

/// So many layers Y = X·W, Z = |Y - mask|, V = Z·Yᵀ, which all read one mask.
EinGraph layers(int count, Extent n) {
  EinGraph graph;
  VertexId x = graph.add_input("X", {n, n}, {});
  const VertexId mask = graph.add_input("mask", {n, n}, {});
  for (int layer = 0; layer < count; ++layer) {
    const std::string number = std::to_string(layer);
    const VertexId w = graph.add_input("W" + number, {n, n}, {});
    const VertexId y = add(graph, "Y" + number, {{"ij", x}, {"jk", w}}, "ik");
    const VertexId z = add(graph, "Z" + number, {{"ik", y}, {"ik", mask}}, "ik");
    x = add(graph, "V" + number, {{"ij", z}, {"kj", y}}, "ik");
  }
  return graph;
}

std::size_t different_units(const relation::ProgramProfile& profile) {
  std::set<const relation::UnitProfile*> units;
  for (const auto& part : profile.parts) units.insert(part.unit.get());
  return units.size();
}

}  // namespace

TEST_CASE("the profile of random programs has the bytes of every rank's program") {
  for (unsigned seed = 2000; seed < 2300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const EinGraph graph = random_program(random).graph;
    const Mesh mesh = make_mesh(random.pick({1, 2, 4, 8, 6, 12}));
    const Placement placement = random_placement(random, graph, mesh);
    SpaceFacts space;
    for (VertexId v = 0; v < graph.size(); ++v) {
      if (graph[v].is_input() && random.chance(20)) space.constants.push_back(v);
    }
    check_memory(graph, placement, random.pick({1, 2, 3, 4, 8, 13}), {}, space);
  }
}

TEST_CASE("and the words of every task") {
  for (unsigned seed = 2300; seed < 2500; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const EinGraph graph = random_program(random).graph;
    const Mesh mesh = make_mesh(random.pick({1, 2, 4, 8, 6, 12}));
    const Placement placement = random_placement(random, graph, mesh);
    check_words(graph, placement, random.pick({1, 2, 3, 4, 8, 13}));
  }
}

TEST_CASE("and where joins are masked") {
  for (unsigned seed = 2700; seed < 2900; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    EinGraph graph = random_program(random).graph;
    add_masks(random, graph);
    const Mesh mesh = make_mesh(random.pick({2, 4, 8, 6, 12}));
    const Placement placement = random_placement(random, graph, mesh);
    const int ranks = random.pick({1, 2, 3, 4, 8, 12});
    check_words(graph, placement, ranks);
    SpaceFacts space{.constants = random_constants(random, graph)};
    check_memory(graph, placement, ranks, random_streams(random, graph), space);
  }
}

TEST_CASE("ranks of one class hold and receive what each does by itself") {
  using relation::UnitProfile;
  std::size_t alike = 0;
  for (unsigned seed = 2500; seed < 2700; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const EinGraph graph = random_program(random).graph;
    const Mesh mesh = make_mesh(random.pick({4, 8, 16, 6, 12}));
    const Placement placement = random_placement(random, graph, mesh);
    const int ranks = random.chance(70) ? mesh.workers() : random.pick({3, 5, 8, 13});
    SpaceFacts space{.constants = random_constants(random, graph)};
    if (random.chance(30)) space.longest_message = random.number(1, 64);
    for (const std::vector<StepGroup>& groups : {{}, random_streams(random, graph)}) {
      const auto all = relation::profile_of(graph, placement, ranks, groups, space);
      for (int r = 0; r < ranks; ++r) {
        const auto own =
            relation::Profiler(graph, ranks, {r, r + 1}, space).profile(placement, groups);
        REQUIRE(own.parts.size() == all.parts.size());
        for (std::size_t p = 0; p < all.parts.size(); ++p) {
          const UnitProfile& unit = *all.parts[p].unit;
          const UnitProfile& alone = *own.parts[p].unit;
          REQUIRE(unit.shapes[at(unit.shape_of[at(r)])] == alone.shapes.front());
          for (std::size_t s = 0; s < unit.statements.size(); ++s) {
            REQUIRE(unit.statements[s].received[at(r)] == alone.statements[s].received[at(r)]);
          }
        }
      }
    }
    const graph::Masks masks(graph);
    for (VertexId v = 0; v < graph.size(); ++v) {
      const relation::Unit unit{{v}};
      if (graph[v].is_input() || !relation::RankClasses::are_comparable(graph, masks, unit)) {
        continue;
      }
      relation::RankClasses classes(graph, unit, space.longest_message, mesh.workers(), ranks, 0,
                                    ranks);
      relation::Walk walk(graph, masks, placement, ranks, classes);
      for (VertexId before = 0; before < v; ++before) {
        if (!graph[before].is_input()) walk.pass_statement(before);
      }
      walk.walk_statement(v);
      alike += at(ranks) - classes.classes().size();
    }
  }
  CHECK(alike > 1000);
}

TEST_CASE("equal layers share their profile and still are those of every rank's program") {
  for (const Extent n : {16, 17, 24}) {  // even and uneven blocks
    for (const int workers : {8, 12}) {
      CAPTURE(n);
      CAPTURE(workers);
      const EinGraph graph = layers(6, n);
      std::vector<PartitionVector> partitions;
      for (VertexId v = 0; v < graph.size(); ++v) {
        const bool map = graph[v].name.str().front() == 'Z';
        if (graph[v].is_input())
          partitions.emplace_back();
        else if (map)
          partitions.push_back({4, workers / 4});
        else
          partitions.push_back({2, 2, workers / 4});
      }
      const Placement placement = place(graph, partitions, make_mesh(workers));
      for (const int ranks : {workers, 5}) {
        check_memory(graph, placement, ranks, {}, {});
        check_memory(graph, placement, ranks, {}, {.constants = {1}});
        check_words(graph, placement, ranks);
        const auto profile = relation::profile_of(graph, placement, ranks, {}, {});
        CHECK(profile.parts.size() == 18);
        CHECK(different_units(profile) <= 10);  // the first layers', the last one's
      }
    }
  }
}

TEST_CASE("statements that read the same indices over other extents, or scan, share none") {
  using namespace eindecomp::labels;
  PlanProgram g;
  const auto write = [&](const std::string& name, Extent before) {
    const auto X = g.input<double>("X" + name, {48});
    (void)(let("A" + name)(extent(i, 48)) = sum(k)(X(zero(i + extent(k, before)))));
    (void)(let("B" + name)(extent(i, 48)) = sum(k)(X(zero(i + extent(k, 9)))));
  };
  write("1", 3);
  write("2", 7);
  const auto Y = g.input<double>("Y", {48});
  const auto Z = g.input<double>("Z", {48});
  const auto S = let<"S">(extent(i, 48)) = sum(k)(Y(i - extent(k, 48)));
  const auto T = let<"T">(extent(i, 48)) = sum(k)(as_written(2.0 * Z(i - extent(k, 48))));
  CHECK(g.graph()[S.vertex()].scanned >= 0);
  CHECK(g.graph()[T.vertex()].scanned < 0);
  std::vector<PartitionVector> parts;
  for (const Vertex& v : g.graph().vertices) {
    parts.push_back(v.is_input() ? PartitionVector{} : PartitionVector{4, 1});
  }
  const Placement placement = place(g.graph(), parts, make_mesh(4));
  check_memory(g.graph(), placement, 4, {}, {});
}

TEST_CASE("statements whose border is read in another way share none") {
  using namespace eindecomp::labels;
  const auto check_both_orders = [](auto first, auto second) {
    for (const bool turned : {false, true}) {
      PlanProgram g;
      if (turned) second(g, "1");
      first(g, "2");
      if (!turned) second(g, "3");
      std::vector<PartitionVector> parts;
      for (const Vertex& v : g.graph().vertices) {
        parts.push_back(v.is_input() ? PartitionVector{} : PartitionVector{2, 1});
      }
      for (const int p : {1, 2}) {
        if (p == 1) parts.assign(parts.size(), PartitionVector{});
        for (std::size_t v = 0; v < parts.size(); ++v) {
          if (!g.graph().vertices[v].is_input()) parts[v] = {p, 1};
        }
        check_memory(g.graph(), place(g.graph(), parts, make_mesh(p)), p, {}, {.threads = 1});
      }
    }
  };
  const auto stencil = [](auto element) {
    return [element](PlanProgram& g, const std::string& name) {
      const auto X = g.input<decltype(element)>("X" + name, {512, 256});
      (void)(let("Y" + name)(i, j) = X(zero(i - 1), j) + X(i, j) + X(zero(i + 1), j));
    };
  };
  check_both_orders(stencil(1.0), stencil(std::uint64_t{1}));
  const auto ramp = [](PlanProgram& g, const std::string& name) {
    const auto X = g.input<double>("X" + name, {512, 256});
    (void)(let("Y" + name)(extent(i, 512), extent(j, 256)) =
               (value(i) - value(j)) * (X(zero(i - 1), j) + X(zero(i + 1), j)));
  };
  const auto triangle = [](PlanProgram& g, const std::string& name) {
    const auto X = g.input<double>("X" + name, {512, 256});
    (void)(let("Y" + name)(extent(i, 512), extent(j, 256)) =
               select(value(i) >= value(j), X(zero(i - 1), j), X(zero(i + 1), j)));
  };
  check_both_orders(ramp, triangle);
}

TEST_CASE("groups in steps and tiles share theirs as a whole") {
  EinGraph graph;
  VertexId x = graph.add_input("X", {32, 64}, {});
  std::vector<StepGroup> groups;
  for (int layer = 0; layer < 4; ++layer) {
    const std::string number = std::to_string(layer);
    const VertexId scale = graph.add_input("S" + number, {64}, {});
    const VertexId a = add(graph, "A" + number, {{"ij", x}, {"j", scale}}, "ij");
    const VertexId b = add(graph, "B" + number, {{"ij", a}}, "ij");
    const VertexId c = add(graph, "C" + number, {{"ij", b}, {"ij", a}}, "ij");
    StepGroup group{a, c, {{{0, 0, 0}, 2}}};
    group.tiles.push_back({a, c, {{{0, 0, 0}, 1, 2}}});
    groups.push_back(group);
    x = c;
  }
  std::vector<PartitionVector> partitions;
  for (VertexId v = 0; v < graph.size(); ++v) {
    partitions.push_back(graph[v].is_input() ? PartitionVector{} : PartitionVector{4, 1});
  }
  const Placement placement = place(graph, partitions, make_mesh(4));
  for (const int threads : {0, 1, 3}) {
    check_memory(graph, placement, 4, groups, {.threads = threads});
    check_memory(graph, placement, 3, groups, {.threads = threads});
  }
  const auto profile = relation::profile_of(graph, placement, 4, groups, {});
  CHECK(profile.parts.size() == 4);
  CHECK(different_units(profile) == 3);  // the first's, two others', the result's
}

// Tensors whose first readers differ in one thing, and whose later readers are alike.
TEST_CASE("what ranks have of a tensor depends on all that its readers are") {
  using namespace eindecomp::labels;
  const auto check = [](const std::string& what, const EinGraph& graph,
                        const Placement& placement) {
    CAPTURE(what);
    const auto programs = compile_ranks(graph, placement, 4, {}, {});
    const auto memory = relation::profile_of(graph, placement, 4, {}, {}).memory();
    for (std::size_t r = 0; r < programs.size(); ++r) {
      CAPTURE(r);
      CHECK(memory.peak_bytes[r] == programs[r].peak_bytes());
    }
  };
  for (const bool turned : {false, true}) {
    CAPTURE(turned);
    const auto in_order = [&](const auto& one, const auto& other) {
      if (turned) other();
      one();
      if (!turned) other();
    };
    {
      PlanProgram g;
      in_order(
          [&] {
            const auto A = g.input<double>("A", {64, 64});
            (void)(let<"S">(i) = sum(k)((k <= i) * A(k, i)));
            (void)(let<"R">(i) = sum(k)(A(k, i) * A(k, i)));
          },
          [&] {
            const auto B = g.input<double>("B", {64, 64});
            (void)(let<"T">(k) = sum(i)((k <= i) * B(k, i)));
            (void)(let<"U">(i) = sum(k)(B(k, i) * B(k, i)));
          });
      Placement placement{make_mesh(4), {}, {}};
      for (const Vertex& v : g.graph().vertices) {
        AxisLists calls(v.labels.size());
        AxisLists stored(v.bound.size());
        if (v.is_input()) {
          stored[0] = {0, 1};
        } else {
          calls[1] = {0, 1};
          if (v.output[0] == 1) stored[0] = {0, 1};
        }
        placement.calls.push_back(calls);
        placement.stored.push_back(stored);
      }
      check("masks that aggregate different labels", g.graph(), placement);
    }
    {
      PlanProgram g;
      const auto write = [&](const char* name, const auto& first) {
        const auto X = g.input<double>(name, {480});
        (void)(let(std::string(name) + "1")(extent(i, 480)) = sum(k)(first(X)));
        (void)(let(std::string(name) + "2")(extent(i, 480)) =
                   sum(k)(as_written(3.0 * X(i - extent(k, 480)))));
      };
      in_order([&] { write("Y", [](const auto& X) { return X(i - extent(k, 480)); }); },
               [&] {
                 write("Z", [](const auto& X) { return as_written(2.0 * X(i - extent(k, 480))); });
               });
      std::vector<PartitionVector> parts;
      for (const Vertex& v : g.graph().vertices) {
        PartitionVector d;
        if (!v.is_input()) {
          d.assign(v.labels.size(), 1);
          d[to_index(v.output[0])] = 4;
        }
        parts.push_back(d);
      }
      check("scans and windows", g.graph(), place(g.graph(), parts, make_mesh(4)));
    }
  }
}
