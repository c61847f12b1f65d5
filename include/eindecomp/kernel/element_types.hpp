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

}  // namespace eindecomp
