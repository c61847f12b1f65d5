// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The results of an executed program: this rank's blocks, or whole tensors gathered.
#pragma once

#include <cstddef>
#include <cstdint>
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
#include "eindecomp/comm/or_abort.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/large_pages.hpp"
#include "eindecomp/plan/timeline.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/redistribution.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/distributed_views.hpp"
#include "eindecomp/run/local_tensor.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/result_memory.hpp"
#include "eindecomp/run/session.hpp"
#include "eindecomp/run/staged_exchange.hpp"
#include "eindecomp/run/transport.hpp"

namespace eindecomp {
namespace run {

struct ResultFiles;

/// A result as its reader names it, the types forgotten.
struct NamedResult {
  TensorReference tensor;
  ElementType element;
  int rank = 0;
  std::source_location where;
};

template <class T, int Rank, TensorName Symbol>
[[nodiscard]] NamedResult named_result(const Symbol& symbol, const std::source_location& where) {
  return {reference_to(symbol), element_type<T>(), Rank, where};
}

}  // namespace run

/// What a run of a plan left on this rank. Independent of later runs of the same Executor. Must be
/// destroyed on all ranks, and before Kokkos is finalised.
template <class Space, comm::Communicator Group>
class Run {
 public:
  /// Where results lie.
  using MemorySpace = typename Space::memory_space;

  /// Made by an Executor: the memory of the program's result buffers, others empty.
  Run(std::shared_ptr<run::Session<Group>> session, const Space& space,
      std::vector<run::SharedBlock<MemorySpace>> results, RunStatistics statistics,
      std::optional<std::vector<Event>> events = std::nullopt)
      : m_session(std::move(session)),
        m_space(space),
        m_results(std::move(results)),
        m_statistics(statistics),
        m_events(std::move(events)) {}

  /// This rank's blocks of a result. Not collective, does not fence.
  /// \throws Error if the symbol is not a result of this program.
  template <run::TypedSymbol Symbol>
  [[nodiscard]] auto local(const Symbol& symbol,
                           std::source_location where = std::source_location::current()) const {
    return local_as<Stored<typename Symbol::value_type>, static_cast<int>(Symbol::rank)>(symbol,
                                                                                         where);
  }

  /// The same for a tensor by name, or by a symbol of a graph built at run time, whose elements
  /// are T.
  template <class T, int Rank, TensorName Symbol>
  [[nodiscard]] LocalTensor<T, Rank, MemorySpace> local_as(
      const Symbol& symbol, std::source_location where = std::source_location::current()) const {
    using Block = LocalBlock<T, Rank, MemorySpace>;
    const VertexId v = result(run::named_result<T, Rank>(symbol, where));
    std::vector<Block> blocks;
    for (int b : m_session->stored_buffers(v)) {
      const Box& box = m_session->program.buffers[run::at(b)].box;
      const run::SharedBlock<MemorySpace>& memory = m_results[run::at(b)];
      blocks.push_back({box,
                        typename Block::View(reinterpret_cast<T*>(memory->data()),
                                             run::layout_of(run::extents_of(box))),
                        memory});
    }
    return {m_session->graph[v].name, m_session->graph[v].bound, std::move(blocks)};
  }

  /// The whole of a result, row-major, on every rank. Collective; fences the run's space instance.
  /// \throws Error, on all ranks alike, if on any the symbol is not a result or memory is short.
  template <run::TypedSymbol Symbol>
  [[nodiscard]] auto gather(const Symbol& symbol,
                            std::source_location where = std::source_location::current()) const {
    return gather_as<Stored<typename Symbol::value_type>, static_cast<int>(Symbol::rank)>(
        symbol, std::nullopt, where);
  }
  /// The whole of a result on rank `root`; an empty view on the others. Collective.
  template <run::TypedSymbol Symbol>
  [[nodiscard]] auto gather(const Symbol& symbol, int root,
                            std::source_location where = std::source_location::current()) const {
    return gather_as<Stored<typename Symbol::value_type>, static_cast<int>(Symbol::rank)>(
        symbol, root, where);
  }

  /// The same for a tensor by name, or by a symbol of a graph built at run time, whose elements
  /// are T.
  template <class T, int Rank, TensorName Symbol>
  [[nodiscard]] run::TensorView<T, Rank, MemorySpace> gather_as(
      const Symbol& symbol, std::optional<int> root = std::nullopt,
      std::source_location where = std::source_location::current()) const {
    using View = run::TensorView<T, Rank, MemorySpace>;
    View whole;
    collect(run::named_result<T, Rank>(symbol, where), root, [&whole](const Vertex& tensor) {
      whole = View(Kokkos::view_alloc(Kokkos::WithoutInitializing,
                                      "EinDecomp::gathered " + tensor.name.str()),
                   run::layout_of(tensor.bound));
      kernel::prefer_large_pages(whole);
      return static_cast<void*>(whole.data());
    });
    return whole;
  }

  /// Refuse a name alone, which does not say the type of the view.
  /// @{
  template <TensorName Symbol, class... Rest>
    requires(!run::TypedSymbol<Symbol>)
  auto gather(const Symbol&, const Rest&...) const {
    static_assert(expr::never<Symbol>,
                  "EinDecomp: a result is gathered by a name (which does not say its value type "
                  "and rank); write gather_as<double, 2>(name)");
  }
  template <TensorName Symbol, class... Rest>
    requires(!run::TypedSymbol<Symbol>)
  auto local(const Symbol&, const Rest&...) const {
    static_assert(expr::never<Symbol>,
                  "EinDecomp: a result is asked for by a name (which does not say its value type "
                  "and rank); write local_as<double, 2>(name)");
  }
  /// @}

  /// The bytes of a result of whatever elements and rank, row-major, on rank `root`; none on the
  /// others. Collective.
  [[nodiscard]] run::Memory<MemorySpace> gather_bytes(
      const std::string& tensor, int root,
      std::source_location where = std::source_location::current()) const;

  /// Brings a result to a distribution of the user's: this rank's arrays of it are written, those
  /// of the other ranks by them. Views as bind(X, distribution, views) takes them, not const, of
  /// the tensor's value type. Collective; fences the run's space instance. \returns what moved, the
  /// least there is: the words of Plan::result_words. \throws Error, on all ranks alike and before
  /// anything moves, if on any the symbol is not a
  ///   result, the distribution is of another tensor or not the same, views do not fit it, share
  ///   memory or are null, or memory is short.
  template <TensorName Symbol, class Views>
  RedistributionStatistics redistribute(
      const Symbol& symbol, const Distribution& distribution, const Views& views,
      std::source_location where = std::source_location::current()) const {
    using View = run::ViewOf<Views>;
    static_assert(!std::is_const_v<typename View::value_type>,
                  "EinDecomp: a result is brought to views of const elements, which cannot be "
                  "written; give views of others");
    static_assert(compat::accessible<Space, typename View::memory_space>,
                  "EinDecomp: a view lies in memory that the run's execution space cannot reach; "
                  "copy it there first (Kokkos::create_mirror_view_and_copy)");
    return redistribute_to(
        run::named_result<typename View::value_type, compat::rank_of<View>>(symbol, where),
        distribution, run::strided_views(views));
  }

  /// The results that the plan carries to the next run (DecomposeOptions::carry), bound to the
  /// inputs they become: `executor.run(run.carry(), bind(A, …))`. Nothing is copied: the next run
  /// reads them where they lie, or, where the plan stores the two differently, exchanges what
  /// differs (Plan::carried_words, RunStatistics::inputs). Not collective, does not fence.
  /// \throws Error if the plan carries nothing.
  [[nodiscard]] std::vector<Binding<Space>> carry(
      std::source_location where = std::source_location::current()) const;

  /// Words, time and memory of this rank.
  [[nodiscard]] const RunStatistics& statistics() const { return m_statistics; }

  /// What every rank did when, on every rank: for write_trace() (tools/trace.hpp), beside what
  /// simulate() predicts. Collective, does not fence.
  ///
  /// A rank's times count from the beginning of the run on it, which is within a message's time of
  /// the others'. A message lasts as long as the exchange that it is part of, packing and unpacking
  /// included; its tensor is not recorded, nor are the words of what is not a message. Statements
  /// that run tile by tile are one kernel call of the last of them.
  /// \throws Error, on all ranks alike, if on any the run was not recorded (ExecuteOptions::trace).
  [[nodiscard]] Timeline timeline(
      std::source_location where = std::source_location::current()) const;

 private:
  friend run::ResultFiles;  // run/tensor_files.hpp

  /// The vertex of a result. \throws Error as local_as.
  [[nodiscard]] VertexId result(const run::NamedResult& named) const;

  /// Gathers a result in the memory that `allocate` gives for the whole of it, on rank `root` or on
  /// every one. Collective, as gather_as.
  void collect(const run::NamedResult& named, std::optional<int> root,
               const std::function<void*(const Vertex&)>& allocate) const;

  RedistributionStatistics redistribute_to(const run::NamedResult& named,
                                           const Distribution& distribution,
                                           const std::vector<kernel::StridedTensor>& views) const;

  std::shared_ptr<run::Session<Group>> m_session;
  Space m_space;
  std::vector<run::SharedBlock<MemorySpace>> m_results;  ///< by buffer; null for others
  RunStatistics m_statistics;
  std::optional<std::vector<Event>> m_events;  ///< of this rank; absent if not recorded
};

template <class Space, comm::Communicator Group>
VertexId Run<Space, Group>::result(const run::NamedResult& named) const {
  const VertexId v = m_session->vertex_of(named.tensor, named.where);
  const EinGraph& graph = m_session->graph;
  const Vertex& vertex = graph[v];
  if (vertex.is_input()) {
    throw Error(ErrorKind::binding,
                "tensor " + vertex.name +
                    " is not a result (it is an input, which stays where "
                    "you bound it)",
                named.where);
  }
  bool is_result = false;
  for (VertexId r : graph.results()) is_result = is_result || r == v;
  if (!is_result) {
    throw Error(ErrorKind::binding,
                "tensor " + vertex.name +
                    " is not a result (another statement reads it, and its "
                    "memory is used again); keep it: program.keep(" +
                    vertex.name + ")",
                named.where);
  }
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
  comm::agree_on(group, call, [&] {
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
  });
  const auto nowhere = [] { return ""; };
  comm::or_abort(group, call, nowhere, [&] {
    const int bytes = named.element.bytes;
    const run::BlockMemory into =
        run::BlockMemory::dense(whole, Box::whole(m_session->graph[v].bound), bytes);
    const std::vector<int> mine = m_session->stored_buffers(v);
    std::size_t next = 0;
    for (const run::RankBlock& block : m_session->stored_everywhere(v)) {
      if (block.rank == group.rank()) {
        const run::BlockMemory from =
            run::BlockMemory::dense(m_results[run::at(mine[next++])]->data(), block.box, bytes);
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
              m_results[run::at(b)]->data(), m_session->program.buffers[run::at(b)].box,
              named.element.bytes)));
        }
        wanted = run::check_views(distribution, group.rank(), views, "result " + tensor.name,
                                  named.where);
        run::check_apart(wanted, stored, named.where);
        exchange.prepare(from, distribution, group.rank(), named.element.bytes, stored, wanted, {},
                         named.where);
        exchange.allocate(named.where);
      },
      {{"distributions", "describe the same distribution on every rank", distribution.hash()}});
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
  comm::agree_on(group, call, [&] {
    if (m_events) return;
    throw Error(ErrorKind::binding,
                "the run has no timeline (it was not recorded); give the executor .trace = true",
                where);
  });
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
      const Box& box = m_session->program.buffers[run::at(b)].box;
      owners.push_back(m_results[run::at(b)]);
      facts.views.push_back(run::strided_tensor(run::BlockMemory::dense(
          owners.back()->data(), box, static_cast<int>(next.element.bytes))));
      facts.boxes->push_back(box);
    }
    if (!(m_session->placement.stored[run::at(pair.next)] ==
          m_session->placement.stored[run::at(pair.input)])) {
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
