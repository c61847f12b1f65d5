// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Blocks in the memory of an execution space as messages: packed, through the host where it cannot
/// reach that memory, even if MPI could, unpacked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <string>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/copy/box_kernel.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/large_pages.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/result_block.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp::run {

/// \throws Error if there is not so much, with the label, the size and the caller's line.
template <class MemorySpace>
[[nodiscard]] Memory<MemorySpace> allocate(const std::string& label, std::int64_t bytes,
                                           const std::source_location& where) {
  if (bytes == 0) return {};
  try {
    const Memory<MemorySpace> memory(Kokkos::view_alloc(Kokkos::WithoutInitializing, label),
                                     static_cast<std::size_t>(bytes));
    kernel::prefer_large_pages(memory);
    return memory;
  } catch (const std::exception&) {
    throw Error(ErrorKind::memory,
                "there is no memory for " + label + " (" + std::to_string(bytes) + " bytes in " +
                    MemorySpace::name() + "); use more workers, or smaller extents",
                where);
  }
}

/// Whether the host, and so any MPI, can reach the memory of Space.
template <class Space>
inline constexpr bool host_reaches =
    compat::accessible<Kokkos::HostSpace, typename Space::memory_space>;

/// Copies bytes between a space's memory and the host's, on `space`, without a fence.
template <class Space>
void copy_to_host(const Space& space, char* into, const char* from, std::int64_t bytes) {
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  const std::size_t n = static_cast<std::size_t>(bytes);
  Kokkos::deep_copy(space, Kokkos::View<char*, Kokkos::HostSpace, Unmanaged>(into, n),
                    Kokkos::View<const char*, typename Space::memory_space, Unmanaged>(from, n));
}
template <class Space>
void copy_from_host(const Space& space, char* into, const char* from, std::int64_t bytes) {
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  const std::size_t n = static_cast<std::size_t>(bytes);
  Kokkos::deep_copy(space, Kokkos::View<char*, typename Space::memory_space, Unmanaged>(into, n),
                    Kokkos::View<const char*, Kokkos::HostSpace, Unmanaged>(from, n));
}

/// Copies `part` from one block to another on `space`, without a fence.
template <class Space>
void copy_part(const Space& space, const Box& part, const BlockMemory& into,
               const BlockMemory& from) {
  if (part.empty()) return;
  kernel::copy_box(space, into.bytes, strided_box(part, into, from), into.at(part.lo),
                   from.at(part.lo));
}

/// Sends and receives single blocks of any strides in slabs of limited size: what a run does before
/// and after its plan (scattering an input, gathering a result).
template <class Space, comm::Communicator Group>
class SlabTransport {
 public:
  using MemorySpace = typename Space::memory_space;

  /// Allocates at most 1 MiB, and as much on the host where it cannot reach the space's memory.
  SlabTransport(const Space& space, Group& group, const std::source_location& where)
      : m_space(space),
        m_group(group),
        m_slab(allocate<MemorySpace>("EinDecomp::slab", tuning::slab_bytes, where)) {
    if constexpr (!host_reaches<Space>) {
      m_host = allocate<Kokkos::HostSpace>("EinDecomp::slab on host", tuning::slab_bytes, where);
    }
  }

  /// Sends all of `box`, which `from` contains. Fences.
  void send(int peer, const Box& box, const BlockMemory& from) {
    for_each_slab(box, limit(from.bytes), [&](const Box& part, Extent) {
      const std::int64_t bytes = part.size() * from.bytes;
      const char* packed = from.at(part.lo);
      if (!host_reaches<Space> || !from.contiguous(part)) {
        copy_part(m_space, part, BlockMemory::dense(m_slab.data(), part, from.bytes), from);
        packed = m_slab.data();
        if constexpr (!host_reaches<Space>) {
          copy_to_host(m_space, m_host.data(), packed, bytes);
          packed = m_host.data();
        }
      }
      compat::fence(m_space, "EinDecomp::before sending a slab");
      m_group.send(peer, packed, part.size(), from.bytes, tag);
      m_group.wait();
    });
  }

  /// Receives all of `box`, which `into` contains. Fences.
  void receive(int peer, const Box& box, const BlockMemory& into) {
    for_each_slab(box, limit(into.bytes), [&](const Box& part, Extent) {
      const bool direct = host_reaches<Space> && into.contiguous(part);
      char* packed = direct ? into.at(part.lo) : m_slab.data();
      if constexpr (!host_reaches<Space>) packed = m_host.data();
      m_group.receive(peer, packed, part.size(), into.bytes, tag);
      m_group.wait();
      if (direct) return;
      if constexpr (!host_reaches<Space>) {
        copy_from_host(m_space, m_slab.data(), packed, part.size() * into.bytes);
      }
      copy_part(m_space, part, into, BlockMemory::dense(m_slab.data(), part, into.bytes));
      compat::fence(m_space, "EinDecomp::after receiving a slab");
    });
  }

  /// Copies a dense block of root's to every rank. Fences.
  void broadcast(int root, const BlockMemory& block) {
    compat::fence(m_space, "EinDecomp::before a broadcast");
    if constexpr (host_reaches<Space>) {
      m_group.broadcast(block.data, block.box.size(), block.bytes, root);
    } else {
      for_each_slab(block.box, limit(block.bytes), [&](const Box& part, Extent first) {
        const std::int64_t bytes = part.size() * block.bytes;
        char* data = block.data + first * block.bytes;
        if (m_group.rank() == root) copy_to_host(m_space, m_host.data(), data, bytes);
        compat::fence(m_space, "EinDecomp::before a broadcast");
        m_group.broadcast(m_host.data(), part.size(), block.bytes, root);
        if (m_group.rank() != root) copy_from_host(m_space, data, m_host.data(), bytes);
        compat::fence(m_space, "EinDecomp::after a broadcast");
      });
    }
  }

 private:
  static constexpr int tag = 1;
  static Extent limit(int bytes) { return std::max<Extent>(tuning::slab_bytes / bytes, 1); }

  const Space& m_space;
  Group& m_group;
  Memory<MemorySpace> m_slab;
  Memory<Kokkos::HostSpace> m_host;
};

}  // namespace eindecomp::run
