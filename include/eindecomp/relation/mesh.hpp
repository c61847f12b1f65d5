// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The mesh of workers: its axes, its coordinates, and the ranks that host the workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <string>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/layout.hpp"

namespace eindecomp {

/// The mesh of p workers whose axes are the prime factors of p, smallest first; of one worker, no
/// axes.
/// \throws Error if p is not positive.
[[nodiscard]] constexpr Mesh make_mesh(
    int p, const std::source_location& where = std::source_location::current()) {
  if (p < 1) {
    core::fail(ErrorKind::plan, where, "a plan for ", p,
               " workers (there must be at least one); give a positive number of workers");
  }
  Mesh mesh;
  for (int factor = 2; factor <= p / factor; ++factor) {
    for (; p % factor == 0; p /= factor) mesh.axes.push_back(factor);
  }
  if (p > 1) mesh.axes.push_back(p);
  return mesh;
}

/// The same for workers on so many ranks. Where all host as many, axes among ranks come first and
/// those within one last: a label may then be cut among ranks alone, or within them alone.
/// \throws Error if p is not positive.
[[nodiscard]] constexpr Mesh make_mesh(
    int p, int ranks, const std::source_location& where = std::source_location::current()) {
  if (ranks < 1 || ranks >= p || p % ranks != 0) return make_mesh(p, where);
  Mesh mesh = make_mesh(ranks, where);
  for (const int factor : make_mesh(p / ranks, where).axes) mesh.axes.push_back(factor);
  return mesh;
}

namespace relation {

/// The difference between the numbers of two workers whose coordinates differ by one along an axis
/// only, for every axis.
[[nodiscard]] constexpr std::vector<int> axis_strides(const Mesh& mesh) {
  std::vector<int> strides(mesh.axes.size(), 1);
  for (std::size_t a = mesh.axes.size(); a-- > 1;) strides[a - 1] = strides[a] * mesh.axes[a];
  return strides;
}

}  // namespace relation

/// The coordinates of a worker along the axes of its mesh: 0 <= worker < mesh.workers().
[[nodiscard]] constexpr std::vector<int> coordinates(const Mesh& mesh, int worker) {
  std::vector<int> at(mesh.axes.size(), 0);
  for (std::size_t a = mesh.axes.size(); a-- > 0;) {
    at[a] = worker % mesh.axes[a];
    worker /= mesh.axes[a];
  }
  return at;
}

namespace relation {

/// The worker at these coordinates, one per axis of the mesh.
[[nodiscard]] constexpr int worker_at(const Mesh& mesh, const std::vector<int>& at) {
  int worker = 0;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) worker = worker * mesh.axes[a] + at[a];
  return worker;
}

}  // namespace relation

/// The rank that hosts a worker. Neighbouring workers share a rank where there are fewer ranks than
/// workers; where there are more, ranks >= workers host none.
[[nodiscard]] constexpr int rank_of(int worker, int workers, int ranks) {
  if (ranks >= workers) return worker;
  return static_cast<int>(static_cast<Extent>(worker) * ranks / workers);
}

/// The workers first <= w < last.
struct WorkerRange {
  int first = 0;  ///< in the range, if it has any
  int last = 0;   ///< one past the range
  constexpr bool operator==(const WorkerRange&) const = default;
};

/// The workers that a rank hosts, possibly none.
[[nodiscard]] constexpr WorkerRange workers_of(int rank, int workers, int ranks) {
  if (ranks >= workers) return {std::min(rank, workers), std::min(rank + 1, workers)};
  const auto first = [=](int r) {
    return static_cast<int>(ceil_div(static_cast<Extent>(r) * workers, ranks));
  };
  return {first(rank), first(rank + 1)};
}

namespace relation {

/// \throws Error unless there is a rank to run on.
constexpr void check_ranks(int ranks, const std::source_location& where) {
  if (ranks < 1) {
    core::fail(ErrorKind::plan, where, "instructions for ", ranks,
               " ranks (there must be at least one); give the size of the communicator");
  }
}

}  // namespace relation
}  // namespace eindecomp
