// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The kernels of the usual signatures (usual_kernels.hpp), compiled once for a program of many
/// translation units. The program defines EINDECOMP_SEPARATE_KERNELS in all of them, and one of
/// them includes this header, which no other may. Other signatures are compiled where they are
/// used, as ever.
#pragma once

#ifndef EINDECOMP_SEPARATE_KERNELS
#define EINDECOMP_SEPARATE_KERNELS
#endif

#include "eindecomp/kernel/dispatch.hpp"
#include "eindecomp/kernel/launcher.hpp"
#include "eindecomp/kernel/usual_kernels.hpp"

namespace eindecomp::kernel {

EINDECOMP_USUAL_KERNELS()
EINDECOMP_USUAL_LAUNCHERS()

}  // namespace eindecomp::kernel
