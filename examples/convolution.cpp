// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where are the edges of coins? A photograph is blurred, row by row and column by column, and
/// Sobel's filters take its slopes. Pixels beyond the edge of the photograph are like those there.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/example.hpp"
#include "support/npy.hpp"

namespace ein = eindecomp;
using ein::clamp;
using ein::let;
using ein::labels::r, ein::labels::s, ein::labels::x, ein::labels::y;

namespace {

constexpr double sigma = 1.5;
constexpr ein::Extent reach = 6;  ///< of the blur, in pixels: SciPy's, 4 sigma

/// A normal distribution's density, not scaled.
[[nodiscard]] double bell(ein::Extent distance) {
  return std::exp(-0.5 * static_cast<double>(distance * distance) / (sigma * sigma));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The edges in a photograph of coins");
  std::string output;
  app.add_option("--output", output, "write how steep each pixel is to this .npy");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    const auto pixels = examples::load<std::int32_t**>(examples::data_file("coins.npy"));
    const auto expected = examples::load<float**>(examples::data_file("coins_edges.npy"));

    ein::Program g;
    const auto P = g.input<double>("P", {static_cast<ein::Extent>(pixels.extent(0)),
                                         static_cast<ein::Extent>(pixels.extent(1))});
    const auto G = g.input<double>("G", {2 * reach + 1});
    const auto S = g.input<double>("S", {3, 3});
    const auto rows = let<"rows">(y, x) = sum(s)(P(y, clamp(x + s - reach)) * G(s));
    const auto blurred = let<"blurred">(y, x) = sum(r)(rows(clamp(y + r - reach), x) * G(r));
    const auto down = let<"down">(y, x) =
        sum(r, s)(blurred(clamp(y + r - 1), clamp(x + s - 1)) * S(r, s));
    const auto right = let<"right">(y, x) =
        sum(r, s)(blurred(clamp(y + r - 1), clamp(x + s - 1)) * S(s, r));
    const auto edges = let<"edges">(y, x) = hypot(down(y, x), right(y, x));

    double all = 0;
    for (ein::Extent distance = -reach; distance <= reach; ++distance) all += bell(distance);
    const std::vector<double> steepness(expected.data(), expected.data() + expected.size());
    const auto check = [&](const auto& run) -> examples::Verdict {
      const auto found = examples::on_host(run.gather(edges, 0));
      if (context.rank != 0) return {};
      if (!output.empty()) examples::save(output, found);
      // SciPy's values are stored as floats.
      const double error = examples::largest_difference(found.data(), steepness);
      return {error < 2e-5, fmt::format("off SciPy's by {:.0e} at most", error)};
    };
    return examples::compare_strategies(
        context, g, check,
        ein::bind_generator(P, [&](ein::Extent i, ein::Extent j) { return pixels(i, j); }),
        ein::bind_generator(G, [&](ein::Extent i) { return bell(i - reach) / all; }),
        ein::bind_generator(S, [](ein::Extent i, ein::Extent j) {
          return static_cast<double>((i - 1) * (j == 1 ? 2 : 1));
        }));
  });
}
