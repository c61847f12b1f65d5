// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Transposition by non-temporal stores, which write whole lines of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/instructions.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/simd/register_tile.hpp"
#include "eindecomp/kernel/simd/streaming_store.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

#if defined(EINDECOMP_STREAMING_BYTES)

/// The transposition of a plane into rows of a large target, wherever these begin.
///
/// Squares of as many rows and columns as a line has words are transposed in registers. A row of
/// the target may begin anywhere on a line, so that a line of it has words of two squares: both are
/// kept until the second is there. Planes of fewer columns go through a buffer.
/// \tparam Word  of at least 4 bytes.
template <class Word>
struct StreamedTranspose {
  Word* into;
  Extent into_step;
  const Word* from;
  Extent from_step;
  Extent rows;     ///< of the source
  Extent columns;  ///< of the source, which are rows of the target
  bool aligned;    ///< every row of the target begins on a line of memory
  bool continued;  ///< other planes have the rows before, as many as whole lines hold
  bool continues;  ///< other planes have the rows after, and these rows fill whole lines

  static constexpr Extent size = static_cast<Extent>(sizeof(Word));
  static constexpr Extent side = line_bytes / size;  ///< words of a line
  static constexpr Extent max_columns = tuning::transpose_tile_bytes / size;

  /// into[p + q·into_step] = from[p·from_step + q] for p < rows, q < columns. The line of a
  /// target's row within which this plane ends is written by the plane that continues it.
  /// \param next  the plane after this one, whose first rows are prefetched, or null.
  void run(const StreamedTranspose* next) const {
    if (columns < side) {
      by_buffer(next);
    } else if (aligned) {
      by_registers<true>(next);
    } else {
      by_registers<false>(next);
    }
  }

 private:
  using Integer = typename Word::Integer;
  typedef Integer Lane __attribute__((may_alias));
  static constexpr int unit = static_cast<int>(sizeof(Word) / sizeof(Integer));
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Integer));
  /// Squares, one below the other, that are transposed together, so that two lines of a row of the
  /// target leave one after the other.
  static constexpr int squares = 2;
  static constexpr Extent band_rows = squares * side;
  static constexpr Extent buffer_rows = 512 / size;
  using Tile = RegisterTile<Integer, lanes, unit>;
  using Register = typename Tile::Row;
  static constexpr int registers = line_bytes / vector_bytes;

  typedef std::uint64_t Long __attribute__((may_alias));
  static constexpr int longs = vector_bytes / 8;
  using Longs = Lanes<std::uint64_t, longs>;

  /// A line of memory, in as many registers as it takes.
  struct Line {
    static constexpr Extent lanes = side * unit;
    Register part[registers];
  };

  /// Where rows of the source begin, the last one in place of those beyond it.
  struct Band {
    const Word* row[band_rows];

    Band(const StreamedTranspose& plane, Extent first) {
      for (Extent p = 0; p < band_rows; ++p) {
        row[p] = plane.from + std::min(first + p, plane.rows - 1) * plane.from_step;
      }
    }
  };

  /// Prefetches the lines of a band row by row: memory delivers neighbouring lines faster than
  /// lines that lie far apart.
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
    char* line[max_columns];     ///< the line of memory that each begins on
    Integer begun[max_columns];  ///< lanes of that line before it
    /// Its words from the last square of the band before, and from the squares of this band.
    Line got[max_columns][1 + squares];

    explicit Targets(const StreamedTranspose& plane) {
      for (Extent q = 0; q < plane.columns; ++q) {
        char* const row = reinterpret_cast<char*>(plane.into + q * plane.into_step);
        const auto beyond = reinterpret_cast<std::uintptr_t>(row) % line_bytes;
        line[q] = row - beyond;
        begun[q] = static_cast<Integer>(beyond / sizeof(Integer));
        if (!plane.continued) prefetch_part(row);
        if (!plane.continues) prefetch_part(row + plane.rows * size);
      }
    }
    /// Keeps the words of a band's last square, for the rows from q on that it has.
    EINDECOMP_ALWAYS_INLINE void end_band(Extent q) {
      for (Extent k = q; k < q + side; ++k) got[k][0] = got[k][squares];
    }
  };

  /// The first row to be read: a line of the target may begin up to a square before the plane.
  [[nodiscard]] Extent first_row() const { return continued && !aligned ? -side : 0; }

  /// Square by square, band by band; the next band is prefetched meanwhile.
  template <bool Aligned>
  void by_registers(const StreamedTranspose* next) const {
    Targets targets(*this);
    Band band(*this, first_row());
    for (Extent begin = first_row(); begin < rows; begin += band_rows) {
      const bool last = begin + band_rows >= rows;
      const StreamedTranspose& plane = last && next != nullptr ? *next : *this;
      const Band soon(plane, last ? plane.first_row() : begin + band_rows);
      LinesAhead ahead{soon.row, columns};
      for (Extent q = 0; q < columns; q += side) {
        for (int s = 0; s < squares; ++s) {
          const Extent p = begin + s * side;
          const Word* const* const row = band.row + s * side;
          if (p + side <= rows && q + side <= columns && (Aligned || p > first_row())) {
            square<Aligned>(targets, row, p, q, s);
          } else if (p < rows) {
            edge_square(targets, row, p, q, s);
          }
          EINDECOMP_UNROLLED(16)
          for (Extent k = 0; k < side; ++k) ahead.ask();
        }
        if constexpr (!Aligned) targets.end_band(q);
      }
      band = soon;
    }
    if (!Aligned && !continues) end_rows(targets);
  }

  /// Transposes the square of rows from p and columns from q on, the s-th of a band, and writes the
  /// lines that it completes.
  template <bool Aligned>
  EINDECOMP_ALWAYS_INLINE void square(Targets& targets, const Word* const* row, Extent p, Extent q,
                                      int s) const {
    if constexpr (Aligned) {
      EINDECOMP_UNROLLED(16)
      for (Extent k = 0; k < side; k += Tile::rows) {
        Line line[Tile::rows];
        transpose_columns(row, q + k, [&](int c) -> Line& { return line[c]; });
        EINDECOMP_UNROLLED(16)
        for (int c = 0; c < Tile::rows; ++c)
          stream_line(targets.line[q + k + c] + p * size, &line[c]);
      }
    } else {
      EINDECOMP_UNROLLED(16)
      for (Extent k = 0; k < side; k += Tile::rows) {
        transpose_columns(row, q + k,
                          [&](int c) -> Line& { return targets.got[q + k + c][1 + s]; });
      }
      // Neither unrolled nor fused with the loop above: registers would be spilled between the
      // stores.
      EINDECOMP_UNROLLED(1)
      for (Extent k = q; k < q + side; ++k) {
        const Line line = joined(targets, k, s);
        stream_line(targets.line[k] + p * size, &line);
      }
    }
  }

  /// The same at the edges of the plane. Where columns end, the square overlaps the one before.
  [[gnu::noinline]] void edge_square(Targets& targets, const Word* const* row, Extent p, Extent q,
                                     int s) const {
    const Extent begin = std::min(q, columns - side);
    Line line[side];
    for (Extent k = 0; k < side; k += Tile::rows) {
      transpose_columns(row, begin + k, [&](int c) -> Line& { return line[k + c]; });
    }
    for (; q < begin + side; ++q) {
      targets.got[q][1 + s] = line[q - begin];
      const Line whole = joined(targets, q, s);
      if (p >= 0) write_part(targets, p, q, reinterpret_cast<const Lane*>(&whole));
    }
  }

  /// Transposes as many columns as a register has words, from q on, of as many rows as a line has
  /// words: column q + c into line(c).
  template <class LineOf>
  EINDECOMP_ALWAYS_INLINE static void transpose_columns(const Word* const* row, Extent q,
                                                        const LineOf& line) {
    EINDECOMP_UNROLLED(4)
    for (int i = 0; i < registers; ++i) {
      Tile::transpose([=](int k) { return row[i * Tile::rows + k] + q; },
                      [&](int c, const Register& column) { line(c).part[i] = column; });
    }
  }

  /// The line of row q of the target that square s of a band and the square before it fill. Loads
  /// are of whole registers or words of 8 bytes, as the stores were: a load that a store on its way
  /// to memory cannot be forwarded to waits for it, and for all stores before it.
  EINDECOMP_ALWAYS_INLINE static Line joined(const Targets& targets, Extent q, int s) {
    const Line* const got = &targets.got[q][1 + s];
    Line line;
    if constexpr (registers == 1) {
      const Register lane = lane_numbers<Integer, lanes>() + static_cast<Integer>(lanes);
      core::look_up<Register>(got[-1].part[0], got->part[0], lane - targets.begun[q], line.part[0]);
    } else {
      constexpr unsigned step = 8 / sizeof(Integer);
      const Long* const from = reinterpret_cast<const Long*>(got) - targets.begun[q] / step;
      const auto bits = static_cast<unsigned>(targets.begun[q] % step * 32);
      EINDECOMP_UNROLLED(4)
      for (int i = 0; i < registers; ++i) {
        Longs words = load_longs(from + i * longs);
        if constexpr (step > 1) {
          words = words << bits | load_longs(from + i * longs - 1) >> 32 >> (32 - bits);
        }
        line.part[i] = reinterpret_cast<Register>(words);
      }
    }
    return line;
  }

  [[nodiscard]] EINDECOMP_ALWAYS_INLINE static Longs load_longs(const Long* from) {
    return [from]<std::size_t... W>(std::index_sequence<W...>) { return Longs{from[W]...}; }
    (std::make_index_sequence<longs>());
  }

  /// Writes row q's part of a line of the target: the line that word p of the row is in.
  void write_part(const Targets& targets, Extent p, Extent q, const Lane* line) const {
    const Extent at = p * unit - static_cast<Extent>(targets.begun[q]);
    const Extent low = continued ? 0 : std::max(Extent{0}, -at);
    const Extent high = std::min(Line::lanes, rows * unit - at);
    char* const to = targets.line[q] + p * size;
    if (low == 0 && high == Line::lanes) {
      stream_line(to, line);
    } else {
      for (Extent l = low; l < high; ++l) reinterpret_cast<Lane*>(to)[l] = line[l];
    }
  }

  /// Writes the words of the last square that fill no line.
  void end_rows(const Targets& targets) const {
    const Extent end = ceil_div(rows, side) * side;
    const Extent done = (end - first_row()) / side;
    for (Extent q = 0; q < columns; ++q) {
      const Line* const beyond = &targets.got[q][1 + (done - 1) % squares] + 1;
      write_part(targets, end, q, reinterpret_cast<const Lane*>(beyond) - targets.begun[q]);
    }
  }

  /// Through a buffer, from which long pieces of rows are written.
  void by_buffer(const StreamedTranspose* next) const {
    constexpr Extent step = buffer_rows + side;
    alignas(line_bytes) Word buffer[step * max_columns];
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

  /// The rows of the source to be prefetched when those from p on are read, or null.
  [[nodiscard]] const Word* rows_soon(Extent p, const StreamedTranspose* next) const {
    p += std::min(tuning::buffered_rows_ahead, rows);
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

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
