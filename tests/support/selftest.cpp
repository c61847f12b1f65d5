// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <doctest/doctest.h>

#include <eindecomp/core/version.hpp>

#if EINDECOMP_VERSION < 100
#error "the version must be usable in #if"
#endif

TEST_CASE("the version is one integer") {
  CHECK(EINDECOMP_VERSION ==
        EINDECOMP_VERSION_MAJOR * 10000 + EINDECOMP_VERSION_MINOR * 100 + EINDECOMP_VERSION_PATCH);
}
