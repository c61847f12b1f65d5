// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Programs from labels as data, for tests, tools and readers of files: the same graphs as let and
/// einsum make, the same checks at run time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/expr/einsum_string.hpp"
#include "eindecomp/graph/lowering.hpp"
#include "eindecomp/graph/write_blocks.hpp"

namespace eindecomp {

/// A tensor of a program whose value type and rank are known at run time only.
class AnySymbol {
 public:
  /// \param vertex   a tensor of the graph.
  /// \param writing  which of the statements that share it, EinGraph::last_writing().
  constexpr AnySymbol(const EinGraph& graph, VertexId vertex, int writing = -1)
      : m_vertex(vertex),
        m_writing(writing),
        m_program_id(graph[vertex].program_id),
        m_name(graph[vertex].name) {}
  /// The tensor in its graph.
  [[nodiscard]] constexpr VertexId vertex() const { return m_vertex; }
  /// Tells the tensor from those of other programs, Vertex::program_id.
  [[nodiscard]] constexpr std::uint64_t program_id() const { return m_program_id; }
  /// The tensor's name.
  [[nodiscard]] constexpr const Text& name() const { return m_name; }
  /// Which of the statements that share the vertex it was made for, EinGraph::last_writing().
  [[nodiscard]] constexpr int writing() const { return m_writing; }

 private:
  VertexId m_vertex;
  int m_writing;
  std::uint64_t m_program_id;
  Text m_name;
};

/// Labels as data.
using LabelStrings = std::vector<std::string>;

/// One label per letter: letters("ij") is {"i", "j"}.
[[nodiscard]] inline LabelStrings letters(std::string_view text) {
  LabelStrings result;
  for (char c : text) result.emplace_back(1, c);
  return result;
}

/// Writes statements into a program; operators by type, labels as data.
template <class Backend>
class Builder {
 public:
  /// An operand: a tensor under labels.
  struct Read {
    AnySymbol tensor;     ///< what is read
    LabelStrings labels;  ///< one per dimension; a repeated one is a diagonal
    /// One per dimension, where one is computed from labels; `labels` is then empty. The names in
    /// them outlive the call. X(2 * y + r - 1) is {X, {}, {IndexSpec::of({{"y", 2}, {"r", 1}},
    /// -1)}}; its transposed, Z(whole(i + 1 - r, 2)), {Z, {}, {IndexSpec::of({{"i", 1}, {"r", -1}},
    /// 1, 2)}}.
    std::vector<IndexSpec> indices = {};
  };
  /// An output label; its extent if no operand has it.
  struct Write {
    std::string label;  ///< of one dimension of the output
    Extent extent = 0;  ///< 0: as the operands have it
  };

  /// A tensor where it lies in one that is put together.
  struct Block {
    AnySymbol tensor;               ///< of as many dimensions as the other
    std::vector<Extent> first;      ///< per dimension, the index of its first element
    std::vector<Extent> step = {};  ///< from one element's index to the next one's; empty: 1
  };

  /// Writes into `program`, which must outlive it.
  explicit Builder(BasicProgram<Backend>& program) : m_program(&program) {}

  /// Adds an input tensor of elements T. \throws Error as BasicProgram::input.
  template <Element T>
  AnySymbol input(std::string_view name, std::vector<Extent> bound,
                  std::source_location where = std::source_location::current()) {
    auto& state = *m_program->state();
    const VertexId v = state.graph.add_input(name, std::move(bound), element_type<T>(), where);
    state.resize(static_cast<std::size_t>(state.graph.size()));
    return {state.graph, v};
  }

  /// Adds output = ⊕ ⊗(operands) over operands of elements Ts. With NoAggregation as the monoid
  /// every label must be in the output.
  /// \throws Error if a label rule is broken, extents disagree, an operand's elements are not
  ///   those of Ts or it is of another graph; the program is then as it was.
  template <class Join, class Monoid, Element... Ts>
  AnySymbol statement(std::string_view name, const std::vector<Read>& operands,
                      const std::vector<Write>& output, const Join& join = {},
                      const Monoid& monoid = {},
                      std::source_location where = std::source_location::current()) {
    return statement<Join, Monoid, Ts...>(name, operands, output, LabelStrings{}, join, monoid,
                                          where);
  }

  /// The same where ⊗ takes, after the elements of the operands, the values of some labels, as
  /// 64-bit integers, of which there is one at the end of Ts for each.
  template <class Join, class Monoid, Element... Ts>
  AnySymbol statement(std::string_view name, const std::vector<Read>& operands,
                      const std::vector<Write>& output, const LabelStrings& values,
                      const Join& join = {}, const Monoid& monoid = {},
                      std::source_location where = std::source_location::current()) {
    static_assert(sizeof...(Ts) <= max_operands,
                  "EinDecomp: a statement has more than 8 operands; write a part of it as a "
                  "statement of its own");
    static_assert(core::accept<graph::operator_fault<Join, Monoid, Ts...>>());
    auto& state = *m_program->state();
    StatementSpec spec;
    spec.name = name;
    spec.where = where;
    check_operands({element_type<Ts>()...}, operands, values.size(), name, where);
    for (const Read& read : operands) {
      StatementSpec::OperandSpec& operand = spec.operands.emplace_back();
      operand.vertex = read.tensor.vertex();
      operand.labels.assign(read.labels.begin(), read.labels.end());
      operand.writing = read.tensor.writing();
      operand.indices = read.indices;
      for (const IndexSpec& index : read.indices) {
        for (const IndexSpec::Term& term : index.terms) {
          if (expr::find_name(operand.labels, term.label) < 0) operand.labels.push_back(term.label);
        }
      }
    }
    take_ignored<Join, Monoid, Ts...>(spec, std::index_sequence_for<Ts...>());
    for (const Write& write : output) spec.output.push_back({write.label, write.extent});
    spec.values.assign(values.begin(), values.end());
    if constexpr (std::is_same_v<Monoid, NoAggregation>) check_elementwise(spec);

    graph::Transaction transaction(state);
    const VertexId v =
        graph::StatementWriter<Backend, Join, Monoid, Ts...>(state, join, monoid).write(spec);
    state.graph.name_last_writing(name);
    transaction.commit();
    return {state.graph, v, state.graph.last_writing()};
  }

  /// The same with output labels that operands have.
  template <class Join, class Monoid, Element... Ts>
  AnySymbol statement(std::string_view name, const std::vector<Read>& operands,
                      const LabelStrings& output, const Join& join = {}, const Monoid& monoid = {},
                      std::source_location where = std::source_location::current()) {
    std::vector<Write> writes;
    for (const std::string& label : output) writes.push_back({label, 0});
    return statement<Join, Monoid, Ts...>(name, operands, writes, join, monoid, where);
  }

  /// Adds a statement from a string, "ij,jk->ik" or, with a computed index, "(2y+r-1),r->y".
  /// \throws Error as statement, and if the string or the number of operands is wrong.
  template <class Join, class Monoid, Element... Ts>
  AnySymbol einsum(std::string_view name, std::string_view text,
                   const std::vector<AnySymbol>& operands, const Join& join = {},
                   const Monoid& monoid = {},
                   std::source_location where = std::source_location::current()) {
    const ParsedEinsum parsed = parse_einsum(text);
    if (!parsed.fault.empty()) core::fail(ErrorKind::statement, parsed.fault, where);
    if (parsed.operands.size() != operands.size()) {
      core::fail(ErrorKind::statement,
                 expr::operand_count_fault(text, parsed.operands.size(), operands.size()), where);
    }
    std::vector<Read> reads;
    for (std::size_t o = 0; o < operands.size(); ++o) {
      reads.push_back({operands[o], {parsed.operands[o].begin(), parsed.operands[o].end()}});
      set_computed(reads.back(), parsed.indices[o], parsed.operands[o]);
    }
    return statement<Join, Monoid, Ts...>(
        name, reads, LabelStrings(parsed.output.begin(), parsed.output.end()), join, monoid, where);
  }

  /// Adds a tensor of elements T that is put together from blocks: {{X, {0, 0}}, {Y, {4, 0}}} are
  /// X from row 0 and Y from row 4 on.
  /// \param output   a label for each dimension, with its extent
  /// \param between  what elements are that no block has; left out: there are none
  /// \throws Error if blocks overlap, leave the tensor, leave out an element or are of other
  ///   elements, another rank or another graph; the program is then as it was.
  template <Element T>
  AnySymbol blocks(std::string_view name, const std::vector<Write>& output,
                   const std::vector<Block>& parts, const std::optional<T>& between = std::nullopt,
                   std::source_location where = std::source_location::current()) {
    auto& state = *m_program->state();
    std::vector<Text> labels;
    std::vector<Extent> bound;
    for (const Write& write : output) {
      labels.emplace_back(write.label);
      bound.push_back(write.extent);
    }
    std::vector<graph::PlacedBlock> placed;
    for (const Block& part : parts) {
      check_operand(part.tensor, element_type<T>(), name, where);
      const std::size_t rank = part.first.size();
      placed.push_back({part.tensor.vertex(), part.tensor.writing(), false, labels, part.first,
                        part.step.empty() ? std::vector<Extent>(rank, 1) : part.step});
    }
    const auto fill = between ? graph::BlockFill::of(*between) : graph::BlockFill::nothing();
    const graph::BlockList list =
        graph::checked_blocks(state.graph, name, bound, placed, between.has_value(), where);
    graph::Transaction transaction(state);
    const VertexId v = graph::write_block_list<T>(&state, list, fill, name, labels, where);
    state.graph.name_last_writing(name);
    transaction.commit();
    return {state.graph, v, state.graph.last_writing()};
  }

  /// Makes a tensor a result even if another statement reads it. \throws Error if it is an input.
  void keep(const AnySymbol& tensor, std::source_location where = std::source_location::current()) {
    require_mine(tensor, where);
    m_program->state()->graph.keep(tensor.vertex(), where);
  }

 private:
  /// Replaces labels by indices where some in a string are computed. \param names  of its labels
  static void set_computed(Read& read, const std::vector<StringIndex>& indices,
                           const expr::LabelNames& names) {
    if (std::none_of(indices.begin(), indices.end(),
                     [](const StringIndex& index) { return index.computed; })) {
      return;
    }
    read.labels.clear();
    for (const StringIndex& index : indices) {
      IndexSpec& spec = read.indices.emplace_back();
      spec.offset = index.offset;
      for (int t = 0; t < index.terms; ++t) {
        const std::string_view name =
            *std::find_if(names.begin(), names.end(),
                          [&](std::string_view known) { return known[0] == index.letter[t]; });
        spec.terms.push_back({name, index.coefficient[t], 0});
      }
    }
  }
  void require_mine(const AnySymbol& tensor, const std::source_location& where) const {
    if (!m_program->graph(where).has(tensor.vertex(), tensor.program_id())) {
      core::fail(ErrorKind::statement,
                 Text("tensor number ") + tensor.vertex() +
                     " belongs to another graph; write all of a statement's tensors into one",
                 where);
    }
  }

  void check_operands(const std::vector<ElementType>& types, const std::vector<Read>& operands,
                      std::size_t values, std::string_view name,
                      const std::source_location& where) const {
    const auto is_number = [](const ElementType& type) {
      return type == element_type<expr::LabelNumber>();
    };
    if (types.size() == operands.size() + values &&
        !std::all_of(types.end() - static_cast<std::ptrdiff_t>(values), types.end(), is_number)) {
      core::fail(ErrorKind::statement,
                 Text("statement ") + name +
                     " takes the value of a label as elements that are no 64-bit integers; name "
                     "std::int64_t for it, after the types of the operands",
                 where);
    }
    if (types.size() != operands.size() + values) {
      core::fail(ErrorKind::statement,
                 Text("statement ") + name + " names " + types.size() + " element types for " +
                     operands.size() + " operands" +
                     (values > 0 ? Text(" and ") + static_cast<Extent>(values) + " values of labels"
                                 : Text()),
                 where);
    }
    for (std::size_t o = 0; o < operands.size(); ++o) {
      check_operand(operands[o].tensor, types[o], name, where);
    }
  }
  void check_operand(AnySymbol operand, const ElementType& type, std::string_view name,
                     const std::source_location& where) const {
    require_mine(operand, where);
    const Vertex& tensor = m_program->graph()[operand.vertex()];
    if (tensor.element == type) return;
    core::fail(ErrorKind::statement,
               Text("statement ") + name + " reads tensor " + tensor.name + ", which is of " +
                   expr::element_text(tensor.element) + ", as elements of " +
                   expr::element_text(type) +
                   " (elements are not converted); name the type that it has",
               where);
  }

  /// Notes what the operators ignore of operands that may be left.
  template <class Join, class Monoid, class... Ts, std::size_t... Is>
  static void take_ignored(StatementSpec& spec, std::index_sequence<Is...>) {
    const OutsideValue values[] = {ignored_value<Join, Monoid, Ts, Is == 0>...};
    for (std::size_t o = 0; o < spec.operands.size(); ++o) {
      if (spec.operands[o].indices.empty()) continue;
      spec.operands[o].ignored = values[o];
      spec.operands[o].absorbing = values[o] != OutsideValue::none;
    }
  }

  static void check_elementwise(const StatementSpec& spec) {
    const Text fault =
        expr::aggregation_fault(graph::operand_labels(spec), graph::output_labels(spec), {});
    if (!fault.empty()) core::fail(ErrorKind::statement, fault, spec.where);
  }

  BasicProgram<Backend>* m_program;
};

}  // namespace eindecomp
