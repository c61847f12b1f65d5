// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The ways a local EinSum can be computed, by name.
#pragma once

#include <string_view>

namespace eindecomp::kernel {

/// Which code computes a kernel call. dispatch.hpp is the only place that
/// chooses one.
enum class Algorithm {
  none,    ///< the output has no elements
  direct,  ///< the generic kernel, each output's reduction in one piece
  split,   ///< the generic kernel, few long reductions cut into parts that are combined after
  copy,    ///< elements put elsewhere: a permutation, a diagonal, a broadcast
  gemm,  ///< matrix times matrix or vector by the BLAS where the tensors lie, once per batch entry
  blocks,  ///< blocks multiplied by the BLAS, transposed into a workspace where it needs that
  packed,  ///< products over any ⊗ and ⊕, packed and blocked for registers and caches
  tiled,   ///< the same on devices: tiles in the registers and the scratch of teams of threads
  scan,    ///< every output aggregates one element more than the one before it
  lookup,  ///< labels looked up in index tensors: gathers and scatters
};

/// Its name, as explain() has it.
[[nodiscard]] constexpr std::string_view to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::none:
      return "none";
    case Algorithm::direct:
      return "direct";
    case Algorithm::split:
      return "split";
    case Algorithm::copy:
      return "copy";
    case Algorithm::gemm:
      return "gemm";
    case Algorithm::blocks:
      return "blocks";
    case Algorithm::packed:
      return "packed";
    case Algorithm::tiled:
      return "tiled";
    case Algorithm::scan:
      return "scan";
    case Algorithm::lookup:
      return "lookup";
  }
  return "unknown";
}

}  // namespace eindecomp::kernel
