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
  Extent n = 1;
  for (std::size_t k = 0; k < bound.size(); ++k) {
    if (bound[k] <= 0) {
      core::fail(ErrorKind::shape,
                 Text("dimension ") + k + " of tensor " + tensor + " has extent " + bound[k] +
                     " (extents are positive)",
                 where);
    }
    if (n > std::numeric_limits<Extent>::max() / bound[k]) {
      core::fail(ErrorKind::shape,
                 Text("tensor ") + tensor + " of " + core::joined(bound, " x ", core::to_text) +
                     " has more elements than a 64-bit integer counts",
                 where);
    }
    n *= bound[k];
  }
}

/// Labels of one operand of a spec, as text: `X(i,j)`.
[[nodiscard]] constexpr Text operand_text(const EinGraph& graph,
                                          const StatementSpec::OperandSpec& operand) {
  if (operand.indices.empty()) {
    return expr::access_text(graph[operand.vertex].name, operand.labels);
  }
  return graph[operand.vertex].name + "(" +
         core::joined(operand.indices, ",",
                      [](const IndexSpec& index) { return expr::index_text(index); }) +
         ")";
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

/// Operands of one tensor are read from one buffer if their offsets differ by no more than one part
/// in so many of the indices that each reads: what is read for others alone is then little.
inline constexpr Extent like_operands_apart = 4;

/// Enters the labels and extents of a statement's operands into its vertex.
class OperandResolver {
 public:
  constexpr OperandResolver(EinGraph& graph, const StatementSpec& spec, Vertex& v,
                            expr::LabelNames& names)
      : m_graph(graph), m_spec(spec), m_vertex(v), m_names(names) {}

  constexpr void run() {
    bool computed = false;
    for (std::size_t o = 0; o < m_spec.operands.size(); ++o) {
      const StatementSpec::OperandSpec& operand = m_spec.operands[o];
      Operand resolved{operand.vertex, {}, {}, operand.ignored};
      for (std::size_t k = 0; k < rank_of(o); ++k) {
        if (is_label(operand, k)) {
          resolved.labels.push_back(enter_sized(o, label_name(operand, k), k));
        } else {
          computed = true;
        }
        if (!operand.indices.empty()) resolved.indices.push_back(entered(operand.indices[k]));
      }
      m_vertex.operands.push_back(std::move(resolved));
    }
    if (!computed) return;
    infer_extents();
    for (std::size_t o = 0; o < m_spec.operands.size(); ++o) finish_computed(o);
    for (std::size_t o = 0; o < m_spec.operands.size(); ++o) read_together(o);
  }

 private:
  [[nodiscard]] constexpr std::size_t rank_of(std::size_t o) const {
    return m_graph[m_spec.operands[o].vertex].bound.size();
  }
  [[nodiscard]] constexpr Extent bound(std::size_t o, std::size_t k) const {
    return m_graph[m_spec.operands[o].vertex].bound[k];
  }
  [[nodiscard]] static constexpr bool is_label(const StatementSpec::OperandSpec& operand,
                                               std::size_t k) {
    return operand.indices.empty() || operand.indices[k].is_label();
  }
  [[nodiscard]] static constexpr std::string_view label_name(
      const StatementSpec::OperandSpec& operand, std::size_t k) {
    return operand.indices.empty() ? operand.labels[k] : operand.indices[k].terms[0].label;
  }

  /// The position of a label, entered without an extent if it is new.
  constexpr int enter(std::string_view name) {
    int position = expr::find_name(m_names, name);
    if (position >= 0) return position;
    position = static_cast<int>(m_names.size());
    m_names.push_back(name);
    m_vertex.labels.push_back(m_graph.label(name));
    m_vertex.extents.push_back(0);
    m_first_seen.push_back(0);
    return position;
  }
  /// The position of a label that is the index into dimension k of an operand.
  constexpr int enter_sized(std::size_t o, std::string_view name, std::size_t k) {
    const int position = enter(name);
    Extent& extent = m_vertex.extents[static_cast<std::size_t>(position)];
    std::size_t& first_seen = m_first_seen[static_cast<std::size_t>(position)];
    if (extent == 0) {
      extent = bound(o, k);
      first_seen = o;
    }
    if (extent != bound(o, k)) {
      core::fail(ErrorKind::shape,
                 Text("label ") + expr::quoted(name) + " is " + extent + " in " +
                     operand_text(m_graph, m_spec.operands[first_seen]) + " and " + bound(o, k) +
                     " in " + operand_text(m_graph, m_spec.operands[o]) +
                     " (a label has one extent in a statement; size 1 is not stretched)",
                 m_spec.where);
    }
    return position;
  }
  constexpr OperandIndex entered(const IndexSpec& index) {
    OperandIndex made{{}, index.offset};
    for (const IndexSpec::Term& term : index.terms) {
      made.terms.push_back({enter(term.label), term.coefficient});
      if (term.extent != 0) take_extent(index, term, made.terms.back().label);
    }
    return made;
  }

  /// Takes the extent that a label is given within an index.
  constexpr void take_extent(const IndexSpec& index, const IndexSpec::Term& term, int position) {
    Extent& extent = m_vertex.extents[static_cast<std::size_t>(position)];
    if (extent == 0 && term.extent > 0) extent = term.extent;
    if (extent == term.extent) return;
    core::fail(ErrorKind::shape,
               Text("label ") + expr::quoted(term.label) + " is given the extent " + term.extent +
                   " in index " + expr::index_text(index) +
                   (term.extent < 0 ? Text(" (extents are positive)")
                                    : Text(", and it is ") + extent + " elsewhere in statement " +
                                          m_vertex.name),
               m_spec.where);
  }

  /// Whether dimension k of an operand may be left.
  [[nodiscard]] constexpr bool leaves(std::size_t o, std::size_t k) const {
    const StatementSpec::OperandSpec& operand = m_spec.operands[o];
    return operand.indices[k].boundary != Boundary::ignored ||
           operand.ignored != OutsideValue::none;
  }

  /// The extents of labels that no operand has by themselves: as the output says, or from indices
  /// of which they are the last one unknown.
  constexpr void infer_extents() {
    for (const StatementSpec::OutputLabel& out : m_spec.output) {
      const int position = expr::find_name(m_names, out.label);
      if (position < 0 || out.extent <= 0) continue;
      Extent& extent = m_vertex.extents[static_cast<std::size_t>(position)];
      if (extent == 0) extent = out.extent;
    }
    bool more = true;
    while (more) {
      more = false;
      for (std::size_t o = 0; o < m_spec.operands.size(); ++o) {
        const Operand& operand = m_vertex.operands[o];
        for (std::size_t k = 0; k < operand.indices.size(); ++k) {
          more = infer_from(o, k, operand.indices[k]) || more;
        }
      }
    }
    for (std::size_t l = 0; l < m_vertex.extents.size(); ++l) {
      if (m_vertex.extents[l] > 0) continue;
      core::fail(ErrorKind::shape,
                 Text("label ") + expr::quoted(m_names[l]) + " of statement " + m_vertex.name +
                     " has no extent (no operand has it as an index by itself, and its indices "
                     "have several such labels); write extent(" +
                     m_names[l] + ", n) in the index or the output",
                 m_spec.where);
    }
  }
  constexpr bool infer_from(std::size_t o, std::size_t k, const OperandIndex& index) {
    int unknown = -1;
    for (const OperandIndex::Term& term : index.terms) {
      if (m_vertex.extents[static_cast<std::size_t>(term.label)] > 0) continue;
      if (unknown >= 0 && unknown != term.label) return false;
      unknown = term.label;
    }
    if (unknown < 0) return false;
    const Extent found =
        inferred_extent(index, unknown, m_vertex.extents, bound(o, k), leaves(o, k));
    if (found < 1) {
      core::fail(ErrorKind::shape,
                 Text("index ") + expr::index_text(m_spec.operands[o].indices[k]) + " of " +
                     operand_text(m_graph, m_spec.operands[o]) + " has no room for label " +
                     expr::quoted(m_names[static_cast<std::size_t>(unknown)]) + " in dimension " +
                     k + " of extent " + bound(o, k) + "; give the tensor a larger extent",
                 m_spec.where);
    }
    m_vertex.extents[static_cast<std::size_t>(unknown)] = found;
    return true;
  }

  /// Checks the ranges of an operand's computed indices, and gives each the label that moves it
  /// most.
  constexpr void finish_computed(std::size_t o) {
    Operand& operand = m_vertex.operands[o];
    if (operand.indices.empty()) return;
    const StatementSpec::OperandSpec& spec = m_spec.operands[o];
    const std::vector<int> all = read_labels(operand);
    if (all.empty()) {
      core::fail(ErrorKind::statement,
                 "operand " + operand_text(m_graph, spec) +
                     " has no label (a computed index takes one at least); write 0 * i + 3 for "
                     "index 3, with a label i of the statement",
                 m_spec.where);
    }
    if (all.size() > static_cast<std::size_t>(max_rank)) {
      core::fail(ErrorKind::statement,
                 "operand " + operand_text(m_graph, spec) + " has " + Text() +
                     static_cast<Extent>(all.size()) + " labels (the limit is " + max_rank +
                     "); write a part of it as a statement of its own",
                 m_spec.where);
    }
    operand.labels.clear();
    OutsideValue outside = OutsideValue::none;
    for (std::size_t k = 0; k < operand.indices.size(); ++k) {
      const OperandIndex& index = operand.indices[k];
      operand.labels.push_back(leading_label(index, all.front()));
      const IndexRange range = index_range(index, m_vertex.extents);
      if (range.lo >= 0 && range.hi <= bound(o, k)) continue;
      const OutsideValue here =
          spec.indices[k].boundary == Boundary::zero ? OutsideValue::zero : spec.ignored;
      if (here == OutsideValue::none || (outside != OutsideValue::none && outside != here)) {
        core::fail(
            ErrorKind::shape,
            Text("index ") + expr::index_text(spec.indices[k]) + " of " +
                operand_text(m_graph, spec) + " goes from " + range.lo + " to " + (range.hi - 1) +
                ", and dimension " + k + " of " + m_graph[spec.vertex].name + " has extent " +
                bound(o, k) +
                (here == OutsideValue::none
                     ? Text(" (the operators of the statement have no value that both ignore); "
                            "write zero(") +
                           expr::index_text(spec.indices[k]) +
                           ") to read 0 outside, or an extent that keeps it inside"
                     : Text(" (outside of another dimension another value is read); name one "
                            "boundary for all dimensions")),
            m_spec.where);
      }
      outside = here;
    }
    operand.outside = outside;
  }

  /// An operand's index, also where it is a label.
  [[nodiscard]] static constexpr OperandIndex index_of(const Operand& operand, std::size_t k) {
    OperandIndex index;
    if (operand.is_computed()) {
      index = operand.indices[k];
    } else {
      index.terms.push_back({operand.labels[k], 1});
    }
    return index;
  }
  /// Whether two operands read one tensor at indices that differ in their offsets alone, and not by
  /// much.
  [[nodiscard]] constexpr bool are_alike(const Operand& a, const Operand& b) const {
    if (a.vertex != b.vertex || !(a.is_computed() || b.is_computed())) return false;
    for (std::size_t k = 0; k < a.labels.size(); ++k) {
      OperandIndex own = index_of(a, k);
      const OperandIndex other = index_of(b, k);
      if (own.terms != other.terms) return false;
      const Extent apart = std::max(other.offset - own.offset, own.offset - other.offset);
      own.before = own.after = 0;
      const IndexRange range = index_range(own, m_vertex.extents);
      if (apart * like_operands_apart > range.hi - range.lo) return false;
    }
    return true;
  }
  /// Lets an operand and later ones that differ from it in their offsets alone, as those of a
  /// stencil, be read from one buffer.
  constexpr void read_together(std::size_t first) {
    std::vector<Operand>& operands = m_vertex.operands;
    std::vector<std::size_t> group;
    OutsideValue outside = OutsideValue::none;
    for (std::size_t o = 0; o < operands.size(); ++o) {
      if (o != first && !are_alike(operands[first], operands[o])) continue;
      if (o < first) return;  // with that one
      const OutsideValue own = operands[o].outside;
      if (own != OutsideValue::none && outside != OutsideValue::none && own != outside) continue;
      if (own != OutsideValue::none) outside = own;
      group.push_back(o);
    }
    if (group.size() < 2) return;
    for (const std::size_t o : group) {
      Operand& operand = operands[o];
      std::vector<OperandIndex> indices;
      for (std::size_t k = 0; k < operand.labels.size(); ++k) {
        indices.push_back(index_of(operand, k));
      }
      operand.indices = std::move(indices);
      operand.outside = outside;
    }
    for (const std::size_t o : group) {
      for (std::size_t k = 0; k < operands[o].indices.size(); ++k) {
        OperandIndex& index = operands[o].indices[k];
        for (const std::size_t other : group) {
          const Extent apart = operands[other].indices[k].offset - index.offset;
          index.before = std::max(index.before, -apart);
          index.after = std::max(index.after, apart);
        }
      }
    }
  }
  [[nodiscard]] constexpr int leading_label(const OperandIndex& index, int otherwise) const {
    int leading = otherwise;
    Extent most = -1;
    for (const OperandIndex::Term& term : index.terms) {
      const Extent size = term.coefficient < 0 ? -term.coefficient : term.coefficient;
      const Extent moves = size * (m_vertex.extents[static_cast<std::size_t>(term.label)] - 1);
      if (moves <= most) continue;
      most = moves;
      leading = term.label;
    }
    return leading;
  }

  EinGraph& m_graph;
  const StatementSpec& m_spec;
  Vertex& m_vertex;
  expr::LabelNames& m_names;
  std::vector<std::size_t> m_first_seen;  ///< the operand that gave each label its extent
};

/// Enters label positions and extents of all operands into the vertex.
constexpr void resolve_operands(EinGraph& graph, const StatementSpec& spec, Vertex& v,
                                expr::LabelNames& names) {
  OperandResolver(graph, spec, v, names).run();
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

/// A hash of the operands, which tell most statements apart.
[[nodiscard]] constexpr std::uint64_t hash_of_operands(const Vertex& v) {
  core::Hasher hasher;
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
                     operand.labels.size() + " labels in " + operand_text(graph, operand) +
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

constexpr VertexId EinGraph::add_input(std::string_view name, std::vector<Extent> bound,
                                       ElementType element, std::source_location where) {
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
  v.name = unused_name(spec.name);
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
    graph::check_bound(v.name, v.bound, spec.where);
  } catch (...) {
    labels.resize(labels_before);
    throw;
  }
  return v;
}

constexpr VertexId EinGraph::add_statement(const StatementSpec& spec) {
  const VertexId v = add_vertex(resolved(spec));
  note_writing(v, spec);
  return v;
}

constexpr VertexId EinGraph::add_or_share_statement(const StatementSpec& spec) {
  Vertex v = resolved(spec);
  const VertexId same = find_same_statement(v);
  const VertexId written = same >= 0 ? same : add_vertex(std::move(v));
  note_writing(written, spec);
  return written;
}

constexpr void EinGraph::name_last_writing(std::string_view name) {
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

constexpr void EinGraph::take_back(std::size_t tensors_left, std::size_t labels_left, int writing) {
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

constexpr Text EinGraph::unused_name(std::string_view wanted) {
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
           other.labels == wanted.labels && other.output == wanted.output &&
           other.bound == wanted.bound;
  };
  const auto* const entry = m_by_operands.find(graph::hash_of_operands(wanted), same);
  return entry == nullptr ? -1 : entry->vertex;
}

}  // namespace eindecomp
