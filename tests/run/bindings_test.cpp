// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "eindecomp/graph/builder.hpp"
#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;

namespace {

const ein::Box whole_a{{0, 0}, {12, 10}};
const ein::Box whole_b{{0, 0}, {10, 14}};

}  // namespace

TEST_CASE("bindings one by one, in a vector, in braces and beside what is carried are the same") {
  const World world;
  constexpr Extent n = 6;
  Program program;
  const auto A = program.input<double>("A", {n, n});
  const auto B = program.input<double>("B", {n, n});
  const auto C = program.input<double>("C", {n, n});
  const auto D = let<"D">(i, j) = A(i, j) + 10 * B(i, j) + 100 * C(i, j);
  const Plan plan = ein::decompose(
      program, {.workers = world.size, .ranks = world.size, .carry = {{"D", "A"}}, .max_idle = 0});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto constant = [](double value) { return [value](Extent, Extent) { return value; }; };
  const auto a = ein::bind_generator(A, constant(1));
  const auto b = ein::bind_generator(B, constant(2));
  const auto c = ein::bind_generator(C, constant(3));
  using Any = ein::Binding<Space>;
  const Any any(a);
  const auto is = [&](const auto& run, double expected) {
    const auto got = on_host(run.gather(D));
    CHECK(got(0, 0) == expected);
    CHECK(got(n - 1, n - 1) == expected);
  };
  is(executor.run(a, b, c), 321);
  is(executor.run(any, b, c), 321);
  is(executor.run(std::vector<Any>{a, b, c}), 321);
  is(executor.run({a, b, c}), 321);
  is(executor.run({any, b, Any(c)}), 321);
  is(executor.run({a, b}, c), 321);
  is(executor.run({a}, b, c), 321);
  is(executor.run({any}, b, c), 321);
  is(executor.run({any, Any(b)}, c), 321);
  const auto run = executor.run({any, b}, c);
  const std::vector<Any> carried = run.carry();
  is(executor.run(carried, b, c), 641);
  is(executor.run({carried[0]}, b, c), 641);
  is(executor.run({carried[0], Any(b)}, c), 641);
  is(executor.run({c, carried[0]}, b), 641);
  const std::vector<Any> others{b, c};
  is(executor.run(run.carry(), others), 641);
  is(executor.run(carried, {b, c}), 641);
  CHECK(carried.size() == 1);
  CHECK(contains(message_of([&] { (void)executor.run(carried, std::vector<Any>{b}); }),
                 "bindings_test.cpp:" + std::to_string(__LINE__ - 1)));
  const ein::ExecuteOptions limited{.chunk = 5};
  const std::vector<Any> all{a, b, c};
  is(ein::execute(plan, MPI_COMM_WORLD, Space(), all, limited), 321);
  is(ein::execute(plan, MPI_COMM_WORLD, Space(), limited, all), 321);
  is(ein::execute(plan, MPI_COMM_WORLD, Space(), {.chunk = 5}, {a, b, c}), 321);
  const std::string twice = message_of([&] { (void)executor.run({a, a}, b); });
  CHECK(contains(twice, "input A is bound"));
  CHECK(contains(twice, "bindings_test.cpp:"));
  CHECK(contains(message_of([&] { (void)executor.run(b); }),
                 "inputs A, C are not bound (statements read them)"));
  CHECK(contains(message_of([&] { (void)executor.run(a, b); }), "input C is not bound"));
  const Plan other = ein::decompose(program, {.workers = world.size, .ranks = world.size});
  CHECK(contains(
      message_of([&] { (void)ein::execute(other, MPI_COMM_WORLD, Space(), a, b, c).carry(); }),
      "a run carries nothing to the next"));
}

TEST_CASE("whole tensors on every rank are read in place, in any layout") {
  const Product product;
  using Right = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
  using Left = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
  using Strided = Kokkos::View<const double**, Kokkos::LayoutStride, Space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const Right a = filled<Right>(whole_a, product.fa);
  const Left b = filled<Left>(whole_b, product.fb);
  // Every second row and third column of something larger.
  const Left large("test::large", 24, 30);
  const Kokkos::LayoutStride layout(12, 2, 10, 3 * large.stride(1));
  const Kokkos::View<double**, Kokkos::LayoutStride, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>
      strided(large.data(), layout);
  Kokkos::deep_copy(strided, a);
  for (const int workers : {1, 4, 8}) {
    const Plan plan = ein::decompose(product.program, {.workers = workers, .ranks = World().size});
    CHECK(product.right(ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_global(product.A, a),
                                     ein::bind_global(product.B, b))));
    CHECK(product.right(ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_global(product.B, b),
                                     ein::bind_global(product.A, Strided(strided)))));
  }
}

TEST_CASE("blocks in LayoutStride, const and unmanaged") {
  const Product product;
  using Left = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
  using Strided = Kokkos::View<const double**, Kokkos::LayoutStride, Space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const Plan plan = ein::decompose(product.program, {.workers = 8, .ranks = World().size});
  const std::vector<Left> owned = blocks<Left>(plan, product.A, World().rank, product.fa);
  const std::vector<Strided> seen(owned.begin(), owned.end());
  CHECK(product.right(ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind(product.A, seen),
                                   ein::bind_generator(product.B, product.fb))));
}

TEST_CASE("a stencil reads the inside of a larger array, in any layout, and what is carried") {
  const World world;
  constexpr Extent n = 400;
  Program program;
  const auto X = program.input<double>("X", {n, n});
  const auto Y = let<"Y">(i, j) = X(ein::zero(i - 1), j) + 2 * X(i, ein::zero(j + 1)) + X(i, j);
  const Plan plan = ein::decompose(
      program, {.workers = world.size, .ranks = world.size, .carry = {{"Y", "X"}}, .max_idle = 0});
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  const auto x = [](Extent row, Extent column) {
    return row < 0 || column >= n ? 0.0 : static_cast<double>((3 * row + 5 * column) % 11);
  };
  const auto y = [&](Extent row, Extent column) {
    if (row < 0 || column >= n) return 0.0;
    return x(row - 1, column) + 2 * x(row, column + 1) + x(row, column);
  };
  const auto differences = [&](const auto& run, const auto& expected) {
    const auto got = on_host(run.gather(Y));
    int wrong = 0;
    for (Extent row = 0; row < n; ++row) {
      for (Extent column = 0; column < n; ++column) {
        wrong += got(row, column) != expected(row, column) ? 1 : 0;
      }
    }
    return wrong;
  };
  const auto check = [&]<class Layout>(Layout) {
    const Kokkos::View<double**, Layout, Space> halo("test::halo", n + 2, n + 4);
    const auto inside = Kokkos::subview(halo, std::pair<Extent, Extent>(1, n + 1),
                                        std::pair<Extent, Extent>(2, n + 2));
    const auto on = Kokkos::create_mirror_view(halo);
    Kokkos::deep_copy(on, 1e9);  // which must not be read
    for (Extent row = 0; row < n; ++row) {
      for (Extent column = 0; column < n; ++column) on(row + 1, column + 2) = x(row, column);
    }
    Kokkos::deep_copy(halo, on);
    auto run = executor.run(ein::bind_global(X, inside));
    CHECK(differences(run, y) == 0);
    run = executor.run(run.carry());
    CHECK(differences(run, [&](Extent row, Extent column) {
            return y(row - 1, column) + 2 * y(row, column + 1) + y(row, column);
          }) == 0);
  };
  check(Kokkos::LayoutRight());
  check(Kokkos::LayoutLeft());
}

TEST_CASE("a tensor on one rank is scattered from there") {
  const Product product;
  using Left = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
  const int root = World().size - 1;
  // The other ranks bind an empty view.
  Left a;
  if (World().rank == root) a = filled<Left>(whole_a, product.fa);
  Left b;
  if (World().rank == 0) b = filled<Left>(whole_b, product.fb);
  for (const int workers : {1, 2, 8}) {
    const Plan plan = ein::decompose(product.program, {.workers = workers, .ranks = World().size});
    const auto run =
        ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_global(product.A, a, root),
                     ein::bind_global(product.B, b, 0));
    CHECK(product.right(run));
    // What was scattered does not count as the plan's words.
    CHECK(run.statistics().words_received ==
          plan.tasks().received[static_cast<std::size_t>(World().rank)]);
  }
}

TEST_CASE("a large tensor is scattered and gathered in pieces") {
  // Above the slab's 1 MiB, with rows that do not divide it.
  Program program;
  const auto X = program.input<double>("X", {601, 501});
  const auto Y = let<"Y">(j, i) = X(i, j) + 1.0;
  const Plan plan = ein::decompose(program, {.workers = 4, .ranks = World().size});
  Kokkos::View<double**, Kokkos::LayoutLeft, Space> x;
  if (World().rank == 0) {
    x = filled<Kokkos::View<double**, Kokkos::LayoutLeft, Space>>(ein::Box{{0, 0}, {601, 501}},
                                                                  Formula<>{9});
  }
  const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_global(X, x, 0));
  const auto y = on_host(run.gather(Y));
  bool right = true;
  for (Extent r = 0; r < 601; ++r) {
    for (Extent c = 0; c < 501; ++c) right = right && y(c, r) == Formula<>{9}(r, c) + 1;
  }
  CHECK(right);
}

TEST_CASE("scalars are bound, computed and gathered") {
  Program program;
  const auto scale = program.input<double>("scale");
  const auto X = program.input<double>("X", {16});
  const auto S = ein::let<"S">() = sum(i)(X(i) * scale());
  const auto T = ein::let<"T">() = S() + scale();
  for (const int workers : {1, 4}) {
    const Plan plan = ein::decompose(program, {.workers = workers, .ranks = World().size});
    const Kokkos::View<double, Space> half("test::scalar");
    Kokkos::deep_copy(half, 0.5);
    const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_global(scale, half),
                                  ein::bind_generator(X, [](Extent n) { return n; }));
    CHECK(on_host(run.gather(T))() == 60.5);
    const auto again =
        ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(scale, [] { return 0.25; }),
                     ein::bind_generator(X, [](Extent n) { return n; }));
    CHECK(on_host(again.gather(T))() == 30.25);
  }
}

TEST_CASE("scalars take the type of the tensors they meet, of Kokkos' complex numbers too") {
  Program program;
  const auto X = program.input<float>("X", {16});
  const auto N = program.input<std::int32_t>("N", {16});
  const auto Z = program.input<Kokkos::complex<float>>("Z", {16});
  using Single = Kokkos::complex<float>;
  using Double = Kokkos::complex<double>;
  const Double turn(0, 1);
  const auto is = [](const auto& expression, auto expected) {
    return std::is_same_v<ein::expr::Elements<std::decay_t<decltype(expression)>>,
                          decltype(expected)>;
  };
  CHECK(is(2 * Z(i), Single()));
  CHECK(is(0.5 * Z(i), Single()));
  CHECK(is(Z(i) * turn, Single()));
  CHECK(is(X(i) * turn, Single()));
  CHECK(is(Single(0, 1) * ein::cast<double>(X(i)), Double()));
  CHECK(is(turn * N(i), Double()));
  CHECK(is(Single(0, 1) * N(i), Double()));
  const auto Y = let<"Y">(i) = 0.1 * X(i);
  const Plan plan = ein::decompose(program, {.workers = 2, .ranks = World().size});
  const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(),
                                ein::bind_generator(X, [](Extent n) { return 3.0F + n; }));
  const Kokkos::View<const float*, Kokkos::HostSpace> y = on_host(run.gather(Y));
  for (Extent r = 0; r < 16; ++r) CHECK(y(r) == 0.1F * (3.0F + static_cast<float>(r)));
}

TEST_CASE("a named result that a macro computes as well stays a result") {
  Program program;
  const auto X = program.input<double>("X", {12, 10});
  const auto M = let<"M">(i) = max(j)(X(i, j));
  const auto E = let<"E">(i, j) = exp(X(i, j) - M(i));
  const auto S = let<"S">(i, j) = softmax(j)(X(i, j));
  const auto Total = let<"Total">(i) = sum(j)(exp(X(i, j) - M(i)));
  const auto Sum = let<"Sum">(i) = sum(j)(E(i, j));
  const auto Again = let<"Again">(i, j) = exp(X(i, j) - M(i));
  REQUIRE(Again.vertex() == E.vertex());
  for (const int workers : {1, 4}) {
    const Plan plan = ein::decompose(program, {.workers = workers, .ranks = World().size});
    const auto run =
        ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(X, Formula<>{3}));
    const auto again = on_host(run.gather(Again));
    const auto by_name = on_host(run.gather_as<double, 2>("Again"));
    const auto s = on_host(run.gather(S));
    const auto total = on_host(run.gather(Total));
    for (Extent r = 0; r < 12; ++r) {
      double most = Formula<>{3}(r, 0);
      for (Extent c = 0; c < 10; ++c) most = std::max(most, Formula<>{3}(r, c));
      for (Extent c = 0; c < 10; ++c) {
        CHECK(again(r, c) == doctest::Approx(std::exp(Formula<>{3}(r, c) - most)));
        CHECK(by_name(r, c) == again(r, c));
        CHECK(s(r, c) == doctest::Approx(again(r, c) / total(r)));
      }
    }
  }
  (void)Sum;
}

TEST_CASE("a program built at run time is bound and read by its own symbols") {
  Program program;
  ein::Builder<Program::Backend> builder(program);
  const ein::AnySymbol A = builder.input<double>("A", {6, 8});
  const ein::AnySymbol C = builder.statement<ein::Identity, ein::Sum, double>(
      "C", {{A, ein::letters("ij")}}, ein::letters("i"));
  const Plan plan = ein::decompose(program, {.workers = 4, .ranks = World().size});
  const auto a = filled<Kokkos::View<double**, Kokkos::LayoutRight, Space>>(
      ein::Box{{0, 0}, {6, 8}}, Formula<>{3});
  const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_global(A, a));
  const auto got = on_host(run.gather_as<double, 1>(C));
  for (Extent r = 0; r < 6; ++r) {
    double x = 0;
    for (Extent c = 0; c < 8; ++c) x += Formula<>{3}(r, c);
    CHECK(got(r) == x);
  }
  CHECK_THROWS_AS((void)(run.gather_as<float, 1>(C)), ein::Error);
  CHECK_THROWS_AS((void)(run.local_as<double, 2>(C)), ein::Error);
}

TEST_CASE("symbols of diverged copies serve plans and runs of their own copy only") {
  Program g;
  const auto A = g.input<double>("A", {6});
  Program h = g;
  const auto in_h = h.symbol(A);
  // Each pair has the same place in its program.
  const auto B = g.input<double>("B", {6});
  const auto C = h.input<double>("C", {6});
  const auto Y = let<"Y">(i) = A(i) + B(i);
  const auto Z = let<"Z">(i) = in_h(i) * C(i);
  REQUIRE(B.vertex() == C.vertex());
  REQUIRE(Y.vertex() == Z.vertex());
  const Plan plan = ein::decompose(g, {.workers = 2, .ranks = World().size});
  const auto refused = [](const char* tensor, ein::ErrorKind kind, const auto& call) {
    std::string text = "nothing was thrown";
    ein::ErrorKind found = ein::ErrorKind::user;
    try {
      call();
    } catch (const ein::Error& error) {
      text = error.what();
      found = error.kind();
    }
    CAPTURE(text);
    CHECK(found == kind);
    CHECK(text.find(std::string("tensor ") + tensor +
                    " is not one of the plan's (it was written") != std::string::npos);
    CHECK(text.find("bindings_test.cpp") != std::string::npos);
  };
  refused("Z", ein::ErrorKind::plan, [&] { (void)plan.local(Z, 0); });
  refused("C", ein::ErrorKind::plan, [&] { (void)plan.vertex(C); });
  ein::Executor executor(plan, MPI_COMM_WORLD, Space());
  refused("C", ein::ErrorKind::binding, [&] {
    (void)executor.run(ein::bind_generator(A, Formula<>{}), ein::bind_generator(C, Formula<>{}));
  });
  // Of tensors from before the copy was made, either symbol; and when the programs are gone.
  g = Program();
  h = Program();
  const auto run =
      executor.run(ein::bind_generator(in_h, Formula<>{}), ein::bind_generator(B, Formula<>{1}));
  refused("Z", ein::ErrorKind::binding, [&] { (void)run.gather(Z); });
  refused("Z", ein::ErrorKind::binding, [&] { (void)run.local(Z); });
  const auto y = on_host(run.gather(Y));
  for (Extent r = 0; r < 6; ++r) CHECK(y(r) == Formula<>{}(r) + Formula<>{1}(r));
}

TEST_CASE("an input that no statement reads needs no binding") {
  Program program;
  const auto A = program.input<double>("A", {6});
  const auto unused = program.input<double>("unused", {6});
  const auto B = let<"B">(i) = -A(i);
  const Plan plan = ein::decompose(program, {.workers = 2, .ranks = World().size});
  CHECK_NOTHROW(
      (void)ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(A, Formula<>{})));
  CHECK_NOTHROW((void)ein::execute(plan, MPI_COMM_WORLD, Space(),
                                   ein::bind_generator(A, Formula<>{}),
                                   ein::bind_generator(unused, Formula<>{})));
  (void)B;
}

TEST_CASE("a rank that stores no block binds nothing, an empty view or its copy of a scalar") {
  Program program;
  const auto scale = program.input<double>("scale");
  const auto X = program.input<double>("X", {3});
  const auto Y = let<"Y">(i) = X(i) * scale();
  // One worker: rank 0 stores everything.
  const Plan plan = ein::decompose(program, {.workers = 1, .ranks = World().size});
  const Kokkos::View<double, Space> half("test::scalar");
  Kokkos::deep_copy(half, 0.5);
  using Line = Kokkos::View<double*, Space>;
  const Line x = World().rank == 0 ? filled<Line>(ein::Box{{0}, {3}},
                                                  [](Extent n) { return static_cast<double>(n); })
                                   : Line();
  const auto run =
      ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind(scale, half), ein::bind(X, x));
  CHECK(on_host(run.gather(Y))(2) == 1.0);
  const std::vector<Line> lines(World().rank == 0 ? 1 : 0, x);
  const auto again =
      ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind(scale, half), ein::bind(X, lines));
  CHECK(on_host(again.gather(Y))(2) == 1.0);
}

TEST_CASE("a plan of a copy is run with the symbols of the original") {
  const Product product;
  const Program copy = product.program;
  const Plan plan = ein::decompose(copy, {.workers = 4, .ranks = World().size});
  CHECK(product.right(ein::execute(plan, MPI_COMM_WORLD, Space(),
                                   ein::bind_generator(product.A, product.fa),
                                   ein::bind_generator(product.B, product.fb))));
}
