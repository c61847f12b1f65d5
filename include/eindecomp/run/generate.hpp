// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Filling a block from a function of the index.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <type_traits>
#include <utility>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp::run {

/// An index's type, for every dimension the same. A class: nvcc loses packs that are used and
/// forgotten.
template <std::size_t>
struct IndexType {
  using type = Extent;
};

/// Whether F may be called with as many indices as the sequence has, for a T.
template <class F, class T, std::size_t... K>
[[nodiscard]] constexpr bool generates(std::index_sequence<K...>) {
  if constexpr (std::is_invocable_v<const F&, typename IndexType<K>::type...>) {
    using Result = std::invoke_result_t<const F&, typename IndexType<K>::type...>;
    return std::is_constructible_v<T, Result>;
  } else {
    return false;
  }
}

/// The function at the n-th element of a box in row-major order.
template <class T, class F, std::size_t... K>
[[nodiscard]] T generated_element(const F& function, const Extent* lo, const Extent* extent,
                                  Extent n, std::index_sequence<K...>) {
  std::array<Extent, sizeof...(K) + 1> index{};  // one more, so that rank 0 has an array too
  for (std::size_t k = sizeof...(K); k-- > 0;) {
    index[k] = lo[k] + n % extent[k];
    n /= extent[k];
  }
  return static_cast<T>(function(index[K]...));
}

/// The first exception of several threads.
class FirstException {
 public:
  void keep_current() {
    const std::lock_guard lock(m_mutex);
    if (m_exception == nullptr) m_exception = std::current_exception();
    m_is_kept = true;
  }
  /// Whether there is one, so that what is left need not be done.
  [[nodiscard]] bool is_kept() const { return m_is_kept.load(std::memory_order_relaxed); }
  void rethrow() const {
    if (m_exception != nullptr) std::rethrow_exception(m_exception);
  }

 private:
  std::mutex m_mutex;
  std::atomic<bool> m_is_kept = false;
  std::exception_ptr m_exception;
};

/// Fills `into`, dense and row-major, in memory of Space, with the function over the box. On a
/// host space by its threads, else by the calling thread through the host. Fences `space`.
/// \throws what the function throws.
template <class T, int Rank, class Space, class F>
void generate(const Space& space, const F& function, const Box& box, T* into) {
  constexpr auto indices = std::make_index_sequence<static_cast<std::size_t>(Rank)>{};
  std::array<Extent, static_cast<std::size_t>(Rank) + 1> extent{};
  for (int k = 0; k < Rank; ++k) extent[static_cast<std::size_t>(k)] = box.extent(k);
  const Extent* lo = box.lo.data();
  const Extent* extents = extent.data();
  const Extent size = box.size();

  if constexpr (compat::is_synchronous<Space>) {
    FirstException failure;
    const F* call = &function;
    FirstException* failed = &failure;
    Kokkos::parallel_for("EinDecomp::generate",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<Extent>>(space, 0, size),
                         [=](Extent n) {
                           if (failed->is_kept()) return;
                           // Nothing may leave a thread of a parallel region but by its end.
                           try {
                             into[n] = generated_element<T>(*call, lo, extents, n, indices);
                           } catch (...) {
                             failed->keep_current();
                           }
                         });
    compat::fence(space, "EinDecomp::generate");
    failure.rethrow();
  } else {
    constexpr Extent chunk = tuning::generated_elements;
    using HostView = Kokkos::View<T*, Kokkos::HostSpace>;
    using SpaceView =
        Kokkos::View<T*, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    const HostView host(Kokkos::view_alloc(Kokkos::WithoutInitializing, "EinDecomp::generate"),
                        static_cast<std::size_t>(std::min(chunk, size)));
    for (Extent begin = 0; begin < size; begin += chunk) {
      const Extent count = std::min(chunk, size - begin);
      for (Extent n = 0; n < count; ++n) {
        host(n) = generated_element<T>(function, lo, extents, begin + n, indices);
      }
      Kokkos::deep_copy(space, SpaceView(into + begin, static_cast<std::size_t>(count)),
                        Kokkos::subview(host, std::pair<Extent, Extent>(0, count)));
      compat::fence(space, "EinDecomp::generate");
    }
  }
}

}  // namespace eindecomp::run
