// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Maps with masks: rows of outputs, piece by piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic/join_schedule.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/generic/map_many.hpp"
#include "eindecomp/kernel/generic/map_row.hpp"
#include "eindecomp/kernel/generic/mask_pieces.hpp"
#include "eindecomp/kernel/generic/masked_signature.hpp"
#include "eindecomp/kernel/generic/row_access.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/simd/streaming_store.hpp"
#include "eindecomp/kernel/tile_kernel.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Writes one value to neighbouring elements. \param streamed  by non-temporal stores, but for ends
template <class T>
void fill_row(T* to, Extent count, const T& value, [[maybe_unused]] bool streamed) {
#if defined(EINDECOMP_STREAMING_BYTES)
  constexpr int width = EINDECOMP_STREAMING_BYTES / static_cast<int>(sizeof(T));
  if constexpr (is_lane<T>) {
    if (streamed) {
      constexpr auto line = std::uintptr_t{EINDECOMP_STREAMING_BYTES};
      const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(to) % line;
      const Extent first = std::min(count, static_cast<Extent>((line - beyond) % line / sizeof(T)));
      std::fill(to, to + first, value);
      const auto lanes = reinterpret_cast<StreamLine>(repeat<T, width>(value));
      Extent i = first;
      for (; i + width <= count; i += width) {
        translate_next_page(to + i);
        stream(to + i, lanes);
      }
      std::fill(to + i, to + count, value);
      return;
    }
  }
#endif
  std::fill(to, to + count, value);
}

/// Rows of outputs of one term each, as MapRow.
template <class Join, class Monoid, class... Ts>
class MaskedMap {
 public:
  using Masked = MaskedSignature<Join, Monoid, Ts...>;
  using Traits = typename Masked::Sig::Traits;
  using State = typename Masked::Sig::State;
  using Pieces = MaskPieces<Join, Ts...>;
  static constexpr std::size_t operands = sizeof...(Ts);

  /// \param pieces, monoid, operand, stride  outlive this
  /// \param values  as MaskedReads has it
  MaskedMap(const Pieces& pieces, const Monoid& monoid, const void* const* operand,
            const Extent* stride, int values)
      : m_reads(stride, values),
        m_pieces(&pieces),
        m_monoid(&monoid),
        m_operand(operand),
        m_stride(stride) {}

  [[nodiscard]] bool applies() const { return m_reads.apply; }

  template <bool>
  [[nodiscard]] bool direct(const Extent* offset, const RunPart& part, State* output, Write write,
                            const MemoryHints& hints) const {
    if (!maps_masked_lanes<Join, Monoid, Ts...>() || write == Write::accumulate) return false;
    row(offset, part.length, output, hints);
    return true;
  }
  void into(const Extent* offset, int width, State* states) const {
    row(offset, width, states, {});
  }

  /// Finds the pieces of a row. \param offset  of every operand, of the first output
  void find(const Extent* offset, Extent length, typename Pieces::List& pieces) const {
    m_pieces->find(m_operand, offset, m_stride, length, pieces);
  }
  /// Asks for the first lines of what a row reads. Each row begins anew where the one before left
  /// out its end, and the machine does not foresee it.
  void ask_for(const Extent* offset, Extent length) const {
    typename Pieces::List pieces;
    find(offset, length, pieces);
    Extent first = 0;
    for (int n = 0; n < pieces.count; first = pieces.end[n++]) {
      bool reads = false;
      m_pieces->under_masks(pieces.masks[n],
                            [&]<class Inner>(const Inner&) { reads = !is_constant<Inner>; });
      if (!reads) continue;
      const Extent last = std::min(pieces.end[n], first + tuning::asked_lines * line_elements);
      constexpr Extent bytes[] = {static_cast<Extent>(sizeof(Ts))..., 0};  // there may be none
      for (int t = 0; t < MaskedReads<Join, Ts...>::reads; ++t) {
        if (m_stride[t] != 1) continue;
        const char* const from = static_cast<const char*>(m_operand[t]);
        for (Extent i = (offset[t] + first) * bytes[t]; i < (offset[t] + last) * bytes[t];
             i += line_bytes) {
          prefetch_to_read(from + i);
        }
      }
      return;
    }
  }

  /// Computes outputs first <= i < last of a row.
  /// \param piece  that of the first; is set to that of the last, or the next
  /// \param output  the row's first
  /// \param hints  of memory
  /// \param before  as many outputs as hints.prefetch lies before what belongs to the row's first
  void range(const typename Pieces::List& pieces, int& piece, const Extent* offset, Extent first,
             Extent last, State* output, const MemoryHints& hints, Extent before) const {
#if defined(EINDECOMP_STREAMING_BYTES)
    // Where pieces meet within what a non-temporal store writes, it is put together first: other
    // stores to the same line of memory would wait.
    constexpr auto bytes = std::uintptr_t{EINDECOMP_STREAMING_BYTES};
    constexpr auto width = static_cast<Extent>(bytes / sizeof(State));
    while (hints.streamed && first < last) {
      const auto beyond = static_cast<Extent>(reinterpret_cast<std::uintptr_t>(output + first) %
                                              bytes / sizeof(State));
      const Extent here = std::min(pieces.end[piece], last) - first;
      if (beyond == 0 && here >= width) {
        const Extent whole = here - here % width;
        one_piece<true>(pieces.masks[piece], offset, first, whole, output + first, hints, before);
        first += whole;
        if (first == pieces.end[piece]) ++piece;
        continue;
      }
      alignas(EINDECOMP_STREAMING_BYTES) State line[width];
      const Extent end = std::min(last, first + width - beyond);
      several_pieces(pieces, piece, offset, first, end, line, {}, 0);
      if (end - first == width) {
        stream(output + first, *reinterpret_cast<const StreamSource*>(line));
      } else {
        std::copy(line, line + (end - first), output + first);
      }
      first = end;
    }
#endif
    several_pieces(pieces, piece, offset, first, last, output + first, hints, before);
  }

 private:
  void row(const Extent* offset, Extent length, State* output, const MemoryHints& hints) const {
    typename Pieces::List pieces;
    find(offset, length, pieces);
    int piece = 0;
    range(pieces, piece, offset, 0, length, output, hints, 0);
  }

  /// \param output  of output `first`
  void several_pieces(const typename Pieces::List& pieces, int& piece, const Extent* offset,
                      Extent first, Extent last, State* output, const MemoryHints& hints,
                      Extent before) const {
    while (first < last) {
      const Extent end = std::min(pieces.end[piece], last);
      one_piece<false>(pieces.masks[piece], offset, first, end - first, output, hints, before);
      output += end - first;
      first = end;
      if (first == pieces.end[piece]) ++piece;
    }
  }
  template <bool Streamed>
  void one_piece(unsigned masks, const Extent* offset, Extent first, Extent count, State* output,
                 const MemoryHints& hints, Extent before) const {
    m_pieces->under_masks(masks, [&]<class Inner>(const Inner& join) {
      if constexpr (is_constant<Inner>) {
        fill_row(output, count, of_value(static_cast<State>(expr::widened(join.value))), Streamed);
      } else {
        const char* prefetch = hints.prefetch;
        if (prefetch != nullptr) {
          prefetch += (before + first) * static_cast<Extent>(sizeof(State)) >> hints.prefetch_shift;
        }
        map<Streamed>(join, offset, first, count, output, prefetch, hints.prefetch_shift);
      }
    });
  }
  [[nodiscard]] State of_value(const State& value) const {
    if constexpr (Masked::Sig::elementwise) {
      return value;
    } else {
      return Traits::combine(*m_monoid, Traits::identity(*m_monoid), value);
    }
  }
  template <bool Streamed, class Inner>
  void map(const Inner& join, const Extent* offset, Extent first, Extent count, State* output,
           const char* prefetch, int shift) const {
    using Row = typename Masked::template Of<Inner>::template With<MapRow>;
    if constexpr (Row::Sig::elementwise && Row::is_of_lanes) {
      if (m_reads.contiguous != 0) {
        const State* from[Row::operands];
        for (int t = 0; t < Row::operands; ++t) {
          from[t] = static_cast<const State*>(m_operand[t]) + offset[t] + first * m_stride[t];
        }
        return map_now<Row::operands, Streamed>(m_reads.contiguous, join, from, output, count,
                                                prefetch, shift);
      }
    }
    Extent begin[operands];
    for (std::size_t t = 0; t < operands; ++t) begin[t] = offset[t] + first * m_stride[t];
    const Row row{join, *m_monoid, m_operand, m_stride, m_reads.contiguous};
    if (m_reads.contiguous == 0) {
      State state{};
      row.template by_elements<AnyStride>(typename Row::Indices{}, begin, 1, &state);
      fill_row(output, count, state, Streamed);
    } else if constexpr (Row::Sig::elementwise && Row::is_of_lanes) {
      return;  // as above
    } else if constexpr (maps_masked_lanes<Join, Monoid, Ts...>()) {
      MemoryHints hints;
      hints.streamed = Streamed;
      (void)row.template direct<false>(begin, {count}, output, Write::partial, hints);
    } else {
      row.into(begin, static_cast<int>(count), output);
    }
  }

  static constexpr Extent line_elements = line_bytes / static_cast<Extent>(sizeof(State));

  MaskedReads<Join, Ts...> m_reads;
  const Pieces* m_pieces;
  const Monoid* m_monoid;
  const void* const* m_operand;
  const Extent* m_stride;
};

/// Rows of outputs that follow one another, as a ResumableMap computes them range by range.
template <class Join, class Monoid, class... Ts>
class MaskedRun {
 public:
  using Map = MaskedMap<Join, Monoid, Ts...>;
  using State = typename Map::State;
  static constexpr int tensors = static_cast<int>(sizeof...(Ts)) + 1;

  /// \param map  applies; what it refers to outlives this
  /// \param schedule  of which dense_outputs() holds; outlives this
  MaskedRun(const Map& map, const JoinSchedule<tensors - 1>& schedule, State* output)
      : m_map(map), m_outer(&schedule.outer), m_output(output), m_length(schedule.run_length()) {
    m_row.seek(*m_outer, 0);
    begin_row();
  }

  /// Computes begin <= i < end, which follows what was computed before.
  void run(Extent begin, Extent end, const MemoryHints& hints) {
    while (begin < end) {
      if (begin == m_begin + m_length) {
        m_begin = begin;
        m_row.skip(*m_outer, m_outer->extent[0]);
        begin_row();
      }
      const Extent last = std::min(end, m_begin + m_length);
      m_map.range(m_pieces, m_piece, m_row.offset, begin - m_begin, last - m_begin,
                  m_output + m_begin, hints, m_begin);
      begin = last;
    }
  }
  /// ResumableMap::compute of one.
  static void compute(ResumableMap& call, Extent begin, Extent end) {
    std::launder(reinterpret_cast<MaskedRun*>(call.run))->run(begin, end, call.hints);
  }

 private:
  void begin_row() {
    m_map.find(m_row.offset, m_length, m_pieces);
    m_piece = 0;
  }

  Map m_map;
  const LoopNest<tensors>* m_outer;
  State* m_output;
  Extent m_length;
  Extent m_begin = 0;     ///< the first output of the row at hand
  Cursor<tensors> m_row;  ///< where it is
  typename Map::Pieces::List m_pieces;
  int m_piece = 0;
};

/// The type of the runs of a map's outputs, if a ResumableMap, which is copied, can keep one.
template <class Join, class Monoid, class... Ts>
struct MaskedRunOf {
  static constexpr bool there_is_one = false;
  /// Of which nothing is made ready.
  struct Pieces {
    explicit Pieces(const Join&) {}
  };
};
template <class Join, class Monoid, class... Ts>
  requires(Signature<Join, Monoid, Ts...>::elementwise&& maps_masked_lanes<Join, Monoid, Ts...>() &&
           sizeof(MaskedRun<Join, Monoid, Ts...>) <= sizeof(ResumableMap::run) &&
           std::is_trivially_copyable_v<MaskedRun<Join, Monoid, Ts...>>)
struct MaskedRunOf<Join, Monoid, Ts...> {
  static constexpr bool there_is_one = true;
  using type = MaskedRun<Join, Monoid, Ts...>;
  using Pieces = typename type::Map::Pieces;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
