// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Moves elements between strided tensors and what the packed kernel computes on: panels of
/// operands and tiles of accumulators. Instantiated for element types alone, whatever the algebra.
/// Elements of 16 bits become floats on their way into a panel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/half.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/simd/half_rows.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/simd/register_tile.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The most rows of a panel: of A, or columns of B, which a panel calls rows as well.
inline constexpr int max_panel_width = 2 * vector_bytes;

/// What is packed: element (row, step) is at from[row_offset[row] + step_offset[step]], a step
/// being a position of K. As many rows as a panel has, or fewer; or those of
/// tuning::panels_together panels, with a row_stride of 1.
struct PanelSource {
  const void* from;
  const Extent* row_offset;
  const Extent* step_offset;
  int rows;
  Extent steps;
  Extent row_stride;  ///< between neighbouring rows; 0 where it is not always the same
  const int* run;     ///< contiguous steps from each step on; null where they are few
};

/// to[i] = from[i] for neighbouring elements.
template <int Count, class T>
EINDECOMP_ALWAYS_INLINE void put_into_panel(Widened<T>* to, const T* from) {
  if constexpr (Half<T>) {
    widen_row(to, from, Count);
  } else {
    std::memcpy(to, from, sizeof(T) * Count);
  }
}

/// Writes whole panels, `panel_elements` apart, where the rows of a step are contiguous.
template <int Width, class T>
void pack_contiguous(const PanelSource& source, Widened<T>* panel, Extent panel_elements) {
  constexpr int line = line_bytes / static_cast<int>(sizeof(T));
  const int panels = source.rows / Width;
  // Steps lie so far apart that the hardware does not prefetch them, unless they are windows that
  // overlap: of those only what follows has not been read yet.
  const Extent ahead = tuning::pack_panels_ahead / panels;
  const T* const first = static_cast<const T*>(source.from) + source.row_offset[0];
  for (Extent step = 0; step < source.steps; ++step, panel += Width) {
    const T* const later = first + source.step_offset[std::min(step + ahead, source.steps - 1)];
    for (int row = 0; row < source.rows; row += line) prefetch_to_read(later + row);
    const T* const here = first + source.step_offset[step];
    prefetch_to_read_later(here + source.rows + Width);
    for (int p = 0; p < panels; ++p) {
      put_into_panel<Width>(panel + p * panel_elements, here + p * Width);
    }
  }
}

/// to[i] = from[i] for a few elements: as many as are loaded together, the last of which overlap
/// those before, or if there are fewer, half as many.
template <class T, int Together = std::max(1, 16 / static_cast<int>(sizeof(T)))>
void copy_few(Widened<T>* to, const T* from, int count) {
  if constexpr (Together == 1) {
    for (int i = 0; i < count; ++i) to[i] = from[i];
  } else if (count >= Together) {
    for (int i = 0; i < count - Together; i += Together) put_into_panel<Together>(to + i, from + i);
    put_into_panel<Together>(to + (count - Together), from + (count - Together));
  } else {
    copy_few<T, Together / 2>(to, from, count);
  }
}

/// Writes where contiguous runs of elements end. \returns how many there are.
inline int find_runs(const Extent* offset, int count, int* run_end) {
  int runs = 0;
  for (int i = 1; i < count; ++i) {
    if (offset[i] != offset[i - 1] + 1) run_end[runs++] = i;
  }
  run_end[runs++] = count;
  return runs;
}

/// into[step·width + row] = from[row_offset[row] + step], in squares of registers of Lanes
/// integers. The last ones overlap those before, so that whole squares serve any number of rows and
/// steps from their side on.
template <int Lanes, class Word>
void transpose_rows(Word* into, int width, const Word* from, const Extent* row_offset, int rows,
                    int steps) {
  using Integer = typename Word::Integer;
  constexpr int unit = static_cast<int>(sizeof(Word) / sizeof(Integer));
  constexpr int side = Lanes / unit;
  if constexpr (Lanes < 4 || side < 2) {
    for (int row = 0; row < rows; ++row) {
      for (int step = 0; step < steps; ++step) {
        into[step * width + row] = from[row_offset[row] + step];
      }
    }
  } else if (rows < side || steps < side) {
    transpose_rows<Lanes / 2>(into, width, from, row_offset, rows, steps);
  } else {
#if defined(EINDECOMP_REGISTER_BYTES)
    using Tile = RegisterTile<Integer, Lanes, unit>;
    for (int r = 0; r < rows; r += side) {
      const int row = std::min(r, rows - side);
      for (int s = 0; s < steps; s += side) {
        const int step = std::min(s, steps - side);
        Tile::transpose(
            [=](int p) { return from + row_offset[row + p] + step; },
            [=](int q, const typename Tile::Row& square) {
              *reinterpret_cast<typename Tile::Memory*>(into + (step + q) * width + row) = square;
            });
      }
    }
#endif
  }
}

/// Writes rows whose steps come in contiguous runs, a cache line of every row at a time: the part
/// of the panel that is written stays in the first cache until the last row is.
template <class T>
void pack_transposed(const PanelSource& source, Widened<T>* panel, int width) {
  using Bits = WordOf<Widened<T>>;
  static_assert(sizeof(Bits) == sizeof(Widened<T>));
  constexpr Extent line = line_bytes / static_cast<Extent>(sizeof(T));
  constexpr Extent ahead = tuning::pack_lines_ahead * line;
  constexpr int lanes =
      sizeof(Bits) < 4 ? 1 : vector_bytes / static_cast<int>(sizeof(typename Bits::Integer));
  int count = 0;
  for (Extent step = 0; step < source.steps; step += count) {
    count = std::min(source.run[step], static_cast<int>(std::min(line, source.steps - step)));
    const T* const from = static_cast<const T*>(source.from) + source.step_offset[step];
    for (int row = 0; row < source.rows; ++row) {
      prefetch_to_read(from + source.row_offset[row] + ahead);
    }
    auto* const into = reinterpret_cast<Bits*>(panel + step * width);
    if constexpr (Half<T>) {
      // What the rows have of this line, as floats.
      float rows[max_panel_width * line];
      Extent row_offset[max_panel_width];
      for (int row = 0; row < source.rows; ++row) {
        row_offset[row] = row * line;
        copy_few(rows + row * line, from + source.row_offset[row], count);
      }
      transpose_rows<lanes>(into, width, reinterpret_cast<const Bits*>(rows), row_offset,
                            source.rows, count);
    } else {
      transpose_rows<lanes>(into, width, reinterpret_cast<const Bits*>(from), source.row_offset,
                            source.rows, count);
    }
  }
}

/// Writes whole panels whose rows come in two runs, the second behind the first: a vector that
/// begins with the first does not end behind the second, nor the other way round. \param count rows
/// of the first run
template <int Width, class T>
EINDECOMP_NEVER_INLINE void pack_two_runs(const PanelSource& source, int count, T* panel) {
  constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
  using V = Lanes<T, lanes>;
  const T* const first = static_cast<const T*>(source.from) + source.row_offset[0];
  const T* const second =
      static_cast<const T*>(source.from) + source.row_offset[Width - 1] - (Width - 1);
  constexpr Extent ahead = tuning::pack_steps_ahead;
  for (Extent step = 0; step < source.steps; ++step, panel += Width) {
    const Extent here = source.step_offset[step];
    const Extent later = source.step_offset[std::min(step + ahead, source.steps - 1)];
    prefetch_to_read(first + later);
    prefetch_to_read(second + later + (Width - 1));
    for (int row = 0; row < Width; row += lanes) {
      const V lane = lane_numbers<T, lanes>();
      const V rows = lane < repeat<T, lanes>(static_cast<T>(count - row))
                         ? load_lanes<T, lanes>(first + here + row)
                         : load_lanes<T, lanes>(second + here + row);
      std::memcpy(panel + row, &rows, sizeof rows);
    }
  }
}

/// Writes rows that come in runs, each contiguous within a step.
template <class T>
void pack_runs(const PanelSource& source, const int* run_end, int runs, Widened<T>* panel,
               int width) {
  const T* const from = static_cast<const T*>(source.from);
  constexpr Extent ahead = tuning::pack_steps_ahead;
  for (Extent step = 0; step < source.steps; ++step, panel += width) {
    const T* const here = from + source.step_offset[step];
    const T* const later = from + source.step_offset[std::min(step + ahead, source.steps - 1)];
    for (int r = 0, row = 0; r < runs; row = run_end[r++]) {
      prefetch_to_read(later + source.row_offset[row]);
      copy_few(panel + row, here + source.row_offset[row], run_end[r] - row);
    }
  }
}

/// Writes rows that lie anywhere, a cache line of each at a time, since all may fall into one
/// cache set.
template <class T>
void pack_scattered(const PanelSource& source, Widened<T>* panel, int width) {
  constexpr Extent line = line_bytes / static_cast<Extent>(sizeof(T));
  for (Extent first = 0; first < source.steps; first += line) {
    const Extent last = std::min(first + line, source.steps);
    for (int row = 0; row < source.rows; ++row) {
      const T* const element = static_cast<const T*>(source.from) + source.row_offset[row];
      for (Extent step = first; step < last; ++step) {
        panel[step * width + row] = element[source.step_offset[step]];
      }
    }
  }
}

/// Writes a panel: `Width` rows for every step. Rows that the source lacks repeat its last one,
/// so that joins are called with elements of the tensors only. Several panels are `panel_bytes`
/// apart.
template <class T, int Width>
void pack_panels(const PanelSource& source, void* panel, Extent panel_bytes) {
  using Packed = Widened<T>;
  auto* const to = static_cast<Packed*>(panel);
  if (source.row_stride == 1 && source.rows % Width == 0) {
    pack_contiguous<Width, T>(source, to, panel_bytes / static_cast<Extent>(sizeof(Packed)));
    return;
  }
  int run_end[max_panel_width];
  const int runs = find_runs(source.row_offset, source.rows, run_end);
  constexpr bool by_vectors = std::is_same_v<T, Packed> && is_lane<T> && std::is_signed_v<T> &&
                              Width % (vector_bytes / static_cast<int>(sizeof(T))) == 0;
  if constexpr (by_vectors) {
    if (runs == 2 && source.rows == Width &&
        source.row_offset[run_end[0]] > source.row_offset[run_end[0] - 1]) {
      pack_two_runs<Width>(source, run_end[0], to);
      return;
    }
  }
  if (4 * runs <= source.rows) {
    pack_runs<T>(source, run_end, runs, to, Width);
  } else if (source.run != nullptr) {
    pack_transposed<T>(source, to, Width);
  } else {
    pack_scattered<T>(source, to, Width);
  }
  if (source.rows == Width) return;
  for (Packed* here = to; here < to + source.steps * Width; here += Width) {
    std::fill(here + source.rows, here + Width, here[source.rows - 1]);
  }
}

/// Rows of an operand that is contiguous across runs of them, not within: element (row, run,
/// step) is at from[row·row_stride + run + step_offset[step]].
struct PlaneSource {
  const void* from;
  Extent row_stride;
  Extent rows;
  Extent runs;
  const Extent* step_offset;
  Extent steps;
};

/// into[step·into_step + run·rows + row] = element (row, run, step).
template <class T>
void gather_planes(const PlaneSource& source, void* into, Extent into_step) {
  auto* to = static_cast<WordOf<T>*>(into);
  const auto* const from = static_cast<const WordOf<T>*>(source.from);
  for (Extent step = 0; step < source.steps; ++step, to += into_step) {
    const auto* const later = from + source.step_offset[std::min(step + 1, source.steps - 1)];
    for (Extent row = 0; row < source.rows; ++row) {
      prefetch_to_read(later + row * source.row_stride);
    }
    transpose_plane(to, source.rows, from + source.step_offset[step], source.row_stride,
                    source.rows, source.runs);
  }
}

/// Rows and columns of a tensor that a tile, which is row-major, stands for.
struct TilePlace {
  void* tensor;
  const Extent* row_offset;
  const Extent* column_offset;
  int rows;
  int columns;
  /// Columns come in runs of neighbours: run r ends before column run_end[r].
  const int* run_end;
  int runs;

  [[nodiscard]] bool unit_columns() const { return runs == 1; }
  /// Whether runs are long enough to go row by row.
  [[nodiscard]] bool long_runs() const { return 4 * runs <= columns; }
};

/// Prefetches the lines of a tile's elements, so that they are there when it has been computed.
template <class T>
void prefetch_tile(const TilePlace& place) {
  const T* const tensor = static_cast<const T*>(place.tensor);
  constexpr int line_elements = line_bytes / static_cast<int>(sizeof(T));
  const auto lines = [](const T* first, int count) {
    for (int j = 0; j < count; j += line_elements) prefetch_to_write(first + j);
    prefetch_to_write(first + count - 1);
  };
  if (place.long_runs()) {
    for (int i = 0; i < place.rows; ++i) {
      const T* const row = tensor + place.row_offset[i];
      for (int r = 0, j = 0; r < place.runs; j = place.run_end[r++]) {
        lines(row + place.column_offset[j], place.run_end[r] - j);
      }
    }
    return;
  }
  // Rows are often neighbours where columns are none.
  for (int j = 0; j < place.columns; ++j) {
    const T* const column = tensor + place.column_offset[j];
    for (int i = 0; i < place.rows; i += line_elements) {
      prefetch_to_write(column + place.row_offset[i]);
    }
    prefetch_to_write(column + place.row_offset[place.rows - 1]);
  }
}

/// \tparam Columns the tile's stride
template <class T, int Columns>
void load_tile(const TilePlace& place, void* tile) {
  const T* const from = static_cast<const T*>(place.tensor);
  T* to = static_cast<T*>(tile);
  for (int i = 0; i < place.rows; ++i, to += Columns) {
    const T* const row = from + place.row_offset[i];
    if (place.unit_columns() && place.columns == Columns) {
      std::memcpy(to, row + place.column_offset[0], sizeof(T) * Columns);
    } else if (place.long_runs()) {
      for (int r = 0, j = 0; r < place.runs; j = place.run_end[r++]) {
        copy_few(to + j, row + place.column_offset[j], place.run_end[r] - j);
      }
    } else {
      for (int j = 0; j < place.columns; ++j) to[j] = row[place.column_offset[j]];
    }
  }
}

template <class T, int Columns>
void store_tile(const TilePlace& place, const void* tile) {
  const T* from = static_cast<const T*>(tile);
  T* const to = static_cast<T*>(place.tensor);
  if (place.long_runs()) {
    for (int i = 0; i < place.rows; ++i, from += Columns) {
      T* const row = to + place.row_offset[i];
      if (place.unit_columns() && place.columns == Columns) {
        std::memcpy(row + place.column_offset[0], from, sizeof(T) * Columns);
        continue;
      }
      for (int r = 0, j = 0; r < place.runs; j = place.run_end[r++]) {
        copy_few(row + place.column_offset[j], from + j, place.run_end[r] - j);
      }
    }
    return;
  }
  // Column by column: where columns are not contiguous, rows often are.
  for (int j = 0; j < place.columns; ++j) {
    T* const column = to + place.column_offset[j];
    for (int i = 0; i < place.rows; ++i) column[place.row_offset[i]] = from[i * Columns + j];
  }
}

/// The functions that pack an operand, for its element type.
struct OperandCode {
  void (*pack)(const PanelSource&, void*, Extent) = nullptr;
  void (*gather)(const PlaneSource&, void*, Extent) = nullptr;
  Extent bytes = 0;         ///< of an element
  Extent packed_bytes = 0;  ///< of one in a panel
};

/// The functions above for some element types.
struct PanelCode {
  OperandCode operand[2];
  void (*prefetch)(const TilePlace&) = nullptr;
  void (*load)(const TilePlace&, void*) = nullptr;
  void (*store)(const TilePlace&, const void*) = nullptr;
  Extent c_bytes = 0;
};

template <class A, class B, class State, int Rows, int Columns>
[[nodiscard]] constexpr PanelCode panel_code() {
  return {{{pack_panels<A, Rows>, gather_planes<A>, sizeof(A), sizeof(Widened<A>)},
           {pack_panels<B, Columns>, gather_planes<B>, sizeof(B), sizeof(Widened<B>)}},
          prefetch_tile<State>,
          load_tile<State, Columns>,
          store_tile<State, Columns>,
          sizeof(State)};
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
