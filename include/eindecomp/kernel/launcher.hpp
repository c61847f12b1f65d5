// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The kernels of one operator signature: behind the type-erased Launcher, and without one.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/make_as.hpp"
#include "eindecomp/kernel/algorithm.hpp"
#include "eindecomp/kernel/compiled_kernels.hpp"
#include "eindecomp/kernel/copy/box_kernel.hpp"
#include "eindecomp/kernel/dispatch.hpp"
#include "eindecomp/kernel/generic/masked_map.hpp"
#include "eindecomp/kernel/generic/tile.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/scan/prepared_scan.hpp"
#include "eindecomp/kernel/separate/usual_kernels.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Computes local EinSums with ⊗ = Join over elements Ts and ⊕ = Monoid.
///
/// The functors are copied in, state and all. Any shape of LocalEinsum is accepted: no labels,
/// extents 0 and 1, any strides that give each output element a place of its own. Results depend
/// on shape and operands, not on the number of threads, except as far as the BLAS does.
template <class Space, class Join, class Monoid, class... Ts>
class JoinAggregateLauncher final : public Launcher<Space> {
 public:
  /// Where kernels run.
  using ExecutionSpace = Space;
  /// ⊗, its operands and ⊕.
  using Sig = Signature<Join, Monoid, Ts...>;
  /// What ⊗ gives.
  using Value = typename Sig::Value;
  /// An accumulator of ⊕.
  using State = typename Sig::State;
  /// A final element.
  using Result = typename Sig::Result;

  /// Holds ⊗ and ⊕, state and all.
  explicit JoinAggregateLauncher(Join join = {}, Monoid monoid = {})
      : m_join(join), m_monoid(monoid) {}

  [[nodiscard]] KernelTraits traits() const override {
    KernelTraits traits;
    if constexpr (expr::index_tensors < Join >> 0) return traits;
    traits.tiles = compat::is_synchronous<Space>;
    traits.copies = detail::has_copy<Join, Monoid, Ts...>();
    traits.multiplies = detail::is_blas_product<Space, Join, Monoid, Ts...>() ||
                        detail::has_packed<Space, Join, Monoid, Ts...>();
    traits.maps = Sig::elementwise && (detail::maps_lanes<Join, Monoid, Ts...>() ||
                                       detail::MaskedRunOf<Join, Monoid, Ts...>::there_is_one);
    traits.computes_long = is_compute_bound<Join>;
    return traits;
  }

  [[nodiscard]] std::unique_ptr<const PreparedKernel<Space>> prepare(const Space& space,
                                                                     const LocalEinsum& shape,
                                                                     Write write) const override {
    return KernelsHere<Space, Join, Monoid, Ts...>::prepare(space, shape, m_join, m_monoid, write);
  }

  [[nodiscard]] std::unique_ptr<const TileKernel> prepare_tile(
      [[maybe_unused]] const LocalEinsum& shape) const override {
    if constexpr (expr::index_tensors<Join> == 0 && compat::is_synchronous<Space>) {
      if constexpr (detail::has_scan<Join, Monoid, Ts...>()) {
        if (shape.scan.along >= 0) {
          return core::make_unique_as<TileKernel, detail::ScanOfTile<Monoid, Ts...>>(shape,
                                                                                     m_monoid);
        }
      }
      return core::make_unique_as<TileKernel, detail::LoopsOfTile<Space, Join, Monoid, Ts...>>(
          shape, m_join, m_monoid);
    } else {
      return nullptr;
    }
  }

  [[nodiscard]] std::unique_ptr<const PreparedBox<Space>> prepare_combine(
      const StridedBox& box) const override {
    if constexpr (Sig::elementwise) {
      return nullptr;
    } else {
      return core::make_unique_as<PreparedBox<Space>,
                                  detail::PreparedPass<Space, Monoid, Value, false>>(box, m_monoid);
    }
  }

  [[nodiscard]] std::unique_ptr<const PreparedBox<Space>> prepare_finish(
      const StridedBox& box) const override {
    if constexpr (std::is_same_v<State, Value> && std::is_same_v<State, Result> &&
                  !Sig::Traits::finishes) {
      return prepare_copy<Space>(static_cast<std::int64_t>(sizeof(State)), box);
    } else {
      return core::make_unique_as<PreparedBox<Space>,
                                  detail::PreparedPass<Space, Monoid, Value, true>>(box, m_monoid);
    }
  }

 private:
  Join m_join;
  Monoid m_monoid;
};

}  // namespace EINDECOMP_INSTRUCTION_SET

namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] std::shared_ptr<const Launcher<Space>> launcher_here(Join join, Monoid monoid) {
  return core::make_shared_as<Launcher<Space>, JoinAggregateLauncher<Space, Join, Monoid, Ts...>>(
      std::move(join), std::move(monoid));
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace detail

inline namespace EINDECOMP_INSTRUCTION_SET {

/// The launcher of a signature.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] std::shared_ptr<const Launcher<Space>> make_launcher(Join join, Monoid monoid) {
  if constexpr (is_compiled<Space, Join, Monoid, Ts...>) {
    return CompiledKernels<Space, Join, Monoid, Ts...>::get().make_launcher(std::move(join),
                                                                            std::move(monoid));
  } else {
    return detail::launcher_here<Space, Join, Monoid, Ts...>(std::move(join), std::move(monoid));
  }
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel
