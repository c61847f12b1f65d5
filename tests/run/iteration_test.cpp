// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One executor run many times: bound to whole tensors, blocks, generators and roots in every order,
// and to results of runs before, held or gone.

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "eindecomp/run/program.hpp"
#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;

namespace {

using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Space>;

/// Whether some rank says so.
bool on_any_rank(bool here) {
  int any = here ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}

/// The largest difference between this rank's blocks and what they must be.
template <class Local, class F>
double error_of(const Local& local, const F& expected) {
  double worst = 0;
  for (const auto& block : local) {
    const auto view = on_host(block.view);
    for (Extent r = 0; r < block.box.extent(0); ++r) {
      for (Extent c = 0; c < block.box.extent(1); ++c) {
        const double off =
            std::abs(view(r, c) - expected(block.box.lo[0] + r, block.box.lo[1] + c));
        if (!(off <= worst)) worst = off;
      }
    }
  }
  return worst;
}

/// As a class holds them: a plan, an executor and its last run, by types that name the space alone.
class Doubling {
 public:
  Doubling(const Program& program, int ranks)
      : m_plan(ein::decompose(program, {.workers = ranks, .carry = {{"Y", "X"}}})),
        m_executor(m_plan, MPI_COMM_WORLD, Space()) {}

  double step() {
    m_last =
        m_last ? m_executor.run(m_last->carry())
               : m_executor.run(ein::bind_generator_as<double, 1>("X", [](Extent) { return 1.0; }));
    return on_host(m_last->gather_as<double, 1>("Y"))(0);
  }

 private:
  ein::PlanOn<Space> m_plan;
  ein::Executor<Space> m_executor;
  std::optional<ein::Executor<Space>::RunType> m_last;
};

}  // namespace

TEST_CASE("every kind of binding after every other, with step groups and fused tiles") {
  // Long enough that its statements run tile by tile.
  constexpr Extent rows = 2048;
  constexpr Extent columns = 512;
  Program program;
  const auto X = program.input<double>("X", {rows, columns});
  const auto S = let<"S">(i, k) = softmax(k)(X(i, k));
  program.role(i, "batch");
  const int rank = World().rank;
  const int size = World().size;
  // Rows differ, so that reading another rank's rows shows.
  const auto value = [](int seed) {
    return [seed](Extent r, Extent c) { return std::sin(0.37 * r * (c % 7 + 1) + seed); };
  };
  constexpr int kinds = 5;
  for (const char* strategy : {"data_parallel", "placed"}) {
    const Plan plan =
        ein::decompose(program, {.workers = size, .ranks = size, .strategy = strategy});
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    const auto run = [&](int kind, int seed) {
      const auto x = value(seed);
      const ein::Box all{{0, 0}, {rows, columns}};
      switch (kind) {
        case 0:
          return executor.run(ein::bind(X, blocks<Matrix>(plan, X, rank, x)));
        case 1:
          return executor.run(ein::bind_global(X, filled<Matrix>(all, x)));
        case 2:
          return executor.run(ein::bind_generator(X, x));
        case 3: {
          const int root = seed % size;
          return executor.run(
              ein::bind_global(X, rank == root ? filled<Matrix>(all, x) : Matrix(), root));
        }
        default: {
          // A block within something wider: other strides.
          std::vector<Kokkos::View<double**, Kokkos::LayoutStride, Space>> parts;
          for (const ein::Box& box : plan.local(X, rank)) {
            const ein::Box wider{box.lo, {box.hi[0], box.hi[1] + 3}};
            const Matrix whole = filled<Matrix>(wider, x);
            parts.emplace_back(
                Kokkos::subview(whole, Kokkos::ALL, std::pair<Extent, Extent>(0, box.extent(1))));
          }
          return executor.run(ein::bind(X, parts));
        }
      }
    };
    int seed = 0;
    for (int before = 0; before < kinds; ++before) {
      for (int after = 0; after < kinds; ++after) {
        for (const int kind : {before, after}) {
          ++seed;
          const auto result = run(kind, seed);
          const auto x = value(seed);
          std::vector<double> total(static_cast<std::size_t>(rows), 0);
          std::vector<double> largest(static_cast<std::size_t>(rows), -1e300);
          for (const auto& block : result.local(S)) {
            for (Extent r = block.box.lo[0]; r < block.box.hi[0]; r += 17) {
              double most = -1e300;
              for (Extent c = 0; c < columns; ++c) most = std::max(most, x(r, c));
              double sum = 0;
              for (Extent c = 0; c < columns; ++c) sum += std::exp(x(r, c) - most);
              largest[static_cast<std::size_t>(r)] = most;
              total[static_cast<std::size_t>(r)] = sum;
            }
          }
          double worst = 0;
          for (const auto& block : result.local(S)) {
            const auto view = on_host(block.view);
            for (Extent r = block.box.lo[0]; r < block.box.hi[0]; r += 17) {
              for (Extent c = block.box.lo[1]; c < block.box.hi[1]; ++c) {
                const auto n = static_cast<std::size_t>(r);
                const double want = std::exp(x(r, c) - largest[n]) / total[n];
                const double off = std::abs(view(r - block.box.lo[0], c - block.box.lo[1]) - want);
                if (!(off <= worst)) worst = off;
              }
            }
          }
          CAPTURE(strategy);
          CAPTURE(before);
          CAPTURE(after);
          CHECK(worst < 1e-12);
        }
      }
    }
  }
}

TEST_CASE("blocks of a result are bound where they lie, or refused with both boxes") {
  // Y = A X leaves Y in other boxes than those that X is wanted in, for some plans.
  Program program;
  const auto A = program.input<double>("A", {16, 16});
  const auto X = program.input<double>("X", {16, 8});
  const auto Y = let<"Y">(i, k) = sum(j)(A(i, j) * X(j, k));
  const Formula<> fa{3};
  const Formula<> fx{5};
  const auto once = [&](Extent r, Extent c) {
    double sum = 0;
    for (Extent n = 0; n < 16; ++n) sum += fa(r, n) * fx(n, c);
    return sum;
  };
  const auto twice = [&](Extent r, Extent c) {
    double sum = 0;
    for (Extent n = 0; n < 16; ++n) sum += fa(r, n) * once(n, c);
    return sum;
  };
  const int rank = World().rank;
  const int size = World().size;
  bool refused = false;
  bool taken = false;
  for (const std::string& strategy : automatic_strategies()) {
    if (strategy == "data_parallel") continue;  // no label has its role here
    for (const int workers : {size, 2 * size}) {
      CAPTURE(strategy);
      const Plan plan =
          ein::decompose(program, {.workers = workers, .ranks = size, .strategy = strategy});
      ein::Executor executor(plan, MPI_COMM_WORLD, Space());
      const auto first = executor.run(ein::bind_generator(A, fa), ein::bind_generator(X, fx));
      const std::vector<ein::Box> given = plan.local(Y, rank);
      std::vector<ein::Box> wanted = plan.local(X, rank);
      bool same = given.size() == wanted.size();
      for (const ein::Box& box : given) {
        same = same && std::count(wanted.begin(), wanted.end(), box) == 1;
      }
      const bool all_same = !on_any_rank(!same);
      std::string text;
      const int line = __LINE__ + 2;
      try {
        const auto second = executor.run(ein::bind_generator(A, fa), ein::bind(X, first.local(Y)));
        CHECK(error_of(second.local(Y), twice) == 0);
        taken = true;
      } catch (const ein::Error& e) {
        text = e.what();
        CHECK(e.kind() == ein::ErrorKind::binding);
        refused = true;
      }
      CHECK(text.empty() == all_same);
      if (!text.empty()) {
        CHECK(contains(text, "input X is bound to"));
        CHECK(contains(text, "iteration_test.cpp:" + std::to_string(line)));
        if (contains(text, "lays the two out differently")) {
          CHECK(contains(text,
                         "decompose with .carry = {{\"Y\", \"X\"}}, or bind its views in "
                         "plan.distribution(Y)"));
        }
        // Both are ways.
        std::vector<decltype(first.local(Y).begin()->view)> views;
        for (const auto& block : first.local(Y)) views.push_back(block.view);
        const auto second =
            executor.run(ein::bind_generator(A, fa), ein::bind(X, plan.distribution(Y), views));
        CHECK(error_of(second.local(Y), twice) == 0);
        const Plan with_carry = ein::decompose(
            program,
            {.workers = workers, .ranks = size, .strategy = strategy, .carry = {{"Y", "X"}}});
        ein::Executor carrying(with_carry, MPI_COMM_WORLD, Space());
        const auto once_more = carrying.run(ein::bind_generator(A, fa), ein::bind_generator(X, fx));
        const auto third = carrying.run(once_more.carry(), ein::bind_generator(A, fa));
        CHECK(error_of(third.local(Y), twice) == 0);
      }
      // Views without their boxes are found out, too, where every rank has one block.
      if (on_any_rank(given.size() != 1 || wanted.size() != 1)) continue;
      const std::string by_view = message_of([&] {
        const auto second =
            executor.run(ein::bind_generator(A, fa), ein::bind(X, first.local(Y).view()));
        CHECK(error_of(second.local(Y), twice) == 0);
      });
      CHECK((by_view == "no error") == all_same);
      if (!all_same && given[0].extent(0) == wanted[0].extent(0) &&
          given[0].extent(1) == wanted[0].extent(1) && !(given[0] == wanted[0])) {
        CHECK(contains(by_view, "input X is bound to the block of Y from ("));
      }
    }
  }
  CHECK(taken);
  if (size == 4) CHECK(refused);
}

TEST_CASE("blocks of a tensor of other extents are refused") {
  Program program;
  const auto X = program.input<double>("X", {8});
  const auto Y = let<"Y">(i) = X(i) + 1.0;
  Program other;
  const auto Z = other.input<double>("Z", {4});
  const auto R = let<"R">(i) = Z(i) + 1.0;
  const int size = World().size;
  ein::Executor executor(ein::decompose(program, {.workers = 1, .ranks = size}), MPI_COMM_WORLD,
                         Space());
  ein::Executor of_other(ein::decompose(other, {.workers = 1, .ranks = size}), MPI_COMM_WORLD,
                         Space());
  const auto run = executor.run(ein::bind_generator(X, Formula<>{}));
  CHECK(contains(message_of([&] { (void)of_other.run(ein::bind(Z, run.local(Y))); }),
                 "input Z is 4 and is bound to blocks of Y, which is 8"));
  (void)R;
}

TEST_CASE("views of a run that is gone are never written while a binding reads them") {
  // W' = W P, its result the next run's input by views that own nothing. P turns columns round: an
  // element is read after others of its row are written.
  constexpr int columns = 6;
  Program program;
  const auto W = program.input<double>("W", {64, columns});
  const auto P = program.input<double>("P", {columns, columns});
  const auto N = let<"N">(i, j) = sum(k)(W(i, k) * P(k, j));
  program.role(i, "batch");
  const int size = World().size;
  const Plan plan =
      ein::decompose(program, {.workers = size, .ranks = size, .strategy = "data_parallel"});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto turn =
      ein::bind_generator(P, [](Extent r, Extent c) { return (r + 1) % columns == c ? 1.0 : 0.0; });
  using View = decltype(executor.run(turn).local(N))::Block::View;
  std::vector<View> state;
  {
    const auto run = executor.run(ein::bind_generator(W, Formula<>{4}), turn);
    for (const auto& block : run.local(N)) state.push_back(block.view);
  }
  for (int step = 2; step < 9; ++step) {
    const auto run = executor.run(ein::bind(W, state), turn);
    CHECK(error_of(run.local(N), [&](Extent r, Extent c) {
            return Formula<>{4}(r, (c + 2 * columns - step) % columns);
          }) == 0);
    const auto local = run.local(N);
    for (std::size_t n = 0; n < local.size(); ++n) CHECK(local[n].view.data() != state[n].data());
    state.clear();
    for (const auto& block : local) state.push_back(block.view);
  }
}

TEST_CASE("a bound block keeps its memory") {
  Program program;
  const auto W = program.input<double>("W", {64, 6});
  const auto N = let<"N">(i, j) = W(i, j) * 2.0;
  const int size = World().size;
  const Plan plan = ein::decompose(program, {.workers = size, .ranks = size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto binding = [&] {
    const auto run = executor.run(ein::bind_generator(W, [](Extent, Extent) { return 1.0; }));
    return ein::bind(W, run.local(N));
  }();
  for (int n = 0; n < 4; ++n) {
    CHECK(error_of(executor.run(binding).local(N), [](Extent, Extent) { return 4.0; }) == 0);
  }
}

TEST_CASE("results outlive their executor and serve another's plan") {
  Program program;
  const auto W = program.input<double>("W", {64, 6});
  const auto N = let<"N">(i, j) = W(i, j) * 2.0;
  const int size = World().size;
  const Plan plan = ein::decompose(program, {.workers = size, .ranks = size});
  const auto local = [&] {
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    return executor.run(ein::bind_generator(W, [](Extent, Extent) { return 1.0; })).local(N);
  }();
  const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind(W, local));
  CHECK(error_of(run.local(N), [](Extent, Extent) { return 4.0; }) == 0);
}

TEST_CASE("bindings come in a vector and by name") {
  const Product p(6, 5, 7);
  const auto& A = p.A;
  const auto& C = p.C;
  const int rank = World().rank;
  const int size = World().size;
  const Plan plan = ein::decompose(p.program, {.workers = size, .ranks = size});
  const auto product = [&](Extent r, Extent c) { return p.expected(r, c); };
  const Matrix b = filled<Matrix>({{0, 0}, {5, 7}}, p.fb);
  std::vector<ein::Binding<Space>> bindings;
  bindings.push_back(ein::bind("A", blocks<Matrix>(plan, A, rank, p.fa)));
  bindings.push_back(ein::bind_global(std::string("B"), b));
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto run = executor.run(bindings);
  CHECK(error_of(run.local(C), product) == 0);
  CHECK(error_of(run.local_as<double, 2>("C"), product) == 0);
  CHECK(on_host(run.gather_as<double, 2>("C"))(5, 6) == product(5, 6));
  bindings[0] = ein::bind_generator_as<double, 2>("A", p.fa);
  bindings[1] = ein::bind_global("B", rank == 0 ? b : Matrix(), 0);
  CHECK(error_of(ein::execute(plan, MPI_COMM_WORLD, Space(), bindings).local(C), product) == 0);

  const int line = __LINE__ + 2;
  const std::string unknown =
      message_of([&] { (void)executor.run(ein::bind_global("Q", b), bindings[0]); });
  CHECK(contains(unknown, "the program has no tensor 'Q' (its tensors are A, B, C"));
  CHECK(contains(unknown, "iteration_test.cpp:" + std::to_string(line)));
  CHECK(contains(message_of([&] {
                   (void)executor.run(
                       ein::bind_generator_as<double, 1>("A", [](Extent) { return 0.0; }),
                       bindings[1]);
                 }),
                 "input A of rank 2 is bound to a generator of 1 indices"));
  CHECK(contains(message_of([&] { (void)run.local_as<double, 2>("D"); }), "no tensor 'D'"));
}

TEST_CASE("a null or too small view is an error however it is bound") {
  Program program;
  const auto A = program.input<double>("A", {6, 5});
  const auto B = let<"B">(i, j) = A(i, j) + 1.0;
  const World world;
  // All of A is stored on rank 0; views of other ranks are empty where they may be.
  const Plan plan = ein::decompose(program, {.workers = 1, .ranks = world.size});
  using Raw =
      Kokkos::View<double**, Kokkos::LayoutRight, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const Matrix memory("test::memory", 6, 5);
  const Raw null(nullptr, 6, 5);
  const Raw small(memory.data(), 6, 4);
  const auto mine = [&](const Raw& view) { return world.rank == 0 ? view : Raw(); };
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto check = [&](int line, const auto& binding, const std::string& what) {
    CAPTURE(line);
    try {
      (void)executor.run(binding);
      FAIL("no error");
    } catch (const ein::Error& error) {
      const std::string said = error.what();
      CAPTURE(said);
      CHECK(error.kind() == ein::ErrorKind::binding);
      CHECK(contains(said, "input A is bound to a " + what));
      CHECK(contains(said, "iteration_test.cpp:" + std::to_string(line)));
    }
  };
  const std::string no_memory = "null view of 6 x 5";
  const std::string other_extents = "view of 6 x 4";
  // clang-format off
  check(__LINE__, ein::bind(A, mine(null)), no_memory);
  check(__LINE__, ein::bind("A", std::vector<Raw>(world.rank == 0 ? 1 : 0, null)), no_memory);
  check(__LINE__, ein::bind_global(A, null), no_memory);
  check(__LINE__, ein::bind_global(A, mine(null), 0), no_memory);
  check(__LINE__, ein::bind(A, mine(small)), other_extents);
  check(__LINE__, ein::bind_global(A, small), other_extents);
  check(__LINE__, ein::bind_global(A, mine(small), 0), other_extents);
  // clang-format on
  // The executor goes on.
  const auto run = executor.run(ein::bind_global(A, memory));
  CHECK(error_of(run.local(B), [](Extent, Extent) { return 1.0; }) == 0);
}

TEST_CASE("errors of runs cite the caller's line") {
  Program program;
  const auto A = program.input<double>("A", {6, 5});
  const auto B = let<"B">(i, j) = A(i, j) + 1.0;
  (void)B;
  const int size = World().size;
  const Plan plan = ein::decompose(program, {.workers = 1, .ranks = size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  int line = 0;
  const auto cites = [](const std::string& said, int at) {
    CAPTURE(said);
    return contains(said, "iteration_test.cpp:" + std::to_string(at));
  };
  const std::vector<ein::Binding<Space>> none;
  line = __LINE__ + 1;
  CHECK(cites(message_of([&] { (void)executor.run(none); }), line));
  line = __LINE__ + 1;
  CHECK(cites(message_of([&] { (void)ein::execute(plan, MPI_COMM_WORLD, Space(), none); }), line));
  const ein::ExecuteOptions tight{.memory_limit = 8};
  const auto a = [](Extent, Extent) { return 1.0; };
  line = __LINE__ + 2;
  const std::string refused = message_of(
      [&] { (void)ein::execute(plan, MPI_COMM_WORLD, Space(), tight, ein::bind_generator(A, a)); });
  CHECK(contains(refused, "may allocate 8"));
  CHECK(cites(refused, line));
  line = __LINE__ + 1;
  CHECK(
      cites(message_of([&] { ein::Executor small(plan, MPI_COMM_WORLD, Space(), tight); }), line));
}

TEST_CASE("what is carried to the next run stays where it is") {
  // Power iteration, and conjugate gradients: words of a matrix-vector product and two scalars.
  const World world;
  constexpr Extent n = 48;
  Program program;
  const auto A = program.input<double>("A", {n, n});
  const auto x = program.input<double>("x", {n});
  const auto y = let<"y">(i) = sum(j)(A(i, j) * x(j));
  const auto matrix = [](Extent r, Extent c) { return r == c ? 4.0 : 1.0 / (1 + r + c); };
  const ein::DecomposeOptions options{.workers = world.size, .carry = {{"y", "x"}}, .max_idle = 0};
  const Plan plan = ein::decompose(program, options);
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto a = ein::bind_generator(A, matrix).constant();
  std::vector<double> expected(n, 1.0);
  auto run = executor.run(a, ein::bind_generator(x, [](Extent) { return 1.0; }));
  const Extent carried = plan.carried_words()[static_cast<std::size_t>(world.rank)];
  for (int step = 0; step < 4; ++step) {
    std::vector<double> product(n, 0.0);
    for (Extent r = 0; r < n; ++r) {
      for (Extent c = 0; c < n; ++c) {
        product[static_cast<std::size_t>(r)] +=
            matrix(r, c) * expected[static_cast<std::size_t>(c)];
      }
    }
    expected = product;
    const auto got = on_host(run.gather(y));
    for (Extent r = 0; r < n; ++r) {
      const double want = expected[static_cast<std::size_t>(r)];
      CHECK(std::abs(got(r) - want) <= 1e-12 * std::abs(want));
    }
    run = executor.run(run.carry(), a);
    CHECK(run.statistics().inputs.words_received == carried);
    CHECK(run.statistics().words_received ==
          plan.repeated_words({"A"})[static_cast<std::size_t>(world.rank)]);
    if (step > 0) CHECK(run.statistics().kernels_prepared == 0);
  }
  Extent product_words = plan.tasks().total_words();
  for (Extent words : plan.carried_words()) product_words += words;

  Program solver;
  const auto K = solver.input<double>("K", {n, n});
  const auto u = solver.input<double>("u", {n});
  const auto r = solver.input<double>("r", {n});
  const auto p = solver.input<double>("p", {n});
  const auto rho = solver.input<double>("rho");
  const auto q = let<"q">(i) = sum(j)(K(i, j) * p(j));
  const auto pq = ein::let<"pq">() = sum(i)(p(i) * q(i));
  const auto alpha = ein::let<"alpha">() = rho() / pq();
  const auto next_u = let<"u'">(i) = u(i) + alpha() * p(i);
  const auto next_r = let<"r'">(i) = r(i) - alpha() * q(i);
  const auto next_rho = ein::let<"rho'">() = sum(i)(next_r(i) * next_r(i));
  const auto beta = ein::let<"beta">() = next_rho() / rho();
  const auto next_p = let<"p'">(i) = next_r(i) + beta() * p(i);
  solver.keep(next_u);
  solver.keep(next_r);
  solver.keep(next_rho);
  const Plan cg =
      ein::decompose(solver, {.workers = world.size,
                              .carry = {{"u'", "u"}, {"r'", "r"}, {"p'", "p"}, {"rho'", "rho"}},
                              .max_idle = 0});
  ein::Executor iteration(cg, MPI_COMM_WORLD, Space());
  const auto k = ein::bind_generator(K, matrix).constant();
  const auto one = [](Extent) { return 1.0; };
  auto at = iteration.run(k, ein::bind_generator(u, [](Extent) { return 0.0; }),
                          ein::bind_generator(r, one), ein::bind_generator(p, one),
                          ein::bind_generator(rho, [] { return static_cast<double>(n); }));
  Extent words = 0;
  for (int step = 0; step < 25; ++step) {
    at = iteration.run(at.carry(), k);
    words = at.statistics().words_received + at.statistics().inputs.words_received;
  }
  MPI_Allreduce(MPI_IN_PLACE, &words, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  // A scalar is added up on one rank and sent to the others.
  CHECK(words <= product_words + 4 * (world.size - 1));
  const auto solution = on_host(at.gather(next_u));
  for (Extent row = 0; row < n; ++row) {
    double left = 0;
    for (Extent c = 0; c < n; ++c) left += matrix(row, c) * solution(c);
    CHECK(std::abs(left - 1.0) < 1e-10);
  }
}

TEST_CASE("an executor of this process alone has a type of its own beside MPI's") {
  Program program;
  const auto X = program.input<double>("X", {8});
  (void)(let<"Y">(i) = 2.0 * X(i));
  const Plan plan = ein::decompose(program, {.workers = 1});
  ein::LocalExecutor<Space> executor(plan, Space());
  std::optional<ein::LocalExecutor<Space>::RunType> last;
  last = executor.run(ein::bind_generator(X, [](Extent) { return 1.0; }));
  CHECK(on_host(last->gather_as<double, 1>("Y"))(7) == 2.0);
  const ein::Executor same(plan, Space());
  static_assert(std::is_same_v<decltype(same), const ein::LocalExecutor<Space>>);
}

TEST_CASE("a class holds a plan, an executor and a run by the space alone") {
  Program program;
  const auto X = program.input<double>("X", {8});
  const auto Y = let<"Y">(i) = 2.0 * X(i);
  Doubling doubling(program, World().size);
  double last = 0;
  for (int step = 0; step < 3; ++step) last = doubling.step();
  CHECK(last == 8.0);
}
