// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Statements that run in steps, strip by strip: within a block, one thread takes a few rows from
/// the first statement to the last before it takes the next, so that what statements pass on to
/// each other stays in its own caches, and threads are started once per block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic_path.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/run/block_memory.hpp"

namespace eindecomp::detail {

/// Where a tensor of a call lies: strip (row, piece) is so many bytes after the first.
struct StripTensor {
  int buffer = -1;         ///< of the schedule; -1 for what a thread holds one strip of, by itself
  std::int64_t first = 0;  ///< bytes from the buffer's begin, or from that of the thread's memory
  std::int64_t row_step = 0;
  std::int64_t piece_step = 0;

  [[nodiscard]] char* at(const std::vector<BlockMemory>& buffers, char* own, Extent row,
                         Extent piece) const {
    return (buffer < 0 ? own : buffers[static_cast<std::size_t>(buffer)].data) + first +
           row * row_step + piece * piece_step;
  }
};

/// One statement's calls, strip by strip.
struct StripCall {
  const kernel::PreparedJoin* join = nullptr;  ///< of every strip but the last
  const kernel::PreparedJoin* last_join = nullptr;
  int operands = 0;
  StripTensor operand[kernel::max_operands];
  StripTensor output;
  bool streamed = false;
  /// Where in the strip after this one it begins to ask for what that reads; -1 if it does not.
  std::int64_t ahead = -1;
};

/// Steps of a schedule, one after another, that run strip by strip. A strip is some positions along
/// one label, or some along another label at one position of the first.
struct StripRun {
  std::size_t begin = 0;       ///< the first step
  std::size_t end = 0;         ///< one past the last
  Extent rows = 1;             ///< strips along the first label
  Extent pieces = 1;           ///< and along the second
  std::int64_t own_bytes = 0;  ///< that each thread holds
  std::vector<StripCall> calls;
  StripTensor read;     ///< what strips read from main memory most of
  int ahead_shift = 0;  ///< each call that asks for it asks for one byte of 2^ahead_shift

  [[nodiscard]] Extent strips() const { return rows * pieces; }

  /// Computes all of it on `space`, without a fence, by at most so many threads at a time, which
  /// hold own_bytes each in `memory`. On host spaces: others have no strips.
  template <class Space>
  void run([[maybe_unused]] const Space& space, const std::vector<BlockMemory>& buffers,
           char* memory, Extent threads) const {
    if constexpr (compat::is_synchronous<Space>) {
      const Extent parts = std::min(threads, strips());
      kernel::detail::launch(space, "EinDecomp::strips", parts, [&, this](const Extent part) {
        char* const own = memory + part * own_bytes;
        const Extent last = part_begin(strips(), parts, part + 1);
        for (Extent n = part_begin(strips(), parts, part); n < last; ++n) {
          run_strip(buffers, own, n);
        }
        kernel::end_prepared();
      });
    }
  }

 private:
  void run_strip(const std::vector<BlockMemory>& buffers, char* own, Extent n) const {
    const Extent row = n / pieces;
    const Extent piece = n % pieces;
    const bool last = pieces > 1 ? piece == pieces - 1 : row == rows - 1;
    const char* next = nullptr;
    if (n + 1 < strips()) next = read.at(buffers, own, (n + 1) / pieces, (n + 1) % pieces);
    for (const StripCall& call : calls) {
      const void* operands[kernel::max_operands];
      for (int o = 0; o < call.operands; ++o) {
        operands[o] = call.operand[o].at(buffers, own, row, piece);
      }
      kernel::MemoryHints hints;
      hints.streamed = call.streamed;
      if (call.ahead >= 0 && next != nullptr) {
        hints.ahead = next + call.ahead;
        hints.ahead_shift = ahead_shift;
      }
      (last ? call.last_join : call.join)
          ->run(operands, call.output.at(buffers, own, row, piece), hints);
    }
  }
};

}  // namespace eindecomp::detail
