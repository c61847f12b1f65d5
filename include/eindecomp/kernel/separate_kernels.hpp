// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The kernels of the usual signatures (usual_kernels.hpp), compiled once for a program of many
/// translation units. The program defines EINDECOMP_SEPARATE_KERNELS in all of them, and one of
/// them includes this header, which no other may. Other signatures are compiled where they are
/// used, as ever.
#pragma once

#ifndef EINDECOMP_SEPARATE_KERNELS
#define EINDECOMP_SEPARATE_KERNELS
#endif

#include "eindecomp/kernel/dispatch.hpp"
#include "eindecomp/kernel/launcher.hpp"
#include "eindecomp/kernel/usual_kernels.hpp"

namespace eindecomp::kernel {
namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

template <class Join, class Monoid>
inline constexpr bool is_scaled_sum = false;
template <class T>
inline constexpr bool is_scaled_sum<ScaledMul<T>, Sum> = true;

template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr CompiledKernels<Space, Join, Monoid, Ts...> list_kernels() {
  CompiledKernels<Space, Join, Monoid, Ts...> kernels;
  kernels.path_of = path_here<Space, Join, Monoid, Ts...>;
  kernels.workspace_of = workspace_here<Space, Join, Monoid, Ts...>;
  kernels.run_join = join_here<Space, Join, Monoid, Ts...>;
  if constexpr (is_scaled_sum<Join, Monoid>) {
    kernels.run_scaled = scaled_here<Space, typename Signature<Join, Monoid, Ts...>::Value, Ts...>;
  }
  kernels.make_launcher = launcher_here<Space, Join, Monoid, Ts...>;
  return kernels;
}

}  // namespace EINDECOMP_INSTRUCTION_SET

void copy_nest_compiled(const Kokkos::DefaultHostExecutionSpace& space, const char* label,
                        const CopyNest& nest, std::int64_t element_bytes, Target target, void* into,
                        const void* from) {
  copy_nest_here(space, label, nest, element_bytes, target, into, from);
}

}  // namespace detail

template <class Space, class Join, class Monoid, class... Ts>
const CompiledKernels<Space, Join, Monoid, Ts...>&
CompiledKernels<Space, Join, Monoid, Ts...>::get() {
  static constexpr CompiledKernels kernels = detail::list_kernels<Space, Join, Monoid, Ts...>();
  return kernels;
}

EINDECOMP_USUAL_KERNELS()

}  // namespace eindecomp::kernel
