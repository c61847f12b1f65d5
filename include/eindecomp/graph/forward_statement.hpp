// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The labels of a tangent: which statement gives what the tangent of one operand contributes to
/// that of the result. Knows no operators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/graph/derived_reads.hpp"

namespace eindecomp::graph {

/// Statements under the labels of statement v that read the tangent of its operand X where v reads
/// X. Where v reads outside of X, whatever it reads there, the tangent is 0. What is read is
/// numbered as DerivedReads says, with the tangent as n.
class ForwardStatement : public DerivedReads {
 public:
  /// \param tangent  of all dimensions of X if an index of X is computed
  ForwardStatement(const DerivativeScope& scope, VertexId v, std::size_t operand, Cotangent tangent,
                   std::vector<VertexId> more)
      : DerivedReads(scope, v, std::move(tangent), std::move(more)) {
    const Operand& x = m_vertex.operands[operand];
    const std::vector<IndexForm> forms = forms_of(x);
    for (const int d : m_cotangent.dims) {
      m_cotangent_forms.push_back(forms[static_cast<std::size_t>(d)]);
    }
    std::vector<int> seen;
    for (const int l : x.labels) {
      m_plain = m_plain && !contains(seen, l);
      seen.push_back(l);
    }
    m_plain = m_plain && !x.is_computed();
  }

  /// Whether every index of the operand is a label, each another.
  [[nodiscard]] bool is_plain() const { return m_plain; }
  /// The tangent, where v reads the operand.
  [[nodiscard]] StatementSpec::OperandSpec read_tangent() const {
    return read(m_cotangent.vertex, m_cotangent.writing, m_cotangent_forms);
  }
  /// Tangents are 0 there, so that all else may be anything that is a number.
  void read_ones_outside() {}
  void read_infinite_result() {}

  /// Notes the labels that v takes the values of and that nothing that is read or written has.
  void note_bare_values(std::span<const int> leaves) {
    std::vector<int> seen = m_vertex.output;
    for (const int leaf : leaves) {
      if (!is_value(leaf)) (void)read_forward(leaf, seen);
    }
    const auto add_bare = [&](int l) {
      if (!contains(seen, l) && !contains(m_bare, l)) m_bare.push_back(l);
    };
    for (const int leaf : leaves) {
      if (is_value(leaf)) add_bare(value_of(leaf));
    }
    for (int k = 0; k < m_vertex.op.index_tensors; ++k) {
      add_bare(m_vertex.values[static_cast<std::size_t>(k)]);  // is looked up
    }
  }
  /// Whether the tangent is to have those labels.
  [[nodiscard]] bool is_to_be_widened() const { return !m_bare.empty(); }
  /// The tangent with those labels.
  [[nodiscard]] StatementSpec widened(std::string_view name) const {
    StatementSpec spec = begin(name);
    spec.operands.push_back(read_tangent());
    for (const int l : labels_of_widened()) {
      write(spec, l, m_extents[static_cast<std::size_t>(l)]);
    }
    return spec;
  }
  /// Lets the widened one be read.
  void set_widened(VertexId vertex, int writing) {
    const std::vector<int> labels = labels_of_widened();
    m_cotangent_forms.clear();
    for (const int l : labels) m_cotangent_forms.push_back(form_of(l));
    m_cotangent.vertex = vertex;
    m_cotangent.writing = writing;
  }

  /// The statement that reads what is numbered. Its output has v's dimensions, but for those along
  /// which it is constant; `all`: and all other labels; `values`: and those whose values v takes.
  [[nodiscard]] StatementSpec statement(std::string_view name, std::span<const int> leaves,
                                        bool all = false, bool values = false) {
    StatementSpec spec = begin(name);
    std::vector<int> seen;
    if (values) seen = m_vertex.values;
    for (const int leaf : leaves) {
      if (is_value(leaf)) {
        take_value(spec, leaf, seen);
      } else {
        spec.operands.push_back(read_forward(leaf, seen));
      }
    }
    m_dims.clear();
    for (std::size_t k = 0; k < m_vertex.output.size(); ++k) {
      if (!contains(seen, m_vertex.output[k])) continue;
      write_label(spec, m_vertex.output[k]);
      m_dims.push_back(static_cast<int>(k));
    }
    m_aggregates = false;
    for (const int l : seen) {
      if (contains(m_vertex.output, l)) continue;
      m_aggregates = true;
      if (all) write_label(spec, l);
    }
    return spec;
  }
  /// The sum of what statement(…, true) wrote, or a multiple of what statement() wrote.
  [[nodiscard]] StatementSpec after(std::string_view name, VertexId vertex, int writing,
                                    const StatementSpec& before) const {
    StatementSpec spec = reading(name, vertex, writing, before);
    for (const int k : m_dims) write_label(spec, m_vertex.output[static_cast<std::size_t>(k)]);
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
    for (const int l : m_vertex.output) names.push_back(m_names[static_cast<std::size_t>(l)]);
    return names;
  }
  /// How many values take the labels that are summed over and in nothing that is read.
  [[nodiscard]] double repetitions(std::span<const int> leaves) const {
    std::vector<int> seen = m_vertex.output;
    for (const int leaf : leaves) {
      if (is_value(leaf)) {
        seen.push_back(value_of(leaf));
      } else {
        (void)read_forward(leaf, seen);
      }
    }
    double count = 1;
    for (std::size_t l = 0; l < m_vertex.labels.size(); ++l) {
      if (!contains(seen, static_cast<int>(l))) count *= static_cast<double>(m_extents[l]);
    }
    return count;
  }

 private:
  void write_label(StatementSpec& spec, int l) const {
    write(spec, l, m_extents[static_cast<std::size_t>(l)]);
  }
  [[nodiscard]] std::vector<int> labels_of_widened() const {
    std::vector<int> labels;
    note(m_cotangent_forms, labels);
    labels.insert(labels.end(), m_bare.begin(), m_bare.end());
    return labels;
  }

  bool m_plain = true;
  std::vector<int> m_bare;  // labels whose values v takes and that nothing else has
  std::vector<int> m_dims;  // of the last statement
  bool m_aggregates = false;
};

}  // namespace eindecomp::graph
