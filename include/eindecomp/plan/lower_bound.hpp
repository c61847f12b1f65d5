// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Lower bounds of the words that a statement moves, however its work is divided.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"

namespace eindecomp {

/// The words that a worker must receive or send to multiply an m × n by an n × k matrix, in any
/// order of m, n and k, on so many workers that share work and matrices evenly; classical
/// multiplication, whatever the memory (Al Daas, Ballard et al. 2022).
[[nodiscard]] inline double matmul_lower_bound(Extent m, Extent n, Extent k, Extent workers) {
  std::array<double, 3> size{static_cast<double>(m), static_cast<double>(n),
                             static_cast<double>(k)};
  std::ranges::sort(size, std::ranges::greater{});
  const auto [a, b, c] = size;
  const auto p = static_cast<double>(workers);
  const double owned = (a * b + a * c + b * c) / p;
  double accessed = 0;
  if (p <= a / b) {
    accessed = (a * b + a * c) / p + b * c;
  } else if (p <= a * b / (c * c)) {
    accessed = 2 * std::sqrt(a * b * c * c / p) + a * b / p;
  } else {
    accessed = 3 * std::pow(a * b * c / p, 2.0 / 3.0);
  }
  return std::max(0.0, accessed - owned);
}

namespace plan {

/// Statements with more tensors, operands and result together, are not bounded. A tensor's private
/// labels count as one more; they are left out if that exceeds the limit.
inline constexpr std::size_t max_bounded_tensors = 6;

/// A statement as the lower bound sees it: what each tensor holds and which labels it has.
struct WorkShape {
  struct Tensor {
    std::uint64_t labels = 0;  ///< bit l: the tensor has the label at position l
    std::size_t variable = 0;  ///< the tensor that it is; one read in two slots is fetched once
  };
  /// The labels of one slot that no other has, such as a filter's rows and columns. The number of
  /// their values is bounded however much of the tensor a worker gets.
  struct Private {
    std::uint64_t labels = 0;
    double values = 1;  ///< the product of their extents
  };
  double points = 1;              ///< scalar operations: the product of all extents
  std::vector<Tensor> slots;      ///< the operands, then the output
  std::vector<Private> privates;  ///< per slot that has some
  std::vector<double> reached;    ///< per variable: elements that the statement looks at
  std::vector<double> size;       ///< per variable: elements
};

[[nodiscard]] inline WorkShape work_shape(const EinGraph& graph, VertexId v) {
  const Vertex& vertex = graph[v];
  WorkShape shape;
  for (Extent extent : vertex.extents) shape.points *= static_cast<double>(extent);
  std::vector<VertexId> tensors;
  const auto add = [&](VertexId tensor, std::span<const int> positions) {
    std::uint64_t labels = 0;
    double reached = 1;
    for (int position : positions) {
      const std::uint64_t bit = std::uint64_t{1} << position;
      if ((labels & bit) != 0) continue;  // of a diagonal only that is read
      labels |= bit;
      reached *= static_cast<double>(vertex.extents[to_index(position)]);
    }
    const auto variable = to_index(std::ranges::find(tensors, tensor) - tensors.begin());
    if (variable == tensors.size()) {
      tensors.push_back(tensor);
      shape.reached.push_back(0);
      shape.size.push_back(static_cast<double>(graph[tensor].size()));
    }
    shape.reached[variable] = std::max(shape.reached[variable], reached);
    shape.slots.push_back({labels, variable});
  };
  for (const Operand& operand : vertex.operands) add(operand.vertex, operand.labels);
  add(v, vertex.output);
  for (std::size_t t = 0; t < shape.slots.size(); ++t) {
    std::uint64_t others = 0;
    for (std::size_t u = 0; u < shape.slots.size(); ++u) {
      if (u != t) others |= shape.slots[u].labels;
    }
    WorkShape::Private own{shape.slots[t].labels & ~others, 1};
    for (std::size_t l = 0; l < vertex.extents.size(); ++l) {
      if (((own.labels >> l) & 1U) != 0) own.values *= static_cast<double>(vertex.extents[l]);
    }
    if (own.labels != 0) shape.privates.push_back(own);
  }
  if (shape.slots.size() + shape.privates.size() > max_bounded_tensors) shape.privates.clear();
  return shape;
}

/// Solves a system of linear equations by Gaussian elimination with pivots. \returns whether it has
/// a unique solution, which is then in `right`.
[[nodiscard]] inline bool solve(std::vector<std::vector<double>>& matrix,
                                std::vector<double>& right) {
  const std::size_t n = right.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r) {
      if (std::abs(matrix[r][c]) > std::abs(matrix[pivot][c])) pivot = r;
    }
    if (std::abs(matrix[pivot][c]) < 1e-12) return false;
    std::swap(matrix[c], matrix[pivot]);
    std::swap(right[c], right[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const double factor = matrix[r][c] / matrix[c][c];
      for (std::size_t k = c; k < n; ++k) matrix[r][k] -= factor * matrix[c][k];
      right[r] -= factor * right[c];
    }
  }
  for (std::size_t c = 0; c < n; ++c) right[c] /= matrix[c][c];
  return true;
}

/// The extreme fractional covers of the labels: the vertices of {s >= 0, Σ_{t∋l} s_t >= 1 for
/// every label l}, one weight per slot, then one per group of private labels.
[[nodiscard]] inline std::vector<std::vector<double>> extreme_covers(const WorkShape& shape) {
  std::vector<std::uint64_t> covered_by;
  for (const WorkShape::Tensor& slot : shape.slots) covered_by.push_back(slot.labels);
  for (const WorkShape::Private& own : shape.privates) covered_by.push_back(own.labels);
  const std::size_t n = covered_by.size();
  // Per label the set of slots that cover it. A superset of another label's set is redundant.
  std::vector<std::uint64_t> holders;
  for (std::size_t l = 0; l < 64; ++l) {
    std::uint64_t slots = 0;
    for (std::size_t t = 0; t < n; ++t) slots |= ((covered_by[t] >> l) & 1U) << t;
    if (slots != 0 && std::ranges::find(holders, slots) == holders.end()) holders.push_back(slots);
  }
  const std::vector<std::uint64_t> all = holders;
  std::erase_if(holders, [&](std::uint64_t wide) {
    return std::ranges::any_of(
        all, [=](std::uint64_t other) { return other != wide && (other & wide) == other; });
  });

  std::vector<std::vector<double>> covers;
  std::vector<std::size_t> tight;  // a constraint per slot: of a label, or that a weight is 0
  const std::size_t constraints = holders.size() + n;
  const auto visit = [&] {
    std::vector<std::vector<double>> matrix(n, std::vector<double>(n, 0.0));
    std::vector<double> weights(n, 0.0);
    for (std::size_t r = 0; r < n; ++r) {
      if (tight[r] >= holders.size()) {
        matrix[r][tight[r] - holders.size()] = 1;
        continue;
      }
      weights[r] = 1;
      for (std::size_t t = 0; t < n; ++t) {
        matrix[r][t] = static_cast<double>((holders[tight[r]] >> t) & 1U);
      }
    }
    if (!solve(matrix, weights)) return;
    constexpr double tolerance = 1e-9;
    for (double& weight : weights) {
      if (weight < -tolerance) return;
      weight = std::max(weight, 0.0);
    }
    for (std::uint64_t slots : holders) {
      double covered = 0;
      for (std::size_t t = 0; t < n; ++t) covered += ((slots >> t) & 1U) != 0 ? weights[t] : 0.0;
      if (covered < 1 - tolerance) return;
    }
    const bool known = std::ranges::any_of(covers, [&](const std::vector<double>& other) {
      return std::ranges::equal(other, weights,
                                [](double a, double b) { return std::abs(a - b) < tolerance; });
    });
    if (!known) covers.push_back(std::move(weights));
  };
  const auto choose = [&](const auto& self, std::size_t first) -> void {
    if (tight.size() == n) return visit();
    for (std::size_t c = first; c + (n - tight.size()) <= constraints; ++c) {
      tight.push_back(c);
      self(self, c + 1);
      tight.pop_back();
    }
  };
  choose(choose, 0);
  return covers;
}

/// Minimises Σ exp(y) subject to rows · y >= right and y >= least by an interior-point method:
/// Newton steps on a logarithmic barrier. Rows are non-negative and sum up to at least 1. (A label
/// that is not private to one tensor is covered by tensors.)
/// \returns a lower bound of the minimum, within a relative 1e-8.
class MinSumOfExponentials {
 public:
  MinSumOfExponentials(std::vector<std::vector<double>> rows, std::vector<double> right,
                       std::vector<double> least)
      : m_rows(std::move(rows)), m_right(std::move(right)), m_least(std::move(least)) {
    const double max_right = *std::ranges::max_element(m_right);
    for (double bound : m_least) m_at.push_back(std::max({bound, max_right, 0.0}) + 1);
  }

  [[nodiscard]] double run() {
    const auto constraints = static_cast<double>(m_rows.size() + m_least.size());
    double gap = constraints;  // of log Σ exp(y): a relative one of the sum
    while (gap > 1e-8) {
      gap /= 8;
      centre(constraints / gap);
    }
    return sum(m_at) * std::exp(-gap);
  }

 private:
  using Point = std::vector<double>;

  [[nodiscard]] static double sum(const Point& y) {
    double total = 0;
    for (double value : y) total += std::exp(value);
    return total;
  }
  [[nodiscard]] double slack(std::size_t row, const Point& y) const {
    double total = -m_right[row];
    for (std::size_t t = 0; t < y.size(); ++t) total += m_rows[row][t] * y[t];
    return total;
  }
  /// weight · log Σ exp(y) − Σ log slack; infinite outside.
  [[nodiscard]] double value(double weight, const Point& y) const {
    double total = weight * std::log(sum(y));
    const auto add = [&total](double space) {
      total = space > 0 ? total - std::log(space) : HUGE_VAL;
    };
    for (std::size_t t = 0; t < y.size(); ++t) add(y[t] - m_least[t]);
    for (std::size_t r = 0; r < m_rows.size(); ++r) add(slack(r, y));
    return total;
  }

  void centre(double weight) {
    const std::size_t n = m_at.size();
    constexpr int max_steps = 200;
    for (int step = 0; step < max_steps; ++step) {
      Point gradient(n, 0.0);
      std::vector<Point> hessian(n, Point(n, 0.0));
      const double total = sum(m_at);
      Point share(n);
      for (std::size_t t = 0; t < n; ++t) share[t] = std::exp(m_at[t]) / total;
      for (std::size_t t = 0; t < n; ++t) {
        const double space = m_at[t] - m_least[t];
        gradient[t] = weight * share[t] - 1 / space;
        hessian[t][t] = weight * share[t] + 1 / (space * space);
        for (std::size_t u = 0; u < n; ++u) hessian[t][u] -= weight * share[t] * share[u];
      }
      for (std::size_t r = 0; r < m_rows.size(); ++r) {
        const std::vector<double>& row = m_rows[r];
        const double space = slack(r, m_at);
        for (std::size_t t = 0; t < n; ++t) {
          gradient[t] -= row[t] / space;
          for (std::size_t u = 0; u < n; ++u) hessian[t][u] += row[t] * row[u] / (space * space);
        }
      }
      Point move = gradient;
      if (!solve(hessian, move)) return;
      double decrement = 0;
      for (std::size_t t = 0; t < n; ++t) decrement += gradient[t] * move[t];
      if (decrement < 1e-10) return;
      const double before = value(weight, m_at);
      double length = 1;
      Point next(n);
      for (; length > 1e-12; length /= 2) {
        for (std::size_t t = 0; t < n; ++t) next[t] = m_at[t] - length * move[t];
        if (value(weight, next) <= before - 0.25 * length * decrement) break;
      }
      if (length <= 1e-12) return;
      m_at = std::move(next);
    }
  }

  std::vector<std::vector<double>> m_rows;
  std::vector<double> m_right;
  std::vector<double> m_least;
  Point m_at;
};

/// The bound of any statement: minimise Σ x_t subject to ∏ x_t^{s_t} · ∏ b_g^{s_g} >= |V|/P for
/// every extreme fractional cover s of the labels and x_t >= |T_t|/P, less what a worker stores
/// anyway. The b_g are the values of the private labels of one tensor. (Without them a convolution
/// has no bound at all: its filter's rows and columns must be covered by the filter, and two
/// tensors of the three are then enough for the work.)
[[nodiscard]] inline double general_lower_bound(const WorkShape& shape, Extent workers) {
  const auto p = static_cast<double>(workers);
  if (shape.slots.size() > max_bounded_tensors) return 0;
  const double right = std::log(shape.points / p);
  std::vector<double> least;
  for (double reached : shape.reached) least.push_back(std::log(reached / p));
  std::vector<std::vector<double>> rows;
  std::vector<double> rights;
  for (const std::vector<double>& cover : extreme_covers(shape)) {
    std::vector<double> row(least.size(), 0.0);
    double by_tensors = right;
    for (std::size_t t = 0; t < shape.slots.size(); ++t) {
      row[shape.slots[t].variable] += cover[t];
    }
    for (std::size_t g = 0; g < shape.privates.size(); ++g) {
      by_tensors -= cover[shape.slots.size() + g] * std::log(shape.privates[g].values);
    }
    double total = 0;
    for (std::size_t t = 0; t < row.size(); ++t) total += row[t] * least[t];
    // Redundant: the bounds on the tensors' sizes imply it.
    if (total >= by_tensors - 1e-9) continue;
    rows.push_back(std::move(row));
    rights.push_back(by_tensors);
  }
  double owned = 0;
  for (std::size_t t = 0; t < shape.size.size(); ++t) {
    owned += std::min(shape.reached[t], shape.size[t] / p);
  }
  double accessed = 0;
  if (rows.empty()) {  // met by the smallest x
    for (double y : least) accessed += std::exp(y);
  } else {
    accessed = MinSumOfExponentials(std::move(rows), std::move(rights), std::move(least)).run();
  }
  const double words = accessed - owned;
  return words > 1e-8 * accessed ? words : 0.0;
}

/// Whether a statement has the labels of a matrix product: three tensors of two labels each, each
/// label in two of them.
[[nodiscard]] inline bool is_matrix_product(const Vertex& vertex, const WorkShape& shape) {
  if (vertex.labels.size() != 3 || shape.slots.size() != 3 || shape.size.size() != 3) return false;
  std::uint64_t seen = 0;
  for (const WorkShape::Tensor& slot : shape.slots) seen |= std::uint64_t{1} << slot.labels;
  return seen ==
         (std::uint64_t{1} << 0b011U | std::uint64_t{1} << 0b101U | std::uint64_t{1} << 0b110U);
}

}  // namespace plan

/// The words that a worker must receive or send for statement v, however the statement is cut, if
/// so many workers share its work evenly, every tensor is stored once, spread evenly, and every
/// scalar operation is done: no memory limit is assumed. Matrix products in closed form, other
/// statements by convex optimisation to 1e-8. 0 where nothing is proven: of inputs, of
/// statements with more than five operands, of those with computed indices or index tensors, and
/// where masks of labels leave joins out.
///
/// A tensor that is read in several slots counts once, and a diagonal as what is read of it.
/// \param masks  of the graph
[[nodiscard]] inline double lower_bound(const EinGraph& graph, const graph::Masks& masks,
                                        VertexId v, int workers) {
  const Vertex& vertex = graph[v];
  if (vertex.is_input() || vertex.labels.empty() || workers <= 1) return 0;
  if (!masks.of(v).empty()) return 0;  // work is shared by values of labels, evenly or not
  if (std::ranges::any_of(vertex.operands, &Operand::is_computed)) return 0;
  if (vertex.op.index_tensors > 0) return 0;  // what is read depends on the indices
  const plan::WorkShape shape = plan::work_shape(graph, v);
  if (plan::is_matrix_product(vertex, shape)) {
    return matmul_lower_bound(vertex.extents[0], vertex.extents[1], vertex.extents[2], workers);
  }
  return plan::general_lower_bound(shape, workers);
}
/// The same of one statement.
[[nodiscard]] inline double lower_bound(const EinGraph& graph, VertexId v, int workers) {
  return lower_bound(graph, graph::Masks(graph), v, workers);
}

}  // namespace eindecomp
