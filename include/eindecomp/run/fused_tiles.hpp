// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Statements that run in steps, tile by tile: within a block, one thread takes a few rows from
/// the first statement to the last before it takes the next, so that what statements pass on to
/// each other stays in its own caches, and threads are started once per block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic/tile.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/run/block_memory.hpp"

namespace eindecomp::run {

/// Where a tensor of a call lies: tile (row, piece) is so many bytes after the first.
struct TileTensor {
  int buffer = -1;         ///< of the program; -1 for what a thread holds one tile of, by itself
  std::int64_t first = 0;  ///< bytes from the buffer's begin, or from that of the thread's memory
  std::int64_t row_step = 0;
  std::int64_t piece_step = 0;

  [[nodiscard]] char* at(const std::vector<BlockMemory>& buffers, char* own, Extent row,
                         Extent piece) const {
    return (buffer < 0 ? own : buffers[static_cast<std::size_t>(buffer)].data) + first +
           row * row_step + piece * piece_step;
  }
};

/// One statement's calls, tile by tile.
struct TileCall {
  const kernel::TileKernel* join = nullptr;  ///< of every tile but the last
  const kernel::TileKernel* last_join = nullptr;
  int operands = 0;
  TileTensor operand[kernel::max_operands];
  TileTensor output;
  bool streamed = false;
  /// Where in what the next tile reads it begins to prefetch; -1 if it does not.
  std::int64_t prefetch = -1;
};

/// Calls of a program, one after another, that run tile by tile. A tile is some positions along
/// one label, or some along another label at one position of the first.
struct FusedTiles {
  std::size_t begin = 0;       ///< the first instruction
  std::size_t end = 0;         ///< one past the last
  Extent rows = 1;             ///< tiles along the first label
  Extent pieces = 1;           ///< and along the second
  std::int64_t own_bytes = 0;  ///< that each thread holds
  std::vector<TileCall> calls;
  TileTensor read;         ///< what tiles read from main memory most of
  int prefetch_shift = 0;  ///< of the calls that prefetch it, as MemoryHints has it
  /// The call with which the last call of the tile before is interleaved, so that its non-temporal
  /// stores are on their way while something is computed. Each thread then holds two tiles, half of
  /// own_bytes each. -1: calls run one after another.
  int interleaved_with = -1;

  [[nodiscard]] Extent tiles() const { return rows * pieces; }

  /// Computes all of it on `space`, without a fence, by at most so many threads at a time, which
  /// hold own_bytes each in `memory`. On host spaces: others have no tiles.
  template <class Space>
  void run([[maybe_unused]] const Space& space, const std::vector<BlockMemory>& buffers,
           char* memory, Extent threads) const {
    if constexpr (compat::is_synchronous<Space>) {
      const Extent parts = std::min(threads, tiles());
      const char* const label =
          interleaved_with < 0 ? "EinDecomp::tiles" : "EinDecomp::tiles interleaved";
      kernel::detail::launch(space, label, parts, [&, this](const Extent part) {
        run_tiles({buffers, memory + part * own_bytes}, part_begin(tiles(), parts, part),
                  part_begin(tiles(), parts, part + 1));
        kernel::end_tiles();
      });
    }
  }

 private:
  /// What a thread works on.
  struct Memory {
    const std::vector<BlockMemory>& buffers;
    char* own;
  };

  /// A call of one tile.
  struct BoundCall {
    const kernel::TileKernel* join;
    const void* operands[kernel::max_operands];
    void* output;
    kernel::MemoryHints hints;

    void run() const { join->run(operands, output, hints); }
    [[nodiscard]] kernel::ResumableMap interleaved() const {
      return join->resumable(operands, output, hints);
    }
  };

  void run_tiles(const Memory& memory, Extent first, Extent last) const {
    const std::size_t together = calls.size() - (interleaved_with < 0 ? 0 : 1);
    for (Extent n = first; n < last; ++n) {
      for (std::size_t c = 0; c < together; ++c) {
        if (static_cast<int>(c) == interleaved_with && n > first) {
          run_interleaved(bound(memory, c, n), bound(memory, together, n - 1));
        } else {
          bound(memory, c, n).run();
        }
      }
    }
    if (interleaved_with >= 0) bound(memory, together, last - 1).run();
  }

  static void run_interleaved(const BoundCall& one, const BoundCall& other) {
    if (one.join->resumable_outputs() == 0 || other.join->resumable_outputs() == 0) {
      one.run();  // as of a last tile of one element
      other.run();
      return;
    }
    // Both divide alike. Little more than the calls, which are short.
    kernel::ResumableMap first = one.interleaved();
    kernel::ResumableMap second = other.interleaved();
    Extent begin[2]{};
    Extent end[] = {first.first_chunk, second.first_chunk};
    while (end[0] < first.outputs && end[1] < second.outputs) {
      first.compute(first, begin[0], end[0]);
      second.compute(second, begin[1], end[1]);
      begin[0] = end[0];
      begin[1] = end[1];
      end[0] += first.chunk;
      end[1] += second.chunk;
    }
    first.compute(first, begin[0], first.outputs);
    second.compute(second, begin[1], second.outputs);
  }

  [[nodiscard]] BoundCall bound(const Memory& memory, std::size_t c, Extent n) const {
    const TileCall& call = calls[c];
    const Extent row = n / pieces;
    const Extent piece = n % pieces;
    char* const own = memory.own + (interleaved_with >= 0 && n % 2 != 0 ? own_bytes / 2 : 0);
    const bool last = pieces > 1 ? piece == pieces - 1 : row == rows - 1;
    BoundCall of_tile{last ? call.last_join : call.join, {}, nullptr, {}};
    for (int o = 0; o < call.operands; ++o) {
      of_tile.operands[o] = call.operand[o].at(memory.buffers, own, row, piece);
    }
    of_tile.output = call.output.at(memory.buffers, own, row, piece);
    of_tile.hints.streamed = call.streamed;
    if (call.prefetch >= 0 && n + 1 < tiles()) {
      of_tile.hints.prefetch =
          read.at(memory.buffers, own, (n + 1) / pieces, (n + 1) % pieces) + call.prefetch;
      of_tile.hints.prefetch_shift = prefetch_shift;
    }
    return of_tile;
  }
};

}  // namespace eindecomp::run
