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
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/calls_of_blocks.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/relay_rounds.hpp"
#include "eindecomp/relation/tensor_relation.hpp"

namespace eindecomp::relation {

/// A kernel call as the walk tells it. Buffers are the sink's own numbers.
struct WalkedCall {
  std::size_t index = 0;  ///< in the join that the sink was given
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
///   void begin(statement, calls, join)             the join: of the calls of its ranks
///   int  assembled(tensor, box, rank)              a buffer for a box a call needs
///   void copied(rank, from, to, box, round)        before the messages of that round
///   void moved(tensor, from_rank, from, to_rank, to, box, round)
///   int  partial(statement, box, rank)             a buffer for accumulators
///   void called(statement, call)                   a call of one of its ranks
///   void moved_partial(statement, from_rank, from, to_rank, to, box, round)
///   void aggregated(rank, target, box, parts, round)
///                                                  after the messages of that round; the target
///                                                  is a stored buffer, or the first part itself
///   void end(statement)
/// and may offer
///   void reread(statement)                         a call reads what its rank received before
template <class Sink>
class Walk {
 public:
  Walk(const EinGraph& graph, const Placement& placement, int ranks, Sink& sink)
      : m_graph(graph),
        m_placement(placement),
        m_workers(placement.mesh.workers()),
        m_ranks(ranks),
        m_sink(sink),
        m_held(graph.vertices.size()) {
    for (int w = 0; w < m_workers; ++w) {
      if (m_sink.wants(host(w))) m_own_workers.push_back(w);
    }
  }

  void run() {
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      if (m_graph[v].is_input()) store(v);
    }
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      if (!m_graph[v].is_input()) run_statement(v);
    }
  }

  /// For a sink that wants to hear of some statements only: passes one that it does not, in the
  /// order of the graph. What the others are told is the same, of what is stored for a statement
  /// passed when one first reads it.
  void pass_statement(VertexId v) {
    const Vertex& vertex = m_graph[v];
    const BlockMap calls(m_placement.mesh, vertex.extents, m_placement.calls[to_index(v)]);
    for (const Operand& o : vertex.operands) {
      add_use(v, o.vertex, {calls, operand_relation(m_graph, o, calls.relation().parts), o.labels});
    }
  }
  /// Walks one that it does, in the order of the graph.
  void walk_statement(VertexId v) { run_statement(v); }

 private:
  /// A block of a tensor that a rank put together for its calls.
  struct Assembled {
    std::size_t way = 0;  ///< how it is cut, in Held::ways
    Extent block = 0;
    int buffer = -1;
    std::size_t use = 0;  ///< for which
  };
  /// What one rank put together of a tensor.
  struct History {
    std::size_t uses = 0;              ///< so many are in it
    std::vector<Assembled> assembled;  ///< by way, then by block
  };
  /// An operand of a statement.
  struct Use {
    VertexId statement = -1;
    std::size_t way = 0;
    CallsOfBlocks readers;
  };
  /// Everything that is held of a tensor.
  struct Held {
    bool known = false;  ///< where it is stored, and the sink been told
    BlockMap stored;
    std::vector<Extent> own;                       ///< the blocks stored on the sink's ranks
    std::vector<int> buffers;                      ///< theirs
    std::vector<TensorRelation> ways;              ///< in which readers cut it
    std::vector<std::unique_ptr<const Use>> uses;  ///< so far, that at hand the last
    std::unordered_map<int, History>
        histories;  ///< by rank; of others than the sink's where needed
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

  // --- Stored blocks ---

  void store(VertexId v) {
    Held& held = m_held[to_index(v)];
    held.known = true;
    held.stored = BlockMap(m_placement.mesh, m_graph[v].bound, m_placement.stored[to_index(v)]);
    for (const int w : m_own_workers) {
      if (const Extent n = held.stored.block(w); n >= 0) held.own.push_back(n);
    }
    std::sort(held.own.begin(), held.own.end());
    for (const Extent n : held.own) {
      const int worker = held.stored.worker(n);
      held.buffers.push_back(
          m_sink.stored(v, held.stored.relation().block(n), worker, host(worker)));
    }
  }

  [[nodiscard]] int owner_of(const Held& held, Extent block) const {
    return host(held.stored.worker(block));
  }
  /// The buffer of a stored block; -1 of other ranks'.
  [[nodiscard]] int stored_buffer(const Held& held, Extent block) const {
    const auto at = std::lower_bound(held.own.begin(), held.own.end(), block);
    if (at == held.own.end() || *at != block) return -1;
    return held.buffers[to_index(at - held.own.begin())];
  }
  /// The stored block on that rank which contains a box; -1 if none does.
  [[nodiscard]] Extent stored_with(const Held& held, const Box& box, int rank) const {
    const Extent n = held.stored.relation().containing(box);
    return n >= 0 && owner_of(held, n) == rank ? n : -1;
  }

  // --- Statements ---

  void run_statement(VertexId v) {
    const Vertex& vertex = m_graph[v];
    const BlockMap calls(m_placement.mesh, vertex.extents, m_placement.calls[to_index(v)]);
    std::vector<CallsOfBlocks> operands;
    for (const Operand& o : vertex.operands) {
      operands.emplace_back(calls, operand_relation(m_graph, o, calls.relation().parts), o.labels);
    }
    const CallsOfBlocks outputs(calls, output_relation(vertex, calls.relation().parts),
                                vertex.output);
    m_own_calls.clear();
    for (const int w : m_own_workers) {
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
      m_walked[i].rank = host(m_walked[i].worker);
    }
    m_sink.begin(v, calls, m_joined);
    m_rounds = 0;
    for (std::size_t o = 0; o < operands.size(); ++o) gather_operand(v, o, std::move(operands[o]));
    store(v);
    run_groups(v, outputs);
    m_sink.end(v);
  }

  /// The blocks of a relation that matter to the sink's ranks, in order: those of their calls, and
  /// those of which they store a part.
  [[nodiscard]] std::vector<Extent> blocks_of_interest(const TensorRelation& relation,
                                                       std::vector<Extent> of_calls,
                                                       const Held& held) const {
    if (!m_sink.wants_all()) {
      for (const Extent n : held.own) {
        repartition_into(relation, held.stored.relation().block(n),
                         [&](Extent number, const Box&) { of_calls.push_back(number); });
      }
    }
    std::sort(of_calls.begin(), of_calls.end());
    of_calls.erase(std::unique(of_calls.begin(), of_calls.end()), of_calls.end());
    return of_calls;
  }

  // --- Operands ---

  /// Gives every call a buffer that contains the block of an operand it reads.
  void gather_operand(VertexId v, std::size_t o, CallsOfBlocks&& readers) {
    const std::vector<Operand>& operands = m_graph[v].operands;
    const VertexId tensor = operands[o].vertex;
    Held& held = m_held[to_index(tensor)];
    if (!held.known) store(tensor);
    const Use& use = add_use(v, tensor, std::move(readers));
    // What the statement's other operands assemble of the tensor is copied: it has to be there.
    bool again = false;
    for (std::size_t other = 0; other < o; ++other) again |= operands[other].vertex == tensor;
    const int round = again ? m_rounds : 0;
    // As many as any group can take, so that all ranks count alike.
    const auto most = static_cast<int>(std::bit_width(use.readers.calls_per_block()));
    m_rounds = std::max(m_rounds, round + most + 1);

    std::vector<Extent> read;
    for (const JoinedBlocks& joined : m_joined) read.push_back(joined.operands[o]);
    for (const Extent block : blocks_of_interest(use.readers.relation(), std::move(read), held)) {
      use.readers.list_workers(block, m_members);
      for (int& member : m_members) member = host(member);
      m_members.erase(std::unique(m_members.begin(), m_members.end()), m_members.end());
      if (!m_members.empty()) gather(tensor, block, round);
    }
    for (WalkedCall& call : m_walked) {
      call.operands.push_back(buffer_with(tensor, m_joined[call.index].operands[o], call.rank));
    }
    if constexpr (requires { m_sink.reread(v); }) {
      if (reads_again(v, tensor, o)) m_sink.reread(v);
    }
  }

  /// Whether a call reads what its rank has received for an earlier statement: what it then put
  /// together, less what it stores.
  [[nodiscard]] bool reads_again(VertexId v, VertexId tensor, std::size_t operand) {
    const Held& held = m_held[to_index(tensor)];
    if (held.uses.front()->statement == v) return false;
    const TensorRelation& stored = held.stored.relation();
    return std::any_of(m_walked.begin(), m_walked.end(), [&](const WalkedCall& call) {
      const Box box =
          held.uses.back()->readers.relation().block(m_joined[call.index].operands[operand]);
      const std::vector<Assembled>& assembled = history_of(tensor, call.rank).assembled;
      return std::any_of(assembled.begin(), assembled.end(), [&](const Assembled& a) {
        if (held.uses[a.use]->statement == v) return false;
        const Box both = intersect(box, held.ways[a.way].block(a.block));
        if (both.empty()) return false;
        Extent received = both.size();
        repartition_into(stored, both, [&](Extent n, const Box& part) {
          if (owner_of(held, n) == call.rank) received -= part.size();
        });
        return received > 0;
      });
    });
  }

  const Use& add_use(VertexId v, VertexId tensor, CallsOfBlocks&& readers) {
    Held& held = m_held[to_index(tensor)];
    const std::size_t way = find_way(held, readers.relation());
    held.uses.push_back(std::make_unique<const Use>(Use{v, way, std::move(readers)}));
    return *held.uses.back();
  }

  [[nodiscard]] static std::size_t find_way(Held& held, const TensorRelation& relation) {
    const auto known = std::find(held.ways.begin(), held.ways.end(), relation);
    if (known == held.ways.end()) {
      held.ways.push_back(relation);
      return held.ways.size() - 1;
    }
    return to_index(known - held.ways.begin());
  }

  /// What a rank has assembled of a tensor, for the use at hand and those before it: it follows
  /// from the rank's own calls alone.
  const History& history_of(VertexId tensor, int rank) {
    Held& held = m_held[to_index(tensor)];
    History& history = held.histories[rank];
    const WorkerRange hosted = workers_of(rank, m_workers, m_ranks);
    for (; history.uses < held.uses.size(); ++history.uses) {
      const Use& use = *held.uses[history.uses];
      m_blocks.clear();
      for (int w = hosted.first; w < hosted.last; ++w) {
        const Extent call = use.readers.calls().block(w);
        if (call >= 0) m_blocks.push_back(use.readers.block_of(call));
      }
      std::sort(m_blocks.begin(), m_blocks.end());
      m_blocks.erase(std::unique(m_blocks.begin(), m_blocks.end()), m_blocks.end());
      for (const Extent block : m_blocks) {
        const Box box = use.readers.relation().block(block);
        if (stored_with(held, box, rank) >= 0 || find_assembled(held, history, box) != nullptr) {
          continue;
        }
        const auto after = std::lower_bound(
            history.assembled.begin(), history.assembled.end(), std::pair(use.way, block),
            [](const Assembled& a, const auto& key) { return std::pair(a.way, a.block) < key; });
        history.assembled.insert(
            after, {use.way, block, m_sink.assembled(tensor, box, rank), history.uses});
      }
    }
    return history;
  }
  /// The first assembled block that contains a box; null if none does.
  [[nodiscard]] static const Assembled* find_assembled(const Held& held, const History& history,
                                                       const Box& box) {
    for (const Assembled& a : history.assembled) {
      if (held.ways[a.way].containing(box) == a.block) return &a;
    }
    return nullptr;
  }

  /// Whether a rank assembles a block of the tensor for the use at hand.
  [[nodiscard]] bool is_fresh(VertexId tensor, Extent block, int rank) {
    const Held& held = m_held[to_index(tensor)];
    const Use& use = *held.uses.back();
    if (held.uses.size() == 1 && !m_sink.wants(rank)) {
      return stored_with(held, use.readers.relation().block(block), rank) < 0;
    }
    for (const Assembled& a : history_of(tensor, rank).assembled) {
      if (a.way == use.way && a.block == block) return a.use + 1 == held.uses.size();
    }
    return false;
  }
  /// The buffer on one of the sink's ranks that contains a block of the use at hand; -1 on others.
  [[nodiscard]] int buffer_with(VertexId tensor, Extent block, int rank) {
    if (!m_sink.wants(rank)) return -1;
    const Held& held = m_held[to_index(tensor)];
    const Use& use = *held.uses.back();
    const History& history = history_of(tensor, rank);
    for (const Assembled& a : history.assembled) {
      if (a.way == use.way && a.block == block) return a.buffer;
    }
    const Box box = use.readers.relation().block(block);
    if (const Extent n = stored_with(held, box, rank); n >= 0) return stored_buffer(held, n);
    return find_assembled(held, history, box)->buffer;
  }

  /// Fills the buffers that m_members, the ranks that read a block, have for it but not yet its
  /// elements. What lies on a rank is copied. The rest enters the group of readers once, at the
  /// reader that stores it or, if none does, at one to which its owner sends it, and is passed on
  /// in the rounds of RelayRounds.
  void gather(VertexId tensor, Extent block, int first_round) {
    const Held& held = m_held[to_index(tensor)];
    const Box box = held.uses.back()->readers.relation().block(block);
    const RelayRounds relay(static_cast<int>(m_members.size()));
    const Box keys = held.stored.relation().meeting(box);
    const auto member = [&](int at) { return m_members[static_cast<std::size_t>(at)]; };
    constexpr int unknown = -2;
    m_buffers.assign(m_members.size(), unknown);
    const auto buffer = [&](int at) {
      int& known = m_buffers[static_cast<std::size_t>(at)];
      if (known == unknown) known = buffer_with(tensor, block, member(at));
      return known;
    };
    const auto arrive = [&](const Piece& piece, int to, int from_rank, int from, int round) {
      take_from_others(tensor, piece.box, member(to), buffer(to), first_round);
      for (const Box& missing : m_rest) {
        m_sink.moved(tensor, from_rank, from, member(to), buffer(to), missing, first_round + round);
      }
    };
    const auto piece_of = [&](Extent n, Extent index, const Box& both) {
      Piece piece{both, owner_of(held, n), stored_buffer(held, n), 0, false};
      const auto at = std::lower_bound(m_members.begin(), m_members.end(), piece.owner);
      piece.inside = at != m_members.end() && *at == piece.owner;
      piece.entry = static_cast<int>(piece.inside ? at - m_members.begin()
                                                  : index * relay.size() / keys.size());
      return piece;
    };
    const auto enter = [&](const Piece& piece) {
      const int entry = member(piece.entry);
      if (piece.inside || (!m_sink.wants(piece.owner) && !m_sink.wants(entry))) return;
      if (is_fresh(tensor, block, entry)) {
        arrive(piece, piece.entry, piece.owner, piece.buffer, 0);
      }
    };

    list_relevant(relay);
    if (m_relevant.empty()) {
      // Somebody else's operand: only what the sink's ranks send to it is of interest.
      for_each_own_piece(held, box, keys, [&](Extent n, Extent index, const Box& both) {
        enter(piece_of(n, index, both));
      });
      return;
    }
    m_pieces_in.clear();
    Extent index = 0;
    repartition_into(held.stored.relation(), box, [&](Extent n, const Box& both) {
      m_pieces_in.push_back(piece_of(n, index++, both));
    });
    for (const Piece& piece : m_pieces_in) enter(piece);
    for (const int to : m_relevant) {
      const int receiver = member(to);
      if (!is_fresh(tensor, block, receiver)) continue;
      for (const Piece& piece : m_pieces_in) {
        if (piece.entry == to) {
          if (piece.inside && m_sink.wants(receiver)) {
            m_sink.copied(receiver, piece.buffer, buffer(to), piece.box, first_round);
          }
          continue;
        }
        const RelayRounds::Hop hop = relay.hop(piece.entry, to);
        const int sender = member(hop.from);
        if (!m_sink.wants(receiver) && !m_sink.wants(sender)) continue;
        const int from = sender == piece.owner ? piece.buffer : buffer(hop.from);
        arrive(piece, to, sender, from, hop.round);
      }
    }
  }

  /// Lists in m_relevant the members whose elements come from or go to a rank of the sink's.
  void list_relevant(const RelayRounds& relay) {
    m_relevant.clear();
    for (int to = 0; to < relay.size(); ++to) {
      if (!m_sink.wants(m_members[static_cast<std::size_t>(to)])) continue;
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

  /// Leaves in m_rest what a rank has not assembled before, in other blocks, of a box; the others
  /// it copies from there.
  void take_from_others(VertexId tensor, const Box& box, int rank, int buffer, int round) {
    m_rest.assign(1, box);
    const Held& held = m_held[to_index(tensor)];
    if (held.uses.size() == 1) return;
    const History& history = history_of(tensor, rank);
    for (const Assembled& a : history.assembled) {
      // Other blocks of the same way have nothing in common with this one.
      if (a.way == held.uses.back()->way || m_rest.empty()) continue;
      const Box other = held.ways[a.way].block(a.block);
      m_next.clear();
      for (const Box& wanted : m_rest) {
        const Box both = intersect(wanted, other);
        if (both.empty()) {
          m_next.push_back(wanted);
          continue;
        }
        m_sink.copied(rank, a.buffer, buffer, both, round);
        subtract(wanted, both, m_next);
      }
      m_rest.swap(m_next);
    }
  }

  // --- Results ---

  void run_groups(VertexId v, const CallsOfBlocks& outputs) {
    const Held& held = m_held[to_index(v)];
    list_aggregated_axes(v);
    std::vector<Extent> computed;
    for (const JoinedBlocks& joined : m_joined) computed.push_back(joined.output);
    for (const Extent block : blocks_of_interest(outputs.relation(), std::move(computed), held)) {
      outputs.list_calls(block, m_group);
      if (!m_group.empty()) run_group(v, held, outputs, outputs.relation().block(block));
    }
  }

  /// Lists the axes along which the calls of a group differ, the slowest first.
  void list_aggregated_axes(VertexId v) {
    m_aggregated_axes.clear();
    for (const int label : m_graph[v].aggregated) {
      const std::vector<int>& axes = m_placement.calls[to_index(v)][to_index(label)];
      m_aggregated_axes.insert(m_aggregated_axes.end(), axes.begin(), axes.end());
    }
    std::sort(m_aggregated_axes.begin(), m_aggregated_axes.end());
  }
  /// How the ranks of a group, which are in m_members, reduce what they have.
  [[nodiscard]] RelayRounds relay_of_group() const {
    if (m_ranks < m_workers) return RelayRounds(static_cast<int>(m_members.size()));
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
    return host(worker_at(mesh, at));
  }

  /// The walked call of that number; null of other ranks'.
  [[nodiscard]] WalkedCall* own_call(Extent call) {
    const auto at = std::lower_bound(m_own_calls.begin(), m_own_calls.end(), call);
    if (at == m_own_calls.end() || *at != call) return nullptr;
    return &m_walked[to_index(at - m_own_calls.begin())];
  }

  /// The place in m_members of a rank, or of the next above it.
  [[nodiscard]] int place_of(int rank) const {
    return static_cast<int>(std::lower_bound(m_members.begin(), m_members.end(), rank) -
                            m_members.begin());
  }
  [[nodiscard]] bool is_member(int rank) const {
    return std::binary_search(m_members.begin(), m_members.end(), rank);
  }

  /// The calls in m_group, which compute one block of the result, and what becomes of it.
  void run_group(VertexId v, const Held& held, const CallsOfBlocks& outputs, const Box& box) {
    const auto worker_of = [&](Extent call) { return outputs.calls().worker(call); };
    if (m_group.size() == 1) {
      const Extent n = stored_with(held, box, host(worker_of(m_group.front())));
      if (n >= 0) {
        WalkedCall* const call = own_call(m_group.front());
        if (call == nullptr) return;
        call->output = stored_buffer(held, n);
        call->finish = true;
        m_sink.called(v, *call);
        return;
      }
    }
    m_members.clear();
    for (const Extent call : m_group) m_members.push_back(host(worker_of(call)));
    std::sort(m_members.begin(), m_members.end());
    m_members.erase(std::unique(m_members.begin(), m_members.end()), m_members.end());
    compute_group(v, box);
    reduce_group(v, held, box, worker_of(m_group.front()));
  }

  /// Lets every member of a group put the sum of its own calls into a buffer, in m_buffers.
  void compute_group(VertexId v, const Box& box) {
    constexpr int none = -1;
    m_buffers.assign(m_members.size(), none);
    for (const Extent number : m_group) {
      WalkedCall* const call = own_call(number);
      if (call == nullptr) continue;
      int& buffer = m_buffers[to_index(place_of(call->rank))];
      call->accumulate = buffer != none;
      if (buffer == none) buffer = m_sink.partial(v, box, call->rank);
      call->output = buffer;
      m_sink.called(v, *call);
    }
  }

  /// Brings the members' accumulators of a block together where it is stored: every element at the
  /// member that stores it or, if none does, at one that then sends it to its owner, by the rounds
  /// of a gather in reverse. \param worker  of one of the calls.
  void reduce_group(VertexId v, const Held& held, const Box& box, int worker) {
    const RelayRounds relay = relay_of_group();
    const auto reduce = [&](Extent n, const Box& both) {
      const int owner = owner_of(held, n);
      Piece piece{both, owner, stored_buffer(held, n), 0, is_member(owner)};
      piece.entry = place_of(piece.inside ? owner : rank_beside(worker, held.stored.worker(n)));
      for (const int member : m_relevant) reduce_at(v, piece, relay, member);
      if (!piece.inside) leave_group(v, piece, relay);
    };
    list_relevant(relay);
    if (m_relevant.empty()) {
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
  void reduce_at(VertexId v, const Piece& piece, const RelayRounds& relay, int member) {
    const int rank = m_members[to_index(member)];
    const int own = m_buffers[to_index(member)];
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
      const int sender = m_members[to_index(from)];
      if (!m_sink.wants(rank) && !m_sink.wants(sender)) return;
      const int received = m_sink.partial(v, piece.box, rank);
      m_sink.moved_partial(v, sender, m_buffers[to_index(from)], rank, received, piece.box, round);
      m_parts.push_back(received);
    });
    const bool finish = piece.inside && piece.entry == member;
    if (finish) round = std::max(round, 0);
    if (finish || m_parts.size() > 1) combine(finish);
  }

  /// Sends a reduced piece to its owner outside the group.
  void leave_group(VertexId v, const Piece& piece, const RelayRounds& relay) {
    const int exit = m_members[to_index(piece.entry)];
    if (!m_sink.wants(exit) && !m_sink.wants(piece.owner)) return;
    const int round = relay.rounds() - 1;
    const int received = m_sink.partial(v, piece.box, piece.owner);
    m_sink.moved_partial(v, exit, m_buffers[to_index(piece.entry)], piece.owner, received,
                         piece.box, round);
    m_parts.assign(1, received);
    m_sink.aggregated(piece.owner, piece.buffer, piece.box, m_parts, round);
  }

  const EinGraph& m_graph;
  const Placement& m_placement;
  int m_workers;
  int m_ranks;
  Sink& m_sink;
  std::vector<int> m_own_workers;  ///< of the sink's ranks
  std::vector<Held> m_held;

  // Of the statement at hand.
  std::vector<Extent> m_own_calls;  ///< of the sink's ranks, in order
  std::vector<JoinedBlocks> m_joined;
  std::vector<WalkedCall> m_walked;
  int m_rounds = 0;  ///< of the operands so far

  // Kept between uses to spare allocations.
  std::vector<Box> m_rest, m_next;
  std::vector<Extent> m_blocks;
  std::vector<int> m_members;      ///< ranks that read or compute a block, in order
  std::vector<int> m_buffers;      ///< theirs, as far as known
  std::vector<int> m_relevant;     ///< members, by position
  std::vector<Piece> m_pieces_in;  ///< of a block
  std::vector<Extent> m_group;     ///< calls
  std::vector<int> m_aggregated_axes;
  std::vector<int> m_parts;
};

}  // namespace eindecomp::relation
