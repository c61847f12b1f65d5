// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel calls made ready: what they say of themselves is what they run.

#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/kernel/backend.hpp"
#include "random_einsum.hpp"

using namespace kernel_test;
namespace ein = eindecomp;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
namespace tools = Kokkos::Tools::Experimental;

int allocations = 0;

/// Runs `work` and returns how often Kokkos allocated meanwhile.
template <class Work>
int count_allocations(const Work& work) {
  allocations = 0;
  tools::set_allocate_data_callback([](const Kokkos_Profiling_SpaceHandle, const char*, const void*,
                                       std::uint64_t) { ++allocations; });
  work();
  tools::set_allocate_data_callback(nullptr);
  return allocations;
}

/// So many bytes of workspace between canaries.
class GuardedWorkspace {
 public:
  explicit GuardedWorkspace(std::int64_t bytes)
      : m_size(static_cast<std::size_t>(bytes)), m_bytes(m_size + 2 * guard + 64, canary) {
    m_begin = m_bytes.data() + guard;
    m_begin += 64 - reinterpret_cast<std::uintptr_t>(m_begin) % 64;
  }
  /// Null if there are none.
  [[nodiscard]] unsigned char* data() const { return m_size > 0 ? m_begin : nullptr; }
  /// Whether nothing was written beside it.
  [[nodiscard]] bool unharmed() const {
    const auto untouched = [](const unsigned char* first, const unsigned char* last) {
      return std::all_of(first, last, [](unsigned char byte) { return byte == canary; });
    };
    return untouched(m_bytes.data(), m_begin) &&
           untouched(m_begin + m_size, m_bytes.data() + m_bytes.size());
  }
  /// How much of it was written.
  [[nodiscard]] double used() const {
    const auto left = std::count(m_begin, m_begin + m_size, canary);
    return 1 - static_cast<double>(left) / static_cast<double>(m_size);
  }

 private:
  static constexpr std::size_t guard = 4096;
  static constexpr unsigned char canary = 0x5a;

  std::size_t m_size;
  std::vector<unsigned char> m_bytes;
  unsigned char* m_begin;
};

/// Random operands of an EinSum.
template <class... Ts>
struct Operands {
  std::tuple<std::vector<Ts>...> data;
  std::vector<const void*> pointers;

  Operands(const Einsum& einsum, Random& random) {
    const auto fill = [&](auto& elements, const Tensor& tensor) {
      elements.resize(static_cast<std::size_t>(tensor.span));
      for (auto& element : elements) {
        element = draw_value<std::decay_t<decltype(element)>>(random);
      }
      pointers.push_back(elements.data());
    };
    std::size_t t = 0;
    std::apply([&](auto&... elements) { (fill(elements, einsum.operands[t++]), ...); }, data);
  }
};

/// Prepares random EinSums of a signature for a write and checks each against what it is not: a
/// call that is chosen, sized and run at once.
template <class Join, class Monoid, class... Ts>
AlgorithmCounts check(int cases, std::uint64_t seed, const Family& family, Write write,
                      const Join& join = {}) {
  using Launcher = ein::kernel::JoinAggregateLauncher<Space, Join, Monoid, Ts...>;
  using State = typename Launcher::State;
  using Result = typename Launcher::Result;
  // Accumulators and results are compared as what they are.
  using Output = std::conditional_t<std::is_same_v<State, Result>, State, unsigned char>;
  const std::size_t bytes = std::max(sizeof(State), sizeof(Result)) / sizeof(Output);
  const Space space;
  const Launcher launcher(join);
  AlgorithmCounts counts;
  for (int i = 0; i < cases; ++i) {
    const std::uint64_t case_seed = seed * 100003 + static_cast<std::uint64_t>(i);
    Random random(case_seed);
    const Einsum einsum = draw_einsum(random, static_cast<int>(sizeof...(Ts)), family);
    CAPTURE(case_seed);
    CAPTURE(einsum.text());
    const LocalEinsum shape = einsum.shape();
    const auto kernel = launcher.prepare(space, shape, write);
    ++counts[kernel->algorithm()];
    CAPTURE(ein::kernel::to_string(kernel->algorithm()));
    const std::size_t span = static_cast<std::size_t>(einsum.output[0].span) * bytes;
    // Twice, of other operands the second time.
    const GuardedWorkspace workspace(kernel->workspace_bytes());
    for (int run = 0; run < 2; ++run) {
      const Operands<Ts...> operands(einsum, random);
      std::vector<Output> output(span, Output(3));
      std::vector<Output> expected = output;
      const int allocated = count_allocations(
          [&] { kernel->run(space, operands.pointers.data(), output.data(), workspace.data()); });
      ein::kernel::kernels_of<Space, Join, Monoid, Ts...>().run(
          space, shape, join, Monoid{}, operands.pointers.data(), expected.data(), write);
      CHECK(allocated == 0);
      CHECK(output == expected);
      CHECK(workspace.unharmed());
      const std::string text = kernel->explain(operands.pointers.data(), output.data());
      CHECK(text.starts_with("algorithm " +
                             std::string(ein::kernel::to_string(kernel->algorithm()))));
    }
    if (workspace.data() != nullptr) CHECK(workspace.used() > 0.25);
    const bool by_blas =
        kernel->algorithm() == Algorithm::gemm || kernel->algorithm() == Algorithm::blocks;
    if (!by_blas) CHECK(kernel->predicted_seconds() == 0);
    if (kernel->algorithm() == Algorithm::blocks) CHECK(kernel->predicted_seconds() > 0);
  }
  return counts;
}

/// The norm: a result that is not the accumulator.
struct Norm {
  static constexpr bool commutative_monoid = true;
  EINDECOMP_FUNCTION static double identity() { return 0; }
  EINDECOMP_FUNCTION double operator()(double a, double b) const { return a + b; }
  EINDECOMP_FUNCTION double lift(double value, std::int64_t) const { return value * value; }
  EINDECOMP_FUNCTION double finish(double state) const { return std::sqrt(state); }
};

Family large_products() {
  Family family;
  family.min_labels = 4;
  family.max_labels = 6;
  family.products = true;
  family.extents = {1, 8, 16, 24, 41};
  family.max_joins = 1500000;
  return family;
}

}  // namespace

TEST_CASE("prepared products of the BLAS, packed ones and loop nests") {
  AlgorithmCounts counts;
  for (const Write write : {Write::finished, Write::partial, Write::accumulate}) {
    for (const auto& [algorithm, count] :
         check<ein::Mul, ein::Sum, double, double>(60, 301, large_products(), write)) {
      counts[algorithm] += count;
    }
    check<ein::Mul, ein::Sum, float, float>(100, 303, {}, write);
    check<ein::ScaledMul<double>, ein::Sum, double, double>(20, 305, large_products(), write,
                                                            {2.5});
  }
  if (ein::kernel::blas::available<Space>) {
    CHECK(counts[Algorithm::gemm] > 5);
    CHECK(counts[Algorithm::blocks] > 5);
  }
}

TEST_CASE("prepared products of windows that overlap") {
  Family windows = large_products();
  windows.windows = true;
  for (const Write write : {Write::finished, Write::partial, Write::accumulate}) {
    AlgorithmCounts counts = check<ein::Mul, ein::Sum, float, float>(90, 319, windows, write);
    if (EINDECOMP_FUSED_MULTIPLY_ADD) CHECK(counts[Algorithm::packed] > 20);
    counts = check<ein::Add, ein::Max, double, double>(90, 321, windows, write);
    if (ein::kernel::detail::has_vectors) CHECK(counts[Algorithm::packed] > 20);
  }
}

TEST_CASE("prepared products over other algebras") {
  for (const Write write : {Write::finished, Write::accumulate}) {
    AlgorithmCounts counts =
        check<ein::Add, ein::Min, double, double>(60, 307, large_products(), write);
    if (ein::kernel::detail::has_vectors) CHECK(counts[Algorithm::packed] > 5);
    counts = check<ein::SqDiff, ein::Sum, double, float>(100, 309, {}, write);
    CHECK(counts[Algorithm::direct] > 5);
  }
}

TEST_CASE("prepared reductions, in one piece and in parts") {
  Family family;
  family.max_labels = 2;
  family.extents = {1, 2, 3};
  family.long_reduction = true;
  for (const Write write : {Write::finished, Write::accumulate}) {
    AlgorithmCounts counts = check<ein::Identity, ein::Max, float>(20, 311, family, write);
    CHECK(counts[Algorithm::split] > 5);
  }
  family.one_aggregated = true;
  AlgorithmCounts counts =
      check<ein::Identity, ein::ArgMax, double>(20, 313, family, Write::finished);
  CHECK(counts[Algorithm::split] > 5);
}

TEST_CASE("prepared copies and element-wise joins") {
  Family family;
  family.elementwise = true;
  AlgorithmCounts counts =
      check<ein::Identity, ein::NoAggregation, double>(100, 315, family, Write::finished);
  CHECK(counts[Algorithm::copy] > 50);
  check<ein::Mul, ein::NoAggregation, double, double, double>(100, 317, family, Write::finished);
}

TEST_CASE("prepared passes over boxes, on one memory after another") {
  kernel_test::StridedBox box;
  box.rank = 2;
  box.extent[0] = 70;
  box.extent[1] = 90;
  box.into_stride[0] = box.from_stride[1] = 1;
  box.into_stride[1] = 70;
  box.from_stride[0] = 90;
  const auto launcher = ein::KokkosBackend<Space>::make<ein::Identity, Norm, double>({}, {});
  const auto combine = launcher->prepare_combine(box);
  const auto finish = launcher->prepare_finish(box);
  const auto copy = ein::kernel::prepare_copy<Space>(8, box);
  for (const double first : {0.0, 1000.0}) {
    std::vector<double> squares(6300);
    std::vector<double> roots(6300);
    std::vector<double> copies(6300);
    std::vector<double> into(6300);
    for (std::size_t i = 0; i < 6300; ++i) squares[i] = into[i] = first + static_cast<double>(i);
    const int allocated = count_allocations([&] {
      combine->run(Space(), into.data(), squares.data());
      finish->run(Space(), roots.data(), into.data());
      copy->run(Space(), copies.data(), squares.data());
    });
    CHECK(allocated == 0);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 70; ++i) {
      for (std::size_t j = 0; j < 90; ++j) {
        // (i,j) is at i + 70 j of what is written, at 90 i + j of what is read.
        const double read = squares[90 * i + j];
        const std::size_t at = i + 70 * j;
        wrong += into[at] != squares[at] + read || copies[at] != read ? 1 : 0;
        // The roots are of the combined squares at the place that is read.
        wrong += roots[at] != std::sqrt(into[90 * i + j]) ? 1 : 0;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("whether the BLAS may be used is asked when a call is prepared") {
  if (!ein::kernel::blas::available<Space>) return;
  const LocalEinsum shape = square_product(50);
  const ein::kernel::JoinAggregateLauncher<Space, ein::Mul, ein::Sum, double, double> launcher;
  const auto with = launcher.prepare(Space(), shape, Write::finished);
  ein::kernel::use_blas = false;
  const auto without = launcher.prepare(Space(), shape, Write::finished);
  CHECK(with->algorithm() == Algorithm::gemm);
  CHECK(without->algorithm() != Algorithm::gemm);
  const std::vector<double> a(2500, 1.5);
  const std::vector<double> b(2500, 2.0);
  std::vector<double> c(2500);
  const void* operands[] = {a.data(), b.data()};
  with->run(Space(), operands, c.data(), nullptr);
  CHECK(c == std::vector<double>(2500, 150));
  CHECK(without->explain(operands, c.data()).find("not to be used") != std::string::npos);
  ein::kernel::use_blas = true;
}
