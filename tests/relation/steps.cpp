// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/make_profile.hpp"
#include "eindecomp/relation/memory.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "eindecomp/relation/write_program.hpp"
#include "simulation.hpp"
#include "support.hpp"

using namespace relation_test;
using eindecomp::StepAxis;
using eindecomp::StepGroup;

namespace {

/// X(a,b) -> R(b) = ⊕ X, E(b,a) = X ⊗ R, S(b) = ⊕ E, P(a,b) = E ⊗ S: a softmax along a.
EinGraph softmax(Extent a, Extent b) {
  EinGraph graph;
  const VertexId x = graph.add_input("X", {a, b}, {});
  const VertexId r = add(graph, "R", {{"ab", x}}, "b");
  const VertexId e = add(graph, "E", {{"ab", x}, {"b", r}}, "ba");
  const VertexId s = add(graph, "S", {{"ba", e}}, "b");
  add(graph, "P", {{"ba", e}, {"b", s}}, "ab");
  return graph;
}

/// The whole softmax along b.
StepGroup along_b(Extent parts) { return {1, 4, {{{1, 1, 0, 0}, parts}}}; }

Placement on(int workers, const EinGraph& graph, const std::vector<PartitionVector>& d) {
  return place(graph, d, eindecomp::make_mesh(workers));
}

/// A chain of statements that all keep two labels, under names that change, beside labels of their
/// own, and that now and then read an input, and the vectors that cut the two labels alike.
struct Chain {
  RandomProgram program;
  std::vector<PartitionVector> vectors;
  std::vector<std::pair<int, int>> kept;  ///< per statement: where the two labels stand
};

Chain random_chain(Random& random, Extent parts_i, Extent parts_h) {
  Chain chain;
  EinGraph& graph = chain.program.graph;
  const Extent i = random.number(4, 7);
  const Extent h = random.number(2, 4);
  const Extent j = random.number(1, 4);
  graph.add_input("X", {i, j, h}, {});
  graph.add_input("W", {j, j}, {});
  graph.add_input("B", {h, j}, {});
  chain.program.algebra.assign(3, Aggregation::sum);
  chain.vectors.resize(3);
  VertexId previous = 0;
  const int statements = random.number(2, 5);
  for (int s = 0; s < statements; ++s) {
    // Dimensions of extent i, j and h, in this order or, of later tensors, in another.
    const bool turned = previous != 0;
    const char* names = random.pick({"ijh", "ujv", "pqr"});
    const std::string a{names[0]}, c{names[1]}, b{names[2]};
    const std::string labels = turned ? b + a + c : a + c + b;
    const std::string fresh = "z";
    VertexId v = -1;
    const std::string name = "S" + std::to_string(s);
    const bool product = random.chance(50);
    const std::string output = b + a + (product ? fresh : c);
    const std::string by_w = c + fresh;
    const std::string by_b = b + c;
    if (product) {
      v = add(graph, name, {{labels.c_str(), previous}, {by_w.c_str(), 1}}, output.c_str());
    } else if (random.chance(50)) {
      v = add(graph, name, {{labels.c_str(), previous}, {by_b.c_str(), 2}}, output.c_str());
    } else {
      v = add(graph, name, {{labels.c_str(), previous}}, output.c_str());
    }
    const Vertex& made = graph[v];
    PartitionVector d(made.labels.size(), 1);
    const int at_b = made.output[0];
    const int at_a = made.output[1];
    d[at(at_a)] = parts_i;
    d[at(at_b)] = parts_h;
    chain.vectors.push_back(d);
    chain.kept.emplace_back(at_a, at_b);
    chain.program.algebra.push_back(
        random.pick({Aggregation::sum, Aggregation::sum_then_scale, Aggregation::pair}));
    if (chain.program.algebra.back() == Aggregation::pair) graph.vertices.back().partial.bytes = 16;
    graph.vertices.back().kept = random.chance(15);
    previous = v;
  }
  return chain;
}

}  // namespace

TEST_CASE("a group in steps holds what it passes on one block at a time") {
  const EinGraph graph = softmax(10, 12);
  const Placement placement = on(1, graph, {{}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  const auto plain = eindecomp::compile_rank(graph, placement, 1, 0);
  const auto stepped = eindecomp::compile_rank(graph, placement, 1, 0, {along_b(4)});
  // R, whose place S takes, and E: (12 + 120) · 8 bytes in multiples of 64, against blocks of 3
  // columns.
  CHECK(plain.arena_bytes == 128 + 960);
  CHECK(stepped.arena_bytes == 64 + 256);
  CHECK(stepped.result_bytes == plain.result_bytes);
  CHECK(stepped.turns == 4 + 4 * 4);
  REQUIRE(stepped.instructions.size() == 4 * 4);
  for (std::size_t i = 0; i < stepped.instructions.size(); ++i) {
    CHECK(stepped.instructions[i].turn == 4 + static_cast<int>(i));
    const auto* const call = stepped.instructions[i].as<eindecomp::KernelCall>();
    REQUIRE(call != nullptr);
    const std::size_t b = i % 4 < 2 ? 1 : 0;  // where R and E, S and P have the label
    const auto n = static_cast<Extent>(i / 4);
    CHECK(call->domain.lo[b] == 3 * n);
    CHECK(call->domain.hi[b] == 3 * n + 3);
  }
}

TEST_CASE("programs in steps give what they give whole, and move the same words") {
  const unsigned first_seed = 77001;
  int steps_run = 0;
  std::size_t tiles_run = 0;
  for (unsigned n = 0; n < 400; ++n) {
    const unsigned seed = first_seed + n;
    CAPTURE(seed);
    Random random(seed);
    const Extent parts_i = random.pick({1, 2, 4});
    const Extent parts_h = random.pick({1, 2});
    const Chain chain = random_chain(random, parts_i, parts_h);
    const EinGraph& graph = chain.program.graph;
    const int workers = static_cast<int>(parts_i * parts_h);
    const Placement placement = on(workers, graph, chain.vectors);
    const int statements = static_cast<int>(chain.kept.size());
    StepGroup group;
    const int first = random.number(0, statements - 1);
    const int last = random.number(first, statements - 1);
    group.first = 3 + first;
    group.last = 3 + last;
    for (int axis : {0, 1}) {
      if (random.chance(30)) continue;
      StepAxis along;
      for (int s = first; s <= last; ++s) {
        along.positions.push_back(axis == 0 ? chain.kept[at(s)].first : chain.kept[at(s)].second);
      }
      const Extent extent = graph[3 + first].extents[at(along.positions.front())];
      along.parts = random.number(1, static_cast<int>(extent));
      group.axes.push_back(along);
    }
    // Statements of the group, tile by tile along one label or both.
    StepGroup tiles;
    const int begin = random.number(first, last);
    const int end = random.number(begin, last);
    tiles.first = 3 + begin;
    tiles.last = 3 + end;
    for (int axis : {0, 1}) {
      if (axis == 0 && random.chance(40)) continue;
      StepAxis along{{}, 1, random.number(1, 3)};
      for (int s = begin; s <= end; ++s) {
        along.positions.push_back(axis == 0 ? chain.kept[at(s)].first : chain.kept[at(s)].second);
      }
      tiles.axes.push_back(along);
    }
    if (random.chance(30)) tiles.interleaved = tiles.first;
    if (random.chance(70)) group.tiles.push_back(tiles);
    CHECK(step_fault(graph, placement, group).str() == "");
    const eindecomp::SpaceFacts space{random.number(0, 3)};
    const int ranks = random.pick({1, 2, 3, 8});
    const auto tasks = eindecomp::make_task_graph(graph, placement, ranks);
    const auto plain = eindecomp::compile_ranks(graph, placement, ranks);
    const auto stepped = eindecomp::compile_ranks(graph, placement, ranks, {group}, space);
    check_run(chain.program, stepped, tasks);
    for (int r = 0; r < ranks; ++r) {
      CHECK(eindecomp::compile_rank(graph, placement, ranks, r, {group}, space) == stepped[at(r)]);
      tiles_run += stepped[at(r)].tiled.size();
      if (space.threads == 0) CHECK(stepped[at(r)].tiled.empty());
      CHECK(stepped[at(r)].result_bytes == plain[at(r)].result_bytes);
    }
    steps_run += group.steps() > 1 ? 1 : 0;
  }
  CHECK(steps_run > 200);
  CHECK(tiles_run > 150);
}

TEST_CASE("terms accumulate in the place of their sum, and move the same words") {
  int copied = 0;
  for (unsigned seed = 81001; seed < 81121; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Extent rows = random.number(4, 9);
    const Extent columns = random.number(4, 9);
    const Extent inner = random.number(1, 6);
    RandomProgram program;
    EinGraph& graph = program.graph;
    const VertexId x = graph.add_input("X", {rows, inner}, {});
    const VertexId y = graph.add_input("Y", {inner, columns}, {});
    const VertexId b = graph.add_input("B", {rows, columns}, {});
    const bool reads = random.chance(50);  // a tensor that is there before
    const int terms = random.number(reads ? 1 : 2, 4);
    std::vector<std::pair<const char*, VertexId>> operands;
    if (reads) operands.emplace_back("ik", b);
    for (int t = 0; t < terms; ++t) {
      const std::string name = "T" + std::to_string(t);
      const bool map = t == 0 && !reads && random.chance(50);
      const VertexId term = map ? add(graph, name, {{"ik", b}}, "ik")
                                : add(graph, name, {{"ij", x}, {"jk", y}}, "ik");
      graph.vertices.back().op.sums = !map;
      graph.vertices.back().op.finishes = false;
      operands.emplace_back("ik", term);
    }
    if (random.chance(50)) std::reverse(operands.begin(), operands.end());
    StatementSpec spec;
    spec.name = "Z";
    for (const auto& [labels, vertex] : operands) {
      spec.operands.push_back({vertex, {std::string_view("i"), std::string_view("k")}});
    }
    spec.output = {{"i", 0}, {"k", 0}};
    const VertexId z = graph.add_statement(spec);
    graph.vertices.back().op.adds = true;
    add(graph, "R", {{"ik", z}}, "k");
    graph.vertices.back().op.finishes = false;
    program.algebra.assign(graph.vertices.size(), Aggregation::sum);
    const Extent parts_i = random.pick({1, 2, 4});
    const Extent parts_k = random.pick({1, 2});
    const int workers = static_cast<int>(parts_i * parts_k);
    std::vector<PartitionVector> d;
    for (const Vertex& v : graph.vertices) {
      PartitionVector parts(v.labels.size(), 1);
      for (std::size_t l = 0; l < parts.size(); ++l) {
        const std::string_view label = graph.labels[at(v.labels[l])].name;
        if (label == "i") parts[l] = parts_i;
        if (label == "k") parts[l] = parts_k;
      }
      d.push_back(parts);
    }
    const Placement placement = on(workers, graph, d);
    StepGroup group{z - terms, z};
    group.accumulates = true;
    if (!step_fault(graph, placement, group).empty()) {
      CHECK(reads);  // the tensor lies elsewhere
      continue;
    }
    const int ranks = random.pick({1, 2, 3, 8});
    const auto tasks = eindecomp::make_task_graph(graph, placement, ranks);
    const auto plain = eindecomp::compile_ranks(graph, placement, ranks);
    const auto summed = eindecomp::compile_ranks(graph, placement, ranks, {group});
    check_run(program, summed, tasks);
    for (int r = 0; r < ranks; ++r) {
      CHECK(eindecomp::compile_rank(graph, placement, ranks, r, {group}) == summed[at(r)]);
      CHECK(summed[at(r)].arena_bytes <= plain[at(r)].arena_bytes);
      for (const eindecomp::Instruction& i : summed[at(r)].instructions) {
        CHECK((i.statement != z || i.as<eindecomp::KernelCall>() == nullptr));
        copied += i.statement == group.first && i.as<eindecomp::Copy>() != nullptr ? 1 : 0;
      }
    }
    const auto profile = eindecomp::relation::profile_of(graph, placement, ranks, {group}, {});
    const std::vector<std::int64_t> peaks = profile.memory().peak_bytes;
    for (int r = 0; r < ranks; ++r) CHECK(peaks[at(r)] == summed[at(r)].peak_bytes());
  }
  CHECK(copied > 0);
}

TEST_CASE("a block is cut on into tiles, of which each thread holds what is passed on") {
  const EinGraph graph = softmax(10, 12);
  const Placement placement = on(1, graph, {{}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  StepGroup group = along_b(2);
  group.tiles = {{1, 4, {{{1, 1, 0, 0}, 1, 4}}}};
  const auto compiled = eindecomp::compile_rank(graph, placement, 1, 0, {group}, {.threads = 3});
  REQUIRE(compiled.tiled.size() == 2);  // one for each block of 6 columns: tiles of 4 and 2
  const eindecomp::TiledCalls& first = compiled.tiled[0];
  CHECK(first.first == 0);
  CHECK(first.last == 3);
  // A tile of R, whose place S takes, and of E: 4 and 40 elements, in multiples of 64 bytes.
  CHECK(first.thread_bytes == 64 + 320);
  CHECK(compiled.arena_bytes == 3 * first.thread_bytes);
  CHECK(std::ranges::count_if(compiled.buffers, [](const Buffer& b) {
          return b.role == Buffer::Role::tile;
        }) == 2 * 3);
  CHECK(compiled.instructions[3].as<eindecomp::KernelCall>()->unread);
  CHECK(bytes_by_instruction(compiled)[0] == compiled.peak_bytes());
  std::ostringstream text;
  text << compiled;
  CHECK(contains(text.str(),
                 "0-3  in 2 tiles like [0:10, 0:4] of R; at 0 384 bytes for each "
                 "thread of 3"));
  const auto fewer = eindecomp::compile_rank(graph, placement, 1, 0, {group}, {.threads = 2});
  CHECK(hash_of(fewer) != hash_of(compiled));
  group.tiles[0].axes[0].size = 5;
  CHECK(hash_of(eindecomp::compile_rank(graph, placement, 1, 0, {group}, {.threads = 3})) !=
        hash_of(compiled));
  // A tile that is no shorter than the block, and a device.
  group.tiles[0].axes[0].size = 6;
  CHECK(eindecomp::compile_rank(graph, placement, 1, 0, {group}).tiled.empty());
  group.tiles[0].axes[0].size = 1;
  const auto on_device = eindecomp::compile_rank(graph, placement, 1, 0, {group}, {.threads = 0});
  CHECK(on_device.tiled.empty());
}

TEST_CASE("pieces of any length are counted") {
  const StepAxis longest{{0}, 1, std::numeric_limits<Extent>::max()};
  CHECK(longest.pieces(8) == 1);
  CHECK(longest.begin(8, 1) == 8);
  CHECK(StepAxis{{0}, 1, 3}.pieces(8) == 3);
}

TEST_CASE("tensors that others read stay whole") {
  EinGraph graph = softmax(8, 8);
  add(graph, "T", {{"ba", 2}}, "a");  // reads E after the group
  const Placement placement = on(1, graph, {{}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  const StepGroup group = along_b(8);
  CHECK(eindecomp::relation::passed_on(graph, group, eindecomp::relation::last_readers(graph)) ==
        eindecomp::Flags{true, false, true, false});
  const auto compiled = eindecomp::compile_rank(graph, placement, 1, 0, {group});
  CHECK(std::ranges::count_if(compiled.buffers, [](const Buffer& b) {
          return b.tensor == 2 && b.box == Box::whole({8, 8});
        }) == 1);
}

TEST_CASE("groups that cannot run in steps are refused with the reason") {
  const EinGraph graph = softmax(8, 8);
  const Placement whole = on(1, graph, {{}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  const auto refusal = [&](const Placement& placement, const std::vector<StepGroup>& groups) {
    return message_of([&] { (void)eindecomp::compile_rank(graph, placement, 1, 0, groups); });
  };
  CHECK(contains(refusal(whole, {{0, 4, {}}}), "from one statement to another"));
  CHECK(contains(refusal(whole, {{4, 3, {}}}), "from one statement to another"));
  CHECK(contains(refusal(whole, {{1, 9, {}}}), "from one statement to another"));
  CHECK(contains(refusal(whole, {{1, 2, {{{0, 0}, 2}}}}), "statement 'R' aggregates label 'a'"));
  CHECK(contains(refusal(whole, {{1, 2, {{{1}, 2}}}}), "the group has 2"));
  CHECK(contains(refusal(whole, {{1, 2, {{{1, 7}, 2}}}}), "'E' has no label number 7"));
  CHECK(contains(refusal(whole, {{1, 2, {{{1, 1}, 9}}}}), "extent 8 and would be cut into 9"));
  CHECK(contains(refusal(whole, {{1, 2, {{{1, 1}, 0}}}}), "would be cut into 0"));
  CHECK(contains(refusal(whole, {{1, 2, {{{1, 0}, 2}}}}), "'E' reads 'R' across the blocks"));
  CHECK(contains(refusal(whole, {{1, 2, {{{1, 1}, 2}, {{1, 1}, 2}}}}), "two axes are the same"));
  CHECK(contains(refusal(whole, {along_b(2), {4, 4, {{{0}, 2}}}}), "share statement 'P'"));
  const auto tiled = [](const StepGroup& tiles) {
    StepGroup group = along_b(2);
    group.tiles = {tiles};
    return std::vector<StepGroup>{group};
  };
  CHECK(contains(refusal(whole, tiled({1, 5, {{{1, 1, 0, 0}, 1, 2}}})), "of other statements"));
  CHECK(contains(refusal(whole, tiled({1, 2, {{{1, 1}, 2}}})), "tiles have sizes"));
  CHECK(contains(refusal(whole, tiled({1, 2, {{{0, 0}, 1, 2}}})), "aggregates label 'a'"));
  CHECK(contains(refusal(whole, tiled({1, 2, {{{1, 1}, 1, -2}}})), "tiles of -2"));
  const StepGroup inner{1, 2, {{{1, 1}, 1, 2}}};
  CHECK(contains(refusal(whole, tiled({1, 2, inner.axes, {inner}})), "tiles have tiles"));
  StepGroup odd = along_b(2);
  odd.interleaved = 7;
  CHECK(contains(refusal(whole, {odd}), "interleaved with a statement that it does not have"));
  // S adds up what comes block after block along a.
  StepGroup adding{2, 3, {{{0, 1}, 2}}};
  adding.tiles = {{2, 3, {{{1, 0}, 1, 2}}}};
  CHECK(contains(refusal(whole, {adding}), "'S' adds blocks up, and is in no tiles"));
  // Cut along the aggregated label: the result is put together from several workers'.
  const Placement across = on(2, graph, {{}, {2, 1}, {1, 2}, {2, 1}, {2, 1}});
  CHECK(contains(refusal(across, {along_b(2)}), "is not stored where it is computed"));
  const Placement elsewhere = on(2, graph, {{}, {1, 2}, {2, 1}, {2, 1}, {2, 1}});
  CHECK(contains(refusal(elsewhere, {along_b(2)}), "statement 'E' reads 'R' from other workers"));
}

TEST_CASE("statements that cannot run in steps are named, with the reason") {
  const Placement whole = on(1, softmax(8, 8), {{}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  // Of a softmax that was changed.
  const auto fault = [&](const StepGroup& group, const auto& change) {
    EinGraph graph = softmax(8, 8);
    change(graph);
    return eindecomp::step_fault(graph, whole, group).str();
  };
  const auto none = [](EinGraph&) {};
  CHECK(fault(along_b(2), none).empty());
  CHECK(contains(fault(along_b(2), [](EinGraph& g) { g.vertices[2].op.blocks = true; }),
                 "'E' puts blocks together"));
  CHECK(
      contains(fault(along_b(2), [](EinGraph& g) { g.vertices[2].operands[1].indices.resize(1); }),
               "'E' reads 'R' at indices computed from labels"));
  // R is streamed along a, which it aggregates.
  const StepGroup stream{1, 1, {{{0}, 2}}};
  CHECK(fault(stream, none).empty());
  CHECK(contains(fault(stream, [](EinGraph& g) { g.labels[at(g[1].labels[0])].uncut = true; }),
                 "label 'a' of statement 'R' may not be cut"));
  CHECK(contains(fault(stream, [](EinGraph& g) { g.vertices[1].scanned = 0; }),
                 "'R' scans, and aggregates label 'a' as one"));
  StepGroup fine = stream;
  fine.axes[0].stripes = 5;
  CHECK(contains(fault(fine, none), "extent 8 and would be cut into 5 times 2 parts"));
}

TEST_CASE("sums that cannot accumulate are named, with the reason") {
  // T is a term of Z.
  const auto sum = [](std::initializer_list<std::pair<const char*, VertexId>> terms) {
    EinGraph graph;
    graph.add_input("X", {8, 8}, {});
    graph.add_input("Y", {8, 8}, {});
    add(graph, "T", {{"ab", 0}}, "ab");
    add(graph, "Z", terms, "ab");
    graph.vertices[2].op.sums = true;
    graph.vertices[3].op.adds = true;
    return graph;
  };
  const auto fault = [](const EinGraph& graph, bool cut = false) {
    StepGroup group{2, 3};
    group.accumulates = true;
    if (cut) group.axes = {{{0, 0}, 2}};
    return eindecomp::step_fault(graph, on(1, graph, {{}, {}, {1, 1}, {1, 1}}), group).str();
  };
  EinGraph graph = sum({{"ab", 0}, {"ab", 2}});
  CHECK(fault(graph).empty());
  CHECK(contains(fault(graph, true), "'Z' is no sum of tensors in one block"));
  graph.vertices[3].op.adds = false;
  CHECK(contains(fault(graph), "'Z' is no sum of tensors in one block"));
  CHECK(contains(fault(sum({{"ba", 0}, {"ab", 2}})), "'Z' reads 'X' under other labels"));
  CHECK(contains(fault(sum({{"ab", 0}, {"ab", 1}, {"ab", 2}})),
                 "several terms of 'Z' are there before"));
  CHECK(contains(fault(sum({{"ab", 0}})), "the result of statement 'T' is no term that"));
  graph = sum({{"ab", 0}, {"ab", 2}});
  graph.vertices[2].op.sums = false;  // what it adds to X may be no sum
  CHECK(contains(fault(graph), "the result of statement 'T' is no term that accumulates"));
}
