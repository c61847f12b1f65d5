// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives through tensors of 16-bit numbers on ranks. Elements are whole numbers that 16 bits
// hold, so that they are those of the same program of floats, whose derivatives other tests compare
// with JAX's.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/graph/blocks.hpp"
#include "eindecomp/graph/concat.hpp"
#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/scan.hpp"
#include "run/programs.hpp"
#include "support/pmpi_counter.hpp"

using namespace run_test;
using namespace eindecomp::labels;
using ein::bfloat16;
using ein::float16;
using ein::let;

namespace {

template <int Order>
using OfOrder = ein::BasicProgram<ein::Differentiable<ein::KokkosBackend<Space>, Order>>;

/// A program and its inputs, of which those of elements T are by a formula.
template <int Order>
struct InputsOfOrder {
  OfOrder<Order> g;
  std::vector<ein::Binding<Space>> bindings;
  int seed = 1;

  template <class T, std::size_t Rank>
  auto add(const char* name, const Extent (&bound)[Rank]) {
    const auto symbol = g.template input<T>(name, bound);
    bindings.push_back(ein::bind_generator(symbol, Formula<T>{seed++}));
    return symbol;
  }

  /// What tensors hold after a run, whose words must be those predicted.
  template <class Tensors>
  std::vector<std::vector<float>> run(const Tensors& tensors) {
    const World world;
    std::apply([&](const auto&... symbols) { (g.keep(symbols), ...); }, tensors);
    const auto plan = ein::decompose(g, {.workers = world.size, .ranks = world.size});
    const ein::TaskGraph tasks = plan.tasks();
    pmpi::reset();
    ein::Executor executor(plan, MPI_COMM_WORLD, Space());
    auto run = executor.run(bindings);
    CHECK(pmpi::counts("EinDecomp transfers").received == of_this_rank(tasks.received));
    std::vector<std::vector<float>> all;
    std::apply(
        [&](const auto&... symbols) {
          (
              [&] {
                const auto view = on_host(run.gather(symbols));
                all.emplace_back(view.data(), view.data() + view.size());
              }(),
              ...);
        },
        tensors);
    return all;
  }
};

/// Runs a program of elements T and one of floats. \param write  write(inputs, T): the tensors that
///   are to be alike, as a tuple; those of 16 bits are derivatives of float
template <class T, int Order = 1, class Write>
void check_like_floats(const Write& write) {
  InputsOfOrder<Order> in;
  InputsOfOrder<Order> of_floats;
  const auto got = in.run(write(in, T()));
  const auto expected = of_floats.run(write(of_floats, float()));
  REQUIRE(got.size() == expected.size());
  for (std::size_t n = 0; n < got.size(); ++n) {
    CAPTURE(n);
    REQUIRE(got[n].size() == expected[n].size());
    float largest = 0;
    for (std::size_t e = 0; e < got[n].size(); ++e) {
      largest = std::max(largest, std::abs(expected[n][e]));
      CHECK(std::abs(got[n][e] - expected[n][e]) <= 1e-5F * (1 + std::abs(expected[n][e])));
    }
    CHECK(largest > 0);
  }
}

}  // namespace

TEST_CASE("gradients through weights and activations of 16 bits") {
  const auto layers = [](auto& in, auto zero) {
    using T = decltype(zero);
    const auto X = in.template add<T>("X", {6, 5});
    const auto W = in.template add<float>("W", {5, 4});
    const auto V = in.template add<T>("V", {4, 3});
    const auto W16 = let<"W16">(j, k) = ein::cast<T>(W(j, k));
    const auto H = let<"H">(i, k) = ein::cast<T>(relu(sum(j)(X(i, j) * W16(j, k))));
    const auto Y = let<"Y">(i, l) = ein::tanh(sum(k)(0.01 * H(i, k) * V(k, l)));
    const auto L = let<"L">() = sum(i, l)(square(Y(i, l)));
    const auto [dX, dW, dV, dH] = ein::gradient(L, X, W, V, H);
    static_assert(std::is_same_v<typename std::decay_t<decltype(dX)>::value_type, float>);
    static_assert(std::is_same_v<typename std::decay_t<decltype(dW)>::value_type, float>);
    return std::tuple(L, dX, dW, dV, dH);
  };
  check_like_floats<bfloat16>(layers);
  check_like_floats<float16>(layers);
  check_like_floats<bfloat16, 2>(layers);
}

TEST_CASE("gradients of functions and aggregations of 16-bit numbers") {
  check_like_floats<bfloat16>([](auto& in, auto zero) {
    using T = decltype(zero);
    const auto X = in.template add<T>("X", {6, 5});
    const auto Y = in.template add<T>("Y", {6, 5});
    const auto L = let<"L">() =
        sum(i, j)(X(i, j) / (square(Y(i, j)) + 1.0)) + sum(i)(max(j)(X(i, j))) +
        sum(i)(max(j)(X(i, j) * Y(i, j))) + sum(j)(min(i)(exp(0.1 * Y(i, j)) + X(i, j))) +
        sum(i)(log_sum_exp(j)(0.5 * X(i, j))) + sum(j)(prod(i)(0.25 * Y(i, j) + 1.0));
    const auto Q = let<"Q">(i, j) = Y(i, j) / (X(i, j) * X(i, j) + 2.0);
    const auto R = let<"R">(i, j) = X(i, j) / ein::cast<T>(abs(Y(i, j)) + 1.0);
    const auto M = let<"M">() = L() + sum(i, j)(Q(i, j)) + sum(i, j)(R(i, j));
    const auto [dX, dY] = ein::gradient(M, X, Y);
    return std::tuple(M, dX, dY);
  });
}

TEST_CASE("gradients of products of them, and of gradients") {
  const auto write = [](auto& in, auto zero) {
    using T = decltype(zero);
    const auto X = in.template add<T>("X", {4, 3});
    const auto L = let<"L">() = sum(j)(prod(i)(X(i, j))) + sum(i)(prod(j)(X(i, j) + 0.5));
    const auto dX = ein::gradient(L, X);
    return std::tuple(L, dX);
  };
  check_like_floats<float16>(write);
  check_like_floats<float16, 2>(write);
  check_like_floats<bfloat16, 2>([](auto& in, auto zero) {
    using T = decltype(zero);
    const auto X = in.template add<T>("X", {4, 3});
    const auto W = in.template add<T>("W", {3, 4});
    const auto L = let<"L">() = sum(i, l)(square(sum(k)(0.1 * X(i, k) * W(k, l))));
    const auto [dX, dW] = ein::gradient(L, X, W);
    const auto N = let<"N">() = sum(i, k)(dX(i, k) * dX(i, k));
    const auto dN = ein::gradient(N, W);
    return std::tuple(dX, dW, dN);
  });
}

TEST_CASE("gradients of scans of 16-bit numbers, and of their gradients") {
  // Lengths of one statement, and of several; ties, too.
  const auto write = [](auto& in, auto zero) {
    using T = decltype(zero);
    const auto X = in.template add<T>("X", {3, 21});
    const auto H = let<"H">(i, j) = ein::cast<T>(2 * X(i, j) + 1.0);
    const auto most = let<"most">(i, j) = ein::scan<ein::Max>(j)(X(i, j));
    const auto least = let<"least">(j, i) = ein::cast<T>(ein::scan<ein::Min>(j)(H(i, j)));
    const auto few = let<"few">(i, j) = ein::scan<ein::Max>(i)(H(i, j));
    const auto sums = let<"sums">(i, j) = ein::scan<ein::LogSumExp>(j)(X(i, j));
    const auto L = let<"L">() = sum(i, j)(square(most(i, j))) + sum(i, j)(square(least(j, i))) +
                                sum(i, j)(most(i, j) * few(i, j) * 0.25) + sum(i, j)(sums(i, j));
    const auto dX = ein::gradient(L, X);
    static_assert(std::is_same_v<typename std::decay_t<decltype(dX)>::value_type, float>);
    return std::tuple(L, most, dX);
  };
  check_like_floats<float16>(write);
  check_like_floats<bfloat16>(write);
  check_like_floats<bfloat16, 2>([](auto& in, auto zero) {
    using T = decltype(zero);
    const auto X = in.template add<T>("X", {3, 9});
    const auto most = let<"most">(i, j) = ein::scan<ein::Max>(j)(X(i, j));
    const auto L = let<"L">() = sum(i, j)(most(i, j) * most(i, j) * X(i, j));
    const auto dX = ein::gradient(L, X);
    const auto N = let<"N">() = sum(i, j)(dX(i, j) * dX(i, j));
    return std::tuple(dX, ein::gradient(N, X));
  });
}

TEST_CASE("gradients of what moves 16-bit numbers") {
  check_like_floats<bfloat16>([](auto& in, auto zero) {
    using T = decltype(zero);
    const auto X = in.template add<T>("X", {6, 5});
    const auto Y = in.template add<T>("Y", {3, 5});
    const auto I = in.template add<std::int32_t>("I", {7});
    const auto J = let<"J">(b) = ein::clip(I(b), 0, 5);
    const auto C = let<"C">(i, j) = ein::concat(i)(X(i, j), Y(i, j));
    const auto P = let<"P">(i, j) = C(2 * i, j);
    const auto E = let<"E">(b, j) = X(J(b), j);
    const auto S = let<"S">(ein::extent(v, 6), j) = sum(b)(where(J(b) == v, E(b, j) * 2.0));
    const auto L = let<"L">() =
        sum(i, j)(square(P(i, j))) + sum(b, j)(square(E(b, j))) + sum(v, j)(square(S(v, j)));
    const auto [dX, dY] = ein::gradient(L, X, Y);
    return std::tuple(L, dX, dY);
  });
}

TEST_CASE("products with cotangents and along tangents are of floats") {
  check_like_floats<float16>([](auto& in, auto zero) {
    using T = decltype(zero);
    const auto X = in.template add<T>("X", {6, 5});
    const auto W = in.template add<T>("W", {5, 4});
    const auto C = in.template add<float>("C", {6, 4});
    const auto D = in.template add<float>("D", {6, 5});
    const auto H = let<"H">(i, k) = ein::cast<T>(sum(j)(X(i, j) * W(j, k)));
    const auto dX = ein::vjp(H, C, X);
    const auto dH = ein::jvp(H, X, D);
    static_assert(std::is_same_v<typename std::decay_t<decltype(dH)>::value_type, float>);
    const auto B = let<"B">(i, j) = ein::pad(j)(X(i, j), {{1, 1}}, 0.0);
    const auto dB = ein::jvp(B, std::vector{X}, std::vector{D});
    return std::tuple(dX, dH, dB);
  });
}

TEST_CASE("a loss of 16 bits has gradients of floats") {
  check_like_floats<bfloat16>([](auto& in, auto zero) {
    using T = decltype(zero);
    const auto X = in.template add<T>("X", {3});
    const auto L = let<"L">() = ein::cast<T>(sum(i)(X(i) * X(i)));
    return std::tuple(ein::gradient(L, X));
  });
}
