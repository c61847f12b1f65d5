// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/tools/dot.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "eindecomp/plan/decompose.hpp"
#include "plan/programs.hpp"
#include "support/temporary_folder.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a picture has a node per tensor and an edge per operand") {
  const Plan plan = decompose(attention(false), {.workers = 16, .ranks = 4});
  const std::string dot = to_dot(plan);
  CHECK(count(dot, "shape=ellipse") == 7);
  CHECK(count(dot, "shape=box") == 10);
  CHECK(count(dot, " -> ") == 18);
  CHECK(count(dot, "peripheries=2") == 1);
  CHECK(count(dot, "16 workers on 4 ranks") == 1);
  CHECK(count(dot, "penwidth=8.0") >= 1);
  CHECK(count(dot, "T(h,s,t) = sum[d] mul(Qh(s,h,d), Kh(t,h,d))\\n") == 1);
  CHECK(count(dot, "runner-up") == 10);
  CHECK(count(dot, "{") == count(dot, "}"));
  CHECK(count(dot, "\"") % 2 == 0);
}

TEST_CASE("a statement shows its runner-up and what that would cost") {
  DecomposeOptions options{.workers = 16, .strategy = "by_hand"};
  options.by_hand = {{"Z", {{"i", 4}, {"k", 4}}}};
  // 512 words, where i, j and k in 4, 2 and 2 parts cost 448.
  CHECK(count(to_dot(decompose(matmul(8, 8, 8), options)),
              "\\nrunner-up i:4 j:2 k:2, 64 less\"];") == 1);
  EinGraph graph;
  write(graph, "G", "i->i", {input(graph, "X", {4})});
  CHECK(count(to_dot(decompose(graph, {.workers = 2})), "\\nno runner-up\"];") == 1);
}

TEST_CASE("an operand read twice is one edge, nothing moved is dashed") {
  EinGraph graph;
  const VertexId x = input(graph, "X", {4, 4});
  write(graph, "G", "ij,kj->ik", {x, x});
  const std::string dot = to_dot(decompose(graph, {.workers = 2, .ranks = 1}));
  CHECK(count(dot, " -> ") == 1);
  CHECK(count(dot, "label=\"0\", penwidth=1.0, style=dashed") == 1);
}

TEST_CASE("names with quotes stay within theirs") {
  EinGraph graph;
  const VertexId x = input(graph, "a \"b\" \\ c", {4});
  write(graph, "G", "i->i", {x});
  const std::string dot = to_dot(decompose(graph, {.workers = 2}));
  CHECK(count(dot, "a \\\"b\\\" \\\\ c") == 2);
}

TEST_CASE("a file is replaced as a whole, an error leaves nothing behind") {
  const TemporaryFolder folder;
  const Plan plan = decompose(matmul(8, 8, 8), {.workers = 4});
  const std::filesystem::path path = folder.path() / "plan.dot";
  std::ofstream(path) << "an older and longer picture" << std::string(100000, ' ');
  write_dot(plan, path);
  std::ifstream file(path);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == to_dot(plan));

  CHECK_THROWS_WITH_AS(write_dot(plan, folder.path() / "none" / "plan.dot"),
                       doctest::Contains("cannot write the plan to"), Error);
  // A folder's name cannot be taken by a file.
  std::filesystem::create_directories(folder.path() / "taken" / "by");
  CHECK_THROWS_WITH_AS(write_dot(plan, folder.path() / "taken"),
                       doctest::Contains("cannot write the plan to"), Error);
  // A link stays one, to the file that is replaced.
  const std::filesystem::path link = folder.path() / "taken" / "link.dot";
  std::filesystem::create_symlink("../plan.dot", link);
  std::ofstream(path) << "older";
  write_dot(plan, link);
  CHECK(std::filesystem::is_symlink(link));
  std::ifstream again(path);
  CHECK(std::string(std::istreambuf_iterator<char>(again), {}) == to_dot(plan));
  CHECK(tools::is_no_file("/dev/stdout"));
  CHECK(tools::is_no_file("/dev/null"));
  CHECK_FALSE(tools::is_no_file(link));
  CHECK_FALSE(tools::is_no_file(folder.path() / "new"));
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    static_cast<void>(entry);
    ++entries;
  }
  CHECK(entries == 2);
}
