// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Typed programs and what they must give, as loops. `visit(name, case)` is called for each; a case
// writes into a Harness.
#pragma once

#include <cmath>

#include "eindecomp/graph/statistics.hpp"
#include "property/harness.hpp"

namespace property {

using namespace ein::labels;
using ein::extent;
using ein::let;

/// Sums of products.
template <class Visit>
void contraction_cases(const Visit& visit) {
  visit("matrix product", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {5, 7});
    const auto [W, ws] = t.template input<double>("W", {7, 3});
    t.expect(let<"H">(i, k) = sum(j)(X(i, j) * W(j, k)), [&](Extent I, Extent K) {
      return total(7, [&](Extent J) { return xs(I, J) * ws(J, K); });
    });
  });
  visit("matrix product, transposed operand and result", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {7, 5});
    const auto [W, ws] = t.template input<double>("W", {3, 7});
    t.expect(let<"H">(k, i) = sum(j)(X(j, i) * W(k, j)), [&](Extent K, Extent I) {
      return total(7, [&](Extent J) { return xs(J, I) * ws(K, J); });
    });
  });
  visit("batched matrix product", [](auto& t) {
    const auto [X, xs] = t.template input<float>("X", {3, 4, 5});
    const auto [W, ws] = t.template input<float>("W", {3, 5, 2});
    t.expect(let<"H">(b, i, k) = sum(j)(X(b, i, j) * W(b, j, k)),
             [&](Extent B, Extent I, Extent K) {
               return total(5, [&](Extent J) { return xs(B, I, J) * ws(B, J, K); });
             });
  });
  visit("matrix times vector", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {6, 5});
    const auto [V, vs] = t.template input<double>("V", {5});
    t.expect(let<"H">(i) = sum(j)(X(i, j) * V(j)),
             [&](Extent I) { return total(5, [&](Extent J) { return xs(I, J) * vs(J); }); });
  });
  visit("inner product", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {11});
    const auto [V, vs] = t.template input<double>("V", {11});
    t.expect(let<"H">() = sum(i)(X(i) * V(i)),
             [&] { return total(11, [&](Extent I) { return xs(I) * vs(I); }); });
  });
  visit("outer product", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4});
    const auto [V, vs] = t.template input<double>("V", {5});
    t.expect(let<"H">(j, i) = X(i) * V(j), [&](Extent J, Extent I) { return xs(I) * vs(J); });
  });
  visit("contraction over two labels", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {2, 3, 4});
    const auto [W, ws] = t.template input<double>("W", {4, 3, 5});
    t.expect(let<"H">(i, l) = sum(j, k)(X(i, j, k) * W(k, j, l)), [&](Extent I, Extent L) {
      return total(3, [&](Extent J) {
        return total(4, [&](Extent K) { return xs(I, J, K) * ws(K, J, L); });
      });
    });
  });
  visit("scaled product", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {5, 4});
    const auto [W, ws] = t.template input<double>("W", {4, 3});
    t.expect(let<"H">(i, k) = sum(j)(0.5 * X(i, j) * W(j, k)), [&](Extent I, Extent K) {
      return 0.5 * total(4, [&](Extent J) { return xs(I, J) * ws(J, K); });
    });
  });
  visit("alpha A B + beta C", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {5, 4});
    const auto [W, ws] = t.template input<double>("W", {4, 3});
    const auto [C, cs] = t.template input<double>("C", {5, 3});
    t.expect(let<"H">(i, k) = 2.0 * sum(j)(X(i, j) * W(j, k)) + -0.5 * C(i, k),
             [&](Extent I, Extent K) {
               return 2 * total(4, [&](Extent J) { return xs(I, J) * ws(J, K); }) - 0.5 * cs(I, K);
             });
  });
  visit("chain of three matrices", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {6, 2});
    const auto [Y, ys] = t.template input<double>("Y", {2, 7});
    const auto [Z, zs] = t.template input<double>("Z", {7, 3});
    t.expect(let<"H">(i, l) = sum(j, k)(X(i, j) * Y(j, k) * Z(k, l)), [&](Extent I, Extent L) {
      return total(2, [&](Extent J) {
        return total(7, [&](Extent K) { return xs(I, J) * ys(J, K) * zs(K, L); });
      });
    });
  });
  visit("four operands", [](auto& t) {
    const auto [X, xs] = t.template input<std::int64_t>("X", {3, 2});
    const auto [Y, ys] = t.template input<std::int64_t>("Y", {2, 4});
    const auto [Z, zs] = t.template input<std::int64_t>("Z", {4, 3});
    const auto [V, vs] = t.template input<std::int64_t>("V", {3});
    t.expect(let<"H">(i) = sum(j, k, l)(X(i, j) * Y(j, k) * Z(k, l) * V(l)), [&](Extent I) {
      return total(2, [&](Extent J) {
        return total(4, [&](Extent K) {
          return total(3, [&](Extent L) { return xs(I, J) * ys(J, K) * zs(K, L) * vs(L); });
        });
      });
    });
  });
  visit("label private to one operand of a product", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [Y, ys] = t.template input<double>("Y", {4, 3});
    t.expect(let<"H">(i, k) = sum(j)(X(i, j) * Y(i, k)), [&](Extent I, Extent K) {
      return total(5, [&](Extent J) { return xs(I, J) * ys(I, K); });
    });
  });
  visit("label private to one operand of a difference", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [Y, ys] = t.template input<double>("Y", {4});
    t.expect(let<"H">(i) = sum(j)(ein::abs_diff(X(i, j), Y(i))), [&](Extent I) {
      return total(5, [&](Extent J) { return std::abs(xs(I, J) - ys(I)); });
    });
  });
  visit("label private to one operand of a sum", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [Y, ys] = t.template input<double>("Y", {4});
    t.expect(let<"H">(i) = sum(j)(X(i, j) + Y(i)),
             [&](Extent I) { return total(5, [&](Extent J) { return xs(I, J) + ys(I); }); });
  });
  visit("complex matrix product", [](auto& t) {
    using Complex = typename std::decay_t<decltype(t)>::Complex;
    const auto [X, xs] = t.template input<Complex>("X", {3, 4});
    const auto [W, ws] = t.template input<Complex>("W", {4, 5});
    t.expect(let<"H">(i, k) = sum(j)(X(i, j) * W(j, k)), [&](Extent I, Extent K) {
      return total(4, [&](Extent J) { return xs(I, J) * ws(J, K); });
    });
  });
  visit("integers and floating-point numbers", [](auto& t) {
    const auto [X, xs] = t.template input<std::int32_t>("X", {3, 4});
    const auto [W, ws] = t.template input<double>("W", {4, 5});
    t.expect(let<"H">(i, k) = sum(j)(X(i, j) * W(j, k)), [&](Extent I, Extent K) {
      return total(4, [&](Extent J) { return xs(I, J) * ws(J, K); });
    });
  });
  visit("32-bit and 64-bit integers", [](auto& t) {
    const auto [X, xs] = t.template input<std::int32_t>("X", {3});
    const auto [W, ws] = t.template input<std::int64_t>("W", {3});
    t.expect(let<"H">(i) = X(i) * W(i), [&](Extent I) { return xs(I) * ws(I); });
  });
  visit("string", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {3, 4});
    const auto [W, ws] = t.template input<double>("W", {4, 5});
    t.expect(ein::einsum<"ij,jk->ki">(X, W), [&](Extent K, Extent I) {
      return total(4, [&](Extent J) { return xs(I, J) * ws(J, K); });
    });
  });
  visit("string with implicit output", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 3});
    const auto [W, ws] = t.template input<double>("W", {4, 5});
    t.expect(ein::einsum<"ji,jk">("H", X, W), [&](Extent I, Extent K) {
      return total(4, [&](Extent J) { return xs(J, I) * ws(J, K); });
    });
  });
}

/// One operand, and element-wise statements.
template <class Visit>
void element_cases(const Visit& visit) {
  visit("permutation", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {2, 3, 5});
    t.expect(let<"H">(k, i, j) = X(i, j, k),
             [&](Extent K, Extent I, Extent J) { return xs(I, J, K); });
  });
  visit("row sums", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {5, 6});
    t.expect(let<"H">(i) = sum(j)(X(i, j)),
             [&](Extent I) { return total(6, [&](Extent J) { return xs(I, J); }); });
  });
  visit("trace", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {5, 5});
    t.expect(let<"H">() = sum(i)(X(i, i)),
             [&] { return total(5, [&](Extent I) { return xs(I, I); }); });
  });
  visit("diagonal", [](auto& t) {
    const auto [X, xs] = t.template input<std::int32_t>("X", {4, 3, 4});
    t.expect(let<"H">(j, i) = X(i, j, i), [&](Extent J, Extent I) { return xs(I, J, I); });
  });
  visit("broadcast", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {3});
    t.expect(let<"H">(extent(k, 5), i) = X(i), [&](Extent, Extent I) { return xs(I); });
  });
  visit("broadcast of an aggregation", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {3, 4});
    t.expect(let<"H">(i, extent(k, 5)) = sum(j)(X(i, j)),
             [&](Extent I, Extent) { return total(4, [&](Extent J) { return xs(I, J); }); });
  });
  visit("rank 0", [](auto& t) {
    const auto [A, as] = t.template scalar<double>("A");
    const auto [B, bs] = t.template scalar<double>("B");
    t.expect(let<"H">() = A() - B(), [&] { return as() - bs(); });
  });
  visit("scalar operand", [](auto& t) {
    const auto [A, as] = t.template scalar<double>("A");
    const auto [X, xs] = t.template input<double>("X", {4, 3});
    t.expect(let<"H">(i, j) = A() * X(i, j), [&](Extent I, Extent J) { return as() * xs(I, J); });
  });
  visit("maximum of everything", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 3});
    t.expect(let<"H">() = max(i, j)(X(i, j)), [&] {
      return largest(4, [&](Extent I) { return largest(3, [&](Extent J) { return xs(I, J); }); });
    });
  });
  visit("minimum", [](auto& t) {
    const auto [X, xs] = t.template input<std::int64_t>("X", {4, 3});
    t.expect(let<"H">(j) = min(i)(X(i, j)),
             [&](Extent J) { return smallest(4, [&](Extent I) { return xs(I, J); }); });
  });
  visit("product of everything", [](auto& t) {
    const auto [X, xs] = t.template input<std::int64_t>("X", {4, 3}, 1);
    t.expect(let<"H">() = prod(i, j)(X(i, j)), [&] {
      std::int64_t product = 1;
      for (std::int64_t value : xs.values()) product *= value;
      return product;
    });
  });
  visit("all and any", [](auto& t) {
    const auto [X, xs] = t.template input<std::int32_t>("X", {5, 4});
    t.expect(let<"H">(i) = ein::all(j)(X(i, j)), [&](Extent I) {
      return smallest(4, [&](Extent J) { return xs(I, J) != 0 ? 1 : 0; });
    });
    t.expect(let<"G">(i) = ein::any(j)(X(i, j)),
             [&](Extent I) { return largest(4, [&](Extent J) { return xs(I, J) != 0 ? 1 : 0; }); });
  });
  visit("arithmetic", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 3});
    const auto [Y, ys] = t.template input<double>("Y", {3});
    t.expect(let<"H">(i, j) = (X(i, j) + 1.0) * Y(j) - X(i, j) / 4.0,
             [&](Extent I, Extent J) { return (xs(I, J) + 1) * ys(J) - xs(I, J) / 4; });
  });
  visit("maps", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 3}, 1);
    t.expect(
        let<"H">(i, j) = exp(-X(i, j)) + log(X(i, j)) * tanh(X(i, j)) + sqrt(abs(-X(i, j))),
        [&](Extent I, Extent J) {
          const double x0 = xs(I, J);
          return std::exp(-x0) + std::log(x0) * std::tanh(x0) + std::sqrt(x0);
        },
        false);
  });
  visit("functions of elements", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 3}, 1);
    const auto [Y, ys] = t.template input<double>("Y", {3}, 1);
    t.expect(
        let<"H">(i, j) = sin(X(i, j)) + gelu(X(i, j) - Y(j)) * pow(X(i, j), 2),
        [&](Extent I, Extent J) {
          const double d = xs(I, J) - ys(J);
          return std::sin(xs(I, J)) + d / 2 * std::erfc(-d / std::sqrt(2.0)) * xs(I, J) * xs(I, J);
        },
        false);
    t.expect(let<"G">(i, j) = clip(X(i, j) - Y(j), -1, 1) + (X(i, j) - Y(j)) % 3,
             [&](Extent I, Extent J) {
               const double d = xs(I, J) - ys(J);
               return std::min(std::max(d, -1.0), 1.0) + (d - 3 * std::floor(d / 3));
             });
  });
  visit("statistics", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 6});
    const auto mean_of = [&](Extent I) { return total(6, [&](Extent J) { return xs(I, J); }) / 6; };
    const auto var_of = [&](Extent I) {
      const double mean = mean_of(I);
      return total(6, [&](Extent J) { return (xs(I, J) - mean) * (xs(I, J) - mean); }) / 6;
    };
    t.expect(let<"M">(i) = mean(j)(X(i, j)), mean_of, false);
    t.expect(
        let<"A">() = mean(i, j)(2.0 * X(i, j)), [&] { return total(4, mean_of) / 2; }, false);
    t.expect(
        let<"D">(i) = stddev(j)(X(i, j)), [&](Extent I) { return std::sqrt(var_of(I)); }, false);
    t.expect(
        let<"N">(j) = norm(i)(X(i, j)),
        [&](Extent J) {
          return std::sqrt(total(4, [&](Extent I) { return xs(I, J) * xs(I, J); }));
        },
        false);
    t.expect(
        let<"R">(i, j) = rms_norm(j)(X(i, j), 0.5),
        [&](Extent I, Extent J) {
          const double squares = total(6, [&](Extent K) { return xs(I, K) * xs(I, K); });
          return xs(I, J) / std::sqrt(squares / 6 + 0.5);
        },
        false);
    t.expect(
        let<"L">(i, j) = layer_norm(j)(X(i, j), 0.5),
        [&](Extent I, Extent J) { return (xs(I, J) - mean_of(I)) / std::sqrt(var_of(I) + 0.5); },
        false);
  });
  visit("relu", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 3});
    t.expect(let<"H">(i, j) = relu(X(i, j)),
             [&](Extent I, Extent J) { return std::max(xs(I, J), 0.0); });
    t.expect(let<"G">(i, j) = max(X(i, j), 0.0),
             [&](Extent I, Extent J) { return std::max(xs(I, J), 0.0); });
  });
  visit("comparison and selection", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 3});
    const auto [Y, ys] = t.template input<double>("Y", {3, 4});
    t.expect(let<"H">(i, j) = X(i, j) < Y(j, i),
             [&](Extent I, Extent J) { return xs(I, J) < ys(J, I) ? 1 : 0; });
    t.expect(let<"G">(i, j) = ein::select(X(i, j) >= Y(j, i), X(i, j), 10.0),
             [&](Extent I, Extent J) { return xs(I, J) >= ys(J, I) ? xs(I, J) : 10.0; });
  });
  visit("logic", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 3});
    t.expect(let<"H">(i, j) = !(X(i, j) == 0.0) && (X(i, j) < 2.0 || X(i, j) != 3.0),
             [&](Extent I, Extent J) {
               const double x0 = xs(I, J);
               return x0 != 0 && (x0 < 2 || x0 != 3) ? 1 : 0;
             });
  });
  visit("squared and absolute differences", [](auto& t) {
    const auto [X, xs] = t.template input<float>("X", {4, 3});
    const auto [Y, ys] = t.template input<float>("Y", {5, 3});
    t.expect(let<"H">(i, j) = sum(k)(ein::sq_diff(X(i, k), Y(j, k))), [&](Extent I, Extent J) {
      return total(3, [&](Extent K) { return (xs(I, K) - ys(J, K)) * (xs(I, K) - ys(J, K)); });
    });
    t.expect(let<"G">(i, j) = max(k)(ein::abs_diff(X(i, k), Y(j, k))), [&](Extent I, Extent J) {
      return largest(3, [&](Extent K) { return std::abs(xs(I, K) - ys(J, K)); });
    });
  });
}

/// Other algebras, the user's own operators, nested aggregations.
template <class Visit>
void algebra_cases(const Visit& visit) {
  visit("min-plus", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [Y, ys] = t.template input<double>("Y", {5, 3});
    t.expect(let<"H">(i, k) = min(j)(X(i, j) + Y(j, k)), [&](Extent I, Extent K) {
      return smallest(5, [&](Extent J) { return xs(I, J) + ys(J, K); });
    });
  });
  visit("min-plus of three", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [Y, ys] = t.template input<double>("Y", {5, 3});
    const auto [Z, zs] = t.template input<double>("Z", {3, 2});
    t.expect(let<"H">(i, l) = min(j, k)(X(i, j) + Y(j, k) + Z(k, l)), [&](Extent I, Extent L) {
      return smallest(5, [&](Extent J) {
        return smallest(3, [&](Extent K) { return xs(I, J) + ys(J, K) + zs(K, L); });
      });
    });
  });
  visit("min-plus string", [](auto& t) {
    const auto [X, xs] = t.template input<std::int32_t>("X", {4, 5});
    const auto [Y, ys] = t.template input<std::int32_t>("Y", {5, 3});
    t.expect(ein::einsum<"ij,jk->ik", ein::MinPlus>(X, Y), [&](Extent I, Extent K) {
      return smallest(5, [&](Extent J) { return xs(I, J) + ys(J, K); });
    });
  });
  visit("bottleneck", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [Y, ys] = t.template input<double>("Y", {5, 3});
    t.expect(ein::einsum<"ij,jk->ik", ein::MaxMin>("H", X, Y), [&](Extent I, Extent K) {
      return largest(5, [&](Extent J) { return std::min(xs(I, J), ys(J, K)); });
    });
  });
  visit("reachability", [](auto& t) {
    const auto [X, xs] = t.template input<std::int32_t>("X", {5, 5}, -6);
    t.expect(let<"H">(i, k) = ein::any(j)(X(i, j) && X(j, k)), [&](Extent I, Extent K) {
      return largest(5, [&](Extent J) { return xs(I, J) != 0 && xs(J, K) != 0 ? 1 : 0; });
    });
  });
  visit("argmin and argmax", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {6, 9});
    const auto first = [&](Extent I, double sign) {
      std::int64_t best = 0;
      for (Extent J = 0; J < 9; ++J) {
        if (sign * xs(I, J) < sign * xs(I, best)) best = J;
      }
      return best;
    };
    t.expect(let<"H">(i) = ein::argmin(j)(X(i, j)), [&](Extent I) { return first(I, 1); });
    t.expect(let<"G">(i) = ein::argmax(j)(X(i, j)), [&](Extent I) { return first(I, -1); });
  });
  visit("nearest neighbour", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {6, 2});
    const auto distances = let<"D">(i, j) = sum(k)(ein::sq_diff(X(i, k), X(j, k)));
    const auto square = [](double value) { return value * value; };
    const auto distance = [&](Extent I, Extent J) {
      return total(2, [&](Extent K) { return square(xs(I, K) - xs(J, K)); });
    };
    t.expect(let<"N">(i) = ein::argmin(j)(distances(i, j)), [&](Extent I) {
      std::int64_t best = 0;
      for (Extent J = 0; J < 6; ++J) {
        if (distance(I, J) < distance(I, best)) best = J;
      }
      return best;
    });
  });
  visit("log-sum-exp", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {5, 4});
    t.expect(
        let<"H">(i) = ein::log_sum_exp(j)(X(i, j)),
        [&](Extent I) { return std::log(total(4, [&](Extent J) { return std::exp(xs(I, J)); })); },
        false);
  });
  visit("a product of floats in double", [](auto& t) {
    const auto [X, xs] = t.template input<float>("X", {4, 5});
    const auto [Y, ys] = t.template input<float>("Y", {5, 3});
    t.expect(let<"H">(i, k) = sum(j)(ein::cast<double>(X(i, j)) * Y(j, k)),
             [&](Extent I, Extent K) {
               return total(5, [&](Extent J) { return static_cast<double>(xs(I, J)) * ys(J, K); });
             });
  });
  visit("a compensated sum", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {7, 4});
    t.expect(let<"H">(j) = ein::compensated_sum(i)(X(i, j)),
             [&](Extent J) { return total(7, [&](Extent I) { return xs(I, J); }); });
  });
  visit("the user's join, with state", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [Y, ys] = t.template input<double>("Y", {5, 3});
    t.expect(let<"H">(i, k) = sum(j)(ein::join(WeightedGap{0.25}, X(i, j), Y(j, k))),
             [&](Extent I, Extent K) {
               return total(5, [&](Extent J) { return 0.25 * std::abs(xs(I, J) - ys(J, K)); });
             });
  });
  visit("the user's monoid", [](auto& t) {
    const auto [X, xs] = t.template input<std::int64_t>("X", {4, 6}, 1);
    t.expect(let<"H">(i) = ein::aggregate<Gcd>(j)(12 * X(i, j)), [&](Extent I) {
      std::int64_t divisor = 0;
      for (Extent J = 0; J < 6; ++J) divisor = Gcd{}(divisor, 12 * xs(I, J));
      return divisor;
    });
  });
  visit("the user's monoid with an accumulator", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {3, 8});
    t.expect(let<"H">(i) = ein::aggregate(Mean{}, j)(X(i, j)),
             [&](Extent I) { return total(8, [&](Extent J) { return xs(I, J); }) / 8; });
  });
  visit("the user's map", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto half_open = [](double value) { return value > 1 ? value : value / 2; };
    t.expect(let<"H">(i, j) = ein::map(half_open, X(i, j)),
             [&](Extent I, Extent J) { return half_open(xs(I, J)); });
  });
  visit("aggregations inside an expression", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    t.expect(let<"H">(i, j) = X(i, j) - max(j)(X(i, j)) + sum(i)(X(i, j)), [&](Extent I, Extent J) {
      return xs(I, J) - largest(5, [&](Extent M) { return xs(I, M); }) +
             total(4, [&](Extent M) { return xs(M, J); });
    });
  });
  visit("aggregation of an aggregation", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5, 3});
    t.expect(let<"H">(k) = max(i)(sum(j)(X(i, j, k))), [&](Extent K) {
      return largest(4, [&](Extent I) { return total(5, [&](Extent J) { return xs(I, J, K); }); });
    });
  });
  visit("product of sums", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [Y, ys] = t.template input<double>("Y", {5, 3});
    t.expect(let<"H">(i, k) = sum(j)(X(i, j)) * sum(j)(Y(j, k)), [&](Extent I, Extent K) {
      return total(5, [&](Extent J) { return xs(I, J); }) *
             total(5, [&](Extent J) { return ys(J, K); });
    });
  });
  visit("product with itself", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    t.expect(let<"H">(i, k) = sum(j)(X(i, j) * X(k, j)), [&](Extent I, Extent K) {
      return total(5, [&](Extent J) { return xs(I, J) * xs(K, J); });
    });
  });
}

/// Several statements, macros, loops, run-time names.
template <class Visit>
void program_cases(const Visit& visit) {
  visit("two layers", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [V, vs] = t.template input<double>("V", {5, 6});
    const auto [W, ws] = t.template input<double>("W", {6, 3});
    const auto H = let<"H">(i, k) = sum(j)(X(i, j) * V(j, k));
    const auto R = let<"R">(i, k) = relu(H(i, k));
    t.expect(let<"Y">(i, l) = sum(k)(R(i, k) * W(k, l)), [&](Extent I, Extent L) {
      return total(6, [&](Extent K) {
        return std::max(0.0, total(5, [&](Extent J) { return xs(I, J) * vs(J, K); })) * ws(K, L);
      });
    });
  });
  visit("layers in a loop", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {3, 3});
    const auto [W, ws] = t.template input<double>("W", {3, 3});
    auto Y = X;
    Array<double, 2> ys = xs;
    for (int layer = 0; layer < 4; ++layer) {
      Y = let("Y" + std::to_string(layer))(i, k) = sum(j)(Y(i, j) * W(j, k));
      Array<double, 2> next(ys.extents());
      next.fill([&](Extent I, Extent K) {
        return total(3, [&](Extent J) { return ys(I, J) * ws(J, K); });
      });
      ys = next;
    }
    t.expect(Y, [&](Extent I, Extent J) { return ys(I, J); });
  });
  visit("matrix chain of the paper", [](auto& t) {
    const auto [A, as] = t.template input<double>("A", {4, 5});
    const auto [B, bs] = t.template input<double>("B", {5, 6});
    const auto [C, cs] = t.template input<double>("C", {4, 3});
    const auto [D, ds] = t.template input<double>("D", {3, 7});
    const auto [E, es] = t.template input<double>("E", {7, 6});
    const auto AB = let<"AB">(i, k) = sum(j)(A(i, j) * B(j, k));
    const auto DE = let<"DE">(l, k) = sum(m)(D(l, m) * E(m, k));
    const auto CDE = let<"CDE">(i, k) = sum(l)(C(i, l) * DE(l, k));
    t.expect(let<"Z">(i, k) = AB(i, k) + CDE(i, k), [&](Extent I, Extent K) {
      return total(5, [&](Extent J) { return as(I, J) * bs(J, K); }) + total(3, [&](Extent L) {
               return cs(I, L) * total(7, [&](Extent M) { return ds(L, M) * es(M, K); });
             });
    });
  });
  visit("softmax", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 6});
    t.expect(
        let<"S">(i, k) = ein::softmax(k)(X(i, k)),
        [&](Extent I, Extent K) {
          return std::exp(xs(I, K)) / total(6, [&](Extent M) { return std::exp(xs(I, M)); });
        },
        false);
  });
  visit("softmax along the middle of rank 3, of an expression", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {3, 4, 2});
    t.expect(
        let<"S">(k, i, j) = ein::softmax(j)(0.5 * X(i, j, k)),
        [&](Extent K, Extent I, Extent J) {
          return std::exp(0.5 * xs(I, J, K)) /
                 total(4, [&](Extent M) { return std::exp(0.5 * xs(I, M, K)); });
        },
        false);
  });
  visit("softmax of a vector", [](auto& t) {
    const auto [X, xs] = t.template input<float>("X", {9});
    t.expect(
        let<"S">(i) = ein::softmax(i)(X(i)),
        [&](Extent I) {
          return std::exp(xs(I)) / total(9, [&](Extent M) { return std::exp(xs(M)); });
        },
        false);
  });
  visit("log-softmax", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 6});
    t.expect(
        let<"S">(i, k) = ein::log_softmax(k)(X(i, k)),
        [&](Extent I, Extent K) {
          return xs(I, K) - std::log(total(6, [&](Extent M) { return std::exp(xs(I, M)); }));
        },
        false);
  });
  visit("attention", [](auto& t) {
    const auto [Q, qs] = t.template input<double>("Q", {4, 3});
    const auto [K, ks] = t.template input<double>("K", {5, 3});
    const auto [V, vs] = t.template input<double>("V", {5, 2});
    t.expect(
        ein::attention(Q, K, V, 0.5),
        [&](Extent S, Extent E) {
          const auto score = [&](Extent T) {
            return std::exp(0.5 * total(3, [&](Extent D) { return qs(S, D) * ks(T, D); }));
          };
          return total(5, [&](Extent T) { return score(T) * vs(T, E); }) / total(5, score);
        },
        false);
  });
  visit("multi-head attention", [](auto& t) {
    const auto [Q, qs] = t.template input<double>("Q", {4, 5}, -1);
    const auto [WQ, wqs] = t.template input<double>("WQ", {5, 2, 3}, -3);
    const auto [WO, wos] = t.template input<double>("WO", {5, 2, 3}, -3);
    t.expect(
        ein::multi_head_attention(Q, Q, Q, WQ, WQ, WQ, WO, 0.001),
        [&](Extent S, Extent A) {
          const auto head = [&](Extent R, Extent H, Extent D) {
            return total(5, [&](Extent B) { return qs(R, B) * wqs(B, H, D); });
          };
          return total(2, [&](Extent H) {
            return total(3, [&](Extent D) {
              const auto score = [&](Extent T) {
                return std::exp(0.001 *
                                total(3, [&](Extent C) { return head(S, H, C) * head(T, H, C); }));
              };
              return wos(A, H, D) * total(4, [&](Extent T) { return score(T) * head(T, H, D); }) /
                     total(4, score);
            });
          });
        },
        false);
  });
  visit("power iteration's step", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {5, 5}, 1);
    const auto [V, vs] = t.template input<double>("V", {5}, 1);
    const auto Y = let<"Y">(i) = sum(j)(X(i, j) * V(j));
    t.expect(
        let<"N">(i) = Y(i) / sqrt(sum(i)(Y(i) * Y(i))),
        [&](Extent I) {
          const auto y = [&](Extent R) {
            return total(5, [&](Extent J) { return xs(R, J) * vs(J); });
          };
          return y(I) / std::sqrt(total(5, [&](Extent R) { return y(R) * y(R); }));
        },
        false);
  });
  visit("covariance", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {8, 3});
    const auto M = let<"M">(j) = sum(i)(X(i, j) / 8.0);
    t.expect(let<"C">(j, k) = sum(i)((X(i, j) - M(j)) * (X(i, k) - M(k))), [&](Extent J, Extent K) {
      const auto mean = [&](Extent R) { return total(8, [&](Extent I) { return xs(I, R) / 8; }); };
      return total(8, [&](Extent I) { return (xs(I, J) - mean(J)) * (xs(I, K) - mean(K)); });
    });
  });
  visit("rank 6", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {2, 3, 2, 2, 3, 2});
    const auto [Y, ys] = t.template input<double>("Y", {3, 2});
    t.expect(let<"H">(n, i, k, l, a, m) = sum(j)(X(i, j, k, l, m, n) * Y(j, a)),
             [&](Extent N, Extent I, Extent K, Extent L, Extent A, Extent M) {
               return total(3, [&](Extent J) { return xs(I, J, K, L, M, N) * ys(J, A); });
             });
  });
  visit("extent 1", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {1, 1});
    const auto [Y, ys] = t.template input<double>("Y", {1, 4});
    t.expect(let<"H">(i, k) = sum(j)(X(i, j) * Y(j, k)),
             [&](Extent, Extent K) { return xs(0, 0) * ys(0, K); });
  });
  visit("Bellman-Ford steps", [](auto& t) {
    const auto [W, ws] = t.template input<std::int64_t>("W", {6, 6}, 1);
    auto D = W;
    Array<std::int64_t, 2> ds = ws;
    for (int step = 0; step < 3; ++step) {
      D = let<"D">(i, j) = min(D(i, j), min(k)(D(i, k) + D(k, j)));
      Array<std::int64_t, 2> next(ds.extents());
      next.fill([&](Extent I, Extent J) {
        return std::min(ds(I, J), smallest(6, [&](Extent K) { return ds(I, K) + ds(K, J); }));
      });
      ds = next;
    }
    t.expect(D, [&](Extent I, Extent J) { return ds(I, J); });
  });
}

/// Products of sums, differences, negatives and constants, and sums of products, which rewrites
/// take apart; beside them the same as written.
template <class Visit>
void separable_cases(const Visit& visit) {
  visit("a product with a sum of products", [](auto& t) {
    const auto [T, ts] = t.template input<double>("T", {2, 3, 4, 5});
    const auto [U, us] = t.template input<double>("U", {2, 4});
    const auto [V, vs] = t.template input<double>("V", {3, 5});
    const auto [W, ws] = t.template input<double>("W", {4, 5, 3});
    const auto each = [&](Extent I, Extent J, Extent A) {
      return total(4, [&](Extent E) {
        return total(5, [&](Extent F) {
          return (0.5 * ts(I, J, E, F) + us(I, E) * vs(J, F)) * ws(E, F, A);
        });
      });
    };
    t.expect(let<"H">(i, j, a) = sum(e, f)((0.5 * T(i, j, e, f) + U(i, e) * V(j, f)) * W(e, f, a)),
             each);
    t.expect(let<"G">(i, j, a) =
                 sum(e, f)(ein::as_written((0.5 * T(i, j, e, f) + U(i, e) * V(j, f)) * W(e, f, a))),
             each);
  });
  visit("a product with a difference of a tensor and its transpose", [](auto& t) {
    const auto [T, ts] = t.template input<std::int64_t>("T", {4, 5});
    const auto [V, vs] = t.template input<std::int64_t>("V", {5, 5});
    const auto each = [&](Extent I, Extent K) {
      return total(5, [&](Extent F) { return ts(I, F) * (2 * vs(F, K) - vs(K, F)); });
    };
    t.expect(let<"H">(i, k) = sum(f)(T(i, f) * (2 * V(f, k) - V(k, f))), each);
    t.expect(let<"G">(i, k) = sum(f)(ein::as_written(T(i, f) * (2 * V(f, k) - V(k, f)))), each);
  });
  visit("signs in products", [](auto& t) {
    const auto [T, ts] = t.template input<double>("T", {4, 5});
    const auto [W, ws] = t.template input<double>("W", {5, 3});
    const auto product = [&](Extent I, Extent K) {
      return total(5, [&](Extent F) { return ts(I, F) * ws(F, K); });
    };
    t.expect(let<"H">(i, k) = sum(f)(-T(i, f) * W(f, k)),
             [&](Extent I, Extent K) { return -product(I, K); });
    t.expect(let<"G">(i, k) = sum(f)(-(T(i, f) * 2.0 * -W(f, k))),
             [&](Extent I, Extent K) { return 2 * product(I, K); });
    t.expect(let<"M">(i, k) = max(f)(-(T(i, f) * W(f, k))), [&](Extent I, Extent K) {
      return largest(5, [&](Extent F) { return -ts(I, F) * ws(F, K); });
    });
  });
  visit("a sum of products under one aggregation", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [Y, ys] = t.template input<double>("Y", {5, 3});
    const auto [Z, zs] = t.template input<double>("Z", {4});
    const auto [V, vs] = t.template input<double>("V", {5});
    const auto each = [&](Extent I, Extent K) {
      return total(5, [&](Extent J) { return xs(I, J) * ys(J, K) - 3 * zs(I) * vs(J) + vs(J); });
    };
    t.expect(let<"H">(i, k) = sum(j)(X(i, j) * Y(j, k) - 3.0 * Z(i) * V(j) + V(j)), each);
    t.expect(let<"G">(i, k) = sum(j)(ein::as_written(X(i, j) * Y(j, k) - 3.0 * Z(i) * V(j) + V(j))),
             each);
    t.expect(let<"B">(i, k, extent(b, 2)) = sum(j)(X(i, j) * Y(j, k) + Z(i) * V(j)),
             [&](Extent I, Extent K, Extent) {
               return total(5, [&](Extent J) { return xs(I, J) * ys(J, K) + zs(I) * vs(J); });
             });
  });
  visit("maps of factors", [](auto& t) {
    const auto [X, xs] = t.template input<float>("X", {4, 5});
    const auto [Y, ys] = t.template input<float>("Y", {5, 3});
    t.expect(let<"H">(i, k) = sum(j)(relu(X(i, j)) * (Y(j, k) < 1.0F)), [&](Extent I, Extent K) {
      return total(5, [&](Extent J) {
        return std::max(xs(I, J), 0.0F) * static_cast<float>(ys(J, K) < 1 ? 1 : 0);
      });
    });
    t.expect(let<"G">(i, k) = max(j)(ein::abs_diff(2.0F * X(i, j), Y(j, k))),
             [&](Extent I, Extent K) {
               return largest(5, [&](Extent J) { return std::abs(2 * xs(I, J) - ys(J, K)); });
             });
  });
  visit("products of several types", [](auto& t) {
    const auto [F, fs] = t.template input<float>("F", {4, 5});
    const auto [D, ds] = t.template input<double>("D", {5, 3});
    const auto [N, ns] = t.template input<std::int32_t>("N", {3, 2});
    const auto [V, vs] = t.template input<float>("V", {5});
    const auto product = [&](Extent I, Extent K) {
      return total(5, [&](Extent J) { return double(fs(I, J)) * ds(J, K); });
    };
    t.expect(let<"H">(i, k) = sum(j)(F(i, j) * D(j, k)), product);
    t.expect(let<"G">(i, l) = sum(j, k)(-F(i, j) * D(j, k) * N(k, l)), [&](Extent I, Extent L) {
      return -total(3, [&](Extent K) { return product(I, K) * ns(K, L); });
    });
    t.expect(let<"S">(i, k) = sum(j)((F(i, j) + V(j)) * D(j, k)), [&](Extent I, Extent K) {
      return total(5, [&](Extent J) { return double(fs(I, J) + vs(J)) * ds(J, K); });
    });
    // Every element of D meets one of V, every one of V three of D.
    t.expect(let<"P">(k) = sum(j)(V(j) * D(j, k)), [&](Extent K) {
      return total(5, [&](Extent J) { return double(vs(J)) * ds(J, K); });
    });
    t.expect(let<"Q">(i) = sum(j)(F(i, j) * D(j, 1)), [&](Extent I) { return product(I, 1); });
  });
  visit("a product of twelve", [](auto& t) {
    const auto [X, xs] = t.template input<std::int64_t>("X", {3, 3}, -1);
    const auto [Y, ys] = t.template input<std::int64_t>("Y", {3}, -1);
    const auto product = [&](Extent I) {
      Array<std::int64_t, 1> at({3});
      at.fill([&](Extent J) { return ys(J); });
      for (int step = 0; step < 11; ++step) {
        Array<std::int64_t, 1> next({3});
        next.fill([&](Extent J) { return total(3, [&](Extent K) { return xs(J, K) * at(K); }); });
        at = next;
      }
      return at(I);
    };
    t.expect(let<"H">(a) = sum(b, c, d, e, f, g, h, i, j, k,
                               l)(X(a, b) * X(b, c) * X(c, d) * X(d, e) * X(e, f) * X(f, g) *
                                  X(g, h) * X(h, i) * X(i, j) * X(j, k) * X(k, l) * Y(l)),
             product);
  });
  visit("other algebras", [](auto& t) {
    const auto [X, xs] = t.template input<double>("X", {4, 5});
    const auto [Y, ys] = t.template input<double>("Y", {4, 5});
    const auto [Z, zs] = t.template input<double>("Z", {5, 3});
    t.expect(let<"H">(i, k) = min(j)(min(X(i, j), Y(i, j)) + Z(j, k)), [&](Extent I, Extent K) {
      return smallest(5, [&](Extent J) { return std::min(xs(I, J), ys(I, J)) + zs(J, K); });
    });
    t.expect(let<"G">(i, k) = max(j)(max(X(i, j) + Z(j, k), Y(i, j))), [&](Extent I, Extent K) {
      return largest(5, [&](Extent J) { return std::max(xs(I, J) + zs(J, K), ys(I, J)); });
    });
    t.expect(let<"P">(i, k) = prod(j)(X(i, j) * Z(j, k)), [&](Extent I, Extent K) {
      double product = 1;
      for (Extent J = 0; J < 5; ++J) product *= xs(I, J) * zs(J, K);
      return product;
    });
  });
}

template <class Visit>
void all_cases(const Visit& visit) {
  contraction_cases(visit);
  element_cases(visit);
  algebra_cases(visit);
  program_cases(visit);
  separable_cases(visit);
}

}  // namespace property
