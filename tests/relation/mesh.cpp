// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/relation/mesh.hpp"

#include <doctest/doctest.h>

#include "support.hpp"

using namespace eindecomp;
using relation_test::contains;
using relation_test::message_of;

static_assert(make_mesh(1).axes.empty());
static_assert(make_mesh(1).workers() == 1);
static_assert(make_mesh(8).axes == std::vector<int>{2, 2, 2});
static_assert(make_mesh(12).axes == std::vector<int>{2, 2, 3});
static_assert(make_mesh(97).axes == std::vector<int>{97});
static_assert(make_mesh(2147483647).axes == std::vector<int>{2147483647});
static_assert(make_mesh(12, 3).axes == std::vector<int>{3, 2, 2});
static_assert(make_mesh(12, 6).axes == std::vector<int>{2, 3, 2});
static_assert(make_mesh(12, 12).axes == make_mesh(12).axes);
static_assert(make_mesh(12, 5).axes == make_mesh(12).axes);
static_assert(make_mesh(4, 8).axes == make_mesh(4).axes);
static_assert(coordinates(Mesh{{2, 3, 4}}, 23) == std::vector<int>{1, 2, 3});
static_assert(relation::worker_at(Mesh{{2, 3, 4}}, {1, 0, 2}) == 14);
static_assert(relation::axis_strides(Mesh{{2, 3, 4}}) == std::vector<int>{12, 4, 1});

TEST_CASE("coordinates and workers are inverse") {
  const Mesh mesh{{3, 2, 5}};
  const std::vector<int> strides = relation::axis_strides(mesh);
  for (int w = 0; w < mesh.workers(); ++w) {
    const std::vector<int> at = coordinates(mesh, w);
    CHECK(relation::worker_at(mesh, at) == w);
    CHECK(at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] == w);
  }
}

TEST_CASE("ranks host neighbouring workers, evenly") {
  for (int workers : {1, 2, 6, 16, 17}) {
    for (int ranks = 1; ranks <= 20; ++ranks) {
      CAPTURE(workers);
      CAPTURE(ranks);
      int next = 0;
      for (int r = 0; r < ranks; ++r) {
        const WorkerRange range = workers_of(r, workers, ranks);
        CHECK(range.first == next);
        next = range.last;
        for (int w = range.first; w < range.last; ++w) CHECK(rank_of(w, workers, ranks) == r);
        const int least = ranks <= workers ? workers / ranks : 0;
        CHECK(range.last - range.first >= least);
        CHECK(range.last - range.first <= least + 1);
      }
      CHECK(next == workers);
    }
  }
}

TEST_CASE("a mesh needs a worker") {
  CHECK(contains(message_of([] { (void)make_mesh(0); }), "a plan for 0 workers"));
  CHECK(contains(message_of([] { (void)make_mesh(-4); }), "a plan for -4 workers"));
  CHECK(contains(message_of([] { (void)make_mesh(0); }), "mesh.cpp:"));
}
