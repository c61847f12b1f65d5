// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words a plan predicts are those that MPI is told to move, rank by rank, and the messages that
// are simulated those that it is told to send and receive, one by one.

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "eindecomp/plan/simulate.hpp"
#include "run/programs.hpp"
#include "support/pmpi_counter.hpp"
#include "support/quick_words.hpp"

using namespace run_test;
using namespace eindecomp::labels;

namespace {

/// The messages of a timeline, sent or received.
std::vector<pmpi::Post> messages(const std::vector<ein::Event>& events, ein::Event::Kind kind) {
  std::vector<pmpi::Post> found;
  for (const ein::Event& event : events) {
    if (event.kind == kind) found.push_back({event.peer, event.words});
  }
  return found;
}

/// Whether a rank has ever taken as long as half a second since such a beginning: a rank that waits
/// asks in one run what it may hear in the next. Collective.
bool was_slow(std::chrono::steady_clock::time_point begin) {
  static int slow = 0;
  const int before = slow;
  if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(500)) slow = 1;
  PMPI_Allreduce(MPI_IN_PLACE, &slow, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (slow > before) MESSAGE("a rank was slow: questions are not checked any more");
  return slow != 0;
}

/// Runs a program under every plan, its inputs generated, and compares.
template <class... Bindings>
void check_words(const Program& program, const Bindings&... bindings) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Extent moved = 0;
  for_each_plan(program, size, [&](const Plan& plan) {
    const auto begin = std::chrono::steady_clock::now();
    CAPTURE(plan.strategy);
    CAPTURE(plan.workers);
    const ein::TaskGraph tasks = plan.tasks();
    const std::size_t r = static_cast<std::size_t>(rank);
    // What the default strategy chooses by, workers of one rank together.
    CHECK(eindecomp_tests::quick_words(plan, size)[r] == tasks.received[r]);
    const ein::Machine machine{.operations_per_second = 1e9,
                               .axes = {{.size = size, .bandwidth = 1e9}}};
    const auto simulated = ein::simulate(plan, machine).in_turn.events[r];
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    for (int round = 0; round < 2; ++round) {
      pmpi::reset();
      const auto run = executor.run(bindings...);
      const pmpi::Counts plan_words = pmpi::counts("EinDecomp transfers");
      const pmpi::Posts posts = pmpi::posts("EinDecomp transfers");
      const pmpi::Counts all = pmpi::all_counts();
      // What ranks ask each other once they wait for more than a second.
      const pmpi::Counts questions = pmpi::counts("EinDecomp job");
      if (!was_slow(begin)) CHECK(questions.messages_sent + questions.messages_received == 0);
      CHECK(posts.sends == messages(simulated, ein::Event::Kind::send));
      CHECK(posts.receives == messages(simulated, ein::Event::Kind::receive));
      CHECK(plan_words.received == tasks.received[r]);
      CHECK(plan_words.sent == tasks.sent[r]);
      CHECK(all.others == 0);
      // Nothing moves on any other way but the five words of an agreement, ⌈log₂ ranks⌉ times.
      int rounds = 0;
      while ((1 << rounds) < size) ++rounds;
      CHECK(all.received == plan_words.received + questions.received + 5 * rounds);
      CHECK(all.sent == plan_words.sent + questions.sent + 5 * rounds);
      CHECK(run.statistics().words_received == tasks.received[r]);
      CHECK(run.statistics().words_sent == tasks.sent[r]);
      CHECK(run.statistics().messages_received == plan_words.messages_received);
      CHECK(run.statistics().messages_sent == plan_words.messages_sent);
    }
    moved += tasks.total_words();
  });
  // The comparison is not one of zeros.
  if (size > 1) CHECK(moved > 0);
}

}  // namespace

TEST_CASE("a matrix product of uneven extents") {
  Program program;
  const auto A = program.input<double>("A", {17, 9});
  const auto B = program.input<double>("B", {9, 23});
  const auto C = let<"C">(i, k) = sum(j)(A(i, j) * B(j, k));
  program.role(i, "batch");
  check_words(program, ein::bind_generator(A, Formula<>{1}), ein::bind_generator(B, Formula<>{2}));
  (void)C;
}

TEST_CASE("a chain of products, (A·B)+(C·(D·E))") {
  Program program;
  const auto A = program.input<double>("A", {16, 12});
  const auto B = program.input<double>("B", {12, 20});
  const auto C = program.input<double>("C", {16, 8});
  const auto D = program.input<double>("D", {8, 24});
  const auto E = program.input<double>("E", {24, 20});
  const auto AB = let<"AB">(i, k) = sum(j)(A(i, j) * B(j, k));
  const auto DE = let<"DE">(l, k) = sum(m)(D(l, m) * E(m, k));
  const auto CDE = let<"CDE">(i, k) = sum(l)(C(i, l) * DE(l, k));
  const auto Z = let<"Z">(i, k) = AB(i, k) + CDE(i, k);
  program.role(i, "batch");
  check_words(program, ein::bind_generator(A, Formula<>{1}), ein::bind_generator(B, Formula<>{2}),
              ein::bind_generator(C, Formula<>{3}), ein::bind_generator(D, Formula<>{4}),
              ein::bind_generator(E, Formula<>{5}));
  (void)Z;
}

TEST_CASE("softmax, a pair-valued aggregation and elements of several sizes") {
  Program program;
  const auto X = program.input<float>("X", {14, 10});
  const auto W = program.input<Kokkos::complex<double>>("W", {10, 6});
  const auto P = let<"P">(i, j) = softmax(j)(X(i, j));
  const auto Y = let<"Y">(i, k) = sum(j)(P(i, j) * W(j, k));
  const auto M = let<"M">(j) = argmax(i)(P(i, j));
  const auto S = ein::let<"S">() = sum(i, j)(P(i, j));
  program.role(i, "batch");
  check_words(program, ein::bind_generator(X, Formula<float>{1}),
              ein::bind_generator(W, Formula<double>{2}));
  (void)Y;
  (void)M;
  (void)S;
}
