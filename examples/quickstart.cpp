// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The README's program, with options and a check: softmax(max(X·W, 0)), row by row.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "support/example.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::let;

namespace {

double x_of(ein::Extent row, ein::Extent column) { return std::sin(double(row + 2 * column)); }
double w_of(ein::Extent row, ein::Extent column) { return std::cos(double(3 * row + column)); }

/// The same in plain loops, row-major.
std::vector<double> reference(ein::Extent rows, ein::Extent inner, ein::Extent columns) {
  std::vector<double> weights, result;
  for (ein::Extent n = 0; n < inner * columns; ++n)
    weights.push_back(w_of(n / columns, n % columns));
  for (ein::Extent row = 0; row < rows; ++row) {
    std::vector<double> h(static_cast<std::size_t>(columns));
    const double* weight = weights.data();
    for (ein::Extent n = 0; n < inner; ++n) {
      const double element = x_of(row, n);
      for (double& sum : h) sum += element * *weight++;
    }
    double largest = 0, total = 0;
    for (double& element : h) largest = std::max(largest, element = std::max(element, 0.0));
    for (double& element : h) total += element = std::exp(element - largest);
    for (double element : h) result.push_back(element / total);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("softmax(max(X·W, 0)), row by row");
  ein::Extent rows = 512, inner = 1024, columns = 256;
  app.add_option("--rows", rows, "rows of X")->check(examples::positive)->capture_default_str();
  app.add_option("--inner", inner, "columns of X")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--columns", columns, "columns of W")
      ->check(examples::positive)
      ->capture_default_str();

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    ein::Program g;
    auto X = g.input<double>("X", {rows, inner});
    auto W = g.input<double>("W", {inner, columns});
    auto H = let<"H">(i, k) = sum(j)(X(i, j) * W(j, k));
    auto R = let<"R">(i, k) = max(H(i, k), 0.0);
    auto S = let<"S">(i, k) = softmax(k)(R(i, k));
    g.role(i, "batch");

    const auto check = [&](const auto& run) -> examples::Verdict {
      const auto s = examples::on_host(run.gather(S, 0));
      if (context.rank != 0) return {};
      const double error = examples::largest_difference(s.data(), reference(rows, inner, columns));
      return {error < 1e-10, fmt::format("largest error {:.1e}", error)};
    };
    return examples::compare_strategies(context, g, check, ein::bind_generator(X, x_of),
                                        ein::bind_generator(W, w_of));
  });
}
