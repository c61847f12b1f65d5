// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Axes that cut labels and dimensions, without allocations: for searches that hold and compare
/// thousands of cuts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"

namespace eindecomp::plan {

/// The most axes of a mesh that is searched: every p up to 2^16 has no more prime factors.
inline constexpr std::size_t max_mesh_axes = 16;

/// AxisLists as searches hold them: which axes of a mesh cut which labels of a statement or
/// dimensions of a tensor, as a pair (axis, entry) for every axis in use. The pairs of one entry
/// are in order, outermost first.
struct AxisCuts {
  std::uint8_t size = 0;
  std::array<std::uint8_t, max_mesh_axes> axis{};
  std::array<std::uint8_t, max_mesh_axes> entry{};

  constexpr bool operator==(const AxisCuts&) const = default;

  constexpr void push(std::size_t a, std::size_t e) {
    axis[size] = static_cast<std::uint8_t>(a);
    entry[size++] = static_cast<std::uint8_t>(e);
  }
  constexpr void erase(std::size_t i) {
    for (std::size_t j = i + 1; j < size; ++j) {
      axis[j - 1] = axis[j];
      entry[j - 1] = entry[j];
    }
    axis[--size] = 0;
    entry[size] = 0;
  }
  constexpr void insert(std::size_t i, std::size_t a, std::size_t e) {
    for (std::size_t j = size++; j > i; --j) {
      axis[j] = axis[j - 1];
      entry[j] = entry[j - 1];
    }
    axis[i] = static_cast<std::uint8_t>(a);
    entry[i] = static_cast<std::uint8_t>(e);
  }
  /// The axes in use, a bit each.
  [[nodiscard]] constexpr std::uint32_t used() const {
    std::uint32_t set = 0;
    for (std::size_t i = 0; i < size; ++i) set |= std::uint32_t{1} << axis[i];
    return set;
  }
  /// The number of parts of an entry: the product of its axes' sizes.
  [[nodiscard]] constexpr Extent parts(const Mesh& mesh, std::size_t of) const {
    Extent n = 1;
    for (std::size_t i = 0; i < size; ++i) {
      if (entry[i] == of) n *= mesh.axes[axis[i]];
    }
    return n;
  }
  /// The same with the entries in order: equal lists are then equal cuts.
  [[nodiscard]] constexpr AxisCuts sorted() const {
    AxisCuts result = *this;
    for (std::size_t i = 1; i < size; ++i) {  // stable
      for (std::size_t j = i; j > 0 && result.entry[j] < result.entry[j - 1]; --j) {
        std::swap(result.entry[j], result.entry[j - 1]);
        std::swap(result.axis[j], result.axis[j - 1]);
      }
    }
    return result;
  }
};

[[nodiscard]] inline AxisCuts cuts_of(const AxisLists& lists) {
  AxisCuts cuts;
  for (std::size_t e = 0; e < lists.size(); ++e) {
    for (int axis : lists[e]) cuts.push(to_index(axis), e);
  }
  return cuts;
}

[[nodiscard]] inline AxisLists lists_of(const AxisCuts& cuts, std::size_t entries) {
  AxisLists lists(entries);
  for (std::size_t i = 0; i < cuts.size; ++i) lists[cuts.entry[i]].push_back(cuts.axis[i]);
  return lists;
}

/// A mesh, and the coordinates of all its workers.
class WorkerCoordinates {
 public:
  /// The mesh has at most max_mesh_axes axes.
  explicit WorkerCoordinates(const Mesh& mesh)
      : m_mesh(mesh),
        m_workers(to_index(mesh.workers())),
        m_coordinates(mesh.axes.size() * m_workers) {
    const std::vector<int> strides = relation::axis_strides(mesh);
    for (std::size_t a = 0; a < axes(); ++a) {
      for (std::size_t w = 0; w < m_workers; ++w) {
        m_coordinates[a * m_workers + w] = static_cast<int>(w) / strides[a] % mesh.axes[a];
      }
    }
  }

  [[nodiscard]] const Mesh& mesh() const { return m_mesh; }
  [[nodiscard]] std::size_t axes() const { return m_mesh.axes.size(); }
  [[nodiscard]] std::size_t workers() const { return m_workers; }
  [[nodiscard]] Extent size(std::size_t axis) const { return m_mesh.axes[axis]; }
  /// The coordinates along one axis, by worker.
  [[nodiscard]] std::span<const int> along(std::size_t axis) const {
    return {m_coordinates.data() + axis * m_workers, m_workers};
  }

 private:
  Mesh m_mesh;
  std::size_t m_workers;
  std::vector<int> m_coordinates;  ///< per axis, per worker
};

/// AxisCuts as one tensor sees them: the box that each worker stores, needs or computes. Per
/// dimension the axes that cut it, outermost first; an axis may cut two dimensions (a diagonal). On
/// the idle axes only coordinate 0 has a box.
struct CutRegion {
  std::array<std::uint8_t, max_rank> length{};
  std::array<std::array<std::uint8_t, max_mesh_axes>, max_rank> axis{};
  std::uint32_t idle = 0;

  constexpr bool operator==(const CutRegion&) const = default;

  constexpr void cut(std::size_t dimension, std::uint8_t by) {
    axis[dimension][length[dimension]++] = by;
  }
  /// A bit for each axis that cuts a dimension.
  [[nodiscard]] constexpr std::uint32_t axes_of(std::size_t dimension) const {
    std::uint32_t found = 0;
    for (std::size_t j = 0; j < length[dimension]; ++j) found |= 1U << axis[dimension][j];
    return found;
  }
};

}  // namespace eindecomp::plan
