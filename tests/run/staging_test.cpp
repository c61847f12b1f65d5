// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ways of memory that neither the host nor MPI reaches, taken by a space of the host: messages
// pass through a copy on the host, generators fill in pieces. No executor that is compiled
// elsewhere knows of it.
#undef EINDECOMP_SEPARATE_EXECUTOR

#include <doctest/doctest.h>

#include "eindecomp/run/transport.hpp"

namespace eindecomp {
template <>
inline constexpr bool run::host_reaches<Kokkos::DefaultExecutionSpace> = false;
template <>
inline constexpr bool compat::is_synchronous<Kokkos::DefaultExecutionSpace> = false;
}  // namespace eindecomp

#include "eindecomp/run/tensor_files.hpp"
#include "eindecomp/tools/npy.hpp"
#include "run/programs.hpp"
#include "support/temporary_folder.hpp"

using namespace run_test;
using namespace eindecomp::labels;

TEST_CASE("every message passes through the host") {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Program program;
  const auto A = program.input<double>("A", {42, 39});
  const auto B = program.input<float>("B", {39, 51});
  const auto C = let<"C">(i, k) = sum(j)(A(i, j) * B(j, k));
  const auto M = let<"M">(i) = argmax(k)(C(i, k));
  program.keep(C);
  program.role(i, "batch");
  const Formula<> fa{1};
  const Formula<float> fb{2};
  Kokkos::View<double**, Kokkos::LayoutLeft, Space> a;
  if (rank == 0) {
    a = filled<Kokkos::View<double**, Kokkos::LayoutLeft, Space>>(ein::Box{{0, 0}, {42, 39}}, fa);
  }
  for (const int workers : {1, 2, 8}) {
    CAPTURE(workers);
    const Plan plan = ein::decompose(program, {.workers = workers, .ranks = size});
    ein::Executor executor(plan, MPI_COMM_WORLD, Space(), {.chunk = 1000, .gpu_aware_mpi = false});
    for (int round = 0; round < 2; ++round) {
      const auto run = executor.run(ein::bind_global(A, a, 0), ein::bind_generator(B, fb));
      const auto got = on_host(run.gather(C));
      const auto best = on_host(run.gather(M));
      const auto at_root = on_host(run.gather(C, size - 1));
      bool right = true;
      for (Extent r = 0; r < 42; ++r) {
        for (Extent c = 0; c < 51; ++c) {
          double x = 0;
          for (Extent n = 0; n < 39; ++n) x += fa(r, n) * fb(n, c);
          right = right && got(r, c) == x;
          if (rank == size - 1) right = right && at_root(r, c) == x;
        }
        Extent largest = 0;
        for (Extent c = 1; c < 51; ++c) {
          if (got(r, c) > got(r, largest)) largest = c;
        }
        right = right && static_cast<Extent>(best(r)) == largest;
      }
      CHECK(right);
      CHECK(run.statistics().words_received ==
            plan.tasks().received[static_cast<std::size_t>(rank)]);
    }
  }
}

namespace {

// More than the elements that are generated at a time, and more bytes than a slab has.
constexpr Extent rows = 301;
constexpr Extent columns = 451;
static_assert(rows * columns > 2 * ein::run::tuning::generated_elements);
static_assert(rows * columns * 8 > ein::run::tuning::slab_bytes);

using Right = Kokkos::View<double**, Kokkos::LayoutRight, Space>;

/// A path that all ranks know, in rank 0's folder.
class SharedPath {
 public:
  SharedPath() : m_path((m_folder / "y.npy").string()) {
    auto length = static_cast<int>(m_path.size());
    MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    m_path.resize(static_cast<std::size_t>(length));
    MPI_Bcast(m_path.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  }
  SharedPath(const SharedPath&) = delete;
  SharedPath& operator=(const SharedPath&) = delete;
  ~SharedPath() { MPI_Barrier(MPI_COMM_WORLD); }
  [[nodiscard]] const std::string& path() const { return m_path; }

 private:
  eindecomp_tests::TemporaryFolder m_folder;
  std::string m_path;
};

/// This rank's arrays in a distribution, by formula.
template <class F>
std::vector<Right> arrays(const ein::Distribution& distribution, int rank, const F& formula) {
  std::vector<Right> views;
  for (const ein::LocalArray& array : distribution.arrays(rank)) {
    views.push_back(filled<Right>(array.bounds(), formula));
  }
  return views;
}

/// Elements of a view that are not the formula's plus so much.
template <class View, class F>
Extent wrong_elements(const View& view, const ein::Box& box, const F& formula, double more) {
  Extent wrong = 0;
  for (Extent r = 0; r < box.extent(0); ++r) {
    for (Extent c = 0; c < box.extent(1); ++c) {
      wrong += view(r, c) == formula(box.lo[0] + r, box.lo[1] + c) + more ? 0 : 1;
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("tensors longer than a slab: generated, distributed, gathered, carried, in files") {
  const World world;
  Program program;
  const auto X = program.input<double>("X", {rows, columns});
  const auto Y = let<"Y">(i, j) = X(i, j) + 1.0;
  // Elements of equal rows, or equal pieces of them, would not show where they come from.
  const auto x = [](Extent r, Extent c) { return static_cast<double>(r * columns + c); };
  const ein::Box all{{0, 0}, {rows, columns}};
  const auto by_rows = ein::Distribution::rows({rows, columns}, world.size);
  const auto by_columns = ein::Distribution::columns({rows, columns}, world.size);
  const std::vector<Right> mine = arrays(by_rows, world.rank, x);
  const SharedPath file;
  for (const int workers : {1, world.size}) {
    CAPTURE(workers);
    const Plan plan = ein::decompose(
        program, {.workers = workers, .ranks = world.size, .carry = {{"Y", "X"}}, .max_idle = 0});
    ein::Executor executor(plan, MPI_COMM_WORLD, Space(), {.gpu_aware_mpi = false});
    const auto check = [&](const auto& run, double more) {
      CHECK(wrong_elements(on_host(run.gather(Y)), all, x, more) == 0);
      const std::vector<Right> got =
          arrays(by_columns, world.rank, [](Extent, Extent) { return 0.0; });
      run.redistribute(Y, by_columns, got);
      const auto where = by_columns.arrays(world.rank);
      for (std::size_t n = 0; n < got.size(); ++n) {
        CHECK(wrong_elements(on_host(got[n]), where[n].bounds(), x, more) == 0);
      }
    };
    const auto run = executor.run(ein::bind_generator(X, x));
    check(run, 1);
    check(executor.run(ein::bind(X, by_rows, mine)), 1);
    check(executor.run(run.carry()), 2);
    ein::save(run, Y, ein::NpyFile(file.path()));
    const ein::StoredTensor saved = ein::read_npy(file.path());
    const Kokkos::View<const double**, Kokkos::LayoutRight, Kokkos::HostSpace> elements(
        saved.elements<double>().data(), rows, columns);
    CHECK(wrong_elements(elements, all, x, 1) == 0);
    check(executor.run(ein::bind_file(X, ein::NpyFile(file.path()))), 2);
  }
}

TEST_CASE("messages under kernels pass through the host as well") {
  const World world;
  const Product product(301, 84, 47);
  ein::Executor executor(
      ein::decompose(product.program, {.workers = world.size, .steps = {{"C", "C", {{"j", 2}}}}}),
      MPI_COMM_WORLD, Space(), {.gpu_aware_mpi = false});
  for (int again = 0; again < 2; ++again) {
    const auto run = executor.run(ein::bind_generator(product.A, product.fa),
                                  ein::bind_generator(product.B, product.fb));
    CHECK(product.right(run));
  }
}
