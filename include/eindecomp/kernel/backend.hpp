// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a program for a Kokkos execution space keeps of each statement's operators.
#pragma once

#include <memory>
#include <utility>

#include "eindecomp/kernel/element_types.hpp"
#include "eindecomp/kernel/launcher.hpp"

namespace eindecomp {

/// The backend of programs that run on `Space`: one launcher type per distinct operator signature,
/// never per statement, label or extent.
template <compat::ExecutionSpace Space>
struct KokkosBackend {
  /// Where kernels run.
  using ExecutionSpace = Space;
  /// Whether plans are made for a device (SpaceFacts::threads).
  static constexpr bool is_device = !compat::is_synchronous<Space>;
  /// The kernels of one operator signature.
  using Launcher = std::shared_ptr<const kernel::Launcher<Space>>;

  /// The kernels of ⊗ = join over elements Ts and ⊕ = monoid (NoAggregation where nothing is
  /// aggregated); both are copied.
  template <class Join, class Monoid, class... Ts>
  [[nodiscard]] static Launcher make(Join join, Monoid monoid) {
    return kernel::make_launcher<Space, Join, Monoid, Ts...>(std::move(join), std::move(monoid));
  }
};

}  // namespace eindecomp
