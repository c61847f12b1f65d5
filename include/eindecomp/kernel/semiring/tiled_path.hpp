// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The tiled path: on devices, products of two operands over any ⊗ and ⊕ that no BLAS serves, from
/// and to tensors of any strides, by teams of threads.
#pragma once

#include <limits>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic/join_schedule.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/semiring/packed_shape.hpp"
#include "eindecomp/kernel/semiring/tiled_kernel.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether the tiled path computes a signature: two operands, and an aggregation whose accumulators
/// fit in registers.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool tiles() {
  if constexpr (sizeof...(Ts) == 2) {
    using Sig = Signature<Join, Monoid, Ts...>;
    return !Sig::elementwise && sizeof(typename Sig::State) <= 16 && ((sizeof(Ts) <= 16) && ...);
  } else {
    return false;
  }
}

/// Whether dispatch may take the tiled path for a signature on a space.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool has_tiled() {
  return compat::is_device<Space> && tiles<Join, Monoid, Ts...>();
}

/// The grid of threads of a team on a device.
inline constexpr int device_team_rows = 16;
inline constexpr int device_team_columns = 16;

// Below these the generic path keeps more threads busy.
inline constexpr Extent least_tiled_rows = 16;
inline constexpr Extent least_tiled_columns = 16;
inline constexpr Extent least_tiled_steps = 8;

/// Whether the tiled path is the better one for a product: each element is read by many joins, and
/// there is work for many teams.
[[nodiscard]] constexpr bool worth_tiling(const PackedShape& product) {
  if (product.rows < least_tiled_rows || product.columns < least_tiled_columns ||
      product.steps < least_tiled_steps) {
    return false;
  }
  const Extent outputs = product.entries * product.rows * product.columns;
  // Few long reductions are cut into parts instead. Leagues are counted in int.
  return outputs > JoinTuning::device().split_outputs &&
         outputs / least_tiled_rows / least_tiled_columns <= std::numeric_limits<int>::max();
}

/// Runs a product on the tiled path, with teams of ThreadRows x ThreadColumns threads, on any space
/// that has teams so large. Launches on `space` and does not fence. Allocates nothing; Kokkos keeps
/// the scratch of its teams.
template <int ThreadRows, int ThreadColumns, class Space, class Join, class Monoid, class A,
          class B>
void run_tiled(const Space& space, const LocalEinsum& shape, const PackedShape& product,
               const Join& join, const Monoid& monoid, const void* const* operands, void* output,
               Write write) {
  using Kernel = TiledKernel<ThreadRows, ThreadColumns, Join, Monoid, A, B>;
  if (product.empty()) return;
  const Kernel kernel(shape, product, join, {monoid, output, write}, operands);
  using Policy =
      Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<Kernel::threads, Kernel::resident_teams>>;
  Policy policy(space, static_cast<int>(kernel.teams()), Kernel::threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes()));
  Kokkos::parallel_for("EinDecomp::tiled", compat::as_argument(policy), kernel);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
