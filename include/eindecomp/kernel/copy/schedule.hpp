// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How copies between strided tensors are cut into tiles or runs, and by what stores these are
/// written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {

/// Tensor 0 is what is written, tensor 1 what is read.
using CopyNest = LoopNest<2>;

/// How a target is written.
enum class StorePolicy {
  cached,        ///< its lines are left in cache
  non_temporal,  ///< by non-temporal stores where they apply: the target is large
};

/// How a target of that many bytes is written if nothing reads it at once.
[[nodiscard]] inline StorePolicy store_policy(std::int64_t bytes) {
  return bytes < machine_rates.min_streamed_bytes ? StorePolicy::cached : StorePolicy::non_temporal;
}

inline namespace EINDECOMP_INSTRUCTION_SET {

/// How a nest is copied: in tiles of two loops, the fastest of the target and the fastest of the
/// source, or, where both are one loop, in pieces of that.
struct CopySchedule {
  CopyNest tiles;         ///< all loops, the two over their tiles
  bool planes = false;    ///< whether there are two
  int rows = 0;           ///< the loop of `tiles` over tiles of the target's fastest loop
  int columns = 0;        ///< and over those of the source's
  Extent extent[2]{};     ///< of the two loops, the target's first
  Extent tile[2]{};       ///< of a tile
  Extent stride[2][2]{};  ///< of the two tensors along the two loops
  bool streamed = false;  ///< whole lines of the target are written by non-temporal stores
  bool aligned = false;   ///< every row of the target begins on a line
  bool gathered = false;  ///< short runs, contiguous in the target, become whole lines
  bool whole = false;     ///< `tiles` lacks the loop over runs: a run is copied as a whole
  Extent tiles_per_item = 1;
  Extent items = 0;

  /// \param nest without loops of extent 1. \param word_bytes size of what its strides count.
  /// \param into where the first word goes. \param single every item is one word, for devices.
  CopySchedule(CopyNest nest, std::int64_t word_bytes, const void* into, StorePolicy policy,
               bool single) {
    nest.sort_by(0);
    nest.merge();
    nest.push_if_none();
    const int loop[2] = {0, single ? 0 : source_loop(nest, word_bytes)};
    planes = loop[1] != 0;
    for (int i = 0; i < 2; ++i) {
      extent[i] = nest.extent[loop[i]];
      for (int t = 0; t < 2; ++t) stride[t][i] = nest.stride[t][loop[i]];
    }
    choose_stores(nest, word_bytes, into, policy);
    const Extent item_words = single ? 1 : tuning::copy_item_bytes / word_bytes;
    set_tile(word_bytes, item_words);
    tiles = nest;
    for (int i = 0; i < (planes ? 2 : 1); ++i) {
      if (extent[i] == 0) return;
      tiles.extent[loop[i]] = ceil_div(extent[i], tile[i]);
      for (int t = 0; t < 2; ++t) tiles.stride[t][loop[i]] *= tile[i];
    }
    whole = gathered || (!streamed && !planes && !single && nest.loops > 1 && tile[0] == extent[0]);
    if (whole) {
      tiles.erase(0);
    } else {
      order_tiles(loop);
    }
    const Extent tile_words = tile[0] * (planes ? tile[1] : 1);
    tiles_per_item = std::max<Extent>(1, item_words / std::max<Extent>(1, tile_words));
    items = ceil_div(tiles.size(), tiles_per_item);
  }

 private:
  /// The loop that is the fastest of the source; 0 where tiles are to be cut of one loop.
  [[nodiscard]] static constexpr int source_loop(const CopyNest& nest, std::int64_t word_bytes) {
    int source = 0;
    // A reversed loop is as fast as one that goes forward.
    const auto step = [&](int l) { return std::max(nest.stride[1][l], -nest.stride[1][l]); };
    for (int l = 1; l < nest.loops && nest.stride[1][0] != 0; ++l) {
      // A source that is the same along a loop has no order to prefer there.
      if (step(l) != 0 && step(l) < step(source)) source = l;
    }
    // Planes of a few words, as transposed 3 x 3 matrices: instead the same row of many.
    if (source != 0 && nest.extent[0] < tuning::min_plane &&
        nest.extent[source] < tuning::min_plane) {
      const Extent* const longest = std::max_element(nest.extent, nest.extent + nest.loops);
      return static_cast<int>(longest - nest.extent);
    }
    // Runs of a few words between gaps, as at the edges of padded images: several at a time.
    const bool short_runs = nest.loops > 1 && nest.stride[0][1] != nest.extent[0] &&
                            nest.extent[0] * word_bytes < tuning::min_copied_run;
    return source == 0 && short_runs ? 1 : source;
  }

  /// Where whole lines of the target are written at once, by non-temporal stores.
  void choose_stores([[maybe_unused]] const CopyNest& nest, [[maybe_unused]] Extent word_bytes,
                     [[maybe_unused]] const void* into, [[maybe_unused]] StorePolicy policy) {
#if defined(EINDECOMP_STREAMING_BYTES)
    if (policy != StorePolicy::non_temporal || word_bytes < tuning::min_streamed_word ||
        stride[0][0] != 1 || stride[1][planes ? 1 : 0] != 1) {
      return;
    }
    bool on_lines = reinterpret_cast<std::uintptr_t>(into) % line_bytes == 0;
    for (int l = 1; l < nest.loops; ++l) {
      on_lines = on_lines && nest.stride[0][l] * word_bytes % line_bytes == 0;
    }
    const Extent row_bytes = extent[0] * word_bytes;
    // Parts of lines at the ends of short rows would cost more than non-temporal stores save.
    if (planes) {
      streamed = row_bytes >= (on_lines ? line_bytes : tuning::min_streamed_run);
      aligned = streamed && on_lines;
    } else {
      gathered = row_bytes < 2 * tuning::min_streamed_run && nest.loops > 1 &&
                 nest.stride[0][1] == extent[0];
      streamed = gathered || on_lines || nest.loops == 1 || row_bytes >= tuning::min_streamed_copy;
    }
#endif
  }

  /// Sets the sizes of a tile.
  constexpr void set_tile(std::int64_t word_bytes, Extent item_words) {
    const Extent plane_words = tuning::transpose_tile_bytes / word_bytes;
    if (!planes || !streamed) {
      tile[0] = std::min(extent[0], planes ? plane_words : item_words);
      tile[1] = std::min(extent[1], tuning::transpose_tile_columns);
      return;
    }
    tile[0] = std::min(extent[0], tuning::streamed_tile_rows);
    tile[1] = std::min(extent[1], plane_words);
    // Fewer columns than a line has words go through a buffer.
    const Extent words = line_bytes / word_bytes;
    const auto rest = [&] { return extent[1] % tile[1]; };
    while (tile[1] > 4 * words && rest() > 0 && rest() < words) tile[1] -= words;
  }

  /// Tiles that share lines of memory follow one another.
  constexpr void order_tiles(const int* loop) {
    const auto nearness = [](const CopyNest& n, int l) {
      return n.stride[1][l] == 0 ? n.stride[0][l] : std::min(n.stride[0][l], n.stride[1][l]);
    };
    Extent mark[max_labels]{};
    for (int l = 0; l < tiles.loops; ++l) mark[l] = l;
    for (int a = 1; a < tiles.loops; ++a) {
      for (int b = a; b > 0 && nearness(tiles, b) < nearness(tiles, b - 1); --b) {
        tiles.swap_loops(b, b - 1);
        std::swap(mark[b], mark[b - 1]);
      }
    }
    for (int l = 0; l < tiles.loops; ++l) {
      if (mark[l] == loop[0]) rows = l;
      if (mark[l] == loop[1]) columns = l;
    }
  }
};

/// The nest of these loops but for those of extent 1.
[[nodiscard]] constexpr CopyNest copy_loops(int loops, const Extent* extent, const Extent* into,
                                            const Extent* from) {
  CopyNest nest;
  for (int l = 0; l < loops; ++l) {
    if (extent[l] == 1) continue;
    nest.push(extent[l], {into[l], from[l]});
  }
  return nest;
}

/// The nest of elements as one of words.
[[nodiscard]] constexpr CopyNest in_words(const CopyNest& elements, Extent words_per_element) {
  if (words_per_element == 1) return elements;
  CopyNest nest;
  nest.push(words_per_element, {1, 1});
  for (int l = 0; l < elements.loops; ++l) {
    nest.push(elements.extent[l], {elements.stride[0][l] * words_per_element,
                                   elements.stride[1][l] * words_per_element});
  }
  return nest;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
