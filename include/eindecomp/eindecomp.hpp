// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// All of EinDecomp that is enabled: the language and the planner always, the kernels and the
/// executor with EINDECOMP_ENABLE_KOKKOS, transfers with EINDECOMP_ENABLE_MPI. The CMake targets
/// define both. Where the planner is compiled separately, plans in constant expressions are asked
/// for by their own header, plan/static_plan.hpp.
#pragma once

/// \namespace eindecomp
/// What users write: programs, plans, runs, and einsum on views.
///
/// Unless its description says otherwise, a function is not collective and fences nothing. What is
/// wrong with its arguments it says by an \ref Error that cites `where`, by default the caller's
/// line. Extents and words are in elements, memory is in bytes, times are in seconds.
///
/// Several threads may use one object at once as long as none of them changes it. An Executor and
/// its Runs are one thread's at a time, for their calls are collective; kernels of one instance of
/// an execution space come from one thread at a time, as Kokkos asks. On Kokkos::Serial Executors
/// of several threads may run at once.
///
/// "The paper" is EinDecomp's; SoyBean's is named where it is meant.

/// \namespace eindecomp::kernel
/// One EinSum in one process: what a launcher of a program calls, and what those need who call it
/// themselves.

/// \namespace eindecomp::compat
/// What differs between versions and spaces of Kokkos.

/// \namespace eindecomp::comm
/// Groups of ranks: what an executor needs of MPI, and what it does without.

#include "eindecomp/core/version.hpp"
#include "eindecomp/expr/einsum_string.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/graph/blocks.hpp"
#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/concat.hpp"
#include "eindecomp/graph/einsum.hpp"
#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/packed_tensor.hpp"
#include "eindecomp/graph/permutations.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/graph/random.hpp"
#include "eindecomp/graph/scan.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "eindecomp/graph/with_checkpoints.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/explain.hpp"
#include "eindecomp/plan/simulate.hpp"
#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/plan/static_plan.hpp"
#endif

#ifdef EINDECOMP_ENABLE_KOKKOS
#include "eindecomp/kernel/einsum.hpp"
#include "eindecomp/run/execute.hpp"
#include "eindecomp/run/executor.hpp"
#include "eindecomp/run/guard.hpp"
#include "eindecomp/run/program.hpp"
#include "eindecomp/run/redistribute.hpp"
#include "eindecomp/run/share_plan.hpp"
#endif
