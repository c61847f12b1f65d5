// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A block of a result as its readers hold it.
#pragma once

#include <Kokkos_Core.hpp>
#include <memory>

#include "eindecomp/relation/box.hpp"

namespace eindecomp::run {

/// Bytes in the memory of a space, not initialised; null if there are none.
template <class MemorySpace>
using Memory = Kokkos::View<char*, MemorySpace>;

template <class MemorySpace>
class ResultBlock;  // result_memory.hpp

template <class MemorySpace>
using SharedBlock = std::shared_ptr<const ResultBlock<MemorySpace>>;

/// A block of a result, and where it lies.
template <class MemorySpace>
struct HeldBlock {
  Box box;                         ///< its place in the whole tensor
  char* data = nullptr;            ///< row-major, without gaps
  SharedBlock<MemorySpace> owner;  ///< keeps the memory alive
};

}  // namespace eindecomp::run
