// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements that are scans: which are, and what their calls read.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/graph/scan.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/instruction_work.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "support.hpp"

using namespace eindecomp;
using namespace eindecomp::labels;
using relation_test::at;

namespace {

/// Programs of a graph of one input and one statement, which is cut.
std::vector<RankProgram> programs(const EinGraph& graph, const PartitionVector& parts,
                                  const std::vector<StepGroup>& groups = {}) {
  int ranks = 1;
  for (const Extent p : parts) ranks *= static_cast<int>(p);
  return compile_ranks(graph, place(graph, {{}, parts}, make_mesh(ranks)), ranks, groups);
}

template <class Work>
[[nodiscard]] std::ptrdiff_t count(const RankProgram& program) {
  return std::ranges::count_if(program.instructions, [](const Instruction& instruction) {
    return instruction.as<Work>() != nullptr;
  });
}

/// Whether what write(X) writes, of 30 x 20 elements of X, is a scan.
template <class Write>
[[nodiscard]] bool is_scan(const Write& write) {
  PlanProgram g;
  write(g.input<double>("X", {30, 20}));
  return g.graph()[g.graph().size() - 1].scanned >= 0;
}

}  // namespace

TEST_CASE("sums of windows that reach to an end of the tensor are scans") {
  CHECK(is_scan([](const auto& X) { (void)(let<"Y">(i, j) = cumsum(j)(X(i, j))); }));
  CHECK(is_scan([](const auto& X) { (void)(let<"Y">(j, i) = cumsum(i)(X(i, j))); }));
  CHECK(is_scan(
      [](const auto& X) { (void)(let<"Y">(i, extent(j, 20)) = sum(k)(X(i, j + extent(k, 20)))); }));
  CHECK(is_scan(
      [](const auto& X) { (void)(let<"Y">(i, extent(j, 20)) = max(k)(X(i, j - extent(k, 20)))); }));
}

TEST_CASE("other windows are not") {
  // Of other widths, ...
  CHECK(!is_scan(
      [](const auto& X) { (void)(let<"Y">(i, extent(j, 20)) = sum(k)(X(i, j - extent(k, 19)))); }));
  // ... of a part of the tensor, ...
  CHECK(!is_scan(
      [](const auto& X) { (void)(let<"Y">(extent(i, 20), j) = sum(k)(X(i + extent(k, 20), j))); }));
  // ... moved, ...
  CHECK(!is_scan([](const auto& X) {
    (void)(let<"Y">(i, extent(j, 20)) = sum(k)(X(i, j - extent(k, 20) - 1)));
  }));
  // ... in steps, ...
  CHECK(!is_scan([](const auto& X) {
    (void)(let<"Y">(i, extent(j, 20)) = sum(k)(X(i, j - 2 * extent(k, 20))));
  }));
  // ... summed along another label, too, ...
  CHECK(!is_scan(
      [](const auto& X) { (void)(let<"Y">(extent(j, 20)) = sum(i, k)(X(i, j - extent(k, 20)))); }));
  // ... of a function, ...
  CHECK(!is_scan([](const auto& X) {
    (void)(let<"Y">(i, extent(j, 20)) = sum(k)(square(X(i, zero(j - extent(k, 20))))));
  }));
  // ... and of 0 beyond the ends, where that is not what ⊕ ignores.
  CHECK(!is_scan([](const auto& X) {
    (void)(let<"Y">(i, extent(j, 20)) = max(k)(X(i, zero(j - extent(k, 20)))));
  }));
}

TEST_CASE("a scan reads its operand where it is stored") {
  PlanProgram g;
  const auto X = g.input<double>("X", {30, 20});
  (void)(let<"Y">(i, j) = cumsum(j)(X(i, j)));
  const RankProgram whole = programs(g.graph(), {1, 1, 1}).front();
  CHECK(whole.instructions.size() == 1);
  CHECK(count<KernelCall>(whole) == 1);
  for (const RankProgram& program : programs(g.graph(), {3, 1, 1})) {
    CHECK(program.instructions.size() == 1);
  }
}

TEST_CASE("cut along it, a scan gathers what comes before its block and nothing else") {
  PlanProgram g;
  const auto X = g.input<double>("X", {30, 20});
  (void)(let<"Y">(i, j) = cumsum(j)(X(i, j)));
  const std::vector<RankProgram> made = programs(g.graph(), {1, 4, 1});
  for (int rank = 0; rank < 4; ++rank) {
    const RankProgram& program = made[at(rank)];
    CHECK(count<Fill>(program) == 0);
    CHECK(count<KernelCall>(program) == 1);
    Extent received = 0;
    for (const Instruction& instruction : program.instructions) {
      if (const auto* receive = instruction.as<Receive>()) received += receive->words;
      if (const auto* call = instruction.as<KernelCall>()) {
        const Box& read = program.buffers[at(call->operands.front())].box;
        CHECK(read.lo[1] == 0);
        CHECK(read.hi[1] == 5 * (rank + 1));
      }
    }
    CHECK(received == 30 * 5 * rank);
  }
}

TEST_CASE("cut along the first of several labels, a scan moves an element of each row") {
  PlanProgram g;
  const auto X = g.input<double>("X", {8, 1000});
  (void)(let<"Y">(i, j) = cumsum(i, j)(X(i, j)));
  REQUIRE(g.graph().size() == 5);
  const Placement placement = place(g.graph(), {{}, {4, 1, 1}, {4}, {4, 1}, {4, 1}}, make_mesh(4));
  const std::vector<RankProgram> made = compile_ranks(g.graph(), placement, 4);
  for (int rank = 0; rank < 4; ++rank) {
    Extent received = 0;
    for (const Instruction& instruction : made[at(rank)].instructions) {
      if (const auto* receive = instruction.as<Receive>()) received += receive->words;
    }
    // The last elements of all rows before, and what the row before its own has of all.
    CHECK(received == (rank == 0 ? 0 : 2 * rank + 1));
  }
}

TEST_CASE("cut along the label that it aggregates it reads windows") {
  PlanProgram g;
  const auto X = g.input<double>("X", {30, 20});
  (void)(let<"Y">(i, j) = cumsum(j)(X(i, j)));
  for (const RankProgram& program : programs(g.graph(), {1, 1, 4})) {
    for (const Instruction& instruction : program.instructions) {
      const auto* call = instruction.as<KernelCall>();
      if (call == nullptr) continue;
      const Box& read = program.buffers[at(call->operands.front())].box;
      CHECK(read.extent(1) == 20 + 5 - 1);
      CHECK(!graph::is_scan(g.graph()[1], call->domain));
    }
  }
}

TEST_CASE("what a scan takes is linear in its elements") {
  PlanProgram g;
  const auto X = g.input<double>("X", {30, 20});
  (void)(let<"Y">(i, j) = cumsum(j)(X(i, j)));
  const RankProgram program = programs(g.graph(), {1, 1, 1}).front();
  CHECK(relation::work_of(g.graph(), program, program.instructions.front()).operations == 30 * 20);
}

TEST_CASE("scans are not cut in time along themselves") {
  PlanProgram g;
  const auto X = g.input<double>("X", {30, 20});
  (void)(let<"Y">(i, j) = cumsum(j)(X(i, j)));
  const Placement placement = place(g.graph(), {{}, {1, 1, 1}}, make_mesh(1));
  const auto fault = [&](int position) {
    return step_fault(g.graph(), placement, {1, 1, {{{position}, 2}}}).str();
  };
  CHECK(fault(0).empty());
  CHECK(fault(1) == "statement 'Y' scans along label 'j'");
  CHECK(fault(2) == "statement 'Y' scans, and aggregates label 'scan.label' as one");
}
