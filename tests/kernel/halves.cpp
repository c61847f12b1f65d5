// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of 16 bits against plain loops over floats: every algorithm, mixed with other types, and
// results that are rounded to 16 bits.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "eindecomp/expr/compose.hpp"
#include "eindecomp/kernel/einsum.hpp"
#include "forced_launcher.hpp"
#include "random_einsum.hpp"

using namespace kernel_test;
namespace ein = eindecomp;
namespace detail = eindecomp::kernel::detail;
using ein::bfloat16;
using ein::float16;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

const Family anything =
    any_labels({0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 24, 25, 31, 32, 33, 40});
const Family products = any_product(anything, 40000);

const auto add_to = [](auto& sum, auto value, Extent) { sum += value; };
const auto keep_less = [](auto& least, auto value, Extent) { least = std::min(least, value); };
const auto take = [](auto& result, auto value, Extent) { result = value; };
const auto times = [](auto a, auto b) { return a * b; };
const auto plus = [](auto a, auto b) { return a + b; };

template <class... Ts, class Join, class Monoid, class Expected>
AlgorithmCounts check_of(int cases, std::uint64_t seed, const Family& family, const Join& join,
                         const Monoid& monoid, const Expected& expected) {
  return check_launcher<Ts...>(cases, seed, family,
                               TestLauncher<Space, Join, Monoid, Ts...>(join, monoid), expected);
}

#if defined(EINDECOMP_REGISTER_BYTES)

using PackedWay = kernel_test::PackedWay<Space>;

template <class A, class B, class Join, class Monoid, class Expected>
void check_packed(std::uint64_t seed, const Join& join, const Monoid& monoid,
                  const Expected& expected) {
  const ForcedLauncher<Space, PackedWay, Join, Monoid, A, B> launcher(join, monoid);
  check_launcher<A, B>(200, seed, anything, launcher, expected);
  check_launcher<A, B>(200, seed + 1, products, launcher, expected);
  Family windows = products;
  windows.windows = true;
  check_launcher<A, B>(100, seed + 2, windows, launcher, expected);
}

#endif

/// A template that says what it was called with.
struct BytesOfBoth {
  template <class A, class B>
  EINDECOMP_FUNCTION std::int32_t operator()(const A&, const B&) const {
    return static_cast<std::int32_t>(100 * sizeof(A) + sizeof(B));
  }
};

/// Rounded to T.
template <class T>
auto rounded_product() {
  return ein::expr::node(
      ein::Cast<T>{}, ein::expr::node(ein::ScaledMul<float>{0.3F}, ein::Arg<0>{}, ein::Arg<1>{}));
}

}  // namespace

#if defined(EINDECOMP_REGISTER_BYTES)

TEST_CASE("the packed algorithm packs floats") {
  const float infinity = std::numeric_limits<float>::infinity();
  check_packed<bfloat16, bfloat16>(801, ein::Mul{}, ein::Sum{},
                                   Expectation{0.0F, times, add_to, same, 0.0});
  check_packed<float16, float16>(804, ein::Mul{}, ein::Sum{},
                                 Expectation{0.0F, times, add_to, same, 0.0});
  check_packed<bfloat16, bfloat16>(807, ein::Add{}, ein::Min{},
                                   Expectation{infinity, plus, keep_less, same, 0.0});
  check_packed<bfloat16, bfloat16>(
      810, ein::ScaledMul<float>{0.5F}, ein::Sum{},
      Expectation{0.0F, [](auto a, auto b) { return 0.5F * (a * b); }, add_to, same, 0.0});
}

TEST_CASE("the packed algorithm takes operands of two types, in either order") {
  const Expectation sum{0.0F, times, add_to, same, 0.0};
  check_packed<bfloat16, float>(813, ein::Mul{}, ein::Sum{}, sum);
  check_packed<float, float16>(816, ein::Mul{}, ein::Sum{}, sum);
  check_packed<float16, bfloat16>(819, ein::Mul{}, ein::Sum{}, sum);
  check_packed<std::int32_t, bfloat16>(822, ein::Mul{}, ein::Sum{}, sum);
  check_packed<float16, double>(825, ein::Mul{}, ein::Sum{},
                                Expectation{0.0, times, add_to, same, 0.0});
}

TEST_CASE("large products of them are packed") {
  const auto counts = check_of<bfloat16, bfloat16>(
      40, 828, any_product(any_labels({32, 40, 48}), 200000), ein::Mul{}, ein::Sum{},
      Expectation{0.0F, times, add_to, same, 0.0});
  CHECK(counts.at(Algorithm::packed) > 5);
}

#endif

TEST_CASE("element by element") {
  Family maps = anything;
  maps.elementwise = true;
  const ein::NoAggregation none;
  check_of<bfloat16, bfloat16>(300, 831, maps, ein::Add{}, none,
                               Expectation{0.0F, plus, take, same, 0.0});
  check_of<float16, double>(200, 832, maps, ein::Mul{}, none,
                            Expectation{0.0, times, take, same, 0.0});
  check_of<float16, std::int32_t>(200, 833, maps, ein::Mul{}, none,
                                  Expectation{0.0F, times, take, same, 0.0});
  check_of<bfloat16>(200, 834, maps, ein::Relu{}, none,
                     Expectation{0.0F, [](float a) { return a < 0 ? 0.0F : a; }, take, same, 0.0});
  check_of<float16>(200, 835, maps, ein::Exp{}, none,
                    Expectation{0.0F, [](float a) { return std::exp(a); }, take, same, 1e-6});
  check_of<bfloat16, float16>(100, 836, maps, BytesOfBoth{}, none,
                              Expectation{0, [](auto, auto) { return 404; }, take, same, 0.0});
}

TEST_CASE("results are rounded to 16 bits where they are cast") {
  Family maps = anything;
  maps.elementwise = true;
  const ein::NoAggregation none;
  const auto expected = [](auto rounded) {
    using T = decltype(rounded);
    return Expectation{0.0F, [](float a, float b) { return float(T(0.3F * (a * b))); }, take,
                       [](float value) { return T(value); }, 0.0};
  };
  check_of<float, float>(300, 837, maps, rounded_product<bfloat16>(), none, expected(bfloat16()));
  check_of<float16, float>(200, 838, maps, rounded_product<float16>(), none, expected(float16()));
  // What is aggregated after it was rounded is aggregated in float.
  check_of<float, float>(
      200, 839, anything, rounded_product<bfloat16>(), ein::Sum{},
      Expectation{0.0F, [](float a, float b) { return float(bfloat16(0.3F * (a * b))); }, add_to,
                  same, 1e-5});
}

TEST_CASE("copies move the bits") {
  Family maps = anything;
  maps.elementwise = true;
  maps.special_values = true;
  const Expectation itself{float16(0.0F), [](float16 a) { return a; }, take, same, 0.0};
  const auto counts =
      check_of<float16>(300, 840, maps, ein::Identity{}, ein::NoAggregation{}, itself);
  CHECK(counts.at(Algorithm::copy) > 200);
}

TEST_CASE("aggregations are of floats") {
  // 1 + 2^-11 is no number of 16 bits, nor is a sum above 2048 that is odd.
  Family sums = anything;
  sums.long_reduction = true;
  check_of<float16>(20, 841, sums, ein::Identity{}, ein::Sum{},
                    Expectation{0.0F, same, add_to, same, 0.0});
  check_of<bfloat16>(200, 842, anything, ein::Identity{}, ein::Sum{},
                     Expectation{0.0F, same, add_to, same, 0.0});
  check_of<float16, float16>(
      200, 843, anything, ein::Sub{}, ein::Max{},
      Expectation{-std::numeric_limits<float>::infinity(), [](auto a, auto b) { return a - b; },
                  [](auto& most, auto value, Extent) { most = std::max(most, value); }, same, 0.0});
  Family one = anything;
  one.one_aggregated = true;
  check_of<bfloat16, float16>(200, 844, one, ein::Add{}, ein::ArgMin{}, argmin_of_sums());
}

TEST_CASE("einsum on views") {
  const Space space;
  Kokkos::View<bfloat16**, Kokkos::LayoutRight, Kokkos::HostSpace> a("a", 40, 50);
  Kokkos::View<bfloat16**, Kokkos::LayoutLeft, Kokkos::HostSpace> b("b", 50, 60);
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 50; ++j) a(i, j) = bfloat16((i * 7 + j * 3) % 11 - 5);
  }
  for (int j = 0; j < 50; ++j) {
    for (int k = 0; k < 60; ++k) b(j, k) = bfloat16((j * 5 + k) % 7 - 3);
  }
  const auto c = ein::einsum<"ij,jk->ik">(space, a, b);
  static_assert(std::is_same_v<decltype(c)::value_type, float>);
  const auto turned = ein::einsum<"ij->ji">(space, a);
  static_assert(std::is_same_v<std::decay_t<decltype(turned)>::value_type, float>);
  space.fence();
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 60; ++k) {
      float sum = 0;
      for (int j = 0; j < 50; ++j) sum += a(i, j) * b(j, k);
      REQUIRE(c(i, k) == sum);
    }
  }
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 50; ++j) REQUIRE(turned(j, i) == a(i, j));
  }
}

TEST_CASE("workspace is that of floats") {
  const LocalEinsum shape = square_product(96);
  const auto bytes = [&]<class T>(T) {
    return TestLauncher<Space, ein::Mul, ein::Max, T, T>().workspace_bytes(Space(), shape);
  };
  CHECK(bytes(float16()) == bytes(float()));
}
