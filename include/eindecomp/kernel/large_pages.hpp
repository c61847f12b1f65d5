// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Memory of hosts in large pages.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__linux__) && __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace eindecomp::kernel {

/// Asks the system to back memory by pages of 2 MiB where it is touched first, so that walks
/// through it miss fewer translations. A wish: whether it is met changes time alone. Does nothing
/// for memory of devices, for less than such a page, and where systems know no such wish.
/// \param bytes  of `memory`, which nothing has touched yet
template <class MemorySpace>
void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  if constexpr (std::is_same_v<MemorySpace, Kokkos::HostSpace>) {
    constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t first = (begin + page - 1) / page * page;
    const std::uintptr_t last = (begin + bytes) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
#endif
}

/// The same for a view that is not initialised.
template <class View>
void prefer_large_pages(const View& view) {
  prefer_large_pages<typename View::memory_space>(view.data(),
                                                  view.span() * sizeof(typename View::value_type));
}

}  // namespace eindecomp::kernel
