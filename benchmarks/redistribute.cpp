// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A square matrix from a block-cyclic distribution to rows, beside ScaLAPACK's pdgemr2d where that
// is found: by turns, the fastest of each. Run under mpirun; the grid is as square as the ranks
// allow.

#include <fmt/core.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <eindecomp/run/guard.hpp>
#include <eindecomp/run/redistribute.hpp>
#include <exception>
#include <vector>

namespace ein = eindecomp;

#ifdef EINDECOMP_BENCHMARK_SCALAPACK
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int m, int n, double* a, int ia, int ja, int* desca, double* b, int ib, int jb,
               int* descb, int context);
}
#endif

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;

struct Options {
  int extent = 8192;
  int block = 128;
  int runs = 7;
};

/// A whole number, the same however the compiler rounds: compared bit for bit.
double element(ein::Extent row, ein::Extent column) {
  return static_cast<double>(row * 1000003 + column);
}

/// Whether this rank's array of rows is right.
bool right(const Matrix& rows, const ein::LocalArray& array) {
  const ein::Box box = array.bounds();
  bool all = true;
  for (ein::Extent j = 0; j < box.extent(1); ++j) {
    for (ein::Extent i = 0; i < box.extent(0); ++i) {
      all = all && rows(i, j) == element(box.lo[0] + i, box.lo[1] + j);
    }
  }
  return all;
}

template <class Work>
double seconds(const Work& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  work();
  MPI_Barrier(MPI_COMM_WORLD);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void measure(const Options& options) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int grid[2] = {0, 0};
  MPI_Dims_create(ranks, 2, grid);
  const int n = options.extent;
  const int nb = options.block;
  const ein::ProcessGrid cyclic_grid{grid[0], grid[1]};
  const int row_block = static_cast<int>(ein::ceil_div(n, ranks));
  ein::ScalapackDescriptor cyclic{1, 0, n, n, nb, nb, 0, 0, n};
  ein::ScalapackDescriptor by_rows{1, 0, n, n, row_block, n, 0, 0, n};
  const ein::Distribution from = ein::Distribution::scalapack(cyclic, cyclic_grid, ranks);
  const ein::Distribution to = ein::Distribution::scalapack(by_rows, {ranks, 1}, ranks);
  const auto view_of = [&](const ein::Distribution& distribution) {
    if (distribution.arrays(rank).empty()) return Matrix("none", 0, 0);
    const std::vector<ein::Extent> e = distribution.arrays(rank)[0].extents();
    return Matrix("matrix", e[0], e[1]);
  };
  const Matrix old = view_of(from);
  const Matrix fresh = view_of(to);
  if (!from.arrays(rank).empty()) {
    const ein::LocalArray& array = from.arrays(rank)[0];
    for (std::size_t j = 0; j < old.extent(1); ++j) {
      for (std::size_t i = 0; i < old.extent(0); ++i) {
        const auto global = [&](const ein::IndexBlocks& set, std::size_t at) {
          const auto index = static_cast<ein::Extent>(at);
          return set.is_interval() ? set.first + index
                                   : set.first + index / set.block * set.period + index % set.block;
        };
        old(i, j) = element(global(array.indices[0], i), global(array.indices[1], j));
      }
    }
  }
  ein::Redistributor redistributor(MPI_COMM_WORLD, Space(), from, to);
#ifdef EINDECOMP_BENCHMARK_SCALAPACK
  const Matrix theirs = view_of(to);
  int context[3] = {0, 0, 0};
  for (int& c : context) Cblacs_get(-1, 0, &c);
  Cblacs_gridinit(&context[0], "R", grid[0], grid[1]);
  Cblacs_gridinit(&context[1], "R", ranks, 1);
  Cblacs_gridinit(&context[2], "R", 1, ranks);
  cyclic[1] = context[0];
  cyclic[8] = static_cast<int>(std::max<std::size_t>(old.extent(0), 1));
  by_rows[1] = context[1];
  by_rows[8] = static_cast<int>(std::max<std::size_t>(theirs.extent(0), 1));
#endif
  double ours = 0;
  double pdgemr2d = 0;
  ein::RedistributionStatistics moved;
  for (int run = 0; run < options.runs; ++run) {
    const double t = seconds([&] { moved = redistributor.run(old, fresh); });
    ours = run == 0 ? t : std::min(ours, t);
#ifdef EINDECOMP_BENCHMARK_SCALAPACK
    const double u = seconds([&] {
      Cpdgemr2d(n, n, old.data(), 1, 1, cyclic.data(), theirs.data(), 1, 1, by_rows.data(),
                context[2]);
    });
    pdgemr2d = run == 0 ? u : std::min(pdgemr2d, u);
#endif
  }
  const auto checked = [&](const Matrix& rows, const char* whose) {
    int good = to.arrays(rank).empty() || right(rows, to.arrays(rank)[0]) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (good == 0 && rank == 0) fmt::print("the result of {} is WRONG\n", whose);
  };
  checked(fresh, "redistribute");
#ifdef EINDECOMP_BENCHMARK_SCALAPACK
  checked(theirs, "pdgemr2d");
  for (int c : context) Cblacs_gridexit(c);
#endif
  ein::Extent least = ein::redistributed_words(from, to)[static_cast<std::size_t>(rank)];
  int counted = least == moved.words_received ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &counted, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank != 0) return;
  fmt::print("{0} x {0}, blocks of {1} on {2} x {3} to rows on {4}: {5} words, {6}\n", n, nb,
             grid[0], grid[1], ranks, least, counted == 1 ? "the least" : "MORE THAN THE LEAST");
  fmt::print("  redistribute {:8.1f} ms\n", ours * 1e3);
  if (pdgemr2d > 0) {
    fmt::print("  pdgemr2d     {:8.1f} ms, {:.2f} x\n", pdgemr2d * 1e3, pdgemr2d / ours);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const ein::ScopedRuntime runtime(argc, argv);
  CLI::App app{"Redistribution of a matrix beside ScaLAPACK's."};
  Options options;
  app.add_option("--extent", options.extent, "rows and columns")->check(CLI::PositiveNumber);
  app.add_option("--block", options.block, "of the block-cyclic distribution")
      ->check(CLI::PositiveNumber);
  app.add_option("--runs", options.runs, "the fastest of so many")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  measure(options);
  return 0;
}
