// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The words that a tensor makes workers receive, whatever its parts: each worker's boxes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/cut_region.hpp"

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
  struct Bounds {
    std::array<Extent, max_rank> lo{};
    std::array<Extent, max_rank> hi{};
  };

  [[nodiscard]] static Extent volume(const Bounds& box, std::size_t rank) {
    Extent n = 1;
    for (std::size_t k = 0; k < rank; ++k) n *= std::max<Extent>(box.hi[k] - box.lo[k], 0);
    return n;
  }
  [[nodiscard]] static Bounds both(const Bounds& a, const Bounds& b, std::size_t rank) {
    Bounds common;
    for (std::size_t k = 0; k < rank; ++k) {
      common.lo[k] = std::max(a.lo[k], b.lo[k]);
      common.hi[k] = std::min(a.hi[k], b.hi[k]);
    }
    return common;
  }
  [[nodiscard]] static bool within(const Bounds& a, const Bounds& b, std::size_t rank) {
    for (std::size_t k = 0; k < rank; ++k) {
      if (a.lo[k] < b.lo[k] || a.hi[k] > b.hi[k]) return false;
    }
    return true;
  }

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

  /// The parts' first indices along every dimension of a region, and each worker's boxes from them.
  class RegionBoxes {
   public:
    RegionBoxes(const WorkerDigits& workers, std::span<const Extent> bound, const CutRegion& region)
        : m_workers(&workers), m_region(region), m_begin(bound.size()) {
      for (std::size_t k = 0; k < bound.size(); ++k) {
        Extent parts = 1;
        for (std::size_t j = 0; j < region.length[k]; ++j) {
          parts *= workers.size(region.axis[k][j]);
        }
        for (Extent i = 0; i <= parts; ++i) m_begin[k].push_back(part_begin(bound[k], parts, i));
      }
    }
    /// Whether the worker has a box.
    [[nodiscard]] bool get(std::size_t worker, Bounds& box) const {
      const auto digit = [&](std::size_t axis) { return m_workers->along(axis)[worker]; };
      for (std::uint32_t left = m_region.idle; left != 0; left &= left - 1) {
        if (digit(static_cast<std::size_t>(std::countr_zero(left))) != 0) return false;
      }
      for (std::size_t k = 0; k < m_begin.size(); ++k) {
        std::size_t part = 0;
        for (std::size_t j = 0; j < m_region.length[k]; ++j) {
          const std::size_t axis = m_region.axis[k][j];
          part = part * static_cast<std::size_t>(m_workers->size(axis)) +
                 static_cast<std::size_t>(digit(axis));
        }
        box.lo[k] = m_begin[k][part];
        box.hi[k] = m_begin[k][part + 1];
      }
      return true;
    }

   private:
    const WorkerDigits* m_workers;
    CutRegion m_region;
    std::vector<std::vector<Extent>> m_begin;
  };

  const WorkerDigits& m_workers;
};

}  // namespace eindecomp::detail
