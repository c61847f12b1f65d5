// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Executing a plan once.
#pragma once

#include <source_location>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/executor.hpp"
#include "eindecomp/run/options.hpp"
#ifdef EINDECOMP_ENABLE_MPI
#include "eindecomp/comm/mpi_communicator.hpp"
#endif

namespace eindecomp {
namespace run {

template <class PlanType, class Space>
inline constexpr bool plan_runs_on = false;
template <class Space>
inline constexpr bool plan_runs_on<BasicPlan<KokkosBackend<Space>>, Space> = true;
template <class PlanType>
inline constexpr bool plan_has_kernels = false;
template <class Space>
inline constexpr bool plan_has_kernels<BasicPlan<KokkosBackend<Space>>> = true;

/// Says in a sentence what is wrong with a plan at compile time.
template <class PlanType, class Space>
constexpr void check_plan_type() {
  static_assert(
      plan_has_kernels<PlanType>,
      "EinDecomp: this plan cannot be executed (it was made from a graph without kernels, "
      "for planning only); decompose an eindecomp::Program instead");
  static_assert(!plan_has_kernels<PlanType> || plan_runs_on<PlanType, Space>,
                "EinDecomp: the plan's program is for another execution space than the instance "
                "given; use BasicProgram<KokkosBackend<YourSpace>>");
}

}  // namespace run

#ifdef EINDECOMP_ENABLE_MPI
/// Executes a plan once on the ranks of `user`, which is duplicated: an Executor and one run.
/// Collective over `user`; fences `space` as Executor::run does.
/// \param plan      of a program for Space, made for as many ranks as `user` has.
/// \param user      the ranks that hold the plan's blocks, in the plan's order.
/// \param space     the instance on which kernels run.
/// \param options   limits of memory, of time and of the length of messages.
/// \param bindings  one per input, made by bind, bind_global or bind_generator; in any order.
/// \returns the Run, which holds the results and says what was moved.
/// \throws Error, on all ranks alike, what the constructor of Executor and Executor::run throw.
template <class PlanType, compat::ExecutionSpace Space, class... Bindings>
  requires(sizeof...(Bindings) > 0 && (run::is_binding<Bindings> && ...))
[[nodiscard]] auto execute(const PlanType& plan, const run::Located<MPI_Comm>& user,
                           const Space& space, const ExecuteOptions& options,
                           const Bindings&... bindings) {
  run::check_plan_type<PlanType, Space>();
  if constexpr (run::plan_runs_on<PlanType, Space>) {
    const std::vector<Binding<Space>> all{Binding<Space>(bindings)...};
    return execute(plan, user.value, space, all, options, user.where);
  }
}
/// The same with the default options.
template <class PlanType, compat::ExecutionSpace Space, class... Bindings>
  requires(sizeof...(Bindings) > 0 && (run::is_binding<Bindings> && ...))
[[nodiscard]] auto execute(const PlanType& plan, const run::Located<MPI_Comm>& user,
                           const Space& space, const Bindings&... bindings) {
  return execute(plan, user, space, ExecuteOptions{}, bindings...);
}
/// The same with the bindings in a vector.
template <class PlanType, compat::ExecutionSpace Space>
[[nodiscard]] auto execute(const PlanType& plan, MPI_Comm user, const Space& space,
                           const std::vector<Binding<Space>>& bindings,
                           const ExecuteOptions& options = {},
                           std::source_location where = std::source_location::current()) {
  run::check_plan_type<PlanType, Space>();
  if constexpr (run::plan_runs_on<PlanType, Space>) {
    Executor<Space, comm::MpiCommunicator> executor(plan, user, space, options, where);
    return executor.run(bindings, where);
  }
}
/// The same with the options first, as where the bindings are no vector.
template <class PlanType, compat::ExecutionSpace Space>
[[nodiscard]] auto execute(const PlanType& plan, MPI_Comm user, const Space& space,
                           const ExecuteOptions& options,
                           const std::vector<Binding<Space>>& bindings,
                           std::source_location where = std::source_location::current()) {
  return execute(plan, user, space, bindings, options, where);
}
#endif

/// Executes a plan for one rank in this process, without MPI.
template <class PlanType, compat::ExecutionSpace Space, class... Bindings>
  requires(sizeof...(Bindings) > 0 && (run::is_binding<Bindings> && ...))
[[nodiscard]] auto execute(const PlanType& plan, const Space& space, const ExecuteOptions& options,
                           const Bindings&... bindings) {
  run::check_plan_type<PlanType, Space>();
  if constexpr (run::plan_runs_on<PlanType, Space>) {
    const std::vector<Binding<Space>> all{Binding<Space>(bindings)...};
    return execute(plan, space, all, options, all.front().facts().where);
  }
}
/// The same with the default options.
template <class PlanType, compat::ExecutionSpace Space, class... Bindings>
  requires(sizeof...(Bindings) > 0 && (run::is_binding<Bindings> && ...))
[[nodiscard]] auto execute(const PlanType& plan, const Space& space, const Bindings&... bindings) {
  return execute(plan, space, ExecuteOptions{}, bindings...);
}
/// The same with the bindings in a vector.
template <class PlanType, compat::ExecutionSpace Space>
[[nodiscard]] auto execute(const PlanType& plan, const Space& space,
                           const std::vector<Binding<Space>>& bindings,
                           const ExecuteOptions& options = {},
                           std::source_location where = std::source_location::current()) {
  run::check_plan_type<PlanType, Space>();
  if constexpr (run::plan_runs_on<PlanType, Space>) {
    LocalExecutor<Space> executor(plan, space, options, where);
    return executor.run(bindings, where);
  }
}
/// The same with the options first, as where the bindings are no vector.
template <class PlanType, compat::ExecutionSpace Space>
[[nodiscard]] auto execute(const PlanType& plan, const Space& space, const ExecuteOptions& options,
                           const std::vector<Binding<Space>>& bindings,
                           std::source_location where = std::source_location::current()) {
  return execute(plan, space, bindings, options, where);
}

}  // namespace eindecomp
