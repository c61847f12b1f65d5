// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How every kernel of the library is started.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <source_location>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/error.hpp"
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

template <class Body>
void call_body(const void* body, Extent item) {
  (*static_cast<const Body*>(body))(item);
}

template <class Space>
using ItemPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<Extent>>;

/// One instantiation per host space.
template <compat::ExecutionSpace Space>
void launch_erased(const Space& space, const char* label, Extent items, const ErasedBody& body) {
  // One item is small: starting it would cost more than it does. Tools are shown it all the same.
  if (items == 1 && !compat::tools_listen()) {
    body(0);
  } else {
    Kokkos::parallel_for(label, ItemPolicy<Space>(space, 0, items), body);
  }
}

/// \throws Error, without a place, if a launch has more items than Kokkos' loops on `Space` count.
template <compat::ExecutionSpace Space>
void check_items(Extent items, Extent most = compat::max_items<Space>) {
  if (items <= most) return;
  core::fail(ErrorKind::plan, std::source_location(), "a kernel has ", items,
             " items (before version 4.6, loops of Kokkos on a GPU count ", most,
             " at most); build with Kokkos 4.6 or later, or use more workers");
}

/// Calls body(item) for 0 <= item < items in parallel on `space`, without a fence.
template <compat::ExecutionSpace Space, class Body>
void launch(const Space& space, const char* label, Extent items, const Body& body) {
  if (items <= 0) return;
  if constexpr (compat::is_synchronous<Space>) {
    launch_erased(space, label, items, {&body, call_body<Body>});
  } else {
    check_items<Space>(items);
    Kokkos::parallel_for(label, compat::as_argument(ItemPolicy<Space>(space, 0, items)), body);
  }
}

/// launch() on a host space for items that are long and differ: whichever thread is done with one
/// takes the next, so that all end together. (As Kokkos::Dynamic, whose policy would be compiled
/// beside that of launch().) Calls body(item, worker); items of one worker < host_threads(space)
/// follow one another.
template <compat::ExecutionSpace Space, class Body>
void launch_in_turn(const Space& space, const char* label, Extent items, const Body& body) {
  static_assert(compat::is_synchronous<Space>);
  std::atomic<Extent> next{0};
  launch(space, label, std::min<Extent>(items, compat::host_threads(space)), [&](Extent worker) {
    for (Extent item = next++; item < items; item = next++) body(item, worker);
  });
}

/// Workers that launch_own_first() may have.
inline constexpr Extent max_owners = 512;

/// launch() for items that belong to workers: own(worker) says how many. A worker takes its own
/// first, then what others have not begun, so that all end together. Calls body(owner, number,
/// worker) for 0 <= number < own(owner); calls of one worker follow one another.
/// \param workers  at most host_threads(space) and max_owners
template <compat::ExecutionSpace Space, class Own, class Body>
void launch_own_first(const Space& space, const char* label, Extent workers, const Own& own,
                      const Body& body) {
  static_assert(compat::is_synchronous<Space>);
  if (workers == 1) {
    launch(space, label, 1, [&](Extent) {
      for (Extent number = 0; number < own(0); ++number) body(0, number, 0);
    });
    return;
  }
  struct alignas(64) Next {  // a line each
    std::atomic<Extent> number{0};
  };
  Next next[max_owners];
  launch(space, label, workers, [&](Extent worker) {
    for (Extent i = 0; i < workers; ++i) {
      const Extent owner = (worker + i) % workers;
      const Extent items = own(owner);
      auto& taken = next[owner].number;
      for (Extent number = taken++; number < items; number = taken++) body(owner, number, worker);
    }
  });
}

}  // namespace eindecomp::kernel::detail
