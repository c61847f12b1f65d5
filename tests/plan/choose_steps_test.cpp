// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/placement/choose_steps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "plan/programs.hpp"
#include "support/messages.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

/// softmax(Q·Kᵀ)·V over b batch entries and h heads.
EinGraph attention_block(Extent b, Extent h, Extent s, Extent d) {
  EinGraph graph;
  const VertexId q = input(graph, "Q", {b, s, h, d});
  const VertexId k = input(graph, "K", {b, s, h, d});
  const VertexId v = input(graph, "V", {b, s, h, d});
  const VertexId t = write(graph, "T", "bshd,bthd->bhst", {q, k});
  const VertexId mx = write(graph, "mx", "bhst->bhs", {t});
  const VertexId ex = write(graph, "ex", "bhst,bhs->bhst", {t, mx});
  const VertexId sm = write(graph, "sm", "bhst->bhs", {ex});
  const VertexId p = write(graph, "P", "bhst,bhs->bhst", {ex, sm});
  write(graph, "O", "bhst,bthd->bshd", {p, v});
  return graph;
}

std::int64_t most(const std::vector<std::int64_t>& bytes) {
  return *std::max_element(bytes.begin(), bytes.end());
}

/// D = A B C. \param extents  of A's rows and columns, of B's columns and C's
EinGraph product_of_three(const std::vector<Extent>& extents) {
  EinGraph graph;
  const VertexId a = input(graph, "A", {extents[0], extents[1]});
  const VertexId b = input(graph, "B", {extents[1], extents[2]});
  const VertexId c = input(graph, "C", {extents[2], extents[3]});
  const VertexId ab = write(graph, "AB", "ij,jk->ik", {a, b});
  write(graph, "D", "ik,kl->il", {ab, c});
  return graph;
}

}  // namespace

TEST_CASE("attention runs head by head, and its scores are never whole") {
  const EinGraph graph = attention_block(4, 16, 512, 64);
  for (const int workers : {1, 8}) {
    CAPTURE(workers);
    const Plan plan = decompose(graph, {.workers = workers});
    REQUIRE(plan.steps.size() == 1);
    const StepGroup& group = plan.steps[0];
    CHECK(graph[group.first].name == "T");
    CHECK(graph[group.last].name == "O");
    // T, ex and P of one head alone are 6 MiB: all heads apart, and each head's rows in pieces.
    CHECK(group.steps() * workers >= 4 * 16 * 3);
    const Plan whole = decompose(graph, {.workers = workers, .cache_bytes = 0});
    CHECK(whole.steps.empty());
    CHECK(whole.tasks().total_words() == plan.tasks().total_words());
    CHECK(whole.hash() != plan.hash());
    const std::int64_t scores = 4 * 16 * 512 * 512 * 8 / workers;
    CHECK(most(whole.peak_bytes()) > 2 * scores);
    const std::int64_t outside = most(whole.peak_bytes()) - 3 * scores;
    CHECK(most(plan.peak_bytes()) < std::max<std::int64_t>(outside, 0) + scores);
  }
}

TEST_CASE("what fits the cache, or would be read again too often, does not run in steps") {
  CHECK(decompose(attention_block(1, 1, 64, 64), {.workers = 1}).steps.empty());
  // One product after another: each block of rows would read all of the next matrix again.
  EinGraph chain;
  VertexId x = input(chain, "X", {2048, 2048});
  for (const char* name : {"A", "B", "C"}) {
    const VertexId w = input(chain, std::string("W") + name, {2048, 2048});
    x = write(chain, name, "ij,jk->ik", {x, w});
  }
  CHECK(decompose(chain, {.workers = 1}).steps.empty());
}

TEST_CASE("what steps read again is added up beyond 64 bits") {
  // Every one of 16,384 steps would read the 2^50 bytes of B.
  EinGraph graph;
  const VertexId a = input(graph, "A", {1 << 14, 1 << 28});
  const VertexId b = input(graph, "B", {1 << 28, 1 << 19});
  const VertexId t = write(graph, "T", "ij,jk->ik", {a, b});
  write(graph, "R", "ik->ik", {t});
  CHECK(decompose(graph, {.workers = 1, .strategy = "square"}).steps.empty());
}

TEST_CASE("a chain of maps runs in steps along its outermost label") {
  EinGraph graph;
  VertexId x = input(graph, "X", {1 << 10, 1 << 10});
  for (const char* name : {"A", "B", "C"}) x = write(graph, name, "ij->ij", {x});
  const Plan plan = decompose(graph, {.workers = 1});
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].first == 1);
  CHECK(plan.steps[0].last == 3);
  REQUIRE(plan.steps[0].axes.size() == 1);
  CHECK(plan.steps[0].axes[0].positions == std::vector<int>{0, 0, 0});
  CHECK(plan.steps[0].axes[0].parts == 8);  // A and B are 16 MiB together
  // X and C are the user's and the result; blocks of A and B are one MiB.
  CHECK(most(plan.peak_bytes()) == (16 + 2) << 20);
}

TEST_CASE("a chain of maps that are too large for blocks of the cache's size runs in larger ones") {
  EinGraph graph;
  const Extent n = 66'000;
  VertexId x = input(graph, "X", {n, n});
  for (const char* name : {"A", "B", "C"}) x = write(graph, name, "ij->ij", {x});
  const Plan plan = decompose(graph, {.workers = 1});
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].axes[0].parts == 1 << 14);
  // Blocks of A and B, of five rows.
  CHECK(most(plan.peak_bytes()) - 2 * n * n * 8 <= 2 * 5 * n * 8);
}

TEST_CASE("steps by hand") {
  const EinGraph graph = attention_block(2, 4, 32, 8);
  const Plan plan = decompose(
      graph, {.workers = 4, .steps = {{"T", "P", {{"h", 2}, {"s", 5}}}}, .cache_bytes = 0});
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].steps() == 10);
  CHECK(plan.graph[plan.steps[0].last].name == "P");
  const auto refused = [&](std::vector<StatementSteps> steps) {
    return [&graph, steps] { return decompose(graph, {.workers = 1, .steps = steps}); };
  };
  check_error(refused({{"no", "P", {}}}), "steps are given for 'no' (there is no such statement)");
  check_error(refused({{"T", "V", {}}}), "steps are given for 'V' (it is an input");
  check_error(refused({{"T", "P", {{"z", 2}}}}), "label 'z' of statement 'T'");
  check_error(refused({{"T", "P", {{"s", 33}}}}), "extent 32 and would be cut into 33 parts");
  check_error(refused({{"T", "ex", {{"t", 2}}}}), "'mx' aggregates label 't' and is not the last");
  check_error(
      refused({{"mx", "ex", {{"t", 2}}}}),
      "statement 'ex' cannot run in steps along label 't' of 'mx' (within the group nothing");
  check_error(refused({{"T", "P", {{"s", 0}}}}), "would be cut into 0 parts");
  check_error(refused({{"P", "T", {}}}), "does not go from one statement to another");
  check_error(refused({{"T", "mx", {{"s", 2}}}, {"mx", "ex", {{"s", 2}}}}), "share statement 'mx'");
}

namespace {

/// The correlation of two terms, whose tensors of o * o * v * v elements are passed on:
/// F(i,j,a,b) = T(i,a) V(j,b), then G = Σ_e S(i,j,a,e) W(e,b), which reads nothing of it, and
/// E = Σ (F(i,j,a,b) + F(i,j,b,a)) G(i,j,a,b).
EinGraph correlation(Extent o, Extent v) {
  EinGraph graph;
  const VertexId t = input(graph, "T", {o, v});
  const VertexId g = input(graph, "V", {o, v});
  const VertexId s = input(graph, "S", {o, o, v, 2});
  const VertexId w = input(graph, "W", {2, v});
  const VertexId f = write(graph, "F", "ia,jb->ijab", {t, g});
  const VertexId p = write(graph, "P", "ijab,ijba->ijab", {f, f});
  const VertexId q = write(graph, "G", "klce,ed->klcd", {s, w});
  write(graph, "E", "ijab,ijab->", {p, q});
  return graph;
}

}  // namespace

TEST_CASE("labels are looped over up to the statement that adds the blocks up") {
  const Extent o = 16;
  const Extent v = 12;
  const EinGraph graph = correlation(o, v);
  const std::int64_t four_labels = 8 * o * o * v * v;
  std::int64_t inputs = 0;
  for (const Vertex& any : graph.vertices) inputs += any.is_input() ? any.size() * 8 : 0;
  for (const int workers : {1, 2, 3, 4, 8}) {
    CAPTURE(workers);
    const Plan whole = decompose(graph, {.workers = workers});
    CHECK(whole.steps.empty());
    CHECK(most(whole.peak_bytes()) > 2 * four_labels / workers);
    // F, P and G of one i and j.
    const std::int64_t blocks = 3 * four_labels / (o * o);
    DecomposeOptions options{.workers = workers, .memory = inputs + 2 * blocks + 8192};
    REQUIRE(options.memory < four_labels);
    const auto looped = [&] {
      const Plan plan = decompose(graph, options);
      REQUIRE(plan.steps.size() == 1);
      CHECK(graph[plan.steps[0].first].name == "F");
      CHECK(graph[plan.steps[0].last].name == "E");
      CHECK(relation::adds_blocks(graph, plan.steps[0]));
      CHECK(most(plan.peak_bytes()) <= options.memory);
      CHECK(plan.program(0).peak_bytes() == plan.peak_bytes()[0]);
      return plan;
    };
    CHECK(looped().steps[0].axes.front().positions == std::vector<int>{0, 0, 0, 0});
    options.steps = {{"F", "E", {{"i", o}, {"j", o}}}};
    const Plan by_hand = looped();
    CHECK(by_hand.steps[0].steps() == o * o);
    CHECK(by_hand.tasks().total_words() ==
          make_task_graph(graph, by_hand.placement, workers).total_words());
  }
  // Steps by hand are possible in some plan, though not in one by words alone.
  for (const int workers : {2, 3, 4, 6, 8}) {
    CAPTURE(workers);
    CHECK_NOTHROW(
        (void)decompose(graph, {.workers = workers, .steps = {{"F", "E", {{"i", o}, {"j", o}}}}}));
  }
  // Not for the cache's sake, for which blocks are read and written again.
  CHECK(decompose(graph, {.workers = 1, .cache_bytes = 2 * four_labels}).steps.empty());
}

TEST_CASE("loops that cannot be are refused") {
  const EinGraph graph = correlation(4, 3);
  const auto refused = [&](std::vector<StatementSteps> steps) {
    return [&graph, steps] { return decompose(graph, {.workers = 1, .steps = steps}); };
  };
  CHECK_NOTHROW((void)refused({{"F", "E", {{"i", 4}, {"j", 2}}}})());
  check_error(refused({{"F", "E", {{"i", 5}}}}), "extent 4 and would be cut into 5 parts");
  check_error(refused({{"F", "E", {{"a", 3}}}}), "'P' reads 'F' across the blocks of label 'a'");
  check_error(refused({{"F", "G", {{"i", 2}}}}),
              "statement 'G' cannot run in steps along label 'i' of 'F'");
  check_error(refused({{"G", "E", {{"e", 2}}}}),
              "statement 'E' cannot run in steps along label 'e' of 'G'");
  check_error(refused({{"F", "E", {{"e", 2}}}}), "label 'e' of statement 'F'");
  check_error(refused({{"F", "E", {{"i", 2}, {"i", 2}}}}), "two axes are the same label");
}

namespace {

/// Makes a statement's kernels known, as a backend does.
void set_kernel(EinGraph& graph, VertexId v, const KernelTraits& traits) {
  graph.vertices[to_index(v)].kernel = traits;
}

constexpr KernelTraits map{.tiles = true, .maps = true};
constexpr KernelTraits long_map{.tiles = true, .maps = true, .computes_long = true};
constexpr KernelTraits reduction{.tiles = true};

/// X(i,j) -> m(i) = max X, e(i,j) = exp(X - m), s(i) = Σ e, P(i,j) = e / s.
EinGraph softmax(Extent rows, Extent columns) {
  EinGraph graph;
  const VertexId x = input(graph, "X", {rows, columns});
  const VertexId m = write(graph, "m", "ij->i", {x});
  const VertexId e = write(graph, "e", "ij,i->ij", {x, m});
  const VertexId s = write(graph, "s", "ij->i", {e});
  const VertexId p = write(graph, "P", "ij,i->ij", {e, s});
  set_kernel(graph, m, reduction);
  set_kernel(graph, e, long_map);
  set_kernel(graph, s, reduction);
  set_kernel(graph, p, map);
  return graph;
}

}  // namespace

TEST_CASE("a softmax is cut on into rows of whole lines that fit a thread's cache") {
  const EinGraph graph = softmax(4096, 500);
  const Plan plan = decompose(graph, {.workers = 1});
  REQUIRE(plan.steps.size() == 1);
  REQUIRE(plan.steps[0].tiles.size() == 1);
  const StepGroup& tiles = plan.steps[0].tiles[0];
  CHECK(tiles.first == 1);
  CHECK(tiles.last == 4);
  REQUIRE(tiles.axes.size() == 1);
  CHECK(tiles.axes[0].positions == std::vector<int>{0, 0, 0, 0});
  // Rows of X, which is read twice, e and P of 4000 bytes each and 16 of m and s: 6 in 96 KiB, two
  // of which are whole lines. P is 16 MB and e takes long: they are interleaved.
  CHECK(tiles.axes[0].size == 6);
  CHECK(tiles.interleaved == 2);
  const RankProgram program = plan.program(0, {.threads = 2});
  CHECK(program.tiled.size() == static_cast<std::size_t>(plan.steps[0].steps()));
  CHECK(program.tiled[0].thread_bytes == 2 * (6 * 4000 + 64));  // s is where m was
  CHECK(plan.peak_bytes({.threads = 2})[0] ==
        2 * 4096 * 500 * 8 + 2 * program.tiled[0].thread_bytes);
  // A limit of memory counts the tiles of as many threads as are said to run.
  const std::int64_t of_two = plan.peak_bytes({.threads = 2})[0];
  CHECK_NOTHROW((void)decompose(graph, {.workers = 1, .memory = of_two, .threads = 2}));
  CHECK_THROWS_WITH_AS(
      (void)decompose(
          graph, {.workers = 1, .strategy = "exact", .cache_bytes = 0, .memory = 1, .threads = -2}),
      doctest::Contains("a plan for ranks of -2 threads"), Error);
  const auto fixed = [&](int threads) {
    return decompose(graph, {.workers = 1,
                             .strategy = "exact",
                             .tiles = {{"m", "P", {{"i", 6}}}},
                             .cache_bytes = 0,
                             .memory = of_two,
                             .threads = threads});
  };
  CHECK(fixed(2).peak_bytes({.threads = 2})[0] <= of_two);
  CHECK_THROWS_AS((void)fixed(200), Error);
  // Whole lines do not fit where rows are long, one row is longer than a tile, rows are cut.
  const auto first_tiles = [](const EinGraph& any) {
    return decompose(any, {.workers = 1}).steps.at(0).tiles;
  };
  CHECK(first_tiles(softmax(512, 5001)).at(0).axes.at(0).size == 1);
  CHECK(first_tiles(softmax(64, 20000)).empty());  // threads share out such a reduction
  EinGraph rows;
  VertexId x = input(rows, "X", {4, 1 << 20});
  for (const char* name : {"A", "B", "C"}) {
    x = write(rows, name, "ij->ij", {x});
    set_kernel(rows, x, map);
  }
  const Plan halves = decompose(rows, {.workers = 1, .steps = {{"A", "C", {{"i", 2}}}}});
  const std::vector<StepGroup>& pieces = halves.steps.at(0).tiles;
  REQUIRE(pieces.size() == 1);
  REQUIRE(pieces[0].axes.size() == 2);
  CHECK(pieces[0].axes[0].size == 1);
  CHECK(pieces[0].axes[1].size % 16 == 0);
  CHECK(pieces[0].axes[1].size * 4 * 8 <= (64 << 10) + 16 * 4 * 8);
  CHECK(pieces[0].interleaved == -1);
}

TEST_CASE("products, copies and what is nobody's kernel end a group of tiles") {
  const auto tiles_with = [](const KernelTraits& second) {
    EinGraph graph = softmax(4096, 500);
    set_kernel(graph, 2, second);
    const std::vector<StepGroup> tiles = decompose(graph, {.workers = 1}).steps.at(0).tiles;
    return tiles.empty() ? 0 : tiles.at(0).last - tiles.at(0).first + 1;
  };
  CHECK(tiles_with(map) == 4);
  CHECK(tiles_with({.tiles = true, .multiplies = true}) == 4);  // aggregates nothing
  CHECK(tiles_with({.tiles = true, .copies = true}) == 2);
  CHECK(tiles_with({}) == 2);
  EinGraph graph = attention_block(1, 8, 512, 64);
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (!graph[v].is_input()) set_kernel(graph, v, {.tiles = true, .multiplies = true});
  }
  const std::vector<StepGroup> tiles = decompose(graph, {.workers = 1}).steps.at(0).tiles;
  REQUIRE(tiles.size() == 1);
  CHECK(graph[tiles[0].first].name == "mx");
  CHECK(graph[tiles[0].last].name == "P");
}

TEST_CASE("tiles by hand") {
  const EinGraph graph = attention_block(2, 4, 32, 8);
  const Plan plan = decompose(graph, {.workers = 4,
                                      .steps = {{"T", "P", {{"s", 5}}}},
                                      .tiles = {{"mx", "P", {{"h", 1}, {"s", 3}}}},
                                      .cache_bytes = 0});
  REQUIRE(plan.steps.size() == 1);
  REQUIRE(plan.steps[0].tiles.size() == 1);
  CHECK(graph[plan.steps[0].tiles[0].first].name == "mx");
  CHECK(plan.steps[0].tiles[0].axes[1].size == 3);
  CHECK(plan.program(0).tiled.size() == 5);
  const Plan alone =
      decompose(graph, {.workers = 4, .tiles = {{"mx", "sm", {{"s", 3}}}}, .cache_bytes = 0});
  REQUIRE(alone.steps.size() == 1);
  CHECK(alone.steps[0].axes.empty());
  CHECK(alone.steps[0].steps() == 1);
  CHECK(alone.hash() !=
        decompose(graph, {.workers = 4, .tiles = {{"mx", "sm", {{"s", 4}}}}, .cache_bytes = 0})
            .hash());
  const auto refused = [&](std::vector<StatementTiles> tiles) {
    return [&graph, tiles] {
      return decompose(graph, {.workers = 1, .steps = {{"mx", "ex", {{"s", 2}}}}, .tiles = tiles});
    };
  };
  check_error(refused({{"no", "P", {}}}), "tiles are given for 'no' (there is no such statement)");
  check_error(refused({{"T", "mx", {{"z", 2}}}}), "label 'z' of statement 'T'");
  check_error(refused({{"mx", "ex", {}}}), "tiles have sizes along one or two labels");
  check_error(refused({{"mx", "ex", {{"s", 0}}}}), "tiles have sizes along one or two labels");
  check_error(refused({{"mx", "ex", {{"s", -1}}}}), "cut into tiles of -1");
  check_error(refused({{"ex", "P", {{"s", 1}}}}), "its tiles are of other statements");
  check_error(refused({{"sm", "sm", {{"t", 1}}}}), "aggregates label 't'");
}

TEST_CASE("a product is streamed where transfer and kernels last alike, in stripes of its owners") {
  EinGraph graph;
  const VertexId a = input(graph, "A", {2048, 2048});
  const VertexId b = input(graph, "B", {2048, 2048});
  write(graph, "C", "ij,jk->ik", {a, b});
  const auto planned = [&](double rate, double latency) {
    const Machine machine{.operations_per_second = rate,
                          .axes = {{.size = 4, .latency = latency, .bandwidth = 1.25e8}}};
    return decompose(graph, {.workers = 4, .machine = machine});
  };
  const Plan plan = planned(2e10, 1e-4);
  REQUIRE(plan.steps.size() == 1);
  CHECK(is_streamed(graph, plan.steps[0]));
  // Halves of j on each row and column of workers, in panels of 256 terms.
  CHECK(plan.steps[0].axes == std::vector<StepAxis>{{{1}, 4, 0, 2}});
  const Plan whole = decompose(graph, {.workers = 4});
  CHECK(whole.steps.empty());
  CHECK(plan.tasks().received == whole.tasks().received);
  CHECK(most(plan.peak_bytes()) < most(whole.peak_bytes()));
  CHECK(planned(2e10, 1).steps.empty());     // messages would take longer than all else
  CHECK(planned(2e13, 1e-4).steps.empty());  // there is nothing to compute meanwhile
}

TEST_CASE("panels are smaller where memory is short") {
  EinGraph graph;
  const VertexId a = input(graph, "A", {8192, 8192});
  const VertexId b = input(graph, "B", {8192, 8192});
  write(graph, "C", "ij,jk->ik", {a, b});
  const Plan plan = decompose(graph, {.workers = 16, .memory = 250'000'000});
  CHECK(most(plan.peak_bytes()) <= 250'000'000);
  REQUIRE(plan.steps.size() == 1);
  CHECK(is_streamed(graph, plan.steps[0]));
}

TEST_CASE("every rank keeps within a limit of memory, or there is an error") {
  struct Case {
    std::vector<Extent> extents;  // of i, j, k, l
    int workers;
    std::vector<int> percents;  // of what a plan without a limit needs
  };
  // Uneven blocks: which rank holds most is not known beforehand. Of the last two, neither the
  // first rank nor the last one does: of the first of these other steps have to be found, of the
  // second another placement. Of 72 ranks the search looks at two.
  const std::vector<Case> cases{{{1001, 1403, 905, 1203}, 3, {40, 54, 68, 82, 96}},
                                {{1001, 1403, 905, 1203}, 6, {40, 54, 68, 82, 96}},
                                {{1283, 1472, 479, 1444}, 72, {70, 90}},
                                {{1283, 1472, 479, 1444}, 7, {90}},
                                {{681, 686, 511, 700}, 5, {69}}};
  int streamed = 0;
  int refused = 0;  // of the last case
  for (const auto& [extents, workers, percents] : cases) {
    refused = 0;
    const EinGraph graph = product_of_three(extents);
    const std::int64_t whole = most(decompose(graph, {.workers = workers}).peak_bytes());
    for (const int percent : percents) {
      CAPTURE(workers);
      CAPTURE(percent);
      const std::int64_t limit = whole * percent / 100;
      try {
        const Plan plan = decompose(graph, {.workers = workers, .memory = limit});
        for (int r = 0; r < workers; ++r) CHECK(plan.program(r).peak_bytes() <= limit);
        streamed += std::ranges::any_of(
            plan.steps, [&](const StepGroup& group) { return is_streamed(graph, group); });
      } catch (const eindecomp::Error& error) {
        CHECK(error.kind() == eindecomp::ErrorKind::memory);
        ++refused;
      }
    }
  }
  CHECK(streamed > 1);
  CHECK(refused == 0);
}

TEST_CASE("so does every rank of a plan whose cuts are given, whichever rank holds most") {
  int kept = 0;
  int refused = 0;
  const std::vector<std::pair<int, std::vector<Extent>>> cases{{5, {681, 686, 511, 700}},
                                                               {6, {1001, 1403, 905, 1203}},
                                                               {7, {1283, 1472, 479, 1444}},
                                                               {72, {1283, 1472, 479, 1444}}};
  for (const auto& [workers, extents] : cases) {
    const EinGraph graph = product_of_three(extents);
    for (const std::string strategy : {"ein_decomp", "square"}) {
      CAPTURE(workers);
      CAPTURE(strategy);
      DecomposeOptions options{.workers = workers, .strategy = strategy};
      const std::int64_t whole = most(decompose(graph, options).peak_bytes());
      for (int percent = 55; percent < 100; percent += 4) {
        CAPTURE(percent);
        options.memory = whole * percent / 100;
        try {
          const Plan plan = decompose(graph, options);
          for (int r = 0; r < workers; ++r) {
            CHECK(plan.program(r).peak_bytes() <= options.memory);
          }
          ++kept;
        } catch (const eindecomp::Error& error) {
          CHECK(error.kind() == eindecomp::ErrorKind::memory);
          ++refused;
        }
      }
    }
  }
  CHECK(kept > 5);
  CHECK(refused > 2);
}

TEST_CASE("what is large is gathered in panels on any machine") {
  EinGraph graph;
  const VertexId a = input(graph, "A", {32768, 32768});
  const VertexId b = input(graph, "B", {32768, 32768});
  write(graph, "C", "ij,jk->ik", {a, b});
  const Plan plan = decompose(graph, {.workers = 64});
  REQUIRE(plan.steps.size() == 1);
  CHECK(is_streamed(graph, plan.steps[0]));
  // A block of 8192 x 8192 doubles is 537 MB: whole, those of A, B and C would be 1.61 GB.
  CHECK(plan.program(0).arena_bytes <= 1'000'000'000);
  Plan whole = plan;
  whole.steps.clear();
  CHECK(whole.tasks().received == plan.tasks().received);
  CHECK(whole.program(0).arena_bytes > 1'600'000'000);
}

TEST_CASE("a limit of memory is kept by panels of what is large, on many ranks, too") {
  EinGraph graph;
  const VertexId a = input(graph, "A", {32768, 32768});
  const VertexId b = input(graph, "B", {32768, 32768});
  write(graph, "C", "ij,jk->ik", {a, b});
  for (const auto& [workers, limit] : {std::pair{64, 1'000'000'000}, {1024, 150'000'000}}) {
    CAPTURE(workers);
    const Plan free = decompose(graph, {.workers = workers});
    CHECK(most(free.peak_bytes()) > limit);
    const Plan within = decompose(graph, {.workers = workers, .memory = limit});
    CHECK(most(within.peak_bytes()) <= limit);
    CHECK(within.program(workers - 1).peak_bytes() <= limit);
    CHECK(within.tasks().received == free.tasks().received);
  }
}

TEST_CASE("streamed statements by hand") {
  EinGraph graph;
  const VertexId a = input(graph, "A", {64, 48});
  const VertexId b = input(graph, "B", {48, 32});
  const VertexId c = write(graph, "C", "ij,jk->ik", {a, b});
  write(graph, "D", "ik->ik", {c});
  const Plan plan = decompose(graph, {.workers = 4, .steps = {{"C", "C", {{"j", 3}}}}});
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].axes.front().parts == 3);
  const auto given = [&](std::vector<StatementSteps> steps) {
    return [&graph, steps] { return decompose(graph, {.workers = 4, .steps = steps}); };
  };
  check_error(given({{"C", "C", {{"j", 49}}}}), "would be cut into");
  check_error(given({{"C", "D", {{"j", 3}}}}), "label 'j'");
  check_error(given({{"C", "C", {{"i", 2}, {"j", 3}}}}), "statement 'C' aggregates label 'j'");
}
