// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Transposition into targets that are written past the caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/instructions.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/lanes.hpp"
#include "eindecomp/kernel/register_tile.hpp"
#include "eindecomp/kernel/streaming_store.hpp"

namespace eindecomp::kernel::detail {

#if defined(EINDECOMP_STREAMING_BYTES)

/// A plane that is transposed into rows of a large target, wherever these begin. Its source is
/// asked for some rows ahead: they lie too far apart for the hardware to see what comes next.
/// \tparam Word of at least 4 bytes.
template <class Word>
struct StreamingPlane {
  Word* into;
  Extent into_step;
  const Word* from;
  Extent from_step;
  Extent rows;        ///< of the source
  Extent columns;     ///< of the source, which are rows of the target
  Extent rows_ahead;  ///< asked for before they are read
  const Word* next;   ///< where the source of the next plane begins, or null

  static constexpr Extent most_column_bytes = 512;  ///< of the columns together

  /// into[p + q·into_step] = from[p·from_step + q] for p < rows, q < columns.
  /// \tparam Registers squares of lines' words are transposed in registers, which hold lines.
  /// \param aligned every row of the target begins on a line of memory.
  template <bool Registers = EINDECOMP_REGISTER_BYTES == line_bytes>
  void transpose(bool aligned) const {
    Extent done = 0;
    if constexpr (Registers) {
      done = columns - columns % side;
      if (aligned) {
        by_registers<true>(done);
      } else {
        by_registers<false>(done);
      }
    }
    if (done < columns) by_buffer(done);
  }

 private:
  using Integer = typename Word::Integer;
  static constexpr Extent size = static_cast<Extent>(sizeof(Word));
  static constexpr Extent side = line_bytes / size;  ///< words of a line
  static constexpr int lanes = line_bytes / static_cast<int>(sizeof(Integer));
  static constexpr Extent most_columns = most_column_bytes / size;
  static constexpr Extent buffer_rows = 512 / size;
  using Square = RegisterTile<Integer, lanes, static_cast<int>(sizeof(Word) / sizeof(Integer))>;
  using Row = typename Square::Row;

  /// The first columns, in squares that fill registers. What a row of the target gets from a square
  /// is joined with what it got from the one before, so that lines are written once and whole; in
  /// memory the joining would wait for the stores before it.
  template <bool Aligned>
  void by_registers(Extent width) const {
    Row before[most_columns]{};
    Row joined[most_columns];  // which lanes of two rows are one line
    if constexpr (!Aligned) {
      for (Extent q = 0; q < width; ++q) {
        const Extent begun = beyond_line(q) / static_cast<Extent>(sizeof(Integer));
        for (int l = 0; l < lanes; ++l) joined[q][l] = static_cast<Integer>(lanes + l - begun);
      }
    }
    const Extent whole = rows - rows % side;
    for (Extent p = 0; p < whole; p += side) {
      const Word* const soon = rows_soon(p);
      for (Extent q = 0; q < width; q += side) {
        Square::transpose(from + p * from_step + q, from_step, [&](int k, const Row& row) {
          char* const to = reinterpret_cast<char*>(into + p + (q + k) * into_step);
          if constexpr (Aligned) {
            stream_line(to, &row);
          } else {
            const Extent beyond = beyond_line(q + k);
            const Row line = eindecomp::detail::look_up(before[q + k], row, joined[q + k]);
            before[q + k] = row;
            if (p > 0 || beyond == 0) stream_line(to - beyond, &line);
          }
        });
        prefetch(soon, q);
      }
      if (!on_line(soon)) prefetch(soon, width - 1);
    }
    for (Extent q = 0; q < width; ++q) copy_ends(q, whole);
  }

  /// What lines of row q of the target do not hold whole, if it has been written by lines as far as
  /// `whole` words from its begin go.
  void copy_ends(Extent q, Extent whole) const {
    const Extent beyond = beyond_line(q);
    const Extent begin = beyond == 0 ? 0 : (line_bytes - beyond + size - 1) / size;
    const Extent end = std::max(begin, whole - (beyond + size - 1) / size);
    for (Extent p = 0; p < std::min(begin, rows); ++p) copy_word(p, q);
    for (Extent p = end; p < rows; ++p) copy_word(p, q);
  }
  void copy_word(Extent p, Extent q) const { into[p + q * into_step] = from[p * from_step + q]; }

  /// The other columns, through a buffer from which long pieces of rows are written.
  void by_buffer(Extent first) const {
    constexpr Extent step = buffer_rows + side;
    alignas(line_bytes) Word buffer[step * most_columns];
    for (Extent begin = 0; begin < rows; begin += buffer_rows) {
      const Extent end = std::min(begin + buffer_rows, rows);
      for (Extent p = begin; p < end; p += side) {
        transpose_plane(buffer + p - begin, step, from + p * from_step + first, from_step,
                        std::min(side, end - p), columns - first);
        const Word* const soon = rows_soon(p);
        for (Extent q = first; q < columns; q += side) prefetch(soon, q);
        if (!on_line(soon)) prefetch(soon, columns - 1);
      }
      for (Extent q = first; q < columns; ++q) {
        stream_row(into + begin + q * into_step, buffer + (q - first) * step, end - begin);
      }
    }
  }

  /// The rows of the source to be asked for when those from p on are read, or null.
  [[nodiscard]] const Word* rows_soon(Extent p) const {
    p += std::min(rows_ahead, rows);
    if (p < rows) return from + p * from_step;
    return next == nullptr ? nullptr : next + (p - rows) * from_step;
  }
  EINDECOMP_ALWAYS_INLINE void prefetch(const Word* soon, Extent q) const {
    if (soon == nullptr) return;
    for (Extent p = 0; p < side; ++p) prefetch_to_read(soon + p * from_step + q);
  }

  [[nodiscard]] static bool on_line(const Word* word) {
    return reinterpret_cast<std::uintptr_t>(word) % line_bytes == 0;
  }
  /// Bytes of the target between a line of memory and the begin of row q on it.
  [[nodiscard]] Extent beyond_line(Extent q) const {
    return static_cast<Extent>(reinterpret_cast<std::uintptr_t>(into + q * into_step) % line_bytes);
  }
};

#endif

}  // namespace eindecomp::kernel::detail
