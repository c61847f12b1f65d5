// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiled algorithm, which dispatch takes on devices only, on every space and every shape against
// plain loops: on a device by teams as dispatch makes them, on a host by such as it has threads
// for.

#include <cmath>
#include <limits>
#include <type_traits>

#include "eindecomp/kernel/semiring/prepared_tiled.hpp"
#include "forced_launcher.hpp"
#include "random_einsum.hpp"

using namespace kernel_test;
namespace ein = eindecomp;
namespace detail = eindecomp::kernel::detail;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

/// The tiled algorithm by teams of Rows x Columns threads.
template <int Rows, int Columns>
struct TiledWay {
  static constexpr Algorithm algorithm = Algorithm::tiled;
  template <class Join, class Monoid, class A, class B>
  static auto prepare(const LocalEinsum& shape, const Join& join, const Monoid& monoid,
                      Write write) {
    static_assert(detail::tiles<Join, Monoid, A, B>());
    return detail::PreparedTiled<Rows, Columns, Space, Join, Monoid, A, B>(
        shape, detail::packed_shape(shape, false), join, monoid, write, nullptr);
  }
};
/// By a team that every space has.
using Way = std::conditional_t<
    ein::compat::is_device<Space>,
    TiledWay<ein::kernel::tuning::device_team_rows, ein::kernel::tuning::device_team_columns>,
    TiledWay<1, 1>>;

const Family anything = any_labels({0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33});
/// Some extents are longer than a tile of a device.
const Family products =
    any_product(any_labels({0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130}), 60000);

template <class A, class B = A, class Team = Way, class Join, class Monoid, class Expected>
void check_tiled(std::uint64_t seed, const Join& join, const Monoid& monoid,
                 const Expected& expected, const Family& first = anything,
                 const Family& second = products) {
  const ForcedLauncher<Space, Team, Join, Monoid, A, B> launcher(join, monoid);
  check_launcher<A, B>(150, seed, first, launcher, expected);
  check_launcher<A, B>(150, seed + 1, second, launcher, expected);
}

const auto add_to = [](auto& sum, auto value, Extent) { sum += value; };

}  // namespace

TEST_CASE("tiled: min-plus by teams of one and of several threads") {
  const Expectation expected{
      infinity, [](double a, double b) { return a + b; },
      [](double& least, double value, Extent) { least = std::min(least, value); }, same, 0.0};
  check_tiled<double>(301, ein::Add{}, ein::Min{}, expected);
  if constexpr (!ein::compat::is_device<Space>) {
    if (Space().concurrency() >= 3) {
      check_tiled<double, double, TiledWay<2, 1>>(303, ein::Add{}, ein::Min{}, expected);
      check_tiled<double, double, TiledWay<1, 3>>(305, ein::Add{}, ein::Min{}, expected);
    }
  }
}

TEST_CASE("tiled: a join that is not commutative, elements of 4 bytes") {
  check_tiled<float>(
      307, ein::Sub{}, ein::Max{},
      Expectation{static_cast<float>(-infinity), [](float a, float b) { return a - b; },
                  [](float& most, float value, Extent) { most = std::max(most, value); }, same,
                  0.0});
}

TEST_CASE("tiled: complex elements, mixed elements") {
  using Complex = Kokkos::complex<double>;
  check_tiled<Complex>(
      309, ein::Sub{}, ein::Sum{},
      Expectation{Complex(), [](const Complex& a, const Complex& b) { return a - b; }, add_to, same,
                  0.0});
  check_tiled<std::int32_t, double>(
      311, ein::Mul{}, ein::Sum{},
      Expectation{0.0, [](std::int32_t a, double b) { return a * b; }, add_to, same, 0.0});
  check_tiled<ein::bfloat16, ein::float16>(
      317, ein::Mul{}, ein::Sum{},
      Expectation{0.0F, [](float a, float b) { return a * b; }, add_to, same, 0.0});
}

TEST_CASE("tiled: argmin, whose accumulators are pairs and know the index") {
  Family family = anything;
  family.min_labels = 1;
  family.one_aggregated = true;
  check_tiled<double>(313, ein::Add{}, ein::ArgMin{}, argmin_of_sums(), family, family);
}

TEST_CASE("tiled: results that are not the accumulators") {
  check_tiled<double>(
      315, ein::Mul{}, ein::LogSumExp{},
      Expectation{0.0L, [](double a, double b) { return a * b; },
                  [](long double& sum, double value, Extent) {
                    sum += std::exp(static_cast<long double>(value));
                  },
                  [](long double sum) { return static_cast<double>(std::log(sum)); }, 1e-12});
}
