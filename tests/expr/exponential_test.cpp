// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Vectors wider than the registers compiled for are all inside this program.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#include "eindecomp/expr/exponential.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using eindecomp::expr::exponential;

namespace {

/// The exponential of a number by vectors of so many bytes, all of whose other elements are other
/// numbers.
template <int Bytes, class T>
T by_vectors(T x) {
  typedef T V __attribute__((vector_size(Bytes)));
  constexpr int width = Bytes / static_cast<int>(sizeof(T));
  T result = 0;
  for (int place = 0; place < width; place += width - 1) {
    V v;
    for (int l = 0; l < width; ++l) v[l] = l == place ? x : static_cast<T>(l);
    v = exponential(v);
    // The same wherever it stands.
    const bool same = v[place] == result || (std::isnan(v[place]) && std::isnan(result));
    if (place > 0 && !same) return std::numeric_limits<T>::signaling_NaN();
    result = v[place];
  }
  return result;
}

/// How a number's exponential is computed.
template <class T>
struct Scalar {
  using Type = T;
  static T of(T x) { return exponential(x); }
};
template <int Bytes, class T>
struct Vectors {
  using Type = T;
  static T of(T x) { return by_vectors<Bytes>(x); }
};

}  // namespace

static_assert(exponential(0.0) == 1.0);
static_assert(exponential(0.0F) == 1.0F);

TEST_CASE_TEMPLATE("the exponential is the C library's within two units", Way, Scalar<float>,
                   Scalar<double>, Vectors<16, float>, Vectors<32, float>, Vectors<64, float>,
                   Vectors<16, double>, Vectors<32, double>, Vectors<64, double>) {
  using T = typename Way::Type;
  using Limits = std::numeric_limits<T>;
  const auto error = [](T x) {
    const long double expected = std::exp(static_cast<long double>(x));
    const T rounded = static_cast<T>(expected);
    const long double unit = std::nextafter(rounded, Limits::infinity()) - rounded;
    return std::abs(static_cast<long double>(Way::of(x)) - expected) / unit;
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

  CHECK(Way::of(Limits::infinity()) == Limits::infinity());
  CHECK(Way::of(Limits::max()) == Limits::infinity());
  CHECK(Way::of(largest * T(1.01)) == Limits::infinity());
  CHECK(Way::of(-Limits::infinity()) == T(0));
  CHECK(Way::of(Limits::lowest()) == T(0));
  CHECK(Way::of(smallest * T(1.02)) == T(0));
  CHECK(Way::of(smallest * T(0.99)) > T(0));
  CHECK(std::isnan(Way::of(Limits::quiet_NaN())));
  CHECK(std::isnan(Way::of(-Limits::quiet_NaN())));
}
