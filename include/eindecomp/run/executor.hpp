// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Executing a plan: prepared once, run as often as there are new data.
#pragma once

#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/run.hpp"
#include "eindecomp/run/usual_executors.hpp"
#ifdef EINDECOMP_ENABLE_MPI
#include "eindecomp/comm/mpi_communicator.hpp"
#endif

namespace eindecomp {
namespace run {

/// The ranks of an executor whose type does not name them.
#ifdef EINDECOMP_ENABLE_MPI
using DefaultCommunicator = comm::MpiCommunicator;
#else
using DefaultCommunicator = comm::SelfCommunicator;
#endif

template <class Space, comm::Communicator Group>
class Engine;

}  // namespace run

/// A plan made ready on every rank of a communicator: program, arena and communicators are set up
/// once, run() uses them again and again. Copies what it needs of the plan. Two duplicates of the
/// communicator carry the plan's words ("EinDecomp transfers") and everything else ("EinDecomp
/// control"). Must be destroyed on all ranks, and before Kokkos is finalised.
/// Constructors deduce the type; a class of yours holds an executor as `Executor<Space>`, one of
/// this process alone as `LocalExecutor<Space>`, and what it returns as the `RunType` of that.
template <class Space, comm::Communicator Group = run::DefaultCommunicator>
class Executor {
 public:
  /// Where kernels run.
  using ExecutionSpace = Space;
  /// Where blocks and results lie.
  using MemorySpace = typename Space::memory_space;
  /// What run() returns.
  using RunType = Run<Space, Group>;

#ifdef EINDECOMP_SEPARATE_EXECUTOR
  static_assert(
      run::is_usual<Space, Group> || requires { sizeof(run::Engine<Space, Group>); },
      "EinDecomp: executors of this execution space or communicator are not among those that are "
      "compiled apart; include eindecomp/run/executor_members.hpp where you use one");
#endif

#ifdef EINDECOMP_ENABLE_MPI
  /// For the ranks of `user`, which is duplicated. Collective; does not fence.
  /// \throws Error, on all ranks alike, naming the ranks that failed and why: the plan is for
  ///   another number of ranks, ranks hold different plans, Kokkos is not running, memory is short.
  Executor(
      const BasicPlan<KokkosBackend<Space>>& plan, MPI_Comm user, const Space& space,
      const ExecuteOptions& options = {},
      std::source_location where =
          std::source_location::current()) requires(std::is_same_v<Group, comm::MpiCommunicator>)
      : Executor{plan,  // braces: communicators are made in the same order on every rank
                 Group(user, "EinDecomp transfers", options.chunk, options.time_limit,
                       comm::Call("the construction of an Executor", where)),
                 Group(user, "EinDecomp control", options.chunk, options.time_limit,
                       comm::Call("the construction of an Executor", where)),
                 space,
                 options,
                 where} {}
#endif
  /// For this process alone, without MPI.
  /// \throws Error if the plan is for several ranks, or memory is short.
  explicit Executor(
      const BasicPlan<KokkosBackend<Space>>& plan, const Space& space,
      const ExecuteOptions& options = {},
      std::source_location where =
          std::source_location::current()) requires(std::is_same_v<Group, comm::SelfCommunicator>)
      : Executor(plan, Group(), Group(), space, options, where) {}

  /// Runs the plan on inputs bound by bind, bind_global or bind_generator, each input once, in any
  /// order. Collective. Fences `space` where MPI must see what its kernels wrote, and at the end.
  /// \throws Error, on all ranks alike and before anything moves, naming the ranks that failed and
  ///   why: an input that is not bound or bound twice, a wrong extent, value type or root, a
  ///   generator that throws, memory that is short.
  /// What goes wrong later (an MPI error) ends the program on all ranks.
  template <class B>
    requires(run::is_binding<B>)
  [[nodiscard]] RunType run(const B& binding,
                            std::source_location where = std::source_location::current()) {
    return run_bound({Binding<Space>(binding)}, where);
  }
  /// The same of several inputs.
  template <class... Bindings>
    requires(sizeof...(Bindings) > 0 && (run::is_binding<Bindings> && ...))
  [[nodiscard]] RunType run(const run::Located<Binding<Space>>& first, const Bindings&... others) {
    return run_bound({first.value, Binding<Space>(others)...}, first.where);
  }
  /// The same with the bindings in a vector, as a program has them that is made from data.
  [[nodiscard]] RunType run(const std::vector<Binding<Space>>& bindings,
                            std::source_location where = std::source_location::current()) {
    return run_bound(bindings, where);
  }

  /// The same with what the run before carries over, and bindings of the other inputs:
  /// `run = executor.run(run.carry(), bind(A, a))`.
  template <class... Bindings>
    requires(sizeof...(Bindings) > 0 && (run::is_binding<Bindings> && ...))
  [[nodiscard]] RunType run(run::Located<std::vector<Binding<Space>>> carried,
                            const Bindings&... others) {
    (carried.value.push_back(Binding<Space>(others)), ...);
    return run_bound(carried.value, carried.where);
  }

  /// The same with the other bindings in a vector: `executor.run(run.carry(), others)`.
  [[nodiscard]] RunType run(std::vector<Binding<Space>> carried,
                            const std::vector<Binding<Space>>& others,
                            std::source_location where = std::source_location::current()) {
    carried.insert(carried.end(), others.begin(), others.end());
    return run_bound(carried, where);
  }

  /// The same with the first bindings in braces: `executor.run({next_u, next_r}, bind(A, a))`.
  /// Errors of the run name the line in which the first of them was made.
  template <class... Bindings>
    requires(sizeof...(Bindings) > 0 && (run::is_binding<Bindings> && ...))
  [[nodiscard]] RunType run(std::initializer_list<Binding<Space>> first,
                            const Bindings&... others) {
    std::vector<Binding<Space>> all(first);
    (all.push_back(Binding<Space>(others)), ...);
    return run_bound(all, all.front().facts().where);
  }

  /// Says that elements of inputs bound constant() have changed where they lie on this rank: the
  /// next run takes all constants as new. One rank that says so is enough for what other ranks
  /// gather from it; a generator is called again on the ranks that say so. Not collective.
  /// \throws Error if the executor was moved from.
  void forget_constants(std::source_location where = std::source_location::current());

  /// What this rank does, instruction by instruction; once a run had constants, with them.
  /// \throws Error if the executor was moved from.
  [[nodiscard]] const RankProgram& program(
      std::source_location where = std::source_location::current()) const;

  /// What the last run did on this rank: first the inputs that it redistributed, with their words,
  /// which are not the plan's; then, in one line for all calls of a statement that are computed
  /// alike, the algorithm and the reason, as explain() gives them for an einsum. Of statements that
  /// run tile by tile it names only the first and the last, and the number of tiles. Empty before
  /// the first run. Not collective; computes nothing.
  /// \throws Error if the executor was moved from.
  [[nodiscard]] std::string explain(
      std::source_location where = std::source_location::current()) const;

  /// An executor may be moved, not copied: its communicators are its own. To assign to one ends it,
  /// collectively, as its destructor does.
  Executor(Executor&& other) noexcept;
  Executor& operator=(Executor&& other) noexcept;
  ~Executor();

 private:
  Executor(const BasicPlan<KokkosBackend<Space>>& plan, Group&& transfers, Group&& control,
           const Space& space, const ExecuteOptions& options, const std::source_location& where);

  RunType run_bound(const std::vector<Binding<Space>>& bindings, const std::source_location& where);

  [[nodiscard]] run::Engine<Space, Group>& engine(const std::source_location& where) const;

  std::unique_ptr<run::Engine<Space, Group>> m_engine;
};

#ifdef EINDECOMP_ENABLE_MPI
/// With a communicator, the executor is one of several processes.
template <class Space>
Executor(const BasicPlan<KokkosBackend<Space>>&, MPI_Comm, const Space&, const ExecuteOptions& = {},
         std::source_location = {}) -> Executor<Space, comm::MpiCommunicator>;
#endif
/// Without one, it is this process's own.
template <class Space>
Executor(const BasicPlan<KokkosBackend<Space>>&, const Space&, const ExecuteOptions& = {},
         std::source_location = {}) -> Executor<Space, comm::SelfCommunicator>;

/// An executor of this process alone, whether MPI is enabled or not: what `Executor(plan, space)`
/// makes.
template <class Space>
using LocalExecutor = Executor<Space, comm::SelfCommunicator>;

}  // namespace eindecomp

#ifdef EINDECOMP_SEPARATE_EXECUTOR
namespace eindecomp {
EINDECOMP_USUAL_SPACE_OF(extern, Executor)
}
#else
#include "eindecomp/run/executor_members.hpp"
#endif
