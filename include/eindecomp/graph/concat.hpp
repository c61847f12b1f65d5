// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Expressions put together from blocks: `concat(i)(X(i, j), Y(i, j))` and
/// `pad(i)(X(i, j), {{1, 2}})`.
#pragma once

#include <array>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/graph/known_extents.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/write_blocks.hpp"

namespace eindecomp {
namespace graph {

/// Expressions one after another along a label.
template <AnyLabel AlongLabel, class... Es>
struct Concatenation : ExpressionBase {
  using IsOfBlocks = void;
  using Along = AlongLabel;
  using LabelTypes = UnitedLabels<typename Es::LabelTypes...>;
  boost::hana::tuple<Es...> parts;
  constexpr explicit Concatenation(const Es&... es) : parts(es...) {}
  [[nodiscard]] constexpr auto program() const {
    return boost::hana::unpack(parts, [](const auto&... es) { return expr::first_program(es...); });
  }
};

/// An expression with elements before and after it along labels.
template <class E, class F, AnyLabel... Along>
struct Padding : ExpressionBase {
  using IsOfBlocks = void;
  using LabelTypes = UnitedLabels<typename E::LabelTypes>;
  E part;
  std::array<std::array<Extent, 2>, sizeof...(Along)> widths{};
  F fill;
  constexpr Padding(const E& e, const Extent (&w)[sizeof...(Along)][2], const F& f)
      : part(e), fill(f) {
    for (std::size_t k = 0; k < sizeof...(Along); ++k) widths[k] = {w[k][0], w[k][1]};
  }
  [[nodiscard]] constexpr auto program() const { return part.program(); }
};

}  // namespace graph

template <class Along, class First, class... Es>
struct expr::ElementsOf<graph::Concatenation<Along, First, Es...>> {
  using type = expr::Elements<First>;
};
template <class E, class F, class... Along>
struct expr::ElementsOf<graph::Padding<E, F, Along...>> {
  using type = expr::Elements<E>;
};

namespace graph {

template <class... Ls>
[[nodiscard]] constexpr std::vector<Text> label_texts(LabelList<Ls...>) {
  return {Text(Ls::name)...};
}
/// Where a label is among others; -1 if it is not.
template <class L, class... Ls>
[[nodiscard]] constexpr int place_of(L, LabelList<Ls...>) {
  int place = 0;
  const bool found = ((Ls::name == L::name || (++place, false)) || ...);
  return found ? place : -1;
}

/// A block of a symbol's elements, one after another from some indices on.
template <class S>
[[nodiscard]] constexpr PlacedBlock placed(const S& symbol, const std::vector<Text>& labels,
                                           std::vector<Extent> first) {
  PlacedBlock block{symbol.vertex(), symbol.writing(), symbol.is_constant(),
                    labels,          std::move(first), std::vector<Extent>(labels.size(), 1)};
  return block;
}

/// A part as a tensor. Labels that nothing in it reads have the extents that the whole is given.
template <class Output, class Backend, class E>
[[nodiscard]] constexpr auto part_under(LoweringScope<Backend>& scope, std::vector<Extent> extents,
                                        const E& part) {
  using Read = typename expr::ReadLabels<E>::type;
  const expr::LabelNames names = Output::names();
  const expr::LabelNames read = Read::names();
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (expr::find_name(read, names[k]) >= 0) extents[k] = 0;
  }
  const Text own = scope.name + "." + ++scope.inner;
  return tensor_of<typename SizedLabels<Read, Output>::type>(scope, own, extents, part);
}

template <class Output, class Backend, class Along, class... Es>
[[nodiscard]] constexpr auto write_of_blocks(LoweringScope<Backend>& scope, const Text& name,
                                             const std::vector<Extent>& given,
                                             const Concatenation<Along, Es...>& e) {
  using T = expr::Elements<Concatenation<Along, Es...>>;
  constexpr int along = place_of(Along{}, Output{});
  const std::vector<Text> labels = label_texts(Output{});
  const EinGraph& graph = scope.state->graph;
  std::vector<Extent> bound;
  std::vector<std::pair<PlacedBlock, std::vector<Extent>>> blocks;
  const auto add = [&](const auto& part) {
    const auto symbol = part_under<Output>(scope, given, part);
    const std::vector<Extent>& extents = graph[symbol.vertex()].bound;
    std::vector<Extent> first(labels.size(), 0);
    if (bound.empty()) {
      bound = extents;
    } else {
      for (std::size_t k = 0; k < bound.size(); ++k) {
        if (static_cast<int>(k) == along || bound[k] == extents[k]) continue;
        core::fail(ErrorKind::shape, scope.where, "label ", expr::quoted(labels[k]), " is ",
                   bound[k], " in ", graph[blocks.front().first.vertex].name, " and ", extents[k],
                   " in ", graph[symbol.vertex()].name, " of concat(", labels[along], ") in ", name,
                   " (only that label may have several extents); give both one extent");
      }
      first[along] = bound[along];
      bound[along] += extents[along];
    }
    blocks.emplace_back(placed(symbol, labels, std::move(first)), extents);
  };
  boost::hana::unpack(e.parts, [&](const auto&... parts) { (add(parts), ...); });
  BlockList list(name, bound);
  for (auto& [block, extents] : blocks) list.add(std::move(block), std::move(extents));
  return write_blocks<T, Output::size>(scope.state, list, BlockFill::nothing(), name, labels,
                                       scope.where);
}

template <class Output, class Backend, class E, class F, class... Along>
[[nodiscard]] constexpr auto write_of_blocks(LoweringScope<Backend>& scope, const Text& name,
                                             const std::vector<Extent>& given,
                                             const Padding<E, F, Along...>& e) {
  using T = expr::Elements<E>;
  const std::vector<Text> labels = label_texts(Output{});
  const auto symbol = part_under<Output>(scope, given, e.part);
  const std::vector<Extent> extents = scope.state->graph[symbol.vertex()].bound;
  std::vector<Extent> bound = extents;
  std::vector<Extent> first(labels.size(), 0);
  std::size_t n = 0;
  const auto widen = [&](int k) {
    const auto at = static_cast<std::size_t>(k);
    const auto [before, after] = e.widths[n++];
    if (before < 0 || after < 0) {
      core::fail(ErrorKind::shape, scope.where, "pad(", labels[at], ") in ", name, " is given ",
                 before, " elements before and ", after,
                 " after (a tensor grows by them); read a range of it to make it smaller");
    }
    first[at] = before;
    bound[at] += before + after;
  };
  (widen(place_of(Along{}, Output{})), ...);
  BlockList list(name, bound);
  list.add(placed(symbol, labels, std::move(first)), extents);
  const T fill = fill_value<T>(e.fill, name, scope.where);
  return write_blocks<T, Output::size>(scope.state, list, BlockFill::of(fill), name, labels,
                                       scope.where);
}

/// Lowers ⊕ of an expression of blocks under explicit output labels.
template <class Output, class Aggregated, class Backend, class Monoid, class Body>
[[nodiscard]] constexpr auto lower_blocks(LoweringScope<Backend>& scope, std::string_view name,
                                          const Monoid& monoid, const std::vector<Extent>& extents,
                                          const Body& body) {
  using Plain = decltype(plain_labels(Output{}));
  if constexpr (std::is_same_v<Monoid, NoAggregation> &&
                same_labels<Plain, typename Body::LabelTypes>) {
    // A label has other extents in the parts.
    const OtherExtents whole(scope.extents);
    const auto symbol = write_of_blocks<Plain>(scope, Text(name), extents, body);
    const std::vector<Extent>& bound = scope.state->graph[symbol.vertex()].bound;
    for (std::size_t k = 0; k < bound.size(); ++k) {
      if (extents[k] == 0 || extents[k] == bound[k]) continue;
      core::fail(ErrorKind::shape, scope.where, "label ", expr::quoted(Plain::names()[k]), " is ",
                 bound[k], " in the blocks and ", extents[k], " in the output of ", name);
    }
    return symbol;
  } else {
    return lower_statement<Output, Aggregated>(scope, name, monoid, extents,
                                               materialise(scope, body));
  }
}
/// Replaces an expression of blocks inside another by a statement of its own.
template <class Backend, class Body>
  requires requires { typename Body::IsOfBlocks; }
[[nodiscard]] constexpr auto materialise_node(LoweringScope<Backend>& scope, const Body& body) {
  return statement_of<LabelList<>>(scope, NoAggregation{}, body);
}

/// `concat(i)`, waiting for what is put together.
template <class Along>
struct Concat {
  template <Expression... Es>
    requires(sizeof...(Es) > 0)
  [[nodiscard]] constexpr auto operator()(const Es&... es) const {
    using First = std::tuple_element_t<0, std::tuple<Es...>>;
    if constexpr (place_of(Along{}, typename First::LabelTypes{}) < 0 ||
                  !(same_labels<typename First::LabelTypes, typename Es::LabelTypes> && ...)) {
      static_assert(
          expr::never<Es...>,
          "EinDecomp: what is concatenated has not the same labels, or lacks the one that "
          "it is concatenated along; give all of it the labels of the first");
      return expr::Refused{};
    } else if constexpr (!(std::is_same_v<expr::Elements<First>, expr::Elements<Es>> && ...)) {
      static_assert(expr::never<Es...>,
                    "EinDecomp: what is concatenated has elements of several types; convert it, as "
                    "in cast<double>(X(i, j))");
      return expr::Refused{};
    } else {
      return Concatenation<Along, Es...>(es...);
    }
  }
};

/// `pad(i, j)`, waiting for what is padded.
template <class... Along>
struct Pad {
  template <Expression E, Scalar F = int>
  [[nodiscard]] constexpr auto operator()(const E& e, const Extent (&widths)[sizeof...(Along)][2],
                                          const F& fill = 0) const {
    if constexpr (!((place_of(Along{}, typename E::LabelTypes{}) >= 0) && ...)) {
      static_assert(expr::never<E>,
                    "EinDecomp: what is padded lacks a label that it is padded along; pad along "
                    "labels that it has");
      return expr::Refused{};
    } else if constexpr (UnitedLabels<LabelList<Along...>>::size != sizeof...(Along)) {
      static_assert(expr::never<E>,
                    "EinDecomp: what is padded is padded twice along a label; give each label one "
                    "pair of widths");
      return expr::Refused{};
    } else {
      return Padding<E, F, Along...>(e, widths, fill);
    }
  }
};

}  // namespace graph

/// Expressions one after another along a label, NumPy's `concatenate`:
/// `let<"Z">(i, j) = concat(i)(X(i, j), 2.0 * Y(i, j))`. That label's extents add up, all others
/// agree. Each block is copied to where it belongs; what is more than a tensor is a statement of
/// its own.
template <AnyLabel Along>
[[nodiscard]] constexpr auto concat(Along) {
  return graph::Concat<Along>{};
}

/// An expression with elements of one value before and after it, NumPy's `pad`:
/// `let<"Z">(i, j) = pad(i, j)(X(i, j), {{1, 2}, {0, 3}}, 7.0)` has 1 more before and 2 more after
/// along i, 3 more after along j; without a value zeros.
template <AnyLabel... Along>
  requires(sizeof...(Along) > 0)
[[nodiscard]] constexpr auto pad(Along...) { return graph::Pad<Along...>{}; }

}  // namespace eindecomp
