// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From a program to a plan. The planner is much of what a translation unit that plans compiles: a
/// program may define EINDECOMP_SEPARATE_PLANNER and compile it in one of them, which includes
/// tools/separate_planner.hpp. The others then have no decompose() in constant expressions;
/// static_plan.hpp has one of its own.
#pragma once

#include <source_location>
#include <span>
#include <type_traits>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/listed_strategy.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/plan.hpp"
#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/plan/make_plan.hpp"
#include "eindecomp/plan/placement/finalize_plan.hpp"
#include "eindecomp/plan/strategy.hpp"
#endif

namespace eindecomp {

template <class Backend>
class BasicProgram;
template <class Backend>
struct PlanBackendOf;

/// `strategies`, for use at run time: with EINDECOMP_SEPARATE_PLANNER, the caller's translation
/// unit does not compile them.
[[nodiscard]] std::span<const Strategy> list_strategies();

/// Decomposes a program: chooses every statement's partition vector, places the blocks on the mesh
/// of workers and costs the result. Works without data, without MPI, on any one process; not
/// collective: ranks that call it with equal arguments get equal plans. In a constant expression
/// the plan is costed but not placed.
///
/// Takes milliseconds to seconds for most networks of docs/planning.md, which describes the
/// strategies, and up to 17 s where the number of workers has many divisors or a step of training
/// is planned. ein_decomp is the dynamic program of the paper, k_cut is SoyBean's. Equal statements
/// share the work, so that a deep network takes little longer than one layer.
///
/// \param graph    the program or its graph, which the plan copies.
/// \param options  how many workers and ranks, by which strategy, within which memory.
/// \param where    the place that errors cite.
/// \returns the plan, the same on every rank, from which reports, predictions and runs are made.
/// \throws Error if an option is out of range, the strategy is unknown or does not apply, steps
///   given by hand are not possible, the tensors have more than 2^60 bytes together, a statement's
///   operations or the graph's cost exceed 64 bits, or a rank would hold more bytes than `memory`
///   allows.
#ifdef EINDECOMP_SEPARATE_PLANNER
[[nodiscard]] Plan decompose(const EinGraph& graph, const DecomposeOptions& options,
                             const std::source_location& where = std::source_location::current());
#else
[[nodiscard]] constexpr Plan decompose(
    const EinGraph& graph, const DecomposeOptions& options,
    const std::source_location& where = std::source_location::current()) {
  if (std::is_constant_evaluated()) return plan::make_plan(graph, options, where);
  return plan::finalize_plan(plan::make_plan(graph, options, where), options, where);
}

inline std::span<const Strategy> list_strategies() { return strategies; }
#endif

namespace plan {

/// Whether a backend's plans run on a device.
template <class Backend>
inline constexpr bool is_for_device = requires {
  requires PlanBackendOf<Backend>::type::is_device;
};

/// The options as they are on a backend: devices have no threads that share out tiles.
/// @{
template <class Backend>
  requires(!is_for_device<Backend>)
[[nodiscard]] constexpr const DecomposeOptions& options_on(const DecomposeOptions& options) {
  return options;
}
template <class Backend>
  requires is_for_device<Backend>
[[nodiscard]] constexpr DecomposeOptions options_on(DecomposeOptions options) {
  options.threads = 0;
  return options;
}
/// @}

}  // namespace plan

/// As above, for a program that names its backend: the plan can be executed. For a device it is
/// made as with `.threads = 0`.
template <class Backend>
[[nodiscard]] constexpr BasicPlan<typename PlanBackendOf<Backend>::type> decompose(
    const BasicProgram<Backend>& program, const DecomposeOptions& options,
    const std::source_location& where = std::source_location::current()) {
  return {decompose(program.graph(), plan::options_on<Backend>(options), where),
          program.launchers()};
}

}  // namespace eindecomp
