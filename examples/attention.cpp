// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Multi-head attention over a batch of sequences, written in index notation and checked against
/// plain loops.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "support/example.hpp"
#include "support/npy.hpp"

namespace ein = eindecomp;
using ein::let;
// The paper's: batch, sequence (s asks, t answers), head, attribute, and d attributes per head.
using ein::labels::a, ein::labels::b, ein::labels::d, ein::labels::h, ein::labels::s,
    ein::labels::t;

namespace {

struct Sizes {
  ein::Extent batch = 4;
  ein::Extent sequence = 48;
  ein::Extent heads = 8;
  ein::Extent per_head = 32;
  [[nodiscard]] ein::Extent attributes() const { return heads * per_head; }
};

/// Data for input number n, of any number of indices: even, small, without a pattern.
template <class... Indices>
[[nodiscard]] double data(int n, Indices... index) {
  double phase = n;
  ((phase = 1.7 * phase + std::sin(static_cast<double>(index) + phase)), ...);
  return 0.2 * std::sin(phase);
}

/// The same in plain loops, row-major.
[[nodiscard]] std::vector<double> reference(const Sizes& size, double scale) {
  const auto B = size.batch, S = size.sequence, H = size.heads, D = size.per_head,
             A = size.attributes();
  const auto at = [](auto... index) { return static_cast<std::size_t>((index + ...)); };
  // One projection of X: out(s, h, d) of one sequence.
  const auto project = [&](ein::Extent sequence, int weights) {
    std::vector<double> w(at(A * A)), x(at(A)), out(at(S * A), ein::Extent{0});
    for (ein::Extent attribute = 0; attribute < A; ++attribute) {
      for (ein::Extent n = 0; n < A; ++n)
        w[at(attribute * A, n)] = data(weights, attribute, n / D, n % D);
    }
    for (ein::Extent row = 0; row < S; ++row) {
      for (ein::Extent attribute = 0; attribute < A; ++attribute) {
        const double element = data(0, sequence, row, attribute);
        for (ein::Extent n = 0; n < A; ++n)
          out[at(row * A, n)] += element * w[at(attribute * A, n)];
      }
    }
    return out;
  };
  std::vector<double> y;
  for (ein::Extent sequence = 0; sequence < B; ++sequence) {
    const auto q = project(sequence, 1), k = project(sequence, 2), v = project(sequence, 3);
    std::vector<double> heads(at(S * A), ein::Extent{0});
    for (ein::Extent head = 0; head < H; ++head) {
      for (ein::Extent asks = 0; asks < S; ++asks) {
        std::vector<double> weight;
        double largest = -INFINITY, total = 0;
        for (ein::Extent answers = 0; answers < S; ++answers) {
          double score = 0;
          for (ein::Extent n = head * D; n < (head + 1) * D; ++n) {
            score += q[at(asks * A, n)] * k[at(answers * A, n)];
          }
          weight.push_back(scale * score);
          largest = std::max(largest, scale * score);
        }
        for (double& w : weight) total += w = std::exp(w - largest);
        for (ein::Extent answers = 0; answers < S; ++answers) {
          for (ein::Extent n = head * D; n < (head + 1) * D; ++n) {
            heads[at(asks * A, n)] += weight[at(answers)] / total * v[at(answers * A, n)];
          }
        }
      }
    }
    for (ein::Extent row = 0; row < S; ++row) {
      for (ein::Extent attribute = 0; attribute < A; ++attribute) {
        double sum = 0;
        for (ein::Extent n = 0; n < A; ++n) {
          sum += heads[at(row * A, n)] * data(4, attribute, n / D, n % D);
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Multi-head attention over a batch of sequences");
  Sizes size;
  std::string output;
  app.add_option("--batch", size.batch, "sequences")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--sequence", size.sequence, "length of each")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--heads", size.heads, "attention heads")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--per-head", size.per_head, "attributes of each head")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--output", output, "write the result to this .npy");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(size.per_head));
    const ein::Extent A = size.attributes();

    ein::Program g;
    auto X = g.input<double>("X", {size.batch, size.sequence, A});
    auto WQ = g.input<double>("WQ", {A, size.heads, size.per_head});
    auto WK = g.input<double>("WK", {A, size.heads, size.per_head});
    auto WV = g.input<double>("WV", {A, size.heads, size.per_head});
    auto WO = g.input<double>("WO", {A, size.heads, size.per_head});
    auto Q = let<"Q">(b, s, h, d) = sum(a)(X(b, s, a) * WQ(a, h, d));
    auto K = let<"K">(b, t, h, d) = sum(a)(X(b, t, a) * WK(a, h, d));
    auto V = let<"V">(b, t, h, d) = sum(a)(X(b, t, a) * WV(a, h, d));
    auto T = let<"T">(b, h, s, t) = sum(d)(scale * Q(b, s, h, d) * K(b, t, h, d));
    auto P = let<"P">(b, h, s, t) = softmax(t)(T(b, h, s, t));
    auto O = let<"O">(b, s, h, d) = sum(t)(P(b, h, s, t) * V(b, t, h, d));
    auto Y = let<"Y">(b, s, a) = sum(h, d)(O(b, s, h, d) * WO(a, h, d));
    g.role(b, "batch");

    const std::vector<double> expected =
        context.rank == 0 ? reference(size, scale) : std::vector<double>{};
    const auto check = [&](const auto& run) -> examples::Verdict {
      const auto y = examples::on_host(run.gather(Y, 0));
      if (context.rank != 0) return {};
      if (!output.empty()) examples::save(output, y);
      double largest = 0;
      for (double element : expected) largest = std::max(largest, std::abs(element));
      const double error = examples::largest_difference(y.data(), expected);
      return {error <= 1e-12 * largest, fmt::format("relative error {:.1e}", error / largest)};
    };
    // Every rank generates the blocks that it stores.
    const auto weights = [](int n) { return [n](auto... index) { return data(n, index...); }; };
    return examples::compare_strategies(
        context, g, check, ein::bind_generator(X, weights(0)), ein::bind_generator(WQ, weights(1)),
        ein::bind_generator(WK, weights(2)), ein::bind_generator(WV, weights(3)),
        ein::bind_generator(WO, weights(4)));
  });
}
