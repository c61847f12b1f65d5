// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The map from the blocks of a relation to the workers that hold or compute them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/tensor_relation.hpp"

namespace eindecomp {

/// A relation laid out on a mesh by axis lists: every block on one worker, at most one block per
/// worker.
class BlockMap {
 public:
  constexpr BlockMap() = default;

  /// The lists must be valid for the mesh, and no finer than the bound allows (see
  /// check_placement).
  constexpr BlockMap(const Mesh& mesh, std::vector<Extent> bound, const AxisLists& lists)
      : m_relation{std::move(bound), parts_of(mesh, lists)},
        m_block_of(to_index(mesh.workers()), -1) {
    const std::vector<int> strides = axis_strides(mesh);
    // Dimension by dimension, the worker of every key so far.
    m_worker_of = {0};
    for (const std::vector<int>& list : lists) {
      std::vector<int> parts{0};
      for (int axis : list) {
        const auto a = to_index(axis);
        std::vector<int> finer;
        for (int worker : parts) {
          for (int i = 0; i < mesh.axes[a]; ++i) finer.push_back(worker + i * strides[a]);
        }
        parts = std::move(finer);
      }
      std::vector<int> longer;
      longer.reserve(m_worker_of.size() * parts.size());
      for (int worker : m_worker_of) {
        for (int part : parts) longer.push_back(worker + part);
      }
      m_worker_of = std::move(longer);
    }
    for (std::size_t n = 0; n < m_worker_of.size(); ++n) {
      m_block_of[to_index(m_worker_of[n])] = static_cast<Extent>(n);
    }
  }

  /// The tensor and how it is cut.
  [[nodiscard]] constexpr const TensorRelation& relation() const { return m_relation; }

  /// The worker of a block.
  [[nodiscard]] constexpr int worker(Extent block) const { return m_worker_of[to_index(block)]; }

  /// The block of a worker, or -1 if it has none.
  [[nodiscard]] constexpr Extent block(int worker) const { return m_block_of[to_index(worker)]; }

 private:
  TensorRelation m_relation;
  std::vector<int> m_worker_of;
  std::vector<Extent> m_block_of;
};

}  // namespace eindecomp
