// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The elimination of one statement: the least sum of the tables that depend on it, over its
/// states, as a table of what its neighbours show it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/cost.hpp"
#include "eindecomp/plan/exact_shapes.hpp"
#include "eindecomp/plan/exact_tables.hpp"

namespace eindecomp::detail {

/// Steps through all points of some axes, the last axis fastest.
class PointWalk {
 public:
  constexpr PointWalk(std::span<const std::size_t> shape, std::vector<std::size_t> axes)
      : m_shape(shape), m_axes(std::move(axes)) {}
  [[nodiscard]] constexpr std::size_t count() const {
    std::size_t n = 1;
    for (std::size_t a : m_axes) n *= m_shape[a];
    return n;
  }
  /// Where a point lies among the points of this walk's axes.
  [[nodiscard]] constexpr std::size_t place(std::span<const std::size_t> point) const {
    std::size_t at = 0;
    for (std::size_t a : m_axes) at = at * m_shape[a] + point[a];
    return at;
  }
  constexpr void advance(std::vector<std::size_t>& point) const {
    for (std::size_t n = m_axes.size(); n-- > 0;) {
      const std::size_t a = m_axes[n];
      if (++point[a] < m_shape[a]) return;
      point[a] = 0;
    }
  }

 private:
  std::span<const std::size_t> m_shape;
  std::vector<std::size_t> m_axes;
};

/// R[axes] = min over a statement's states of its own cost + Σ terms.
///
/// A term that alone depends on some of the axes is not added up state by state: the others are
/// summed and minimised first, as far as that term can tell states apart, and the minimum over
/// their sums and the term is a product of matrices over (min, +).
class StatementElimination {
 public:
  /// \param own  whether the statement's own cost is counted.
  constexpr StatementElimination(const StatementShape& statement, bool own, std::vector<Term> terms,
                                 std::vector<std::size_t> shape)
      : m_statement(&statement), m_own(own), m_terms(std::move(terms)), m_shape(std::move(shape)) {
    m_work = static_cast<double>(m_statement->size()) * static_cast<double>(m_terms.size() + 1);
    for (std::size_t n : m_shape) m_work *= static_cast<double>(n);
    for (std::size_t t = 0; t < m_terms.size(); ++t) {
      const double work = work_with(t);
      if (work >= m_work) continue;
      m_work = work;
      m_last = static_cast<int>(t);
    }
  }

  /// About how many additions run() does, if the search in a product goes through an eighth.
  [[nodiscard]] constexpr double work() const { return m_work; }

  [[nodiscard]] constexpr CostTable run() const {
    CostTable result{m_shape, {}, nullptr};
    std::size_t size = 1;
    for (std::size_t n : m_shape) size *= n;
    result.values.resize(size);
    if (m_last < 0) {
      add_up(result);
    } else {
      multiply(result);
    }
    return result;
  }

 private:
  /// The axes of term `t` that no other term has, or all the others.
  [[nodiscard]] constexpr std::vector<std::size_t> axes_of(std::size_t t, bool alone) const {
    std::vector<bool> only(m_shape.size(), true);
    for (std::size_t n = 0; n < m_terms.size(); ++n) {
      for (int axis : m_terms[n].axes) {
        if (axis >= 0 && n != t) only[static_cast<std::size_t>(axis)] = false;
      }
    }
    std::vector<std::size_t> axes;
    for (std::size_t a = 0; a < only.size(); ++a) {
      if (only[a] == alone) axes.push_back(a);
    }
    return axes;
  }
  /// The axes of term `t` that others have too.
  [[nodiscard]] constexpr std::vector<std::size_t> shared_axes(std::size_t t) const {
    std::vector<std::size_t> axes = axes_of(t, false);
    std::erase_if(axes, [&](std::size_t a) {
      return std::ranges::find(m_terms[t].axes, static_cast<int>(a)) == m_terms[t].axes.end();
    });
    return axes;
  }
  [[nodiscard]] constexpr double points(const std::vector<std::size_t>& axes) const {
    double n = 1;
    for (std::size_t a : axes) n *= static_cast<double>(m_shape[a]);
    return n;
  }
  [[nodiscard]] constexpr double work_with(std::size_t t) const {
    const double rows = points(axes_of(t, false));
    const double columns = points(axes_of(t, true));
    const auto states = static_cast<double>(m_statement->size());
    const auto width = static_cast<double>(Slice(*m_statement, m_terms[t]).costs().size());
    return rows * states * static_cast<double>(m_terms.size()) + 16 * rows * width +
           4 * points(shared_axes(t)) * columns * width + rows * columns * (1 + width / 8);
  }

  [[nodiscard]] constexpr std::vector<Slice> slices(int without) const {
    std::vector<Slice> made;
    for (std::size_t t = 0; t < m_terms.size(); ++t) {
      if (static_cast<int>(t) != without) made.emplace_back(*m_statement, m_terms[t]);
    }
    return made;
  }

  constexpr void add_up(CostTable& result) const {
    std::vector<std::size_t> all(m_shape.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const PointWalk walk(m_shape, all);
    std::vector<Slice> terms = slices(-1);
    std::vector<std::size_t> point(m_shape.size(), 0);
    std::vector<Extent> sums;
    for (Extent& value : result.values) {
      add_slices(*m_statement, m_own, terms, point, sums);
      value = *std::ranges::min_element(sums);
      walk.advance(point);
    }
  }

  constexpr void multiply(CostTable& result) const {
    const auto t = static_cast<std::size_t>(m_last);
    Slice last(*m_statement, m_terms[t]);
    const PointWalk rows(m_shape, axes_of(t, false));
    const PointWalk columns(m_shape, axes_of(t, true));
    const PointWalk shared(m_shape, shared_axes(t));
    std::vector<std::size_t> everything(m_shape.size());
    std::iota(everything.begin(), everything.end(), std::size_t{0});
    const PointWalk all(m_shape, std::move(everything));

    SortedRows sorted(rows.count(), last.costs().size());
    std::vector<std::vector<std::size_t>> groups(shared.count());  // rows, by the shared axes
    std::vector<std::size_t> row_place;
    std::vector<std::size_t> point(m_shape.size(), 0);
    std::vector<Slice> others = slices(m_last);
    std::vector<Extent> sums;
    std::vector<Extent> least(last.costs().size());
    for (std::size_t row = 0; row < rows.count(); ++row) {
      add_slices(*m_statement, m_own, others, point, sums);
      if (last.face() < 0) {
        sorted.set(row, sums);
      } else {
        std::ranges::fill(least, unaffordable);
        const Face& face = m_statement->faces[static_cast<std::size_t>(last.face())];
        for (std::size_t s = 0; s < sums.size(); ++s) {
          Extent& known = least[static_cast<std::size_t>(face.seen[s])];
          known = std::min(known, sums[s]);
        }
        sorted.set(row, least);
      }
      groups[shared.place(point)].push_back(row);
      row_place.push_back(all.place(point));
      rows.advance(point);
    }

    // Back at the first point. A place is linear in the point, so those of rows and columns add up.
    std::vector<std::size_t> column_point(m_shape.size(), 0);
    for (const std::vector<std::size_t>& group : groups) {
      for (std::size_t column = 0; column < columns.count(); ++column) {
        last.move(point);
        const SortedRows::Column costs(last.costs());
        const std::size_t column_place = all.place(column_point);
        for (std::size_t row : group) {
          result.values[row_place[row] + column_place] = sorted.least(row, costs);
        }
        columns.advance(point);
        columns.advance(column_point);
      }
      shared.advance(point);
    }
  }

  const StatementShape* m_statement;
  bool m_own;
  std::vector<Term> m_terms;
  std::vector<std::size_t> m_shape;
  double m_work = 0;
  int m_last = -1;
};

}  // namespace eindecomp::detail
