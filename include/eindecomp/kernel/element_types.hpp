// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Kokkos' value types as elements of tensors.
#pragma once

#include "eindecomp/expr/element.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"

namespace eindecomp {

template <>
struct ElementTraits<Kokkos::complex<float>> {
  static constexpr ElementKind kind = ElementKind::complex64;
};
template <>
struct ElementTraits<Kokkos::complex<double>> {
  static constexpr ElementKind kind = ElementKind::complex128;
};

// Where they are not other names of float.
#if defined(KOKKOS_HALF_T_IS_FLOAT) && !KOKKOS_HALF_T_IS_FLOAT
template <>
inline constexpr bool is_foreign_half<Kokkos::Experimental::half_t> = true;
#endif
#if defined(KOKKOS_BHALF_T_IS_FLOAT) && !KOKKOS_BHALF_T_IS_FLOAT
template <>
inline constexpr bool is_foreign_half<Kokkos::Experimental::bhalf_t> = true;
#endif

}  // namespace eindecomp
