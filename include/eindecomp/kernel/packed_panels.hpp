// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Between strided tensors and what the packed kernel computes on: panels of operands, tiles of
/// accumulators. Typed by elements alone, whatever the algebra.
#pragma once

#include <algorithm>

#include "eindecomp/core/types.hpp"

namespace eindecomp::kernel::detail {

/// `lanes` rows of A, or columns of B, over `steps` positions of K: element (lane, step) is at
/// from[lane_offset[lane] + step_offset[step]].
struct PanelSource {
  const void* from;
  const Extent* lane_offset;
  const Extent* step_offset;
  int lanes;
  Extent steps;
  bool unit_lanes;  ///< lane_offset counts by one
  bool unit_steps;  ///< step_offset counts by one
};

/// Writes a panel: for every step `Width` lanes. Lanes that the source lacks repeat its last one,
/// so that joins are called with elements of the tensors only.
template <class T, int Width>
void pack_panel(const PanelSource& source, void* panel) {
  const T* const from = static_cast<const T*>(source.from);
  T* to = static_cast<T*>(panel);
  if (source.unit_lanes && source.lanes == Width) {
    for (Extent step = 0; step < source.steps; ++step, to += Width) {
      const T* const element = from + source.lane_offset[0] + source.step_offset[step];
      for (int lane = 0; lane < Width; ++lane) to[lane] = element[lane];
    }
    return;
  }
  // A cache line of a lane at a time, as they may all lie in the same cache set.
  constexpr Extent chunk = 16;
  for (Extent first = 0; first < source.steps; first += chunk, to += chunk * Width) {
    const Extent count = std::min(chunk, source.steps - first);
    const Extent* const offset = source.step_offset + first;
    for (int lane = 0; lane < Width; ++lane) {
      const T* const element = from + source.lane_offset[std::min(lane, source.lanes - 1)];
      if (source.unit_steps && count == chunk) {
        for (Extent step = 0; step < chunk; ++step) {
          to[step * Width + lane] = element[offset[0] + step];
        }
      } else {
        for (Extent step = 0; step < count; ++step) {
          to[step * Width + lane] = element[offset[step]];
        }
      }
    }
  }
}

/// Rows and columns of a tensor that a tile, row-major with `stride`, stands for.
struct TilePlace {
  void* tensor;
  const Extent* row_offset;
  const Extent* column_offset;
  int rows;
  int columns;
  int stride;
  bool unit_columns;  ///< column_offset counts by one
};

template <class T>
void load_tile(const TilePlace& place, void* tile) {
  T* const to = static_cast<T*>(tile);
  const T* const from = static_cast<const T*>(place.tensor);
  for (int i = 0; i < place.rows; ++i) {
    const T* const row = from + place.row_offset[i];
    T* const row_to = to + i * place.stride;
    if (place.unit_columns) {
      const T* const contiguous_row = row + place.column_offset[0];
      for (int j = 0; j < place.columns; ++j) row_to[j] = contiguous_row[j];
    } else {
      for (int j = 0; j < place.columns; ++j) row_to[j] = row[place.column_offset[j]];
    }
  }
}

template <class T>
void store_tile(const TilePlace& place, const void* tile) {
  const T* const from = static_cast<const T*>(tile);
  T* const to = static_cast<T*>(place.tensor);
  if (place.unit_columns) {
    for (int i = 0; i < place.rows; ++i) {
      T* const row = to + place.row_offset[i] + place.column_offset[0];
      for (int j = 0; j < place.columns; ++j) row[j] = from[i * place.stride + j];
    }
    return;
  }
  // Column by column: where columns are not contiguous, rows often are.
  for (int j = 0; j < place.columns; ++j) {
    T* const column = to + place.column_offset[j];
    for (int i = 0; i < place.rows; ++i) {
      column[place.row_offset[i]] = from[i * place.stride + j];
    }
  }
}

/// The functions above for some element types.
struct PanelCode {
  void (*pack_a)(const PanelSource&, void*) = nullptr;
  void (*pack_b)(const PanelSource&, void*) = nullptr;
  void (*load)(const TilePlace&, void*) = nullptr;
  void (*store)(const TilePlace&, const void*) = nullptr;
  Extent a_bytes = 0;
  Extent b_bytes = 0;
  Extent c_bytes = 0;
};

template <class A, class B, class State, int Rows, int Columns>
[[nodiscard]] constexpr PanelCode panel_code() {
  return {pack_panel<A, Rows>,
          pack_panel<B, Columns>,
          load_tile<State>,
          store_tile<State>,
          static_cast<Extent>(sizeof(A)),
          static_cast<Extent>(sizeof(B)),
          static_cast<Extent>(sizeof(State))};
}

}  // namespace eindecomp::kernel::detail
