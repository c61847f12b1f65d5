// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Rows of 16-bit numbers to and from floats.
#pragma once

#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/instructions.hpp"
#include "eindecomp/expr/half.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// to[i] = from[i].
template <Half T>
EINDECOMP_ALWAYS_INLINE void widen_row(float* to, const T* from, int count) {
  int i = 0;
#if EINDECOMP_CONVERTS_HALVES
  if constexpr (std::is_same_v<T, float16>) {
    for (; i + 8 <= count; i += 8) core::widen_halves(to + i, from + i);
  }
#endif
  EINDECOMP_VECTOR_LOOP
  for (; i < count; ++i) to[i] = from[i];
}

/// to[i] = from[i], rounded.
template <Half T>
EINDECOMP_ALWAYS_INLINE void narrow_row(T* to, const float* from, int count) {
  int i = 0;
#if EINDECOMP_CONVERTS_HALVES
  if constexpr (std::is_same_v<T, float16>) {
    for (; i + 8 <= count; i += 8) core::narrow_to_halves(to + i, from + i);
  }
#endif
  EINDECOMP_VECTOR_LOOP
  for (; i < count; ++i) to[i] = T(from[i]);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
