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

/// A plane that is transposed into rows of a large target, wherever these begin.
/// \tparam Word of at least 4 bytes.
template <class Word>
struct StreamingPlane {
  Word* into;
  Extent into_step;
  const Word* from;
  Extent from_step;
  Extent rows;     ///< of the source
  Extent columns;  ///< of the source, which are rows of the target
  bool aligned;    ///< every row of the target begins on a line of memory
  bool continued;  ///< the rows before are in other planes, whole lines of them
  bool continues;  ///< the rows after are in other planes, and these are whole lines

  static constexpr Extent size = static_cast<Extent>(sizeof(Word));
  static constexpr Extent side = line_bytes / size;  ///< words of a line
  static constexpr Extent most_columns = 512 / size;

  /// into[p + q·into_step] = from[p·from_step + q] for p < rows, q < columns. A line of the target
  /// that this plane ends in is written by the plane that continues it.
  /// \tparam Registers squares of lines' words are transposed in registers, which hold lines.
  /// \param next the plane after this one, whose first rows are asked for, or null.
  template <bool Registers = EINDECOMP_REGISTER_BYTES == line_bytes>
  void transpose(const StreamingPlane* next) const {
    if constexpr (Registers) {
      if (columns >= side) {
        if (aligned) {
          by_registers<true>(next);
        } else {
          by_registers<false>(next);
        }
        return;
      }
    }
    by_buffer(next);
  }

 private:
  using Integer = typename Word::Integer;
  typedef Integer Lane __attribute__((may_alias));
  static constexpr Extent unit = size / static_cast<Extent>(sizeof(Integer));
  static constexpr int lanes = static_cast<int>(side * unit);
  /// Rows of the source that are read together: two squares, so that lines of the target leave in
  /// pairs.
  static constexpr Extent band_rows = 2 * side;
  static constexpr Extent buffer_rows = 512 / size;
  static constexpr Extent rows_ahead = 32;
  using Square = RegisterTile<Integer, lanes, static_cast<int>(unit)>;
  using Row = typename Square::Row;

  /// Where rows of the source begin; the last one in place of those that there are not.
  struct Band {
    const Word* row[band_rows];

    Band(const StreamingPlane& plane, Extent first) {
      for (Extent p = 0; p < band_rows; ++p) {
        row[p] = plane.from + std::min(first + p, plane.rows - 1) * plane.from_step;
      }
    }
  };

  /// The lines of a band, which are asked for row by row: memory gives neighbouring lines faster
  /// than lines that lie far apart.
  struct LinesAhead {
    const Word* const* row;
    Extent columns;
    Extent q = 0;

    EINDECOMP_ALWAYS_INLINE void ask() {
      prefetch_to_read(*row + q);
      q += side;
      if (q < columns) return;
      if (reinterpret_cast<std::uintptr_t>(*row) % line_bytes != 0) {
        prefetch_to_read(*row + columns - 1);
      }
      ++row;
      q = 0;
    }
  };

  /// The rows of the target.
  struct Targets {
    char* line[most_columns];     ///< the line of memory that each begins on
    Integer begun[most_columns];  ///< lanes of that line before it
    Row before[most_columns];     ///< what it got from the last square

    explicit Targets(const StreamingPlane& plane) {
      for (Extent q = 0; q < plane.columns; ++q) {
        char* const row = reinterpret_cast<char*>(plane.into + q * plane.into_step);
        const auto beyond = reinterpret_cast<std::uintptr_t>(row) % line_bytes;
        line[q] = row - beyond;
        begun[q] = static_cast<Integer>(beyond / sizeof(Integer));
        if (!plane.continued) prefetch_part(row);
        if (!plane.continues) prefetch_part(row + plane.rows * size);
      }
    }
  };

  /// The first row to be read: a line of the target begins up to a square before the plane.
  [[nodiscard]] Extent first_row() const { return continued && !aligned ? -side : 0; }

  /// In squares that fill registers, band by band, the next of which is asked for meanwhile.
  template <bool Aligned>
  void by_registers(const StreamingPlane* next) const {
    Targets targets(*this);
    Band band(*this, first_row());
    for (Extent p = first_row(); p < rows; p += band_rows) {
      const bool last = p + band_rows >= rows;
      const StreamingPlane& plane = last && next != nullptr ? *next : *this;
      const Band soon(plane, last ? plane.first_row() : p + band_rows);
      LinesAhead ahead{soon.row, columns};
      for (Extent q = 0; q < columns; q += side) {
        for (Extent s = p; s < p + band_rows; s += side) {
          const Word* const* const row = band.row + (s - p);
          if (s + side <= rows && q + side <= columns && (Aligned || s > first_row())) {
            square<Aligned>(targets, row, s, q);
          } else if (s < rows) {
            edge_square(targets, row, s, q);
          }
          EINDECOMP_UNROLLED(16)
          for (Extent k = 0; k < side; ++k) ahead.ask();
        }
      }
      band = soon;
    }
    if (!Aligned && !continues) end_rows(targets);
  }

  /// The square of rows from p and columns from q on. What a row of the target gets is joined with
  /// what it got before, so that lines are written once and whole; in memory the joining would wait
  /// for the stores before it. (So would whatever else is stored here, registers among them.)
  template <bool Aligned>
  EINDECOMP_ALWAYS_INLINE void square(Targets& targets, const Word* const* row, Extent p,
                                      Extent q) const {
    Square::transpose([=](int k) { return row[k] + q; },
                      [&](int k, const Row& now) {
                        Row line = now;
                        if constexpr (!Aligned) join(targets, q + k, line);
                        stream_line(targets.line[q + k] + p * size, &line);
                      });
  }

  /// The same where rows or columns begin or end. Where columns end, it overlaps the one before.
  [[gnu::noinline]] void edge_square(Targets& targets, const Word* const* row, Extent p,
                                     Extent q) const {
    const Extent begin = std::min(q, columns - side);
    Row now[side];
    Square::transpose([=](int k) { return row[k] + begin; },
                      [&](int k, const Row& r) { now[k] = r; });
    for (; q < begin + side; ++q) {
      Row& line = now[q - begin];
      join(targets, q, line);
      if (p >= 0) write_part(targets, p, q, reinterpret_cast<const Lane*>(&line));
    }
  }

  /// Puts the line that row q of the target has got by now, and from the square before, in place of
  /// what it gets now.
  EINDECOMP_ALWAYS_INLINE static void join(Targets& targets, Extent q, Row& row) {
    Row lane;
    for (int l = 0; l < lanes; ++l) lane[l] = static_cast<Integer>(lanes + l);
    const Row now = row;
    eindecomp::detail::look_up<Row>(targets.before[q], now, lane - targets.begun[q], row);
    targets.before[q] = now;
  }

  /// Writes what is row q's of a line of the target, the one that word p of a whole row begins in.
  void write_part(const Targets& targets, Extent p, Extent q, const Lane* line) const {
    const Extent at = p * unit - static_cast<Extent>(targets.begun[q]);
    const Extent low = continued ? 0 : std::max(Extent{0}, -at);
    const Extent high = std::min<Extent>(lanes, rows * unit - at);
    char* const to = targets.line[q] + p * size;
    if (low == 0 && high == lanes) {
      stream_line(to, line);
    } else {
      for (Extent l = low; l < high; ++l) reinterpret_cast<Lane*>(to)[l] = line[l];
    }
  }

  /// Writes what the last square left over.
  void end_rows(const Targets& targets) const {
    const Extent end = (rows + side - 1) / side * side;
    for (Extent q = 0; q < columns; ++q) {
      const Lane* const line = reinterpret_cast<const Lane*>(&targets.before[q]) + lanes;
      write_part(targets, end, q, line - targets.begun[q]);
    }
  }

  /// Through a buffer from which long pieces of rows are written.
  void by_buffer(const StreamingPlane* next) const {
    constexpr Extent step = buffer_rows + side;
    alignas(line_bytes) Word buffer[step * most_columns];
    for (Extent begin = 0; begin < rows; begin += buffer_rows) {
      const Extent end = std::min(begin + buffer_rows, rows);
      for (Extent p = begin; p < end; p += side) {
        transpose_plane(buffer + p - begin, step, from + p * from_step, from_step,
                        std::min(side, end - p), columns);
        const Word* const soon = rows_soon(p, next);
        for (Extent q = 0; q < columns; q += side) prefetch(soon, q);
        if (!on_line(soon)) prefetch(soon, columns - 1);
      }
      for (Extent q = 0; q < columns; ++q) {
        stream_row(into + begin + q * into_step, buffer + q * step, end - begin);
      }
    }
  }

  /// The rows of the source to be asked for when those from p on are read, or null.
  [[nodiscard]] const Word* rows_soon(Extent p, const StreamingPlane* next) const {
    p += std::min(rows_ahead, rows);
    if (p < rows) return from + p * from_step;
    return next == nullptr ? nullptr : next->from + (p - rows) * from_step;
  }
  EINDECOMP_ALWAYS_INLINE void prefetch(const Word* soon, Extent q) const {
    if (soon == nullptr) return;
    for (Extent p = 0; p < side; ++p) prefetch_to_read(soon + p * from_step + q);
  }
  [[nodiscard]] static bool on_line(const Word* word) {
    return reinterpret_cast<std::uintptr_t>(word) % line_bytes == 0;
  }
};

#endif

}  // namespace eindecomp::kernel::detail
