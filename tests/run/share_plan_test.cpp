// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/run/share_plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "eindecomp/relation/write_program.hpp"
#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;

TEST_CASE("rank 0 plans for all") {
  const World world;
  Product product(24, 20, 28);
  for (const char* strategy : {"placed", "exact", "k_cut", "linearized"}) {
    const ein::DecomposeOptions options{
        .workers = 4, .ranks = world.size, .strategy = strategy, .cache_bytes = 1 << 10};
    int made = 0;
    const auto plan = ein::share_plan(product.program, MPI_COMM_WORLD, [&] {
      ++made;
      return ein::decompose(product.program, options);
    });
    CHECK(made == (world.rank == 0 ? 1 : 0));
    const auto own = ein::decompose(product.program, options);
    CHECK(plan.hash() == own.hash());
    CHECK(plan.strategy == own.strategy);
    CHECK(plan.cost.total() == own.cost.total());
    CHECK(plan.gap == own.gap);
    CHECK(plan.cuts == own.cuts);
    const auto run =
        ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(product.A, product.fa),
                     ein::bind_generator(product.B, product.fb));
    CHECK(product.right(run));
  }
}

TEST_CASE("steps, tiles and what is carried are shared") {
  const World world;
  Program g;
  const auto X = g.input<double>("X", {24, 24});
  ein::let<"S">(i, j) = ein::softmax(j)(X(i, j));
  const ein::DecomposeOptions options{.workers = 2,
                                      .ranks = world.size,
                                      .carry = {{"S", "X"}},
                                      .tiles = {{"softmax.max", "S", {{"i", 4}}}}};
  const auto own = ein::decompose(g, options);
  REQUIRE(own.steps.size() == 1);
  REQUIRE_FALSE(own.steps[0].tiles.empty());
  REQUIRE(own.carry.size() == 1);
  const auto plan = ein::share_plan(g, MPI_COMM_WORLD, [&] { return ein::decompose(g, options); });
  CHECK(plan.steps == own.steps);
  CHECK(plan.carry == own.carry);
  CHECK(plan.hash() == own.hash());
  CHECK(ein::hash_of(plan.program(world.rank)) == ein::hash_of(own.program(world.rank)));
}

TEST_CASE("what is wrong on rank 0 is an error on all ranks") {
  const World world;
  Product product(8, 8, 8);
  const std::string rank = "rank 0 of " + std::to_string(world.size) + ": ";
  const auto share = [&](const auto& make) {
    return message_of(
        [&] { static_cast<void>(ein::share_plan(product.program, MPI_COMM_WORLD, make)); });
  };
  CHECK(contains(share([&] { return ein::decompose(product.program, {.workers = 0}); }),
                 rank + "a plan for 0 workers"));
  CHECK(contains(share([]() -> ein::Plan { throw std::runtime_error("no file"); }),
                 rank + "no file"));
  Product other(9, 8, 8);
  CHECK(contains(share([&] { return ein::decompose(other.program, {.workers = 1}); }),
                 rank + "the plan that is to be shared is of another program"));
  if (world.size == 1) return;
  Product own(world.rank == 0 ? 8 : 9, 8, 8);
  CHECK(contains(message_of([&] {
                   static_cast<void>(ein::share_plan(own.program, MPI_COMM_WORLD, [&] {
                     return ein::decompose(own.program, {.workers = 1});
                   }));
                 }),
                 "ranks hold different programs"));
}
