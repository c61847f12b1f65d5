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
  /// Will be read soon: asked for while the output is computed, of every 2^ahead_shift bytes of
  /// output one. Null if nothing is.
  const char* ahead = nullptr;
  int ahead_shift = 0;  ///< see `ahead`
};

/// A map of outputs that are one run, made ready to compute them range by range, so that its caller
/// may do something else in between.
struct MapCall {
  /// Computes outputs begin <= i < end, which follow those computed before.
  void (*compute)(MapCall&, Extent begin, Extent end) = nullptr;
  MemoryHints hints;                 ///< the caller's
  Extent outputs = 0;                ///< how many there are
  Extent turn = 0;                   ///< outputs at a time that pay for a call
  Extent first_turn = 0;             ///< those of the first, with which lines of memory end
  alignas(void*) std::byte run[96];  ///< what `compute` keeps for itself
};

/// An EinSum made ready for tiles of one shape, each computed by one thread: called often and on
/// little, it costs no more than the tile's elements. On host spaces.
class TileKernel {
 public:
  virtual ~TileKernel() = default;
  /// Computes final elements by the calling thread alone and at once. Any number of threads may
  /// call it at a time, and each calls end_prepared() before others read what it wrote.
  virtual void run(const void* const* operands, void* output, const MemoryHints& hints) const = 0;
  /// Whether run asks for what is to be read soon.
  [[nodiscard]] virtual bool asks_ahead() const = 0;
  /// Whether what it computes takes longer than writing it to memory.
  [[nodiscard]] virtual bool takes_long() const = 0;
  /// The outputs of a shape that by_turns computes; 0 of one that it does not.
  [[nodiscard]] virtual Extent outputs_by_turns() const = 0;
  /// What run does with one of these shapes, to be done by turns.
  [[nodiscard]] virtual MapCall by_turns(const void* const* operands, void* output,
                                         const MemoryHints& hints) const = 0;
};

}  // namespace eindecomp::kernel
