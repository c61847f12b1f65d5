// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Gradients, from statements to statements: `auto [dW1, dW2] = gradient(loss, W1, W2)`; products
/// of derivatives with cotangents, vjp(), and with tangents, jvp().
#pragma once

#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/graph/differentiable.hpp"
#include "eindecomp/graph/einsum.hpp"
#include "eindecomp/graph/gradient_call.hpp"

namespace eindecomp {

namespace graph {

template <class Backend>
inline constexpr bool is_differentiable = false;
template <class Base, int Order>
inline constexpr bool is_differentiable<Differentiable<Base, Order>> = true;

template <class Backend>
constexpr void require_differentiable() {
  static_assert(is_differentiable<Backend>,
                "EinDecomp: a gradient is asked of a program that keeps no derivatives; declare it "
                "as a DifferentiableProgram");
}

template <class S>
struct DerivativeLike;
template <class T, int Rank, class Backend>
struct DerivativeLike<Symbol<T, Rank, Backend>> {
  using type = Symbol<Widened<T>, Rank, Backend>;
};
/// A symbol of the cotangent or the tangent of a tensor: of its shape and elements, but of floats
/// where those have 16 bits.
template <class S>
using DerivativeSymbol = typename DerivativeLike<S>::type;
/// What is returned where nothing can be.
template <class S>
[[nodiscard]] DerivativeSymbol<S> refused_derivative(const S& tensor) {
  return {tensor.state(), tensor.vertex()};
}

template <class T, class Backend, class... Symbols>
[[nodiscard]] std::tuple<DerivativeSymbol<Symbols>...> gradient_of(
    const std::source_location& where, const Symbol<T, 0, Backend>& loss,
    const Symbols&... tensors) {
  require_differentiable<Backend>();
  if constexpr (is_differentiable<Backend>) {
    GradientCall<Backend> call(*loss.state(), where);
    call.require_loss(loss, "of which a gradient is asked");
    (call.require(tensors, "by which a loss is differentiated"), ...);
    call.run(loss, {tensors.vertex()...});
    std::tuple<DerivativeSymbol<Symbols>...> gradients{call.symbol(tensors)...};
    call.commit();
    return gradients;
  } else {
    return {refused_derivative(tensors)...};
  }
}

template <class Y, class G>
inline constexpr bool has_vjp =
    is_differentiable<typename Y::Backend>&& std::is_same_v<DerivativeSymbol<Y>, G>;
template <class Y, class G>
constexpr void require_vjp() {
  require_differentiable<typename Y::Backend>();
  static_assert(std::is_same_v<DerivativeSymbol<Y>, G>,
                "EinDecomp: the cotangent of a tensor has other elements or another rank; give one "
                "of the tensor's shape");
}

/// Writes the products of a cotangent of y with y's derivatives by these tensors.
template <class Backend, class Y, class G>
void run_vjp(GradientCall<Backend>& call, const Y& y, const G& cotangent,
             const std::vector<VertexId>& tensors) {
  call.require(y, "of which a product is asked");
  call.require(cotangent, "which is its cotangent");
  call.require_like(y, cotangent, "cotangent");
  call.run(
      y.vertex(),
      Cotangent::of_shape(y.state()->graph, y.vertex(), cotangent.vertex(), cotangent.writing()),
      tensors);
}

template <class Y, class G, class... Symbols>
[[nodiscard]] std::tuple<DerivativeSymbol<Symbols>...> vjp_of(const std::source_location& where,
                                                              const Y& y, const G& cotangent,
                                                              const Symbols&... tensors) {
  require_vjp<Y, G>();
  if constexpr (has_vjp<Y, G>) {
    GradientCall<typename Y::Backend> call(*y.state(), where);
    (call.require(tensors, "by which a tensor is differentiated"), ...);
    run_vjp(call, y, cotangent, {tensors.vertex()...});
    std::tuple<DerivativeSymbol<Symbols>...> products{call.symbol(tensors)...};
    call.commit();
    return products;
  } else {
    return {refused_derivative(tensors)...};
  }
}

/// A tensor and its tangent.
template <class S, class V>
struct Moved {
  const S& tensor;
  const V& tangent;
};
template <class Y, class... Ss, class... Vs>
[[nodiscard]] DerivativeSymbol<Y> jvp_of(const std::source_location& where, const Y& y,
                                         const Moved<Ss, Vs>&... moved) {
  using Backend = typename Y::Backend;
  require_differentiable<Backend>();
  static_assert((std::is_same_v<DerivativeSymbol<Ss>, Vs> && ...),
                "EinDecomp: the tangent of a tensor has other elements or another rank; give one "
                "of the tensor's shape");
  if constexpr (is_differentiable<Backend> && (std::is_same_v<DerivativeSymbol<Ss>, Vs> && ...)) {
    GradientCall<Backend> call(*y.state(), where);
    call.require(y, "of which a product is asked");
    call.begin_tangents(y.vertex());
    (call.give(moved.tensor, moved.tangent), ...);
    DerivativeSymbol<Y> product = call.tangent(y);
    call.commit();
    return product;
  } else {
    return refused_derivative(y);
  }
}

}  // namespace graph

/// The gradient of a scalar with respect to tensors of its program: `auto [dA, dB] = gradient(loss,
/// A, B)` appends the statements that compute it to the program, which is planned and run as a
/// whole. One tensor gives one symbol, several a tuple, a vector of symbols a vector; each has the
/// shape of its tensor, and its elements, but float where they have 16 bits. What was a result of
/// the program before stays one.
///
/// docs/gradients.md has the rules. Where a function has no derivative JAX's is taken: elements
/// that tie for a minimum or maximum share its cotangent evenly.
/// Of a complex tensor x + iy it is ∂L/∂x - i ∂L/∂y, whose conjugate is the steepest ascent.
///
/// \param loss   a tensor of rank 0 of a program of a Differentiable backend.
/// \param where  the place that errors cite.
/// \throws Error if the loss is complex; if a tensor is of another program, of integers, or nothing
///   that can be differentiated leads from it to the loss; if an operator on the way has no
///   derivative, or the program cannot be differentiated so many times. The program is then as it
///   was.
/// @{
// clang-format off
template <class T, class Backend, AnyTypedSymbol S1>
[[nodiscard]] auto gradient(const Symbol<T, 0, Backend>& loss, const S1& s1,
    std::source_location where = std::source_location::current()) {
  return std::get<0>(graph::gradient_of(where, loss, s1));
}
template <class T, class Backend, AnyTypedSymbol S1, AnyTypedSymbol S2>
[[nodiscard]] auto gradient(const Symbol<T, 0, Backend>& loss, const S1& s1, const S2& s2,
    std::source_location where = std::source_location::current()) {
  return graph::gradient_of(where, loss, s1, s2);
}
template <class T, class Backend, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3>
[[nodiscard]] auto gradient(const Symbol<T, 0, Backend>& loss, const S1& s1, const S2& s2, const S3& s3,
    std::source_location where = std::source_location::current()) {
  return graph::gradient_of(where, loss, s1, s2, s3);
}
template <class T, class Backend, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4>
[[nodiscard]] auto gradient(const Symbol<T, 0, Backend>& loss, const S1& s1, const S2& s2, const S3& s3, const S4& s4,
    std::source_location where = std::source_location::current()) {
  return graph::gradient_of(where, loss, s1, s2, s3, s4);
}
template <class T, class Backend, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4, AnyTypedSymbol S5>
[[nodiscard]] auto gradient(const Symbol<T, 0, Backend>& loss, const S1& s1, const S2& s2, const S3& s3, const S4& s4, const S5& s5,
    std::source_location where = std::source_location::current()) {
  return graph::gradient_of(where, loss, s1, s2, s3, s4, s5);
}
template <class T, class Backend, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4, AnyTypedSymbol S5, AnyTypedSymbol S6>
[[nodiscard]] auto gradient(const Symbol<T, 0, Backend>& loss, const S1& s1, const S2& s2, const S3& s3, const S4& s4, const S5& s5, const S6& s6,
    std::source_location where = std::source_location::current()) {
  return graph::gradient_of(where, loss, s1, s2, s3, s4, s5, s6);
}
template <class T, class Backend, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4, AnyTypedSymbol S5, AnyTypedSymbol S6, AnyTypedSymbol S7>
[[nodiscard]] auto gradient(const Symbol<T, 0, Backend>& loss, const S1& s1, const S2& s2, const S3& s3, const S4& s4, const S5& s5, const S6& s6, const S7& s7,
    std::source_location where = std::source_location::current()) {
  return graph::gradient_of(where, loss, s1, s2, s3, s4, s5, s6, s7);
}
template <class T, class Backend, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4, AnyTypedSymbol S5, AnyTypedSymbol S6, AnyTypedSymbol S7, AnyTypedSymbol S8>
[[nodiscard]] auto gradient(const Symbol<T, 0, Backend>& loss, const S1& s1, const S2& s2, const S3& s3, const S4& s4, const S5& s5, const S6& s6, const S7& s7, const S8& s8,
    std::source_location where = std::source_location::current()) {
  return graph::gradient_of(where, loss, s1, s2, s3, s4, s5, s6, s7, s8);
}
// clang-format on
/// Refuses more tensors than there are overloads for.
template <class T, class Backend, AnyTypedSymbol... Tensors>
  requires(sizeof...(Tensors) > 8)
constexpr auto gradient(const Symbol<T, 0, Backend>&, const Tensors&...) {
  static_assert(expr::never<T>,
                "EinDecomp: a gradient is asked by more than eight tensors one by one; give those "
                "of one type and rank in a vector, gradient(loss, std::vector{W1, W2})");
  return expr::Refused{};
}
/// Refuses a gradient of what is no scalar.
template <class T, int Rank, class Backend, class... Tensors>
  requires(Rank > 0)
constexpr auto gradient(const Symbol<T, Rank, Backend>&, const Tensors&...) {
  static_assert(expr::never<T>,
                "EinDecomp: a gradient is asked of a tensor that is no scalar; write a loss that "
                "sums it, let<\"loss\">() = sum(i)(Y(i)), or vjp(Y, cotangent, X)");
  return expr::Refused{};
}
template <class T, class Backend, class S>
[[nodiscard]] std::vector<graph::DerivativeSymbol<S>> gradient(
    const Symbol<T, 0, Backend>& loss, const std::vector<S>& tensors,
    std::source_location where = std::source_location::current()) {
  graph::require_differentiable<Backend>();
  std::vector<graph::DerivativeSymbol<S>> gradients;
  if constexpr (graph::is_differentiable<Backend>) {
    graph::GradientCall<Backend> call(*loss.state(), where);
    call.require_loss(loss, "of which a gradient is asked");
    std::vector<VertexId> vertices;
    for (const S& tensor : tensors) {
      call.require(tensor, "by which a loss is differentiated");
      vertices.push_back(tensor.vertex());
    }
    call.run(loss, vertices);
    for (const S& tensor : tensors) gradients.push_back(call.symbol(tensor));
    call.commit();
  }
  return gradients;
}
/// @}

/// The product of a cotangent of tensor `y` and y's derivatives with respect to other tensors: what
/// gradient() gives of the scalar Σ cotangent · y. `auto [dA, dB] = vjp(Y, G, A, B)`.
///
/// \param y          any tensor of the program.
/// \param cotangent  in the same program, of y's shape and elements (float where they have 16
/// bits).
///
/// \throws Error as gradient, and if y and its cotangent have other extents.
/// @{
// clang-format off
template <AnyTypedSymbol Y, AnyTypedSymbol G, AnyTypedSymbol S1>
[[nodiscard]] auto vjp(const Y& y, const G& cotangent, const S1& s1,
    std::source_location where = std::source_location::current()) {
  return std::get<0>(graph::vjp_of(where, y, cotangent, s1));
}
template <AnyTypedSymbol Y, AnyTypedSymbol G, AnyTypedSymbol S1, AnyTypedSymbol S2>
[[nodiscard]] auto vjp(const Y& y, const G& cotangent, const S1& s1, const S2& s2,
    std::source_location where = std::source_location::current()) {
  return graph::vjp_of(where, y, cotangent, s1, s2);
}
template <AnyTypedSymbol Y, AnyTypedSymbol G, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3>
[[nodiscard]] auto vjp(const Y& y, const G& cotangent, const S1& s1, const S2& s2, const S3& s3,
    std::source_location where = std::source_location::current()) {
  return graph::vjp_of(where, y, cotangent, s1, s2, s3);
}
template <AnyTypedSymbol Y, AnyTypedSymbol G, AnyTypedSymbol S1, AnyTypedSymbol S2, AnyTypedSymbol S3, AnyTypedSymbol S4>
[[nodiscard]] auto vjp(const Y& y, const G& cotangent, const S1& s1, const S2& s2, const S3& s3, const S4& s4,
    std::source_location where = std::source_location::current()) {
  return graph::vjp_of(where, y, cotangent, s1, s2, s3, s4);
}
// clang-format on
/// Refuses more tensors than there are overloads for.
template <AnyTypedSymbol Y, AnyTypedSymbol G, AnyTypedSymbol... Tensors>
  requires(sizeof...(Tensors) > 4)
constexpr auto vjp(const Y&, const G&, const Tensors&...) {
  static_assert(expr::never<Y>,
                "EinDecomp: a vjp is asked by more than four tensors one by one; give those of one "
                "type and rank in a vector, vjp(Y, cotangent, std::vector{W1, W2})");
  return expr::Refused{};
}
template <AnyTypedSymbol Y, AnyTypedSymbol G, class S>
[[nodiscard]] std::vector<graph::DerivativeSymbol<S>> vjp(
    const Y& y, const G& cotangent, const std::vector<S>& tensors,
    std::source_location where = std::source_location::current()) {
  graph::require_vjp<Y, G>();
  std::vector<graph::DerivativeSymbol<S>> products;
  if constexpr (graph::has_vjp<Y, G>) {
    graph::GradientCall<typename Y::Backend> call(*y.state(), where);
    std::vector<VertexId> vertices;
    for (const S& tensor : tensors) {
      call.require(tensor, "by which a tensor is differentiated");
      vertices.push_back(tensor.vertex());
    }
    graph::run_vjp(call, y, cotangent, vertices);
    for (const S& tensor : tensors) products.push_back(call.symbol(tensor));
    call.commit();
  }
  return products;
}
/// @}

/// The product of y's derivatives with respect to tensors and their tangents: how `y` changes where
/// each tensor A moves along its tangent V, lim (y(A + hV) - y(A)) / h. `auto dY = jvp(Y, A, VA, B,
/// VB)` appends the statements that compute it, forwards: beside each statement between the
/// tensors and y one or a few that read what it reads. No tensor is as large as a product of y's
/// extents and A's.
///
/// \param y   any tensor of the program.
/// \param s1  a tensor that y depends on; each is followed by its tangent v1, of its shape, in the
///   same program. Where y depends on one through another, both contribute.
/// \throws Error as gradient, if a tensor and its tangent have other extents, and if a tensor has
///   two tangents.
/// @{
// clang-format off
template <AnyTypedSymbol Y, AnyTypedSymbol S1, AnyTypedSymbol V1>
[[nodiscard]] auto jvp(const Y& y, const S1& s1, const V1& v1,
    std::source_location where = std::source_location::current()) {
  return graph::jvp_of(where, y, graph::Moved<S1, V1>{s1, v1});
}
template <AnyTypedSymbol Y, AnyTypedSymbol S1, AnyTypedSymbol V1, AnyTypedSymbol S2, AnyTypedSymbol V2>
[[nodiscard]] auto jvp(const Y& y, const S1& s1, const V1& v1, const S2& s2, const V2& v2,
    std::source_location where = std::source_location::current()) {
  return graph::jvp_of(where, y, graph::Moved<S1, V1>{s1, v1}, graph::Moved<S2, V2>{s2, v2});
}
template <AnyTypedSymbol Y, AnyTypedSymbol S1, AnyTypedSymbol V1, AnyTypedSymbol S2, AnyTypedSymbol V2, AnyTypedSymbol S3, AnyTypedSymbol V3>
[[nodiscard]] auto jvp(const Y& y, const S1& s1, const V1& v1, const S2& s2, const V2& v2, const S3& s3, const V3& v3,
    std::source_location where = std::source_location::current()) {
  return graph::jvp_of(where, y, graph::Moved<S1, V1>{s1, v1}, graph::Moved<S2, V2>{s2, v2}, graph::Moved<S3, V3>{s3, v3});
}
template <AnyTypedSymbol Y, AnyTypedSymbol S1, AnyTypedSymbol V1, AnyTypedSymbol S2, AnyTypedSymbol V2, AnyTypedSymbol S3, AnyTypedSymbol V3, AnyTypedSymbol S4, AnyTypedSymbol V4>
[[nodiscard]] auto jvp(const Y& y, const S1& s1, const V1& v1, const S2& s2, const V2& v2, const S3& s3, const V3& v3, const S4& s4, const V4& v4,
    std::source_location where = std::source_location::current()) {
  return graph::jvp_of(where, y, graph::Moved<S1, V1>{s1, v1}, graph::Moved<S2, V2>{s2, v2}, graph::Moved<S3, V3>{s3, v3}, graph::Moved<S4, V4>{s4, v4});
}
// clang-format on
/// Refuses a tensor without a tangent, and more tensors than there are overloads for.
template <AnyTypedSymbol Y, AnyTypedSymbol... Moved>
  requires(sizeof...(Moved) > 8 || sizeof...(Moved) % 2 == 1)
constexpr auto jvp(const Y&, const Moved&...) {
  static_assert(sizeof...(Moved) % 2 == 0,
                "EinDecomp: a jvp is asked along a tensor without a tangent; give each tensor and "
                "its tangent, jvp(Y, A, VA, B, VB)");
  static_assert(sizeof...(Moved) % 2 == 1,
                "EinDecomp: a jvp is asked along more than four tensors one by one; give those of "
                "one type and rank in a vector and their tangents in another, jvp(Y, "
                "std::vector{A, B}, std::vector{VA, VB})");
  return expr::Refused{};
}
/// The same of a vector of tensors, with as many tangents.
template <AnyTypedSymbol Y, class S>
[[nodiscard]] auto jvp(const Y& y, const std::vector<S>& tensors,
                       const std::vector<graph::DerivativeSymbol<S>>& tangents,
                       std::source_location where = std::source_location::current()) {
  using Backend = typename Y::Backend;
  graph::require_differentiable<Backend>();
  if constexpr (graph::is_differentiable<Backend>) {
    graph::GradientCall<Backend> call(*y.state(), where);
    call.require(y, "of which a product is asked");
    if (tensors.size() != tangents.size() || tensors.empty()) {
      core::fail(ErrorKind::statement,
                 Text("a derivative of ") + y.name() + " is asked along " + tensors.size() +
                     " tensors with " + tangents.size() +
                     " tangents; give each tensor, of one or more, its tangent",
                 where);
    }
    call.begin_tangents(y.vertex());
    for (std::size_t n = 0; n < tensors.size(); ++n) call.give(tensors[n], tangents[n]);
    graph::DerivativeSymbol<Y> product = call.tangent(y);
    call.commit();
    return product;
  } else {
    return graph::refused_derivative(y);
  }
}
/// @}

/// The tensor, which gradients take for a constant where it is read as what is returned:
/// `exp(X(i, k) - stop_gradient(M)(i))`.
template <Element T, int Rank, class Backend>
[[nodiscard]] constexpr Symbol<T, Rank, Backend> stop_gradient(
    const Symbol<T, Rank, Backend>& tensor) {
  return tensor.as_constant();
}
/// The expression, which gradients take for a constant.
template <Expression E>
[[nodiscard]] constexpr auto stop_gradient(const E& e) {
  return expr::apply(StopGradient{}, e);
}

/// The tensor, made a checkpoint: `X = checkpoint(layer(X))`. Gradients that are asked for later
/// keep checkpoints, inputs and results of the forward pass. Everything else that a checkpoint is
/// computed from they compute again, by copies of its statements before the first statement that
/// reads it. So the forward pass is done with it early, and the backward pass holds at a time what
/// lies between two checkpoints. Values are the same bits. with_checkpoints() chooses checkpoints
/// by a limit of memory.
///
/// Source: Chen et al., Training deep nets with sublinear memory cost, 2016, section 4.
/// \throws Error if the program of the tensor is no more.
template <Element T, int Rank, class Backend>
Symbol<T, Rank, Backend> checkpoint(const Symbol<T, Rank, Backend>& tensor,
                                    std::source_location where = std::source_location::current()) {
  graph::require_differentiable<Backend>();
  if constexpr (graph::is_differentiable<Backend>) {
    if (tensor.state()->fate != graph::ProgramFate::in_use) {
      core::fail(ErrorKind::statement,
                 Text("tensor ") + tensor.name() +
                     ", which is to be a checkpoint, belongs to a program that is no more; use "
                     "symbols of one that is",
                 where);
    }
    tensor.state()->records.checkpoints.push_back(tensor.vertex());
  }
  return tensor;
}

}  // namespace eindecomp
