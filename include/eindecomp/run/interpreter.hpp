// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The interpreter of a rank's program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/print.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/lookup/index_fault.hpp"
#include "eindecomp/plan/timeline.hpp"
#include "eindecomp/run/observer.hpp"
#include "eindecomp/run/prepared_program.hpp"
#include "eindecomp/run/transport.hpp"

namespace eindecomp::run {

/// Runs a prepared program once. Allocates nothing of its own, and chooses nothing but how copies
/// are stored, which depends on where they go.
template <class Space, comm::Communicator Group>
class Interpreter {
 public:
  /// \param workspace of program.workspace_bytes.
  /// \param host for messages that pass through the host, of most_message_bytes; null if none do.
  /// \param eager_bytes  the most of a message that is on its way while kernels run.
  /// \param with_constants  whether constants are gathered, or lie where a run before left them.
  /// \param current the stage that runs, for others to read.
  /// \param observer of the run; null if nobody watches.
  Interpreter(const Space& space, Group& group, const EinGraph& graph,
              const PreparedProgram<Space>& program, const Addresses& addresses,
              unsigned char* workspace, char* host, std::int64_t eager_bytes, bool with_constants,
              std::atomic<int>& current, Observer* observer = nullptr)
      : m_space(space),
        m_group(group),
        m_graph(graph),
        m_program(program),
        m_addresses(addresses),
        m_workspace(workspace),
        m_host(host),
        m_eager_bytes(eager_bytes),
        m_with_constants(with_constants),
        m_current(current),
        m_observer(observer) {}

  /// Collective over the ranks of the program. Fences `space` before MPI reads or writes what its
  /// kernels touch, and once at the end.
  void run() {
    int number = 0;
    for (const Stage<Space>& stage : m_program.stages) {
      m_current.store(number++, std::memory_order_relaxed);
      if (stage.once && !m_with_constants) {
        // The end is told of even where it is left out.
        if (m_observer != nullptr && &stage == &m_program.stages.back()) {
          m_observer->after_stage(stage.last, number);
        }
        continue;
      }
      const compat::ScopedRegion region("EinDecomp::", m_graph[stage.first].name);
      if (m_observer == nullptr) {
        std::visit([this](const auto& work) { this->run(work); }, stage.work);
      } else {
        run_watched(stage, number);
      }
      if (m_under_way) m_group.progress();
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
      record(*exchange, event);
      return;
    }
    if (std::holds_alternative<PreparedPost<Space>>(stage.work)) return;
    if (const auto* await = std::get_if<PreparedAwait<Space>>(&stage.work)) {
      event.begin = m_posted;
      record(posted(*await), event);
      return;
    }
    if (std::holds_alternative<PreparedPass<Space>>(stage.work)) event.kind = Event::Kind::copy;
    if (std::holds_alternative<PreparedCombine<Space>>(stage.work)) {
      event.kind = Event::Kind::aggregate;
    }
    m_observer->record(event);
  }

  /// Records messages, which were under way together.
  void record(const PreparedExchange<Space>& exchange, Event event) {
    event.tensor = -1;
    const auto record_all = [&](Event::Kind kind, const auto& messages) {
      event.kind = kind;
      for (const PreparedMessage<Space>& m : messages) {
        event.peer = m.peer;
        event.words = m.words;
        m_observer->record(event);
      }
    };
    record_all(Event::Kind::receive, exchange.receives);
    record_all(Event::Kind::send, exchange.sends);
  }

  void run(const PreparedPass<Space>& pass) {
    pass.pass->run(m_space, m_addresses[pass.into], m_addresses[pass.from]);
  }

  void run(const PreparedCall<Space>& call) {
    const void* operands[kernel::max_operands];
    for (int o = 0; o < call.operands; ++o) operands[o] = m_addresses[call.operand[o]];
    try {
      call.kernel->run(m_space, operands, m_addresses[call.output], m_workspace);
    } catch (const kernel::IndexFault& fault) {
      throw_fault(fault);
    }
  }

  /// Says which element of which tensor is no index of what.
  [[noreturn, gnu::cold]] void throw_fault(const kernel::IndexFault& fault) const {
    const Vertex& v = m_graph[m_program.stages[to_index(m_current)].first];
    const Operand& operand = v.operands[to_index(fault.operand())];
    const int label = v.values[to_index(fault.operand())];
    Text sentence = m_graph[operand.vertex].name + "(";
    for (std::size_t k = 0; k < operand.labels.size(); ++k) {
      Extent index = 0;
      if (operand.is_computed()) {
        index = operand.indices[k].offset;
        for (const auto& term : operand.indices[k].terms) {
          index += term.coefficient * fault.at(term.label);
        }
      } else {
        index = fault.at(operand.labels[k]);
      }
      sentence << (k > 0 ? "," : "") << index;
    }
    const Extent extent = v.extents[to_index(label)];
    sentence << ") is " << fault.value() << " and an index of ";
    const auto is_read = [&](const Operand& o) {
      return std::find(o.labels.begin(), o.labels.end(), label) != o.labels.end();
    };
    const auto tensor =
        std::find_if(v.operands.begin() + v.op.index_tensors, v.operands.end(), is_read);
    if (tensor != v.operands.end()) {
      sentence << "dimension "
               << std::find(tensor->labels.begin(), tensor->labels.end(), label) -
                      tensor->labels.begin()
               << " of " << m_graph[tensor->vertex].name;
    } else {
      sentence << "label " << expr::quoted(graph::label_text(m_graph, v, label));
    }
    sentence << ", of extent " << extent << " (indices are from 0 to " << extent - 1
             << "); bind indices in that range, or read with skip()";
    throw Error(ErrorKind::binding, sentence, v.where);
  }

  void run(const PreparedCombine<Space>& combine) {
    for (const PreparedPass<Space>& part : combine.parts) run(part);
    if (combine.finish.pass) run(combine.finish);
  }

  void run(const FusedTiles& tiles) {
    tiles.run(m_space, m_addresses.buffers, m_addresses.arena, m_program.threads);
  }

  void run(const PreparedExchange<Space>& exchange) {
    start(exchange, 0);
    finish(exchange);
  }

  void run(const PreparedPost<Space>& post) {
    start(post.exchange, m_eager_bytes);
    m_posted = m_observer != nullptr ? m_observer->now() : 0;
    m_under_way = true;
  }

  void run(const PreparedAwait<Space>& await) {
    m_under_way = false;
    finish(posted(await));
  }

  [[nodiscard]] const PreparedExchange<Space>& posted(const PreparedAwait<Space>& await) const {
    return std::get<PreparedPost<Space>>(m_program.stages[await.post].work).exchange;
  }

  /// Starts an exchange: packs what it sends, and hands it to MPI. \param most_bytes  of one
  /// message; 0: as the communicator has it.
  void start(const PreparedExchange<Space>& exchange, std::int64_t most_bytes) {
    for (const PreparedMessage<Space>& m : exchange.sends) {
      for (const PreparedPass<Space>& copy : m.copies) run(copy);
    }
    char* host = m_host;
    if (m_host != nullptr) {
      for (const PreparedMessage<Space>& m : exchange.sends) {
        copy_to_host(m_space, next_on_host(host, m), m_addresses[m.packed], m.words * m.bytes);
      }
    }
    // Also for the receives: kernels may still read what lay in their place before.
    compat::fence(m_space, "EinDecomp::before messages");
    const auto most = [most_bytes](const PreparedMessage<Space>& m) {
      return most_bytes > 0 ? std::max<Extent>(most_bytes / m.bytes, 1) : 0;
    };
    for (const PreparedMessage<Space>& m : exchange.receives) {
      char* const data = m_host != nullptr ? next_on_host(host, m) : m_addresses[m.packed];
      m_group.receive(m.peer, data, m.words, m.bytes, exchange.tag, most(m));
    }
    host = m_host;
    for (const PreparedMessage<Space>& m : exchange.sends) {
      const char* const data = m_host != nullptr ? next_on_host(host, m) : m_addresses[m.packed];
      m_group.send(m.peer, data, m.words, m.bytes, exchange.tag, most(m));
    }
  }

  /// Ends an exchange: waits for all that was started, and unpacks what arrived.
  void finish(const PreparedExchange<Space>& exchange) {
    m_group.wait();
    char* host = m_host;
    if (m_host != nullptr) {
      for (const PreparedMessage<Space>& m : exchange.sends) (void)next_on_host(host, m);
    }
    for (const PreparedMessage<Space>& m : exchange.receives) {
      if (m_host != nullptr) {
        copy_from_host(m_space, m_addresses[m.packed], next_on_host(host, m), m.words * m.bytes);
      }
      for (const PreparedPass<Space>& copy : m.copies) run(copy);
    }
    // The next exchange writes to the host's copies again.
    if (m_host != nullptr) compat::fence(m_space, "EinDecomp::after messages");
  }

  /// The place of a message on the host, behind those before.
  [[nodiscard]] static char* next_on_host(char*& host, const PreparedMessage<Space>& m) {
    char* const here = host;
    host += m.words * m.bytes;
    return here;
  }

  const Space& m_space;
  Group& m_group;
  const EinGraph& m_graph;
  const PreparedProgram<Space>& m_program;
  Addresses m_addresses;
  unsigned char* m_workspace;
  char* m_host;
  std::int64_t m_eager_bytes;
  bool m_with_constants;
  bool m_under_way = false;  ///< messages that were posted
  double m_posted = 0;       ///< when, for the observer
  std::atomic<int>& m_current;
  Observer* m_observer;
};

}  // namespace eindecomp::run
