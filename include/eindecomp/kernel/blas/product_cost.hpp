// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a product costs by each way of computing it: the figures that dispatch chooses by.
#pragma once

#include <algorithm>
#include <cstdint>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"

namespace eindecomp::kernel {

/// Rates of a machine, as far as the choice between ways depends on them, which is on their ratios.
/// Given, not measured: measured ones would let two runs of a program choose differently, and so
/// round differently.
struct MachineRates {
  double gemm_bytes = 340e9;   ///< multiplications a second by the BLAS, times bytes of an element
  double memory_bytes = 20e9;  ///< bytes read from memory, or written past the caches, a second
  double cached_bytes = 30e9;  ///< bytes moved within the caches, a second
  double run_seconds = 25e-9;  ///< wait for the first line of a run of neighbouring elements
  double call_seconds = 0.4e-6;  ///< of a call of the BLAS that does nothing
  double share_seconds = 5e-6;   ///< more for a call that it shares out among threads
  /// Multiplications from which on it does: OpenBLAS' figure.
  double least_shared = 4 * 65536;
  /// Terms below which its threads wait for each other for as long as they compute.
  Extent least_shared_k = 50;
  /// What the tiles of a block may take up to stay in a core's own cache.
  std::int64_t cache_bytes = 512 << 10;
  /// What the tiles of all threads may take up together: less than the 32 MiB from which on glibc
  /// returns memory at once, so that every call would touch new pages.
  std::int64_t workspace_bytes = 28 << 20;
};

/// The rates that dispatch uses.
inline constexpr MachineRates machine_rates{};

namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Seconds of one product of matrices that are in cache, by the BLAS.
[[nodiscard]] constexpr double gemm_seconds(const MachineRates& rates, double m, double n, double k,
                                            double element_bytes) {
  // Tiles of some 16 × 4 elements are computed whole. Small matrices are multiplied where they lie;
  // of others both operands are put in order, and the output is read and written once every few
  // hundred terms.
  const bool small = m * n * k <= 1e6;
  const double rows = std::max(m, 16.0);
  const double columns = std::max(n, 4.0);
  const double multiply =
      rows * columns * (small ? 1.1 * k : k + 8) * element_bytes / rates.gemm_bytes;
  const double moved = small ? m * n : m * k + k * n + m * n * (1 + k / 384);
  return multiply + moved * element_bytes / rates.cached_bytes + rates.call_seconds;
}

/// Seconds to bring elements that lie in runs from memory.
[[nodiscard]] constexpr double read_seconds(const MachineRates& rates, double elements,
                                            double element_bytes, double run) {
  // Of a line of memory of 64 bytes all is read, used or not.
  const double lines = element_bytes + 64 / run;
  return elements * (lines / rates.memory_bytes + rates.run_seconds / run);
}

/// Seconds to write runs of elements where they lie, which reads their lines first.
[[nodiscard]] constexpr double write_seconds(const MachineRates& rates, double elements,
                                             double element_bytes, double run) {
  return 2 * read_seconds(rates, elements, element_bytes, run);
}

/// The same for what the BLAS reads where it lies, while it computes.
[[nodiscard]] constexpr double overlapped_seconds(const MachineRates& rates, double elements,
                                                  double element_bytes, double run) {
  const double lines = element_bytes + 64 / run;
  return elements * (lines / rates.memory_bytes + rates.run_seconds / 3 / run);
}

/// Seconds to write whole lines past the caches.
[[nodiscard]] constexpr double stream_seconds(const MachineRates& rates, double elements,
                                              double element_bytes, double run) {
  return elements * (element_bytes + 64 / run) / rates.memory_bytes;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace detail
}  // namespace eindecomp::kernel
