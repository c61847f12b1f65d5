// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Copies of short runs, and non-temporal stores, which write to memory without reading the line
/// first: for targets that are larger than the caches and not read soon.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/instructions.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

#if defined(EINDECOMP_REGISTER_BYTES)
/// Copies runs of Piece to 2·Piece bytes, each as two pieces that may overlap.
template <int Piece>
void copy_in_pieces(char* to, Extent to_step, const char* from, Extent from_step, Extent bytes,
                    Extent runs) {
  for (; runs > 0; --runs, to += to_step, from += from_step) {
    Lanes<char, Piece> first;
    Lanes<char, Piece> last;
    std::memcpy(&first, from, Piece);
    std::memcpy(&last, from + bytes - Piece, Piece);
    std::memcpy(to, &first, Piece);
    std::memcpy(to + bytes - Piece, &last, Piece);
  }
}
#endif

/// Copies runs of n words each that do not overlap: to[r·to_step + i] = from[r·from_step + i].
template <class Word>
EINDECOMP_NEVER_INLINE EINDECOMP_FUNCTION inline void copy_runs(Word* to, Extent to_step,
                                                                const Word* from, Extent from_step,
                                                                Extent n, Extent runs) {
#if defined(EINDECOMP_REGISTER_BYTES)
  constexpr Extent size = sizeof(Word);
  const Extent bytes = n * size;
  if (bytes >= 16) {
    char* const into = reinterpret_cast<char*>(to);
    const char* const source = reinterpret_cast<const char*>(from);
    if (bytes > 128) {
      for (Extent r = 0; r < runs; ++r) {
        std::memcpy(into + r * to_step * size, source + r * from_step * size,
                    static_cast<std::size_t>(bytes));
      }
    } else if (bytes >= 64) {
      copy_in_pieces<64>(into, to_step * size, source, from_step * size, bytes, runs);
    } else if (bytes >= 32) {
      copy_in_pieces<32>(into, to_step * size, source, from_step * size, bytes, runs);
    } else {
      copy_in_pieces<16>(into, to_step * size, source, from_step * size, bytes, runs);
    }
    return;
  }
#endif
  for (Extent r = 0; r < runs; ++r) {
    for (Extent i = 0; i < n; ++i) to[r * to_step + i] = from[r * from_step + i];
  }
}
/// to[i] = from[i] for i < n.
template <class Word>
EINDECOMP_FUNCTION inline void copy_words(Word* to, const Word* from, Extent n) {
  copy_runs(to, 0, from, 0, n, 1);
}

#if defined(EINDECOMP_STREAMING_BYTES)

using core::end_streaming;
using core::stream;
using core::StreamLine;

/// What a non-temporal store writes, wherever it lies and whatever its type.
typedef long long StreamSource
    __attribute__((vector_size(EINDECOMP_STREAMING_BYTES), aligned(1), may_alias));

/// Where a page begins at `to`, translates the next one: a non-temporal store into a page without a
/// translation waits for it, and all later stores wait too. To be called with the address of each
/// line before it is written.
EINDECOMP_ALWAYS_INLINE void translate_next_page(const void* to) {
  constexpr std::uintptr_t page_bytes = 4096;
  if (reinterpret_cast<std::uintptr_t>(to) % page_bytes != 0) return;
  prefetch_to_read_later(static_cast<const char*>(to) + page_bytes);
}

/// Prefetches the line in which a row of the target begins or ends, unless it does so at a line's
/// edge: a part of a line is written by ordinary stores, for which later ones would wait.
EINDECOMP_ALWAYS_INLINE void prefetch_part(const void* to) {
  if (reinterpret_cast<std::uintptr_t>(to) % line_bytes != 0) prefetch_to_write(to);
}

/// Writes a whole line of memory from wherever its bytes lie.
inline void stream_line(char* to, const void* from) {
  EINDECOMP_UNROLLED(4)
  for (int b = 0; b < line_bytes; b += EINDECOMP_STREAMING_BYTES) {
    stream(to + b, *reinterpret_cast<const StreamSource*>(static_cast<const char*>(from) + b));
  }
}

/// to[i] = from[i], by non-temporal stores but for the ends.
template <class Word>
void stream_row(Word* to, const Word* from, Extent n) {
  constexpr Extent size = static_cast<Extent>(sizeof(Word));
  constexpr Extent words = EINDECOMP_STREAMING_BYTES / size;
  const auto beyond =
      static_cast<Extent>(reinterpret_cast<std::uintptr_t>(to) % EINDECOMP_STREAMING_BYTES);
  // Words of 16 bytes may lie on 8.
  Extent i = beyond % size != 0 ? n : std::min(n, beyond == 0 ? 0 : words - beyond / size);
  copy_words(to, from, i);
  for (; i + words <= n; i += words) {
    stream(to + i, *reinterpret_cast<const StreamSource*>(from + i));
  }
  copy_words(to + i, from + i, n - i);
}

#endif

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
