// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// One walk through a placed program, which tells a sink every block stored, moved, computed and
/// aggregated, in one order. The task graph and the ranks' programs are such sinks: what is
/// predicted and what is done cannot differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/tensor_relation.hpp"

namespace eindecomp::relation {

/// A kernel call as the walk tells it. Buffers are the sink's own numbers.
struct WalkedCall {
  std::size_t index = 0;  ///< in the statement's join
  int worker = 0;
  int rank = 0;
  std::vector<int> operands;
  int output = -1;
  bool accumulate = false;
  bool finish = false;
};

/// A Sink offers (buffer numbers mean something to the sink only; -1 where it does not care):
///   bool wants_all()                               whether it wants to hear of every rank
///   bool wants(rank)
///   int  stored(tensor, box, worker, rank)         a block stored for good: its buffer
///   void begin(statement, calls, join)
///   int  assembled(tensor, box, rank)              a buffer for a box a call needs
///   void copied(rank, from, to, box)
///   void moved(tensor, from_rank, from, to_rank, to, box)
///   int  partial(statement, box, rank)             a buffer for accumulators
///   void called(statement, call)
///   void moved_partial(statement, from_rank, from, to_rank, to, box)
///   void aggregated(statement, rank, target, box, parts)
///   void end(statement)
template <class Sink>
class Walk {
 public:
  Walk(const EinGraph& graph, const Placement& placement, int ranks, Sink& sink)
      : m_graph(graph),
        m_placement(placement),
        m_workers(placement.mesh.workers()),
        m_ranks(ranks),
        m_sink(sink),
        m_held(graph.vertices.size()) {}

  void run() {
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      if (m_graph[v].is_input()) store(v);
    }
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      if (!m_graph[v].is_input()) run_statement(v);
    }
  }

 private:
  /// The blocks of a tensor that ranks assembled for their calls under one way of cutting it.
  struct Assembled {
    TensorRelation relation;
    std::unordered_map<std::uint64_t, int> buffers;  ///< by block and rank
  };
  /// Everything that is held of a tensor.
  struct Held {
    BlockMap stored;
    std::vector<int> buffers;  ///< of the stored blocks
    std::vector<Extent> own;   ///< the blocks stored on the sink's ranks, unless it wants all
    std::vector<Assembled> assembled;
  };

  [[nodiscard]] int host(int worker) const { return rank_of(worker, m_workers, m_ranks); }

  [[nodiscard]] std::uint64_t slot(Extent block, int rank) const {
    return static_cast<std::uint64_t>(block) * static_cast<std::uint64_t>(m_ranks) +
           static_cast<std::uint64_t>(rank);
  }

  void store(VertexId v) {
    Held& held = m_held[static_cast<std::size_t>(v)];
    held.stored = BlockMap(m_placement.mesh, m_graph[v].bound,
                           m_placement.stored[static_cast<std::size_t>(v)]);
    const TensorRelation& relation = held.stored.relation();
    for (Extent n = 0; n < relation.blocks(); ++n) {
      const int worker = held.stored.worker(n);
      held.buffers.push_back(m_sink.stored(v, relation.block(n), worker, host(worker)));
      if (!m_sink.wants_all() && m_sink.wants(host(worker))) held.own.push_back(n);
    }
  }

  void run_statement(VertexId v) {
    const Vertex& vertex = m_graph[v];
    const BlockMap calls(m_placement.mesh, vertex.extents,
                         m_placement.calls[static_cast<std::size_t>(v)]);
    const PartitionVector& d = calls.relation().parts;
    const std::vector<JoinedBlocks> joined = join_blocks(m_graph, v, d);
    m_sink.begin(v, calls, joined);

    std::vector<WalkedCall> walked(joined.size());
    for (std::size_t i = 0; i < joined.size(); ++i) {
      walked[i].index = i;
      walked[i].worker = calls.worker(static_cast<Extent>(i));
      walked[i].rank = host(walked[i].worker);
    }
    for (std::size_t o = 0; o < vertex.operands.size(); ++o) {
      const VertexId tensor = vertex.operands[o].vertex;
      const std::size_t way =
          find_assembled(tensor, operand_relation(m_graph, vertex.operands[o], d));
      for (WalkedCall& call : walked) {
        call.operands.push_back(provide(tensor, way, joined[call.index].operands[o], call.rank));
      }
    }
    store(v);
    const TensorRelation output = output_relation(vertex, d);
    for (const AggregationGroup& group : aggregate_blocks(joined)) {
      run_group(v, output.block(group.output), group, walked);
    }
    m_sink.end(v);
  }

  // --- Operands ---

  std::size_t find_assembled(VertexId tensor, TensorRelation relation) {
    std::vector<Assembled>& ways = m_held[static_cast<std::size_t>(tensor)].assembled;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (ways[i].relation == relation) return i;
    }
    ways.push_back({std::move(relation), {}});
    return ways.size() - 1;
  }

  /// A buffer on that rank which contains the block a call reads.
  int provide(VertexId tensor, std::size_t way, Extent block, int rank) {
    Held& held = m_held[static_cast<std::size_t>(tensor)];
    const auto found = held.assembled[way].buffers.find(slot(block, rank));
    if (found != held.assembled[way].buffers.end()) return found->second;
    const Box box = held.assembled[way].relation.block(block);
    if (const Extent n = held.stored.relation().containing(box);
        n >= 0 && host(held.stored.worker(n)) == rank) {
      return held.buffers[static_cast<std::size_t>(n)];
    }
    for (const Assembled& other : held.assembled) {
      if (other.buffers.empty()) continue;
      const Extent n = other.relation.containing(box);
      if (n < 0) continue;
      const auto other_found = other.buffers.find(slot(n, rank));
      if (other_found == other.buffers.end()) continue;
      return other_found->second;
    }
    const int buffer = m_sink.assembled(tensor, box, rank);
    assemble(tensor, held, way, box, rank, buffer);
    held.assembled[way].buffers.emplace(slot(block, rank), buffer);
    return buffer;
  }

  /// Fills a buffer with a box: what lies on the rank is copied, the rest comes from the ranks that
  /// store it.
  void assemble(VertexId tensor, const Held& held, std::size_t way, const Box& box, int rank,
                int buffer) {
    const auto piece = [&](Extent n, const Box& both) {
      const int owner = host(held.stored.worker(n));
      const int from = held.buffers[static_cast<std::size_t>(n)];
      if (owner == rank) {
        m_sink.copied(rank, from, buffer, both);
        return;
      }
      m_rest.assign(1, both);
      for (std::size_t i = 0; i < held.assembled.size() && !m_rest.empty(); ++i) {
        // Other blocks of the same way have nothing in common with this one.
        if (i != way && !held.assembled[i].buffers.empty()) {
          take_from(held.assembled[i], rank, buffer);
        }
      }
      for (const Box& missing : m_rest) {
        m_sink.moved(tensor, owner, from, rank, buffer, missing);
      }
    };
    const TensorRelation& relation = held.stored.relation();
    if (m_sink.wants(rank)) {
      repartition_into(relation, box, piece);
      return;
    }
    // Somebody else's operand: only what the sink's ranks send to it is of interest.
    if (static_cast<Extent>(held.own.size()) > relation.meeting(box).size()) {
      repartition_into(relation, box, [&](Extent n, const Box& both) {
        if (m_sink.wants(host(held.stored.worker(n)))) piece(n, both);
      });
      return;
    }
    for (Extent n : held.own) {
      const Box both = intersect(box, relation.block(n));
      if (!both.empty()) piece(n, both);
    }
  }

  /// Copies what the rank has assembled before of the boxes in m_rest, and leaves what it has not.
  void take_from(const Assembled& other, int rank, int buffer) {
    m_next.clear();
    for (const Box& wanted : m_rest) {
      m_uncovered.assign(1, wanted);
      repartition_into(other.relation, wanted, [&](Extent n, const Box& both) {
        const auto found = other.buffers.find(slot(n, rank));
        if (found == other.buffers.end()) return;
        m_sink.copied(rank, found->second, buffer, both);
        m_pieces.clear();
        for (const Box& b : m_uncovered) subtract(b, both, m_pieces);
        m_uncovered.swap(m_pieces);
      });
      m_next.insert(m_next.end(), m_uncovered.begin(), m_uncovered.end());
    }
    m_rest.swap(m_next);
  }

  // --- Results ---

  /// The calls that compute one block of the result, and what becomes of it.
  void run_group(VertexId v, const Box& box, const AggregationGroup& group,
                 std::vector<WalkedCall>& walked) {
    const Held& held = m_held[static_cast<std::size_t>(v)];
    const TensorRelation& stored = held.stored.relation();
    if (group.calls.size() == 1) {
      WalkedCall& call = walked[group.calls.front()];
      const Extent n = stored.containing(box);
      if (n >= 0 && host(held.stored.worker(n)) == call.rank) {
        call.output = held.buffers[static_cast<std::size_t>(n)];
        call.finish = true;
        m_sink.called(v, call);
        return;
      }
    }
    // Ranks in the order of their first calls' keys: the order in which results are combined.
    m_contributors.clear();
    for (std::size_t i : group.calls) {
      WalkedCall& call = walked[i];
      std::size_t c = 0;
      while (c < m_contributors.size() && m_contributors[c].first != call.rank) ++c;
      if (c == m_contributors.size()) {
        m_contributors.emplace_back(call.rank, m_sink.partial(v, box, call.rank));
      } else {
        call.accumulate = true;
      }
      call.output = m_contributors[c].second;
      m_sink.called(v, call);
    }
    repartition_into(stored, box, [&](Extent n, const Box& both) {
      const int owner = host(held.stored.worker(n));
      m_parts.clear();
      for (const auto& [rank, buffer] : m_contributors) {
        if (rank == owner) {
          m_parts.push_back(buffer);
          continue;
        }
        if (!m_sink.wants(rank) && !m_sink.wants(owner)) continue;
        const int received = m_sink.partial(v, both, owner);
        m_sink.moved_partial(v, rank, buffer, owner, received, both);
        m_parts.push_back(received);
      }
      m_sink.aggregated(v, owner, held.buffers[static_cast<std::size_t>(n)], both, m_parts);
    });
  }

  const EinGraph& m_graph;
  const Placement& m_placement;
  int m_workers;
  int m_ranks;
  Sink& m_sink;
  std::vector<Held> m_held;

  // Kept between uses to spare allocations.
  std::vector<Box> m_rest, m_next, m_uncovered, m_pieces;
  std::vector<std::pair<int, int>> m_contributors;  ///< rank and buffer of accumulators
  std::vector<int> m_parts;
};

}  // namespace eindecomp::relation
