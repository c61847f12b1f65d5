// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What ranks hold of each tensor while a walk goes on: the blocks that are stored for good, and
/// those that were put together for calls.
#pragma once

#include <algorithm>
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
#include "eindecomp/relation/read_relation.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/walk_sink.hpp"

namespace eindecomp::relation {

/// A block of a tensor that a rank put together for its calls.
struct AssembledBlock {
  std::size_t way = 0;  ///< how it is cut, in HeldTensor::ways
  Extent block = 0;
  int buffer = -1;
  std::size_t use = 0;  ///< for which
  Box need;             ///< what was put there: all of the block, or what masked calls need of it
};

/// Everything that is held of a tensor.
struct HeldTensor {
  /// What one rank put together of it.
  struct History {
    std::size_t uses = 0;                   ///< so many are in it
    std::vector<AssembledBlock> assembled;  ///< by way, then by block
  };
  /// An operand of a statement.
  struct Use {
    VertexId statement = -1;
    std::size_t way = 0;
    CallsOfBlocks readers;
  };
  bool known = false;  ///< where it is stored, and the sink been told
  BlockMap stored;
  std::vector<Extent> own;                       ///< the blocks stored on the sink's ranks
  std::vector<int> buffers;                      ///< theirs
  std::vector<ReadRelation> ways;                ///< in which readers cut it
  std::vector<std::unique_ptr<const Use>> uses;  ///< so far, that at hand the last
  /// By rank; of others than the sink's where needed.
  std::unordered_map<int, History> histories;

  /// The assembled block that is one of a way or, of another way, the first that contains its box,
  /// if all is there that is needed; null if there is none.
  [[nodiscard]] const AssembledBlock* find_assembled(const History& history, std::size_t way,
                                                     Extent block, const Box& box,
                                                     const Box& need) const {
    for (const AssembledBlock& a : history.assembled) {
      const bool has_box = a.way == way ? a.block == block : ways[a.way].contains(a.block, box);
      if (has_box && a.need.contains(need)) return &a;
    }
    return nullptr;
  }
  /// The buffer of a stored block; -1 of other ranks'.
  [[nodiscard]] int stored_buffer(Extent block) const {
    const auto at = std::lower_bound(own.begin(), own.end(), block);
    if (at == own.end() || *at != block) return -1;
    return buffers[to_index(at - own.begin())];
  }
};

/// What ranks hold of the tensors of a placed program. The sink of a walk is told of blocks stored
/// and of blocks assembled when they are first asked for.
class TensorHoldings {
 public:
  using History = HeldTensor::History;
  using Use = HeldTensor::Use;

  TensorHoldings(const EinGraph& graph, const Placement& placement, int ranks, WalkSink& sink)
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

  /// The rank of a worker.
  [[nodiscard]] int host(int worker) const { return rank_of(worker, m_workers, m_ranks); }
  /// Whether ranks host several workers.
  [[nodiscard]] bool shared() const { return m_ranks < m_workers; }
  /// The workers of the sink's ranks.
  [[nodiscard]] const std::vector<int>& own_workers() const { return m_own_workers; }
  /// Of a tensor that is stored or read by now.
  [[nodiscard]] const HeldTensor& operator[](VertexId tensor) const {
    return *m_held[to_index(tensor)];
  }

  // --- Stored blocks ---

  /// Notes where a tensor is stored, and tells the sink.
  void store(VertexId v) {
    HeldTensor& held = made(v);
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

  /// The rank that stores a block.
  [[nodiscard]] int owner_of(const HeldTensor& held, Extent block) const {
    return host(held.stored.worker(block));
  }
  /// The stored block on that rank which contains a box; -1 if none does.
  [[nodiscard]] Extent stored_with(const HeldTensor& held, const Box& box, int rank) const {
    if (leaves(box, held.stored.relation().bound)) return -1;
    const Extent n = held.stored.relation().containing(box);
    return n >= 0 && owner_of(held, n) == rank ? n : -1;
  }

  // --- Blocks put together for calls ---

  /// Notes that a statement's calls read a tensor, which is stored if it was not yet.
  const Use& add_use(VertexId v, VertexId tensor, CallsOfBlocks&& readers) {
    if (!made(tensor).known) store(tensor);
    return note_use(v, tensor, std::move(readers));
  }
  /// The same, whether or not the tensor is stored yet.
  const Use& note_use(VertexId v, VertexId tensor, CallsOfBlocks&& readers) {
    HeldTensor& held = made(tensor);
    const std::size_t way = find_way(held, readers.relation());
    held.uses.push_back(std::make_unique<const Use>(Use{v, way, std::move(readers)}));
    return *held.uses.back();
  }

  /// What a rank has assembled of a tensor, for the use at hand and those before it: it follows
  /// from the rank's own calls alone.
  const History& history_of(VertexId tensor, int rank) {
    HeldTensor& held = made(tensor);
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
        if (box.empty() || stored_with(held, box, rank) >= 0) continue;
        Box need = need_of(use, block, rank);
        if (need.empty() || held.find_assembled(history, use.way, block, box, need) != nullptr) {
          continue;
        }
        const auto after = std::lower_bound(history.assembled.begin(), history.assembled.end(),
                                            std::pair(use.way, block),
                                            [](const AssembledBlock& a, const auto& key) {
                                              return std::pair(a.way, a.block) < key;
                                            });
        const int buffer = m_sink.assembled(tensor, box, rank);
        history.assembled.insert(after, {use.way, block, buffer, history.uses, std::move(need)});
        if (history.uses + 1 == held.uses.size() && leaves(box, held.stored.relation().bound)) {
          fill_outside(use.readers.relation(), box, rank, buffer);
        }
      }
    }
    return history;
  }

  /// What a rank's calls need of a block of a use, inside of the tensor if they need anything
  /// there. Empty where no join of theirs counts.
  [[nodiscard]] Box need_of(const Use& use, Extent block, int rank) const {
    const CallsOfBlocks& readers = use.readers;
    if (!readers.needs_less()) return readers.relation().block(block);
    Box need;
    const WorkerRange hosted = workers_of(rank, m_workers, m_ranks);
    for (int w = hosted.first; w < hosted.last; ++w) {
      const Extent call = readers.calls().block(w);
      if (call < 0 || readers.block_of(call) != block) continue;
      const Box read = readers.need(call);
      const Box inside = readers.relation().inside(read);
      if (need.lo.empty() || need.empty()) {
        need = inside.empty() ? read : inside;
      } else if (!inside.empty()) {
        need = readers.relation().inside(need).empty() ? inside : hull(need, inside);
      }
    }
    return need;
  }

  /// Whether a rank assembles a block of the tensor for the use at hand.
  [[nodiscard]] bool is_fresh(VertexId tensor, Extent block, int rank) {
    const HeldTensor& held = (*this)[tensor];
    const Use& use = *held.uses.back();
    if (held.uses.size() == 1 && !m_sink.wants(rank)) {
      return stored_with(held, use.readers.relation().block(block), rank) < 0;
    }
    const std::vector<AssembledBlock>& assembled = history_of(tensor, rank).assembled;
    return std::any_of(assembled.begin(), assembled.end(), [&](const AssembledBlock& a) {
      return a.way == use.way && a.block == block && a.use + 1 == held.uses.size();
    });
  }
  /// The buffer on one of the sink's ranks that contains a block of the use at hand, of which its
  /// calls need something; -1 on others.
  [[nodiscard]] int buffer_with(VertexId tensor, Extent block, int rank) {
    if (!m_sink.wants(rank)) return -1;
    const HeldTensor& held = (*this)[tensor];
    const Use& use = *held.uses.back();
    const History& history = history_of(tensor, rank);
    const Box box = use.readers.relation().block(block);
    if (const Extent n = stored_with(held, box, rank); n >= 0) return held.stored_buffer(n);
    return held.find_assembled(history, use.way, block, box, need_of(use, block, rank))->buffer;
  }

  /// Whether a rank reads, in a block of the use at hand, what it has received for an earlier
  /// statement: what it then put together, less what it stores.
  [[nodiscard]] bool reads_again(VertexId tensor, Extent block, int rank) {
    const HeldTensor& held = (*this)[tensor];
    const VertexId v = held.uses.back()->statement;
    if (held.uses.front()->statement == v) return false;
    const TensorRelation& stored = held.stored.relation();
    const ReadRelation& read = held.uses.back()->readers.relation();
    const Box box = read.inside(need_of(*held.uses.back(), block, rank));
    if (box.empty()) return false;
    const std::vector<AssembledBlock>& assembled = history_of(tensor, rank).assembled;
    return std::any_of(assembled.begin(), assembled.end(), [&](const AssembledBlock& a) {
      if (held.uses[a.use]->statement == v) return false;
      const Box both = intersect(box, a.need);
      if (both.empty()) return false;
      Extent received = both.size();
      repartition_into(stored, both, [&](Extent n, const Box& part) {
        if (owner_of(held, n) == rank) received -= part.size();
      });
      return received > 0;
    });
  }

 private:
  [[nodiscard]] HeldTensor& made(VertexId tensor) {
    std::unique_ptr<HeldTensor>& held = m_held[to_index(tensor)];
    if (!held) held = std::make_unique<HeldTensor>();
    return *held;
  }

  /// Lets a rank write what is read outside of the tensor into a buffer that it assembles.
  void fill_outside(const ReadRelation& read, const Box& box, int rank, int buffer) {
    std::vector<Box> outside;
    subtract(box, read.inside(box), outside);
    for (const Box& part : outside) m_sink.filled(rank, buffer, part, read.outside());
  }

  [[nodiscard]] static std::size_t find_way(HeldTensor& held, const ReadRelation& relation) {
    const auto known = std::find(held.ways.begin(), held.ways.end(), relation);
    if (known == held.ways.end()) {
      held.ways.push_back(relation);
      return held.ways.size() - 1;
    }
    return to_index(known - held.ways.begin());
  }

  const EinGraph& m_graph;
  const Placement& m_placement;
  int m_workers;
  int m_ranks;
  WalkSink& m_sink;
  std::vector<int> m_own_workers;
  std::vector<std::unique_ptr<HeldTensor>> m_held;  ///< of many tensors a walk may see few
  std::vector<Extent> m_blocks;                     ///< kept between uses to spare allocations
};

}  // namespace eindecomp::relation
