// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs that do not change from run to run: gathered once, kept, counted, and gathered anew where
// they are others after all.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/programs.hpp"
#include "support/pmpi_counter.hpp"
#include "support/random_distribution.hpp"

using namespace run_test;
using namespace eindecomp::labels;

namespace {

using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
using Vector = Kokkos::View<double*, Kokkos::LayoutRight, Space>;

constexpr Extent size_of_a = 12;

/// Y = A (A' x) + b: A is needed in rows and in columns, b by few of the ranks that have x.
struct Twice {
  Program program;
  ein::Symbol<double, 2, Program::Backend> A = program.input<double>("A", {size_of_a, size_of_a});
  ein::Symbol<double, 1, Program::Backend> x = program.input<double>("x", {size_of_a});
  ein::Symbol<double, 1, Program::Backend> b = program.input<double>("b", {size_of_a});
  ein::Symbol<double, 1, Program::Backend> t = let<"t">(j) = sum(i)(A(i, j) * x(i));
  ein::Symbol<double, 1, Program::Backend> Y = let<"Y">(i) = sum(j)(A(i, j) * t(j)) + b(i);
  Formula<> fa{3};
  Formula<> fb{8};

  [[nodiscard]] Plan plan() const {
    const int size = World().size;
    const Extent parts = size >= 4 ? 4 : size >= 2 ? 2 : 1;
    ein::DecomposeOptions options{.workers = static_cast<int>(parts), .ranks = size};
    options.strategy = "by_hand";
    for (ein::VertexId v = 0; v < program.graph().size(); ++v) {
      const ein::Vertex& vertex = program.graph()[v];
      if (vertex.is_input()) continue;
      const auto label = static_cast<std::size_t>(vertex.output.front());
      options.by_hand.push_back(
          {vertex.name,
           {{program.graph().labels[static_cast<std::size_t>(vertex.labels[label])].name, parts}}});
    }
    return ein::decompose(program, options);
  }

  template <class FA, class FX>
  [[nodiscard]] static std::vector<double> expected(const FA& a, const FX& x, const Formula<>& b) {
    std::vector<double> middle(size_of_a, 0);
    std::vector<double> y;
    for (Extent c = 0; c < size_of_a; ++c) {
      for (Extent r = 0; r < size_of_a; ++r) middle[static_cast<std::size_t>(c)] += a(r, c) * x(r);
    }
    for (Extent r = 0; r < size_of_a; ++r) {
      y.push_back(b(r));
      for (Extent c = 0; c < size_of_a; ++c)
        y.back() += a(r, c) * middle[static_cast<std::size_t>(c)];
    }
    return y;
  }
};

template <class Run>
bool has(const Run& run, const Twice& twice, const std::vector<double>& expected) {
  const auto y = on_host(run.gather(twice.Y));
  bool all = true;
  for (std::size_t r = 0; r < expected.size(); ++r) all = all && y(r) == expected[r];
  return all;
}

}  // namespace

TEST_CASE("from its second run on an executor gathers nothing of what is constant") {
  const Twice twice;
  const Plan plan = twice.plan();
  const World world;
  const ein::Box all{{0, 0}, {size_of_a, size_of_a}};
  const ein::Distribution rows = ein::Distribution::block_cyclic(
      {size_of_a, size_of_a}, {{2, world.size, 0}, {3, 1, 0}}, world.size);
  const Matrix whole = filled<Matrix>(all, twice.fa);
  std::vector<Matrix> in_rows;
  for (const ein::LocalArray& array : rows.arrays(world.rank)) {
    in_rows.push_back(filled<Matrix>(
        {{0, 0}, array.extents()},
        [&, rows_of = eindecomp_tests::indices_of(array.indices[0])](Extent r, Extent c) {
          return twice.fa(rows_of[static_cast<std::size_t>(r)], c);
        }));
  }
  const std::vector<ein::Binding<Space>> ways{
      ein::bind(twice.A, blocks<Matrix>(plan, twice.A, world.rank, twice.fa)).constant(),
      ein::bind_global(twice.A, whole).constant(),
      ein::bind_global(twice.A, world.rank == 0 ? whole : Matrix(), 0).constant(),
      ein::bind_generator(twice.A, twice.fa).constant(),
      ein::bind(twice.A, rows, in_rows).constant()};
  const auto b = ein::bind_generator(twice.b, twice.fb).constant();
  const Extent full = plan.tasks().received[static_cast<std::size_t>(world.rank)];
  const Extent again = of_this_rank(plan.repeated_words({"A", "b"}));
  if (world.size > 1) {
    Extent difference = full - again;
    MPI_Allreduce(MPI_IN_PLACE, &difference, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK(difference >= size_of_a * size_of_a / 2);
  }
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  for (std::size_t way = 0; way < ways.size(); ++way) {
    for (int turn = 0; turn < 3; ++turn) {
      CAPTURE(way);
      CAPTURE(turn);
      const Formula<> fx{static_cast<int>(5 * way) + turn};
      pmpi::reset();
      const auto run = executor.run(
          std::vector<ein::Binding<Space>>{ein::bind_generator(twice.x, fx), b, ways[way]});
      const Extent words = turn == 0 ? full : again;
      CHECK(run.statistics().words_received == words);
      CHECK(pmpi::counts("EinDecomp transfers").received == words);
      if (turn > 0) CHECK(run.statistics().inputs.messages_received == 0);
      if (turn > 0) CHECK(run.statistics().inputs.words_sent == 0);
      if (turn > 0) CHECK(run.statistics().kernels_prepared == 0);
      CHECK(has(run, twice, Twice::expected(twice.fa, fx, twice.fb)));
    }
  }
}

TEST_CASE("results keep their memory where constants change which buffers a program has") {
  const World world;
  const int workers = 2 * world.size;
  Program program;
  const auto A = program.input<double>("A", {19, 17});
  const auto B = program.input<double>("B", {17, 9});
  const auto S = let<"S">(i, k) = sum(j)(A(i, j) * B(j, k));
  const auto C = let<"C">(i, k) = max(A(i, 0), S(i, k));
  const auto D = let<"D">(i) = sum(k)(C(i, k));
  ein::DecomposeOptions options{.workers = workers, .ranks = world.size, .strategy = "by_hand"};
  options.by_hand = {{"S", {{"i", workers}}}, {"C", {{"i", workers}}}, {"D", {{"i", workers}}}};
  options.layouts = {{"B", {workers, 1}}};
  options.steps = {{"S", "S", {{"j", 3}}}};
  program.keep(C);
  const Plan plan = ein::decompose(program, options);
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto numbers = [&] {
    std::vector<int> found;
    for (const ein::Instruction& instruction : executor.program().instructions) {
      const auto* const call = instruction.as<ein::KernelCall>();
      if (call != nullptr) found.push_back(call->output);
    }
    return found;
  };
  const auto is_right = [&](const auto& run, const Formula<>& fa, const Formula<>& fb) {
    const auto c = on_host(run.gather(C));
    const auto d = on_host(run.gather(D));
    bool right = true;
    for (Extent r = 0; r < 19; ++r) {
      double row = 0;
      for (Extent q = 0; q < 9; ++q) {
        double sum = 0;
        for (Extent n = 0; n < 17; ++n) sum += fa(r, n) * fb(n, q);
        const double most = std::max(fa(r, Extent{0}), sum);
        right = right && c(static_cast<std::size_t>(r), static_cast<std::size_t>(q)) == most;
        row += most;
      }
      right = right && d(static_cast<std::size_t>(r)) == row;
    }
    return right;
  };
  const Formula<> fa{2};
  std::vector<std::vector<int>> seen;
  std::optional<decltype(executor.run(ein::bind_generator(A, fa), ein::bind_generator(B, fa)))>
      before;
  for (int turn = 0; turn < 4; ++turn) {
    CAPTURE(turn);
    const Formula<> fb{turn};
    auto b = ein::bind_generator(B, fb);
    if (turn % 2 == 1) b = std::move(b).constant();
    auto run = executor.run(ein::bind_generator(A, fa), b);
    seen.push_back(numbers());
    CHECK(is_right(run, fa, fb));
    if (before) CHECK(is_right(*before, fa, Formula<>{turn - 1}));
    before = std::move(run);
  }
  // Where something is sent, or the test would be of nothing.
  int differ = seen[0] != seen[1] ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &differ, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (world.size > 1) CHECK(differ == 1);
  (void)S;
}

TEST_CASE("what is kept is in the program, its peak and the run's statistics") {
  const Twice twice;
  const Plan plan = twice.plan();
  const World world;
  const ein::SpaceFacts facts{.threads = ein::compat::host_threads(Space()),
                              .constants = {plan.vertex(twice.A)}};
  const ein::RankProgram with = plan.program(world.rank, facts);
  const ein::RankProgram without = plan.program(world.rank, {.threads = facts.threads});
  CHECK(with.constants == facts.constants);
  CHECK(with.arena_bytes >= without.arena_bytes);
  CHECK(without.kept_bytes == 0);
  std::int64_t kept = 0;
  for (const ein::Buffer& buffer : with.buffers) {
    if (buffer.role != ein::Buffer::Role::scratch || buffer.tensor != plan.vertex(twice.A)) {
      continue;
    }
    kept += buffer.bytes;
    CHECK(buffer.first == 0);
    CHECK(buffer.last == static_cast<int>(with.instructions.size()) - 1);
    // Nothing else lies there.
    for (const ein::Buffer& other : with.buffers) {
      if (&other == &buffer || other.role != ein::Buffer::Role::scratch) continue;
      CHECK((other.offset + other.bytes <= buffer.offset ||
             buffer.offset + buffer.bytes <= other.offset));
    }
  }
  CHECK(with.kept_bytes == kept);
  CHECK(plan.peak_bytes(facts)[static_cast<std::size_t>(world.rank)] == with.peak_bytes());
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto a = ein::bind_generator(twice.A, twice.fa);
  const auto x = ein::bind_generator(twice.x, Formula<>{1});
  const auto b = ein::bind_generator(twice.b, twice.fb);
  const auto first = executor.run(a, x, b);
  CHECK(first.statistics().kept_bytes == 0);
  const auto second = executor.run(a.constant(), x, b);
  CHECK(second.statistics().arena_bytes == with.arena_bytes);
  CHECK(second.statistics().kept_bytes == kept);
  CHECK(executor.program() == with);
  // Results of the run before are what they were, though the program is another.
  CHECK(has(first, twice, Twice::expected(twice.fa, Formula<>{1}, twice.fb)));
  CHECK(has(second, twice, Twice::expected(twice.fa, Formula<>{1}, twice.fb)));
}

TEST_CASE("a limit of memory counts what is kept, and a run that it refuses changes nothing") {
  const Twice twice;
  const Plan plan = twice.plan();
  const World world;
  const auto x = ein::bind_generator(twice.x, Formula<>{1});
  const auto b = ein::bind_generator(twice.b, twice.fb);
  const Matrix whole = filled<Matrix>({{0, 0}, {size_of_a, size_of_a}}, twice.fa);
  const auto a = ein::bind_global(twice.A, whole);
  const auto limit = [&] {
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    return executor.run(a, x, b).statistics().peak_bytes();
  }();
  ein::Executor executor(plan, MPI_COMM_WORLD, Space(), {.memory_limit = limit});
  const bool more = plan.program(world.rank, {.constants = {plan.vertex(twice.A)}}).arena_bytes >
                    plan.program(world.rank).arena_bytes;
  int any = more ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int turn = 0; turn < 2; ++turn) {
    const auto run = executor.run(a, x, b);
    CHECK(has(run, twice, Twice::expected(twice.fa, Formula<>{1}, twice.fb)));
    if (any == 0) continue;
    CHECK(contains(message_of([&] { (void)executor.run(a.constant(), x, b); }), "may allocate"));
  }
}

TEST_CASE("constants that change are gathered anew where the executor is told or sees it") {
  const Twice twice;
  const Plan plan = twice.plan();
  const World world;
  const Formula<> fx{2};
  const Formula<> other{6};
  const auto x = ein::bind_generator(twice.x, fx);
  const auto b = ein::bind_generator(twice.b, twice.fb);
  const Extent full = plan.tasks().received[static_cast<std::size_t>(world.rank)];
  const Extent again = of_this_rank(plan.repeated_words({"A"}));
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto blocks_of = [&](const Formula<>& f) {
    return blocks<Matrix>(plan, twice.A, world.rank, f);
  };
  const auto check = [&](const auto& run, const auto& f, bool gathered) {
    CHECK(run.statistics().words_received == (gathered ? full : again));
    CHECK(has(run, twice, Twice::expected(f, fx, twice.fb)));
  };
  auto mine = blocks_of(twice.fa);
  check(executor.run(ein::bind(twice.A, mine).constant(), x, b), twice.fa, true);
  check(executor.run(ein::bind(twice.A, mine).constant(), x, b), twice.fa, false);
  // Another view on every rank, and then on the last rank alone.
  mine = blocks_of(other);
  check(executor.run(ein::bind(twice.A, mine).constant(), x, b), other, true);
  check(executor.run(ein::bind(twice.A, mine).constant(), x, b), other, false);
  const auto rows_of_last = plan.local(twice.A, world.size - 1);
  if (world.rank == world.size - 1) mine = blocks_of(other);
  // A rank that stores nothing shows no other view.
  check(executor.run(ein::bind(twice.A, mine).constant(), x, b), other, !rows_of_last.empty());
  // The memory is written to: the run is told, by one rank.
  const auto fresh = blocks_of(twice.fa);
  for (std::size_t k = 0; k < mine.size(); ++k) Kokkos::deep_copy(mine[k], fresh[k]);
  if (world.rank == 0) executor.forget_constants();
  check(executor.run(ein::bind(twice.A, mine).constant(), x, b), twice.fa, true);
  // Not constant any more, and constant again.
  check(executor.run(ein::bind(twice.A, mine), x, b), twice.fa, true);
  check(executor.run(ein::bind(twice.A, mine), x, b), twice.fa, true);
  check(executor.run(ein::bind(twice.A, mine).constant(), x, b), twice.fa, true);
  check(executor.run(ein::bind(twice.A, mine).constant(), x, b), twice.fa, false);
  // A run that is refused changes nothing.
  CHECK(message_of([&] {
          (void)executor.run(ein::bind_generator(twice.A, other).constant(), x);
        }) != "no error");
  check(executor.run(ein::bind(twice.A, mine).constant(), x, b), twice.fa, false);
}

TEST_CASE("a constant generator is called by the first run, and when it is said to have changed") {
  const Twice twice;
  const Plan plan = twice.plan();
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const auto a = ein::bind_generator(twice.A, [calls, f = twice.fa](Extent r, Extent c) {
                   ++*calls;
                   return f(r, c);
                 }).constant();
  const auto x = ein::bind_generator(twice.x, Formula<>{2});
  const auto b = ein::bind_generator(twice.b, twice.fb);
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  (void)executor.run(a, x, b);
  const int once = *calls;
  (void)executor.run(a, x, b);
  CHECK(*calls == once);
  executor.forget_constants();
  CHECK(has(executor.run(a, x, b), twice, Twice::expected(twice.fa, Formula<>{2}, twice.fb)));
  CHECK(*calls == 2 * once);
}

TEST_CASE("ranks must agree on what is constant, and only inputs can be") {
  const Twice twice;
  const Plan plan = twice.plan();
  const World world;
  const auto a = ein::bind_generator(twice.A, twice.fa);
  const auto x = ein::bind_generator(twice.x, Formula<>{2});
  const auto b = ein::bind_generator(twice.b, twice.fb);
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  if (world.size > 1) {
    const std::string said =
        message_of([&] { (void)executor.run(world.rank == 0 ? a.constant() : a, x, b); });
    CHECK(contains(said, "ranks hold different constants"));
    CHECK(contains(said, "bind the same inputs as constant() on every rank"));
  }
  CHECK(has(executor.run(a.constant(), x, b), twice,
            Twice::expected(twice.fa, Formula<>{2}, twice.fb)));
  CHECK(contains(message_of([&] { (void)plan.repeated_words({"Y"}); }),
                 "tensor 'Y' cannot be constant (a statement computes it anew in every run)"));
  CHECK(contains(message_of([&] { (void)plan.repeated_words({"Q"}); }), "no tensor 'Q'"));
}
