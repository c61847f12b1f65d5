// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How the operands of a statement enter its vertex: which labels they have, how far those run, and
/// which indices are read.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/label_rules.hpp"
#include "eindecomp/graph/operand_index.hpp"
#include "eindecomp/graph/tuning.hpp"
#include "eindecomp/graph/vertex.hpp"

namespace eindecomp::graph {

/// The label of that name, or -1.
[[nodiscard]] constexpr LabelId find_label(const std::vector<LabelInfo>& labels,
                                           std::string_view name) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].name == name) return static_cast<LabelId>(i);
  }
  return -1;
}

/// The label of that name, added if there is none.
constexpr LabelId find_or_add_label(std::vector<LabelInfo>& labels, std::string_view name) {
  const LabelId found = find_label(labels, name);
  if (found >= 0) return found;
  labels.push_back({name, {}, false});
  return static_cast<LabelId>(labels.size()) - 1;
}

/// Labels of one operand of a spec, as text: `X(i,j)`.
[[nodiscard]] constexpr Text operand_text(const std::vector<Vertex>& tensors,
                                          const StatementSpec::OperandSpec& operand) {
  const Text& name = tensors[static_cast<std::size_t>(operand.vertex)].name;
  if (operand.indices.empty()) {
    return expr::access_text(name, operand.labels);
  }
  return name + "(" +
         core::joined(operand.indices, ",",
                      [](const IndexSpec& index) { return expr::index_text(index); }) +
         ")";
}

/// Enters the labels and extents of a statement's operands into its vertex.
class OperandResolver {
 public:
  /// \param tensors  of the graph
  /// \param labels   of the graph, to which new ones are added
  /// \param v        the statement's vertex, whose labels, extents and operands are filled in
  /// \param names    of the vertex' labels
  constexpr OperandResolver(const std::vector<Vertex>& tensors, std::vector<LabelInfo>& labels,
                            const StatementSpec& spec, Vertex& v, expr::LabelNames& names)
      : m_tensors(tensors), m_labels(labels), m_spec(spec), m_vertex(v), m_names(names) {}

  constexpr void run() {
    bool computed = false;
    for (std::size_t o = 0; o < m_spec.operands.size(); ++o) {
      const StatementSpec::OperandSpec& operand = m_spec.operands[o];
      Operand resolved{operand.vertex, {}, {}, operand.ignored, operand.constant};
      if (m_spec.op.blocks) resolved.block = tensor(o).bound;
      for (std::size_t k = 0; k < rank_of(o); ++k) {
        if (is_label(o, k)) {
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
    if (m_spec.op.blocks) return;
    for (std::size_t o = 0; o < m_spec.operands.size(); ++o) read_together(o);
  }

 private:
  [[nodiscard]] constexpr const Vertex& tensor(std::size_t o) const {
    return m_tensors[static_cast<std::size_t>(m_spec.operands[o].vertex)];
  }
  [[nodiscard]] constexpr std::size_t rank_of(std::size_t o) const {
    return tensor(o).bound.size();
  }
  [[nodiscard]] constexpr Extent bound(std::size_t o, std::size_t k) const {
    return tensor(o).bound[k];
  }
  /// Whether an index is a label that runs over the whole dimension.
  [[nodiscard]] constexpr bool is_label(std::size_t o, std::size_t k) const {
    const StatementSpec::OperandSpec& operand = m_spec.operands[o];
    if (operand.indices.empty()) return true;
    if (!operand.indices[k].is_label()) return false;
    const Extent extent = operand.indices[k].terms[0].extent;
    return extent == 0 || extent == bound(o, k);
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
    m_vertex.labels.push_back(find_or_add_label(m_labels, name));
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
                     operand_text(m_tensors, m_spec.operands[first_seen]) + " and " + bound(o, k) +
                     " in " + operand_text(m_tensors, m_spec.operands[o]) +
                     " (a label has one extent in a statement; size 1 is not stretched)",
                 m_spec.where);
    }
    return position;
  }
  /// An index with each of its labels once, also one that does not move it.
  constexpr OperandIndex entered(const IndexSpec& index) {
    OperandIndex made{{}, index.offset};
    made.divisor = index.divisor;
    check_divisor(index);
    check_numbers(index);
    for (const IndexSpec::Term& term : index.terms) {
      const int label = enter(term.label);
      if (term.extent != 0) take_extent(index, term, label);
      const auto same = std::find_if(made.terms.begin(), made.terms.end(),
                                     [&](const auto& other) { return other.label == label; });
      if (same == made.terms.end()) {
        made.terms.push_back({label, term.coefficient});
      } else {
        same->coefficient += term.coefficient;
      }
    }
    return made;
  }

  constexpr void check_numbers(const IndexSpec& index) const {
    if (index.is_computable()) return;
    core::fail(ErrorKind::statement,
               "index " + expr::index_text(index) + " of statement " + m_vertex.name +
                   " has larger numbers than indices are computed with (2^31 times a label, 2^60 "
                   "added); write smaller ones",
               m_spec.where);
  }
  constexpr void check_divisor(const IndexSpec& index) const {
    const bool whole = index.boundary == Boundary::ignored || index.boundary == Boundary::zero;
    if (index.divisor > 0 && (index.divisor == 1 || whole)) return;
    core::fail(ErrorKind::statement,
               "index " + expr::index_text(index) + " of statement " + m_vertex.name +
                   (index.divisor > 0
                        ? " is divided and has a boundary other than zero (between whole "
                          "quotients there is nothing to take back into the tensor); write "
                          "zero(whole(...))"
                        : " is divided by a number that is not positive; divide by 1 or more, and "
                          "write -i to go backwards"),
               m_spec.where);
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
    // Indices that stay in their tensors come first: the others are read outside of them, if need
    // be.
    while (infer_within() || infer_beyond()) {
    }
    for (std::size_t l = 0; l < m_vertex.extents.size(); ++l) {
      if (m_vertex.extents[l] > 0) continue;
      core::fail(ErrorKind::shape,
                 Text("label ") + expr::quoted(m_names[l]) + " of statement " + m_vertex.name +
                     " has no extent (no operand has it as an index by itself, and its indices "
                     "have several such labels); write extent(" +
                     m_names[l] + ", n) in the index" +
                     (m_spec.output.empty() ? "" : " or the output"),
                 m_spec.where);
    }
  }
  /// Calls visit(o, k, label) for every computed index with one label whose extent is unknown.
  template <class Visit>
  constexpr void for_each_inferring_index(bool may_leave, const Visit& visit) const {
    for (std::size_t o = 0; o < m_spec.operands.size(); ++o) {
      const std::vector<OperandIndex>& indices = m_vertex.operands[o].indices;
      for (std::size_t k = 0; k < indices.size(); ++k) {
        int unknown = -1;
        bool several = false;
        for (const OperandIndex::Term& term : indices[k].terms) {
          if (m_vertex.extents[static_cast<std::size_t>(term.label)] > 0) continue;
          if (term.coefficient == 0) continue;
          several = several || (unknown >= 0 && unknown != term.label);
          unknown = term.label;
        }
        if (unknown >= 0 && !several && leaves(o, k) == may_leave) visit(o, k, unknown);
      }
    }
  }
  /// The most values that a label may have for an index.
  [[nodiscard]] constexpr Extent inferred(std::size_t o, std::size_t k, int label) const {
    const Extent found = inferred_extent(m_vertex.operands[o].indices[k], label, m_vertex.extents,
                                         bound(o, k), leaves(o, k));
    if (found < 1) {
      core::fail(ErrorKind::shape,
                 Text("index ") + expr::index_text(m_spec.operands[o].indices[k]) + " of " +
                     operand_text(m_tensors, m_spec.operands[o]) + " has no room for label " +
                     expr::quoted(m_names[static_cast<std::size_t>(label)]) + " in dimension " + k +
                     " of extent " + bound(o, k) + "; give the tensor a larger extent" +
                     (leaves(o, k) ? ", or write extent(" +
                                         Text(m_names[static_cast<std::size_t>(label)]) + ", n)"
                                   : Text()),
                 m_spec.where);
    }
    return found;
  }
  /// Gives labels the most values with which indices that must stay in their tensors do.
  /// \returns whether there were any.
  constexpr bool infer_within() {
    std::vector<Extent> least(m_vertex.extents.size(), 0);
    for_each_inferring_index(false, [&](std::size_t o, std::size_t k, int label) {
      Extent& extent = least[static_cast<std::size_t>(label)];
      const Extent found = inferred(o, k, label);
      extent = extent == 0 ? found : std::min(extent, found);
    });
    return take_inferred(least);
  }
  /// Gives labels the extents that indices which may leave their tensors agree on.
  /// \returns whether there were any.
  constexpr bool infer_beyond() {
    std::vector<Extent> agreed(m_vertex.extents.size(), 0);
    std::vector<std::size_t> by(m_vertex.extents.size(), 0);
    for_each_inferring_index(true, [&](std::size_t o, std::size_t k, int label) {
      const auto l = static_cast<std::size_t>(label);
      const Extent found = inferred(o, k, label);
      if (agreed[l] == 0) {
        agreed[l] = found;
        by[l] = o;
      }
      if (agreed[l] == found) return;
      core::fail(ErrorKind::shape,
                 Text("label ") + expr::quoted(m_names[l]) + " of statement " + m_vertex.name +
                     " has no extent of its own: by " +
                     operand_text(m_tensors, m_spec.operands[by[l]]) + " it would be " + agreed[l] +
                     " and by " + operand_text(m_tensors, m_spec.operands[o]) + " " + found +
                     " (both may be read outside); write extent(" + m_names[l] +
                     ", n) in the index or the output",
                 m_spec.where);
    });
    return take_inferred(agreed);
  }
  constexpr bool take_inferred(const std::vector<Extent>& found) {
    bool any = false;
    for (std::size_t l = 0; l < found.size(); ++l) {
      if (found[l] == 0) continue;
      m_vertex.extents[l] = found[l];
      any = true;
    }
    return any;
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
                 "operand " + operand_text(m_tensors, spec) +
                     " has no label (a computed index takes one at least); write 0 * i + 3 for "
                     "index 3, with a label i of the statement",
                 m_spec.where);
    }
    if (all.size() > static_cast<std::size_t>(max_rank)) {
      core::fail(ErrorKind::statement,
                 "operand " + operand_text(m_tensors, spec) + " has " + Text() +
                     static_cast<Extent>(all.size()) + " labels (the limit is " + max_rank +
                     "); write a part of it as a statement of its own",
                 m_spec.where);
    }
    operand.labels.clear();
    OutsideValue outside = OutsideValue::none;
    for (std::size_t k = 0; k < operand.indices.size(); ++k) {
      OperandIndex& index = operand.indices[k];
      operand.labels.push_back(leading_label(index, all.front()));
      const IndexRange range = index_range(index, m_vertex.extents);
      if (range.lo >= 0 && range.hi <= bound(o, k) && index.divisor == 1) continue;
      const Boundary boundary = spec.indices[k].boundary;
      if (boundary != Boundary::ignored && boundary != Boundary::zero) {
        index.boundary = boundary;
        continue;
      }
      if (boundary == Boundary::ignored && spec.indices[k].terms.empty()) {
        core::fail(ErrorKind::shape,
                   Text("index ") + expr::index_text(spec.indices[k]) + " of " +
                       operand_text(m_tensors, spec) + " is outside of dimension " +
                       static_cast<Extent>(k) + " of " + tensor(o).name + ", of extent " +
                       bound(o, k) + " (indices are from 0 to " + (bound(o, k) - 1) +
                       "); write one of these, or zero(" + expr::index_text(spec.indices[k]) +
                       ") to read 0",
                   m_spec.where);
      }
      const OutsideValue here = boundary == Boundary::zero ? OutsideValue::zero : spec.ignored;
      if (here == OutsideValue::none || (outside != OutsideValue::none && outside != here)) {
        core::fail(
            ErrorKind::shape,
            Text("index ") + expr::index_text(spec.indices[k]) + " of " +
                operand_text(m_tensors, spec) +
                (index.divisor == 1 ? Text(" goes from ") + range.lo + " to " + (range.hi - 1) +
                                          ", and dimension " + k + " of " + tensor(o).name +
                                          " has extent " + bound(o, k)
                                    : Text(" is not whole everywhere")) +
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
    const auto is_divided = [](const OperandIndex& index) { return index.divisor != 1; };
    operand.absorbing = spec.absorbing && outside == spec.ignored &&
                        std::any_of(operand.indices.begin(), operand.indices.end(), is_divided);
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
      if (own.terms != other.terms || own.divisor != other.divisor) return false;
      const Extent apart = std::max(other.offset - own.offset, own.offset - other.offset);
      own.before = own.after = 0;
      const IndexRange range = index_range(own, m_vertex.extents);
      if (apart * tuning::like_operands_apart > range.hi - range.lo) return false;
    }
    return true;
  }
  /// What is read where dimension k is left, by its number; -1 if it is not.
  [[nodiscard]] constexpr int beyond(std::size_t o, std::size_t k) const {
    OperandIndex index = index_of(m_vertex.operands[o], k);
    index.before = index.after = 0;
    const IndexRange range = index_range(index, m_vertex.extents);
    const bool inside = range.lo >= 0 && (range.hi - 1) / index.divisor < bound(o, k);
    return inside ? -1 : static_cast<int>(index.boundary);
  }
  /// Takes an operand's boundaries to those of a group, unless one is another than the group's.
  [[nodiscard]] constexpr bool join_boundaries(std::size_t o, std::vector<int>& group) const {
    for (std::size_t k = 0; k < group.size(); ++k) {
      const int own = beyond(o, k);
      if (own >= 0 && group[k] >= 0 && own != group[k]) return false;
    }
    for (std::size_t k = 0; k < group.size(); ++k) group[k] = std::max(group[k], beyond(o, k));
    return true;
  }
  /// Lets an operand and later ones that differ from it in their offsets alone, as those of a
  /// stencil, be read from one buffer.
  constexpr void read_together(std::size_t first) {
    std::vector<Operand>& operands = m_vertex.operands;
    std::vector<std::size_t> group;
    OutsideValue outside = OutsideValue::none;
    std::vector<int> boundaries(operands[first].labels.size(), -1);
    for (std::size_t o = 0; o < operands.size(); ++o) {
      if (o != first && !are_alike(operands[first], operands[o])) continue;
      if (o < first) return;  // with that one
      const OutsideValue own = operands[o].outside;
      if (own != OutsideValue::none && outside != OutsideValue::none && own != outside) continue;
      if (!join_boundaries(o, boundaries)) continue;
      if (own != OutsideValue::none) outside = own;
      group.push_back(o);
    }
    if (group.size() < 2) return;
    for (const std::size_t o : group) {
      Operand& operand = operands[o];
      std::vector<OperandIndex> indices;
      for (std::size_t k = 0; k < operand.labels.size(); ++k) {
        indices.push_back(index_of(operand, k));
        if (boundaries[k] >= 0) indices.back().boundary = static_cast<Boundary>(boundaries[k]);
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

  const std::vector<Vertex>& m_tensors;
  std::vector<LabelInfo>& m_labels;
  const StatementSpec& m_spec;
  Vertex& m_vertex;
  expr::LabelNames& m_names;
  std::vector<std::size_t> m_first_seen;  ///< the operand that gave each label its extent
};

}  // namespace eindecomp::graph
