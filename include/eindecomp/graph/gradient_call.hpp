// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The way back from a tensor to others, on which gradient.hpp writes cotangents.
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

namespace eindecomp::graph {

/// Walks back from a tensor to others, statement by statement, and writes the cotangents.
template <class Backend>
class GradientWriter {
  using State = ProgramState<Backend>;

 public:
  GradientWriter(const GradientScope<Backend>& scope, VertexId from,
                 const std::vector<VertexId>& to)
      : m_scope(scope), m_from(from), m_count(static_cast<std::size_t>(from) + 1) {
    m_leads.assign(m_count, false);
    for (const VertexId v : to) {
      if (v <= from) m_leads[at(v)] = true;
    }
    for (VertexId v = 0; v <= from; ++v) {
      const std::size_t operands = graph()[v].operands.size();
      for (std::size_t o = 0; o < operands && !m_leads[at(v)]; ++o) {
        m_leads[at(v)] = leads_through(v, o);
      }
    }
    m_readers.assign(m_count, 0);
    std::vector<bool> reached(m_count, false);
    reached[at(from)] = true;
    for (VertexId v = from; v >= 0; --v) {
      if (!reached[at(v)]) continue;
      for (std::size_t o = 0; o < graph()[v].operands.size(); ++o) {
        if (!leads_through(v, o)) continue;
        const VertexId x = graph()[v].operands[o].vertex;
        reached[at(x)] = true;
        ++m_readers[at(x)];
      }
    }
    m_cotangents.resize(m_count);
  }

  /// \param seed  the cotangent of the tensor walked back from
  void run(Cotangent seed) {
    m_cotangents[at(m_from)] = std::move(seed);
    for (VertexId v = m_from; v >= 0; --v) {
      if (!m_cotangents[at(v)].has_value()) continue;
      const std::size_t operands = graph()[v].operands.size();
      for (std::size_t o = 0; o < operands; ++o) {
        if (leads_through(v, o)) contribute(v, o);
      }
    }
  }
  /// The cotangent of a tensor, if there is a way to it.
  [[nodiscard]] const std::optional<Cotangent>& of(VertexId v) const {
    static const std::optional<Cotangent> none;
    return v <= m_from ? m_cotangents[at(v)] : none;
  }

 private:
  [[nodiscard]] static std::size_t at(VertexId v) { return static_cast<std::size_t>(v); }
  [[nodiscard]] const EinGraph& graph() const { return m_scope.state.graph; }

  [[nodiscard]] bool leads_through(VertexId v, std::size_t o) const {
    const Operand& operand = graph()[v].operands[o];
    if (operand.constant || !m_leads[at(operand.vertex)]) return false;
    const auto& derivative = m_scope.state.records.derivatives[at(v)];
    return derivative == nullptr || derivative->depends_on(o);
  }

  void contribute(VertexId v, std::size_t o) {
    const VertexId x = graph()[v].operands[o].vertex;
    const auto derivative = m_scope.state.records.derivatives[at(v)];
    if (derivative == nullptr) {
      core::fail(ErrorKind::statement,
                 Text("the gradient leads through statement ") + graph()[v].name +
                     ", which a gradient wrote (the program can be differentiated " +
                     Backend::order + (Backend::order == 1 ? Text(" time") : Text(" times")) +
                     "); make it a BasicProgram<Differentiable<…, " + (Backend::order + 1) + ">>",
                 m_scope.where);
    }
    const Text name = Text("d") + graph()[x].name;
    std::optional<Cotangent>& sum = m_cotangents[at(x)];
    const int readers = m_readers[at(x)];
    const int number = ++m_contributions[static_cast<std::size_t>(x)];
    Cotangent one = derivative->pull(m_scope, v, o, *m_cotangents[at(v)],
                                     readers == 1 ? name : name + "." + number);
    if (sum.has_value()) {
      one =
          derivative->add(m_scope, o, *sum, one, number == readers ? name : name + ".to" + number);
    }
    sum = std::move(one);
  }

  GradientScope<Backend> m_scope;
  VertexId m_from;
  std::size_t m_count;
  std::vector<bool> m_leads;  // to one of the tensors asked for
  std::vector<int> m_readers;
  std::vector<std::optional<Cotangent>> m_cotangents;
  std::vector<int> m_contributions = std::vector<int>(m_count, 0);
};

/// One call of gradient() or vjp(): what is written, as symbols.
template <class Backend>
class GradientCall {
  static constexpr int order_left = Backend::order - 1;

 public:
  GradientCall(ProgramState<Backend>& state, std::source_location where)
      : m_state(state), m_scope{state, where, {}}, m_transaction(state) {
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
      using Constant = expr::ConstantOf<T>;
      const Written made = write_at<Backend, order_left, Constant, NoAggregation, T>(
          m_scope, spec, Constant{static_cast<T>(value)}, NoAggregation{});
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
    if (std::is_floating_point_v<T>) return;
    core::fail(ErrorKind::statement,
               Text("tensor ") + tensor.name() + ", " + what + ", has elements " +
                   expr::element_text(element_type<T>()) +
                   " (derivatives are of float and double); convert it by cast",
               m_scope.where);
  }

  /// Refuses a cotangent of other extents than its tensor's.
  template <class S>
  void require_like(const S& tensor, const S& cotangent) const {
    const EinGraph& graph = m_state.graph;
    if (graph[tensor.vertex()].bound == graph[cotangent.vertex()].bound) return;
    const auto extents = [&](const S& s) {
      return core::joined(graph[s.vertex()].bound, " x ", core::to_text);
    };
    core::fail(ErrorKind::shape,
               Text("the cotangent ") + cotangent.name() + " is " + extents(cotangent) +
                   " and its tensor " + tensor.name() + " is " + extents(tensor) +
                   "; give one of the tensor's extents",
               m_scope.where);
  }

  void run(VertexId from, Cotangent seed, std::vector<VertexId> to) {
    m_writer.emplace(m_scope, from, to);
    m_writer->run(std::move(seed));
  }

  /// The gradient after a tensor.
  template <class T, int Rank>
  Symbol<T, Rank, Backend> symbol(const Symbol<T, Rank, Backend>& tensor, std::string_view from) {
    const std::optional<Cotangent>& found = m_writer->of(tensor.vertex());
    if (!found.has_value()) {
      core::fail(ErrorKind::statement,
                 Text("the gradient of ") + from + " by " + tensor.name() +
                     " is 0 everywhere (no statement that can be differentiated leads from " +
                     tensor.name() + " to " + from + "); leave it out",
                 m_scope.where);
    }
    const Written made = whole<T>(*found, tensor.vertex());
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
  /// A tensor with all dimensions, in their order, that no other statement reads as this one.
  template <class T>
  Written whole(const Cotangent& found, VertexId tensor) {
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
    StatementSpec spec;
    spec.name = Text("d") + of.name;
    spec.where = m_scope.where;
    const std::vector<Text> labels = found.labels;
    const std::vector<Extent> bound = of.bound;
    StatementSpec::OperandSpec operand;
    operand.vertex = c.vertex;
    operand.writing = c.writing;
    for (const int d : c.dims) operand.labels.push_back(labels[static_cast<std::size_t>(d)]);
    spec.operands.push_back(operand);
    for (std::size_t k = 0; k < bound.size(); ++k) spec.output.push_back({labels[k], bound[k]});
    return write_at<Backend, order_left, Identity, NoAggregation, T>(m_scope, spec, Identity{},
                                                                     NoAggregation{});
  }

  ProgramState<Backend>& m_state;
  GradientScope<Backend> m_scope;
  Transaction<Backend> m_transaction;
  std::vector<VertexId> m_results;  // before the call
  std::vector<int> m_given;
  std::optional<GradientWriter<Backend>> m_writer;
};

}  // namespace eindecomp::graph
