// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a product costs by each way of computing it: what dispatch chooses by.
#pragma once

#include <algorithm>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
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

/// Seconds to write whole lines by non-temporal stores.
[[nodiscard]] constexpr double stream_seconds(const MachineRates& rates, double elements,
                                              double element_bytes, double run) {
  return elements * (element_bytes + 64 / run) / rates.memory_bytes;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
