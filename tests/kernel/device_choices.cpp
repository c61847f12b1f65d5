// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What devices do otherwise than hosts, on the host and one item after another: which products are
// left to the BLAS, how long reductions and scans are cut, what neighbouring threads compute. Scans
// on the default space, too.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/kernel/blas/prepared_product.hpp"
#include "eindecomp/kernel/generic/join_kernel.hpp"
#include "eindecomp/kernel/lookup/device_lookup.hpp"
#include "eindecomp/kernel/scan/prepared_scan.hpp"
#include "random_einsum.hpp"

using namespace kernel_test;
namespace ein = eindecomp;
namespace detail = eindecomp::kernel::detail;
namespace tuning = eindecomp::kernel::tuning;

namespace {

/// What a device does with a product of doubles.
Algorithm on_device(const LocalEinsum& shape) {
  return detail::choose_product(shape, sizeof(double), 0, false).algorithm;
}

/// C(b,i,k) = sum A(b,i,j) B(b,j,k) of n x n matrices, row-major; of the transpose of A where said.
LocalEinsum batch(Extent count, Extent n, bool transposed = false) {
  LocalEinsum shape = square_product(n);
  if (transposed) std::swap(shape.operand_stride[0][0], shape.operand_stride[0][1]);
  shape.labels = 4;
  shape.extent[3] = count;
  shape.operand_stride[0][3] = shape.operand_stride[1][3] = shape.output_stride[3] = n * n;
  return shape;
}

/// x(i) = sum of so many terms.
LocalEinsum long_sum(Extent outputs, Extent terms) {
  LocalEinsum shape;
  shape.labels = 2;
  shape.operands = 1;
  shape.extent[0] = outputs;
  shape.extent[1] = terms;
  shape.aggregated[1] = true;
  shape.operand_stride[0][0] = terms;
  shape.operand_stride[0][1] = shape.output_stride[0] = 1;
  return shape;
}

/// y(row,i) = the sum of x(row,0) to x(row,i); down columns: neighbours are of different scans.
LocalEinsum scans(Extent rows, Extent n, bool down_columns) {
  LocalEinsum shape;
  shape.operands = 1;
  const Extent row_step = down_columns ? 1 : n;
  const Extent step = down_columns ? rows : 1;
  shape.labels = 3;
  shape.extent[0] = rows;
  shape.extent[1] = shape.extent[2] = n;
  shape.operand_stride[0][0] = shape.output_stride[0] = row_step;
  shape.operand_stride[0][1] = shape.output_stride[1] = step;
  shape.operand_stride[0][2] = -step;
  shape.aggregated[2] = true;
  shape.scan = {1, 2, false};
  return shape;
}

}  // namespace

TEST_CASE("a device leaves products to the BLAS that are worth a launch each") {
  CHECK(on_device(batch(1, 64)) == Algorithm::gemm);
  CHECK(on_device(batch(8, 128)) == Algorithm::gemm);
  CHECK(on_device(batch(16384, 16)) == Algorithm::direct);
  const auto choice = detail::choose_product(batch(16384, 16), sizeof(double), 0, false);
  CHECK(std::string(choice.reason) == "on a device, calls too small to be launched one by one");
  CHECK(detail::choose_product(batch(16384, 16), sizeof(double), 1, false).algorithm !=
        Algorithm::direct);
}

TEST_CASE("a device leaves no product to the BLAS that is added up in any order") {
  // C = A·B of row-major matrices is C^T = B^T·A^T of column-major ones: with A and B transposed
  // the call is of ("T", "N") where B is the transposed one.
  for (const Extent n : {8, 16, 39, 40, 64}) {
    CAPTURE(n);
    for (const bool of_a : {false, true}) {
      LocalEinsum shape = square_product(n);
      if (of_a) {
        std::swap(shape.operand_stride[0][0], shape.operand_stride[0][1]);
      } else {
        std::swap(shape.operand_stride[1][1], shape.operand_stride[1][2]);
      }
      const auto choice = detail::choose_product(shape, sizeof(double), 1, false);
      const auto& gemm = *std::get_if<detail::GemmShape>(&choice.plan);
      REQUIRE(choice.algorithm == Algorithm::gemm);
      const bool any_order = gemm.transpose_a && !gemm.transpose_b && n * n < 1600;
      CHECK(any_order == (!of_a && n < 40));
      CHECK((on_device(shape) == Algorithm::gemm) == !any_order);
    }
  }
}

TEST_CASE("a device folds many parts of an output in two steps") {
  using Schedule = detail::JoinSchedule<1>;
  using Fold = detail::FoldKernel<Schedule, ein::Sum, double>;
  constexpr ein::kernel::JoinTuning device = ein::kernel::JoinTuning::device();
  static_assert(device.folded > 0 && ein::kernel::JoinTuning::host().folded == 0);
  for (const Extent outputs : {1, 3, 200}) {
    CAPTURE(outputs);
    const Extent terms = 20'000'000 / outputs;
    const LocalEinsum shape = long_sum(outputs, terms);
    const Schedule schedule(shape, device);
    REQUIRE(schedule.parts > device.folded);
    std::vector<double> partials(static_cast<std::size_t>(schedule.partials()));
    for (std::size_t i = 0; i < partials.size(); ++i) partials[i] = static_cast<double>(i % 1009);
    std::vector<double> wanted(static_cast<std::size_t>(outputs), 0.0);
    for (std::size_t i = 0; i < partials.size(); ++i) {
      wanted[i / static_cast<std::size_t>(schedule.parts)] += partials[i];
    }
    const detail::FoldGroupsKernel<ein::Sum, double> groups{
        {}, partials.data(), schedule.parts, device.folded};
    const Extent items = outputs * ein::ceil_div(schedule.parts, device.folded);
    CHECK(ein::ceil_div(schedule.parts, device.folded) <= device.folded);
    for (Extent item = items; item-- > 0;) groups(item);
    std::vector<double> got(static_cast<std::size_t>(outputs), -1.0);
    const Fold fold{schedule, {{}, got.data(), Write::finished}, partials.data(), device.folded};
    for (Extent item = 0; item < outputs; ++item) fold(item);
    CHECK(got == wanted);
  }
}

TEST_CASE("a device cuts scans into so many pieces as keep it busy") {
  using Kernel = detail::ScanKernel<false, ein::Sum, double>;
  const auto pieces = [](Extent rows, Extent n) {
    return Kernel::make_schedule(scans(rows, n, false)).pieces;
  };
  CHECK(pieces(1, 6400) == 100);
  CHECK(pieces(1, Extent{1} << 20) == tuning::device_scans);
  CHECK(pieces(1, Extent{1} << 30) == tuning::device_scans);
  CHECK(pieces(16, Extent{1} << 30) == tuning::device_scans / 16);
}

TEST_CASE("scans on the default space") {
  using Space = Kokkos::DefaultExecutionSpace;
  const TestLauncher<Space, ein::Identity, ein::Sum, std::int64_t> launcher;
  for (const auto& [rows, n] : std::vector<std::pair<Extent, Extent>>{
           {1, 1}, {1, 64}, {1, 70'001}, {3, 3'000}, {601, 1'030}}) {
    for (const bool down_columns : {false, true}) {
      CAPTURE(rows);
      CAPTURE(n);
      CAPTURE(down_columns);
      const LocalEinsum shape = scans(rows, n, down_columns);
      CHECK(launcher.algorithm(shape) == Algorithm::scan);
      std::vector<std::int64_t> x(static_cast<std::size_t>(rows * n));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int64_t>(i * 7 % 11);
      std::vector<std::int64_t> wanted = x;
      for (Extent row = 0; row < rows; ++row) {
        for (Extent i = 1; i < n; ++i) {
          const auto at = [&](Extent k) {
            return static_cast<std::size_t>(row * shape.output_stride[0] +
                                            k * shape.output_stride[1]);
          };
          wanted[at(i)] += wanted[at(i - 1)];
        }
      }
      std::vector<std::int64_t> y(x.size(), -1);
      const InSpace<Space, std::int64_t> from(x);
      const InSpace<Space, std::int64_t> into(y);
      const void* const operands[] = {from.data()};
      launcher.join(Space(), shape, operands, into.data(), Write::finished);
      Kokkos::fence();
      into.fetch();
      CHECK(y == wanted);
    }
  }
}

TEST_CASE("neighbouring threads of a device have neighbouring scans") {
  using Kernel = detail::ScanKernel<false, ein::Sum, double>;
  constexpr Extent rows = 50;
  constexpr Extent n = 1000;
  const auto schedule = Kernel::make_schedule(scans(rows, n, true));
  REQUIRE(schedule.strips == rows);
  REQUIRE(schedule.pieces > 1);
  std::vector<double> x(static_cast<std::size_t>(rows * n), 1.0);
  std::vector<double> y(x.size(), 0.0);
  std::vector<double> aggregates(static_cast<std::size_t>(rows * schedule.pieces), 0.0);
  Kernel kernel{schedule, x.data(), {{}, y.data(), Write::finished}, aggregates.data()};
  kernel.phase = detail::ScanPhase::outputs;
  for (Extent item = 0; item < rows; ++item) kernel(item);
  for (Extent i = 0; i < n; ++i) {
    for (Extent row = 0; row < rows; ++row) {
      const double value = y[static_cast<std::size_t>(i * rows + row)];
      REQUIRE(value == (i < schedule.piece ? static_cast<double>(i + 1) : 0.0));
    }
  }
}

TEST_CASE("neighbouring threads of a device look up neighbouring positions") {
  // Y(i,d) = X(index(i),d), the piece of a thread a range of values v of Z(v,d) += X(i,d).
  constexpr Extent values = 40;
  constexpr Extent columns = 7;
  constexpr Extent rows = 30;
  LocalEinsum shape;
  shape.labels = 3;  // v, d, i
  shape.lookups = 1;
  shape.operands = 2;
  shape.extent[0] = values;
  shape.extent[1] = columns;
  shape.extent[2] = rows;
  shape.lookup[0] = {0, values};
  shape.aggregated[2] = true;
  shape.operand_stride[0][2] = 1;
  shape.operand_stride[1][2] = columns;
  shape.operand_stride[1][1] = shape.output_stride[1] = 1;
  shape.output_stride[0] = columns;
  using Kernel =
      detail::DeviceLookupKernel<1, ein::Identity, ein::Sum, 0, std::int32_t, double, Extent>;
  const Kernel::Schedule schedule(shape, shape.output_stride, 4 * columns);
  REQUIRE(schedule.pieces == 4);
  std::vector<std::int32_t> index(rows);
  for (Extent i = 0; i < rows; ++i) {
    index[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % values);
  }
  std::vector<double> x(static_cast<std::size_t>(rows * columns), 1.0);
  std::vector<double> z(static_cast<std::size_t>(values * columns), -1.0);
  Kernel kernel{schedule, {}, {}};
  kernel.operand[0] = index.data();
  kernel.operand[1] = x.data();
  kernel.states = z.data();
  Extent faults = 0;
  for (Extent item = 0; item < columns; ++item) kernel(item, faults);
  CHECK(faults == 0);
  for (Extent v = 0; v < values; ++v) {
    for (Extent d = 0; d < columns; ++d) {
      REQUIRE(z[static_cast<std::size_t>(v * columns + d)] == (v < values / 4 ? 1.0 : -1.0));
    }
  }
}

TEST_CASE("a launch of more items than Kokkos counts is refused") {
  using Space = Kokkos::DefaultHostExecutionSpace;
  constexpr Extent most = (Extent{1} << 32) - 1;
  CHECK_NOTHROW(detail::check_items<Space>(most, most));
  CHECK_NOTHROW(detail::check_items<Space>(most + 1));
  CHECK_THROWS_WITH_AS(
      detail::check_items<Space>(most + 1, most),
      "EinDecomp: a kernel has 4294967296 items (before version 4.6, loops of Kokkos on a GPU "
      "count 4294967295 at most); build with Kokkos 4.6 or later, or use more workers",
      ein::Error);
}
