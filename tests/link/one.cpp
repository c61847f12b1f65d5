// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <eindecomp/eindecomp.hpp>

int version_seen_by_the_other_unit();

TEST_CASE("two translation units include everything and link") {
  CHECK(version_seen_by_the_other_unit() == EINDECOMP_VERSION);
}
