// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/expr/exponential.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using eindecomp::detail::exponential;

static_assert(exponential(0.0) == 1.0);
static_assert(exponential(0.0F) == 1.0F);

TEST_CASE_TEMPLATE("the exponential is the C library's within two units", T, float, double) {
  using Limits = std::numeric_limits<T>;
  const auto error = [](T x) {
    const long double expected = std::exp(static_cast<long double>(x));
    const T rounded = static_cast<T>(expected);
    const long double unit = std::nextafter(rounded, Limits::infinity()) - rounded;
    return std::abs(static_cast<long double>(exponential(x)) - expected) / unit;
  };
  const T largest = std::log(Limits::max());
  const T smallest = std::log(Limits::denorm_min());
  long double worst = 0;
  const int steps = 300000;
  for (int n = 0; n <= steps; ++n) {
    const T x = smallest + (largest - smallest) * static_cast<T>(n) / steps;
    worst = std::max(worst, error(std::min(x, largest)));
  }
  std::mt19937 random(11);
  for (int n = 0; n < 100000; ++n) {
    // Of every size, so that many are so small that e^x is 1.
    const T x = std::ldexp(static_cast<T>(random()) / static_cast<T>(random.max()) - T(0.5),
                           static_cast<int>(random() % 60) - 54);
    worst = std::max(worst, error(x));
  }
  CHECK(worst <= 2.0L);

  CHECK(exponential(Limits::infinity()) == Limits::infinity());
  CHECK(exponential(Limits::max()) == Limits::infinity());
  CHECK(exponential(largest * T(1.01)) == Limits::infinity());
  CHECK(exponential(-Limits::infinity()) == T(0));
  CHECK(exponential(Limits::lowest()) == T(0));
  CHECK(exponential(smallest * T(1.02)) == T(0));
  CHECK(exponential(smallest * T(0.99)) > T(0));
  CHECK(std::isnan(exponential(Limits::quiet_NaN())));
  CHECK(std::isnan(exponential(-Limits::quiet_NaN())));
}
