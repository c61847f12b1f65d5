// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// An extreme classifier, as of AmazonCat in the EinDecomp paper's second experiment: products that
/// have a few of many features get some of many labels. Two layers, wide at both ends; features and
/// labels of a product are lists of numbers, which look weights up. What is learned must classify
/// products that it has not seen.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <eindecomp/train/batches.hpp>
#include <eindecomp/train/fit.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "support/example.hpp"

namespace ein = eindecomp;
using ein::let;
using namespace ein::labels;

namespace {

/// Products by number, each a function of the seed: labels, and features that mostly speak of them.
struct Products {
  static constexpr ein::Extent given = 24;   // features of a product
  static constexpr ein::Extent wanted = 3;   // labels of a product
  static constexpr ein::Extent typical = 8;  // features of a label

  ein::Extent features = 0;
  ein::Extent labels = 0;
  std::uint32_t seed = 0;

  /// Label n of a product: the first is drawn, the others are akin to it.
  [[nodiscard]] std::int32_t label(ein::Extent product, ein::Extent n) const {
    const auto first = random(product, 0, 1)[0] % labels;
    return static_cast<std::int32_t>(
        n == 0 ? first : (first + n + random(first, n, 2)[0] % (labels / wanted)) % labels);
  }
  /// Feature n of a product: a third are typical of one of its labels, the others of none.
  [[nodiscard]] std::int32_t feature(ein::Extent product, ein::Extent n) const {
    const auto drawn = random(product, n, 3);
    if (n % 3 != 0) return static_cast<std::int32_t>(drawn[0] % features);
    const auto of = random(label(product, n / 3 % wanted), drawn[1] % typical, 4);
    return static_cast<std::int32_t>(of[0] % features);
  }

 private:
  [[nodiscard]] std::vector<ein::Extent> random(ein::Extent a, ein::Extent b,
                                                std::uint32_t kind) const {
    const auto drawn = ein::philox(
        {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), kind, 0}, {seed, 0});
    return {drawn.begin(), drawn.end()};
  }
};

/// The share of products whose likeliest label is one of theirs, without the library.
template <class Matrix>
[[nodiscard]] double precision(const Products& products, ein::Extent first, ein::Extent count,
                               const Matrix& W1, const Matrix& W2) {
  double right = 0;
  for (ein::Extent product = first; product < first + count; ++product) {
    std::vector<float> hidden(W1.extent(1), 0.0F);
    for (ein::Extent n = 0; n < Products::given; ++n) {
      for (std::size_t j = 0; j < hidden.size(); ++j) {
        hidden[j] += W1(products.feature(product, n), j);
      }
    }
    std::vector<float> scores(W2.extent(1), 0.0F);
    for (std::size_t j = 0; j < hidden.size(); ++j) {
      for (std::size_t l = 0; l < scores.size(); ++l) {
        scores[l] += std::max(hidden[j], 0.0F) * W2(j, l);
      }
    }
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    for (ein::Extent n = 0; n < Products::wanted; ++n) {
      if (products.label(product, n) != best) continue;
      right += 1;
      break;
    }
  }
  return right / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A classifier of many features and many labels");
  Products products{10000, 1000, 1};
  ein::Extent hidden = 64;
  ein::Extent batch = 128;
  ein::Extent microbatches = 1;
  ein::Extent samples = 16384;
  ein::Extent steps = 200;
  double rate = 0.005;
  double least = 60;
  app.option_defaults()->always_capture_default();
  app.add_option("--features", products.features)->check(examples::positive);
  app.add_option("--labels", products.labels)->check(CLI::Range(3, 1'000'000));
  app.add_option("--hidden", hidden, "neurons")->check(examples::positive);
  app.add_option("--batch", batch, "products per step")->check(examples::positive);
  app.add_option("--microbatches", microbatches, "parts of a batch, one after another")
      ->check(examples::positive);
  app.add_option("--samples", samples, "products to learn from")->check(examples::positive);
  app.add_option("--steps", steps, "of Adam")->check(examples::positive);
  app.add_option("--rate", rate, "of learning");
  app.add_option("--seed", products.seed, "of the products, their order and the first weights");
  app.add_option("--least", least, "percent of products not seen that must be classified rightly");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    const ein::Batches batches = ein::Batches(samples, batch, products.seed).split(microbatches);
    const ein::Extent part = batch / microbatches;

    ein::DifferentiableProgram g;
    auto I = g.input<std::int32_t>("I", {part, Products::given});
    auto D = g.input<std::int32_t>("D", {part, Products::wanted});
    auto W1 = g.input<float>("W1", {products.features, hidden});
    auto W2 = g.input<float>("W2", {hidden, products.labels});
    auto H = let<"H">(b, h) = relu(sum(n)(W1(I(b, n), h)));
    auto Z = let<"Z">(b, l) = sum(h)(H(b, h) * W2(h, l));
    auto S = let<"S">(b, l) = ein::log_softmax(l)(Z(b, l));
    auto own = let<"own">(b, n) = S(b, D(b, n));
    auto loss = let<"loss">() = -1.0 * ein::mean(b, n)(own(b, n));
    auto best = let<"best">(b) = argmax(l)(Z(b, l));
    auto found = let<"found">(b) = max(n)(ein::cast<float>(D(b, n) == best(b)));
    auto share = let<"precision">() = ein::mean(b)(found(b));
    const auto updates =
        ein::minimise(loss, {W1, W2}, ein::Accumulated{ein::Adam{}, microbatches}, {share});
    g.role(b, "batch");
    g.role(h, "hidden");

    const auto first = [&](const auto& W, double deviation) {
      return ein::bind_generator(
          W, [scale = static_cast<float>(deviation), of = ein::normal_numbers(W, products.seed)](
                 auto... index) { return scale * of(index...); });
    };
    const auto step = [&](ein::Extent number) -> std::vector<ein::Binding<examples::Space>> {
      const auto feature = [&products](auto product, auto n) {
        return products.feature(product, n);
      };
      const auto label = [&products](auto product, auto n) { return products.label(product, n); };
      return {ein::bind_generator(I, batches.rows(number, feature)),
              ein::bind_generator(D, batches.rows(number, label))};
    };

    bool all_right = true;
    for (const std::string& strategy : context.chosen(g)) {
      const auto plan = examples::shared_plan(context, g, strategy, updates.carry());
      if (context.rank == 0 && context.report) fmt::print("{}\n", ein::report(plan));
      ein::Trainer trainer(plan, context.comm, examples::Space{}, updates);
      trainer.start({first(W1, 0.1), first(W2, 1 / std::sqrt(static_cast<double>(hidden)))});
      const double begin = MPI_Wtime();
      ein::FitOptions options{.steps = steps, .rate = [rate](ein::Extent) { return rate; }};
      options.report_every = 20;
      options.report = ein::progress_line(std::cerr);
      if (!ein::fit(trainer, options, step)) return true;  // a signal came
      const double seconds = MPI_Wtime() - begin;

      const double percent =
          100 * precision(products, samples, 1000, examples::on_host(trainer.gather(W1)),
                          examples::on_host(trainer.gather(W2)));
      const double loss_of_last = trainer.loss();
      all_right = all_right && percent >= least;
      if (context.rank == 0) {
        fmt::print(
            "{:14} {} steps of {} x {} in {:.1f} s, loss {:.3f}, {:.1f} % of 1000 others{}\n",
            strategy, steps, microbatches, part, seconds, loss_of_last, percent,
            percent >= least ? "" : ": TOO FEW");
      }
    }
    return all_right;
  });
}
