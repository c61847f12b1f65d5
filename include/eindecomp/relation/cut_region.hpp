// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The boxes that the workers of a mesh have of one tensor, given by the axes that cut it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"

namespace eindecomp::detail {

/// The most axes of a mesh whose words are counted so: every p up to 2^16 has no more prime
/// factors.
inline constexpr std::size_t max_mesh_axes = 16;

/// The box of a tensor that each worker stores, needs or computes: per dimension the axes that cut
/// it, outermost first. On the idle axes only coordinate 0 has a box. An axis may cut two
/// dimensions (a diagonal).
struct CutRegion {
  std::array<std::uint8_t, max_rank> length{};
  std::array<std::array<std::uint8_t, max_mesh_axes>, max_rank> axis{};
  std::uint32_t idle = 0;

  constexpr bool operator==(const CutRegion&) const = default;

  constexpr void cut(std::size_t dimension, int by) {
    axis[dimension][length[dimension]++] = static_cast<std::uint8_t>(by);
  }
};

/// The regions of one tensor on which the words depend that it makes workers receive.
struct TensorRegions {
  std::span<const Extent> bound;        ///< the tensor's extents
  const CutRegion& store;               ///< where it is stored
  std::span<const CutRegion> needs;     ///< what the calls of its readers take
  const CutRegion* produced = nullptr;  ///< what the calls of its statement compute; null: an input
  /// The calls that compute parts of one block: the product of the parts of the aggregated labels.
  Extent contributions = 1;
};

/// A mesh, and the coordinates of all its workers.
class WorkerDigits {
 public:
  /// The mesh has at most max_mesh_axes axes.
  explicit WorkerDigits(const Mesh& mesh)
      : m_mesh(mesh),
        m_workers(static_cast<std::size_t>(mesh.workers())),
        m_digits(mesh.axes.size() * m_workers) {
    const std::vector<int> strides = axis_strides(mesh);
    for (std::size_t a = 0; a < axes(); ++a) {
      for (std::size_t w = 0; w < m_workers; ++w) {
        m_digits[a * m_workers + w] = static_cast<int>(w) / strides[a] % mesh.axes[a];
      }
    }
  }

  [[nodiscard]] const Mesh& mesh() const { return m_mesh; }
  [[nodiscard]] std::size_t axes() const { return m_mesh.axes.size(); }
  [[nodiscard]] std::size_t workers() const { return m_workers; }
  [[nodiscard]] Extent size(std::size_t axis) const { return m_mesh.axes[axis]; }
  /// The coordinates along one axis, by worker.
  [[nodiscard]] std::span<const int> along(std::size_t axis) const {
    return {m_digits.data() + axis * m_workers, m_workers};
  }

 private:
  Mesh m_mesh;
  std::size_t m_workers;
  std::vector<int> m_digits;  ///< per axis, per worker
};

}  // namespace eindecomp::detail
