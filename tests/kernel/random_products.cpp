// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products and sums of every type against plain loops: those of the BLAS and the generic one.

#include "random_einsum.hpp"

using namespace kernel_test;
using eindecomp::Mul;
using eindecomp::ScaledMul;
using eindecomp::Sum;

namespace {

using Parallel = Kokkos::DefaultExecutionSpace;
#if defined(KOKKOS_ENABLE_SERIAL)
using Sequential = Kokkos::Serial;
#else
using Sequential = Kokkos::DefaultHostExecutionSpace;
#endif

/// Blocks are for host spaces.
template <class Space>
constexpr bool has_blocks =
    eindecomp::kernel::blas::available<Space>&& eindecomp::compat::is_synchronous<Space>;

template <class T>
auto product_sum(T factor = T(1)) {
  return Expectation{T(0), [factor](const T& a, const T& b) { return factor * (a * b); },
                     [](T& sum, const T& value, Extent) { sum += value; },
                     [](const T& sum) { return sum; }, 0.0};
}

/// Labels long enough for the BLAS.
Family matrices() {
  Family family;
  family.min_labels = 3;
  family.max_labels = 4;
  family.products = true;
  family.extents = {1, 1, 8, 13, 21, 30};
  family.max_joins = 60000;
  return family;
}

int count(const AlgorithmCounts& counts, Algorithm algorithm) {
  const auto found = counts.find(algorithm);
  return found == counts.end() ? 0 : found->second;
}

template <class Space, class T>
void check_products(std::uint64_t seed) {
  check_random<Space, Mul, Sum, T, T>(100, seed, {}, Mul{}, Sum{}, product_sum<T>());
  const AlgorithmCounts counts = check_random<Space, Mul, Sum, T, T>(
      150, seed + 1, matrices(), Mul{}, Sum{}, product_sum<T>());
  // Where there is a BLAS, the random shapes must have reached it, and left something to the rest.
  if (eindecomp::kernel::blas::available<Space>) {
    CHECK(counts.at(Algorithm::gemm) > 10);
  }
  CHECK(count(counts, Algorithm::direct) + count(counts, Algorithm::packed) > 10);
}

}  // namespace

TEST_CASE("products of double") { check_products<Parallel, double>(1); }
TEST_CASE("products of float") { check_products<Sequential, float>(3); }
TEST_CASE("products of complex<double>") { check_products<Parallel, Kokkos::complex<double>>(5); }
TEST_CASE("products of complex<float>") { check_products<Sequential, Kokkos::complex<float>>(7); }

TEST_CASE("products that are not matrices where they lie are computed in blocks") {
  Family family;
  family.min_labels = 4;
  family.max_labels = 6;
  family.products = true;
  family.extents = {1, 8, 16, 24, 41};
  family.max_joins = 1500000;
  AlgorithmCounts counts = check_random<Parallel, Mul, Sum, double, double>(
      120, 27, family, Mul{}, Sum{}, product_sum<double>());
  if (has_blocks<Parallel>) CHECK(counts[Algorithm::blocks] > 10);
  using Complex = Kokkos::complex<float>;
  counts = check_random<Sequential, ScaledMul<Complex>, Sum, Complex, Complex>(
      80, 29, family, {Complex(2, -1)}, Sum{}, product_sum<Complex>(Complex(2, -1)));
  if (has_blocks<Sequential>) CHECK(counts[Algorithm::blocks] > 5);
}

TEST_CASE("scaled products find their alpha") {
  const ScaledMul<double> join{2.5};
  const AlgorithmCounts counts = check_random<Parallel, ScaledMul<double>, Sum, double, double>(
      150, 11, matrices(), join, Sum{}, product_sum<double>(2.5));
  if (eindecomp::kernel::blas::available<Parallel>) CHECK(counts.at(Algorithm::gemm) > 10);
  CHECK(count(counts, Algorithm::direct) + count(counts, Algorithm::packed) > 10);
}

TEST_CASE("a factor of a wider type widens the result and leaves the BLAS") {
  const Expectation expected{0.0, [](float a, float b) { return 0.1 * static_cast<double>(a * b); },
                             [](double& sum, double value, Extent) { sum += value; },
                             [](double sum) { return sum; }, 1e-12};
  const AlgorithmCounts counts = check_random<Parallel, ScaledMul<double>, Sum, float, float>(
      60, 13, matrices(), {0.1}, {}, expected);
  CHECK(counts.count(Algorithm::gemm) == 0);
}

TEST_CASE("products of integers") {
  check_random<Parallel, Mul, Sum, std::int32_t, std::int32_t>(120, 15, {}, Mul{}, Sum{},
                                                               product_sum<std::int32_t>());
  check_random<Sequential, Mul, Sum, std::int64_t, std::int64_t>(120, 17, {}, Mul{}, Sum{},
                                                                 product_sum<std::int64_t>());
}

TEST_CASE("mixed operands promote as C++ does") {
  const Expectation expected{0.0, [](std::int32_t a, double b) { return a * b; },
                             [](double& sum, double value, Extent) { sum += value; },
                             [](double sum) { return sum; }, 0.0};
  check_random<Parallel, Mul, Sum, std::int32_t, double>(100, 19, {}, Mul{}, Sum{}, expected);
}

TEST_CASE("three operands and one") {
  const auto fold = [](double& sum, double value, Extent) { sum += value; };
  const auto finish = [](double sum) { return sum; };
  const Expectation three{0.0, [](double a, double b, double c) { return a * b * c; }, fold, finish,
                          0.0};
  check_random<Parallel, Mul, Sum, double, double, double>(120, 21, {}, Mul{}, Sum{}, three);
  const Expectation one{0.0, [](double a) { return a; }, fold, finish, 0.0};
  check_random<Parallel, Mul, Sum, double>(120, 23, {}, Mul{}, Sum{}, one);
}

TEST_CASE("long reductions to many outputs go panel by panel") {
  Family family;
  family.min_labels = 2;
  family.max_labels = 3;
  family.extents = {3, 130, 200, 613};
  family.max_joins = 400000;
  const Expectation one{0.0, [](double a) { return a; },
                        [](double& sum, double value, Extent) { sum += value; },
                        [](double sum) { return sum; }, 0.0};
  check_random<Parallel, Mul, Sum, double>(60, 31, family, Mul{}, Sum{}, one);
  check_random<Parallel, Mul, Sum, std::int32_t, std::int32_t>(40, 33, family, Mul{}, Sum{},
                                                               product_sum<std::int32_t>());
}

TEST_CASE("long reductions to few outputs are cut into parts") {
  Family family;
  family.max_labels = 3;
  family.extents = {1, 2, 3, 5};
  family.long_reduction = true;
  const AlgorithmCounts counts = check_random<Parallel, Mul, Sum, double, double>(
      40, 25, family, Mul{}, Sum{}, product_sum<double>());
  CHECK(counts.at(Algorithm::split) > 10);
}
