// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Kokkos from 3.4 to 5.x under one set of names; no other header of the library asks which
/// version it is compiled with.
#pragma once

#include <Kokkos_Core.hpp>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/error.hpp"

#if !defined(EINDECOMP_DISABLE_BLAS)
// The BLAS of the host by pointers: Kokkos Kernels' views would cost time in every small call and a
// second in every translation unit.
#if __has_include(<KokkosBlas_Host_tpl.hpp>)
#include <KokkosBlas_Host_tpl.hpp>
#if defined(KOKKOSKERNELS_ENABLE_TPL_BLAS)
#define EINDECOMP_HAS_HOST_BLAS 1
#endif
#endif
#if (defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL)) && \
    __has_include(<KokkosBlas3_gemm.hpp>)
#define EINDECOMP_HAS_DEVICE_BLAS 1
#include <KokkosBlas3_gemm.hpp>
#endif
#endif

namespace eindecomp::compat {

/// Kokkos::is_execution_space_v is not in 3.4.
template <class Space>
concept ExecutionSpace = Kokkos::is_execution_space<Space>::value;

/// Kokkos::is_view_v is not in 3.4.
template <class View>
inline constexpr bool is_view = Kokkos::is_view<std::remove_cv_t<View>>::value;

/// View::rank was a constant before 4.1 and is a function object since; both convert to a number.
template <class View>
inline constexpr int rank_of = static_cast<int>(View::rank);

/// Whether code on `Space` can reach memory of `MemorySpace`.
template <class Space, class MemorySpace>
inline constexpr bool accessible = Kokkos::SpaceAccessibility<Space, MemorySpace>::accessible;

namespace detail {

template <class Space>
[[nodiscard]] constexpr bool runs_on_device() {
  bool device = false;
#if defined(KOKKOS_ENABLE_CUDA)
  device = device || std::is_same_v<Space, Kokkos::Cuda>;
#endif
#if defined(KOKKOS_ENABLE_HIP)
#if KOKKOS_VERSION >= 40000
  device = device || std::is_same_v<Space, Kokkos::HIP>;
#else
  device = device || std::is_same_v<Space, Kokkos::Experimental::HIP>;
#endif
#endif
#if defined(KOKKOS_ENABLE_SYCL)
#if KOKKOS_VERSION >= 40500
  device = device || std::is_same_v<Space, Kokkos::SYCL>;
#else
  device = device || std::is_same_v<Space, Kokkos::Experimental::SYCL>;
#endif
#endif
  return device;
}

/// The host spaces whose parallel_for returns when the work is done.
template <class Space>
[[nodiscard]] constexpr bool returns_when_done() {
  bool done = false;
#if defined(KOKKOS_ENABLE_SERIAL)
  done = done || std::is_same_v<Space, Kokkos::Serial>;
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
  done = done || std::is_same_v<Space, Kokkos::OpenMP>;
#endif
#if defined(KOKKOS_ENABLE_THREADS)
  done = done || std::is_same_v<Space, Kokkos::Threads>;
#endif
  return done;
}

}  // namespace detail

/// Whether kernels of `Space` run on a GPU.
template <class Space>
inline constexpr bool is_device = detail::runs_on_device<Space>();

/// Whether parallel_for on `Space` returns only when its work is done, so that a kernel may refer
/// to what lives on the caller's stack.
template <class Space>
inline constexpr bool is_synchronous = detail::returns_when_done<Space>();

/// Threads that a host space computes with; 0 of a device.
template <class Space>
[[nodiscard]] int host_threads([[maybe_unused]] const Space& space) {
  if constexpr (is_synchronous<Space>) {
    const int threads = static_cast<int>(space.concurrency());
    return threads > 0 ? threads : 1;
  } else {
    return 0;
  }
}

/// Waits for the work of this instance only. The label is dropped where fences have none (3.4).
template <ExecutionSpace Space>
void fence(const Space& space, [[maybe_unused]] const std::string& label) {
  if constexpr (requires { space.fence(label); }) {
    space.fence(label);
  } else {
    space.fence();
  }
}

/// A policy whose functor, of up to 4 KiB, CUDA takes as an argument of the kernel. By default
/// Kokkos puts it into constant memory, and waits for the kernel before to have read its own.
template <class Policy>
[[nodiscard]] auto as_argument(const Policy& policy) {
  return Kokkos::Experimental::require(policy,
                                       Kokkos::Experimental::WorkItemProperty::HintLightWeight);
}

/// Whether anyone is told of kernels and allocations.
[[nodiscard]] inline bool tools_listen() { return Kokkos::Tools::profileLibraryLoaded(); }

/// A named region of the profile for as long as it lives; Profiling::ScopedRegion is not in 3.4.
/// Its name, in two parts, is put together only where someone listens.
class ScopedRegion {
 public:
  /// Opens the region `name` + `rest`; the destructor closes it.
  explicit ScopedRegion(std::string_view name, std::string_view rest = {})
      : m_entered(tools_listen()) {
    if (m_entered) enter(name, rest);
  }
  ScopedRegion(const ScopedRegion&) = delete;
  ScopedRegion& operator=(const ScopedRegion&) = delete;
  ~ScopedRegion() {
    if (m_entered) Kokkos::Profiling::popRegion();
  }

 private:
  EINDECOMP_COMPACT static void enter(std::string_view name, std::string_view rest) {
    Kokkos::Profiling::pushRegion(std::string(name).append(rest));
  }

  bool m_entered;
};

/// Bytes that kernel calls hold for themselves: not initialised, freed with the object. On hosts
/// neither a view nor a std::unique_ptr, which take longer to compile than many a kernel.
template <class Space>
class Scratch {
 public:
  Scratch() = default;
  Scratch(Scratch&& other) noexcept
      : m_bytes(std::exchange(other.m_bytes, {})), m_size(std::exchange(other.m_size, 0)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(m_bytes, other.m_bytes);
    std::swap(m_size, other.m_size);
    return *this;
  }
  ~Scratch() { free(); }

  /// Takes memory in place of what it held. On a device Kokkos may wait for the memory when it is
  /// freed, never before. \throws Error if there is not as much.
  void allocate([[maybe_unused]] const Space& space, const char* label, std::size_t bytes) {
    free();
    try {
      if constexpr (is_synchronous<Space>) {
        m_bytes = Kokkos::kokkos_malloc<MemorySpace>(label, bytes);
      } else {
        m_bytes = OnDevice(
            Kokkos::view_alloc(space, Kokkos::WithoutInitializing, std::string(label)), bytes);
      }
    } catch (const std::exception& cause) {
      throw Error(ErrorKind::memory,
                  Sentence() << "a kernel's workspace of " << bytes
                             << " bytes could not be allocated (" << cause.what()
                             << "); nothing was written, free memory or cut the tensors",
                  std::source_location());
    }
    m_size = bytes;
  }

  /// Gives the memory back.
  void free() {
    if constexpr (is_synchronous<Space>) {
      if (m_bytes != nullptr) Kokkos::kokkos_free<MemorySpace>(m_bytes);
    }
    m_bytes = {};
    m_size = 0;
  }

  [[nodiscard]] unsigned char* data() const {
    if constexpr (is_synchronous<Space>) {
      return static_cast<unsigned char*>(m_bytes);
    } else {
      return m_bytes.data();
    }
  }
  [[nodiscard]] std::size_t size() const { return m_size; }

 private:
  using MemorySpace = typename Space::memory_space;
  using OnDevice = Kokkos::View<unsigned char*, MemorySpace>;

  std::conditional_t<is_synchronous<Space>, void*, OnDevice> m_bytes{};
  std::size_t m_size = 0;
};

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
struct HostBlasType {
  using type = T;
};
template <class T>
struct HostBlasType<Kokkos::complex<T>> {
  using type = std::complex<T>;
};

#if defined(EINDECOMP_HAS_DEVICE_BLAS)
// Kokkos Kernels reaches the BLAS only where all views have one layout; a subview of whole rows of
// an unmanaged LayoutLeft view keeps that layout and carries the leading dimension.
template <class Space, class T>
[[nodiscard]] auto blas_view(const Matrix<T>& matrix) {
  using View =
      Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::Device<Space, typename Space::memory_space>,
                   Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const View padded(matrix.data, static_cast<std::size_t>(matrix.leading),
                    static_cast<std::size_t>(matrix.columns));
  return Kokkos::subview(padded, std::pair<std::size_t, std::size_t>(0, matrix.rows),
                         Kokkos::ALL());
}

template <class Space>
using ProbeView = decltype(blas_view<Space>(Matrix<double>{}));

/// Whether this Kokkos Kernels takes the execution space instance (4.0 and later).
template <class Space>
concept BlasTakesInstance = requires(const Space& space, const ProbeView<Space>& view) {
  KokkosBlas::gemm(space, "N", "N", 1.0, view, view, 0.0, view);
};
#endif

template <class Space>
[[nodiscard]] constexpr bool reaches_blas() {
  if constexpr (is_synchronous<Space>) {
#if defined(EINDECOMP_HAS_HOST_BLAS)
    return true;
#endif
  } else {
#if defined(EINDECOMP_HAS_DEVICE_BLAS)
    return BlasTakesInstance<Space>;
#endif
  }
  return false;
}

}  // namespace detail

/// Whether the BLAS can be called on `Space`: on the caller's instance, or on a host space that has
/// finished whatever came before. Without it every product takes another path.
template <class Space>
inline constexpr bool has_blas = detail::reaches_blas<Space>();

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
  using Host = typename detail::HostBlasType<T>::type;
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
template <ExecutionSpace Space, class T>
void gemm([[maybe_unused]] const Space& space, bool transpose_a, bool transpose_b, T alpha,
          const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& c) {
  static_assert(has_blas<Space>);
#if defined(EINDECOMP_HAS_HOST_BLAS)
  if constexpr (is_synchronous<Space>) host_gemm(transpose_a, transpose_b, alpha, a, b, beta, c);
#endif
#if defined(EINDECOMP_HAS_DEVICE_BLAS)
  if constexpr (!is_synchronous<Space>) {
    KokkosBlas::gemm(space, transpose_a ? "T" : "N", transpose_b ? "T" : "N", alpha,
                     detail::blas_view<Space>(a), detail::blas_view<Space>(b), beta,
                     detail::blas_view<Space>(c));
  }
#endif
}

}  // namespace eindecomp::compat
