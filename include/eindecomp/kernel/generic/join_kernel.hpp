// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The kernels of the generic algorithm: any join, any monoid, any shape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/generic/dense_rows.hpp"
#include "eindecomp/kernel/generic/join_reducer.hpp"
#include "eindecomp/kernel/generic/join_schedule.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/generic/map_many.hpp"
#include "eindecomp/kernel/generic/map_row.hpp"
#include "eindecomp/kernel/generic/masked_map.hpp"
#include "eindecomp/kernel/generic/row_access.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// How a signature's shapes are cut. Fewer of large accumulators are on the stack, and in
/// workspaces.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr JoinTuning join_tuning() {
  if (compat::is_device<Space>) return JoinTuning::device();
  JoinTuning tuning = JoinTuning::host();
  using State = typename Signature<Join, Monoid, Ts...>::State;
  constexpr Extent most = tuning::states_bytes / static_cast<Extent>(sizeof(State));
  tuning.partials = std::clamp<Extent>(most, 1, tuning.partials);
  if (most < 2 * tuning.tile) tuning.tile = 1;
  tuning.element_bytes = static_cast<int>(sizeof(typename Signature<Join, Monoid, Ts...>::Value));
  tuning.dense_rows = has_lane_terms<Join, Monoid, Ts...>();
  tuning.row_blocks = maps_lanes<Join, Monoid, Ts...>();
  return tuning;
}

/// What a join reads and writes.
template <class Monoid, class Value, int Operands>
struct JoinMemory {
  Store<Monoid, Value> store;
  const void* operand[Operands];
  typename Store<Monoid, Value>::State* partials = nullptr;  ///< where parts > 1: [row][j][part]
  /// Outputs of one term are written by non-temporal stores: they are what they are stored as.
  MemoryHints hints;
  /// Where operands of a map have ends along its rows: they outlive the launch. Else null.
  const RowEnds<std::size_t{Operands}>* ends = nullptr;
};

/// Items of a schedule on some memory, all of which is its caller's. Item = rows of outputs, or one
/// part (parts > 1) of the reductions of one row; of all rows where these are reduced in panels.
template <int Tile, class Join, class Monoid, class... Ts>
struct JoinItems {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  using State = typename Sig::State;
  using Indices = std::index_sequence_for<Ts...>;
  static constexpr int operands = Sig::operands;
  static constexpr int tensors = operands + 1;

  const JoinSchedule<operands>& schedule;
  const Join& join;
  const JoinMemory<Monoid, Value, operands>& memory;

  /// Whoever calls it ends streaming.
  EINDECOMP_FUNCTION void compute(const Extent item) const {
    const bool cut = schedule.parts > 1;
    const Extent part = cut ? item % schedule.parts : 0;
    const Extent first_row = (cut ? item / schedule.parts : item) * schedule.rows_per_item;
    Extent count = schedule.rows - first_row;
    if (count > schedule.rows_per_item) count = schedule.rows_per_item;
    Cursor<tensors> out;
    out.seek(schedule.outer, first_row);
#if !defined(EINDECOMP_DEVICE_PASS)
    if constexpr (Tile > 1) {
      if (Sig::elementwise || schedule.one_term()) {
        map_rows(out, first_row, count);
        return;
      }
    }
    if constexpr (Tile > 1 && !Sig::elementwise) {
      if (schedule.panels) {
        for (Extent row = first_row; count > 0;) {
          const Extent rows = std::min(count, panel_rows);
          reduce_panel(out, row, rows, part);
          row += rows;
          count -= rows;
        }
        return;
      }
      if constexpr (Reducer::has_lanes || Reducer::has_masked_lanes || Reducer::has_best) {
        if (!schedule.across_outputs && reducer().by_lanes()) {
          reduce_along(out, first_row, count, part);
          return;
        }
      }
    }
#endif
    State lane[Tile];
    for (Extent row = first_row; count > 0; ++row, --count) {
      const int width = output_width(out);
      reduce(out, width, part, lane);
      put(out.offset[operands], row, part, lane, width);
      out.advance(schedule.outer);
    }
  }

 private:
  [[nodiscard]] EINDECOMP_FUNCTION int output_width(const Cursor<tensors>& out) const {
    if (!schedule.across_outputs) return 1;
    const bool last = out.coordinate[0] == schedule.outer.extent[0] - 1;
    return last ? schedule.last_width : schedule.width;
  }

  using Row = MapRow<Join, Monoid, Ts...>;
  [[nodiscard]] EINDECOMP_FUNCTION Row map_row(unsigned contiguous) const {
    return {join,       memory.store.monoid,  memory.operand, schedule.vector_stride,
            contiguous, schedule.first_index, memory.ends};
  }

  /// Outputs of one term each: rows that follow one another.
  EINDECOMP_FUNCTION void map_rows(Cursor<tensors>& out, Extent row, Extent count) const {
    if constexpr (maps_masked<Join, Monoid, Ts...>()) {
      const MaskPieces<Join, Ts...> pieces(join);
      const MaskedMap<Join, Monoid, Ts...> masked(pieces, memory.store.monoid, memory.operand,
                                                  schedule.vector_stride, schedule.values);
      if (masked.applies()) return map_rows_by(masked, out, count);
    }
    unsigned contiguous = 0;
    if constexpr (Row::takes_contiguous) contiguous = schedule.contiguous_operands();
    const Row map = map_row(contiguous);
    if constexpr (has_lane_terms<Join, Monoid, Ts...>()) {
      if (DenseRows<Join, Monoid, Ts...>::apply(schedule, map, memory.store.write,
                                                memory.hints.streamed)) {
        return map_dense_rows(map, out, row, count);
      }
    }
    if constexpr (Row::is_of_lanes) {
      if (has_row_blocks(map)) return map_row_blocks(map, out, count);
    }
    map_rows_by(map, out, count);
  }
  /// Whether map_row_blocks() is possible, and worth it: what is streamed are long rows.
  [[nodiscard]] bool has_row_blocks(const Row& map) const {
    return schedule.outer.loops > 1 && map.contiguous != 0 && map.ends == nullptr &&
           schedule.vector_stride[operands] == 1 &&
           !(memory.hints.streamed && schedule.run_length() > tuning::max_unhinted_row);
  }
  /// The same of rows, as many at a time as there are, but for those of which an item has a part.
  void map_row_blocks(const Row& map, Cursor<tensors>& out, Extent count) const {
    const LoopNest<tensors>& outer = schedule.outer;
    const Extent pieces = outer.extent[0];  // of a row
    const Extent block = pieces * outer.extent[1];
    RowBlocks<tensors> rows{schedule.run_length(), 0, 0, {}, {}};
    for (int t = 0; t < tensors; ++t) {
      rows.row_step[t] = outer.stride[t][1];
      rows.block_step[t] = outer.loops > 2 ? outer.stride[t][2] : 0;
    }
    while (count > 0) {
      if (out.coordinate[0] > 0 || count < pieces) {
        const Extent part = std::min(count, pieces - out.coordinate[0]);
        map_rows_by(map, out, part);
        count -= part;
        continue;
      }
      const bool whole = outer.loops > 2 && out.coordinate[1] == 0 && count >= block;
      rows.blocks = whole ? std::min(count / block, outer.extent[2] - out.coordinate[2]) : 1;
      rows.rows =
          std::min(whole ? block / pieces : count / pieces, outer.extent[1] - out.coordinate[1]);
      map.blocks(out.offset, rows, static_cast<State*>(memory.store.output) + out.offset[operands],
                 memory.store.write);
      if (whole) {
        out.skip(outer, rows.blocks, 2);
      } else {
        out.skip(outer, rows.rows, 1);
      }
      count -= rows.blocks * rows.rows * pieces;
    }
  }
  /// The same of dense rows, block by block.
  void map_dense_rows(const Row& map, Cursor<tensors>& out, Extent row, Extent count) const {
    DenseRows<Join, Monoid, Ts...> rows(schedule, map);
    const Extent pieces = schedule.outer.extent[0];  // of a row
    const Extent block = pieces * schedule.outer.extent[1];
    while (count > 0) {
      const Extent before = out.coordinate[1] * pieces + out.coordinate[0];
      const Extent here = std::min(count, block - before);
      const Value* first[operands];
      Extent offset[tensors];
      for (int t = 0; t < tensors; ++t) {
        offset[t] = out.offset[t];
        for (int l : {0, 1}) offset[t] -= out.coordinate[l] * schedule.outer.stride[t][l];
        if (t < operands) first[t] = static_cast<const Value*>(memory.operand[t]) + offset[t];
      }
      rows.compute(first, schedule.first_output(before), schedule.first_output(before + here),
                   static_cast<State*>(memory.store.output) + offset[operands], memory.store.write,
                   hints_from(offset[operands]));
      row += here;
      count -= here;
      if (count > 0) out.seek(schedule.outer, row);
    }
  }
  /// The same, to where they belong or a piece at a time.
  template <class Map>
  EINDECOMP_FUNCTION void map_rows_by(const Map& map, Cursor<tensors>& out, Extent count) const {
    constexpr Extent piece = map_piece<State>;
    alignas(64) State states[piece];
    while (count > 0) {
      Extent rows = schedule.outer.extent[0] - out.coordinate[0];
      if (rows > count) rows = count;
      const bool to_end = out.coordinate[0] + rows == schedule.outer.extent[0];
      const Extent length = schedule.length_of(rows, to_end);
      const Extent before = out.coordinate[0] * schedule.width;
      if constexpr (requires { map.ask_for(out.offset, length); }) {
        if (memory.hints.streamed) {
          Cursor<tensors> next = out;
          next.skip(schedule.outer, rows);
          map.ask_for(next.offset, length);
        }
      }
      const bool done = schedule.vector_stride[operands] == 1 &&
                        map.template direct<true>(
                            out.offset, {length, before, schedule.run_length() - before - length},
                            static_cast<State*>(memory.store.output) + out.offset[operands],
                            memory.store.write, hints_from(out.offset[operands]));
      for (Extent first = done ? length : 0; first < length;) {
        // What is streamed ends on lines of memory.
        const Extent most =
            piece - (memory.hints.streamed ? beyond_line(out.offset[operands] + first) : 0);
        const int width = static_cast<int>(length - first < most ? length - first : most);
        Extent offset[tensors];
        for (int t = 0; t < tensors; ++t) {
          offset[t] = out.offset[t] + first * schedule.vector_stride[t];
        }
        map.into(offset, width, states);
        store_piece(offset[operands], states, width);
        first += width;
      }
      out.skip(schedule.outer, rows);
      count -= rows;
    }
  }

  /// What is known of memory from an output on.
  [[nodiscard]] MemoryHints hints_from(Extent offset) const {
    MemoryHints hints = memory.hints;
    if (hints.prefetch != nullptr) {
      hints.prefetch += offset * static_cast<Extent>(sizeof(Value)) >> hints.prefetch_shift;
    }
    return hints;
  }

  /// Outputs between the last line of memory that begins with one and that one.
  [[nodiscard]] EINDECOMP_FUNCTION Extent beyond_line(Extent offset) const {
    const auto address =
        reinterpret_cast<std::uintptr_t>(static_cast<const State*>(memory.store.output) + offset);
    return static_cast<Extent>(address % line_bytes / sizeof(State));
  }

  EINDECOMP_FUNCTION void store_piece(Extent offset, const State* states, int width) const {
#if defined(EINDECOMP_STREAMING_BYTES)
    if constexpr (sizeof(State) % sizeof(std::uint32_t) == 0) {
      if (memory.hints.streamed) {
        using Bits = Word<std::uint32_t>;
        constexpr Extent words = sizeof(State) / sizeof(Bits);
        stream_row(static_cast<Bits*>(memory.store.output) + offset * words,
                   reinterpret_cast<const Bits*>(states), width * words);
        return;
      }
    }
#endif
    memory.store.row(offset, schedule.vector_stride[operands], states, width);
  }

  using Reducer = JoinReducer<Tile, Join, Monoid, Ts...>;
  using Run = OutputRun<operands>;
  /// Rows of outputs reduced together, at most.
  static constexpr Extent panel_rows = std::clamp<Extent>(
      tuning::states_bytes / (Tile * Extent{sizeof(State)}), 1, tuning::max_panel_rows);

  [[nodiscard]] EINDECOMP_FUNCTION Reducer reducer() const {
    return {schedule, join, memory.store.monoid, memory.operand};
  }

  /// Aggregates neighbouring rows of outputs together.
  void reduce_panel(Cursor<tensors>& out, Extent row, Extent count, Extent part) const {
    alignas(64) State lanes[panel_rows * Tile];
    for (Extent j = 0; j < count * Tile; ++j) lanes[j] = Traits::identity(memory.store.monoid);
    Extent offsets[panel_rows][tensors];
    Run runs[panel_rows];
    Extent run_count = 0;
    for (Extent begun = 0; begun < count; ++run_count) {
      const Extent to_end = schedule.outer.extent[0] - out.coordinate[0];
      const Extent rows = std::min(count - begun, to_end);
      for (int t = 0; t < tensors; ++t) offsets[run_count][t] = out.offset[t];
      runs[run_count] = {offsets[run_count], rows, schedule.length_of(rows, rows == to_end)};
      out.skip(schedule.outer, rows);
      begun += rows;
    }
    const Reducer reducer = this->reducer();
    // One long run by vectors needs no turns: of that a few positions are read at a time anyway.
    const auto [begin, end] = schedule.steps_of(part);
    const Extent steps = run_count == 1 && reducer.by_lanes() ? end - begin : tuning::panel_steps;
    for (Extent first = begin; first < end; first += steps) {
      State* lane = lanes;
      for (Extent r = 0; r < run_count; lane += runs[r++].rows * Tile) {
        reducer.aggregate(runs[r], first, std::min(first + steps, end), lane);
      }
    }
    State* lane = lanes;
    for (Extent r = 0; r < run_count; ++r) {
      reducer.settle(runs[r], lane);
      put(runs[r].offset[operands], row, part, lane, static_cast<int>(runs[r].outputs));
      row += runs[r].rows;
      lane += runs[r].rows * Tile;
    }
  }

  /// Aggregates a part of outputs that follow one another, the terms of each by vectors.
  void reduce_along(Cursor<tensors>& out, Extent row, Extent count, Extent part) const {
    const Reducer reducer = this->reducer();
    const auto [first, last] = schedule.steps_of(part);
    while (count > 0) {
      const Extent outputs = std::min(count, schedule.outer.extent[0] - out.coordinate[0]);
      const Extent step = schedule.outer.stride[operands][0];
      const Extent offset = out.offset[operands];
      reducer.along(out.offset, outputs, first, last, [&](Extent r, const State& state) {
        put(offset + r * step, row + r, part, &state, 1);
      });
      row += outputs;
      count -= outputs;
      out.skip(schedule.outer, outputs);
    }
  }

  /// Aggregates a part of one row of outputs into lane[0], …, lane[output width - 1].
  EINDECOMP_FUNCTION void reduce(const Cursor<tensors>& out, int output_width,
                                 [[maybe_unused]] Extent part, State* lane) const {
    if constexpr (Sig::elementwise) {
      map_row(0).template by_elements<AnyStride>(Indices{}, out.offset, output_width, lane);
    } else {
      for (int j = 0; j < Tile; ++j) lane[j] = Traits::identity(memory.store.monoid);
      const auto [first, last] = schedule.steps_of(part);
      if (first >= last) return;
      const Reducer reducer = this->reducer();
      const Run run{out.offset, 1, output_width};
      reducer.aggregate(run, first, last, lane);
      if (schedule.across_outputs) {
        reducer.settle(run, lane);
      } else {
        reducer.fold(lane);
      }
    }
  }

  /// Stores outputs of rows from that one on, or their part.
  EINDECOMP_FUNCTION void put(Extent offset, Extent row, Extent part, const State* states,
                              int count) const {
    if (schedule.parts > 1) {
      const Extent first = row * (schedule.across_outputs ? schedule.width : 1);
      for (int j = 0; j < count; ++j)
        memory.partials[(first + j) * schedule.parts + part] = states[j];
    } else {
      memory.store.row(offset, schedule.vector_stride[operands], states, count);
    }
  }
};

/// A join as it is launched. \tparam Held  its schedule: a reference where a launch returns only
///   when its kernel has run.
template <int Tile, class Held, class Join, class Monoid, class... Ts>
struct JoinKernel {
  using Sig = Signature<Join, Monoid, Ts...>;

  Held schedule;
  Join join;
  JoinMemory<Monoid, typename Sig::Value, Sig::operands> memory;

  EINDECOMP_FUNCTION void operator()(const Extent item) const {
    JoinItems<Tile, Join, Monoid, Ts...>{schedule, join, memory}.compute(item);
#if defined(EINDECOMP_STREAMING_BYTES)
    if (memory.hints.streamed) end_streaming();
#endif
  }
};

/// Between the two stages of a split reduction, where an output has many parts: folds groups of
/// neighbours, each into its first part. Item = a group.
template <class Monoid, class Value>
struct FoldGroupsKernel {
  using Traits = MonoidTraits<Monoid, Value>;
  using State = typename Traits::State;

  Monoid monoid;
  State* partials;
  Extent parts;  ///< of an output
  Extent group;  ///< parts of a group, at most

  EINDECOMP_FUNCTION void operator()(const Extent item) const {
    const Extent groups = ceil_div(parts, group);
    const Extent output = item / groups;
    const Extent first = (item - output * groups) * group;
    const Extent last = first + group < parts ? first + group : parts;
    State* const own = partials + output * parts;
    State state = own[first];
    for (Extent part = first + 1; part < last; ++part) {
      state = Traits::combine(monoid, state, own[part]);
    }
    own[first] = state;
  }
};

/// Second stage of a split reduction: folds the parts of each output in their order. \tparam Held
///   as JoinKernel's.
template <class Held, class Monoid, class Value>
struct FoldKernel {
  using Traits = MonoidTraits<Monoid, Value>;
  using State = typename Traits::State;
  static constexpr int tensors = std::remove_cvref_t<Held>::tensors;

  Held schedule;
  Store<Monoid, Value> store;
  const State* partials;
  Extent step = 1;  ///< parts of the groups that are folded already

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
    for (Extent part = step; part < schedule.parts; part += step) {
      state = Traits::combine(store.monoid, state, partials[item * schedule.parts + part]);
    }
    store(out.offset[tensors - 1] + j * schedule.vector_stride[tensors - 1], state);
  }
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
