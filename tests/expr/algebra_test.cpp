// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The laws that operators and monoids promise, on random values.

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>

#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/expression.hpp"
#include "support/near.hpp"

namespace ein = eindecomp;
using eindecomp_tests::near;

namespace {

/// Whole numbers small enough that nothing rounds.
template <class T>
T draw(std::mt19937& random) {
  const auto whole = [&] { return static_cast<int>(random() % 9) - 4; };
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(whole());
  } else {
    using Part = typename T::value_type;
    return T(static_cast<Part>(whole()), static_cast<Part>(whole()));
  }
}

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
template <class T>
bool same(const ein::Indexed<T>& a, const ein::Indexed<T>& b) {
  return a.value == b.value && a.index == b.index;
}
template <class T>
bool same(const ein::ScaledExponential<T>& a, const ein::ScaledExponential<T>& b) {
  return a.max == b.max && std::abs(a.factor - b.factor) <= 1e-6 * std::abs(a.factor);
}

template <class T>
bool same(const ein::CompensatedTerms<T>& a, const ein::CompensatedTerms<T>& b) {
  return a.sum == b.sum && a.error == b.error;
}

template <class M, class T>
void check_monoid(const char* name) {
  CAPTURE(name);
  static_assert(ein::CommutativeMonoid<M, T>);
  using Traits = ein::MonoidTraits<M, T>;
  const M monoid{};
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    const auto state = [&] {
      return Traits::lift(monoid, draw<T>(random), static_cast<std::int64_t>(random() % 5));
    };
    const auto a = state();
    const auto b = state();
    const auto c = state();
    const auto e = Traits::identity(monoid);
    const auto combine = [&](const auto& x, const auto& y) {
      return Traits::combine(monoid, x, y);
    };
    CHECK(same(combine(a, b), combine(b, a)));
    CHECK(same(combine(combine(a, b), c), combine(a, combine(b, c))));
    CHECK(same(combine(a, e), a));
    CHECK(same(combine(e, a), a));
    CHECK(same(combine(e, e), e));
  }
}

template <class Join, class T>
void check_associative_commutative() {
  static_assert(ein::is_associative_commutative<Join>);
  std::mt19937 random(11);
  const Join join{};
  for (int trial = 0; trial < 300; ++trial) {
    const T a = draw<T>(random);
    const T b = draw<T>(random);
    const T c = draw<T>(random);
    CHECK(join(a, b) == join(b, a));
    CHECK(join(join(a, b), c) == join(a, join(b, c)));
  }
}

template <class Join, class M, class T>
void check_distributes() {
  static_assert(ein::distributes_over<Join, M>);
  std::mt19937 random(13);
  const Join join{};
  const M monoid{};
  for (int trial = 0; trial < 300; ++trial) {
    const T a = draw<T>(random);
    const T b = draw<T>(random);
    const T c = draw<T>(random);
    CHECK(join(a, monoid(b, c)) == monoid(join(a, b), join(a, c)));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("monoids of ordered types", T, float, double, std::int32_t, std::int64_t) {
  check_monoid<ein::Sum, T>("sum");
  check_monoid<ein::Prod, T>("prod");
  check_monoid<ein::Min, T>("min");
  check_monoid<ein::Max, T>("max");
  check_monoid<ein::And, T>("and");
  check_monoid<ein::Or, T>("or");
  check_monoid<ein::ArgMin, T>("argmin");
  check_monoid<ein::ArgMax, T>("argmax");
}
TEST_CASE_TEMPLATE("monoids of complex numbers", T, std::complex<float>, std::complex<double>) {
  check_monoid<ein::Sum, T>("sum");
  check_monoid<ein::Prod, T>("prod");
}
TEST_CASE_TEMPLATE("log-sum-exp", T, float, double) { check_monoid<ein::LogSumExp, T>("lse"); }

TEST_CASE_TEMPLATE("joins that may be ordered", T, double, std::int32_t, std::int64_t) {
  check_associative_commutative<ein::Mul, T>();
  check_associative_commutative<ein::Add, T>();
  check_associative_commutative<ein::Min, T>();
  check_associative_commutative<ein::Max, T>();
}
TEST_CASE("joins of truth values that may be ordered") {
  check_associative_commutative<ein::And, std::int32_t>();
  check_associative_commutative<ein::Or, std::int32_t>();
}
TEST_CASE_TEMPLATE("joins that distribute", T, double, std::int32_t, std::int64_t) {
  check_distributes<ein::Mul, ein::Sum, T>();
  check_distributes<ein::Add, ein::Min, T>();
  check_distributes<ein::Add, ein::Max, T>();
  check_distributes<ein::Min, ein::Max, T>();
  check_distributes<ein::Max, ein::Min, T>();
}
TEST_CASE("joins of truth values that distribute") {
  check_distributes<ein::And, ein::Or, std::int32_t>();
  check_distributes<ein::Or, ein::And, std::int32_t>();
}

// What must not be promised: Σ|a - b|, products under max (signs), sums of sums.
static_assert(!ein::distributes_over<ein::AbsDiff, ein::Sum>);
static_assert(!ein::distributes_over<ein::Mul, ein::Max>);
static_assert(!ein::distributes_over<ein::Add, ein::Sum>);
static_assert(!ein::distributes_over<ein::Sub, ein::Min>);
static_assert(!ein::is_associative_commutative<ein::Sub>);
static_assert(!ein::is_associative_commutative<ein::Div>);
static_assert(!ein::is_associative_commutative<ein::AbsDiff>);

// --- operators -------------------------------------------------------------------------------

static_assert(ein::Mul{}(2, 3.5) == 7.0 && ein::Mul{}(2, 3, 4) == 24 && ein::Mul{}(5) == 5);
static_assert(ein::Add{}(2, 3.5) == 5.5 && ein::Add{}(1, 2, 3, 4) == 10);
static_assert(ein::Sub{}(2, 3) == -1 && ein::Div{}(7, 2) == 3 && ein::Div{}(7, 2.0) == 3.5);
static_assert(ein::AbsDiff{}(2, 5) == 3 && ein::AbsDiff{}(5, 2) == 3 && ein::SqDiff{}(2, 5) == 9);
static_assert(ein::Min{}(2, 1.5) == 1.5 && ein::Max{}(2, 1.5) == 2.0);
static_assert(ein::Less{}(1, 2) && !ein::Less{}(2, 2) && ein::LessEqual{}(2, 2));
static_assert(ein::Greater{}(3, 2) && !ein::Greater{}(2, 2) && ein::GreaterEqual{}(2, 2));
static_assert(ein::Equal{}(2, 2.0) && ein::NotEqual{}(2, 3));
static_assert(ein::Identity{}(4) == 4 && ein::Negate{}(4) == -4 && ein::Not{}(0) && !ein::Not{}(2));
static_assert(ein::Relu{}(-2.5) == 0 && ein::Relu{}(2.5) == 2.5 && ein::Abs{}(-3) == 3);
static_assert(ein::And{}(2, 0.0) == 0 && ein::And{}(2, 1) == 1 && ein::Or{}(0, 0) == 0 &&
              ein::Or{}(0, -1.0) == 1);
static_assert(ein::Select{}(true, 1, 2.5) == 1.0 && ein::Select{}(0, 1, 2) == 2);
static_assert(ein::ScaledMul<double>{0.5}(4, 3) == 6.0);
static_assert(std::is_same_v<decltype(ein::Mul{}(1, 1.0F)), float>);
static_assert(std::is_same_v<decltype(ein::Add{}(1, std::int64_t{1})), std::int64_t>);
static_assert(std::is_same_v<decltype(ein::Min{}(1, 2.0)), double>);
static_assert(!std::is_invocable_v<ein::Min, std::complex<double>, std::complex<double>>);
static_assert(!std::is_invocable_v<ein::Less, std::complex<double>, std::complex<double>>);
static_assert(!std::is_invocable_v<ein::Mul>);
static_assert(!ein::CommutativeMonoid<ein::Min, std::complex<double>>);
static_assert(!ein::CommutativeMonoid<ein::LogSumExp, int>);
static_assert(!ein::CommutativeMonoid<ein::Sub, double>);

// Identities: the ends of a type's range, infinite where it has infinities.
static_assert(ein::Min::identity<double>() == std::numeric_limits<double>::infinity());
static_assert(ein::Max::identity<float>() == -std::numeric_limits<float>::infinity());
static_assert(ein::Min::identity<std::int32_t>() == std::numeric_limits<std::int32_t>::max());
static_assert(ein::Max::identity<std::int64_t>() == std::numeric_limits<std::int64_t>::min());

TEST_CASE("functions of the mathematics library") {
  CHECK(ein::Exp{}(1.0) == std::exp(1.0));
  CHECK(ein::Exp{}(1) == std::exp(1.0));
  CHECK(ein::Log{}(2.0F) == std::log(2.0F));
  CHECK(ein::Sqrt{}(2.0) == std::sqrt(2.0));
  CHECK(ein::Tanh{}(0.5) == std::tanh(0.5));
  CHECK(ein::Abs{}(std::complex<double>(3, 4)) == 5);
  CHECK(ein::Exp{}(std::complex<double>(0, 1)) == std::exp(std::complex<double>(0, 1)));
}

TEST_CASE("log-sum-exp does not overflow and takes minus infinity") {
  using Traits = ein::MonoidTraits<ein::LogSumExp, double>;
  const ein::LogSumExp lse;
  const double infinity = std::numeric_limits<double>::infinity();
  const auto of = [&](double a, double b) {
    return Traits::finish(lse,
                          Traits::combine(lse, Traits::lift(lse, a, 0), Traits::lift(lse, b, 0)));
  };
  CHECK(of(1000, 1000) == near(1000 + std::log(2.0)));
  CHECK(of(-1000, -1000) == near(-1000 + std::log(2.0)));
  CHECK(of(-infinity, 3) == near(3));
  CHECK(of(-infinity, -infinity) == -infinity);
  CHECK(Traits::finish(lse, Traits::identity(lse)) == -infinity);
}

static_assert(std::is_same_v<decltype(ein::Cast<double, ein::Mul>{}(0.1F, 0.1F)), double>);
static_assert(ein::Cast<double, ein::Mul>{}(16777217, 2.0F) == 33554434.0);
static_assert(std::is_same_v<decltype(ein::Cast<float>{}(2)), float>);
static_assert(!std::is_invocable_v<ein::Cast<double>, std::complex<double>>);
static_assert(!ein::CommutativeMonoid<ein::CompensatedSum, int>);

TEST_CASE_TEMPLATE("compensated sums", T, float, double) {
  check_monoid<ein::CompensatedSum, T>("compensated_sum");
  using Traits = ein::MonoidTraits<ein::CompensatedSum, T>;
  const ein::CompensatedSum sum;
  const T infinity = std::numeric_limits<T>::infinity();
  const auto of = [&](std::initializer_list<T> terms) {
    auto state = Traits::identity(sum);
    for (T term : terms) state = Traits::combine(sum, state, Traits::lift(sum, term, 0));
    return Traits::finish(sum, state);
  };
  const T large = T(1) / std::numeric_limits<T>::epsilon();
  CHECK(of({large, T(0.25), T(0.25), -large}) == T(0.5));
  CHECK(of({infinity, 1, 2}) == infinity);
  CHECK(std::isnan(of({infinity, 1, -infinity})));
}

TEST_CASE("argmin takes what is not a number for the worst") {
  using Traits = ein::MonoidTraits<ein::ArgMin, double>;
  const ein::ArgMin argmin;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto of = [&](std::initializer_list<double> values) {
    auto state = Traits::identity(argmin);
    std::int64_t index = 0;
    for (double value : values) {
      state = Traits::combine(argmin, state, Traits::lift(argmin, value, index++));
    }
    return Traits::finish(argmin, state);
  };
  CHECK(of({nan, 3, 2, nan, 2}) == 2);
  CHECK(of({nan, nan}) == 0);
}

// --- elements --------------------------------------------------------------------------------

using ein::ElementKind;
static_assert(ein::element_type<float>().kind == ElementKind::float32);
static_assert(ein::element_type<double>() == ein::ElementType{ElementKind::float64, 8});
static_assert(ein::element_type<std::complex<float>>() ==
              ein::ElementType{ElementKind::complex64, 8});
static_assert(ein::element_type<std::complex<double>>().bytes == 16);
static_assert(ein::element_type<long>() == ein::element_type<long long>());
static_assert(ein::element_type<int>().kind == ElementKind::int32);
static_assert(ein::element_type<unsigned>().kind == ElementKind::uint32);
static_assert(ein::element_type<ein::Indexed<double>>() ==
              ein::ElementType{ElementKind::other, 16});
static_assert(std::is_same_v<ein::Stored<bool>, std::int32_t>);
static_assert(!ein::Element<std::string> && !ein::Element<const int> && !ein::Element<int&>);
