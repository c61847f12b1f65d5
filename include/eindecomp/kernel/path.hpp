// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The ways a local EinSum can be computed, by name.
#pragma once

#include <string_view>

namespace eindecomp::kernel {

/// Which code computes a kernel call. dispatch.hpp is the only place that
/// chooses one.
enum class Path {
  none,    ///< the output has no elements
  direct,  ///< the generic kernel, each output's reduction in one piece
  split,   ///< the generic kernel, few long reductions cut into parts that are combined after
  gemm,    ///< matrix times matrix by the BLAS, once per batch entry
};

[[nodiscard]] constexpr std::string_view to_string(Path path) {
  switch (path) {
    case Path::none:
      return "none";
    case Path::direct:
      return "direct";
    case Path::split:
      return "split";
    case Path::gemm:
      return "gemm";
  }
  return "unknown";
}

}  // namespace eindecomp::kernel
