// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Words of any tensor, box by box.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/placed/agreeing_indices.hpp"
#include "eindecomp/plan/placed/axis_cuts.hpp"
#include "eindecomp/plan/placed/tensor_regions.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/relay_rounds.hpp"

namespace eindecomp::plan {

/// Counts words box by box, whatever the parts. What one worker of a rank has, the rank's other
/// workers need not receive.
class BoxedWords {
 public:
  /// \param ranks  that share the workers, at most as many as there are workers
  BoxedWords(const WorkerCoordinates& workers, int ranks)
      : m_workers(workers), m_ranks(ranks), m_agreeing(workers) {}

  /// The words that each rank receives on account of one tensor.
  /// \param words [out]  per rank; all are written
  /// \returns the boxes that were compared, a measure of the effort
  std::int64_t count(const TensorRegions& t, std::vector<Extent>& words) {
    m_rank = t.bound.size();
    m_compared = 0;
    const bool by_groups = shared() || t.counting;  // how reductions are counted
    const bool few = !by_groups && t.needs.size() <= 2;
    const bool known = !few && has_unions_of(t);
    const RegionBoxes stored(m_workers, t.bound, t.store);
    std::vector<RegionBoxes> needs;
    if (!known) {
      for (const Need& need : t.needs) needs.emplace_back(m_workers, t.bound, need);
    }
    std::vector<RegionBoxes> produced;
    if (t.produced != nullptr) {
      produced.emplace_back(m_workers, t.bound, *t.produced);
      if (t.aggregated != 0 && !by_groups) m_agreeing.select(t);
    }
    for (int r = 0; r < m_ranks; ++r) {
      Extent& received = words[to_index(r)];
      if (few) {
        received = few_boxes(t, stored, needs, produced, to_index(r));
        continue;
      }
      list_boxes(stored, r, m_held);
      received = 0;
      for (const Bounds& needed : known ? known_union(r) : make_union(needs, r)) {
        received += volume(needed);
        for (const Bounds& held : m_held) received -= overlap(needed, held);
        m_compared += static_cast<std::int64_t>(m_held.size());
      }
      if (t.produced == nullptr || by_groups) continue;
      // Every call of a group is on a rank of its own.
      list_boxes(produced.front(), r, m_boxes);
      for (const Bounds& held : m_held) {
        received += volume(held);
        for (const Bounds& own : m_boxes) received -= overlap(own, held);
      }
      if (!m_boxes.empty()) received += reduced(t, stored, m_boxes.front(), to_index(r));
    }
    if (t.produced != nullptr && by_groups) add_reductions(t, stored, produced.front(), words);
    return m_compared;
  }

 private:
  [[nodiscard]] Extent volume(const Bounds& box) const {
    Extent n = 1;
    for (std::size_t k = 0; k < m_rank; ++k) n *= box.hi[k] - box.lo[k];
    return n;
  }
  /// The elements that two boxes share.
  [[nodiscard]] Extent overlap(const Bounds& a, const Bounds& b) const {
    Extent n = 1;
    for (std::size_t k = 0; k < m_rank; ++k) {
      n *= std::max<Extent>(std::min(a.hi[k], b.hi[k]) - std::max(a.lo[k], b.lo[k]), 0);
    }
    return n;
  }

  [[nodiscard]] Bounds intersection(const Bounds& a, const Bounds& b) const {
    Bounds both;
    for (std::size_t k = 0; k < m_rank; ++k) {
      both.lo[k] = std::max(a.lo[k], b.lo[k]);
      both.hi[k] = std::min(a.hi[k], b.hi[k]);
    }
    return both;
  }
  [[nodiscard]] bool shared() const { return m_ranks < static_cast<int>(m_workers.workers()); }

  /// The words of a worker that is a rank by itself and has at most two needs, by far the most
  /// frequent case: by inclusion and exclusion, without lists.
  [[nodiscard]] Extent few_boxes(const TensorRegions& t, const RegionBoxes& stored,
                                 const std::vector<RegionBoxes>& needs,
                                 const std::vector<RegionBoxes>& produced, std::size_t worker) {
    const bool holds = stored.get(worker, m_few[0]);
    const Bounds& held = m_few[0];
    Extent words = 0;
    std::size_t known = 0;
    for (const RegionBoxes& need : needs) {
      Bounds& box = m_few[1 + known];
      if (!need.get(worker, box)) continue;
      words += volume(box) - (holds ? overlap(box, held) : 0);
      ++known;
    }
    if (known == 2) {
      words -= overlap(m_few[1], m_few[2]);
      if (holds) words += overlap(intersection(m_few[1], m_few[2]), held);
    }
    if (t.produced != nullptr) {
      const bool computes = produced.front().get(worker, m_few[1]);
      if (holds) words += volume(held);
      if (holds && computes) words -= overlap(m_few[1], held);
      if (computes) words += reduced(t, stored, m_few[1], worker);
    }
    return words;
  }

  /// The accumulators that a worker receives as one of a group that computes a block: along every
  /// axis of the group, from each of the others, what is stored where the coordinates along that
  /// axis and the faster ones are its own.
  [[nodiscard]] Extent reduced(const TensorRegions& t, const RegionBoxes& stored,
                               const Bounds& block, std::size_t worker) {
    if (t.aggregated == 0) return 0;
    m_shares.fill(1);
    for (std::size_t k = 0; k < m_rank; ++k) {
      const Extent* agreeing = m_agreeing.get(stored, block, k, worker, t.aggregated);
      for (std::size_t a = 0; a < m_workers.axes(); ++a) m_shares[a] *= agreeing[a];
    }
    Extent words = 0;
    for (std::size_t a = stored.last_idle(worker, t.aggregated); a < m_workers.axes(); ++a) {
      if ((t.aggregated >> a & 1U) != 0) words += (m_workers.size(a) - 1) * m_shares[a];
    }
    return words;
  }

  /// The boxes that the workers of a rank have of a region, disjoint but for computed indices.
  /// Boxes that touch are merged where they make a box together.
  void list_boxes(const RegionBoxes& region, int rank, std::vector<Bounds>& boxes) const {
    boxes.clear();
    Bounds box;
    if (!shared()) {
      if (region.get(static_cast<std::size_t>(rank), box)) boxes.push_back(box);
      return;
    }
    const WorkerRange hosted = workers_of(rank, static_cast<int>(m_workers.workers()), m_ranks);
    if (region.is_computed()) {  // every block is received by itself, where they overlap, too
      std::vector<std::size_t> blocks;
      for (int w = hosted.first; w < hosted.last; ++w) {
        const std::size_t block = region.block_of(to_index(w));
        const auto known = std::ranges::find(blocks, block);
        if (known != blocks.end() && !region.is_masked()) continue;
        if (!region.get(to_index(w), box)) continue;
        if (known != blocks.end()) {
          extend(boxes[to_index(known - blocks.begin())], box);
          continue;
        }
        blocks.push_back(block);
        boxes.push_back(box);
      }
      return;
    }
    for (int w = hosted.first; w < hosted.last; ++w) {
      if (region.get(to_index(w), box)) boxes.push_back(box);
    }
    if (boxes.size() < 2) return;
    std::sort(boxes.begin(), boxes.end());
    boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
    for (std::size_t k = 0; k < m_rank && boxes.size() > 1; ++k) merge_along(k, boxes);
  }

  /// Makes a box the smallest that also has another.
  void extend(Bounds& box, const Bounds& other) const {
    for (std::size_t k = 0; k < m_rank; ++k) {
      box.lo[k] = std::min(box.lo[k], other.lo[k]);
      box.hi[k] = std::max(box.hi[k], other.hi[k]);
    }
  }
  /// Merges boxes that differ in dimension k only and touch there.
  static void merge_along(std::size_t k, std::vector<Bounds>& boxes) {
    const auto place = [k](Bounds box) {  // across k, then along it
      const Extent along = std::exchange(box.lo[k], 0);
      box.hi[k] = 0;
      return std::pair(box, along);
    };
    std::ranges::sort(boxes, {}, place);
    std::size_t last = 0;
    for (std::size_t i = 1; i < boxes.size(); ++i) {
      if (boxes[i].lo[k] == boxes[last].hi[k] &&
          place(boxes[i]).first == place(boxes[last]).first) {
        boxes[last].hi[k] = boxes[i].hi[k];
      } else {
        boxes[++last] = boxes[i];
      }
    }
    boxes.resize(last + 1);
  }

  // --- What the calls of a rank need of a tensor, as disjoint boxes: whatever way it is stored. A
  // --- search tries many ways for one set of calls, so that of the last count is kept.

  /// Whether the unions are known, of the same needs of a like tensor; else forgets them.
  [[nodiscard]] bool has_unions_of(const TensorRegions& t) {
    const bool keep = m_ranks <= tuning::max_receivers_kept;
    if (keep && m_union_ends.size() == to_index(m_ranks) &&
        std::ranges::equal(m_union_bound, t.bound) && std::ranges::equal(m_union_needs, t.needs)) {
      return true;
    }
    m_unions.clear();
    m_union_ends.clear();
    m_union_bound.assign(t.bound.begin(), t.bound.end());
    m_union_needs.assign(t.needs.begin(), t.needs.end());
    return false;
  }
  [[nodiscard]] std::span<const Bounds> known_union(int rank) const {
    const std::size_t begin = rank > 0 ? m_union_ends[to_index(rank) - 1] : 0;
    return std::span(m_unions).subspan(begin, m_union_ends[to_index(rank)] - begin);
  }
  /// Of the next rank.
  [[nodiscard]] std::span<const Bounds> make_union(const std::vector<RegionBoxes>& needs,
                                                   int rank) {
    if (m_ranks > tuning::max_receivers_kept) m_unions.clear();
    const std::size_t begin = m_unions.size();
    m_known.clear();
    for (const RegionBoxes& need : needs) {
      list_boxes(need, rank, m_boxes);
      const std::size_t before = m_known.size();  // boxes of one need are disjoint
      for (const Bounds& box : m_boxes) {
        add_new_pieces(box, std::span(m_known).first(before));
        m_known.push_back(box);
      }
    }
    m_union_ends.push_back(m_unions.size());
    return std::span(m_unions).subspan(begin);
  }

  /// Appends to m_unions what a box has that is in none of the others.
  void add_new_pieces(const Bounds& box, std::span<const Bounds> others) {
    m_compared += static_cast<std::int64_t>(others.size());
    if (std::ranges::any_of(others, [&](const Bounds& other) { return contains(other, box); })) {
      return;
    }
    m_pieces.assign(1, box);
    for (const Bounds& other : others) {
      if (overlap(box, other) == 0) continue;
      m_compared += static_cast<std::int64_t>(m_pieces.size());
      m_rest.clear();
      for (const Bounds& piece : m_pieces) subtract(piece, other);
      m_pieces.swap(m_rest);
    }
    m_unions.insert(m_unions.end(), m_pieces.begin(), m_pieces.end());
  }
  [[nodiscard]] bool contains(const Bounds& outer, const Bounds& inner) const {
    for (std::size_t k = 0; k < m_rank; ++k) {
      if (inner.lo[k] < outer.lo[k] || outer.hi[k] < inner.hi[k]) return false;
    }
    return true;
  }

  /// Appends to m_rest what `hole` leaves of a box.
  void subtract(Bounds box, const Bounds& hole) {
    if (overlap(box, hole) == 0) {
      m_rest.push_back(box);
      return;
    }
    for (std::size_t k = 0; k < m_rank; ++k) {
      if (box.lo[k] < hole.lo[k]) {
        m_rest.push_back(box);
        m_rest.back().hi[k] = hole.lo[k];
        box.lo[k] = hole.lo[k];
      }
      if (hole.hi[k] < box.hi[k]) {
        m_rest.push_back(box);
        m_rest.back().lo[k] = hole.hi[k];
        box.hi[k] = hole.hi[k];
      }
    }
  }

  /// A worker with calls for a block of a result.
  struct Caller {
    Bounds block;
    int rank = 0;
    int worker = 0;
  };
  /// Lists the first worker of every rank with calls for a block, block by block; of those with
  /// joins that count if a block has any, else the first.
  void list_callers(const TensorRegions& t, const RegionBoxes& produced) {
    m_callers.clear();
    const auto workers = static_cast<int>(m_workers.workers());
    Bounds box;
    for (int w = 0; w < workers; ++w) {
      if (produced.get(to_index(w), box)) {
        m_callers.push_back({box, host(w), w});
      }
    }
    if (t.counting) leave_out_masked(RegionBoxes(m_workers, t.bound, *t.counting));
    const auto key = [](const Caller& caller) { return std::tie(caller.block, caller.rank); };
    std::stable_sort(m_callers.begin(), m_callers.end(),
                     [&](const Caller& a, const Caller& b) { return key(a) < key(b); });
    const auto same = [&](const Caller& a, const Caller& b) { return key(a) == key(b); };
    m_callers.erase(std::unique(m_callers.begin(), m_callers.end(), same), m_callers.end());
  }

  /// Leaves of the callers of every block those in a region, or the first.
  void leave_out_masked(const RegionBoxes& counting) {
    std::ranges::stable_sort(m_callers, {}, &Caller::block);
    std::size_t kept = 0;
    Bounds box;
    for (std::size_t i = 0; i < m_callers.size();) {
      const std::size_t first = i;
      const std::size_t before = kept;
      const Bounds block = m_callers[i].block;
      for (; i < m_callers.size() && m_callers[i].block == block; ++i) {
        if (counting.get(to_index(m_callers[i].worker), box)) m_callers[kept++] = m_callers[i];
      }
      if (kept == before) m_callers[kept++] = m_callers[first];
    }
    m_callers.resize(kept);
  }

  /// Adds the accumulators that are received where ranks have several workers or some calls are
  /// left out: as relation::Walk has it, for the calls of one rank add to one accumulator, and
  /// groups may be of any size.
  void add_reductions(const TensorRegions& t, const RegionBoxes& stored,
                      const RegionBoxes& produced, std::vector<Extent>& words) {
    list_callers(t, produced);
    for (std::size_t i = 0; i < m_callers.size();) {
      std::size_t end = i;
      while (end < m_callers.size() && m_callers[end].block == m_callers[i].block) ++end;
      add_reduction(t, stored, std::span(m_callers).subspan(i, end - i), words);
      i = end;
    }
  }
  /// \param members  the group that computes a block
  void add_reduction(const TensorRegions& t, const RegionBoxes& stored,
                     std::span<const Caller> members, std::vector<Extent>& words) {
    const relation::RelayRounds relay(static_cast<int>(members.size()));
    const auto place_of = [&](int rank) {
      return to_index(std::ranges::lower_bound(members, rank, {}, &Caller::rank) - members.begin());
    };
    Bounds box;
    for (std::size_t w = 0; w < m_workers.workers(); ++w) {
      ++m_compared;
      if (!stored.get(w, box)) continue;
      const Extent both = overlap(members.front().block, box);
      if (both == 0) continue;
      const int owner = host(static_cast<int>(w));
      std::size_t exit = place_of(owner);
      if (exit == members.size() || members[exit].rank != owner) {
        exit = place_of(host(beside(members.front().worker, w, t.aggregated))) % members.size();
        words[to_index(owner)] += both;
      }
      for (std::size_t m = 0; m < members.size(); ++m) {
        relay.for_each_sender(static_cast<int>(exit), static_cast<int>(m),
                              [&](int, int) { words[to_index(members[m].rank)] += both; });
      }
      m_compared += std::ssize(members);
    }
  }
  /// The worker with another's coordinates along some axes, and those of `worker` along the rest.
  [[nodiscard]] int beside(int worker, std::size_t other, std::uint32_t axes) const {
    const std::vector<int> strides = relation::axis_strides(m_workers.mesh());
    int found = worker;
    for (std::uint32_t left = axes; left != 0; left &= left - 1) {
      const std::size_t axis = to_index(std::countr_zero(left));
      const std::span<const int> at = m_workers.along(axis);
      found += (at[other] - at[to_index(worker)]) * strides[axis];
    }
    return found;
  }
  [[nodiscard]] int host(int worker) const {
    return rank_of(worker, static_cast<int>(m_workers.workers()), m_ranks);
  }

  const WorkerCoordinates& m_workers;
  int m_ranks;
  std::size_t m_rank = 0;  ///< of the tensor
  std::int64_t m_compared = 0;

  // Kept between uses to spare allocations.
  std::array<Bounds, 3> m_few;
  std::vector<Bounds> m_held, m_boxes, m_known, m_pieces, m_rest;
  std::vector<Caller> m_callers;
  AgreeingIndices m_agreeing;
  std::array<Extent, max_mesh_axes> m_shares{};  ///< of a block, by the first axis that is fixed

  std::vector<Bounds> m_unions;           ///< of the ranks, one after another
  std::vector<std::size_t> m_union_ends;  ///< where each ends
  std::vector<Extent> m_union_bound;      ///< of what tensor
  std::vector<Need> m_union_needs;        ///< and which needs
};

}  // namespace eindecomp::plan
