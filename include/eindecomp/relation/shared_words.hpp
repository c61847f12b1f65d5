// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The words that a tensor makes ranks receive where a rank hosts several workers, whatever the
/// tensor's parts: what one worker of a rank has, the others need not receive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/cut_region.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/region_boxes.hpp"

namespace eindecomp::detail {

/// Counts them rank by rank; keeps its memory between counts.
class SharedWords {
 public:
  /// \param ranks  fewer than there are workers
  SharedWords(const WorkerDigits& workers, int ranks) : m_workers(workers), m_ranks(ranks) {}

  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(m_ranks); }

  /// The words that each rank receives on account of one tensor.
  /// \param words [out]  per rank; all are written
  /// \returns the boxes that were compared, a measure of the effort
  std::int64_t count(const TensorRegions& t, std::vector<Extent>& words) {
    m_dimensions = t.bound.size();
    m_compared = 0;
    const RegionBoxes stored(m_workers, t.bound, t.store);
    std::vector<RegionBoxes> needs;
    for (const CutRegion& need : t.needs) needs.emplace_back(m_workers, t.bound, need);
    if (t.produced != nullptr) group_calls(RegionBoxes(m_workers, t.bound, *t.produced));
    for (int r = 0; r < m_ranks; ++r) {
      list_boxes(stored, r, m_held);
      m_known = m_held;
      Extent received = 0;
      for (const RegionBoxes& need : needs) {
        list_boxes(need, r, m_needed);
        for (const Bounds& box : m_needed) received += new_elements(box);
        m_known.insert(m_known.end(), m_needed.begin(), m_needed.end());
      }
      if (t.produced != nullptr) received += partial_results(r);
      words[static_cast<std::size_t>(r)] = received;
    }
    return m_compared;
  }

 private:
  /// The calls that compute parts of one block of a result.
  struct Group {
    Bounds box;
    std::vector<int> ranks;  ///< that make some of them, in order
  };

  /// The disjoint boxes that the workers of a rank have of a region, those merged that together are
  /// a box.
  void list_boxes(const RegionBoxes& region, int rank, std::vector<Bounds>& boxes) const {
    boxes.clear();
    const WorkerRange hosted = workers_of(rank, static_cast<int>(m_workers.workers()), m_ranks);
    Bounds box;
    for (int w = hosted.first; w < hosted.last; ++w) {
      if (region.get(static_cast<std::size_t>(w), box)) boxes.push_back(box);
    }
    std::sort(boxes.begin(), boxes.end());
    boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
    for (std::size_t k = 0; k < m_dimensions && boxes.size() > 1; ++k) merge_along(k, boxes);
  }

  /// Merges boxes that differ in dimension k only and touch there.
  static void merge_along(std::size_t k, std::vector<Bounds>& boxes) {
    const auto across = [k](Bounds box) {
      box.lo[k] = 0;
      box.hi[k] = 0;
      return box;
    };
    std::sort(boxes.begin(), boxes.end(), [&](const Bounds& a, const Bounds& b) {
      const Bounds x = across(a);
      const Bounds y = across(b);
      return x == y ? a.lo[k] < b.lo[k] : x < y;
    });
    std::size_t last = 0;
    for (std::size_t i = 1; i < boxes.size(); ++i) {
      if (boxes[i].lo[k] == boxes[last].hi[k] && across(boxes[i]) == across(boxes[last])) {
        boxes[last].hi[k] = boxes[i].hi[k];
      } else {
        boxes[++last] = boxes[i];
      }
    }
    boxes.resize(last + 1);
  }

  /// The elements of a box that no box of m_known has.
  [[nodiscard]] Extent new_elements(const Bounds& box) {
    m_pieces.assign(1, box);
    for (const Bounds& known : m_known) {
      if (m_pieces.empty()) break;
      m_compared += static_cast<std::int64_t>(m_pieces.size());
      m_rest.clear();
      for (const Bounds& piece : m_pieces) subtract(piece, known);
      m_pieces.swap(m_rest);
    }
    Extent elements = 0;
    for (const Bounds& piece : m_pieces) elements += volume(piece, m_dimensions);
    return elements;
  }

  /// Appends to m_rest what `hole` leaves of a box.
  void subtract(Bounds box, const Bounds& hole) {
    const Bounds common = both(box, hole, m_dimensions);
    if (volume(common, m_dimensions) == 0) {
      m_rest.push_back(box);
      return;
    }
    for (std::size_t k = 0; k < m_dimensions; ++k) {
      if (box.lo[k] < common.lo[k]) {
        m_rest.push_back(box);
        m_rest.back().hi[k] = common.lo[k];
        box.lo[k] = common.lo[k];
      }
      if (common.hi[k] < box.hi[k]) {
        m_rest.push_back(box);
        m_rest.back().lo[k] = common.hi[k];
        box.hi[k] = common.hi[k];
      }
    }
  }

  void group_calls(const RegionBoxes& produced) {
    m_callers.clear();
    const auto workers = static_cast<int>(m_workers.workers());
    Bounds box;
    for (int w = 0; w < workers; ++w) {
      if (produced.get(static_cast<std::size_t>(w), box)) {
        m_callers.emplace_back(box, rank_of(w, workers, m_ranks));
      }
    }
    std::sort(m_callers.begin(), m_callers.end());
    m_callers.erase(std::unique(m_callers.begin(), m_callers.end()), m_callers.end());
    m_groups.clear();
    for (const auto& [of, rank] : m_callers) {
      if (m_groups.empty() || m_groups.back().box != of) m_groups.push_back({of, {}});
      m_groups.back().ranks.push_back(rank);
    }
  }

  /// The accumulators that the owner of m_held receives: one from each other rank of a group, for
  /// the calls of one rank add to one accumulator.
  [[nodiscard]] Extent partial_results(int rank) {
    Extent words = 0;
    m_compared += static_cast<std::int64_t>(m_groups.size() * m_held.size());
    for (const Group& group : m_groups) {
      const bool own = std::binary_search(group.ranks.begin(), group.ranks.end(), rank);
      const Extent others = static_cast<Extent>(group.ranks.size()) - (own ? 1 : 0);
      if (others == 0) continue;
      for (const Bounds& held : m_held) {
        words += others * volume(both(group.box, held, m_dimensions), m_dimensions);
      }
    }
    return words;
  }

  const WorkerDigits& m_workers;
  int m_ranks;
  std::size_t m_dimensions = 0;
  std::int64_t m_compared = 0;

  // Kept between uses to spare allocations.
  std::vector<Bounds> m_held, m_needed, m_known, m_pieces, m_rest;
  std::vector<std::pair<Bounds, int>> m_callers;
  std::vector<Group> m_groups;
};

}  // namespace eindecomp::detail
