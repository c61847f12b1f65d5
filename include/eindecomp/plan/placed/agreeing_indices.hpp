// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How many of a block's indices lie with workers of the same coordinates, dimension by dimension.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/placed/axis_cuts.hpp"
#include "eindecomp/plan/placed/tensor_regions.hpp"
#include "eindecomp/plan/tuning.hpp"

namespace eindecomp::plan {

/// Answers, for the blocks that a group of workers computes together: of a block's indices along
/// one dimension, how many are stored where the coordinates along a mesh axis of the group and the
/// faster ones are a worker's own. A search meets the same cuts of one dimension in many ways to
/// store a tensor, so that the answers are kept.
class AgreeingIndices {
 public:
  explicit AgreeingIndices(const WorkerCoordinates& workers) : m_workers(workers) {}

  /// Turns to a tensor, whose `produced` is not null.
  void select(const TensorRegions& t) {
    if (m_kept > tuning::max_agreeing_kept) {
      m_tables.clear();
      m_kept = 0;
    }
    for (std::size_t k = 0; k < t.bound.size(); ++k) {
      const std::uint32_t of_group = t.store.axes_of(k) & t.aggregated;
      const Key key{t.bound[k],      of_group,           t.store.length[k], t.produced->length[k],
                    t.store.axis[k], t.produced->axis[k]};
      Table& table = m_tables[key];
      if (table.counts.empty()) {
        table.axes = t.produced->axes_of(k) | of_group;
        std::size_t places = 1;
        for (std::uint32_t left = table.axes; left != 0; left &= left - 1) {
          places *= to_index(m_workers.size(to_index(std::countr_zero(left))));
        }
        table.counts.assign(places * m_workers.axes(), -1);
        m_kept += table.counts.size();
      }
      m_selected[k] = &table;
    }
  }

  /// The answers by mesh axis, valid until the next call of select.
  /// \param stored  the boxes of where the selected tensor is stored
  /// \param block   what the worker computes of it
  [[nodiscard]] const Extent* get(const RegionBoxes& stored, const Bounds& block, std::size_t k,
                                  std::size_t worker, std::uint32_t aggregated) {
    Table& table = *m_selected[k];
    std::size_t place = 0;  // by the worker's coordinates along the axes that matter
    for (std::uint32_t left = table.axes; left != 0; left &= left - 1) {
      const std::size_t axis = to_index(std::countr_zero(left));
      place = place * to_index(m_workers.size(axis)) + to_index(m_workers.along(axis)[worker]);
    }
    const std::size_t axes = m_workers.axes();
    Extent* found = table.counts.data() + place * axes;
    if (axes == 0 || *found >= 0) return found;
    std::array<Extent, max_mesh_axes + 1> sums{};
    stored.sum_differing(k, block.lo[k], block.hi[k], worker, aggregated, sums);
    std::partial_sum(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(axes), found);
    return found;
  }

 private:
  /// What the answers depend on.
  struct Key {
    Extent bound;
    std::uint32_t of_group;  ///< axes of the group that cut the dimension where it is stored
    std::uint8_t stored_length, produced_length;
    std::array<std::uint8_t, max_mesh_axes> stored, produced;

    auto operator<=>(const Key&) const = default;
  };
  struct Table {
    std::uint32_t axes = 0;      ///< whose coordinates matter
    std::vector<Extent> counts;  ///< per place, per mesh axis; −1: not asked for yet
  };

  const WorkerCoordinates& m_workers;
  std::map<Key, Table> m_tables;
  std::size_t m_kept = 0;  ///< numbers in all tables
  std::array<Table*, max_rank> m_selected{};
};

}  // namespace eindecomp::plan
