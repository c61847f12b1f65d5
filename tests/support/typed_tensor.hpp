// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor of known type with element access, for expected values written as loops.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/reference.hpp"

namespace reference {

/// Row-major elements: x(i, j).
template <class T, int Rank>
class Array {
 public:
  explicit Array(std::array<Extent, Rank> extents) : m_extents(extents) {
    Extent size = 1;
    for (Extent e : m_extents) size *= e;
    m_values.resize(static_cast<std::size_t>(size));
  }

  template <class... Index>
  [[nodiscard]] T& operator()(Index... index) {
    return m_values[place({static_cast<Extent>(index)...})];
  }
  template <class... Index>
  [[nodiscard]] const T& operator()(Index... index) const {
    return m_values[place({static_cast<Extent>(index)...})];
  }
  [[nodiscard]] Extent extent(int k) const { return m_extents[static_cast<std::size_t>(k)]; }
  [[nodiscard]] const std::array<Extent, Rank>& extents() const { return m_extents; }
  [[nodiscard]] const std::vector<T>& values() const { return m_values; }

  /// Calls function(i, j, …) for every index and stores what it gives.
  template <class Function>
  void fill(const Function& function) {
    std::array<Extent, Rank> index{};
    for (T& value : m_values) {
      value = static_cast<T>(std::apply(function, index));
      for (int k = Rank; k-- > 0;) {
        const auto at = static_cast<std::size_t>(k);
        if (++index[at] < m_extents[at]) break;
        index[at] = 0;
      }
    }
  }

 private:
  [[nodiscard]] std::size_t place(std::array<Extent, Rank> index) const {
    Extent sum = 0;
    for (std::size_t k = 0; k < Rank; ++k) sum = sum * m_extents[k] + index[k];
    return static_cast<std::size_t>(sum);
  }

  std::array<Extent, Rank> m_extents;
  std::vector<T> m_values;
};

template <class T>
[[nodiscard]] Wide widened(const T& x) {
  if constexpr (std::is_arithmetic_v<eindecomp::Widened<T>>) {
    return {static_cast<long double>(x), 0};
  } else {
    return {static_cast<long double>(x.real()), static_cast<long double>(x.imag())};
  }
}

}  // namespace reference
