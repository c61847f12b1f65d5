// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Executors and runs on the default execution space, compiled once for a program of many
/// translation units. The program defines EINDECOMP_SEPARATE_EXECUTOR in all of them, and one of
/// them includes this header, which no other may. Those of other spaces are compiled where they are
/// used, as ever.
#pragma once

#ifndef EINDECOMP_SEPARATE_EXECUTOR
#define EINDECOMP_SEPARATE_EXECUTOR
#endif

#include "eindecomp/run/executor.hpp"
#include "eindecomp/run/usual_executors.hpp"

namespace eindecomp {

EINDECOMP_USUAL_EXECUTORS()

}  // namespace eindecomp
