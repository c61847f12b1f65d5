// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The packed algorithm on every shape, also those that dispatch leaves to others, against plain
// loops; and against the generic algorithm across the boundaries of tiles and blocks.

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "eindecomp/kernel/einsum.hpp"
#include "forced_launcher.hpp"
#include "random_einsum.hpp"

// A compiler without vectors (nvcc) has no packed algorithm.
#if defined(EINDECOMP_REGISTER_BYTES)

using namespace kernel_test;
namespace ein = eindecomp;
namespace detail = eindecomp::kernel::detail;

namespace {

#if defined(KOKKOS_ENABLE_OPENMP)
using Space = Kokkos::OpenMP;
#else
using Space = Kokkos::DefaultHostExecutionSpace;
#endif

using PackedWay = kernel_test::PackedWay<Space>;

/// A(m, k), B(k, n), both dense; C(m, n) with these strides.
LocalEinsum product_shape(Extent m, Extent k, Extent n, Extent row_stride, Extent column_stride) {
  LocalEinsum shape;
  shape.labels = 3;
  shape.operands = 2;
  shape.extent[0] = m;
  shape.extent[1] = k;
  shape.extent[2] = n;
  shape.aggregated[1] = true;
  shape.operand_stride[0][0] = k;
  shape.operand_stride[0][1] = 1;
  shape.operand_stride[1][1] = n;
  shape.operand_stride[1][2] = 1;
  shape.output_stride[0] = row_stride;
  shape.output_stride[2] = column_stride;
  return shape;
}

/// Outputs by the packed algorithm and by loops.
template <class Join, class Monoid, class T>
void run_both(const LocalEinsum& shape, const void* const* operands, T* packed, T* loops) {
  run_prepared(Space(),
               PackedWay::prepare<Join, Monoid, T, T>(shape, Join{}, Monoid{}, Write::finished),
               operands, packed);
  run_prepared(Space(),
               detail::PreparedLoops<Space, Join, Monoid, T, T>(Space(), shape, Join{}, Monoid{},
                                                                Write::finished, nullptr),
               operands, loops);
}

const Family anything =
    any_labels({0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 24, 25, 31, 32, 33, 40});
const Family products = any_product(anything, 40000);
const Family windows = [] {
  Family family = products;
  family.windows = true;
  return family;
}();

template <class A, class B = A, class Join, class Monoid, class Expected>
void check(std::uint64_t seed, const Join& join, const Monoid&, const Expected& expected) {
  const ForcedLauncher<Space, PackedWay, Join, Monoid, A, B> launcher(join);
  check_launcher<A, B>(250, seed, anything, launcher, expected);
  check_launcher<A, B>(250, seed + 1, products, launcher, expected);
  check_launcher<A, B>(100, seed + 2, windows, launcher, expected);
}

const auto add_to = [](auto& sum, auto value, Extent) { sum += value; };
const auto keep_less = [](auto& least, auto value, Extent) { least = std::min(least, value); };
const auto keep_more = [](auto& most, auto value, Extent) { most = std::max(most, value); };

/// A template that no vector may be given to.
struct Weighted {
  double weight;
  template <class T>
  EINDECOMP_FUNCTION auto operator()(const T& a, const T& b) const {
    if (a < b) return weight * a + b;
    return a - weight * b;
  }
};
struct Quotient {
  EINDECOMP_FUNCTION std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return a / (b + 4);
  }
};
/// The norm: a result that is not the accumulator.
struct Norm {
  static constexpr bool commutative_monoid = true;
  EINDECOMP_FUNCTION static double identity() { return 0; }
  EINDECOMP_FUNCTION double operator()(double a, double b) const { return a + b; }
  EINDECOMP_FUNCTION double lift(double value, std::int64_t) const { return value * value; }
  EINDECOMP_FUNCTION double finish(double state) const { return std::sqrt(state); }
};

}  // namespace

TEST_CASE("min-plus") {
  const auto add = [](auto a, auto b) { return a + b; };
  check<double>(201, ein::Add{}, ein::Min{}, Expectation{infinity, add, keep_less, same, 0.0});
  check<float>(203, ein::Add{}, ein::Min{},
               Expectation{static_cast<float>(infinity), add, keep_less, same, 0.0});
}

TEST_CASE("max-plus, max-times, max-min of other types") {
  check<std::int64_t>(205, ein::Add{}, ein::Max{},
                      Expectation{std::numeric_limits<std::int64_t>::lowest(),
                                  [](auto a, auto b) { return a + b; }, keep_more, same, 0.0});
  check<float>(207, ein::Mul{}, ein::Max{},
               Expectation{static_cast<float>(-infinity), [](auto a, auto b) { return a * b; },
                           keep_more, same, 0.0});
  check<std::int32_t>(
      209, ein::Min{}, ein::Max{},
      Expectation{std::numeric_limits<std::int32_t>::lowest(),
                  [](auto a, auto b) { return std::min(a, b); }, keep_more, same, 0.0});
}

TEST_CASE("distances") {
  check<double>(
      211, ein::SqDiff{}, ein::Sum{},
      Expectation{0.0, [](auto a, auto b) { return (a - b) * (a - b); }, add_to, same, 0.0});
  check<double>(
      213, ein::AbsDiff{}, ein::Max{},
      Expectation{-infinity, [](auto a, auto b) { return std::abs(a - b); }, keep_more, same, 0.0});
  check<std::int32_t>(
      215, ein::AbsDiff{}, ein::Sum{},
      Expectation{0, [](auto a, auto b) { return std::abs(a - b); }, add_to, same, 0.0});
}

TEST_CASE("products and sums") {
  const auto times = [](auto a, auto b) { return a * b; };
  check<double>(217, ein::Mul{}, ein::Sum{}, Expectation{0.0, times, add_to, same, 0.0});
  check<float>(219, ein::ScaledMul<float>{0.5F}, ein::Sum{},
               Expectation{0.0F, [](auto a, auto b) { return 0.5F * (a * b); }, add_to, same, 0.0});
  check<double>(221, ein::Mul{}, ein::Prod{},
                Expectation{1.0, times, [](auto& product, auto value, Extent) { product *= value; },
                            same, 1e-10});
}

TEST_CASE("mixed operands promote as C++ does") {
  const auto times = [](auto a, auto b) { return a * b; };
  check<float, double>(223, ein::Mul{}, ein::Sum{}, Expectation{0.0, times, add_to, same, 0.0});
  check<std::int32_t, float>(225, ein::Mul{}, ein::Sum{},
                             Expectation{0.0F, times, add_to, same, 0.0});
  check<std::int16_t, std::int16_t>(227, ein::Mul{}, ein::Sum{},
                                    Expectation{0, times, add_to, same, 0.0});
}

TEST_CASE("truth values") {
  const auto any = [](std::int32_t& found, auto value, Extent) {
    found = found != 0 || value != 0 ? 1 : 0;
  };
  check<double>(229, ein::Less{}, ein::Sum{},
                Expectation{0, [](auto a, auto b) { return a < b ? 1 : 0; }, add_to, same, 0.0});
  check<double>(
      231, ein::And{}, ein::Or{},
      Expectation{0, [](auto a, auto b) { return a != 0 && b != 0 ? 1 : 0; }, any, same, 0.0});
}

TEST_CASE("a user's operators") {
  check<double>(
      233, Weighted{0.25}, ein::Min{},
      Expectation{infinity, [](double a, double b) { return a < b ? 0.25 * a + b : a - 0.25 * b; },
                  keep_less, same, 0.0});
  check<std::int32_t>(
      235, Quotient{}, ein::Sum{},
      Expectation{0, [](auto a, auto b) { return a / (b + 4); }, add_to, same, 0.0});
  check<double>(237, ein::Sub{}, Norm{},
                Expectation{0.0, [](auto a, auto b) { return a - b; },
                            [](auto& sum, auto value, Extent) { sum += value * value; },
                            [](auto sum) { return std::sqrt(sum); }, 1e-12});
}

TEST_CASE("tiles and blocks have seams nowhere") {
  // Long enough for several blocks in every dimension; the generic algorithm knows no blocks.
  const auto run = []<class Join, class Monoid, class T>(const std::vector<Extent>& extents,
                                                         bool column_major) {
    const auto [m, k, n] = std::tuple(extents[0], extents[1], extents[2]);
    const LocalEinsum shape = product_shape(m, k, n, column_major ? 1 : n, column_major ? m : 1);
    Random random(static_cast<std::uint64_t>(m * k * n));
    std::vector<T> a(static_cast<std::size_t>(m * k));
    std::vector<T> b(static_cast<std::size_t>(k * n));
    for (T& x : a) x = draw_value<T>(random);
    for (T& x : b) x = draw_value<T>(random);
    std::vector<T> packed(static_cast<std::size_t>(m * n), T(7));
    std::vector<T> generic = packed;
    const void* operands[] = {a.data(), b.data()};
    run_both<Join, Monoid>(shape, operands, packed.data(), generic.data());
    CAPTURE(m);
    CAPTURE(k);
    CAPTURE(n);
    CHECK(packed == generic);
  };
  for (Extent k : {63, 64, 65, 511, 512, 513, 1023, 1024, 1025, 2049}) {
    run.operator()<ein::Add, ein::Min, double>({13, k, 35}, false);
    run.operator()<ein::Sub, ein::Max, float>({26, k, 37}, true);
  }
  for (Extent n : {1023, 1024, 1025, 2100}) {
    run.operator()<ein::Add, ein::Min, double>({5, 1024, n}, false);
    run.operator()<ein::Sub, ein::Min, double>({n, 300, 5}, true);
    run.operator()<ein::Add, ein::Min, float>({n, 600, 33}, true);
  }
}

TEST_CASE("a long K is cut into parts, whose outputs are merged") {
  const auto run = []<class Join, class Monoid, class T>(const LocalEinsum& shape, bool in_parts,
                                                         Write write) {
    const Extent m = shape.extent[0];
    const Extent k = shape.extent[1];
    const Extent n = shape.extent[2];
    CAPTURE(m);
    CAPTURE(k);
    CAPTURE(n);
    CAPTURE(static_cast<int>(write));
    const Extent outputs = 1 + shape.output_stride[0] * (m - 1) + shape.output_stride[2] * (n - 1);
    Random random(static_cast<std::uint64_t>(m * k * n));
    std::vector<T> a(static_cast<std::size_t>(m * k));
    std::vector<T> b(static_cast<std::size_t>(k * n));
    for (T& x : a) x = draw_value<T>(random);
    for (T& x : b) x = draw_value<T>(random);
    std::vector<T> packed(static_cast<std::size_t>(outputs));
    for (T& x : packed) x = draw_value<T>(random);
    std::vector<T> loops = packed;
    const void* operands[] = {a.data(), b.data()};
    const auto kernel =
        kernel_test::PackedWay<Space>::prepare<Join, Monoid, T, T>(shape, Join{}, Monoid{}, write);
    CHECK((kernel.explain(operands, packed.data()).find(" parts") != std::string::npos) ==
          in_parts);
    run_prepared(Space(), kernel, operands, packed.data());
    run_prepared(Space(),
                 detail::PreparedLoops<Space, Join, Monoid, T, T>(Space(), shape, Join{}, Monoid{},
                                                                  write, nullptr),
                 operands, loops.data());
    // Values are small integers, so that sums are exact.
    CHECK(packed == loops);
  };
  for (const Write write : {Write::finished, Write::partial, Write::accumulate}) {
    // Steps that parts and blocks divide, and not.
    for (const Extent k : {16384, 16385, 20011, 49152, 140000}) {
      run.operator()<ein::Mul, ein::Sum, float>(product_shape(13, k, 35, 35, 1), true, write);
      run.operator()<ein::Add, ein::Min, double>(product_shape(7, k, 9, 1, 7), true, write);
    }
    run.operator()<ein::Sub, ein::Max, float>(product_shape(64, 40000, 100, 100, 1), true, write);
    run.operator()<ein::Mul, ein::Sum, std::int32_t>(product_shape(5, 30000, 33, 33, 1), true,
                                                     write);
    // The square of the norm is exact, and so its root is what the loops have.
    run.operator()<ein::Sub, Norm, double>(product_shape(12, 17000, 16, 16, 1), true, write);
    // Too short; more tiles than parts; an output with gaps, in which nothing else is written.
    run.operator()<ein::Mul, ein::Sum, float>(product_shape(13, 16383, 35, 35, 1), false, write);
    run.operator()<ein::Add, ein::Min, float>(product_shape(200, 16384, 300, 300, 1), false, write);
    run.operator()<ein::Mul, ein::Sum, float>(product_shape(13, 20000, 35, 37, 1), false, write);
  }
}

TEST_CASE("few outputs of a long sum are shared by threads although a BLAS knows the product") {
  const auto shares = [](int threads, Extent m, Extent k, Extent n) {
    using Packed = detail::PreparedPacked<Space, ein::Mul, ein::Sum, double, double>;
    return Packed::why_not_blas(product_shape(m, k, n, n, 1), threads) != nullptr;
  };
  CHECK(shares(2, 8, 20000, 40));
  CHECK(shares(8, 16, 20000, 7));
  CHECK_FALSE(shares(1, 8, 20000, 40));
  CHECK_FALSE(shares(9, 8, 20000, 40));  // as there are 8 parts
  CHECK(shares(9, 8, 40000, 40));        // here 16
  CHECK_FALSE(shares(2, 8, 16000, 40));  // too few terms
  CHECK_FALSE(shares(2, 4, 16384, 4));   // so small that a BLAS packs nothing
  CHECK_FALSE(shares(2, 72, 20000, 8));  // contiguous along K, and outputs for a BLAS to share out
  CHECK_FALSE(shares(2, 8, 20000, 136));

  // The same by dispatch, with the threads there are.
  const LocalEinsum shape = product_shape(8, 20000, 40, 40, 1);
  const ein::kernel::JoinAggregateLauncher<Space, ein::Mul, ein::Sum, double, double> launcher;
  const void* const nothing[] = {nullptr, nullptr};
  const std::string text =
      launcher.prepare(Space(), shape, Write::finished)->explain(nothing, nullptr);
  CAPTURE(text);
  const int threads = ein::compat::host_threads(Space());
  CHECK((text.find("threads share") != std::string::npos) ==
        (EINDECOMP_FUSED_MULTIPLY_ADD && threads > 1 && threads <= 8));
}

TEST_CASE("panels that lie side by side are packed together, up to where the tensor has a gap") {
  // Columns of two labels, the faster of which ends within a panel, within eight and after many.
  Random random(241);
  for (const Extent inner : {3, 50, 150, 400}) {
    const auto n = static_cast<std::size_t>(inner);
    for (const std::size_t k : {40, 300}) {
      Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace> whole("B", k, 3, n + 5);
      const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> a("a", 30, k);
      for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] = draw_value<double>(random);
      for (std::size_t i = 0; i < whole.size(); ++i) whole.data()[i] = draw_value<double>(random);
      const auto b =
          Kokkos::subview(whole, Kokkos::ALL, Kokkos::ALL, std::pair(std::size_t{2}, n + 2));
      const Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace> c("c", 30, 3, n);
      // What is columns in one of these is rows in the other, or exchanged to be columns.
      const Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace> d("d", 3, n, 30);
      ein::einsum<"ij,jkl->ikl", ein::MinPlus>(Space(), a, b, c);
      ein::einsum<"jkl,ij->kli", ein::MinPlus>(Space(), b, a, d);
      bool right = true;
      for (std::size_t i = 0; i < 30; ++i) {
        for (std::size_t p = 0; p < 3; ++p) {
          for (std::size_t q = 0; q < n; ++q) {
            double least = infinity;
            for (std::size_t j = 0; j < k; ++j) least = std::min(least, a(i, j) + b(j, p, q));
            right = right && c(i, p, q) == least && d(p, q, i) == least;
          }
        }
      }
      CAPTURE(n);
      CAPTURE(k);
      CHECK(right);
    }
  }
}

TEST_CASE("where neighbours in the output lie apart in an operand, pieces of both are walked") {
  // A(k,x,y), B(k,n): C(n,y,x) has its columns in A, C(y,x,n) its rows.
  const auto run = []<class Join, class Monoid, class T>(Extent x, Extent y, Extent k, Extent n,
                                                         bool columns, bool interleaved) {
    LocalEinsum shape;
    shape.labels = 4;
    shape.operands = 2;
    const Extent extent[] = {x, y, k, n};
    const Extent a_stride[] = {y, 1, x * y, 0};
    const Extent b_stride[] = {0, 0, n, 1};
    const Extent by_columns[] = {1, x, 0, x * y};
    const Extent by_rows[] = {n, n * x, 0, 1};
    std::copy_n(extent, 4, shape.extent);
    std::copy_n(a_stride, 4, shape.operand_stride[0]);
    std::copy_n(b_stride, 4, shape.operand_stride[1]);
    std::copy_n(columns ? by_columns : by_rows, 4, shape.output_stride);
    shape.aggregated[2] = true;
    CAPTURE(x);
    CAPTURE(y);
    CAPTURE(k);
    CAPTURE(columns);
    const detail::PackedShape product = detail::packed_shape_of<Join, T, T>(shape);
    CHECK(product.exchanged == columns);
    CHECK(detail::interleaved(columns ? product.n : product.m, columns ? 1 : 0) == interleaved);
    Random random(static_cast<std::uint64_t>(x * y * k));
    std::vector<T> a(static_cast<std::size_t>(x * y * k));
    std::vector<T> b(static_cast<std::size_t>(k * n));
    for (T& value : a) value = draw_value<T>(random);
    for (T& value : b) value = draw_value<T>(random);
    std::vector<T> packed(static_cast<std::size_t>(x * y * n), T(7));
    std::vector<T> generic = packed;
    const void* operands[] = {a.data(), b.data()};
    run_both<Join, Monoid>(shape, operands, packed.data(), generic.data());
    CHECK(packed == generic);
  };
  for (const bool columns : {false, true}) {
    // Extents cut by multiples of 8, by other divisors, whole, and not at all: 97 and 101 are
    // prime.
    for (const Extent x : {8, 20, 91, 96, 200, 216}) {
      run.operator()<ein::Add, ein::Min, double>(x, 9, 35, 17, columns, true);
      run.operator()<ein::Add, ein::Min, float>(x, 50, 7, 19, columns, true);
      run.operator()<ein::Add, ein::Max, std::int32_t>(x, 104, 5, 18, columns, true);
      run.operator()<ein::Add, ein::Min, double>(x, 101, 5, 16, columns, true);
    }
    run.operator()<ein::Add, ein::Min, double>(97, 24, 9, 20, columns, false);
    // Several blocks of lanes, which begin and end within runs, and of steps.
    run.operator()<ein::Add, ein::Min, double>(88, 120, 1100, 16, columns, true);
  }
}

#if defined(KOKKOS_ENABLE_SERIAL)
TEST_CASE("results do not depend on the execution space" *
          doctest::skip(std::is_same_v<Space, Kokkos::Serial>)) {
  Random random(239);
  const Kokkos::View<double**, Kokkos::HostSpace> a("a", 150, 700);
  const Kokkos::View<double**, Kokkos::HostSpace> b("b", 700, 170);
  for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] = std::sin(static_cast<double>(i));
  for (std::size_t i = 0; i < b.size(); ++i) b.data()[i] = std::cos(static_cast<double>(i));
  const Kokkos::View<double**, Kokkos::HostSpace> c("c", 150, 170);
  const Kokkos::View<double**, Kokkos::HostSpace> d("d", 150, 170);
  ein::einsum<"ij,jk->ik", ein::SquaredDistance>(Space(), a, b, c);
  ein::einsum<"ij,jk->ik", ein::SquaredDistance>(Kokkos::Serial(), a, b, d);
  CHECK(std::equal(c.data(), c.data() + c.size(), d.data()));
  // Nor where K is cut into parts.
  const LocalEinsum shape = product_shape(5, 16400, 6, 6, 1);
  std::vector<double> x(std::size_t{16400} * 6);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i));
  std::vector<double> parallel(30);
  std::vector<double> serial(30);
  const void* operands[] = {x.data(), x.data()};
  const auto compute = [&]<class On>(On space, std::vector<double>& output) {
    const auto kernel =
        kernel_test::PackedWay<On>::template prepare<ein::Mul, ein::Sum, double, double>(
            shape, ein::Mul{}, ein::Sum{}, Write::finished);
    run_prepared(space, kernel, operands, output.data());
  };
  compute(Space(), parallel);
  compute(Kokkos::Serial(), serial);
  CHECK(parallel == serial);
}
#endif

TEST_CASE("NaN: sums become it, min and max pass over it") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Kokkos::View<double**, Kokkos::HostSpace> a("a", 20, 20);
  const Kokkos::View<double**, Kokkos::HostSpace> b("b", 20, 20);
  Kokkos::deep_copy(a, 1.0);
  Kokkos::deep_copy(b, 2.0);
  a(3, 4) = nan;
  for (int j = 0; j < 20; ++j) a(5, j) = nan;
  const auto least = ein::einsum<"ij,jk->ik", ein::MinPlus>(Space(), a, b);
  const auto sum = ein::einsum<"ij,jk->ik", ein::SquaredDistance>(Space(), a, b);
  CHECK(least(3, 7) == 3.0);
  CHECK(least(5, 7) == infinity);  // the identity: there was no number
  CHECK(std::isnan(sum(3, 7)));
  CHECK(sum(4, 7) == 20.0);
}

#endif
