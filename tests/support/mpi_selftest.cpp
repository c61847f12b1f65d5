// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Does a failure on one rank fail the whole program? The test cases that fail on purpose are
// skipped unless asked for by name; tests/support/CMakeLists.txt does, and expects them to fail.

#define OMPI_SKIP_MPICXX 1
#include <doctest/doctest.h>
#include <mpi.h>

#include <stdexcept>

namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace

TEST_CASE("every rank takes part") {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int sum = world_rank();
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == ranks * (ranks - 1) / 2);
}

TEST_CASE("check" * doctest::skip()) {
  CHECK_MESSAGE(world_rank() != 1, "rank one fails by check");
}

TEST_CASE("require" * doctest::skip()) {
  REQUIRE_MESSAGE(world_rank() != 1, "rank one fails by require");
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("throw" * doctest::skip()) {
  if (world_rank() == 1) throw std::runtime_error("rank one fails by throw");
  MPI_Barrier(MPI_COMM_WORLD);
}
