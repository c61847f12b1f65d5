// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Expressions in which two labels take some of their values only: the `range(i, 4, 8)` that each
/// of their accesses would be written with.
#pragma once

#include <algorithm>
#include <boost/hana/unpack.hpp>
#include <cstddef>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/factors.hpp"
#include "eindecomp/expr/label_rules.hpp"
#include "eindecomp/expr/label_value.hpp"
#include "eindecomp/graph/known_extents.hpp"
#include "eindecomp/graph/packed_access.hpp"

namespace eindecomp::graph {

/// A label that no expression has.
using NoLabel = Label<"">;

/// Which values two labels take: as many as their extents, from the first on.
template <class A, class B>
struct PairPart {
  Extent first_a = 0;
  Extent extent_a = 0;
  Extent first_b = 0;
  Extent extent_b = 0;

  template <class... Ls>
  static constexpr bool concerns = ((std::is_same_v<Ls, A> || std::is_same_v<Ls, B>) || ...);

  constexpr void apply_to(IndexSpec& index) const {
    for (IndexSpec::Term& term : index.terms) {
      const bool is_a = term.label == A::name;
      if (!is_a && term.label != B::name) continue;
      index.offset += term.coefficient * (is_a ? first_a : first_b);
      term.extent = is_a ? extent_a : extent_b;
    }
  }
  template <class L>
  [[nodiscard]] constexpr Extent first() const {
    return std::is_same_v<L, A> ? first_a : std::is_same_v<L, B> ? first_b : 0;
  }
  /// The same where an aggregation has labels of its own.
  template <class... Own>
  [[nodiscard]] constexpr auto outside_of(LabelList<Own...>) const {
    return PairPart<std::conditional_t<expr::is_one_of<A, Own...>, NoLabel, A>,
                    std::conditional_t<expr::is_one_of<B, Own...>, NoLabel, B>>{first_a, extent_a,
                                                                                first_b, extent_b};
  }
};

/// An expression of the values of a PairPart. \param read  what takes the place of a packed tensor
/// \{
template <class Part, class Read, class S, class... Ls>
[[nodiscard]] constexpr auto part_of(const Access<S, Ls...>& access, const Part& part,
                                     const Read&) {
  if constexpr (!Part::template concerns<Ls...>) {
    return access;
  } else if constexpr (requires { access.symbol.indices; }) {
    Access<S, Ls...> shifted = access;
    for (IndexSpec& index : shifted.symbol.indices) part.apply_to(index);
    return shifted;
  } else {
    expr::IndexedSymbol<S, sizeof...(Ls)> read{access.symbol, {expr::index_spec(Ls{})...}};
    for (IndexSpec& index : read.indices) part.apply_to(index);
    return expr::access_under(read, UnitedLabels<LabelList<Ls>...>{});
  }
}
template <class Part, class Read, class Tensor, class... Ls>
[[nodiscard]] constexpr auto part_of(const PackedAccess<Tensor, Ls...>& access, const Part&,
                                     const Read& read) {
  return read(access);
}
template <class Part, class Read, class T>
[[nodiscard]] constexpr auto part_of(const Constant<T>& constant, const Part&, const Read&) {
  return constant;
}
template <class Part, class Read, class L>
[[nodiscard]] constexpr auto part_of(const LabelValue<L>& label, const Part& part, const Read&) {
  if constexpr (!Part::template concerns<L>) {
    return label;
  } else {
    return expr::value_of(L{} + part.template first<L>());
  }
}
template <class Part, class Read, std::size_t N, class... Ls>
[[nodiscard]] constexpr auto part_of(const Apply<expr::AffineValue<N>, LabelValue<Ls>...>& value,
                                     const Part& part, const Read&) {
  auto shifted = value;
  std::size_t n = 0;
  ((shifted.op.offset += value.op.coefficients[n++] * part.template first<Ls>()), ...);
  return shifted;
}
template <class Part, class Read, class Op, class... Es>
[[nodiscard]] constexpr auto part_of(const Apply<Op, Es...>& e, const Part& part,
                                     const Read& read) {
  return boost::hana::unpack(e.operands, [&](const auto&... es) {
    return Apply<Op, decltype(part_of(es, part, read))...>{e.op, part_of(es, part, read)...};
  });
}
template <class Part, class Read, class Monoid, class Labels, class Body>
[[nodiscard]] constexpr auto part_of(const Aggregation<Monoid, Labels, Body>& e, const Part& part,
                                     const Read& read) {
  const auto body = part_of(e.body, part.outside_of(Labels{}), read);
  return Aggregation<Monoid, Labels, std::remove_const_t<decltype(body)>>(e.monoid, body);
}
template <class Part, class Read, class Body>
[[nodiscard]] constexpr auto part_of(const AsWritten<Body>& e, const Part& part, const Read& read) {
  return as_written(part_of(e.body, part, read));
}
/// \}

/// Calls visit(extent, tensor's name and labels) for every dimension of a tensor in an expression
/// that has L for its index.
template <class L, class Visit>
struct ExtentVisitor {
  Visit visit;

  template <class E>
  constexpr void operator()(const E&) const {}
  template <class S, class... Ls>
  constexpr void operator()(const Access<S, Ls...>& access) const {
    const auto& tensor = access.symbol.state()->graph[access.symbol.vertex()];
    if constexpr (requires { access.symbol.indices; }) {
      std::size_t k = 0;
      for (const IndexSpec& index : access.symbol.indices) {
        if (index.is_label() && index.terms[0].label == L::name) {
          visit(tensor.bound[k], tensor.name + "(…)");
        }
        ++k;
      }
    } else {
      look<Ls...>(tensor.bound, tensor.name);
    }
  }
  template <class Tensor, class... Ls>
  constexpr void operator()(const PackedAccess<Tensor, Ls...>& access) const {
    look<Ls...>(access.tensor.bound(), access.tensor.name());
  }
  template <class Op, class... Es>
  constexpr void operator()(const Apply<Op, Es...>& e) const {
    boost::hana::unpack(e.operands, [&](const auto&... es) { ((*this)(es), ...); });
  }
  template <class Monoid, class... Own, class Body>
  constexpr void operator()(const Aggregation<Monoid, LabelList<Own...>, Body>& e) const {
    if constexpr (!expr::is_one_of<L, Own...>) (*this)(e.body);
  }
  template <class Body>
  constexpr void operator()(const AsWritten<Body>& e) const {
    (*this)(e.body);
  }

 private:
  template <class... Ls>
  constexpr void look(const std::vector<Extent>& bound, std::string_view name) const {
    std::size_t k = 0;
    ((void)(std::is_same_v<L, Ls>
                ? visit(bound[k], expr::access_text(name, LabelList<Ls...>::names()))
                : void(),
            ++k),
     ...);
  }
};
/// Adds the extents that are given in the indices of an expression.
struct GivenExtents {
  KnownExtents& known;

  template <class E>
  constexpr void operator()(const E&) const {}
  template <class S, class... Ls>
  constexpr void operator()(const Access<S, Ls...>& access) const {
    if constexpr (requires { access.symbol.indices; }) {
      for (const IndexSpec& index : access.symbol.indices) {
        for (const IndexSpec::Term& term : index.terms) {
          known.add(expr::LabelNames{term.label}, std::vector<Extent>{term.extent});
        }
      }
    }
  }
  template <class Op, class... Es>
  constexpr void operator()(const Apply<Op, Es...>& e) const {
    boost::hana::unpack(e.operands, [&](const auto&... es) { ((*this)(es), ...); });
  }
  template <class Body>
  constexpr void operator()(const AsWritten<Body>& e) const {
    (*this)(e.body);
  }
};

/// Calls visit(label, tensor's name) for every label that shares an index with A or B and has no
/// extent but the one that is inferred of that index, which would be another in every part.
template <class A, class B, class State, class Visit>
struct UnsizedVisitor {
  const State& state;
  Visit visit;

  template <class E>
  constexpr void operator()(const E&, const KnownExtents&) const {}
  template <class S, class... Ls>
  constexpr void operator()(const Access<S, Ls...>& access, const KnownExtents& known) const {
    if constexpr (requires { access.symbol.indices; }) {
      const auto is_cut = [](const IndexSpec::Term& term) {
        return term.label == A::name || term.label == B::name;
      };
      for (const IndexSpec& index : access.symbol.indices) {
        if (std::none_of(index.terms.begin(), index.terms.end(), is_cut)) continue;
        for (const IndexSpec::Term& term : index.terms) {
          if (is_cut(term) || term.extent > 0 || known.of({term.label}).front() > 0) continue;
          visit(Text(term.label), state.graph[access.symbol.vertex()].name);
        }
      }
    }
  }
  template <class Op, class... Es>
  constexpr void operator()(const Apply<Op, Es...>& e, const KnownExtents& known) const {
    boost::hana::unpack(e.operands, [&](const auto&... es) { ((*this)(es, known), ...); });
  }
  template <class Monoid, class... Own, class Body>
  constexpr void operator()(const Aggregation<Monoid, LabelList<Own...>, Body>& e,
                            const KnownExtents& known) const {
    KnownExtents inside = known;
    inside.forget(LabelList<Own...>::names());
    inside.add(state, e.body);
    GivenExtents{inside}(e.body);
    using Inside = UnsizedVisitor<std::conditional_t<expr::is_one_of<A, Own...>, NoLabel, A>,
                                  std::conditional_t<expr::is_one_of<B, Own...>, NoLabel, B>, State,
                                  const Visit&>;
    Inside{state, visit}(e.body, inside);
  }
  template <class Body>
  constexpr void operator()(const AsWritten<Body>& e, const KnownExtents& known) const {
    (*this)(e.body, known);
  }
};

/// \throws Error if there is such a label. \param known  extents that the statement gives
template <class A, class B, class State, class E>
constexpr void check_sized(const State& state, const E& e, KnownExtents known,
                           const std::source_location& where) {
  known.add(state, e);
  GivenExtents{known}(e);
  const auto refuse = [&](const Text& label, const Text& tensor) {
    core::fail(ErrorKind::shape, where, "label ", expr::quoted(label), " of an index of ", tensor,
               " has no extent of its own, and the statement is computed in parts of ",
               expr::quoted(A::name), " and ", expr::quoted(B::name),
               " (a packed tensor is stored so), in which another would be inferred; write extent(",
               label, ", n) in the index");
  };
  UnsizedVisitor<A, B, State, decltype(refuse)>{state, refuse}(e, known);
}

template <class L, class E, class Visit>
constexpr void visit_extents(const E& e, const Visit& visit) {
  ExtentVisitor<L, Visit>{visit}(e);
}

}  // namespace eindecomp::graph
