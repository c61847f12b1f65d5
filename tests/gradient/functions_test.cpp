// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First and second derivatives of every function of elements against JAX's.

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/let.hpp"
#include "gradient/jax.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;
using eindecomp_tests::check_jax;
using eindecomp_tests::LoopRun;
using eindecomp_tests::numbers;
template <int Order>
using Program = ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend, Order>>;

namespace {

constexpr ein::Extent n = 6;

/// Compares the products of C with f's first derivatives, and of C again with those of their sum
/// weighted by V, if of order 2.
template <int Order = 1, class F>
void check_one(const std::string& name, double least, double most, const F& f) {
  Program<Order> g;
  const auto X = g.template input<double>("X", {n});
  const auto C = g.template input<double>("C", {n});
  const auto V = g.template input<double>("V", {n});
  const auto Y = let<"Y">(i) = f(X(i));
  const auto dX = ein::vjp(Y, C, X);
  const std::map<std::string, std::vector<double>> inputs = {
      {"X", numbers(n, 1, least, most)}, {"C", numbers(n, 2, -1, 1)}, {"V", numbers(n, 3, -1, 1)}};
  check_jax(name + ".1", LoopRun(g, inputs).of(dX));
  if constexpr (Order > 1) {
    const auto second = let<"second">() = sum(i)(dX(i) * V(i));
    const auto ddX = ein::gradient(second, X);
    check_jax(name + ".2", LoopRun(g, inputs).of(ddX));
  }
}

template <int Order = 1, class F>
void check_two(const std::string& name, double least, double most, const F& f) {
  Program<Order> g;
  const auto X = g.template input<double>("X", {n});
  const auto Z = g.template input<double>("Z", {n});
  const auto C = g.template input<double>("C", {n});
  const auto V = g.template input<double>("V", {n});
  const auto Y = let<"Y">(i) = f(X(i), Z(i));
  const auto [dX, dZ] = ein::vjp(Y, C, X, Z);
  const std::map<std::string, std::vector<double>> inputs = {{"X", numbers(n, 1, least, most)},
                                                             {"Z", numbers(n, 4, least, most)},
                                                             {"C", numbers(n, 2, -1, 1)},
                                                             {"V", numbers(n, 3, -1, 1)}};
  const LoopRun run(g, inputs);
  check_jax(name + ".X", run.of(dX));
  check_jax(name + ".Z", run.of(dZ));
  if constexpr (Order > 1) {
    const auto second = let<"second">() = sum(i)(dX(i) * V(i) + dZ(i) * V(i) * V(i));
    const auto [ddX, ddZ] = ein::gradient(second, X, Z);
    const LoopRun again(g, inputs);
    check_jax(name + ".XX", again.of(ddX));
    check_jax(name + ".ZZ", again.of(ddZ));
  }
}

/// The derivative by elements of float beside that by the same numbers in double.
template <class F>
void check_near_one(std::vector<float> at, const F& f) {
  const auto derivative = [&]<class T>(T) {
    Program<1> g;
    const auto X = g.input<T>("X", {static_cast<ein::Extent>(at.size())});
    const auto loss = let<"loss">() = sum(i)(f(X(i)));
    const auto dX = ein::gradient(loss, X);
    return LoopRun(g, {{"X", std::vector<double>(at.begin(), at.end())}}).of(dX);
  };
  const std::vector<double> narrow = derivative(0.0F);
  const std::vector<double> wide = derivative(0.0);
  for (std::size_t k = 0; k < at.size(); ++k) {
    CAPTURE(at[k]);
    CHECK(narrow[k] == doctest::Approx(wide[k]).epsilon(1e-6));
  }
}

}  // namespace

// Second derivatives of one function of each kind of rule; each takes the compiler a second.
#define ONE(function, least, most) \
  check_one(#function, least, most, [](const auto& e) { return ein::function(e); });
#define ONE_TWICE(function, least, most) \
  check_one<2>(#function, least, most, [](const auto& e) { return ein::function(e); });
TEST_CASE("functions of one operand have JAX's derivatives"){
    ONE_TWICE(exp, -2, 2) ONE_TWICE(log, 0.1, 3) ONE_TWICE(sqrt, 0.1, 3) ONE_TWICE(tanh, -2, 2)
        ONE(sin, -3, 3) ONE(cos, -3, 3) ONE(tan, -1, 1) ONE_TWICE(asin, -0.9, 0.9)
            ONE(acos, -0.9, 0.9) ONE(atan, -3, 3) ONE(sinh, -2, 2) ONE(cosh, -2, 2)
                ONE(asinh, -3, 3) ONE(acosh, 1.1, 4) ONE(atanh, -0.9, 0.9) ONE(exp2, -2, 2)
                    ONE(expm1, -2, 2) ONE(log2, 0.1, 3) ONE(log10, 0.1, 3) ONE(log1p, -0.5, 3)
                        ONE(cbrt, 0.2, 3) ONE(erf, -2, 2) ONE(erfc, -2, 2) ONE(square, -2, 2)
                            ONE(sigmoid, -3, 3) ONE(silu, -3, 3) ONE_TWICE(gelu, -3, 3)}
#define TWO(name, least, most, expression) \
  check_two(#name, least, most, [](const auto& a, const auto& b) { return expression; });
#define TWO_TWICE(name, least, most, expression) \
  check_two<2>(#name, least, most, [](const auto& a, const auto& b) { return expression; });
TEST_CASE("functions of two operands have JAX's derivatives"){
    TWO(mul, -2, 2, a* b) TWO(sub, -2, 2, a - b) TWO_TWICE(div, 0.5, 2, a / b)
        TWO(sq_diff, -2, 2, sq_diff(a, b)) TWO(abs_diff, -2, 2, abs_diff(a, b))
            TWO(min, -2, 2, min(a, b)) TWO(max, -2, 2, max(a, b)) TWO_TWICE(pow, 0.2, 3, pow(a, b))
                TWO(mod, 0.3, 2, mod(a, b)) TWO(atan2, -2, 2, atan2(a, b))
                    TWO(hypot, -2, 2, hypot(a, b))
                        TWO_TWICE(composed, 0.2, 2, exp(a * 0.5) * log(b) - sqrt(a + 2.0 * b))}

TEST_CASE("abs and hypot have the derivative 0 at 0") {
  Program<1> g;
  const auto X = g.input<double>("X", {3});
  const auto Z = g.input<double>("Z", {3});
  const auto loss = let<"loss">() = sum(i)(hypot(X(i), Z(i)) + abs(X(i)));
  const auto [dX, dZ] = ein::gradient(loss, X, Z);
  const LoopRun run(g, {{"X", {0, 0, -3}}, {"Z", {0, 2, 4}}});
  CHECK(run.of(dX) == std::vector<double>{0, 0, -0.6 - 1});
  CHECK(run.of(dZ) == std::vector<double>{0, 1, 0.8});
}

TEST_CASE("inverse functions keep their derivatives' digits near 1") {
  check_near_one({-0.9999F, 0.999F, 0.9999F}, [](const auto& e) { return ein::asin(e); });
  check_near_one({-0.9999F, 0.999F, 0.9999F}, [](const auto& e) { return ein::acos(e); });
  check_near_one({-0.9999F, 0.999F, 0.9999F}, [](const auto& e) { return ein::atanh(e); });
  check_near_one({1.0001F, 1.001F, 1.1F}, [](const auto& e) { return ein::acosh(e); });
}
