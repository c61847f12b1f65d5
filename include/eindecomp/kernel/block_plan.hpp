// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A contraction cut into blocks that the BLAS multiplies, each of whose matrices either lies so
/// that the BLAS takes it, or is put in order in a workspace first (transpose, transpose, GEMM,
/// transpose).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/contraction.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/product_cost.hpp"

namespace eindecomp::kernel::detail {

/// A nest cut into tiles.
struct TiledNest {
  LoopNest<3> nest;
  Extent tile[max_labels]{};
  Extent size = 1;     ///< positions
  Extent in_tile = 1;  ///< positions of a whole tile
  Extent tiles = 1;    ///< how many there are
  Extent stride[3]{};  ///< the one stride of a tensor in every tile; 0 if a tile has one position,
                       ///< -1 if there is no one stride
  Extent run[3]{};     ///< elements of a tensor side by side in a tile, at least

  constexpr TiledNest() = default;
  /// \param its_tile extents of a tile, none of them 0.
  constexpr TiledNest(const LoopNest<3>& whole, const Extent* its_tile) : nest(whole) {
    for (int l = 0; l < nest.loops; ++l) {
      tile[l] = its_tile[l];
      in_tile *= tile[l];
      tiles *= count(l);
    }
    size = nest.size();
    for (int t = 0; t < 3; ++t) describe(t);
  }

  /// The nest of tiles.
  [[nodiscard]] constexpr LoopNest<3> grid() const {
    LoopNest<3> grid = nest;
    for (int l = 0; l < nest.loops; ++l) {
      grid.extent[l] = count(l);
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

 private:
  [[nodiscard]] constexpr Extent count(int l) const {
    return (nest.extent[l] + tile[l] - 1) / tile[l];
  }

  constexpr void describe(int tensor) {
    Extent next = 0;
    bool whole = true;
    run[tensor] = 1;
    for (int l = 0; l < nest.loops; ++l) {
      const Extent here = nest.stride[tensor][l];
      if (here == 1) run[tensor] = tile[l];
      if (tile[l] == 1) {
        whole = whole && nest.extent[l] == 1;
      } else if (stride[tensor] == 0) {
        stride[tensor] = here;
        whole = tile[l] == nest.extent[l];
        next = here * tile[l];
      } else {
        if (!whole || here != next) stride[tensor] = -1;
        whole = whole && tile[l] == nest.extent[l];
        next = here * tile[l];
      }
      if (stride[tensor] < 0) break;
    }
    for (int l = 0; l < nest.loops; ++l) {
      if (nest.stride[tensor][l] == 1) run[tensor] = tile[l];
    }
  }
};

/// How a matrix of a block is handed to the BLAS.
struct BlockMatrix {
  bool packed = false;      ///< put in order in the workspace, else taken where it lies
  bool transposed = false;  ///< its second dimension is contiguous
  Extent leading = 0;       ///< where it lies; packed ones are dense
};

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
    if (!matrix[tensor].packed) return 0;
    const Extent rows = tensor == 1 ? k.in_tile : m.in_tile;
    const Extent columns = tensor == 0 ? k.in_tile : n.in_tile;
    return rows * columns * batch.in_tile;
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
[[nodiscard]] constexpr BlockMatrix matrix_of(int tensor, const TiledNest& rows,
                                              const TiledNest& cols) {
  const Extent row = rows.stride[tensor];
  const Extent col = cols.stride[tensor];
  if (columns(rows.in_tile, row, col)) return {false, false, col == 0 ? rows.in_tile : col};
  if (tensor != 2 && columns(cols.in_tile, col, row)) {
    return {false, true, row == 0 ? cols.in_tile : row};
  }
  // In the workspace contiguous along what is contiguous in memory.
  const bool along_columns = rows.run[tensor] == 1 && cols.run[tensor] > 1;
  return {true, tensor != 2 && along_columns, 0};
}

/// Seconds the whole plan takes on one thread.
[[nodiscard]] constexpr double predicted(const BlockMatrix* matrix, const TiledNest& batch,
                                         const TiledNest& m, const TiledNest& n, const TiledNest& k,
                                         const MachineRates& rates, double element_bytes,
                                         bool cached, bool accumulate) {
  const auto real = [](Extent e) { return static_cast<double>(e); };
  const double entries = real(batch.size);
  const double calls = entries * real(m.tiles) * real(n.tiles) * real(k.tiles);
  double sum =
      calls * gemm_seconds(rates, real(m.in_tile), real(n.in_tile), real(k.in_tile), element_bytes);
  const auto copy = [&](int tensor, const TiledNest& rows, const TiledNest& cols, double times) {
    if (!matrix[tensor].packed) return;
    const Extent run = std::max({rows.run[tensor], cols.run[tensor], batch.run[tensor]});
    sum +=
        times * copy_seconds(cached ? rates.cached_bytes : rates.copy_bytes,
                             entries * real(rows.size) * real(cols.size), element_bytes, real(run));
  };
  // A tile that is the same as the one before is not packed again.
  copy(0, m, k, k.tiles == 1 ? 1.0 : real(n.tiles));
  copy(1, k, n, k.tiles == 1 && n.tiles == 1 ? 1.0 : real(m.tiles));
  copy(2, m, n, accumulate ? 2.0 : 1.0);
  return sum;
}

}  // namespace block_detail
}  // namespace eindecomp::kernel::detail
