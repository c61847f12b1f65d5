// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The paper's first experiment: (A·B) + (C·(D·E)), with square matrices or skewed ones.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "support/example.hpp"
#include "support/npy.hpp"

namespace ein = eindecomp;
using ein::let;
using ein::labels::i, ein::labels::j, ein::labels::k, ein::labels::l, ein::labels::m;

namespace {

/// A matrix given by its elements.
struct Matrix {
  ein::Extent rows = 0;
  ein::Extent columns = 0;
  int seed = 0;
  [[nodiscard]] double operator()(ein::Extent row, ein::Extent column) const {
    return static_cast<double>((row * 7 + column * 13 + row * column * seed) % 17 - 8) / 8.0;
  }
};

/// M·x.
template <class M>
[[nodiscard]] std::vector<double> times(const M& matrix, ein::Extent rows,
                                        const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(rows));
  for (std::size_t row = 0; row < y.size(); ++row) {
    for (std::size_t column = 0; column < x.size(); ++column) {
      y[row] += matrix(static_cast<ein::Extent>(row), static_cast<ein::Extent>(column)) * x[column];
    }
  }
  return y;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("(A·B) + (C·(D·E))");
  ein::Extent scale = 320;
  bool skewed = false;
  std::string output;
  app.add_option("--scale", scale, "s: all matrices are s x s")
      ->check(CLI::Range(10, 1'000'000))
      ->capture_default_str();
  app.add_flag("--skewed", skewed,
               "A is s x s/10, B s/10 x s, C s x s/10, D s/10 x 10s, E 10s x s instead");
  app.add_option("--output", output, "write the result to this .npy");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    const ein::Extent thin = skewed ? scale / 10 : scale;
    const ein::Extent wide = skewed ? scale * 10 : scale;
    const Matrix a{scale, thin, 1}, b{thin, scale, 2}, c{scale, thin, 3}, d{thin, wide, 4},
        e{wide, scale, 5};

    ein::Program g;
    auto A = g.input<double>("A", {a.rows, a.columns});
    auto B = g.input<double>("B", {b.rows, b.columns});
    auto C = g.input<double>("C", {c.rows, c.columns});
    auto D = g.input<double>("D", {d.rows, d.columns});
    auto E = g.input<double>("E", {e.rows, e.columns});
    auto AB = let<"AB">(i, k) = sum(j)(A(i, j) * B(j, k));
    auto DE = let<"DE">(l, k) = sum(m)(D(l, m) * E(m, k));
    auto CDE = let<"CDE">(i, k) = sum(l)(C(i, l) * DE(l, k));
    auto Z = let<"Z">(i, k) = AB(i, k) + CDE(i, k);
    g.role(i, "batch");

    // Freivalds' check: Z·x against the chain applied to x from the right.
    std::vector<double> x, expected;
    if (context.rank == 0) {
      for (ein::Extent n = 0; n < scale; ++n) x.push_back(std::cos(static_cast<double>(n)));
      expected = times(a, a.rows, times(b, b.rows, x));
      const std::vector<double> other = times(c, c.rows, times(d, d.rows, times(e, e.rows, x)));
      std::ranges::transform(expected, other, expected.begin(), std::plus());
    }
    const auto check = [&](const auto& run) -> examples::Verdict {
      const auto z = examples::on_host(run.gather(Z, 0));
      if (context.rank != 0) return {};
      if (!output.empty()) examples::save(output, z);
      const std::vector<double> found = times(z, scale, x);
      double size = 0;
      for (double element : expected) size = std::max(size, std::abs(element));
      const double error = examples::largest_difference(found.data(), expected);
      return {error <= 1e-10 * size, fmt::format("relative error {:.1e}", error / size)};
    };
    return examples::compare_strategies(context, g, check, ein::bind_generator(A, a),
                                        ein::bind_generator(B, b), ein::bind_generator(C, c),
                                        ein::bind_generator(D, d), ein::bind_generator(E, e));
  });
}
