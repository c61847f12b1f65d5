// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The matrix product that an EinSum of two operands amounts to: its sizes, and what reports say.
#pragma once

#include <string>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// C(batch,m,n) = ⊕ over k of A(batch,m,k) ⊗ B(batch,k,n), each extent that of several labels
/// together.
struct ProductSizes {
  Extent batch = 1;
  Extent m = 1;
  Extent n = 1;
  Extent k = 1;

  [[nodiscard]] constexpr Extent joins() const { return batch * m * n * k; }
};

/// Those of a shape. Labels of both operands and the output are the batch, as are those of neither.
[[nodiscard]] constexpr ProductSizes product_sizes(const LocalEinsum& shape) {
  ProductSizes sizes;
  for (int l = 0; l < shape.labels; ++l) {
    const bool in_a = shape.operand_stride[0][l] != 0;
    const bool in_b = shape.operand_stride[1][l] != 0;
    Extent& size = shape.aggregated[l] ? sizes.k
                   : in_a == in_b      ? sizes.batch
                   : in_a              ? sizes.m
                                       : sizes.n;
    size *= shape.extent[l];
  }
  return sizes;
}

/// ": batch 1, M 20, N 30, K 40".
[[nodiscard]] EINDECOMP_COMPACT inline std::string describe(const ProductSizes& sizes) {
  return ": batch " + std::to_string(sizes.batch) + ", M " + std::to_string(sizes.m) + ", N " +
         std::to_string(sizes.n) + ", K " + std::to_string(sizes.k);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
