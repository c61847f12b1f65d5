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
/// worker. Takes memory for the parts of each dimension, not for blocks or workers.
class BlockMap {
 public:
  constexpr BlockMap() = default;

  /// The lists must be valid for the mesh, and no finer than the bound allows (see
  /// check_placement).
  constexpr BlockMap(const Mesh& mesh, std::vector<Extent> bound, const AxisLists& lists)
      : m_relation{std::move(bound), parts_of(mesh, lists)} {
    const std::vector<int> strides = relation::axis_strides(mesh);
    Flags used(mesh.axes.size(), false);
    for (const std::vector<int>& list : lists) {
      std::vector<int> offsets{0};
      std::vector<Digit> digits;
      for (int axis : list) {
        const auto a = to_index(axis);
        used[a] = true;
        digits.push_back({strides[a], mesh.axes[a]});
        std::vector<int> finer;
        for (int worker : offsets) {
          for (int i = 0; i < mesh.axes[a]; ++i) finer.push_back(worker + i * strides[a]);
        }
        offsets = std::move(finer);
      }
      m_offsets.push_back(std::move(offsets));
      m_digits.push_back(std::move(digits));
    }
    for (std::size_t a = 0; a < used.size(); ++a) {
      if (!used[a]) m_idle.push_back({strides[a], mesh.axes[a]});
    }
  }

  /// The tensor and how it is cut.
  [[nodiscard]] constexpr const TensorRelation& relation() const { return m_relation; }

  /// The worker of a block.
  [[nodiscard]] constexpr int worker(Extent block) const {
    int worker = 0;
    for (std::size_t k = m_offsets.size(); k-- > 0;) {
      const Extent parts = m_relation.parts[k];
      worker += m_offsets[k][to_index(block % parts)];
      block /= parts;
    }
    return worker;
  }

  /// The block of a worker, or -1 if it has none.
  [[nodiscard]] constexpr Extent block(int worker) const {
    for (const Digit& idle : m_idle) {
      if (idle.of(worker) != 0) return -1;
    }
    Extent block = 0;
    for (std::size_t k = 0; k < m_digits.size(); ++k) {
      block = block * m_relation.parts[k] + part(worker, k);
    }
    return block;
  }

  /// By how much the worker's number grows for the part of one dimension; what the dimensions add
  /// is the worker of the block.
  [[nodiscard]] constexpr int offset(std::size_t dimension, Extent part) const {
    return m_offsets[dimension][to_index(part)];
  }

 private:
  /// A coordinate of a worker.
  struct Digit {
    int stride = 1;
    int size = 1;
    [[nodiscard]] constexpr int of(int worker) const { return worker / stride % size; }
  };

  [[nodiscard]] constexpr Extent part(int worker, std::size_t k) const {
    Extent part = 0;
    for (const Digit& digit : m_digits[k]) part = part * digit.size + digit.of(worker);
    return part;
  }

  TensorRelation m_relation;
  std::vector<std::vector<int>> m_offsets;   ///< per dimension, of every part
  std::vector<std::vector<Digit>> m_digits;  ///< per dimension, of its axes, outermost first
  std::vector<Digit> m_idle;                 ///< of the axes that cut nothing
};

}  // namespace eindecomp
