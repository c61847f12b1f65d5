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

namespace eindecomp::detail {

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
  /// Where in the tile after this one it begins to ask for what that reads; -1 if it does not.
  std::int64_t ahead = -1;
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
  TileTensor read;      ///< what tiles read from main memory most of
  int ahead_shift = 0;  ///< each call that asks for it asks for one byte of 2^ahead_shift
  /// The call of a tile by whose side the last call of the tile before runs, which is written
  /// past the caches: by turns, so that stores are on their way while something is computed. Each
  /// thread then holds two tiles, half of own_bytes each. -1: calls run one after another.
  int beside = -1;

  [[nodiscard]] Extent tiles() const { return rows * pieces; }

  /// Computes all of it on `space`, without a fence, by at most so many threads at a time, which
  /// hold own_bytes each in `memory`. On host spaces: others have no tiles.
  template <class Space>
  void run([[maybe_unused]] const Space& space, const std::vector<BlockMemory>& buffers,
           char* memory, Extent threads) const {
    if constexpr (compat::is_synchronous<Space>) {
      const Extent parts = std::min(threads, tiles());
      const char* const label = beside < 0 ? "EinDecomp::tiles" : "EinDecomp::tiles by turns";
      kernel::detail::launch(space, label, parts, [&, this](const Extent part) {
        run_tiles({buffers, memory + part * own_bytes}, part_begin(tiles(), parts, part),
                  part_begin(tiles(), parts, part + 1));
        kernel::end_prepared();
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
    [[nodiscard]] kernel::MapCall by_turns() const {
      return join->by_turns(operands, output, hints);
    }
  };

  void run_tiles(const Memory& memory, Extent first, Extent last) const {
    const std::size_t together = calls.size() - (beside < 0 ? 0 : 1);
    for (Extent n = first; n < last; ++n) {
      for (std::size_t c = 0; c < together; ++c) {
        if (static_cast<int>(c) == beside && n > first) {
          run_by_turns(bound(memory, c, n), bound(memory, together, n - 1));
        } else {
          bound(memory, c, n).run();
        }
      }
    }
    if (beside >= 0) bound(memory, together, last - 1).run();
  }

  static void run_by_turns(const BoundCall& one, const BoundCall& other) {
    if (one.join->outputs_by_turns() == 0 || other.join->outputs_by_turns() == 0) {
      one.run();  // as of a last tile of one element
      other.run();
      return;
    }
    // Both divide alike. Little more than the calls, which are short.
    kernel::MapCall first = one.by_turns();
    kernel::MapCall second = other.by_turns();
    Extent begin[2]{};
    Extent end[] = {first.first_turn, second.first_turn};
    while (end[0] < first.outputs && end[1] < second.outputs) {
      first.compute(first, begin[0], end[0]);
      second.compute(second, begin[1], end[1]);
      begin[0] = end[0];
      begin[1] = end[1];
      end[0] += first.turn;
      end[1] += second.turn;
    }
    first.compute(first, begin[0], first.outputs);
    second.compute(second, begin[1], second.outputs);
  }

  [[nodiscard]] BoundCall bound(const Memory& memory, std::size_t c, Extent n) const {
    const TileCall& call = calls[c];
    const Extent row = n / pieces;
    const Extent piece = n % pieces;
    char* const own = memory.own + (beside >= 0 && n % 2 != 0 ? own_bytes / 2 : 0);
    const bool last = pieces > 1 ? piece == pieces - 1 : row == rows - 1;
    BoundCall of_tile{last ? call.last_join : call.join, {}, nullptr, {}};
    for (int o = 0; o < call.operands; ++o) {
      of_tile.operands[o] = call.operand[o].at(memory.buffers, own, row, piece);
    }
    of_tile.output = call.output.at(memory.buffers, own, row, piece);
    of_tile.hints.streamed = call.streamed;
    if (call.ahead >= 0 && n + 1 < tiles()) {
      of_tile.hints.ahead =
          read.at(memory.buffers, own, (n + 1) / pieces, (n + 1) % pieces) + call.ahead;
      of_tile.hints.ahead_shift = ahead_shift;
    }
    return of_tile;
  }
};

}  // namespace eindecomp::detail
