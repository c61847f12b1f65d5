// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What is under the coins? A photograph is opened by a ball that is larger than they are: a
/// min-plus window takes the deepest place in which the ball fits below each pixel, a max-plus
/// window what the ball reaches from there. The photograph goes on at its other end.

#include <cstdint>
#include <string>
#include <vector>

#include "support/example.hpp"
#include "support/npy.hpp"

namespace ein = eindecomp;
using ein::let;
using ein::periodic;
using ein::labels::r, ein::labels::s, ein::labels::x, ein::labels::y;

namespace {

constexpr ein::Extent radius = 9;

/// How high a flat ball is at a place of its window: 0 in the middle.
[[nodiscard]] std::int32_t height(ein::Extent row, ein::Extent column) {
  const ein::Extent down = row - radius;
  const ein::Extent right = column - radius;
  return static_cast<std::int32_t>(-((down * down + right * right + 3) / 4));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The background in a photograph of coins");
  std::string output;
  std::int32_t least = 40;
  app.add_option("--least", least, "by which pixels of coins are brighter than what is under them")
      ->capture_default_str();
  app.add_option("--output", output, "write the background to this .npy");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    const auto pixels = examples::load<std::int32_t**>(examples::data_file("coins.npy"));
    const auto expected =
        examples::load<std::int32_t**>(examples::data_file("coins_background.npy"));

    ein::Program g;
    const auto P = g.input<std::int32_t>("P", {static_cast<ein::Extent>(pixels.extent(0)),
                                               static_cast<ein::Extent>(pixels.extent(1))});
    const auto B = g.input<std::int32_t>("B", {2 * radius + 1, 2 * radius + 1});
    const auto eroded = let<"eroded">(y, x) =
        min(r, s)(P(periodic(y + r - radius), periodic(x + s - radius)) - B(r, s));
    const auto background = let<"background">(y, x) =
        max(r, s)(eroded(periodic(y - r + radius), periodic(x - s + radius)) + B(r, s));
    const auto bright = let<"bright">() = sum(y, x)(P(y, x) - background(y, x) > least);
    g.keep(background);

    const std::vector<double> scipy(expected.data(), expected.data() + expected.size());
    const auto check = [&](const auto& run) -> examples::Verdict {
      const auto found = examples::on_host(run.gather(background, 0));
      const auto coins = examples::on_host(run.gather(bright, 0));
      if (context.rank != 0) return {};
      if (!output.empty()) examples::save(output, found);
      const std::vector<double> values(found.data(), found.data() + found.size());
      const double error = examples::largest_difference(values.data(), scipy);
      return {error == 0, fmt::format("off SciPy's by {:.0f}; {:.1f} % of the pixels are of coins",
                                      error, 100.0 * coins() / static_cast<double>(scipy.size()))};
    };
    return examples::compare_strategies(
        context, g, check,
        ein::bind_generator(P, [&](ein::Extent i, ein::Extent j) { return pixels(i, j); }),
        ein::bind_generator(B, height));
  });
}
