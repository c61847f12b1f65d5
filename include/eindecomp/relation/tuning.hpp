// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The constants that programs of ranks are made by, each with its unit.
#pragma once

#include <cstddef>
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

/// Bytes copied in the time that one more call or copy of a box takes to begin. Measured on
/// stencils of five points, from 32 x 32 to 512 x 512: the interior apart is faster from 96 x 96
/// on.
inline constexpr std::int64_t copied_per_part = std::int64_t{1} << 13;

/// Bytes copied in the time by which an element that calls near the border read takes longer than
/// one that is read in rows. Stencils of seven points are faster with the interior apart from 96^3
/// on, where they leave the cache, not yet at 64^3.
inline constexpr std::int64_t copied_per_border_read = 16;

/// The most values of a label at which a kernel reads an operand beyond an end of it: where it does
/// not do so along rows, each is a kernel of its own.
inline constexpr std::int64_t max_open_values = 8;

/// The most pieces that a call is cut into so that joins which a mask makes 0 are left out, and the
/// least values of the label that is cut, and joins, that one has. Of a product with a triangle of
/// n pieces 1/(2n) of all joins are computed for nothing.
inline constexpr std::int64_t masked_pieces = 16;
inline constexpr std::int64_t masked_piece_values = 64;
inline constexpr std::int64_t masked_piece_joins = std::int64_t{1} << 21;

/// Programs that are made at a time where each is used once. More do not share more of a walk, and
/// leave the caches.
inline constexpr std::size_t programs_at_once = 16;

}  // namespace eindecomp::relation::tuning
