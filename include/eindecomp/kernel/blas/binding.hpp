// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How kernels call a BLAS. No other header names one; another BLAS is added here.
#pragma once

#include <Kokkos_Core.hpp>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "eindecomp/kernel/kokkos_compat.hpp"

#if !defined(EINDECOMP_DISABLE_BLAS)
// The BLAS of the host by pointers: Kokkos Kernels' views would cost time in every small call and a
// second in every translation unit.
#if __has_include(<KokkosBlas_Host_tpl.hpp>)
#include <KokkosBlas_Host_tpl.hpp>
#if defined(KOKKOSKERNELS_ENABLE_TPL_BLAS)
#define EINDECOMP_HAS_HOST_BLAS 1
#endif
#endif
// The device's by Kokkos Kernels' views, from 4.1 on, which does all of it on the instance. The
// header above says what Kokkos Kernels was built with.
#if ((defined(KOKKOS_ENABLE_CUDA) && defined(KOKKOSKERNELS_ENABLE_TPL_CUBLAS)) ||  \
     (defined(KOKKOS_ENABLE_HIP) && defined(KOKKOSKERNELS_ENABLE_TPL_ROCBLAS))) && \
    __has_include(<KokkosBlas3_gemm.hpp>)
#if KOKKOSKERNELS_VERSION >= 40100
#define EINDECOMP_HAS_DEVICE_BLAS 1
#include <KokkosBlas3_gemm.hpp>
#endif
#endif
#endif

/// Calls of a BLAS.
namespace eindecomp::kernel::blas {

/// A column-major matrix in someone else's memory; consecutive columns are `leading` apart.
template <class T>
struct Matrix {
  T* data = nullptr;         ///< the first element
  std::int64_t rows = 0;     ///< elements of a column
  std::int64_t columns = 0;  ///< elements of a row
  std::int64_t leading = 0;  ///< in elements
};

namespace detail {

// std::complex of a Kokkos::complex, which has the same bytes.
template <class T>
struct HostType {
  using type = T;
};
template <class T>
struct HostType<Kokkos::complex<T>> {
  using type = std::complex<T>;
};

#if defined(EINDECOMP_HAS_DEVICE_BLAS)
// Kokkos Kernels reaches the BLAS only where all views have one layout; a subview of whole rows of
// an unmanaged LayoutLeft view keeps that layout and carries the leading dimension.
template <class Space, class T>
[[nodiscard]] auto as_view(const Matrix<T>& matrix) {
  using View =
      Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::Device<Space, typename Space::memory_space>,
                   Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const View padded(matrix.data, static_cast<std::size_t>(matrix.leading),
                    static_cast<std::size_t>(matrix.columns));
  return Kokkos::subview(padded, std::pair<std::size_t, std::size_t>(0, matrix.rows),
                         Kokkos::ALL());
}

// Kokkos Kernels has one handle of the BLAS in a process and sets its instance before each call:
// one on another instance in between would take it along.
inline std::mutex& handle_in_use() {
  static std::mutex mutex;
  return mutex;
}
#endif

template <class Space>
[[nodiscard]] constexpr bool is_reached() {
  if constexpr (compat::is_synchronous<Space>) {
#if defined(EINDECOMP_HAS_HOST_BLAS)
    return true;
#endif
  } else {
#if defined(EINDECOMP_HAS_DEVICE_BLAS)
    return compat::is_device<Space>;
#endif
  }
  return false;
}

}  // namespace detail

/// Whether the BLAS can be called on `Space`: on the caller's instance, or on a host space that has
/// finished whatever came before. Without it every product takes another algorithm.
template <class Space>
inline constexpr bool available = detail::is_reached<Space>();

/// Whether gemm() on a device may add up the terms of a product m x n in another order in every
/// run: Kokkos Kernels then has blocks of threads add to the outputs in place of calling the BLAS.
[[nodiscard]] constexpr bool adds_in_any_order(bool transpose_a, bool transpose_b, std::int64_t m,
                                               std::int64_t n) {
  constexpr std::int64_t fewest_outputs = 1600;  // its numDotsLayoutLeftThreshold
  return transpose_a && !transpose_b && m * n < fewest_outputs;
}

/// C = alpha·op(A)·op(B) + beta·C on the host, by the calling thread and whatever threads the BLAS
/// has of its own: gemv where C is one row or column, else gemm. No dimension may be 0. Only
/// declared where there is no BLAS.
template <class T>
void host_gemm(bool transpose_a, bool transpose_b, const T& alpha, const Matrix<const T>& a,
               const Matrix<const T>& b, const T& beta, const Matrix<T>& c);

#if defined(EINDECOMP_HAS_HOST_BLAS)
template <class T>
void host_gemm(bool transpose_a, bool transpose_b, const T& alpha, const Matrix<const T>& a,
               const Matrix<const T>& b, const T& beta, const Matrix<T>& c) {
  using Host = typename detail::HostType<T>::type;
  using Blas = KokkosBlas::Impl::HostBlas<Host>;
  const auto number = [](const T& value) { return reinterpret_cast<const Host&>(value); };
  const auto matrix = [](const T* data) { return reinterpret_cast<const Host*>(data); };
  const auto size = [](std::int64_t extent) { return static_cast<int>(extent); };
  Host* const product = reinterpret_cast<Host*>(c.data);
  if (c.columns == 1) {
    Blas::gemv(transpose_a ? 'T' : 'N', size(a.rows), size(a.columns), number(alpha),
               matrix(a.data), size(a.leading), matrix(b.data), transpose_b ? size(b.leading) : 1,
               number(beta), product, 1);
  } else if (c.rows == 1) {
    Blas::gemv(transpose_b ? 'N' : 'T', size(b.rows), size(b.columns), number(alpha),
               matrix(b.data), size(b.leading), matrix(a.data), transpose_a ? 1 : size(a.leading),
               number(beta), product, size(c.leading));
  } else {
    Blas::gemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', size(c.rows), size(c.columns),
               size(transpose_a ? a.rows : a.columns), number(alpha), matrix(a.data),
               size(a.leading), matrix(b.data), size(b.leading), number(beta), product,
               size(c.leading));
  }
}
#endif

/// C = alpha·op(A)·op(B) + beta·C on `space`, without a fence. No dimension may be 0.
template <compat::ExecutionSpace Space, class T>
void gemm([[maybe_unused]] const Space& space, bool transpose_a, bool transpose_b, T alpha,
          const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& c) {
  static_assert(available<Space>);
#if defined(EINDECOMP_HAS_HOST_BLAS)
  if constexpr (compat::is_synchronous<Space>)
    host_gemm(transpose_a, transpose_b, alpha, a, b, beta, c);
#endif
#if defined(EINDECOMP_HAS_DEVICE_BLAS)
  if constexpr (!compat::is_synchronous<Space>) {
    const std::lock_guard lock(detail::handle_in_use());
    KokkosBlas::gemm(space, transpose_a ? "T" : "N", transpose_b ? "T" : "N", alpha,
                     detail::as_view<Space>(a), detail::as_view<Space>(b), beta,
                     detail::as_view<Space>(c));
  }
#endif
}

}  // namespace eindecomp::kernel::blas
