// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Other algebras, pairs as accumulators, and a user's own, against plain loops.

#include <cmath>
#include <limits>

#include "random_einsum.hpp"

using namespace kernel_test;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

/// A user's join with state: |a - shift·b|.
struct Distance {
  double shift;
  EINDECOMP_FUNCTION double operator()(double a, float b) const {
    const double difference = a - shift * static_cast<double>(b);
    return difference < 0 ? -difference : difference;
  }
};

/// A user's monoid: the largest value below a limit, and how many elements reached the limit.
struct BelowLimit {
  static constexpr bool commutative_monoid = true;
  double limit;

  struct Found {
    double largest;
    std::int32_t beyond;
  };
  template <class T>
  using State = Found;

  EINDECOMP_FUNCTION Found identity() const { return {-1.0, 0}; }
  EINDECOMP_FUNCTION Found lift(double value, std::int64_t) const {
    return value < limit ? Found{value, 0} : Found{-1.0, 1};
  }
  EINDECOMP_FUNCTION Found operator()(const Found& a, const Found& b) const {
    return {a.largest < b.largest ? b.largest : a.largest, a.beyond + b.beyond};
  }
  EINDECOMP_FUNCTION double finish(const Found& found) const {
    return found.largest + 100.0 * found.beyond;
  }
};

Family one_aggregated() {
  Family family;
  family.min_labels = 1;
  family.one_aggregated = true;
  return family;
}

}  // namespace

TEST_CASE("min-plus, identity over nothing") {
  const Expectation expected{
      infinity, [](double a, double b) { return a + b; },
      [](double& least, double value, Extent) { least = value < least ? value : least; }, same,
      0.0};
  const AlgorithmCounts counts =
      check_random<Space, eindecomp::Add, eindecomp::Min, double, double>(200, 101, {}, {}, {},
                                                                          expected);
  CHECK(counts.at(Algorithm::direct) > 50);
  CHECK(counts.at(Algorithm::none) > 5);
}

TEST_CASE("max of integers") {
  const Expectation expected{
      std::numeric_limits<std::int32_t>::lowest(),
      [](std::int32_t a, std::int32_t b) { return a * b; },
      [](std::int32_t& most, std::int32_t value, Extent) { most = value > most ? value : most; },
      same, 0.0};
  check_random<Space, eindecomp::Mul, eindecomp::Max, std::int32_t, std::int32_t>(100, 103, {}, {},
                                                                                  {}, expected);
}

TEST_CASE("squared distances") {
  const Expectation expected{0.0F, [](float a, float b) { return (a - b) * (a - b); },
                             [](float& sum, float value, Extent) { sum += value; }, same, 0.0};
  check_random<Space, eindecomp::SqDiff, eindecomp::Sum, float, float>(100, 105, {}, {}, {},
                                                                       expected);
}

TEST_CASE("truth values are stored as 32-bit integers") {
  const Expectation expected{
      std::int32_t{0}, [](double a, double b) { return a < b ? 1 : 0; },
      [](std::int32_t& any, std::int32_t value, Extent) { any = any != 0 || value != 0 ? 1 : 0; },
      same, 0.0};
  using Launcher = TestLauncher<Space, eindecomp::Less, eindecomp::Or, double, double>;
  static_assert(std::is_same_v<Launcher::Result, std::int32_t>);
  check_random<Space, eindecomp::Less, eindecomp::Or, double, double>(100, 107, {}, {}, {},
                                                                      expected);
}

TEST_CASE("argmin and argmax give global indices, of equal values the smallest") {
  check_random<Space, eindecomp::Add, eindecomp::ArgMin, double, double>(150, 109, one_aggregated(),
                                                                         {}, {}, argmin_of_sums());
  const Expectation largest{
      Best{-infinity, std::numeric_limits<std::int64_t>::max()}, [](double a) { return a; },
      [](Best& best, double value, Extent index) {
        if (value > best.value || (value == best.value && index < best.index)) {
          best = {value, index};
        }
      },
      [](const Best& best) { return best.index; }, 0.0};
  check_random<Space, eindecomp::Identity, eindecomp::ArgMax, double>(150, 111, one_aggregated(),
                                                                      {}, {}, largest);
  const Expectation not_nan{Best{-infinity, std::numeric_limits<std::int64_t>::max()},
                            [](double a) { return std::isnan(a) ? -infinity : a; }, largest.fold,
                            largest.finish, 0.0};
  Family special = one_aggregated();
  special.special_values = true;
  check_random<Space, eindecomp::Identity, eindecomp::ArgMax, double>(150, 127, special, {}, {},
                                                                      not_nan);
  Family family = one_aggregated();
  family.max_labels = 2;
  family.extents = {1, 2, 3};
  family.long_reduction = true;
  const AlgorithmCounts counts =
      check_random<Space, eindecomp::Identity, eindecomp::ArgMax, double>(20, 113, family, {}, {},
                                                                          largest);
  CHECK(counts.at(Algorithm::split) > 5);
}

TEST_CASE("log-sum-exp with pairs as accumulators") {
  const Expectation expected{0.0L, [](double a, double b) { return a * b; },
                             [](long double& sum, double value, Extent) {
                               sum += std::exp(static_cast<long double>(value));
                             },
                             [](long double sum) { return static_cast<double>(std::log(sum)); },
                             1e-12};
  check_random<Space, eindecomp::Mul, eindecomp::LogSumExp, double, double>(100, 115, {}, {}, {},
                                                                            expected);
}

TEST_CASE("infinities and NaN") {
  Family family;
  family.special_values = true;
  Family products = family;
  products.products = true;
  products.min_labels = 3;
  const auto term = [](double a, double b) { return a * b; };
  const Expectation sum{0.0, term, [](double& total, double value, Extent) { total += value; },
                        same, 1e-12};
  // Not a number is passed over by both, whatever comes first.
  const Expectation least{
      infinity, term,
      [](double& so_far, double value, Extent) { so_far = std::fmin(so_far, value); }, same, 0.0};
  const Expectation most{
      -infinity, term,
      [](double& so_far, double value, Extent) { so_far = std::fmax(so_far, value); }, same, 0.0};
  for (const Family& of : {family, products}) {
    check_random<Space, eindecomp::Mul, eindecomp::Sum, double, double>(150, 117, of, {}, {}, sum);
    check_random<Space, eindecomp::Mul, eindecomp::Min, double, double>(150, 119, of, {}, {},
                                                                        least);
    check_random<Space, eindecomp::Mul, eindecomp::Max, double, double>(150, 121, of, {}, {}, most);
  }
}

TEST_CASE("products of floats accumulated in double, and compensated sums") {
  Family family;
  family.products = true;
  family.min_labels = 3;
  family.max_labels = 4;
  family.extents = {5, 8, 16, 17, 33};
  family.max_joins = 100000;
  family.special_values = true;
  using WideProduct = eindecomp::Cast<double, eindecomp::Mul>;
  const Expectation wide{
      0.0, [](float a, float b) { return static_cast<double>(a) * static_cast<double>(b); },
      [](double& total, double value, Extent) { total += value; }, same, 1e-12};
  const AlgorithmCounts counts = check_random<Space, WideProduct, eindecomp::Sum, float, float>(
      100, 123, family, {}, {}, wide);
  if (eindecomp::kernel::detail::has_packed<Space, WideProduct, eindecomp::Sum, float, float>()) {
    CHECK(counts.at(Algorithm::packed) > 20);
  }
  const Expectation compensated{0.0L, [](float a, float b) { return a * b; },
                                [](long double& total, float value, Extent) { total += value; },
                                [](long double total) { return static_cast<float>(total); }, 0.0};
  check_random<Space, eindecomp::Mul, eindecomp::CompensatedSum, float, float>(100, 125, family, {},
                                                                               {}, compensated);
}

TEST_CASE("sums that rounding would spoil") {
  constexpr Extent n = 1000000;
  LocalEinsum shape;
  shape.labels = shape.operands = 1;
  shape.extent[0] = n;
  shape.aggregated[0] = true;
  shape.operand_stride[0][0] = 1;
  std::vector<float> terms(n);
  for (Extent i = 0; i < n; ++i) terms[static_cast<std::size_t>(i)] = i % 3 == 0 ? 1e8F : 0.1F;
  long double exact = 0;
  for (float term : terms) exact += static_cast<long double>(term);
  const InSpace<Space, float> there(terms);
  const void* const operands[] = {there.data()};
  const auto sum_of = [&](const auto& launcher, auto none) {
    std::vector<decltype(none)> result{none};
    const InSpace<Space, decltype(none)> into(result);
    launcher.join(Space(), shape, operands, into.data(), Write::finished);
    Kokkos::fence();
    into.fetch();
    return result.front();
  };
  using kernel_test::TestLauncher;
  CHECK(sum_of(TestLauncher<Space, eindecomp::Identity, eindecomp::Sum, float>(), 0.0F) !=
        static_cast<float>(exact));
  CHECK(sum_of(TestLauncher<Space, eindecomp::Identity, eindecomp::CompensatedSum, float>(),
               0.0F) == static_cast<float>(exact));
  CHECK(sum_of(TestLauncher<Space, eindecomp::Cast<double>, eindecomp::Sum, float>(), 0.0) ==
        doctest::Approx(static_cast<double>(exact)).epsilon(1e-9));
}

TEST_CASE("a user's functor with state and a user's monoid with state") {
  const Expectation expected{
      BelowLimit::Found{-1.0, 0},
      [](double a, float b) { return std::abs(a - 0.5 * static_cast<double>(b)); },
      [](BelowLimit::Found& found, double value, Extent) {
        if (value < 3.25) {
          found.largest = std::max(found.largest, value);
        } else {
          ++found.beyond;
        }
      },
      [](const BelowLimit::Found& found) { return found.largest + 100.0 * found.beyond; }, 0.0};
  check_random<Space, Distance, BelowLimit, double, float>(150, 117, {}, Distance{0.5},
                                                           BelowLimit{3.25}, expected);
}

TEST_CASE("element-wise statements") {
  Family family;
  family.elementwise = true;
  const auto last = [](auto& result, const auto& value, Extent) { result = value; };
  const Expectation two{0.0, [](double a, double b) { return a - b; }, last, same, 0.0};
  check_random<Space, eindecomp::Sub, eindecomp::NoAggregation, double, double>(150, 119, family,
                                                                                {}, {}, two);
  const Expectation one{Kokkos::complex<float>(),
                        [](const Kokkos::complex<float>& a) { return -a; }, last, same, 0.0};
  check_random<Space, eindecomp::Negate, eindecomp::NoAggregation, Kokkos::complex<float>>(
      100, 121, family, {}, {}, one);
  const Expectation three{0.0F, [](std::int32_t c, float a, float b) { return c != 0 ? a : b; },
                          last, same, 0.0};
  check_random<Space, eindecomp::Select, eindecomp::NoAggregation, std::int32_t, float, float>(
      100, 123, family, {}, {}, three);
}
