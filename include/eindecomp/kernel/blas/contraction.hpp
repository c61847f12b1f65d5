// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A local EinSum of two operands as batches of matrix products: which label plays which role.
#pragma once

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// What a label is to a product of two operands; the first four are a Contraction's nests.
enum class LabelClass {
  batch,    ///< in both operands and the output
  m,        ///< in the first operand and the output
  n,        ///< in the second operand and the output
  k,        ///< in both operands, aggregated
  foreign,  ///< private to one operand and aggregated, or in the output only
};

/// A label counts as in a tensor where its stride there is not 0: a diagonal is a label like any
/// other, and a view of stride 0 lacks it.
[[nodiscard]] constexpr LabelClass classify(const LocalEinsum& shape, int label) {
  const bool a = shape.operand_stride[0][label] != 0;
  const bool b = shape.operand_stride[1][label] != 0;
  if (shape.aggregated[label]) return a && b ? LabelClass::k : LabelClass::foreign;
  if (a && b) return LabelClass::batch;
  if (a) return LabelClass::m;
  return b ? LabelClass::n : LabelClass::foreign;
}

/// C(batch,m,n) = ⊕_k A(batch,m,k) ⊗ B(batch,k,n), each of the four a nest of merged loops over
/// A, B and C.
struct Contraction {
  LoopNest<3> batch;
  LoopNest<3> m;
  LoopNest<3> n;
  LoopNest<3> k;

  /// Joins of all batch entries.
  [[nodiscard]] constexpr double joins() const {
    return static_cast<double>(batch.size()) * static_cast<double>(m.size()) *
           static_cast<double>(n.size()) * static_cast<double>(k.size());
  }
};

/// Makes of `product`, which is empty, the contraction that a shape of two operands is. \returns
/// whether it is one: not if a label is private to one operand or to the output, or an extent is 0.
[[nodiscard]] constexpr bool set_contraction(const LocalEinsum& shape, Contraction& product) {
  LoopNest<3>* const nests[] = {&product.batch, &product.m, &product.n, &product.k};
  for (int l = 0; l < shape.labels; ++l) {
    if (shape.extent[l] == 0) return false;
    if (shape.extent[l] == 1) continue;
    const LabelClass label_class = classify(shape, l);
    if (label_class == LabelClass::foreign) return false;
    LoopNest<3>& nest = *nests[static_cast<int>(label_class)];
    nest.stride[0][nest.loops] = shape.operand_stride[0][l];
    nest.stride[1][nest.loops] = shape.operand_stride[1][l];
    nest.stride[2][nest.loops] = shape.aggregated[l] ? 0 : shape.output_stride[l];
    nest.push(shape.extent[l]);
  }
  for (LoopNest<3>* nest : nests) {
    nest->sort_by_all();
    nest->merge();
  }
  return true;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
