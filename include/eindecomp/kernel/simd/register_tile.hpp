// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Transposition of small squares of elements in vector registers, from portable vector types.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/simd/streaming_store.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// into[p + q·into_step] = from[p·from_step + q], one element at a time.
template <class Word>
EINDECOMP_FUNCTION void transpose_scalar(Word* into, Extent into_step, const Word* from,
                                         Extent from_step, Extent rows, Extent columns) {
  for (Extent q = 0; q < columns; ++q) {
    for (Extent p = 0; p < rows; ++p) into[p + q * into_step] = from[p * from_step + q];
  }
}

#if defined(EINDECOMP_REGISTER_BYTES)

/// A square of elements of Unit integers each, one row of Lanes integers per register.
template <class Integer, int Lanes, int Unit>
struct RegisterTile {
  static constexpr int rows = Lanes / Unit;
  typedef Integer Row __attribute__((vector_size(Lanes * sizeof(Integer))));
  /// The same in memory, wherever an element may lie and whatever its type.
  typedef Integer Memory
      __attribute__((vector_size(Lanes * sizeof(Integer)), aligned(alignof(Integer)), may_alias));

  /// Exchanges the off-diagonal blocks, Distance integers wide, of a pair of rows.
  template <int Distance, int... Lane>
  static void exchange(Row& low, Row& high, std::integer_sequence<int, Lane...>) {
    const Row a = low;
    const Row b = high;
    low =
        __builtin_shufflevector(a, b, ((Lane & Distance) != 0 ? Lanes + Lane - Distance : Lane)...);
    high =
        __builtin_shufflevector(a, b, ((Lane & Distance) != 0 ? Lanes + Lane : Lane + Distance)...);
  }

  /// Interleaves a pair of rows, 16 bytes of each at a time.
  template <int... Lane>
  static void interleave(Row& low, Row& high, std::integer_sequence<int, Lane...>) {
    const Row a = low;
    const Row b = high;
    low = __builtin_shufflevector(a, b, (Lane - Lane % 4 + Lane % 4 / 2 + Lane % 2 * Lanes)...);
    high =
        __builtin_shufflevector(a, b, (Lane - Lane % 4 + Lane % 4 / 2 + Lane % 2 * Lanes + 2)...);
  }

  /// Calls mix(low, high) for the pairs of rows that are Distance apart.
  template <int Distance, class Mix>
  static void mix_pairs(Row* row, const Mix& mix) {
    EINDECOMP_UNROLLED(16)
    for (int i = 0; i < rows; ++i) {
      if ((i & Distance) == 0) mix(row[i], row[i + Distance]);
    }
  }

  template <int Distance>
  static void exchange_all(Row* row) {
    if constexpr (Distance < Lanes) {
      mix_pairs<Distance / Unit>(row, [](Row& low, Row& high) {
        exchange<Distance>(low, high, std::make_integer_sequence<int, Lanes>{});
      });
      exchange_all<2 * Distance>(row);
    }
  }

  static void transpose(Row* row) {
    if constexpr (sizeof(Integer) == 4 && Unit == 1) {
      // To exchange single integers takes two instructions a row, to interleave them one.
      const auto mix = [](Row& low, Row& high) {
        interleave(low, high, std::make_integer_sequence<int, Lanes>{});
      };
      mix_pairs<2>(row, mix);
      mix_pairs<1>(row, mix);
      exchange_all<4>(row);
    } else {
      exchange_all<Unit>(row);
    }
  }

  /// Calls store(q, row) for the rows of the transposed square, whose rows begin at source(p).
  template <class Source, class Store>
  static void transpose(const Source& source, const Store& store) {
    Row row[rows];
    EINDECOMP_UNROLLED(16)
    for (int p = 0; p < rows; ++p) row[p] = *reinterpret_cast<const Memory*>(source(p));
    transpose(row);
    EINDECOMP_UNROLLED(16)
    for (int q = 0; q < rows; ++q) store(q, row[q]);
  }

  static void transpose(void* into, Extent into_step, const void* from, Extent from_step) {
    constexpr Extent bytes = Unit * sizeof(Integer);
    transpose([=](int p) { return static_cast<const char*>(from) + p * from_step * bytes; },
              [=](int q, const Row& row) {
                *reinterpret_cast<Memory*>(static_cast<char*>(into) + q * into_step * bytes) = row;
              });
  }
};

/// transpose_scalar of a plane with at most four rows or columns, in squares of four by four, of
/// which the last overlaps the one before. Where rows or columns are two or three that follow one
/// another, all but the last are read, or written, with what comes after them.
template <class Word>
EINDECOMP_NEVER_INLINE void transpose_narrow(Word* into, Extent into_step, const Word* from,
                                             Extent from_step, Extent rows, Extent columns) {
  using Integer = typename Word::Integer;
  constexpr int unit = static_cast<int>(sizeof(Word) / sizeof(Integer));
  using Square = RegisterTile<Integer, 4 * unit, unit>;
  const bool short_rows = columns < 4;
  const bool short_columns = rows < 4;
  if (short_rows && (columns == 1 || from_step < columns || from_step > 4 || rows < 5)) {
    return transpose_scalar(into, into_step, from, from_step, rows, columns);
  }
  if (short_columns && (rows == 1 || into_step != rows || columns < 5)) {
    return transpose_scalar(into, into_step, from, from_step, rows, columns);
  }
  const Extent square_rows = short_rows ? rows - 1 : rows;
  const Extent square_columns = short_columns ? columns - 1 : columns;
  for (Extent p = 0; p < square_rows; p += 4) {
    const Extent row = short_columns || p + 4 <= square_rows ? p : square_rows - 4;
    for (Extent q = 0; q < square_columns; q += 4) {
      const Extent column = short_rows || q + 4 <= square_columns ? q : square_columns - 4;
      Square::transpose(
          [=](int r) { return from + (row + (r < rows ? r : 0)) * from_step + column; },
          [=](int c, const typename Square::Row& elements) {
            if (c >= columns) return;
            *reinterpret_cast<typename Square::Memory*>(into + row + (column + c) * into_step) =
                elements;
          });
    }
  }
  if (short_rows) {
    transpose_scalar(into + rows - 1, into_step, from + (rows - 1) * from_step, from_step, 1,
                     columns);
  }
  if (short_columns) {
    transpose_scalar(into + (columns - 1) * into_step, into_step, from + columns - 1, from_step,
                     rows, 1);
  }
}

/// transpose_scalar in squares of registers of Lanes integers, what is left at the edges in smaller
/// ones.
template <int Lanes, class Word>
void transpose_tiles(Word* into, Extent into_step, const Word* from, Extent from_step, Extent rows,
                     Extent columns) {
  using Integer = typename Word::Integer;
  constexpr int unit = static_cast<int>(sizeof(Word) / sizeof(Integer));
  constexpr int side = Lanes / unit;
  if constexpr (Lanes < 4 || side < 2) {
    transpose_scalar(into, into_step, from, from_step, rows, columns);
  } else {
    const Extent whole_rows = rows - rows % side;
    const Extent whole_columns = columns - columns % side;
    for (Extent p = 0; p < whole_rows; p += side) {
      for (Extent q = 0; q < whole_columns; q += side) {
        RegisterTile<Integer, Lanes, unit>::transpose(into + p + q * into_step, into_step,
                                                      from + p * from_step + q, from_step);
      }
    }
    if constexpr (side == 4) {
      if (whole_rows == rows && whole_columns == columns) return;
      if (rows < 4 || columns < 4) {
        return transpose_narrow(into, into_step, from, from_step, rows, columns);
      }
      // Three that are left are part of another square, one or two are as fast by themselves.
      if (columns - whole_columns == 3) {
        transpose_narrow(into + (columns - 4) * into_step, into_step, from + columns - 4, from_step,
                         whole_rows, 4);
      } else {
        transpose_scalar(into + whole_columns * into_step, into_step, from + whole_columns,
                         from_step, whole_rows, columns - whole_columns);
      }
      if (rows - whole_rows == 3) {
        transpose_narrow(into + rows - 4, into_step, from + (rows - 4) * from_step, from_step, 4,
                         columns);
      } else {
        transpose_scalar(into + whole_rows, into_step, from + whole_rows * from_step, from_step,
                         rows - whole_rows, columns);
      }
      return;
    }
    if (whole_columns < columns) {
      transpose_tiles<Lanes / 2>(into + whole_columns * into_step, into_step, from + whole_columns,
                                 from_step, whole_rows, columns - whole_columns);
    }
    if (whole_rows < rows) {
      transpose_tiles<Lanes / 2>(into + whole_rows, into_step, from + whole_rows * from_step,
                                 from_step, rows - whole_rows, columns);
    }
  }
}

#endif

/// into[p + q·into_step] = from[p·from_step + q] for p < rows, q < columns.
template <class Word>
EINDECOMP_FUNCTION void transpose_plane(Word* into, Extent into_step, const Word* from,
                                        Extent from_step, Extent rows, Extent columns) {
#if defined(EINDECOMP_REGISTER_BYTES)
  if constexpr (sizeof(Word) >= 4) {
    constexpr int lanes =
        EINDECOMP_REGISTER_BYTES / static_cast<int>(sizeof(typename Word::Integer));
    transpose_tiles<lanes>(into, into_step, from, from_step, rows, columns);
    return;
  }
#endif
  transpose_scalar(into, into_step, from, from_step, rows, columns);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
