// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How long the fastest of several calls takes.
#pragma once

#include <algorithm>
#include <chrono>

namespace eindecomp_benchmarks {

/// How often something is called before the fastest call is known.
struct Repeats {
  int least = 3;       ///< calls at least
  double seconds = 0;  ///< calls go on for so long
};

/// Seconds of the fastest of several calls. One call before them does not count, for it may prepare
/// kernels and touch memory for the first time.
template <class Call>
[[nodiscard]] double fastest(const Repeats& repeats, const Call& call) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  call();
  double best = 0;
  const Clock::time_point first = Clock::now();
  for (int n = 0; n < repeats.least || since(first) < repeats.seconds; ++n) {
    const Clock::time_point begin = Clock::now();
    call();
    const double took = since(begin);
    best = n == 0 ? took : std::min(best, took);
  }
  return best;
}

}  // namespace eindecomp_benchmarks
