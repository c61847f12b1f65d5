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
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/resolve_operands.hpp"
#include "eindecomp/graph/vertex.hpp"
#include "eindecomp/graph/vertex_index.hpp"

namespace eindecomp {

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
                               std::source_location where = std::source_location::current()) {
    return std::is_constant_evaluated() ? add(name, std::move(bound), element, where)
                                        : add_at_run_time(name, std::move(bound), element, where);
  }

  /// Adds a statement; its operands must be in the graph already. A name that is taken gets a
  /// number (`H#2`), an empty one is made up, so that layers may be built in a loop.
  /// \throws Error as the rules of statement.hpp say, naming label, extents, tensors and place; the
  ///   graph is then as it was.
  constexpr VertexId add_statement(const StatementSpec& spec) {
    return std::is_constant_evaluated() ? add(spec, false) : add_at_run_time(spec, false);
  }

  /// The same, unless an earlier statement computes the same from the same operands under the same
  /// labels: then nothing is added.
  /// \returns the statement that was added, or the earlier one.
  constexpr VertexId add_or_share_statement(const StatementSpec& spec) {
    return std::is_constant_evaluated() ? add(spec, true) : add_at_run_time(spec, true);
  }

  /// Says that a statement's ⊗ is 0 without any of some conditions on its labels, in a way that its
  /// expression does not show (Vertex::mask).
  constexpr void add_mask(VertexId v, const std::vector<IndexSpec>& conditions);
  /// Adds statement `v` once more, which reads other tensors in the place of its operands: of the
  /// same extents and elements. Is no other statement's vertex, even if one computes the same.
  constexpr VertexId add_copy(VertexId v, const std::vector<VertexId>& operands);

  /// The number of the last statement that was written, shared ones counted; -1 if there is none.
  [[nodiscard]] constexpr int last_writing() const {
    return static_cast<int>(m_writings.size()) - 1;
  }

  /// Makes a statement's result one of the program, even if another statement reads it.
  /// \throws Error if the tensor is an input.
  constexpr void keep(VertexId v, const std::source_location& where) {
    Vertex& tensor = vertices[static_cast<std::size_t>(v)];
    if (tensor.is_input()) {
      core::fail(ErrorKind::statement, where, "input ", tensor.name,
                 " is kept (it is the same after the run, where it is bound, and no result); keep "
                 "a copy, let<\"last\">(i, j) = ",
                 tensor.name, "(i, j)");
    }
    tensor.kept = true;
  }

  /// Lets find() find the last statement's result by `name`, too, unless a tensor has that name. A
  /// statement that shares a vertex is thus found by the name that its author gave it.
  constexpr void name_last_writing(std::string_view name) {
    std::is_constant_evaluated() ? name_last(name) : name_last_at_run_time(name);
  }

  /// Counts as one more statement what an earlier one computes: a result to its author.
  /// \returns the number of the statement.
  constexpr int write_again(VertexId v) {
    m_writings.push_back({v, -1, {}});
    ++vertices[static_cast<std::size_t>(v)].unread;
    return last_writing();
  }

  /// Whether a statement reads the result of that number as its author's.
  [[nodiscard]] constexpr bool is_read(int writing) const {
    return m_writings[static_cast<std::size_t>(writing)].reader >= 0;
  }

  /// Takes back all but the first so many tensors and labels, and the statements written after
  /// `writing`.
  constexpr void take_back(std::size_t tensors_left, std::size_t labels_left, int writing) {
    std::is_constant_evaluated() ? cut(tensors_left, labels_left, writing)
                                 : cut_at_run_time(tensors_left, labels_left, writing);
  }

  /// `wanted`, with the least number added that makes it a name no tensor has; if empty, one made
  /// up.
  [[nodiscard]] constexpr Text unused_name(std::string_view wanted) {
    if (std::is_constant_evaluated()) return make_name(wanted);
    return make_name_at_run_time(wanted);
  }

  /// The label of that name, added if the graph has none.
  constexpr LabelId label(std::string_view name) { return graph::find_or_add_label(labels, name); }

  /// The label of that name, or -1.
  [[nodiscard]] constexpr LabelId find_label(std::string_view name) const {
    return graph::find_label(labels, name);
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
  constexpr VertexId add(std::string_view name, std::vector<Extent> bound, ElementType element,
                         const std::source_location& where);
  constexpr VertexId add(const StatementSpec& spec, bool share);
  [[nodiscard]] constexpr Text make_name(std::string_view wanted);
  constexpr void name_last(std::string_view name);
  constexpr void cut(std::size_t tensors_left, std::size_t labels_left, int writing);
  /// The same in programs that run; with EINDECOMP_SEPARATE_PLANNER, the caller's translation unit
  /// does not compile them.
  /// @{
  VertexId add_at_run_time(std::string_view name, std::vector<Extent> bound, ElementType element,
                           const std::source_location& where);
  VertexId add_at_run_time(const StatementSpec& spec, bool share);
  [[nodiscard]] Text make_name_at_run_time(std::string_view wanted);
  void name_last_at_run_time(std::string_view name);
  void cut_at_run_time(std::size_t tensors_left, std::size_t labels_left, int writing);
  /// @}
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
