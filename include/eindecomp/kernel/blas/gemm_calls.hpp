// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Products and sums of BLAS types by calls of the BLAS where the tensors lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/blas/binding.hpp"
#include "eindecomp/kernel/blas/gemm_shape.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

template <class T>
inline constexpr bool is_blas_type =
    std::is_same_v<T, float> || std::is_same_v<T, double> ||
    std::is_same_v<T, Kokkos::complex<float>> || std::is_same_v<T, Kokkos::complex<double>>;

/// The factor of a join that is a product: nothing to call for one that is not.
template <class T>
[[nodiscard]] T product_factor(const Mul&) {
  return T(1);
}
template <class T, class Factor>
[[nodiscard]] T product_factor(const ScaledMul<Factor>& join) {
  return T(join.factor);
}
/// Whether a signature on a space is one the BLAS knows.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool is_blas_product() {
  if constexpr (sizeof...(Ts) == 2 && expr::is_product<Join> && std::is_same_v<Monoid, Sum>) {
    using Value = typename Signature<Join, Monoid, Ts...>::Value;
    return blas::available<Space> && is_blas_type<Value> && (std::is_same_v<Ts, Value> && ...);
  } else {
    return false;
  }
}

/// C = alpha·A·B + beta·C for the positions first <= i < last of the outer nest.
template <class T, class Space>
void run_gemm_calls(const Space& space, const GemmShape& shape, Extent first, Extent last,
                    const T alpha, const void* const* operands, const T beta, T* output) {
  const int left = shape.swapped ? 1 : 0;
  const T* const a = static_cast<const T*>(operands[left]);
  const T* const b = static_cast<const T*>(operands[1 - left]);
  const Extent inner_size = shape.inner.size();
  Cursor<3> out;
  out.seek(shape.outer, first);
  for (Extent i = first; i < last; ++i, out.advance(shape.outer)) {
    Cursor<3> in;
    in.seek(shape.inner, 0);
    for (Extent j = 0; j < inner_size; ++j, in.advance(shape.inner)) {
      const blas::Matrix<const T> of_a{a + out.offset[left] + in.offset[left],
                                       shape.transpose_a ? shape.k : shape.m,
                                       shape.transpose_a ? shape.m : shape.k, shape.lda};
      const blas::Matrix<const T> of_b{b + out.offset[1 - left] + in.offset[1 - left],
                                       shape.transpose_b ? shape.n : shape.k,
                                       shape.transpose_b ? shape.k : shape.n, shape.ldb};
      const blas::Matrix<T> product{output + out.offset[2], shape.m, shape.n, shape.ldc};
      blas::gemm(space, shape.transpose_a, shape.transpose_b, alpha, of_a, of_b,
                 j > 0 ? T(1) : beta, product);
    }
  }
}

/// C = alpha·A·B + beta·C for every position of the outer nest: one after another, or, of matrices
/// times vectors, shared out among the threads. One instantiation per space and element type.
template <class T, class Space>
void run_gemm(const Space& space, const GemmShape& shape, const T alpha,
              const void* const* operands, const T beta, T* output) {
  const compat::ScopedRegion region("EinDecomp::gemm");
  const Extent calls = shape.outer.size();
  if constexpr (compat::is_synchronous<Space>) {
    const Extent threads = compat::host_threads(space);
    const Extent parts = std::min(threads, shape.joins() / machine_rates.min_gemv_share);
    if (shape.is_vector() && calls >= threads && parts > 1) {
      launch(space, "EinDecomp::gemv", parts, [&](const Extent part) {
        run_gemm_calls(space, shape, calls * part / parts, calls * (part + 1) / parts, alpha,
                       operands, beta, output);
      });
      return;
    }
  }
  run_gemm_calls(space, shape, 0, calls, alpha, operands, beta, output);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
