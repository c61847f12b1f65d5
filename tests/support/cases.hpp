// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many random cases a test runs.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace eindecomp_tests {

/// Percent of the cases that a test names: 100; 25 under a sanitizer, where each takes several
/// times as long; or what EINDECOMP_TEST_CASES in the environment says (1000: ten times as many).
inline int share_of_cases() {
  if (const char* const given = std::getenv("EINDECOMP_TEST_CASES")) {
    return std::max(std::atoi(given), 1);
  }
#ifdef __SANITIZE_ADDRESS__
  return 25;
#else
  return 100;
#endif
}

/// That share of so many cases, at least one.
inline int random_cases(int cases) { return std::max(cases * share_of_cases() / 100, 1); }

}  // namespace eindecomp_tests
