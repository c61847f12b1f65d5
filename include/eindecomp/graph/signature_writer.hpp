// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Writers of a derivative's statements, behind which the types of operators and elements are.
#pragma once

#include <utility>

#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/statement_writer.hpp"

namespace eindecomp::graph {

/// A statement's vertex and which of those that share it, as written.
struct Written {
  VertexId vertex;
  int writing;
};

/// Writes a statement that can be differentiated Order times more.
template <class B, int Order, class Join, class Monoid, class... Ts>
[[nodiscard]] Written write_at(const DerivativeScope& scope, StatementSpec spec, const Join& join,
                               const Monoid& monoid) {
  ProgramState<B>& state = static_cast<const GradientScope<B>&>(scope).state;
  const Text named = scope.graph.unused_name(spec.name);
  spec.name = named;
  const StatementWriter<AtOrder<B, Order>, Join, Monoid, Ts...> writer(state, join, monoid);
  const VertexId v = writer.write(std::move(spec));
  return {v, scope.graph.last_writing()};
}

/// Writes statements of one ⊗ and one ⊕, to which it refers.
class SignatureWriter {
 public:
  template <class B, int Order, class... Ts, class Join, class Monoid>
  [[nodiscard]] static constexpr SignatureWriter of(const Join& join, const Monoid& monoid) {
    return {&write<B, Order, Join, Monoid, Ts...>, &join, &monoid};
  }
  [[nodiscard]] Written operator()(const DerivativeScope& scope, StatementSpec spec) const {
    return m_write(scope, std::move(spec), m_join, m_monoid);
  }

 private:
  using Write = Written(const DerivativeScope&, StatementSpec&&, const void*, const void*);

  constexpr SignatureWriter(Write* write, const void* join, const void* monoid)
      : m_write(write), m_join(join), m_monoid(monoid) {}

  template <class B, int Order, class Join, class Monoid, class... Ts>
  static Written write(const DerivativeScope& scope, StatementSpec&& spec, const void* join,
                       const void* monoid) {
    return write_at<B, Order, Join, Monoid, Ts...>(scope, std::move(spec),
                                                   *static_cast<const Join*>(join),
                                                   *static_cast<const Monoid*>(monoid));
  }

  Write* m_write;
  const void* m_join;
  const void* m_monoid;
};

/// The operator of a type without state.
template <class F>
inline constexpr F stateless{};
/// Writes statements of operators without state.
template <class B, int Order, class Join, class Monoid, class... Ts>
inline constexpr SignatureWriter stateless_writer =
    SignatureWriter::of<B, Order, Ts...>(stateless<Join>, stateless<Monoid>);

/// What the derivatives of all operators write of elements X.
struct ElementWriters {
  SignatureWriter copy;
  SignatureWriter sum;  ///< over labels
  SignatureWriter add;  ///< two tensors
  Written (*scale)(const DerivativeScope& scope, StatementSpec spec, double factor);
};
template <class B, int Order, class X>
[[nodiscard]] Written write_multiple(const DerivativeScope& scope, StatementSpec spec,
                                     double factor) {
  return write_at<B, Order, ScaledMul<X>, NoAggregation, X>(
      scope, std::move(spec), ScaledMul<X>{static_cast<X>(factor)}, NoAggregation{});
}
template <class B, int Order, class X>
inline constexpr ElementWriters element_writers{
    stateless_writer<B, Order, Identity, NoAggregation, X>,
    stateless_writer<B, Order, Identity, Sum, X>,
    stateless_writer<B, Order, Add, NoAggregation, X, X>,
    &write_multiple<B, Order, X>,
};

}  // namespace eindecomp::graph
