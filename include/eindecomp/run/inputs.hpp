// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A run's inputs: checked against the plan, read in place where they lie, generated or scattered
/// into memory of the run's own where they do not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/check_binding.hpp"
#include "eindecomp/run/kept_binding.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/session.hpp"
#include "eindecomp/run/staged_exchange.hpp"
#include "eindecomp/run/transport.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp::run {

/// Of one executor; its own memory is kept from run to run.
template <class Space, comm::Communicator Group>
class RunInputs {
 public:
  using MemorySpace = typename Space::memory_space;

  explicit RunInputs(Session<Group>& session)
      : m_session(session),
        m_own(session.program.buffers.size()),
        m_memory(session.program.buffers.size()),
        m_exchanges(session.graph.vertices.size()),
        m_kept(session.graph.vertices.size()),
        m_moved(session.graph.vertices.size()) {}

  /// Takes the bindings of one run, which must outlive it. Does not communicate, allocates nothing.
  /// \param where the run's place, for errors that no binding is to blame for.
  /// \throws Error naming the tensor, the extents and the place of the binding.
  void take(const std::vector<Binding<Space>>& bindings, const std::source_location& where) {
    release();
    m_bound.assign(to_index(m_session.graph.size()), nullptr);
    for (const Binding<Space>& binding : bindings) {
      const BindingFacts& facts = binding.facts();
      const VertexId v = m_session.vertex_of(facts.tensor, facts.where);
      const Vertex& tensor = m_session.graph[v];
      if (!tensor.is_input()) {
        throw Error(ErrorKind::binding,
                    "tensor " + tensor.name +
                        " is bound (it is the result of a statement, which "
                        "the run computes); bind inputs only",
                    facts.where);
      }
      if (m_bound[to_index(v)] != nullptr) {
        throw Error(ErrorKind::binding,
                    "input " + tensor.name +
                        " is bound twice (a run reads each input once); leave "
                        "one of its bindings out",
                    facts.where);
      }
      m_bound[to_index(v)] = &binding;
      BindingChecker<Group>(m_session).check(v, facts);
      if (facts.kind == BindingKind::distributed) plan_exchange(v, facts);
    }
    check_all_are_bound(where);
    for (VertexId v = 0; v < m_session.graph.size(); ++v) {
      if (m_kept[to_index(v)] &&
          !(is_constant(v) &&
            m_kept[to_index(v)]->is(m_bound[to_index(v)]->facts(), m_session.control.rank()))) {
        m_kept[to_index(v)].reset();
      }
    }
  }

  /// The inputs that are bound as constant, ascending.
  [[nodiscard]] std::vector<VertexId> constants() const {
    std::vector<VertexId> found;
    for (VertexId v = 0; v < m_session.graph.size(); ++v) {
      if (is_constant(v)) found.push_back(v);
    }
    return found;
  }
  /// Whether one of them is not as a run before left it on this rank.
  [[nodiscard]] bool has_new_constants() const {
    const std::vector<VertexId> all = constants();
    return std::any_of(all.begin(), all.end(), [this](VertexId v) { return !m_kept[to_index(v)]; });
  }
  /// Remembers the constants of a run that is over.
  void keep_constants() {
    for (VertexId v : constants()) m_kept[to_index(v)] = KeptBinding(m_bound[to_index(v)]->facts());
  }
  /// Lets the next run take constants as new.
  void forget_constants() { std::fill(m_kept.begin(), m_kept.end(), std::nullopt); }

  /// Bytes of memory of our own that these bindings need on this rank; those of a scatter's
  /// messages included.
  [[nodiscard]] std::int64_t own_bytes() const {
    std::int64_t bytes = 0;
    bool scatters = false;
    for_each_input([&](VertexId v, const Binding<Space>& binding, const std::vector<int>& buffers) {
      const BindingFacts& facts = binding.facts();
      scatters = scatters || facts.kind == BindingKind::whole_on_root;
      if (facts.kind == BindingKind::distributed) bytes += exchange_of(v).bytes();
      for (int b : buffers) bytes += needs_memory(facts, buffer(b).box) ? buffer(b).bytes : 0;
    });
    return bytes + (scatters ? tuning::slab_bytes : 0);
  }

  /// Gives back memory that no binding of this run needs, so that others of its inputs may have it.
  void free_unneeded() {
    for (VertexId v = 0; v < m_session.graph.size(); ++v) {
      if (!m_session.graph[v].is_input()) continue;
      const Binding<Space>* const binding = m_bound[to_index(v)];
      const bool is_bound = binding != nullptr;
      if (!is_bound || binding->facts().kind != BindingKind::distributed) {
        m_exchanges[to_index(v)].reset();
      }
      for (const int b : m_session.stored_buffers(v)) {
        if (!is_bound || !needs_memory(binding->facts(), buffer(b).box)) m_own[to_index(b)] = {};
      }
    }
  }

  /// Allocates what is missing, and fills what is generated or read from files. Does not
  /// communicate; fences `space` after it filled.
  void prepare(const Space& space, const std::source_location& where) {
    bool scatters = false;
    for_each_input([&](VertexId v, const Binding<Space>& binding, const std::vector<int>& buffers) {
      const BindingFacts& facts = binding.facts();
      const Vertex& tensor = m_session.graph[v];
      scatters = scatters || facts.kind == BindingKind::whole_on_root;
      if (facts.kind == BindingKind::distributed) m_exchanges[to_index(v)]->allocate(facts.where);
      bool checked = false;
      for (std::size_t n = 0; n < buffers.size(); ++n) {
        const int b = buffers[n];
        const int bytes = relation::element_bytes(m_session.graph, buffer(b));
        if (!needs_memory(facts, buffer(b).box)) {
          if (facts.kind == BindingKind::distributed) {
            m_memory[to_index(b)] = in_place(facts, buffer(b).box);
            continue;
          }
          const bool blocks = facts.kind == BindingKind::blocks;
          const kernel::StridedTensor& view =
              facts.views[blocks ? view_of(facts, buffer(b).box, n) : 0];
          m_memory[to_index(b)] =
              BlockMemory::of(view, blocks ? buffer(b).box : Box::whole(tensor.bound));
          continue;
        }
        if (m_own[to_index(b)].data() == nullptr) {
          m_own[to_index(b)] = allocate<MemorySpace>("EinDecomp::input " + tensor.name,
                                                     buffer(b).bytes, facts.where);
        }
        m_memory[to_index(b)] = BlockMemory::dense(m_own[to_index(b)].data(), buffer(b).box, bytes);
        if (m_kept[to_index(v)]) continue;
        // A constant is read once, and its file need not be there later.
        if (facts.kind == BindingKind::file && !checked) facts.check(tensor);
        checked = true;
        if (facts.kind == BindingKind::generator || facts.kind == BindingKind::file) {
          fill(tensor, binding, space, buffer(b).box, m_own[to_index(b)].data());
        }
      }
    });
    if (scatters) m_transport.emplace(space, m_session.control, where);
  }

  /// Sends the parts of every input that lies on one rank to those that store them. Collective.
  /// \param with_constants  whether of constants as well; the same on every rank.
  void scatter(bool with_constants) {
    const int rank = m_session.control.rank();
    // By vertex, not in the order of the bindings, which may differ from rank to rank.
    for (VertexId v = 0; v < m_session.graph.size(); ++v) {
      const Binding<Space>* const binding = m_bound[to_index(v)];
      if (binding == nullptr || binding->facts().kind != BindingKind::whole_on_root) continue;
      if (is_constant(v) && !with_constants) continue;
      const BindingFacts& facts = binding->facts();
      const bool is_root = facts.root == rank;
      const Vertex& tensor = m_session.graph[v];
      const Box all = Box::whole(tensor.bound);
      const BlockMemory whole = is_root ? BlockMemory::of(facts.views[0], all)
                                        : BlockMemory::dense(nullptr, all, tensor.element.bytes);
      const std::vector<int> mine = m_session.stored_buffers(v);
      std::size_t next = 0;
      for (const RankBlock& block : m_session.stored_everywhere(v)) {
        if (block.rank == rank) {
          const BlockMemory& into = m_memory[to_index(mine[next++])];
          if (!is_root) m_transport->receive(facts.root, block.box, into);
        } else if (is_root) {
          m_transport->send(block.rank, block.box, whole);
        }
      }
    }
  }

  /// Brings the inputs that are bound in distributions of their own to the blocks of the plan.
  /// Collective. \param with_constants  as of scatter(). \returns what this rank sent and received.
  RedistributionStatistics exchange(const Space& space, bool with_constants) {
    RedistributionStatistics sum;
    std::fill(m_moved.begin(), m_moved.end(), std::nullopt);
    for (VertexId v = 0; v < m_session.graph.size(); ++v) {
      const Binding<Space>* const binding = m_bound[to_index(v)];
      if (binding == nullptr || binding->facts().kind != BindingKind::distributed) continue;
      if (is_constant(v) && !with_constants) continue;
      const RedistributionStatistics moved = m_exchanges[to_index(v)]->run(
          space, m_session.control, arrays_of(binding->facts()), stored_arrays(v));
      m_moved[to_index(v)] = moved;
      sum.words_sent += moved.words_sent;
      sum.words_received += moved.words_received;
      sum.messages_sent += moved.messages_sent;
      sum.messages_received += moved.messages_received;
      sum.seconds += moved.seconds;
    }
    return sum;
  }

  /// What the exchanges of the last run moved, a line for each; empty if there were none.
  [[nodiscard]] std::string explain() const {
    std::string text;
    for (std::size_t v = 0; v < m_moved.size(); ++v) {
      if (!m_moved[v]) continue;
      text += m_session.graph.vertices[v].name.str() + ": in a distribution of its own, " +
              std::to_string(m_moved[v]->words_received) + " words received and " +
              std::to_string(m_moved[v]->words_sent) + " sent before the first instruction\n";
    }
    return text;
  }

  /// The memory that is read through the bindings' views on this rank.
  [[nodiscard]] std::vector<AddressRange> read_ranges() const {
    std::vector<AddressRange> ranges;
    for_each_input([&](VertexId, const Binding<Space>& binding, const std::vector<int>&) {
      if (fills_memory(binding.facts(), m_session.control.rank())) return;
      for (const kernel::StridedTensor& view : binding.facts().views) {
        ranges.push_back(range_of(view));
      }
    });
    return ranges;
  }

  /// Where the block of an input buffer lies.
  [[nodiscard]] const BlockMemory& memory(int buffer) const { return m_memory[to_index(buffer)]; }

  /// Forgets the bindings; keeps the memory for the next run.
  void release() {
    m_transport.reset();
    m_bound.clear();
  }

 private:
  /// \throws Error naming every input that is read and not bound.
  void check_all_are_bound(std::source_location where) const {
    const std::vector<int> readers = m_session.graph.reader_counts();
    std::string missing;
    int count = 0;
    for (VertexId v = 0; v < m_session.graph.size(); ++v) {
      const Vertex& tensor = m_session.graph[v];
      if (!tensor.is_input() || readers[to_index(v)] == 0 || m_bound[to_index(v)] != nullptr)
        continue;
      missing += (++count > 1 ? ", " : "") + tensor.name.str();
    }
    if (count == 0) return;
    throw Error(ErrorKind::binding,
                (count == 1 ? "input " : "inputs ") + missing +
                    (count == 1 ? " is not bound (a statement reads it); give the run a bind, "
                                  "bind_global or bind_generator for it"
                                : " are not bound (statements read them); give the run a bind, "
                                  "bind_global or bind_generator for each"),
                where);
  }

  [[nodiscard]] bool is_constant(VertexId v) const {
    return m_bound[to_index(v)] != nullptr && m_bound[to_index(v)]->facts().constant;
  }
  [[nodiscard]] const Buffer& buffer(int b) const { return m_session.program.buffers[to_index(b)]; }

  /// Calls a generator, or reads a file, for a block. \throws Error that names the input if that
  ///   throws.
  static void fill(const Vertex& tensor, const Binding<Space>& binding, const Space& space,
                   const Box& box, void* into) {
    try {
      binding.fill(space, tensor, box, into);
    } catch (...) {
      const comm::Failure failure = comm::failure_of(std::current_exception());
      throw Error(failure.kind,
                  (binding.facts().kind == BindingKind::file ? "reading" : "the generator of") +
                      (" input " + tensor.name) + " failed (" +
                      std::string(comm::detail::bare(failure.sentence)) + ")",
                  binding.facts().where);
    }
  }

  /// Whether a block of an input bound so lies in memory of our own on this rank.
  [[nodiscard]] bool needs_memory(const BindingFacts& facts, const Box& box) const {
    if (facts.kind != BindingKind::distributed)
      return fills_memory(facts, m_session.control.rank());
    return array_with(facts, box) < 0;
  }

  /// The number of the array on this rank that has all of a box as one block; -1 if none has.
  [[nodiscard]] int array_with(const BindingFacts& facts, const Box& box) const {
    const std::vector<LocalArray>& arrays = facts.distribution->arrays(m_session.control.rank());
    const auto found = std::find_if(arrays.begin(), arrays.end(), [&box](const LocalArray& array) {
      return array.contains(box);
    });
    return found == arrays.end() ? -1 : static_cast<int>(found - arrays.begin());
  }

  /// The part of a view of the user's that is a block of the plan's.
  [[nodiscard]] BlockMemory in_place(const BindingFacts& facts, const Box& box) const {
    const int n = array_with(facts, box);
    const LocalArray& array = facts.distribution->arrays(m_session.control.rank())[to_index(n)];
    BlockMemory block = BlockMemory::of(facts.views[to_index(n)], box);
    for (std::size_t k = 0; k < box.lo.size(); ++k) {
      block.data += array.indices[k].position(box.lo[k]) * block.stride[k] * block.bytes;
    }
    return block;
  }

  /// The user's arrays on this rank, none where an empty view says so.
  [[nodiscard]] std::vector<kernel::StridedTensor> arrays_of(const BindingFacts& facts) const {
    if (facts.distribution->arrays(m_session.control.rank()).empty()) return {};
    return facts.views;
  }

  /// The plan's blocks of an input on this rank, with their strides and, when prepared, their data.
  [[nodiscard]] std::vector<kernel::StridedTensor> stored_arrays(VertexId v) const {
    std::vector<kernel::StridedTensor> arrays;
    for (int b : m_session.stored_buffers(v)) {
      const BlockMemory block =
          BlockMemory::dense(m_own[to_index(b)].data(), buffer(b).box,
                             relation::element_bytes(m_session.graph, buffer(b)));
      arrays.push_back(strided_tensor(block));
    }
    return arrays;
  }

  [[nodiscard]] const StagedExchange<Space>& exchange_of(VertexId v) const {
    return *m_exchanges[to_index(v)];
  }

  /// Makes the exchange ready that brings an input to the plan's blocks.
  void plan_exchange(VertexId v, const BindingFacts& facts) {
    Flags skip;
    for (int b : m_session.stored_buffers(v)) {
      skip.push_back(array_with(facts, buffer(b).box) >= 0 ? 1 : 0);
    }
    std::optional<StagedExchange<Space>>& exchange = m_exchanges[to_index(v)];
    if (!exchange) exchange.emplace();
    exchange->prepare(*facts.distribution, m_session.distribution(v), m_session.control.rank(),
                      static_cast<int>(m_session.graph[v].element.bytes), arrays_of(facts),
                      stored_arrays(v), skip, facts.where);
  }

  /// Calls visit(tensor, binding, input buffers of the tensor on this rank).
  template <class Visit>
  void for_each_input(const Visit& visit) const {
    for (std::size_t v = 0; v < m_bound.size(); ++v) {
      if (m_bound[v] == nullptr) continue;
      const auto vertex = static_cast<VertexId>(v);
      visit(vertex, *m_bound[v], m_session.stored_buffers(vertex));
    }
  }

  Session<Group>& m_session;
  std::vector<const Binding<Space>*> m_bound;  ///< by vertex; null for what is not bound
  std::vector<Memory<MemorySpace>> m_own;      ///< by buffer; empty where read in place
  std::vector<BlockMemory> m_memory;           ///< by buffer, of inputs
  std::vector<std::optional<StagedExchange<Space>>> m_exchanges;  ///< by vertex
  std::vector<std::optional<KeptBinding>> m_kept;                 ///< by vertex, of constants
  std::vector<std::optional<RedistributionStatistics>> m_moved;   ///< by vertex, in the last run
  std::optional<SlabTransport<Space, Group>> m_transport;
};

}  // namespace eindecomp::run
