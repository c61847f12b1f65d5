// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/words.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "eindecomp/tools/summary.hpp"
#include "eindecomp/tools/table.hpp"
#include "plan/programs.hpp"
#include "plan/random_graph.hpp"
#include "support/messages.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

TEST_CASE("the report of a small plan, letter for letter") {
  const EinGraph graph = matmul(8, 8, 8);
  const Plan plan = decompose(graph, {.workers = 4,
                                      .ranks = 2,
                                      .strategy = "by_hand",
                                      .by_hand = {{"Z", {{"i", 2}, {"j", 1}, {"k", 2}}}},
                                      .layouts = {{"X", {4, 1}}, {"Y", {1, 4}}}});
  // Ranks host two workers each and lack half of Y. On each, in units of 256 bytes: its halves of
  // X, Y and Z; the operands of its calls put together, one of X and two of Y; half of Y on its way
  // in, and half on its way out. Two ranks must receive 3 · (512 / 2)^(2/3) - 3 · 64 / 2 words.
  CHECK(report(plan) ==
        "Plan by by_hand for 4 workers on 2 ranks\n"
        "\n"
        "input  extents  elements  stored in\n"
        "--------------------------------------\n"
        "X      8 x 8    double    4 x 1 blocks\n"
        "Y      8 x 8    double    1 x 4 blocks\n"
        "\n"
        "statement  partition    calls  join  aggregate  repartition  words  busiest  ratio   "
        "memory  "
        "formula\n"
        "---------------------------------------------------------------------------------------"
        "-----------------------------------------\n"
        "Z          i:2 j:1 k:2      4   256          0            0     64       32   1.28  1.5 "
        "KiB  "
        "Z(i,k) = sum[j] mul(X(i,j), Y(j,k))\n"
        "---------------------------------------------------------------------------------------"
        "-----------------------------------------\n"
        "total                       4   256          0            0     64       32   1.28  1.5 "
        "KiB\n"
        "\n"
        "partition  parts that each label is cut into; their product is the number of blocks\n"
        "calls      calls of a local kernel on all ranks, one for each block\n"
        "join, aggregate, repartition\n"
        "           the paper's cost in elements, an upper bound: operands sent to calls, partial\n"
        "           results combined, results moved to other blocks; 256 in all\n"
        "words      elements that ranks send each other, exactly\n"
        "busiest    elements received by the rank that receives the most\n"
        "ratio      busiest over a lower bound for every partition; -: the bound is 0; *: a rank\n"
        "           already held part of an operand; the total's is only an indicator\n"
        "memory     bytes of tensors held while the statement runs, on the rank that holds the "
        "most\n");
}

TEST_CASE("a statement whose operand was received before is marked") {
  EinGraph graph = matmul(8, 8, 8);
  const VertexId x = graph.find("X");
  const VertexId y = graph.find("Y");
  write(graph, "again", "ij,jk->ik", {x, y});
  write(graph, "other", "ij,ij->ij", {x, x});
  const Plan plan = decompose(
      graph, {.workers = 2,
              .strategy = "by_hand",
              .by_hand = {{"Z", {{"i", 2}}}, {"again", {{"i", 2}}}, {"other", {{"i", 2}}}},
              .layouts = {{"X", {2, 1}}, {"Y", {2, 1}}}});
  const PlanSummary summary = summarize(plan);
  CHECK(summary.statements[0].busiest_words == 32);
  CHECK(!summary.statements[0].replicated);
  CHECK(summary.statements[1].busiest_words == 0);
  CHECK(summary.statements[1].replicated);
  CHECK(summary.statements[1].lower_bound == summary.statements[0].lower_bound);
  CHECK(!summary.statements[2].replicated);
  CHECK(!summary.statements[2].lower_bound_ratio());
  CHECK(*summary.lower_bound_ratio() ==
        doctest::Approx(*summary.statements[0].lower_bound_ratio() / 2));
  const std::string text = report(plan);
  CHECK(text.find("  1.28  ") != std::string::npos);
  CHECK(text.find("  0.00*  ") != std::string::npos);
  CHECK(text.find("  0.64  ") != std::string::npos);
}

TEST_CASE("marks are set where calls read what their rank received before") {
  const unsigned seed = 77;
  std::mt19937 random(seed);
  CAPTURE(seed);
  int marked = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const EinGraph graph = random_graph(random, false);
    const int workers = 1 << draw(random, 0, 3);
    const Plan plan = decompose(graph, {.workers = workers, .strategy = "square"});
    const TaskGraph tasks = plan.tasks();
    const PlanSummary summary = summarize(plan);
    // What every rank has received of every tensor.
    std::vector<std::vector<std::vector<Box>>> received(
        graph.vertices.size(), std::vector<std::vector<Box>>(static_cast<std::size_t>(workers)));
    for (std::size_t s = 0; s < tasks.statements.size(); ++s) {
      const StatementTasks& made = tasks.statements[s];
      bool before = false;
      for (const CallTask& call : made.calls) {
        for (const Operand& operand : graph[made.statement].operands) {
          Box needed;
          for (int l : operand.labels) {
            needed.lo.push_back(call.domain.lo[static_cast<std::size_t>(l)]);
            needed.hi.push_back(call.domain.hi[static_cast<std::size_t>(l)]);
          }
          for (const Box& box : received[static_cast<std::size_t>(operand.vertex)]
                                        [static_cast<std::size_t>(call.rank)]) {
            before = before || intersect(box, needed).size() > 0;
          }
        }
      }
      REQUIRE(summary.statements[s].replicated == before);
      marked += before ? 1 : 0;
      for (const Transfer& t : made.repartitions) {
        received[static_cast<std::size_t>(t.tensor)][static_cast<std::size_t>(t.to)].push_back(
            t.box);
      }
    }
  }
  CHECK(marked > 5);
}

TEST_CASE("what moves between two runs is said apart") {
  EinGraph graph;
  const VertexId w = input(graph, "W", {8, 8});
  write(graph, "T", "ij->ji", {w});
  const Plan plan = decompose(graph, {.workers = 2,
                                      .strategy = "by_hand",
                                      .by_hand = {{"T", {{"i", 2}}}},
                                      .layouts = {{"W", {2, 1}}},
                                      .carry = {{"T", "W"}}});
  Extent words = 0;
  for (const Extent of_rank : plan.carried_words()) words += of_rank;
  CHECK(words > 0);
  CHECK(report(plan).find("\ncarried    T to W, " + std::to_string(words) +
                          " words between two runs, apart from those above\n") !=
        std::string::npos);
}

TEST_CASE("what moves because of distributions is said apart") {
  EinGraph graph = matmul(8, 8, 8);
  const Distribution columns = Distribution::columns({8, 8}, 2);
  const DecomposeOptions options{.workers = 2,
                                 .strategy = "by_hand",
                                 .by_hand = {{"Z", {{"i", 2}}}},
                                 .layouts = {{"X", columns}, {"Z", columns}, {"Y", {2, 1}}}};
  const Plan plan = decompose(graph, options);
  const auto line = [](const char* tensor, const std::vector<Extent>& words, const char* when) {
    return tensor + std::string(", ") + std::to_string(words[0] + words[1]) + " words " + when +
           " the run, apart from those above\n";
  };
  CHECK(report(plan, options.layouts) ==
        report(plan) + line("bound      X", plan.input_words("X", columns), "before") +
            line("wanted     Z", plan.result_words("Z", columns), "after"));
  CHECK(report(plan, {}) == report(plan));
  const auto foreign = [&] { (void)report(plan, {{"Q", columns}}); };
  check_error(foreign, "the plan has no tensor 'Q'");
}

TEST_CASE("words that move for a limit of memory's sake are said apart") {
  // What workers gather whole for the fewest words is more than the limit leaves.
  const EinGraph graph = matmul(64, 64, 64);
  const auto words = [](const Plan& plan) {
    const TaskGraph tasks = plan.tasks();
    return plan::WordSum{tasks.busiest_words(), tasks.total_words()};
  };
  int dearer = 0;
  const Plan free = decompose(graph, {.workers = 8});
  CHECK(free.words_for_memory == plan::WordSum{});
  const std::vector<std::int64_t> peaks = free.peak_bytes();
  const std::int64_t whole = *std::max_element(peaks.begin(), peaks.end());
  for (int percent = 100; percent > 50; percent -= 5) {
    CAPTURE(percent);
    std::optional<Plan> within;
    try {
      within = decompose(graph, {.workers = 8, .memory = whole * percent / 100});
    } catch (const Error& error) {
      REQUIRE(error.kind() == ErrorKind::memory);
      break;
    }
    const Extent busiest = words(*within).busiest - words(free).busiest;
    const Extent total = words(*within).total - words(free).total;
    CHECK(within->words_for_memory == plan::WordSum{busiest, total});
    const std::string line = "\nmemory     the limit costs the busiest rank " +
                             tools::grouped(busiest) + " words more, and all together " +
                             tools::grouped(total) + "\n";
    CHECK((report(*within).find(line) != std::string::npos) == (busiest > 0));
    dearer += busiest > 0 ? 1 : 0;
  }
  CHECK(dearer > 0);
}

TEST_CASE("a program on one rank moves nothing") {
  const PlanSummary summary = summarize(decompose(attention(false), {.workers = 8, .ranks = 1}));
  CHECK(summary.words == 0);
  CHECK(summary.busiest_words == 0);
  CHECK(summary.bytes > 0);
}

TEST_CASE("a summary is the task graph's and the schedules' figures") {
  std::mt19937 random(2024);
  for (int round = 0; round < 60; ++round) {
    const EinGraph graph = random_graph(random, false);
    const int workers = 1 << draw(random, 0, 3);
    const int ranks = draw(random, 1, 9);
    CAPTURE(round);
    const Plan plan = decompose(graph, {.workers = workers, .ranks = ranks});
    const TaskGraph tasks = plan.tasks();
    const PlanSummary summary = summarize(plan);
    REQUIRE(summary.statements.size() == tasks.statements.size());
    Extent words = 0;
    Extent busiest = 0;
    std::int64_t most = 0;
    Cost cost;
    for (const StatementSummary& s : summary.statements) {
      words += s.words();
      busiest += s.busiest_words;
      cost += s.cost;
      most = std::max(most, s.bytes);
      Extent of_operands = 0;
      for (const OperandWords& operand : s.operands) of_operands += operand.words;
      REQUIRE(of_operands == s.operand_words);
      REQUIRE(s.calls == kernel_calls(plan.partition(s.statement)));
    }
    REQUIRE(words == summary.words);
    REQUIRE(words == tasks.total_words());
    REQUIRE(summary.busiest_words <= busiest);
    REQUIRE(cost == plan.cost);
    REQUIRE(most <= summary.bytes);
    const std::vector<std::int64_t> peaks = plan.peak_bytes();
    REQUIRE(summary.bytes == *std::max_element(peaks.begin(), peaks.end()));
  }
}

TEST_CASE("every statement has a row with its vector and formula") {
  const EinGraph graph = attention(true);
  const Plan plan = decompose(graph, {.workers = 16, .ranks = 5});
  const std::string text = report(plan);
  CHECK(text.find("16 workers on 5 ranks") != std::string::npos);
  std::istringstream lines(text);
  std::size_t formulas = 0;
  std::size_t column = std::string::npos;
  for (std::string line; std::getline(lines, line);) {
    CHECK(line.find_last_not_of(' ') + 1 == line.size());
    if (line.rfind("statement ", 0) == 0) column = line.find("formula");
    const std::size_t equals = line.find(") = ");
    if (equals == std::string::npos) continue;
    ++formulas;
    const std::string name = line.substr(0, line.find(' '));
    CHECK(line.compare(column, name.size() + 1, name + "(") == 0);
  }
  CHECK(formulas == 11);
}

TEST_CASE("scalars have no extents and no labels to cut") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {});
  write(graph, "Y", "->", {x});
  const std::string text = report(decompose(graph, {.workers = 2}));
  CHECK(text.find("X      scalar   double    1 block") != std::string::npos);
  CHECK(text.find("one call") != std::string::npos);
}
