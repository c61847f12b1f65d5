// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What loops read of arrays at computed indices.
#pragma once

#include <cstddef>
#include <type_traits>

#include "property/checked.hpp"

namespace property {

/// What is read of an array at indices that may be outside.
template <class T, int Rank, class... Indices>
[[nodiscard]] T padded(const reference::Array<T, Rank>& a, std::type_identity_t<T> outside,
                       Indices... indices) {
  const Extent index[] = {indices...};
  for (std::size_t k = 0; k < sizeof...(Indices); ++k) {
    if (index[k] < 0 || index[k] >= a.extents()[k]) return outside;
  }
  return a(indices...);
}

/// The quotient where it is whole, else an index that no tensor has.
[[nodiscard]] inline Extent quotient(Extent index, Extent divisor) {
  return index % divisor == 0 ? index / divisor : -1;
}

}  // namespace property
