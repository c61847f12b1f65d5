// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a call of gradient.hpp begins and ends with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/graph/differentiable.hpp"
#include "eindecomp/graph/tangent_writer.hpp"

namespace eindecomp::graph {

/// One call of gradient(), vjp() or jvp(): what is written, as symbols.
template <class Backend>
class GradientCall {
  static constexpr int order_left = Backend::order - 1;

 public:
  GradientCall(ProgramState<Backend>& state, std::source_location where)
      : m_state(state), m_scope(state, where), m_transaction(state) {
    for (const VertexId v : state.graph.results()) m_results.push_back(v);
  }

  /// Lets numbers become tensors of the loss' type.
  template <class T>
  void read_loss(const Symbol<T, 0, Backend>& loss) {
    m_scope.constant = [this, loss](double value) {
      StatementSpec spec;
      spec.name = Text("d") + loss.name();
      spec.where = m_scope.where;
      spec.operands.push_back({loss.vertex(), {}, loss.writing()});
      using Constant = expr::ConstantOf<Widened<T>>;
      const Written made = write_at<Backend, order_left, Constant, NoAggregation, T>(
          m_scope, spec, Constant{static_cast<Widened<T>>(value)}, NoAggregation{});
      return Cotangent{0, made.vertex, made.writing, {}, {}};
    };
  }

  template <class T, int Rank>
  void require(const Symbol<T, Rank, Backend>& tensor, std::string_view what) const {
    if (tensor.state() != &m_state || tensor.state()->fate != ProgramFate::in_use) {
      core::fail(ErrorKind::statement,
                 Text("tensor ") + tensor.name() + ", " + what +
                     ", belongs to another program or to one that is no more; use symbols of one "
                     "program",
                 m_scope.where);
    }
    if (has_derivatives<T>) return;
    core::fail(ErrorKind::statement,
               Text("tensor ") + tensor.name() + ", " + what + ", has elements " +
                   expr::element_text(element_type<T>()) +
                   " (derivatives are of floating-point and complex numbers); convert it by cast",
               m_scope.where);
  }
  /// Refuses a loss that is complex.
  template <class T>
  void require_loss(const Symbol<T, 0, Backend>& loss, std::string_view what) const {
    require(loss, what);
    if (!expr::is_complex<T>) return;
    core::fail(ErrorKind::statement,
               Text("tensor ") + loss.name() + ", " + what + ", has elements " +
                   expr::element_text(element_type<T>()) +
                   " (a gradient is of a real number); take its real part or its modulus",
               m_scope.where);
  }

  /// Refuses a cotangent or tangent of other extents than its tensor's.
  template <class S, class G>
  void require_like(const S& tensor, const G& given, std::string_view what) const {
    const EinGraph& graph = m_state.graph;
    if (graph[tensor.vertex()].bound == graph[given.vertex()].bound) return;
    const auto extents = [&](const auto& s) { return core::extents_text(graph[s.vertex()].bound); };
    core::fail(ErrorKind::shape,
               Text("the ") + what + " " + given.name() + " is " + extents(given) +
                   " and its tensor " + tensor.name() + " is " + extents(tensor) +
                   "; give one of the tensor's extents",
               m_scope.where);
  }

  void run(VertexId from, Cotangent seed, const std::vector<VertexId>& to) {
    Recomputation recomputation(
        m_state.graph, m_state.records.checkpoints, from,
        [this](VertexId v, const std::vector<VertexId>& operands) { return copy(v, operands); });
    m_scope.recomputation = &recomputation;
    m_cotangents = write_cotangents(m_scope, from, std::move(seed), to);
    m_scope.recomputation = nullptr;
  }

  /// The gradient after a tensor.
  template <class T, int Rank>
  Symbol<Widened<T>, Rank, Backend> symbol(const Symbol<T, Rank, Backend>& tensor,
                                           std::string_view from) {
    const auto at = static_cast<std::size_t>(tensor.vertex());
    if (at >= m_cotangents.size() || !m_cotangents[at].has_value()) {
      fail_as_zero("gradient", from, "by", tensor.name());
    }
    const Written made =
        whole<Widened<T>>(*m_cotangents[at], tensor.vertex(), Text("d") + tensor.name());
    return {&m_state, made.vertex, made.writing};
  }

  /// Begins a jvp of tensor `to`.
  void begin_tangents(VertexId to) {
    m_scope.what = "derivative";
    m_tangents.emplace(m_scope, to);
  }
  /// Gives a tensor its tangent.
  template <class Y, class S, class V>
  void give(const Y& y, const S& tensor, const V& tangent) {
    require(tensor, "along which a tensor is differentiated");
    require(tangent, "which is its tangent");
    require_like(tensor, tangent, "tangent");
    if (!m_tangents->leads_from(tensor.vertex())) {
      fail_as_zero("derivative", y.name(), "along", tensor.name());
    }
    if (!m_tangents->give(tensor.vertex(), tangent.vertex(), tangent.writing())) {
      core::fail(ErrorKind::statement,
                 Text("tensor ") + tensor.name() +
                     " is given two tangents (a derivative is along one); give their sum",
                 m_scope.where);
    }
    m_given.push_back(tangent.writing());
  }
  /// The tangent after the tensor that begin_tangents() took.
  template <class T, int Rank>
  Symbol<Widened<T>, Rank, Backend> tangent(const Symbol<T, Rank, Backend>& y) {
    const Written made = whole<Widened<T>>(m_tangents->run(), y.vertex(), y.name() + ".tangent");
    return {&m_state, made.vertex, made.writing};
  }

  /// Keeps what was written, and what were results.
  void commit() {
    EinGraph& graph = m_state.graph;
    for (const VertexId v : m_results) {
      Vertex& result = graph.vertices[static_cast<std::size_t>(v)];
      if (!result.is_result()) result.kept = true;
    }
    m_transaction.commit();
  }

 private:
  [[noreturn]] void fail_as_zero(std::string_view what, std::string_view of, std::string_view by,
                                 std::string_view tensor) const {
    core::fail(ErrorKind::statement,
               Text("the ") + what + " of " + of + " " + by + " " + tensor +
                   " is 0 everywhere (no statement that can be differentiated leads from " +
                   tensor + " to " + of + "); leave it out",
               m_scope.where);
  }
  /// Writes a statement again, with other operands.
  VertexId copy(VertexId v, const std::vector<VertexId>& operands) {
    const VertexId written = m_state.graph.add_copy(v, operands);
    m_state.resize(static_cast<std::size_t>(m_state.graph.size()));
    m_state.launchers.back() = m_state.launchers[static_cast<std::size_t>(v)];
    auto& derivatives = m_state.records.derivatives;
    derivatives.back() = derivatives[static_cast<std::size_t>(v)];
    return written;
  }
  /// A tensor with all dimensions, in their order, that no other statement reads as this one.
  template <class T>
  Written whole(const Cotangent& found, VertexId tensor, std::string_view name) {
    const Vertex of = m_state.graph[tensor];  // a copy: the graph grows
    Cotangent c = found.is_number() ? m_scope.constant(found.value) : found;
    bool is_whole = c.dims.size() == of.bound.size() && !m_state.graph[c.vertex].is_input();
    for (std::size_t k = 0; is_whole && k < c.dims.size(); ++k) {
      is_whole = c.dims[k] == static_cast<int>(k);
    }
    if (is_whole) {
      const bool taken = m_state.graph.is_read(c.writing) ||
                         std::find(m_given.begin(), m_given.end(), c.writing) != m_given.end();
      if (taken) c.writing = m_state.graph.write_again(c.vertex);
      m_given.push_back(c.writing);
      return {c.vertex, c.writing};
    }
    c = write_whole(m_scope, c, found.labels, of.bound, name,
                    stateless_writer<Backend, order_left, Identity, NoAggregation, T>);
    return {c.vertex, c.writing};
  }

  ProgramState<Backend>& m_state;
  GradientScope<Backend> m_scope;
  Transaction<Backend> m_transaction;
  std::vector<VertexId> m_results;  // before the call
  std::vector<int> m_given;
  std::vector<std::optional<Cotangent>> m_cotangents;  // per vertex, after run()
  std::optional<TangentWriter> m_tangents;
};

}  // namespace eindecomp::graph
