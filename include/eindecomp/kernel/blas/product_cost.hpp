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
  // Tiles are computed whole. Small matrices are multiplied where they lie; of others both operands
  // are put in order, and the output is read and written once every few hundred terms.
  using namespace tuning;
  const bool small = m * n * k <= small_gemm;
  const double rows = std::max(m, gemm_tile_rows);
  const double columns = std::max(n, gemm_tile_columns);
  const double multiply = rows * columns * (small ? small_gemm_time * k : k + gemm_tile_terms) *
                          element_bytes / rates.gemm_bytes;
  const double moved = small ? m * n : m * k + k * n + m * n * (1 + k / gemm_terms);
  return multiply + moved * element_bytes / rates.cached_bytes + rates.call_seconds;
}

/// Seconds to bring elements that lie in runs from memory.
[[nodiscard]] constexpr double read_seconds(const MachineRates& rates, double elements,
                                            double element_bytes, double run) {
  // All of a line of memory is read, used or not.
  const double lines = element_bytes + tuning::line_bytes / run;
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
  const double lines = element_bytes + tuning::line_bytes / run;
  return elements *
         (lines / rates.memory_bytes + rates.run_seconds / tuning::overlapped_waits / run);
}

/// Seconds to write whole lines by non-temporal stores.
[[nodiscard]] constexpr double stream_seconds(const MachineRates& rates, double elements,
                                              double element_bytes, double run) {
  return elements * (element_bytes + tuning::line_bytes / run) / rates.memory_bytes;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
