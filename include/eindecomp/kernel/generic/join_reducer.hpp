// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the generic kernel does with the terms of its outputs: any join, any monoid, any strides.
#pragma once

#include <cstddef>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic/best_lanes.hpp"
#include "eindecomp/kernel/generic/join_schedule.hpp"
#include "eindecomp/kernel/generic/masked_terms.hpp"
#include "eindecomp/kernel/generic/reduce_lanes.hpp"
#include "eindecomp/kernel/generic/row_access.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Rows of outputs that follow one another along the vectorised loop.
template <int Operands>
struct OutputRun {
  const Extent* offset;  ///< of every tensor
  Extent rows;           ///< all but the last as wide as a tile
  Extent outputs;
};

/// Aggregates positions of the inner nest into lanes, Tile of them for each row of outputs; where
/// the vectorised loop is an inner one, into those of the one output.
template <int Tile, class Join, class Monoid, class... Ts>
struct JoinReducer {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  using State = typename Sig::State;
  using Indices = std::index_sequence_for<Ts...>;
  static constexpr int operands = Sig::operands;
  static constexpr int tensors = operands + 1;
  /// Runs go by vectors where these are contiguous.
  static constexpr bool has_lanes = Tile > 1 && reduces_lanes<Join, Monoid, Ts...>();
  /// So do those under masks, piece by piece.
  static constexpr bool has_masked_lanes = Tile > 1 && reduces_masked<Join, Monoid, Ts...>();
  /// The best are found by vectors, whatever the strides.
  static constexpr bool has_best = Tile > 1 && keeps_best<Join, Monoid, Ts...>();

  const JoinSchedule<operands>& schedule;
  const Join& join;
  const Monoid& monoid;
  const void* const* operand;
  const TermsUnderMasks<has_masked_lanes, Join, Monoid, Ts...> masked{
      join, monoid, operand, schedule.vector_stride, schedule.values};

  [[nodiscard]] EINDECOMP_FUNCTION bool by_lanes() const {
    if constexpr (has_lanes) return schedule.contiguous_operands() != 0 || gathers();
    if constexpr (has_masked_lanes) return masked.applies();
    if constexpr (has_best) return !schedule.across_outputs;
    return false;
  }

  /// The one output's lanes aggregated into the first.
  EINDECOMP_FUNCTION void fold(State* lane) const {
    for (int j = 1; j < schedule.width; ++j) {
      lane[0] = Traits::combine(monoid, lane[0], lane[j]);
    }
  }

  /// Where by_lanes(), the aggregates of outputs' inner positions first <= position < last.
  /// \param offset  of every operand, of the first output.
  /// \param outputs  that many, which follow one another along the fastest outer loop.
  /// \param put  called with (number of the output, aggregate).
  template <class Put>
  void along(const Extent* offset, Extent outputs, Extent first, Extent last,
             const Put& put) const {
    const LoopNest<tensors>& inner = schedule.inner;
    if constexpr (has_lanes) {
      const Extent length = schedule.length_of(last - first, last == inner.extent[0]);
      if (inner.loops == 1 && first < last && length >= vector_width) {
        const Value* from[operands];
        Extent step[operands];
        for (int t = 0; t < operands; ++t) {
          from[t] = static_cast<const Value*>(operand[t]) + offset[t] + first * inner.stride[t][0];
          step[t] = schedule.outer.stride[t][0];
        }
        return reduce_run<Value>(Indices{}, join, monoid, schedule.vector_stride)
            .along_rows(from, step, outputs, length, Traits::identity(monoid), put);
      }
    }
    if constexpr (has_best) {
      best_along(offset, outputs, first, last, put);
    } else {
      each_along(offset, outputs, first, last, put);
    }
  }

  /// Combines the inner positions first <= position < last of a run into its lanes. Those across
  /// outputs are in order after settle(); those of one output are aggregated by fold().
  EINDECOMP_FUNCTION void aggregate(const OutputRun<operands>& run, Extent first, Extent last,
                                    State* lane) const {
    Cursor<tensors> in;
    in.seek(schedule.inner, first);
    for (int t = 0; t < operands; ++t) in.offset[t] += run.offset[t];
    for (Extent position = first; position < last;) {
      Extent count = schedule.inner.extent[0] - in.coordinate[0];
      if (count > last - position) count = last - position;
      if (!schedule.across_outputs || !aggregate_by_lanes(run, in, count, lane)) {
        auto width = static_cast<int>(run.outputs - (run.rows - 1) * Tile);
        if (!schedule.across_outputs) {
          // The narrow row at the end of the fastest loop apart.
          const bool ends = in.coordinate[0] + count == schedule.inner.extent[0];
          if (count > 1 && ends && schedule.last_width != schedule.width) --count;
          width = in.coordinate[0] == schedule.inner.extent[0] - 1 ? schedule.last_width
                                                                   : schedule.width;
        }
        const Extent index = schedule.first_index +
                             (schedule.across_outputs ? position : in.coordinate[0] * Extent{Tile});
        for (Extent r = 0; r < run.rows; ++r) {
          rows(r + 1 == run.rows ? width : Tile, in.offset, r, count, index, lane + r * Tile);
        }
      }
      in.skip(schedule.inner, count);
      position += count;
    }
  }

  /// Puts a run's outputs in their order.
  EINDECOMP_FUNCTION void settle(const OutputRun<operands>& run, State* lane) const {
    if constexpr (has_lanes) {
      if (by_lanes() && run.outputs >= vector_width) {
        settle_overlap<vector_width>(run.outputs, lane);
      }
    }
  }

 private:
  static constexpr Extent vector_width = sum_lanes<Value>;
  // The last, overlapping vector of a run finds room in the lanes of its rows.
  static_assert(!has_lanes || vector_width <= Tile);

  /// Combines `count` positions of the fastest inner loop across outputs by vectors, if the
  /// signature and the strides allow. \returns whether they do.
  EINDECOMP_FUNCTION bool aggregate_by_lanes([[maybe_unused]] const OutputRun<operands>& run,
                                             [[maybe_unused]] const Cursor<tensors>& in,
                                             [[maybe_unused]] Extent count,
                                             [[maybe_unused]] State* lane) const {
    if constexpr (has_lanes) {
      if (!by_lanes() || run.outputs < vector_width) return false;
      const Value* first[operands];
      for (int t = 0; t < operands; ++t) {
        first[t] = static_cast<const Value*>(operand[t]) + in.offset[t];
      }
      Extent step[operands];
      for (int t = 0; t < operands; ++t) step[t] = schedule.inner.stride[t][0];
      if (gathers()) {
        across_gathered(first[0], step[0], count, run.outputs, lane);
      } else {
        reduce_run<Value>(Indices{}, join, monoid, schedule.vector_stride)
            .across(first, step, count, run.outputs, lane);
      }
      return true;
    }
    if constexpr (has_masked_lanes) {
      if (!by_lanes()) return false;
      Extent at[operands];
      for (Extent p = 0; p < count; ++p) {
        for (int t = 0; t < operands; ++t) {
          at[t] = in.offset[t] + p * schedule.inner.stride[t][0];
        }
        masked.across(at, run.outputs, lane);
      }
      return true;
    }
    return false;
  }

  /// Whether outputs that follow one another read every other element of the one operand, as those
  /// of windows two apart do: shuffles gather them, and they go by vectors then.
  [[nodiscard]] EINDECOMP_FUNCTION bool gathers() const {
    if constexpr (has_lanes && operands == 1) {
      return schedule.across_outputs && schedule.vector_stride[0] == 2;
    }
    return false;
  }
  /// Combines rows that lie `step` apart, every other element of them, into sums of their columns.
  void across_gathered(const Value* from, Extent step, Extent positions, Extent outputs,
                       State* sums) const {
    alignas(line_bytes) Value row[tuning::max_panel_rows * Tile];
    const Value* const first[] = {row};
    const Extent contiguous[] = {1};
    const auto run = reduce_run<Value>(Indices{}, join, monoid, contiguous);
    for (Extent p = 0; p < positions; ++p, from += step) {
      for (Extent i = 0; i < outputs; ++i) row[i] = from[2 * i];
      run.across(first, contiguous, 1, outputs, sums);
    }
  }

  /// along(), output by output.
  template <class Put>
  void each_along(const Extent* offset, Extent outputs, Extent first, Extent last,
                  const Put& put) const {
    const LoopNest<tensors>& inner = schedule.inner;
    const bool one_run = has_masked_lanes && inner.loops == 1 && first < last;
    Extent at[operands];
    for (int t = 0; t < operands; ++t) {
      at[t] = offset[t] + (one_run ? first * inner.stride[t][0] : 0);
    }
    for (Extent r = 0; r < outputs; ++r) {
      put(r,
          one_run ? terms(at, last - first, last == inner.extent[0]) : along_runs(at, first, last));
      for (int t = 0; t < operands; ++t) at[t] += schedule.outer.stride[t][0];
    }
  }

  /// The aggregate of inner positions first <= position < last, in as many runs as that takes.
  /// \param offset  of every operand.
  [[nodiscard]] State along_runs(const Extent* offset, Extent first, Extent last) const {
    const LoopNest<tensors>& inner = schedule.inner;
    State sum = Traits::identity(monoid);
    if (first >= last) return sum;
    Cursor<tensors> in;
    in.seek(inner, first);
    for (int t = 0; t < operands; ++t) in.offset[t] += offset[t];
    while (first < last) {
      Extent count = inner.extent[0] - in.coordinate[0];
      if (count > last - first) count = last - first;
      const bool to_end = in.coordinate[0] + count == inner.extent[0];
      sum = Traits::combine(monoid, sum, terms(in.offset, count, to_end));
      in.skip(inner, count);
      first += count;
    }
    return sum;
  }

  /// The aggregate of `count` neighbouring rows of terms, to the end of the fastest loop or not.
  [[nodiscard]] State terms(const Extent* offset, Extent count, bool to_end) const {
    const Extent length = schedule.length_of(count, to_end);
    if constexpr (has_masked_lanes) {
      return masked.along(offset, length);
    } else {
      const Value* first[operands];
      for (int t = 0; t < operands; ++t) {
        first[t] = static_cast<const Value*>(operand[t]) + offset[t];
      }
      return aggregate_terms<Value>(Indices{}, join, monoid, first, schedule.vector_stride, length);
    }
  }

  /// Combines `count` positions, from `offset` on along the fastest inner loop, into the lanes of
  /// row r of the outputs.
  EINDECOMP_FUNCTION void rows(int width, const Extent* offset, Extent r, Extent count,
                               Extent index, State* lane) const {
    Extent at[operands];
    for (int t = 0; t < operands; ++t) at[t] = offset[t] + r * Tile * schedule.vector_stride[t];
    if (width != Tile) {
      int first = 0;
      for (; Tile > 4 && first + 4 <= width; first += 4) {
        walk_narrow<4>(Indices{}, first, at, count, index, lane);
      }
      for (; first < width; ++first) walk_narrow<1>(Indices{}, first, at, count, index, lane);
      return;
    }
    if constexpr (Tile > 1 && !has_lanes && !has_masked_lanes) {
      with_access<operands>(schedule.contiguous_operands(), [&]<class Access>() {
        if constexpr (has_best) {
          walk_best<Access, Tile>(at, count, index, lane);
        } else {
          walk<Access>(Indices{}, at, count, index, lane);
        }
      });
    } else {
      walk<AnyStride>(Indices{}, at, count, index, lane);
    }
  }

  /// Across outputs a row has one index, else its elements follow one another.
  [[nodiscard]] EINDECOMP_FUNCTION Extent index_stride() const {
    return schedule.across_outputs ? 0 : 1;
  }
  [[nodiscard]] EINDECOMP_FUNCTION Extent index_step() const {
    return schedule.across_outputs ? 1 : Tile;
  }

  EINDECOMP_FUNCTION void combine(State& state, const Value& value, Extent index) const {
    state = Traits::combine(monoid, state, Traits::lift(monoid, value, index));
  }

  /// `Width` lanes of rows that are narrower than a tile, from lane `first` on.
  template <int Width, std::size_t... I>
  EINDECOMP_NEVER_INLINE EINDECOMP_FUNCTION void walk_narrow(std::index_sequence<I...>, int first,
                                                             const Extent* at, Extent count,
                                                             Extent index, State* lane) const {
    State sum[Width];
    for (int j = 0; j < Width; ++j) sum[j] = lane[first + j];
    Extent offset[operands];
    for (int t = 0; t < operands; ++t) offset[t] = at[t] + first * schedule.vector_stride[t];
    if constexpr (has_best && Width > 1) {
      with_access<operands>(schedule.contiguous_operands(), [&]<class Access>() {
        walk_best<Access, Width>(offset, count, index, lane + first);
      });
      return;
    }
    index += first * index_stride();
    for (; count > 0; --count, index += index_step()) {
      for (int j = 0; j < Width; ++j) {
        combine(sum[j],
                static_cast<Value>(join(expr::widened(static_cast<const Ts*>(
                    operand[I])[offset[I] + j * schedule.vector_stride[I]])...)),
                index + j * index_stride());
      }
      for (int t = 0; t < operands; ++t) offset[t] += schedule.inner.stride[t][0];
    }
    for (int j = 0; j < Width; ++j) lane[first + j] = sum[j];
  }

  /// `Width` lanes of rows across outputs, which find the best.
  template <class Access, int Width>
  void walk_best(const Extent* offset, Extent count, Extent index, State* lane) const {
    using Best = BestLanes<Monoid::smallest, Value, Width>;
    Extent at[operands];
    for (int t = 0; t < operands; ++t) at[t] = offset[t];
    while (count > 0) {
      const Extent rows = std::min(count, Best::max_rows);
      Value value[Width];
      typename Best::Number row[Width];
      for (int j = 0; j < Width; ++j) value[j] = lane[j].value;
      Best best(value, -1);
      for (Extent r = 0; r < rows; ++r) {
        best.take(
            joined_row<Access, Value, Ts...>(Indices{}, join, operand, at, schedule.vector_stride),
            static_cast<typename Best::Number>(r));
        for (int t = 0; t < operands; ++t) at[t] += schedule.inner.stride[t][0];
      }
      best.store(value, row);
      for (int j = 0; j < Width; ++j) {
        if (row[j] >= 0) lane[j] = {value[j], index + row[j]};
        // None is better than the worst value, which is at the first place then.
        if (lane[j].index > index + rows) lane[j].index = index;
      }
      count -= rows;
      index += rows;
    }
  }

  /// Those of outputs that follow one another, of neighbouring terms each.
  template <class Put>
  void best_along(const Extent* offset, Extent outputs, Extent first, Extent last,
                  const Put& put) const {
    if (first >= last) {
      for (Extent r = 0; r < outputs; ++r) put(r, Traits::identity(monoid));
      return;
    }
    Extent at[operands];
    Extent step[operands];
    for (int t = 0; t < operands; ++t) {
      at[t] = offset[t] + first * schedule.inner.stride[t][0];
      step[t] = schedule.outer.stride[t][0];
    }
    const BestRun<Join, Monoid::smallest, Value, Ts...> run{join, operand, schedule.vector_stride,
                                                            schedule.contiguous_operands()};
    run.along_rows(at, step, outputs,
                   schedule.length_of(last - first, last == schedule.inner.extent[0]),
                   schedule.first_index + first * Extent{Tile}, put);
  }

  /// Rows as wide as a tile.
  template <class Access, std::size_t... I>
  EINDECOMP_FUNCTION void walk(std::index_sequence<I...>, Extent* at, Extent count, Extent index,
                               State* lane) const {
    Extent step[operands];
    for (int t = 0; t < operands; ++t) step[t] = schedule.inner.stride[t][0];
    // The joins of row r.
    const auto row = [&](int r) {
      return [this, ... element = Access::template row<I>(
                        static_cast<const Ts*>(operand[I]) + at[I] + r * step[I],
                        schedule.vector_stride[I])](int j) {
        return static_cast<Value>(join(element[j]...));
      };
    };
    const Extent next = index_stride();
    const Extent next_row = index_step();
    State sum[Tile];
    for (int j = 0; j < Tile; ++j) sum[j] = lane[j];
    // Four rows at once load and store the lanes once.
    for (; count >= 4; count -= 4, index += 4 * next_row) {
      const auto value0 = row(0);
      const auto value1 = row(1);
      const auto value2 = row(2);
      const auto value3 = row(3);
      for (int j = 0; j < Tile; ++j) {
        const Extent first = index + j * next;
        State state = sum[j];
        combine(state, value0(j), first);
        combine(state, value1(j), first + next_row);
        combine(state, value2(j), first + 2 * next_row);
        combine(state, value3(j), first + 3 * next_row);
        sum[j] = state;
      }
      for (int t = 0; t < operands; ++t) at[t] += 4 * step[t];
    }
    for (; count > 0; --count, index += next_row) {
      const auto value = row(0);
      for (int j = 0; j < Tile; ++j) combine(sum[j], value(j), index + j * next);
      for (int t = 0; t < operands; ++t) at[t] += step[t];
    }
    for (int j = 0; j < Tile; ++j) lane[j] = sum[j];
  }
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
