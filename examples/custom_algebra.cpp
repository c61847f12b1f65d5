// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A join and two aggregations of one's own: the most reliable relay between any two stations of a
/// radio network, the next best in case it fails, and how much is lost then.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "support/example.hpp"
#include "support/npy.hpp"

namespace ein = eindecomp;
using ein::let;
using ein::labels::i, ein::labels::j, ein::labels::k;

namespace {

/// ⊗, with state: a message arrives by a relay if both hops and the relay itself hold.
struct Relay {
  static constexpr std::string_view name = "relay";
  double works = 1;
  EINDECOMP_FUNCTION double operator()(double first, double second) const {
    return works * first * second;
  }
};

/// ⊕ with an accumulator of its own: the second largest element.
struct SecondBest {
  static constexpr std::string_view name = "second_best";
  static constexpr bool commutative_monoid = true;
  struct Pair {
    double best;
    double second;
  };
  template <class T>
  using State = Pair;
  EINDECOMP_FUNCTION static constexpr Pair identity() { return {0, 0}; }
  EINDECOMP_FUNCTION constexpr Pair lift(double value, std::int64_t) const { return {value, 0}; }
  EINDECOMP_FUNCTION constexpr Pair operator()(const Pair& a, const Pair& b) const {
    if (a.best < b.best) return {b.best, a.best < b.second ? b.second : a.best};
    return {a.best, a.second < b.best ? b.best : a.second};
  }
  EINDECOMP_FUNCTION constexpr double finish(const Pair& state) const { return state.second; }
};

/// ⊕ with state: (Σ |x|^p)^(1/p).
struct Norm {
  static constexpr std::string_view name = "norm";
  static constexpr bool commutative_monoid = true;
  double p = 2;
  template <class T>
  using State = T;
  EINDECOMP_FUNCTION static constexpr double identity() { return 0; }
  EINDECOMP_FUNCTION double lift(double value, std::int64_t) const {
    return std::pow(value < 0 ? -value : value, p);
  }
  EINDECOMP_FUNCTION double operator()(double a, double b) const { return a + b; }
  EINDECOMP_FUNCTION double finish(double total) const { return std::pow(total, 1 / p); }
};

/// How likely a message from one station reaches another: less with distance on a ring.
[[nodiscard]] double hop(ein::Extent from, ein::Extent to, ein::Extent stations) {
  const ein::Extent apart = std::abs(from - to);
  const auto distance = static_cast<double>(std::min(apart, stations - apart));
  return std::exp(-0.05 * distance *
                  (1.0 + 0.5 * std::sin(static_cast<double>(from * 3 + to * 5))));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The most reliable relays of a radio network, by operators of one's own");
  ein::Extent stations = 150;
  double works = 0.9;
  double p = 3;
  std::string output;
  app.add_option("--stations", stations, "stations of the network")
      ->check(CLI::Range(2, 100'000))
      ->capture_default_str();
  app.add_option("--works", works, "the probability that a relay works")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--p", p, "the losses are summed up in the p-norm")
      ->check(CLI::Range(1.0, 16.0))
      ->capture_default_str();
  app.add_option("--output", output, "write the losses to this .npy");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    ein::Program g;
    auto P = g.input<double>("P", {stations, stations});
    auto best = let<"best">(i, k) = max(j)(join(Relay{works}, P(i, j), P(j, k)));
    auto backup = let<"backup">(i, k) =
        ein::aggregate<SecondBest>(j)(join(Relay{works}, P(i, j), P(j, k)));
    auto loss = let<"loss">(i) = ein::aggregate(Norm{p}, k)(best(i, k) - backup(i, k));
    g.role(i, "batch");

    std::vector<double> expected;
    for (ein::Extent from = 0; context.rank == 0 && from < stations; ++from) {
      double total = 0;
      for (ein::Extent to = 0; to < stations; ++to) {
        std::vector<double> by_relay;
        for (ein::Extent relay = 0; relay < stations; ++relay) {
          by_relay.push_back(works * hop(from, relay, stations) * hop(relay, to, stations));
        }
        std::ranges::partial_sort(by_relay, by_relay.begin() + 2, std::greater());
        total += std::pow(by_relay[0] - by_relay[1], p);
      }
      expected.push_back(std::pow(total, 1 / p));
    }
    const auto check = [&](const auto& run) -> examples::Verdict {
      const auto found = examples::on_host(run.gather(loss, 0));
      if (context.rank != 0) return {};
      if (!output.empty()) examples::save(output, found);
      const double error = examples::largest_difference(found.data(), expected);
      return {error < 1e-12, fmt::format("largest error {:.1e}", error)};
    };
    return examples::compare_strategies(
        context, g, check, ein::bind_generator(P, [stations](ein::Extent from, ein::Extent to) {
          return hop(from, to, stations);
        }));
  });
}
