// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives of complex numbers on ranks: equal to JAX's, and the words that move are those
// predicted.

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/graph/gradient.hpp"
#include "gradient/jax.hpp"
#include "gradient/trained.hpp"
#include "run/programs.hpp"
#include "support/pmpi_counter.hpp"

using namespace run_test;
using namespace eindecomp::labels;
using ein::let;
using eindecomp_tests::check_jax;
using eindecomp_tests::numbers;

namespace {

using Complex = Kokkos::complex<double>;
using TwiceOnRanks = ein::BasicProgram<ein::Differentiable<ein::KokkosBackend<Space>, 2>>;

/// As make_expected.py has them: complex numbers of two seeds, real ones of the first.
template <class T>
std::vector<T> drawn(Extent count, int seed, double least, double most) {
  const std::vector<double> re = numbers(count, seed, least, most);
  const std::vector<double> im = numbers(count, seed + 100, least, most);
  std::vector<T> all;
  for (std::size_t n = 0; n < re.size(); ++n) {
    if constexpr (std::is_same_v<T, double>) {
      all.push_back(re[n]);
    } else {
      all.emplace_back(re[n], im[n]);
    }
  }
  return all;
}

/// Inputs of a program and their elements.
template <class Program>
struct Inputs {
  Program g;
  std::vector<ein::Binding<Space>> bindings;

  template <class T, std::size_t Rank>
  auto add(const char* name, const Extent (&bound)[Rank], std::vector<T> elements) {
    const auto symbol = g.template input<T>(name, bound);
    bindings.push_back(ein::bind_generator(
        symbol, networks::element_of<T>({bound, bound + Rank}, std::move(elements))));
    return symbol;
  }
  template <class T, std::size_t Rank>
  auto draw(const char* name, const Extent (&bound)[Rank], int seed, double least, double most) {
    Extent count = 1;
    for (const Extent extent : bound) count *= extent;
    return add(name, bound, drawn<T>(count, seed, least, most));
  }

  /// Runs the program and compares results with JAX's of those names.
  template <class... Symbols>
  void check(const std::vector<std::string>& names, const Symbols&... symbols) {
    const World world;
    for (const char* strategy : {"placed", "linearized"}) {
      CAPTURE(strategy);
      const auto plan =
          ein::decompose(g, {.workers = world.size, .ranks = world.size, .strategy = strategy});
      const ein::TaskGraph tasks = plan.tasks();
      pmpi::reset();
      ein::Executor executor(plan, MPI_COMM_WORLD, Space());
      auto run = executor.run(bindings);
      const pmpi::Counts moved = pmpi::counts("EinDecomp transfers");
      CHECK(moved.received == of_this_rank(tasks.received));
      auto name = names.begin();
      const auto compare = [&](const auto& symbol) {
        const auto all = on_host(run.gather(symbol));
        std::vector<double> parts;
        for (std::size_t n = 0; n < all.size(); ++n) {
          parts.push_back(ein::Real{}(all.data()[n]));
          parts.push_back(ein::Imag{}(all.data()[n]));
        }
        check_jax("complex." + *name++, parts);
      };
      (compare(symbols), ...);
    }
  }
};

/// Y of complex Z and W and real R, its products with a cotangent, and along tangents.
template <class Write>
void check_case(const std::string& name, const Write& write) {
  CAPTURE(name);
  Inputs<networks::OnRanks> in;
  const auto Z = in.draw<Complex>("Z", {6}, 1, -1.5, 1.5);
  const auto W = in.draw<Complex>("W", {6}, 4, -1.5, 1.5);
  const auto R = in.draw<double>("R", {6}, 7, -2, 2);
  const auto Y = let<"Y">(i) = write(Z(i), W(i), R(i));
  using T = typename std::decay_t<decltype(Y)>::value_type;
  const auto C = in.draw<T>("C", {6}, 9, -1, 1);
  const auto D = in.draw<Complex>("D", {6}, 12, -1, 1);
  const auto D2 = let<"D2">(i) = 2.0 * D(i);
  const auto DR = let<"DR">(i) = ein::real(D(i));
  const auto [dZ, dW, dR] = ein::vjp(Y, C, Z, W, R);
  const auto t = ein::jvp(Y, Z, D, W, D2, R, DR);
  in.check({name + ".z", name + ".w", name + ".r", name + ".t"}, dZ, dW, dR, t);
}

}  // namespace

TEST_CASE("functions of complex numbers that have one derivative") {
  check_case("product", [](auto z, auto w, auto r) { return z * w * r; });
  check_case("quotient", [](auto z, auto w, auto r) { return z * r / w; });
  check_case("functions", [](auto z, auto w, auto r) {
    return exp(z) * sin(w) - sqrt(z) * log(w) + tanh(z) * r;
  });
}

TEST_CASE("conjugates, parts and moduli") {
  const auto i1 = Complex(0, 1);
  check_case("conj", [](auto z, auto w, auto r) { return conj(z) * w * r; });
  check_case("inner", [](auto z, auto w, auto r) { return conj(z * w) * exp(z) * r; });
  check_case("parts",
             [&](auto z, auto w, auto r) { return real(z) * w + 2.0 * i1 * imag(w * r) * z; });
  check_case("modulus", [](auto z, auto w, auto r) { return abs(z * w) * r; });
  check_case("square", [](auto z, auto w, auto r) { return square(abs(z)) + r * square(abs(w)); });
  check_case("real", [](auto z, auto w, auto r) { return real(conj(z) * w * w + r); });
  check_case("chosen", [](auto z, auto w, auto r) { return ein::select(r > 0.0, z * r, conj(w)); });
  check_case("rectified", [](auto z, auto w, auto r) {
    return ein::relu(real(z)) * w + ein::clip(imag(w), -1.0, 1.0) * max(abs(z), r);
  });
  check_case("scaled", [](auto z, auto w, auto r) {
    return Complex(0.5, -2) * conj(z) + Complex(1, 3) * w + r;
  });
}

TEST_CASE("complex constants among real tensors") {
  const World world;
  Inputs<networks::OnRanks> in;
  const auto R = in.add<double>("R", {3}, {-2, 0.5, 4});
  const auto Y = let<"Y">() = sum(i)(abs(Complex(0.6, -0.8) * R(i)) + real(Complex(3, 1) * R(i)));
  const auto dR = ein::gradient(Y, R);
  ein::Executor executor(ein::decompose(in.g, {.workers = world.size}), MPI_COMM_WORLD, Space());
  const auto found = on_host(executor.run(in.bindings).gather(dR));
  for (std::size_t n = 0; n < 3; ++n) CHECK(found(n) == doctest::Approx(n == 0 ? 2 : 4));
}

TEST_CASE("complex elements that are not read have the derivative 0") {
  const World world;
  Inputs<networks::OnRanks> in;
  const auto Z = in.add<Complex>("Z", {5}, {{4, 0}, {0, 0}, {0, 2}, {0, 0}, {1, 0}});
  const auto Y = let<"Y">() = sum(i)(real(sqrt(Z(2 * i))));
  const auto dZ = ein::gradient(Y, Z);
  ein::Executor executor(ein::decompose(in.g, {.workers = world.size}), MPI_COMM_WORLD, Space());
  const auto found = on_host(executor.run(in.bindings).gather(dZ));
  // 1 / (2 √z)
  const Complex expected[] = {{0.25, 0}, {0, 0}, {0.25, -0.25}, {0, 0}, {0.5, 0}};
  for (std::size_t n = 0; n < 5; ++n) {
    CAPTURE(n);
    CHECK(ein::Real{}(found(n)) == doctest::Approx(ein::Real{}(expected[n])));
    CHECK(ein::Imag{}(found(n)) == doctest::Approx(ein::Imag{}(expected[n])));
  }
}

TEST_CASE("a quotient alone, whose derivatives share it") {
  Inputs<networks::OnRanks> in;
  const auto Z = in.draw<Complex>("Z", {6}, 1, -1.5, 1.5);
  const auto W = in.draw<Complex>("W", {6}, 4, -1.5, 1.5);
  const auto C = in.draw<Complex>("C", {6}, 9, -1, 1);
  const auto D = in.draw<Complex>("D", {6}, 12, -1, 1);
  const auto D2 = let<"D2">(i) = 2.0 * D(i);
  const auto Y = let<"Y">(i) = Z(i) / W(i);
  const auto [dZ, dW] = ein::vjp(Y, C, Z, W);
  in.check({"divided.z", "divided.w", "divided.t"}, dZ, dW, ein::jvp(Y, Z, D, W, D2));
}

TEST_CASE("least squares of complex and real matrices") {
  Inputs<networks::OnRanks> in;
  const auto A = in.draw<Complex>("A", {5, 3}, 1, -1, 1);
  const auto X = in.draw<Complex>("X", {3, 4}, 4, -1, 1);
  const auto R = in.draw<double>("R", {6, 5}, 7, -1, 1);
  const auto B = in.draw<Complex>("B", {6, 4}, 9, -1, 1);
  const auto P = let<"P">(i, k) = sum(j)(A(i, j) * conj(X(j, k)));
  const auto Q = let<"Q">(s, k) = sum(i)(R(s, i) * P(i, k));
  const auto loss = let<"loss">() = sum(s, k)(square(abs(Q(s, k) - B(s, k))));
  const auto [dA, dX, dR] = ein::gradient(loss, A, X, R);
  in.check({"least_squares.A", "least_squares.x", "least_squares.R"}, dA, dX, dR);
}

TEST_CASE("gradients of a gradient by complex tensors") {
  Inputs<TwiceOnRanks> in;
  const auto Z = in.draw<Complex>("Z", {6}, 1, -1.5, 1.5);
  const auto W = in.draw<Complex>("W", {6}, 4, -1.5, 1.5);
  const auto T = in.draw<Complex>("T", {6}, 12, -1, 1);
  const auto loss = let<"loss">() = sum(i)(square(abs(Z(i) * Z(i) * conj(W(i)))));
  const auto dZ = ein::gradient(loss, Z);
  const auto slope = let<"slope">() = sum(i)(real(conj(T(i)) * dZ(i)));
  const auto [ddZ, ddW] = ein::gradient(slope, Z, W);
  in.check({"twice.z", "twice.w"}, ddZ, ddW);
}

TEST_CASE("descent along the conjugate of a complex gradient lowers a loss") {
  Inputs<networks::OnRanks> in;
  const auto A = in.draw<Complex>("A", {5, 3}, 1, -1, 1);
  const auto X = in.draw<Complex>("X", {3}, 4, -1, 1);
  const auto B = in.draw<Complex>("B", {5}, 9, -1, 1);
  const auto loss_of = [&](const char* name, const auto& x) {
    const auto P = let(std::string(name) + ".P")(i) = sum(j)(A(i, j) * x(j)) - B(i);
    return let(name)() = sum(i)(square(abs(P(i))));
  };
  const auto before = loss_of("before", X);
  const auto dX = ein::gradient(before, X);
  const auto next = let<"next">(j) = X(j) - 0.02 * conj(dX(j));
  const auto after = loss_of("after", next);
  auto run = ein::Executor(ein::decompose(in.g, {.workers = World().size}), MPI_COMM_WORLD, Space())
                 .run(in.bindings);
  CHECK(on_host(run.gather(after))() < 0.9 * on_host(run.gather(before))());
}
