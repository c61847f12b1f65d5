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
[[nodiscard]] VertexId write_at(const DerivativeScope& scope, const StatementSpec& spec,
                                const Join& join, const Monoid& monoid) {
  ProgramState<B>& state = static_cast<const GradientScope<B>&>(scope).state;
  return StatementWriter<AtOrder<B, Order>, Join, Monoid, Ts...>(state, join, monoid).write(spec);
}

/// Writes statements of one ⊗ and one ⊕, to which it refers.
class SignatureWriter {
 public:
  template <class B, int Order, class... Ts, class Join, class Monoid>
  [[nodiscard]] static constexpr SignatureWriter of(const Join& join, const Monoid& monoid) {
    return {&write<B, Order, Join, Monoid, Ts...>, &join, &monoid};
  }
  /// The same of a ⊗ that with_join() is to give.
  template <class B, int Order, class Join, class Monoid, class... Ts>
  [[nodiscard]] static constexpr SignatureWriter without_join(const Monoid& monoid) {
    return {&write<B, Order, Join, Monoid, Ts...>, nullptr, &monoid};
  }
  /// Itself if it has a ⊗, else of this one, which it refers to.
  [[nodiscard]] SignatureWriter with_join(const void* join) const {
    return {m_write, m_join == nullptr ? join : m_join, m_monoid};
  }
  /// Under the name of `spec`, with a number if it is taken.
  [[nodiscard]] Written operator()(const DerivativeScope& scope, StatementSpec spec) const;

 private:
  using Write = VertexId(const DerivativeScope&, const StatementSpec&, const void*, const void*);

  constexpr SignatureWriter(Write* write, const void* join, const void* monoid)
      : m_write(write), m_join(join), m_monoid(monoid) {}

  template <class B, int Order, class Join, class Monoid, class... Ts>
  static VertexId write(const DerivativeScope& scope, const StatementSpec& spec, const void* join,
                        const void* monoid) {
    return write_at<B, Order, Join, Monoid, Ts...>(scope, spec, *static_cast<const Join*>(join),
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

/// Writes statements that have a number in their ⊗.
using NumberWriter = VertexId(const DerivativeScope& scope, const StatementSpec& spec,
                              double number);
/// As SignatureWriter does.
[[nodiscard]] Written write_number(const DerivativeScope& scope, StatementSpec spec, double number,
                                   NumberWriter* write);
/// A multiple of elements X.
template <class B, int Order, class X>
[[nodiscard]] VertexId write_multiple(const DerivativeScope& scope, const StatementSpec& spec,
                                      double number) {
  return write_at<B, Order, ScaledMul<X>, NoAggregation, X>(
      scope, spec, ScaledMul<X>{static_cast<X>(number)}, NoAggregation{});
}

/// What the derivatives of all operators write of elements X.
struct ElementWriters {
  SignatureWriter copy;
  SignatureWriter sum;  ///< over labels
  SignatureWriter add;  ///< two tensors
  NumberWriter* scale;
};
template <class B, int Order, class X>
inline constexpr ElementWriters element_writers{
    stateless_writer<B, Order, Identity, NoAggregation, X>,
    stateless_writer<B, Order, Identity, Sum, X>,
    stateless_writer<B, Order, Add, NoAggregation, X, X>,
    &write_multiple<B, Order, X>,
};

}  // namespace eindecomp::graph
