// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The EinGraph: a program as the planner sees it, labels and extents but no operators by type.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/kernel_traits.hpp"
#include "eindecomp/graph/vertex_index.hpp"

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

  /// Whether two operators are the same function, for sharing common sub-expressions: equal
  /// `type` and `state`. A functor whose state cannot be compared has no type and equals nothing.
  const void* type = nullptr;
  std::vector<std::uint64_t> state;  ///< what tells functors of one type apart, such as a factor

  /// Whether both are known to be the same function.
  [[nodiscard]] constexpr bool same_function(const Operator& other) const {
    return type != nullptr && type == other.type && state == other.state;
  }
};

/// An index into one dimension of an operand: offset + Σ coefficient · label.
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
  Extent after = 0;  ///< see `before`
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
  constexpr bool operator==(const Operand&) const = default;

  /// Whether an index is computed from labels.
  [[nodiscard]] constexpr bool is_computed() const { return !indices.empty(); }
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
  std::vector<int> output;        ///< position in L of the label on each output dimension
  std::vector<int> aggregated;    ///< positions in L that the output lacks, in the order of L
  Operator op;                    ///< ⊗ and ⊕
  ElementType partial;  ///< an accumulator of ⊕ before it is finished (a pair for argmin)
  KernelTraits kernel;  ///< of the backend that runs it
  bool kept = false;    ///< a result even if another statement reads it

  /// Statements that compute the same share a vertex. The number of them that no other statement
  /// reads, each of which is a result to its author.
  int unread = 0;
  int writing = -1;  ///< which statement was the first of them, EinGraph::last_writing()

  /// EinGraph::program_id of the graph that the tensor was written into.
  std::uint64_t program_id = 0;

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
  };
  /// The label of one dimension of the result.
  struct OutputLabel {
    std::string_view label;  ///< its name
    Extent extent = 0;       ///< 0: as the operands have it
  };

  Text name;
  std::vector<OperandSpec> operands;  ///< the tensors read, in the order of ⊗
  std::vector<OutputLabel> output;    ///< per dimension of the result
  Operator op;                        ///< ⊗ and ⊕
  ElementType element;                ///< of the result
  ElementType partial;                ///< an accumulator of ⊕ before it is finished
  std::source_location where = std::source_location::current();  ///< where the user wrote it
};

namespace graph {
/// Tells the graphs of a process apart: no two have equal ones, copies and what was moved from
/// neither. 0 in a constant expression, which has nothing to count with.
class ProgramId {
 public:
  constexpr ProgramId() : m_value(fresh()) {}
  constexpr ProgramId(const ProgramId&) : ProgramId() {}
  constexpr ProgramId(ProgramId&& other) noexcept
      : m_value(std::exchange(other.m_value, fresh())) {}
  constexpr ProgramId& operator=(ProgramId other) noexcept {
    std::swap(m_value, other.m_value);
    return *this;
  }
  constexpr ~ProgramId() = default;
  [[nodiscard]] constexpr std::uint64_t value() const { return m_value; }

 private:
  static constexpr std::uint64_t fresh() noexcept {
    if (std::is_constant_evaluated()) return 0;
    return next();
  }
  static std::uint64_t next() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  std::uint64_t m_value;
};
}  // namespace graph

/// A dataflow graph of EinSum statements in the order they were written, which is topological.
///
/// A plain value: copy it, compare it, print it (print.hpp), build it in a constant expression.
/// Symbols of tensors that were there when a copy was made may be used with either.
class EinGraph {
 public:
  std::vector<Vertex> vertices;   ///< added by the functions below, which keep them by name
  std::vector<LabelInfo> labels;  ///< each name once, by first appearance
  Text plan_only;                 ///< why it must not be executed; empty if it may

  /// Whether the graph has that tensor: one that was written into a graph of that program_id, into
  /// this or before it was copied from there. In a constant expression, whether it has the vertex.
  [[nodiscard]] constexpr bool has(VertexId v, std::uint64_t program_id) const {
    return v >= 0 && v < size() && (*this)[v].program_id == program_id;
  }

  /// Whether two graphs have the same tensors: one is a copy of the other, and nothing was written
  /// since into either.
  [[nodiscard]] constexpr bool same_tensors(const EinGraph& other) const {
    if (size() != other.size()) return false;
    for (VertexId v = 0; v < size(); ++v) {
      if (!has(v, other[v].program_id)) return false;
    }
    return true;
  }

  /// Adds an input tensor.
  /// \throws Error if an extent is not positive, the rank exceeds max_rank, the element count
  ///   overflows or the name is taken.
  constexpr VertexId add_input(std::string_view name, std::vector<Extent> bound,
                               ElementType element,
                               std::source_location where = std::source_location::current());

  /// Adds a statement; its operands must be in the graph already. A name that is taken gets a
  /// number (`H#2`), an empty one is made up, so that layers may be built in a loop.
  /// \throws Error as the rules of statement.hpp say, naming label, extents, tensors and place; the
  ///   graph is then as it was.
  constexpr VertexId add_statement(const StatementSpec& spec);

  /// The same, unless an earlier statement computes the same from the same operands under the same
  /// labels: then nothing is added.
  /// \returns the statement that was added, or the earlier one.
  constexpr VertexId add_or_share_statement(const StatementSpec& spec);

  /// The number of the last statement that was written, shared ones counted; -1 if there is none.
  [[nodiscard]] constexpr int last_writing() const {
    return static_cast<int>(m_writings.size()) - 1;
  }

  /// Lets find() find the last statement's result by `name`, too, unless a tensor has that name. A
  /// statement that shares a vertex is thus found by the name that its author gave it.
  constexpr void name_last_writing(std::string_view name);

  /// Takes back all but the first so many tensors and labels, and the statements written after
  /// `writing`.
  constexpr void take_back(std::size_t tensors_left, std::size_t labels_left, int writing);

  /// `wanted`, with the least number added that makes it a name no tensor has; if empty, one made
  /// up.
  [[nodiscard]] constexpr Text unused_name(std::string_view wanted);

  /// The label of that name, added if the graph has none.
  constexpr LabelId label(std::string_view name) {
    const LabelId found = find_label(name);
    if (found >= 0) return found;
    labels.push_back({name, {}, false});
    return static_cast<LabelId>(labels.size()) - 1;
  }

  /// The label of that name, or -1.
  [[nodiscard]] constexpr LabelId find_label(std::string_view name) const {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i].name == name) return static_cast<LabelId>(i);
    }
    return -1;
  }

  /// The tensor of that name, or -1.
  [[nodiscard]] constexpr VertexId find(std::string_view name) const;

  /// The vertex of that number.
  [[nodiscard]] constexpr const Vertex& operator[](VertexId v) const {
    return vertices[static_cast<std::size_t>(v)];
  }

  [[nodiscard]] constexpr int size() const { return static_cast<int>(vertices.size()); }

  /// How many operand slots of the whole graph each vertex fills.
  [[nodiscard]] constexpr std::vector<int> reader_counts() const {
    std::vector<int> counts(vertices.size(), 0);
    for (const Vertex& v : vertices) {
      for (const Operand& o : v.operands) ++counts[static_cast<std::size_t>(o.vertex)];
    }
    return counts;
  }

  /// The tensors that exist when the program has run: statements marked kept, and those that no
  /// other statement reads.
  [[nodiscard]] constexpr std::vector<VertexId> results() const {
    std::vector<VertexId> found;
    for (VertexId v = 0; v < size(); ++v) {
      if ((*this)[v].is_result()) found.push_back(v);
    }
    return found;
  }

 private:
  [[nodiscard]] static constexpr std::uint64_t hash_of(std::string_view name) {
    core::Hasher hasher;
    hasher.add(name);
    return hasher.value();
  }
  /// Whether a vertex is there and has that name.
  [[nodiscard]] constexpr auto named(std::string_view name) const {
    return [this, name](VertexId v) {
      return v < size() && ((*this)[v].name == name || is_second_name(v, name));
    };
  }
  /// Whether a statement of that name shares a vertex of another name.
  [[nodiscard]] constexpr bool is_second_name(VertexId v, std::string_view name) const {
    for (const Writing& writing : m_writings) {
      if (writing.vertex == v && writing.second_name == name) return true;
    }
    return false;
  }
  /// The vertex that a statement makes, all rules checked.
  [[nodiscard]] constexpr Vertex resolved(const StatementSpec& spec);
  [[nodiscard]] constexpr VertexId find_same_statement(const Vertex& wanted) const;
  constexpr VertexId add_vertex(Vertex v);
  /// Records a statement: the vertex of its result, and what it reads.
  constexpr void note_writing(VertexId v, const StatementSpec& spec);

  /// A statement as it was written.
  struct Writing {
    VertexId vertex = -1;
    int reader = -1;   ///< the first one that reads it
    Text second_name;  ///< its own, if the vertex has another
  };

  graph::ProgramId m_id;
  std::vector<Writing> m_writings;
  graph::VertexIndex m_by_name;  ///< Entry::next: the number last added to the name
  graph::VertexIndex m_by_operands;
};

}  // namespace eindecomp

#include "eindecomp/graph/statement.hpp"
