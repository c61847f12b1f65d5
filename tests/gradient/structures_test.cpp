// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives of contractions, aggregations, macros and computed indices against JAX's.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/graph/blocks.hpp"
#include "eindecomp/graph/concat.hpp"
#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/permutations.hpp"
#include "eindecomp/graph/random.hpp"
#include "eindecomp/graph/scan.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "gradient/jax.hpp"
#include "support/near.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::Extent;
using ein::extent;
using ein::let;
using ein::zero;
using eindecomp_tests::check_jax;
using eindecomp_tests::LoopRun;
using eindecomp_tests::near;
using eindecomp_tests::numbers;

namespace {

/// A program, and the numbers of its inputs.
struct Case {
  ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend>> g;
  std::map<std::string, std::vector<double>> values;

  template <std::size_t Rank>
  auto input(const std::string& name, const Extent (&bound)[Rank], std::vector<double> given) {
    values[name] = std::move(given);
    return g.input<double>(name, bound);
  }
  template <std::size_t Rank>
  auto input(const std::string& name, const Extent (&bound)[Rank], int seed) {
    Extent size = 1;
    for (const Extent b : bound) size *= b;
    return input(name, bound, numbers(size, seed, -1, 1));
  }

  /// An input of a tensor's shape.
  template <class S>
  S input_like(const S& tensor, const std::string& name, int seed) {
    const std::vector<Extent> bound = g.graph()[tensor.vertex()].bound;
    Extent size = 1;
    for (const Extent b : bound) size *= b;
    values[name] = numbers(size, seed, -1, 1);
    if constexpr (S::rank == 0) {
      return g.template input<double>(name);
    } else {
      Extent extents[S::rank];
      for (std::size_t k = 0; k < bound.size(); ++k) extents[k] = bound[k];
      return g.template input<double>(name, extents);
    }
  }
  /// Compares the products of Y's derivatives by Xs with a fixed cotangent, and with fixed
  /// tangents.
  template <class S, class... Ss>
  void check(const std::string& name, const S& y, const Ss&... xs) {
    const std::tuple products = [&] {
      const S cotangent = input_like(y, "cotangent", 9);
      if constexpr (sizeof...(Ss) == 1) {
        return std::tuple(ein::vjp(y, cotangent, xs...));
      } else {
        return ein::vjp(y, cotangent, xs...);
      }
    }();
    int number = 0;
    const auto tangent_of = [&](const auto& x) {
      const int of = number++;
      return input_like(x, "tangent." + std::to_string(of), 10 + of);
    };
    // Braces, for left-to-right order.
    const S along = std::apply([&](const auto&... pairs) { return along_all(y, pairs...); },
                               std::tuple<std::pair<Ss, Ss>...>{std::pair(xs, tangent_of(xs))...});
    const LoopRun run(g, values);
    number = 0;
    std::apply(
        [&](const auto&... product) {
          (check_jax(name + "." + std::to_string(number++), run.of(product)), ...);
        },
        products);
    check_jax(name + ".jvp", run.of(along));
  }
  template <class S, class P>
  static S along_all(const S& y, const P& p) {
    return ein::jvp(y, p.first, p.second);
  }
  template <class S, class P, class Q>
  static S along_all(const S& y, const P& p, const Q& q) {
    return ein::jvp(y, p.first, p.second, q.first, q.second);
  }
  template <class S, class P, class Q, class R>
  static S along_all(const S& y, const P& p, const Q& q, const R& r) {
    return ein::jvp(y, p.first, p.second, q.first, q.second, r.first, r.second);
  }
};

const std::vector<double> tied = {1, 2, 2, 2, 0, 1, 0, 0, 3, 3, 3, 3};

}  // namespace

TEST_CASE("contractions: diagonals, broadcasts, outer products, tensors read twice") {
  const auto two = [](const std::string& name, const auto& statement) {
    Case c;
    const auto A = c.input("A", {3, 4}, 1);
    const auto B = c.input("B", {4, 5}, 2);
    c.check(name, statement(A, B), A, B);
  };
  two("matmul", [](auto A, auto B) { return let<"Y">(i, k) = sum(j)(A(i, j) * B(j, k)); });
  two("min_plus", [](auto A, auto B) { return let<"Y">(i, k) = min(j)(A(i, j) + B(j, k)); });
  const auto one = [](const std::string& name, const auto& statement) {
    Case c;
    const auto S = c.input("S", {4, 4}, 4);
    c.check(name, statement(S), S);
  };
  one("diagonal", [](auto S) { return let<"Y">(i) = 1.0 * S(i, i); });
  one("trace", [](auto S) { return let<"Y">() = sum(i)(S(i, i) * S(i, i)); });
  one("twice", [](auto S) { return let<"Y">(i, j) = S(i, j) * S(j, i); });
  {
    Case c;
    const auto A = c.input("A", {3, 4}, 1);
    const auto B = c.input("B", {4, 5}, 2);
    c.check("outer", let<"Y">(i, j) = A(i, 0) * B(0, j), A, B);
  }
  {
    Case c;
    const auto T = c.input("T", {2, 3, 2, 2}, 6);
    c.check("sum_ac", let<"Y">(b, d) = sum(a, ein::labels::c)(T(a, b, ein::labels::c, d)), T);
  }
  {
    Case c;
    const auto V = c.input("V", {4}, 5);
    c.check("broadcast", let<"Y">(i, extent(j, 3)) = square(V(i)), V);
  }
  {
    Case c;
    const auto A = c.input("A", {3, 4}, 1);
    const auto B = c.input("B", {4, 5}, 2);
    const auto D = c.input("D", {3, 5}, 3);
    c.check("three", let<"Y">(i) = sum(j, k)(A(i, j) * B(j, k) * D(i, k)), A, B, D);
  }
  for (const bool squares : {true, false}) {
    Case c;
    const auto A = c.input("A", {3, 4}, 1);
    const auto D = c.input("D", {3, 5}, 3);
    if (squares) {
      c.check("distances", let<"Y">(i, k) = sum(j)(sq_diff(A(i, j), D(k, zero(j)))), A, D);
    } else {
      c.check("manhattan", let<"Y">(i, k) = sum(j)(abs_diff(A(i, j), D(k, zero(j)))), A, D);
    }
  }
}

TEST_CASE("aggregations: ties share evenly, products with factors of 0, logarithms of sums") {
  {
    Case c;
    const auto T = c.input("T", {3, 4}, tied);
    c.check("ties", let<"Y">(i) = max(j)(T(i, j)), T);
  }
  {
    Case c;
    const auto T = c.input("T", {3, 4}, tied);
    c.check("ties_min", let<"Y">(i) = min(j)(T(i, j)), T);
  }
  {
    Case c;
    const auto T = c.input("T", {3, 4}, {1.5, 2, -2, 3, 0, 1.5, 2, 3, 0, 3, 0, 2});
    c.check("prod", let<"Y">(i) = prod(j)(T(i, j)), T);
  }
  {
    Case c;
    const auto A = c.input("A", {3, 4}, 1);
    const auto V = c.input("v", {4}, 5);
    c.check("max_of_exp", let<"Y">(i) = max(j)(exp(A(i, j)) * V(j) + A(i, j)), A, V);
  }
}

TEST_CASE("second derivatives of products are right where no, one, two and three factors are 0") {
  ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend, 2>> g;
  const auto T = g.input<double>("T", {4, 2, 6});
  const auto C = g.input<double>("C", {4});
  const auto V = g.input<double>("V", {4, 2, 6});
  const auto Y = let<"Y">(i) = prod(j, k)(T(i, j, k));
  const auto dT = ein::vjp(Y, C, T);
  const auto second = let<"second">() = sum(i, j, k)(dT(i, j, k) * V(i, j, k));
  const auto ddT = ein::gradient(second, T);
  // Forwards: the Hessian is symmetric.
  const auto along = ein::jvp(dT, T, V);
  std::vector<double> factors = numbers(48, 6, -2, 2);
  for (const std::size_t zero : {15U, 29U, 30U, 37U, 38U, 46U}) factors[zero] = 0;
  const LoopRun run(g, {{"T", factors}, {"C", numbers(4, 8, -1, 1)}, {"V", numbers(48, 7, -1, 1)}});
  check_jax("prod_twice.0", run.of(ddT));
  check_jax("prod_twice.0", run.of(along));
}

#define MACRO(name, ...)                    \
  {                                         \
    Case c;                                 \
    const auto A = c.input("A", {3, 4}, 1); \
    c.check(#name, __VA_ARGS__, A);         \
  }
TEST_CASE("macros and maps") {
  MACRO(lse, let<"Y">(i) = ein::log_sum_exp(j)(A(i, j)))
  MACRO(softmax, let<"Y">(i, j) = ein::softmax(j)(A(i, j)))
  MACRO(log_softmax, let<"Y">(i, j) = ein::log_softmax(j)(A(i, j)))
  MACRO(layer_norm, let<"Y">(i, j) = ein::layer_norm(j)(A(i, j), 1e-3))
  MACRO(rms_norm, let<"Y">(i, j) = ein::rms_norm(j)(A(i, j), 1e-3))
  MACRO(var, let<"Y">(i) = ein::var(j)(A(i, j)))
  MACRO(norm, let<"Y">() = ein::norm(i, j)(A(i, j)))
  MACRO(mean, let<"Y">(i) = ein::mean(j)(exp(A(i, j))))
  MACRO(stddev, let<"Y">(j) = ein::stddev(i)(A(i, j)))
  MACRO(compensated_sum, let<"Y">(i) = ein::compensated_sum(j)(exp(A(i, j))))
  MACRO(pad, let<"Y">(i, j) = ein::pad(i, j)(exp(A(i, j)), {{1, 2}, {0, 3}}, 7.0))
  MACRO(select, let<"Y">(i, j) = select(A(i, j) > 0.2, exp(A(i, j)), 3.0 * A(i, j)))
  MACRO(clip, let<"Y">(i, j) = ein::clip(A(i, j), -0.5, 0.4))
  MACRO(relu_abs, let<"Y">(i, j) = relu(A(i, j)) + 2.0 * abs(A(i, j)))
  Case c;
  const auto A = c.input("A", {3, 4}, 1);
  const auto K = c.input("K", {5, 4}, 7);
  const auto W = c.input("W", {5, 2}, 8);
  c.check("attention", ein::attention(A, K, W, 0.5), A, K, W);
  Case heads;
  const auto X = heads.input("X", {3, 4}, 1);
  const auto WK = heads.input("WK", {4, 2, 3}, 25);
  const auto WV = heads.input("WV", {4, 2, 3}, 26);
  const auto WQ = heads.input("WQ", {4, 2, 3}, 27);
  const auto WO = heads.input("WO", {4, 2, 3}, 28);
  heads.check("multi_head_attention", ein::multi_head_attention(X, X, X, WQ, WK, WV, WO, 0.5), X,
              WQ, WO);
  Case dropped;
  const auto D = dropped.input("A", {3, 4}, 1);
  const auto U = dropped.input("U", {3, 4}, numbers(12, 24, 0, 1));
  dropped.check("dropout", let<"Y">(i, j) = ein::dropout(exp(D(i, j)), U(i, j), 0.3), D);
}

TEST_CASE("labels in each other's place, blocks, and elements that indices select") {
  const auto one = [](const std::string& name, const auto& statement) {
    Case c;
    const auto S = c.input("S", {4, 4}, 4);
    c.check(name, statement(S), S);
  };
  one("symmetrize", [](auto S) { return let<"Y">(i, j) = ein::symmetrize(i, j)(exp(S(i, j))); });
  one("antisymmetrize",
      [](auto S) { return let<"Y">(i, j) = ein::antisymmetrize(i, j)(exp(S(i, j))); });
  one("exchange",
      [](auto S) { return let<"Y">(i, j) = ein::exchange(i, j)(exp(S(i, j))) * S(i, j); });
  one("symmetric",
      [](auto S) { return let<"Y">(i, j) = ein::symmetric(i, j)(sum(k)(S(i, k) * S(j, k))); });
  one("antisymmetric", [](auto S) {
    const auto P = let<"P">(i, j) = sum(k)(S(i, k) * S(k, j));
    return let<"Y">(i, j) = ein::antisymmetric(i, j)(P(i, j) - P(j, i));
  });
  for (const bool concatenates : {true, false}) {
    Case c;
    const auto A = c.input("A", {3, 4}, 1);
    const auto S = c.input("S", {4, 4}, 4);
    if (concatenates) {
      c.check("concat", let<"Y">(i, j) = ein::concat(i)(square(A(i, j)), exp(S(i, j))), A, S);
    } else {
      auto B = ein::blocks<double>(c.g, "B", {6, 6}, 0.0);
      B(i + 1, j + 2) = square(A(i, j));
      B(i + 2, j) += exp(S(i, j));
      c.check("blocks", B.tensor(), A, S);
    }
  }
  for (const bool gathers : {true, false}) {
    Case c;
    const auto S = c.input("S", {4, 4}, 4);
    const auto V = c.input("v", {4}, 5);
    const auto I = c.g.input<std::int32_t>("I", {4});
    c.values["I"] = {3, 0, 3, 1};
    if (gathers) {
      c.check("gather", let<"Y">(i, j) = exp(S(I(i), j)), S);
    } else {
      const auto Y = let<"Y">(extent(k, 5), j) = sum(i)(where(I(i) == k, S(i, j) * V(j)));
      c.check("scatter", Y, S, V);
    }
  }
}

TEST_CASE("scans") {
  const auto check = [](const char* name, const auto& write) {
    Case c;
    const auto A = c.input("A", {3, 21}, 1);
    c.check(name, write(A), A);
  };
  check("cumsum", [](const auto& A) { return let<"Y">(i, j) = ein::cumsum(j)(A(i, j)); });
  check("cumsum_of_exp",
        [](const auto& A) { return let<"Y">(i, j) = ein::cumsum(i)(exp(A(i, j))) * A(i, j); });
  check("cumsum_flat",
        [](const auto& A) { return let<"Y">(i, j) = ein::cumsum(i, j)(exp(A(i, j))) * A(i, j); });
  check("cumprod_flat", [](const auto& A) { return let<"Y">(i, j) = ein::cumprod(i, j)(A(i, j)); });
  check("cumprod", [](const auto& A) { return let<"Y">(i, j) = ein::cumprod(j)(A(i, j)); });
  check("cumprod_of_few", [](const auto& A) { return let<"Y">(j, i) = ein::cumprod(i)(A(i, j)); });
  check("cummax", [](const auto& A) { return let<"Y">(j, i) = ein::scan<ein::Max>(j)(A(i, j)); });
  check("cumlogsumexp",
        [](const auto& A) { return let<"Y">(i, j) = ein::scan<ein::LogSumExp>(j)(A(i, j)); });
}

TEST_CASE("scans whichever label their index begins with") {
  const auto same = [](const auto& one, const auto& other) {
    ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend>> g;
    const auto A = g.input<double>("A", {11});
    const auto C = g.input<double>("C", {11});
    const auto dA = ein::vjp(let<"Y">(extent(j, 11)) = one(A), C, A);
    const auto dB = ein::vjp(let<"Z">(extent(j, 11)) = other(A), C, A);
    const LoopRun run(g, {{"A", numbers(11, 3, -1, 1)}, {"C", numbers(11, 4, -1, 1)}});
    const auto expected = run.of(dA);
    const auto found = run.of(dB);
    REQUIRE(found.size() == expected.size());
    for (std::size_t n = 0; n < found.size(); ++n) CHECK(found[n] == near(expected[n]));
  };
  same([](const auto& A) { return max(k)(A(j - extent(k, 11))); },
       [](const auto& A) { return max(k)(A(-1 * extent(k, 11) + j)); });
  same([](const auto& A) { return prod(k)(A(j + extent(k, 11))); },
       [](const auto& A) { return prod(k)(A(extent(k, 11) + j)); });
}

TEST_CASE("integers beside what is differentiated do not overflow") {
  ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend>> g;
  const auto X = g.input<double>("X", {2});
  const auto N = g.input<std::int32_t>("N", {2});
  const auto M = g.input<std::int32_t>("M", {2});
  const auto Q = ein::gradient(let<"Q">() = sum(i)(X(i) / N(i) / M(i)), X);
  const auto P = ein::gradient(let<"P">() = sum(i)(sin(X(i) * N(i) * M(i))), X);
  const LoopRun run(g, {{"X", {0, 0}}, {"N", {100000, 65536}}, {"M", {100000, 65536}}});
  CHECK(run.of(Q)[0] == near(1e-10).scale(0));
  CHECK(run.of(Q)[1] == near(1.0 / 4294967296.0).scale(0));
  CHECK(run.of(P)[0] == near(1e10));
  CHECK(run.of(P)[1] == near(4294967296.0));
}

TEST_CASE("second derivatives of scans") {
  const auto check_of = [](const std::string& name, const std::vector<double>& values,
                           const auto& write) {
    CAPTURE(name);
    ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend, 2>> g;
    const Extent bound[] = {3, static_cast<Extent>(values.size()) / 3};
    const auto A = g.input<double>("A", bound);
    const auto Y = write(A);
    const std::vector<Extent>& of_y = g.graph()[Y.vertex()].bound;
    const Extent turned[] = {of_y[0], of_y[1]};
    const auto C = g.input<double>("C", turned);
    const auto V = g.input<double>("V", bound);
    const auto dA = ein::vjp(Y, C, A);
    const auto ddA = ein::gradient(let<"second">() = sum(i, j)(dA(i, j) * V(i, j)), A);
    const auto along = ein::jvp(dA, A, V);  // the Hessian is symmetric
    const auto size = static_cast<Extent>(values.size());
    const LoopRun run(
        g, {{"A", values}, {"C", numbers(size, 8, -1, 1)}, {"V", numbers(size, 7, -1, 1)}});
    check_jax(name + ".twice", run.of(ddA));
    check_jax(name + ".twice", run.of(along));
  };
  const std::vector<double> all = numbers(63, 1, -1, 1);
  std::vector<double> holes = all;
  for (const std::size_t zero : {26U, 45U, 51U}) holes[zero] = 0;
  const auto columns = [](const std::vector<double>& of, std::size_t first) {
    std::vector<double> four;
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t n = 0; n < 4; ++n) four.push_back(of[21 * row + first + n]);
    }
    return four;
  };
  check_of("cumsum_of_exp", all,
           [](auto A) { return let<"Y">(i, j) = ein::cumsum(i)(exp(A(i, j))) * A(i, j); });
  check_of("cumsum_of_square", all,
           [](auto A) { return let<"Y">(i, j) = square(ein::cumsum(j)(A(i, j) * A(i, j))); });
  const auto products = [](auto A) { return let<"Y">(i, j) = ein::cumprod(j)(A(i, j)); };
  check_of("cumprod", all, products);
  check_of("cumprod_of_holes", holes, products);
  check_of("cumprod_of_few", columns(all, 0), products);
  check_of("cumprod_of_few_holes", columns(holes, 2), products);
  check_of("cumprod_backwards", holes,
           [](auto A) { return let<"Y">(i, extent(j, 21)) = prod(k)(A(i, j + extent(k, 21))); });
  check_of("cummax", all,
           [](auto A) { return let<"Y">(j, i) = square(ein::scan<ein::Max>(j)(exp(A(i, j)))); });
  check_of("cummin", all, [](auto A) {
    return let<"Y">(i, j) = ein::scan<ein::Min>(i)(A(i, j) * A(i, j) * A(i, j)) * A(i, j);
  });
  check_of("cumlogsumexp", all,
           [](auto A) { return let<"Y">(i, j) = ein::scan<ein::LogSumExp>(j)(A(i, j)); });
  check_of("cumlogsumexp_of_few", all,
           [](auto A) { return let<"Y">(i, j) = ein::scan<ein::LogSumExp>(i)(A(i, j)); });
  check_of("cumlogsumexp_backwards", all, [](auto A) {
    const auto S = let<"S">(i, extent(j, 21)) = log_sum_exp(k)(A(i, j + extent(k, 21)));
    return let<"Y">(i, j) = square(S(i, j));
  });
}

TEST_CASE("convolutions: stride, padding, dilation, groups, one to three dimensions") {
  const int shapes[][3] = {{1, 0, 1}, {1, 1, 1}, {2, 1, 1}, {2, 0, 2}, {3, 1, 1}};
  for (const auto& [step, pad, apart] : shapes) {
    Case t;
    const auto I = t.input("I", {2, 3, 7, 7}, 11);
    const auto F = t.input("F", {4, 3, 3, 3}, 12);
    const auto Y = let<"Y">(b, o, y, x) = sum(
        c, r, s)(I(b, c, step * y + apart * r - pad, step * x + apart * s - pad) * F(o, c, r, s));
    t.check(
        "conv_" + std::to_string(step) + "_" + std::to_string(pad) + "_" + std::to_string(apart), Y,
        I, F);
  }
  {
    Case t;
    const auto X = t.input("X", {9}, 13);
    const auto W = t.input("W", {3}, 14);
    t.check("conv_1d", let<"Y">(i) = sum(k)(X(i - k + 1) * W(k)), X, W);
  }
  {
    Case t;
    const auto X = t.input("X", {9}, 13);
    const auto W = t.input("W", {3}, 14);
    t.check("conv_transpose",
            let<"Y">(extent(i, 18)) = sum(k)(X(zero(ein::whole(i + 1 - k, 2))) * W(k)), X, W);
  }
  {
    Case t;
    const auto I = t.input("I", {2, 3, 7, 7}, 11);
    const auto F = t.input("F", {3, 1, 3, 3}, 15);
    t.check("conv_groups",
            let<"Y">(b, c, y, x) = sum(r, s, a)(I(b, c, y + r - 1, x + s - 1) * F(c, a, r, s)), I,
            F);
  }
  {
    Case t;
    const auto I = t.input("I", {1, 2, 4, 3, 4}, 16);
    const auto F = t.input("F", {2, 2, 3, 2, 3}, 17);
    t.check("conv_3d",
            let<"Y">(b, o, z, y, x) =
                sum(c, q, r, s)(I(b, c, 2 * z + q - 1, y + r, x + s - 1) * F(o, c, q, r, s)),
            I, F);
  }
}

TEST_CASE("convolutions at every boundary: uneven paddings, strides, dilations, groups") {
  const std::pair<std::string, ein::Boundary> boundaries[] = {{"zero", ein::Boundary::zero},
                                                              {"periodic", ein::Boundary::periodic},
                                                              {"clamp", ein::Boundary::clamp},
                                                              {"reflect", ein::Boundary::reflect}};
  for (const auto& [name, boundary] : boundaries) {
    const auto at = [boundary = boundary](const auto& index) {
      return ein::expr::with_boundary(index, boundary);
    };
    {
      Case t;
      const auto X = t.input("X", {2, 2, 5}, 18);
      const auto F = t.input("F", {3, 2, 3}, 19);
      const auto Y = let<"Y">(b, o, extent(x, 4)) =
          sum(c, s)(X(b, c, at(2 * x + 3 * s - 6)) * F(o, c, s));
      t.check("conv_1d_" + name, Y, X, F);
    }
    {
      Case t;
      const auto I = t.input("I", {2, 2, 2, 5, 4}, 20);
      const auto F = t.input("F", {2, 2, 2, 3, 2}, 21);
      const auto Y = let<"Y">(b, g, o, extent(y, 3), extent(x, 5)) =
          sum(c, r, s)(I(b, g, c, at(2 * y + r - 2), at(x + 2 * s)) * F(g, o, c, r, s));
      t.check("conv_2d_" + name, Y, I, F);
    }
    {
      Case t;  // one image: an operand has eight labels at most
      const auto I = t.input("I", {2, 2, 3, 4, 2}, 22);
      const auto F = t.input("F", {2, 1, 2, 2, 3, 2}, 23);
      const auto Y = let<"Y">(g, o, extent(z, 3), extent(y, 2), extent(x, 5)) = sum(c, q, r, s)(
          I(g, c, at(z + 2 * q - 1), at(2 * y + r - 2), at(x + 3 * s - 4)) * F(g, o, c, q, r, s));
      t.check("conv_3d_" + name, Y, I, F);
    }
  }
}

TEST_CASE("pools and other computed indices") {
  {
    Case t;
    const auto I = t.input("I", {2, 3, 7, 7}, 11);
    t.check("pool_3_2_1",
            let<"Y">(b, c, y, x) =
                max(r, s)(I(b, c, 2 * y + extent(r, 3) - 1, 2 * x + extent(s, 3) - 1)),
            I);
  }
  {
    Case t;
    const auto I = t.input("I", {2, 3, 7, 7}, 11);
    t.check("pool_2_2_0",
            let<"Y">(b, c, extent(y, 3), extent(x, 3)) =
                max(r, s)(I(b, c, 2 * y + extent(r, 2), 2 * x + extent(s, 2))),
            I);
  }
  for (const auto& [name, boundary] :
       {std::pair("wrap", ein::Boundary::periodic), std::pair("edge", ein::Boundary::clamp),
        std::pair("reflect", ein::Boundary::reflect)}) {
    const auto at = [boundary = boundary](const auto& index) {
      return ein::expr::with_boundary(index, boundary);
    };
    Case t;
    const auto I = t.input("I", {1, 2, 6, 5}, 29);
    const auto Y = let<"Y">(b, c, extent(y, 3), extent(x, 3)) =
        max(r, s)(I(b, c, at(2 * y + extent(r, 3) - 1), at(2 * x + extent(s, 3) - 1)));
    t.check(std::string("pool_") + name, Y, I);
  }
  const auto square = [](const std::string& name, const auto& statement) {
    Case c;
    const auto S = c.input("S", {4, 4}, 4);
    c.check(name, statement(S), S);
  };
  square("reversed", [](auto S) { return let<"Y">(i, j) = S(3 - i, j) * S(i, j); });
  square("row", [](auto S) { return let<"Y">(j) = exp(S(2, j)); });
  square("off_diagonal",
         [](auto S) { return let<"Y">(extent(i, 3)) = ein::square(S(zero(i), i + 1)); });
  const auto line = [](const std::string& name, const auto& statement) {
    Case c;
    const auto X = c.input("X", {9}, 13);
    c.check(name, statement(X), X);
  };
  line("every_second", [](auto X) { return let<"Y">(i) = ein::sin(X(2 * i)); });
  line("shifted", [](auto X) { return let<"Y">(extent(i, 8)) = X(i + 1) - X(zero(i)) * X(i + 1); });
  line("periodic", [](auto X) {
    return let<"Y">(i) = X(ein::periodic(i + 1)) * X(i) - X(ein::periodic(i - 2));
  });
  line("windows",
       [](auto X) { return let<"Y">() = sum(i, k)(ein::square(X(extent(i, 7) + extent(k, 3)))); });
}

TEST_CASE("blocks: what operands read elsewhere as zeros give") {
  Case c;
  const auto X = c.input("X", {3, 4}, 1);
  const auto Y = c.input("Y", {5, 4}, 2);
  const auto W = c.input("W", {8, 4}, 3);
  const auto VX = c.input("VX", {3, 4}, 5);
  const auto VY = c.input("VY", {5, 4}, 6);
  const auto same = [&](const auto& mine, const auto& other) {
    const auto [dX, dY] = ein::gradient(mine, X, Y);
    const auto [eX, eY] = ein::gradient(other, X, Y);
    const auto along = ein::jvp(mine, X, VX, Y, VY);
    const auto along_one = ein::jvp(mine, Y, VY);
    const auto other_along = ein::jvp(other, X, VX, Y, VY);
    const auto other_one = ein::jvp(other, Y, VY);
    const LoopRun run(c.g, c.values);
    const auto check = [&](const std::vector<double>& a, const std::vector<double>& b) {
      REQUIRE(a.size() == b.size());
      for (std::size_t n = 0; n < a.size(); ++n) CHECK(std::abs(a[n] - b[n]) < 1e-12);
      CHECK(b != std::vector<double>(b.size(), 0));
    };
    check(run.of(dX), run.of(eX));
    check(run.of(dY), run.of(eY));
    check(run.of(along), run.of(other_along));
    check(run.of(along_one), run.of(other_one));
  };
  const auto Z = let<"Z">(i, j) = ein::concat(i)(X(i, j), square(Y(i, j)));
  const auto Z2 = let<"Z2">(extent(i, 8), j) = X(zero(i), j) + square(Y(zero(i - 3), j));
  same(let<"z">() = sum(i, j)(Z(i, j) * Z(i, j) * W(i, j)),
       let<"z2">() = sum(i, j)(Z2(i, j) * Z2(i, j) * W(i, j)));
  // With a cotangent that is one number, and one that is the same along a label.
  same(let<"s">() = sum(i, j)(Z(i, j)), let<"s2">() = sum(i, j)(Z2(i, j)));
  const auto v = c.input("v", {8}, 4);
  same(let<"r">() = sum(i)(v(i) * sum(j)(Z(i, j))), let<"r2">() = sum(i)(v(i) * sum(j)(Z2(i, j))));
  // Between each other, padded, read twice, and added where they overlap.
  auto U = ein::blocks<double>(c.g, "U", {9, 10}, 0.0);
  U(2 * i + 1, j + 1) = X(i, j) * X(i, j);
  U(range(i, 2, 9, 3), range(j, 6, 10)) = X(i, j);
  U(0, j) = sum(i)(Y(i, j));
  U(i + 1, j) += Y(i, j);
  const auto u = U.tensor();
  const auto u2 = let<"u2">(extent(i, 9), extent(j, 10)) =
      square(X(zero(whole(i - 1, 2)), zero(j - 1))) + X(zero(whole(i - 2, 3)), zero(j - 6)) +
      Y(zero(i - 1), zero(j));
  const auto top = let<"top">() = sum(j)(sum(i)(Y(i, j)) * 1.0);
  same(let<"w">() = sum(i, j)(ein::square(u(i, j))) + sum(i, j)(u(i, j)),
       let<"w2">() = sum(i, j)(ein::square(u2(i, j))) + sum(i, j)(u2(i, j)) + top() +
                     sum(j)(ein::square(sum(i)(Y(i, j)))));
}

TEST_CASE("index tensors: what matrices of their one-hot rows give") {
  Case c;
  const auto T = c.input("T", {5, 3}, 1);
  const auto W = c.input("W", {4, 3}, 2);
  const auto X = c.input("X", {4, 3}, 3);
  const auto I = c.g.input<std::int32_t>("I", {4});
  const auto J = c.g.input<std::int64_t>("J", {4});
  c.values["I"] = {3, 0, 3, 1};
  c.values["J"] = {2, 2, 0, 1};
  const auto one_hot = [&](const std::string& name, const std::string& of, Extent n) {
    std::vector<double> rows;
    for (const double index : c.values[of]) {
      for (Extent at = 0; at < n; ++at) rows.push_back(static_cast<double>(at) == index ? 1 : 0);
    }
    return c.input(name, {4, n}, rows);
  };
  const auto H = one_hot("H", "I", 5);
  const auto K = one_hot("K", "J", 3);
  const auto VT = c.input("VT", {5, 3}, 4);
  const auto VW = c.input("VW", {4, 3}, 5);
  const auto VX = c.input("VX", {4, 3}, 6);
  const auto tangent_of = [&](const auto& A) {
    return A.vertex() == T.vertex() ? VT : A.vertex() == W.vertex() ? VW : VX;
  };
  const auto same = [&](const auto& mine, const auto& other, const auto& A, const auto& B) {
    const auto [dA, dB] = ein::gradient(mine, A, B);
    const auto [eA, eB] = ein::gradient(other, A, B);
    const auto along = ein::jvp(mine, A, tangent_of(A), B, tangent_of(B));
    const auto other_along = ein::jvp(other, A, tangent_of(A), B, tangent_of(B));
    const LoopRun run(c.g, c.values);
    const auto check = [&](const std::vector<double>& a, const std::vector<double>& b) {
      REQUIRE(a.size() == b.size());
      for (std::size_t n = 0; n < a.size(); ++n) CHECK(std::abs(a[n] - b[n]) < 1e-12);
      CHECK(b != std::vector<double>(b.size(), 0));
    };
    check(run.of(dA), run.of(eA));
    check(run.of(dB), run.of(eB));
    check(run.of(along), run.of(other_along));
  };
  // Of a gather a scatter; of what several index tensors read; of minima of what is gathered.
  const auto squares = let<"s1">() = sum(i, d)(ein::sq_diff(T(I(i), d), W(i, d)));
  const auto gathered = let<"G">(i, d) = sum(v)(H(i, v) * T(v, d));
  same(squares, let<"s2">() = sum(i, d)(ein::sq_diff(gathered(i, d), W(i, d))), T, W);
  const auto lost = let<"l1">() = sum(i)(T(I(i), J(i))) + sum(i, d)(W(i, d));
  same(lost, let<"l2">() = sum(i, d)(K(i, d) * gathered(i, d)) + sum(i, d)(W(i, d)), T, W);
  const auto least = let<"m1">(d) = min(i)(T(I(i), d));
  const auto other_least = let<"m2">(d) = min(i)(gathered(i, d));
  same(let<"m3">() = sum(i, d)(least(d) * W(i, d)),
       let<"m4">() = sum(i, d)(other_least(d) * W(i, d)), T, W);
  // Of a scatter a gather, of a product; with a cotangent that is one number.
  const auto Z = let<"Z">(extent(v, 5), d) = sum(i)(where(I(i) == v, W(i, d) * X(i, d)));
  const auto Y = let<"Y">(v, d) = sum(i)(H(i, v) * W(i, d) * X(i, d));
  same(let<"z1">() = sum(v, d)(Z(v, d) * Z(v, d)), let<"z2">() = sum(v, d)(Y(v, d) * Y(v, d)), W,
       X);
  same(let<"z3">() = sum(v, d)(Z(v, d)), let<"z4">() = sum(v, d)(Y(v, d)), W, X);
  // A label that is looked up, in an index that is computed.
  const auto L = one_hot("L", "I", 4);
  const auto next = let<"N">(extent(v, 4), d) = sum(i)(where(I(i) == v, W(i, d) * T(v + 1, d)));
  const auto other_next = let<"M">(v, d) = sum(i)(L(i, v) * W(i, d) * T(v + 1, d));
  same(let<"n1">() = sum(v, d)(next(v, d) * next(v, d)),
       let<"n2">() = sum(v, d)(other_next(v, d) * other_next(v, d)), T, W);
  same(let<"n3">() = sum(v, d)(next(v, d)), let<"n4">() = sum(v, d)(other_next(v, d)), T, W);
  // Of elements that are no index.
  const auto O = c.g.input<std::int32_t>("O", {4});
  c.values["O"] = {3, -1, 5, 3};
  const auto R = one_hot("R", "O", 5);
  const auto within = let<"P">(i, d) = sum(v)(R(i, v) * T(v, d));
  same(let<"k1">() = sum(i, d)(ein::sq_diff(T(ein::skip(O(i)), d), W(i, d))),
       let<"k2">() = sum(i, d)(ein::sq_diff(within(i, d), W(i, d))), T, W);
  const auto sent = let<"k3">(extent(v, 5), d) = sum(i)(where(ein::skip(O(i)) == v, W(i, d)));
  const auto other_sent = let<"k4">(v, d) = sum(i)(R(i, v) * W(i, d));
  same(let<"k5">() = sum(v, d)(sent(v, d) * sent(v, d) * T(v, d)),
       let<"k6">() = sum(v, d)(other_sent(v, d) * other_sent(v, d) * T(v, d)), T, W);
}

TEST_CASE("tangents at boundaries: those of a linear function are its values") {
  Case c;
  const auto X = c.input("X", {6}, 1);
  const auto V = c.input("V", {6}, 2);
  const auto W = c.input("W", {3}, 3);
  const auto same = [&](const auto& along, const auto& expected) {
    const LoopRun run(c.g, c.values);
    const auto got = run.of(along);
    const auto right = run.of(expected);
    REQUIRE(got.size() == right.size());
    for (std::size_t n = 0; n < got.size(); ++n) CHECK(got[n] == near(right[n]));
  };
  const auto Y = let<"Y">(extent(i, 6)) = sum(r)(W(r) * X(clamp(i + r - 1)));
  same(ein::jvp(Y, X, V), let<"Y2">(extent(i, 6)) = sum(r)(W(r) * V(clamp(i + r - 1))));
  const auto Z = let<"Z">(extent(i, 6)) = sum(r)(W(r) * ein::square(X(reflect(i + r - 1))));
  same(ein::jvp(Z, X, V), let<"Z2">(extent(i, 6)) =
                              sum(r)(2.0 * W(r) * X(reflect(i + r - 1)) * V(reflect(i + r - 1))));
}
