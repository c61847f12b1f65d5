// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/plan/placed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <random>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/exact.hpp"
#include "eindecomp/plan/placed_strategy.hpp"
#include "eindecomp/plan/strategy.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "plan/placed_brute_force.hpp"
#include "plan/programs.hpp"
#include "plan/random_graph.hpp"
#include "support/cases.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

Plan placed_plan(const EinGraph& graph, int p, double max_idle = -1, int ranks = 0) {
  DecomposeOptions options;
  options.workers = p;
  options.ranks = ranks;
  options.strategy = "placed";
  options.max_idle = max_idle;
  return decompose(graph, options);
}

std::pair<Extent, Extent> words(const Plan& plan) {
  const TaskGraph tasks = plan.tasks();
  return {tasks.busiest_words(), tasks.total_words()};
}

/// Whether every statement is cut into as many calls as can be.
bool is_parallel(const Plan& plan) {
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    if (plan.graph[v].is_input()) continue;
    const auto most = kernel_calls(partition_vectors(plan.graph, v, plan.workers_in_use())[0]);
    if (kernel_calls(plan.partitions[static_cast<std::size_t>(v)]) != most) return false;
  }
  return true;
}

/// What the busiest worker of the best grid receives for Z(m,n) = X(m,k)·Y(k,n), operands and
/// result spread evenly.
double best_grid(Extent m, Extent k, Extent n, int workers) {
  const auto up = [](Extent b, Extent d) { return static_cast<double>((b + d - 1) / d); };
  double best = -1;
  for (Extent a = 1; a <= workers; ++a) {
    if (workers % a != 0) continue;
    for (Extent b = 1; b <= workers / a; ++b) {
      if (workers / a % b != 0) continue;
      const Extent c = workers / a / b;
      if (a > m || b > k || c > n) continue;
      const double moved = up(m, a) * up(k, b) * (1 - 1 / static_cast<double>(c)) +
                           up(k, b) * up(n, c) * (1 - 1 / static_cast<double>(a)) +
                           up(m, a) * up(n, c) * (1 - 1 / static_cast<double>(b));
      if (best < 0 || moved < best) best = moved;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("placed equals brute force over all placements") {
  const int wanted = random_cases(24);
  int compared = 0;
  for (unsigned seed = 50'000; compared < wanted; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const EinGraph graph = random_graph(random, false);
    const int p = draw(random, 2, 8);
    int statements = 0;
    bool small = true;
    for (const Vertex& v : graph.vertices) {
      statements += v.is_input() ? 0 : 1;
      small = small && v.size() <= 500;
    }
    if (statements > 3 || !small) continue;
    PlacedBruteForce brute_force(graph, make_mesh(p).axes);
    if (brute_force.count() < 2 || brute_force.count() > 4000) continue;
    CAPTURE(p);
    CHECK(words(placed_plan(graph, p, 0)) == brute_force.least());
    ++compared;
  }
}

TEST_CASE("placed equals brute force over all placements where workers share a rank") {
  const int wanted = std::max(random_cases(25), 15);  // of fewer none may be better
  int compared = 0;
  int better = 0;
  for (unsigned seed = 60'000; compared < wanted; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const EinGraph graph = random_graph(random, false);
    const int p = draw(random, 3, 8);
    const int ranks = draw(random, 2, p - 1);
    int statements = 0;
    bool small = true;
    for (const Vertex& v : graph.vertices) {
      statements += v.is_input() ? 0 : 1;
      small = small && v.size() <= 200;
    }
    if (statements > 2 || !small) continue;
    PlacedBruteForce brute_force(graph, make_mesh(p, ranks).axes, ranks);
    if (brute_force.count() < 2 || brute_force.count() > 1500) continue;
    CAPTURE(p);
    CAPTURE(ranks);
    const auto least = words(placed_plan(graph, p, 0, ranks));
    CHECK(least == brute_force.least());
    // The plan for workers on ranks of their own, on these ranks.
    const TaskGraph by_worker = make_task_graph(graph, placed_plan(graph, p, 0).placement, ranks);
    CHECK(least <= std::pair(by_worker.busiest_words(), by_worker.total_words()));
    if (least.first < by_worker.busiest_words()) ++better;
    ++compared;
  }
  CHECK(better > wanted / 10);
}

TEST_CASE("placed for shared ranks moves no more than for workers on ranks of their own") {
  const int count = random_cases(40);
  int better = 0;
  for (int i = 0; i < count; ++i) {
    const unsigned seed = 65'000 + static_cast<unsigned>(i);
    CAPTURE(seed);
    std::mt19937 random(seed);
    const EinGraph graph = random_graph(random, false, 6);
    const int p = draw(random, 2, 24);
    const int ranks = draw(random, 1, p - 1);
    CAPTURE(p);
    CAPTURE(ranks);
    const auto shared = words(placed_plan(graph, p, 0, ranks));
    const TaskGraph by_worker = make_task_graph(graph, placed_plan(graph, p, 0).placement, ranks);
    CHECK(shared <= std::pair(by_worker.busiest_words(), by_worker.total_words()));
    if (shared.first < by_worker.busiest_words()) ++better;
  }
  CHECK(better > count / 10);
}

TEST_CASE("workers that share ranks move nothing where a label is cut among the ranks alone") {
  for (const int heads : {3, 5}) {
    EinGraph graph;
    const VertexId q = input(graph, "Q", {heads, 64, 32});
    const VertexId k = input(graph, "K", {heads, 64, 32});
    const VertexId v = input(graph, "V", {heads, 64, 32});
    const VertexId t = write(graph, "T", "hsd,htd->hst", {q, k});
    write(graph, "O", "hst,htd->hsd", {t, v});
    for (const int workers : {1, 2, 4}) {
      CAPTURE(heads);
      CAPTURE(workers);
      CHECK(decompose(graph, {.workers = heads * workers, .ranks = heads}).tasks().total_words() ==
            0);
    }
  }
}

TEST_CASE("no strategy moves fewer words than placed") {
  const int count = random_cases(70);
  constexpr const char* roles[] = {"batch", "hidden", "head", "sequence"};
  int better = 0;
  int better_by_role = 0;
  for (int i = 0; i < count; ++i) {
    const unsigned seed = 70'000 + static_cast<unsigned>(i);
    CAPTURE(seed);
    std::mt19937 random(seed);
    EinGraph graph = random_graph(random, false);
    for (std::size_t l = 0; l < graph.labels.size(); ++l) graph.labels[l].role = roles[l % 4];
    const int p = draw(random, 1, 3) == 1 ? draw(random, 2, 13) : 1 << draw(random, 1, 4);
    CAPTURE(p);
    const Plan plan = placed_plan(graph, p);
    CHECK(is_parallel(plan));
    CHECK_NOTHROW(check_placement(plan.graph, plan.placement));
    const auto least = words(plan);
    for (const Strategy& other : strategies) {
      if (other.name == "placed" || other.name == "by_hand") continue;
      CAPTURE(std::string(other.name));
      DecomposeOptions options;
      options.workers = p;
      options.strategy = other.name;
      try {
        const Plan baseline = decompose(graph, options);
        // Strategies by role may leave workers without work, and then need not move anything.
        if (other.by_role() && !is_parallel(baseline)) continue;
        const auto moved = words(baseline);
        CHECK(least <= moved);
        if (least.first < moved.first) ++(other.by_role() ? better_by_role : better);
      } catch (const Error&) {
        CHECK(other.by_role());  // of whose roles the program has none
      }
    }
  }
  CHECK(better > count / 4);
  CHECK(better_by_role > count / 4);
}

TEST_CASE("placed finds the best grid for one matrix product, on a few workers less if that pays") {
  struct Shape {
    Extent m, k, n;
  };
  double worst = 0;
  double worst_ruled = 0;
  for (const Shape& s :
       {Shape{8192, 8192, 8192}, Shape{65536, 4096, 4096}, Shape{16384, 16384, 512}}) {
    const EinGraph graph = matmul(s.m, s.k, s.n);
    for (int p = 2; p <= 512; ++p) {
      if (share_of_cases() <= 100 && p > 12 && p % (p > 40 ? 122 : 7) != 0 && p != 512) continue;
      if (share_of_cases() < 100 && p > 40) continue;
      const int fewest = min_workers(p, -1);
      const double of_all = best_grid(s.m, s.k, s.n, p);
      double any = of_all;
      double ruled = of_all;
      for (int q = fewest; q < p; ++q) {
        const double grid = best_grid(s.m, s.k, s.n, q);
        any = std::min(any, grid);
        if (grid * p < of_all * q) ruled = std::min(ruled, grid);
      }
      const Plan plan = placed_plan(graph, p);
      CAPTURE(s.m);
      CAPTURE(p);
      CHECK(plan.workers == p);
      CHECK(plan.workers_in_use() >= fewest);
      const auto moved =
          plan::sum_of(plan::quick_words(plan.graph, plan.placement, plan.workers_in_use()));
      const double busiest = static_cast<double>(moved.busiest);
      CHECK(busiest <= 1.02 * ruled);
      worst = std::max(worst, busiest / any);
      worst_ruled = std::max(worst_ruled, busiest / ruled);
    }
  }
  MESSAGE("worst ratio to the best grid " << worst_ruled << ", to that of any number of workers "
                                          << worst);
}

TEST_CASE("placed leaves workers idle only where it is allowed to") {
  const EinGraph graph = matmul(1024, 1024, 1024);
  CHECK(placed_plan(graph, 7).workers_in_use() == 6);
  CHECK(placed_plan(graph, 7, 0).workers_in_use() == 7);
  CHECK(placed_plan(graph, 2).workers_in_use() == 2);
  CHECK(placed_plan(graph, 8).workers_in_use() == 8);
  CHECK(min_workers(512, -1) == 497);
  CHECK(min_workers(10, -1) == 9);
  CHECK(min_workers(10, 20) == 8);
  CHECK(min_workers(1, -1) == 1);
  CHECK_THROWS_AS(placed_plan(graph, 4, 200), Error);

  // An idle worker has no blocks.
  const Plan plan = placed_plan(graph, 7);
  CHECK(plan.ranks == 7);
  CHECK(plan.local("X", 5).size() == 1);
  CHECK(plan.local("X", 6).empty());
  CHECK(plan.tasks().received.at(6) == 0);
}

TEST_CASE("placed keeps to the user's layouts and to labels that may not be cut") {
  EinGraph graph = matmul(64, 64, 64);
  DecomposeOptions options;
  options.workers = 8;
  options.strategy = "placed";
  options.layouts = {{"X", {1, 4}}, {"Y", {8, 1}}};
  const Plan given = decompose(graph, options);
  CHECK(parts_of(given.placement.mesh, given.placement.stored[0]) == PartitionVector{1, 4});
  CHECK(parts_of(given.placement.mesh, given.placement.stored[1]) == PartitionVector{8, 1});

  graph.labels[static_cast<std::size_t>(graph.find_label("j"))].uncut = true;
  CHECK(placed_plan(graph, 8).parts("Z", "j") == 1);
}

TEST_CASE("placed keeps blocks that several statements read") {
  // Both products take X by rows of the grid: it is gathered once.
  EinGraph graph;
  const VertexId x = input(graph, "X", {64, 64});
  const VertexId v = input(graph, "V", {64, 64});
  const VertexId w = input(graph, "W", {64, 64});
  write(graph, "A", "ij,jk->ik", {x, v});
  const auto one = words(placed_plan(matmul(64, 64, 64), 4));
  write(graph, "B", "ij,jk->ik", {x, w});
  const auto two = words(placed_plan(graph, 4));
  CHECK(two.first < 2 * one.first);
}

TEST_CASE("a labeling that leaves workers without work is no plan of placed") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {2, 4});
  const VertexId w = input(graph, "W", {4, 4});
  write(graph, "H", "ij,jk->ik", {x, w});
  graph.labels[static_cast<std::size_t>(graph.find_label("i"))].role = "batch";
  const DecomposeOptions options{.workers = 8, .objective = Objective::paper};
  CHECK(decompose(graph, {.workers = 8, .strategy = "data_parallel"}).partition("H") ==
        PartitionVector{2, 1, 1});
  CHECK(kernel_calls(decompose(graph, options).partition("H")) == 8);
}

TEST_CASE("words in all beyond 64 bits are compared") {
  // 64 workers might each read 2^57 elements.
  EinGraph graph;
  const VertexId a = input(graph, "A", {1 << 29, 1 << 28});
  const VertexId b = input(graph, "B", {1 << 28, 64});
  const VertexId c = write(graph, "C", "ij,jk->ik", {a, b});
  const Placement placement = placed(graph, 64);
  const AxisLists& calls = placement.calls[static_cast<std::size_t>(c)];
  CHECK(calls[2].empty());  // A stays where it is
}

TEST_CASE("a statement of too many partition vectors is named") {
  EinGraph graph;
  std::vector<VertexId> operands;
  std::string form;
  for (int n = 0; n < 3; ++n) {
    operands.push_back(input(graph, "X" + std::to_string(n), std::vector<Extent>(8, 16)));
    form += (n == 0 ? "" : ",") + std::string(letters.substr(static_cast<std::size_t>(8 * n), 8));
  }
  write(graph, "Z", form + "->", operands);
  CHECK_THROWS_WITH_AS(static_cast<void>(placed(graph, 128)),
                       doctest::Contains("statement Z has more than 1048576 partition vectors"),
                       Error);
}

TEST_CASE("exact gives one start where it finds the optimum, else one by each budget") {
  const EinGraph graph = attention(false);
  const auto where = std::source_location::current();
  const Strategy& strategy = find_strategy("exact");
  DecomposeOptions options{.workers = 8};
  const std::vector<Labeling> one = plan::starts_of(strategy, graph, options, where);
  REQUIRE(one.size() == 1);
  CHECK(one[0].gap == Extent{0});
  CHECK(graph_cost(graph, one[0].partitions).total() == exact(graph, 8).cost);

  options.effort.exact.max_states = 1;
  const std::vector<Labeling> several = plan::starts_of(strategy, graph, options, where);
  CHECK(several.size() == std::size(plan::tuning::start_work));
  for (const Labeling& start : several) CHECK(start.gap > Extent{0});
}
