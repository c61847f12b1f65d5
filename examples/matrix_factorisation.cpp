// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A matrix of which few entries are known is completed: they are fitted by a product of two narrow
/// matrices, whose rows are looked up by the entries' indices. Entries that the fit has not seen
/// must come out almost as exactly as their noise allows.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <eindecomp/train/fit.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/example.hpp"

namespace ein = eindecomp;
using ein::let;
using namespace ein::labels;

namespace {

/// Known entries of a matrix: their rows, their columns, their values.
struct Entries {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> columns;
  std::vector<double> values;
};

using Places = std::set<std::pair<std::size_t, std::size_t>>;

/// Entries at random places of a product of two random matrices, with noise; none at a place
/// that is taken.
[[nodiscard]] Entries some_entries(ein::Extent count, const std::vector<double>& left,
                                   const std::vector<double>& right, std::size_t rank, double noise,
                                   std::mt19937_64& random, const Places& taken = {}) {
  const std::size_t rows = left.size() / rank;
  const std::size_t columns = right.size() / rank;
  if (taken.size() == rows * columns) {
    throw std::runtime_error("all entries are known, none is left to be completed; know fewer");
  }
  std::normal_distribution<double> normal(0, noise);
  Entries entries;
  for (ein::Extent n = 0; n < count; ++n) {
    std::size_t row = 0;
    std::size_t column = 0;
    do {
      row = random() % rows;
      column = random() % columns;
    } while (taken.contains({row, column}));
    double value = normal(random);
    for (std::size_t r = 0; r < rank; ++r) value += left[row * rank + r] * right[column * rank + r];
    entries.rows.push_back(static_cast<std::int32_t>(row));
    entries.columns.push_back(static_cast<std::int32_t>(column));
    entries.values.push_back(value);
  }
  return entries;
}

/// A function of an index into a vector.
template <class T>
[[nodiscard]] auto element_of(const std::vector<T>& values) {
  return [&values](ein::Extent n) { return values[static_cast<std::size_t>(n)]; };
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The completion of a matrix of low rank");
  ein::Extent rows = 300;
  ein::Extent columns = 200;
  ein::Extent rank = 5;
  ein::Extent known = 15000;
  ein::Extent steps = 400;
  double noise = 0.1;
  std::uint64_t seed = 1;
  app.add_option("--rows", rows)->check(examples::positive)->capture_default_str();
  app.add_option("--columns", columns)->check(examples::positive)->capture_default_str();
  app.add_option("--rank", rank)->check(examples::positive)->capture_default_str();
  app.add_option("--known", known, "entries")->check(examples::positive)->capture_default_str();
  app.add_option("--steps", steps, "of Adam")->check(examples::positive)->capture_default_str();
  app.add_option("--noise", noise, "standard deviation")->capture_default_str();
  app.add_option("--seed", seed, "of the matrix, its entries and the first factors");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> left(static_cast<std::size_t>(rows * rank));
    std::vector<double> right(static_cast<std::size_t>(columns * rank));
    for (double& x : left) x = normal(random);
    for (double& x : right) x = normal(random);
    const auto width = static_cast<std::size_t>(rank);
    const Entries seen = some_entries(known, left, right, width, noise, random);
    Places taken;
    for (std::size_t n = 0; n < seen.values.size(); ++n) {
      taken.emplace(seen.rows[n], seen.columns[n]);
    }
    const Entries unseen = some_entries(2000, left, right, width, noise, random, taken);

    ein::DifferentiableProgram g;
    auto I = g.input<std::int32_t>("I", {known});
    auto J = g.input<std::int32_t>("J", {known});
    auto R = g.input<double>("R", {known});
    auto U = g.input<double>("U", {rows, rank});
    auto V = g.input<double>("V", {columns, rank});
    auto P = let<"P">(e) = sum(k)(U(I(e), k) * V(J(e), k));
    auto loss = let<"loss">() = ein::mean(e)(sq_diff(P(e), R(e)));
    const auto updates = ein::minimise(loss, {U, V}, ein::Adam{});
    g.role(e, "batch");

    const auto first = [seed](const auto& factor) {
      return ein::bind_generator(factor, ein::normal_numbers(factor, seed));
    };
    const auto step = [&](ein::Extent) -> std::vector<ein::Binding<examples::Space>> {
      return {ein::bind_generator(I, element_of(seen.rows)).constant(),
              ein::bind_generator(J, element_of(seen.columns)).constant(),
              ein::bind_generator(R, element_of(seen.values)).constant()};
    };
    const auto rate = [steps](ein::Extent n) {
      return 0.1 * (1 - static_cast<double>(n) / static_cast<double>(steps));
    };

    bool all_right = true;
    for (const std::string& strategy : context.chosen(g)) {
      const auto plan = examples::shared_plan(context, g, strategy, updates.carry());
      if (context.rank == 0 && context.report) fmt::print("{}\n", ein::report(plan));
      ein::Trainer trainer(plan, context.comm, examples::Space{}, updates);
      trainer.start({first(U), first(V)});
      const double begin = MPI_Wtime();
      if (!ein::fit(trainer, {.steps = steps, .rate = rate}, step)) return true;  // a signal came
      const double seconds = MPI_Wtime() - begin;

      // Entries that were not seen, without the library.
      const auto u = examples::on_host(trainer.gather(U));
      const auto v = examples::on_host(trainer.gather(V));
      double squares = 0;
      for (std::size_t n = 0; n < unseen.values.size(); ++n) {
        double off = -unseen.values[n];
        for (std::size_t r = 0; r < width; ++r)
          off += u(unseen.rows[n], r) * v(unseen.columns[n], r);
        squares += off * off;
      }
      const double error = std::sqrt(squares / static_cast<double>(unseen.values.size()));
      const double loss_of_seen = trainer.loss();
      const bool right = error < 1.5 * noise;
      all_right = all_right && right;
      if (context.rank == 0) {
        fmt::print(
            "{:14} {} steps in {:.2f} s, error {:.4f} of entries seen and {:.4f} of others, their "
            "noise {:.4f}{}\n",
            strategy, steps, seconds, std::sqrt(loss_of_seen), error, noise,
            right ? "" : ": WRONG");
      }
    }
    return all_right;
  });
}
