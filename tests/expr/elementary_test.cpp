// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Vectors wider than the registers compiled for are all inside this program.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#include "eindecomp/expr/elementary.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include <cmath>
#include <limits>
#include <random>

#include "eindecomp/expr/error_function.hpp"

using eindecomp::expr::error_function;
using eindecomp::expr::error_function_complement;
using eindecomp::expr::exponential;
using eindecomp::expr::gaussian_error_linear_unit;
using eindecomp::expr::hyperbolic_tangent;
using eindecomp::expr::logarithm;

namespace {

const auto exponential_of = [](auto x) { return exponential(x); };
const auto logarithm_of = [](auto x) { return logarithm(x); };
const auto tangent_of = [](auto x) { return hyperbolic_tangent(x); };
const auto error_function_of = [](auto x) { return error_function(x); };
const auto complement_of = [](auto x) { return error_function_complement(x); };
const auto gelu_of = [](auto x) { return gaussian_error_linear_unit(x); };

/// A function of a number by vectors of so many bytes, all of whose other elements are other
/// numbers.
template <int Bytes, class F, class T>
T by_vectors(const F& function, T x) {
  typedef T V __attribute__((vector_size(Bytes)));
  constexpr int width = Bytes / static_cast<int>(sizeof(T));
  T result = 0;
  for (int place = 0; place < width; place += width - 1) {
    V v;
    for (int l = 0; l < width; ++l) v[l] = l == place ? x : static_cast<T>(l);
    v = function(v);
    // The same wherever it stands.
    const bool same = v[place] == result || (std::isnan(v[place]) && std::isnan(result));
    if (place > 0 && !same) return std::numeric_limits<T>::signaling_NaN();
    result = v[place];
  }
  return result;
}

/// How a number's function is computed.
template <class T>
struct Scalar {
  using Type = T;
  template <class F>
  static T of(const F& function, T x) {
    return function(x);
  }
};
template <int Bytes, class T>
struct Vectors {
  using Type = T;
  template <class F>
  static T of(const F& function, T x) {
    return by_vectors<Bytes>(function, x);
  }
};

/// By how many units in the last place a result differs from what is expected.
template <class T>
long double error(T result, long double expected) {
  const T rounded = std::abs(static_cast<T>(expected));
  const long double unit = std::nextafter(rounded, std::numeric_limits<T>::infinity()) - rounded;
  return std::abs(static_cast<long double>(result) - expected) / unit;
}

}  // namespace

static_assert(exponential(0.0) == 1.0);
static_assert(exponential(0.0F) == 1.0F);

TEST_CASE_TEMPLATE("the exponential is the C library's within two units", Way, Scalar<float>,
                   Scalar<double>, Vectors<16, float>, Vectors<32, float>, Vectors<64, float>,
                   Vectors<16, double>, Vectors<32, double>, Vectors<64, double>) {
  using T = typename Way::Type;
  using Limits = std::numeric_limits<T>;
  const auto of = [](T x) { return Way::of(exponential_of, x); };
  const auto error_at = [&](T x) { return error(of(x), std::exp(static_cast<long double>(x))); };
  const T largest = std::log(Limits::max());
  const T smallest = std::log(Limits::denorm_min());
  long double worst = 0;
  const int steps = 300000;
  for (int n = 0; n <= steps; ++n) {
    const T x = smallest + (largest - smallest) * static_cast<T>(n) / steps;
    worst = std::max(worst, error_at(std::min(x, largest)));
  }
  std::mt19937 random(11);
  for (int n = 0; n < 100000; ++n) {
    // Of every size, so that many are so small that e^x is 1.
    const T x = std::ldexp(static_cast<T>(random()) / static_cast<T>(random.max()) - T(0.5),
                           static_cast<int>(random() % 60) - 54);
    worst = std::max(worst, error_at(x));
  }
  CHECK(worst <= 2.0L);

  CHECK(of(Limits::infinity()) == Limits::infinity());
  CHECK(of(Limits::max()) == Limits::infinity());
  CHECK(of(largest * T(1.01)) == Limits::infinity());
  CHECK(of(-Limits::infinity()) == T(0));
  CHECK(of(Limits::lowest()) == T(0));
  CHECK(of(smallest * T(1.02)) == T(0));
  CHECK(of(smallest * T(0.99)) > T(0));
  CHECK(std::isnan(of(Limits::quiet_NaN())));
  CHECK(std::isnan(of(-Limits::quiet_NaN())));
}

TEST_CASE_TEMPLATE("the logarithm is the C library's within one unit", Way, Scalar<float>,
                   Scalar<double>, Vectors<16, float>, Vectors<32, float>, Vectors<64, float>,
                   Vectors<16, double>, Vectors<32, double>, Vectors<64, double>) {
  using T = typename Way::Type;
  using Limits = std::numeric_limits<T>;
  const auto of = [](T x) { return Way::of(logarithm_of, x); };
  long double worst = 0;
  const auto look_at = [&](T x) {
    worst = std::max(worst, error(of(x), std::log(static_cast<long double>(x))));
  };
  const int steps = 200000;
  for (int n = 0; n <= steps; ++n) look_at(T(0.25) + T(4) * static_cast<T>(n) / steps);
  std::mt19937 random(12);
  for (int n = 0; n < 200000; ++n) {
    // Of every size, subnormal numbers among them.
    const T x = std::ldexp(T(0.5) + static_cast<T>(random()) / static_cast<T>(random.max()),
                           Limits::min_exponent - Limits::digits + 1 +
                               static_cast<int>(random() % (2U * Limits::max_exponent)));
    if (x > 0 && x <= Limits::max()) look_at(x);
  }
  for (const T x : {Limits::denorm_min(), Limits::min(), std::nextafter(Limits::min(), T(0)),
                    std::nextafter(T(1), T(0)), std::nextafter(T(1), T(2)), Limits::max()}) {
    look_at(x);
  }
  CHECK(worst <= 1.0L);

  CHECK(of(T(1)) == T(0));
  CHECK(of(T(0)) == -Limits::infinity());
  CHECK(of(-T(0)) == -Limits::infinity());
  CHECK(of(Limits::infinity()) == Limits::infinity());
  CHECK(std::isnan(of(T(-1))));
  CHECK(std::isnan(of(-Limits::denorm_min())));
  CHECK(std::isnan(of(-Limits::infinity())));
  CHECK(std::isnan(of(Limits::quiet_NaN())));
  CHECK(std::isnan(of(-Limits::quiet_NaN())));
}

TEST_CASE_TEMPLATE("the hyperbolic tangent is the C library's within three units", Way,
                   Scalar<float>, Scalar<double>, Vectors<16, float>, Vectors<32, float>,
                   Vectors<64, float>, Vectors<16, double>, Vectors<32, double>,
                   Vectors<64, double>) {
  using T = typename Way::Type;
  using Limits = std::numeric_limits<T>;
  const auto of = [](T x) { return Way::of(tangent_of, x); };
  long double worst = 0;
  bool odd = true;
  const auto look_at = [&](T x) {
    worst = std::max(worst, error(of(x), std::tanh(static_cast<long double>(x))));
    odd = odd && of(-x) == -of(x);
  };
  const int steps = 200000;
  for (int n = 0; n <= steps; ++n) look_at(T(24) * static_cast<T>(n) / steps);
  std::mt19937 random(13);
  for (int n = 0; n < 100000; ++n) {
    // Of every size, so that many are so small that they are their own tangents.
    look_at(std::ldexp(static_cast<T>(random()) / static_cast<T>(random.max()),
                       static_cast<int>(random() % 64) - 60));
  }
  look_at(Limits::denorm_min());
  look_at(Limits::min());
  CHECK(worst <= 3.0L);
  CHECK(odd);

  CHECK(std::signbit(of(-T(0))));
  CHECK(of(T(0)) == T(0));
  CHECK(of(Limits::max()) == T(1));
  CHECK(of(Limits::infinity()) == T(1));
  CHECK(of(-Limits::infinity()) == T(-1));
  CHECK(std::isnan(of(Limits::quiet_NaN())));
  CHECK(std::isnan(of(-Limits::quiet_NaN())));
}

TEST_CASE_TEMPLATE("the error functions and gelu are those of more digits within few units", Way,
                   Scalar<float>, Scalar<double>, Vectors<16, float>, Vectors<32, float>,
                   Vectors<64, float>, Vectors<16, double>, Vectors<32, double>,
                   Vectors<64, double>) {
  using T = typename Way::Type;
  using Limits = std::numeric_limits<T>;
  const auto erf = [](T x) { return Way::of(error_function_of, x); };
  const auto erfc = [](T x) { return Way::of(complement_of, x); };
  const auto gelu = [](T x) { return Way::of(gelu_of, x); };
  const auto exact_gelu = [](long double x) {
    return x / 2 * std::erfc(x * -0.707106781186547524400844362104849L);
  };
  long double worst_erf = 0;
  long double worst_erfc = 0;
  long double worst_gelu = 0;
  bool odd = true;
  const auto look_at = [&](T x) {
    const auto exact = static_cast<long double>(x);
    worst_erf = std::max(worst_erf, error(erf(x), std::erf(exact)));
    worst_erfc = std::max(worst_erfc, error(erfc(x), std::erfc(exact)));
    worst_gelu = std::max(worst_gelu, error(gelu(x), exact_gelu(exact)));
    odd = odd && erf(-x) == -erf(x);
  };
  const T farthest = sizeof(T) == 4 ? T(15) : T(39);  // where gelu is 0
  const int steps = 100000;
  for (int n = -steps; n <= steps; ++n) look_at(farthest * static_cast<T>(n) / steps);
  std::mt19937 random(14);
  for (int n = 0; n < 100000; ++n) {
    const T x = std::ldexp(static_cast<T>(random()) / static_cast<T>(random.max()),
                           static_cast<int>(random() % 64) - 60);
    look_at(n % 2 == 0 ? x : -x);
  }
  for (const T x : {Limits::min(), T(0), std::nextafter(T(1), T(0)), T(1)}) look_at(x);
  CHECK(worst_erf <= 2.0L);
  CHECK(worst_erfc <= 7.0L);
  CHECK(worst_gelu <= 8.0L);
  CHECK(odd);

  CHECK(std::signbit(erf(-T(0))));
  CHECK(erfc(-T(0)) == T(1));
  CHECK(gelu(-T(0)) == T(0));
  for (const T x : {Limits::max(), Limits::infinity()}) {
    CHECK(erf(x) == T(1));
    CHECK(erf(-x) == T(-1));
    CHECK(erfc(x) == T(0));
    CHECK(erfc(-x) == T(2));
    CHECK(gelu(x) == x);
  }
  CHECK(gelu(Limits::lowest()) == T(0));
  CHECK(std::isnan(gelu(-Limits::infinity())));
  for (const T x : {Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
    CHECK(std::isnan(erf(x)));
    CHECK(std::isnan(erfc(x)));
    CHECK(std::isnan(gelu(x)));
  }
}
