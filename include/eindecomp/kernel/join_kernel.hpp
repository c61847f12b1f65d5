// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The kernels of the generic path: any join, any monoid, any shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/copy_kernel.hpp"
#include "eindecomp/kernel/join_schedule.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/map_lanes.hpp"
#include "eindecomp/kernel/row_access.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel::detail {

template <class Space>
[[nodiscard]] constexpr JoinTuning join_tuning() {
  return compat::is_device<Space> ? JoinTuning::device() : JoinTuning::host();
}

/// Item = rows of outputs, or one part of the reductions of one row (parts > 1).
template <int Tile, class Join, class Monoid, class... Ts>
struct JoinKernel {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  using State = typename Sig::State;
  using Indices = std::index_sequence_for<Ts...>;
  static constexpr int operands = Sig::operands;
  static constexpr int tensors = operands + 1;

  JoinSchedule<operands> schedule;
  Join join;
  Store<Monoid, Value> store;
  const void* operand[operands];
  State* partials;  ///< where parts > 1: [row][j][part]
  /// Outputs of one term go past the caches: they are what they are stored as.
  bool streamed = false;
  const char* ahead = nullptr;  ///< as MemoryHints
  int ahead_shift = 0;

  EINDECOMP_FUNCTION void operator()(const Extent item) const {
    compute(item);
#if defined(EINDECOMP_STREAMING_BYTES)
    if (streamed) end_streaming();
#endif
  }

  /// The same; whoever calls it ends streaming.
  EINDECOMP_FUNCTION void compute(const Extent item) const {
    State lane[Tile];
    Cursor<tensors> out;
    if (schedule.parts > 1) {
      const Extent row = item / schedule.parts;
      const Extent part = item - row * schedule.parts;
      out.seek(schedule.outer, row);
      // As part_begin of the blocks: parts of nearly equal length.
      const Extent quotient = schedule.steps / schedule.parts;
      const Extent rest = schedule.steps % schedule.parts;
      const Extent first = part * quotient + (part < rest ? part : rest);
      const Extent last = first + quotient + (part < rest ? 1 : 0);
      const int width = output_width(out);
      reduce(out, width, first, last, lane);
      const int outputs = schedule.across_outputs ? schedule.width : 1;
      for (int j = 0; j < width; ++j) {
        partials[(row * outputs + j) * schedule.parts + part] = lane[j];
      }
      return;
    }
    const Extent first_row = item * schedule.rows_per_item;
    Extent count = schedule.rows - first_row;
    if (count > schedule.rows_per_item) count = schedule.rows_per_item;
    out.seek(schedule.outer, first_row);
#if !defined(EINDECOMP_DEVICE_PASS)
    if constexpr (Tile > 1) {
      if (Sig::elementwise || schedule.one_term()) {
        map_rows(out, count);
        return;
      }
    }
    if constexpr (Tile > 1 && !Sig::elementwise) {
      if (schedule.panel > 1) {
        reduce_panel(out, count);
        return;
      }
    }
#endif
    for (; count > 0; --count) {
      const int width = output_width(out);
      reduce(out, width, 0, schedule.steps, lane);
      const Extent offset = out.offset[operands];
      const Extent stride = schedule.vector_stride[operands];
      store.row(offset, stride, lane, width);
      out.advance(schedule.outer);
    }
  }

 private:
  [[nodiscard]] EINDECOMP_FUNCTION int row_width(const Cursor<tensors>& cursor,
                                                 const LoopNest<tensors>& nest) const {
    return cursor.coordinate[0] == nest.extent[0] - 1 ? schedule.last_width : schedule.width;
  }
  [[nodiscard]] EINDECOMP_FUNCTION int output_width(const Cursor<tensors>& out) const {
    return schedule.across_outputs ? row_width(out, schedule.outer) : 1;
  }

  /// Outputs of one term each: rows that follow one another, a piece at a time.
  EINDECOMP_FUNCTION void map_rows(Cursor<tensors>& out, Extent count) const {
    constexpr Extent piece = 32;
    alignas(64) State states[piece];
    while (count > 0) {
      Extent rows = schedule.outer.extent[0] - out.coordinate[0];
      if (rows > count) rows = count;
      const bool to_end = out.coordinate[0] + rows == schedule.outer.extent[0];
      const Extent length =
          (rows - 1) * schedule.width + (to_end ? schedule.last_width : schedule.width);
      const bool done =
          schedule.vector_stride[operands] == 1 && store.write != Write::accumulate &&
          map_by_lanes(out.offset, length, static_cast<State*>(store.output) + out.offset[operands],
                       {streamed, ahead, ahead_shift});
      for (Extent first = done ? length : 0; first < length;) {
        // What is streamed ends on lines of memory.
        const Extent most = piece - (streamed ? beyond_line(out.offset[operands] + first) : 0);
        const int width = static_cast<int>(length - first < most ? length - first : most);
        Extent offset[tensors];
        for (int t = 0; t < tensors; ++t) {
          offset[t] = out.offset[t] + first * schedule.vector_stride[t];
        }
        map(offset, width, states);
        store_piece(offset[operands], states, width);
        first += width;
      }
      out.skip(schedule.outer, rows);
      count -= rows;
    }
  }

  /// Computes a run of outputs from `offset` on by vectors, into neighbouring elements, if the
  /// signature and the strides allow. \returns whether they do.
  [[nodiscard]] bool map_by_lanes(const Extent* offset, Extent length, State* output,
                                  const MemoryHints& hints) const {
    if constexpr (maps_lanes<Join, Monoid, Ts...>()) {
      const unsigned contiguous = schedule.contiguous_operands();
      if (contiguous == 0) return false;
      const Value* first[operands];
      for (int t = 0; t < operands; ++t) {
        first[t] = static_cast<const Value*>(operand[t]) + offset[t];
      }
      if constexpr (Sig::elementwise) {
        map_run<operands, true>(contiguous, join, first, output, length, offset[operands], hints);
      } else {
        const OneTerm<Join, Monoid, Value> term{join, store.monoid, Traits::identity(store.monoid)};
        map_run<operands, false>(contiguous, term, first, output, length, offset[operands], hints);
      }
      return true;
    }
    return false;
  }

  /// Outputs between the last line of memory that begins with one and that one.
  [[nodiscard]] EINDECOMP_FUNCTION Extent beyond_line(Extent offset) const {
    const auto address =
        reinterpret_cast<std::uintptr_t>(static_cast<const State*>(store.output) + offset);
    return static_cast<Extent>(address % CopySchedule::line / sizeof(State));
  }

  EINDECOMP_FUNCTION void store_piece(Extent offset, const State* states, int width) const {
#if defined(EINDECOMP_STREAMING_BYTES)
    if constexpr (sizeof(State) % sizeof(std::uint32_t) == 0) {
      if (streamed) {
        using Bits = Word<std::uint32_t>;
        constexpr Extent words = sizeof(State) / sizeof(Bits);
        stream_row(static_cast<Bits*>(store.output) + offset * words,
                   reinterpret_cast<const Bits*>(states), width * words);
        return;
      }
    }
#endif
    store.row(offset, schedule.vector_stride[operands], states, width);
  }

  EINDECOMP_FUNCTION void map(const Extent* offset, int width, State* states) const {
    if constexpr (maps_lanes<Join, Monoid, Ts...>()) {
      if (map_by_lanes(offset, width, states, {})) return;
    } else if constexpr (operands <= 2) {
      switch (schedule.contiguous_operands()) {
        case 1:
          return map_by<KnownStride<1>>(Indices{}, offset, width, states);
        case 2:
          return map_by<KnownStride<2>>(Indices{}, offset, width, states);
        case 3:
          return map_by<KnownStride<3>>(Indices{}, offset, width, states);
        default:
          break;
      }
    }
    map_by<AnyStride>(Indices{}, offset, width, states);
  }
  template <class Access, std::size_t... I>
  EINDECOMP_FUNCTION void map_by(std::index_sequence<I...>, const Extent* offset, int width,
                                 State* states) const {
    const auto value =
        [this, ... element = Access::template row<I>(static_cast<const Ts*>(operand[I]) + offset[I],
                                                     schedule.vector_stride[I])](int j) {
          return static_cast<Value>(join(element[j]...));
        };
    for (int j = 0; j < width; ++j) {
      const State state = Traits::lift(store.monoid, value(j), schedule.first_index);
      if constexpr (Sig::elementwise) {
        states[j] = state;
      } else {
        states[j] = Traits::combine(store.monoid, Traits::identity(store.monoid), state);
      }
    }
  }

  /// Aggregates neighbouring rows of outputs, all of them over a few inner positions at a time.
  void reduce_panel(Cursor<tensors>& out, Extent count) const {
    State lanes[JoinSchedule<operands>::most_panel][Tile];
    Cursor<tensors> row[JoinSchedule<operands>::most_panel];
    for (Extent i = 0; i < count; ++i) {
      row[i] = out;
      out.advance(schedule.outer);
      for (int j = 0; j < Tile; ++j) lanes[i][j] = Traits::identity(store.monoid);
    }
    constexpr Extent steps = JoinSchedule<operands>::panel_steps;
    for (Extent first = 0; first < schedule.steps; first += steps) {
      const Extent last = first + steps < schedule.steps ? first + steps : schedule.steps;
      for (Extent i = 0; i < count; ++i) {
        aggregate(row[i], output_width(row[i]), first, last, lanes[i]);
      }
    }
    const Extent stride = schedule.vector_stride[operands];
    for (Extent i = 0; i < count; ++i) {
      store.row(row[i].offset[operands], stride, lanes[i], output_width(row[i]));
    }
  }

  /// Aggregates the inner positions first <= position < last of one row of outputs into lane[0],
  /// …, lane[output width - 1].
  EINDECOMP_FUNCTION void reduce(const Cursor<tensors>& out, int output_width, Extent first,
                                 Extent last, State* lane) const {
    if constexpr (Sig::elementwise) {
      rows(output_width, out.offset, 1, 0, lane);
    } else {
      for (int j = 0; j < Tile; ++j) lane[j] = Traits::identity(store.monoid);
      if (first >= last) return;
      aggregate(out, output_width, first, last, lane);
      if (!schedule.across_outputs) {
        for (int j = 1; j < schedule.width; ++j) {
          lane[0] = Traits::combine(store.monoid, lane[0], lane[j]);
        }
      }
    }
  }

  /// Combines the inner positions first <= position < last of one row of outputs into its lanes.
  EINDECOMP_FUNCTION void aggregate(const Cursor<tensors>& out, int output_width, Extent first,
                                    Extent last, State* lane) const {
    if constexpr (!Sig::elementwise) {
      Cursor<tensors> in;
      in.seek(schedule.inner, first);
      for (int t = 0; t < tensors; ++t) in.offset[t] += out.offset[t];
      for (Extent position = first; position < last;) {
        // As many rows as one run of the fastest loop has, the narrow one at its end apart.
        Extent count = schedule.inner.extent[0] - in.coordinate[0];
        int width = output_width;
        if (!schedule.across_outputs) {
          width = row_width(in, schedule.inner);
          if (count > 1 && schedule.last_width != schedule.width) --count;
        }
        if (count > last - position) count = last - position;
        const Extent index = schedule.first_index +
                             (schedule.across_outputs ? position : in.coordinate[0] * Extent{Tile});
        rows(width, in.offset, count, index, lane);
        in.skip(schedule.inner, count);
        position += count;
      }
    }
  }

  /// Combines `count` rows, from `offset` on along the fastest inner loop, into the lanes.
  EINDECOMP_FUNCTION void rows(int width, const Extent* offset, Extent count, Extent index,
                               State* lane) const {
    if (width != Tile) {
      walk<AnyStride, false>(Indices{}, width, offset, count, index, lane);
      return;
    }
    if constexpr (Tile > 1 && operands <= 2 && !Sig::elementwise) {
      switch (schedule.contiguous_operands()) {
        case 1:
          return walk<KnownStride<1>, true>(Indices{}, width, offset, count, index, lane);
        case 2:
          return walk<KnownStride<2>, true>(Indices{}, width, offset, count, index, lane);
        case 3:
          return walk<KnownStride<3>, true>(Indices{}, width, offset, count, index, lane);
        default:
          break;
      }
    }
    walk<AnyStride, true>(Indices{}, width, offset, count, index, lane);
  }

  template <class Access, bool Full, std::size_t... I>
  EINDECOMP_FUNCTION void walk(std::index_sequence<I...>, int some_width, const Extent* offset,
                               Extent count, Extent index, State* lane) const {
    const int width = Full ? Tile : some_width;
    Extent at[operands];
    Extent step[operands];
    for (int t = 0; t < operands; ++t) {
      at[t] = offset[t];
      step[t] = schedule.inner.stride[t][0];
    }
    // The joins of row r.
    const auto row = [&](int r) {
      return [this, ... element = Access::template row<I>(
                        static_cast<const Ts*>(operand[I]) + at[I] + r * step[I],
                        schedule.vector_stride[I])](int j) {
        return static_cast<Value>(join(element[j]...));
      };
    };
    if constexpr (Sig::elementwise) {
      const auto value = row(0);
      for (int j = 0; j < width; ++j) lane[j] = Traits::lift(store.monoid, value(j), 0);
    } else {
      // Across outputs a row has one index, else its elements follow one another.
      const Extent index_stride = schedule.across_outputs ? 0 : 1;
      const Extent index_step = schedule.across_outputs ? 1 : Tile;
      const auto combine = [&](State& state, const Value& value, Extent its_index) {
        state = Traits::combine(store.monoid, state, Traits::lift(store.monoid, value, its_index));
      };
      State sum[Tile];
      for (int j = 0; j < width; ++j) sum[j] = lane[j];
      // Four rows at once load and store the lanes once.
      for (; Full && count >= 4; count -= 4, index += 4 * index_step) {
        const auto value0 = row(0);
        const auto value1 = row(1);
        const auto value2 = row(2);
        const auto value3 = row(3);
        for (int j = 0; j < Tile; ++j) {
          const Extent first = index + j * index_stride;
          State state = sum[j];
          combine(state, value0(j), first);
          combine(state, value1(j), first + index_step);
          combine(state, value2(j), first + 2 * index_step);
          combine(state, value3(j), first + 3 * index_step);
          sum[j] = state;
        }
        for (int t = 0; t < operands; ++t) at[t] += 4 * step[t];
      }
      for (; count > 0; --count, index += index_step) {
        const auto value = row(0);
        for (int j = 0; j < width; ++j) combine(sum[j], value(j), index + j * index_stride);
        for (int t = 0; t < operands; ++t) at[t] += step[t];
      }
      for (int j = 0; j < width; ++j) lane[j] = sum[j];
    }
  }
};

/// Second stage of a split reduction: folds the parts of each output in their order.
template <int Operands, class Monoid, class Value>
struct FoldKernel {
  using Traits = MonoidTraits<Monoid, Value>;
  using State = typename Traits::State;
  static constexpr int tensors = Operands + 1;

  JoinSchedule<Operands> schedule;
  Store<Monoid, Value> store;
  const State* partials;

  EINDECOMP_FUNCTION void operator()(const Extent item) const {
    const Extent outputs = schedule.across_outputs ? schedule.width : 1;
    const Extent row = item / outputs;
    const Extent j = item - row * outputs;
    Cursor<tensors> out;
    out.seek(schedule.outer, row);
    if (schedule.across_outputs && out.coordinate[0] == schedule.outer.extent[0] - 1 &&
        j >= schedule.last_width) {
      return;
    }
    State state = partials[item * schedule.parts];
    for (Extent part = 1; part < schedule.parts; ++part) {
      state = Traits::combine(store.monoid, state, partials[item * schedule.parts + part]);
    }
    store(out.offset[Operands] + j * schedule.vector_stride[Operands], state);
  }
};

}  // namespace eindecomp::kernel::detail
