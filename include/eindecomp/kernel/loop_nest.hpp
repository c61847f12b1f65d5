// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Loops over strided tensors, in the form every kernel walks them.
#pragma once

#include <cstddef>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"

namespace eindecomp::kernel::detail {

/// Nested loops, loop 0 the fastest, with the stride in elements of each of `Tensors` tensors
/// along each. Plain data that travels into kernels. What lies beyond the last loop has no value:
/// to set it would take as long as a product of small matrices.
template <int Tensors>
struct LoopNest {
  int loops = 0;
  Extent extent[max_labels];
  Extent stride[Tensors][max_labels];

  /// Appends a loop. \param strides  along it, per tensor
  constexpr void push(Extent loop_extent, const Extent (&strides)[Tensors]) {
    for (int t = 0; t < Tensors; ++t) stride[t][loops] = strides[t];
    extent[loops++] = loop_extent;
  }
  /// Lets there be a fastest loop, if only of one position.
  constexpr void push_if_none() {
    if (loops == 0) push(1, {});
  }

  [[nodiscard]] EINDECOMP_FUNCTION constexpr Extent size() const {
    Extent n = 1;
    for (int l = 0; l < loops; ++l) n *= extent[l];
    return n;
  }

  constexpr void swap_loops(int a, int b) {
    std::swap(extent[a], extent[b]);
    for (int t = 0; t < Tensors; ++t) std::swap(stride[t][a], stride[t][b]);
  }

  constexpr void copy_loop(int into, int from) {
    extent[into] = extent[from];
    for (int t = 0; t < Tensors; ++t) stride[t][into] = stride[t][from];
  }

  constexpr void erase(int loop) {
    for (int l = loop + 1; l < loops; ++l) copy_loop(l - 1, l);
    --loops;
  }

  /// Puts a loop in front of those from `place` on.
  constexpr void move_forward(int loop, int place) {
    for (int l = loop; l > place; --l) swap_loops(l, l - 1);
  }
  /// Puts a loop in front of all others.
  constexpr void make_fastest(int loop) { move_forward(loop, 0); }

  /// Cuts a loop into pieces of equal length: a loop within a piece and, next to it, one over them.
  constexpr void cut(int loop, Extent piece) {
    for (int l = loops; l > loop; --l) copy_loop(l, l - 1);
    ++loops;
    extent[loop] = piece;
    extent[loop + 1] /= piece;
    for (int t = 0; t < Tensors; ++t) stride[t][loop + 1] *= piece;
  }

  /// Orders loops by a tensor's stride, the smallest fastest; equal ones keep their order.
  EINDECOMP_NEVER_INLINE constexpr void sort_by(int tensor) {
    sort([this, tensor](int l) { return stride[tensor][l]; });
  }
  /// The same by the lengths of the strides of all tensors together, whichever way they go.
  EINDECOMP_NEVER_INLINE constexpr void sort_by_all() {
    sort([this](int l) {
      Extent sum = 0;
      for (int t = 0; t < Tensors; ++t) sum += stride[t][l] < 0 ? -stride[t][l] : stride[t][l];
      return sum;
    });
  }

  /// Whether loop `slow` continues loop `fast` in every tensor.
  [[nodiscard]] constexpr bool continues(int fast, int slow) const {
    for (int t = 0; t < Tensors; ++t) {
      if (stride[t][slow] != stride[t][fast] * extent[fast]) return false;
    }
    return true;
  }

  /// Joins neighbouring loops that one loop can walk.
  EINDECOMP_NEVER_INLINE constexpr void merge() {
    int kept = 0;
    for (int l = 1; l < loops; ++l) {
      if (continues(kept, l)) {
        extent[kept] *= extent[l];
      } else {
        copy_loop(++kept, l);
      }
    }
    if (loops > 0) loops = kept + 1;
  }

 private:
  template <class Key>
  constexpr void sort(const Key& key) {
    for (int a = 1; a < loops; ++a) {
      for (int b = a; b > 0 && key(b) < key(b - 1); --b) swap_loops(b, b - 1);
    }
  }
};

/// A position in a nest: coordinates and the offset of every tensor, moved without divisions.
template <int Tensors>
struct Cursor {
  Extent coordinate[max_labels];
  Extent offset[Tensors];

  /// Stands at the position of that number, loop 0 counting fastest.
  EINDECOMP_FUNCTION void seek(const LoopNest<Tensors>& nest, Extent position) {
    for (int t = 0; t < Tensors; ++t) offset[t] = 0;
    for (int l = 0; l < nest.loops; ++l) {
      const Extent c = position % nest.extent[l];
      position /= nest.extent[l];
      coordinate[l] = c;
      for (int t = 0; t < Tensors; ++t) offset[t] += c * nest.stride[t][l];
    }
  }

  /// Moves on along a loop, the fastest by default, at most to its end, which is where the next one
  /// goes on.
  EINDECOMP_FUNCTION void skip(const LoopNest<Tensors>& nest, Extent count, int loop = 0) {
    coordinate[loop] += count - 1;
    for (int t = 0; t < Tensors; ++t) offset[t] += (count - 1) * nest.stride[t][loop];
    advance(nest, loop);
  }

  /// Moves to the next position of a loop and those above it; after the last one comes the first.
  EINDECOMP_FUNCTION void advance(const LoopNest<Tensors>& nest, int loop = 0) {
    for (int l = loop; l < nest.loops; ++l) {
      for (int t = 0; t < Tensors; ++t) offset[t] += nest.stride[t][l];
      if (++coordinate[l] < nest.extent[l]) return;
      for (int t = 0; t < Tensors; ++t) offset[t] -= nest.stride[t][l] * nest.extent[l];
      coordinate[l] = 0;
    }
  }
};

/// A local EinSum as two nests, merged as far as they go: over the output's labels and over the
/// aggregated ones. The tensors are the operands and, last, the output.
template <int Operands>
struct SplitNest {
  static constexpr int tensors = Operands + 1;
  LoopNest<tensors> outer;
  LoopNest<tensors> inner;
  Extent first_index = 0;  ///< index of the first position of the one aggregated label

  constexpr explicit SplitNest(const LocalEinsum& shape) {
    int aggregated = 0;
    for (int l = 0; l < shape.labels; ++l) {
      if (shape.aggregated[l]) {
        ++aggregated;
        first_index = shape.begin[l];
      }
      if (shape.extent[l] == 1) continue;
      LoopNest<tensors>& nest = shape.aggregated[l] ? inner : outer;
      Extent strides[tensors];
      for (int t = 0; t < Operands; ++t) strides[t] = shape.operand_stride[t][l];
      strides[Operands] = shape.aggregated[l] ? 0 : shape.output_stride[l];
      nest.push(shape.extent[l], strides);
    }
    // Only an aggregation over one label can ask for the index (argmin); several have no common
    // index, so that their loops may be reordered and merged.
    if (aggregated != 1) first_index = 0;
    outer.sort_by(Operands);
    inner.sort_by_all();
    outer.merge();
    inner.merge();
  }
};

}  // namespace eindecomp::kernel::detail
