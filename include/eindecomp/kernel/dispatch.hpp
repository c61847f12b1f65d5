// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The one place that decides which code computes a kernel call.
#pragma once

#include <optional>

#include "eindecomp/kernel/gemm_path.hpp"
#include "eindecomp/kernel/join_kernel.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/path.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel {

/// The code that run_join takes for a shape.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] Path path_of(const LocalEinsum& shape) {
  if constexpr (detail::has_gemm<Space, Join, Monoid, Ts...>()) {
    if (detail::worthwhile_gemm(shape)) return Path::gemm;
  }
  constexpr int operands = static_cast<int>(sizeof...(Ts));
  return detail::JoinSchedule<operands>(shape, detail::join_tuning<Space>()).path();
}

/// output = ⊕ ⊗(operands), as Launcher::join. Launches on `space` and does not fence.
template <class Space, class Join, class Monoid, class... Ts>
void run_join(const Space& space, const LocalEinsum& shape, Join join, Monoid monoid,
              const void* const* operands, void* output, Write write) {
  if constexpr (detail::has_gemm<Space, Join, Monoid, Ts...>()) {
    using Value = typename Signature<Join, Monoid, Ts...>::Value;
    if (const auto gemm = detail::worthwhile_gemm(shape)) {
      detail::run_gemm<Value>(space, *gemm, detail::product_factor<Value>(join), operands, output,
                              write == Write::accumulate);
      return;
    }
  }
  detail::run_generic<Space, Join, Monoid, Ts...>(space, shape, join, monoid, operands, output,
                                                  write);
}

}  // namespace eindecomp::kernel
