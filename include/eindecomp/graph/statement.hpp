// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How a statement enters an EinGraph: every check of its labels and extents, at run time or in a
/// constant expression.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/label_rules.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/operand_index.hpp"
#include "eindecomp/graph/residue_classes.hpp"
#include "eindecomp/graph/resolve_operands.hpp"
#include "eindecomp/graph/scanned_label.hpp"

namespace eindecomp {
namespace graph {

/// Checks a tensor's extents one by one and their product.
constexpr void check_bound(std::string_view tensor, const std::vector<Extent>& bound,
                           const std::source_location& where) {
  if (bound.size() > static_cast<std::size_t>(max_rank)) {
    core::fail(ErrorKind::shape,
               Text("tensor ") + tensor + " has rank " + bound.size() + " (the limit is " +
                   max_rank + ", a Kokkos::View's)",
               where);
  }
  for (std::size_t k = 0; k < bound.size(); ++k) {
    if (bound[k] <= 0) {
      core::fail(ErrorKind::shape,
                 Text("dimension ") + k + " of tensor " + tensor + " has extent " + bound[k] +
                     " (extents are positive)",
                 where);
    }
  }
  if (!has_countable_elements(bound)) {
    core::fail(ErrorKind::shape,
               Text("tensor ") + tensor + " of " + core::extents_text(bound) +
                   " has more elements than are counted (up to 2^57, so that their bytes can be)",
               where);
  }
}

/// The labels of a spec's operands and of its output.
[[nodiscard]] constexpr std::vector<expr::LabelNames> operand_labels(const StatementSpec& spec) {
  std::vector<expr::LabelNames> operands;
  for (const StatementSpec::OperandSpec& operand : spec.operands) {
    operands.push_back(operand.labels);
  }
  return operands;
}
[[nodiscard]] constexpr expr::LabelNames output_labels(const StatementSpec& spec) {
  expr::LabelNames output;
  for (const StatementSpec::OutputLabel& out : spec.output) output.push_back(out.label);
  return output;
}

/// Enters label positions and extents of all operands into the vertex.
constexpr void resolve_operands(EinGraph& graph, const StatementSpec& spec, Vertex& v,
                                expr::LabelNames& names) {
  OperandResolver(graph.vertices, graph.labels, spec, v, names).run();
}

/// Enters the output's positions and bound, labels of its own last, and what is aggregated.
constexpr void resolve_output(EinGraph& graph, const StatementSpec& spec, Vertex& v,
                              expr::LabelNames& names) {
  for (const StatementSpec::OutputLabel& out : spec.output) {
    int position = expr::find_name(names, out.label);
    if (position < 0) {
      if (out.extent <= 0) {
        core::fail(ErrorKind::shape,
                   Text("label ") + expr::quoted(out.label) + " of the output of " + v.name +
                       " has extent " + out.extent + " (extents are positive)",
                   spec.where);
      }
      position = static_cast<int>(names.size());
      names.push_back(out.label);
      v.labels.push_back(graph.label(out.label));
      v.extents.push_back(out.extent);
    }
    const Extent extent = v.extents[static_cast<std::size_t>(position)];
    if (out.extent != 0 && out.extent != extent) {
      core::fail(ErrorKind::shape,
                 Text("label ") + expr::quoted(out.label) + " is " + extent +
                     " in the operands and " + out.extent + " in the output of " + v.name,
                 spec.where);
    }
    v.output.push_back(position);
    v.bound.push_back(extent);
  }
  for (int position = 0; position < static_cast<int>(names.size()); ++position) {
    bool kept = false;
    for (int out : v.output) kept = kept || out == position;
    if (!kept) v.aggregated.push_back(position);
  }
}

/// Enters the positions of labels whose values are taken.
constexpr void resolve_values(const StatementSpec& spec, Vertex& v, const expr::LabelNames& names) {
  for (const std::string_view label : spec.values) {
    const int position = expr::find_name(names, label);
    if (position < 0) core::fail(ErrorKind::statement, expr::value_fault(label), spec.where);
    v.values.push_back(position);
  }
}

/// The conditions of a mask. Their labels are some of those whose values are taken.
[[nodiscard]] constexpr std::vector<OperandIndex> resolved_mask(
    const std::vector<IndexSpec>& conditions, const expr::LabelNames& names) {
  std::vector<OperandIndex> mask;
  for (const IndexSpec& condition : conditions) {
    OperandIndex& index = mask.emplace_back();
    index.offset = condition.offset;
    for (const IndexSpec::Term& term : condition.terms) {
      index.terms.push_back({expr::find_name(names, term.label), term.coefficient});
    }
  }
  return mask;
}

/// Enters the masks of a statement and of what it reads.
constexpr void resolve_masks(const StatementSpec& spec, Vertex& v, const expr::LabelNames& names) {
  v.mask = resolved_mask(spec.mask, names);
  for (std::size_t o = 0; o < spec.operands.size(); ++o) {
    v.operands[o].mask = resolved_mask(spec.operands[o].mask, names);
  }
}

/// A hash of the operands and of what functors of one type differ in, which tell most statements
/// apart.
[[nodiscard]] constexpr std::uint64_t hash_of_operands(const Vertex& v) {
  core::Hasher hasher;
  hasher.add(v.op.state);
  hasher.add(v.output);
  for (const Operand& operand : v.operands) {
    hasher.add(static_cast<std::uint64_t>(operand.vertex));
    hasher.add(operand.labels);
    add_indices(hasher, operand);
  }
  return hasher.value();
}

/// The rules on labels, in the words of label_rules.hpp.
constexpr void check_labels(const EinGraph& graph, const StatementSpec& spec,
                            std::string_view name) {
  if (spec.operands.empty()) {
    core::fail(ErrorKind::statement, Text("statement ") + name + " has no operand", spec.where);
  }
  for (const StatementSpec::OperandSpec& operand : spec.operands) {
    if (operand.vertex < 0 || operand.vertex >= graph.size()) {
      core::fail(ErrorKind::statement,
                 Text("statement ") + name + " reads tensor number " + operand.vertex +
                     ", which is not in the graph",
                 spec.where);
    }
    const Vertex& tensor = graph[operand.vertex];
    if (!operand.indices.empty() && operand.indices.size() == tensor.bound.size()) continue;
    if (!operand.indices.empty() || operand.labels.size() != tensor.bound.size()) {
      core::fail(ErrorKind::shape,
                 Text("tensor ") + tensor.name + " has rank " + tensor.rank() + " and " +
                     operand.labels.size() + " labels in " + operand_text(graph.vertices, operand) +
                     "; give each dimension one label",
                 spec.where);
    }
  }
  Flags sized;
  for (const StatementSpec::OutputLabel& out : spec.output) {
    sized.push_back(out.extent != 0 ? 1 : 0);
  }
  const Text fault = expr::output_fault(operand_labels(spec), graph::output_labels(spec), sized);
  if (!fault.empty()) core::fail(ErrorKind::statement, fault, spec.where);
}

}  // namespace graph

constexpr VertexId EinGraph::add(std::string_view name, std::vector<Extent> bound,
                                 ElementType element, const std::source_location& where) {
  if (name.empty()) {
    core::fail(ErrorKind::statement,
               "an input has no name (inputs are bound by name in files and reports); give it one",
               where);
  }
  if (find(name) >= 0) {
    core::fail(ErrorKind::statement,
               Text("there is a tensor ") + name +
                   " already (inputs are bound by name in files and "
                   "reports); choose another name",
               where);
  }
  graph::check_bound(name, bound, where);
  Vertex v;
  v.name = name;
  v.bound = std::move(bound);
  v.element = element;
  v.partial = element;
  v.where = where;
  return add_vertex(std::move(v));
}

constexpr Vertex EinGraph::resolved(const StatementSpec& spec) {
  Vertex v;
  v.name = make_name(spec.name);
  v.element = spec.element;
  v.partial = spec.partial;
  v.op = spec.op;
  v.where = spec.where;
  graph::check_labels(*this, spec, v.name);
  // A throw below must leave the graph as it was, its labels too.
  const std::size_t labels_before = labels.size();
  try {
    expr::LabelNames names;
    graph::resolve_operands(*this, spec, v, names);
    graph::resolve_output(*this, spec, v, names);
    graph::resolve_values(spec, v, names);
    graph::resolve_masks(spec, v, names);
    graph::check_bound(v.name, v.bound, spec.where);
    v.periods = graph::residue_periods(v);
    v.scanned =
        graph::scanned_label(v, (*this)[v.operands.front().vertex], spec.operands.front().ignored);
  } catch (...) {
    labels.resize(labels_before);
    throw;
  }
  return v;
}

constexpr VertexId EinGraph::add(const StatementSpec& spec, bool share) {
  Vertex v = resolved(spec);
  const VertexId same = share ? find_same_statement(v) : -1;
  const VertexId written = same >= 0 ? same : add_vertex(std::move(v));
  note_writing(written, spec);
  return written;
}

constexpr void EinGraph::add_mask(VertexId v, const std::vector<IndexSpec>& conditions) {
  Vertex& masked = vertices[static_cast<std::size_t>(v)];
  expr::LabelNames names;
  for (const LabelId l : masked.labels) {
    names.push_back(labels[static_cast<std::size_t>(l)].name);
  }
  for (OperandIndex& condition : graph::resolved_mask(conditions, names)) {
    // Statements that share a vertex may all say it.
    if (std::find(masked.mask.begin(), masked.mask.end(), condition) == masked.mask.end()) {
      masked.mask.push_back(std::move(condition));
    }
  }
}

constexpr VertexId EinGraph::add_copy(VertexId v, const std::vector<VertexId>& operands) {
  Vertex copy = (*this)[v];
  copy.name = make_name(copy.name + ".again");
  copy.kept = false;
  copy.unread = 0;
  copy.writing = -1;
  StatementSpec reads;
  for (std::size_t o = 0; o < operands.size(); ++o) {
    copy.operands[o].vertex = operands[o];
    reads.operands.push_back({operands[o], {}});
  }
  const VertexId written = add_vertex(std::move(copy));
  note_writing(written, reads);
  return written;
}

constexpr void EinGraph::name_last(std::string_view name) {
  Writing& last = m_writings.back();
  if (name.empty() || find(name) >= 0) return;
  last.second_name = name;
  m_by_name.add(hash_of(name), last.vertex);
}

constexpr void EinGraph::note_writing(VertexId v, const StatementSpec& spec) {
  const int number = static_cast<int>(m_writings.size());
  Vertex& written = vertices[static_cast<std::size_t>(v)];
  if (written.writing < 0) written.writing = number;
  ++written.unread;
  m_writings.push_back({v, -1, {}});
  for (const StatementSpec::OperandSpec& operand : spec.operands) {
    const int first = (*this)[operand.vertex].writing;
    if (first < 0) continue;  // an input
    Writing& read =
        m_writings[static_cast<std::size_t>(operand.writing < 0 ? first : operand.writing)];
    if (read.reader >= 0) continue;
    read.reader = number;
    --vertices[static_cast<std::size_t>(read.vertex)].unread;
  }
}

constexpr void EinGraph::cut(std::size_t tensors_left, std::size_t labels_left, int writing) {
  const auto left = static_cast<std::size_t>(writing + 1);
  for (std::size_t w = 0; w < m_writings.size(); ++w) {
    Writing& taken = m_writings[w];
    int& unread = vertices[static_cast<std::size_t>(taken.vertex)].unread;
    if (w >= left && taken.reader < 0) --unread;
    if (w < left && taken.reader > writing) {
      taken.reader = -1;
      ++unread;
    }
  }
  m_writings.resize(left);
  vertices.resize(tensors_left);
  labels.resize(labels_left);
}

constexpr VertexId EinGraph::add_vertex(Vertex v) {
  m_by_name.add(hash_of(v.name), size());
  v.program_id = m_id.value();
  if (!v.is_input()) m_by_operands.add(graph::hash_of_operands(v), size());
  vertices.push_back(std::move(v));
  return size() - 1;
}

constexpr VertexId EinGraph::find(std::string_view name) const {
  const auto* const entry = m_by_name.find(hash_of(name), named(name));
  return entry == nullptr ? -1 : entry->vertex;
}

constexpr Text EinGraph::make_name(std::string_view wanted) {
  Text name(wanted);
  if (wanted.empty()) name = Text("t") + size();
  auto* const taken = m_by_name.find(hash_of(name), named(name));
  if (taken == nullptr) return name;
  const auto numbered = [&name](int n) { return name + "#" + n; };
  // From the number last given, or one before it if what had it was taken back.
  int n = taken->next;
  while (n > 2 && find(numbered(n - 1)) < 0) --n;
  while (find(numbered(n)) >= 0) ++n;
  taken->next = n;
  return numbered(n);
}

constexpr VertexId EinGraph::find_same_statement(const Vertex& wanted) const {
  const auto same = [this, &wanted](VertexId v) {
    if (v >= size()) return false;
    const Vertex& other = (*this)[v];
    return other.operands == wanted.operands && other.op.same_function(wanted.op) &&
           other.labels == wanted.labels && other.extents == wanted.extents &&
           other.output == wanted.output && other.values == wanted.values;
  };
  const auto* const entry = m_by_operands.find(graph::hash_of_operands(wanted), same);
  return entry == nullptr ? -1 : entry->vertex;
}

#ifndef EINDECOMP_SEPARATE_PLANNER
inline VertexId EinGraph::add_at_run_time(std::string_view name, std::vector<Extent> bound,
                                          ElementType element, const std::source_location& where) {
  return add(name, std::move(bound), element, where);
}
inline VertexId EinGraph::add_at_run_time(const StatementSpec& spec, bool share) {
  return add(spec, share);
}
inline Text EinGraph::make_name_at_run_time(std::string_view wanted) { return make_name(wanted); }
inline void EinGraph::name_last_at_run_time(std::string_view name) { name_last(name); }
inline void EinGraph::cut_at_run_time(std::size_t tensors_left, std::size_t labels_left,
                                      int writing) {
  cut(tensors_left, labels_left, writing);
}
#endif

}  // namespace eindecomp
