// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Heat flows through a box whose walls are kept at temperature 0: a step reads every point and its
/// six neighbours, and its result is the next one's input. Ranks exchange the points at the sides
/// of their blocks and nothing else.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <eindecomp/run/tensor_files.hpp>
#include <eindecomp/tools/npy.hpp>
#include <numbers>
#include <string>

#include "support/example.hpp"

namespace ein = eindecomp;
using ein::let;
using ein::zero;
using ein::labels::x, ein::labels::y, ein::labels::z;

namespace {

/// The slowest way in which heat leaves a box of n x n x n points.
[[nodiscard]] double wave(ein::Extent point, ein::Extent n) {
  return std::sin(std::numbers::pi * static_cast<double>(point + 1) / static_cast<double>(n + 1));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Heat in a box with cold walls");
  ein::Extent n = 100;
  int steps = 50;
  constexpr double rate = 0.1;
  app.add_option("--points", n, "along each side")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--steps", steps, "of time")->check(examples::positive)->capture_default_str();
  std::string output;
  app.add_option("--output", output, "a .npy file for the temperatures after the last step");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    ein::Program g;
    auto T = g.input<double>("T", {n, n, n});
    auto next = let<"T'">(x, y, z) =
        (1 - 6 * rate) * T(x, y, z) +
        rate * (T(zero(x - 1), y, z) + T(zero(x + 1), y, z) + T(x, zero(y - 1), z) +
                T(x, zero(y + 1), z) + T(x, y, zero(z - 1)) + T(x, y, zero(z + 1)));
    g.role(x, "batch");

    bool all_right = true;
    for (const std::string& strategy : context.chosen(g)) {
      const auto plan = ein::decompose(g, {.workers = context.workers,
                                           .ranks = context.ranks,
                                           .strategy = strategy,
                                           .carry = {{"T'", "T"}}});
      if (context.rank == 0 && context.report) fmt::print("{}\n", ein::report(plan));
      ein::Executor executor(plan, context.comm, examples::Space{});
      auto run =
          executor.run(ein::bind_generator(T, [n](ein::Extent i, ein::Extent j, ein::Extent k) {
            return wave(i, n) * wave(j, n) * wave(k, n);
          }));
      double seconds = run.statistics().seconds;
      ein::Extent words = run.statistics().words_received;
      for (int step = 1; step < steps; ++step) {
        run = executor.run(run.carry());
        seconds += run.statistics().seconds;
        words = run.statistics().words_received + run.statistics().inputs.words_received;
      }
      if (!output.empty()) ein::save(run, next, ein::NpyFile(output));
      words = examples::reduced(words, MPI_INT64_T, MPI_SUM, context.comm);
      ein::Extent predicted = plan.tasks().total_words();
      for (const ein::Extent carried : plan.carried_words()) predicted += steps > 1 ? carried : 0;

      // A step multiplies this wave by a number.
      const double half = std::sin(std::numbers::pi / (2.0 * static_cast<double>(n + 1)));
      const double left = std::pow(1 - 12 * rate * half * half, steps);
      double worst = 0;
      for (const auto& block : run.local(next)) {
        const auto values = examples::on_host(block.view);
        for (ein::Extent i = block.box.lo[0]; i < block.box.hi[0]; ++i) {
          for (ein::Extent j = block.box.lo[1]; j < block.box.hi[1]; ++j) {
            for (ein::Extent k = block.box.lo[2]; k < block.box.hi[2]; ++k) {
              const double got = values(static_cast<std::size_t>(i - block.box.lo[0]),
                                        static_cast<std::size_t>(j - block.box.lo[1]),
                                        static_cast<std::size_t>(k - block.box.lo[2]));
              worst = examples::worse(worst,
                                      std::abs(got - left * wave(i, n) * wave(j, n) * wave(k, n)));
            }
          }
        }
      }
      worst = examples::reduced(worst, MPI_DOUBLE, MPI_MAX, context.comm);
      const bool right = worst < 1e-12 && words == predicted;
      all_right = all_right && right;
      if (context.rank == 0) {
        fmt::print(
            "{:14} {} steps of {:.2f} ms, {} words each ({} predicted), {:.4f} of the heat left, "
            "off by {:.0e}{}\n",
            strategy, steps, 1e3 * seconds / steps, words, predicted, left, worst,
            right ? "" : ": WRONG");
      }
    }
    return all_right;
  });
}
