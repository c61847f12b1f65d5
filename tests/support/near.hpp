// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Doubles as near to what is expected as rounding leaves them.
#pragma once

#include <doctest/doctest.h>

namespace eindecomp_tests {

/// Equals doubles within 1e-13·(1 + |x|), where doctest's own takes what a float would give, too.
inline doctest::Approx near(double x) { return doctest::Approx(x).epsilon(1e-13); }

}  // namespace eindecomp_tests
