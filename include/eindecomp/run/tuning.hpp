// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The constants that runs are tuned by, each with its unit, and with what it was measured on where
/// it was.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "eindecomp/core/types.hpp"

namespace eindecomp::run::tuning {

/// Bytes of the buffer through which inputs are scattered and results gathered. Not sensitive.
inline constexpr std::int64_t slab_bytes = std::int64_t{1} << 20;
/// Bytes of a slab through which a redistribution packs, and of one through which it unpacks. Two
/// of each are in use; they are to stay in the second cache.
inline constexpr std::int64_t exchange_slab_bytes = std::int64_t{1} << 19;
/// Bytes from which on a part of an array is a message of its own in a redistribution, sent or
/// received where it lies if it has no gaps. 8192 parts of 4 doubles one by one took 1.5 s.
inline constexpr std::int64_t own_piece_bytes = std::int64_t{16} << 10;
/// Messages that a redistribution has under way at a time, sent and received. Not sensitive.
inline constexpr std::size_t max_pieces_of_wave = 512;
/// Bytes up to which a message that is posted early is one; longer ones are cut. Messages under
/// MPI's eager limit need no handshake, and move whenever either side calls MPI: with Open MPI over
/// TCP at 1 Gbit/s, pieces of 64 KiB less their header hide nine tenths of a transfer under
/// kernels, messages of 1 MiB nothing.
inline constexpr std::int64_t eager_bytes = 60 << 10;
/// Elements packed that take as long as one of an output that lies scattered, read and written
/// once more: AVX2, float.
inline constexpr double scattered_against_packed = 8;
/// Bytes per thread of what several kernels read in turn: with AVX2 and 32 MiB of third cache,
/// AlexNet's first layer transposed took 0.92 of the time image by image, of 1.3 MiB each.
inline constexpr std::int64_t shared_slice_bytes = std::int64_t{1} << 20;
/// Elements that are generated on the host at a time for a device. Not measured.
inline constexpr Extent generated_elements = Extent{1} << 16;
/// The least time between two reports of progress.
inline constexpr std::chrono::milliseconds progress_interval{100};
/// Blocks that an executor keeps per result at most: one or two, as of the two time levels of a
/// leapfrog, are read while another is written.
inline constexpr std::size_t kept_results = 3;
/// Prepared kernels among which one of the same shape is looked for. Not measured; programs have
/// few shapes at a time.
inline constexpr std::size_t remembered_kernels = 64;

}  // namespace eindecomp::run::tuning
