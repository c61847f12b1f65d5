// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which calls of the BLAS a contraction amounts to where it lies.
#pragma once

#include <cstdint>
#include <limits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/contraction.hpp"
#include "eindecomp/kernel/loop_nest.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// One call of the BLAS: C(m,n) += A(m,k)·B(k,n), column-major.
struct GemmCall {
  Extent m = 1;
  Extent n = 1;
  Extent k = 1;
  Extent lda = 1;
  Extent ldb = 1;
  Extent ldc = 1;
  bool transpose_a = false;  ///< A is stored as (k,m), k contiguous
  bool transpose_b = false;  ///< B is stored as (n,k), n contiguous
  bool swapped = false;      ///< A is the second operand: C is row-major, so its transpose is made

  /// Whether it is of a matrix and a vector.
  [[nodiscard]] constexpr bool is_vector() const { return m == 1 || n == 1; }
  [[nodiscard]] constexpr Extent call_joins() const { return m * n * k; }
};

/// A call for every position of `outer` (whose tensors are A, B, C) and, accumulating, for every
/// position of `inner`.
struct GemmShape : GemmCall {
  LoopNest<3> outer;  ///< batch labels, and those of M and N that did not merge
  LoopNest<3> inner;  ///< those of K that did not merge

  /// Of all calls.
  [[nodiscard]] constexpr Extent joins() const {
    return outer.size() * inner.size() * call_joins();
  }
};

namespace gemm_detail {

/// One matrix dimension: an extent and its strides in the tensors; extent 1 if there is none.
struct Dimension {
  Extent extent = 1;
  Extent a = 0;
  Extent b = 0;
  Extent c = 0;
};

/// Whether elements r·row + c·column form a column-major matrix: column r contiguous.
[[nodiscard]] constexpr bool columns(Extent rows, Extent row, Extent cols, Extent column) {
  return (rows == 1 || row == 1) && (cols == 1 || column >= rows);
}

[[nodiscard]] constexpr Extent leading(Extent rows, Extent cols, Extent column) {
  return cols == 1 ? (rows > 1 ? rows : 1) : column;
}

[[nodiscard]] constexpr Dimension dimension(const LoopNest<3>& nest, int loop) {
  if (loop < 0) return {};
  return {nest.extent[loop], nest.stride[0][loop], nest.stride[1][loop], nest.stride[2][loop]};
}

/// Sets matrices and flags if the three dimensions suit the BLAS with C column-major.
[[nodiscard]] constexpr bool fit(const Dimension& m, const Dimension& n, const Dimension& k,
                                 GemmCall& shape) {
  if (!columns(m.extent, m.c, n.extent, n.c)) return false;
  const bool a_plain = columns(m.extent, m.a, k.extent, k.a);
  const bool b_plain = columns(k.extent, k.b, n.extent, n.b);
  if (!a_plain && !columns(k.extent, k.a, m.extent, m.a)) return false;
  if (!b_plain && !columns(n.extent, n.b, k.extent, k.b)) return false;
  shape.m = m.extent;
  shape.n = n.extent;
  shape.k = k.extent;
  shape.transpose_a = !a_plain;
  shape.transpose_b = !b_plain;
  shape.lda = a_plain ? leading(m.extent, k.extent, k.a) : leading(k.extent, m.extent, m.a);
  shape.ldb = b_plain ? leading(k.extent, n.extent, n.b) : leading(n.extent, k.extent, k.b);
  shape.ldc = leading(m.extent, n.extent, n.c);
  return true;
}

/// The same with the roles of the operands exchanged.
[[nodiscard]] constexpr Dimension exchanged(const Dimension& d) {
  return {d.extent, d.b, d.a, d.c};
}

[[nodiscard]] constexpr bool fits_int(const GemmCall& shape) {
  // The BLAS' own index type is usually 32 bits wide.
  constexpr Extent limit = std::numeric_limits<std::int32_t>::max();
  return shape.m <= limit && shape.n <= limit && shape.k <= limit && shape.lda <= limit &&
         shape.ldb <= limit && shape.ldc <= limit;
}

EINDECOMP_NEVER_INLINE constexpr void append(LoopNest<3>& into, const LoopNest<3>& from,
                                             int except) {
  for (int l = 0; l < from.loops; ++l) {
    if (l == except) continue;
    into.push(from.extent[l], {from.stride[0][l], from.stride[1][l], from.stride[2][l]});
  }
}

}  // namespace gemm_detail

/// Makes of `best`, which is empty, the matrix multiplications that a contraction amounts to as it
/// lies in memory, the largest that the strides allow. \returns whether there are any: not if no
/// choice of dimensions gives each matrix a unit stride.
[[nodiscard]] constexpr bool set_gemm_shape(const Contraction& product, GemmShape& best) {
  using namespace gemm_detail;
  const LoopNest<3>& ms = product.m;
  const LoopNest<3>& ns = product.n;
  const LoopNest<3>& ks = product.k;

  bool any = false;
  int best_loop[3] = {-1, -1, -1};
  // -1 stands for a matrix dimension of extent 1.
  for (int i = -1; i < ms.loops; ++i) {
    for (int j = -1; j < ns.loops; ++j) {
      for (int l = -1; l < ks.loops; ++l) {
        const Dimension m = dimension(ms, i);
        const Dimension n = dimension(ns, j);
        const Dimension k = dimension(ks, l);
        GemmCall found;
        if (!fit(m, n, k, found)) {
          if (!fit(exchanged(n), exchanged(m), exchanged(k), found)) continue;
          found.swapped = true;
        }
        if (!fits_int(found)) continue;
        if (any && found.call_joins() <= best.call_joins()) continue;
        any = true;
        static_cast<GemmCall&>(best) = found;
        best_loop[0] = i;
        best_loop[1] = j;
        best_loop[2] = l;
      }
    }
  }
  if (!any) return false;
  best.outer = product.batch;
  append(best.outer, ms, best_loop[0]);
  append(best.outer, ns, best_loop[1]);
  append(best.inner, ks, best_loop[2]);
  return true;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
