// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The constants that programs of ranks are made by, each with its unit.
#pragma once

#include <cstdint>

namespace eindecomp::relation::tuning {

/// Bytes up to which messages of several tensors to one rank go as one. A network of 1 Gbit/s and
/// 50 us, or one of 100 Gbit/s and 2 us, moves as many in the time that a message takes to begin.
inline constexpr std::int64_t shared_message = std::int64_t{1} << 14;

/// Bytes of the longest message that is packed, or whose accumulators wait to be combined.
/// Beginning one takes a thousandth of its own time at 100 Gbit/s and 2 us.
inline constexpr std::int64_t longest_message = std::int64_t{1} << 24;

/// Operations, each a join with its aggregation, after which a kernel call is interrupted while
/// messages are under way, so that somebody calls MPI: some 5 ms of a core. What a socket takes in
/// meanwhile at 1 Gbit/s, 600 KiB, fits into its buffers.
inline constexpr std::int64_t operations_between_polls = std::int64_t{1} << 28;

}  // namespace eindecomp::relation::tuning
