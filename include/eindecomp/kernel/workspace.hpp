// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The memory that kernel calls take for themselves: their own, or what they are given.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <utility>

#include "eindecomp/core/error.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"

namespace eindecomp {

/// Memory for the kernels of einsum, in the memory space of Space.
template <class Space>
using Workspace = compat::Scratch<Space>;

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
  explicit ScopedWorkspace(const Workspace<Space>& workspace)
      : m_before(std::exchange(current(), &workspace)) {}
  ScopedWorkspace(const ScopedWorkspace&) = delete;
  ScopedWorkspace& operator=(const ScopedWorkspace&) = delete;
  ~ScopedWorkspace() { current() = m_before; }

  /// The innermost one's of this thread, or null.
  [[nodiscard]] static const Workspace<Space>*& current() {
    static thread_local const Workspace<Space>* workspace = nullptr;
    return workspace;
  }

 private:
  const Workspace<Space>* m_before;
};

namespace kernel::detail {

/// The workspace of one call: what the caller gave, or else allocated.
/// \throws Error if it cannot be allocated, or more is needed than was given; the output is as it
///   was.
template <compat::ExecutionSpace Space>
[[nodiscard]] Workspace<Space> take_workspace(const Space& space, const char* label,
                                              std::size_t bytes) {
  const Workspace<Space>* const given = ScopedWorkspace<Space>::current();
  if (given == nullptr) return compat::allocate_scratch(space, label, bytes);
  if (given->size() < bytes) {
    throw Error("a kernel needs a workspace of " + std::to_string(bytes) + " bytes and is given " +
                    std::to_string(given->size()) +
                    " (workspace_bytes says what it needs); nothing was written",
                std::source_location());
  }
  return *given;
}

}  // namespace kernel::detail
}  // namespace eindecomp
