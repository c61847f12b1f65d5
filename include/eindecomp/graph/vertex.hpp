// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What an EinGraph is made of: labels, tensors, and statements as they are handed to it.
#pragma once

#include <cstdint>
#include <source_location>
#include <string_view>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/kernel_traits.hpp"

namespace eindecomp {

/// A label within one graph: an index into EinGraph::labels.
using LabelId = std::int32_t;
/// A tensor within one graph, input or result of a statement: an index into EinGraph::vertices.
using VertexId = std::int32_t;

/// A label of a graph. Labels of equal name in several statements are one label, though each
/// statement gives it an extent of its own.
struct LabelInfo {
  Text name;
  Text role;           ///< what it stands for (batch, sequence, head, …), for strategies by role
  bool uncut = false;  ///< if true, no strategy may cut it
  constexpr bool operator==(const LabelInfo&) const = default;
};

/// What a statement computes, as far as planning and reporting need it.
struct Operator {
  Text join;       ///< ⊗ by name: mul, sq_diff, exp, …
  Text aggregate;  ///< ⊕ by name: sum, min, …; empty where nothing is aggregated
  /// ⊗ and ⊕ are associative and commutative and ⊗ distributes over ⊕: operands may be joined in
  /// any order, and a label private to one operand may be summed there first.
  bool distributive = false;
  /// What ⊕ accumulates becomes a final element by a function of its own, or may do so: false only
  /// where every accumulator is an element, as sums and minima are.
  bool finishes = true;
  /// How many operands are index tensors, the first: where an element of one is not the value of
  /// its label, which Vertex::values has, ⊗ is the identity of ⊕. Kernels look the label up.
  int index_tensors = 0;
  unsigned skipped_indices = 0;  ///< bit k: elements of index tensor k may be no value of its label
  /// Operands are blocks of the result, apart from each other (Operand::block): ⊗ is the one that
  /// has the element, and where none has, what `state` has the bytes of. Nothing is computed:
  /// blocks are copied to where they belong.
  bool blocks = false;
  /// Where an element of any operand is 0, ⊗ is 0, and if ⊕ is there, that is its identity.
  bool annihilates = false;
  bool adds = false;  ///< ⊗ is the sum of its operands, nothing is aggregated, all are of one type
  bool passes = false;  ///< ⊗ is its one operand
  bool sums = false;    ///< ⊕ is the sum, and its accumulators are elements

  /// Whether two operators are the same function, for sharing common sub-expressions: equal
  /// `type` and `state`. A functor whose state cannot be compared has no type and equals nothing.
  const void* type = nullptr;
  std::vector<std::uint64_t> state;  ///< what tells functors of one type apart, such as a factor

  /// Whether both are known to be the same function.
  [[nodiscard]] constexpr bool same_function(const Operator& other) const {
    return type != nullptr && type == other.type && state == other.state;
  }
};

/// An index into one dimension of an operand: (offset + Σ coefficient · label) / divisor.
struct OperandIndex {
  /// coefficient · label.
  struct Term {
    int label = 0;           ///< position in Vertex::labels
    Extent coefficient = 0;  ///< of the label
    constexpr bool operator==(const Term&) const = default;
  };
  std::vector<Term> terms;  ///< in the order they were written
  Extent offset = 0;        ///< where all labels are 0
  /// So many indices before and after are read by other operands, which differ from this one in
  /// their offsets alone: one buffer serves them all.
  Extent before = 0;
  Extent after = 0;    ///< see `before`
  Extent divisor = 1;  ///< where this divides no index, that is read which is outside of the tensor
  /// That of periodic, clamp and reflect where the index leaves the tensor; Operand::outside has
  /// the others.
  Boundary boundary = Boundary::ignored;
  constexpr bool operator==(const OperandIndex&) const = default;
};

/// One operand of a statement. labels[k] is the position, in Vertex::labels, of the label on the
/// operand's dimension k; a repeated position is a diagonal.
struct Operand {
  VertexId vertex = -1;     ///< the tensor that is read
  std::vector<int> labels;  ///< per dimension; of a computed index, the label that moves it most
  /// Per dimension; empty where every index is its label.
  std::vector<OperandIndex> indices = {};
  OutsideValue outside = OutsideValue::none;  ///< where an index leaves the tensor
  bool constant = false;                      ///< gradients do not look at it
  /// Of a block of the result, its extents: calls read what of it is theirs, and nothing outside.
  std::vector<Extent> block = {};
  /// An index is divided, and where it is not whole ⊗ is the identity of ⊕, whatever else is read.
  bool absorbing = false;
  /// Conditions on labels as those of Vertex::mask, without any of which ⊗ does not look at it.
  std::vector<OperandIndex> mask = {};
  constexpr bool operator==(const Operand&) const = default;

  /// Whether an index is computed from labels.
  [[nodiscard]] constexpr bool is_computed() const { return !indices.empty(); }
  /// Whether an index is divided, or taken back into the tensor where it leaves it, or the operand
  /// is a block of the result.
  [[nodiscard]] constexpr bool is_bounded() const {
    if (!block.empty()) return is_computed();
    for (const OperandIndex& index : indices) {
      if (index.divisor != 1 || index.boundary != Boundary::ignored) return true;
    }
    return false;
  }
};

/// A tensor of the program: an input, or the result of one statement (paper, section 5).
struct Vertex {
  Text name;
  std::vector<Extent> bound;   ///< the tensor's extents
  ElementType element;         ///< its final elements
  std::source_location where;  ///< where the user wrote it, for messages

  // The rest is empty for inputs.
  std::vector<LabelId> labels;  ///< L: the operands' labels by first appearance, then the output's
  std::vector<Extent> extents;  ///< of each label of L
  std::vector<Operand> operands;  ///< in the order of ⊗
  /// Per label of L, where calls compute nothing but what divided indices read: values that are so
  /// far apart make the same indices whole (graph/residue_classes.hpp). Empty: all is computed.
  std::vector<Extent> periods;
  /// Positions in L of labels whose values ⊗ takes, after the elements of the operands.
  std::vector<int> values;
  /// Conditions on L, each that an index is not negative, without any of which ⊗ is 0 and, if ⊕ is
  /// there, its identity is 0: those of comparisons of labels. graph::Masks has those that follow.
  std::vector<OperandIndex> mask;
  std::vector<int> output;      ///< position in L of the label on each output dimension
  std::vector<int> aggregated;  ///< positions in L that the output lacks, in the order of L
  /// The position in L of the aggregated label of a scan: the operand is read at i - k or i + k,
  /// with a label i of the output and this k, both of the extent of its dimension; beyond its ends
  /// the identity of ⊕ is read, that is nothing. -1: the statement is not a scan.
  int scanned = -1;
  Operator op;          ///< ⊗ and ⊕
  ElementType partial;  ///< an accumulator of ⊕ before it is finished (a pair for argmin)
  KernelTraits kernel;  ///< of the backend that runs it
  bool kept = false;    ///< a result even if another statement reads it

  /// Statements that compute the same share a vertex. The number of them that no other statement
  /// reads, each of which is a result to its author.
  int unread = 0;
  int writing = -1;  ///< which statement was the first of them, EinGraph::last_writing()

  /// EinGraph::program_id of the graph that the tensor was written into.
  std::uint64_t program_id = 0;

  /// Whether the value of that label is looked up in an index tensor.
  [[nodiscard]] constexpr bool is_looked_up(int label) const {
    for (int k = 0; k < op.index_tensors; ++k) {
      if (values[static_cast<std::size_t>(k)] == label) return true;
    }
    return false;
  }
  /// Whether no statement writes it.
  [[nodiscard]] constexpr bool is_input() const { return operands.empty(); }
  /// Whether it exists when the program has run.
  [[nodiscard]] constexpr bool is_result() const { return !is_input() && (kept || unread > 0); }
  /// The number of its dimensions.
  [[nodiscard]] constexpr int rank() const { return static_cast<int>(bound.size()); }

  /// The number of elements of the tensor.
  [[nodiscard]] constexpr Extent size() const {
    Extent n = 1;
    for (Extent b : bound) n *= b;
    return n;
  }
};

/// A statement by the names of its labels, as the lowering, the builder and readers of files hand
/// it to a graph.
struct StatementSpec {
  /// A tensor that is read, under labels.
  struct OperandSpec {
    VertexId vertex = -1;                  ///< a tensor of the graph
    std::vector<std::string_view> labels;  ///< one per dimension
    /// Which of the statements that share the vertex is read; -1: the first.
    int writing = -1;
    /// Per dimension where an index is computed; `labels` then has each label of them once.
    std::vector<IndexSpec> indices = {};
    OutsideValue ignored = OutsideValue::none;  ///< the value that the operators ignore
    bool constant = false;                      ///< gradients do not look at it
    /// Where that value is read ⊗ is the identity of ⊕, whatever the other operands are.
    bool absorbing = false;
    std::vector<IndexSpec> mask = {};  ///< Operand::mask
  };
  /// The label of one dimension of the result.
  struct OutputLabel {
    std::string_view label;  ///< its name
    Extent extent = 0;       ///< 0: as the operands have it
  };

  Text name;
  std::vector<OperandSpec> operands;  ///< the tensors read, in the order of ⊗
  std::vector<OutputLabel> output;    ///< per dimension of the result
  /// Labels whose values ⊗ takes, after the elements of the operands.
  std::vector<std::string_view> values;
  std::vector<IndexSpec> mask;  ///< of ⊗; Vertex::mask if ⊕ passes over 0
  Operator op;                  ///< ⊗ and ⊕
  ElementType element;          ///< of the result
  ElementType partial;          ///< an accumulator of ⊕ before it is finished
  std::source_location where = std::source_location::current();  ///< where the user wrote it
};

}  // namespace eindecomp
