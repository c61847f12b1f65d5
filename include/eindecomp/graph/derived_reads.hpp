// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the statements of derivatives read, by number. Knows no operators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/graph/border.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/index_form.hpp"

namespace eindecomp::graph {

/// What is read around statement v, under v's labels.
///
/// It is numbered: v's operands and then the labels whose values it takes from 0, a cotangent or
/// tangent n, v itself n + 1, further tensors of v's shape from n + 2.
class DerivedReads {
 public:
  DerivedReads(const DerivativeScope& scope, VertexId v, Cotangent cotangent,
               std::vector<VertexId> more)
      : m_scope(&scope),
        m_vertex(scope.graph[v]),
        m_id(v),
        m_more(std::move(more)),
        m_cotangent(std::move(cotangent)) {
    const EinGraph& graph = scope.graph;
    for (std::size_t l = 0; l < m_vertex.labels.size(); ++l) {
      m_names.push_back(graph.labels[static_cast<std::size_t>(m_vertex.labels[l])].name);
      m_extents.push_back(m_vertex.extents[l]);
    }
    // Those that index tensors select by are DerivativeOfWhere's.
    if (m_vertex.op.index_tensors == 0) m_values = m_vertex.values;
  }

  /// Lets the cotangent or tangent be read where v is written, under v's other labels too where it
  /// has them: its dimensions are numbered as forward()'s are.
  void read_as_result() {
    const std::vector<int> labels = result_first();
    m_cotangent_forms.clear();
    for (const int d : m_cotangent.dims) {
      m_cotangent_forms.push_back(form_of(labels[static_cast<std::size_t>(d)]));
    }
  }
  /// The cotangent or tangent, as it is read.
  [[nodiscard]] const Cotangent& cotangent() const { return m_cotangent; }
  /// Its number.
  [[nodiscard]] int number_of_cotangent() const {
    return static_cast<int>(m_vertex.operands.size() + m_values.size());
  }
  /// The dimensions that what is written has with borders, for fold_borders().
  [[nodiscard]] const std::vector<Border>& borders() const { return m_borders; }
  /// A label's name.
  [[nodiscard]] std::string_view label_name(int l) const {
    return m_names[static_cast<std::size_t>(l)];
  }

  /// A statement under v's own labels. \param whole  with all of them in the output, those of v's
  /// output first, else with the latter. \param dims  to have those alone that are read, and which
  [[nodiscard]] StatementSpec forward(std::string_view name, std::span<const int> leaves,
                                      bool whole, std::vector<int>* dims = nullptr) const {
    StatementSpec spec = begin(name);
    std::vector<int> seen;
    for (const int leaf : leaves) {
      if (is_value(leaf)) {
        take_value(spec, leaf, seen);
      } else {
        spec.operands.push_back(read_forward(leaf, seen));
      }
    }
    take_mask(spec);
    const std::vector<int> output = whole ? result_first() : m_vertex.output;
    for (std::size_t k = 0; k < output.size(); ++k) {
      if (dims != nullptr && !contains(seen, output[k])) continue;
      write(spec, output[k], m_extents[static_cast<std::size_t>(output[k])]);
      if (dims != nullptr) dims->push_back(static_cast<int>(k));
    }
    return spec;
  }

  /// The sum of a statement that has more labels than its output, or a multiple of one. What it
  /// reads has the labels of `before`'s output.
  [[nodiscard]] StatementSpec reading(std::string_view name, VertexId vertex, int writing,
                                      const StatementSpec& before) const {
    StatementSpec spec = begin(name);
    StatementSpec::OperandSpec operand;
    operand.vertex = vertex;
    operand.writing = writing;
    for (const auto& out : before.output) operand.labels.push_back(out.label);
    spec.operands.push_back(operand);
    return spec;
  }

 protected:
  /// v's labels, those of its output first.
  [[nodiscard]] std::vector<int> result_first() const {
    std::vector<int> labels = m_vertex.output;
    for (std::size_t l = 0; l < m_vertex.labels.size(); ++l) {
      if (!contains(labels, static_cast<int>(l))) labels.push_back(static_cast<int>(l));
    }
    return labels;
  }
  [[nodiscard]] static bool contains(const std::vector<int>& list, int l) {
    return std::find(list.begin(), list.end(), l) != list.end();
  }
  [[nodiscard]] StatementSpec begin(std::string_view name) const {
    StatementSpec spec;
    spec.name = name;
    spec.where = m_scope->where;
    return spec;
  }
  void write(StatementSpec& spec, int l, Extent extent) const {
    spec.output.push_back({m_names[static_cast<std::size_t>(l)], extent});
  }

  /// Whether a number is that of a label whose value is taken.
  [[nodiscard]] bool is_value(int number) const {
    const auto at = static_cast<std::size_t>(number);
    return at >= m_vertex.operands.size() && number < number_of_cotangent();
  }
  [[nodiscard]] int value_of(int number) const {
    return m_values[static_cast<std::size_t>(number) - m_vertex.operands.size()];
  }
  void take_value(StatementSpec& spec, int number, std::vector<int>& seen) const {
    if (!contains(seen, value_of(number))) seen.push_back(value_of(number));
    spec.values.push_back(label_name(value_of(number)));
  }

  /// Lets a statement be known for 0 where v's ⊗ is, whose derivatives are 0.
  void take_mask(StatementSpec& spec) const {
    if (spec.values.empty()) return;
    spec.op.annihilates = m_vertex.op.annihilates;
    take_conditions(m_vertex.mask, spec);
  }
  /// Adds those of some conditions whose labels a statement takes the values of.
  void take_conditions(const std::vector<OperandIndex>& conditions, StatementSpec& spec) const {
    for (const OperandIndex& condition : conditions) {
      IndexSpec taken = IndexSpec::of({}, condition.offset);
      for (const OperandIndex::Term& term : condition.terms) {
        taken.terms.push_back({label_name(term.label), term.coefficient});
      }
      const bool known = std::all_of(taken.terms.begin(), taken.terms.end(), [&](const auto& term) {
        return std::find(spec.values.begin(), spec.values.end(), term.label) != spec.values.end();
      });
      if (known) spec.mask.push_back(taken);
    }
  }

  /// A tensor read at indices.
  [[nodiscard]] StatementSpec::OperandSpec read(VertexId vertex, int writing,
                                                const std::vector<IndexForm>& forms,
                                                OutsideValue outside = OutsideValue::none) const {
    StatementSpec::OperandSpec operand;
    operand.vertex = vertex;
    operand.writing = writing;
    const std::vector<Extent>& bound = m_scope->graph[vertex].bound;
    bool computed = false;
    std::vector<bool> is_label;
    for (std::size_t k = 0; k < forms.size(); ++k) {
      is_label.push_back(forms[k].terms.size() == 1 &&
                         forms[k] == form_of(forms[k].terms[0].first));
      // A label may also run over fewer or more values than the dimension has.
      computed = computed || !is_label[k] ||
                 m_extents[static_cast<std::size_t>(forms[k].terms[0].first)] != bound[k];
    }
    for (std::size_t k = 0; k < forms.size(); ++k) {
      const IndexForm& form = forms[k];
      for (const auto& term : form.terms) {
        const std::string_view name = m_names[static_cast<std::size_t>(term.first)];
        if (computed && expr::find_name(operand.labels, name) >= 0) continue;
        operand.labels.push_back(name);
      }
      if (!computed) continue;
      if (form.terms.size() > expr::max_index_labels) {
        core::fail(ErrorKind::statement,
                   Text("the derivative of statement ") + m_vertex.name +
                       " needs an index that is computed from more than 4 labels; write the part "
                       "of the statement that has it as a statement of its own",
                   m_scope->where);
      }
      IndexSpec index;
      for (const auto& [l, coefficient] : form.terms) {
        const auto at = static_cast<std::size_t>(l);
        index.terms.push_back({m_names[at], coefficient, m_extents[at]});
      }
      index.offset = form.offset;
      index.divisor = form.divisor;
      index.boundary = form.boundary;
      const bool runs_otherwise =
          is_label[k] && m_extents[static_cast<std::size_t>(form.terms[0].first)] != bound[k];
      if (runs_otherwise) {
        // Where the label has no value the cotangent is 0, so that any element will do.
        const bool is_zero = outside == OutsideValue::none || outside == OutsideValue::zero;
        index.boundary = is_zero ? Boundary::zero : Boundary::clamp;
      }
      operand.indices.push_back(index);
    }
    if (computed) operand.ignored = outside == OutsideValue::none ? OutsideValue::zero : outside;
    return operand;
  }
  /// What a number stands for: the tensor, how it is read under v's labels, what is read outside.
  struct Leaf {
    VertexId vertex;
    int writing;
    std::vector<IndexForm> forms;
    OutsideValue outside;
  };
  /// How v reads an operand.
  [[nodiscard]] static std::vector<IndexForm> forms_of(const Operand& operand) {
    std::vector<IndexForm> forms;
    bool has_label = operand.labels.empty();
    for (std::size_t k = 0; k < operand.labels.size(); ++k) {
      forms.push_back(index_of(operand, k));
      has_label = has_label || !forms.back().terms.empty();
    }
    // A computed index takes one label at least, were it 0 times.
    if (!has_label) forms[0].terms.emplace_back(operand.labels[0], 0);
    return forms;
  }
  [[nodiscard]] Leaf leaf_of(int number) const {
    const auto n = static_cast<std::size_t>(number_of_cotangent());
    const auto at = static_cast<std::size_t>(number);
    Leaf leaf{-1, -1, {}, OutsideValue::none};
    if (at < m_vertex.operands.size()) {
      const Operand& operand = m_vertex.operands[at];
      leaf.vertex = m_scope->read(operand.vertex);
      leaf.outside = operand.outside;
      leaf.forms = forms_of(operand);
      return leaf;
    }
    if (at == n) {
      return {m_cotangent.vertex, m_cotangent.writing, m_cotangent_forms, OutsideValue::none};
    }
    leaf.vertex = at == n + 1 ? m_scope->read(m_id) : m_more[at - n - 2];
    for (const int l : m_vertex.output) leaf.forms.push_back(form_of(l));
    return leaf;
  }
  static void note(const std::vector<IndexForm>& forms, std::vector<int>& seen) {
    for (const IndexForm& form : forms) {
      for (const auto& term : form.terms) {
        if (!contains(seen, term.first)) seen.push_back(term.first);
      }
    }
  }
  [[nodiscard]] StatementSpec::OperandSpec read_forward(int number, std::vector<int>& seen) const {
    const Leaf leaf = leaf_of(number);
    note(leaf.forms, seen);
    return read(leaf.vertex, leaf.writing, leaf.forms, leaf.outside);
  }

  const DerivativeScope* m_scope;
  Vertex m_vertex;  // a copy: the graph grows
  VertexId m_id;
  std::vector<VertexId> m_more;
  Cotangent m_cotangent;
  std::vector<IndexForm> m_cotangent_forms;  // per dimension of the cotangent's tensor
  std::vector<Text> m_names;                 // of v's labels, then of those that are made up
  std::vector<Extent> m_extents;
  std::vector<int> m_values;  // the labels whose values ⊗ takes
  std::vector<Border> m_borders;
};

}  // namespace eindecomp::graph
