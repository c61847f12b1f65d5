// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Planning once for all ranks; empty without MPI.
#pragma once

#ifdef EINDECOMP_ENABLE_MPI

#include <functional>
#include <source_location>

#include "eindecomp/comm/mpi.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/plan/plan.hpp"

namespace eindecomp {

namespace run {

/// The plan that `make` returns on rank 0, on every rank; with EINDECOMP_SEPARATE_EXECUTOR, the
/// caller's translation unit does not compile how.
[[nodiscard]] Plan shared_plan(const EinGraph& graph, MPI_Comm user,
                               const std::function<Plan()>& make,
                               const std::source_location& where);

}  // namespace run

/// A plan that rank 0 makes and all ranks of `user` get: for searches that take long, for files
/// that not every rank shall read.
///
///     auto plan = ein::share_plan(g, MPI_COMM_WORLD, [&] { return decompose(g, options); });
///     auto plan = ein::share_plan(g, MPI_COMM_WORLD, [&] { return cache.decompose(g, options); });
///
/// Collective over `user`, which is duplicated meanwhile.
/// \param program  the same on every rank.
/// \param make     called on rank 0 alone, not collectively; returns a Plan of `program`.
/// \returns the plan with this rank's launchers; its hash is the same on every rank.
/// \throws Error, on all ranks alike: what `make` throws, or if ranks have different programs, or
///   the plan is of another program or not placed.
template <class Backend, class Make>
[[nodiscard]] BasicPlan<typename PlanBackendOf<Backend>::type> share_plan(
    const BasicProgram<Backend>& program, MPI_Comm user, const Make& make,
    std::source_location where = std::source_location::current()) {
  const auto made = [&make]() -> Plan { return make(); };
  return {run::shared_plan(program.graph(), user, made, where), program.launchers()};
}

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_EXECUTOR
#include "eindecomp/run/make_shared_plan.hpp"
#endif
#endif
