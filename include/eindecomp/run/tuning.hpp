// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The constants that runs are tuned by, each with its unit and what it was measured on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "eindecomp/core/types.hpp"

namespace eindecomp::run::tuning {

// --- Tiles: softmax of 6291 x 4000 and chains of four maps, one and two threads, 2 MiB of second
// --- cache per core.

/// Bytes of a tile's tensors together.
inline constexpr std::int64_t tile_bytes = 64 << 10;
/// The same where two statements are interleaved: more has to be begun and ended.
inline constexpr std::int64_t interleaved_tile_bytes = 96 << 10;
/// The most bytes of two such tiles, which a thread holds at a time.
inline constexpr std::int64_t max_interleaved_bytes = 256 << 10;
/// The most bytes that every tile reads again.
inline constexpr std::int64_t max_shared_bytes = 64 << 10;
/// Pieces of a row are multiples of so many elements, and so begin on cache lines as the row does.
inline constexpr Extent piece_elements = 16;

// --- Memory and messages: not sensitive.

/// Bytes of the buffer through which inputs are scattered and results gathered.
inline constexpr std::int64_t slab_bytes = std::int64_t{1} << 20;
/// Bytes of a slab through which a redistribution packs, and of one through which it unpacks. Two
/// of each are in use; they are to stay in the second cache.
inline constexpr std::int64_t exchange_slab_bytes = std::int64_t{1} << 19;
/// Elements that are generated on the host at a time for a device.
inline constexpr Extent generated_elements = Extent{1} << 16;
/// The least time between two reports of progress.
inline constexpr std::chrono::milliseconds progress_interval{100};
/// Blocks that an executor keeps per result: one is read while the other is written.
inline constexpr std::size_t kept_results = 2;
/// Prepared kernels among which one of the same shape is looked for.
inline constexpr std::size_t remembered_kernels = 64;

}  // namespace eindecomp::run::tuning
