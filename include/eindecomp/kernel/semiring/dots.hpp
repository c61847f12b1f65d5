// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Products of few rows or columns whose operands both are contiguous along K, as the gradient by
/// the filters of a layer of few channels is. To pack them would take as long as the product, so
/// they are read where they lie: each element of C is a vector of sums until all of K is done.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/instructions.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/semiring/packed_offsets.hpp"
#include "eindecomp/kernel/semiring/packed_shape.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Rows and columns of C that are summed at a time. Nine sums keep two units for fused
/// multiply-adds at work, and six vectors are loaded for nine of these.
inline constexpr int dot_side = 3;

/// Whether dot products by vectors compute a signature: sums of products of floating-point numbers.
template <class Join, class Monoid, class A, class B>
inline constexpr bool has_dots = (EINDECOMP_FUSED_MULTIPLY_ADD && std::is_same_v<Join, Mul> &&
                                  std::is_same_v<Monoid, Sum> && std::is_same_v<A, B> &&
                                  (std::is_same_v<A, float> || std::is_same_v<A, double>));

/// Whether a product is faster so than packed.
[[nodiscard]] constexpr bool worth_dots(const PackedShape& shape) {
  const PackedShape::Nest& k = shape.k;
  return shape.windows && k.loops > 0 && k.stride[0][0] == 1 && k.stride[1][0] == 1 &&
         k.extent[0] >= tuning::min_dot_run && shape.steps >= tuning::min_dot_steps &&
         shape.rows * shape.columns <= tuning::max_dot_columns * tuning::max_dot_columns;
}

/// Steps that are contiguous in both operands, and where their first is.
struct DotRun {
  Extent a;
  Extent b;
  Extent steps;
};

/// sum[i·dot_side + j] += a[i]·b[j], lane by lane, of Width steps. \param kept  what counts of them
template <class T, int Width, std::size_t... I, class Kept>
EINDECOMP_ALWAYS_INLINE void add_products(std::index_sequence<I...>, const T* const* a,
                                          const T* const* b, Extent step, const Kept& kept,
                                          Lanes<T, Width>* sum) {
  Lanes<T, Width> left[dot_side];
  Lanes<T, Width> right[dot_side];
  for (int i = 0; i < dot_side; ++i) {
    left[i] = kept(load_lanes<T, Width>(a[i] + step));
    right[i] = kept(load_lanes<T, Width>(b[i] + step));
    core::hold(left[i]);
    core::hold(right[i]);
  }
  ((sum[I] = left[I / dot_side] * right[I % dot_side] + sum[I]), ...);
}

/// Adds the products of dot_side rows and columns along some runs, lane by lane.
template <class T, int Width, std::size_t... I>
EINDECOMP_NEVER_INLINE void add_dots(std::index_sequence<I...> all, const T* const* rows,
                                     const T* const* columns, const DotRun* run, int runs,
                                     Lanes<T, Width>* sums) {
  using V = Lanes<T, Width>;
  V sum[] = {sums[I]...};
  for (; runs > 0; --runs, ++run) {
    const T* a[dot_side];
    const T* b[dot_side];
    for (int i = 0; i < dot_side; ++i) {
      a[i] = rows[i] + run->a;
      b[i] = columns[i] + run->b;
    }
    Extent step = 0;
    for (; step + Width <= run->steps; step += Width) {
      add_products<T, Width>(
          all, a, b, step, [](const V& v) { return v; }, sum);
    }
    if (step == run->steps) continue;
    // The last steps are the last lanes of a vector that begins earlier.
    const V first = repeat<T, Width>(static_cast<T>(step + Width - run->steps));
    const V lane = lane_numbers<T, Width>();
    add_products<T, Width>(
        all, a, b, run->steps - Width, [&](const V& v) { return lane >= first ? v : V{}; }, sum);
  }
  ((sums[I] = sum[I]), ...);
}

/// Computes dot_side rows of C, from row `first` on, of an entry of the batch.
template <class T>
void compute_dots(const PackedShape& shape, Extent entry, Extent first, const T* a, const T* b,
                  T* c, bool merge) {
  constexpr int width = vector_bytes / static_cast<int>(sizeof(T));
  constexpr int tile = dot_side * dot_side;
  constexpr int most = static_cast<int>(ceil_div(tuning::max_dot_columns, Extent{dot_side}));
  Cursor<3> batch;
  batch.seek(shape.batch, entry);
  Offsets<dot_side> row[2];  // in A and in C
  Offsets<tuning::max_dot_columns> column[2];
  for (const int in_c : {0, 1}) {
    row[in_c].fill(shape.m, 2 * in_c, first, dot_side, shape.rows, batch.offset[2 * in_c]);
    column[in_c].fill(shape.n, 1 + in_c, 0, shape.columns, shape.columns,
                      in_c == 1 ? 0 : batch.offset[1]);
  }
  // Beyond the edge of C the last ones again.
  const T* rows[dot_side];
  const T* columns[most * dot_side];
  const int tiles = static_cast<int>(ceil_div(shape.columns, Extent{dot_side}));
  for (int i = 0; i < dot_side; ++i) rows[i] = a + row[0].offset[std::min(i, row[0].count - 1)];
  for (int j = 0; j < tiles * dot_side; ++j) {
    columns[j] = b + column[0].offset[std::min(j, column[0].count - 1)];
  }

  Lanes<T, width> sums[most * tile];
  std::fill(sums, sums + tiles * tile, repeat<T, width>(T(0)));
  Cursor<3> at;
  at.seek(shape.k, 0);
  for (Extent done = 0; done < shape.steps;) {
    constexpr int max_runs = static_cast<int>(tuning::dot_steps / tuning::min_dot_run);
    DotRun run[max_runs];
    int runs = 0;
    const Extent end = std::min(done + tuning::dot_steps, shape.steps);
    while (done < end && runs < max_runs) {
      // None is shorter than a vector.
      const Extent left = shape.k.extent[0] - at.coordinate[0];
      const Extent steps = left < 2 * tuning::dot_steps ? left : tuning::dot_steps;
      run[runs++] = {at.offset[0], at.offset[1], steps};
      at.skip(shape.k, steps);
      done += steps;
    }
    for (int t = 0; t < tiles; ++t) {
      add_dots<T, width>(std::make_index_sequence<tile>(), rows, columns + t * dot_side, run, runs,
                         sums + t * tile);
    }
  }
  for (int j = 0; j < column[1].count; ++j) {
    for (int i = 0; i < row[1].count; ++i) {
      const LaneArray<T, width> sum(sums[j / dot_side * tile + i * dot_side + j % dot_side]);
      T& element = c[row[1].offset[i] + column[1].offset[j]];
      T total = sum[0];
      for (int l = 1; l < width; ++l) total += sum[l];
      element = merge ? element + total : total;
    }
  }
}

/// C = A·B, or C + A·B.
template <class Space, class T>
void run_dots(const Space& space, PackedShape shape, const T* a, const T* b, T* c, bool merge) {
  // All columns belong to an item.
  if (shape.columns > shape.rows) {
    shape.exchange();
    std::swap(a, b);
  }
  const Extent groups = ceil_div(shape.rows, Extent{dot_side});
  launch_in_turn(space, "EinDecomp::dots", shape.entries * groups, [&](Extent item, Extent) {
    compute_dots(shape, item / groups, item % groups * dot_side, a, b, c, merge);
  });
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
