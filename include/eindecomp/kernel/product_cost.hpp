// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a product costs by each way of computing it: the figures that dispatch chooses by.
#pragma once

#include <algorithm>
#include <cstdint>

#include "eindecomp/core/types.hpp"

namespace eindecomp::kernel {

/// Rates of a machine, as far as the choice between ways depends on them: only their ratios do.
/// Given, not measured: measured ones would let two runs of a program choose differently, and so
/// round differently.
struct MachineRates {
  double gemm_bytes =
      360e9;  ///< multiplications by the BLAS, times the bytes of an element, a second
  double pack_bytes = 12e9;      ///< bytes the BLAS puts in order for itself, a second
  double copy_bytes = 9e9;       ///< bytes copied, read and written, a second, from and to memory
  double cached_bytes = 16e9;    ///< the same where the target stays in cache
  double call_seconds = 0.4e-6;  ///< of a call of the BLAS that does nothing
  std::int64_t cache_bytes =
      512 << 10;  ///< what a block's tiles may take up to stay in a core's own cache
  std::int64_t workspace_bytes = 64 << 20;  ///< what all threads' tiles may take up together
};

/// The rates that dispatch uses.
inline constexpr MachineRates machine_rates{};

namespace detail {

/// Seconds of one product of matrices by the BLAS, wherever they lie.
[[nodiscard]] constexpr double gemm_seconds(const MachineRates& rates, double m, double n, double k,
                                            double element_bytes) {
  // The BLAS computes tiles of some 16 × 8 elements whole, packs both operands, and reads and
  // writes the output once every few hundred terms.
  const double rows = std::max(m, 16.0);
  const double columns = std::max(n, 4.0);
  const double multiply = rows * columns * (k + 8) * element_bytes / rates.gemm_bytes;
  const double packed = (m * k + k * n + m * n * (1 + k / 384)) * element_bytes;
  return multiply + packed / rates.pack_bytes + rates.call_seconds;
}

/// Seconds to copy elements whose runs in memory have a length.
[[nodiscard]] constexpr double copy_seconds(double bytes_per_second, double elements,
                                            double element_bytes, double run) {
  // A line of memory has 64 bytes, used or not, and the first of a run is waited for.
  const double waste = 64 / (element_bytes * run);
  return elements * element_bytes * (2 + waste) / bytes_per_second;
}

}  // namespace detail
}  // namespace eindecomp::kernel
