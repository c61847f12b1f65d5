// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A contraction cut into blocks that the BLAS multiplies, each of whose matrices either lies so
/// that the BLAS takes it, or is put in order in a workspace first (transpose, transpose, GEMM,
/// transpose).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/blas/product_cost.hpp"
#include "eindecomp/kernel/contraction.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The tiles that a nest is cut into, without the nest.
struct Tiles {
  Extent tile[max_labels]{};  ///< extents of a tile, none of them 0
  Extent size = 1;            ///< positions of the nest
  Extent in_tile = 1;         ///< positions of a whole tile
  Extent tiles = 1;           ///< how many there are
  Extent stride[3]{};  ///< the one stride of a tensor in every tile; 0 if a tile has one position,
                       ///< -1 if there is no one stride
  Extent start[3]{};   ///< the least stride of a tensor in a tile, 0 if a tile has one position
  Extent run[3]{};     ///< positions that follow one another by that stride
  Extent first[3]{};   ///< a tensor's stride along the first loop in a tile, 0 as above
  Extent next[3]{};    ///< along the first loop that is cut, 0 if none is

  constexpr Tiles() = default;
  /// \param its_tile extents of a tile, none of them 0.
  EINDECOMP_COMPACT constexpr Tiles(const LoopNest<3>& nest, const Extent* its_tile) {
    for (int l = 0; l < nest.loops; ++l) {
      tile[l] = its_tile[l];
      in_tile *= tile[l];
      tiles *= ceil_div(nest.extent[l], tile[l]);
    }
    size = nest.size();
    for (int t = 0; t < 3; ++t) describe(nest, t);
  }

 private:
  constexpr void describe(const LoopNest<3>& nest, int tensor) {
    for (int l = nest.loops - 1; l >= 0; --l) {
      const Extent here = nest.stride[tensor][l];
      if (tile[l] > 1) first[tensor] = here;
      if (tile[l] < nest.extent[l]) next[tensor] = here;
    }
    Extent next = 0;
    bool whole = true;
    for (int l = 0; l < nest.loops && stride[tensor] >= 0; ++l) {
      const Extent here = nest.stride[tensor][l];
      if (tile[l] == 1) {
        whole = whole && nest.extent[l] == 1;
        continue;
      }
      if (stride[tensor] == 0) {
        stride[tensor] = here;
        whole = true;
      } else if (!whole || here != next) {
        stride[tensor] = -1;
      }
      whole = whole && tile[l] == nest.extent[l];
      next = here * tile[l];
    }
    run[tensor] = 1;
    for (int l = 0; l < nest.loops; ++l) {
      const Extent here = nest.stride[tensor][l];
      if (tile[l] > 1 && (start[tensor] == 0 || here < start[tensor])) {
        start[tensor] = here;
        run[tensor] = tile[l];
      }
    }
    for (int l = 0; l < nest.loops; ++l) {
      if (tile[l] > 1 && nest.stride[tensor][l] == start[tensor] * run[tensor]) {
        run[tensor] *= tile[l];
      }
    }
  }
};

/// A nest cut into tiles.
struct TiledNest : Tiles {
  LoopNest<3> nest;

  /// The nest of tiles.
  [[nodiscard]] constexpr LoopNest<3> grid() const {
    LoopNest<3> grid = nest;
    for (int l = 0; l < nest.loops; ++l) {
      grid.extent[l] = ceil_div(nest.extent[l], tile[l]);
      for (int t = 0; t < 3; ++t) grid.stride[t][l] *= tile[l];
    }
    return grid;
  }
  /// The nest inside the tile of these coordinates.
  [[nodiscard]] constexpr LoopNest<3> inside(const Extent* coordinate) const {
    LoopNest<3> part = nest;
    for (int l = 0; l < nest.loops; ++l) {
      part.extent[l] = std::min(tile[l], nest.extent[l] - coordinate[l] * tile[l]);
    }
    return part;
  }
};

/// How a matrix of a block is handed to the BLAS.
struct BlockMatrix {
  bool packed = false;      ///< put in order in the workspace, else taken where it lies
  bool transposed = false;  ///< its second dimension is contiguous
  Extent leading = 0;       ///< where it lies; packed ones are dense
};

/// Elements that a block needs in the workspace for one of its matrices.
[[nodiscard]] constexpr Extent tile_elements(const BlockMatrix& matrix, const Tiles& rows,
                                             const Tiles& columns, const Tiles& batch) {
  return matrix.packed ? rows.in_tile * columns.in_tile * batch.in_tile : 0;
}

/// The blocks of a contraction. Tensor 0 has M, tensor 1 N: they are the operands, or, if
/// `swapped`, the operands in the other order.
struct BlockPlan {
  TiledNest batch;
  TiledNest m;
  TiledNest n;
  TiledNest k;
  BlockMatrix matrix[3];
  bool swapped = false;
  bool one_thread = true;  ///< a block is one thread's work; else all threads work on one block
  double seconds = std::numeric_limits<double>::infinity();  ///< predicted, on one thread

  /// Elements that a block needs in the workspace for one of its matrices.
  [[nodiscard]] constexpr Extent elements(int tensor) const {
    return tile_elements(matrix[tensor], tensor == 1 ? k : m, tensor == 0 ? k : n, batch);
  }
  [[nodiscard]] constexpr Extent elements() const {
    return elements(0) + elements(1) + elements(2);
  }
  /// Blocks of the output.
  [[nodiscard]] constexpr Extent blocks() const { return batch.tiles * m.tiles * n.tiles; }
};

namespace block_detail {

/// Whether elements r·row + c·column form a column-major matrix; -1 is no stride at all.
[[nodiscard]] constexpr bool columns(Extent rows, Extent row, Extent column) {
  constexpr Extent limit = std::numeric_limits<std::int32_t>::max();
  return (row == 1 || row == 0) && (column == 0 || (column >= rows && column <= limit));
}

/// How the matrix of rows and columns of a tensor reaches the BLAS. The output (tensor 2) may not
/// be transposed.
[[nodiscard]] constexpr BlockMatrix matrix_of(int tensor, const Tiles& rows, const Tiles& cols) {
  const Extent row = rows.stride[tensor];
  const Extent col = cols.stride[tensor];
  if (columns(rows.in_tile, row, col)) return {false, false, col == 0 ? rows.in_tile : col};
  if (tensor != 2 && columns(cols.in_tile, col, row)) {
    return {false, true, row == 0 ? cols.in_tile : row};
  }
  // In the workspace contiguous along what is contiguous in memory.
  const bool along_columns = rows.start[tensor] != 1 && cols.start[tensor] == 1;
  return {true, tensor != 2 && along_columns, 0};
}

/// Elements of a tensor side by side in the tiles of a block.
[[nodiscard]] constexpr Extent run_in_tile(int tensor, const Tiles& rows, const Tiles& cols,
                                           const Tiles& batch) {
  Extent run = 1;
  const Tiles* const all[] = {&rows, &cols, &batch};
  for (int turn = 0; turn < 2; ++turn) {
    for (const Tiles* tiles : all) {
      if (tiles->start[tensor] == run) run *= tiles->run[tensor];
    }
  }
  return run;
}

/// Whether blocks that follow one another write to the same lines of the output, few enough to
/// stay in cache meanwhile.
[[nodiscard]] constexpr bool shares_lines(const Tiles& m, const Tiles& n, double run) {
  const double lines = static_cast<double>(m.in_tile) * static_cast<double>(n.in_tile) / run;
  return n.tiles == 1 && lines * tuning::line_bytes <= tuning::shared_lines_bytes && m.next[2] == 1;
}

/// Seconds the whole plan takes on one thread.
[[nodiscard]] constexpr double predicted(const BlockMatrix* matrix, const Tiles& batch,
                                         const Tiles& m, const Tiles& n, const Tiles& k,
                                         const MachineRates& rates, double element_bytes,
                                         bool cached, bool accumulate) {
  const auto real = [](Extent e) { return static_cast<double>(e); };
  const double entries = real(batch.size);
  const double calls = entries * real(m.tiles) * real(n.tiles) * real(k.tiles);
  double sum =
      calls * gemm_seconds(rates, real(m.in_tile), real(n.in_tile), real(k.in_tile), element_bytes);
  const auto operand = [&](int tensor, const Tiles& rows, const Tiles& cols, double times) {
    const double elements = entries * real(rows.size) * real(cols.size);
    const double run = real(run_in_tile(tensor, rows, cols, batch));
    const double moved = elements * element_bytes / rates.cached_bytes;
    if (matrix[tensor].packed) {
      const double tiles = entries * real(rows.tiles) * real(cols.tiles);
      // Tiles beyond the cache are read from memory once more.
      sum += times * (read_seconds(rates, elements, element_bytes, run) +
                      moved * (cached ? 1.0 : tuning::uncached_moves) + tiles * rates.tile_seconds);
    } else {
      sum += overlapped_seconds(rates, elements, element_bytes, run) + (times - 1) * moved;
    }
  };
  // A tile that is the same as the one before is not packed again.
  operand(0, m, k, k.tiles == 1 ? 1.0 : real(n.tiles));
  operand(1, k, n, k.tiles == 1 && n.tiles == 1 ? 1.0 : real(m.tiles));
  const double outputs = entries * real(m.size) * real(n.size);
  const double run = real(run_in_tile(2, m, n, batch));
  if (matrix[2].packed) {
    sum += outputs * element_bytes / rates.cached_bytes * (cached ? 1.0 : tuning::uncached_moves);
    sum += entries * real(m.tiles) * real(n.tiles) * rates.tile_seconds;
    // Runs are moved if the tile begins with them; what is transposed is written in runs of a loop.
    const double written = m.first[2] == m.start[2] ? run : real(m.run[2]);
    const auto bytes = static_cast<std::int64_t>(written * element_bytes);
    if (bytes >= tuning::min_streamed_run || bytes % tuning::line_bytes == 0) {
      sum += stream_seconds(rates, outputs, element_bytes, run);
    } else {
      const double line = tuning::line_bytes / element_bytes;
      sum += write_seconds(rates, outputs, element_bytes, shares_lines(m, n, run) ? line : run);
    }
    if (accumulate) sum += read_seconds(rates, outputs, element_bytes, run);
  } else {
    sum += write_seconds(rates, outputs, element_bytes, run);
    // Later visits find the output in cache only if it is small.
    sum += (real(k.tiles) - 1) * 2 * outputs * element_bytes / rates.cached_bytes;
  }
  return sum;
}

}  // namespace block_detail
}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
