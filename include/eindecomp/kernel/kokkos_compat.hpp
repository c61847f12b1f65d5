// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Kokkos from 3.4 to 5.x under one set of names; no other header of the library asks which
/// version it is compiled with.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "eindecomp/core/config.hpp"

namespace eindecomp::compat {

/// Kokkos::is_execution_space_v is not in 3.4.
template <class Space>
concept ExecutionSpace = Kokkos::is_execution_space<Space>::value;

/// Kokkos::is_view_v is not in 3.4.
template <class View>
inline constexpr bool is_view = Kokkos::is_view<std::remove_cv_t<View>>::value;
/// A Kokkos::View of any kind.
template <class View>
concept AnyView = is_view<View>;

/// View::rank was a constant before 4.1 and is a function object since; both convert to a number.
template <class View>
inline constexpr int rank_of = static_cast<int>(View::rank);

/// Whether code on `Space` can reach memory of `MemorySpace`.
template <class Space, class MemorySpace>
inline constexpr bool accessible = Kokkos::SpaceAccessibility<Space, MemorySpace>::accessible;

namespace detail {

template <class Space>
[[nodiscard]] constexpr bool runs_on_device() {
  bool device = false;
#if defined(KOKKOS_ENABLE_CUDA)
  device = device || std::is_same_v<Space, Kokkos::Cuda>;
#endif
#if defined(KOKKOS_ENABLE_HIP)
#if KOKKOS_VERSION >= 40000
  device = device || std::is_same_v<Space, Kokkos::HIP>;
#else
  device = device || std::is_same_v<Space, Kokkos::Experimental::HIP>;
#endif
#endif
#if defined(KOKKOS_ENABLE_SYCL)
#if KOKKOS_VERSION >= 40500
  device = device || std::is_same_v<Space, Kokkos::SYCL>;
#else
  device = device || std::is_same_v<Space, Kokkos::Experimental::SYCL>;
#endif
#endif
  return device;
}

/// The host spaces whose parallel_for returns when the work is done.
template <class Space>
[[nodiscard]] constexpr bool returns_when_done() {
  bool done = false;
#if defined(KOKKOS_ENABLE_SERIAL)
  done = done || std::is_same_v<Space, Kokkos::Serial>;
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
  done = done || std::is_same_v<Space, Kokkos::OpenMP>;
#endif
#if defined(KOKKOS_ENABLE_THREADS)
  done = done || std::is_same_v<Space, Kokkos::Threads>;
#endif
  return done;
}

}  // namespace detail

/// Whether kernels of `Space` run on a GPU.
template <class Space>
inline constexpr bool is_device = detail::runs_on_device<Space>();

/// Whether parallel_for on `Space` returns only when its work is done, so that a kernel may refer
/// to what lives on the caller's stack.
template <class Space>
inline constexpr bool is_synchronous = detail::returns_when_done<Space>();

/// Items that one launch on `Space` may have. On GPUs loops of Kokkos before 4.6 count them in 32
/// bits, and leave out or repeat what is beyond.
template <class Space>
inline constexpr std::int64_t max_items = is_device<Space>&& KOKKOS_VERSION < 40600
                                              ? (std::int64_t{1} << 32) - 1
                                              : std::numeric_limits<std::int64_t>::max();

/// Memory of the host that a device reads and writes by itself, without the driver copying it to
/// such memory first. The host's only memory where there is no device.
#if KOKKOS_VERSION >= 40000
using HostPinnedSpace = Kokkos::SharedHostPinnedSpace;
#elif defined(KOKKOS_ENABLE_CUDA)
using HostPinnedSpace = Kokkos::CudaHostPinnedSpace;
#else
using HostPinnedSpace = Kokkos::HostSpace;
#endif

/// Threads that a host space computes with; 0 of a device.
template <class Space>
[[nodiscard]] int host_threads([[maybe_unused]] const Space& space) {
  if constexpr (is_synchronous<Space>) {
    const int threads = static_cast<int>(space.concurrency());
    return threads > 0 ? threads : 1;
  } else {
    return 0;
  }
}

/// Waits for the work of this instance only. The label is dropped where fences have none (3.4).
template <ExecutionSpace Space>
void fence(const Space& space, [[maybe_unused]] const std::string& label) {
  if constexpr (requires { space.fence(label); }) {
    space.fence(label);
  } else {
    space.fence();
  }
}

/// A policy whose functor, of up to 4 KiB, CUDA takes as an argument of the kernel. By default
/// Kokkos puts it into constant memory, and waits for the kernel before to have read its own.
template <class Policy>
[[nodiscard]] auto as_argument(const Policy& policy) {
  return Kokkos::Experimental::require(policy,
                                       Kokkos::Experimental::WorkItemProperty::HintLightWeight);
}

/// Whether anyone is told of kernels and allocations.
[[nodiscard]] inline bool tools_listen() { return Kokkos::Tools::profileLibraryLoaded(); }

/// A named region of the profile for as long as it lives; Profiling::ScopedRegion is not in 3.4.
/// Its name, in two parts, is put together only where someone listens.
class ScopedRegion {
 public:
  /// Opens the region `name` + `rest`; the destructor closes it.
  explicit ScopedRegion(std::string_view name, std::string_view rest = {})
      : m_entered(tools_listen()) {
    if (m_entered) enter(name, rest);
  }
  ScopedRegion(const ScopedRegion&) = delete;
  ScopedRegion& operator=(const ScopedRegion&) = delete;
  ~ScopedRegion() {
    if (m_entered) Kokkos::Profiling::popRegion();
  }

 private:
  EINDECOMP_COMPACT static void enter(std::string_view name, std::string_view rest) {
    Kokkos::Profiling::pushRegion(std::string(name).append(rest));
  }

  bool m_entered;
};

}  // namespace eindecomp::compat
