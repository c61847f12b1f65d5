// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A local EinSum of two operands as a batch of matrix products, each of whose dimensions may be
/// several loops.
#pragma once

#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// C(batch,m,n) = ⊕_k A(batch,m,k) ⊗ B(batch,k,n), each of the four a nest of loops over A, B and
/// C.
struct Contraction {
  using Nest = LoopNest<3>;
  Nest batch;
  Nest m;
  Nest n;
  Nest k;

  /// Joins of all batch entries.
  [[nodiscard]] constexpr double joins() const {
    return static_cast<double>(batch.size()) * static_cast<double>(m.size()) *
           static_cast<double>(n.size()) * static_cast<double>(k.size());
  }

  /// The same with the operands in the other order.
  constexpr void exchange() {
    std::swap(m, n);
    Nest* const nests[] = {&batch, &m, &n, &k};
    for (Nest* nest : nests) std::swap(nest->stride[0], nest->stride[1]);
  }
};

/// Puts every label of a shape of two operands whose extent is not 1 into one of the nests of
/// `product`, which are empty. A label is in a tensor where its stride there is not 0: a diagonal
/// is a label like any other, and a view of stride 0 lacks it. One that is aggregated is in K; one
/// of the output is in M or N if one operand has it, else in the batch. \returns whether a BLAS
/// knows such products: whether both operands have all labels of K and of the batch, and no extent
/// is 0.
constexpr bool place_labels(const LocalEinsum& shape, Contraction& product) {
  bool known = true;
  for (int l = 0; l < shape.labels; ++l) {
    if (shape.extent[l] == 1) continue;
    const bool in_a = shape.operand_stride[0][l] != 0;
    const bool in_b = shape.operand_stride[1][l] != 0;
    const bool in_k = shape.aggregated[l];
    Contraction::Nest& nest = in_k           ? product.k
                              : in_a == in_b ? product.batch
                              : in_a         ? product.m
                                             : product.n;
    const bool in_both = in_a && in_b;
    if (shape.extent[l] == 0 || (!in_both && (in_k || in_a == in_b))) known = false;
    nest.push(shape.extent[l], {shape.operand_stride[0][l], shape.operand_stride[1][l],
                                in_k ? 0 : shape.output_stride[l]});
  }
  return known;
}

/// Whether an operand is read by windows that overlap: along a label its elements lie within reach
/// of those along other labels. To lay the windows out for a BLAS takes as many elements as there
/// are positions.
[[nodiscard]] constexpr bool reads_windows(const LocalEinsum& shape) {
  if (shape.from_windows) return true;
  for (int o = 0; o < shape.operands; ++o) {
    Extent stride[max_labels];
    Extent extent[max_labels];
    int labels = 0;
    for (int l = 0; l < shape.labels; ++l) {
      const Extent step = shape.operand_stride[o][l];
      const Extent length = step < 0 ? -step : step;
      if (length == 0 || shape.extent[l] <= 1) continue;
      int place = labels++;
      for (; place > 0 && stride[place - 1] > length; --place) {
        stride[place] = stride[place - 1];
        extent[place] = extent[place - 1];
      }
      stride[place] = length;
      extent[place] = shape.extent[l];
    }
    Extent reach = 0;
    for (int l = 0; l < labels; ++l) {
      if (stride[l] <= reach) return true;
      reach += stride[l] * (extent[l] - 1);
    }
  }
  return false;
}

/// Makes of `product`, which is empty, the contraction that a shape of two operands is, its loops
/// merged. \returns whether a BLAS knows such products, as place_labels.
[[nodiscard]] constexpr bool set_contraction(const LocalEinsum& shape, Contraction& product) {
  if (!place_labels(shape, product)) return false;
  Contraction::Nest* const nests[] = {&product.batch, &product.m, &product.n, &product.k};
  for (Contraction::Nest* nest : nests) {
    nest->sort_by_all();
    nest->merge();
  }
  return true;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
