// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A convolutional network learns to read 1,797 handwritten digits: windows, their gradients and
/// Adam are one program, planned as a whole. Of every five images the last is kept for the test,
/// the others are shown shifted by a pixel now and then.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <eindecomp/train/batches.hpp>
#include <eindecomp/train/fit.hpp>
#include <iostream>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include "support/checkpoint.hpp"
#include "support/example.hpp"
#include "support/npy.hpp"

namespace ein = eindecomp;
using ein::let;
using namespace ein::labels;

namespace {

constexpr ein::Extent side = 8;     // rows and columns of an image
constexpr ein::Extent few = 8;      // channels behind the first convolution
constexpr ein::Extent many = 16;    // and behind the second
constexpr ein::Extent hidden = 64;  // neurons
constexpr ein::Extent digits = 10;  // classes

/// What is trained.
template <class Program>
struct Network {
  template <int Rank>
  using Tensor = ein::Symbol<float, Rank, typename Program::Backend>;
  Tensor<3> F1;  // filters, and what is added to each channel
  Tensor<1> B1;
  Tensor<4> F2;
  Tensor<1> B2;
  Tensor<4> W1;  // from channels and quarters of images to neurons
  Tensor<1> C1;
  Tensor<2> W2;
  Tensor<1> C2;

  explicit Network(Program& g)
      : F1(g.template input<float>("F1", {few, 3, 3})),
        B1(g.template input<float>("B1", {few})),
        F2(g.template input<float>("F2", {many, few, 3, 3})),
        B2(g.template input<float>("B2", {many})),
        W1(g.template input<float>("W1", {many, side / 2, side / 2, hidden})),
        C1(g.template input<float>("C1", {hidden})),
        W2(g.template input<float>("W2", {hidden, digits})),
        C2(g.template input<float>("C2", {digits})) {}

  /// All of them.
  [[nodiscard]] auto weights() const { return std::tuple(F1, B1, F2, B2, W1, C1, W2, C2); }
  /// What it says of images: a number for each digit.
  [[nodiscard]] Tensor<2> operator()(const Tensor<3>& X) const {
    auto Y1 = let<"Y1">(b, c, y, x) =
        relu(sum(r, s)(X(b, y + r - 1, x + s - 1) * F1(c, r, s)) + B1(c));
    auto Y2 = let<"Y2">(b, o, y, x) =
        relu(sum(c, r, s)(Y1(b, c, y + r - 1, x + s - 1) * F2(o, c, r, s)) + B2(o));
    auto P = let<"P">(b, o, y, x) =
        max(r, s)(Y2(b, o, 2 * y + ein::extent(r, 2), 2 * x + ein::extent(s, 2)));
    auto H = let<"H">(b, h) = relu(sum(o, y, x)(P(b, o, y, x) * W1(o, y, x, h)) + C1(h));
    return let<"Z">(b, k) = sum(h)(H(b, h) * W2(h, k)) + C2(k);
  }

  /// Weights to begin with: normally distributed by their fan-in (He et al. 2015), biases 0.
  [[nodiscard]] std::vector<ein::Binding<examples::Space>> first(std::uint64_t seed) const {
    const auto normal = [seed](const auto& W, ein::Extent fan_in) {
      const auto deviation = static_cast<float>(std::sqrt(2.0 / static_cast<double>(fan_in)));
      return ein::bind_generator(W, [deviation, of = ein::normal_numbers(W, seed)](auto... index) {
        return deviation * of(index...);
      });
    };
    const auto zero = [](const auto& W) {
      return ein::bind_generator(W, [](ein::Extent) { return 0.0F; });
    };
    return {normal(F1, 9),
            zero(B1),
            normal(F2, 9 * few),
            zero(B2),
            normal(W1, many * side * side / 4),
            zero(C1),
            normal(W2, hidden),
            zero(C2)};
  }
};

/// Images and what they show, of a part of the data.
class Part {
 public:
  /// \param is_test  whether every fifth image, or else all others
  explicit Part(bool is_test)
      : m_pixels(examples::load<std::int32_t**>(examples::data_file("digits.npy"))),
        m_digits(examples::load<std::int32_t*>(examples::data_file("digits_labels.npy"))) {
    for (std::size_t n = 0; n < m_pixels.extent(0); ++n) {
      if ((n % 5 == 4) == is_test) m_images.push_back(n);
    }
  }
  [[nodiscard]] ein::Extent size() const { return static_cast<ein::Extent>(m_images.size()); }
  /// In [0, 1]; 0 outside of the image.
  [[nodiscard]] float pixel(ein::Extent image, ein::Extent row, ein::Extent column) const {
    if (row < 0 || row >= side || column < 0 || column >= side) return 0;
    return static_cast<float>(m_pixels(at(image), row * side + column)) / 16.0F;
  }
  [[nodiscard]] int digit(ein::Extent image) const { return m_digits(at(image)); }

 private:
  [[nodiscard]] std::size_t at(ein::Extent n) const {
    return m_images[static_cast<std::size_t>(n)];
  }
  examples::HostView<std::int32_t**> m_pixels;
  examples::HostView<std::int32_t*> m_digits;
  std::vector<std::size_t> m_images;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A convolutional network that reads handwritten digits");
  ein::Extent batch = 64;
  ein::Extent epochs = 30;
  std::uint64_t seed = 1;
  double rate = 0.004;
  double least = 98.5;
  std::string file;
  app.option_defaults()->always_capture_default();
  app.add_option("--batch", batch, "images per step")->check(examples::positive);
  app.add_option("--epochs", epochs, "times that every image is seen")->check(examples::positive);
  app.add_option("--seed", seed, "of the first weights and of the order of images");
  app.add_option("--rate", rate, "of learning at first; falls to 0 by a cosine");
  app.add_option("--least", least, "percent of the test's images that must be read right");
  app.add_option("--checkpoint", file,
                 "go on from this file where it exists, and write it in the end (safetensors)");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    const Part train(false);
    const Part test(true);
    const ein::Batches batches(train.size(), batch, seed);
    const ein::Extent steps = epochs * batches.per_epoch();

    ein::DifferentiableProgram g;
    const Network network(g);
    auto X = g.input<float>("X", {batch, side, side});
    auto D = g.input<std::int32_t>("D", {batch});
    // Not quite 1 and 0 (label smoothing, Szegedy et al. 2016).
    auto T = let<"T">(b, ein::extent(k, digits)) = 0.9 * ein::cast<float>(D(b) == k) + 0.01;
    auto S = let<"S">(b, k) = ein::log_softmax(k)(network(X)(b, k));
    auto loss = let<"loss">() = -1.0 * ein::mean(b)(sum(k)(T(b, k) * S(b, k)));
    const auto updates = std::apply(
        [&](const auto&... weight) { return ein::minimise(loss, {weight...}, ein::Adam{}); },
        network.weights());
    g.role(b, "batch");

    ein::Program h;
    const Network reader(h);
    auto I = h.input<float>("I", {test.size(), side, side});
    auto A = let<"A">(b) = argmax(k)(reader(I)(b, k));
    h.role(b, "batch");
    ein::Executor read(examples::shared_plan(context, h), context.comm, examples::Space{});

    using Bindings = std::vector<ein::Binding<examples::Space>>;
    const auto step = [&](ein::Extent n) -> Bindings {
      const auto shifted = [&train, n, seed, images = batches.samples(n)](
                               ein::Extent row, ein::Extent y, ein::Extent x) {
        // As it is, or down, up, to the right or to the left.
        constexpr int shifts[][2] = {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}};
        const auto random =
            ein::philox({static_cast<std::uint32_t>(row), 0, 0, 0},
                        {static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(seed)});
        const auto& shift = shifts[random[0] % 5];
        return train.pixel(images[static_cast<std::size_t>(row)], y - shift[0], x - shift[1]);
      };
      const auto shown = [&train](ein::Extent image) { return train.digit(image); };
      return {ein::bind_generator(X, shifted), ein::bind_generator(D, batches.rows(n, shown))};
    };
    const auto seen = [&test](ein::Extent n, ein::Extent row, ein::Extent column) {
      return test.pixel(n, row, column);
    };
    const auto falling = [&](ein::Extent n) {
      const double done = static_cast<double>(n) / static_cast<double>(steps);
      return 0.5 * rate * (1 + std::cos(std::numbers::pi * done));
    };

    bool all_right = true;
    for (const std::string& strategy : context.chosen(g)) {
      const auto plan = examples::shared_plan(context, g, strategy, updates.carry());
      if (context.rank == 0 && context.report) fmt::print("{}\n", ein::report(plan));
      ein::Trainer trainer(plan, context.comm, examples::Space{}, updates);
      examples::start_or_resume(context, trainer, file, network.first(seed), steps);
      const double begin = MPI_Wtime();
      ein::FitOptions options{.steps = steps, .rate = falling};
      options.report_every = batches.per_epoch();
      options.report = ein::progress_line(std::cerr);
      if (!file.empty()) {
        options.checkpoint = [&](const ein::Checkpoint& made) {
          ein::write_checkpoint(file, made);
        };
      }
      if (!ein::fit(trainer, options, step)) return true;  // a signal came
      const double seconds = MPI_Wtime() - begin;

      // What the test's images show, by another program and the same weights.
      Bindings inputs{ein::bind_generator(I, seen)};
      std::uint64_t bits = 0;  // of all weights
      const auto take = [&](const auto& weight, const auto& learned) {
        const auto whole = trainer.gather(weight);
        inputs.push_back(ein::bind_global(learned, whole));
        const auto elements = examples::on_host(whole);
        for (std::size_t n = 0; n < elements.size(); ++n) {
          bits = 31 * bits + std::bit_cast<std::uint32_t>(elements.data()[n]);
        }
      };
      std::apply(
          [&](const auto&... weight) {
            std::apply([&](const auto&... learned) { (take(weight, learned), ...); },
                       reader.weights());
          },
          network.weights());
      const auto answers = examples::on_host(read.run(inputs).gather(A));
      ein::Extent right = 0;
      for (ein::Extent n = 0; n < test.size(); ++n) right += answers(n) == test.digit(n) ? 1 : 0;
      const double percent = 100.0 * static_cast<double>(right) / static_cast<double>(test.size());
      all_right = all_right && percent >= least;
      if (context.rank == 0) {
        fmt::print(
            "{:14} {} steps in {:.1f} s, {} of {} test images right, {:.2f} %{}, weights {:016x}\n",
            strategy, steps, seconds, right, test.size(), percent,
            percent >= least ? "" : ": TOO FEW", bits);
      }
    }
    return all_right;
  });
}
