// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a program calls of kernels that are compiled apart from it (separate_kernels.hpp): nothing
/// here depends on the instructions that either may use.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/copy/schedule.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel {

/// The kernels of one signature, all of them compiled for the same instructions: what one says of a
/// shape, such as its workspace, holds for the others and for no kernels compiled elsewhere.
template <class Space, class Join, class Monoid, class... Ts>
struct CompiledKernels {
  /// What ⊗ gives.
  using Value = typename Signature<Join, Monoid, Ts...>::Value;

  /// As Launcher::prepare.
  std::unique_ptr<const PreparedKernel<Space>> (*prepare)(const Space&, const LocalEinsum&, Join,
                                                          Monoid, Write) = nullptr;
  /// The same run once, in the workspace that is given or else one of its own.
  void (*run)(const Space&, const LocalEinsum&, Join, Monoid, const void* const*, void*,
              Write) = nullptr;
  /// output = beta·output + Σ ⊗(operands), once. Null but for sums of products with a factor.
  void (*run_scaled)(const Space&, const LocalEinsum&, Join, Value beta, const void* const*,
                     void*) = nullptr;
  /// The launcher that holds ⊗ and ⊕.
  std::shared_ptr<const Launcher<Space>> (*make_launcher)(Join, Monoid) = nullptr;

  /// Defined where they are compiled.
  [[nodiscard]] static const CompiledKernels& get();
};

/// Whether there are such kernels of a signature, and it need not be compiled where it is used.
template <class Space, class Join, class Monoid, class... Ts>
inline constexpr bool is_compiled = false;

namespace detail {

/// What the compiled kernels in use are compiled for: of several sets (separate/kernel_sets.hpp)
/// the name of the one that was chosen, else the instruction set.
[[nodiscard]] std::string_view kernels_in_use();

/// copy_nest() on the default host space. Defined where the kernels are compiled.
void copy_nest_compiled(const Kokkos::DefaultHostExecutionSpace& space, const char* label,
                        const CopyNest& nest, std::int64_t element_bytes, StorePolicy policy,
                        void* into, const void* from);

}  // namespace detail
}  // namespace eindecomp::kernel
