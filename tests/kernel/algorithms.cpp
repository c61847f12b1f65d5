// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which algorithm a shape takes, and that it is that algorithm which runs: the kernels' labels, the
// fences and the allocations as Kokkos' tools see them.

#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/kernel/einsum.hpp"
#include "test_launcher.hpp"

using namespace eindecomp;
using kernel::Algorithm;
using kernel::LocalEinsum;
using kernel::Write;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
namespace tools = Kokkos::Tools::Experimental;

/// What Kokkos reported since watching began.
struct Report {
  std::vector<std::string> kernels;
  std::vector<std::string> regions;
  std::vector<std::string> allocations;
  std::uint64_t allocated_bytes = 0;
  int fences = 0;
  int fences_before_free = 0;

  [[nodiscard]] bool ran(const std::string& label) const {
    return std::find(kernels.begin(), kernels.end(), label) != kernels.end();
  }
  [[nodiscard]] bool entered(const std::string& part) const {
    return std::any_of(regions.begin(), regions.end(), [&](const std::string& region) {
      return region.find(part) != std::string::npos;
    });
  }
};
Report report;

void on_kernel(const char* name, std::uint32_t, std::uint64_t* id) {
  report.kernels.emplace_back(name);
  *id = 0;
}

class Watch {
 public:
  Watch() {
    report = {};
    tools::set_begin_parallel_for_callback(on_kernel);
    tools::set_begin_parallel_reduce_callback(on_kernel);
    tools::set_begin_parallel_scan_callback(on_kernel);
    tools::set_push_region_callback([](const char* name) { report.regions.emplace_back(name); });
    tools::set_begin_fence_callback([](const char* name, std::uint32_t, std::uint64_t*) {
      // Since 4.0 Kokkos itself fences where tools listen, and where memory of the host is freed.
      const std::string_view reason(name);
      if (reason.find("impl_deallocate") != std::string_view::npos) {
        ++report.fences_before_free;
      } else if (reason.find("Kokkos Profile Tool Fence") == std::string_view::npos) {
        ++report.fences;
      }
    });
    tools::set_allocate_data_callback(
        [](const Kokkos_Profiling_SpaceHandle, const char* label, const void*, std::uint64_t size) {
          // Kokkos' threads take memory of their own, all at once.
          static std::mutex one_at_a_time;
          const std::lock_guard lock(one_at_a_time);
          report.allocations.emplace_back(label);
          report.allocated_bytes += size;
        });
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    tools::set_begin_parallel_for_callback(nullptr);
    tools::set_begin_parallel_reduce_callback(nullptr);
    tools::set_begin_parallel_scan_callback(nullptr);
    tools::set_push_region_callback(nullptr);
    tools::set_begin_fence_callback(nullptr);
    tools::set_allocate_data_callback(nullptr);
  }

  /// Every kernel and allocation is ours by name, and nothing was waited for, except for scratch to
  /// be freed.
  void check_manners() const {
    for (const std::string& label : report.kernels) {
      CAPTURE(label);
      CHECK(label.rfind("EinDecomp::", 0) == 0);
    }
    for (const std::string& label : report.allocations) {
      CAPTURE(label);
      CHECK(label.rfind("EinDecomp::", 0) == 0);
    }
    CHECK(report.fences == 0);
    CHECK((report.fences_before_free == 0 || !report.allocations.empty()));
  }
};

/// A shape from a string, extents per label in order of appearance, and row-major tensors.
LocalEinsum row_major(const std::string& text, const std::vector<Extent>& extents) {
  const EinsumShape spec = eindecomp::einsum_shape(text);
  LocalEinsum shape;
  shape.labels = spec.labels;
  shape.operands = spec.operands;
  for (int l = 0; l < spec.labels; ++l) {
    shape.extent[l] = extents.at(static_cast<std::size_t>(l));
    shape.aggregated[l] = spec.aggregated[l];
  }
  const auto strides = [&](const int* labels, int rank, Extent* stride) {
    Extent step = 1;
    for (int k = rank - 1; k >= 0; --k) {
      stride[labels[k]] += step;
      step *= shape.extent[labels[k]];
    }
  };
  for (int t = 0; t < spec.operands; ++t) {
    strides(spec.operand[t], spec.rank[t], shape.operand_stride[t]);
  }
  strides(spec.output, spec.output_rank, shape.output_stride);
  return shape;
}

struct PathCase {
  const char* text;
  std::vector<Extent> extents;
  Algorithm expected;
};

using Doubles = kernel_test::TestLauncher<Space, Mul, Sum, double, double>;

/// Calls `visit(offset of every tensor)` for the positions of the labels that are aggregated, or
/// of those that are not, from `offset` on.
template <class Visit>
void for_each_position(const LocalEinsum& shape, bool aggregated, int label,
                       std::array<Extent, 3> offset, const Visit& visit) {
  if (label == shape.labels) return visit(offset);
  const bool chosen = shape.aggregated[label] == aggregated;
  for (Extent i = 0; i < (chosen ? shape.extent[label] : 1); ++i) {
    for_each_position(shape, aggregated, label + 1, offset, visit);
    for (std::size_t t = 0; t < 2; ++t) offset[t] += shape.operand_stride[t][label];
    offset[2] += shape.output_stride[label];
  }
}

/// Elements that a tensor of these strides spans.
std::size_t span(const LocalEinsum& shape, const Extent* stride) {
  Extent last = 0;
  for (int l = 0; l < shape.labels; ++l) last += (shape.extent[l] - 1) * stride[l];
  return static_cast<std::size_t>(last + 1);
}

/// Runs a shape of two operands and compares outputs here and there with plain loops.
void check_some_outputs(const Doubles& launcher, const LocalEinsum& shape) {
  std::mt19937 random(41);
  std::uniform_int_distribution<int> integer(-3, 3);  // so that sums are exact
  std::vector<double> a(span(shape, shape.operand_stride[0]));
  std::vector<double> b(span(shape, shape.operand_stride[1]));
  for (double& x : a) x = integer(random);
  for (double& x : b) x = integer(random);
  std::vector<double> c(span(shape, shape.output_stride), 77.5);
  const void* operands[] = {a.data(), b.data()};
  launcher.join(Space(), shape, operands, c.data(), Write::finished);
  Extent position = 0;
  std::size_t wrong = 0;
  for_each_position(shape, false, 0, {}, [&](const std::array<Extent, 3>& output) {
    if (position++ % 29 != 0) return;
    double sum = 0;
    for_each_position(shape, true, 0, output, [&](const std::array<Extent, 3>& at) {
      sum += a[static_cast<std::size_t>(at[0])] * b[static_cast<std::size_t>(at[1])];
    });
    wrong += c[static_cast<std::size_t>(output[2])] != sum ? 1 : 0;
  });
  CHECK(wrong == 0);
}

/// Where there is no BLAS, or the compiler has no vectors, their cases are the generic kernel's.
Algorithm available(Algorithm algorithm) {
  const bool missing = (algorithm == Algorithm::gemm && !kernel::blas::available<Space>) ||
                       (algorithm == Algorithm::packed && !kernel::detail::has_vectors);
  return missing ? Algorithm::direct : algorithm;
}

}  // namespace

TEST_CASE("a fence of all instances would be seen") {
  const Watch watch;
  Kokkos::fence();
  if (report.fences == 0) MESSAGE("this Kokkos tells of no fences: none is checked");
}

TEST_CASE("products take the algorithm their shape allows") {
  const std::vector<PathCase> cases{
      {"ij,jk->ik", {20, 21, 22}, Algorithm::gemm},
      {"ij,kj->ik", {20, 21, 22}, Algorithm::gemm},
      {"ji,jk->ik", {20, 21, 22}, Algorithm::gemm},
      {"ji,kj->ki", {20, 21, 22}, Algorithm::gemm},
      {"ij,jk->ki", {20, 21, 22}, Algorithm::gemm},
      {"bij,bjk->bik", {3, 20, 21, 22}, Algorithm::gemm},    // batch
      {"bij,jk->bik", {3, 20, 21, 22}, Algorithm::gemm},     // b and i merge
      {"ibj,jkb->kib", {20, 3, 21, 22}, Algorithm::packed},  // the batch holds every unit stride
      {"sa,ahd->shd", {20, 21, 4, 16}, Algorithm::gemm},     // h and d merge
      {"shd,thd->hst", {20, 4, 16, 22}, Algorithm::gemm},    // batch in the middle
      {"hst,thd->shd", {4, 20, 22, 16}, Algorithm::gemm},
      {"shd,hda->sa", {20, 4, 16, 21}, Algorithm::gemm},  // K merges
      {"ijk,kjl->il", {20, 4, 16, 21}, Algorithm::gemm},  // K does not merge: accumulated
      {"ij,j->i", {40, 41}, Algorithm::gemm},             // a matrix times a vector
      {"ji,j->i", {40, 41}, Algorithm::gemm},
      {"j,ij->i", {41, 40}, Algorithm::gemm},
      {"j,jk->k", {40, 41}, Algorithm::gemm},
      {"bij,bj->bi", {3, 40, 41}, Algorithm::gemm},
      {"ij,j->i", {10, 12}, Algorithm::direct},        // too small for a call
      {"ijb,jb->ib", {40, 41, 3}, Algorithm::direct},  // the batch holds every unit stride
      {"i,j->ij", {40, 41}, Algorithm::direct},        // outer product
      {"i,i->", {1000}, Algorithm::direct},            // short inner product
      {"i,i->", {100000}, Algorithm::split},
      {"ij,jk->", {400, 10, 400}, Algorithm::split},  // private labels
      {"ij,ij->ij", {40, 41}, Algorithm::direct},
      {"ij,jk->ik", {2, 3, 4}, Algorithm::direct},    // too small for a call
      {"ii,ij->ij", {40, 41}, Algorithm::direct},     // a diagonal that is element-wise
      {"iij,jk->ik", {20, 21, 22}, Algorithm::gemm},  // a diagonal that is a matrix dimension
      {"ij,jk->ik", {20, 0, 22}, Algorithm::direct},  // sums over nothing: zeros
      {"ij,jk->ik", {0, 21, 22}, Algorithm::none},
  };
  const Doubles launcher;
  for (const PathCase& c : cases) {
    const std::string text = c.text;
    CAPTURE(text);
    const LocalEinsum shape = row_major(c.text, c.extents);
    CHECK(kernel::to_string(launcher.algorithm(shape)) == kernel::to_string(available(c.expected)));

    const std::vector<double> ones(200000, 1.0);
    std::vector<double> out(200000);
    const void* operands[] = {ones.data(), ones.data()};
    const Watch watch;
    launcher.join(Space(), shape, operands, out.data(), Write::finished);
    switch (available(c.expected)) {
      case Algorithm::gemm:
        CHECK(report.kernels.empty());
        CHECK(report.entered("EinDecomp::gemm"));
        break;
      case Algorithm::blocks:
        CHECK(report.entered("EinDecomp::blocks"));
        break;
      case Algorithm::copy:
        CHECK(report.ran("EinDecomp::copy"));
        break;
      case Algorithm::split:
        CHECK(report.ran("EinDecomp::join parts"));
        CHECK(report.ran("EinDecomp::join fold"));
        CHECK(report.allocations.size() == 1);
        break;
      case Algorithm::direct:
        CHECK(report.ran("EinDecomp::join"));
        CHECK(report.allocations.empty());
        break;
      case Algorithm::packed:
        CHECK(report.kernels == std::vector<std::string>{"EinDecomp::pack", "EinDecomp::packed"});
        CHECK(report.allocations.size() == 1);
        break;
      case Algorithm::tiled:
        FAIL("the algorithm of devices on a host");
        break;
      case Algorithm::scan:
        FAIL("an algorithm of scans, of which there are none");
        break;
      case Algorithm::lookup:
        FAIL("an algorithm of index tensors, of which there are none");
        break;
      case Algorithm::none:
        CHECK(report.kernels.empty());
    }
    CHECK(report.allocated_bytes <=
          static_cast<std::uint64_t>(launcher.workspace_bytes(Space(), shape)));
    watch.check_manners();
  }
}

TEST_CASE("blocks of half of K, outputs put apart, non-temporal stores") {
  if (!kernel::blas::available<Space>) return;
  // Shapes for which the search takes such blocks on most machines.
  const std::vector<std::pair<const char*, std::vector<Extent>>> cases{
      {"feab,fced->bacd", {20, 20, 12, 8, 20, 4}}, {"eafb,fced->cbda", {4, 96, 12, 16, 4, 32}},
      {"bfae,cdfe->bacd", {64, 6, 12, 4, 16, 6}},  {"aefb,cedf->cdab", {8, 8, 40, 4, 8, 20}},
      {"bfae,fedc->acbd", {40, 4, 40, 6, 6, 64}},  {"baef,cfde->bacd", {6, 40, 6, 4, 20, 128}},
  };
  int half = 0;      // of K in a block, though all of it would fit
  int apart = 0;     // the output in the workspace first, though the BLAS could write it
  int streamed = 0;  // what is put apart is written by non-temporal stores
  for (const auto& [labels, extents] : cases) {
    const std::string text = labels;
    CAPTURE(text);
    const LocalEinsum shape = row_major(labels, extents);
    const auto choice =
        kernel::detail::choose_product(shape, sizeof(double), compat::host_threads(Space()), false);
    REQUIRE(choice.algorithm == Algorithm::blocks);
    const auto& plan = std::get<kernel::detail::BlockPlan>(choice.plan);
    half += plan.one_thread && plan.k.tiles == 2 && plan.k.size <= 384 ? 1 : 0;
    const bool writable = !kernel::detail::block_detail::matrix_of(2, plan.m, plan.n).packed;
    apart += plan.matrix[2].packed && writable ? 1 : 0;
    streamed += plan.matrix[2].packed && kernel::detail::output_policy(plan, sizeof(double)) ==
                                             kernel::detail::StorePolicy::non_temporal
                    ? 1
                    : 0;
    check_some_outputs(Doubles(), shape);
  }
  // Each way is taken by some of them, and is not by all.
  for (const int taken : {half, apart, streamed}) {
    CHECK(taken > 0);
    CHECK(taken < static_cast<int>(cases.size()));
  }
}

TEST_CASE("products that the BLAS would not share out well go block by block to several threads") {
  if (!kernel::blas::available<Space>) return;
  const auto algorithm = [](const LocalEinsum& shape, int threads) {
    return std::string(kernel::to_string(
        kernel::detail::choose_product(shape, sizeof(double), threads, false).algorithm));
  };
  const LocalEinsum many = row_major("adec,ebd->abc", {48, 68, 48, 68, 68});
  CHECK(algorithm(many, 1) == "gemm");
  CHECK(algorithm(many, 2) == "blocks");
  const LocalEinsum flat = row_major("ij,jk->ik", {48, 48, 110592});
  CHECK(algorithm(flat, 1) == "gemm");
  CHECK(algorithm(flat, 2) == "blocks");
  const LocalEinsum one = row_major("ij,jk->ik", {512, 512, 512});
  CHECK(algorithm(one, 1) == "gemm");
  CHECK(algorithm(one, 2) == "gemm");
}

TEST_CASE("small products of a batch that lie as the BLAS wants them are not put in order") {
  if (!kernel::blas::available<Space>) return;
  for (const Extent n : {8, 12, 16}) {
    CAPTURE(n);
    const LocalEinsum shape = row_major("bij,bjk->bik", {10'000, n, n, n});
    for (const int threads : {1, 2}) {
      const auto choice = kernel::detail::choose_product(shape, sizeof(double), threads, false);
      if (threads == 1) CHECK(choice.algorithm == Algorithm::gemm);
      const auto* const plan = std::get_if<kernel::detail::BlockPlan>(&choice.plan);
      if (choice.algorithm == Algorithm::blocks) CHECK(plan->elements() == 0);
    }
  }
}

TEST_CASE("what the machine is said to be decides between algorithms") {
  if (!kernel::blas::available<Space>) return;
  const LocalEinsum shape = row_major("kai,kbi->ab", {64, 64, 8, 200});
  const LocalEinsum small = row_major("ij,jk->ik", {16, 16, 16});
  const auto algorithm = [](const LocalEinsum& its) {
    return kernel::detail::choose_product(its, sizeof(double), 1, false).algorithm;
  };
  REQUIRE(algorithm(shape) == Algorithm::blocks);
  REQUIRE(Doubles().algorithm(small) == Algorithm::gemm);
  const kernel::MachineRates before = kernel::machine_rates;
  // Calls are free, and to bring tiles from memory before they are multiplied is not.
  kernel::machine_rates.call_seconds = 0;
  kernel::machine_rates.cached_bytes = 1e12;
  kernel::machine_rates.run_seconds = 1e-6;
  CHECK(algorithm(shape) == Algorithm::gemm);
  check_some_outputs(Doubles(), shape);
  kernel::machine_rates = before;
  kernel::machine_rates.min_gemm = 1e4;
  CHECK(Doubles().algorithm(small) != Algorithm::gemm);
  check_some_outputs(Doubles(), small);
  kernel::machine_rates = before;
  CHECK(algorithm(shape) == Algorithm::blocks);
}

TEST_CASE("matrices times vectors, strided or many, are calls of the BLAS") {
  if (!kernel::blas::available<Space>) return;
  const std::vector<std::pair<const char*, std::vector<Extent>>> cases{
      {"ij,j->i", {300, 200}},          {"ij,i->j", {300, 200}},
      {"ij,jb->ib", {300, 200, 1}},     {"bij,bj->bi", {30, 70, 40}},
      {"bij,bi->bj", {30, 70, 40}},     {"ibj,jb->ib", {30, 70, 40}},
      {"bij,jb->ib", {30, 70, 40}},     {"bcij,jcb->bci", {7, 5, 60, 50}},
      {"iajb,jab->i", {40, 7, 30, 20}},  // K does not merge: accumulated
      {"aib,i->ab", {40, 30, 20}},       // nor do the rows
  };
  for (const auto& [text, extents] : cases) {
    CAPTURE(std::string(text));
    const LocalEinsum shape = row_major(text, extents);
    REQUIRE(Doubles().algorithm(shape) == Algorithm::gemm);
    check_some_outputs(Doubles(), shape);
  }
  // Many of them are shared out among the threads.
  const LocalEinsum shape = row_major("bij,bj->bi", {64, 70, 40});
  const std::vector<double> ones(64 * 70 * 40, 1.0);
  std::vector<double> out(64 * 70);
  const void* operands[] = {ones.data(), ones.data()};
  const Watch watch;
  Doubles().join(Space(), shape, operands, out.data(), Write::finished);
  CHECK(report.ran("EinDecomp::gemv") == (compat::host_threads(Space()) > 1));
}

TEST_CASE("products over other algebras and types are packed") {
  const auto algorithm = []<class Join, class Monoid, class... Ts>(const LocalEinsum& of) {
    return kernel_test::TestLauncher<Space, Join, Monoid, Ts...>().algorithm(of);
  };
  const LocalEinsum shape = row_major("ij,jk->ik", {20, 21, 22});
  CHECK(algorithm.operator()<Add, Min, double, double>(shape) == available(Algorithm::packed));
  CHECK(algorithm.operator()<Mul, Max, float, float>(shape) == available(Algorithm::packed));
  CHECK(algorithm.operator()<Less, Sum, double, double>(shape) == available(Algorithm::packed));
  CHECK(algorithm.operator()<And, Or, double, double>(shape) == available(Algorithm::packed));
  CHECK(algorithm.operator()<Mul, Sum, double, float>(shape) == available(Algorithm::packed));
  CHECK(algorithm.operator()<Mul, Sum, std::int32_t, std::int32_t>(shape) ==
        available(Algorithm::packed));
  CHECK(algorithm.operator()<Mul, Sum, Kokkos::complex<float>, Kokkos::complex<float>>(shape) ==
        available(Algorithm::gemm));

  // Accumulators that are pairs, elements that no vector holds, no aggregation, three operands.
  CHECK(algorithm.operator()<Add, ArgMin, double, double>(shape) == Algorithm::direct);
  CHECK(algorithm.operator()<Add, LogSumExp, double, double>(shape) == Algorithm::direct);
  CHECK(algorithm.operator()<Sub, Sum, Kokkos::complex<float>, Kokkos::complex<float>>(shape) ==
        Algorithm::direct);
  CHECK(algorithm.operator()<Mul, NoAggregation, double, double>(
            row_major("ij,jk->ijk", {20, 21, 22})) == Algorithm::direct);
  CHECK(algorithm.operator()<Mul, Sum, double, double, double>(
            row_major("ij,jk,k->ik", {20, 21, 22})) == Algorithm::direct);

  // Nothing to gain: a matrix and a vector, short reductions, few joins.
  for (const auto& [text, extents] : std::vector<std::pair<const char*, std::vector<Extent>>>{
           {"ij,j->i", {200, 210}}, {"ij,jk->ik", {40, 2, 400}}, {"ij,jk->ik", {8, 8, 8}}}) {
    CAPTURE(text);
    CHECK(algorithm.operator()<Add, Min, double, double>(row_major(text, extents)) ==
          Algorithm::direct);
  }
  // Every label has a place: private ones, diagonals, those that only the output has.
  for (const auto& [text, extents] : std::vector<std::pair<const char*, std::vector<Extent>>>{
           {"ijp,jkq->ik", {20, 21, 3, 22, 2}}, {"iij,jkk->ik", {20, 21, 22}}}) {
    CAPTURE(text);
    CHECK(algorithm.operator()<SqDiff, Sum, double, double>(row_major(text, extents)) ==
          available(Algorithm::packed));
  }
}

TEST_CASE("on devices products over other algebras are tiled where there is work for many teams") {
  const auto worthwhile = [](const char* text, const std::vector<Extent>& extents) {
    return kernel::detail::worth_tiling(
        kernel::detail::packed_shape(row_major(text, extents), false));
  };
  CHECK(worthwhile("ij,jk->ik", {100, 8, 100}));
  CHECK(worthwhile("bij,bjk->bik", {100, 20, 21, 22}));
  CHECK(worthwhile("ijp,jkq->ik", {100, 8, 3, 100, 2}));
  CHECK_FALSE(worthwhile("ij,jk->ik", {100, 7, 100}));     // short reductions
  CHECK_FALSE(worthwhile("ij,jk->ik", {1000, 50, 15}));    // a narrow matrix
  CHECK_FALSE(worthwhile("ij,jk->ik", {50, 100000, 50}));  // few outputs: cut into parts
  CHECK_FALSE(worthwhile("ij,ij->ij", {100, 100}));
  static_assert(!kernel::detail::has_tiled<Space, Add, Min, double, double>());
#if defined(KOKKOS_ENABLE_CUDA)
  static_assert(kernel::detail::has_tiled<Kokkos::Cuda, Add, Min, double, double>());
  const LocalEinsum shape = row_major("ij,jk->ik", {100, 20, 100});
  using Cuda = Kokkos::Cuda;
  CHECK(kernel_test::TestLauncher<Cuda, Add, Min, double, double>().algorithm(shape) ==
        Algorithm::tiled);
  CHECK(kernel_test::TestLauncher<Cuda, Mul, Sum, double, double>().algorithm(shape) ==
        Algorithm::gemm);
#endif

  // Forced on this space: one kernel, and no memory but the scratch that Kokkos keeps for teams.
  const LocalEinsum small = row_major("ij,jk->ik", {20, 21, 22});
  const std::vector<double> a(20 * 21, 1.5);
  const std::vector<double> b(21 * 22, 2.0);
  std::vector<double> c(20 * 22);
  const void* operands[] = {a.data(), b.data()};
  {
    const Watch watch;
    kernel::detail::PreparedTiled<1, 1, Space, Add, Min, double, double>(
        small, kernel::detail::packed_shape(small, false), {}, {}, Write::finished, nullptr)
        .run(Space(), operands, c.data(), nullptr);
    CHECK(report.kernels == std::vector<std::string>{"EinDecomp::tiled"});
  }
  CHECK(c == std::vector<double>(c.size(), 3.5));
}

TEST_CASE("a call takes the workspace it said it would") {
  using Launcher = kernel_test::TestLauncher<Space, Identity, ArgMax, double>;
  const Launcher launcher;
  for (Extent outputs : {1, 2, 15, 16, 17, 255, 256, 257}) {
    for (Extent length : {100, 20000, 1000000}) {
      if (outputs * length > 6000000) continue;
      CAPTURE(outputs);
      CAPTURE(length);
      for (const char* text : {"ij->i", "ji->i"}) {
        const bool rows = text[0] == 'i';
        const LocalEinsum shape = row_major(text, rows ? std::vector<Extent>{outputs, length}
                                                       : std::vector<Extent>{length, outputs});
        const std::vector<double> in(static_cast<std::size_t>(outputs * length), 1.0);
        std::vector<std::int64_t> out(static_cast<std::size_t>(outputs), -1);
        const void* operands[] = {in.data()};
        const Watch watch;
        launcher.join(Space(), shape, operands, out.data(), Write::finished);
        const auto bytes = static_cast<std::uint64_t>(launcher.workspace_bytes(Space(), shape));
        CHECK(report.allocated_bytes >= bytes);
        CHECK(report.allocated_bytes <= bytes + 128);  // Kokkos' own header
        watch.check_manners();
        CHECK(std::all_of(out.begin(), out.end(), [](std::int64_t index) { return index == 0; }));
      }
    }
  }
}

namespace {

/// How often values fall into each of 4096 classes: an accumulator of 32 KiB.
struct Classes {
  static constexpr bool commutative_monoid = true;
  struct Counts {
    std::array<double, 4096> of{};
  };
  template <class T>
  using State = Counts;
  static Counts identity() { return {}; }
  Counts lift(double value, std::int64_t) const {
    Counts counts;
    counts.of[static_cast<std::size_t>(value)] = 1;
    return counts;
  }
  Counts operator()(const Counts& a, const Counts& b) const {
    Counts sum;
    for (std::size_t n = 0; n < sum.of.size(); ++n) sum.of[n] = a.of[n] + b.of[n];
    return sum;
  }
  double finish(const Counts& counts) const {
    double most = 0;
    for (const double count : counts.of) most = std::max(most, count);
    return most;
  }
};

}  // namespace

TEST_CASE("large accumulators are few, on the stack and in workspaces") {
  const kernel_test::TestLauncher<Space, Identity, Classes, double> launcher;
  const LocalEinsum shape = row_major("ij->i", {2, 40'000});
  CHECK(launcher.workspace_bytes(Space(), shape) > 0);
  CHECK(launcher.workspace_bytes(Space(), shape) <= 1 << 18);
  std::vector<double> in(80'000, 3);
  for (std::size_t n = 0; n < in.size(); n += 4) in[n] = 5;
  std::vector<double> out(2);
  const void* operands[] = {in.data()};
  launcher.join(Space(), shape, operands, out.data(), Write::finished);
  CHECK(out == std::vector<double>{30'000, 30'000});
}

TEST_CASE("kernels work in the memory they are given") {
  const Kokkos::View<double***, Kokkos::LayoutLeft, Space> a("a", 70, 40, 30);
  const Kokkos::View<double**, Kokkos::LayoutLeft, Space> b("b", 30, 50);
  const Kokkos::View<double***, Kokkos::LayoutLeft, Space> c("c", 50, 40, 70);
  Kokkos::deep_copy(a, 2.0);
  Kokkos::deep_copy(b, 3.0);
  const auto check = [&]<class AlgebraType>(double expected) {
    const auto bytes = workspace_bytes<"ijk,kl->lji", AlgebraType>(Space(), a, b, c);
    REQUIRE(bytes > 0);
    const Workspace<Space> given("given", static_cast<std::size_t>(bytes));
    const Workspace<Space> scarce("scarce", static_cast<std::size_t>(bytes - 1));
    Kokkos::deep_copy(c, -1.0);
    const Watch watch;
    const ScopedWorkspace<Space> scope(given);
    {
      const ScopedWorkspace<Space> inner(scarce);
      CHECK_THROWS_WITH((einsum<"ijk,kl->lji", AlgebraType>(Space(), a, b, c)),
                        doctest::Contains("nothing was written ["));
      CHECK(c(49, 39, 69) == -1.0);
    }
    einsum<"ijk,kl->lji", AlgebraType>(Space(), a, b, c);
    CHECK(report.allocations.empty());
    CHECK(c(0, 0, 0) == expected);
    CHECK(c(49, 39, 69) == expected);
  };
  check.operator()<PlusTimes>(180.0);
  check.operator()<MinPlus>(5.0);

  // The output is not scaled by beta either, where there is too little for what follows.
  kernel::use_blas = false;
  Kokkos::deep_copy(c, -1.0);
  const auto bytes = workspace_bytes<"ijk,kl->lji">(Space(), a, b, c);
  {
    const Workspace<Space> scarce("scarce", static_cast<std::size_t>(bytes - 1));
    const ScopedWorkspace<Space> scope(scarce);
    CHECK_THROWS_WITH((einsum<"ijk,kl->lji">(Space(), {.alpha = 1.0, .beta = 2.0}, a, b, c)),
                      doctest::Contains("nothing was written ["));
  }
  CHECK(c(0, 0, 0) == -1.0);
  einsum<"ijk,kl->lji">(Space(), {.alpha = 1.0, .beta = 2.0}, a, b, c);
  kernel::use_blas = true;
  CHECK(c(0, 0, 0) == 178.0);
  CHECK(ScopedWorkspace<Space>::current() == nullptr);
  const Kokkos::View<double**, Kokkos::LayoutLeft, Space> square("square", 60, 60);
  const Kokkos::View<double**, Kokkos::LayoutLeft, Space> product("product", 60, 60);
  CHECK(workspace_bytes<"ij,jk->ik">(Space(), square, square, product) == 0);
  CHECK(workspace_bytes<"ijk->j">(Space(), a, Kokkos::View<double*, Space>("d", 40)) == 0);
}

TEST_CASE("without memory for its workspace a call says so and leaves its output as it was") {
  // Allocations fail as they are reported, which is where they have been made: they are freed here.
  static std::vector<std::pair<void*, std::uint64_t>> refused;
  const auto refuse = [](Kokkos_Profiling_SpaceHandle, const char* label, const void* memory,
                         std::uint64_t size) {
    if (std::string_view(label).substr(0, 9) != "EinDecomp") return;
    refused.emplace_back(const_cast<void*>(memory), size);
    throw std::bad_alloc();
  };
  const auto check = [&refuse](const auto& launcher, const char* text,
                               const std::vector<Extent>& extents, Algorithm algorithm) {
    CAPTURE(text);
    const LocalEinsum shape = row_major(text, extents);
    REQUIRE(launcher.algorithm(shape) == available(algorithm));
    if (available(algorithm) != algorithm) return;
    const std::vector<double> ones(200000, 1.0);
    std::vector<double> out(200000, -1.0);
    const void* operands[] = {ones.data(), ones.data()};
    tools::set_allocate_data_callback(refuse);
    std::string message;
    try {
      launcher.join(Space(), shape, operands, out.data(), Write::finished);
    } catch (const Error& error) {
      message = error.what();
    }
    tools::set_allocate_data_callback(nullptr);
    for (const auto& [memory, size] : refused) Kokkos::HostSpace().deallocate(memory, size);
    CHECK(refused.size() == 1);
    refused.clear();
    CHECK(message.find("bytes could not be allocated") != std::string::npos);
    CHECK(out == std::vector<double>(out.size(), -1.0));
  };
  check(Doubles(), "ij,ij->", {400, 400}, Algorithm::split);
  check(Doubles(), "ikj,jlk->li", {40, 40, 40, 40}, Algorithm::blocks);
  check(kernel_test::TestLauncher<Space, Add, Min, double, double>(), "ij,jk->ik", {100, 100, 100},
        Algorithm::packed);
}

#if defined(KOKKOS_ENABLE_SERIAL)
TEST_CASE("without the BLAS results do not depend on the number of threads") {
  std::mt19937 random(17);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<double> left(211 * 211);
  std::vector<double> right(211 * 211);
  for (double& x : left) x = real(random);
  for (double& x : right) x = real(random);
  const void* operands[] = {left.data(), right.data()};
  kernel::use_blas = false;
  for (const char* text : {"ij,jk->ik", "ji,kj->ki", "ij,jk->", "ij,jk->jk", "ij,jk->k"}) {
    CAPTURE(text);
    const LocalEinsum shape = row_major(text, {211, 211, 211});
    const auto product = [&]<class On>(On space) {
      std::vector<double> out(211 * 211);
      const kernel_test::TestLauncher<On, Mul, Sum, double, double> launcher;
      CHECK(launcher.algorithm(shape) != Algorithm::gemm);
      CHECK(launcher.algorithm(shape) != Algorithm::blocks);
      launcher.join(space, shape, operands, out.data(), Write::finished);
      Kokkos::fence();
      return out;
    };
    CHECK(product(Space()) == product(Kokkos::Serial()));
  }
  kernel::use_blas = true;
}
#endif

TEST_CASE("box passes and einsum on views behave alike") {
  const std::vector<double> from(600, 2.0);
  std::vector<double> into(600, 1.0);
  kernel::StridedBox box;
  box.rank = 2;
  box.extent[0] = 20;
  box.extent[1] = 30;
  box.into_stride[0] = box.from_stride[1] = 1;
  box.into_stride[1] = 20;
  box.from_stride[0] = 30;
  const Kokkos::View<double**, Kokkos::HostSpace> a("a", 20, 30);
  const Kokkos::View<double**, Kokkos::HostSpace> b("b", 30, 20);
  const Kokkos::View<double**, Kokkos::HostSpace> c("c", 20, 20);
  const auto launcher = KokkosBackend<Space>::make<Mul, Sum, double, double>({}, {});
  const Watch watch;
  kernel::copy_box(Space(), 8, box, into.data(), from.data());
  launcher->prepare_combine(box)->run(Space(), into.data(), from.data());
  launcher->prepare_finish(box)->run(Space(), into.data(), from.data());
  einsum<"ij,jk->ik">(Space(), a, b, c);
  einsum<"ij,jk->ik", MinPlus>(Space(), a, b, c);
  const auto made = einsum<"ij->">(Space(), a);
  CHECK(report.ran("EinDecomp::copy"));
  CHECK(report.ran("EinDecomp::combine"));
  watch.check_manners();
}

#if defined(KOKKOS_ENABLE_SERIAL)
TEST_CASE("results do not depend on the execution space" *
          doctest::skip(std::is_same_v<Space, Kokkos::Serial>)) {
  // Bit for bit, on values whose sums are not exact, direct and split.
  const kernel_test::TestLauncher<Space, SqDiff, Sum, double, double> parallel;
  const kernel_test::TestLauncher<Kokkos::Serial, SqDiff, Sum, double, double> serial;
  for (const auto& extents : std::vector<std::vector<Extent>>{{70, 90, 33}, {3, 90000, 2}}) {
    const LocalEinsum shape = row_major("ij,jk->ik", extents);
    std::vector<double> a(static_cast<std::size_t>(extents[0] * extents[1]));
    std::vector<double> b(static_cast<std::size_t>(extents[1] * extents[2]));
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1.0 / static_cast<double>(i % 997 + 1);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = 1.0 / static_cast<double>(i % 991 + 3);
    std::vector<double> c(static_cast<std::size_t>(extents[0] * extents[2]));
    std::vector<double> d(c.size());
    const void* operands[] = {a.data(), b.data()};
    parallel.join(Space(), shape, operands, c.data(), Write::finished);
    serial.join(Kokkos::Serial(), shape, operands, d.data(), Write::finished);
    CHECK(c == d);
  }
}
#endif
