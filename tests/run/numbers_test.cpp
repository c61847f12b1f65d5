// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of many types and sizes, and elements that are none: every operator is computed in the
// types and the order that C++ and NumPy have for it.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "eindecomp/graph/blocks.hpp"
#include "eindecomp/graph/scan.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;
using ein::as_written;
using ein::extent;
using ein::let;

namespace {

template <class Symbol, class... Bindings>
auto result_of(const Program& program, const Symbol& symbol, const Bindings&... bindings) {
  const Plan plan = ein::decompose(program, {.workers = 1});
  return on_host(ein::execute(plan, Space(), bindings...).gather(symbol));
}

/// What a tensor has everywhere.
template <class T>
auto all(T value) {
  return [value](auto...) { return value; };
}

/// An element of Count numbers, which are added and compared one by one.
template <class T, int Count>
struct Several {
  std::array<T, Count> values{};
  Several() = default;
  EINDECOMP_FUNCTION constexpr explicit Several(T value) {
    for (int n = 0; n < Count; ++n) values[n] = value;
  }
  friend EINDECOMP_FUNCTION Several operator+(const Several& a, const Several& b) {
    Several sum;
    for (int n = 0; n < Count; ++n) sum.values[n] = a.values[n] + b.values[n];
    return sum;
  }
  bool operator==(const Several&) const = default;
};

/// A matrix of 2 x 2, whose * has an order, and which a number fills.
struct Square {
  double a = 0, b = 0, c = 0, d = 0;
  Square() = default;
  EINDECOMP_FUNCTION constexpr explicit Square(double n) : Square(n, n, n, n) {}
  EINDECOMP_FUNCTION constexpr Square(double a_, double b_, double c_, double d_)
      : a(a_), b(b_), c(c_), d(d_) {}
  friend EINDECOMP_FUNCTION Square operator*(const Square& x, const Square& y) {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
            x.c * y.b + x.d * y.d};
  }
  friend EINDECOMP_FUNCTION Square operator+(const Square& x, const Square& y) {
    return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d};
  }
  friend EINDECOMP_FUNCTION Square operator-(const Square& x, const Square& y) { return x + -y; }
  friend EINDECOMP_FUNCTION Square operator-(const Square& x) { return {-x.a, -x.b, -x.c, -x.d}; }
  bool operator==(const Square&) const = default;
};

/// Two numbers, the * of which is the sum of the products.
struct Arrow {
  double x, y;
  friend EINDECOMP_FUNCTION double operator*(const Arrow& a, const Arrow& b) {
    return a.x * b.x + a.y * b.y;
  }
  friend EINDECOMP_FUNCTION Arrow operator+(const Arrow& a, const Arrow& b) {
    return {a.x + b.x, a.y + b.y};
  }
};

/// The larger, as it is usually written: of a NaN that comes second, the first.
struct Larger {
  static constexpr bool commutative_monoid = true;
  EINDECOMP_FUNCTION static constexpr double identity() { return -1; }
  EINDECOMP_FUNCTION constexpr double operator()(double a, double b) const { return a < b ? b : a; }
};

/// Integers are halved before they are multiplied.
struct HalfTimes {
  static constexpr std::string_view name = "half_times";
  template <class N, class W>
  EINDECOMP_FUNCTION constexpr auto operator()(N n, W w) const {
    return (n / 2) * w;
  }
};

}  // namespace

TEST_CASE("products and sums of several types are those of C++") {
  Program g;
  const auto I = g.input<std::int32_t>("I", {3});
  const auto J = g.input<std::int32_t>("J", {3});
  const auto U = g.input<std::uint32_t>("U", {3});
  const auto L = g.input<std::int64_t>("L", {3});
  const auto F = g.input<float>("F", {3});
  const auto D = g.input<double>("D", {3});
  const auto scaled = let<"scaled">(i) = 0.5 * I(i) * J(i);
  const auto sum_scaled = let<"sum">() = sum(i)(0.5 * I(i) * J(i));
  const auto nested = let<"nested">(i) = I(i) * (J(i) * D(i));
  const auto wide = let<"wide">(i) = U(i) * (I(i) * L(i));
  const auto mixed = let<"mixed">(i) = F(i) + (F(i) + D(i));
  const Plan plan = ein::decompose(g, {.workers = 1});
  const auto run = ein::execute(
      plan, Space(), ein::bind_generator(I, all(100000)), ein::bind_generator(J, all(-100000)),
      ein::bind_generator(U, all(std::uint32_t{3})), ein::bind_generator(L, all(std::int64_t{-7})),
      ein::bind_generator(F, all(16777216.0F)), ein::bind_generator(D, all(1.0)));
  CHECK(on_host(run.gather(scaled))(0) == -5e9);
  CHECK(on_host(run.gather(sum_scaled))() == -1.5e10);
  CHECK(on_host(run.gather(nested))(0) == -1e10);
  CHECK(on_host(run.gather(wide))(0) == -2100000);
  CHECK(on_host(run.gather(mixed))(0) == 33554433.0);
}

TEST_CASE("a chain without an aggregation is computed in the order of its parentheses") {
  Program g;
  const auto A = g.input<double>("A", {3});
  const auto B = g.input<double>("B", {3});
  const auto C = g.input<double>("C", {3});
  const auto right = let<"right">(i) = A(i) + (B(i) + C(i));
  const auto left = let<"left">(i) = A(i) + B(i) + C(i);
  const auto factors = let<"factors">(i) = A(i) * (A(i) * C(i));
  CHECK(ein::formula(g.graph(), left.vertex()) == "left(i) = add(A(i), B(i), C(i))");
  const Plan plan = ein::decompose(g, {.workers = 1});
  const auto run =
      ein::execute(plan, Space(), ein::bind_generator(A, all(1e200)),
                   ein::bind_generator(B, all(-1e200)), ein::bind_generator(C, all(1e-200)));
  CHECK(on_host(run.gather(right))(1) == 0.0);
  CHECK(on_host(run.gather(left))(1) == 1e-200);
  CHECK(on_host(run.gather(factors))(1) == doctest::Approx(1e200));
}

TEST_CASE(
    "what is divided is summed as elements of the quotient, and a factor of any join as it is") {
  Program g;
  const auto P = g.input<float>("P", {2, 3});
  const auto Q = g.input<float>("Q", {3, 2});
  const auto D = g.input<double>("D", {2});
  const auto I = g.input<std::int32_t>("I", {2});
  const auto J = g.input<std::int32_t>("J", {3});
  const auto W = g.input<double>("W", {3, 2});
  const auto R = let<"R">(i, k) = sum(j)(P(i, j) * Q(j, k) / D(k));
  const auto H = let<"H">(i, k) = sum(j)(ein::join(HalfTimes{}, I(i) + J(j), W(j, k)));
  const Plan plan = ein::decompose(g, {.workers = 1});
  const auto cancels = [](auto, auto c) { return c == 0 ? 1e8F : c == 1 ? 1.0F : -1e8F; };
  const auto run = ein::execute(plan, Space(), ein::bind_generator(P, cancels),
                                ein::bind_generator(Q, all(1.0F)), ein::bind_generator(D, all(1.0)),
                                ein::bind_generator(I, all(1)), ein::bind_generator(J, all(2)),
                                ein::bind_generator(W, all(1.0)));
  CHECK(on_host(run.gather(R))(0, 0) == 1.0);
  CHECK(on_host(run.gather(H))(0, 0) == 3.0);
}

TEST_CASE("outside of tensors of any integers the identity is read") {
  const auto check = [](auto number) {
    using T = decltype(number);
    Program g;
    const auto X = g.input<T>("X", {6});
    const auto low = let<"low">(i) = min(k)(X(i + extent(k, 3) - 1));
    const auto high = let<"high">(i) = max(k)(X(i + extent(k, 3) - 1));
    const auto product = let<"product">(i) = prod(k)(X(i + extent(k, 3) - 1));
    const auto running = let<"running">(i) = ein::cumprod(i)(X(i));
    const Plan plan = ein::decompose(g, {.workers = 2, .ranks = 1});
    const auto run = ein::execute(plan, Space(), ein::bind_generator(X, all(number)));
    const auto square = static_cast<T>(number * number);
    for (const Extent end : {0, 5}) {
      CHECK(on_host(run.gather(low))(end) == number);
      CHECK(on_host(run.gather(high))(end) == number);
      CHECK(on_host(run.gather(product))(end) == square);
    }
    CHECK(on_host(run.gather(running))(1) == square);
  };
  check(std::int8_t{-3});
  check(std::uint8_t{9});
  check(std::int16_t{-7});
  check(std::uint16_t{11});
  check(std::uint32_t{13});
  check(std::uint64_t{5});
}

TEST_CASE("elements of any size are added, put together and scanned") {
  using Color = Several<float, 3>;
  using Vector = Several<double, 3>;
  using Long = Several<double, 9>;
  {
    Program g;
    const auto P = g.input<Color>("P", {70, 40});
    const auto Q = g.input<Color>("Q", {40, 70});
    const auto S = let<"S">(i, j) = P(i, j) + Q(j, i);
    const auto of = [](float scale) {
      return [scale](auto r, auto c) { return Color(scale * static_cast<float>(100 * r + c)); };
    };
    const auto s = result_of(g, S, ein::bind_generator(P, of(1)), ein::bind_generator(Q, of(2)));
    CHECK(s(63, 21) == Color(6321.0F + 2 * 2163.0F));
  }
  {
    Program g;
    const auto X = g.input<Vector>("X", {4});
    auto Z = ein::blocks<Vector>(g, "Z", {6});
    Z(i) = X(i);
    Z(i + 2) += X(i);
    const auto z = result_of(g, Z.tensor(), ein::bind_generator(X, [](auto r) {
                               return Vector(static_cast<double>(r + 1));
                             }));
    CHECK(z(0) == Vector(1));
    CHECK(z(2) == Vector(4));
    CHECK(z(5) == Vector(4));
  }
  {
    Program g;
    const auto X = g.input<Long>("X", {4096});
    const auto S = let<"S">(i) = ein::cumsum(i)(X(i));
    const auto s = result_of(g, S, ein::bind_generator(X, all(Long(1))));
    CHECK(s(0) == Long(1));
    CHECK(s(4095) == Long(4096));
  }
  {
    // Larger than a stack has room for many of.
    using Page = Several<double, 1024>;
    Program g;
    const auto X = g.input<Page>("X", {70, 40});
    const auto S = let<"S">(j) = sum(i)(X(i, j));
    const auto T = let<"T">(i, j) = ein::cumsum(j)(X(i, j));
    const auto x = ein::bind_generator(X, all(Page(1)));
    CHECK(result_of(g, S, x)(39) == Page(70));
    const auto t = result_of(g, T, x);
    CHECK(t(69, 0) == Page(1));
    CHECK(t(69, 39) == Page(40));
  }
}

TEST_CASE("elements that are no numbers are multiplied in the order that is written") {
  const Square A(1, 2, 3, 4);
  const Square B(0, 1, 1, 0);
  const Square C(2, 0, 1, 5);
  Program g;
  const auto X = g.input<Square>("X", {2, 2});
  const auto Y = g.input<Square>("Y", {2, 2});
  const auto Z = g.input<Square>("Z", {2, 2});
  const auto three = let<"three">(i) = sum(j)(X(i, j) * Y(i, j) * Z(i, j));
  const auto nested = let<"nested">(i, k) = sum(j)(X(i, j) * ((Y(j, k) + Z(j, k)) * Z(j, k)));
  const auto factor = let<"factor">(i, k) = sum(j)((X(i, j) + Y(i, j)) * Z(j, k));
  const auto minus = let<"minus">(i, k) = X(i, k) - sum(j)(Y(i, j) * Z(j, k));
  const auto sign = let<"sign">(i, k) = sum(j)(-X(i, j) * Y(j, k));
  const auto masked = let<"masked">(i, k) = sum(j)(select(j < i, X(i, j), Y(i, j)) * Z(j, k));
  const auto x = ein::bind_generator(X, all(A));
  const auto y = ein::bind_generator(Y, all(B));
  const auto z = ein::bind_generator(Z, all(C));
  const auto run = ein::execute(ein::decompose(g, {.workers = 1}), Space(), x, y, z);
  const auto twice = [](const Square& one) { return one + one; };
  CHECK(on_host(run.gather(three))(1) == twice(A * B * C));
  CHECK(on_host(run.gather(nested))(0, 1) == twice(A * ((B + C) * C)));
  CHECK(on_host(run.gather(factor))(0, 1) == twice((A + B) * C));
  CHECK(on_host(run.gather(minus))(1, 0) == A - twice(B * C));
  CHECK(on_host(run.gather(sign))(1, 1) == twice(-A * B));
  CHECK(on_host(run.gather(masked))(1, 1) == (A + B) * C);
}

TEST_CASE("elements that are no numbers are grouped as they are written") {
  Program g;
  const auto X = g.input<Square>("X", {3});
  const auto Y = g.input<Square>("Y", {3});
  const auto P = let<"P">(i) = X(i) * (X(i) * Y(i));
  const auto S = let<"S">() = sum(i)(X(i) * (X(i) * Y(i)));
  const auto x = ein::bind_generator(X, all(Square(1e200, 0, 0, 1)));
  const auto y = ein::bind_generator(Y, all(Square(1e-200, 0, 0, 1)));
  CHECK(result_of(g, P, x, y)(2).a == doctest::Approx(1e200));
  CHECK(result_of(g, S, x, y)().a == doctest::Approx(3e200));
}

TEST_CASE("elements that are no numbers may have products that are") {
  Program g;
  const auto P = g.input<Arrow>("P", {4, 3});
  const auto Q = g.input<Arrow>("Q", {3, 5});
  const auto R = let<"R">(i, k) = sum(j)((P(i, j) + P(i, j)) * Q(j, k));
  const auto r = result_of(g, R, ein::bind_generator(P, all(Arrow{1, 2})),
                           ein::bind_generator(Q, all(Arrow{3, 4})));
  CHECK(r(3, 4) == 66);
}

TEST_CASE("a factor of 0 hides no infinity, whatever the size") {
  for (const Extent n : {2, 128}) {
    Program g;
    const auto X = g.input<double>("X", {n, n});
    const auto W = g.input<double>("W", {n, n});
    const auto Z = let<"Z">(i, k) = sum(j)(0.0 * X(i, j) * W(j, k));
    const auto z = result_of(
        g, Z, ein::bind_generator(X, [](auto r, auto c) { return r + c == 0 ? INFINITY : 1.0; }),
        ein::bind_generator(W, all(1.0)));
    CHECK(std::isnan(z(0, 1)));
    CHECK(z(1, 0) == 0);
  }
}

TEST_CASE("the identity is combined with what is aggregated, be it one element or more") {
  for (const Extent n : {1, 2}) {
    Program g;
    const auto X = g.input<double>("X", {3, n});
    const auto Y = let<"Y">(i) = ein::aggregate<Larger>(j)(X(i, j));
    CHECK(result_of(g, Y, ein::bind_generator(X, all(double{NAN})))(2) == -1);
  }
}

TEST_CASE("a masked softmax is that of what is left, however small") {
  const auto check = [](auto least) {
    Program g;
    const auto S = g.input<decltype(least)>("S", {2, 2});
    const auto P = let<"P">(s, t) = ein::softmax(t, t <= s)(S(s, t));
    const auto N = let<"N">(s, t) = ein::softmax(t, t < s)(S(s, t));
    const auto run = ein::execute(ein::decompose(g, {.workers = 1}), Space(),
                                  ein::bind_generator(S, all(least)));
    const auto left = on_host(run.gather(P));
    CHECK(left(0, 0) == 1);
    CHECK(left(0, 1) == 0);
    CHECK(left(1, 0) == 0.5);
    CHECK(left(1, 1) == 0.5);
    CHECK(on_host(run.gather(N))(0, 1) == 0);
  };
  check(std::numeric_limits<ein::float16>::lowest());
  check(std::numeric_limits<float>::lowest());
  check(std::numeric_limits<double>::lowest());
}

TEST_CASE("statistics of integers and of complex numbers are NumPy's") {
  using Complex = Kokkos::complex<double>;
  Program g;
  const auto Z = g.input<Complex>("Z", {4});
  const auto N = g.input<std::int32_t>("N", {4});
  const auto X = g.input<double>("X", {3});
  const auto var = let<"var">() = ein::var(i)(Z(i));
  const auto stddev = let<"stddev">() = ein::stddev(i)(Z(i));
  const auto norm = let<"norm">() = ein::norm(i)(N(i));
  const auto unit = let<"unit">(i) = ein::rms_norm(i)(N(i), 0.0);
  const auto inverse = let<"inverse">(i) = 1.0 / abs(X(i));
  const auto clipped = let<"clipped">(i) = ein::clip(X(i), X(i) / X(i), 1.0);
  const Plan plan = ein::decompose(g, {.workers = 1});
  const auto run =
      ein::execute(plan, Space(),
                   ein::bind_generator(Z,
                                       [](auto r) {
                                         const auto n = static_cast<double>(r);
                                         return Complex(n, 2 * n);
                                       }),
                   ein::bind_generator(N, all(50000)), ein::bind_generator(X, all(-0.0)));
  CHECK(on_host(run.gather(var))() == doctest::Approx(6.25));
  CHECK(on_host(run.gather(stddev))() == doctest::Approx(2.5));
  CHECK(on_host(run.gather(norm))() == 100000.0);
  CHECK(on_host(run.gather(unit))(3) == 1.0);
  CHECK(on_host(run.gather(inverse))(0) == std::numeric_limits<double>::infinity());
  CHECK(on_host(run.gather(clipped))(0) != on_host(run.gather(clipped))(0));  // 0 / 0
}
