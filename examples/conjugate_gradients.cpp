// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Conjugate gradients for a dense matrix: the weights of a Gaussian process that has seen n noisy
/// values of a function. An iteration is one run of a program whose results are the next one's
/// inputs; they stay where they are, and only the words of a matrix-vector product and of two
/// scalars move.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "support/example.hpp"

namespace ein = eindecomp;
using ein::let;
using ein::labels::i, ein::labels::j;

namespace {

/// How alike the function's values at two points are, and their noise.
[[nodiscard]] double covariance(ein::Extent row, ein::Extent column, ein::Extent n) {
  const double distance = 20.0 * static_cast<double>(row - column) / static_cast<double>(n);
  return std::exp(-0.5 * distance * distance) + (row == column ? 0.1 : 0.0);
}

/// What was seen.
[[nodiscard]] double observation(ein::Extent row, ein::Extent n) {
  return std::sin(12.0 * static_cast<double>(row) / static_cast<double>(n));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Conjugate gradients for the covariance matrix of a Gaussian process");
  ein::Extent n = 2000;
  double tolerance = 1e-10;
  int most = 500;
  app.add_option("--points", n, "where the function is known")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--tolerance", tolerance, "of the residual, beside that at the start");
  app.add_option("--iterations", most, "the most")->check(examples::positive);

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    ein::Program g;
    auto K = g.input<double>("K", {n, n});
    auto x = g.input<double>("x", {n});
    auto r = g.input<double>("r", {n});
    auto p = g.input<double>("p", {n});
    auto rho = g.input<double>("rho");
    auto q = let<"q">(i) = sum(j)(K(i, j) * p(j));
    auto pq = let<"pq">() = sum(i)(p(i) * q(i));
    auto alpha = let<"alpha">() = rho() / pq();
    auto next_x = let<"x'">(i) = x(i) + alpha() * p(i);
    auto next_r = let<"r'">(i) = r(i) - alpha() * q(i);
    auto next_rho = let<"rho'">() = sum(i)(next_r(i) * next_r(i));
    auto beta = let<"beta">() = next_rho() / rho();
    auto next_p = let<"p'">(i) = next_r(i) + beta() * p(i);
    g.keep(next_x);
    g.keep(next_r);
    g.keep(next_rho);
    g.role(i, "batch");
    const std::vector<ein::CarriedTensor> carry{
        {"x'", "x"}, {"r'", "r"}, {"p'", "p"}, {"rho'", "rho"}};

    bool all_right = true;
    for (const std::string& strategy : context.chosen(g)) {
      const auto plan = ein::decompose(g, {.workers = context.workers,
                                           .ranks = context.ranks,
                                           .strategy = strategy,
                                           .carry = carry});
      if (context.rank == 0 && context.report) fmt::print("{}\n", ein::report(plan));
      ein::Executor executor(plan, context.comm, examples::Space{});
      const auto matrix = ein::bind_generator(K, [n](ein::Extent row, ein::Extent column) {
                            return covariance(row, column, n);
                          }).constant();
      const auto seen = [n](ein::Extent row) { return observation(row, n); };
      double start = 0;
      for (ein::Extent row = 0; row < n; ++row) start += seen(row) * seen(row);

      auto run = executor.run(matrix, ein::bind_generator(x, [](ein::Extent) { return 0.0; }),
                              ein::bind_generator(r, seen), ein::bind_generator(p, seen),
                              ein::bind_generator(rho, [start] { return start; }));
      int iterations = 1;
      double seconds = run.statistics().seconds;
      const auto residual = [&] {
        return std::sqrt(examples::on_host(run.gather(next_rho))() / start);
      };
      ein::Extent words = 0;
      for (; residual() > tolerance && iterations < most; ++iterations) {
        run = executor.run(run.carry(), matrix);
        words = run.statistics().words_received + run.statistics().inputs.words_received;
        seconds += run.statistics().seconds;
      }
      words = examples::reduced(words, MPI_INT64_T, MPI_SUM, context.comm);
      ein::Extent predicted = 0;
      for (const ein::Extent repeated : plan.repeated_words({"K"})) predicted += repeated;
      for (const ein::Extent carried : plan.carried_words()) predicted += carried;

      // The residual anew, without the library: at most as large as rounding leaves it.
      const auto solution = examples::on_host(run.gather(next_x));
      double worst = 0;
      for (ein::Extent row = 0; row < n; ++row) {
        double sum = 0;
        for (ein::Extent column = 0; column < n; ++column) {
          sum += covariance(row, column, n) * solution(static_cast<std::size_t>(column));
        }
        worst = examples::worse(worst, std::abs(sum - observation(row, n)));
      }
      const bool right = worst < 1e-7 && (iterations == 1 || words == predicted);
      all_right = all_right && right;
      if (context.rank == 0) {
        fmt::print(
            "{:14} {} iterations, {} words each ({} predicted), {:.2f} ms each, largest "
            "residual {:.1e}{}\n",
            strategy, iterations, words, predicted, 1e3 * seconds / iterations, worst,
            right ? "" : ": WRONG");
      }
    }
    return all_right;
  });
}
