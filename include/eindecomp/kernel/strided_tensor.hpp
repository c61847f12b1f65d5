// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A tensor in memory, its type forgotten: what is left of a user's view from a binding or a call
/// of einsum to the kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"

namespace eindecomp::kernel {

/// What a View of so many dimensions is declared by: T, T*, T**, …
template <class T, int Rank>
struct DataType {
  using type = typename DataType<T, Rank - 1>::type*;  ///< the type
};
/// The same of none.
template <class T>
struct DataType<T, 0> {
  using type = T;  ///< the type
};

/// Elements that lie `stride` elements apart along each dimension.
struct StridedTensor {
  const void* data = nullptr;      ///< the element of index 0
  std::int64_t element_bytes = 0;  ///< the size of an element
  int rank = 0;                    ///< dimensions in use
  Extent extent[max_rank]{};       ///< per dimension
  Extent stride[max_rank]{};       ///< per dimension, in elements

  /// What a view shows.
  template <class View>
  [[nodiscard]] static StridedTensor of(const View& view) {
    StridedTensor tensor;
    tensor.data = view.data();
    tensor.element_bytes = static_cast<std::int64_t>(sizeof(typename View::value_type));
    tensor.rank = compat::rank_of<View>;
    for (int k = 0; k < tensor.rank; ++k) {
      tensor.extent[k] = static_cast<Extent>(view.extent(static_cast<std::size_t>(k)));
    }
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((tensor.stride[K] = static_cast<Extent>(view.stride(K))), ...);
    }
    (std::make_index_sequence<static_cast<std::size_t>(compat::rank_of<View>)>{});
    return tensor;
  }

  /// Whether it has no elements.
  [[nodiscard]] bool is_empty() const {
    return std::find(extent, extent + rank, Extent{0}) != extent + rank;
  }
  /// Whether it has elements and no memory for them.
  [[nodiscard]] bool is_null() const { return data == nullptr && !is_empty(); }
  /// Its extents.
  [[nodiscard]] std::vector<Extent> extents() const { return {extent, extent + rank}; }

  /// The address of the first byte that an element occupies; that of `data` if there are none.
  [[nodiscard]] std::uintptr_t begin() const {
    Extent first = 0;
    for (int k = 0; k < rank; ++k) first += std::min<Extent>(0, (extent[k] - 1) * stride[k]);
    return is_empty() ? address(0) : address(first);
  }
  /// One past the last of them.
  [[nodiscard]] std::uintptr_t end() const {
    Extent last = 0;
    for (int k = 0; k < rank; ++k) last += std::max<Extent>(0, (extent[k] - 1) * stride[k]);
    return is_empty() ? address(0) : address(last + 1);
  }

  bool operator==(const StridedTensor&) const = default;

 private:
  [[nodiscard]] std::uintptr_t address(Extent element) const {
    return reinterpret_cast<std::uintptr_t>(data) +
           static_cast<std::uintptr_t>(element * element_bytes);
  }
};

}  // namespace eindecomp::kernel
