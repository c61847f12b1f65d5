// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The interpreter of a rank's program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/plan/timeline.hpp"
#include "eindecomp/run/observer.hpp"
#include "eindecomp/run/prepared_program.hpp"
#include "eindecomp/run/transport.hpp"

namespace eindecomp::run {

/// Runs a prepared program once. Allocates nothing, and chooses nothing but how copies are stored,
/// which depends on where they go.
template <class Space, comm::Communicator Group>
class Interpreter {
 public:
  /// \param workspace of program.workspace_bytes.
  /// \param host for messages that pass through the host, of most_message_bytes; null if none do.
  /// \param with_constants  whether constants are gathered, or lie where a run before left them.
  /// \param current the stage that runs, for others to read.
  /// \param observer of the run; null if nobody watches.
  Interpreter(const Space& space, Group& group, const EinGraph& graph,
              const PreparedProgram<Space>& program, const Addresses& addresses,
              unsigned char* workspace, char* host, bool with_constants, std::atomic<int>& current,
              Observer* observer = nullptr)
      : m_space(space),
        m_group(group),
        m_graph(graph),
        m_program(program),
        m_addresses(addresses),
        m_workspace(workspace),
        m_host(host),
        m_with_constants(with_constants),
        m_current(current),
        m_observer(observer) {}

  /// Collective over the ranks of the program. Fences `space` before MPI reads or writes what its
  /// kernels touch, and once at the end.
  void run() {
    int number = 0;
    for (const Stage<Space>& stage : m_program.stages) {
      m_current.store(number++, std::memory_order_relaxed);
      if (stage.once && !m_with_constants) continue;
      const compat::ScopedRegion region("EinDecomp::", m_graph[stage.first].name);
      if (m_observer == nullptr) {
        std::visit([this](const auto& work) { this->run(work); }, stage.work);
      } else {
        run_watched(stage, number);
      }
    }
    compat::fence(m_space, "EinDecomp::end of a run");
  }

 private:
  /// Runs a stage, the `done`-th, and tells of it.
  void run_watched(const Stage<Space>& stage, int done) {
    const double begin = m_observer->now();
    std::visit([this](const auto& work) { this->run(work); }, stage.work);
    if (m_observer->records()) {
      compat::fence(m_space, "EinDecomp::recorded");
      record(stage, begin, m_observer->now());
    }
    m_observer->after_stage(stage.last, done);
  }

  void record(const Stage<Space>& stage, double begin, double end) {
    Event event{Event::Kind::call, stage.last, stage.last, -1, 0, begin, end};
    if (const auto* exchange = std::get_if<PreparedExchange<Space>>(&stage.work)) {
      event.tensor = -1;
      const auto record_all = [&](Event::Kind kind, const auto& messages) {
        event.kind = kind;
        for (const PreparedMessage<Space>& m : messages) {
          event.peer = m.peer;
          event.words = m.words;
          m_observer->record(event);
        }
      };
      record_all(Event::Kind::receive, exchange->receives);
      record_all(Event::Kind::send, exchange->sends);
      return;
    }
    if (std::holds_alternative<PreparedPass<Space>>(stage.work)) event.kind = Event::Kind::copy;
    if (std::holds_alternative<PreparedCombine<Space>>(stage.work)) {
      event.kind = Event::Kind::aggregate;
    }
    m_observer->record(event);
  }

  void run(const PreparedPass<Space>& pass) {
    pass.pass->run(m_space, m_addresses[pass.into], m_addresses[pass.from]);
  }

  void run(const PreparedCall<Space>& call) {
    const void* operands[kernel::max_operands];
    for (int o = 0; o < call.operands; ++o) operands[o] = m_addresses[call.operand[o]];
    call.kernel->run(m_space, operands, m_addresses[call.output], m_workspace);
  }

  void run(const PreparedCombine<Space>& combine) {
    for (const PreparedPass<Space>& part : combine.parts) run(part);
    if (combine.finish.pass) run(combine.finish);
  }

  void run(const FusedTiles& tiles) {
    tiles.run(m_space, m_addresses.buffers, m_addresses.arena, m_program.threads);
  }

  void run(const PreparedExchange<Space>& exchange) {
    for (const PreparedMessage<Space>& m : exchange.sends) {
      for (const PreparedPass<Space>& copy : m.copies) run(copy);
    }
    char* host = m_host;
    const auto next_on_host = [&host](const PreparedMessage<Space>& m) {
      char* const here = host;
      host += m.words * m.bytes;
      return here;
    };
    if (m_host != nullptr) {
      for (const PreparedMessage<Space>& m : exchange.sends) {
        copy_to_host(m_space, next_on_host(m), m_addresses[m.packed], m.words * m.bytes);
      }
    }
    char* const received = host;
    // Also for the receives: kernels may still read what lay in their place before.
    compat::fence(m_space, "EinDecomp::before messages");
    for (const PreparedMessage<Space>& m : exchange.receives) {
      char* const data = m_host != nullptr ? next_on_host(m) : m_addresses[m.packed];
      m_group.receive(m.peer, data, m.words, m.bytes, exchange.tag);
    }
    host = m_host;
    for (const PreparedMessage<Space>& m : exchange.sends) {
      const char* const data = m_host != nullptr ? next_on_host(m) : m_addresses[m.packed];
      m_group.send(m.peer, data, m.words, m.bytes, exchange.tag);
    }
    m_group.wait();
    host = received;
    for (const PreparedMessage<Space>& m : exchange.receives) {
      if (m_host != nullptr) {
        copy_from_host(m_space, m_addresses[m.packed], next_on_host(m), m.words * m.bytes);
      }
      for (const PreparedPass<Space>& copy : m.copies) run(copy);
    }
    // The next exchange writes to the host's copies again.
    if (m_host != nullptr) compat::fence(m_space, "EinDecomp::after messages");
  }

  const Space& m_space;
  Group& m_group;
  const EinGraph& m_graph;
  const PreparedProgram<Space>& m_program;
  Addresses m_addresses;
  unsigned char* m_workspace;
  char* m_host;
  bool m_with_constants;
  std::atomic<int>& m_current;
  Observer* m_observer;
};

}  // namespace eindecomp::run
