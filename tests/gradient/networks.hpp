// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The networks that make_expected.py trains, and the numbers that it begins with.
#pragma once

#include <cstdint>
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

/// All weights of a network.
template <class T, class Program, template <class, class> class Network>
std::vector<ein::Weight<T, typename Program::Backend>> weights_of(const Network<T, Program>& net) {
  std::vector<ein::Weight<T, typename Program::Backend>> all;
  net.each_weight([&all](const auto& weight) { all.push_back(weight); });
  return all;
}

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

  explicit Perceptron(Program& g, ein::Extent samples = 12)
      : X(g.template input<T>("X", {samples, 9})),
        D(g.template input<T>("D", {samples, 5})),
        W1(g.template input<T>("W1", {9, 8})),
        B1(g.template input<T>("B1", {8})),
        W2(g.template input<T>("W2", {8, 5})),
        loss(written()) {
    g.role(ein::labels::b, "batch");
    g.role(ein::labels::j, "hidden");
  }
  /// Calls f with every weight.
  template <class F>
  void each_weight(const F& f) const {
    f(W1);
    f(B1);
    f(W2);
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
    g.role(ein::labels::o, "hidden");
  }
  /// Calls f with every weight.
  template <class Call>
  void each_weight(const Call& f) const {
    f(F);
    f(B);
    f(W);
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

/// A transformer of two layers whose norms come first, and the cross entropy of what it says of the
/// character behind each: embeddings, two heads with a causal mask, a layer of neurons.
template <class T, class Program>
struct Transformer {
  struct Layer {
    Tensor<T, Program, 1> G;
    Tensor<T, Program, 3> WQ, WK, WV, WO;
    Tensor<T, Program, 2> W1, W2;
  };
  ein::Symbol<std::int32_t, 2, typename Program::Backend> X, D;
  Tensor<T, Program, 2> M, E, P;
  std::vector<Layer> layers;
  Tensor<T, Program, 2> U;
  Tensor<T, Program, 0> loss;

  explicit Transformer(Program& g)
      : X(g.template input<std::int32_t>("X", {4, 6})),
        D(g.template input<std::int32_t>("D", {4, 6})),
        M(g.template input<T>("M", {6, 6})),
        E(g.template input<T>("E", {7, 8})),
        P(g.template input<T>("P", {6, 8})),
        layers{layer(g, "0"), layer(g, "1")},
        U(g.template input<T>("U", {8, 7})),
        loss(written()) {
    g.role(ein::labels::b, "batch");
    g.role(ein::labels::s, "sequence");
    g.role(ein::labels::t, "sequence");
    g.role(ein::labels::h, "head");
    g.role(ein::labels::f, "hidden");
  }
  /// Calls f with every weight.
  template <class Call>
  void each_weight(const Call& f) const {
    f(E);
    f(P);
    for (const Layer& l : layers) {
      f(l.G);
      f(l.WQ);
      f(l.WK);
      f(l.WV);
      f(l.WO);
      f(l.W1);
      f(l.W2);
    }
    f(U);
  }
  /// Of all inputs.
  static Values values() {
    Values all{{"X", numbers(24, 1, 0, 7)},      {"D", numbers(24, 2, 0, 7)},
               {"E", numbers(56, 3, -1, 1)},     {"P", numbers(48, 4, -1, 1)},
               {"U", numbers(56, 5, -0.5, 0.5)}, {"M", {}}};
    for (int place = 0; place < 36; ++place) {
      all["M"].push_back(place % 6 <= place / 6 ? 0 : -1e9);
    }
    for (int n = 0; n < 2; ++n) {
      const std::string of = std::to_string(n);
      const int seed = 10 * (n + 1);
      all["G" + of] = numbers(8, seed, 0.5, 1.5);
      all["WQ" + of] = numbers(64, seed + 1, -0.5, 0.5);
      all["WK" + of] = numbers(64, seed + 2, -0.5, 0.5);
      all["WV" + of] = numbers(64, seed + 3, -0.5, 0.5);
      all["WO" + of] = numbers(64, seed + 4, -0.5, 0.5);
      all["W1" + of] = numbers(128, seed + 5, -0.5, 0.5);
      all["W2" + of] = numbers(128, seed + 6, -0.5, 0.5);
    }
    return all;
  }

 private:
  static Layer layer(Program& g, const std::string& of) {
    return {g.template input<T>("G" + of, {8}),        g.template input<T>("WQ" + of, {8, 2, 4}),
            g.template input<T>("WK" + of, {8, 2, 4}), g.template input<T>("WV" + of, {8, 2, 4}),
            g.template input<T>("WO" + of, {2, 4, 8}), g.template input<T>("W1" + of, {8, 16}),
            g.template input<T>("W2" + of, {16, 8})};
  }
  [[nodiscard]] Tensor<T, Program, 0> written() const {
    using namespace ein::labels;
    Tensor<T, Program, 3> Y = ein::let<"Y">(b, s, d) = E(X(b, s), d) + P(s, d);
    for (const Layer& l : layers) {
      const auto N = ein::let<"N">(b, s, d) = ein::layer_norm(d)(Y(b, s, d), 1e-5) * l.G(d);
      const auto Q = ein::let<"Q">(b, h, s, e) = sum(d)(N(b, s, d) * l.WQ(d, h, e));
      const auto K = ein::let<"K">(b, h, t, e) = sum(d)(N(b, t, d) * l.WK(d, h, e));
      const auto V = ein::let<"V">(b, h, t, e) = sum(d)(N(b, t, d) * l.WV(d, h, e));
      const auto A = ein::let<"A">(b, h, s, t) =
          ein::softmax(t)(0.5 * sum(e)(Q(b, h, s, e) * K(b, h, t, e)) + M(s, t));
      const auto O = ein::let<"O">(b, h, s, e) = sum(t)(A(b, h, s, t) * V(b, h, t, e));
      const auto R = ein::let<"R">(b, s, d) = Y(b, s, d) + sum(h, e)(O(b, h, s, e) * l.WO(h, e, d));
      const auto F = ein::let<"F">(b, s, d) = ein::layer_norm(d)(R(b, s, d), 1e-5);
      const auto H = ein::let<"H">(b, s, f) = ein::gelu(sum(d)(F(b, s, d) * l.W1(d, f)));
      Y = ein::let<"Y">(b, s, d) = R(b, s, d) + sum(f)(H(b, s, f) * l.W2(f, d));
    }
    const auto S = ein::let<"S">(b, s, v) = ein::log_softmax(v)(sum(d)(Y(b, s, d) * U(d, v)));
    const auto own = ein::let<"own">(b, s) = S(b, s, D(b, s));
    return ein::let<"loss">() = -1.0 * ein::mean(b, s)(own(b, s));
  }
};

}  // namespace networks
