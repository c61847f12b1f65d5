// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With NDEBUG, without MPI and without the BLAS.

#include "link/layout.hpp"

#if !defined(NDEBUG) || defined(EINDECOMP_ENABLE_MPI)
#error "this unit is compiled with other definitions"
#endif

int version_seen_by_the_other_unit() { return EINDECOMP_VERSION; }
std::vector<Layout> core_layouts_without_assertions() { return core_layouts(); }
std::vector<Layout> run_layouts_without_assertions() { return run_layouts(); }
