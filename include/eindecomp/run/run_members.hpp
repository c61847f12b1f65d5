// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The members of Run. With EINDECOMP_SEPARATE_EXECUTOR, one translation unit compiles them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
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
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/plan/carried_result.hpp"
#include "eindecomp/plan/timeline.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/redistribution.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/check_views.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/result_block.hpp"
#include "eindecomp/run/run.hpp"
#include "eindecomp/run/session.hpp"
#include "eindecomp/run/staged_exchange.hpp"
#include "eindecomp/run/transport.hpp"

namespace eindecomp {

template <class Space, comm::Communicator Group>
const Vertex& Run<Space, Group>::tensor(VertexId v) const {
  return m_session->graph[v];
}

template <class Space, comm::Communicator Group>
std::vector<run::HeldBlock<typename Space::memory_space>> Run<Space, Group>::held_blocks(
    VertexId v) const {
  std::vector<run::HeldBlock<MemorySpace>> blocks;
  for (int b : m_session->stored_buffers(v)) {
    const run::SharedBlock<MemorySpace>& memory = m_results[m_session->result_number(b)];
    blocks.push_back({m_session->program.buffers[to_index(b)].box, memory->data(), memory});
  }
  return blocks;
}

template <class Space, comm::Communicator Group>
void Run<Space, Group>::require_result(VertexId v, const std::source_location& where) const {
  const Vertex& vertex = m_session->graph[v];
  if (vertex.is_input()) {
    throw Error(ErrorKind::binding,
                "tensor " + vertex.name +
                    " is not a result (it is an input, which stays where "
                    "you bound it)",
                where);
  }
  if (!vertex.is_result()) {
    throw Error(ErrorKind::binding,
                "tensor " + vertex.name +
                    " is not a result (another statement reads it, and its "
                    "memory is used again); keep it: program.keep(" +
                    vertex.name + ")",
                where);
  }
  if (std::ranges::binary_search(m_released, v)) {
    throw Error(ErrorKind::binding,
                "tensor " + vertex.name +
                    " is no result of this run any more (it was released, and later runs write "
                    "where it lay); read it before",
                where);
  }
}

template <class Space, comm::Communicator Group>
VertexId Run<Space, Group>::result(const run::NamedResult& named) const {
  const VertexId v = m_session->vertex_of(named.tensor, named.where);
  require_result(v, named.where);
  const Vertex& vertex = m_session->graph[v];
  if (!(named.element == vertex.element) || named.rank != vertex.rank()) {
    throw Error(
        ErrorKind::binding,
        "tensor " + vertex.name + " is read with another value type or rank than it has (as " +
            expr::element_text(named.element).str() + " of rank " + std::to_string(named.rank) +
            ", and is of " + expr::element_text(vertex.element).str() + " and of rank " +
            std::to_string(vertex.rank()) + ")",
        named.where);
  }
  return v;
}

template <class Space, comm::Communicator Group>
void Run<Space, Group>::release(const std::vector<VertexId>& results, std::source_location where) {
  for (const VertexId v : results) {
    if (v < 0 || v >= m_session->graph.size()) {
      core::fail(ErrorKind::binding, where, "tensor number ", v,
                 " cannot be released (the program has ", m_session->graph.size(),
                 " tensors, counted from 0); give vertices of the plan's graph");
    }
    require_result(v, where);
  }
  for (const VertexId v : results) {
    for (int b : m_session->stored_buffers(v)) m_results[m_session->result_number(b)].reset();
  }
  m_released.insert(m_released.end(), results.begin(), results.end());
  std::ranges::sort(m_released);
}

template <class Space, comm::Communicator Group>
void Run<Space, Group>::collect(const run::NamedResult& named, std::optional<int> root,
                                const std::function<void*(const Vertex&)>& allocate) const {
  Group& group = m_session->control;
  const int collector = root.value_or(0);
  VertexId v = -1;
  void* whole = nullptr;
  std::optional<run::SlabTransport<Space, Group>> transport;
  const comm::Call call("gather of " + named.tensor.name +
                            (root.has_value() ? " on rank " + std::to_string(collector) : ""),
                        named.where);
  const auto make_ready = [&] {
    v = result(named);
    if (collector < 0 || collector >= group.size()) {
      throw Error(ErrorKind::binding,
                  "rank " + std::to_string(collector) + " cannot gather " +
                      m_session->graph[v].name + " (the run has " + std::to_string(group.size()) +
                      " ranks)",
                  named.where);
    }
    if (!root.has_value() || group.rank() == collector) whole = allocate(m_session->graph[v]);
    transport.emplace(m_space, group, named.where);
  };
  comm::agree_on(group, call, make_ready, {run::same_run(m_number)});
  const auto nowhere = [] { return ""; };
  comm::or_abort(group, call, nowhere, [&] {
    const int bytes = named.element.bytes;
    const run::BlockMemory into =
        run::BlockMemory::dense(whole, Box::whole(m_session->graph[v].bound), bytes);
    const std::vector<int> mine = m_session->stored_buffers(v);
    std::size_t next = 0;
    for (const run::RankBlock& block : m_session->stored_everywhere(v)) {
      if (block.rank == group.rank()) {
        const run::BlockMemory from = run::BlockMemory::dense(
            m_results[m_session->result_number(mine[next++])]->data(), block.box, bytes);
        if (block.rank == collector) {
          run::copy_part(m_space, block.box, into, from);
        } else {
          transport->send(collector, block.box, from);
        }
      } else if (group.rank() == collector) {
        transport->receive(block.rank, block.box, into);
      }
    }
    compat::fence(m_space, "EinDecomp::gathered");
    if (!root.has_value()) transport->broadcast(collector, into);
  });
}

template <class Space, comm::Communicator Group>
run::Memory<typename Space::memory_space> Run<Space, Group>::gather_bytes(
    const std::string& tensor, int root, std::source_location where) const {
  run::NamedResult named{{-1, 0, tensor}, {}, 0, where};
  if (const VertexId v = m_session->graph.find(tensor); v >= 0) {
    named.element = m_session->graph[v].element;
    named.rank = m_session->graph[v].rank();
  }
  run::Memory<MemorySpace> bytes;
  collect(named, root, [&](const Vertex& v) {
    bytes = run::allocate<MemorySpace>("EinDecomp::gathered " + v.name.str(),
                                       v.size() * v.element.bytes, where);
    return static_cast<void*>(bytes.data());
  });
  return bytes;
}

template <class Space, comm::Communicator Group>
RedistributionStatistics Run<Space, Group>::redistribute_to(
    const run::NamedResult& named, const Distribution& distribution,
    const std::vector<kernel::StridedTensor>& views) const {
  Group& group = m_session->control;
  run::StagedExchange<Space> exchange;
  std::vector<kernel::StridedTensor> stored;
  std::vector<kernel::StridedTensor> wanted;
  const comm::Call call("redistribution of " + named.tensor.name, named.where);
  comm::agree_on(
      group, call,
      [&] {
        const VertexId v = result(named);
        const Vertex& tensor = m_session->graph[v];
        run::check_ranks_of(distribution, group.size(), named.where);
        const Distribution from = m_session->distribution(v);
        relation::check_same_tensor(from, distribution, named.where);
        for (int b : m_session->stored_buffers(v)) {
          stored.push_back(run::strided_tensor(run::BlockMemory::dense(
              m_results[m_session->result_number(b)]->data(),
              m_session->program.buffers[to_index(b)].box, named.element.bytes)));
        }
        wanted = run::check_views(distribution, group.rank(), views, "result " + tensor.name,
                                  named.where);
        run::check_apart(wanted, stored, named.where);
        exchange.prepare(from, distribution, group.rank(), named.element.bytes, stored, wanted, {},
                         named.where);
        exchange.allocate(named.where);
      },
      {run::same_run(m_number),
       {"distributions", "describe the same distribution on every rank", distribution.hash()}});
  RedistributionStatistics moved;
  comm::or_abort(
      group, call, [] { return ""; },
      [&] { moved = exchange.run(m_space, group, stored, wanted); });
  return moved;
}

template <class Space, comm::Communicator Group>
Timeline Run<Space, Group>::timeline(std::source_location where) const {
  static_assert(std::is_trivially_copyable_v<Event>, "EinDecomp: events travel as bytes");
  Group& group = m_session->control;
  const comm::Call call("timeline", where);
  const auto check = [&] {
    if (m_events) return;
    throw Error(ErrorKind::binding,
                "the run has no timeline (it was not recorded); give the executor .trace = true",
                where);
  };
  comm::agree_on(group, call, check, {run::same_run(m_number)});
  std::vector<std::vector<Event>> events;
  const auto nowhere = [] { return ""; };
  comm::or_abort(group, call, nowhere, [&] {
    const std::string mine(reinterpret_cast<const char*>(m_events->data()),
                           m_events->size() * sizeof(Event));
    for (const std::string& bytes : group.all_gather(mine)) {
      std::vector<Event>& theirs = events.emplace_back(bytes.size() / sizeof(Event));
      std::memcpy(theirs.data(), bytes.data(), bytes.size());
    }
  });
  return timeline_of(m_session->graph, std::move(events));
}

template <class Space, comm::Communicator Group>
std::vector<Binding<Space>> Run<Space, Group>::carry(std::source_location where) const {
  if (m_session->carry.empty()) {
    throw Error(ErrorKind::binding,
                "a run carries nothing to the next (its plan says of no result which input it "
                "becomes); decompose with .carry = {{\"next\", \"input\"}}",
                where);
  }
  std::vector<Binding<Space>> bindings;
  for (const CarriedResult& pair : m_session->carry) {
    require_result(pair.next, where);
    const Vertex& next = m_session->graph[pair.next];
    run::BindingFacts facts;
    facts.tensor = {-1, 0, m_session->graph[pair.input].name.str()};
    facts.where = where;
    facts.element = next.element;
    facts.result = next.name.str();
    facts.result_bound = next.bound;
    facts.boxes.emplace();
    std::vector<run::SharedBlock<MemorySpace>> owners;
    for (int b : m_session->stored_buffers(pair.next)) {
      const Box& box = m_session->program.buffers[to_index(b)].box;
      owners.push_back(m_results[m_session->result_number(b)]);
      facts.views.push_back(run::strided_tensor(run::BlockMemory::dense(
          owners.back()->data(), box, static_cast<int>(next.element.bytes))));
      facts.boxes->push_back(box);
    }
    if (!(m_session->placement.stored[to_index(pair.next)] ==
          m_session->placement.stored[to_index(pair.input)])) {
      facts.kind = run::BindingKind::distributed;
      facts.distribution = std::make_shared<const Distribution>(m_session->distribution(pair.next));
    }
    facts.owner =
        std::make_shared<const std::vector<run::SharedBlock<MemorySpace>>>(std::move(owners));
    bindings.push_back(Binding<Space>(std::move(facts)));
  }
  return bindings;
}

}  // namespace eindecomp
