// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How long ranks take for something that all of them do.
#pragma once

#include <mpi.h>

namespace eindecomp_benchmarks {

/// The slowest rank's seconds. Collective over MPI_COMM_WORLD.
template <class Work>
[[nodiscard]] double seconds_of_slowest(const Work& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  work();
  double taken = MPI_Wtime() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return taken;
}

}  // namespace eindecomp_benchmarks
