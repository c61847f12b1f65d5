// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A contraction as the packed and the tiled kernels walk it: neighbours of the output first.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/algorithm.hpp"
#include "eindecomp/kernel/contraction.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/product_sizes.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// A contraction with its sizes. Any EinSum of two operands is one.
struct PackedShape : Contraction {
  Extent entries = 1;      ///< of the batch
  Extent rows = 1;         ///< positions of M
  Extent columns = 1;      ///< positions of N
  Extent steps = 1;        ///< positions of K
  bool exchanged = false;  ///< A is the second operand
  bool windows = false;    ///< an operand is read by windows that overlap

  [[nodiscard]] constexpr bool empty() const { return entries == 0 || rows == 0 || columns == 0; }
  /// Whether the elements of C for one batch entry are all those from the first to the last.
  [[nodiscard]] constexpr bool has_dense_output() const {
    Extent last = 0;
    for (const Nest* nest : {&m, &n}) {
      for (int l = 0; l < nest->loops; ++l) {
        if (nest->stride[2][l] < 0) return false;
        last += nest->stride[2][l] * (nest->extent[l] - 1);
      }
    }
    return last + 1 == rows * columns;
  }

  /// The same product with the operands' roles exchanged.
  constexpr void exchange() {
    Contraction::exchange();
    std::swap(rows, columns);
    exchanged = !exchanged;
  }
};

/// Whether elements along the fastest loop of a nest follow one another in a tensor.
[[nodiscard]] constexpr bool contiguous(const PackedShape::Nest& nest, int tensor) {
  return nest.loops > 0 && nest.stride[tensor][0] == 1;
}

/// For a nest whose fastest loop is contiguous in C and not in an operand: moves the loop that is
/// contiguous in the operand next to it, both cut into pieces, so that lines of memory are used
/// whole on both sides. Does nothing where there is no such loop or the extents have no suitable
/// divisors.
EINDECOMP_NEVER_INLINE constexpr void interleave(PackedShape::Nest& nest, int operand) {
  constexpr Extent vector = 8;
  const auto divisor = [](Extent extent) {
    Extent largest = 1;
    for (Extent piece = std::min(extent, tuning::max_interleaved); piece >= vector; --piece) {
      if (extent % piece != 0) continue;
      if (piece % vector == 0) return piece;
      largest = std::max(largest, piece);
    }
    return largest;
  };
  int along = 1;
  while (along < nest.loops && nest.stride[operand][along] != 1) ++along;
  if (along >= nest.loops || nest.loops + 2 > max_labels) return;
  const Extent run = divisor(nest.extent[0]);
  const Extent piece = divisor(nest.extent[along]);
  if (run == 1) return;
  if (piece > 1 && piece < nest.extent[along]) nest.cut(along, piece);
  nest.move_forward(along, 1);
  if (run < nest.extent[0]) {
    nest.cut(0, run);
    nest.swap_loops(1, 2);
  }
}
/// Whether a nest is what interleave makes: short in loop 0, contiguous in the operand along
/// loop 1.
[[nodiscard]] constexpr bool interleaved(const PackedShape::Nest& nest, int operand) {
  return nest.loops > 1 && nest.extent[0] <= tuning::max_interleaved &&
         nest.stride[operand][0] != 1 && nest.stride[operand][1] == 1;
}

/// The product that a shape of two operands is. Where the join is commutative the operands are
/// exchanged if that makes rows of C long enough for a vector, or contiguous for a while, or longer
/// where they are neither way.
[[nodiscard]] constexpr PackedShape packed_shape(const LocalEinsum& shape, bool commutative) {
  PackedShape product;
  place_labels(shape, product);
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
  product.windows = reads_windows(shape);
  if (commutative) {
    constexpr Extent vector = 16;
    const bool wide = product.columns >= vector;
    const bool tall = product.rows >= vector;
    const auto has_runs = [](const PackedShape::Nest& nest) {
      constexpr Extent run = 8;
      return contiguous(nest, 2) && nest.extent[0] >= std::min(run, nest.size());
    };
    const bool along_columns = has_runs(product.n);
    const bool along_rows = has_runs(product.m);
    if (wide != tall                  ? tall
        : along_columns != along_rows ? along_rows
                                      : product.rows > product.columns) {
      product.exchange();
    }
  }
  return product;
}

/// What explain() says of an algorithm for such a product.
/// \param refusal  why the BLAS does not compute it, or null.
[[nodiscard]] EINDECOMP_COMPACT inline std::string describe(const PackedShape& product,
                                                            Algorithm algorithm,
                                                            const char* refusal) {
  const bool exchanged = product.exchanged;
  std::string text =
      "algorithm " + std::string(to_string(algorithm)) +
      describe(ProductSizes{product.entries, exchanged ? product.columns : product.rows,
                            exchanged ? product.rows : product.columns, product.steps});
  if (refusal != nullptr) text += std::string("; ") + refusal;
  return text;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
