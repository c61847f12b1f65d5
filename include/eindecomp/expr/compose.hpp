// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// An expression tree over scalars as one functor: what a statement's ⊗ becomes when it is written
/// with operators, as in `exp(x - mx) * 0.5`.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/expr/element.hpp"
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

  constexpr explicit ComposedBase(Op o, Children... children)
      : ChildSlot<I, Children>{children}..., op(o) {}

  template <class... Operands>
  EINDECOMP_FUNCTION constexpr auto operator()(const Operands&... operands) const -> std::decay_t<
      decltype(std::declval<const Op&>()(std::declval<const Children&>()(operands...)...))> {
    return op(static_cast<const ChildSlot<I, Children>&>(*this).child(operands...)...);
  }

  template <std::size_t K>
  [[nodiscard]] constexpr const auto& child() const {
    return static_cast<const ChildSlot<K, std::tuple_element_t<K, std::tuple<Children...>>>&>(*this)
        .child;
  }
};

}  // namespace expr

/// op(children(operands…)…).
template <class Op, class... Children>
struct Composed : expr::ComposedBase<Op, std::index_sequence_for<Children...>, Children...> {
  using expr::ComposedBase<Op, std::index_sequence_for<Children...>, Children...>::ComposedBase;
};

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

/// A functor as text: its name, or its type's.
template <class F>
[[nodiscard]] constexpr Text describe(const F&) {
  if constexpr (requires { F::name; }) {
    return Text(std::string_view(F::name));
  } else {
    return Text(core::type_name<F>());
  }
}
template <class T, class F>
[[nodiscard]] constexpr Text describe(const Cast<T, F>& cast) {
  const Text to = "to_" + element_text(element_type<T>());
  return std::is_same_v<F, Identity> ? to : describe(cast.f) + "(" + to + ")";
}
template <int I>
[[nodiscard]] constexpr Text describe(const Arg<I>&) {
  return Text("#") + I;
}
template <class T>
[[nodiscard]] constexpr Text describe(const Value<T>& scalar) {
  if (std::is_constant_evaluated()) return "constant";
  if constexpr (std::is_arithmetic_v<T>) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", static_cast<double>(scalar.value));
    return text;
  } else {
    return "constant";
  }
}
template <class Op, class... Children>
[[nodiscard]] constexpr Text describe(const Composed<Op, Children...>& f) {
  Text text = describe(f.op);
  text += '(';
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((text += (I == 0 ? "" : ","), text += describe(f.template child<I>()).view()), ...);
  }
  (std::index_sequence_for<Children...>{});
  text += ')';
  return text;
}

/// Appends the state of a functor as bits. \returns whether the state is known.
template <class F>
[[nodiscard]] constexpr bool append_state(const F&, std::vector<std::uint64_t>&) {
  return std::is_empty_v<F>;
}
template <class T>
[[nodiscard]] constexpr bool append_state(const Value<T>& scalar,
                                          std::vector<std::uint64_t>& state) {
  if constexpr (sizeof(T) == 8 && std::is_arithmetic_v<T>) {
    state.push_back(std::bit_cast<std::uint64_t>(scalar.value));
    return true;
  } else if constexpr (sizeof(T) == 4 && std::is_arithmetic_v<T>) {
    state.push_back(std::bit_cast<std::uint32_t>(scalar.value));
    return true;
  } else {
    return false;
  }
}
template <class Factor>
[[nodiscard]] constexpr bool append_state(const ScaledMul<Factor>& scaled,
                                          std::vector<std::uint64_t>& state) {
  return append_state(Value<Factor>{scaled.factor}, state);
}
template <class Op, class... Children>
[[nodiscard]] constexpr bool append_state(const Composed<Op, Children...>& f,
                                          std::vector<std::uint64_t>& state) {
  bool told = append_state(f.op, state);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((told = append_state(f.template child<I>(), state) && told), ...);
  }
  (std::index_sequence_for<Children...>{});
  return told;
}

/// One address per type, comparable in constant expressions.
template <class T>
inline constexpr char type_tag = 0;

}  // namespace expr
}  // namespace eindecomp
