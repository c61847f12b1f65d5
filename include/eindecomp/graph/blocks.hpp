// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Tensors that statements write block by block: `Z(i, j) = X(i, j)`, `Z(i + 4, j) = …`.
#pragma once

#include <cstddef>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/write_blocks.hpp"

namespace eindecomp {
namespace graph {

/// What may be an index of a block.
template <class T>
concept BlockIndex = expr::Index<T> || expr::is_sized_label<std::remove_cvref_t<T>>;

/// An index of a block as a label on the left of the statement that computes it, and where it lies.
template <std::size_t K>
struct BlockPlace {
  static constexpr auto number_name = [] {
    const char name[] = {'b', 'l', 'o', 'c', 'k', '.', static_cast<char>('0' + K), '\0'};
    return fixed_string(name);
  }();
  Extent first = 0;
  Extent step = 1;
  bool one = false;  ///< whether the index is a number

  template <class I>
  [[nodiscard]] constexpr auto label_of(const I& index) {
    if constexpr (AnyLabel<I> || expr::is_sized_label<I>) {
      return index;
    } else if constexpr (expr::is_bounded_index<I>) {
      static_assert(
          expr::never<I>,
          "EinDecomp: an index of a block is divided or has a boundary (blocks lie inside "
          "of their tensor); write i + 4, 2 * i + 1 or range(i, 4, 8)");
      return expr::Refused{};
    } else {
      return label_of_affine(expr::as_affine(index));
    }
  }

 private:
  template <class... Ls>
  [[nodiscard]] constexpr auto label_of_affine(const Affine<Ls...>& index) {
    first = index.offset;
    if constexpr (sizeof...(Ls) == 0) {
      one = true;
      return SizedLabel<Label<number_name>>(1);
    } else if constexpr (sizeof...(Ls) == 1) {
      step = index.coefficients[0];
      return SizedLabel<Ls...>(index.extents[0]);
    } else {
      static_assert(expr::never<Ls...>,
                    "EinDecomp: an index of a block is computed from more than one label; write "
                    "one, as i + 4 or 2 * i + 1, or a number");
      return expr::Refused{};
    }
  }
};

/// The left side of a statement that writes a block.
template <class Owner, class... Labels>
class BlockTarget : public WrittenBlockBase {
 public:
  constexpr BlockTarget(Owner& owner, PlacedBlock place, std::vector<Extent> extents,
                        const std::source_location& where)
      : m_owner(owner), m_place(std::move(place)), m_extents(std::move(extents)), m_where(where) {}

  /// Writes the block: of elements that no other has.
  /// \throws Error if the block leaves its tensor or overlaps another, or the statement is refused;
  ///   the program is then as it was.
  template <Expression E>
  constexpr void operator=(const E& expression) const {
    m_owner.template write<LabelList<Labels...>>(m_place, m_extents, expression, false, m_where);
  }
  /// Adds the block to what others have there.
  /// \throws Error as operator=, but for overlaps.
  template <Expression E>
  constexpr void operator+=(const E& expression) const {
    static_assert(!Half<typename Owner::value_type>,
                  "EinDecomp: blocks of 16-bit numbers are added (their sum is float); declare the "
                  "tensor of float, and cast what reads it");
    m_owner.template write<LabelList<Labels...>>(m_place, m_extents, expression, true, m_where);
  }
  template <class T>
    requires(!Expression<T>)
  constexpr void operator=(const T&) const { refuse<T>(); }
  template <class T>
    requires(!Expression<T>)
  constexpr void operator+=(const T&) const { refuse<T>(); }

 private:
  template <class T>
  static constexpr void refuse() {
    if constexpr (TensorWithoutLabels<T>) {
      expr::refuse_without_labels<T>();
    } else {
      static_assert(expr::never<T>,
                    "EinDecomp: a block reads no tensor; give its tensor a value for what no block "
                    "has, or write an expression of tensors under their labels");
    }
  }

  Owner& m_owner;
  PlacedBlock m_place;
  std::vector<Extent> m_extents;
  std::source_location m_where;
};

}  // namespace graph

/// A tensor that statements write block by block. Made by blocks().
template <Element T, int Rank, class BackendType>
class Blocks {
 public:
  using value_type = T;  ///< of the elements
  /// What the program's statements run on.
  using Backend = BackendType;
  static constexpr int rank = Rank;  ///< the number of dimensions

  /// As blocks() says.
  constexpr Blocks(graph::ProgramState<Backend>* state, std::string_view name,
                   std::vector<Extent> bound, graph::BlockFill fill,
                   const std::source_location& where)
      : m_state(state),
        m_name(state->graph.unused_name(name)),
        m_wanted(name),
        m_fill(std::move(fill)) {
    graph::check_bound(name, bound, where);
    m_layers.emplace_back(name, std::move(bound));
  }
  Blocks(const Blocks&) = delete;  // its blocks are of one tensor
  Blocks& operator=(const Blocks&) = delete;

  // clang-format off
  /// Begins a statement that writes a block: `Z(i, j) = X(i, j)`, `Z(i + 4, j) = …`,
  /// `Z(2 * i + 1, j) = …`, `Z(range(i, 4, 8), j) = …`, `Z(3, j) = …`. An index is a label, once
  /// or times a positive integer, plus an integer; or an integer, the only index there.
  /// @{
  template <graph::BlockIndex I1>
  [[nodiscard]] constexpr auto operator()(
      I1&& i1, std::source_location where = std::source_location::current()) {
    return target(where, i1);
  }
  template <graph::BlockIndex I1, graph::BlockIndex I2>
  [[nodiscard]] constexpr auto operator()(
      I1&& i1, I2&& i2, std::source_location where = std::source_location::current()) {
    return target(where, i1, i2);
  }
  template <graph::BlockIndex I1, graph::BlockIndex I2, graph::BlockIndex I3>
  [[nodiscard]] constexpr auto operator()(
      I1&& i1, I2&& i2, I3&& i3, std::source_location where = std::source_location::current()) {
    return target(where, i1, i2, i3);
  }
  template <graph::BlockIndex I1, graph::BlockIndex I2, graph::BlockIndex I3, graph::BlockIndex I4>
  [[nodiscard]] constexpr auto operator()(
      I1&& i1, I2&& i2, I3&& i3, I4&& i4, std::source_location where = std::source_location::current()) {
    return target(where, i1, i2, i3, i4);
  }
  template <graph::BlockIndex I1, graph::BlockIndex I2, graph::BlockIndex I3, graph::BlockIndex I4, graph::BlockIndex I5>
  [[nodiscard]] constexpr auto operator()(
      I1&& i1, I2&& i2, I3&& i3, I4&& i4, I5&& i5, std::source_location where = std::source_location::current()) {
    return target(where, i1, i2, i3, i4, i5);
  }
  template <graph::BlockIndex I1, graph::BlockIndex I2, graph::BlockIndex I3, graph::BlockIndex I4, graph::BlockIndex I5, graph::BlockIndex I6>
  [[nodiscard]] constexpr auto operator()(
      I1&& i1, I2&& i2, I3&& i3, I4&& i4, I5&& i5, I6&& i6, std::source_location where = std::source_location::current()) {
    return target(where, i1, i2, i3, i4, i5, i6);
  }
  template <graph::BlockIndex I1, graph::BlockIndex I2, graph::BlockIndex I3, graph::BlockIndex I4, graph::BlockIndex I5, graph::BlockIndex I6, graph::BlockIndex I7>
  [[nodiscard]] constexpr auto operator()(
      I1&& i1, I2&& i2, I3&& i3, I4&& i4, I5&& i5, I6&& i6, I7&& i7, std::source_location where = std::source_location::current()) {
    return target(where, i1, i2, i3, i4, i5, i6, i7);
  }
  template <graph::BlockIndex I1, graph::BlockIndex I2, graph::BlockIndex I3, graph::BlockIndex I4, graph::BlockIndex I5, graph::BlockIndex I6, graph::BlockIndex I7, graph::BlockIndex I8>
  [[nodiscard]] constexpr auto operator()(
      I1&& i1, I2&& i2, I3&& i3, I4&& i4, I5&& i5, I6&& i6, I7&& i7, I8&& i8, std::source_location where = std::source_location::current()) {
    return target(where, i1, i2, i3, i4, i5, i6, i7, i8);
  }
  /// @}
  // clang-format on

  /// Refuses what is no index.
  template <class... Indices>
    requires(!(graph::BlockIndex<Indices> && ...) && !(expr::SourceLocation<Indices> || ...))
  constexpr auto operator()(Indices&&...) const {
    expr::refuse_first_that_is_no_label<Indices...>();
    return expr::RefusedTarget{};
  }

  /// The tensor, of which no more blocks are written.
  /// \throws Error if there are elements that no block has, unless they were given a value.
  [[nodiscard]] constexpr Symbol<T, Rank, Backend> tensor(
      std::source_location where = std::source_location::current()) {
    if (m_vertex >= 0) return {m_state.get(), m_vertex, m_writing};
    if (m_layers.front().blocks().empty() && m_layers.size() > 1) {
      core::fail(ErrorKind::statement, where, "tensor ", m_wanted,
                 " has only blocks that are added, and a value other than 0 between blocks (it is "
                 "where none is written); write one block by =, or give 0 and add the value where "
                 "the tensor is read");
    }
    if (m_layers.front().blocks().empty()) {
      core::fail(ErrorKind::statement, where, "tensor ", m_wanted,
                 " has no block (it would read no tensor); write one");
    }
    const bool adds = m_layers.size() > 1;
    graph::BlockFill fill = m_fill;
    if (fill.bytes.empty() && !m_layers.front().hole().empty()) {
      BlockList all = m_layers.front();
      for (std::size_t n = 1; n < m_layers.size(); ++n) all.add_over(m_layers[n]);
      all.check_whole(where);
      fill = graph::BlockFill::of(T(0));  // the other blocks are added to it
    }
    graph::Transaction transaction(*m_state.get());
    const std::vector<Text> labels = graph::labels_of_blocks(m_layers.front());
    Symbol<T, Rank, Backend> sum = graph::write_blocks<T, Rank>(
        m_state.get(), m_layers.front(), fill, adds ? inner_name() : m_name, labels, where);
    for (std::size_t n = 1; n < m_layers.size(); ++n) {
      const auto more = graph::write_blocks<T, Rank>(
          m_state.get(), m_layers[n], graph::BlockFill::of(T(0)), inner_name(), labels, where);
      StatementSpec spec;
      spec.name = n + 1 == m_layers.size() ? m_name : inner_name();
      spec.where = where;
      for (const auto& symbol : {sum, more}) {
        StatementSpec::OperandSpec operand{symbol.vertex(), {}, symbol.writing()};
        for (const Text& label : labels) operand.labels.push_back(label);
        spec.operands.push_back(std::move(operand));
      }
      for (const Text& label : labels) spec.output.push_back({label, 0});
      const graph::StatementWriter<Backend, BlockSum, NoAggregation, T, T> writer(*m_state.get(),
                                                                                  m_add, m_none);
      const VertexId v = writer.write(std::move(spec));
      sum = {m_state.get(), v, m_state.get()->graph.last_writing()};
    }
    m_state.get()->graph.name_last_writing(m_wanted);
    transaction.commit();
    m_vertex = sum.vertex();
    m_writing = sum.writing();
    return sum;
  }

 private:
  template <class, class...>
  friend class graph::BlockTarget;
  using BlockList = graph::BlockList;
  /// The sum of two elements, of their own type: 8- and 16-bit integers would be added as int.
  using NarrowSum = decltype(expr::node(Cast<T>{}, expr::node(Add{}, Arg<0>{}, Arg<1>{})));
  using BlockSum =
      std::conditional_t<std::is_integral_v<T> && (sizeof(T) < sizeof(int)), NarrowSum, Add>;

  template <class... Is>
  [[nodiscard]] constexpr auto target(const std::source_location& where, const Is&... indices) {
    if constexpr (sizeof...(Is) != static_cast<std::size_t>(Rank)) {
      static_assert(expr::never<Is...>,
                    "EinDecomp: a block is given more or fewer indices than its tensor has "
                    "dimensions; give each dimension one");
      return expr::RefusedTarget{};
    } else {
      return [&]<std::size_t... K>(std::index_sequence<K...>) {
        std::tuple<graph::BlockPlace<K>...> places;
        return target_under(where, places, std::get<K>(places).label_of(indices)...);
      }
      (std::index_sequence_for<Is...>{});
    }
  }
  template <std::size_t... K, class... Ls>
  [[nodiscard]] constexpr auto target_under(const std::source_location& where,
                                            const std::tuple<graph::BlockPlace<K>...>& places,
                                            const Ls&... labels) {
    if constexpr ((std::is_same_v<Ls, expr::Refused> || ...)) {
      return expr::RefusedTarget{};
    } else {
      graph::PlacedBlock block;
      block.labels = {(std::get<K>(places).one ? Text() : Text(Ls::name))...};
      block.first = {std::get<K>(places).first...};
      block.step = {std::get<K>(places).step...};
      return graph::BlockTarget<Blocks, Ls...>(*this, std::move(block),
                                               {graph::extent_of(labels)...}, where);
    }
  }

  template <class Labels, class E>
  constexpr void write(graph::PlacedBlock block, const std::vector<Extent>& extents, const E& e,
                       bool adds, const std::source_location& where) {
    const BlockList& front = m_layers.front();
    if (m_vertex >= 0) {
      core::fail(ErrorKind::statement, where, "block ", front.text(block),
                 " is written when its tensor has been read (a tensor does not change); write all "
                 "blocks before tensor()");
    }
    graph::Transaction transaction(*m_state.get());
    const int number = m_inner + 1;
    const Text name = m_state.get()->graph.unused_name(m_name + "." + number);
    if constexpr (!std::is_null_pointer_v<decltype(e.program())>) {
      if (e.program() != static_cast<const void*>(m_state.get())) {
        core::fail(ErrorKind::statement, where, "block ", front.text(block),
                   " reads tensors of another program than its tensor's; write all into one");
      }
      graph::LoweringScope<Backend> scope{m_state.get(), name, where};
      using Written = decltype(tensor_under<Labels>(scope, name, extents, e));
      static_assert(std::is_void_v<Written> || std::is_same_v<Written, expr::Refused> ||
                        std::is_same_v<expr::Elements<E>, T>,
                    "EinDecomp: a block has elements of another type than its tensor; convert it, "
                    "as in cast<double>(X(i, j))");
      if constexpr (std::is_same_v<Written, Symbol<T, Rank, Backend>>) {
        const auto symbol = tensor_under<Labels>(scope, name, extents, e);
        const Vertex& v = m_state.get()->graph[symbol.vertex()];
        block.vertex = symbol.vertex();
        block.writing = symbol.writing();
        block.constant = symbol.is_constant();
        place(std::move(block), v.bound, v.name, adds, where);
      }
    }
    m_inner = number;
    transaction.commit();
  }
  /// The block as a tensor: one that is read under the same labels, or a statement's.
  template <class Labels, class E>
  [[nodiscard]] constexpr auto tensor_under(graph::LoweringScope<Backend>& scope, const Text& name,
                                            const std::vector<Extent>& extents, const E& e) {
    using Plain = decltype(graph::plain_labels(Labels{}));
    if constexpr (graph::same_labels<Plain, typename E::LabelTypes> && expr::is_access<E>) {
      return graph::tensor_of<Plain>(scope, name, extents, e);
    } else {
      return graph::lower_named<Labels>(scope, name, extents, e);
    }
  }

  constexpr void place(graph::PlacedBlock block, const std::vector<Extent>& extents,
                       std::string_view tensor, bool adds, const std::source_location& where) {
    m_layers.front().check_place(block, extents, tensor, where);
    std::size_t layer = 0;
    if (adds) {
      // Added to another value than 0, it may not stand in its place.
      const bool apart = !m_fill.bytes.empty() && m_fill.bytes != graph::BlockFill::of(T(0)).bytes;
      std::size_t other = 0;
      std::vector<Extent> element;
      if (apart) layer = 1;
      while (layer < m_layers.size() && m_layers[layer].meets(block, extents, other, element)) {
        ++layer;
      }
      while (layer >= m_layers.size()) m_layers.emplace_back(m_wanted, m_layers.front().bound());
    } else {
      for (const BlockList& list : m_layers) list.check_apart(block, extents, where);
    }
    m_layers[layer].add(std::move(block), extents);
  }

  [[nodiscard]] constexpr Text inner_name() {
    return m_state.get()->graph.unused_name(m_name + "." + ++m_inner);
  }

  core::Shared<graph::ProgramState<Backend>> m_state;
  Text m_name;    ///< that the tensor will have
  Text m_wanted;  ///< as it was given
  graph::BlockFill m_fill;
  std::vector<BlockList> m_layers;  ///< each added to those before; blocks of one do not overlap
  int m_inner = 0;                  ///< statements so far
  VertexId m_vertex = -1;           ///< the tensor; -1: blocks may be written
  int m_writing = -1;
  [[no_unique_address]] BlockSum m_add;
  [[no_unique_address]] NoAggregation m_none;
};

/// A tensor of elements T that statements write block by block:
///
///     auto Z = blocks<double>(g, "Z", {12, 5});
///     Z(i, j) = X(i, j);                                  // Z[0:4] = X
///     Z(i + 4, j) = sum(k)(A(i, k) * B(k, j));            // Z[4:12] = A @ B
///     auto S = let<"S">(i) = sum(j)(Z.tensor()(i, j));
///
/// Blocks do not overlap, unless they are added by `+=`, and no element is left out, unless `fill`
/// is given, which is what no block has. Each block is a statement, or a tensor as it is.
/// \throws Error if an extent is not positive or the element count overflows.
/// @{
template <Element T, class Backend, std::size_t Rank>
[[nodiscard]] constexpr auto blocks(BasicProgram<Backend>& program, std::string_view name,
                                    const Extent (&bound)[Rank],
                                    std::source_location where = std::source_location::current()) {
  static_assert(Rank <= max_rank, "EinDecomp: a tensor has at most 8 dimensions");
  return Blocks<T, static_cast<int>(Rank), Backend>(program.state(where), name,
                                                    std::vector<Extent>(bound, bound + Rank),
                                                    graph::BlockFill::nothing(), where);
}
template <Element T, class Backend, std::size_t Rank, Scalar F>
[[nodiscard]] constexpr auto blocks(BasicProgram<Backend>& program, std::string_view name,
                                    const Extent (&bound)[Rank], const F& fill,
                                    std::source_location where = std::source_location::current()) {
  static_assert(Rank <= max_rank, "EinDecomp: a tensor has at most 8 dimensions");
  return Blocks<T, static_cast<int>(Rank), Backend>(
      program.state(where), name, std::vector<Extent>(bound, bound + Rank),
      graph::BlockFill::of(graph::fill_value<T>(fill, name, where)), where);
}
/// @}

}  // namespace eindecomp
