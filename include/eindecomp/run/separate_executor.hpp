// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Executors, runs and redistributors on the default execution space, communicators, and how ranks
/// wait for each other, compiled once for a program of many translation units. The program defines
/// EINDECOMP_SEPARATE_EXECUTOR in all of them, and one of them includes this header, which no other
/// may. Those of other spaces are compiled where they are used, by files that include
/// executor_members.hpp.
#pragma once

#ifndef EINDECOMP_SEPARATE_EXECUTOR
#define EINDECOMP_SEPARATE_EXECUTOR
#endif

#include "eindecomp/run/executor_members.hpp"
#include "eindecomp/run/usual_executors.hpp"
#ifdef EINDECOMP_ENABLE_MPI
#include "eindecomp/comm/channel_members.hpp"
#include "eindecomp/comm/job_members.hpp"
#include "eindecomp/comm/mpi_communicator_members.hpp"
#include "eindecomp/comm/watch_members.hpp"
#include "eindecomp/run/make_shared_plan.hpp"
#endif

namespace eindecomp {

EINDECOMP_USUAL_SPACE_OF(, Run)
EINDECOMP_USUAL_SPACE_OF(, Executor)
EINDECOMP_USUAL_SPACE_OF(, Redistributor)

}  // namespace eindecomp
