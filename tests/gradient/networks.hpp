// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The networks that make_expected.py trains, and the numbers that it begins with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "eindecomp/train/minimise.hpp"
#include "gradient/jax.hpp"

namespace networks {

namespace ein = eindecomp;
using eindecomp_tests::numbers;
using Values = std::map<std::string, std::vector<double>>;
template <class T, class Program, int Rank>
using Tensor = ein::Symbol<T, Rank, typename Program::Backend>;

/// The cross entropy of what a network says and of targets.
template <class T, class Program>
Tensor<T, Program, 0> cross_entropy(const Tensor<T, Program, 2>& Z,
                                    const Tensor<T, Program, 2>& targets) {
  using namespace ein::labels;
  const auto P = ein::let<"P">(b, k) = ein::log_softmax(k)(Z(b, k));
  return ein::let<"loss">() = -1.0 * ein::mean(b)(sum(k)(targets(b, k) * P(b, k)));
}

/// Two layers.
template <class T, class Program>
struct Perceptron {
  Tensor<T, Program, 2> X, D, W1;
  Tensor<T, Program, 1> B1;
  Tensor<T, Program, 2> W2;
  Tensor<T, Program, 0> loss;

  explicit Perceptron(Program& g)
      : X(g.template input<T>("X", {12, 9})),
        D(g.template input<T>("D", {12, 5})),
        W1(g.template input<T>("W1", {9, 8})),
        B1(g.template input<T>("B1", {8})),
        W2(g.template input<T>("W2", {8, 5})),
        loss(written()) {
    g.role(ein::labels::b, "batch");
    g.role(ein::labels::j, "hidden");
  }
  [[nodiscard]] std::vector<ein::Weight<T, typename Program::Backend>> weights() const {
    return {W1, B1, W2};
  }
  /// Of all inputs.
  static Values values() {
    return {{"X", numbers(108, 1, -1, 1)},
            {"D", numbers(60, 2, 0, 0.4)},
            {"W1", numbers(72, 3, -1, 1)},
            {"B1", numbers(8, 4, -1, 1)},
            {"W2", numbers(40, 5, -1, 1)}};
  }

 private:
  [[nodiscard]] Tensor<T, Program, 0> written() const {
    using namespace ein::labels;
    const auto H = ein::let<"H">(b, j) = relu(sum(i)(X(b, i) * W1(i, j)) + B1(j));
    const auto Z = ein::let<"Z">(b, k) = sum(j)(H(b, j) * W2(j, k));
    return cross_entropy<T, Program>(Z, D);
  }
};

/// A convolution, a pool, a layer.
template <class T, class Program>
struct Convolutional {
  Tensor<T, Program, 4> X;
  Tensor<T, Program, 2> D;
  Tensor<T, Program, 4> F;
  Tensor<T, Program, 1> B;
  Tensor<T, Program, 4> W;
  Tensor<T, Program, 0> loss;

  explicit Convolutional(Program& g)
      : X(g.template input<T>("X", {6, 2, 6, 6})),
        D(g.template input<T>("D", {6, 5})),
        F(g.template input<T>("F", {4, 2, 3, 3})),
        B(g.template input<T>("B", {4})),
        W(g.template input<T>("W", {4, 3, 3, 5})),
        loss(written()) {
    g.role(ein::labels::b, "batch");
  }
  [[nodiscard]] std::vector<ein::Weight<T, typename Program::Backend>> weights() const {
    return {F, B, W};
  }
  /// Of all inputs.
  static Values values() {
    return {{"X", numbers(432, 1, -1, 1)},
            {"D", numbers(30, 2, 0, 0.4)},
            {"F", numbers(72, 3, -0.5, 0.5)},
            {"B", numbers(4, 4, -1, 1)},
            {"W", numbers(180, 5, -0.5, 0.5)}};
  }

 private:
  [[nodiscard]] Tensor<T, Program, 0> written() const {
    using namespace ein::labels;
    const auto Y = ein::let<"Y">(b, o, y, x) =
        relu(sum(c, r, s)(X(b, c, y + r - 1, x + s - 1) * F(o, c, r, s)) + B(o));
    const auto S = ein::let<"S">(b, o, y, x) =
        max(r, s)(Y(b, o, 2 * y + ein::extent(r, 2), 2 * x + ein::extent(s, 2)));
    const auto Z = ein::let<"Z">(b, k) = sum(o, y, x)(S(b, o, y, x) * W(o, y, x, k));
    return cross_entropy<T, Program>(Z, D);
  }
};

}  // namespace networks
