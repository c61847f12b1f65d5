// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How what several calls compute of a block becomes a stored block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/calls_of_blocks.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/rank_group.hpp"
#include "eindecomp/relation/relay_rounds.hpp"
#include "eindecomp/relation/tensor_holdings.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/walk_sink.hpp"

namespace eindecomp::relation {

/// Tells a walk's sink of the calls of one statement, and of what becomes of what they compute.
class Reducer {
 public:
  Reducer(const EinGraph& graph, const Placement& placement, TensorHoldings& holdings,
          WalkSink& sink)
      : m_graph(graph), m_placement(placement), m_holdings(holdings), m_sink(sink) {}

  /// Begins with a statement. \param calls  of the sink's ranks, in order, and as they are walked.
  void begin(VertexId v, const std::vector<Extent>& calls, std::vector<WalkedCall>& walked) {
    m_statement = v;
    m_own_calls = &calls;
    m_walked = &walked;
    list_aggregated_axes();
  }

  /// Computes a block of the result, by the calls that outputs lists for it, and brings it to where
  /// it is stored.
  void reduce(const CallsOfBlocks& outputs, Extent block) {
    outputs.list_made_calls(block, m_calls);
    if (m_calls.empty()) return;  // off a diagonal
    m_masked = outputs.is_masked();
    const HeldTensor& held = m_holdings[m_statement];
    const Box box = outputs.relation().block(block);
    const auto host_of = [&](Extent call) { return m_holdings.host(outputs.calls().worker(call)); };
    if (m_calls.size() == 1) {
      const Extent n = m_holdings.stored_with(held, box, host_of(m_calls.front()));
      if (n >= 0) {
        WalkedCall* const call = own_call(m_calls.front());
        if (call == nullptr) return;
        call->output = held.stored_buffer(n);
        call->finish = true;
        m_sink.called(m_statement, *call);
        return;
      }
    }
    m_group.ranks.clear();
    for (const Extent call : m_calls) m_group.ranks.push_back(host_of(call));
    m_group.sort();
    compute(box);
    bring_together(held, box, outputs.calls().worker(m_calls.front()));
  }

 private:
  /// Lists the axes along which the calls of a group differ, the slowest first.
  void list_aggregated_axes() {
    m_aggregated_axes.clear();
    for (const int label : m_graph[m_statement].aggregated) {
      const std::vector<int>& axes = m_placement.calls[to_index(m_statement)][to_index(label)];
      m_aggregated_axes.insert(m_aggregated_axes.end(), axes.begin(), axes.end());
    }
    std::sort(m_aggregated_axes.begin(), m_aggregated_axes.end());
  }
  /// How the ranks of the group reduce what they have.
  [[nodiscard]] RelayRounds relay_of_group() const {
    if (m_holdings.shared() || m_masked) {
      return RelayRounds(static_cast<int>(m_group.ranks.size()));
    }
    std::vector<int> lengths;
    for (const int axis : m_aggregated_axes) {
      lengths.push_back(m_placement.mesh.axes[to_index(axis)]);
    }
    return RelayRounds(lengths);
  }
  /// The rank in a group with a call on `worker` that is nearest to another worker: where results
  /// leave the group that are stored there.
  [[nodiscard]] int rank_beside(int worker, int other) const {
    const Mesh& mesh = m_placement.mesh;
    std::vector<int> at = coordinates(mesh, worker);
    const std::vector<int> there = coordinates(mesh, other);
    for (const int axis : m_aggregated_axes) at[to_index(axis)] = there[to_index(axis)];
    return m_holdings.host(worker_at(mesh, at));
  }

  /// That rank, or the next of the group if it has left no call.
  [[nodiscard]] int member_beside(int worker, int other) const {
    const int rank = rank_beside(worker, other);
    return m_group.ranks[to_index(m_group.place_of(rank)) % m_group.ranks.size()];
  }

  /// The walked call of that number; null of other ranks'.
  [[nodiscard]] WalkedCall* own_call(Extent call) {
    const auto at = std::lower_bound(m_own_calls->begin(), m_own_calls->end(), call);
    if (at == m_own_calls->end() || *at != call) return nullptr;
    return &(*m_walked)[to_index(at - m_own_calls->begin())];
  }

  /// Lets every member of the group put the sum of its own calls into a buffer.
  void compute(const Box& box) {
    constexpr int none = -1;
    m_group.buffers.assign(m_group.ranks.size(), none);
    for (const Extent number : m_calls) {
      WalkedCall* const call = own_call(number);
      if (call == nullptr) continue;
      int& buffer = m_group.buffers[to_index(m_group.place_of(call->rank))];
      call->accumulate = buffer != none;
      if (buffer == none) buffer = m_sink.partial(m_statement, box, call->rank);
      call->output = buffer;
      m_sink.called(m_statement, *call);
    }
  }

  /// Brings the members' accumulators of a block together where it is stored: every element at the
  /// member that stores it or, if none does, at one that then sends it to its owner, by the rounds
  /// of a gather in reverse. \param worker  of one of the calls.
  void bring_together(const HeldTensor& held, const Box& box, int worker) {
    const RelayRounds relay = relay_of_group();
    const auto reduce = [&](Extent n, const Box& both) {
      const int owner = m_holdings.owner_of(held, n);
      StoredPiece piece{both, owner, held.stored_buffer(n), 0, m_group.contains(owner)};
      const int exit = piece.inside ? owner : member_beside(worker, held.stored.worker(n));
      piece.entry = m_group.place_of(exit);
      for (const int member : m_group.relevant) reduce_at(piece, relay, member);
      if (!piece.inside) leave_group(piece, relay);
    };
    m_group.list_relevant(m_sink, relay);
    if (m_group.relevant.empty()) {
      // Somebody else's result: only what the sink's ranks get of it is of interest.
      for (const Extent n : held.own) {
        const Box both = intersect(box, held.stored.relation().block(n));
        if (!both.empty()) reduce(n, both);
      }
      return;
    }
    repartition_into(held.stored.relation(), box, reduce);
  }

  /// Lets one member combine what others send it of a piece of the block.
  void reduce_at(const StoredPiece& piece, const RelayRounds& relay, int member) {
    const int rank = m_group.ranks[to_index(member)];
    const int own = m_group.buffers[to_index(member)];
    const int last = relay.rounds() - 1;
    int round = -1;  // of the parts collected
    m_parts.assign(1, own);
    const auto combine = [&](bool finish) {
      if (m_sink.wants(rank)) {
        m_sink.aggregated(rank, finish ? piece.buffer : own, piece.box, m_parts, round);
      }
      m_parts.assign(1, own);
    };
    relay.for_each_sender(piece.entry, member, [&](int from, int forward) {
      if (last - forward != round) {
        if (m_parts.size() > 1) combine(false);
        round = last - forward;
      }
      const int sender = m_group.ranks[to_index(from)];
      if (!m_sink.wants(rank) && !m_sink.wants(sender)) return;
      const int received = m_sink.partial(m_statement, piece.box, rank);
      m_sink.moved_partial(m_statement, sender, m_group.buffers[to_index(from)], rank, received,
                           piece.box, round);
      m_parts.push_back(received);
    });
    const bool finish = piece.inside && piece.entry == member;
    if (finish) round = std::max(round, 0);
    if (finish || m_parts.size() > 1) combine(finish);
  }

  /// Sends a reduced piece to its owner outside the group.
  void leave_group(const StoredPiece& piece, const RelayRounds& relay) {
    const int exit = m_group.ranks[to_index(piece.entry)];
    if (!m_sink.wants(exit) && !m_sink.wants(piece.owner)) return;
    const int round = relay.rounds() - 1;
    const int received = m_sink.partial(m_statement, piece.box, piece.owner);
    m_sink.moved_partial(m_statement, exit, m_group.buffers[to_index(piece.entry)], piece.owner,
                         received, piece.box, round);
    m_parts.assign(1, received);
    m_sink.aggregated(piece.owner, piece.buffer, piece.box, m_parts, round);
  }

  const EinGraph& m_graph;
  const Placement& m_placement;
  TensorHoldings& m_holdings;
  WalkSink& m_sink;

  // Of the statement at hand.
  VertexId m_statement = -1;
  const std::vector<Extent>* m_own_calls = nullptr;
  std::vector<WalkedCall>* m_walked = nullptr;
  std::vector<int> m_aggregated_axes;

  // Of the block at hand; kept between blocks to spare allocations.
  std::vector<Extent> m_calls;
  bool m_masked = false;  ///< whether some of its calls may be left out
  RankGroup m_group;      ///< of those that make them
  std::vector<int> m_parts;
};

}  // namespace eindecomp::relation
