// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include "link/layout.hpp"

int version_seen_by_the_other_unit();
std::vector<Layout> core_layouts_without_assertions();
std::vector<Layout> run_layouts_without_assertions();
std::vector<Layout> core_layouts_without_kokkos();

namespace {

void check_same(const std::vector<Layout>& here, const std::vector<Layout>& there) {
  REQUIRE(here.size() == there.size());
  for (std::size_t n = 0; n < here.size(); ++n) {
    CAPTURE(here[n].name);
    CHECK(here[n] == there[n]);
  }
}

}  // namespace

TEST_CASE("translation units include everything and link") {
  CHECK(version_seen_by_the_other_unit() == EINDECOMP_VERSION);
}

// Else units of one program would read each other's objects wrongly.
TEST_CASE("public classes have one layout, whatever is defined") {
  check_same(core_layouts(), core_layouts_without_assertions());
  check_same(core_layouts(), core_layouts_without_kokkos());
  check_same(run_layouts(), run_layouts_without_assertions());
}
