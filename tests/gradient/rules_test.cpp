// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What gradients are of besides their values: which statements are written, what stays a result,
// derivatives of one's own, and what is refused.

#include <doctest/doctest.h>

#include <complex>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/graph/scan.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "gradient/jax.hpp"
#include "support/messages.hpp"
#include "support/near.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;
using eindecomp_tests::contains;
using eindecomp_tests::LoopRun;
using eindecomp_tests::message_here;
using eindecomp_tests::message_of;
using eindecomp_tests::near;
using Program = ein::DifferentiablePlanProgram;
using LoopProgram = ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend>>;
using TwiceProgram = ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend, 2>>;

namespace {

/// 3ab, which says what its derivatives are.
struct Relay {
  double works = 3;
  double operator()(double x, double y) const { return works * x * y; }
  template <int Operand>
  [[nodiscard]] double derivative(double x, double y) const {
    return works * (Operand == 0 ? y : x);
  }
  template <int Operand, int Then>
  [[nodiscard]] double derivative(double, double) const {
    return Operand == Then ? 0 : works;
  }
};
/// Likewise of one operand, without a template.
struct Cube {
  double operator()(double x) const { return x * x * x; }
  [[nodiscard]] double derivative(double x) const { return 3 * x * x; }
};
/// What says nothing.
struct Silent {
  double operator()(double x, double y) const { return x + 2 * y; }
};
struct Flip {
  std::complex<double> operator()(std::complex<double> z) const { return {z.imag(), z.real()}; }
};
/// √Σx², of states that are sums of squares.
struct Length {
  static constexpr bool commutative_monoid = true;
  static double identity() { return 0; }
  double operator()(double x, double y) const { return std::hypot(x, y); }
  [[nodiscard]] double derivative(double x, double length) const { return x / length; }
};
/// An element of a type of its own, and functors to and from it.
struct Pair {
  double first, second;
};
struct Paired {
  Pair operator()(double x) const { return {x, x}; }
};
struct First {
  double operator()(const Pair& pair) const { return pair.first; }
};
struct SilentSum {
  static constexpr bool commutative_monoid = true;
  static double identity() { return 0; }
  double operator()(double x, double y) const { return x + y; }
};

int statements(const ein::EinGraph& graph) {
  int count = 0;
  for (const ein::Vertex& v : graph.vertices) count += v.is_input() ? 0 : 1;
  return count;
}

}  // namespace

TEST_CASE("a statement of more operands than a kernel has is differentiated in parts") {
  LoopProgram g;
  const auto X = g.input<double>("X", {6, 6});
  const auto K = g.input<double>("K", {6, 6});
  const std::map<std::string, std::vector<double>> values{
      {"X", eindecomp_tests::numbers(36, 1, 0.5, 2)},
      {"K", eindecomp_tests::numbers(36, 2, 0.5, 2)}};
  const auto around = [&] {
    return X(ein::zero(i + 1), j) + X(ein::zero(i - 1), j) + X(i, ein::periodic(j + 1)) +
           X(i, ein::periodic(j - 1)) + X(ein::clamp(i - 2), j) - 5 * X(i, j);
  };
  const auto Z = let<"Z">(i, j) = X(i, j) + K(i, j) * K(i, j) * around();
  const auto L = let<"L">(i, j) = around();
  const auto Y = let<"Y">(i, j) = X(i, j) + K(i, j) * K(i, j) * L(i, j);
  // In which every operand's derivative reads all others.
  const auto P = let<"P">(i, j) = exp(X(i, j) * K(i, j) / (1 + X(j, i) * K(j, i))) *
                                  sqrt(X(i, j) + K(i, j) * X(j, i)) / (K(i, j) + X(j, i) * X(i, j));
  const auto A = let<"A">(i, j) = exp(X(i, j) * K(i, j) / (1 + X(j, i) * K(j, i)));
  const auto B = let<"B">(i, j) = sqrt(X(i, j) + K(i, j) * X(j, i));
  const auto C = let<"C">(i, j) = K(i, j) + X(j, i) * X(i, j);
  const auto Q = let<"Q">(i, j) = A(i, j) * B(i, j) / C(i, j);
  const auto squares = [](const auto& of) {
    return let("squares")() = sum(i, j)(of(i, j) * of(i, j));
  };
  const auto z = gradient(squares(Z), std::vector{X, K});
  const auto y = gradient(squares(Y), std::vector{X, K});
  const auto p = gradient(squares(P), std::vector{X, K});
  const auto q = gradient(squares(Q), std::vector{X, K});
  const LoopRun run(g, values);
  const auto equal = [&](const auto& a, const auto& b) {
    const std::vector<double> got = run.of(a);
    const std::vector<double> wanted = run.of(b);
    REQUIRE(got.size() == wanted.size());
    for (std::size_t n = 0; n < got.size(); ++n) {
      CHECK(got[n] == doctest::Approx(wanted[n]).epsilon(1e-12));
    }
  };
  equal(Z, Y);
  equal(P, Q);
  for (std::size_t n = 0; n < 2; ++n) {
    equal(z[n], y[n]);
    equal(p[n], q[n]);
  }
}

TEST_CASE("a mean's gradient is a number until a tensor is asked for") {
  Program g;
  const auto X = g.input<double>("X", {4, 5});
  const auto W = g.input<double>("W", {5, 3});
  const auto Y = let<"Y">(i, k) = sum(j)(X(i, j) * W(j, k));
  const auto loss = let<"loss">() = ein::mean(i, k)(Y(i, k));
  const int before = statements(g.graph());
  const auto dW = ein::gradient(loss, W);
  // The number, the sum over X's rows, its multiple for all k, and that for all j and k.
  CHECK(statements(g.graph()) - before <= 4);
  for (const ein::Vertex& v : g.graph().vertices) CHECK(v.size() <= 20);
  CHECK(g.graph()[dW.vertex()].bound == std::vector<ein::Extent>{5, 3});
}

TEST_CASE("gradients of equal statements are shared, and what was a result stays one") {
  Program g;
  const auto X = g.input<double>("X", {4, 5});
  const auto H = let<"H">(i, j) = ein::tanh(X(i, j));
  const auto loss = let<"loss">() = sum(i, j)(H(i, j));
  const auto once = ein::gradient(loss, X);
  const int after = statements(g.graph());
  const auto twice = ein::gradient(loss, X);
  CHECK(statements(g.graph()) == after);
  CHECK(once.vertex() == twice.vertex());
  CHECK(g.graph()[loss.vertex()].is_result());
  CHECK(g.graph()[once.vertex()].is_result());
  const auto next = let<"next">(i, j) = X(i, j) - 0.1 * once(i, j) - 0.1 * twice(i, j);
  CHECK(g.graph()[next.vertex()].is_result());
  CHECK_FALSE(g.graph()[once.vertex()].is_result());
}

TEST_CASE("two tensors with one gradient each have a result") {
  Program g;
  const auto X = g.input<double>("X", {4});
  const auto Y = g.input<double>("Y", {4});
  const auto S = let<"S">(i) = X(i) + Y(i);
  const auto loss = let<"loss">() = sum(i)(ein::square(S(i)));
  const auto [dX, dY, dS] = ein::gradient(loss, X, Y, S);
  CHECK(dX.vertex() == dY.vertex());
  CHECK(dX.vertex() == dS.vertex());
  CHECK(g.graph()[dX.vertex()].is_result());
  const auto used = let<"used">(i) = dX(i) * X(i);
  CHECK(g.graph()[dX.vertex()].is_result());  // to those who have dY and dS
  CHECK(used.rank == 1);
}

TEST_CASE("a vector of symbols gives a vector") {
  Program g;
  std::vector<ein::Symbol<double, 2, Program::Backend>> weights;
  auto x = g.input<double>("X", {3, 4});
  for (int layer = 0; layer < 3; ++layer) {
    weights.push_back(g.input<double>("W" + std::to_string(layer), {4, 4}));
    x = let("x" + std::to_string(layer))(i, k) = ein::tanh(sum(j)(x(i, j) * weights.back()(j, k)));
  }
  const auto loss = let<"loss">() = sum(i, k)(x(i, k));
  const auto gradients = ein::gradient(loss, weights);
  REQUIRE(gradients.size() == 3);
  for (const auto& dW : gradients) CHECK(g.graph()[dW.vertex()].is_result());
}

TEST_CASE("functors and monoids bring their derivatives") {
  TwiceProgram g;
  const auto X = g.input<double>("X", {2});
  const auto Y = g.input<double>("Y", {2});
  const auto P = let<"P">(i) = join(Relay{}, X(i), Y(i));
  const auto Q = let<"Q">(i) = map(Cube{}, X(i));
  const auto R = let<"R">() = ein::aggregate<Length>(i)(X(i));
  const auto loss = let<"loss">() = sum(i)(P(i) + Q(i)) + R();
  const auto [dX, dY] = ein::gradient(loss, X, Y);
  const auto product = let<"product">() = sum(i)(dY(i) * dY(i));
  const auto ddX = ein::gradient(product, X);
  const LoopRun run(g, {{"X", {3, 4}}, {"Y", {5, 7}}});
  CHECK(run.of(dX)[0] == near(3 * 5 + 27 + 0.6));
  CHECK(run.of(dX)[1] == near(3 * 7 + 48 + 0.8));
  CHECK(run.of(dY)[0] == near(9));
  CHECK(run.of(ddX)[1] == near(2 * 12 * 3));
}

TEST_CASE("stop_gradient takes a tensor or an expression for a constant, where it is read so") {
  LoopProgram g;
  const auto X = g.input<double>("X", {2});
  const auto Y = let<"Y">(i) =
      X(i) * ein::stop_gradient(X)(i) + ein::stop_gradient(exp(X(i))) * X(i);
  const auto loss = let<"loss">() = sum(i)(Y(i));
  const auto dX = ein::gradient(loss, X);
  const LoopRun run(g, {{"X", {3, 0}}});
  CHECK(run.of(dX)[0] == near(3 + std::exp(3.0)));
  CHECK(run.of(dX)[1] == near(1));
  // The same product where both are looked at is another statement.
  const auto Z = let<"Z">(i) = X(i) * X(i);
  const auto S = let<"S">(i) = X(i) * ein::stop_gradient(X)(i);
  CHECK(Z.vertex() != S.vertex());
}

TEST_CASE("16 equal layers and their gradients have the kernels of two layers and theirs") {
  const auto kernels_of = [](int layers) {
    LoopProgram g;
    std::vector<ein::Symbol<double, 2, LoopProgram::Backend>> weights;
    auto x = g.input<double>("X", {3, 4});
    for (int layer = 0; layer < layers; ++layer) {
      weights.push_back(g.input<double>("W" + std::to_string(layer), {4, 4}));
      const auto H = let("H" + std::to_string(layer))(i, k) =
          ein::tanh(sum(j)(x(i, j) * weights.back()(j, k)));
      x = let("X" + std::to_string(layer))(i, j) = x(i, j) + softmax(j)(H(i, j));
    }
    const auto loss = let<"loss">() = sum(i, k)(ein::square(x(i, k)));
    CHECK(ein::gradient(loss, weights).size() == weights.size());
    std::set<std::type_index> kernels;
    for (const auto& launcher : g.launchers()) kernels.insert(launcher.target_type());
    return kernels;
  };
  const auto few = kernels_of(2);
  CHECK(few.size() > 10);
  CHECK(kernels_of(16) == few);
}

TEST_CASE("casts pass gradients on in the operand's type") {
  LoopProgram g;
  const auto F = g.input<float>("F", {2});
  const auto loss = let<"loss">() = sum(i)(ein::square(ein::cast<double>(F(i))));
  const auto dF = ein::gradient(loss, F);
  static_assert(std::is_same_v<decltype(dF)::value_type, float>);
  CHECK(g.graph()[dF.vertex()].element == ein::element_type<float>());
  CHECK(LoopRun(g, {{"F", {1.5, -2}}}).of(dF) == std::vector<double>{3, -4});
}

TEST_CASE("what is not selected has the derivative 0, whatever it would be multiplied by") {
  TwiceProgram g;
  const auto X = g.input<double>("X", {4});
  const auto R = let<"R">(i) = ein::relu(X(i));
  const auto loss = let<"loss">() =
      sum(i)(sqrt(ein::relu(X(i))) + sqrt(select(X(i) > 0.0, X(i), 0.0)) +
             sqrt(select(X(i) <= 0.0, 0.0, 2.0 * X(i)))) +
      sum(i)(sqrt(R(i)));
  const auto dX = ein::gradient(loss, X);
  const auto again = let<"again">() = sum(i)(dX(i) * dX(i));
  const auto ddX = ein::gradient(again, X);
  const LoopRun run(g, {{"X", {-1, 0, 4, 1}}});
  const double of_one = 1.5 + std::sqrt(0.5);
  CHECK(run.of(dX)[0] == 0);
  CHECK(run.of(dX)[1] == 0);
  CHECK(run.of(dX)[2] == near(of_one / 2));
  CHECK(run.of(dX)[3] == near(of_one));
  CHECK(run.of(ddX)[0] == 0);
  CHECK(run.of(ddX)[3] == near(-of_one * of_one));
}

TEST_CASE("what is not read has the derivative 0, whatever the slope is there") {
  TwiceProgram g;
  const auto X = g.input<double>("X", {6});
  const auto A = g.input<double>("A", {3, 3});
  const auto W = g.input<double>("W", {2});
  // X[1], X[3], X[5] are not read, nor is A but for its diagonal.
  const auto loss = let<"loss">() = sum(i)(sqrt(X(2 * i)) * value(i)) + sum(j)(log(A(j, j)));
  const auto [dX, dA] = ein::gradient(loss, X, A);
  const auto again = let<"again">() = sum(i)(dX(i) * dX(i));
  const auto ddX = ein::gradient(again, X);
  // Another operand is infinite where X is not read, and so is what is selected.
  const auto V = g.input<double>("V", {6});
  const auto I = g.input<std::int32_t>("I", {3});
  const auto ratios = let<"ratios">() = sum(i)(X(2 * i) / V(2 * i));
  const auto picked = let<"picked">(ein::extent(v, 2)) =
      sum(e)(ein::where(I(e) == v, X(2 * e) / W(v)));
  const auto dRatios = ein::gradient(ratios, X);
  const auto dPicked = ein::gradient(let<"picks">() = sum(v)(picked(v) * picked(v)), X);
  // Windows, that end before X does.
  const auto windows = let<"windows">(ein::extent(i, 3)) =
      sum(k)(exp(X(i + ein::extent(k, 2))) / W(k));
  const auto peaks = let<"peaks">(ein::extent(i, 2)) =
      ein::log_sum_exp(k)(X(i + ein::extent(k, 2) + 2));
  const auto [dWindows, dW] = ein::gradient(let<"sums">() = sum(i)(windows(i)), X, W);
  const auto dPeaks = ein::gradient(let<"most">() = sum(i)(peaks(i)), X);
  const auto ddPeaks = ein::gradient(let<"bend">() = sum(i)(dPeaks(i) * dPeaks(i)), X);
  const std::vector<double> x = {4, 0, 1, 2, 800, -800};
  const LoopRun run(g, {{"X", x},
                        {"A", {1, 0, 0, 0, 2, 0, 0, 0, 4}},
                        {"W", {2, 4}},
                        {"V", {2, 0, 4, 0, 5, 0}},
                        {"I", {0, 1, 1}}});
  CHECK(run.of(dRatios) == std::vector<double>{0.5, 0, 0.25, 0, 0.2, 0});
  // (4 / 2)² + ((1 + 800) / 4)²
  CHECK(run.of(dPicked) == std::vector<double>{2, 0, 801.0 / 8, 0, 801.0 / 8, 0});
  const std::vector<double> roots = run.of(dX);
  CHECK(roots[2] == 0.5);
  CHECK(roots[4] == near(1 / std::sqrt(800.0)));
  CHECK(run.of(ddX)[2] == near(2 * 0.5 * -0.25));
  CHECK(run.of(dA) == std::vector<double>{1, 0, 0, 0, 0.5, 0, 0, 0, 0.25});
  const std::vector<double> of_windows = run.of(dWindows);
  const double both = 0.5 + 0.25;
  const std::vector<double> factors = {0.5, both, both, 0.25, 0, 0};
  for (std::size_t e = 0; e < 6; ++e) {
    CAPTURE(e);
    CHECK(of_windows[e] == near(factors[e] == 0 ? 0 : factors[e] * std::exp(x[e])));
    if (e == 0 || e % 2 == 1) CHECK(roots[e] == 0);
    if (e % 2 == 1) CHECK(run.of(ddX)[e] == 0);
  }
  CHECK(run.of(dW)[0] == near(-(std::exp(4) + 1 + std::exp(1)) / 4));
  // Of 1 and 2, and of 2 and 800.
  const double share = 1 / (1 + std::exp(-1.0));
  const std::vector<double> of_peaks = run.of(dPeaks);
  const std::vector<double> expected = {0, 0, 1 - share, share, 1, 0};
  for (std::size_t e = 0; e < 6; ++e) CHECK(of_peaks[e] == near(expected[e]));
  const double slope = share * (1 - share);
  const std::vector<double> bends = {
      0, 0, 2 * (1 - share - share) * slope, 2 * (share - 1 + share) * slope, 0, 0};
  for (std::size_t e = 0; e < 6; ++e) CHECK(run.of(ddPeaks)[e] == near(bends[e]));
}

TEST_CASE("nor has what is not read behind a boundary") {
  LoopProgram g;
  const auto X = g.input<double>("X", {6});
  const auto S = g.input<double>("S", {3});
  // X[-2], X[0] and X[2], the first of which is X[0], 0 or X[4].
  const auto gradient_of = [&](const char* name, const auto& index) {
    return ein::gradient(let(name)() = sum(i)(sqrt(X(index)) * S(i)), X);
  };
  const auto clamped = gradient_of("clamped", ein::clamp(2 * i - 2));
  const auto zero = gradient_of("zero", ein::zero(2 * i - 2));
  const auto periodic = gradient_of("periodic", ein::periodic(2 * i - 2));
  const LoopRun run(g, {{"X", {4, 0, 1, 0, 16, 0}}, {"S", {1, 2, 3}}});
  CHECK(run.of(clamped) == std::vector<double>{0.75, 0, 1.5, 0, 0, 0});
  CHECK(run.of(zero) == std::vector<double>{0.5, 0, 1.5, 0, 0, 0});
  CHECK(run.of(periodic) == std::vector<double>{0.5, 0, 1.5, 0, 0.125, 0});
}

TEST_CASE("cotangents of products in windows of 8 labels are not written one by one") {
  LoopProgram once;
  const auto many = once.input<double>("many", {3, 3, 3, 3});
  const auto scales = once.input<double>("scales", {2, 2, 2, 2});
  const auto products =
      let<"products">(ein::extent(b, 2), ein::extent(c, 2), ein::extent(d, 2), ein::extent(e, 2)) =
          prod(r, s, t, x)(many(b + r, c + s, d + t, e + x) * scales(r, s, t, x));
  const ein::VertexId before = once.graph().size();
  (void)ein::gradient(let<"product">() = sum(b, c, d, e)(products(b, c, d, e)), many);
  for (ein::VertexId n = before; n < once.graph().size(); ++n) CHECK(once.graph()[n].rank() <= 8);
}

TEST_CASE(
    "ties: windows share evenly, long scans pass by pass, and an index is that of the first") {
  LoopProgram g;
  const auto X = g.input<double>("X", {1, 4});
  const auto E = g.input<double>("E", {5});
  const auto G = g.input<double>("G", {5});
  const auto first = let<"first">(i) = X(i, ein::argmax(j)(X(i, j)));
  const auto all = let<"all">(i) = max(j)(X(i, j));
  const auto by_first = ein::gradient(let<"one">() = sum(i)(first(i)), X);
  const auto by_all = ein::gradient(let<"even">() = sum(i)(all(i)), X);
  const auto by_scan = ein::vjp(let<"scan">(i) = ein::scan<ein::Max>(i)(E(i)), G, E);
  const LoopRun run(
      g, {{"X", {1, 2, 2, 2}}, {"E", std::vector<double>(5, 1.0)}, {"G", {0, 0, 0, 0, 1}}});
  CHECK(run.of(by_first) == std::vector<double>{0, 1, 0, 0});
  CHECK(run.of(by_all) == std::vector<double>{0, 1.0 / 3, 1.0 / 3, 1.0 / 3});
  CHECK(run.of(by_scan) == std::vector<double>{0.5, 0.125, 0.125, 0.125, 0.125});
}

TEST_CASE("a function has another's derivative beside it, which stands for none") {
  LoopProgram g;
  const auto X = g.input<double>("X", {3});
  const auto f = let<"f">(i) = floor(X(i));
  const auto h = let<"h">(i) = ein::square(X(i));
  const auto Y = let<"Y">(i) = ein::stop_gradient(f)(i) + (h(i) - ein::stop_gradient(h)(i));
  const auto dX = ein::gradient(let<"loss">() = sum(i)(Y(i)), X);
  const LoopRun run(g, {{"X", {1.25, -0.5, 2}}});
  CHECK(run.of(Y) == std::vector<double>{1, -1, 2});
  CHECK(run.of(dX) == std::vector<double>{2.5, -1, 4});
}

TEST_CASE("the derivatives of roundings and of the sign are 0") {
  LoopProgram g;
  const auto X = g.input<double>("X", {3});
  const auto whole = let<"whole">(i) = floor(X(i)) + ceil(X(i)) + round(X(i)) + sign(X(i));
  const auto dX = ein::gradient(let<"loss">() = sum(i)(whole(i) * X(i)), X);
  const LoopRun run(g, {{"X", {1.25, -0.5, 2}}});
  CHECK(run.of(dX) == std::vector<double>{1 + 2 + 1 + 1, -1 - 1, 2 + 2 + 2 + 1});
  CHECK(contains(message_of([&] { (void)ein::gradient(let<"only">() = sum(i)(whole(i)), X); }),
                 "is 0 everywhere"));
}

TEST_CASE("derivatives by what passes through integers are 0") {
  LoopProgram g;
  const auto X = g.input<double>("X", {3});
  const auto whole = ein::cast<double>(ein::cast<std::int32_t>(X(i)));
  const auto loss = let<"loss">() = sum(i)(ein::square(X(i) - whole));
  const auto dX = ein::gradient(loss, X);
  const std::vector<double> found = LoopRun(g, {{"X", {1.25, -0.5, 2}}}).of(dX);
  CHECK(found == std::vector<double>{0.5, -1, 0});
  const auto only = let<"only">() = sum(i)(whole * 2.0);
  CHECK(contains(message_of([&] { (void)ein::gradient(only, X); }), "is 0 everywhere"));
}

TEST_CASE("a tensor's product with a cotangent by itself is the cotangent") {
  LoopProgram g;
  const auto X = g.input<double>("X", {2, 3});
  const auto G = g.input<double>("G", {2, 3});
  const auto Y = let<"Y">(i, j) = 2.0 * X(i, j);
  const auto [by_x, by_y] = ein::vjp(Y, G, X, Y);
  const auto itself = ein::vjp(X, G, X);
  const std::vector<double> seed{1, 2, 3, 4, 5, 6};
  const LoopRun run(g, {{"X", std::vector<double>(6, 1.0)}, {"G", seed}});
  CHECK(run.of(by_x) == std::vector<double>{2, 4, 6, 8, 10, 12});
  CHECK(run.of(by_y) == seed);
  CHECK(run.of(itself) == seed);
}

TEST_CASE("a product with a cotangent by a vector of tensors is that by each") {
  LoopProgram g;
  const auto X = g.input<double>("X", {2});
  const auto G = g.input<double>("G", {2});
  std::vector<std::decay_t<decltype(X)>> weights;
  for (int n = 0; n < 5; ++n) weights.push_back(g.input<double>("W" + std::to_string(n), {2}));
  const auto Y = let<"Y">(i) =
      X(i) * weights[0](i) * weights[1](i) * weights[2](i) * weights[3](i) * weights[4](i);
  const auto products = ein::vjp(Y, G, weights);
  REQUIRE(products.size() == 5);
  std::map<std::string, std::vector<double>> values{{"X", {1, 1}}, {"G", {1, 10}}};
  for (int n = 0; n < 5; ++n) {
    values["W" + std::to_string(n)] = {static_cast<double>(n + 1), 1.0};
  }
  const LoopRun run(g, values);
  for (int n = 0; n < 5; ++n) {
    CHECK(run.of(products[static_cast<std::size_t>(n)]) ==
          std::vector<double>{120.0 / (n + 1), 10});
  }
  const auto other = g.input<double>("other", {2});
  CHECK(contains(message_of([&] {
                   (void)ein::vjp(Y, G, std::vector{weights[0], other});
                 }),
                 "the gradient of Y by other is 0 everywhere"));
}

TEST_CASE("labels are values in derivatives as in what they are of") {
  TwiceProgram g;
  const auto X = g.input<double>("X", {3, 3});
  const auto W = g.input<double>("W", {2});
  const auto lower = let<"lower">(i, j) = (j <= i) * ein::square(X(i, j));
  const auto least = let<"least">() = sum(i, j)(lower(i, j) * value(2 * i - j));
  // What is summed over k is the value of k alone, of a cotangent that is one number.
  const auto running = let<"running">(ein::extent(k, 4), j) = sum(i)((i <= k) * X(i, j));
  const auto all = let<"all">() = sum(k, j)(running(k, j)) + least();
  const auto dX = ein::gradient(all, X);
  const auto again = let<"again">() = sum(i, j)(dX(i, j) * dX(i, j));
  const auto ddX = ein::gradient(again, X);
  // A computed index beside a value of one of its labels; neighbours, and windows.
  const auto ramp = let<"ramp">() = sum(i, j)(X(zero(i + 1), j) * value(i) * X(i, 1));
  const auto window = let<"window">() =
      sum(i, k)(select(i + k < 2, X(i + ein::extent(k, 2), 0), 3.0) * W(k));
  const auto [dRamp, dW] = ein::gradient(let<"both">() = ramp() + window(), X, W);
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const LoopRun run(g, {{"X", x}, {"W", {0.5, 0.25}}});
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      CAPTURE(row);
      CAPTURE(column);
      const auto at = static_cast<std::size_t>(3 * row + column);
      const double factor = column <= row ? 2 * (2 * row - column) : 0;
      const double first = factor * x[at] + (4 - row);
      CHECK(run.of(dX)[at] == first);
      CHECK(run.of(ddX)[at] == 2 * first * factor);
      double ramped = row > 0 ? (row - 1) * x[static_cast<std::size_t>(3 * row - 2)] : 0;
      for (std::size_t other = 0; other < 3 && column == 1 && row < 2; ++other) {
        ramped += row * x[static_cast<std::size_t>(3 * row + 3) + other];
      }
      if (column == 0) ramped += row == 0 ? 0.5 : row == 1 ? 0.5 + 0.25 : 0;
      CHECK(run.of(dRamp)[at] == ramped);
    }
  }
  CHECK(run.of(dW) == std::vector<double>{1 + 4, 4 + 3});
}

TEST_CASE("gradients of masked products are masked, and what becomes 0 in them is not computed") {
  Program g;
  const auto X = g.input<double>("X", {8, 8});
  const auto Y = g.input<double>("Y", {8, 8});
  const auto L = let<"L">(i, k) = (k <= i) * X(i, k);
  const auto Z = let<"Z">(i, j) = sum(k)(L(i, k) * Y(k, j));
  const auto loss = let<"loss">() = sum(i, j)(ein::square(Z(i, j)));
  const auto derivatives = gradient(loss, X, Y);
  const ein::EinGraph& graph = g.graph();
  const ein::graph::Masks masks(graph);
  // Of Z and both products of its gradient half is 0, or multiplied by 0.
  const auto products = [&](ein::VertexId from, ein::VertexId to) {
    int found = 0;
    for (ein::VertexId v = from; v < to; ++v) {
      const bool is_product = graph[v].op.join == "mul" && !graph[v].aggregated.empty();
      if (is_product && graph[v].operands.size() == 2) found += masks.of(v).empty() ? 0 : 1;
    }
    return found;
  };
  CHECK(masks.of(Z.vertex()).size() == 1);
  CHECK(products(loss.vertex() + 1, graph.size()) == 2);
  CHECK(masks.of(std::get<1>(derivatives).vertex()).size() == 1);
}

TEST_CASE("gradients of what is not looked at are 0, and those of a masked softmax are its own") {
  constexpr ein::Extent n = 4;
  LoopProgram g;
  const auto X = g.input<double>("X", {n, n});
  const auto Y = g.input<double>("Y", {n, n});
  const auto scores = let<"scores">(i, j) = sum(k)(X(i, k) * Y(j, k));
  const auto weights = let<"weights">(i, j) = softmax(j, j <= i)(scores(i, j));
  const auto loss = let<"loss">() = sum(i, j, k)(weights(i, j) * Y(j, k) * X(k, i));
  const auto [dX, dY] = gradient(loss, X, Y);
  std::vector<double> x;
  std::vector<double> y;
  for (int e = 0; e < n * n; ++e) {
    x.push_back(0.1 * ((7 * e) % 11) - 0.4);
    y.push_back(0.2 * ((5 * e) % 9) - 0.7);
  }
  const LoopRun run(g, {{"X", x}, {"Y", y}});
  const auto loss_at = [&](const std::vector<double>& of_x, const std::vector<double>& of_y) {
    return LoopRun(g, {{"X", of_x}, {"Y", of_y}}).of(loss)[0];
  };
  for (std::size_t e = 0; e < x.size(); ++e) {
    constexpr double h = 1e-5;
    std::vector<double> more = x;
    std::vector<double> less = x;
    more[e] += h;
    less[e] -= h;
    const double by_x = (loss_at(more, y) - loss_at(less, y)) / (2 * h);
    CHECK(run.of(dX)[e] == doctest::Approx(by_x).epsilon(1e-6));
    more = less = y;
    more[e] += h;
    less[e] -= h;
    const double by_y = (loss_at(x, more) - loss_at(x, less)) / (2 * h);
    CHECK(run.of(dY)[e] == doctest::Approx(by_y).epsilon(1e-6));
  }
  // All products of two with a matrix of scores' shape in them are computed by half.
  const ein::EinGraph& graph = g.graph();
  const ein::graph::Masks masks(graph);
  int products = 0;
  for (ein::VertexId v = 0; v < graph.size(); ++v) {
    const ein::Vertex& p = graph[v];
    if (p.op.join != "mul" || p.aggregated.size() != 1 || p.operands.size() != 2) continue;
    CAPTURE(p.name.str());
    CAPTURE(ein::to_text(graph).str());
    CHECK(masks.of(v).size() == 1);
    ++products;
  }
  CHECK(products >= 4);
}

TEST_CASE("what cannot be differentiated is refused in one sentence, and nothing is written") {
  Program g;
  const auto X = g.input<double>("X", {4});
  const auto N = g.input<std::int32_t>("N", {4});
  const auto Z = g.input<std::complex<double>>("Z", {4});
  const auto other = g.input<double>("other", {4});
  const auto loss = let<"loss">() = sum(i)(ein::square(X(i)) * N(i));
  CHECK(
      message_here([&] { (void)ein::gradient(loss, N); }) ==
      "EinDecomp: tensor N, by which a loss is differentiated, has elements int32 (derivatives are "
      "of floating-point and complex numbers); convert it by cast");
  CHECK(message_here([&] { (void)ein::gradient(loss, other); }) ==
        "EinDecomp: the gradient of loss by other is 0 everywhere (no statement that can be "
        "differentiated leads from other to loss); leave it out");
  const auto best = let<"best">() = sum(i)(cast<double>(X(i) > 0.0));
  CHECK(contains(message_here([&] { (void)ein::gradient(best, X); }), "is 0 everywhere"));

  CHECK(message_here([&] { (void)ein::jvp(loss, N, N); }) ==
        "EinDecomp: tensor N, along which a tensor is differentiated, has elements int32 "
        "(derivatives are of floating-point and complex numbers); convert it by cast");
  CHECK(message_here([&] { (void)ein::jvp(loss, other, X); }) ==
        "EinDecomp: the derivative of loss along other is 0 everywhere (no statement that can be "
        "differentiated leads from other to loss); leave it out");
  const auto longer = g.input<double>("longer", {5});
  CHECK(
      message_here([&] { (void)ein::jvp(loss, X, longer); }) ==
      "EinDecomp: the tangent longer is 5 and its tensor X is 4; give one of the tensor's extents");
  CHECK(message_here([&] { (void)ein::jvp(loss, X, other, X, other); }) ==
        "EinDecomp: tensor X is given two tangents (a derivative is along one); give their sum");
  CHECK(message_here([&] {
          (void)ein::jvp(loss, std::vector{X}, std::vector{other, other});
        }) ==
        "EinDecomp: a derivative of loss is asked along 1 tensors with 2 tangents; give each "
        "tensor, of one or more, its tangent");
  Program elsewhere;
  const auto stranger = elsewhere.input<double>("stranger", {4});
  CHECK(contains(message_here([&] { (void)ein::jvp(loss, X, stranger); }),
                 "tensor stranger, which is its tangent, belongs to another program"));

  const auto silent = let<"silent">(i) = join(Silent{}, other(i), X(i));
  const auto sum_of = let<"sum_of">() = sum(i)(silent(i));
  const int before = statements(g.graph());
  const std::string unknown = message_here([&] { (void)ein::gradient(sum_of, X); });
  CHECK(contains(unknown,
                 "Silent of statement silent has no derivative by its operand 2; give it "
                 "`template <int Operand> auto derivative(operands...) const`, or read the "
                 "operand by stop_gradient"));
  CHECK(statements(g.graph()) == before);
  CHECK(g.graph()[sum_of.vertex()].is_result());
  const auto total = let<"total">() = ein::aggregate<SilentSum>(i)(X(i));
  CHECK(
      contains(message_here([&] { (void)ein::gradient(total, X); }),
               "SilentSum of statement total has no derivative; give it `T derivative(T element, T "
               "aggregate) const`"));
  const auto squares = let<"squares">(i) = Z(i) * Z(i);
  (void)squares;
  CHECK(
      message_here(
          [&] { (void)ein::vjp(X, let<"two">(j) = 1.0 * g.input<double>("V", {5})(j), X); }) ==
      "EinDecomp: the cotangent two is 5 and its tensor X is 4; give one of the tensor's extents");
  const auto turned = let<"turned">() = sum(i)(X(i) * Z(i));
  CHECK(message_here([&] { (void)ein::gradient(turned, X); }) ==
        "EinDecomp: tensor turned, of which a gradient is asked, has elements complex<double> (a "
        "gradient is of a real number); take its real part or its modulus");
  const auto factors = let<"factors">() = ein::real(prod(i)(X(i) * Z(i)));
  CHECK(
      contains(message_here([&] { (void)ein::gradient(factors, X); }),
               "has no derivative by complex numbers (sums of them have one); write it as sums, or "
               "read its operands by stop_gradient"));
  const auto flipped = let<"flipped">(i) = ein::map(Flip{}, Z(i));
  CHECK(contains(message_here([&] { (void)ein::vjp(flipped, Z, Z); }),
                 "Flip of statement flipped has no derivative by its operand 1"));
  const auto least = let<"least">(extent(v, 2)) = min(i)(where(N(i) == v, X(i)));
  const auto scattered = let<"scattered">() = sum(v)(least(v));
  CHECK(contains(message_here([&] { (void)ein::gradient(scattered, X); }),
                 "leads through statement least, which aggregates by min what index tensors select "
                 "(only sums of that are differentiated)"));
  const auto selected = let<"selected">() = sum(i)(ein::square(abs(Z(N(i)))));
  CHECK(contains(message_here([&] { (void)ein::gradient(selected, Z); }),
                 "which selects elements that are neither float nor double (only those are "
                 "differentiated where index tensors select)"));
  const auto pairs = let<"pairs">(i) = ein::map(Paired{}, X(i));
  const auto firsts = let<"firsts">() = sum(i)(ein::map(First{}, pairs(i)));
  CHECK(contains(message_here([&] { (void)ein::gradient(firsts, X); }),
                 "leads through statement firsts, which has elements of a type of its own "
                 "(derivatives are of floating-point and complex numbers)"));
  Program h;
  const auto far = h.input<double>("far", {4});
  CHECK(contains(message_here([&] { (void)ein::gradient(loss, far); }),
                 "tensor far, by which a loss is differentiated, belongs to another program"));
}

TEST_CASE("derivatives of more than 8 tensors, or at indices of more than 4 labels, are refused") {
  Program g;
  const auto X = g.input<double>("X", {7, 4});
  const auto N = g.input<std::int32_t>("N", {4});
  const auto factors = [&] { return X(0, i) * X(1, i) * X(2, i) * X(3, i) * X(4, i) * X(5, i); };
  const auto most = let<"most">() = ein::log_sum_exp(i)(factors() * X(6, i));
  CHECK(contains(message_here([&] { (void)ein::gradient(most, X); }),
                 "the derivative of statement most reads 9 tensors (the limit is 8); write a part "
                 "of it as a statement of its own"));
  const auto sent = let<"sent">(ein::extent(v, 3)) = sum(i)(where(N(i) == v, exp(factors())));
  const auto all = let<"all">() = sum(v)(ein::square(sent(v)));
  CHECK(contains(message_here([&] { (void)ein::gradient(all, X); }),
                 "leads through statement sent, which has a derivative of more than 8 tensors and "
                 "values of labels; write a part of it as a statement of its own"));
  // Whichever label is computed from the element's and the others, V is read at five.
  const auto S = g.input<double>("S", {9});
  const auto V = g.input<double>("V", {7, 3, 3, 3});
  const auto windows = let<"windows">(a) =
      sum(b, c, d, f)(S(a + b + c + d) * V(a + f, b + f, c + f, d + ein::extent(f, 2)));
  const auto squares = let<"squares">() = sum(a)(ein::square(windows(a)));
  CHECK(contains(message_here([&] { (void)ein::gradient(squares, S); }),
                 "the derivative of statement windows needs an index that is computed from more "
                 "than 4 labels; write the part of the statement that has it as a statement of "
                 "its own"));
}

TEST_CASE("a program is differentiated as often as its type says") {
  Program g;
  const auto X = g.input<double>("X", {4});
  const auto loss = let<"loss">() = sum(i)(ein::exp(X(i)));
  const auto dX = ein::gradient(loss, X);
  const auto again = let<"again">() = sum(i)(dX(i) * dX(i));
  CHECK(contains(message_here([&] { (void)ein::gradient(again, X); }),
                 "which a derivative wrote (the program can be differentiated 1 time); make it a "
                 "BasicProgram<Differentiable<…, 2>>"));
}
