// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a call of gradient(), vjp() or jvp() does. With EINDECOMP_SEPARATE_PLANNER, one translation
/// unit compiles it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/graph/derivative_call.hpp"
#include "eindecomp/graph/recomputation.hpp"
#include "eindecomp/graph/write_derived.hpp"

namespace eindecomp::graph {

EINDECOMP_PLANNER_INLINE DerivativeCall::DerivativeCall(DerivativeScope& scope)
    : m_scope(scope), m_results(scope.graph.results()) {}

EINDECOMP_PLANNER_INLINE DerivativeCall::~DerivativeCall() = default;

EINDECOMP_PLANNER_INLINE void DerivativeCall::require(const HandedTensor& tensor,
                                                      std::string_view what) const {
  if (!tensor.is_usable) {
    core::fail(ErrorKind::statement,
               Text("tensor ") + tensor.name() + ", " + what +
                   ", belongs to another program or to one that is no more; use symbols of one "
                   "program",
               m_scope.where);
  }
  if (tensor.has_derivatives) return;
  core::fail(ErrorKind::statement,
             Text("tensor ") + tensor.name() + ", " + what + ", has elements " +
                 expr::element_text(tensor.graph[tensor.vertex].element) +
                 " (derivatives are of floating-point and complex numbers); convert it by cast",
             m_scope.where);
}

EINDECOMP_PLANNER_INLINE void DerivativeCall::require_loss(const HandedTensor& loss,
                                                           std::string_view what) const {
  require(loss, what);
  if (!loss.is_complex) return;
  core::fail(ErrorKind::statement,
             Text("tensor ") + loss.name() + ", " + what + ", has elements " +
                 expr::element_text(loss.graph[loss.vertex].element) +
                 " (a gradient is of a real number); take its real part or its modulus",
             m_scope.where);
}

EINDECOMP_PLANNER_INLINE void DerivativeCall::require_like(const HandedTensor& tensor,
                                                           const HandedTensor& given,
                                                           std::string_view what) const {
  const std::vector<Extent>& bound = tensor.graph[tensor.vertex].bound;
  const std::vector<Extent>& given_bound = given.graph[given.vertex].bound;
  if (bound == given_bound) return;
  core::fail(ErrorKind::shape,
             Text("the ") + what + " " + given.name() + " is " + core::extents_text(given_bound) +
                 " and its tensor " + tensor.name() + " is " + core::extents_text(bound) +
                 "; give one of the tensor's extents",
             m_scope.where);
}

EINDECOMP_PLANNER_INLINE void DerivativeCall::read_loss(const HandedTensor& loss,
                                                        NumberWriter* write) {
  StatementSpec spec;
  spec.name = Text("d") + loss.name();
  spec.where = m_scope.where;
  spec.operands.push_back({loss.vertex, {}, loss.writing});
  m_scope.constant = [&scope = m_scope, spec, write](double value) {
    const Written made = write_number(scope, spec, value, write);
    return Cotangent{0, made.vertex, made.writing, {}, {}};
  };
}

EINDECOMP_PLANNER_INLINE void DerivativeCall::run(VertexId from, const Cotangent& seed,
                                                  const std::vector<VertexId>& to,
                                                  const std::vector<VertexId>& checkpoints) {
  const auto copy = [this](VertexId v, const std::vector<VertexId>& operands) {
    const VertexId written = m_scope.graph.add_copy(v, operands);
    m_scope.keep_as(v);
    return written;
  };
  m_of = from;
  Recomputation recomputation(m_scope.graph, checkpoints, from, copy);
  m_scope.recomputation = &recomputation;
  m_cotangents = write_cotangents(m_scope, from, seed, to);
  m_scope.recomputation = nullptr;
}

EINDECOMP_PLANNER_INLINE Written DerivativeCall::cotangent(const HandedTensor& tensor,
                                                           const SignatureWriter& copy) {
  const auto at = static_cast<std::size_t>(tensor.vertex);
  if (at >= m_cotangents.size() || !m_cotangents[at].has_value()) {
    fail_as_zero("by", tensor.name());
  }
  return whole(*m_cotangents[at], tensor.vertex, Text("d") + tensor.name(), copy);
}

EINDECOMP_PLANNER_INLINE void DerivativeCall::begin_tangents(VertexId to) {
  m_of = to;
  m_scope.what = "derivative";
  m_tangents.emplace(m_scope, to);
}

EINDECOMP_PLANNER_INLINE void DerivativeCall::give(const HandedTensor& tensor,
                                                   const HandedTensor& tangent) {
  require(tensor, "along which a tensor is differentiated");
  require(tangent, "which is its tangent");
  require_like(tensor, tangent, "tangent");
  if (!m_tangents->leads_from(tensor.vertex)) {
    fail_as_zero("along", tensor.name());
  }
  if (!m_tangents->give(tensor.vertex, tangent.vertex, tangent.writing)) {
    core::fail(ErrorKind::statement,
               Text("tensor ") + tensor.name() +
                   " is given two tangents (a derivative is along one); give their sum",
               m_scope.where);
  }
  m_given.push_back(tangent.writing);
}

EINDECOMP_PLANNER_INLINE Written DerivativeCall::tangent(const SignatureWriter& copy) {
  return whole(m_tangents->run(), m_of, m_scope.graph[m_of].name + ".tangent", copy);
}

EINDECOMP_PLANNER_INLINE void DerivativeCall::keep_results() const {
  for (const VertexId v : m_results) {
    Vertex& result = m_scope.graph.vertices[static_cast<std::size_t>(v)];
    if (!result.is_result()) result.kept = true;
  }
}

EINDECOMP_PLANNER_INLINE void DerivativeCall::fail_as_zero(std::string_view by,
                                                           std::string_view tensor) const {
  const Text& of = m_scope.graph[m_of].name;
  core::fail(ErrorKind::statement,
             Text("the ") + m_scope.what + " of " + of + " " + by + " " + tensor +
                 " is 0 everywhere (no statement that can be differentiated leads from " + tensor +
                 " to " + of + "); leave it out",
             m_scope.where);
}

EINDECOMP_PLANNER_INLINE Written DerivativeCall::whole(const Cotangent& found, VertexId tensor,
                                                       std::string_view name,
                                                       const SignatureWriter& copy) {
  EinGraph& graph = m_scope.graph;
  const std::vector<Extent> bound = graph[tensor].bound;  // a copy: the graph grows
  Cotangent c = found.is_number() ? m_scope.constant(found.value) : found;
  bool is_whole = c.dims.size() == bound.size() && !graph[c.vertex].is_input();
  for (std::size_t k = 0; is_whole && k < c.dims.size(); ++k) {
    is_whole = c.dims[k] == static_cast<int>(k);
  }
  if (is_whole) {
    const bool taken = graph.is_read(c.writing) ||
                       std::find(m_given.begin(), m_given.end(), c.writing) != m_given.end();
    if (taken) c.writing = graph.write_again(c.vertex);
    m_given.push_back(c.writing);
    return {c.vertex, c.writing};
  }
  c = write_whole(m_scope, c, found.labels, bound, name, copy);
  return {c.vertex, c.writing};
}

}  // namespace eindecomp::graph
