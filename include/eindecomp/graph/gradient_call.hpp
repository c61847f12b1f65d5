// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A call of gradient.hpp by symbols.
#pragma once

#include <source_location>
#include <string_view>
#include <vector>

#include "eindecomp/expr/differentiate.hpp"
#include "eindecomp/graph/derivative_call.hpp"
#include "eindecomp/graph/differentiable.hpp"

namespace eindecomp::graph {

/// A tensor of rank 0 whose elements are the number, of elements T or what they are widened to.
template <class B, int Order, class T>
[[nodiscard]] VertexId write_constant(const DerivativeScope& scope, const StatementSpec& spec,
                                      double number) {
  using Constant = expr::ConstantOf<Widened<T>>;
  return write_at<B, Order, Constant, NoAggregation, T>(
      scope, spec, Constant{static_cast<Widened<T>>(number)}, NoAggregation{});
}

/// One call of gradient(), vjp() or jvp(): DerivativeCall of a program of a backend.
template <class Backend>
class GradientCall {
  static constexpr int order_left = Backend::order - 1;
  template <class T>
  static constexpr const SignatureWriter& copying =
      stateless_writer<Backend, order_left, Identity, NoAggregation, Widened<T>>;

 public:
  GradientCall(ProgramState<Backend>& state, const std::source_location& where)
      : m_state(state), m_scope(state, where), m_transaction(state), m_call(m_scope) {}

  /// Refuses what is no tensor of the program that can be differentiated.
  template <class T, int Rank>
  void require(const Symbol<T, Rank, Backend>& tensor, std::string_view what) const {
    m_call.require(handed(tensor), what);
  }
  /// The same, and a loss that is complex.
  template <class T>
  void require_loss(const Symbol<T, 0, Backend>& loss, std::string_view what) const {
    m_call.require_loss(handed(loss), what);
  }
  /// Refuses a cotangent or tangent of other extents than its tensor's.
  template <class S, class G>
  void require_like(const S& tensor, const G& given, std::string_view what) const {
    m_call.require_like(handed(tensor), handed(given), what);
  }

  /// Writes the cotangents of tensors that a cotangent of another leads to.
  void run(VertexId from, const Cotangent& seed, const std::vector<VertexId>& to) {
    m_call.run(from, seed, to, m_state.records.checkpoints);
  }
  /// The same of a loss, whose own is 1.
  template <class T>
  void run(const Symbol<T, 0, Backend>& loss, const std::vector<VertexId>& to) {
    m_call.read_loss(handed(loss), &write_constant<Backend, order_left, T>);
    run(loss.vertex(), {1, -1, -1, {}, {}}, to);
  }
  /// The gradient by a tensor, after run().
  template <class T, int Rank>
  Symbol<Widened<T>, Rank, Backend> symbol(const Symbol<T, Rank, Backend>& tensor) {
    const Written made = m_call.cotangent(handed(tensor), copying<T>);
    return {&m_state, made.vertex, made.writing};
  }

  /// Begins a jvp of tensor `to`.
  void begin_tangents(VertexId to) { m_call.begin_tangents(to); }
  /// Gives a tensor its tangent.
  template <class S, class V>
  void give(const S& tensor, const V& tangent) {
    m_call.give(handed(tensor), handed(tangent));
  }
  /// The tangent of the tensor that begin_tangents() took, y.
  template <class T, int Rank>
  Symbol<Widened<T>, Rank, Backend> tangent(const Symbol<T, Rank, Backend>&) {
    const Written made = m_call.tangent(copying<T>);
    return {&m_state, made.vertex, made.writing};
  }

  /// Keeps what was written, and what were results.
  void commit() {
    m_call.keep_results();
    m_transaction.commit();
  }

 private:
  template <class T, int Rank>
  [[nodiscard]] HandedTensor handed(const Symbol<T, Rank, Backend>& tensor) const {
    const ProgramState<Backend>& state = *tensor.state();
    return {state.graph,        tensor.vertex(),
            tensor.writing(),   &state == &m_state && state.fate == ProgramFate::in_use,
            has_derivatives<T>, expr::is_complex<T>};
  }

  ProgramState<Backend>& m_state;
  GradientScope<Backend> m_scope;
  Transaction<Backend> m_transaction;
  DerivativeCall m_call;
};

}  // namespace eindecomp::graph
