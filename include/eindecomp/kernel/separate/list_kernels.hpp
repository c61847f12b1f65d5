// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The kernels of a signature as this translation unit compiles them, for others to call.
#pragma once

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/compiled_kernels.hpp"
#include "eindecomp/kernel/dispatch.hpp"
#include "eindecomp/kernel/launcher.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

template <class Join, class Monoid>
inline constexpr bool is_scaled_sum = false;
template <class T>
inline constexpr bool is_scaled_sum<ScaledMul<T>, Sum> = true;

template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr CompiledKernels<Space, Join, Monoid, Ts...> list_kernels() {
  CompiledKernels<Space, Join, Monoid, Ts...> kernels;
  using Here = KernelsHere<Space, Join, Monoid, Ts...>;
  kernels.prepare = Here::prepare;
  kernels.run = Here::run;
  if constexpr (is_scaled_sum<Join, Monoid>) kernels.run_scaled = Here::run_scaled;
  kernels.make_launcher = launcher_here<Space, Join, Monoid, Ts...>;
  return kernels;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
