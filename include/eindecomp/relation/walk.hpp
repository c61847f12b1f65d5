// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// One walk through a placed program, which tells a sink every block stored, moved, computed and
/// aggregated, in one order. The task graph and the ranks' programs are such sinks: what is
/// predicted and what is done cannot differ. For a sink that wants a few ranks, the walk visits the
/// blocks that they read, compute or store, and nothing that others do among themselves.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/bounder.hpp"
#include "eindecomp/relation/calls_of_blocks.hpp"
#include "eindecomp/relation/gatherer.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/reducer.hpp"
#include "eindecomp/relation/tensor_holdings.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/walk_sink.hpp"

namespace eindecomp::relation {

/// Tells a sink of a program, statement by statement.
class Walk {
 public:
  /// \param masks  of the graph
  Walk(const EinGraph& graph, const graph::Masks& masks, const Placement& placement, int ranks,
       WalkSink& sink)
      : m_graph(graph),
        m_masks(masks),
        m_placement(placement),
        m_sink(sink),
        m_holdings(graph, placement, ranks, sink),
        m_gatherer(m_holdings, sink),
        m_bounder(sink),
        m_reducer(graph, placement, m_holdings, sink) {}
  Walk(const Walk&) = delete;  // its parts point at each other
  Walk& operator=(const Walk&) = delete;

  void run() {
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      if (m_graph[v].is_input()) m_holdings.store(v);
    }
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      if (!m_graph[v].is_input()) walk_statement(v);
    }
  }

  /// For a sink that wants to hear of some statements only: passes one that it does not, in the
  /// order of the graph. What the others are told is the same, of what is stored for a statement
  /// passed when one first reads it.
  void pass_statement(VertexId v) {
    const Vertex& vertex = m_graph[v];
    const BlockMap calls(m_placement.mesh, vertex.extents, m_placement.calls[to_index(v)]);
    for (const Operand& o : vertex.operands) {
      for (int piece = 0; piece < graph::piece_count(o); ++piece) {
        m_holdings.note_use(v, o.vertex,
                            calls_reading(m_graph, vertex, o, calls, m_masks.of(v), piece));
      }
    }
  }

  /// Walks one that it does, in the order of the graph.
  void walk_statement(VertexId v) {
    const Vertex& vertex = m_graph[v];
    const BlockMap calls(m_placement.mesh, vertex.extents, m_placement.calls[to_index(v)]);
    std::vector<CallsOfBlocks> operands;
    for (const Operand& o : vertex.operands) {
      operands.push_back(calls_reading(m_graph, vertex, o, calls, m_masks.of(v)));
    }
    const CallsOfBlocks outputs(calls, output_relation(vertex, calls.relation().parts),
                                vertex.output, vertex, m_masks.of(v));
    m_own_calls.clear();
    for (const int w : m_holdings.own_workers()) {
      if (const Extent call = calls.block(w); call >= 0) m_own_calls.push_back(call);
    }
    std::sort(m_own_calls.begin(), m_own_calls.end());
    m_joined.clear();
    m_walked.assign(m_own_calls.size(), {});
    for (std::size_t i = 0; i < m_own_calls.size(); ++i) {
      const Extent call = m_own_calls[i];
      m_joined.push_back({calls.relation().key(call), {}, outputs.block_of(call)});
      for (const CallsOfBlocks& operand : operands) {
        m_joined[i].operands.push_back(operand.block_of(call));
      }
      m_walked[i].index = i;
      m_walked[i].worker = calls.worker(call);
      m_walked[i].rank = m_holdings.host(m_walked[i].worker);
    }
    find_made_calls(outputs);
    m_sink.begin(v, calls, m_joined);
    m_rounds = 0;
    m_bounder.begin();
    for (std::size_t o = 0; o < operands.size(); ++o) {
      if (vertex.operands[o].is_bounded()) {
        gather_bounded(v, o, calls);
        continue;
      }
      gather_operand(v, o, std::move(operands[o]));
      for (WalkedCall& call : m_walked) call.operands.push_back(m_gathered[call.index]);
    }
    m_counted.clear();
    if (vertex.op.index_tensors == 0) {  // else kernels look them up
      for (const int label : vertex.values) count_label(v, label, calls);
    }
    m_holdings.store(v);
    reduce_results(v, outputs);
    m_sink.end(v);
  }

 private:
  /// Finds the calls that are made of the sink's ranks.
  void find_made_calls(const CallsOfBlocks& outputs) {
    m_made.assign(m_own_calls.size(), 1);
    if (!outputs.is_masked()) return;
    std::vector<Extent> made;
    for (std::size_t i = 0; i < m_own_calls.size(); ++i) {
      if (outputs.counts(m_own_calls[i])) continue;
      outputs.list_made_calls(m_joined[i].output, made);
      m_made[i] = made.front() == m_own_calls[i] ? 1 : 0;
    }
  }
  /// The blocks of a relation that matter to the sink's ranks, in order: those of their calls, and
  /// those of which they store a part.
  [[nodiscard]] std::vector<Extent> blocks_of_interest(const ReadRelation& relation,
                                                       std::vector<Extent> of_calls,
                                                       const HeldTensor& held) const {
    if (!m_sink.wants_all()) {
      for (const Extent n : held.own) {
        relation.for_each_meeting(held.stored.relation().block(n),
                                  [&](Extent number) { of_calls.push_back(number); });
      }
    }
    std::sort(of_calls.begin(), of_calls.end());
    of_calls.erase(std::unique(of_calls.begin(), of_calls.end()), of_calls.end());
    return of_calls;
  }

  /// Gives every call a buffer for what it reads of an operand whose indices are bounded; of a
  /// block of the result -1 if that is nothing.
  void gather_bounded(VertexId v, std::size_t o, const BlockMap& calls) {
    const Operand& operand = m_graph[v].operands[o];
    const auto pieces = to_index(graph::piece_count(operand));
    std::vector<int> buffers(m_walked.size() * pieces, -1);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      gather_operand(v, o,
                     calls_reading(m_graph, m_graph[v], operand, calls, m_masks.of(v),
                                   static_cast<int>(piece)),
                     piece > 0);
      for (std::size_t i = 0; i < m_walked.size(); ++i) buffers[i * pieces + piece] = m_gathered[i];
    }
    const HeldTensor::Use& use = *m_holdings[operand.vertex].uses.back();
    if (!operand.block.empty()) {  // what there is of it goes to the result
      for (WalkedCall& call : m_walked) call.operands.push_back(buffers[call.index]);
      return;
    }
    for (WalkedCall& call : m_walked) {
      if (!m_made[call.index]) {
        call.operands.push_back(-1);
        continue;
      }
      call.operands.push_back(m_bounder.buffer(
          operand.vertex, use.way, use.readers.relation(), m_joined[call.index].operands[o],
          call.rank, std::span(buffers).subspan(call.index * pieces, pieces)));
    }
  }

  /// Finds for every call a buffer that contains the block of an operand it reads; -1 if that is
  /// empty, or the call not made. One whose joins do not count has a buffer that nobody writes.
  /// \param again  whether the statement has read the tensor before
  void gather_operand(VertexId v, std::size_t o, CallsOfBlocks&& readers, bool again = false) {
    const std::vector<Operand>& operands = m_graph[v].operands;
    const VertexId tensor = operands[o].vertex;
    const HeldTensor::Use& use = m_holdings.add_use(v, tensor, std::move(readers));
    // What the statement's other operands assemble of the tensor is copied: it has to be there.
    for (std::size_t other = 0; other < o; ++other) again |= operands[other].vertex == tensor;
    const int round = again ? m_rounds : 0;
    // As many as any group can take, so that all ranks count alike.
    const auto most = static_cast<int>(std::bit_width(use.readers.calls_per_block()));
    m_rounds = std::max(m_rounds, round + most + 1);

    std::vector<Extent> read;
    for (const JoinedBlocks& joined : m_joined) read.push_back(joined.operands[o]);
    for (const Extent block :
         blocks_of_interest(use.readers.relation(), std::move(read), m_holdings[tensor])) {
      m_gatherer.gather(tensor, block, round);
    }
    m_gathered.clear();
    for (const WalkedCall& call : m_walked) {
      const Extent block = m_joined[call.index].operands[o];
      const ReadRelation& relation = use.readers.relation();
      if (!m_made[call.index] || (relation.is_bounded() && relation.block(block).empty())) {
        m_gathered.push_back(-1);
      } else if (use.readers.needs_less() && m_holdings.need_of(use, block, call.rank).empty()) {
        m_gathered.push_back(m_sink.arranged(tensor, relation.block(block), call.rank));
      } else {
        m_gathered.push_back(m_holdings.buffer_with(tensor, block, call.rank));
      }
    }
    if (m_sink.wants_rereads()) {
      const auto reads_again = [&](const WalkedCall& call) {
        return m_made[call.index] &&
               m_holdings.reads_again(tensor, m_joined[call.index].operands[o], call.rank);
      };
      if (std::any_of(m_walked.begin(), m_walked.end(), reads_again)) m_sink.reread(v);
    }
  }

  /// A buffer of a label's values.
  struct Counted {
    Box values;
    int rank = 0;
    int buffer = -1;
  };
  /// Gives every call a buffer of a label's values.
  void count_label(VertexId v, int label, const BlockMap& calls) {
    for (WalkedCall& call : m_walked) {
      if (!m_made[call.index]) {
        call.operands.push_back(-1);
        continue;
      }
      const Box domain = calls.relation().block(m_joined[call.index].key);
      const Box values{{domain.lo[to_index(label)]}, {domain.hi[to_index(label)]}};
      auto known = std::find_if(m_counted.begin(), m_counted.end(), [&](const Counted& c) {
        return c.rank == call.rank && c.values == values;
      });
      if (known == m_counted.end()) {
        const int buffer = m_sink.counted(v, values, call.rank);
        known = m_counted.insert(known, {values, call.rank, buffer});
      }
      call.operands.push_back(known->buffer);
    }
  }

  /// Lets the calls compute the result, and brings it to where it is stored.
  void reduce_results(VertexId v, const CallsOfBlocks& outputs) {
    m_reducer.begin(v, m_own_calls, m_walked);
    std::vector<Extent> computed;
    for (const JoinedBlocks& joined : m_joined) computed.push_back(joined.output);
    for (const Extent block :
         blocks_of_interest(outputs.relation(), std::move(computed), m_holdings[v])) {
      m_reducer.reduce(outputs, block);
    }
  }

  const EinGraph& m_graph;
  const graph::Masks& m_masks;
  const Placement& m_placement;
  WalkSink& m_sink;
  TensorHoldings m_holdings;
  Gatherer m_gatherer;
  Bounder m_bounder;
  Reducer m_reducer;

  // Of the statement at hand.
  std::vector<Extent> m_own_calls;  ///< of the sink's ranks, in order
  std::vector<JoinedBlocks> m_joined;
  std::vector<WalkedCall> m_walked;
  Flags m_made;                 ///< whether masks leave something of a call
  std::vector<int> m_gathered;  ///< of the operand at hand, by call
  std::vector<Counted> m_counted;
  int m_rounds = 0;  ///< of the operands so far
};

}  // namespace eindecomp::relation
