// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A packed tensor under labels, as lowering finds it in an expression.
#pragma once

#include <type_traits>

#include "eindecomp/expr/expression.hpp"
#include "eindecomp/expr/factors.hpp"

namespace eindecomp {
namespace graph {

/// A packed tensor (packed_tensor.hpp) read under labels, A and B of the dimensions that are
/// exchanged.
template <class TensorType, class A, class B, class... Rest>
struct PackedAccess : ExpressionBase {
  using Tensor = TensorType;
  using First = A;
  using Second = B;
  using LabelTypes = LabelList<A, B, Rest...>;
  Tensor tensor;
  constexpr explicit PackedAccess(const Tensor& t) : tensor(t) {}
  [[nodiscard]] constexpr auto* program() const { return tensor.state(); }
  /// Refuses what looks like a statement.
  template <class T>
  constexpr void operator=(const T&) const {
    static_assert(expr::never<T>,
                  "EinDecomp: a packed tensor that is there is assigned to (a statement makes a "
                  "tensor of its own); write packed_symmetric(\"S\")(i, j) = sum(k)(X(i, k) * "
                  "X(j, k))");
  }
  constexpr PackedAccess(const PackedAccess&) = default;
  constexpr PackedAccess& operator=(const PackedAccess&) & = default;
};

/// Whether an expression is a packed tensor under labels.
template <class E>
inline constexpr bool is_packed_access = false;
template <class Tensor, class... Ls>
inline constexpr bool is_packed_access<PackedAccess<Tensor, Ls...>> = true;

/// The same, A and B being the labels of the dimensions that are exchanged.
template <class E, class A, class B>
inline constexpr bool is_packed_under = false;
template <class Tensor, class A, class B, class... Rest>
inline constexpr bool is_packed_under<PackedAccess<Tensor, A, B, Rest...>, A, B> = true;

/// Whether an expression reads a packed tensor, outside of its aggregations.
template <class E>
inline constexpr bool reads_packed = is_packed_access<E>;
template <class Op, class... Es>
inline constexpr bool reads_packed<Apply<Op, Es...>> = (reads_packed<Es> || ...);
template <class Body>
inline constexpr bool reads_packed<AsWritten<Body>> = reads_packed<Body>;

}  // namespace graph

template <class Tensor, class... Ls>
struct expr::ElementsOf<graph::PackedAccess<Tensor, Ls...>> {
  using type = typename Tensor::value_type;
};

}  // namespace eindecomp
