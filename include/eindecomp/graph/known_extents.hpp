// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The extents of an expression's labels, for parts of it that become statements of their own: one
/// part may take the values of a label, or compute an index from it, that only another has as an
/// index by itself.
#pragma once

#include <algorithm>
#include <boost/hana/unpack.hpp>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/factors.hpp"
#include "eindecomp/expr/label.hpp"
#include "eindecomp/expr/label_rules.hpp"
#include "eindecomp/expr/where.hpp"
#include "eindecomp/graph/program.hpp"

namespace eindecomp::graph {

/// Whether an expression joins tensors, all at labels: each of its parts has its labels itself.
template <class E>
inline constexpr bool is_plain = false;
template <class S, class... Ls>
inline constexpr bool is_plain<Access<S, Ls...>> = !expr::is_computed<Access<S, Ls...>>;
template <class T>
inline constexpr bool is_plain<Constant<T>> = true;
template <class F, class... Es>
inline constexpr bool is_plain<Apply<F, Es...>> = (is_plain<Es> && ...);
template <class Body>
inline constexpr bool is_plain<AsWritten<Body>> = is_plain<Body>;

/// The labels of a list, those that nothing reads as ones whose extents are given.
template <class Read, class List>
struct SizedLabels;
template <class Read, class... Ls>
struct SizedLabels<Read, LabelList<Ls...>> {
  using type = LabelList<
      std::conditional_t<RemainingLabels<LabelList<Ls>, Read>::size == 0, Ls, SizedLabel<Ls>>...>;
};

/// Extents by label.
class KnownExtents {
 public:
  /// Adds those that the left side of a statement gives; others are 0 there.
  constexpr void add(const expr::LabelNames& labels, const std::vector<Extent>& extents) {
    for (std::size_t k = 0; k < labels.size(); ++k) {
      if (extents[k] > 0) add(labels[k], extents[k]);
    }
  }
  /// Adds those of tensors of the program that an expression reads at labels, where they are not
  /// aggregated within it. Where there are several, the first is kept: that a statement has two is
  /// refused by itself.
  /// \{
  template <class State, class S, class... Ls>
  constexpr void add(const State& state, const Access<S, Ls...>& access) {
    // Tensors of other programs are refused where they are read.
    if constexpr (is_plain<Access<S, Ls...>> && requires { access.symbol.state() == &state; }) {
      if (access.symbol.state() != &state) return;
      const std::vector<Extent>& bound = state.graph[access.symbol.vertex()].bound;
      std::size_t k = 0;
      (add(Ls::name, bound[k++]), ...);
    }
  }
  template <class State, class F, class... Es>
  constexpr void add(const State& state, const Apply<F, Es...>& e) {
    boost::hana::unpack(e.operands, [&](const Es&... es) { (add(state, es), ...); });
  }
  template <class State, class Monoid, class Labels, class Body>
  constexpr void add(const State& state, const Aggregation<Monoid, Labels, Body>& e) {
    add_inside(state, Labels::names(), e.body);
  }
  template <class State, class Body>
  constexpr void add(const State& state, const AsWritten<Body>& e) {
    add(state, e.body);
  }
  template <class State, bool Gathers, class Body, class... Conditions>
  constexpr void add(const State& state,
                     const expr::Selection<Gathers, Body, Conditions...>& selection) {
    boost::hana::unpack(selection.conditions,
                        [&](const Conditions&... c) { (add(state, c.index), ...); });
    using Values = typename expr::Selection<Gathers, Body, Conditions...>::ValueLabels;
    add_inside(state, Gathers ? Values::names() : expr::LabelNames{}, selection.body);
  }
  /// Of a packed tensor (PackedAccess).
  template <class State, class E>
    requires requires(const E& e) { e.tensor.block_rows(); }
  constexpr void add(const State&, const E& access) {
    add(E::LabelTypes::names(), access.tensor.bound());
  }
  template <class State, class E>
  constexpr void add(const State&, const E&) {}
  /// \}

  /// Forgets labels.
  constexpr void forget(const expr::LabelNames& labels) {
    std::erase_if(m_known, [&](const auto& known) {
      return std::find(labels.begin(), labels.end(), known.first) != labels.end();
    });
  }

  /// Those of some labels, 0 where nothing is known.
  [[nodiscard]] constexpr std::vector<Extent> of(const expr::LabelNames& labels) const {
    std::vector<Extent> extents;
    for (const std::string_view label : labels) {
      const auto known = find(label);
      extents.push_back(known == m_known.end() ? 0 : known->second);
    }
    return extents;
  }

 private:
  using Known = std::vector<std::pair<std::string_view, Extent>>;

  [[nodiscard]] constexpr Known::const_iterator find(std::string_view label) const {
    return std::find_if(m_known.begin(), m_known.end(),
                        [&](const auto& known) { return known.first == label; });
  }
  constexpr void add(std::string_view label, Extent extent) {
    if (find(label) == m_known.end()) m_known.emplace_back(label, extent);
  }
  /// Adds what an expression has beside some labels, which are others than those outside.
  template <class State, class E>
  constexpr void add_inside(const State& state, const expr::LabelNames& hidden, const E& e) {
    KnownExtents inside;
    inside.add(state, e);
    inside.forget(hidden);
    for (const auto& [label, extent] : inside.m_known) add(label, extent);
  }

  Known m_known;
};

/// Gives what is lowered other extents while it lives.
class OtherExtents {
 public:
  constexpr explicit OtherExtents(KnownExtents& extents, KnownExtents others = {})
      : m_extents(extents), m_before(std::exchange(extents, std::move(others))) {}
  constexpr ~OtherExtents() { m_extents = std::move(m_before); }
  OtherExtents(const OtherExtents&) = delete;
  OtherExtents& operator=(const OtherExtents&) = delete;

 private:
  KnownExtents& m_extents;
  KnownExtents m_before;
};

}  // namespace eindecomp::graph
