// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No rank allocates more than the plan's peak and what the user handed it, as Kokkos itself reports
// every allocation.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;

namespace {

/// What Kokkos has allocated since counting began.
struct Tally {
  bool counting = false;
  std::int64_t now = 0;
  std::int64_t peak = 0;
  std::int64_t rounding = 0;
  int allocations = 0;
  int foreign = 0;  // without our label
  std::map<const void*, std::int64_t> live;
} tally;

void allocated(const Kokkos_Profiling_SpaceHandle, const char* label, const void* data,
               const std::uint64_t bytes) {
  if (!tally.counting) return;
  // A View takes a multiple of 8 bytes; what is asked for is less by at most 7.
  tally.rounding += 7;
  tally.live[data] = static_cast<std::int64_t>(bytes);
  tally.now += static_cast<std::int64_t>(bytes);
  tally.peak = std::max(tally.peak, tally.now);
  ++tally.allocations;
  if (std::string(label).rfind("EinDecomp::", 0) != 0) ++tally.foreign;
}
void freed(const Kokkos_Profiling_SpaceHandle, const char*, const void* data, const std::uint64_t) {
  const auto found = tally.live.find(data);
  if (found == tally.live.end()) return;
  tally.now -= found->second;
  tally.live.erase(found);
}

class Counting {
 public:
  Counting() {
    tally = {};
    tally.counting = true;
    Kokkos::Tools::Experimental::set_allocate_data_callback(allocated);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(freed);
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  ~Counting() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
    tally.counting = false;
  }
};

}  // namespace

TEST_CASE("a run allocates its arena, its results and the inputs it fills, and no more") {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Program program;
  const auto X = program.input<double>("X", {40, 24});
  const auto W = program.input<double>("W", {24, 36});
  const auto V = program.input<float>("V", {36, 20});
  const auto H = let<"H">(i, k) = sum(j)(X(i, j) * W(j, k));
  const auto P = let<"P">(i, k) = softmax(k)(H(i, k));
  const auto Y = let<"Y">(i, l) = sum(k)(P(i, k) * V(k, l));
  const auto M = let<"M">(i) = argmin(k)(H(i, k));
  program.role(i, "batch");
  using View = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
  for_each_plan(program, size, [&](const Plan& plan) {
    CAPTURE(plan.strategy);
    CAPTURE(plan.workers);
    const std::int64_t predicted = plan.peak_bytes()[static_cast<std::size_t>(rank)];
    const std::vector<View> x = blocks<View>(plan, X, rank, Formula<>{1});
    std::int64_t x_bytes = 0;
    for (const View& view : x) x_bytes += static_cast<std::int64_t>(view.size() * sizeof(double));

    const Counting counting;
    {
      ein::Executor executor(plan, MPI_COMM_WORLD, Space());
      const auto first = executor.run(ein::bind(X, x), ein::bind_generator(W, Formula<>{2}),
                                      ein::bind_generator(V, Formula<float>{3}));
      const ein::RunStatistics& statistics = first.statistics();
      // X lies in the user's memory; everything else is the plan's.
      CHECK(statistics.arena_bytes + statistics.result_bytes + statistics.input_bytes ==
            predicted - x_bytes);
      CHECK(tally.peak <= statistics.peak_bytes() + tally.rounding);
      CHECK(tally.peak <= predicted - x_bytes + statistics.workspace_bytes + tally.rounding);
      CHECK(tally.foreign == 0);

      // A second run allocates its results and nothing else.
      const std::int64_t before = tally.now;
      const int allocations = tally.allocations;
      const auto second = executor.run(ein::bind(X, x), ein::bind_generator(W, Formula<>{4}),
                                       ein::bind_generator(V, Formula<float>{5}));
      CHECK(tally.now - before == statistics.result_bytes);
      const auto results =
          static_cast<int>(plan.local(Y, rank).size() + plan.local(M, rank).size());
      CHECK(tally.allocations - allocations == results);

      // A third takes over the results of one that nobody holds, and leaves those held alone.
      const auto again = [&] {
        return executor.run(ein::bind(X, x), ein::bind_generator(W, Formula<>{6}),
                            ein::bind_generator(V, Formula<float>{7}));
      };
      { const auto third = again(); }
      CHECK(tally.allocations - allocations == 2 * results);
      for (const auto& block : again().local(Y)) CHECK(block.view.data() != nullptr);
      CHECK(tally.allocations - allocations == 2 * results);
      if (!second.local(Y).empty() && !first.local(Y).empty()) {
        CHECK(second.local(Y)[0].view.data() != first.local(Y)[0].view.data());
      }
    }
    CHECK(tally.now == 0);
  });
}

TEST_CASE("inputs bound in place are not copied") {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Program program;
  const auto X = program.input<double>("X", {64, 64});
  const auto Y = let<"Y">(i) = sum(j)(X(i, j));
  const Plan plan = ein::decompose(program, {.workers = 4, .ranks = size});
  const auto whole = filled<Kokkos::View<double**, Kokkos::LayoutLeft, Space>>(
      ein::Box{{0, 0}, {64, 64}}, Formula<>{});
  const Counting counting;
  const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_global(X, whole));
  CHECK(run.statistics().input_bytes == 0);
  CHECK(tally.peak <= run.statistics().peak_bytes() + tally.rounding);
  (void)Y;
}

TEST_CASE("a state carried from run to run allocates in the first two runs only") {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Program program;
  const auto W = program.input<double>("W", {64, 6});
  const auto P = program.input<double>("P", {6, 6});
  const auto N = let<"N">(i, j) = sum(k)(W(i, k) * P(k, j));
  program.role(i, "batch");
  const Plan plan =
      ein::decompose(program, {.workers = size, .ranks = size, .strategy = "data_parallel"});
  const Kokkos::View<double**, Space> p("test::P", 6, 6);
  const Counting counting;
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto p_binding = ein::bind_global(P, p);
  auto state = executor.run(ein::bind_generator(W, Formula<>{}), p_binding).local(N);
  state = executor.run(ein::bind(W, state), p_binding).local(N);
  const int allocations = tally.allocations;
  for (int step = 0; step < 10; ++step) {
    state = executor.run(ein::bind(W, state), p_binding).local(N);
  }
  CHECK(tally.allocations == allocations);
}

TEST_CASE("results that a plan carries allocate in the first two runs only") {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Program program;
  const auto W = program.input<double>("W", {64, 6});
  const auto P = program.input<double>("P", {6, 6});
  const auto N = let<"N">(i, j) = sum(k)(W(i, k) * P(k, j));
  const Plan plan =
      ein::decompose(program, {.workers = size, .ranks = size, .carry = {{"N", "W"}}});
  const Kokkos::View<double**, Space> p("test::P", 6, 6);
  const Counting counting;
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto p_binding = ein::bind_global(P, p);
  auto run = executor.run(ein::bind_generator(W, Formula<>{}), p_binding);
  run = executor.run(run.carry(), p_binding);
  const int allocations = tally.allocations;
  for (int step = 0; step < 10; ++step) run = executor.run(run.carry(), p_binding);
  CHECK(tally.allocations == allocations);
  (void)N;
}

TEST_CASE("two time levels allocate in the first three runs only, bound or carried") {
  const World world;
  constexpr Extent n = 64;
  Program program;
  const auto U = program.input<double>("U", {n});
  const auto P = program.input<double>("P", {n});
  const auto N = let<"N">(i) = 2.0 * U(i) - P(i);
  const Plan plan = ein::decompose(
      program, {.workers = world.size, .carry = {{"N", "U"}, {"N", "P"}}, .max_idle = 0});
  const auto first = ein::bind_generator(P, [](Extent) { return 0.0; });
  const auto second = ein::bind_generator(U, [](Extent r) { return static_cast<double>(r); });
  const auto last_of = [&N](const auto& run) { return on_host(run.gather(N))(n - 1); };
  for (const bool carried : {false, true}) {
    CAPTURE(carried);
    const Counting counting;
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    const auto after = [&](const auto& now, const auto& before) {
      if (!carried) return executor.run(ein::bind(U, now.local(N)), ein::bind(P, before.local(N)));
      // What is carried is bound in the order of .carry: N to U, and N to P.
      const auto of_now = now.carry();
      const auto of_before = before.carry();
      return executor.run({of_now[0], of_before[1]});
    };
    auto before = executor.run(first, second);
    auto now = executor.run(ein::bind(U, before.local(N)),
                            ein::bind_generator(P, [](Extent r) { return 1.0 * r; }));
    for (int step = 0; step < 10; ++step) {
      const int allocations = tally.allocations;
      auto next = after(now, before);
      CHECK(tally.allocations - allocations == (step == 0 ? 1 : 0));
      before = std::move(now);
      now = std::move(next);
    }
    CHECK(last_of(now) == 13.0 * (n - 1));
    CHECK(last_of(before) == 12.0 * (n - 1));
  }
}

TEST_CASE("what is kept for later runs is freed where the limit needs it") {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Program program;
  const auto W = program.input<double>("W", {64, 16});
  (void)(let<"N">(i, j) = W(i, j) + 1.0);
  program.role(i, "batch");
  const Plan plan =
      ein::decompose(program, {.workers = size, .ranks = size, .strategy = "data_parallel"});
  const Kokkos::View<double**, Space> w("test::W", 64, 16);
  const Counting counting;
  std::int64_t peak = 0;
  {
    ein::Executor measured(plan, MPI_COMM_WORLD, Space());
    peak = measured.run(ein::bind_global(W, w)).statistics().peak_bytes();
  }
  ein::Executor executor(plan, MPI_COMM_WORLD, Space(), {.memory_limit = peak});
  {
    const auto first = executor.run(ein::bind_global(W, w));
    const auto second = executor.run(ein::bind_global(W, w));  // both held
  }
  const std::int64_t before = tally.now;
  const auto third = executor.run(ein::bind_global(W, w));
  CHECK(tally.now <= before - third.statistics().result_bytes + tally.rounding);
}

TEST_CASE("so it is where kernels take more than in the run before") {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Program program;
  const auto A = program.input<double>("A", {128, 128});
  (void)(let<"C">(i, j) = sum(k)(A(i, k) * A(k, j)));
  program.role(i, "batch");
  const Plan plan =
      ein::decompose(program, {.workers = size, .ranks = size, .strategy = "data_parallel"});
  const Kokkos::View<double**, Space> a("test::A", 128, 128);
  const bool use_blas = ein::kernel::use_blas;
  std::int64_t peak = 0;
  const Counting counting;
  {
    ein::kernel::use_blas = false;
    ein::Executor measured(plan, MPI_COMM_WORLD, Space());
    peak = measured.run(ein::bind_global(A, a)).statistics().peak_bytes();
    ein::kernel::use_blas = use_blas;
  }
  ein::Executor executor(plan, MPI_COMM_WORLD, Space(), {.memory_limit = peak});
  const std::int64_t begin = tally.now;
  {
    const auto first = executor.run(ein::bind_global(A, a));
    const auto second = executor.run(ein::bind_global(A, a));  // both held
  }
  ein::kernel::use_blas = false;
  const auto third = executor.run(ein::bind_global(A, a));
  ein::kernel::use_blas = use_blas;
  CHECK(third.statistics().peak_bytes() == peak);
  const std::int64_t arena = third.statistics().arena_bytes;  // was there at the begin
  CHECK(tally.now - begin + arena <= peak + tally.rounding);
}

TEST_CASE("a limit is kept where inputs swap places, and where the run before took more") {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Program program;
  const auto A = program.input<double>("A", {400, 50});
  const auto B = program.input<double>("B", {400, 50});
  (void)(let<"Y">(i, j) = A(i, j) + B(i, j));
  program.role(i, "batch");
  const Plan plan =
      ein::decompose(program, {.workers = size, .ranks = size, .strategy = "data_parallel"});
  const auto box = plan.local(A, [] {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }())[0];
  const Kokkos::View<double**, Space> own("test::own", static_cast<std::size_t>(box.extent(0)), 50);
  const auto ones = [](Extent, Extent) { return 1.0; };
  std::int64_t peak = 0;
  const Counting counting;
  {
    ein::Executor measured(plan, MPI_COMM_WORLD, Space());
    peak = measured.run(ein::bind(A, own), ein::bind_generator(B, ones)).statistics().peak_bytes();
  }
  const std::int64_t begin = tally.now;
  ein::Executor executor(plan, MPI_COMM_WORLD, Space(), {.memory_limit = peak});
  tally.peak = tally.now;
  for (int n = 0; n < 2; ++n) {
    (void)executor.run(ein::bind(A, own), ein::bind_generator(B, ones));
    (void)executor.run(ein::bind_generator(A, ones), ein::bind(B, own));
  }
  CHECK(tally.peak - begin <= peak + tally.rounding);
}

TEST_CASE("blocks that others hold are forgotten, whatever read them before") {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Program program;
  const auto A = program.input<double>("A", {64, 6});
  const auto B = program.input<double>("B", {64, 6});
  const auto N = let<"N">(i, j) = A(i, j) + B(i, j);
  program.role(i, "batch");
  const Plan plan =
      ein::decompose(program, {.workers = size, .ranks = size, .strategy = "data_parallel"});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto run = [&] {
    return executor.run(ein::bind_generator(A, Formula<>{}), ein::bind_generator(B, Formula<>{}));
  };
  using Borrowed = Kokkos::View<const double**, Kokkos::LayoutRight, Space::memory_space,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  {
    Borrowed first;
    Borrowed second;
    {
      const auto one = run();
      const auto two = run();
      first = Borrowed(one.local(N).view());
      second = Borrowed(two.local(N).view());
    }
    (void)executor.run(ein::bind(A, first), ein::bind(B, second));
  }
  std::vector<const void*> blocks;
  {
    std::vector<decltype(run())> held;
    for (int n = 0; n < 8; ++n) {
      held.push_back(run());
      blocks.push_back(held.back().local(N).view().data());
    }
  }
  const auto lives = [](const void* block) {
    return ein::run::StoredBlocks::of_process().find(block).has_value();
  };
  CHECK(std::count_if(blocks.begin(), blocks.end(), lives) <= 3);
}

TEST_CASE("what is received to be combined waits in parts of at most 16 MiB") {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2 && size != 4) return;
  Program program;
  const Extent n = 2050;  // half of Z is 16.8 MB
  const auto X = program.input<double>("X", {2 * size, n, n});
  const auto Z = let<"Z">(i, k) = sum(j)(X(j, i, k));
  const Plan plan = ein::decompose(program, {.workers = size, .layouts = {{"X", {size, 1, 1}}}});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto run = executor.run(ein::bind_generator(X, Formula<>{1}));
  CHECK(run.statistics().words_received == plan.tasks().received[static_cast<std::size_t>(rank)]);
  CHECK(run.statistics().words_received >= n * n / 2);
  // The rank's own sums; a fourth of them that goes, packed, and a fourth that comes.
  CHECK(run.statistics().arena_bytes <= (n + 2 * (n / 4 + 1)) * n * 8 + 4096);
  Extent wrong = 0;
  for (const auto& block : run.local(Z)) {
    const auto got = on_host(block.view);
    for (Extent r = 0; r < block.box.extent(0); ++r) {
      for (Extent c = 0; c < block.box.extent(1); ++c) {
        double want = 0;
        for (Extent b = 0; b < 2 * size; ++b) {
          want += Formula<>{1}(b, r + block.box.lo[0], c + block.box.lo[1]);
        }
        wrong += got(static_cast<std::size_t>(r), static_cast<std::size_t>(c)) == want ? 0 : 1;
      }
    }
  }
  CHECK(wrong == 0);
}
