// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The compiler's vectors, `T [[gnu::vector_size(n)]]`, as far as functors must tell them from
/// their elements, and what comparing them gives.
#pragma once

#include <type_traits>

#include "eindecomp/core/config.hpp"

namespace eindecomp::expr {

/// A vector of the compiler: subscripted, and neither class, pointer nor array.
template <class V>
concept Vector =
    !std::is_class_v<V> && !std::is_pointer_v<V> && !std::is_array_v<V> && requires(V v) {
  v[0];
};

/// What a vector consists of; any other type itself.
template <class V>
struct ElementOfVector {
  using type = V;
};
template <Vector V>
struct ElementOfVector<V> {
  using type = std::remove_cvref_t<decltype(V{}[0])>;
};
template <class V>
concept VectorOfIntegers = Vector<V> && std::is_integral_v<typename ElementOfVector<V>::type>;

/// Where a comparison of vectors holds: elements of all bits where it does, of none where it does
/// not. Those are not the 1 and 0 that numbers give, so nothing but Select takes it.
template <Vector V>
struct LaneMask {
  V lanes;  ///< of the width of what was compared
};

/// What a comparison gives, if it was of vectors as a mask.
template <class R>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE EINDECOMP_FUNCTION constexpr auto compared(const R& result) {
  if constexpr (Vector<R>) {
    return LaneMask<R>{result};
  } else {
    return result;
  }
}

}  // namespace eindecomp::expr
