// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/plan/partition.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string_view>
#include <vector>

#include "plan/programs.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

std::vector<std::vector<Extent>> as_vectors(const VectorList& list) {
  std::vector<std::vector<Extent>> vectors;
  for (std::size_t i = 0; i < list.size(); ++i)
    vectors.emplace_back(list[i].begin(), list[i].end());
  return vectors;
}

constexpr std::size_t count(const std::vector<Extent>& limits, int p) {
  return partition_vectors(limits, p).size();
}

// C(k+|L|-1, |L|-1) vectors of powers of two: the 10 of a matrix product at p = 8, and the paper's
// 3003 (its section 8.1), at compile time.
static_assert(count({8, 8, 8}, 8) == 10);
static_assert(count(std::vector<Extent>(6, 1024), 1024) == 3003);
static_assert(count({}, 1) == 1);
static_assert(count({}, 8) == 1);

// Every vector by trying every entry, without any pruning.
void enumerate(const std::vector<Extent>& limits, Extent p, std::vector<Extent>& d,
               std::vector<std::vector<Extent>>& found) {
  if (d.size() == limits.size()) {
    if (p % kernel_calls(d) == 0) found.push_back(d);
    return;
  }
  for (Extent parts = 1; parts <= std::min(limits[d.size()], p); ++parts) {
    d.push_back(parts);
    enumerate(limits, p, d, found);
    d.pop_back();
  }
}

}  // namespace

TEST_CASE("a matrix product on 8 workers has the ten vectors of the paper") {
  const EinGraph graph = matmul(8, 8, 8);
  const VectorList vectors = partition_vectors(graph, graph.find("Z"), 8);
  REQUIRE(vectors.size() == 10);
  std::set<std::pair<Extent, Extent>> outputs;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    CHECK(kernel_calls(vectors[i]) == 8);
    outputs.insert({vectors[i][0], vectors[i][2]});
  }
  CHECK(outputs ==
        std::set<std::pair<Extent, Extent>>{
            {1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {8, 1}});
}

TEST_CASE("divisors come largest first") {
  CHECK(divisors(1) == std::vector<Extent>{1});
  CHECK(divisors(12) == std::vector<Extent>{12, 6, 4, 3, 2, 1});
  CHECK(divisors(16) == std::vector<Extent>{16, 8, 4, 2, 1});
}

TEST_CASE("vectors are those that plain enumeration finds, in descending order") {
  std::mt19937 random(20240601);
  for (int round = 0; round < 400; ++round) {
    std::uniform_int_distribution<Extent> extent(1, 9);
    std::vector<Extent> limits(static_cast<std::size_t>(round % 5));
    for (Extent& limit : limits) limit = extent(random);
    const int p = std::uniform_int_distribution<int>(1, 24)(random);
    CAPTURE(round);
    CAPTURE(p);
    std::vector<std::vector<Extent>> all;
    std::vector<Extent> d;
    enumerate(limits, p, d, all);
    Extent most = 1;
    for (const auto& vector : all) most = std::max(most, kernel_calls(vector));
    std::vector<std::vector<Extent>> expected;
    for (const auto& vector : all) {
      if (kernel_calls(vector) == most) expected.push_back(vector);
    }
    std::sort(expected.rbegin(), expected.rend());
    CHECK(as_vectors(partition_vectors(limits, p)) == expected);
    CHECK(max_kernel_calls(limits, p) == most);
  }
  // Of which there are too many to list.
  CHECK(max_kernel_calls(std::vector<Extent>(16, 8), 1024) == 1024);
  CHECK(max_kernel_calls(std::vector<Extent>(5, 3), 1024) == 32);
}

TEST_CASE("labels marked uncut stay whole") {
  EinGraph graph = matmul(8, 8, 8);
  graph.labels[static_cast<std::size_t>(graph.find_label("j"))].uncut = true;
  const VectorList vectors = partition_vectors(graph, graph.find("Z"), 8);
  CHECK(vectors.size() == 4);
  for (std::size_t i = 0; i < vectors.size(); ++i) CHECK(vectors[i][1] == 1);
}

TEST_CASE("where p is out of reach the most calls that can be made are made") {
  const EinGraph graph = matmul(2, 3, 2);  // 3 takes two parts
  const VectorList vectors = partition_vectors(graph, graph.find("Z"), 64);
  REQUIRE(vectors.size() == 1);
  CHECK(as_vectors(vectors)[0] == std::vector<Extent>{2, 2, 2});
}

TEST_CASE("too many vectors are an error, not an endless search") {
  const std::vector<Extent> limits(24, 1 << 16);
  CHECK_THROWS_WITH_AS(static_cast<void>(partition_vectors(limits, 1 << 16)),
                       doctest::Contains("more than 1048576 partition vectors"), Error);
  // Of a statement, by its name and line.
  EinGraph graph = matmul(1 << 16, 1 << 16, 1 << 16);
  Vertex& z = graph.vertices[static_cast<std::size_t>(graph.find("Z"))];
  for (int n = 0; n < 21; ++n) {
    z.labels.push_back(z.labels[0]);
    z.extents.push_back(1 << 16);
  }
  try {
    static_cast<void>(partition_vectors(graph, graph.find("Z"), 1 << 16));
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::plan);
    CHECK(e.sentence().starts_with("statement Z has more than 1048576 partition vectors"));
    CHECK(e.where().line() == z.where.line());
    CHECK(std::string_view(e.where().file_name()) == z.where.file_name());
  }
}
