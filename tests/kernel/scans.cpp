// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scans: the kernel in all its ways through memory, beside loops that aggregate every output anew.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "eindecomp/kernel/scan/prepared_scan.hpp"
#include "random_einsum.hpp"
#include "support/near.hpp"

using namespace kernel_test;
using eindecomp_tests::near;
namespace ein = eindecomp;
namespace detail = eindecomp::kernel::detail;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

/// Scans of some rows: where their elements lie, and which outputs are computed.
struct Scans {
  Extent rows = 1;
  Extent n = 1;      ///< elements of a scan
  Extent begin = 0;  ///< the first output
  Extent end = 1;    ///< and beyond the last
  bool backwards = false;
  bool across = false;  ///< neighbours in memory are of different scans
  Extent apart = 1;     ///< elements from one neighbour to the next

  [[nodiscard]] Extent step() const { return apart * (across ? rows : 1); }
  [[nodiscard]] Extent row_step() const { return apart * (across ? 1 : n); }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(rows * n * apart); }
  [[nodiscard]] std::size_t at(Extent row, Extent i) const {
    return static_cast<std::size_t>(row * row_step() + i * step());
  }

  [[nodiscard]] LocalEinsum shape() const {
    LocalEinsum shape;
    shape.operands = 1;
    const auto add = [&](Extent extent, Extent operand, Extent output, bool aggregated) {
      shape.extent[shape.labels] = extent;
      shape.operand_stride[0][shape.labels] = operand;
      shape.output_stride[shape.labels] = output;
      shape.aggregated[shape.labels++] = aggregated;
    };
    add(rows, row_step(), row_step(), false);
    add(end - begin, step(), step(), false);
    add(n, backwards ? step() : -step(), 0, true);
    shape.begin[1] = begin;
    shape.scan = {1, 2, backwards};
    return shape;
  }
};

[[nodiscard]] std::string describe(const Scans& s) {
  return std::to_string(s.rows) + " scans of " + std::to_string(s.n) + ", outputs " +
         std::to_string(s.begin) + " to " + std::to_string(s.end) +
         (s.backwards ? ", backwards" : "") + (s.across ? ", across" : "") + ", apart " +
         std::to_string(s.apart);
}

/// All ways through memory, of pieces that are whole and that are not.
template <class Visit>
void for_each_scan(const Visit& visit) {
  for (const Extent n : {1, 7, 64, 65, 256, 1030, 2048, 3000}) {
    for (const Extent rows : {1, 3, 600}) {
      if (rows * n > 100000) continue;
      for (const bool across : {false, true}) {
        for (const bool backwards : {false, true}) {
          for (const Extent apart : {1, 2}) {
            visit(Scans{rows, n, 0, n, backwards, across, apart});
            if (n > 4) visit(Scans{rows, n, n / 3, n - n / 5, backwards, across, apart});
          }
        }
      }
    }
  }
}

template <class T>
[[nodiscard]] std::vector<T> small_values(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> values(size);
  for (T& value : values) value = T(std::uniform_int_distribution<int>(-3, 3)(random));
  return values;
}

/// Every output by a loop of its own.
template <class State, class T, class Fold>
[[nodiscard]] std::vector<State> expected(const Scans& s, const std::vector<T>& x,
                                          std::vector<State> y, State identity, const Fold& fold) {
  for (Extent row = 0; row < s.rows; ++row) {
    for (Extent i = s.begin; i < s.end; ++i) {
      State sum = identity;
      for (Extent k = s.backwards ? i : 0; k <= (s.backwards ? s.n - 1 : i); ++k) {
        sum = fold(sum, State(x[s.at(row, k)]));
      }
      y[s.at(row, i)] = sum;
    }
  }
  return y;
}

template <class Monoid, class T, class State, class Fold>
void check(State identity, const Fold& fold) {
  const ein::kernel::JoinAggregateLauncher<Space, ein::Identity, Monoid, T> launcher;
  for_each_scan([&](const Scans& s) {
    if (s.rows * s.n > 20000) return;
    CAPTURE(describe(s));
    const auto x = small_values<T>(s.size(), 1);
    std::vector<State> y(s.size(), State(99));
    const auto wanted = expected(s, x, y, identity, fold);
    const auto kernel = launcher.prepare(Space(), s.shape(), Write::finished);
    CHECK(kernel->algorithm() == Algorithm::scan);
    const void* const operands[] = {x.data() + s.at(0, s.begin)};
    std::vector<unsigned char> workspace(static_cast<std::size_t>(kernel->workspace_bytes()));
    kernel->run(Space(), operands, y.data() + s.at(0, s.begin), workspace.data());
    CHECK(y == wanted);
    for (const bool streamed : {false, true}) {
      std::fill(y.begin(), y.end(), State(99));
      ein::kernel::MemoryHints hints;
      hints.streamed = streamed;
      launcher.prepare_tile(s.shape())->run(operands, y.data() + s.at(0, s.begin), hints);
      ein::kernel::end_tiles();
      CHECK(y == wanted);
    }
  });
}

/// The items of a phase, in any order.
template <class Kernel>
void run_items(Kernel& kernel, detail::ScanPhase phase, Extent items) {
  kernel.phase = phase;
  for (Extent item = items; item-- > 0;) kernel(item);
}
template <class Kernel>
void run_whole(Kernel& kernel) {
  run_items(kernel, detail::ScanPhase::whole, kernel.schedule.strips);
}
/// As threads share them.
template <class Kernel>
void run_shared(Kernel& kernel) {
  const Extent groups = kernel.schedule.strips * Kernel::groups_of(kernel.schedule);
  run_items(kernel, detail::ScanPhase::aggregate, groups);
  run_items(kernel, detail::ScanPhase::carry, kernel.schedule.strips);
  run_items(kernel, detail::ScanPhase::outputs, groups);
}

}  // namespace

TEST_CASE("every output of a scan is what a loop aggregates") {
  const auto add = [](auto a, auto b) { return a + b; };
  check<ein::Sum, double>(0.0, add);
  check<ein::Sum, std::int64_t>(std::int64_t{0}, add);
  check<ein::Sum, ein::float16>(0.0F, add);
  check<ein::Max, float>(std::numeric_limits<float>::lowest(),
                         [](float a, float b) { return std::max(a, b); });
  check<ein::Min, std::int32_t>(std::numeric_limits<std::int32_t>::max(),
                                [](std::int32_t a, std::int32_t b) { return std::min(a, b); });
}

TEST_CASE("scans finish their accumulators, keep them or add to them") {
  const Scans s{3, 300, 10, 290};
  const auto x = small_values<double>(s.size(), 2);
  const void* const operands[] = {x.data() + s.at(0, s.begin)};
  SUBCASE("finished") {
    using Launcher =
        ein::kernel::JoinAggregateLauncher<Space, ein::Identity, ein::LogSumExp, double>;
    std::vector<double> y(s.size(), 0.0);
    Launcher()
        .prepare(Space(), s.shape(), Write::finished)
        ->run(Space(), operands, y.data() + s.at(0, s.begin), nullptr);
    for (Extent row = 0; row < s.rows; ++row) {
      for (Extent i = s.begin; i < s.end; ++i) {
        double sum = 0;
        for (Extent k = 0; k <= i; ++k) sum += std::exp(x[s.at(row, k)]);
        CHECK(y[s.at(row, i)] == near(std::log(sum)));
      }
    }
  }
  SUBCASE("partial and accumulate") {
    using Launcher = ein::kernel::JoinAggregateLauncher<Space, ein::Identity, ein::Sum, double>;
    std::vector<double> y(s.size(), 0.0);
    double* const first = y.data() + s.at(0, s.begin);
    Launcher().prepare(Space(), s.shape(), Write::partial)->run(Space(), operands, first, nullptr);
    const std::vector<double> once = y;
    CHECK(once == expected(s, x, std::vector<double>(s.size(), 0.0), 0.0,
                           [](double a, double b) { return a + b; }));
    Launcher()
        .prepare(Space(), s.shape(), Write::accumulate)
        ->run(Space(), operands, first, nullptr);
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == 2 * once[i]);
  }
}

TEST_CASE("scans that threads share round as one thread does") {
  using Kernel = detail::ScanKernel<true, ein::Sum, double>;
  for_each_scan([&](const Scans& s) {
    CAPTURE(describe(s));
    Random random(3);
    std::vector<double> x(s.size());
    for (double& value : x) value = std::uniform_real_distribution<double>(-1, 1)(random);
    const detail::ScanSchedule schedule = Kernel::make_schedule(s.shape());
    std::vector<double> whole(s.size(), 0.0);
    std::vector<double> shared = whole;
    std::vector<double> aggregates(
        static_cast<std::size_t>(schedule.strips * schedule.pieces * schedule.width));
    Kernel kernel{schedule,
                  x.data() + s.at(0, s.begin),
                  {{}, whole.data() + s.at(0, s.begin), Write::finished},
                  aggregates.data()};
    run_whole(kernel);
    kernel.store.output = shared.data() + s.at(0, s.begin);
    run_shared(kernel);
    CHECK(shared == whole);
  });
}

TEST_CASE("long scans are shared by threads, where there are several") {
  const ein::kernel::JoinAggregateLauncher<Space, ein::Identity, ein::Sum, double> launcher;
  const bool several = ein::compat::host_threads(Space()) > 1;
  for (const Scans& s : {Scans{1, 9000, 0, 9000}, Scans{3, 9000, 100, 8900, true},
                         Scans{3, 9000, 0, 9000, false, true}}) {
    CAPTURE(describe(s));
    const auto x = small_values<double>(s.size(), 5);
    std::vector<double> y(s.size(), 99.0);
    const auto wanted = expected(s, x, y, 0.0, [](double a, double b) { return a + b; });
    const auto kernel = launcher.prepare(Space(), s.shape(), Write::finished);
    const void* const operands[] = {x.data() + s.at(0, s.begin)};
    double* const first = y.data() + s.at(0, s.begin);
    const std::string how = kernel->explain(operands, first);
    CAPTURE(how);
    CHECK((how.find("threads share") != std::string::npos) == several);
    std::vector<unsigned char> workspace(static_cast<std::size_t>(kernel->workspace_bytes()));
    kernel->run(Space(), operands, first, workspace.data());
    Kokkos::fence();
    CHECK(y == wanted);
  }
}

TEST_CASE("scans on devices, one thread after another") {
  using Kernel = detail::ScanKernel<false, ein::Sum, std::int64_t>;
  for_each_scan([&](const Scans& s) {
    if (s.rows * s.n > 20000) return;
    CAPTURE(describe(s));
    const auto x = small_values<std::int64_t>(s.size(), 4);
    std::vector<std::int64_t> y(s.size(), 99);
    const auto wanted =
        expected(s, x, y, std::int64_t{0}, [](std::int64_t a, std::int64_t b) { return a + b; });
    const detail::ScanSchedule schedule = Kernel::make_schedule(s.shape());
    std::vector<std::int64_t> aggregates(
        static_cast<std::size_t>(schedule.strips * schedule.pieces));
    Kernel kernel{schedule,
                  x.data() + s.at(0, s.begin),
                  {{}, y.data() + s.at(0, s.begin), Write::finished},
                  aggregates.data()};
    run_shared(kernel);
    CHECK(y == wanted);
    std::fill(y.begin(), y.end(), 99);
    run_whole(kernel);
    CHECK(y == wanted);
  });
}
