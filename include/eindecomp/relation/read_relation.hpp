// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How the kernel calls of a statement cut what they read of an operand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/graph/bounded_index.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/operand_index.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/tensor_relation.hpp"

namespace eindecomp::relation {

/// A tensor in the blocks that calls read, one for each combination of parts of an operand's
/// labels. Where indices are computed, blocks may overlap and leave the tensor. Where they are
/// bounded (Operand::is_bounded), a block is one piece of what its calls read, and may be empty;
/// Bounder puts the pieces together.
class ReadRelation {
 public:
  ReadRelation() = default;
  /// Where every index is a label.
  ReadRelation(TensorRelation tensor)  // NOLINT(google-explicit-constructor): it is one
      : m_keys(std::move(tensor)) {}
  /// \param d      the statement's partition vector
  /// \param piece  of those that graph::piece_count counts
  ReadRelation(const EinGraph& graph, const Vertex& statement, const Operand& operand,
               const PartitionVector& d, int piece = 0)
      : m_piece(piece), m_bounded(operand.is_bounded()), m_divided(!statement.periods.empty()) {
    if (!operand.is_computed()) {
      m_keys = operand_relation(graph, operand, d);
      return;
    }
    const std::vector<int> labels = graph::read_labels(operand);
    m_keys = {project(statement.extents, labels), project(d, labels)};
    m_bound = graph[operand.vertex].bound;
    m_outside = operand.outside;
    m_clipped = statement.scanned >= 0 && d[to_index(statement.scanned)] == 1;
    m_indices = graph::read_indices(operand, [&](int label) {
      return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
    });
  }
  /// Whether the same elements are read, in the same blocks.
  bool operator==(const ReadRelation& other) const {
    return m_keys == other.m_keys && m_indices == other.m_indices && m_bound == other.m_bound &&
           m_outside == other.m_outside && m_piece == other.m_piece &&
           m_bounded == other.m_bounded && m_clipped == other.m_clipped;
  }

  /// Whether indices are computed.
  [[nodiscard]] bool is_computed() const { return !m_indices.empty(); }
  /// The parts of the labels.
  [[nodiscard]] const PartitionVector& parts() const { return m_keys.parts; }
  [[nodiscard]] Extent blocks() const { return m_keys.blocks(); }
  /// What is read where a block leaves the tensor.
  [[nodiscard]] OutsideValue outside() const { return m_outside; }
  /// Whether an index is divided, or taken back into the tensor.
  [[nodiscard]] bool is_bounded() const { return m_bounded; }
  /// The indices of a computed operand.
  [[nodiscard]] const std::vector<OperandIndex>& indices() const { return m_indices; }
  /// The extents of the tensor, where indices are computed.
  [[nodiscard]] const std::vector<Extent>& bound() const { return m_bound; }

  /// What the calls of a block read, beyond the ends of the tensor, too, but for bounded indices
  /// and scans.
  [[nodiscard]] Box block(Extent number) const {
    Box keys = m_keys.block(number);
    if (!is_computed()) return keys;
    Box box = region(keys);
    if (m_clipped) return inside(box);
    return is_bounded() ? piece_of(std::move(box)) : box;
  }
  /// Whether calls read nothing but where divided indices are whole, so that nothing lies between
  /// elements.
  [[nodiscard]] bool is_divided() const { return m_divided; }
  /// The indices that the calls of a block have, before they are taken back; after they are divided
  /// where is_divided().
  [[nodiscard]] Box indices_of(Extent number) const {
    Box box = region(m_keys.block(number));
    for (std::size_t k = 0; m_divided && k < m_indices.size(); ++k) {
      const Extent divisor = m_indices[k].divisor;
      box.lo[k] = -graph::floor_div(-box.lo[k], divisor);
      box.hi[k] = std::max(graph::floor_div(box.hi[k] - 1, divisor), box.lo[k]) + 1;
    }
    return box;
  }
  /// What is read where the labels run over a box, beyond the ends of the tensor, too, but for
  /// scans; of relations that are not bounded.
  [[nodiscard]] Box read_under(const Box& labels) const {
    if (!is_computed()) return labels;
    return m_clipped ? inside(region(labels)) : region(labels);
  }
  /// The part of a box that is in the tensor, possibly empty.
  [[nodiscard]] Box inside(const Box& box) const {
    return is_computed() ? intersect(box, Box::whole(m_bound)) : box;
  }

  /// Whether a block contains a box, which must not leave the tensor.
  [[nodiscard]] bool contains(Extent number, const Box& box) const {
    if (leaves(box, is_computed() ? m_bound : m_keys.bound)) return false;
    return is_computed() ? block(number).contains(box) : m_keys.containing(box) == number;
  }
  /// Visits the blocks that meet a box of the tensor, which must not be empty: visit(number). Where
  /// indices are computed, O(blocks).
  template <class Visit>
  void for_each_meeting(const Box& box, const Visit& visit) const {
    if (!is_computed()) {
      repartition_into(m_keys, box, [&](Extent number, const Box&) { visit(number); });
      return;
    }
    for (Extent number = 0; number < blocks(); ++number) {
      if (!intersect(block(number), box).empty()) visit(number);
    }
  }

 private:
  /// The indices where labels run over a box.
  [[nodiscard]] Box region(const Box& labels) const {
    Box box{{}, {}};
    for (const OperandIndex& index : m_indices) {
      const graph::IndexRange range = graph::index_range(
          index, [&](int l) { return labels.lo[to_index(l)]; },
          [&](int l) { return labels.hi[to_index(l)]; });
      box.lo.push_back(range.lo);
      box.hi.push_back(range.hi);
    }
    return box;
  }

  /// From indices to elements.
  [[nodiscard]] Box piece_of(Box box) const {
    int piece = m_piece;
    for (std::size_t k = 0; k < m_indices.size(); ++k) {
      const OperandIndex& index = m_indices[k];
      const graph::IndexRange read = graph::read_range(index, {box.lo[k], box.hi[k]}, m_bound[k],
                                                       graph::take_interval(index, piece));
      box.lo[k] = read.lo;
      box.hi[k] = read.hi;
    }
    return box;
  }

  TensorRelation m_keys;                ///< of the labels; of a plain operand, the tensor's own
  std::vector<OperandIndex> m_indices;  ///< by position among the labels; empty: plain
  std::vector<Extent> m_bound;          ///< the tensor's, where indices are computed
  OutsideValue m_outside = OutsideValue::none;
  int m_piece = 0;
  bool m_bounded = false;
  bool m_divided = false;
  bool m_clipped = false;  ///< calls are scans, which read nothing beyond the ends
};

}  // namespace eindecomp::relation
