// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Writes statements of derivatives.
///
/// Operators are types. What is done around a statement of theirs is the same for all and is
/// compiled once: it is handed writers, behind which the types are. With EINDECOMP_SEPARATE_PLANNER
/// the caller's translation unit does not compile it (make_derived.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "eindecomp/graph/border.hpp"
#include "eindecomp/graph/derivative.hpp"
#include "eindecomp/graph/signature_writer.hpp"

namespace eindecomp::graph {

/// What a derivative is asked for.
struct DerivativeRequest {
  const DerivativeScope& scope;
  VertexId v;             ///< the statement
  std::size_t operand;    ///< of v
  const Cotangent& from;  ///< the cotangent of v, or the tangent of the operand
  std::string_view name;  ///< of what is written
  [[nodiscard]] const Vertex& statement() const { return scope.graph[v]; }
  /// The same from another cotangent or tangent.
  [[nodiscard]] DerivativeRequest with(const Cotangent& other) const {
    return {scope, v, operand, other, name};
  }
};

/// Σ of an expression of what DerivedReads numbers, as one statement or two.
struct DerivedSum {
  enum class Way : std::uint8_t {
    direct,           ///< `summed`
    multiple_of_sum,  ///< `multiple` of what `summed` gives
    sum_of_elements   ///< of what `plain` gives
  };
  std::span<const int> leaves;  ///< what is read, by number
  SignatureWriter plain;        ///< where no label is summed over
  SignatureWriter summed;       ///< where one is
  SignatureWriter multiple;     ///< of a sum
  SignatureWriter widen;        ///< copies what is passed on
  const ElementWriters* elements;
  Way way = Way::direct;
  bool passes_on = false;        ///< it is what is read
  bool may_have_pole = false;    ///< where what is read is 0
  bool may_be_infinite = false;  ///< where what is read is finite
  bool may_be_nan = false;       ///< where what is read is not finite, and the cotangent is 0
  bool is_exponential = false;   ///< a multiple of exp(… - result)
  bool selects = false;          ///< by index tensors: there is a sum, whether over labels or not

  /// The same of writers that have this ⊗ where they have none, and refer to it.
  [[nodiscard]] DerivedSum with_join(const void* join) const;
};

/// Which way a derivative is passed on.
enum class Direction : std::uint8_t {
  to_operand,  ///< cotangents
  to_result    ///< tangents
};

/// Writes what a cotangent or tangent gives an operand or the result of a statement.
/// \param others  further tensors of v's shape that are read
[[nodiscard]] Cotangent write_derived(const DerivativeRequest& request, Direction direction,
                                      const DerivedSum& sum, std::span<const VertexId> others = {});

/// What ⊕ combines in v, as a statement of its own: under the result's labels, then all others.
[[nodiscard]] VertexId write_elements(const DerivativeScope& scope, VertexId v, int operands,
                                      const SignatureWriter& join);
/// The aggregate of write_elements(), as a statement of those.
[[nodiscard]] VertexId write_again(const DerivativeScope& scope, VertexId v, VertexId elements,
                                   const SignatureWriter& aggregate);
/// A scan as statements each of which aggregates few elements, first to last: derivatives of ⊕
/// other than sums look at every element of a window. The last has the elements of v.
/// \param first  ⊕ of v's operand. \param next  ⊕ of what another gave
[[nodiscard]] std::vector<VertexId> write_scan(const DerivativeScope& scope, VertexId v,
                                               const SignatureWriter& first,
                                               const SignatureWriter& next);
/// An aggregate of what is numbered, under the labels of v's result.
[[nodiscard]] VertexId write_aggregate(const DerivativeScope& scope, VertexId v, const Text& suffix,
                                       std::span<const int> leaves,
                                       const SignatureWriter& aggregate);
/// Of two that are numbered, element by element, under those of the labels of v's result that they
/// have. `from` is the cotangent or the tangent of v.
[[nodiscard]] Cotangent write_under_result(const DerivativeRequest& request,
                                           std::span<const int> leaves,
                                           std::span<const VertexId> others,
                                           const SignatureWriter& join);
/// An operand's tangent divided by another operand.
[[nodiscard]] Cotangent write_tangent_quotient(const DerivativeRequest& request,
                                               std::span<const int> leaves,
                                               const SignatureWriter& divide);
/// A number's multiple, if it is that of every element of the operand.
[[nodiscard]] std::optional<Cotangent> pull_number(const DerivativeRequest& request, double slope);
/// A cotangent as a tensor, if it is a number.
[[nodiscard]] Cotangent as_tensor(const DerivativeScope& scope, const Cotangent& c);

/// Writes a cotangent or tangent with all dimensions of its tensor, under `labels`.
[[nodiscard]] Cotangent write_whole(const DerivativeScope& scope, const Cotangent& c,
                                    const std::vector<Text>& labels,
                                    const std::vector<Extent>& bound, std::string_view name,
                                    const SignatureWriter& copy);
/// The same of the cotangent of v, if it lacks any.
[[nodiscard]] Cotangent write_whole_result(const DerivativeScope& scope, VertexId v,
                                           Cotangent of_result, std::string_view name,
                                           const SignatureWriter& copy);
/// The same of the tangent of an operand of v, if it lacks any.
[[nodiscard]] Cotangent write_whole_tangent(const DerivativeScope& scope, VertexId v,
                                            std::size_t operand, const Cotangent& tangent,
                                            std::string_view name, const SignatureWriter& copy);
/// Writes the sum of two cotangents.
[[nodiscard]] Cotangent add_cotangents(const DerivativeScope& scope, const Cotangent& a,
                                       const Cotangent& b, std::string_view name,
                                       const SignatureWriter& add);
/// The cotangent of a tensor from that of the tensor with borders (fold_border.hpp).
[[nodiscard]] Cotangent fold_borders(const DerivativeScope& scope,
                                     const std::vector<Border>& borders, Cotangent cotangent,
                                     std::string_view name, const ElementWriters& elements);

/// The cotangent of a block from that of what blocks are put together to: what lies in its place.
[[nodiscard]] Cotangent pull_block(const DerivativeScope& scope, VertexId v, std::size_t operand,
                                   Cotangent of_result, std::string_view name,
                                   const SignatureWriter& copy);
/// The tangents of blocks, as a statement that puts them together as statement v does the blocks.
struct TangentsOfBlocks {
  std::vector<Text> labels;  ///< per dimension of v, which `spec` refers to
  StatementSpec spec;        ///< without its operator
  bool is_full = false;      ///< every element of v has one
};
[[nodiscard]] TangentsOfBlocks tangents_of_blocks(const DerivativeScope& scope, VertexId v,
                                                  const Tangents& tangents, std::string_view name,
                                                  const SignatureWriter& copy);

/// Walks back from a tensor to others, statement by statement, and writes the cotangents.
/// \param seed  the cotangent of the tensor walked back from
/// \returns per vertex up to `from`, its cotangent, if there is a way to it
[[nodiscard]] std::vector<std::optional<Cotangent>> write_cotangents(
    const DerivativeScope& scope, VertexId from, Cotangent seed, const std::vector<VertexId>& to);

/// The derivative of a statement of one ⊗ and one ⊕.
class JoinDerivative : public Derivative {
 public:
  [[nodiscard]] Cotangent pull(const DerivativeScope& scope, VertexId v, std::size_t operand,
                               Cotangent of_result, std::string_view name) const final;
  [[nodiscard]] Cotangent push(const DerivativeScope& scope, VertexId v, const Tangents& tangents,
                               std::string_view name) const final;
  [[nodiscard]] Cotangent add(const DerivativeScope& scope, std::size_t operand, const Cotangent& a,
                              const Cotangent& b, std::string_view name) const final;

  /// What an operand's tangent contributes to the result's.
  [[nodiscard]] Cotangent push_one(const DerivativeRequest& request) const;

 private:
  /// What the result's cotangent contributes to an operand's.
  [[nodiscard]] virtual Cotangent pull_to(const DerivativeRequest& request) const = 0;
  /// push_one() of a tangent that has all dimensions where the operand's indices are computed.
  [[nodiscard]] virtual Cotangent push_from(const DerivativeRequest& request) const = 0;
  /// How an operand's cotangents are written, nullptr if it has none; -1: the result's tangents.
  [[nodiscard]] virtual const ElementWriters* elements(int operand) const = 0;
};

/// The derivative of a scan by way of the statements that write_scan() wrote.
/// \param first  of the first statement. \param next  of the others
/// @{
[[nodiscard]] Cotangent pull_scan(const DerivativeRequest& request,
                                  const std::vector<VertexId>& passes, const JoinDerivative& first,
                                  const JoinDerivative& next);
[[nodiscard]] Cotangent push_scan(const DerivativeRequest& request,
                                  const std::vector<VertexId>& passes, const JoinDerivative& first,
                                  const JoinDerivative& next);
/// @}

/// Refusals of a statement that a derivative leads through: of elements that are no numbers with
/// fractions; of an aggregation of complex numbers that is no sum; of a join, or of an aggregation,
/// that has no derivative; of one that would read too much.
/// @{
[[noreturn]] void refuse_elements(const DerivativeScope& scope, VertexId v);
[[noreturn]] void refuse_complex(const DerivativeScope& scope, VertexId v, const Text& monoid);
[[noreturn]] void refuse_join(const DerivativeScope& scope, VertexId v, const Text& join,
                              std::size_t operand);
[[noreturn]] void refuse_aggregation(const DerivativeScope& scope, VertexId v, const Text& monoid);
[[noreturn]] void refuse_count(const DerivativeScope& scope, VertexId v, int tensors);
/// @}

}  // namespace eindecomp::graph

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/graph/make_derived.hpp"
#endif
