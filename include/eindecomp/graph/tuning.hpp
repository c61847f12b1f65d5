// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The limits by which statements are written and looked at, each with what it is for. None
/// was measured.
#pragma once

#include <cstddef>

#include "eindecomp/core/types.hpp"

namespace eindecomp::graph::tuning {

/// Operands of a product up to which the best order of its joins is found, in some 3 to their
/// number of steps.
inline constexpr std::size_t max_exactly_ordered = 10;

/// Operands up to which a statement that no kernel takes may be written two operands at a time.
inline constexpr int max_split_operands = 16;

/// Operands of one tensor are read from one buffer if their offsets differ by no more than one part
/// in so many of the indices that each reads: what is read for others alone is then little.
inline constexpr Extent like_operands_apart = 4;

/// Combinations of remainders, of labels whose indices are divided, that are looked at for a
/// statement.
inline constexpr Extent max_remainders = Extent{1} << 14;
/// The most of them that are computed each by a kernel of its own.
inline constexpr Extent max_residue_classes = 256;

/// How many values a statement aggregates where a scan is written as several, for derivatives: each
/// makes the windows of the one before so many times as wide.
inline constexpr Extent scan_radix = 4;

}  // namespace eindecomp::graph::tuning
