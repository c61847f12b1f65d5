// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What an Executor is made of: the program, its memory, its kernels, and how they run.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/call.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/comm/or_abort.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/workspace.hpp"
#include "eindecomp/plan/hash.hpp"
#include "eindecomp/plan/lines.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/rank_program.hpp"
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

namespace eindecomp::run {

/// Implements Executor, where the members are documented.
template <class Space, comm::Communicator Group>
class Engine {
 public:
  using MemorySpace = typename Space::memory_space;

  Engine(const BasicPlan<KokkosBackend<Space>>& plan, Group&& transfers, Group&& control,
         const Space& space, const ExecuteOptions& options, const std::source_location& where);

  [[nodiscard]] Run<Space, Group> run(const std::vector<Binding<Space>>& bindings,
                                      const std::source_location& where);

  void forget_constants() { m_inputs->forget_constants(); }
  [[nodiscard]] const RankProgram& program() const { return m_session->program; }
  [[nodiscard]] std::string explain() const {
    if (!m_prepared) return {};
    return m_inputs->explain() +
           explain_calls(m_session->graph, *m_prepared, {m_buffers, m_arena.data()});
  }

 private:
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
    check_messages(m_options, where);
    if (m_options.memory_limit < 0) {
      throw Error(ErrorKind::plan,
                  "the memory limit of this rank is " + std::to_string(m_options.memory_limit) +
                      " bytes (a run allocates none or more); leave it out, or give what it may "
                      "allocate",
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
    take_program({}, {}, where);
    m_inputs.emplace(*m_session);
  }

  /// Compiles the program for these constants, and takes memory for it.
  /// \param read  by the run that it is compiled for
  void take_program(const std::vector<VertexId>& constants, const std::vector<AddressRange>& read,
                    const std::source_location& where) {
    const Group& group = m_session->control;
    m_has_program = false;
    m_prepared.reset();
    m_session->set_program(
        compile_rank(m_session->graph, m_session->placement, group.size(), group.rank(), m_steps,
                     {.threads = compat::host_threads(m_space), .constants = constants}, where));
    const RankProgram& program = m_session->program;
    m_arena = {};
    make_room(0, 0, 1, read, where);
    m_arena = allocate<MemorySpace>("EinDecomp::arena", program.arena_bytes, where);
    if (!host_reaches<Space> && !m_options.gpu_aware_mpi.value_or(group.gpu_aware())) {
      m_host = allocate<compat::HostPinnedSpace>("EinDecomp::messages on host",
                                                 most_message_bytes(program), where);
    }
    m_buffers.clear();
    for (const Buffer& buffer : program.buffers) {
      const bool scratch =
          buffer.role == Buffer::Role::scratch || buffer.role == Buffer::Role::tile;
      m_buffers.push_back(BlockMemory::dense(scratch ? m_arena.data() + buffer.offset : nullptr,
                                             buffer.box,
                                             relation::element_bytes(m_session->graph, buffer)));
    }
    m_has_program = true;
  }

  /// Takes the buffers' places in this run, and prepares the program where their boxes or strides
  /// are not those of the run before. \returns how many kernels were prepared.
  Extent place_buffers(const std::vector<SharedBlock<MemorySpace>>& results,
                       const std::vector<AddressRange>& read, const std::source_location& where) {
    const std::vector<Buffer>& buffers = m_session->program.buffers;
    bool prepared = m_prepared.has_value() && m_prepared_with_blas == kernel::use_blas;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (buffers[b].role == Buffer::Role::result) {
        m_buffers[b].data = results[m_session->result_number(static_cast<int>(b))]->data();
      }
      if (buffers[b].role != Buffer::Role::input) continue;
      const BlockMemory& input = m_inputs->memory(static_cast<int>(b));
      prepared = prepared && m_buffers[b].has_geometry_of(input);
      m_buffers[b] = input;
    }
    if (prepared) return 0;
    m_prepared.reset();
    auto fresh = ProgramPreparer<Space>(m_space, m_session->graph, m_session->program,
                                        m_launcher_pointers, m_buffers)
                     .prepare();
    const std::int64_t bytes = fresh.workspace_bytes;
    if (bytes > static_cast<std::int64_t>(m_workspace.size())) {
      m_workspace.free();
      make_room(m_inputs->own_bytes(), bytes, 0, read, where);
      kernel::detail::at_place(where, [&] {
        m_workspace.allocate(m_space, "EinDecomp::workspace", static_cast<std::size_t>(bytes));
      });
    }
    m_prepared = std::move(fresh);
    m_prepared_with_blas = kernel::use_blas;
    return static_cast<Extent>(m_prepared->kernels.size() + m_prepared->tile_kernels.size());
  }

  /// Makes room for a run that needs so much: frees what is kept for later ones if the limit needs
  /// it. \param wanted  1 if the run has yet to take blocks for its results, 0 if it has them
  /// \throws Error as check_memory().
  void make_room(std::int64_t input_bytes, std::int64_t workspace_bytes, int wanted,
                 const std::vector<AddressRange>& read, const std::source_location& where) {
    check_memory(input_bytes, workspace_bytes, where);
    const auto held = std::max(workspace_bytes, static_cast<std::int64_t>(m_workspace.size()));
    const std::int64_t spare = m_results.spare_bytes(read, wanted);
    if (spare > 0 && needed_bytes(input_bytes, held) > m_options.memory_limit - spare) {
      m_results.free_spare(read, wanted);
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

  /// Takes a run's bindings.
  void take_inputs(const std::vector<Binding<Space>>& bindings, const std::source_location& where) {
    m_inputs->take(bindings, where);
    m_inputs->free_unneeded();
    const std::vector<VertexId> constants = m_inputs->constants();
    if (m_has_program && constants == m_session->program.constants) return;
    m_inputs->forget_constants();
    take_program(constants, m_inputs->read_ranges(), where);
  }

  /// A run from its begin to its end, during which there is no other.
  class OneRun {
   public:
    /// \throws Error if there is one.
    OneRun(std::atomic<bool>& runs, const std::source_location& where) : m_runs(runs) {
      if (!m_runs.exchange(true)) return;
      throw Error(ErrorKind::binding,
                  "a run is begun in the middle of another of the same executor (by its progress "
                  "function, a generator of an input, or another thread); give each an executor "
                  "of its own",
                  where);
    }
    OneRun(const OneRun&) = delete;
    OneRun& operator=(const OneRun&) = delete;
    ~OneRun() { m_runs = false; }

   private:
    std::atomic<bool>& m_runs;
  };

  /// ", in statement C", for the message of a run that failed in that stage.
  [[nodiscard]] std::string place_of(int number) const {
    if (number < 0) return {};
    const Stage<Space>& stage = m_prepared->stages[to_index(number)];
    const auto name = [&](VertexId v) { return m_session->graph[v].name.str(); };
    if (stage.first == stage.last) return ", in statement " + name(stage.first);
    return ", in statements " + name(stage.first) + " to " + name(stage.last);
  }

  Space m_space;
  ExecuteOptions m_options;
  std::atomic<bool> m_runs = false;  ///< run() is under way
  std::uint64_t m_number = 0;        ///< of the last run that began
  Group m_transfers;
  std::shared_ptr<Session<Group>> m_session;
  std::vector<typename KokkosBackend<Space>::Launcher> m_launchers;
  Launchers<Space> m_launcher_pointers;
  std::vector<StepGroup> m_steps;
  bool m_has_program = false;                        ///< and memory for it
  std::vector<BlockMemory> m_buffers;                ///< as in the last run
  std::optional<PreparedProgram<Space>> m_prepared;  ///< for their boxes and strides
  bool m_prepared_with_blas = true;
  kernel::Scratch<Space> m_workspace;
  Memory<MemorySpace> m_arena;
  ResultPool<MemorySpace> m_results;
  Memory<compat::HostPinnedSpace> m_host;
  std::optional<RunInputs<Space, Group>> m_inputs;
};

template <class Space, comm::Communicator Group>
Engine<Space, Group>::Engine(const BasicPlan<KokkosBackend<Space>>& plan, Group&& transfers,
                             Group&& control, const Space& space, const ExecuteOptions& options,
                             const std::source_location& where)
    : m_space(space),
      m_options(options),
      m_transfers(std::move(transfers)),
      m_session(std::make_shared<Session<Group>>(plan.graph, plan.placement, plan.carry,
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
Run<Space, Group> Engine<Space, Group>::run(const std::vector<Binding<Space>>& bindings,
                                            const std::source_location& where) {
  const OneRun only(m_runs, where);
  ++m_number;  // also where the run fails on one rank alone
  Group& group = m_session->control;
  const RankProgram& program = m_session->program;
  std::vector<SharedBlock<MemorySpace>> results;
  RunStatistics statistics;
  bool new_constants = false;
  const auto make_ready = [&] {
    take_inputs(bindings, where);
    new_constants = m_inputs->has_new_constants();
    const std::vector<AddressRange> read = m_inputs->read_ranges();
    const std::int64_t input_bytes = m_inputs->own_bytes();
    const auto workspace_bytes = [this] { return static_cast<std::int64_t>(m_workspace.size()); };
    if (needed_bytes(input_bytes, workspace_bytes()) > m_options.memory_limit) {
      // The workspace of the run before; this one may need less.
      m_workspace.free();
      m_prepared.reset();
    }
    make_room(input_bytes, workspace_bytes(), 1, read, where);
    results =
        m_results.take(m_session->graph, program.buffers, m_session->result_buffers(), read, where);
    m_inputs->prepare(m_space, where);
    statistics.kernels_prepared = place_buffers(results, read, where);
  };
  const comm::Call call("run", where);
  comm::agree_on(group, call, make_ready, bound_alike(m_session->graph, bindings), &new_constants);

  std::atomic<int> stage = -1;
  std::optional<Observer> observer;
  m_transfers.begin(call);
  comm::or_abort(
      group, call, [&] { return place_of(stage); },
      [&] {
        m_inputs->scatter(new_constants);
        statistics.inputs = m_inputs->exchange(m_space, new_constants);
        const auto begin = std::chrono::steady_clock::now();
        const comm::Traffic before = m_transfers.traffic();
        if (Observer::wanted(m_options)) {
          observer.emplace(m_session->graph, m_options, static_cast<int>(m_prepared->stages.size()),
                           begin);
        }
        Interpreter<Space, Group>(m_space, m_transfers, m_session->graph, *m_prepared,
                                  {m_buffers, m_arena.data()}, m_workspace.data(), m_host.data(),
                                  m_options.eager_bytes, new_constants, stage,
                                  observer ? &*observer : nullptr)
            .run();
        const comm::Traffic moved = m_transfers.traffic() - before;
        statistics.words_sent = moved.words_sent;
        statistics.words_received = moved.words_received;
        statistics.messages_sent = moved.messages_sent;
        statistics.messages_received = moved.messages_received;
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
  return Run<Space, Group>(m_session, m_number, m_space, std::move(results), statistics,
                           std::move(events));
}

}  // namespace eindecomp::run
