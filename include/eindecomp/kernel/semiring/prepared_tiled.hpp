// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The tiled algorithm: on devices, products of two operands over any ⊗ and ⊕ that no BLAS serves,
/// from and to tensors of any strides, by teams of threads.
#pragma once

#include <limits>
#include <string>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic/join_schedule.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/semiring/packed_shape.hpp"
#include "eindecomp/kernel/semiring/tiled_kernel.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether the tiled algorithm computes a signature: two operands, and an aggregation whose
/// accumulators fit in registers.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool tiles() {
  if constexpr (sizeof...(Ts) == 2) {
    using Sig = Signature<Join, Monoid, Ts...>;
    return !Sig::elementwise && sizeof(typename Sig::State) <= 16 && ((sizeof(Ts) <= 16) && ...);
  } else {
    return false;
  }
}

/// Whether dispatch may take the tiled algorithm for a signature on a space.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool has_tiled() {
  return compat::is_device<Space> && tiles<Join, Monoid, Ts...>();
}

/// Whether the tiled algorithm is the better one for a product: each element is read by many joins,
/// and there is work for many teams.
[[nodiscard]] constexpr bool worth_tiling(const PackedShape& product) {
  if (product.rows < tuning::min_tiled_rows || product.columns < tuning::min_tiled_columns ||
      product.steps < tuning::min_tiled_steps) {
    return false;
  }
  const Extent outputs = product.entries * product.rows * product.columns;
  // Few long reductions are cut into parts instead. Leagues are counted in int.
  return outputs > JoinTuning::device().split_outputs &&
         outputs / tuning::min_tiled_rows / tuning::min_tiled_columns <=
             std::numeric_limits<int>::max();
}

/// A product of two operands on the tiled algorithm, with teams of ThreadRows x ThreadColumns
/// threads, on any space that has teams so large. Kokkos keeps the scratch of its teams.
template <int ThreadRows, int ThreadColumns, class Space, class Join, class Monoid, class A,
          class B>
class PreparedTiled final : public PreparedKernel<Space> {
 public:
  /// \param refusal  why the BLAS does not compute it, null if it could not compute any such.
  PreparedTiled(const LocalEinsum& shape, const PackedShape& product, const Join& join,
                const Monoid& monoid, Write write, const char* refusal)
      : m_kernel(shape, product, join, {monoid, nullptr, write}), m_refusal(refusal) {}

  [[nodiscard]] Algorithm algorithm() const override { return Algorithm::tiled; }
  [[nodiscard]] std::string explain(const void* const*, const void*) const override {
    return describe(m_kernel.shape, Algorithm::tiled, m_refusal);
  }
  void run(const Space& space, const void* const* operands, void* output,
           unsigned char*) const override {
    if (m_kernel.shape.empty()) return;
    Kernel kernel = m_kernel;
    kernel.a = static_cast<const A*>(operands[0]);
    kernel.b = static_cast<const B*>(operands[1]);
    kernel.store.output = output;
    using Policy =
        Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<Kernel::threads, Kernel::resident_teams>>;
    Policy policy(space, static_cast<int>(kernel.teams()), Kernel::threads);
    policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes()));
    Kokkos::parallel_for("EinDecomp::tiled", compat::as_argument(policy), kernel);
  }

 private:
  using Kernel = TiledKernel<ThreadRows, ThreadColumns, Join, Monoid, A, B>;

  Kernel m_kernel;  ///< without the tensors
  const char* m_refusal;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
