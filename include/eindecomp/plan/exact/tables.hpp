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
#include "eindecomp/plan/ein_decomp/edge_costs.hpp"
#include "eindecomp/plan/ein_decomp/statement_shapes.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/plan/words.hpp"

namespace eindecomp::plan {

/// A cost that depends on several faces' vectors: that between a producer and a consumer, computed
/// on demand, or the result of an elimination, stored row by row.
struct CostTable {
  std::vector<std::size_t> shape;
  std::vector<Extent> values;       ///< empty for an edge
  const EdgeCosts* edge = nullptr;  ///< axes: the producer's output, the consumer's reading

  constexpr bool operator==(const CostTable&) const = default;
  [[nodiscard]] constexpr std::uint64_t hash() const { return hash_of(values); }
};

/// What an axis of a table is to the elimination of one statement.
struct TermAxis {
  int at = 0;  ///< < 0: the statement's face -1-at; else an axis of the elimination's result
  /// The result's axis has all states of a neighbour: per state, what this axis sees of it.
  const std::vector<int>* seen = nullptr;
};

/// A table as the elimination of one statement sees it.
struct Term {
  const CostTable* table = nullptr;
  std::vector<TermAxis> axes;
};

/// A term at one point of the result: a cost per vector of the one face through which the term
/// depends on the statement, or per state if it does so through several.
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
      if (term.axes[k].at >= 0) continue;
      ++faces;
      m_face = -1 - term.axes[k].at;
      m_face_axis = k;
    }
    if (faces != 1) m_face = -1;
    m_costs.resize(m_face >= 0 ? shape.faces[to_index(m_face)].size : shape.size());
  }

  /// The face through which the term depends on the statement; -1: several.
  [[nodiscard]] constexpr int face() const { return m_face; }
  [[nodiscard]] constexpr std::span<const Extent> costs() const { return m_costs; }

  /// Goes to another point of the result. Costs are computed anew only if the term depends on an
  /// axis that changed.
  constexpr void move(std::span<const std::size_t> point) {
    const std::size_t place = offset(point);
    if (m_at == place + 1) return;
    m_at = place + 1;
    const CostTable& table = *m_term->table;
    if (m_face < 0) {
      for (std::size_t s = 0; s < m_costs.size(); ++s) {
        std::size_t at = place;
        for (std::size_t k = 0; k < m_strides.size(); ++k) {
          if (m_term->axes[k].at >= 0) continue;
          const Face& face = m_shape->faces[to_index(-1 - m_term->axes[k].at)];
          at += m_strides[k] * to_index(face.seen[s]);
        }
        m_costs[s] = table.values[at];
      }
    } else if (table.edge == nullptr) {
      const std::size_t stride = m_strides[m_face_axis];
      for (std::size_t i = 0; i < m_costs.size(); ++i) {
        m_costs[i] = table.values[place + i * stride];
      }
    } else if (m_face_axis == 0) {
      table.edge->column(point_of(point, 1), m_costs);
    } else {
      table.edge->row(point_of(point, 0), m_costs);
    }
  }

 private:
  [[nodiscard]] constexpr std::size_t point_of(std::span<const std::size_t> point,
                                               std::size_t axis) const {
    const TermAxis& term = m_term->axes[axis];
    const std::size_t at = point[to_index(term.at)];
    return term.seen == nullptr ? at : to_index((*term.seen)[at]);
  }
  [[nodiscard]] constexpr std::size_t offset(std::span<const std::size_t> point) const {
    std::size_t at = 0;
    for (std::size_t k = 0; k < m_strides.size(); ++k) {
      if (m_term->axes[k].at >= 0) at += m_strides[k] * point_of(point, k);
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

/// Adds several slices at a point to sums per state.
constexpr void add_slices(const StatementShape& shape, std::vector<Slice>& slices,
                          std::span<const std::size_t> point, std::span<Extent> sums) {
  for (Slice& slice : slices) {
    slice.move(point);
    const std::span<const Extent> costs = slice.costs();
    if (slice.face() < 0) {
      for (std::size_t s = 0; s < sums.size(); ++s) sums[s] = add_words(sums[s], costs[s]);
    } else {
      const Face& face = shape.faces[to_index(slice.face())];
      for (std::size_t s = 0; s < sums.size(); ++s) {
        sums[s] = add_words(sums[s], costs[to_index(face.seen[s])]);
      }
    }
  }
}

/// The sum of several slices: per vector of a face if all depend on that face only, else per state.
class SliceSum {
 public:
  constexpr SliceSum(const StatementShape& shape, std::vector<Slice> slices)
      : m_shape(&shape), m_slices(std::move(slices)), m_face(m_slices.front().face()) {
    for (const Slice& slice : m_slices) {
      if (slice.face() != m_face) m_face = -1;
    }
    m_costs.resize(m_face >= 0 ? shape.faces[to_index(m_face)].size : shape.size());
  }

  [[nodiscard]] constexpr int face() const { return m_face; }
  [[nodiscard]] constexpr std::span<const Extent> costs() const {
    return m_slices.size() == 1 ? m_slices.front().costs() : std::span<const Extent>(m_costs);
  }

  constexpr void move(std::span<const std::size_t> point) {
    if (m_slices.size() == 1) {
      m_slices.front().move(point);
      return;
    }
    std::ranges::fill(m_costs, 0);
    if (m_face < 0) {
      add_slices(*m_shape, m_slices, point, m_costs);
      return;
    }
    for (Slice& slice : m_slices) {
      slice.move(point);
      for (std::size_t i = 0; i < m_costs.size(); ++i) {
        m_costs[i] = add_words(m_costs[i], slice.costs()[i]);
      }
    }
  }

 private:
  const StatementShape* m_shape;
  std::vector<Slice> m_slices;
  std::vector<Extent> m_costs;
  int m_face;
};

/// A list of numbers with the minima of every 16 of them, of every 256, and so on.
class MinTree {
 public:
  static constexpr std::size_t fan = tuning::min_tree_fan;

  constexpr explicit MinTree(std::size_t width) {
    m_begin.push_back(0);
    do {
      m_begin.push_back(m_begin.back() + width);
      width = (width + fan - 1) / fan;
    } while (m_begin.back() - m_begin[m_begin.size() - 2] > fan);
    m_values.resize(m_begin.back());
  }

  [[nodiscard]] constexpr std::size_t levels() const { return m_begin.size() - 1; }
  [[nodiscard]] constexpr std::size_t width(std::size_t level) const {
    return m_begin[level + 1] - m_begin[level];
  }
  [[nodiscard]] constexpr const Extent* level(std::size_t level) const {
    return m_values.data() + m_begin[level];
  }

  constexpr void set(std::span<const Extent> values) {
    std::ranges::copy(values, m_values.begin());
    for (std::size_t l = 1; l < levels(); ++l) {
      for (std::size_t n = 0; n < width(l); ++n) {
        const std::size_t end = std::min((n + 1) * fan, width(l - 1));
        Extent min_value = level(l - 1)[n * fan];
        for (std::size_t m = n * fan + 1; m < end; ++m) {
          min_value = std::min(min_value, level(l - 1)[m]);
        }
        m_values[m_begin[l] + n] = min_value;
      }
    }
  }

 private:
  std::vector<std::size_t> m_begin;  // of each level's values
  std::vector<Extent> m_values;
};

/// Finds min_u row[u] + column[u] by branch and bound: descends only where the sum of the two
/// minima is below the best sum so far. Neighbours in a list of vectors cost about the same, so few
/// entries are visited.
class MinSum {
 public:
  /// \param at  in: a guess at u; out: the u that attains the minimum.
  constexpr MinSum(const MinTree& row, const MinTree& column, std::size_t& at)
      : m_row(&row), m_column(&column), m_at(at) {
    m_min = sum(row.level(0)[at], column.level(0)[at]);
    const std::size_t top = row.levels() - 1;
    descend(top, 0, row.width(top));
    at = m_at;
  }
  [[nodiscard]] constexpr Extent value() const {
    return static_cast<Extent>(std::min(m_min, static_cast<std::uint64_t>(unaffordable)));
  }

 private:
  // Unsigned, two costs never overflow.
  [[nodiscard]] static constexpr std::uint64_t sum(Extent a, Extent b) {
    return static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b);
  }
  constexpr void descend(std::size_t level, std::size_t begin, std::size_t end) {
    const Extent* const row = m_row->level(level);
    const Extent* const column = m_column->level(level);
    for (std::size_t n = begin; n < end; ++n) {
      const std::uint64_t bound = sum(row[n], column[n]);
      if (bound >= m_min) continue;
      if (level == 0) {
        m_min = bound;
        m_at = n;
      } else {
        descend(level - 1, n * MinTree::fan,
                std::min((n + 1) * MinTree::fan, m_row->width(level - 1)));
      }
    }
  }

  const MinTree* m_row;
  const MinTree* m_column;
  std::size_t m_at;
  std::uint64_t m_min = 0;
};

}  // namespace eindecomp::plan
