// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The compiler's vectors, `T [[gnu::vector_size(n)]]`, as far as functors must tell them from
/// their elements.
#pragma once

#include <type_traits>

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

}  // namespace eindecomp::expr
