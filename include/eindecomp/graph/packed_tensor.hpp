// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Symmetric and antisymmetric tensors of which every pair of blocks is stored once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/lower_packed.hpp"
#include "eindecomp/graph/packed_access.hpp"
#include "eindecomp/graph/pair_part.hpp"

namespace eindecomp {

namespace graph {

/// Where n rows are cut into so many block rows, or as many as there are rows.
[[nodiscard]] constexpr std::vector<Extent> block_row_begins(Extent n, int block_rows) {
  const Extent count = std::min<Extent>(n, block_rows);
  std::vector<Extent> begins;
  for (Extent row = 0; row <= count; ++row) begins.push_back(row * n / count);
  return begins;
}

/// \throws Error if a tensor cannot be packed: of other extents, or into no block rows.
constexpr void check_packed(std::string_view name, Extent rows, Extent columns, int block_rows,
                            const std::source_location& where) {
  if (rows != columns) {
    core::fail(
        ErrorKind::shape, where, "the packed tensor ", name, " is ", rows, " x ", columns,
        " in its first two dimensions (its labels are exchanged there); give both one extent");
  }
  if (block_rows < 1) {
    core::fail(ErrorKind::statement, where, "the packed tensor ", name, " is given ", block_rows,
               " block rows (each holds some of its rows); give it one or more");
  }
}

}  // namespace graph

/// A tensor that is symmetric in its first two dimensions, or whose sign changes with their
/// exchange, stored by block rows: of block row r, from row begin(r) to begin(r + 1), the columns
/// before begin(r + 1). So each block beside the diagonal is stored once, and those on the diagonal
/// are whole: of n x n elements in m block rows n²(m + 1) / 2m. Made by packed_symmetric() and
/// packed_antisymmetric().
///
/// It is read like a tensor, `sum(j)(S(i, j) * X(j, k))`: a statement for each stored block row,
/// and one for each block that is not stored, which reads the other one. Nothing as large as the
/// whole tensor is made, unless a statement reads a second one.
template <class Sign, Element T, int Rank, class BackendType>
class PackedTensor : public TensorBase {
 public:
  using value_type = T;  ///< of the elements
  /// What the program's statements run on.
  using Backend = BackendType;
  static constexpr int rank = Rank;  ///< the number of dimensions
  /// Whether the sign changes with the exchange.
  static constexpr bool is_antisymmetric = std::is_same_v<Sign, Negate>;

  /// As the functions below make it.
  constexpr PackedTensor(Text name, std::vector<Extent> bound, std::vector<Extent> begins,
                         std::vector<Symbol<T, Rank, Backend>> block_rows)
      : m_name(std::move(name)),
        m_bound(std::move(bound)),
        m_begins(std::move(begins)),
        m_block_rows(std::move(block_rows)) {}

  /// The tensor read under labels, one per dimension, all different.
  template <AnyLabel... Labels>
  [[nodiscard]] constexpr auto operator()(Labels...) const {
    static_assert(sizeof...(Labels) == Rank && UnitedLabels<LabelList<Labels>...>::size == Rank,
                  "EinDecomp: a packed tensor is read under a label twice, or under more or fewer "
                  "than it has dimensions; give each dimension a label of its own");
    if constexpr (sizeof...(Labels) != Rank || UnitedLabels<LabelList<Labels>...>::size != Rank) {
      return expr::Refused{};
    } else {
      return graph::PackedAccess<PackedTensor, Labels...>(*this);
    }
  }
  /// Refuses what is no label.
  template <class... Indices>
    requires(!(AnyLabel<Indices> && ...))
  constexpr auto operator()(Indices&&...) const {
    static_assert(expr::never<Indices...>,
                  "EinDecomp: a packed tensor is read at a computed index; write it as a whole one "
                  "first, let<\"F\">(i, j) = S(i, j)");
    return expr::Refused{};
  }

  /// What is stored: tensors of the program, to be bound, gathered, carried and differentiated by.
  [[nodiscard]] constexpr const std::vector<Symbol<T, Rank, Backend>>& block_rows() const {
    return m_block_rows;
  }
  /// The first row of a block row; of their number, the extent.
  [[nodiscard]] constexpr Extent begin(int row) const {
    return m_begins[static_cast<std::size_t>(row)];
  }
  /// The first rows of all block rows, and the extent.
  [[nodiscard]] constexpr const std::vector<Extent>& begins() const { return m_begins; }
  /// The extents of the whole tensor.
  [[nodiscard]] constexpr const std::vector<Extent>& bound() const { return m_bound; }
  /// Its name, as errors have it; that of block row 2 is `S.2`.
  [[nodiscard]] constexpr const Text& name() const { return m_name; }
  /// What the tensor was written into, for those who write statements.
  [[nodiscard]] constexpr graph::ProgramState<Backend>* state() const {
    return m_block_rows.front().state();
  }

 private:
  Text m_name;
  std::vector<Extent> m_bound;
  std::vector<Extent> m_begins;
  std::vector<Symbol<T, Rank, Backend>> m_block_rows;
};

/// How a packed tensor is stored.
struct PackedOptions {
  /// Of a tensor of fewer rows, each is one. More store less, and make more statements.
  int block_rows = 4;
};

namespace graph {

template <class Sign, Element T, class Backend, std::size_t Rank>
[[nodiscard]] constexpr auto packed_input(BasicProgram<Backend>& program, std::string_view name,
                                          const Extent (&bound)[Rank], PackedOptions options,
                                          const std::source_location& where) {
  static_assert(Rank >= 2 && Rank <= max_rank,
                "EinDecomp: a packed tensor has two dimensions that are exchanged, and at most 8");
  check_packed(name, bound[0], bound[1], options.block_rows, where);
  check_bound(name, std::vector<Extent>(bound, bound + Rank), where);
  const std::vector<Extent> begins = block_row_begins(bound[0], options.block_rows);
  std::vector<Symbol<T, static_cast<int>(Rank), Backend>> rows;
  for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
    Extent own[Rank];
    std::copy_n(bound, Rank, own);
    own[0] = begins[r + 1] - begins[r];
    own[1] = begins[r + 1];
    rows.push_back(program.template input<T>(Text(name) + "." + r, own, where));
  }
  return PackedTensor<Sign, T, static_cast<int>(Rank), Backend>(
      Text(name), std::vector<Extent>(bound, bound + Rank), begins, std::move(rows));
}

/// The left side of a statement that writes a packed tensor.
template <class Sign, class A, class B, class... Rest>
class PackedTarget {
 public:
  constexpr PackedTarget(const Text& name, PackedOptions options, const std::source_location& where,
                         const A& a, const B& b, const Rest&... rest)
      : m_name(name),
        m_options(options),
        m_where(where),
        m_extents{extent_of(a, name, where), extent_of(b, name, where),
                  extent_of(rest, name, where)...} {}

  /// Writes a statement for each block row. Packed tensors that it reads under the same two labels
  /// are read as they are stored, others as whole ones.
  /// \returns the PackedTensor.
  /// \throws Error if the two labels have different extents, and as statements do.
  template <Expression E>
  constexpr auto operator=(const E& expression) const {
    auto* const state = expression.program();
    static_assert(!std::is_null_pointer_v<decltype(expression.program())>,
                  "EinDecomp: the statement reads no tensor; a constant is not an EinSum");
    Transaction transaction(*state);
    const Text name = state->graph.unused_name(m_name);
    // The block rows are name.0, name.1, …; what they read has other names.
    LoweringScope scope{state, name + ".whole", m_where};
    const auto e = with_whole<true>(scope, expression);
    const Extent n = extent_of_pair(e);
    KnownExtents given;
    given.add(LabelList<PlainA, PlainB, Rest...>::names(), m_extents);
    check_sized<PlainA, PlainB>(*state, e, given, m_where);
    const std::vector<Extent> begins = block_row_begins(n, m_options.block_rows);
    using Row = decltype(row(state, name, begins, 0, e));
    std::vector<Row> rows;
    for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
      rows.push_back(row(state, name, begins, r, e));
    }
    std::vector<Extent> bound = state->graph[rows.front().vertex()].bound;
    bound[0] = bound[1] = n;
    transaction.commit();
    return PackedTensor<Sign, typename Row::value_type, Row::rank, typename Row::Backend>(
        name, std::move(bound), begins, std::move(rows));
  }

 private:
  using PlainA = typename PlainLabel<A>::type;
  using PlainB = typename PlainLabel<B>::type;

  template <class Backend, class E>
  [[nodiscard]] constexpr auto row(ProgramState<Backend>* state, const Text& name,
                                   const std::vector<Extent>& begins, std::size_t r,
                                   const E& e) const {
    const PairPart<PlainA, PlainB> part{begins[r], begins[r + 1] - begins[r], 0, begins[r + 1]};
    const auto read = [&](const auto& packed) {
      if (packed.tensor.begins() != begins) {
        core::fail(ErrorKind::statement, m_where, "the packed tensor ", name, " is stored in ",
                   begins.size() - 1, " block rows and reads ", packed.tensor.name(), " of ",
                   packed.tensor.begins().size() - 1,
                   " under the same labels (both are read as they are stored); give them as many");
      }
      return access_under(packed.tensor.block_rows()[r],
                          typename std::decay_t<decltype(packed)>::LabelTypes{});
    };
    std::vector<Extent> extents = m_extents;
    extents[0] = extents[1] = 0;
    LoweringScope scope{state, state->graph.unused_name(name + "." + r), m_where};
    scope.extents.add(LabelList<PlainA, PlainB, Rest...>::names(), extents);
    return lower_top<LabelList<PlainA, PlainB, Rest...>>(scope, extents, part_of(e, part, read));
  }

  /// The extent of both labels. \throws Error if they have several, or none is known.
  template <class E>
  [[nodiscard]] constexpr Extent extent_of_pair(const E& e) const {
    Extent rows = m_extents[0];
    Extent columns = m_extents[1];
    const auto into = [](Extent& extent) {
      return [&extent](Extent found, const Text&) {
        if (extent == 0) extent = found;
      };
    };
    visit_extents<PlainA>(e, into(rows));
    visit_extents<PlainB>(e, into(columns));
    if (rows == 0) rows = columns;
    if (columns == 0) columns = rows;
    if (rows == 0) {
      core::fail(ErrorKind::shape, m_where, "label ", expr::quoted(PlainA::name),
                 " of the packed tensor ", m_name,
                 " is no index by itself (so nothing gives its extent); write extent(",
                 PlainA::name, ", n) on the left");
    }
    check_packed(m_name, rows, columns, m_options.block_rows, m_where);
    const auto same = [&](const auto label, Extent extent, const Text& tensor) {
      if (extent == rows) return;
      core::fail(ErrorKind::shape, m_where, "label ", expr::quoted(label.name), " is ", rows,
                 " in the packed tensor ", m_name, " and ", extent, " in ", tensor,
                 " (a label has one extent in a statement; size 1 is not stretched)");
    };
    visit_extents<PlainA>(e, [&](Extent found, const Text& t) { same(PlainA{}, found, t); });
    visit_extents<PlainB>(e, [&](Extent found, const Text& t) { same(PlainB{}, found, t); });
    return rows;
  }

  /// The expression with packed tensors as whole ones, but, if `Own`, those under the statement's
  /// two labels outside of aggregations.
  template <bool Own, class Backend, class E>
  [[nodiscard]] static constexpr auto with_whole(LoweringScope<Backend>& scope, const E& e) {
    if constexpr (!is_packed_access<E> || (Own && is_packed_under<E, PlainA, PlainB>)) {
      return e;
    } else {
      return unpacked(scope, e);
    }
  }
  template <bool Own, class Backend, bool Gathers, class Body, class... Conditions>
  [[nodiscard]] static constexpr auto with_whole(
      LoweringScope<Backend>& scope, const expr::Selection<Gathers, Body, Conditions...>& e) {
    return statement_of<LabelList<>>(scope, NoAggregation{}, e);
  }
  template <bool Own, class Backend, class Op, class... Es>
  [[nodiscard]] static constexpr auto with_whole(LoweringScope<Backend>& scope,
                                                 const Apply<Op, Es...>& e) {
    return boost::hana::unpack(e.operands, [&](const auto&... es) {
      // Braces, for left-to-right order.
      return Apply<Op, decltype(with_whole<Own>(scope, es))...>{e.op,
                                                                with_whole<Own>(scope, es)...};
    });
  }
  template <bool Own, class Backend, class Monoid, class Labels, class Body>
  [[nodiscard]] static constexpr auto with_whole(LoweringScope<Backend>& scope,
                                                 const Aggregation<Monoid, Labels, Body>& e) {
    const auto body = with_whole<false>(scope, e.body);
    return Aggregation<Monoid, Labels, std::remove_const_t<decltype(body)>>(e.monoid, body);
  }

  Text m_name;
  PackedOptions m_options;
  std::source_location m_where;
  std::vector<Extent> m_extents;
};

/// packed_symmetric(name), waiting for labels.
template <class Sign>
struct NamedPacked {
  Text name;
  PackedOptions options;
  std::source_location where;
  template <OutputLabel A, OutputLabel B, OutputLabel... Rest>
  [[nodiscard]] constexpr auto operator()(const A& a, const B& b, const Rest&... rest) const {
    static_assert(A::name != B::name, "EinDecomp: a tensor is symmetric in one label; name two");
    if constexpr (A::name == B::name) {
      return expr::RefusedTarget{};
    } else {
      return PackedTarget<Sign, A, B, Rest...>(name, options, where, a, b, rest...);
    }
  }
  template <class... Indices>
    requires(!(OutputLabel<Indices> && ...))
  constexpr auto operator()(Indices&&...) const {
    expr::refuse_first_that_is_no_label<Indices...>();
    return expr::RefusedTarget{};
  }
};

}  // namespace graph

/// An input that is symmetric in its first two dimensions, and stored once.
/// \throws Error if these have different extents, and as inputs do.
template <Element T, class Backend, std::size_t Rank>
[[nodiscard]] constexpr auto packed_symmetric(
    BasicProgram<Backend>& program, std::string_view name, const Extent (&bound)[Rank],
    PackedOptions options = {}, std::source_location where = std::source_location::current()) {
  return graph::packed_input<Identity, T>(program, name, bound, options, where);
}
/// The same of an input whose sign changes with their exchange. Of elements (i, i) nothing is
/// asked; they are 0 if what is bound is antisymmetric.
template <Element T, class Backend, std::size_t Rank>
[[nodiscard]] constexpr auto packed_antisymmetric(
    BasicProgram<Backend>& program, std::string_view name, const Extent (&bound)[Rank],
    PackedOptions options = {}, std::source_location where = std::source_location::current()) {
  return graph::packed_input<Negate, T>(program, name, bound, options, where);
}

/// Begins a statement that writes a tensor which its author knows to be symmetric in its first two
/// labels: `packed_symmetric("G")(i, j) = sum(k)(X(i, k) * X(j, k))`. What is not stored is not
/// computed.
[[nodiscard]] constexpr graph::NamedPacked<Identity> packed_symmetric(
    std::string_view name, PackedOptions options = {},
    std::source_location where = std::source_location::current()) {
  return {name, options, where};
}
/// The same of a tensor whose sign changes with their exchange.
[[nodiscard]] constexpr graph::NamedPacked<Negate> packed_antisymmetric(
    std::string_view name, PackedOptions options = {},
    std::source_location where = std::source_location::current()) {
  return {name, options, where};
}

}  // namespace eindecomp
