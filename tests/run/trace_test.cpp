// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;

TEST_CASE("a recorded run says what every rank did when") {
  const World world;
  Product product(29, 18, 23);
  const auto plan =
      ein::decompose(product.program, {.workers = 2 * world.size, .ranks = world.size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space(), {.trace = true});
  for (int n = 0; n < 2; ++n) {
    const auto run = executor.run(ein::bind_generator(product.A, product.fa),
                                  ein::bind_generator(product.B, product.fb));
    const ein::Timeline timeline = run.timeline();
    REQUIRE(static_cast<int>(timeline.events.size()) == world.size);
    ein::Extent moved = 0;
    bool called = false;
    for (int r = 0; r < world.size; ++r) {
      double computed = 0;
      ein::Extent received = 0;
      ein::Extent sent = 0;
      for (const ein::Event& event : timeline.events[static_cast<std::size_t>(r)]) {
        CHECK(0 <= event.begin);
        CHECK(event.begin <= event.end);
        CHECK(event.end <= timeline.seconds);
        CHECK(event.statement == plan.vertex(product.C));
        if (event.computes()) {
          CHECK(event.begin >= computed);  // one thing after another
          computed = event.end;
          called = called || event.kind == ein::Event::Kind::call;
        } else {
          CHECK((0 <= event.peer && event.peer < world.size && event.peer != r));
          (event.kind == ein::Event::Kind::send ? sent : received) += event.words;
        }
      }
      moved += received;
      if (r != world.rank) continue;
      CHECK(received == run.statistics().words_received);
      CHECK(sent == run.statistics().words_sent);
      CHECK(computed <= run.statistics().seconds);
    }
    CHECK(called);
    CHECK(moved == plan.tasks().total_words());
    REQUIRE(timeline.statements.size() == 1);
    CHECK(timeline.statements[0].adds == timeline.seconds);
  }
}

TEST_CASE("a run that is not recorded has no timeline, and says so on all ranks") {
  const World world;
  Product product(8, 8, 8);
  const auto plan = ein::decompose(product.program, {.workers = world.size});
  const auto run =
      ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(product.A, product.fa),
                   ein::bind_generator(product.B, product.fb));
  CHECK_THROWS_WITH_AS(static_cast<void>(run.timeline()),
                       doctest::Contains("the run has no timeline (it was not recorded)"),
                       ein::Error);
}

TEST_CASE("progress is told at the end where only constants were left to do") {
  const World world;
  ein::BasicProgram<ein::KokkosBackend<Space>> program;
  const auto A = program.input<double>("A", {8, 8});
  (void)(let<"s">(i) = sum(j)(A(i, j) * A(i, j)));
  const auto plan = ein::decompose(program, {.workers = world.size, .ranks = world.size});
  ein::Progress last;
  ein::ExecuteOptions options;
  options.progress = [&](const ein::Progress& progress) { last = progress; };
  ein::Executor executor(plan, MPI_COMM_WORLD, Space(), options);
  for (int n = 0; n < 3; ++n) {
    last = {};
    (void)executor.run(ein::bind_generator(A, [](Extent, Extent) { return 1.0; }).constant());
    CHECK(last.done == last.stages);
  }
}

TEST_CASE("progress is told on each rank by itself, and at the end") {
  const World world;
  Product product(16, 16, 16);
  const auto plan = ein::decompose(product.program, {.workers = world.size});
  int told = 0;
  double seconds = 0;  // of the runs
  ein::Progress last;
  ein::ExecuteOptions options;
  std::string statement;
  if (world.rank == 0) {
    options.progress = [&](const ein::Progress& progress) {
      CHECK(progress.done > last.done);
      CHECK(progress.seconds >= last.seconds);
      ++told;
      last = progress;
      statement = progress.statement;
    };
  }
  ein::Executor executor(plan, MPI_COMM_WORLD, Space(), options);
  for (int n = 1; n <= 3; ++n) {
    last = {};
    const auto run = executor.run(ein::bind_generator(product.A, product.fa),
                                  ein::bind_generator(product.B, product.fb));
    CHECK(product.right(run));
    if (world.rank != 0) continue;
    seconds += run.statistics().seconds;
    CHECK(told >= n);
    CHECK(told <= n + static_cast<int>(10 * seconds));  // ten times a second at most
    CHECK(last.done == last.stages);
    CHECK(last.done > 0);
    CHECK(last.seconds <= run.statistics().seconds);
    CHECK(statement == "C");
  }
}
