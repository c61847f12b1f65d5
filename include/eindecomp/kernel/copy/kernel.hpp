// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Copies between strided tensors of one shape, transpositions among them: bytes, no arithmetic.
///
/// Where the fastest loop of the target is that of the source, contiguous runs are copied. Else the
/// two loops span planes, which are transposed in tiles that fit in cache, so that every line of
/// memory is read and written once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/compiled_kernels.hpp"
#include "eindecomp/kernel/copy/schedule.hpp"
#include "eindecomp/kernel/copy/streamed_transpose.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/simd/register_tile.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Bytes moved at once, whatever the type of the object they are part of.
template <class T>
struct [[gnu::may_alias]] Word {
  using Integer = T;
  Integer bits;
};
struct [[gnu::may_alias]] Word16 {
  using Integer = std::uint64_t;
  Integer bits[2];
};

/// Item = some tiles or runs.
template <class Word>
struct CopyKernel {
  CopySchedule schedule;
  Word* into;
  const Word* from;

  /// Copies elements of that many bytes. \param single as CopySchedule's.
  CopyKernel(const CopyNest& elements, std::int64_t element_bytes, StorePolicy policy, void* output,
             const void* operand, bool single)
      : schedule(in_words(elements, element_bytes / size), size, output, policy, single),
        into(static_cast<Word*>(output)),
        from(static_cast<const Word*>(operand)) {}

  EINDECOMP_FUNCTION void operator()(const Extent item) const {
    const Extent first = item * schedule.tiles_per_item;
    Extent count = schedule.tiles.size() - first;
    if (count > schedule.tiles_per_item) count = schedule.tiles_per_item;
    Cursor<2> at;
    at.seek(schedule.tiles, first);
#if defined(EINDECOMP_STREAMING_BYTES)
    if constexpr (size >= tuning::min_streamed_word) {
      if (schedule.streamed) {
        stream(at, first, count);
        return;
      }
    }
#endif
    if (schedule.whole) {
      whole_runs(at, count);
      return;
    }
    for (; count > 0; --count) {
      if (schedule.planes) {
        plane(into + at.offset[0], from + at.offset[1], length(0, at.coordinate[schedule.rows]),
              length(1, at.coordinate[schedule.columns]));
      } else {
        run(into + at.offset[0], from + at.offset[1], length(0, at.coordinate[schedule.rows]));
      }
      at.advance(schedule.tiles);
    }
  }

 private:
  static constexpr auto size = static_cast<std::int64_t>(sizeof(Word));

  [[nodiscard]] EINDECOMP_FUNCTION Extent length(int loop, Extent tile) const {
    const Extent rest = schedule.extent[loop] - tile * schedule.tile[loop];
    return rest < schedule.tile[loop] ? rest : schedule.tile[loop];
  }

  EINDECOMP_FUNCTION void run(Word* to, const Word* source, Extent n) const {
    const Extent into_stride = schedule.stride[0][0];
    const Extent from_stride = schedule.stride[1][0];
    if (into_stride == 1 && from_stride == 1) {
      copy_words(to, source, n);
    } else {
      for (Extent i = 0; i < n; ++i) to[i * into_stride] = source[i * from_stride];
    }
  }

  /// Copies runs as a whole, those of the fastest loop over them together.
  EINDECOMP_FUNCTION void whole_runs(Cursor<2> at, Extent count) const {
    const Extent n = schedule.extent[0];
    const Extent into_step = schedule.tiles.stride[0][0];
    const Extent from_step = schedule.tiles.stride[1][0];
    while (count > 0) {
      const Extent rest = schedule.tiles.extent[0] - at.coordinate[0];
      const Extent runs = count < rest ? count : rest;
      Word* const to = into + at.offset[0];
      const Word* const source = from + at.offset[1];
      if (schedule.stride[0][0] == 1 && schedule.stride[1][0] == 1) {
        copy_runs(to, into_step, source, from_step, n, runs);
      } else {
        for (Extent r = 0; r < runs; ++r) run(to + r * into_step, source + r * from_step, n);
      }
      count -= runs;
      at.skip(schedule.tiles, runs);
    }
  }

#if defined(EINDECOMP_STREAMING_BYTES)
  /// The same by non-temporal stores.
  void stream(Cursor<2> at, Extent first, Extent count) const {
    if (schedule.gathered) {
      gather(at, count);
    } else if (schedule.planes) {
      stream_planes(at, first, count);
    } else {
      stream_runs(at, count);
    }
    end_streaming();
  }

  /// Copies runs and prefetches the next one meanwhile: where they lie far apart in the source,
  /// each would begin with a wait.
  void stream_runs(Cursor<2> at, Extent count) const {
    constexpr Extent piece = tuning::run_prefetch / size;
    for (; count > 0; --count) {
      Word* const to = into + at.offset[0];
      const Word* const source = from + at.offset[1];
      const Extent n = length(0, at.coordinate[schedule.rows]);
      at.advance(schedule.tiles);
      const Word* const next = from + at.offset[1];
      const auto beyond = static_cast<Extent>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
      if (beyond != 0 && n * size <= 8 * tuning::run_prefetch) {
        // As a whole: both ends of a piece would be parts of lines.
        prefetch_part(to + n);
        EINDECOMP_UNROLLED(4)
        for (Extent i = 0; i < n; i += line_bytes / size) prefetch_to_read(next + i);
        stream_row(to, source, n);
        continue;
      }
      // All pieces but the first begin on a line.
      for (Extent i = 0, end = piece - beyond / size; i < n; i = end, end += piece) {
        // Not for short runs. Unrolled, since g++ 12 drops loops that do nothing but prefetch.
        if (n >= piece) {
          EINDECOMP_UNROLLED(16)
          for (Extent b = 0; b < piece; b += line_bytes / size) prefetch_to_read(next + i + b);
        }
        stream_row(to + i, source + i, std::min(end, n) - i);
      }
    }
  }

  /// Copies runs that follow one another in the target into a buffer, and writes that.
  void gather(Cursor<2> at, Extent count) const {
    constexpr Extent room = tuning::gather_buffer / static_cast<Extent>(sizeof(Word));
    alignas(line_bytes) Word buffer[room];
    const Extent n = schedule.extent[0];
    Extent first = at.offset[0];
    Extent filled = 0;
    while (count > 0) {
      const Extent runs = std::min(std::min(count, (room - filled) / n),
                                   schedule.tiles.extent[0] - at.coordinate[0]);
      copy_runs(buffer + filled, n, from + at.offset[1], schedule.tiles.stride[1][0], n, runs);
      filled += runs * n;
      count -= runs;
      at.skip(schedule.tiles, runs);
      if (count == 0 || filled + n > room || at.offset[0] != first + filled) {
        stream_row(into + first, buffer, filled);
        first = at.offset[0];
        filled = 0;
      }
    }
  }

  void stream_planes(Cursor<2> at, Extent first, Extent count) const {
    const Extent tiles = schedule.tiles.size();
    StreamedTranspose<Word> plane = streamed_plane(at);
    for (Extent tile = first; tile < first + count; ++tile) {
      at.advance(schedule.tiles);
      const StreamedTranspose<Word> next = streamed_plane(at);
      plane.run(tile + 1 < tiles ? &next : nullptr);
      plane = next;
    }
  }
  [[nodiscard]] StreamedTranspose<Word> streamed_plane(const Cursor<2>& at) const {
    const Extent row = at.coordinate[schedule.rows];
    return {into + at.offset[0],
            schedule.stride[0][1],
            from + at.offset[1],
            schedule.stride[1][0],
            length(0, row),
            length(1, at.coordinate[schedule.columns]),
            schedule.aligned,
            row > 0,
            row + 1 < schedule.tiles.extent[schedule.rows]};
  }
#endif

  EINDECOMP_FUNCTION void plane(Word* to, const Word* source, Extent rows, Extent columns) const {
    const auto& stride = schedule.stride;
    if (stride[0][0] == 1 && stride[1][1] == 1) {
      transpose_plane(to, stride[0][1], source, stride[1][0], rows, columns);
      return;
    }
    const auto copy_word = [&](Extent p, Extent q) {
      to[p * stride[0][0] + q * stride[0][1]] = source[p * stride[1][0] + q * stride[1][1]];
    };
    if (rows < tuning::min_plane) {
      for (Extent p = 0; p < rows; ++p) {
        for (Extent q = 0; q < columns; ++q) copy_word(p, q);
      }
    } else {
      for (Extent q = 0; q < columns; ++q) {
        for (Extent p = 0; p < rows; ++p) copy_word(p, q);
      }
    }
  }
};

/// The bytes of the words that elements are moved in: the largest power of two up to 16 that
/// divides the element size and the addresses, of which 16 need be multiples of 8 only.
/// \param addresses  or-ed, or what they are multiples of.
[[nodiscard]] constexpr std::uintptr_t word_bytes(std::uintptr_t element_bytes,
                                                  std::uintptr_t addresses) {
  if (element_bytes % 16 == 0 && addresses % 8 == 0) return 16;
  for (std::uintptr_t word = 8; word > 1; word /= 2) {
    if ((addresses | element_bytes) % word == 0) return word;
  }
  return 1;
}

/// The words that elements T are moved in.
template <class T>
[[nodiscard]] constexpr auto word_of() {
  constexpr std::uintptr_t bytes = word_bytes(sizeof(T), alignof(T));
  if constexpr (bytes == 16) return Word16{};
  if constexpr (bytes == 8) return Word<std::uint64_t>{};
  if constexpr (bytes == 4) return Word<std::uint32_t>{};
  if constexpr (bytes == 2) return Word<std::uint16_t>{};
  if constexpr (bytes == 1) return Word<std::uint8_t>{};
}
template <class T>
using WordOf = decltype(word_of<T>());

/// Copies elements of type T in parallel: launches on `space` and does not fence.
template <class T, compat::ExecutionSpace Space>
void copy_nest(const Space& space, const char* label, const CopyNest& nest, StorePolicy policy,
               void* into, const void* from) {
  const CopyKernel<WordOf<T>> kernel(nest, sizeof(T), policy, into, from, compat::is_device<Space>);
  launch(space, label, kernel.schedule.items, kernel);
}

/// The same on the calling thread, to which both memories belong.
template <class T>
void copy_nest(const CopyNest& nest, StorePolicy policy, void* into, const void* from) {
  const CopyKernel<WordOf<T>> kernel(nest, sizeof(T), policy, into, from, false);
  for (Extent item = 0; item < kernel.schedule.items; ++item) kernel(item);
}

/// copy_nest() as compiled here.
template <compat::ExecutionSpace Space>
void copy_nest_here(const Space& space, const char* label, const CopyNest& nest,
                    std::int64_t element_bytes, StorePolicy policy, void* into, const void* from) {
  const auto copy_words = [&]<class W>(W) {
    const CopyKernel<W> kernel(nest, element_bytes, policy, into, from, compat::is_device<Space>);
    launch(space, label, kernel.schedule.items, kernel);
  };
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(into) | reinterpret_cast<std::uintptr_t>(from);
  switch (word_bytes(static_cast<std::uintptr_t>(element_bytes), addresses)) {
    case 16:
      return copy_words(Word16{});
    case 8:
      return copy_words(Word<std::uint64_t>{});
    case 4:
      return copy_words(Word<std::uint32_t>{});
    case 2:
      return copy_words(Word<std::uint16_t>{});
    default:
      return copy_words(Word<std::uint8_t>{});
  }
}

/// Copies elements of that many bytes, whatever they are, in parallel: launches on `space` and does
/// not fence.
template <compat::ExecutionSpace Space>
void copy_nest(const Space& space, const char* label, const CopyNest& nest,
               std::int64_t element_bytes, StorePolicy policy, void* into, const void* from) {
#ifdef EINDECOMP_SEPARATE_KERNELS
  if constexpr (std::is_same_v<Space, Kokkos::DefaultHostExecutionSpace>) {
    return copy_nest_compiled(space, label, nest, element_bytes, policy, into, from);
  }
#endif
  copy_nest_here(space, label, nest, element_bytes, policy, into, from);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
