// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "plan/programs.hpp"
#include "support/messages.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

/// A symbol as programs hand them out.
struct Symbol {
  VertexId id = -1;
  std::uint64_t program = 0;
  VertexId vertex() const { return id; }
  std::uint64_t program_id() const { return program; }
};

}  // namespace

TEST_CASE("a plan adds up and says what it was asked for") {
  const EinGraph graph = attention(true);
  const Plan plan = decompose(graph, {.workers = 8, .ranks = 3, .strategy = "ein_decomp"});
  CHECK(plan.workers == 8);
  CHECK(plan.ranks == 3);
  CHECK(plan.strategy == "ein_decomp");
  CHECK(plan.placement.mesh == make_mesh(8));
  CHECK(plan.cost == graph_cost(graph, plan.partitions));
  Cost sum;
  for (VertexId v = 0; v < graph.size(); ++v) sum += plan.cost_of(v);
  CHECK(sum == plan.cost);
  CHECK(decompose(graph, {.workers = 8}).ranks == 8);
  CHECK(decompose(graph, {.workers = 6}).strategy == "placed");
  CHECK(decompose(graph, {}).workers == 1);
  CHECK(decompose(graph, {}).tasks().total_words() == 0);
  CHECK(plan.peak_bytes().size() == 3);
}

TEST_CASE("the stored boxes of all ranks are the tensor, once") {
  const EinGraph graph = attention(true);
  for (int ranks : {1, 3, 8, 11}) {
    CAPTURE(ranks);
    const Plan plan = decompose(graph, {.workers = 8, .ranks = ranks});
    for (VertexId v = 0; v < graph.size(); ++v) {
      Extent elements = 0;
      std::vector<Box> boxes;
      for (int rank = 0; rank < ranks; ++rank) {
        for (const Box& box : plan.local(v, rank)) {
          for (const Box& other : boxes) REQUIRE(intersect(box, other).empty());
          boxes.push_back(box);
          elements += box.size();
        }
      }
      CHECK(elements == graph[v].size());
    }
  }
}

TEST_CASE("a plan lists what each rank does") {
  const EinGraph graph = matmul(8, 8, 8);
  const Plan plan = decompose(graph, {.workers = 4});
  const std::vector<RankProgram> programs = compile_ranks(graph, plan.placement, 4);
  for (int rank = 0; rank < 4; ++rank)
    CHECK(plan.program(rank) == programs[static_cast<std::size_t>(rank)]);
  std::ostringstream text;
  text << plan.program(3);
  CHECK(text.str().starts_with("rank 3: "));
}

TEST_CASE("tensors are named by vertex, symbol or name") {
  const EinGraph graph = matmul(8, 8, 8);
  const Plan plan = decompose(graph, {.workers = 4});
  const VertexId z = graph.find("Z");
  CHECK(plan.vertex(z) == z);
  CHECK(plan.vertex("Z") == z);
  const std::uint64_t id = graph[z].program_id;
  CHECK(plan.vertex(Symbol{z, id}) == z);
  CHECK(plan.local("Z", 1) == plan.local(Symbol{z, id}, 1));
  check_error([&] { return plan.vertex(7); }, "the plan has no tensor number 7");
  check_error([&] { return plan.vertex("Q"); },
              "the plan has no tensor 'Q' (its tensors are X, Y, Z)");
  check_error(
      [&] {
        return plan.vertex(Symbol{z, id + 1});
      },
      "tensor number 2 is not one of the plan's (it was written into another program");
  check_error([&] { return plan.local("Z", 4); }, "the plan has no rank 4 (it is for 4 ranks)");
  check_error([&] { return plan.local("Z", -1); }, "the plan has no rank -1");
  check_error([&] { return plan.program(4); }, "the plan has no rank 4 (it is for 4 ranks)");
  check_error([&] { return plan.parts("Z", "q"); }, "tensor 'Z' has no label 'q'");
}

TEST_CASE("options out of range are errors with the caller's place") {
  const EinGraph graph = matmul(8, 8, 8);
  const auto error = [&](const DecomposeOptions& options, const char* message) {
    check_error([&] { return decompose(graph, options); }, message);
  };
  error({.workers = 0}, "a plan for 0 workers (a plan has at least one)");
  error({.workers = -4}, "a plan for -4 workers");
  error({.workers = 65538, .strategy = "square"},
        "a plan for 65538 workers (numbers that are no power of two go up to 65536); give fewer");
  error({.workers = 4, .ranks = -1}, "a plan for -1 ranks");
  error({.workers = 4, .strategy = ""}, "there is no strategy ''");
  error({.workers = 4, .by_hand = {{"Z", {}}}}, "set strategy = \"by_hand\"");
  error({.workers = 4, .layouts = {{"Q", {1, 1}}}}, "a layout is given for 'Q' (there is no such");
  error({.workers = 4, .layouts = {{"Z", {1, 1}}}}, "a layout is given for 'Z' (it is a statement");
  try {
    static_cast<void>(decompose(graph, {.workers = -3, .strategy = "square"}));
    FAIL("no error");
  } catch (const Error& caught) {
    CHECK(std::string(caught.where().file_name()).find("plan_test.cpp") != std::string::npos);
  }
  error({.max_idle = std::nan("")}, "may leave more than all workers idle");
  const auto effort = [&](const SearchEffort& given) {
    error({.workers = 4, .effort = given}, "a search of negative effort, or of one that is no");
  };
  effort({.placed = -1});
  effort({.programs = -1});
  effort({.programs = std::nan("")});
  effort({.exact = {.max_states = std::nan("")}});
  effort({.exact = {.max_work = -1}});
  CHECK_NOTHROW((void)decompose(graph, {.workers = 4, .effort = {.placed = 0, .programs = 0}}));
}

TEST_CASE("what cannot be counted is refused before anything is searched") {
  const auto error = [&](const EinGraph& graph, const DecomposeOptions& options,
                         const char* message) {
    check_error([&] { return decompose(graph, options); }, message);
  };
  EinGraph reads;  // 17 times a tensor of 2^56 elements as eight operands
  const VertexId x = input(reads, "X", {Extent{1} << 56});
  for (int n = 0; n < 17; ++n) {
    write(reads, "S" + std::to_string(n), "i,i,i,i,i,i,i,i->", {x, x, x, x, x, x, x, x});
  }
  error(reads, {.workers = 2, .strategy = "square"},
        "the plan would move more words than a 64-bit integer counts");
  constexpr Extent huge = Extent{1} << 28;
  error(matmul(huge, huge, huge), {.workers = 2},
        "statement 'Z' has more scalar operations than a 64-bit integer counts");
  EinGraph inputs;  // 16 times 2^57 elements: their bytes are 2^64 or 2^63
  std::vector<VertexId> operands;
  for (int n = 0; n < 16; ++n) {
    operands.push_back(input(inputs, "X" + std::to_string(n), {Extent{1} << 57}));
  }
  write(inputs, "Z", "i->", {operands.front()});
  for (const char* strategy : {"ein_decomp", "placed"}) {
    error(inputs, {.workers = 1, .strategy = strategy, .memory = 1},
          " TiB together, of which 'X0'");
  }
  error(matmul(8, 8, 8), {.workers = 1 << 17},
        "the strategy placed for 131072 workers (it searches for up to 65536)");
}

TEST_CASE("a layout given for an input is kept") {
  const EinGraph graph = matmul(8, 8, 8);
  const Plan plan = decompose(graph, {.workers = 4, .layouts = {{"X", {1, 4}}}});
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<Box> boxes = plan.local("X", rank);
    REQUIRE(boxes.size() == 1);
    CHECK(boxes[0].extent(0) == 8);
    CHECK(boxes[0].extent(1) == 2);
  }
}

TEST_CASE("hashes tell plans apart, and only plans") {
  const Plan plan = decompose(matmul(8, 8, 8), {.workers = 4});
  CHECK(plan.hash() == decompose(matmul(8, 8, 8), {.workers = 4}).hash());
  std::vector<std::uint64_t> hashes{plan.hash()};
  hashes.push_back(decompose(matmul(8, 8, 9), {.workers = 4}).hash());
  hashes.push_back(decompose(matmul(8, 8, 8), {.workers = 8}).hash());
  hashes.push_back(decompose(matmul(8, 8, 8), {.workers = 4, .ranks = 3}).hash());
  hashes.push_back(
      decompose(matmul(8, 8, 8), {.workers = 4, .steps = {{"Z", "Z", {{"i", 2}}}}}).hash());
  hashes.push_back(decompose(matmul(8, 8, 8), {.workers = 4, .layouts = {{"X", {1, 4}}}}).hash());
  EinGraph graph = matmul(8, 8, 8);
  graph.vertices[2].op.state = {1};
  hashes.push_back(decompose(graph, {.workers = 4}).hash());
  graph.vertices[2].op.join = "add";
  hashes.push_back(decompose(graph, {.workers = 4}).hash());
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end());
}

TEST_CASE("hashes tell apart what only some statements have") {
  const auto hash_with = [](const auto& change) {
    EinGraph graph = matmul(8, 8, 8);
    change(graph.vertices[2]);
    eindecomp::core::Hasher hasher;
    eindecomp::plan::add_to_hash(hasher, graph);
    return hasher.value();
  };
  const OperandIndex upper{.terms = {{0, 1}, {1, -1}}};
  const OperandIndex lower{.terms = {{0, -1}, {1, 1}}};
  std::vector<std::uint64_t> hashes{hash_with([](Vertex&) {})};
  // X(i, j) * value(i) and X(i, j) * value(j) are one ⊗ of one operand.
  hashes.push_back(hash_with([](Vertex& v) { v.values = {0}; }));
  hashes.push_back(hash_with([](Vertex& v) { v.values = {1}; }));
  for (const unsigned skipped : {0U, 1U}) {
    hashes.push_back(hash_with([skipped](Vertex& v) {
      v.values = {0};
      v.op.index_tensors = 1;
      v.op.skipped_indices = skipped;
    }));
  }
  hashes.push_back(hash_with([&](Vertex& v) { v.mask = {upper}; }));
  hashes.push_back(hash_with([&](Vertex& v) { v.mask = {lower}; }));
  hashes.push_back(hash_with([&](Vertex& v) { v.operands[0].mask = {upper}; }));
  hashes.push_back(hash_with([&](Vertex& v) { v.operands[1].mask = {upper}; }));
  hashes.push_back(hash_with([](Vertex& v) { v.operands[0].absorbing = true; }));
  hashes.push_back(hash_with([](Vertex& v) { v.operands[0].block = {4, 4}; }));
  hashes.push_back(hash_with([](Vertex& v) { v.operands[0].block = {4, 8}; }));
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end());
}
