// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NaN under min and max, wherever it stands and whichever algorithm computes: as joins they give
// NaN, as aggregations they pass over it.

#include <cmath>
#include <limits>

#include "eindecomp/kernel/semiring/prepared_packed.hpp"
#include "eindecomp/kernel/semiring/prepared_tiled.hpp"
#include "forced_launcher.hpp"
#include "random_einsum.hpp"

using namespace kernel_test;
namespace ein = eindecomp;
namespace detail = eindecomp::kernel::detail;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

/// The tiled algorithm, which is for devices, by teams of one thread.
struct TiledWay {
  static constexpr Algorithm algorithm = Algorithm::tiled;
  template <class Join, class Monoid, class A, class B>
  static auto prepare(const LocalEinsum& shape, const Join& join, const Monoid& monoid,
                      Write write) {
    return detail::PreparedTiled<1, 1, Space, Join, Monoid, A, B>(
        shape, detail::packed_shape(shape, false), join, monoid, write, nullptr);
  }
};

template <bool Larger, class T>
constexpr T none = Larger ? -std::numeric_limits<T>::infinity()
                          : std::numeric_limits<T>::infinity();

/// The smaller or larger of two; not a number if one of them is not.
template <bool Larger>
constexpr auto join = []<class T>(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  return Larger == (a < b) ? b : a;
};
/// The smallest or largest so far, whatever is not a number.
template <bool Larger>
constexpr auto keep = []<class T>(T& so_far, T value, Extent) {
  so_far = Larger ? std::fmax(so_far, value) : std::fmin(so_far, value);
};

template <bool Larger>
using Extremum = std::conditional_t<Larger, ein::Max, ein::Min>;

Family special(Family family) {
  family.special_values = true;
  return family;
}
/// So small that many an aggregate is of NaN alone.
const Family small = special(any_labels({1, 1, 1, 2, 3}));
const Family any = special(any_labels({1, 2, 3, 5, 8, 16, 17, 33}));
const Family products = special(any_product(any, 40000));

template <bool Larger, class T>
void check_aggregation() {
  const Expectation expected{none<Larger, T>, [](T a) { return a; }, keep<Larger>, same, 0.0};
  AlgorithmCounts counts;
  Family long_reductions = small;
  long_reductions.min_labels = 1;
  long_reductions.max_labels = 2;
  long_reductions.long_reduction = true;
  for (const auto& [cases, family] :
       {std::pair(300, small), std::pair(300, any), std::pair(20, long_reductions)}) {
    counts.merge(check_random<Space, ein::Identity, Extremum<Larger>, T>(cases, 7, family, {}, {},
                                                                         expected));
  }
  CHECK(counts[Algorithm::split] > 5);
}

template <bool Larger, class T>
void check_join() {
  Family elementwise = any;
  elementwise.elementwise = true;
  const auto last = [](auto& result, const auto& value, Extent) { result = value; };
  check_random<Space, Extremum<Larger>, ein::NoAggregation, T, T>(
      300, 11, elementwise, {}, {}, Expectation{T(), join<Larger>, last, same, 0.0});
}

/// The larger of the smaller ones, and the other way round.
template <bool Larger, class T>
void check_product() {
  using Join = Extremum<!Larger>;
  using Monoid = Extremum<Larger>;
  const Expectation expected{none<Larger, T>, join<!Larger>, keep<Larger>, same, 0.0};
  check_random<Space, Join, Monoid, T, T>(200, 13, small, {}, {}, expected);
  const auto counts = check_random<Space, Join, Monoid, T, T>(200, 17, products, {}, {}, expected);
  if constexpr (detail::has_packed<Space, Join, Monoid, T, T>()) {
    CHECK(counts.at(Algorithm::packed) > 20);
  }
  check_launcher<T, T>(200, 19, products, ForcedLauncher<Space, TiledWay, Join, Monoid, T, T>(),
                       expected);
}

}  // namespace

TEST_CASE("NaN is passed over by aggregations") {
  check_aggregation<true, double>();
  check_aggregation<false, float>();
}

TEST_CASE("NaN is what joins with it give, in either order") {
  check_join<true, float>();
  check_join<false, double>();
}

TEST_CASE("NaN under both at once, in products of every algorithm") {
  check_product<false, float>();
  check_product<true, double>();
}
