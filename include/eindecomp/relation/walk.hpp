// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// One walk through a placed program, which tells a sink every block stored, moved, computed and
/// aggregated, in one order. The task graph and the ranks' programs are such sinks: what is
/// predicted and what is done cannot differ.
#pragma once

#include <algorithm>
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
#include "eindecomp/relation/relay_rounds.hpp"
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
///   void copied(rank, from, to, box, round)        before the messages of that round
///   void moved(tensor, from_rank, from, to_rank, to, box, round)
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
  /// A call, and the rank that makes it.
  struct Reader {
    int rank = 0;
    std::size_t call = 0;
  };
  /// A rank that reads a block, and the buffer there that contains it, or is to.
  struct Member {
    int rank = 0;
    int buffer = -1;
    bool fresh = false;  ///< whether nothing has been put into the buffer
  };
  /// What one rank stores of a block.
  struct Piece {
    Box box;
    int owner = 0;        ///< rank
    int buffer = 0;       ///< of the owner
    int entry = 0;        ///< the member at which it enters the group of readers
    bool inside = false;  ///< whether that is the owner
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
    for (WalkedCall& call : walked) call.operands.resize(vertex.operands.size());
    m_rounds = 0;
    for (std::size_t o = 0; o < vertex.operands.size(); ++o) {
      gather_operand(v, o, calls, joined, walked);
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

  /// Gives every call a buffer that contains the block of an operand it reads.
  void gather_operand(VertexId v, std::size_t o, const BlockMap& calls,
                      const std::vector<JoinedBlocks>& joined, std::vector<WalkedCall>& walked) {
    const std::vector<Operand>& operands = m_graph[v].operands;
    const VertexId tensor = operands[o].vertex;
    const std::size_t way =
        find_assembled(tensor, operand_relation(m_graph, operands[o], calls.relation().parts));
    // What the statement's other operands assemble of the tensor is copied: it has to be there.
    bool again = false;
    for (std::size_t other = 0; other < o; ++other) again |= operands[other].vertex == tensor;
    const int round = again ? m_rounds : 0;

    // Who reads each block, in the order of ranks.
    const Held& held = m_held[static_cast<std::size_t>(tensor)];
    m_readers.resize(static_cast<std::size_t>(held.assembled[way].relation.blocks()));
    for (std::vector<Reader>& readers : m_readers) readers.clear();
    for (int w = 0; w < m_workers; ++w) {
      const Extent call = calls.block(w);
      if (call < 0) continue;
      const auto i = static_cast<std::size_t>(call);
      m_readers[static_cast<std::size_t>(joined[i].operands[o])].push_back({host(w), i});
    }
    for (std::size_t block = 0; block < m_readers.size(); ++block) {
      const std::vector<Reader>& readers = m_readers[block];
      m_members.clear();
      for (const Reader& reader : readers) {
        if (m_members.empty() || m_members.back().rank != reader.rank) {
          m_members.push_back(member(tensor, way, static_cast<Extent>(block), reader.rank));
        }
        walked[reader.call].operands[o] = m_members.back().buffer;
      }
      m_rounds = std::max(m_rounds, round + gather(tensor, way, static_cast<Extent>(block), round));
    }
  }

  /// A rank that reads a block, and the buffer that contains it there.
  Member member(VertexId tensor, std::size_t way, Extent block, int rank) {
    Held& held = m_held[static_cast<std::size_t>(tensor)];
    const auto found = held.assembled[way].buffers.find(slot(block, rank));
    if (found != held.assembled[way].buffers.end()) return {rank, found->second, false};
    const Box box = held.assembled[way].relation.block(block);
    if (const Extent n = held.stored.relation().containing(box);
        n >= 0 && host(held.stored.worker(n)) == rank) {
      return {rank, held.buffers[static_cast<std::size_t>(n)], false};
    }
    for (const Assembled& other : held.assembled) {
      if (other.buffers.empty()) continue;
      const Extent n = other.relation.containing(box);
      if (n < 0) continue;
      const auto other_found = other.buffers.find(slot(n, rank));
      if (other_found == other.buffers.end()) continue;
      return {rank, other_found->second, false};
    }
    const int buffer = m_sink.assembled(tensor, box, rank);
    held.assembled[way].buffers.emplace(slot(block, rank), buffer);
    return {rank, buffer, true};
  }

  /// Fills the buffers that m_members have for a block but not yet its elements. What lies on a
  /// rank is copied. The rest enters the group of readers once, at the reader that stores it or, if
  /// none does, at one to which its owner sends it, and is passed on in the rounds of RelayRounds.
  /// \returns the rounds it took.
  int gather(VertexId tensor, std::size_t way, Extent block, int first_round) {
    if (std::none_of(m_members.begin(), m_members.end(), [](const Member& m) { return m.fresh; })) {
      return 0;
    }
    const Held& held = m_held[static_cast<std::size_t>(tensor)];
    const TensorRelation& relation = held.stored.relation();
    const Box box = held.assembled[way].relation.block(block);
    const RelayRounds relay(static_cast<int>(m_members.size()));
    const Box keys = relation.meeting(box);
    const auto arrive = [&](const Piece& piece, int to, int from_rank, int from, int round) {
      const Member& receiver = m_members[static_cast<std::size_t>(to)];
      m_rest.assign(1, piece.box);
      for (std::size_t i = 0; i < held.assembled.size() && !m_rest.empty(); ++i) {
        // Other blocks of the same way have nothing in common with this one.
        if (i != way && !held.assembled[i].buffers.empty()) {
          take_from(held.assembled[i], receiver.rank, receiver.buffer, first_round);
        }
      }
      for (const Box& missing : m_rest) {
        m_sink.moved(tensor, from_rank, from, receiver.rank, receiver.buffer, missing,
                     first_round + round);
      }
    };
    const auto piece_of = [&](Extent n, Extent index, const Box& both) {
      Piece piece{both, host(held.stored.worker(n)), held.buffers[static_cast<std::size_t>(n)], 0,
                  false};
      const auto at = std::lower_bound(m_members.begin(), m_members.end(), piece.owner,
                                       [](const Member& m, int rank) { return m.rank < rank; });
      piece.inside = at != m_members.end() && at->rank == piece.owner;
      piece.entry = static_cast<int>(piece.inside ? at - m_members.begin()
                                                  : index * relay.size() / keys.size());
      return piece;
    };
    const auto enter = [&](const Piece& piece) {
      if (piece.inside || !m_members[static_cast<std::size_t>(piece.entry)].fresh) return;
      arrive(piece, piece.entry, piece.owner, piece.buffer, 0);
    };

    list_relevant(relay);
    if (m_relevant.empty()) {
      // Somebody else's operand: only what the sink's ranks send to it is of interest.
      for_each_own_piece(held, box, keys, [&](Extent n, Extent index, const Box& both) {
        enter(piece_of(n, index, both));
      });
      return relay.rounds();
    }
    m_pieces_in.clear();
    Extent index = 0;
    repartition_into(relation, box, [&](Extent n, const Box& both) {
      m_pieces_in.push_back(piece_of(n, index++, both));
    });
    for (const Piece& piece : m_pieces_in) {
      const Member& entry = m_members[static_cast<std::size_t>(piece.entry)];
      if (m_sink.wants(piece.owner) || m_sink.wants(entry.rank)) enter(piece);
    }
    for (const int to : m_relevant) {
      const Member& receiver = m_members[static_cast<std::size_t>(to)];
      if (!receiver.fresh) continue;
      for (const Piece& piece : m_pieces_in) {
        if (piece.entry == to) {
          if (piece.inside) {
            m_sink.copied(receiver.rank, piece.buffer, receiver.buffer, piece.box, first_round);
          }
          continue;
        }
        const RelayRounds::Hop hop = relay.hop(piece.entry, to);
        const Member& sender = m_members[static_cast<std::size_t>(hop.from)];
        if (!m_sink.wants(receiver.rank) && !m_sink.wants(sender.rank)) continue;
        arrive(piece, to, sender.rank, sender.rank == piece.owner ? piece.buffer : sender.buffer,
               hop.round);
      }
    }
    return relay.rounds();
  }

  /// Lists in m_relevant the members whose elements come from or go to a rank of the sink's.
  void list_relevant(const RelayRounds& relay) {
    m_relevant.clear();
    for (int to = 0; to < relay.size(); ++to) {
      if (!m_sink.wants(m_members[static_cast<std::size_t>(to)].rank)) continue;
      m_relevant.push_back(to);
      if (m_sink.wants_all()) continue;
      relay.for_each_peer(to, [&](int peer) { m_relevant.push_back(peer); });
    }
    if (m_sink.wants_all()) return;
    std::sort(m_relevant.begin(), m_relevant.end());
    m_relevant.erase(std::unique(m_relevant.begin(), m_relevant.end()), m_relevant.end());
  }

  /// Visits what the sink's ranks store of a box: visit(block, its place among those that meet the
  /// box, indices in both). \param keys of the blocks that meet the box.
  template <class Visit>
  void for_each_own_piece(const Held& held, const Box& box, const Box& keys, const Visit& visit) {
    const TensorRelation& relation = held.stored.relation();
    if (m_sink.wants_all() || static_cast<Extent>(held.own.size()) > keys.size()) {
      Extent index = 0;
      repartition_into(relation, box, [&](Extent n, const Box& both) {
        if (m_sink.wants(host(held.stored.worker(n)))) visit(n, index, both);
        ++index;
      });
      return;
    }
    for (const Extent n : held.own) {
      const Box both = intersect(box, relation.block(n));
      if (both.empty()) continue;
      const BlockKey key = relation.key(n);
      Extent index = 0;
      for (std::size_t k = 0; k < key.size(); ++k) {
        index = index * (keys.hi[k] - keys.lo[k]) + (key[k] - keys.lo[k]);
      }
      visit(n, index, both);
    }
  }

  /// Copies what the rank has assembled before of the boxes in m_rest, and leaves what it has not.
  void take_from(const Assembled& other, int rank, int buffer, int round) {
    m_next.clear();
    for (const Box& wanted : m_rest) {
      m_uncovered.assign(1, wanted);
      repartition_into(other.relation, wanted, [&](Extent n, const Box& both) {
        const auto found = other.buffers.find(slot(n, rank));
        if (found == other.buffers.end()) return;
        m_sink.copied(rank, found->second, buffer, both, round);
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
  std::vector<std::vector<Reader>> m_readers;  ///< of an operand, by block, in the order of ranks
  std::vector<Member> m_members;               ///< of a block, in the order of ranks
  std::vector<int> m_relevant;                 ///< members, by position
  std::vector<Piece> m_pieces_in;              ///< of a block
  int m_rounds = 0;                            ///< of the statement's operands so far
  std::vector<std::pair<int, int>> m_contributors;  ///< rank and buffer of accumulators
  std::vector<int> m_parts;
};

}  // namespace eindecomp::relation
