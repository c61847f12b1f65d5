// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/plan_cache_json.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "support/temporary_folder.hpp"

using namespace eindecomp;
using eindecomp_tests::TemporaryFolder;

namespace {

PlanProgram cached_product(Extent rows = 64) {
  using namespace eindecomp::labels;
  PlanProgram g;
  const auto X = g.input<double>("X", {rows, 64});
  const auto Y = g.input<double>("Y", {64, 64});
  let<"Z">(i, k) = sum(j)(X(i, j) * Y(j, k));
  return g;
}

}  // namespace

TEST_CASE("a plan is made once, and found by every later cache") {
  const TemporaryFolder folder;
  const PlanProgram g = cached_product();
  PlanCache first(folder.path() / "of" / "plans");
  const Plan made = first.decompose(g, {.workers = 8});
  CHECK(first.decompose(g.graph(), {.workers = 8}).hash() == made.hash());
  CHECK(first.statistics().misses == 1);
  CHECK(first.statistics().hits == 1);
  PlanCache second(folder.path() / "of" / "plans");
  CHECK(second.decompose(cached_product(), {.workers = 8}).hash() == made.hash());
  CHECK(second.statistics().hits == 1);
  CHECK(second.statistics().refused.empty());
}

TEST_CASE("every program and every option has its own plan") {
  const TemporaryFolder folder;
  const PlanCache cache(folder.path());
  std::set<std::filesystem::path> paths{cache.file_of(cached_product(65).graph(), {})};
  const EinGraph graph = cached_product().graph();
  const std::vector<std::function<void(DecomposeOptions&)>> changes{
      [](DecomposeOptions&) {},
      [](DecomposeOptions& o) { o.workers = 2; },
      [](DecomposeOptions& o) { o.ranks = 2; },
      [](DecomposeOptions& o) { o.strategy = "exact"; },
      [](DecomposeOptions& o) {
        o.by_hand = {{"Z", {{"i", 2}}}};
      },
      [](DecomposeOptions& o) {
        o.by_hand = {{"Z", {{"i", 4}}}};
      },
      [](DecomposeOptions& o) {
        o.by_hand = {{"Z", {{"j", 2}}}};
      },
      [](DecomposeOptions& o) {
        o.layouts = {{"X", {2, 1}}};
      },
      [](DecomposeOptions& o) {
        o.layouts = {{"X", {1, 2}}};
      },
      [](DecomposeOptions& o) {
        o.layouts = {{"X", Distribution::rows({64, 64}, 2)}};
      },
      [](DecomposeOptions& o) {
        o.layouts = {{"X", Distribution::columns({64, 64}, 2)}};
      },
      [](DecomposeOptions& o) {
        o.carry = {{"Z", "X"}};
      },
      [](DecomposeOptions& o) { o.threads = 2; },
      [](DecomposeOptions& o) { o.max_idle = 5; },
      [](DecomposeOptions& o) { o.max_idle = 5.5; },
      [](DecomposeOptions& o) { o.groups = 2; },
      [](DecomposeOptions& o) {
        o.steps = {{"Z", "Z", {{"i", 2}}}};
      },
      [](DecomposeOptions& o) {
        o.tiles = {{"Z", "Z", {{"i", 2}}}};
      },
      [](DecomposeOptions& o) {
        o.tiles = {{"Z", "Z", {{"i", 3}}}};
      },
      [](DecomposeOptions& o) { o.cache_bytes = 0; },
      [](DecomposeOptions& o) { o.objective = Objective::paper; },
      [](DecomposeOptions& o) { o.machine.operations_per_second = 1e9; },
      [](DecomposeOptions& o) { o.machine.memory = 1; },
      [](DecomposeOptions& o) { o.machine.memory_bandwidth = 1; },
      [](DecomposeOptions& o) {
        o.machine.axes = {{2, 0, 1}};
      },
      [](DecomposeOptions& o) {
        o.machine.axes = {{2, 1, 1}};
      },
      [](DecomposeOptions& o) {
        o.machine.axes = {{2, 0, 2}};
      },
      [](DecomposeOptions& o) { o.memory = 1; },
      [](DecomposeOptions& o) { o.effort.placed = 1; },
      [](DecomposeOptions& o) { o.effort.programs = 1; },
      [](DecomposeOptions& o) { o.effort.exact.max_states = 1; },
      [](DecomposeOptions& o) { o.effort.exact.max_work = 1; },
  };
  for (const auto& change : changes) {
    DecomposeOptions options;
    change(options);
    CHECK(paths.insert(cache.file_of(graph, options)).second);
    CHECK(cache.file_of(cached_product().graph(), options) == cache.file_of(graph, options));
  }
  EinGraph with_kernels = graph;
  with_kernels.vertices.back().kernel.maps = true;
  CHECK(paths.insert(cache.file_of(with_kernels, {})).second);
}

TEST_CASE("a file that is no plan of the program is a miss, never a wrong plan") {
  const TemporaryFolder folder;
  PlanCache cache(folder.path());
  const EinGraph graph = cached_product().graph();
  const DecomposeOptions options{.workers = 8};
  const Plan made = cache.decompose(graph, options);
  const auto path = cache.file_of(graph, options);
  const std::string text = tools::read_file(path);
  const std::string foreign = plan_file(decompose(cached_product(65).graph(), options));
  int misses = 1;
  for (const std::string& wrong :
       {std::string(), text.substr(0, text.size() / 2), foreign,
        std::string("{\"format\": \"EinDecomp plan\", \"version\": 7}")}) {
    std::ofstream(path, std::ios::binary) << wrong;
    CHECK(cache.decompose(graph, options).hash() == made.hash());
    CHECK(cache.statistics().misses == ++misses);
    CHECK(!cache.statistics().refused.empty());
    CHECK(tools::read_file(path) == text);  // it was put right
  }
  CHECK(folder.files() == 1);
}

TEST_CASE("a folder that cannot be used is an error, a plan that cannot be kept is none") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path());
  std::ofstream(folder.path() / "file") << "taken";
  CHECK_THROWS_WITH_AS(PlanCache(folder.path() / "file"),
                       doctest::Contains("cannot make the folder of plans"), Error);
  CHECK_THROWS_AS(PlanCache(folder.path() / "file" / "inside"), Error);

  CHECK_THROWS_AS(PlanCache(std::string(5000, 'a')), Error);

  // A name that JSON cannot have.
  PlanProgram odd;
  const auto X = odd.input<double>("X\xff", {4});
  (void)(let<"Y">(labels::i) = 2.0 * X(labels::i));
  PlanCache kept(folder.path() / "kept");
  CHECK(kept.decompose(odd.graph(), {.workers = 2}).workers == 2);
  CHECK(kept.statistics().not_written.view().find("is not UTF-8") != std::string_view::npos);

  PlanCache cache(folder.path() / "gone");
  std::filesystem::remove(folder.path() / "gone");
  const Plan plan = cache.decompose(cached_product().graph(), {.workers = 2});
  CHECK(plan.hash() == decompose(cached_product().graph(), {.workers = 2}).hash());
  CHECK(cache.statistics().not_written.view().find("cannot write the plan to") !=
        std::string_view::npos);
}

TEST_CASE("an error of the planner is the caller's, and not kept") {
  const TemporaryFolder folder;
  PlanCache cache(folder.path());
  CHECK_THROWS_AS(static_cast<void>(cache.decompose(cached_product().graph(), {.workers = 0})),
                  Error);
  CHECK(folder.files() == 0);
}
