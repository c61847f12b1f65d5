// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements that are looped over in steps up to one that adds the blocks up: values, words and
// bytes.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "eindecomp/run/share_plan.hpp"
#include "run/programs.hpp"

using namespace run_test;
using namespace eindecomp::labels;
using ein::let;

namespace {

constexpr Extent long_extent = 9;   // of i and j
constexpr Extent short_extent = 5;  // of a and b

/// U(i,j,a,b) = T(i,a) V(j,b), W = U less itself with a and b exchanged, X = Σ_e S(i,j,e) D(e,a,b),
/// and reductions of W and X over labels of the loops, which are i and j.
struct Loops {
  Program program;
  ein::Symbol<double, 2, Program::Backend> T, V;
  ein::Symbol<double, 3, Program::Backend> S, D;
  Formula<> ft{1};
  Formula<> fv{2};
  Formula<> fs{3};
  Formula<> fd{4};

  Loops()
      : T(program.input<double>("T", {long_extent, short_extent})),
        V(program.input<double>("V", {long_extent, short_extent})),
        S(program.input<double>("S", {long_extent, long_extent, 3})),
        D(program.input<double>("D", {3, short_extent, short_extent})) {}

  /// W(i,j,a,b) and X(i,j,a,b) of the program, to be joined.
  [[nodiscard]] auto terms() const {
    const auto U = let<"U">(i, j, a, b) = T(i, a) * V(j, b);
    const auto W = let<"W">(i, j, a, b) = U(i, j, a, b) - U(i, j, b, a);
    const auto X = let<"X">(i, j, a, b) = sum(e)(S(i, j, e) * D(e, a, b));
    return W(i, j, a, b) * X(i, j, a, b);
  }
  [[nodiscard]] double term(Extent p, Extent q, Extent c, Extent d) const {
    double x = 0;
    for (Extent n = 0; n < 3; ++n) x += fs(p, q, n) * fd(n, c, d);
    return (ft(p, c) * fv(q, d) - ft(p, d) * fv(q, c)) * x;
  }

  /// Runs the program in such loops, planned and by hand, on all ranks and numbers of workers, and
  /// checks what it moves and holds. \returns a result's elements, the same each time.
  template <class Result>
  [[nodiscard]] std::vector<double> run(const Result& result, const char* last) const {
    const World world;
    std::vector<double> found;
    const auto run_in = [&](const ein::DecomposeOptions& options) {
      CAPTURE(options.workers);
      const Plan plan = ein::share_plan(program, MPI_COMM_WORLD,
                                        [&] { return ein::decompose(program, options); });
      REQUIRE(plan.steps.size() == 1);
      CHECK(plan.steps[0].steps() > 1);
      CHECK(eindecomp::relation::adds_blocks(plan.graph, plan.steps[0]));
      const auto run = ein::execute(plan, MPI_COMM_WORLD, Space(), ein::bind_generator(T, ft),
                                    ein::bind_generator(V, fv), ein::bind_generator(S, fs),
                                    ein::bind_generator(D, fd));
      CHECK(run.statistics().words_received == of_this_rank(plan.tasks().received));
      const ein::SpaceFacts space{.threads = Space().concurrency()};
      CHECK(run.statistics().peak_bytes() - run.statistics().workspace_bytes ==
            plan.peak_bytes(space)[static_cast<std::size_t>(world.rank)]);
      const auto whole = on_host(run.gather(result));
      std::vector<double> elements;
      for (std::size_t n = 0; n < whole.size(); ++n) {
        elements.push_back(static_cast<double>(whole.data()[n]));
      }
      if (found.empty()) found = elements;
      CHECK(found == elements);
      return std::ranges::max(plan.peak_bytes(space));
    };
    const std::int64_t four_labels = 8 * long_extent * long_extent * short_extent * short_extent;
    for (const int workers : {1, world.size, 2 * world.size}) {
      // Less than one tensor of four labels, whatever the number of workers.
      ein::DecomposeOptions options{
          .workers = workers, .ranks = world.size, .memory = four_labels * 3 / 4};
      if (workers == 1) CHECK(run_in(options) < four_labels);
      options.steps = {{"U", last, {{"i", long_extent}, {"j", 4}}}};
      CHECK(run_in(options) < four_labels);
    }
    return found;
  }
};

/// Visits the indices i, j, a, b.
template <class Visit>
void for_each_index(const Visit& visit) {
  for (Extent p = 0; p < long_extent; ++p) {
    for (Extent q = 0; q < long_extent; ++q) {
      for (Extent c = 0; c < short_extent; ++c) {
        for (Extent d = 0; d < short_extent; ++d) visit(p, q, c, d);
      }
    }
  }
}

}  // namespace

TEST_CASE("a scalar is added up block by block") {
  const Loops loops;
  const auto E = let<"E">() = sum(i, j, a, b)(loops.terms());
  double expected = 0;
  for_each_index(
      [&](Extent p, Extent q, Extent c, Extent d) { expected += loops.term(p, q, c, d); });
  CHECK(loops.run(E, "E") == std::vector<double>{expected});
}

TEST_CASE("one of the loops' labels is aggregated, the other kept") {
  const Loops loops;
  const auto E = let<"E">(j, a) = sum(i, b)(loops.terms());
  std::vector<double> expected(long_extent * short_extent, 0.0);
  for_each_index([&](Extent p, Extent q, Extent c, Extent d) {
    expected[static_cast<std::size_t>(q * short_extent + c)] += loops.term(p, q, c, d);
  });
  CHECK(loops.run(E, "E") == expected);
}

TEST_CASE("minima, and sums whose accumulators become elements at the end") {
  const Loops least;
  const auto E = let<"E">(a) = min(i, j, b)(least.terms());
  std::vector<double> expected(short_extent, 1e300);
  for_each_index([&](Extent p, Extent q, Extent c, Extent d) {
    double& here = expected[static_cast<std::size_t>(c)];
    here = std::min(here, least.term(p, q, c, d));
  });
  CHECK(least.run(E, "E") == expected);

  const Loops where;
  const auto N = let<"N">(j, a, b) = argmax(i)(where.terms());
  std::vector<double> first(long_extent * short_extent * short_extent, 0.0);
  for_each_index([&](Extent p, Extent q, Extent c, Extent d) {
    double& best = first[static_cast<std::size_t>((q * short_extent + c) * short_extent + d)];
    if (where.term(p, q, c, d) > where.term(static_cast<Extent>(best), q, c, d)) {
      best = static_cast<double>(p);
    }
  });
  CHECK(where.run(N, "N") == first);
}
