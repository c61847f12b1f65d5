// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// TiledCalls as they run: by kernels of tiles, on memory whose geometry is known.
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
#include "eindecomp/kernel/tile_kernel.hpp"
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
  /// By whether the tile is the last along the first label, and along the second.
  const kernel::TileKernel* kernel[2][2]{};
  int operands = 0;
  TileTensor operand[kernel::max_operands];
  TileTensor output;
  bool streamed = false;
  /// Where in what the next tile reads it begins to prefetch; -1 if it does not.
  std::int64_t prefetch = -1;
};

/// Calls of a program that run tile by tile.
struct FusedTiles {
  /// A tile's number along each label.
  struct Place {
    Extent row = 0;
    Extent piece = 0;
  };

  Extent count[2]{1, 1};  ///< of tiles, along each label
  std::vector<TileCall> calls;
  TileTensor read;         ///< what tiles read from main memory most of
  int prefetch_shift = 0;  ///< of the calls that prefetch it, as MemoryHints has it
  /// The call with which the last call of the tile before is interleaved, so that its non-temporal
  /// stores are on their way while something is computed. Each thread then holds two tiles, half of
  /// thread_bytes each. -1: calls run one after another.
  int interleaved = -1;
  std::int64_t offset = 0;  ///< as TiledCalls has it
  std::int64_t thread_bytes = 0;

  [[nodiscard]] Extent tiles() const { return count[0] * count[1]; }

  /// Computes all of it on `space`, without a fence, by at most so many threads at a time. On host
  /// spaces: others have no tiles.
  template <class Space>
  void run([[maybe_unused]] const Space& space, const std::vector<BlockMemory>& buffers,
           char* arena, Extent threads) const {
    if constexpr (compat::is_synchronous<Space>) {
      const Extent parts = std::min(threads, tiles());
      const char* const label =
          interleaved < 0 ? "EinDecomp::tiles" : "EinDecomp::tiles interleaved";
      kernel::detail::launch(space, label, parts, [&, this](const Extent part) {
        run_tiles({buffers, arena + offset + part * thread_bytes},
                  relation::part_begin(tiles(), parts, part),
                  relation::part_begin(tiles(), parts, part + 1));
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
    const kernel::TileKernel* kernel;
    const void* operands[kernel::max_operands];
    void* output;
    kernel::MemoryHints hints;

    void run() const { kernel->run(operands, output, hints); }
    [[nodiscard]] kernel::ResumableMap resumable() const {
      return kernel->resumable(operands, output, hints);
    }
  };

  void run_tiles(const Memory& memory, Extent first, Extent last) const {
    const std::size_t together = calls.size() - (interleaved < 0 ? 0 : 1);
    for (Extent n = first; n < last; ++n) {
      for (std::size_t c = 0; c < together; ++c) {
        if (static_cast<int>(c) == interleaved && n > first) {
          run_interleaved(bound(memory, c, n), bound(memory, together, n - 1));
        } else {
          bound(memory, c, n).run();
        }
      }
    }
    if (interleaved >= 0) bound(memory, together, last - 1).run();
  }

  static void run_interleaved(const BoundCall& one, const BoundCall& other) {
    if (one.kernel->resumable_outputs() == 0 || other.kernel->resumable_outputs() == 0) {
      one.run();  // as of a last tile of one element
      other.run();
      return;
    }
    // Both divide alike. Little more than the calls, which are short.
    kernel::ResumableMap first = one.resumable();
    kernel::ResumableMap second = other.resumable();
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
    const Extent row = n / count[1];
    const Extent piece = n % count[1];
    char* const own = memory.own + (interleaved >= 0 && n % 2 != 0 ? thread_bytes / 2 : 0);
    BoundCall of_tile{call.kernel[row == count[0] - 1][piece == count[1] - 1], {}, nullptr, {}};
    for (int o = 0; o < call.operands; ++o) {
      of_tile.operands[o] = call.operand[o].at(memory.buffers, own, row, piece);
    }
    of_tile.output = call.output.at(memory.buffers, own, row, piece);
    of_tile.hints.streamed = call.streamed;
    if (call.prefetch >= 0 && n + 1 < tiles()) {
      of_tile.hints.prefetch =
          read.at(memory.buffers, own, (n + 1) / count[1], (n + 1) % count[1]) + call.prefetch;
      of_tile.hints.prefetch_shift = prefetch_shift;
    }
    return of_tile;
  }
};

}  // namespace eindecomp::run
