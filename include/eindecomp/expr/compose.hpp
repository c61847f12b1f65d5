// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// An expression tree over scalars as one functor: what a statement's ⊗ becomes when it is written
/// with operators, as in `exp(x - mx) * 0.5`.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/half.hpp"
#include "eindecomp/expr/operator.hpp"

namespace eindecomp {

/// The I-th operand of a composed functor.
template <int I>
struct Arg {
  template <class First, class... Rest>
  EINDECOMP_FUNCTION constexpr const auto& operator()(const First& first,
                                                      const Rest&... rest) const {
    if constexpr (I == 0) {
      return first;
    } else {
      return Arg<I - 1>{}(rest...);
    }
  }
};

/// A scalar known when the statement is written; the vertex keeps the copy.
template <class T>
struct Value {
  T value;  ///< the scalar
  template <class... Operands>
  EINDECOMP_FUNCTION constexpr const T& operator()(const Operands&...) const {
    return value;
  }
};

namespace expr {

// Children by inheritance: neither std::tuple nor hana::tuple can be read on a device without
// relaxing what device code may call.
template <std::size_t I, class Child>
struct ChildSlot {
  Child child;
};

template <class Op, class Indices, class... Children>
struct ComposedBase;
template <class Op, std::size_t... I, class... Children>
struct ComposedBase<Op, std::index_sequence<I...>, Children...> : ChildSlot<I, Children>... {
  Op op;

  template <class... Operands>
  EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr auto operator()(const Operands&... operands)
      const -> std::decay_t<decltype(std::declval<const Op&>()(
          widened(std::declval<const Children&>()(operands...))...))> {
    return op(widened(static_cast<const ChildSlot<I, Children>&>(*this).child(operands...))...);
  }

  template <std::size_t K>
  [[nodiscard]] EINDECOMP_ALWAYS_INLINE constexpr const auto& child() const {
    return static_cast<const ChildSlot<K, std::tuple_element_t<K, std::tuple<Children...>>>&>(*this)
        .child;
  }
};

}  // namespace expr

/// op(children(operands…)…).
template <class Op, class... Children>
struct Composed : expr::ComposedBase<Op, std::index_sequence_for<Children...>, Children...> {};

namespace expr {

/// The functor op(es(operands…)…).
template <class Op, class... Es>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE constexpr auto node(const Op& op, const Es&... es) {
  return Composed<Op, Es...>{{{es}..., op}};
}

}  // namespace expr

template <int I>
inline constexpr bool takes_vectors<Arg<I>> = true;
template <class T>
inline constexpr bool takes_vectors<Value<T>> = true;
template <class Op, class... Children>
inline constexpr bool takes_vectors<Composed<Op, Children...>> = takes_vectors<Op> &&
                                                                 (takes_vectors<Children> && ...);
template <class Op, class... Children>
inline constexpr bool is_compute_bound<Composed<Op, Children...>> = is_compute_bound<Op> ||
                                                                    (is_compute_bound<Children> ||
                                                                     ...);

namespace expr {

/// T, whatever the other is: once per type of a pack.
template <class T, class>
struct SameForAll {  // a class: nvcc loses packs that an alias forgets
  using type = T;
};

/// One address per type, comparable in constant expressions.
template <class T>
inline constexpr char type_tag = 0;

}  // namespace expr
}  // namespace eindecomp
