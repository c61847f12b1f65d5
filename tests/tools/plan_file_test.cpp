// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/plan_file_json.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/models/attention.hpp"
#include "eindecomp/models/transformer.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/strategy.hpp"
#include "support/temporary_folder.hpp"

using namespace eindecomp;
using eindecomp_tests::TemporaryFolder;

namespace {

using Json = nlohmann::ordered_json;

/// X·W, then the positive part times `factor`.
PlanProgram layer(Extent rows = 512, double factor = 2, bool keep = false) {
  using namespace eindecomp::labels;
  PlanProgram g;
  const auto X = g.input<double>("X", {rows, 1024});
  const auto W = g.input<double>("W", {1024, 256});
  auto H = let<"H">(i, k) = sum(j)(X(i, j) * W(j, k));
  if (keep) g.keep(H);
  let<"R">(i, k) = max(H(i, k), 0.0) * factor;
  return g;
}

std::string plan_complaint(const EinGraph& graph, const std::string& text) {
  try {
    static_cast<void>(read_plan(graph, text, "f.plan"));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::io);
    return std::string(error.sentence());
  }
  return "";
}

/// A plan file after an edit; with the hash that it should then have, or without.
std::string edited(const std::string& text, const std::function<void(Json&)>& edit, bool rehash) {
  Json json = Json::parse(text);
  edit(json);
  if (rehash) json["hash"] = tools::hash_of_plan_file(json);
  return json.dump();
}

void check_equal(const Plan& read, const Plan& plan) {
  CHECK(read.hash() == plan.hash());
  CHECK(read.strategy == plan.strategy);
  CHECK(read.partitions == plan.partitions);
  CHECK(read.cost.total() == plan.cost.total());
  CHECK(read.cost_of(plan.graph.size() - 1).total() == plan.cost_of(plan.graph.size() - 1).total());
  CHECK(read.gap == plan.gap);
  CHECK(read.cuts == plan.cuts);
  CHECK(read.steps == plan.steps);
  CHECK(read.program(plan.ranks - 1) == plan.program(plan.ranks - 1));
}

}  // namespace

TEST_CASE("a plan is read as it was written, by every strategy") {
  PlanProgram g;
  multi_head_attention_model(g);
  for (const Strategy& strategy : list_strategies()) {
    if (strategy.by_role() || strategy.name == "by_hand") continue;
    CAPTURE(strategy.name);
    for (int workers : {1, 8, 12}) {
      if (strategy.name == "k_cut" && workers == 12) continue;  // of powers of two
      const Plan plan =
          decompose(g.graph(), {.workers = workers, .ranks = 3, .strategy = strategy.name});
      check_equal(read_plan(g.graph(), plan_file(plan), "f.plan"), plan);
    }
  }
  const Plan stepped = decompose(
      g.graph(), {.workers = 2, .steps = {{"T", "O", {{"s", 4}}}}, .cache_bytes = 1 << 16});
  REQUIRE(!stepped.steps.empty());
  check_equal(read_plan(g.graph(), plan_file(stepped), "f.plan"), stepped);
  Plan tiled = decompose(g.graph(), {.workers = 2, .tiles = {{"T", "O", {{"s", 4}, {"h", 1}}}}});
  REQUIRE(tiled.steps.at(0).tiles.size() == 1);
  tiled.steps[0].tiles[0].interleaved = tiled.steps[0].tiles[0].first;
  check_equal(read_plan(g.graph(), plan_file(tiled), "f.plan"), tiled);
}

TEST_CASE("a file says which sums accumulate in their results") {
  using namespace eindecomp::labels;
  PlanProgram g;
  const auto A = g.input<double>("A", {64, 64});
  const auto B = g.input<double>("B", {64, 64});
  const auto P = let<"P">(i, k) = sum(j)(A(i, j) * B(j, k));
  const auto Q = let<"Q">(i, k) = sum(j)(B(i, j) * A(j, k));
  let<"S">(i, k) = P(i, k) + Q(i, k);
  const Plan plan = decompose(g.graph(), {.workers = 1});
  REQUIRE(plan.steps.size() == 1);
  REQUIRE(plan.steps[0].accumulates);
  const std::string text = plan_file(plan);
  check_equal(read_plan(g.graph(), text, "f.plan"), plan);
  const auto with = [&](const Json& value) {
    return edited(
        text, [&](Json& json) { json["steps"][0]["accumulates"] = value; }, true);
  };
  CHECK_FALSE(read_plan(g.graph(), with(false), "f.plan").steps.at(0).accumulates);
  CHECK(plan_complaint(g.graph(), with(1)).find("accumulates: 1 is not true or false") !=
        std::string::npos);
}

TEST_CASE("a plan is saved whole or not at all") {
  const TemporaryFolder folder;
  const PlanProgram g = layer();
  const Plan plan = decompose(g.graph(), {.workers = 4});
  const auto path = folder / "layer.plan";
  save_plan(plan, path);
  check_equal(load_plan(g.graph(), path), plan);
  check_equal(load_plan(g, path), plan);
  // A file that others may not read stays one.
  constexpr auto mine = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(path, mine);
  save_plan(plan, path);
  CHECK(std::filesystem::status(path).permissions() == mine);

  CHECK_THROWS_WITH_AS(save_plan(plan, folder / "none" / "layer.plan"),
                       doctest::Contains("cannot write the plan to"), Error);
  CHECK_THROWS_WITH_AS(save_plan(plan, "/dev/full"),
                       doctest::Contains("/dev/full (No space left on device)"), Error);
  CHECK(std::filesystem::is_character_file("/dev/full"));

  // A disk that fills up while the file is written.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit tight = before;
  tight.rlim_cur = 100;
  setrlimit(RLIMIT_FSIZE, &tight);
  std::string sentence;
  try {
    save_plan(decompose(g.graph(), {.workers = 2}), path);
  } catch (const Error& error) {
    sentence = error.sentence();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(sentence.find("cannot write the plan to") != std::string::npos);
  CHECK(folder.files() == 1);
  check_equal(load_plan(g.graph(), path), plan);
  CHECK_THROWS_WITH_AS(static_cast<void>(load_plan(g.graph(), folder / "none.plan")),
                       doctest::Contains("none.plan: the file cannot be read"), Error);
}

TEST_CASE("a file that is not as it was written is refused") {
  const PlanProgram g = layer();
  const std::string text = plan_file(decompose(g.graph(), {.workers = 4}));
  REQUIRE(plan_complaint(g.graph(), text) == "");
  for (std::size_t length = 0; length + 2 < text.size(); length += 17) {
    CAPTURE(length);
    CHECK(plan_complaint(g.graph(), text.substr(0, length)).rfind("f.plan: this is not JSON", 0) ==
          0);
  }
  CHECK(plan_complaint(g.graph(), "{}").rfind("f.plan: this is no plan file", 0) == 0);
  CHECK(plan_complaint(g.graph(), "[1]").rfind("f.plan: this is no plan file", 0) == 0);
  const auto newer = edited(
      text, [](Json& json) { json["version"] = 2; }, true);
  CHECK(plan_complaint(g.graph(), newer) ==
        "f.plan: the file has version 2 of the format (this library reads version 1); plan again");
  const auto changed = edited(
      text, [](Json& json) { json["tensors"][2]["calls"][0] = {1}; }, false);
  CHECK(plan_complaint(g.graph(), changed).rfind("f.plan: the file was changed since", 0) == 0);

  // Any one byte, unless it only is a space.
  std::mt19937 random(7);
  for (int n = 0; n < 300; ++n) {
    std::string wrong = text;
    const std::size_t at = random() % wrong.size();
    const char c = static_cast<char>('!' + random() % 90);
    if (wrong[at] == c || wrong[at] == ' ' || wrong[at] == '\n') continue;
    wrong[at] = c;
    CAPTURE(at);
    CAPTURE(c);
    CHECK(plan_complaint(g.graph(), wrong) != "");
  }
}

TEST_CASE("a plan of another program is refused, and what differs is named") {
  const std::string text = plan_file(decompose(layer().graph(), {.workers = 4}));
  CHECK(plan_complaint(layer(500).graph(), text) ==
        "f.plan: the plan is of another program (its tensor number 0 is X(512,1024) : double; here "
        "it is X(500,1024) : double); load it for the program that it was made for, or plan this "
        "one");
  CHECK(plan_complaint(layer(512, 3).graph(), text)
            .find("here it is R(i,k) = mul(max(H(i,k),0),3)") != std::string::npos);
  CHECK(plan_complaint(layer(512, 2, true).graph(), text).find("other results") !=
        std::string::npos);
  EinGraph more = layer().graph();
  more.add_input("Z", {4}, {});
  CHECK(
      plan_complaint(more, text).find("(its tensor number 4 is none; here it is Z(4) : double)") !=
      std::string::npos);
  CHECK(plan_complaint(EinGraph(), text).find("here it is none)") != std::string::npos);
}

TEST_CASE("a file with a right hash and wrong numbers is refused") {
  const PlanProgram g = layer();
  const std::string text = plan_file(decompose(g.graph(), {.workers = 4}));
  const std::vector<std::pair<std::function<void(Json&)>, std::string>> cases{
      {[](Json& json) { json.erase("workers"); }, "there is no \"workers\""},
      {[](Json& json) { json["workers"] = 0; }, "workers: 0 is not positive"},
      {[](Json& json) { json["ranks"] = 1LL << 40; }, "ranks: 1099511627776 is too large"},
      {[](Json& json) { json["ranks"] = 2147483647; }, "a plan for 2147483647 ranks and 4 workers"},
      {[](Json& json) { json["workers"] = 2147483647; }, "a plan for 2147483647 workers"},
      {[](Json& json) { json["gap"] = "x"; }, "gap: \"x\" is not a whole number"},
      {[](Json& json) {
         json["mesh"] = {65536, 65536, 65536, 65536};
       },
       "the mesh has more"},
      {[](Json& json) { json["tensors"][2]["calls"][0] = {7}; }, "the placement of H has wrong"},
      {[](Json& json) { json["tensors"][2]["calls"][0] = {-1}; }, "-1 is negative"},
      {[](Json& json) { json["tensors"][0]["stored"] = Json::array(); }, "the placement of X has"},
      {[](Json& json) { json["tensors"][3].erase("tensor"); }, "its tensor number 3 is ?"},
      {[](Json& json) {
         json["steps"] = {{{"first", 2}, {"last", 9}, {"axes", Json::array()}}};
       },
       "statements 2 to 9 are to run in steps"},
      {[](Json& json) {
         json["steps"] = {
             {{"first", 2}, {"last", 3}, {"axes", {{{"labels", {1, 0}}, {"parts", 2}}}}}};
       },
       "a group of statements cannot run in steps"},
  };
  for (const auto& [edit, message] : cases) {
    CAPTURE(message);
    CHECK(plan_complaint(g.graph(), edited(text, edit, true)).find(message) != std::string::npos);
  }
}

TEST_CASE("a plan for many workers is loaded much faster than it is made") {
  PlanProgram g;
  TransformerSizes sizes = llama_7b(1, 1024);
  sizes.layers = 4;
  transformer_prefill(g, sizes);
  const Plan plan = decompose(g.graph(), {.workers = 1024, .strategy = "k_cut"});
  const std::string text = plan_file(plan);
  CHECK(text.size() < 1000 * plan.graph.vertices.size());
  CHECK(read_plan(g.graph(), text, "f.plan").hash() == plan.hash());
}

TEST_CASE("a plan without places cannot be saved") {
  Plan plan;
  plan.graph = layer().graph();
  CHECK_THROWS_WITH_AS(static_cast<void>(plan_file(plan)), doctest::Contains("not placed"), Error);
}
