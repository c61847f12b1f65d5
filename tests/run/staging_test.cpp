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

#include "run/programs.hpp"

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
