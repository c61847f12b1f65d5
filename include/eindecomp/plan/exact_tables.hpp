// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The tables that `exact` adds up and minimises over, and the elimination of one statement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/exact_edges.hpp"
#include "eindecomp/plan/exact_shapes.hpp"

namespace eindecomp::detail {

/// A function of several faces' vectors: the costs between a producer and a consumer, computed as
/// they are needed, or what an elimination left, row by row.
struct CostTable {
  std::vector<std::size_t> shape;
  std::vector<Extent> values;       ///< empty for an edge
  const EdgeCosts* edge = nullptr;  ///< axes: the producer's output, the consumer's reading
};

/// A table as the elimination of one statement sees it. Each of its axes is a face of the statement
/// (axis < 0: face -1-axis) or an axis of the elimination's result.
struct Term {
  const CostTable* table = nullptr;
  std::vector<int> axes;
};

/// The part of a term that is left when the result's axes are fixed: a cost per vector of the one
/// face by which the term depends on the statement, or per state if by several.
class Slice {
 public:
  constexpr Slice(const StatementShape& shape, const Term& term) : m_shape(&shape), m_term(&term) {
    const CostTable& table = *term.table;
    m_strides.assign(table.shape.size(), 1);
    for (std::size_t k = table.shape.size(); k-- > 1;) {
      m_strides[k - 1] = m_strides[k] * table.shape[k];
    }
    int faces = 0;
    for (std::size_t k = 0; k < term.axes.size(); ++k) {
      if (term.axes[k] >= 0) continue;
      ++faces;
      m_face = -1 - term.axes[k];
      m_face_axis = k;
    }
    if (faces != 1) m_face = -1;
    m_costs.resize(m_face >= 0 ? shape.faces[static_cast<std::size_t>(m_face)].size : shape.size());
  }

  /// The face by which the term depends on the statement; -1: by several.
  [[nodiscard]] constexpr int face() const { return m_face; }
  [[nodiscard]] constexpr std::span<const Extent> costs() const { return m_costs; }

  /// The costs at a point of the result. Does nothing if no axis of the term has moved.
  constexpr void move(std::span<const std::size_t> point) {
    const std::size_t place = offset(point);
    if (m_at == place + 1) return;
    m_at = place + 1;
    const CostTable& table = *m_term->table;
    if (m_face < 0) {
      for (std::size_t s = 0; s < m_costs.size(); ++s) {
        std::size_t at = place;
        for (std::size_t k = 0; k < m_strides.size(); ++k) {
          if (m_term->axes[k] >= 0) continue;
          const Face& face = m_shape->faces[static_cast<std::size_t>(-1 - m_term->axes[k])];
          at += m_strides[k] * static_cast<std::size_t>(face.seen[s]);
        }
        m_costs[s] = table.values[at];
      }
    } else if (table.edge == nullptr) {
      const std::size_t stride = m_strides[m_face_axis];
      for (std::size_t i = 0; i < m_costs.size(); ++i)
        m_costs[i] = table.values[place + i * stride];
    } else if (m_face_axis == 0) {
      table.edge->column(point_of(point, 1), m_costs);
    } else {
      table.edge->row(point_of(point, 0), m_costs);
    }
  }

 private:
  [[nodiscard]] constexpr std::size_t point_of(std::span<const std::size_t> point,
                                               std::size_t axis) const {
    return point[static_cast<std::size_t>(m_term->axes[axis])];
  }
  [[nodiscard]] constexpr std::size_t offset(std::span<const std::size_t> point) const {
    std::size_t at = 0;
    for (std::size_t k = 0; k < m_strides.size(); ++k) {
      if (m_term->axes[k] >= 0) at += m_strides[k] * point_of(point, k);
    }
    return at;
  }

  const StatementShape* m_shape;
  const Term* m_term;
  std::vector<std::size_t> m_strides;
  std::vector<Extent> m_costs;
  std::size_t m_at = 0;  // one more than the offset that the costs are of
  std::size_t m_face_axis = 0;
  int m_face = -1;
};

/// The sum of several slices and the statement's own cost, per state.
constexpr void add_slices(const StatementShape& shape, bool own, std::vector<Slice>& slices,
                          std::span<const std::size_t> point, std::vector<Extent>& sums) {
  sums.assign(shape.size(), 0);
  if (own) sums = shape.cost;
  for (Slice& slice : slices) {
    slice.move(point);
    const std::span<const Extent> costs = slice.costs();
    if (slice.face() < 0) {
      for (std::size_t s = 0; s < sums.size(); ++s) sums[s] = add_words(sums[s], costs[s]);
    } else {
      const Face& face = shape.faces[static_cast<std::size_t>(slice.face())];
      for (std::size_t s = 0; s < sums.size(); ++s) {
        sums[s] = add_words(sums[s], costs[static_cast<std::size_t>(face.seen[s])]);
      }
    }
  }
}

/// The rows of A in a product min_u A[row, u] + G[u, column], each sorted, so that the search for a
/// minimum ends where no later sum can be less.
class SortedRows {
 public:
  constexpr SortedRows(std::size_t rows, std::size_t width)
      : m_width(width), m_costs(rows * width), m_sorted(rows * width), m_order(rows * width) {}

  constexpr void set(std::size_t row, std::span<const Extent> costs) {
    const std::size_t begin = row * m_width;
    std::ranges::copy(costs, m_costs.begin() + static_cast<std::ptrdiff_t>(begin));
    const std::span<std::uint32_t> order = std::span(m_order).subspan(begin, m_width);
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::ranges::sort(order, [costs](std::uint32_t a, std::uint32_t b) {
      return costs[a] < costs[b] || (costs[a] == costs[b] && a < b);
    });
    for (std::size_t n = 0; n < m_width; ++n) m_sorted[begin + n] = costs[order[n]];
  }

  /// A column of G, with its least cost and the least of the others.
  struct Column {
    std::span<const Extent> costs;
    std::size_t first = 0;
    Extent second = unaffordable;
    constexpr explicit Column(std::span<const Extent> column) : costs(column) {
      for (std::size_t u = 1; u < column.size(); ++u) {
        if (column[u] < column[first]) {
          second = column[first];
          first = u;
        } else if (column[u] < second) {
          second = column[u];
        }
      }
    }
  };

  [[nodiscard]] constexpr Extent least(std::size_t row, const Column& column) const {
    const std::size_t begin = row * m_width;
    Extent best = add_words(m_costs[begin + column.first], column.costs[column.first]);
    for (std::size_t n = begin; n < begin + m_width; ++n) {
      // All but the column's least cost are at least the second: what remains cannot be better.
      if (m_sorted[n] >= best - column.second) break;
      best = std::min(best, add_words(m_sorted[n], column.costs[m_order[n]]));
    }
    return best;
  }

 private:
  std::size_t m_width;
  std::vector<Extent> m_costs;
  std::vector<Extent> m_sorted;
  std::vector<std::uint32_t> m_order;
};

}  // namespace eindecomp::detail
