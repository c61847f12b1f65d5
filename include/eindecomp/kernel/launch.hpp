// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How every kernel of the library is started.
#pragma once

#include <cstdint>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"

namespace eindecomp::kernel::detail {

/// A kernel body behind a pointer: Kokkos' machinery, which costs more to compile than our bodies,
/// is then instantiated once per host space and not once per operator signature. The indirect
/// call is made once per item, and items are made large (see JoinKernel).
struct ErasedBody {
  using Function = void (*)(const void*, Extent);
  const void* body = nullptr;
  Function function = nullptr;

  void operator()(const Extent item) const { function(body, item); }
};

/// Calls body(item) for 0 <= item < items in parallel on `space`, without a fence.
template <compat::ExecutionSpace Space, class Body>
void launch(const Space& space, const char* label, Extent items, const Body& body) {
  if (items <= 0) return;
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<Extent>>;
  if constexpr (compat::is_synchronous<Space>) {
    // One item is small: starting it would cost more than it does. Tools are shown it all the same.
    if (items == 1 && !compat::tools_listen()) {
      body(0);
      return;
    }
    const ErasedBody erased{&body, [](const void* erased_body, Extent item) {
                              (*static_cast<const Body*>(erased_body))(item);
                            }};
    Kokkos::parallel_for(label, Policy(space, 0, items), erased);
  } else {
    Kokkos::parallel_for(label, compat::as_argument(Policy(space, 0, items)), body);
  }
}

}  // namespace eindecomp::kernel::detail
