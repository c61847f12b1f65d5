// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Operands' elements along a row, by what the compiler knows of their strides.
#pragma once

#include <cstddef>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/half.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// One operand's elements, as ⊗ takes them, along a row of any stride, of stride 1, and of stride
/// 0.
template <class T>
struct StridedRow {
  using Element = T;
  const T* first;
  Extent stride;
  EINDECOMP_FUNCTION decltype(auto) operator[](int j) const {
    return expr::widened(first[j * stride]);
  }
};
template <class T>
struct ContiguousRow {
  using Element = T;
  const T* first;
  EINDECOMP_FUNCTION decltype(auto) operator[](int j) const { return expr::widened(first[j]); }
};
template <class T>
struct RepeatedRow {
  using Element = T;
  Widened<T> value;
  EINDECOMP_FUNCTION const Widened<T>& operator[](int) const { return value; }
};

/// Which of these a kernel reads: any, or, where every operand has stride 0 or 1, what the bits of
/// a mask tell the compiler.
struct AnyStride {
  template <std::size_t I, class T>
  EINDECOMP_FUNCTION static StridedRow<T> row(const T* first, Extent stride) {
    return {first, stride};
  }
};
template <unsigned Contiguous>
struct KnownStride {
  template <std::size_t I, class T>
  EINDECOMP_FUNCTION static auto row(const T* first, Extent) {
    if constexpr ((Contiguous >> I & 1U) != 0) {
      return ContiguousRow<T>{first};
    } else {
      return RepeatedRow<T>{expr::widened(*first)};
    }
  }
};

/// Calls function<Access>() with what reads operands of which a bit tells whether it is contiguous
/// and the others are the same all along; of no bits, with what reads any.
template <int Operands, class Function>
EINDECOMP_FUNCTION decltype(auto) with_access(unsigned contiguous, const Function& function) {
  if constexpr (Operands <= 2) {
    if (contiguous == 1) return function.template operator()<KnownStride<1>>();
  }
  if constexpr (Operands == 2) {
    if (contiguous == 2) return function.template operator()<KnownStride<2>>();
    if (contiguous == 3) return function.template operator()<KnownStride<3>>();
  }
  return function.template operator()<AnyStride>();
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
