// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which other digit is nearest? Leave-one-out classification of 1,797 handwritten digits by their
/// nearest neighbour: the paper's (x - y)² EinSum, then argmin.

#include <cstdint>
#include <limits>
#include <stdexcept>

#include "support/example.hpp"
#include "support/npy.hpp"

namespace ein = eindecomp;
using ein::let;
using ein::labels::i, ein::labels::j, ein::labels::k;

int main(int argc, char** argv) {
  CLI::App app("Leave-one-out accuracy of the nearest neighbour on handwritten digits");
  std::string images = examples::data_file("digits.npy");
  std::string digits = examples::data_file("digits_labels.npy");
  std::string output;
  ein::Extent first = std::numeric_limits<ein::Extent>::max();
  app.add_option("--images", images, ".npy of 8-bit pixels, an image per row")
      ->check(CLI::ExistingFile);
  app.add_option("--labels", digits, ".npy of 8-bit classes, one per image")
      ->check(CLI::ExistingFile);
  app.add_option("--first", first, "take the first so many images only")->check(examples::positive);
  app.add_option("--output", output, "write each image's nearest neighbour to this .npy");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    const auto pixels = examples::load<std::int32_t**>(images);
    const auto classes = examples::load<std::int32_t*>(digits);
    const auto count = std::min(first, static_cast<ein::Extent>(pixels.extent(0)));
    if (static_cast<ein::Extent>(classes.extent(0)) < count) {
      throw std::runtime_error(fmt::format("{} has {} classes for {} images of {}", digits,
                                           classes.extent(0), count, images));
    }
    const auto width = static_cast<ein::Extent>(pixels.extent(1));

    ein::Program g;
    auto X = g.input<std::int32_t>("X", {count, width});
    auto id = g.input<std::int32_t>("id", {count});
    auto D = let<"D">(i, j) = sum(k)(sq_diff(X(i, k), X(j, k)));
    // An image is not its own neighbour.
    constexpr std::int32_t far = std::numeric_limits<std::int32_t>::max();
    auto N = let<"N">(i) = argmin(j)(select(id(i) == id(j), far, D(i, j)));
    g.role(i, "batch");

    const auto accuracy = [&](const auto& run) -> examples::Verdict {
      const auto nearest = examples::on_host(run.gather(N));
      ein::Extent right = 0;
      for (ein::Extent n = 0; n < count; ++n) {
        right +=
            classes(static_cast<std::size_t>(n)) == classes(static_cast<std::size_t>(nearest(n)));
      }
      if (context.rank == 0 && !output.empty()) examples::save(output, nearest);
      // The published figure; fewer images have none.
      return {count != 1797 || right == 1776,
              fmt::format("{} of {} right, {:.2f} %", right, count,
                          100.0 * static_cast<double>(right) / static_cast<double>(count))};
    };
    return examples::compare_strategies(
        context, g, accuracy,
        ein::bind_generator(X, [&](ein::Extent n, ein::Extent pixel) { return pixels(n, pixel); }),
        ein::bind_generator(id, [](ein::Extent n) { return n; }));
  });
}
