// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The matrix product that an EinSum of two operands amounts to, for reports.
#pragma once

#include <string>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"

namespace eindecomp::kernel::detail {

/// C(batch,m,n) = ⊕ over k of A(batch,m,k) ⊗ B(batch,k,n), each extent that of several labels
/// together.
struct ProductSizes {
  Extent batch = 1;
  Extent m = 1;
  Extent n = 1;
  Extent k = 1;
};

/// ": batch 1, M 20, N 30, K 40".
[[nodiscard]] EINDECOMP_COMPACT inline std::string describe(const ProductSizes& sizes) {
  return ": batch " + std::to_string(sizes.batch) + ", M " + std::to_string(sizes.m) + ", N " +
         std::to_string(sizes.n) + ", K " + std::to_string(sizes.k);
}

}  // namespace eindecomp::kernel::detail
