// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Writes the statement that puts blocks of a tensor together (Operator::blocks).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/expr/compose.hpp"
#include "eindecomp/expr/functor_record.hpp"
#include "eindecomp/expr/weak_scalar.hpp"
#include "eindecomp/graph/block_list.hpp"
#include "eindecomp/graph/lowering.hpp"
#include "eindecomp/graph/program.hpp"

namespace eindecomp::graph {

/// What lies between blocks.
struct BlockFill {
  std::vector<std::uint64_t> bytes;  ///< of the element, in whole words; empty: nothing may
  Text text;                         ///< " else 0.5"

  template <class T>
  [[nodiscard]] static constexpr BlockFill of(const T& value) {
    const auto own = std::bit_cast<std::array<unsigned char, sizeof(T)>>(value);
    constexpr std::size_t count = std::max<std::size_t>(2, (sizeof(T) + 7) / 8);
    std::array<unsigned char, 8 * count> wide{};
    std::copy(own.begin(), own.end(), wide.begin());
    const auto words = std::bit_cast<std::array<std::uint64_t, count>>(wide);
    return {{words.begin(), words.end()}, Text(" else ") + expr::describe(Value<T>{value})};
  }
  [[nodiscard]] static constexpr BlockFill nothing() { return {}; }
};

/// A scalar as an element between blocks. \throws Error if T cannot hold it.
template <class T, class F>
[[nodiscard]] constexpr T fill_value(const F& fill, std::string_view name,
                                     const std::source_location& where) {
  static_assert(expr::scalar_kind<F> <= expr::number_kind<T> &&
                    (!std::is_integral_v<T> || std::is_integral_v<F>),
                "EinDecomp: the value between blocks is none of the tensor's type (elements are "
                "not converted to the value's); give one that is");
  const expr::WeakScalar<T> scalar(fill);
  if (!scalar.held) {
    core::fail(ErrorKind::statement, where, "the value between the blocks of ", name,
               " is none that ", expr::element_text(element_type<T>()),
               " can hold; give one that is");
  }
  return scalar.value;
}

/// Names one type of blocks, for type_tag.
template <class T>
struct BlocksOf;

/// Blocks as a statement, by name.
[[nodiscard]] constexpr StatementSpec blocks_spec(const BlockList& list, const BlockFill& fill,
                                                  std::string_view name,
                                                  const std::vector<Text>& labels,
                                                  const EinGraph& graph,
                                                  const std::source_location& where) {
  StatementSpec spec;
  spec.name = name;
  spec.where = where;
  for (std::size_t k = 0; k < labels.size(); ++k) {
    spec.output.push_back({labels[k], list.bound()[k]});
  }
  for (const PlacedBlock& block : list.blocks()) {
    StatementSpec::OperandSpec operand;
    operand.vertex = block.vertex;
    operand.writing = block.writing;
    operand.constant = block.constant;
    bool computed = false;
    const std::vector<Extent>& extents = graph[block.vertex].bound;
    for (std::size_t k = 0; k < labels.size(); ++k) {
      operand.labels.push_back(labels[k]);
      IndexSpec index = IndexSpec::of({{labels[k], 1}});
      if (extents[k] != list.bound()[k]) {
        // Where no block is, nothing is read.
        index = IndexSpec::of({{labels[k], 1}}, -block.first[k], block.step[k], Boundary::zero);
        computed = true;
      }
      operand.indices.push_back(index);
    }
    if (!computed) operand.indices.clear();
    spec.operands.push_back(std::move(operand));
  }
  spec.op.join = Text("blocks") + fill.text;
  spec.op.state = fill.bytes;
  return spec;
}

/// A label for each dimension of what blocks are put together to: of a block that has one there.
[[nodiscard]] constexpr std::vector<Text> labels_of_blocks(const BlockList& list) {
  std::vector<Text> labels(list.bound().size());
  for (std::size_t k = 0; k < labels.size(); ++k) {
    for (const PlacedBlock& block : list.blocks()) {
      if (labels[k].empty()) labels[k] = block.labels[k];
    }
    if (labels[k].empty()) labels[k] = Text("d") + static_cast<Extent>(k);
    while (std::find(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(k), labels[k]) !=
           labels.begin() + static_cast<std::ptrdiff_t>(k)) {
      labels[k] += '\'';
    }
  }
  return labels;
}

/// Writes a statement of blocks of elements T.
template <class T, class Backend>
constexpr VertexId write_blocks_statement(typename StateOf<Backend>::type& state,
                                          StatementSpec spec) {
  EinGraph& graph = state.graph;
  spec.op.blocks = true;
  spec.op.type = &expr::type_tag<BlocksOf<T>>;
  spec.op.finishes = false;
  spec.element = spec.partial = element_type<T>();
  const int before = graph.size();
  const VertexId v = state.options.share_subexpressions ? graph.add_or_share_statement(spec)
                                                        : graph.add_statement(spec);
  if (v == before) {
    state.resize(static_cast<std::size_t>(graph.size()));
    // For what is passed on to where it is stored.
    state.launchers.back() = Backend::template make<Identity, NoAggregation, T>({}, {});
    if constexpr (requires { Backend::order; }) record_blocks_derivative<T, Backend>(state);
  }
  return v;
}

/// Blocks given as data. \param filled  whether there may be elements that none has
/// \throws Error if they are none of a tensor of that name and these extents.
[[nodiscard]] constexpr BlockList checked_blocks(const EinGraph& graph, std::string_view name,
                                                 const std::vector<Extent>& bound,
                                                 const std::vector<PlacedBlock>& blocks,
                                                 bool filled, const std::source_location& where) {
  check_bound(name, bound, where);
  if (blocks.empty()) {
    core::fail(ErrorKind::statement, where, "tensor ", name,
               " has no block (it would read no tensor); write one");
  }
  BlockList list(name, bound);
  for (const PlacedBlock& block : blocks) {
    const Vertex& tensor = graph[block.vertex];
    if (tensor.bound.size() != bound.size()) {
      core::fail(ErrorKind::shape, where, "block ", tensor.name, " of ", name, " is of rank ",
                 static_cast<Extent>(tensor.bound.size()), " and ", name, " of rank ",
                 static_cast<Extent>(bound.size()),
                 " (each dimension of a block lies along one of the tensor's); give both the same");
    }
    if (block.first.size() != bound.size() || block.step.size() != bound.size()) {
      core::fail(ErrorKind::statement, where, "block ", tensor.name, " of ", name, " is given ",
                 static_cast<Extent>(block.first.size()), " first indices and ",
                 static_cast<Extent>(block.step.size()), " steps for ",
                 static_cast<Extent>(bound.size()), " dimensions; give one for each");
    }
    list.check_place(block, tensor.bound, tensor.name, where);
    list.check_apart(block, tensor.bound, where);
    list.add(block, tensor.bound);
  }
  if (!filled) list.check_whole(where);
  return list;
}

/// Writes blocks of elements T as a statement.
template <class T, class Backend>
[[nodiscard]] constexpr VertexId write_block_list(ProgramState<Backend>* state,
                                                  const BlockList& list, const BlockFill& fill,
                                                  std::string_view name,
                                                  const std::vector<Text>& labels,
                                                  const std::source_location& where) {
  return write_blocks_statement<T, Backend>(
      *state, blocks_spec(list, fill, name, labels, state->graph, where));
}

/// The same, as the tensor's symbol.
template <class T, int Rank, class Backend>
[[nodiscard]] constexpr Symbol<T, Rank, Backend> write_blocks(
    ProgramState<Backend>* state, const BlockList& list, const BlockFill& fill,
    std::string_view name, const std::vector<Text>& labels, const std::source_location& where) {
  const VertexId v = write_block_list<T>(state, list, fill, name, labels, where);
  return {state, v, state->graph.last_writing()};
}

template <class L>
struct PlainLabel {
  using type = L;
};
template <class L>
  requires requires { typename L::Plain; }
struct PlainLabel<L> {
  using type = typename L::Plain;
};
template <class... Ls>
[[nodiscard]] constexpr auto plain_labels(LabelList<Ls...>) {
  return LabelList<typename PlainLabel<Ls>::type...>{};
}

/// A tensor of an expression's elements under output labels: itself if it is one under these, else
/// a statement of that name.
template <class Output, class Backend, class E>
[[nodiscard]] constexpr auto tensor_of(LoweringScope<Backend>& scope, const Text& name,
                                       const std::vector<Extent>& extents, const E& e) {
  if constexpr (expr::is_access<E> && !expr::is_computed<E>) {
    if constexpr (std::is_same_v<typename E::LabelTypes, Output>) {
      require_same_program(scope, scope.name, e.symbol);
      return e.symbol;
    } else {
      return lower_statement<Output, LabelList<>>(scope, name, NoAggregation{}, extents, e);
    }
  } else {
    return lower_named<Output>(scope, name, extents, e);
  }
}
/// lower_top under another name.
template <class Output, class Backend, class E>
[[nodiscard]] constexpr auto lower_named(LoweringScope<Backend>& scope, const Text& name,
                                         const std::vector<Extent>& extents, const E& e) {
  const OtherExtents outside(scope.extents);
  scope.extents.add(Output::names(), extents);
  if constexpr (!is_plain<E>) scope.extents.add(*scope.state, e);
  return lower_statement<Output, LabelList<>>(scope, name, NoAggregation{}, extents, e);
}
template <class Output, class Backend, class M, class A, class B>
[[nodiscard]] constexpr auto lower_named(LoweringScope<Backend>& scope, const Text& name,
                                         const std::vector<Extent>& extents,
                                         const Aggregation<M, A, B>& node) {
  const OtherExtents outside(scope.extents);
  scope.extents.add(Output::names(), extents);
  if constexpr (!is_plain<B>) scope.extents.add(*scope.state, node.body);
  return lower_statement<Output, A>(scope, name, node.monoid, extents, node.body);
}

/// Whether two lists have the same labels, in whatever order.
template <class A, class B>
inline constexpr bool same_labels = A::size == B::size&& UnitedLabels<A, B>::size == A::size;

}  // namespace eindecomp::graph
