// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The integers every room counts in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "eindecomp/core/config.hpp"

namespace eindecomp {

/// The size of a dimension, a position in it, a number of elements, a number of words.
using Extent = std::int64_t;

/// The quotient rounded up, of a dividend of at least 0 and a divisor of at least 1.
[[nodiscard]] EINDECOMP_FUNCTION constexpr Extent ceil_div(Extent dividend, Extent divisor) {
  return dividend / divisor + (dividend % divisor == 0 ? 0 : 1);
}

/// The length of the pieces that an extent is cut into: as few as possible of at most `most`, all
/// of this length but the last, which may be shorter. 1 where the extent is 0.
[[nodiscard]] constexpr Extent even_piece(Extent extent, Extent most) {
  return extent == 0 ? 1 : ceil_div(extent, ceil_div(extent, most));
}

/// A number of a vertex, a label or a part as an index of a container.
[[nodiscard]] EINDECOMP_FUNCTION constexpr std::size_t to_index(Extent number) {
  return static_cast<std::size_t>(number);
}

/// Truth values, one per label, vertex or whatever is counted. Not std::vector<bool>, which clang
/// refuses in constant expressions before libstdc++ 13.
using Flags = std::vector<char>;

/// The largest rank a tensor may have: that of a Kokkos::View.
inline constexpr int max_rank = 8;
/// The most operands a statement may have.
inline constexpr int max_operands = 8;
/// The most elements a tensor may have: so that their bytes can be counted.
inline constexpr Extent max_elements = Extent{1} << 57;

/// Whether a tensor of these extents, all at least 1, has no more than that.
[[nodiscard]] constexpr bool has_countable_elements(const std::vector<Extent>& bound) {
  Extent elements = 1;
  for (const Extent extent : bound) {
    if (elements > max_elements / extent) return false;
    elements *= extent;
  }
  return true;
}

}  // namespace eindecomp
