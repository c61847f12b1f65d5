// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// One EinSum over blocks in the memory of one execution space, without types: the arguments of
/// every kernel, whether called by a user on views or by the executor on blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/path.hpp"

namespace eindecomp::kernel {

/// The most labels one kernel call may have, and the most operands.
inline constexpr int max_labels = 24;
using eindecomp::max_operands;

/// The geometry of a local EinSum: a loop nest over labels, and for each label the stride of every
/// operand and of the output (0 where a tensor lacks it, the sum of strides where it is repeated).
/// Strides are in elements.
struct LocalEinsum {
  int labels = 0;               ///< how many are in use
  int operands = 0;             ///< how many are in use
  Extent extent[max_labels]{};  ///< per label
  Extent begin[max_labels]{};   ///< the index in the whole tensor of the first position, for argmin
  bool aggregated[max_labels]{};                      ///< per label, whether the output lacks it
  Extent operand_stride[max_operands][max_labels]{};  ///< per operand and label
  Extent output_stride[max_labels]{};                 ///< per label
  constexpr bool operator==(const LocalEinsum&) const = default;
};

/// What a kernel call leaves in its output.
enum class Write {
  partial,     ///< accumulators of ⊕
  accumulate,  ///< accumulators, combined with those already there
  finished,    ///< final elements
};

/// Strided elements of rank <= max_rank, for copies and element-wise passes. Strides in elements.
struct StridedBox {
  int rank = 0;                    ///< dimensions in use
  Extent extent[max_rank]{};       ///< per dimension
  Extent into_stride[max_rank]{};  ///< of what is written
  Extent from_stride[max_rank]{};  ///< of what is read
};

/// What a caller of PreparedJoin::run knows of its memory.
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

/// The join of a statement made ready for blocks of one shape, to be called often and on small
/// blocks, which then cost no more than their elements. On host spaces.
class PreparedJoin {
 public:
  virtual ~PreparedJoin() = default;
  /// As Launcher::join with Write::finished, by the calling thread alone and at once. Any number of
  /// threads may call it at a time, and each calls end_prepared() before others read what it wrote.
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

/// The kernels of one statement on one execution space, its operators erased: the executor knows
/// the space but no longer the types. One class per operator signature and space implements it.
/// Every function launches on `space` and does not fence. Pointers are to the first element of
/// each block, in memory that Space can access.
template <class Space>
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// output[…] = ⊕ ⊗(operands[…]) over the aggregated labels.
  virtual void join(const Space& space, const LocalEinsum& shape, const void* const* operands,
                    void* output, Write write) const = 0;
  /// into = into ⊕ from, both accumulators.
  virtual void combine(const Space& space, const StridedBox& box, void* into,
                       const void* from) const = 0;
  /// into = the final elements of the accumulators `from`.
  virtual void finish(const Space& space, const StridedBox& box, void* into,
                      const void* from) const = 0;
  /// The code that join takes for a shape, for reports and tests.
  [[nodiscard]] virtual Path path(const LocalEinsum& shape) const = 0;
  /// The bytes that join takes for itself for a shape, whatever it writes: allocated by each call,
  /// unless a ScopedWorkspace gives them.
  [[nodiscard]] virtual std::int64_t workspace_bytes(const Space& space,
                                                     const LocalEinsum& shape) const = 0;
  /// The join of a shape made ready; null on devices, and where join takes another path than
  /// Path::direct.
  [[nodiscard]] virtual std::unique_ptr<const PreparedJoin> prepare(const LocalEinsum&) const {
    return nullptr;
  }
};

}  // namespace eindecomp::kernel
