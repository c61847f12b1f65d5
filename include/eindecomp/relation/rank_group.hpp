// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Ranks that read, or compute, one block of a tensor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/relay_rounds.hpp"
#include "eindecomp/relation/tensor_holdings.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/walk_sink.hpp"

namespace eindecomp::relation {

/// What one rank stores of a block.
struct StoredPiece {
  Box box;
  int owner = 0;        ///< rank
  int buffer = 0;       ///< of the owner
  int entry = 0;        ///< the member at which it enters a group of ranks, or leaves it
  bool inside = false;  ///< whether that is the owner
};

/// The ranks that read or compute a block, whose members pass its elements on to each other. Its
/// lists keep their memory from block to block.
struct RankGroup {
  std::vector<int> ranks;     ///< in order
  std::vector<int> buffers;   ///< theirs, as far as known
  std::vector<int> relevant;  ///< members, by position

  /// Puts the ranks in order, each once.
  void sort() {
    if (!std::is_sorted(ranks.begin(), ranks.end())) std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  }
  /// The place of a rank, or of the next above it.
  [[nodiscard]] int place_of(int rank) const {
    return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }
  [[nodiscard]] bool contains(int rank) const {
    return std::binary_search(ranks.begin(), ranks.end(), rank);
  }

  /// Lists in `relevant` the members whose elements come from or go to a rank of the sink's.
  void list_relevant(const WalkSink& sink, const RelayRounds& relay) {
    relevant.clear();
    for (int to = 0; to < relay.size(); ++to) {
      if (!sink.wants(ranks[to_index(to)])) continue;
      relevant.push_back(to);
      if (sink.wants_all()) continue;
      relay.for_each_peer(to, [&](int peer) { relevant.push_back(peer); });
    }
    if (sink.wants_all()) return;
    std::sort(relevant.begin(), relevant.end());
    relevant.erase(std::unique(relevant.begin(), relevant.end()), relevant.end());
  }
};

/// Visits what the sink's ranks store of a box: visit(block, its place among those that meet the
/// box, indices in both). \param keys  of the blocks that meet the box.
template <class Visit>
void for_each_own_piece(const HeldTensor& held, const Box& box, const Box& keys,
                        const Visit& visit) {
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

}  // namespace eindecomp::relation
