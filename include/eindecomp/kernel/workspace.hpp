// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The memory that kernel calls take for themselves: their own, or what they are given.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include "eindecomp/core/error.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/large_pages.hpp"

namespace eindecomp {

/// Memory for the kernels of einsum, in the memory space of Space.
template <class Space>
using Workspace = Kokkos::View<unsigned char*, typename Space::memory_space>;

/// As long as it lives, calls of this host thread on Space take their workspace from the view and
/// allocate nothing: workspace_bytes() says what a call needs. Calls that run at the same time, on
/// two instances of a device, must not share one.
///
///     Workspace<Space> workspace("workspace", workspace_bytes<"ij,kjl->kil">(space, A, B, C));
///     const ScopedWorkspace<Space> scope(workspace);
///     einsum<"ij,kjl->kil">(space, A, B, C);
template <class Space>
class ScopedWorkspace {
 public:
  /// All of `workspace`, which it keeps alive.
  explicit ScopedWorkspace(const Workspace<Space>& workspace)
      : m_memory(workspace), m_before(std::exchange(current(), this)) {}
  /// So many bytes of the caller's, which must live as long; none if `data` is null. Those before
  /// the first multiple of 64 are not used.
  ScopedWorkspace(unsigned char* data, std::size_t bytes)
      : ScopedWorkspace(Workspace<Space>(data, data == nullptr ? 0 : bytes)) {}
  ScopedWorkspace(const ScopedWorkspace&) = delete;
  ScopedWorkspace& operator=(const ScopedWorkspace&) = delete;
  ~ScopedWorkspace() { current() = m_before; }

  [[nodiscard]] unsigned char* data() const { return m_memory.data(); }
  /// How many there are.
  [[nodiscard]] std::size_t bytes() const { return m_memory.size(); }

  /// The innermost one of this thread, or null.
  [[nodiscard]] static const ScopedWorkspace*& current() {
    static thread_local const ScopedWorkspace* workspace = nullptr;
    return workspace;
  }

 private:
  Workspace<Space> m_memory;
  const ScopedWorkspace* m_before;
};

namespace kernel {

/// Bytes that kernel calls hold for themselves: not initialised, freed with the object. On hosts
/// neither a view nor a std::unique_ptr, which take longer to compile than many a kernel.
template <class Space>
class Scratch {
 public:
  Scratch() = default;
  Scratch(Scratch&& other) noexcept
      : m_bytes(std::exchange(other.m_bytes, {})), m_size(std::exchange(other.m_size, 0)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(m_bytes, other.m_bytes);
    std::swap(m_size, other.m_size);
    return *this;
  }
  ~Scratch() { free(); }

  /// Takes memory in place of what it held. On a device Kokkos may wait for the memory when it is
  /// freed, never before. \throws Error if there is not as much.
  void allocate([[maybe_unused]] const Space& space, const char* label, std::size_t bytes) {
    free();
    try {
      if constexpr (compat::is_synchronous<Space>) {
        m_bytes = Kokkos::kokkos_malloc<MemorySpace>(label, bytes);
        prefer_large_pages<MemorySpace>(m_bytes, bytes);
      } else {
        m_bytes = OnDevice(
            Kokkos::view_alloc(space, Kokkos::WithoutInitializing, std::string(label)), bytes);
      }
    } catch (const std::exception& cause) {
      throw Error(ErrorKind::memory,
                  Text() << "a kernel's workspace of " << bytes << " bytes could not be allocated ("
                         << cause.what()
                         << "); nothing was written, free memory or cut the tensors",
                  std::source_location());
    }
    m_size = bytes;
  }

  /// Gives the memory back.
  void free() {
    if constexpr (compat::is_synchronous<Space>) {
      if (m_bytes != nullptr) Kokkos::kokkos_free<MemorySpace>(m_bytes);
    }
    m_bytes = {};
    m_size = 0;
  }

  [[nodiscard]] unsigned char* data() const {
    if constexpr (compat::is_synchronous<Space>) {
      return static_cast<unsigned char*>(m_bytes);
    } else {
      return m_bytes.data();
    }
  }
  [[nodiscard]] std::size_t size() const { return m_size; }

 private:
  using MemorySpace = typename Space::memory_space;
  using OnDevice = Kokkos::View<unsigned char*, MemorySpace>;

  std::conditional_t<compat::is_synchronous<Space>, void*, OnDevice> m_bytes{};
  std::size_t m_size = 0;
};

namespace detail {

/// Runs `work`, whose errors have no place, and has them speak of the caller's line.
template <class Work>
void at_place(const std::source_location& where, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.where().line() != 0) throw;
    throw Error(error.kind(), error.sentence(), where);
  }
}

/// The workspace of one call: what the caller gave, or else allocated into `own`.
/// \throws Error, without a place, if it cannot be allocated, or more is needed than was given; the
///   output is as it was.
template <compat::ExecutionSpace Space>
[[nodiscard]] unsigned char* take_workspace(const Space& space, const char* label,
                                            std::size_t bytes, Scratch<Space>& own) {
  const ScopedWorkspace<Space>* const given = ScopedWorkspace<Space>::current();
  if (given == nullptr) {
    own.allocate(space, label, bytes);
    return own.data();
  }
  // Kernels begin on a cache line.
  constexpr std::uintptr_t alignment = 64;
  const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(given->data()) % alignment;
  const std::size_t skipped = beyond == 0 ? 0 : alignment - beyond;
  if (given->bytes() < bytes + skipped) {
    throw Error(ErrorKind::memory,
                Text() << "a kernel needs a workspace of " << bytes << " bytes and is given "
                       << given->bytes() - std::min(skipped, given->bytes())
                       << " from a multiple of " << alignment
                       << " on (workspace_bytes says what it needs); nothing was written",
                std::source_location());
  }
  return given->data() + skipped;
}

}  // namespace detail
}  // namespace kernel
}  // namespace eindecomp
