// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/k_cut.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/plan/partition.hpp"
#include "plan/programs.hpp"
#include "plan/random_graph.hpp"
#include "support/cases.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

constexpr int whole = -1;

/// The rules of one cut written again, from the tables of section 4: what converting a tensor of n
/// words costs among some groups, 'r' being -1 and 'red' -2.
Extent convert(Extent n, int from, int to, int parts) {
  const Extent others = parts - 1;
  if (from == -2) return (to == whole ? 2 : 1) * others * n;
  if (from == to) return 0;
  if (from == whole) return 0;
  if (to == whole) return parts * (n / parts * others);
  return parts * (n / parts / parts * others) + n / parts % parts * others;
}

Extent words_of(const std::vector<Extent>& tile) {
  Extent n = 1;
  for (Extent e : tile) n *= e;
  return n;
}

bool is_uncut(const EinGraph& graph, VertexId v, int position) {
  const LabelId label = graph[v].labels[static_cast<std::size_t>(position)];
  return graph.labels[static_cast<std::size_t>(label)].uncut;
}

/// The cost of a cut with given tilings, and of each statement by every aligned form.
Extent cost_of(const EinGraph& graph, const Tiles& tiles, const std::vector<int>& tilings,
               int parts = 2) {
  const auto convert = [parts](Extent n, int from, int to) {
    return ::convert(n, from, to, parts);
  };
  Extent sum = 0;
  for (VertexId v = 0; v < graph.size(); ++v) {
    const Vertex& vertex = graph[v];
    if (vertex.is_input()) continue;
    const auto at = static_cast<std::size_t>(v);
    Extent best = std::numeric_limits<Extent>::max();
    for (int l = 0; l < static_cast<int>(vertex.labels.size()); ++l) {
      if (is_uncut(graph, v, l)) continue;
      if (tiles.calls[at][static_cast<std::size_t>(l)] % parts != 0) continue;
      Extent cost = 0;
      for (const Operand& operand : vertex.operands) {
        const auto u = static_cast<std::size_t>(operand.vertex);
        Extent cheapest = std::numeric_limits<Extent>::max();
        for (std::size_t k = 0; k < operand.labels.size(); ++k) {
          if (operand.labels[k] != l) continue;
          cheapest = std::min(cheapest,
                              convert(words_of(tiles.tensors[u]), tilings[u], static_cast<int>(k)));
        }
        if (cheapest == std::numeric_limits<Extent>::max()) {
          cheapest = convert(words_of(tiles.tensors[u]), tilings[u], whole);
        }
        cost += cheapest;
      }
      int output = -2;
      for (std::size_t k = 0; k < vertex.output.size(); ++k) {
        if (vertex.output[k] == l) output = static_cast<int>(k);
      }
      best = std::min(best, cost + convert(words_of(tiles.tensors[at]), output, tilings[at]));
    }
    if (best == std::numeric_limits<Extent>::max()) {
      best = 0;
      for (const Operand& operand : vertex.operands) {
        const auto u = static_cast<std::size_t>(operand.vertex);
        best += convert(words_of(tiles.tensors[u]), tilings[u], whole);
      }
    }
    sum += best;
  }
  return sum;
}

/// All tilings of all tensors, inputs too.
std::vector<std::vector<int>> all_tilings(const EinGraph& graph, const Tiles& tiles,
                                          int parts = 2) {
  std::vector<std::vector<int>> choices;
  for (VertexId t = 0; t < graph.size(); ++t) {
    std::vector<int> own{whole};
    const auto at = static_cast<std::size_t>(t);
    for (std::size_t k = 0; k < tiles.tensors[at].size(); ++k) {
      bool allowed = tiles.tensors[at][k] % parts == 0;
      for (VertexId v = 0; v < graph.size(); ++v) {
        for (const Operand& operand : graph[v].operands) {
          if (operand.vertex == t && is_uncut(graph, v, operand.labels[k])) allowed = false;
        }
        if (v == t && !graph[v].is_input() && is_uncut(graph, v, graph[v].output[k])) {
          allowed = false;
        }
      }
      if (allowed) own.push_back(static_cast<int>(k));
    }
    choices.push_back(own);
  }
  std::vector<std::vector<int>> all{{}};
  for (const std::vector<int>& own : choices) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& begun : all) {
      for (int choice : own) {
        longer.push_back(begun);
        longer.back().push_back(choice);
      }
    }
    all = std::move(longer);
    if (all.size() > 100'000) return {};
  }
  return all;
}

/// Graphs of extents that a factor divides: what random_graph() draws, times the factor.
EinGraph even_graph(std::mt19937& random, Extent factor, int most) {
  EinGraph small = random_graph(random, false, most);
  for (Vertex& v : small.vertices) {
    for (Extent& b : v.bound) b *= factor;
    for (Extent& b : v.extents) b *= factor;
  }
  return small;
}

std::vector<Extent> deltas(const KCutResult& result) {
  std::vector<Extent> found;
  for (const Cut& cut : result.cuts) found.push_back(cut.words);
  return found;
}

}  // namespace

TEST_CASE("conversions cost what the table says") {
  CHECK(plan::conversion(100, 0, 0, 2) == 0);
  CHECK(plan::conversion(100, replicated, replicated, 2) == 0);
  CHECK(plan::conversion(100, replicated, 1, 2) == 0);
  CHECK(plan::conversion(100, 1, replicated, 2) == 100);
  CHECK(plan::conversion(100, 0, 1, 2) == 50);
  CHECK(plan::reduction(100, 0, 2) == 100);
  CHECK(plan::reduction(100, replicated, 2) == 200);
  // Four of five groups' parts of 20, to five groups; or four fifths of a part.
  CHECK(plan::conversion(100, 1, replicated, 5) == 400);
  CHECK(plan::conversion(100, 0, 1, 5) == 80);
  CHECK(plan::reduction(100, 0, 5) == 400);
  CHECK(plan::reduction(100, replicated, 5) == 800);
}

TEST_CASE("one statement needs no words as long as its inputs lie as it likes") {
  const EinGraph graph = matmul(8, 8, 8);
  const KCutResult result = k_cuts(graph, 3);
  CHECK(deltas(result) == std::vector<Extent>{0, 0, 0});
  CHECK(result.words() == 0);
  CHECK(result.optimal);
}

TEST_CASE("a chain of two products by hand") {
  // H(i,k) = X(i,j) W(j,k), Z(i,m) = H(i,k) V(k,m): rows all along, no word moves. Were the rows
  // not to be cut, H would be cut along k and Z reduced, or gathered.
  EinGraph graph;
  const VertexId x = input(graph, "X", {4, 64});
  const VertexId w = input(graph, "W", {64, 32});
  const VertexId v = input(graph, "V", {32, 16});
  const VertexId h = write(graph, "H", "ij,jk->ik", {x, w});
  const VertexId z = write(graph, "Z", "ik,km->im", {h, v});
  CHECK(one_cut(graph, whole_tiles(graph)).words == 0);
  graph.labels[static_cast<std::size_t>(graph.find_label("i"))].uncut = true;
  const Cut cut = one_cut(graph, whole_tiles(graph));
  CHECK(cut.words == 4 * 16);  // red to a tiling of Z
  CHECK(cut.tilings[static_cast<std::size_t>(h)] == 1);
  CHECK(cut.tilings[static_cast<std::size_t>(z)] == 1);
  CHECK(cut.labels[static_cast<std::size_t>(h)] == 2);
  CHECK(cut.labels[static_cast<std::size_t>(z)] == 1);
}

TEST_CASE("a weight that is replaced by its next value keeps its tiling") {
  // One linear layer trained: Y = X W, G = Xᵀ E, W' = W - G.
  EinGraph graph;
  const VertexId x = input(graph, "X", {64, 8});
  const VertexId w = input(graph, "W", {8, 8});
  const VertexId y = write(graph, "Y", "ij,jk->ik", {x, w});
  const VertexId g = write(graph, "G", "ij,ik->jk", {x, y});
  const VertexId next = write(graph, "N", "jk,jk->jk", {w, g});
  const KCutOptions options{.in_place = {{w, next}}};
  const Cut cut = one_cut(graph, whole_tiles(graph), options);
  CHECK(cut.tilings[static_cast<std::size_t>(w)] == cut.tilings[static_cast<std::size_t>(next)]);
  // Against all tilings that agree on both.
  const Tiles tiles = whole_tiles(graph);
  Extent least = std::numeric_limits<Extent>::max();
  for (const std::vector<int>& tilings : all_tilings(graph, tiles)) {
    if (tilings[static_cast<std::size_t>(w)] != tilings[static_cast<std::size_t>(next)]) continue;
    least = std::min(least, cost_of(graph, tiles, tilings));
  }
  CHECK(cut.words == least);
}

TEST_CASE("one cut is the least over all tilings of random graphs") {
  const int wanted = random_cases(2000);
  int checked = 0;
  int with_words = 0;
  int into_more = 0;
  for (unsigned seed = 0; checked < wanted || into_more < wanted / 5; ++seed) {
    CAPTURE(seed);
    REQUIRE(seed < 20'000);
    std::mt19937 random(seed);
    const int parts = seed % 5 == 4 ? draw(random, 3, 5) : 2;
    CAPTURE(parts);
    EinGraph graph = seed % 2 == 0 ? random_graph(random, false) : even_graph(random, parts, 4);
    if (graph.labels.size() > 2 && seed % 3 == 0) graph.labels[1].uncut = true;
    const Tiles tiles = whole_tiles(graph);
    const std::vector<std::vector<int>> all = all_tilings(graph, tiles, parts);
    if (all.empty() || all.size() > 4096) continue;
    ++(parts == 2 ? checked : into_more);
    Extent least = std::numeric_limits<Extent>::max();
    for (const std::vector<int>& tilings : all) {
      least = std::min(least, cost_of(graph, tiles, tilings, parts));
    }
    const Cut cut = one_cut(graph, tiles, {}, parts);
    CHECK(cut.parts == parts);
    CHECK(cut.words == least);
    CHECK(cost_of(graph, tiles, cut.tilings, parts) == least);
    if (least > 0) ++with_words;
    // With tables of a few entries the cut is a valid one, and says so if it is not the least.
    const KCutResult narrow = k_cuts(graph, std::vector<int>{parts}, {.max_states = 4});
    CHECK(narrow.cuts[0].words >= least);
    CHECK(narrow.cuts[0].words == cost_of(graph, tiles, narrow.cuts[0].tilings, parts));
    if (narrow.optimal) CHECK(narrow.words() == least);
  }
  CHECK(with_words > wanted / 10);
}

TEST_CASE("two cuts are the least over all sequences of two optimal cuts") {
  int checked = 0;
  int chose = 0;
  for (unsigned seed = 500; checked < 20; ++seed) {
    CAPTURE(seed);
    REQUIRE(seed < 5000);
    std::mt19937 random(seed);
    const EinGraph graph = even_graph(random, 4, 3);
    const Tiles tiles = whole_tiles(graph);
    const std::vector<std::vector<int>> all = all_tilings(graph, tiles);
    if (all.empty() || all.size() > 600) continue;
    Extent first = std::numeric_limits<Extent>::max();
    for (const std::vector<int>& tilings : all) {
      first = std::min(first, cost_of(graph, tiles, tilings));
    }
    if (first == 0) continue;
    ++checked;
    Extent best = std::numeric_limits<Extent>::max();
    Extent worst = 0;
    const plan::CutRules rules(graph, tiles, 2);
    for (const std::vector<int>& tilings : all) {
      if (cost_of(graph, tiles, tilings) != first) continue;
      const Tiles halves = cut_tiles(tiles, rules.cut(tilings));
      Extent second = std::numeric_limits<Extent>::max();
      for (const std::vector<int>& later : all_tilings(graph, halves)) {
        second = std::min(second, cost_of(graph, halves, later));
      }
      best = std::min(best, first + 2 * second);
      worst = std::max(worst, first + 2 * second);
    }
    const KCutResult result = k_cuts(graph, 2);
    CHECK(result.cuts[0].words == first);
    CHECK(result.words() == best);
    if (worst > best) ++chose;
  }
  CHECK(chose > 3);
}

TEST_CASE("later cuts are no cheaper than half of those before, and c_k adds them up") {
  int positive = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const EinGraph graph = even_graph(random, 16, 4);
    const int k = draw(random, 1, 4);
    const KCutResult result = k_cuts(graph, k);
    REQUIRE(result.cuts.size() == static_cast<std::size_t>(k));
    CHECK(result.optimal);
    const std::vector<Extent> delta = deltas(result);
    Extent sum = 0;
    for (std::size_t n = 0; n < delta.size(); ++n) {
      sum += (Extent{1} << n) * delta[n];
      if (n > 0) CHECK(delta[n - 1] <= 2 * delta[n]);
      if (delta[n] > 0) ++positive;
    }
    CHECK(result.words() == sum);
  }
  CHECK(positive > 50);
  // Each of the groups that the cuts before have left makes a cut.
  const EinGraph graph = matrix_chain(60);
  const KCutResult mixed = k_cuts(graph, std::vector<int>{2, 3, 5});
  const std::vector<Extent> delta = deltas(mixed);
  CHECK(mixed.words() == delta[0] + 2 * (delta[1] + 3 * delta[2]));
  CHECK(k_cut(graph, 30) == flatten(graph, mixed.cuts));
}

TEST_CASE("the order of cuts does not change the tiles, and they make partition vectors") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const EinGraph graph = even_graph(random, 8, 4);
    const std::vector<Cut> cuts = k_cuts(graph, 3).cuts;
    std::vector<Cut> turned = cuts;
    std::shuffle(turned.begin(), turned.end(), random);
    Tiles tiles = whole_tiles(graph);
    for (const Cut& cut : cuts) tiles = cut_tiles(tiles, cut);
    Tiles other = whole_tiles(graph);
    for (const Cut& cut : turned) other = cut_tiles(other, cut);
    CHECK(tiles == other);
    const Partitions partitions = flatten(graph, cuts);
    CHECK(partitions == flatten(graph, turned));
    CHECK(partitions == k_cut(graph, 8));
    const std::vector<AxisLists> axes = axes_of_cuts(graph, cuts);
    for (std::size_t v = 0; v < partitions.size(); ++v) {
      for (std::size_t l = 0; l < partitions[v].size(); ++l) {
        CHECK(partitions[v][l] * tiles.calls[v][l] == graph.vertices[v].extents[l]);
      }
      for (std::size_t n = 0; n < cuts.size() && !partitions[v].empty(); ++n) {
        const int label = cuts[n].labels[v];
        if (label == undivided) continue;
        const std::vector<int>& list = axes[v][static_cast<std::size_t>(label)];
        CHECK(std::ranges::find(list, static_cast<int>(n)) != list.end());
      }
    }
  }
}

TEST_CASE("the first cut is the first axis of the mesh") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const EinGraph graph = seed % 2 == 0 ? random_graph(random, false) : even_graph(random, 8, 4);
    const std::vector<Cut> cuts = k_cuts(graph, 3).cuts;
    const Placement placement = place_cuts(graph, cuts);
    CHECK_NOTHROW(check_placement(graph, placement));
    CHECK(placement.mesh == make_mesh(8));
    const Partitions partitions = flatten(graph, cuts);
    for (std::size_t v = 0; v < partitions.size(); ++v) {
      CHECK(parts_of(placement.mesh, placement.calls[v]) == partitions[v]);
      const int label = cuts[0].labels[v];
      if (label != undivided) {
        CHECK(placement.calls[v][static_cast<std::size_t>(label)].front() == 0);
      }
    }
  }
  const EinGraph graph = matmul(8, 8, 8);
  const Placement given = place_cuts(graph, k_cuts(graph, 2).cuts, {.inputs = {{0, {1, 4}}}});
  CHECK(parts_of(given.mesh, given.stored[0]) == PartitionVector{1, 4});
}

TEST_CASE("where extents are odd statements are cut unevenly rather than not at all") {
  const Partitions partitions = k_cut(matmul(7, 7, 7), 8);
  CHECK(kernel_calls(partitions.back()) == 8);
  CHECK(kernel_calls(k_cut(matmul(7, 7, 7), 30).back()) == 30);
  // The two large factors would both go to the longer label, and 2 then to the other.
  CHECK(kernel_calls(k_cut(matmul(22, 1, 12), 242).back()) == 242);
  CHECK_THROWS_WITH_AS(static_cast<void>(k_cut(matmul(8, 8, 8), 0)),
                       doctest::Contains("a plan for 0 workers"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(k_cuts(matmul(8, 8, 8), std::vector<int>{2, 1})),
                       doctest::Contains("cut among 1 groups"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(k_cuts(matmul(8, 8, 8), -1)),
                       doctest::Contains("cut -1 times"), Error);
}

TEST_CASE("a program may be as long as memory allows") {
  EinGraph graph;
  VertexId v = input(graph, "X", {64, 64});
  constexpr int statements = 12000;
  for (int n = 0; n < statements; ++n) v = write(graph, "", "ij->ij", {v});
  const Partitions found = k_cut(graph, 2);
  CHECK(found.size() == graph.vertices.size());
  CHECK(kernel_calls(found.back()) == 2);
}

TEST_CASE("k_cut works in constant expressions") {
  static_assert(k_cuts(matrix_chain(8), 2).words() >= 0);
  static_assert(kernel_calls(k_cut(matmul(6, 6, 6), 6).back()) == 6);
  static_assert(kernel_calls(k_cut(matmul(8, 8, 8), 4).back()) == 4);
}

TEST_CASE("the closed form of the paper's network") {
  constexpr std::int64_t parameters = 300 * 300 * 5 * 4;
  constexpr std::int64_t activations = 400 * 300 * 5 * 4;
  constexpr ClosedForm form = soybean_closed_form(parameters, activations, 16, 4);
  static_assert(form.data == 57'600'000);
  static_assert(form.model == 76'800'000);
  static_assert(form.hybrid == 33'600'000);
  CHECK(soybean_closed_form(parameters, activations, 16, 16).hybrid == form.data + 2 * activations);
  CHECK_THROWS_WITH_AS(static_cast<void>(soybean_closed_form(1, 1, 16, 3)),
                       doctest::Contains("give groups that divide the workers"), Error);
}
