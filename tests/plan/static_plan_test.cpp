// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/static_plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <source_location>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "plan/programs.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

constexpr auto chain_plan = static_plan<16>([] { return matrix_chain(1024); });
static_assert(chain_plan.cost.total() == 27262976);
static_assert(chain_plan.size() == 4 && chain_plan.workers == 16);
static_assert(chain_plan.parts("AB", "i") * chain_plan.parts("AB", "j") *
                  chain_plan.parts("AB", "k") ==
              16);

constexpr auto attention_plan = static_plan<8, "square">([] { return attention(false); });
static_assert(attention_plan.parts("T", "s") == 4 && attention_plan.parts("T", "t") == 2);

/// A program in index notation, planned by the compiler.
constexpr auto written = [] {
  using namespace eindecomp::labels;
  BasicProgram<NoBackend> program;
  auto X = program.input<double>("X", {8, 8});
  auto Y = program.input<double>("Y", {8, 8});
  auto Z = let<"Z">(i, k) = sum(j)(X(i, j) * Y(j, k));
  static_cast<void>(Z);
  return program;
};
static_assert(static_plan<16>(written).cost.total() == 448);
static_assert(static_plan<16>(written)["Z"].cost == static_plan<16>(written).cost);

}  // namespace

TEST_CASE("a static plan is the plan made at run time") {
  const Plan plan = decompose(matrix_chain(1024), {.workers = 16, .strategy = "ein_decomp"});
  CHECK(plan.cost == chain_plan.cost);
  for (const char* statement : {"AB", "DE", "CDE", "S"}) {
    const auto& fixed = chain_plan[statement];
    CHECK(plan.cost_of(statement) == fixed.cost);
    CHECK(plan.partition(statement) ==
          PartitionVector(fixed.partition.begin(), fixed.partition.end()));
  }
}

TEST_CASE("what a static plan has not is an error at the caller's line") {
  const auto line_of = [](const auto& call, const char* sentence) {
    try {
      call();
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::plan);
      CHECK(e.sentence() == sentence);
      return e.where().line();
    }
    return std::uint_least32_t{0};
  };
  const auto here = std::source_location::current().line();
  CHECK(line_of([] { static_cast<void>(chain_plan["XY"]); },
                "the plan has no statement 'XY'; name one that it has") == here + 1);
  CHECK(line_of([] { static_cast<void>(chain_plan.parts("XY", "i")); },
                "the plan has no statement 'XY'; name one that it has") == here + 3);
  CHECK(line_of([] { static_cast<void>(chain_plan.parts("AB", "z")); },
                "statement 'AB' has no label 'z'; name one that it has") == here + 5);
}

TEST_CASE("a program gives the plan of its graph, with its launchers") {
  const auto program = written();
  const DecomposeOptions options{.workers = 16, .strategy = "ein_decomp"};
  const BasicPlan<NoBackend> plan = decompose(program, options);
  CHECK(plan.cost == static_plan<16>(written).cost);
  CHECK(plan.launchers.size() == program.launchers().size());
  CHECK(plan.hash() == decompose(program.graph(), options).hash());
}
