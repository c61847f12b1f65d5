// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The labels of a derivative: which statement gives the cotangent of one operand from that of the
/// result. Knows no operators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/derived_reads.hpp"
#include "eindecomp/graph/index_form.hpp"

namespace eindecomp::graph {

/// Statements around statement v that give the cotangent of its operand X.
///
/// The cotangent has X's dimensions, each under a label of its own. Where X is read under labels,
/// these are they. Where an index of X is computed, y + r - 1 say, one of its labels is replaced in
/// all that is read: y by p - r + 1, where p is the index into X. Values of p - r + 1 that no y has
/// read a 0 of the result's cotangent. Where no label can be replaced (a diagonal, one index for
/// all, a stride), the cotangent is read as a tensor with a dimension of extent 1 more, at an index
/// that is 0 where X's index is p.
///
/// Where an index of X leaves it and comes back (periodic, clamp, reflect), the dimension is that
/// of X with the borders that are read, and borders() says so.
///
/// A label whose value is taken is not replaced.
class DerivedStatement : public DerivedReads {
 public:
  DerivedStatement(const DerivativeScope& scope, VertexId v, std::size_t operand,
                   Cotangent cotangent, std::vector<VertexId> more)
      : DerivedReads(scope, v, std::move(cotangent), std::move(more)), m_operand(operand) {
    for (std::size_t l = 0; l < m_vertex.labels.size(); ++l) {
      m_forms.push_back(form_of(static_cast<int>(l)));
    }
    m_names.reserve(m_names.size() + 3 * static_cast<std::size_t>(max_rank));
    m_bound = scope.graph[m_vertex.operands[operand].vertex].bound;
    name_dimensions();
    read_as_result();
  }

  /// Whether every index of the operand is a label, each another.
  [[nodiscard]] bool is_plain() const { return m_plain; }

  /// Whether the derivative looks at elements of operands that v may not: of X itself, and of those
  /// whose labels are replaced.
  [[nodiscard]] bool looks_at_unread(std::span<const int> leaves) const {
    const auto is_replaced = [&](const auto& term) {
      return !(m_forms[static_cast<std::size_t>(term.first)] == form_of(term.first));
    };
    return std::any_of(leaves.begin(), leaves.end(), [&](int leaf) {
      if (leaf >= static_cast<int>(m_vertex.operands.size())) return false;
      if (leaf == static_cast<int>(m_operand)) return true;
      const std::vector<IndexForm> forms =
          forms_of(m_vertex.operands[static_cast<std::size_t>(leaf)]);
      return std::any_of(forms.begin(), forms.end(), [&](const IndexForm& form) {
        return std::any_of(form.terms.begin(), form.terms.end(), is_replaced);
      });
    });
  }

  /// Lets what is read besides the cotangent be 1 where a replaced label has no value, so that what
  /// divides by it is no NaN there: the cotangent is 0.
  void read_ones_outside() { m_ones_outside = true; }
  /// Lets the result be ∞ there, so that exp(… - result) is 0.
  void read_infinite_result() { m_infinite_result = true; }
  /// Notes the labels that ⊗ takes the values of and that nothing else that is read has.
  void note_bare_values(std::span<const int> leaves) {
    std::vector<int> seen = m_dimensions;
    for (const int leaf : leaves) {
      if (!is_value(leaf)) (void)read_transposed(leaf, seen);
    }
    for (const int leaf : leaves) {
      if (is_value(leaf) && !contains(seen, value_of(leaf))) m_bare.push_back(value_of(leaf));
    }
    for (int k = 0; k < m_vertex.op.index_tensors; ++k) {
      const int l = m_vertex.values[static_cast<std::size_t>(k)];  // is looked up
      if (!contains(seen, l)) m_bare.push_back(l);
    }
  }
  /// Whether the cotangent lacks dimensions that indices are to be compared by, or those of bare
  /// values.
  [[nodiscard]] bool is_to_be_widened() const {
    return !m_residuals.empty() || !lacking_labels().empty();
  }
  /// The cotangent with those dimensions.
  [[nodiscard]] StatementSpec widened(std::string_view name) const {
    StatementSpec spec = begin(name);
    spec.operands.push_back(read(m_cotangent.vertex, m_cotangent.writing, m_cotangent_forms));
    for (const IndexForm& form : m_cotangent_forms) write(spec, form.terms[0].first, 0);
    for (const int l : lacking_labels()) write(spec, l, m_extents[static_cast<std::size_t>(l)]);
    for (const Residual& residual : m_residuals) write(spec, residual.wide, 1);
    return spec;
  }
  /// Lets the widened one be read.
  void set_widened(VertexId vertex, int writing) {
    const std::vector<int> lacking = lacking_labels();
    for (const int l : lacking) m_cotangent_forms.push_back(form_of(l));
    for (const Residual& residual : m_residuals) m_cotangent_forms.push_back(residual.form);
    m_cotangent.vertex = vertex;
    m_cotangent.writing = writing;
  }

  /// The statement that reads what is numbered. Its output has X's dimensions, but for those along
  /// which it is constant; `all`: and all other labels; `values`: and those of X whose values v
  /// takes.
  [[nodiscard]] StatementSpec statement(std::string_view name, std::span<const int> leaves,
                                        bool all = false, bool values = false) {
    StatementSpec spec = begin(name);
    std::vector<int> seen;
    for (const int l : m_vertex.values) {
      if (values && contains(m_dimensions, l)) seen.push_back(l);
    }
    for (const int leaf : leaves) {
      if (is_value(leaf)) {
        take_value(spec, leaf, seen);
      } else {
        spec.operands.push_back(read_transposed(leaf, seen));
      }
    }
    if (m_plain) {
      take_mask(spec);
      take_conditions(m_vertex.operands[m_operand].mask, spec);  // 0 where X is not looked at
    }
    m_dims.clear();
    for (std::size_t k = 0; k < m_dimensions.size(); ++k) {
      if (!contains(seen, m_dimensions[k])) continue;
      if (!all) write(spec, m_dimensions[k], m_bound[k]);
      m_dims.push_back(static_cast<int>(k));
    }
    for (int l = 0; all && l < static_cast<int>(m_names.size()); ++l) {
      if (contains(seen, l)) write(spec, l, m_extents[static_cast<std::size_t>(l)]);
    }
    m_aggregates =
        std::any_of(seen.begin(), seen.end(), [&](int l) { return !contains(m_dimensions, l); });
    return spec;
  }
  /// The sum of what statement(…, true) wrote, or a multiple of what statement() wrote.
  [[nodiscard]] StatementSpec after(std::string_view name, VertexId vertex, int writing,
                                    const StatementSpec& before) const {
    StatementSpec spec = reading(name, vertex, writing, before);
    for (const int k : m_dims) {
      write(spec, m_dimensions[static_cast<std::size_t>(k)], m_bound[static_cast<std::size_t>(k)]);
    }
    return spec;
  }
  /// Whether the last statement() has labels that its output lacks.
  [[nodiscard]] bool aggregates() const { return m_aggregates; }
  /// What the last statement() gave.
  [[nodiscard]] Cotangent result(VertexId vertex, int writing) const {
    return {0, vertex, writing, m_dims, dimension_names()};
  }
  [[nodiscard]] std::vector<Text> dimension_names() const {
    std::vector<Text> names;
    for (const int l : m_dimensions) names.push_back(m_names[static_cast<std::size_t>(l)]);
    return names;
  }

  /// How many values take the labels that are summed over and in nothing that is read.
  [[nodiscard]] double repetitions(std::span<const int> leaves) const {
    std::vector<int> seen;
    for (const int leaf : leaves) note(leaf, seen);
    double count = 1;
    for (std::size_t l = 0; l < m_vertex.labels.size(); ++l) {
      const int at = static_cast<int>(l);
      const bool replaced = !(m_forms[l] == form_of(at));
      if (replaced || contains(m_dimensions, at) || contains(seen, at)) continue;
      count *= static_cast<double>(m_extents[l]);
    }
    return count;
  }

 private:
  /// An index that is 0 where a dimension's label has the value that the operand is read at.
  struct Residual {
    int wide;  ///< the label of the cotangent's additional dimension
    IndexForm form;
  };

  [[nodiscard]] int fresh(Text name, Extent extent) {
    while (std::find(m_names.begin(), m_names.end(), name) != m_names.end()) name += '\'';
    m_names.push_back(std::move(name));
    m_extents.push_back(extent);
    return static_cast<int>(m_names.size()) - 1;
  }

  /// Gives every dimension of X its label.
  void name_dimensions() {
    const Operand& x = m_vertex.operands[m_operand];
    const std::size_t rank = m_bound.size();
    m_dimensions.assign(rank, -1);
    m_plain = true;
    for (std::size_t k = 0; k < rank; ++k) {
      const IndexForm form = index_of(x, k);
      const bool is_label = form.terms.size() == 1 && form == form_of(form.terms[0].first);
      // A label may run over fewer values than the dimension has.
      if (is_label && !contains(m_dimensions, form.terms[0].first) &&
          m_extents[static_cast<std::size_t>(form.terms[0].first)] == m_bound[k]) {
        m_dimensions[k] = form.terms[0].first;
      } else {
        m_plain = false;
      }
    }
    for (std::size_t k = 0; k < rank; ++k) {
      if (m_dimensions[k] < 0) replace_label(x, k);
    }
  }
  void replace_label(const Operand& x, std::size_t k) {
    IndexForm form = unfolded(index_of(x, k), k);
    int replaced = -1;
    Extent coefficient = 0;
    int best = -1;
    for (const auto& term : form.terms) {
      if (contains(m_vertex.values, term.first)) continue;
      if (is_elsewhere(x, k, term.first)) continue;
      // That of an output label needs no wider cotangent, that without a factor no division.
      const bool is_one = term.second == 1 || term.second == -1;
      if (!is_one && is_folded(term.first)) continue;
      const int worth = (contains(m_vertex.output, term.first) ? 2 : 0) + (is_one ? 1 : 0);
      if (worth <= best) continue;
      best = worth;
      replaced = term.first;
      coefficient = term.second;
    }
    if (replaced < 0) {
      const Text name = form.terms.empty() ? Text("at") : name_of(form.terms[0].first);
      m_dimensions[k] = fresh(name + "'", m_bound[k]);
      Residual residual{fresh(name + "*", 1), form_of(m_dimensions[k])};
      add(residual.form, form, -1);
      m_residuals.push_back(std::move(residual));
      return;
    }
    // The label's name goes to the dimension; the label itself is read no more: of
    // divisor · p = coefficient · label + rest it is (divisor · p - rest) / coefficient.
    m_names.push_back(name_of(replaced));
    m_extents.push_back(m_bound[k]);
    m_dimensions[k] = static_cast<int>(m_names.size()) - 1;
    const Extent sign = coefficient < 0 ? -1 : 1;
    IndexForm rest = form;
    rest.divisor = 1;
    add(rest, form_of(replaced), -coefficient);
    IndexForm solved;
    add(solved, form_of(m_dimensions[k]), sign * form.divisor);
    add(solved, rest, -sign);
    solved.divisor = sign * coefficient;
    m_forms[static_cast<std::size_t>(replaced)] = std::move(solved);
  }
  /// An index that may leave a dimension and comes back into it, as one into the tensor with
  /// borders.
  [[nodiscard]] IndexForm unfolded(IndexForm form, std::size_t k) {
    const Boundary boundary = std::exchange(form.boundary, Boundary::ignored);
    if (boundary == Boundary::ignored) return form;
    Extent lo = form.offset;
    Extent hi = form.offset;
    for (const auto& term : form.terms) {
      const Extent reach = term.second * (m_extents[static_cast<std::size_t>(term.first)] - 1);
      lo += std::min<Extent>(reach, 0);
      hi += std::max<Extent>(reach, 0);
    }
    m_borders.push_back({k, m_bound[k], lo, hi - lo + 1, boundary});
    m_bound[k] = hi - lo + 1;
    form.offset -= lo;
    return form;
  }
  [[nodiscard]] Text name_of(int l) const { return m_names[static_cast<std::size_t>(l)]; }
  /// Whether a label is in another index of the operand than k, or stands for a dimension.
  [[nodiscard]] bool is_elsewhere(const Operand& x, std::size_t k, int l) const {
    if (contains(m_dimensions, l)) return true;
    for (std::size_t other = 0; other < m_bound.size(); ++other) {
      if (other == k) continue;
      for (const auto& term : index_of(x, other).terms) {
        if (term.first == l) return true;
      }
    }
    return false;
  }

  /// Whether a label is in an index that comes back into its tensor, where no quotient may stand
  /// for it.
  [[nodiscard]] bool is_folded(int l) const {
    for (const Operand& operand : m_vertex.operands) {
      for (const OperandIndex& index : operand.indices) {
        if (index.boundary == Boundary::ignored || index.boundary == Boundary::zero) continue;
        for (const auto& term : index.terms) {
          if (term.label == l) return true;
        }
      }
    }
    return false;
  }

  /// Replaced labels that the cotangent does not have, so that it would not be 0 outside of them,
  /// and those that nothing else has.
  [[nodiscard]] std::vector<int> lacking_labels() const {
    std::vector<int> lacking;
    for (std::size_t l = 0; l < m_forms.size(); ++l) {
      const int at = static_cast<int>(l);
      const auto is_it = [at](const IndexForm& form) { return form == form_of(at); };
      if ((!is_it(m_forms[l]) || contains(m_bare, at)) &&
          std::none_of(m_cotangent_forms.begin(), m_cotangent_forms.end(), is_it)) {
        lacking.push_back(at);
      }
    }
    return lacking;
  }

  /// Notes the labels of what is numbered.
  void note(int number, std::vector<int>& seen) const {
    if (!is_value(number)) {
      (void)read_transposed(number, seen);
    } else if (!contains(seen, value_of(number))) {
      seen.push_back(value_of(number));
    }
  }
  [[nodiscard]] StatementSpec::OperandSpec read_transposed(int number,
                                                           std::vector<int>& seen) const {
    Leaf leaf = leaf_of(number);
    if (number == static_cast<int>(m_operand)) {
      leaf.forms.clear();
      for (const int l : m_dimensions) leaf.forms.push_back(form_of(l));
      for (const Border& border : m_borders) {
        leaf.forms[border.dimension].offset = border.first;
        leaf.forms[border.dimension].boundary = border.boundary;
      }
    }
    const bool stays = leaf.outside == OutsideValue::none;
    const bool is_index = number < m_vertex.op.index_tensors;  // 1 may be none
    if (m_ones_outside && stays && !is_index && number != number_of_cotangent()) {
      leaf.outside = OutsideValue::one;
    }
    const bool is_result = number == number_of_cotangent() + 1;
    if (m_infinite_result && is_result) leaf.outside = OutsideValue::highest;
    std::vector<IndexForm> forms;
    for (const IndexForm& form : leaf.forms) {
      IndexForm replaced;
      replaced.offset = form.offset;
      for (const auto& [l, coefficient] : form.terms) {
        const auto at = static_cast<std::size_t>(l);
        add(replaced, at < m_forms.size() ? m_forms[at] : form_of(l), coefficient);
      }
      replaced.divisor *= form.divisor;
      replaced.boundary = form.boundary;
      forms.push_back(std::move(replaced));
    }
    DerivedReads::note(forms, seen);
    StatementSpec::OperandSpec operand = read(leaf.vertex, leaf.writing, forms, leaf.outside);
    operand.absorbing = number == number_of_cotangent();
    return operand;
  }

  std::size_t m_operand;
  std::vector<IndexForm> m_forms;  // what is read in place of each of v's labels
  std::vector<Extent> m_bound;     // of X, with its borders
  std::vector<int> m_dimensions;   // the label of each dimension of X
  std::vector<Residual> m_residuals;
  std::vector<int> m_bare;  // labels whose values ⊗ takes and that nothing that is read has
  bool m_plain = true;
  bool m_ones_outside = false;
  bool m_infinite_result = false;
  std::vector<int> m_dims;  // of the last statement
  bool m_aggregates = false;
};

}  // namespace eindecomp::graph
