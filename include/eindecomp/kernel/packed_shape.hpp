// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A local EinSum of two operands as a batch of matrix products whose rows, columns and steps may
/// each be several loops.
#pragma once

#include <utility>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"

namespace eindecomp::kernel::detail {

/// For every batch entry, C(m,n) = ⊕ over k of A(m,k) ⊗ B(k,n). Every label of any EinSum has a
/// place: one that is aggregated is in K, be it in both operands, in one or (a view of stride 0) in
/// none; one of the output is in M or N if one operand has it, else in the batch. A diagonal is a
/// label like any other.
struct PackedShape {
  /// The tensors of a nest: A, B, C.
  using Nest = LoopNest<3>;
  Nest batch;
  Nest m;
  Nest n;
  Nest k;
  Extent entries = 1;
  Extent rows = 1;
  Extent columns = 1;
  Extent steps = 1;
  bool exchanged = false;  ///< A is the second operand

  [[nodiscard]] constexpr bool empty() const { return entries == 0 || rows == 0 || columns == 0; }

  /// The same product with the operands' roles exchanged.
  constexpr void exchange() {
    std::swap(m, n);
    std::swap(rows, columns);
    Nest* const nests[] = {&batch, &m, &n, &k};
    for (Nest* nest : nests) std::swap(nest->stride[0], nest->stride[1]);
    exchanged = !exchanged;
  }
};

/// Whether elements along the fastest loop of a nest follow one another in a tensor.
[[nodiscard]] constexpr bool contiguous(const PackedShape::Nest& nest, int tensor) {
  return nest.loops > 0 && nest.stride[tensor][0] == 1;
}

/// The product that a shape of two operands is. Where the join is commutative the operands are
/// exchanged if that makes rows of C contiguous, or long enough for a vector.
[[nodiscard]] constexpr PackedShape packed_shape(const LocalEinsum& shape, bool commutative) {
  PackedShape product;
  for (int l = 0; l < shape.labels; ++l) {
    if (shape.extent[l] == 1) continue;
    const bool in_a = shape.operand_stride[0][l] != 0;
    const bool in_b = shape.operand_stride[1][l] != 0;
    PackedShape::Nest& nest = shape.aggregated[l] ? product.k
                              : in_a == in_b      ? product.batch
                              : in_a              ? product.m
                                                  : product.n;
    nest.stride[0][nest.loops] = shape.operand_stride[0][l];
    nest.stride[1][nest.loops] = shape.operand_stride[1][l];
    nest.stride[2][nest.loops] = shape.aggregated[l] ? 0 : shape.output_stride[l];
    nest.push(shape.extent[l]);
  }
  // Neighbours in C first, in what is packed where there is no C.
  PackedShape::Nest* const nests[] = {&product.batch, &product.m, &product.n};
  for (PackedShape::Nest* nest : nests) {
    nest->sort_by(2);
    nest->merge();
  }
  product.k.sort_by_all();
  product.k.merge();
  product.entries = product.batch.size();
  product.rows = product.m.size();
  product.columns = product.n.size();
  product.steps = product.k.size();
  if (commutative) {
    constexpr Extent vector = 16;
    const bool wide = product.columns >= vector;
    const bool tall = product.rows >= vector;
    if (wide == tall ? !contiguous(product.n, 2) && contiguous(product.m, 2) : tall) {
      product.exchange();
    }
  }
  return product;
}

}  // namespace eindecomp::kernel::detail
