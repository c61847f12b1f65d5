// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Functors as text, for reports, and what tells two of one type apart.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/expr/compose.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/expr/weak_scalar.hpp"

namespace eindecomp::expr {

/// A functor as text, and its state.
struct FunctorRecord {
  Text text;                         ///< such as `mul(exp(#0),0.5)`, where #0 is the first operand
  std::vector<std::uint64_t> state;  ///< as bits
  bool is_whole = true;              ///< whether that is all of its state

  constexpr FunctorRecord& separated() {
    text << ',';
    return *this;
  }
  constexpr void add_state(const FunctorRecord& other) {
    state.insert(state.end(), other.state.begin(), other.state.end());
    is_whole = is_whole && other.is_whole;
  }
  void add_number(double value) {
    char number[32];
    std::snprintf(number, sizeof number, "%.6g", value);
    text << number;
  }
};

/// Of a functor that is no tree: what it calls itself, or else its type.
template <class F>
[[nodiscard]] constexpr std::string_view functor_name() {
  if constexpr (requires { F::name; }) {
    return F::name;
  } else {
    return core::type_name<F>();
  }
}

// A tree has as many types as nodes, and programs have thousands of trees: one function for each
// would take longer to compile than the kernels of small programs. So all are part of their caller.

/// Appends a functor: its name, or its type's. What state it has is not known.
template <class F>
EINDECOMP_ALWAYS_INLINE constexpr void record(const F&, FunctorRecord& to) {
  to.text << functor_name<F>();
  if constexpr (!std::is_empty_v<F>) to.is_whole = false;
}
template <class T, class F>
EINDECOMP_ALWAYS_INLINE constexpr void record(const Cast<T, F>& cast, FunctorRecord& to) {
  if constexpr (std::is_same_v<F, Identity>) {
    to.text << "to_" << element_text(element_type<T>());
  } else {
    record(cast.f, to);
    to.text << "(to_" << element_text(element_type<T>()) << ')';
  }
}
template <int I>
EINDECOMP_ALWAYS_INLINE constexpr void record(const Arg<I>&, FunctorRecord& to) {
  to.text << '#' << I;
}
/// Appends the bits of a scalar.
template <class T>
EINDECOMP_ALWAYS_INLINE constexpr void record_state(const T& scalar, FunctorRecord& to) {
  if constexpr (sizeof(T) == 8 && std::is_arithmetic_v<T>) {
    to.state.push_back(std::bit_cast<std::uint64_t>(scalar));
  } else if constexpr (sizeof(T) == 4 && std::is_arithmetic_v<T>) {
    to.state.push_back(std::bit_cast<std::uint32_t>(scalar));
  } else if constexpr (Half<T>) {
    to.state.push_back(scalar.bits());
  } else if constexpr (is_complex<T>) {
    record_state(scalar.real(), to);
    record_state(scalar.imag(), to);
  } else {
    to.is_whole = false;
  }
}
template <class T>
EINDECOMP_ALWAYS_INLINE constexpr void record(const Value<T>& scalar, FunctorRecord& to) {
  if constexpr (std::is_arithmetic_v<Widened<T>>) {
    if (std::is_constant_evaluated()) {
      to.text << "constant";
    } else {
      to.add_number(static_cast<double>(widened(scalar.value)));
    }
  } else {
    to.text << "constant";
  }
  record_state(scalar.value, to);
}
template <class Factor>
EINDECOMP_ALWAYS_INLINE constexpr void record(const ScaledMul<Factor>& scaled, FunctorRecord& to) {
  to.text << std::string_view(ScaledMul<Factor>::name);
  record_state(scaled.factor, to);
}
template <class F, std::size_t... I>
EINDECOMP_ALWAYS_INLINE constexpr void record_children(const F& f, std::index_sequence<I...>,
                                                       FunctorRecord& to) {
  (record(f.template child<I>(), I == 0 ? to : to.separated()), ...);
}
template <class Op, class... Children>
EINDECOMP_ALWAYS_INLINE constexpr void record(const Composed<Op, Children...>& f,
                                              FunctorRecord& to) {
  record(f.op, to);
  to.text << '(';
  record_children(f, std::index_sequence_for<Children...>{}, to);
  to.text << ')';
}

/// A functor as text.
template <class F>
[[nodiscard]] constexpr Text describe(const F& f) {
  FunctorRecord all;
  record(f, all);
  return all.text;
}

}  // namespace eindecomp::expr
