// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The words that a tensor makes workers receive, whatever its parts: each worker's boxes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/cut_region.hpp"
#include "eindecomp/relation/region_boxes.hpp"

namespace eindecomp::detail {

/// Counts them box by box.
class BoxedWords {
 public:
  explicit BoxedWords(const WorkerDigits& workers) : m_workers(workers) {}

  void count(const TensorRegions& t, std::vector<Extent>& words) const {
    const std::size_t rank = t.bound.size();
    const RegionBoxes stored_boxes(m_workers, t.bound, t.store);
    std::vector<RegionBoxes> need_boxes;
    for (const CutRegion& need : t.needs) need_boxes.emplace_back(m_workers, t.bound, need);
    std::vector<RegionBoxes> result_boxes;
    if (t.produced != nullptr) result_boxes.emplace_back(m_workers, t.bound, *t.produced);

    std::vector<Bounds> needed;
    Bounds held;
    Bounds box;
    for (std::size_t w = 0; w < words.size(); ++w) {
      const bool holds = stored_boxes.get(w, held);
      needed.clear();
      for (const RegionBoxes& need : need_boxes) {
        if (need.get(w, box)) needed.push_back(box);
      }
      words[w] = needed.size() == 1 ? volume(needed[0], rank) : united(needed, 0, rank);
      if (!holds) continue;
      for (Bounds& need : needed) need = both(need, held, rank);
      words[w] -= needed.size() == 1 ? volume(needed[0], rank) : united(needed, 0, rank);
      if (t.produced == nullptr) continue;
      words[w] += t.contributions * volume(held, rank);
      if (result_boxes[0].get(w, box)) words[w] -= volume(both(box, held, rank), rank);
    }
  }

 private:
  /// The elements in any of the boxes: the first, and of the others what it has not.
  [[nodiscard]] static Extent united(std::vector<Bounds>& boxes, std::size_t from,
                                     std::size_t rank) {
    const std::size_t last = boxes.size();
    Extent elements = 0;
    for (std::size_t i = from; i < last; ++i) {
      const Bounds box = boxes[i];
      const Extent all = volume(box, rank);
      if (all == 0) continue;
      // What the later boxes have of this one is counted with them.
      bool covered = false;
      for (std::size_t j = i + 1; j < last && !covered; ++j) {
        covered = within(box, boxes[j], rank);
        const Bounds common = both(box, boxes[j], rank);
        if (volume(common, rank) != 0) boxes.push_back(common);
      }
      if (!covered) elements += all - united(boxes, last, rank);
      boxes.resize(last);
    }
    return elements;
  }

  const WorkerDigits& m_workers;
};

}  // namespace eindecomp::detail
