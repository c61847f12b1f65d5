// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The core alone.

#include "link/layout.hpp"

#ifdef EINDECOMP_ENABLE_KOKKOS
#error "this unit is compiled without Kokkos"
#endif

std::vector<Layout> core_layouts_without_kokkos() { return core_layouts(); }
