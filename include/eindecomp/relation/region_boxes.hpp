// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The box that each worker has of a tensor cut by the axes of a mesh.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/cut_region.hpp"

namespace eindecomp::detail {

/// A box of few dimensions that needs no allocation. Entries past its dimensions are 0.
struct Bounds {
  std::array<Extent, max_rank> lo{};
  std::array<Extent, max_rank> hi{};

  constexpr auto operator<=>(const Bounds&) const = default;
};

[[nodiscard]] inline Extent volume(const Bounds& box, std::size_t rank) {
  Extent n = 1;
  for (std::size_t k = 0; k < rank; ++k) n *= std::max<Extent>(box.hi[k] - box.lo[k], 0);
  return n;
}
[[nodiscard]] inline Bounds both(const Bounds& a, const Bounds& b, std::size_t rank) {
  Bounds common;
  for (std::size_t k = 0; k < rank; ++k) {
    common.lo[k] = std::max(a.lo[k], b.lo[k]);
    common.hi[k] = std::min(a.hi[k], b.hi[k]);
  }
  return common;
}
[[nodiscard]] inline bool within(const Bounds& a, const Bounds& b, std::size_t rank) {
  for (std::size_t k = 0; k < rank; ++k) {
    if (a.lo[k] < b.lo[k] || a.hi[k] > b.hi[k]) return false;
  }
  return true;
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

}  // namespace eindecomp::detail
