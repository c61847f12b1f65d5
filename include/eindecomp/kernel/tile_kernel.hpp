// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// An EinSum on tiles so small that one thread computes each, and many may run at a time.
#pragma once

#include <cstddef>

#include "eindecomp/core/types.hpp"

namespace eindecomp::kernel {

/// What a caller of TileKernel::run knows of its memory.
struct MemoryHints {
  /// The output belongs to a tensor larger than the caches, which nobody reads soon.
  bool streamed = false;
  /// Memory to prefetch while the output of a map (KernelTraits::maps) is computed, one byte for
  /// every 2^prefetch_shift bytes of output. Null if there is none.
  const char* prefetch = nullptr;
  int prefetch_shift = 0;  ///< see `prefetch`
};

/// An element-wise EinSum on contiguous outputs that computes them range by range, so that its
/// caller may do something else in between.
struct ResumableMap {
  /// Computes outputs begin <= i < end, which follow those computed before.
  void (*compute)(ResumableMap&, Extent begin, Extent end) = nullptr;
  MemoryHints hints;                  ///< the caller's
  Extent outputs = 0;                 ///< how many there are
  Extent chunk = 0;                   ///< outputs that pay for a call of `compute`
  Extent first_chunk = 0;             ///< those of the first call, after which cache lines begin
  alignas(void*) std::byte run[512];  ///< what `compute` keeps for itself
};

/// An EinSum made ready for tiles of one shape, each computed by one thread: called often and on
/// little, it costs no more than the tile's elements. On host spaces.
class TileKernel {
 public:
  virtual ~TileKernel() = default;
  /// Computes final elements by the calling thread alone and at once. Any number of threads may
  /// call it at a time, and each calls end_tiles() before others read what it wrote.
  virtual void run(const void* const* operands, void* output, const MemoryHints& hints) const = 0;
  /// How many outputs resumable() computes; 0 if it cannot.
  [[nodiscard]] virtual Extent resumable_outputs() const = 0;
  /// What run() does, for the caller to do piece by piece. Only where there are
  /// resumable_outputs(). \param operands  in use until it is done
  [[nodiscard]] virtual ResumableMap resumable(const void* const* operands, void* output,
                                               const MemoryHints& hints) const = 0;
};

}  // namespace eindecomp::kernel
