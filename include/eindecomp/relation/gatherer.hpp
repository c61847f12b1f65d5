// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How ranks come by the blocks that their calls read.
#pragma once

#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/calls_of_blocks.hpp"
#include "eindecomp/relation/rank_group.hpp"
#include "eindecomp/relation/relay_rounds.hpp"
#include "eindecomp/relation/tensor_holdings.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/walk_sink.hpp"

namespace eindecomp::relation {

/// Tells a walk's sink what is copied and what moves so that the readers of a block have it.
class Gatherer {
 public:
  Gatherer(TensorHoldings& holdings, WalkSink& sink) : m_holdings(holdings), m_sink(sink) {}

  /// Fills the buffers that the ranks which read a block of the use at hand have for it but not yet
  /// its elements. What lies on a rank is copied. The rest enters the group of readers once, at the
  /// reader that stores it or, if none does, at one to which its owner sends it, and is passed on
  /// in the rounds of RelayRounds.
  void gather(VertexId tensor, Extent block, int first_round) {
    const HeldTensor& held = m_holdings[tensor];
    const CallsOfBlocks& readers = held.uses.back()->readers;
    readers.list_workers(block, m_group.ranks);
    for (int& member : m_group.ranks) member = m_holdings.host(member);
    m_group.sort();
    if (m_group.ranks.empty()) return;  // off a diagonal
    if (readers.needs_less()) {
      gather_needed(tensor, block, first_round);
      return;
    }
    const Box box = readers.relation().inside(readers.relation().block(block));
    if (box.empty()) return;  // all of it is outside of the tensor
    const RelayRounds relay(static_cast<int>(m_group.ranks.size()));
    const Box keys = held.stored.relation().meeting(box);
    const auto member = [&](int at) { return m_group.ranks[static_cast<std::size_t>(at)]; };
    constexpr int unknown = -2;
    m_group.buffers.assign(m_group.ranks.size(), unknown);
    const auto buffer = [&](int at) {
      int& known = m_group.buffers[static_cast<std::size_t>(at)];
      if (known == unknown) known = m_holdings.buffer_with(tensor, block, member(at));
      return known;
    };
    const auto arrive = [&](const StoredPiece& piece, int to, int from_rank, int from, int round) {
      take_from_others(tensor, piece.box, member(to), buffer(to), first_round);
      for (const Box& missing : m_rest) {
        m_sink.moved(tensor, from_rank, from, member(to), buffer(to), missing, first_round + round);
      }
    };
    const auto piece_of = [&](Extent n, Extent index, const Box& both) {
      StoredPiece piece{both, m_holdings.owner_of(held, n), held.stored_buffer(n), 0, false};
      piece.inside = m_group.contains(piece.owner);
      piece.entry = piece.inside ? m_group.place_of(piece.owner)
                                 : static_cast<int>(index * relay.size() / keys.size());
      return piece;
    };
    const auto enter = [&](const StoredPiece& piece) {
      const int entry = member(piece.entry);
      if (piece.inside || (!m_sink.wants(piece.owner) && !m_sink.wants(entry))) return;
      if (m_holdings.is_fresh(tensor, block, entry)) {
        arrive(piece, piece.entry, piece.owner, piece.buffer, 0);
      }
    };

    m_group.list_relevant(m_sink, relay);
    if (m_group.relevant.empty()) {
      // Somebody else's operand: only what the sink's ranks send to it is of interest.
      for_each_own_piece(held, box, keys, [&](Extent n, Extent index, const Box& both) {
        enter(piece_of(n, index, both));
      });
      return;
    }
    m_pieces.clear();
    Extent index = 0;
    repartition_into(held.stored.relation(), box, [&](Extent n, const Box& both) {
      m_pieces.push_back(piece_of(n, index++, both));
    });
    for (const StoredPiece& piece : m_pieces) enter(piece);
    for (const int to : m_group.relevant) {
      const int receiver = member(to);
      if (!m_holdings.is_fresh(tensor, block, receiver)) continue;
      for (const StoredPiece& piece : m_pieces) {
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

 private:
  /// The same where masks let readers need parts of a block, which differ: each gets its own from
  /// the owners.
  void gather_needed(VertexId tensor, Extent block, int round) {
    const HeldTensor& held = m_holdings[tensor];
    const TensorRelation& stored = held.stored.relation();
    for (const int receiver : m_group.ranks) {
      const bool wanted = m_sink.wants(receiver);
      if ((!wanted && held.own.empty()) || !m_holdings.is_fresh(tensor, block, receiver)) continue;
      const HeldTensor::Use& use = *held.uses.back();
      const Box need = use.readers.relation().inside(m_holdings.need_of(use, block, receiver));
      if (need.empty()) continue;
      const int to = m_holdings.buffer_with(tensor, block, receiver);
      const auto arrive = [&](Extent n, const Box& both) {
        const int owner = m_holdings.owner_of(held, n);
        const int from = held.stored_buffer(n);
        if (owner == receiver) {
          if (wanted) m_sink.copied(receiver, from, to, both, round);
          return;
        }
        take_from_others(tensor, both, receiver, to, round);
        for (const Box& missing : m_rest) {
          m_sink.moved(tensor, owner, from, receiver, to, missing, round);
        }
      };
      if (wanted) {
        repartition_into(stored, need, arrive);
      } else {
        for_each_own_piece(held, need, stored.meeting(need),
                           [&](Extent n, Extent, const Box& both) { arrive(n, both); });
      }
    }
  }

  /// Leaves in m_rest what a rank has not assembled before, in other blocks, of a box; the others
  /// it copies from there.
  void take_from_others(VertexId tensor, const Box& box, int rank, int buffer, int round) {
    m_rest.assign(1, box);
    const HeldTensor& held = m_holdings[tensor];
    if (held.uses.size() == 1) return;
    const HeldTensor::History& history = m_holdings.history_of(tensor, rank);
    for (const AssembledBlock& a : history.assembled) {
      if (m_rest.empty() || a.use + 1 == held.uses.size()) continue;  // those arrive with it
      m_next.clear();
      for (const Box& wanted : m_rest) {
        const Box both = intersect(wanted, a.need);
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

  TensorHoldings& m_holdings;
  WalkSink& m_sink;
  RankGroup m_group;  ///< of readers
  // Kept between uses to spare allocations.
  std::vector<Box> m_rest, m_next;
  std::vector<StoredPiece> m_pieces;  ///< of a block
};

}  // namespace eindecomp::relation
