// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a call of gradient(), vjp() or jvp() does, whatever the types of its tensors and what the
/// program runs on. With EINDECOMP_SEPARATE_PLANNER the caller's translation unit does not compile
/// it (derivative_call_members.hpp).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/signature_writer.hpp"
#include "eindecomp/graph/tangent_writer.hpp"

namespace eindecomp::graph {

/// A symbol that a call is handed, without its type.
struct HandedTensor {
  const EinGraph& graph;  ///< its own, another than the call's if it may not be used
  VertexId vertex;
  int writing;
  bool is_usable;        ///< it is one of the program that is differentiated, which is in use
  bool has_derivatives;  ///< graph::has_derivatives of its elements
  bool is_complex;       ///< and these are complex
  [[nodiscard]] const Text& name() const { return graph[vertex].name; }
};

/// One call.
class DerivativeCall {
 public:
  explicit DerivativeCall(DerivativeScope& scope);
  DerivativeCall(const DerivativeCall&) = delete;
  DerivativeCall& operator=(const DerivativeCall&) = delete;
  ~DerivativeCall();

  /// Refuses a tensor of another program, and elements without derivatives.
  void require(const HandedTensor& tensor, std::string_view what) const;
  /// The same of a loss, and refuses one that is complex.
  void require_loss(const HandedTensor& loss, std::string_view what) const;
  /// Refuses a cotangent or tangent of other extents than its tensor's.
  void require_like(const HandedTensor& tensor, const HandedTensor& given,
                    std::string_view what) const;

  /// Lets numbers become tensors, statements that read the loss.
  void read_loss(const HandedTensor& loss, NumberWriter* write);
  /// Writes cotangents.
  void run(VertexId from, const Cotangent& seed, const std::vector<VertexId>& to,
           const std::vector<VertexId>& checkpoints);
  /// The cotangent of a tensor, whole, after run().
  [[nodiscard]] Written cotangent(const HandedTensor& tensor, const SignatureWriter& copy);

  /// Begins a jvp of tensor `to`.
  void begin_tangents(VertexId to);
  /// Gives a tensor its tangent.
  void give(const HandedTensor& tensor, const HandedTensor& tangent);
  /// The tangent of the tensor that begin_tangents() took, whole.
  [[nodiscard]] Written tangent(const SignatureWriter& copy);

  /// Keeps what were results before the call.
  void keep_results() const;

 private:
  [[noreturn]] void fail_as_zero(std::string_view by, std::string_view tensor) const;
  /// A tensor with all dimensions, in their order, that no other statement reads as this one.
  [[nodiscard]] Written whole(const Cotangent& found, VertexId tensor, std::string_view name,
                              const SignatureWriter& copy);

  DerivativeScope& m_scope;
  VertexId m_of = -1;               // the tensor that is differentiated
  std::vector<VertexId> m_results;  // before the call
  std::vector<int> m_given;
  std::vector<std::optional<Cotangent>> m_cotangents;  // per vertex, after run()
  std::optional<TangentWriter> m_tangents;
};

}  // namespace eindecomp::graph

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/graph/derivative_call_members.hpp"
#endif
