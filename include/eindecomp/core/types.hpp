// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The integers every room counts in.
#pragma once

#include <cstdint>
#include <vector>

namespace eindecomp {

/// The size of a dimension, a position in it, a number of elements, a number of words.
using Extent = std::int64_t;

/// Truth values, one per label, vertex or whatever is counted. Not std::vector<bool>, which clang
/// refuses in constant expressions before libstdc++ 13.
using Flags = std::vector<char>;

/// The largest rank a tensor may have: that of a Kokkos::View.
inline constexpr int max_rank = 8;
/// The most operands a statement may have.
inline constexpr int max_operands = 8;

}  // namespace eindecomp
