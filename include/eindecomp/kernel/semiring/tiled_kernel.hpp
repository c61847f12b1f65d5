// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The tiled algorithm's kernel: a tile of C by a team of threads, which keep it in their registers
/// and share what they read of A and B in the team's scratch memory.
#pragma once

#include <algorithm>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/semiring/packed_shape.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// What the threads of a team share: panels of A and B, padded by one element so that threads write
/// along either dimension without conflicts of banks, and the offsets of rows, columns and steps.
template <class A, class B, int Rows, int Columns>
struct TileScratch {
  A a[tuning::tiled_steps][Rows + 1];
  B b[tuning::tiled_steps][Columns + 1];
  Extent a_row[Rows];
  Extent c_row[Rows];
  Extent b_column[Columns];
  Extent c_column[Columns];
  Extent a_step[2][tuning::tiled_steps];  ///< of the steps in scratch, and of the next ones
  Extent b_step[2][tuning::tiled_steps];
};

/// One team's work: the tile of C of its number in the league. The threads form a grid, and each
/// has every ThreadRows-th row and every ThreadColumns-th column of the tile. An output's joins are
/// combined in the order of K, whatever the grid.
template <int ThreadRows, int ThreadColumns, class Join, class Monoid, class A, class B>
struct TiledKernel {
  using Sig = Signature<Join, Monoid, A, B>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  using State = typename Sig::State;
  static constexpr int threads = ThreadRows * ThreadColumns;
  /// Accumulators of a thread along M and along N: as many as registers hold.
  static constexpr int lanes = std::max({sizeof(A), sizeof(B), sizeof(State)}) <= 4 ? 8 : 4;
  static constexpr int rows = ThreadRows * lanes;
  static constexpr int columns = ThreadColumns * lanes;
  /// Teams that the registers of a multiprocessor should hold.
  static constexpr int resident_teams = sizeof(State) <= 8 ? 2 : 1;
  using Scratch = TileScratch<A, B, rows, columns>;

  PackedShape shape;
  Extent first_index;  ///< of the aggregated label
  Extent row_tiles;
  Extent column_tiles;
  bool rows_first;     ///< neighbouring threads have neighbouring rows, else columns
  bool a_steps_first;  ///< neighbouring threads read A at neighbouring steps, else rows
  bool b_steps_first;  ///< and B, else columns
  Join join;
  Store<Monoid, Value> store;
  const A* a = nullptr;
  const B* b = nullptr;

  /// Without operands.
  TiledKernel(const LocalEinsum& einsum, const PackedShape& product, const Join& its_join,
              const Store<Monoid, Value>& its_store)
      : shape(product),
        first_index(SplitNest<2>(einsum).first_index),
        row_tiles(ceil_div(product.rows, rows)),
        column_tiles(ceil_div(product.columns, columns)),
        rows_first(contiguous(product.m, 2) && !contiguous(product.n, 2)),
        a_steps_first(contiguous(product.k, 0)),
        b_steps_first(contiguous(product.k, 1)),
        join(its_join),
        store(its_store) {}

  /// Teams that compute all of C.
  [[nodiscard]] Extent teams() const { return shape.entries * row_tiles * column_tiles; }
  /// Bytes of scratch of a team.
  [[nodiscard]] static constexpr int scratch_bytes() {
    return static_cast<int>(sizeof(Scratch) + alignof(Scratch));
  }

  template <class Member>
  EINDECOMP_FUNCTION void operator()(const Member& member) const {
    Scratch& scratch = *static_cast<Scratch*>(
        member.team_scratch(0).get_shmem_aligned(sizeof(Scratch), alignof(Scratch)));
    const int thread = member.team_rank();
    const Extent tile = member.league_rank();
    const Extent first_column = tile % column_tiles * columns;
    const Extent first_row = tile / column_tiles % row_tiles * rows;
    Extent entry[3];
    find(shape.batch, tile / column_tiles / row_tiles, entry);
    find_lanes(thread, shape.m, first_row, shape.rows, rows, 0, scratch.a_row, scratch.c_row);
    find_lanes(thread, shape.n, first_column, shape.columns, columns, 1, scratch.b_column,
               scratch.c_column);
    find_steps(thread, 0, scratch);
    member.team_barrier();

    const int row = rows_first ? thread % ThreadRows : thread / ThreadColumns;
    const int column = rows_first ? thread / ThreadRows : thread % ThreadColumns;
    State state[lanes][lanes];
    EINDECOMP_UNROLL
    for (int i = 0; i < lanes; ++i) {
      EINDECOMP_UNROLL
      for (int j = 0; j < lanes; ++j) state[i][j] = Traits::identity(store.monoid);
    }
    int now = 0;
    for (Extent first = 0; first < shape.steps; first += tuning::tiled_steps, now = 1 - now) {
      const int count = count_of(shape.steps - first, tuning::tiled_steps);
      load<rows>(thread, a + entry[0], scratch.a_row, scratch.a_step[now], count, a_steps_first,
                 scratch.a);
      load<columns>(thread, b + entry[1], scratch.b_column, scratch.b_step[now], count,
                    b_steps_first, scratch.b);
      find_steps(thread, first + tuning::tiled_steps, scratch);
      member.team_barrier();
      for (int step = 0; step < count; ++step) {
        accumulate(scratch.a[step] + row, scratch.b[step] + column, first_index + first + step,
                   state);
      }
      member.team_barrier();
    }

    const Extent rows_left = shape.rows - first_row;
    const Extent columns_left = shape.columns - first_column;
    EINDECOMP_UNROLL
    for (int i = 0; i < lanes; ++i) {
      EINDECOMP_UNROLL
      for (int j = 0; j < lanes; ++j) {
        const int r = row + i * ThreadRows;
        const int c = column + j * ThreadColumns;
        if (r < rows_left && c < columns_left) {
          store(entry[2] + scratch.c_row[r] + scratch.c_column[c], state[i][j]);
        }
      }
    }
  }

 private:
  [[nodiscard]] static EINDECOMP_FUNCTION int count_of(Extent left, int most) {
    return left < most ? static_cast<int>(left) : most;
  }

  /// The offsets of A, B and C at a position of a nest, as a Cursor has them, which would have its
  /// coordinates in memory.
  EINDECOMP_FUNCTION static void find(const PackedShape::Nest& nest, Extent position,
                                      Extent (&offset)[3]) {
    for (Extent& o : offset) o = 0;
    for (int l = 0; l < nest.loops; ++l) {
      const Extent rest = position / nest.extent[l];
      for (int t = 0; t < 3; ++t)
        offset[t] += (position - rest * nest.extent[l]) * nest.stride[t][l];
      position = rest;
    }
  }

  /// Offsets of rows or columns in an operand and in C. Those beyond the last repeat it, so that
  /// joins are called with elements of the tensors only.
  EINDECOMP_FUNCTION void find_lanes(int thread, const PackedShape::Nest& nest, Extent first,
                                     Extent end, int most, int operand, Extent* in_operand,
                                     Extent* in_output) const {
    Extent at[3];
    for (int i = thread; i < most; i += threads) {
      find(nest, first + i < end ? first + i : end - 1, at);
      in_operand[i] = operand == 0 ? at[0] : at[1];
      in_output[i] = at[2];
    }
  }

  /// Offsets of the steps from `first` on in A and B.
  EINDECOMP_FUNCTION void find_steps(int thread, Extent first, Scratch& scratch) const {
    const int which = static_cast<int>(first / tuning::tiled_steps % 2);
    const int count = count_of(shape.steps - first, tuning::tiled_steps);
    Extent at[3];
    for (int i = thread; i < count; i += threads) {
      find(shape.k, first + i, at);
      scratch.a_step[which][i] = at[0];
      scratch.b_step[which][i] = at[1];
    }
  }

  /// Brings `count` steps of a panel to scratch.
  template <int Lanes, class T>
  EINDECOMP_FUNCTION static void load(int thread, const T* from, const Extent* lane_offset,
                                      const Extent* step_offset, int count, bool steps_first,
                                      T (*to)[Lanes + 1]) {
    for (int i = thread; i < Lanes * tuning::tiled_steps; i += threads) {
      const int lane = steps_first ? i / tuning::tiled_steps : i % Lanes;
      const int step = steps_first ? i % tuning::tiled_steps : i / Lanes;
      if (step < count) to[step][lane] = from[lane_offset[lane] + step_offset[step]];
    }
  }

  /// state ⊕= a ⊗ b for a thread's rows and columns of one step.
  EINDECOMP_FUNCTION void accumulate(const A* row, const B* column, Extent index,
                                     State (&state)[lanes][lanes]) const {
    Widened<A> left[lanes];
    Widened<B> right[lanes];
    EINDECOMP_UNROLL
    for (int i = 0; i < lanes; ++i) left[i] = expr::widened(row[i * ThreadRows]);
    EINDECOMP_UNROLL
    for (int j = 0; j < lanes; ++j) right[j] = expr::widened(column[j * ThreadColumns]);
    EINDECOMP_UNROLL
    for (int i = 0; i < lanes; ++i) {
      EINDECOMP_UNROLL
      for (int j = 0; j < lanes; ++j) {
        const auto value = static_cast<Value>(join(left[i], right[j]));
        state[i][j] =
            Traits::combine(store.monoid, state[i][j], Traits::lift(store.monoid, value, index));
      }
    }
  }
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
