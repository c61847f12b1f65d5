// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Executing a plan: prepared once, run as often as there are new data.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/or_abort.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/workspace.hpp"
#include "eindecomp/plan/hash.hpp"
#include "eindecomp/plan/lines.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/write_program.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/bound_alike.hpp"
#include "eindecomp/run/inputs.hpp"
#include "eindecomp/run/interpreter.hpp"
#include "eindecomp/run/observer.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/prepared_program.hpp"
#include "eindecomp/run/result_memory.hpp"
#include "eindecomp/run/run.hpp"
#include "eindecomp/run/session.hpp"
#include "eindecomp/run/transport.hpp"
#ifdef EINDECOMP_SEPARATE_EXECUTOR
#include "eindecomp/run/usual_executors.hpp"
#endif
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

}  // namespace run

/// A plan made ready on every rank of a communicator: program, arena and communicators are set up
/// once, run() uses them again and again. Copies what it needs of the plan. Two duplicates of the
/// communicator carry the plan's words ("EinDecomp transfers") and everything else ("EinDecomp
/// control"). Must be destroyed on all ranks, and before Kokkos is finalised.
/// Constructors deduce the type; a class of yours holds an executor as `Executor<Space>`, and what
/// it returns as `Executor<Space>::RunType`.
template <class Space, comm::Communicator Group = run::DefaultCommunicator>
class Executor {
 public:
  /// Where kernels run.
  using ExecutionSpace = Space;
  /// Where blocks and results lie.
  using MemorySpace = typename Space::memory_space;
  /// What run() returns.
  using RunType = Run<Space, Group>;

#ifdef EINDECOMP_ENABLE_MPI
  /// For the ranks of `user`, which is duplicated. Collective; does not fence.
  /// \throws Error, on all ranks alike, naming the ranks that failed and why: the plan is for
  ///   another number of ranks, ranks hold different plans, Kokkos is not running, memory is short.
  Executor(
      const BasicPlan<KokkosBackend<Space>>& plan, MPI_Comm user, const Space& space,
      const ExecuteOptions& options = {},
      std::source_location where =
          std::source_location::current()) requires(std::is_same_v<Group, comm::MpiCommunicator>)
      : Executor(plan,
                 Group(user, "EinDecomp transfers", options.chunk, options.time_limit,
                       comm::Call("the construction of an Executor", where)),
                 Group(user, "EinDecomp control", options.chunk, options.time_limit,
                       comm::Call("the construction of an Executor", where)),
                 space, options, where) {}
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
  void forget_constants() { m_inputs->forget_constants(); }

  /// What this rank does, instruction by instruction; once a run had constants, with them.
  [[nodiscard]] const RankProgram& program() const { return m_session->program; }

  /// What the last run did on this rank: the inputs that it brought from distributions of their
  /// own, with the words that moved apart from the plan's; then how kernel calls are computed, and
  /// why, a line each: what explain() says of an einsum, of the very kernels that it called. Empty
  /// before the first run. Not collective; computes nothing.
  [[nodiscard]] std::string explain() const {
    if (!m_prepared) return {};
    return m_inputs->explain() +
           run::explain_calls(m_session->graph, *m_prepared, {m_buffers, m_arena.data()});
  }

 private:
  Executor(const BasicPlan<KokkosBackend<Space>>& plan, Group&& transfers, Group&& control,
           const Space& space, const ExecuteOptions& options, const std::source_location& where);

  /// Everything that does not depend on the data. Does not communicate.
  void prepare(const Plan& plan, const std::source_location& where) {
    const Group& group = m_session->control;
    if (!Kokkos::is_initialized()) {
      throw Error(ErrorKind::communication,
                  "Kokkos is not running (it was not initialised, or finalised already); call "
                  "Kokkos::initialize first, or hold an eindecomp::ScopedRuntime",
                  where);
    }
    if (plan.ranks != group.size()) {
      throw Error(ErrorKind::plan,
                  "the plan is for " + std::to_string(plan.ranks) + " ranks and is executed by " +
                      std::to_string(group.size()) +
                      " (a plan fixes who holds what); decompose with .ranks = " +
                      std::to_string(group.size()),
                  where);
    }
    for (const Vertex& v : plan.graph.vertices) {
      if (v.labels.size() > static_cast<std::size_t>(kernel::max_labels) ||
          (!v.op.blocks &&
           v.operands.size() + v.values.size() > static_cast<std::size_t>(kernel::max_operands))) {
        throw Error(ErrorKind::statement,
                    "statement " + v.name + " has " + std::to_string(v.labels.size()) +
                        " labels and " + std::to_string(v.operands.size()) +
                        " operands (a kernel call takes " + std::to_string(kernel::max_labels) +
                        " and " + std::to_string(kernel::max_operands) +
                        "); write it as several statements",
                    v.where);
      }
    }
    for (const auto& launcher : m_launchers) m_launcher_pointers.push_back(launcher.get());
    m_steps = plan.steps;
    take_program({}, where);
    m_inputs.emplace(*m_session);
  }

  /// Compiles the program for these constants, and takes memory for it.
  void take_program(const std::vector<VertexId>& constants, const std::source_location& where) {
    const Group& group = m_session->control;
    m_has_program = false;
    m_prepared.reset();
    m_session->set_program(
        compile_rank(m_session->graph, m_session->placement, group.size(), group.rank(), m_steps,
                     {.threads = compat::host_threads(m_space), .constants = constants}, where));
    const RankProgram& program = m_session->program;
    check_memory(0, 0, where);
    m_arena = {};
    m_arena = run::allocate<MemorySpace>("EinDecomp::arena", program.arena_bytes, where);
    if (!run::host_reaches<Space> && !m_options.gpu_aware_mpi.value_or(group.gpu_aware())) {
      m_host = run::allocate<Kokkos::HostSpace>("EinDecomp::messages on host",
                                                run::most_message_bytes(program), where);
    }
    m_buffers.clear();
    for (const Buffer& buffer : program.buffers) {
      const bool scratch =
          buffer.role == Buffer::Role::scratch || buffer.role == Buffer::Role::tile;
      m_buffers.push_back(
          run::BlockMemory::dense(scratch ? m_arena.data() + buffer.offset : nullptr, buffer.box,
                                  relation::element_bytes(m_session->graph, buffer)));
    }
    m_has_program = true;
  }

  /// Takes the buffers' places in this run, and prepares the program where their boxes or strides
  /// are not those of the run before. \returns how many kernels were prepared.
  Extent place_buffers(const std::vector<run::SharedBlock<MemorySpace>>& results,
                       const std::source_location& where) {
    const std::vector<Buffer>& buffers = m_session->program.buffers;
    bool prepared = m_prepared.has_value() && m_prepared_with_blas == kernel::use_blas;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (buffers[b].role == Buffer::Role::result) m_buffers[b].data = results[b]->data();
      if (buffers[b].role != Buffer::Role::input) continue;
      const run::BlockMemory& input = m_inputs->memory(static_cast<int>(b));
      prepared = prepared && m_buffers[b].has_geometry_of(input);
      m_buffers[b] = input;
    }
    if (prepared) return 0;
    m_prepared.reset();
    auto fresh = run::ProgramPreparer<Space>(m_space, m_session->graph, m_session->program,
                                             m_launcher_pointers, m_buffers)
                     .prepare();
    const std::int64_t bytes = fresh.workspace_bytes;
    if (bytes > static_cast<std::int64_t>(m_workspace.size())) {
      m_workspace.free();
      check_memory(m_inputs->own_bytes(), bytes, where);
      kernel::detail::at_place(where, [&] {
        m_workspace.allocate(m_space, "EinDecomp::workspace", static_cast<std::size_t>(bytes));
      });
    }
    m_prepared = std::move(fresh);
    m_prepared_with_blas = kernel::use_blas;
    return static_cast<Extent>(m_prepared->kernels.size() + m_prepared->tile_kernels.size());
  }

  /// Makes room for a run: frees what is kept for later ones if the limit needs it.
  void make_room(const std::vector<run::AddressRange>& read, const std::source_location& where) {
    const auto workspace_bytes = static_cast<std::int64_t>(m_workspace.size());
    check_memory(m_inputs->own_bytes(), workspace_bytes, where);
    const std::int64_t spare = m_results.spare_bytes();
    if (spare > 0 &&
        needed_bytes(m_inputs->own_bytes(), workspace_bytes) > m_options.memory_limit - spare) {
      m_results.free_spare(read);
    }
  }

  [[nodiscard]] std::int64_t needed_bytes(std::int64_t input_bytes,
                                          std::int64_t workspace_bytes) const {
    const RankProgram& program = m_session->program;
    return program.arena_bytes + program.result_bytes + workspace_bytes + input_bytes;
  }

  /// \throws Error if the run would exceed the limit of this rank's memory.
  void check_memory(std::int64_t input_bytes, std::int64_t workspace_bytes,
                    const std::source_location& where) const {
    const RankProgram& program = m_session->program;
    const std::int64_t need = needed_bytes(input_bytes, workspace_bytes);
    if (need <= m_options.memory_limit) return;
    throw Error(
        ErrorKind::memory,
        "the run needs " + std::to_string(need) + " bytes on this rank and may allocate " +
            std::to_string(m_options.memory_limit) + " (" + std::to_string(program.arena_bytes) +
            " for blocks on their way, " + std::to_string(program.result_bytes) + " for results, " +
            std::to_string(input_bytes) + " for inputs that are generated or scattered, " +
            std::to_string(workspace_bytes) + " for kernels); use more workers or raise the limit",
        where);
  }

  /// Takes a run's bindings. Buffers keep their numbers whatever is constant, so that results of
  /// earlier runs stay what they are.
  void take_inputs(const std::vector<Binding<Space>>& bindings, const std::source_location& where) {
    m_inputs->take(bindings, where);
    const std::vector<VertexId> constants = m_inputs->constants();
    if (m_has_program && constants == m_session->program.constants) return;
    m_inputs->forget_constants();
    take_program(constants, where);
  }

  RunType run_bound(const std::vector<Binding<Space>>& bindings, const std::source_location& where);

  /// ", in statement C", for the message of a run that failed in that stage.
  [[nodiscard]] std::string place_of(int number) const {
    if (number < 0) return {};
    const run::Stage<Space>& stage = m_prepared->stages[run::at(number)];
    const auto name = [&](VertexId v) { return m_session->graph[v].name.str(); };
    if (stage.first == stage.last) return ", in statement " + name(stage.first);
    return ", in statements " + name(stage.first) + " to " + name(stage.last);
  }

  Space m_space;
  ExecuteOptions m_options;
  Group m_transfers;
  std::shared_ptr<run::Session<Group>> m_session;
  std::vector<typename KokkosBackend<Space>::Launcher> m_launchers;
  run::Launchers<Space> m_launcher_pointers;
  std::vector<StepGroup> m_steps;
  bool m_has_program = false;                             ///< and memory for it
  std::vector<run::BlockMemory> m_buffers;                ///< as in the last run
  std::optional<run::PreparedProgram<Space>> m_prepared;  ///< for their boxes and strides
  bool m_prepared_with_blas = true;
  kernel::Scratch<Space> m_workspace;
  run::Memory<MemorySpace> m_arena;
  run::ResultPool<MemorySpace> m_results;
  run::Memory<Kokkos::HostSpace> m_host;
  std::optional<run::RunInputs<Space, Group>> m_inputs;
};

template <class Space, comm::Communicator Group>
Executor<Space, Group>::Executor(const BasicPlan<KokkosBackend<Space>>& plan, Group&& transfers,
                                 Group&& control, const Space& space, const ExecuteOptions& options,
                                 const std::source_location& where)
    : m_space(space),
      m_options(options),
      m_transfers(std::move(transfers)),
      m_session(std::make_shared<run::Session<Group>>(plan.graph, plan.placement, plan.carry,
                                                      std::move(control))),
      m_launchers(plan.launchers) {
  Group& group = m_session->control;
  const auto number_of = [](std::int64_t value, const char* unit) {
    return [value, unit] { return std::vector<std::string>{std::to_string(value) + unit}; };
  };
  core::Hasher program;
  plan::add_to_hash(program, plan.graph);
  comm::agree_on(
      group, comm::Call("the construction of an Executor", where), [&] { prepare(plan, where); },
      {{"programs", "build the same program, with the same extents and constants, on every rank",
        program.value(), [&] { return plan::lines_of(plan.graph); }},
       {"plans of one program", "decompose with the same options on every rank", plan.hash(),
        [&] { return plan::lines_of(plan); }},
       {"chunk limits of messages", "give the executor the same options on every rank",
        static_cast<std::uint64_t>(options.chunk), number_of(options.chunk, " elements")},
       {"eager limits of messages", "give the executor the same options on every rank",
        static_cast<std::uint64_t>(options.eager_bytes),
        number_of(options.eager_bytes, " bytes")}});
}

template <class Space, comm::Communicator Group>
typename Executor<Space, Group>::RunType Executor<Space, Group>::run_bound(
    const std::vector<Binding<Space>>& bindings, const std::source_location& where) {
  Group& group = m_session->control;
  const RankProgram& program = m_session->program;
  std::vector<run::SharedBlock<MemorySpace>> results;
  RunStatistics statistics;
  bool new_constants = false;
  const auto make_ready = [&] {
    take_inputs(bindings, where);
    new_constants = m_inputs->has_new_constants();
    const std::vector<run::AddressRange> read = m_inputs->read_ranges();
    make_room(read, where);
    results = m_results.take(m_session->graph, program.buffers, read, where);
    m_inputs->prepare(m_space, where);
    statistics.kernels_prepared = place_buffers(results, where);
  };
  const comm::Call call("run", where);
  comm::agree_on(group, call, make_ready, run::bound_alike(m_session->graph, bindings),
                 &new_constants);

  std::atomic<int> stage = -1;
  std::optional<run::Observer> observer;
  m_transfers.begin(call);
  comm::or_abort(
      group, call, [&] { return place_of(stage); },
      [&] {
        m_inputs->scatter(new_constants);
        statistics.inputs = m_inputs->exchange(m_space, new_constants);
        const auto begin = std::chrono::steady_clock::now();
        const comm::Traffic before = m_transfers.traffic();
        if (run::Observer::wanted(m_options)) {
          observer.emplace(m_session->graph, m_options, static_cast<int>(m_prepared->stages.size()),
                           begin);
        }
        run::Interpreter<Space, Group>(m_space, m_transfers, m_session->graph, *m_prepared,
                                       {m_buffers, m_arena.data()}, m_workspace.data(),
                                       m_host.data(), m_options.eager_bytes, new_constants, stage,
                                       observer ? &*observer : nullptr)
            .run();
        const comm::Traffic after = m_transfers.traffic();
        statistics.words_sent = after.words_sent - before.words_sent;
        statistics.words_received = after.words_received - before.words_received;
        statistics.messages_sent = after.messages_sent - before.messages_sent;
        statistics.messages_received = after.messages_received - before.messages_received;
        statistics.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      });
  m_inputs->keep_constants();
  statistics.arena_bytes = program.arena_bytes;
  statistics.kept_bytes = program.kept_bytes;
  statistics.result_bytes = program.result_bytes;
  statistics.input_bytes = m_inputs->own_bytes();
  statistics.workspace_bytes = static_cast<std::int64_t>(m_workspace.size());
  m_inputs->release();
  std::optional<std::vector<Event>> events;
  if (observer && observer->records()) events = observer->take_events();
  return RunType(m_session, m_space, std::move(results), statistics, std::move(events));
}

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

#ifdef EINDECOMP_SEPARATE_EXECUTOR
// Compiled in the one translation unit that includes separate_executor.hpp.
EINDECOMP_USUAL_EXECUTORS(extern)
#endif

}  // namespace eindecomp
