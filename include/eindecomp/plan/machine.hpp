// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A described cluster, for predicting times and for limits of memory:
///
///     const Machine cluster{.operations_per_second = 5e12,
///                           .memory = 16'000'000'000,
///                           .axes = {{.size = 4, .latency = 5e-6, .bandwidth = 25e9},
///                                    {.size = 8, .latency = 1e-6, .bandwidth = 300e9}}};
///     simulate(plan, cluster);                                              // simulate.hpp
///     decompose(g, {.workers = 32, .objective = Objective::time, .machine = cluster});
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <source_location>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"

namespace eindecomp {

/// One level of a cluster, such as its nodes or the devices of a node, and the links between them.
struct MachineAxis {
  int size = 1;          ///< how many there are at this level, in each one of the level above
  double latency = 0;    ///< seconds that a message takes beside those for its bytes
  double bandwidth = 0;  ///< bytes per second that a worker sends, and receives at the same time
  constexpr bool operator==(const MachineAxis&) const = default;
};

/// A cluster of equal workers. Worker w has the mixed-radix digits of w as its coordinates along
/// the axes, axis 0 the most significant, as on the mesh of a plan: neighbours are joined by the
/// fastest links. Rank r of a plan runs on worker r.
struct Machine {
  /// Of each worker. One join with its aggregation, such as a multiplication and an addition, is
  /// one operation.
  double operations_per_second = 0;
  /// Bytes of tensors that each worker can hold; 0: as many as there are.
  std::int64_t memory = 0;
  /// Bytes per second that each worker's kernels read and write; 0: never what they wait for.
  double memory_bandwidth = 0;
  /// The slowest link first; none of a single worker.
  std::vector<MachineAxis> axes = {};

  constexpr bool operator==(const Machine&) const = default;

  /// Whether anything is said of it.
  [[nodiscard]] constexpr bool described() const { return *this != Machine{}; }

  /// How many workers the axes have together: the product of their sizes.
  [[nodiscard]] constexpr int workers() const {
    int workers = 1;
    for (const MachineAxis& axis : axes) workers *= axis.size;
    return workers;
  }

  /// The axis whose links join two different workers: the first along which they differ.
  [[nodiscard]] constexpr const MachineAxis& between(int one, int other) const {
    int stride = workers();
    for (const MachineAxis& axis : axes) {
      stride /= axis.size;
      if (one / stride != other / stride) return axis;
    }
    return axes.back();
  }
};

namespace plan {

/// Whether a number is finite and not negative; NaN is not.
[[nodiscard]] constexpr bool is_amount(double value) {
  return value >= 0 && value <= std::numeric_limits<double>::max();
}

/// \throws Error if a limit of memory is negative. \param holder  whose it is, as `worker`.
constexpr void check_memory_limit(std::int64_t bytes, const char* holder,
                                  const std::source_location& where) {
  if (bytes >= 0) return;
  core::fail(ErrorKind::plan, where, "a ", holder, " that may hold ", bytes,
             " bytes (memory is not negative); give bytes, or 0 for no limit");
}

}  // namespace plan

/// Checks the description of a cluster.
/// \throws Error if a rate, a size or a bandwidth is not positive, a latency or the memory is
///   negative, a number is not finite, or there are more workers than an int counts; it names the
///   axis.
constexpr void check_machine(const Machine& machine,
                             const std::source_location& where = std::source_location::current()) {
  using core::fail;
  using core::to_text;
  using plan::is_amount;
  if (!is_amount(machine.operations_per_second) || machine.operations_per_second == 0) {
    fail(ErrorKind::plan, where,
         "a machine whose workers do no operations (operations_per_second is a positive, finite "
         "number); give how many joins with their aggregation a worker does in a second");
  }
  plan::check_memory_limit(machine.memory, "worker of a machine", where);
  if (!is_amount(machine.memory_bandwidth)) {
    fail(ErrorKind::plan, where,
         "a machine whose memory has no bandwidth (memory_bandwidth is a finite number, not "
         "negative); give bytes per second, or 0 if kernels never wait for memory");
  }
  int workers = 1;
  for (std::size_t a = 0; a < machine.axes.size(); ++a) {
    const MachineAxis& axis = machine.axes[a];
    const Text name = "axis " + to_text(static_cast<long long>(a)) + " of a machine ";
    if (axis.size < 1) {
      fail(ErrorKind::plan, where, name, "has size ", axis.size,
           " (there is at least one at every level); give a positive size");
    }
    if (workers > std::numeric_limits<int>::max() / axis.size) {
      fail(ErrorKind::plan, where, name,
           "makes it a machine of too many workers (an int counts them); give smaller axes");
    }
    workers *= axis.size;
    if (!is_amount(axis.latency)) {
      fail(ErrorKind::plan, where, name,
           "has no latency (it is a finite number of seconds, not negative); give seconds");
    }
    if (!is_amount(axis.bandwidth) || axis.bandwidth == 0) {
      fail(ErrorKind::plan, where, name,
           "has no bandwidth (it is a positive, finite number); give bytes per second");
    }
  }
}

namespace plan {

/// \throws Error as check_machine, or if the machine has fewer workers than there are ranks.
constexpr void check_machine_for(const Machine& machine, int ranks,
                                 const std::source_location& where) {
  check_machine(machine, where);
  if (machine.workers() >= ranks) return;
  core::fail(
      ErrorKind::plan, where, "a plan for ", ranks, " ranks on a machine of ", machine.workers(),
      " workers (each rank runs on a worker of its own); plan for fewer ranks, or describe a "
      "larger machine");
}

}  // namespace plan
}  // namespace eindecomp
