// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The elimination of one statement: the minimum over its states of the sum of all tables that
/// depend on it, as a table over its neighbours' faces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/plan/ein_decomp/statement_shapes.hpp"
#include "eindecomp/plan/exact/tables.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/plan/words.hpp"

namespace eindecomp::plan {

/// Iterates over all points of some axes, the last axis fastest.
class PointWalk {
 public:
  constexpr PointWalk(std::span<const std::size_t> shape, std::vector<std::size_t> axes)
      : m_shape(shape), m_axes(std::move(axes)) {}
  PointWalk(const PointWalk&) = delete;
  PointWalk& operator=(const PointWalk&) = delete;
  constexpr ~PointWalk() = default;  // said, nvcc believes that the type is literal

  [[nodiscard]] constexpr std::size_t count() const {
    std::size_t n = 1;
    for (std::size_t a : m_axes) n *= m_shape[a];
    return n;
  }
  /// The position of a point in this order.
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
/// If some terms share axes that no other term has, this is a product of matrices over (min, +):
/// one factor is the sum of those terms, the other is the sum of all others, minimised over the
/// states that the first factor cannot tell apart.
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

  /// An estimate of run()'s additions; it assumes that the search of a product visits a sixteenth.
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
  /// The axes of the result that a term depends on, in order, each once.
  [[nodiscard]] constexpr std::vector<std::size_t> axes_of(const Term& term) const {
    std::vector<std::size_t> axes;
    for (const TermAxis& axis : term.axes) {
      if (axis.at >= 0) axes.push_back(to_index(axis.at));
    }
    std::ranges::sort(axes);
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    return axes;
  }

  /// The factors of a product: terms of equal axes to the right, all others to the left.
  struct Sides {
    std::vector<std::size_t> left;
    std::vector<std::size_t> right;
    std::vector<std::size_t> rows;     ///< the result's axes that terms to the left depend on
    std::vector<std::size_t> columns;  ///< the other axes
    std::vector<std::size_t> shared;   ///< the rows' axes that those to the right depend on too
  };
  [[nodiscard]] constexpr Sides sides(std::size_t last) const {
    Sides found;
    const std::vector<std::size_t> right_axes = axes_of(m_terms[last]);
    Flags left(m_shape.size(), false);
    for (std::size_t t = 0; t < m_terms.size(); ++t) {
      const std::vector<std::size_t> axes = axes_of(m_terms[t]);
      (axes == right_axes ? found.right : found.left).push_back(t);
      if (axes == right_axes) continue;
      for (std::size_t a : axes) left[a] = true;
    }
    for (std::size_t a = 0; a < m_shape.size(); ++a) {
      (left[a] ? found.rows : found.columns).push_back(a);
    }
    for (std::size_t a : right_axes) {
      if (left[a]) found.shared.push_back(a);
    }
    return found;
  }
  [[nodiscard]] constexpr double points(const std::vector<std::size_t>& axes) const {
    double n = 1;
    for (std::size_t a : axes) n *= static_cast<double>(m_shape[a]);
    return n;
  }
  [[nodiscard]] constexpr double work_with(std::size_t t) const {
    const Sides split = sides(t);
    const double rows = points(split.rows);
    const double columns = points(split.columns);
    const auto states = static_cast<double>(m_statement->size());
    const auto width =
        static_cast<double>(SliceSum(*m_statement, slices(split.right)).costs().size());
    return rows * states * static_cast<double>(split.left.size() + 1) + 2 * rows * width +
           6 * points(split.shared) * columns * width * static_cast<double>(split.right.size()) +
           rows * columns * (8 + width / 16);
  }

  [[nodiscard]] constexpr std::vector<Slice> slices(const std::vector<std::size_t>& terms) const {
    std::vector<Slice> made;
    for (std::size_t t : terms) made.emplace_back(*m_statement, m_terms[t]);
    return made;
  }
  /// The statement's own cost and some terms at a point, per state.
  constexpr void add_left(std::vector<Slice>& terms, std::span<const std::size_t> point,
                          std::vector<Extent>& sums) const {
    if (m_own) {
      sums = m_statement->cost;
    } else {
      sums.assign(m_statement->size(), 0);
    }
    add_slices(*m_statement, terms, point, sums);
  }
  [[nodiscard]] static constexpr std::vector<std::size_t> numbers_below(std::size_t n) {
    std::vector<std::size_t> numbers(n);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    return numbers;
  }

  constexpr void add_up(CostTable& result) const {
    const PointWalk walk(m_shape, numbers_below(m_shape.size()));
    std::vector<Slice> terms = slices(numbers_below(m_terms.size()));
    std::vector<std::size_t> point(m_shape.size(), 0);
    std::vector<Extent> sums;
    for (Extent& value : result.values) {
      add_left(terms, point, sums);
      value = *std::ranges::min_element(sums);
      walk.advance(point);
    }
  }

  constexpr void multiply(CostTable& result) const {
    Sides split = sides(to_index(m_last));
    SliceSum last(*m_statement, slices(split.right));
    std::vector<Slice> others = slices(split.left);
    const PointWalk rows(m_shape, std::move(split.rows));
    const PointWalk columns(m_shape, std::move(split.columns));
    const PointWalk shared(m_shape, std::move(split.shared));
    const PointWalk all(m_shape, numbers_below(m_shape.size()));

    std::vector<MinTree> trees(rows.count(), MinTree(last.costs().size()));
    std::vector<std::vector<std::size_t>> groups(shared.count());  // rows, by the shared axes
    std::vector<std::size_t> row_place;
    std::vector<std::size_t> point(m_shape.size(), 0);
    std::vector<Extent> sums;
    std::vector<Extent> min_costs(last.costs().size());
    for (std::size_t row = 0; row < rows.count(); ++row) {
      add_left(others, point, sums);
      if (last.face() < 0) {
        trees[row].set(sums);
      } else {
        std::ranges::fill(min_costs, unaffordable);
        const Face& face = m_statement->faces[to_index(last.face())];
        for (std::size_t s = 0; s < sums.size(); ++s) {
          Extent& known = min_costs[to_index(face.seen[s])];
          known = std::min(known, sums[s]);
        }
        trees[row].set(min_costs);
      }
      groups[shared.place(point)].push_back(row);
      row_place.push_back(all.place(point));
      rows.advance(point);
    }

    // `point` is the first point again. Positions are linear in the point, so those of rows and
    // columns add up. Several columns are held at a time, so that a row is read once for all of
    // them.
    std::vector<std::size_t> column_point(m_shape.size(), 0);
    std::vector<MinTree> costs(std::min(tuning::held_columns, columns.count()),
                               MinTree(last.costs().size()));
    std::vector<std::size_t> column_place(costs.size());
    std::vector<std::size_t> best(rows.count(), 0);  // the last column's is a good guess
    for (const std::vector<std::size_t>& group : groups) {
      for (std::size_t done = 0; done < columns.count();) {
        const std::size_t held = std::min(tuning::held_columns, columns.count() - done);
        for (std::size_t n = 0; n < held; ++n) {
          last.move(point);
          costs[n].set(last.costs());
          column_place[n] = all.place(column_point);
          columns.advance(point);
          columns.advance(column_point);
        }
        for (std::size_t row : group) {
          for (std::size_t n = 0; n < held; ++n) {
            result.values[row_place[row] + column_place[n]] =
                MinSum(trees[row], costs[n], best[row]).value();
          }
        }
        done += held;
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

}  // namespace eindecomp::plan
