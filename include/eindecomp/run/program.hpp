// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The program most users write: its statements run on Kokkos' default execution space.
#pragma once

#include <Kokkos_Core.hpp>

#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/plan/plan.hpp"

namespace eindecomp {

/// A program whose statements run on the execution space Space.
template <class Space>
using ProgramOn = BasicProgram<KokkosBackend<Space>>;

/// A program for Kokkos' default execution space.
using Program = ProgramOn<Kokkos::DefaultExecutionSpace>;

/// A program whose statements can be differentiated, Order times over (graph/gradient.hpp).
template <class Space, int Order = 1>
using DifferentiableProgramOn = BasicProgram<Differentiable<KokkosBackend<Space>, Order>>;

/// The same for Kokkos' default execution space.
using DifferentiableProgram = DifferentiableProgramOn<Kokkos::DefaultExecutionSpace>;

/// A plan of any of these programs: what decompose() returns and an Executor runs.
template <class Space>
using PlanOn = BasicPlan<KokkosBackend<Space>>;

}  // namespace eindecomp
