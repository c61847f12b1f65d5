// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A vector of fixed capacity that lives in constant expressions, template arguments and kernels.
#pragma once

#include <cstddef>

#include "eindecomp/core/config.hpp"

namespace eindecomp {

/// At most Capacity elements of T, stored in place. A structural type when T is one, trivially
/// copyable when T is, so that it may be captured by a kernel. Exceeding the capacity is a
/// programming error of this library: callers check first and name the limit to the user.
template <class T, std::size_t Capacity>
struct static_vector {
  T items[Capacity]{};    ///< the first `count` are in use
  std::size_t count = 0;  ///< elements in use

  constexpr static_vector() = default;
  /// Copies a range of at most Capacity elements.
  template <class Iterator>
  constexpr static_vector(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }

  EINDECOMP_FUNCTION constexpr void push_back(const T& item) { items[count++] = item; }
  EINDECOMP_FUNCTION constexpr void clear() { count = 0; }

  [[nodiscard]] EINDECOMP_FUNCTION constexpr std::size_t size() const { return count; }
  [[nodiscard]] EINDECOMP_FUNCTION constexpr bool empty() const { return count == 0; }
  [[nodiscard]] static constexpr std::size_t capacity() { return Capacity; }

  [[nodiscard]] EINDECOMP_FUNCTION constexpr T& operator[](std::size_t i) { return items[i]; }
  [[nodiscard]] EINDECOMP_FUNCTION constexpr const T& operator[](std::size_t i) const {
    return items[i];
  }
  [[nodiscard]] EINDECOMP_FUNCTION constexpr T* begin() { return items; }
  [[nodiscard]] EINDECOMP_FUNCTION constexpr T* end() { return items + count; }
  [[nodiscard]] EINDECOMP_FUNCTION constexpr const T* begin() const { return items; }
  [[nodiscard]] EINDECOMP_FUNCTION constexpr const T* end() const { return items + count; }

  constexpr bool operator==(const static_vector& other) const {
    if (count != other.count) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!(items[i] == other.items[i])) return false;
    }
    return true;
  }
};

}  // namespace eindecomp
