// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;

TEST_CASE("a matrix product of uneven extents, under every plan") {
  const World world;
  Product product(13, 9, 11);
  product.program.role(i, "batch");
  const auto& A = product.A;
  const auto& B = product.B;
  const auto& C = product.C;
  for_each_plan(product.program, world.size, [&](const Plan& plan) {
    CAPTURE(plan.strategy);
    CAPTURE(plan.workers);
    using Right = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
    using Left = Kokkos::View<const double**, Kokkos::LayoutLeft, Space>;
    std::vector<Left> left;
    for (const auto& block : blocks<Kokkos::View<double**, Kokkos::LayoutLeft, Space>>(
             plan, B, world.rank, product.fb)) {
      left.push_back(block);
    }
    const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(),
                                  ein::bind(A, blocks<Right>(plan, A, world.rank, product.fa)),
                                  ein::bind(B, left));
    // Its own blocks, where the plan says they are.
    const auto mine = run.local(C);
    const std::vector<ein::Box> boxes = plan.local(C, world.rank);
    REQUIRE(mine.size() == boxes.size());
    for (std::size_t n = 0; n < mine.size(); ++n) {
      CHECK(mine[n].box == boxes[n]);
      CHECK(product.right(on_host(mine[n].view), boxes[n]));
    }
    // And the whole, on every rank and on one.
    CHECK(product.right(run));
    const int root = world.size - 1;
    const auto at_root = on_host(run.gather(C, root));
    CHECK(static_cast<int>(at_root.extent(0)) == (world.rank == root ? 13 : 0));
    if (world.rank == root) CHECK(product.right(at_root, {{0, 0}, {13, 11}}));
  });
}

TEST_CASE("a program of many statements, kinds of aggregation and value types, under every plan") {
  const World world;
  Program program;
  const auto X = program.input<double>("X", {10, 7});
  const auto W = program.input<double>("W", {7, 12});
  const auto Z = program.input<Kokkos::complex<double>>("Z", {12, 5});
  const auto N = program.input<std::int32_t>("N", {10, 12});
  const auto H = let<"H">(i, k) = sum(j)(X(i, j) * W(j, k));
  const auto P = let<"P">(i, k) = softmax(k)(H(i, k));
  const auto M = let<"M">(i) = argmin(k)(sq_diff(H(i, k), 3.0));
  const auto D = let<"D">(i, k) = min(j)(X(i, j) + W(j, k));
  const auto Y = let<"Y">(i, l) = sum(k)(H(i, k) * Z(k, l));
  const auto S = ein::let<"S">() = sum(i, k)(N(i, k));
  const auto T = let<"T">(k, i) = max(H(i, k), 0.0);
  program.keep(H);
  program.role(i, "batch");

  const Formula<> fx{3};
  const Formula<> fw{4};
  const Formula<> fz{5};
  const Formula<std::int32_t> fn{6};
  const auto z = [fz](Extent r, Extent c) {
    return Kokkos::complex<double>(fz(r, c), fz(c, r + 1));
  };
  double h[10][12];
  for (Extent r = 0; r < 10; ++r) {
    for (Extent c = 0; c < 12; ++c) {
      h[r][c] = 0;
      for (Extent n = 0; n < 7; ++n) h[r][c] += fx(r, n) * fw(n, c);
    }
  }

  for_each_plan(program, world.size, [&](const Plan& plan) {
    CAPTURE(plan.strategy);
    CAPTURE(plan.workers);
    const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(X, fx),
                                  ein::bind_generator(W, fw), ein::bind_generator(Z, z),
                                  ein::bind_generator(N, fn));
    const auto got_h = on_host(run.gather(H));
    const auto got_p = on_host(run.gather(P));
    const auto got_m = on_host(run.gather(M));
    const auto got_d = on_host(run.gather(D));
    const auto got_y = on_host(run.gather(Y));
    const auto got_s = on_host(run.gather(S));
    const auto got_t = on_host(run.gather(T));
    bool right = true;
    std::int32_t total = 0;
    for (Extent r = 0; r < 10; ++r) {
      double largest = h[r][0];
      Extent nearest = 0;
      for (Extent c = 0; c < 12; ++c) {
        largest = std::max(largest, h[r][c]);
        if (std::pow(h[r][c] - 3, 2) < std::pow(h[r][nearest] - 3, 2)) nearest = c;
        total += fn(r, c);
      }
      double norm = 0;
      for (Extent c = 0; c < 12; ++c) norm += std::exp(h[r][c] - largest);
      right = right && static_cast<Extent>(got_m(r)) == nearest;
      for (Extent c = 0; c < 12; ++c) {
        double least = fx(r, 0) + fw(0, c);
        for (Extent n = 1; n < 7; ++n) least = std::min(least, fx(r, n) + fw(n, c));
        right = right && got_h(r, c) == h[r][c] && got_d(r, c) == least;
        right = right && got_t(c, r) == std::max(h[r][c], 0.0);
        right = right && std::abs(got_p(r, c) - std::exp(h[r][c] - largest) / norm) < 1e-12;
      }
      for (Extent c = 0; c < 5; ++c) {
        std::complex<double> sum = 0;
        for (Extent n = 0; n < 12; ++n) {
          sum += h[r][n] * std::complex<double>(z(n, c).real(), z(n, c).imag());
        }
        right = right && got_y(r, c).real() == sum.real() && got_y(r, c).imag() == sum.imag();
      }
    }
    CHECK(right);
    CHECK(got_s() == total);
  });
}

TEST_CASE("NaN under max and min is the same however it is cut") {
  const World world;
  Program program;
  const auto X = program.input<double>("X", {6, 4});
  const auto Y = program.input<double>("Y", {4, 2});
  const auto R = let<"R">(i) = max(j)(X(i, j));
  const auto C = let<"C">(j) = min(i)(X(i, j));
  const auto D = let<"D">(i, k) = max(j)(X(i, j) + Y(j, k));
  const auto B = let<"B">(i, k) = min(j)(max(X(i, j), Y(j, k)));
  const auto E = let<"E">(i, j) = max(X(i, j), C(j));
  const auto F = let<"F">(i, j) = max(R(i), X(i, j));
  program.role(i, "batch");
  program.keep(R);
  program.keep(C);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  const auto larger = [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? nan : std::fmax(a, b);
  };
  // At every place of a row; row 4 is nothing else, row 5 has none.
  const Formula<> formula{2};
  const auto x = [&](Extent r, Extent c) { return r == c || r == 4 ? nan : formula(r, c); };
  const auto y = [&](Extent r, Extent c) { return r == 2 && c == 1 ? nan : formula(c, r); };
  for (const char* strategy : {"square", "exact", "linearized", "k_cut"}) {
    // Eight cut rows and columns to single elements.
    const Plan plan = ein::decompose(
        program, {.workers = 8, .ranks = world.size, .strategy = strategy, .max_idle = 0});
    CAPTURE(plan.strategy);
    const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(X, x),
                                  ein::bind_generator(Y, y));
    const auto got_r = on_host(run.gather(R));
    const auto got_c = on_host(run.gather(C));
    const auto got_d = on_host(run.gather(D));
    const auto got_b = on_host(run.gather(B));
    const auto got_e = on_host(run.gather(E));
    const auto got_f = on_host(run.gather(F));
    bool right = true;
    for (Extent r = 0; r < 6; ++r) {
      double row = -infinity;
      for (Extent n = 0; n < 4; ++n) row = std::fmax(row, x(r, n));
      right = right && got_r(r) == row;
      for (Extent c = 0; c < 2; ++c) {
        double most = -infinity;
        double least = infinity;
        for (Extent n = 0; n < 4; ++n) {
          most = std::fmax(most, x(r, n) + y(n, c));
          least = std::fmin(least, larger(x(r, n), y(n, c)));
        }
        right = right && got_d(r, c) == most && got_b(r, c) == least;
      }
      for (Extent c = 0; c < 4; ++c) {
        double column = infinity;
        for (Extent n = 0; n < 6; ++n) column = std::fmin(column, x(n, c));
        right = right && got_c(c) == column && same(got_e(r, c), larger(x(r, c), column)) &&
                same(got_f(r, c), larger(row, x(r, c)));
      }
    }
    CHECK(right);
  }
}

TEST_CASE("one executor runs again and again with new data; earlier results stay") {
  const World world;
  Program program;
  const auto A = program.input<double>("A", {12, 8});
  const auto B = program.input<double>("B", {8, 6});
  const auto C = let<"C">(i, k) = sum(j)(A(i, j) * B(j, k));
  const Plan plan = ein::decompose(program, {.workers = 4, .ranks = world.size});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  using View = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
  const auto first = executor.run(ein::bind_generator(A, Formula<>{1}),
                                  ein::bind(B, blocks<View>(plan, B, world.rank, Formula<>{2})));
  const auto second = executor.run(ein::bind(A, blocks<View>(plan, A, world.rank, Formula<>{3})),
                                   ein::bind_generator(B, Formula<>{4}));
  const auto third =
      executor.run(ein::bind_generator(A, Formula<>{5}), ein::bind_generator(B, Formula<>{6}));
  const auto check = [&](const auto& run, int a, int b) {
    const auto got = on_host(run.gather(C));
    bool right = true;
    for (Extent r = 0; r < 12; ++r) {
      for (Extent c = 0; c < 6; ++c) {
        double x = 0;
        for (Extent n = 0; n < 8; ++n) x += Formula<>{a}(r, n) * Formula<>{b}(n, c);
        right = right && got(r, c) == x;
      }
    }
    CHECK(right);
  };
  check(third, 5, 6);
  check(first, 1, 2);
  check(second, 3, 4);
  CHECK(first.statistics().words_received == third.statistics().words_received);
}

TEST_CASE("an executor that was moved runs as before") {
  const World world;
  Program program;
  const auto A = program.input<double>("A", {12, 8});
  const auto s = ein::let<"s">() = sum(i, j)(A(i, j));
  const Plan plan = ein::decompose(program, {.workers = 4, .ranks = world.size});
  using Executor = ein::Executor<Space, ein::comm::MpiCommunicator>;
  const auto check = [&](Executor& executor, int n) {
    double expected = 0;
    for (Extent r = 0; r < 12; ++r) {
      for (Extent c = 0; c < 8; ++c) expected += Formula<>{n}(r, c);
    }
    const auto run = executor.run(ein::bind_generator(A, Formula<>{n}));
    CHECK(on_host(run.gather(s))() == expected);
  };
  std::vector<Executor> executors;
  for (int n = 0; n < 3; ++n) {
    executors.emplace_back(plan, MPI_COMM_WORLD, Space());  // moves those before
    check(executors.front(), n);
  }
  Executor moved = std::move(executors.front());
  executors.clear();
  check(moved, 3);
  Executor assigned(plan, MPI_COMM_WORLD, Space());
  assigned = std::move(moved);
  check(assigned, 4);
  // NOLINTNEXTLINE(bugprone-use-after-move): which is what is refused.
  CHECK(message_of([&] {
          (void)moved.run(ein::bind_generator(A, Formula<>{0}));
        }).find("the executor was moved from") != std::string::npos);
  CHECK(message_of([&] { (void)moved.program(); }).find("executor_test.cpp") != std::string::npos);
  CHECK(message_of([&] {
          ein::Executor(plan, MPI_COMM_WORLD, Space(), {.memory_limit = -1});
        }).find("the memory limit of this rank is -1 bytes") != std::string::npos);
}

TEST_CASE("messages that are posted are cut at the eager limit and arrive all the same") {
  const World world;
  Program program;
  const auto A = program.input<float>("A", {24, 16});
  const auto B = program.input<float>("B", {16, 20});
  const auto C = let<"C">(i, k) = sum(j)(A(i, j) * B(j, k));
  const Plan plan = ein::decompose(
      program, {.workers = 8, .ranks = world.size, .steps = {{"C", "C", {{"j", 2}}}}});
  const auto run = [&](const ein::ExecuteOptions& options) {
    ein::Executor executor(plan, MPI_COMM_WORLD, Space(), options);
    // More than once: what was posted in one run is over in the next.
    for (int n = 0; n < 2; ++n) {
      (void)executor.run(ein::bind_generator(A, Formula<float>{3}),
                         ein::bind_generator(B, Formula<float>{4}));
    }
    return executor.run(ein::bind_generator(A, Formula<float>{1}),
                        ein::bind_generator(B, Formula<float>{2}));
  };
  const auto whole = run({.eager_bytes = 0});
  const auto expected = on_host(whole.gather(C));
  // 2 elements a message, and less than one.
  for (const std::int64_t bytes : {8, 1}) {
    CAPTURE(bytes);
    const auto cut = run({.eager_bytes = bytes});
    CHECK(cut.statistics().words_received == whole.statistics().words_received);
    const Extent words = cut.statistics().words_received;
    CHECK(cut.statistics().messages_received >= whole.statistics().messages_received);
    if (words > whole.statistics().messages_received) {
      CHECK(cut.statistics().messages_received > whole.statistics().messages_received);
    }
    const auto got = on_host(cut.gather(C));
    bool same = true;
    for (int r = 0; r < 24; ++r) {
      for (int c = 0; c < 20; ++c) same = same && got(r, c) == expected(r, c);
    }
    CHECK(same);
  }
}

TEST_CASE("messages are cut at the limit and arrive all the same") {
  const World world;
  Program program;
  const auto A = program.input<float>("A", {24, 16});
  const auto B = program.input<float>("B", {16, 20});
  const auto C = let<"C">(i, k) = sum(j)(A(i, j) * B(j, k));
  const Plan plan = ein::decompose(program, {.workers = 8, .ranks = world.size});
  ein::Executor whole(plan, MPI_COMM_WORLD, Space());
  ein::Executor cut(plan, MPI_COMM_WORLD, Space(), {.chunk = 5});
  const auto one = whole.run(ein::bind_generator(A, Formula<float>{1}),
                             ein::bind_generator(B, Formula<float>{2}));
  const auto two =
      cut.run(ein::bind_generator(A, Formula<float>{1}), ein::bind_generator(B, Formula<float>{2}));
  CHECK(one.statistics().words_received == two.statistics().words_received);
  CHECK(two.statistics().messages_received * 5 >= two.statistics().words_received);
  const auto expected = on_host(one.gather(C));
  const auto got = on_host(two.gather(C));
  bool same = true;
  for (int r = 0; r < 24; ++r) {
    for (int c = 0; c < 20; ++c) same = same && got(r, c) == expected(r, c);
  }
  CHECK(same);
}

TEST_CASE("statements in steps give the same elements and hold less") {
  const World world;
  Program program;
  const auto Q = program.input<double>("Q", {29, 7});
  const auto K = program.input<double>("K", {17, 7});
  const auto V = program.input<double>("V", {17, 5});
  const auto T = let<"T">(i, j) = sum(k)(Q(i, k) * K(j, k));
  const auto P = let<"P">(i, j) = softmax(j)(T(i, j));
  const auto O = let<"O">(i, m) = sum(j)(P(i, j) * V(j, m));
  program.role(i, "batch");
  ein::DecomposeOptions options{.workers = 4, .ranks = world.size, .strategy = "data_parallel"};
  const Plan whole = ein::decompose(program, options);
  options.steps = {{"T", "O", {{"i", 3}}}};
  const Plan stepped = ein::decompose(program, options);
  CHECK(stepped.tasks().total_words() == whole.tasks().total_words());
  const auto result = [&](const Plan& plan) {
    const auto run =
        ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(Q, Formula<>{1}),
                     ein::bind_generator(K, Formula<>{2}), ein::bind_generator(V, Formula<>{3}));
    CHECK(run.statistics().arena_bytes <= plan.peak_bytes()[static_cast<std::size_t>(world.rank)]);
    return std::pair(on_host(run.gather(O)), run.statistics());
  };
  const auto [expected, held_whole] = result(whole);
  const auto [got, held] = result(stepped);
  CHECK(held.words_received == held_whole.words_received);
  if (!whole.local(O, world.rank).empty()) CHECK(held.arena_bytes < held_whole.arena_bytes);
  double error = 0;
  for (int r = 0; r < 29; ++r) {
    for (int c = 0; c < 5; ++c) error = std::max(error, std::abs(got(r, c) - expected(r, c)));
  }
  CHECK(error < 1e-12);
}

TEST_CASE("a rank without work takes part") {
  const World world;
  Program program;
  const auto A = program.input<double>("A", {3});
  const auto S = ein::let<"S">() = sum(i)(A(i));
  const Plan plan = ein::decompose(program, {.workers = 2, .ranks = world.size});
  const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(),
                                ein::bind_generator(A, [](Extent n) { return n + 1.0; }));
  CHECK(on_host(run.gather(S))() == 6.0);
}

TEST_CASE("results are read by the symbols of results only") {
  const World world;
  Program program;
  const auto A = program.input<double>("A", {4});
  const auto B = let<"B">(i) = exp(A(i));
  const auto C = let<"C">(i) = A(i) + B(i);
  Program other;
  const auto F = other.input<double>("F", {4});
  const Plan plan = ein::decompose(program, {.workers = 1, .ranks = world.size});
  const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(),
                                ein::bind_generator(A, [](Extent) { return 0.0; }));
  const auto message = [](const auto& work) {
    try {
      work();
    } catch (const ein::Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(message([&] { (void)run.local(A); }).find("it is an input") != std::string::npos);
  CHECK(message([&] { (void)run.local(B); }).find("another statement reads it") !=
        std::string::npos);
  CHECK(message([&] { (void)run.local(F); }).find("not one of the plan's") != std::string::npos);
  CHECK(message([&] { (void)run.gather(F); }).find("not one of the plan's") != std::string::npos);
  CHECK(message([&] { (void)run.gather(C, world.size); }).find("cannot gather C") !=
        std::string::npos);
  // The communicator is still good after refusals.
  CHECK(on_host(run.gather(C))(3) == 1.0);
  if (plan.local(C, world.rank).empty()) {
    CHECK(message([&] { (void)run.local(C).view(); }).find("0 blocks of C") != std::string::npos);
  } else {
    CHECK(run.local(C).box() == plan.local(C, world.rank).front());
  }
  const Plan halves = ein::decompose(program, {.workers = 2,
                                               .ranks = 1,
                                               .strategy = "by_hand",
                                               .by_hand = {{"B", {{"i", 2}}}, {"C", {{"i", 2}}}}});
  const auto both = ein::execute(halves, MPI_COMM_SELF, Space(),
                                 ein::bind_generator(A, [](Extent) { return 0.0; }));
  CHECK(message([&] { (void)both.local(C).view(); }).find("this rank has 2 blocks of C") !=
        std::string::npos);
}
