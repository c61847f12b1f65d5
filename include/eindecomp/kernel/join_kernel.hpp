// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The generic path: any join, any monoid, any shape.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/join_schedule.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel::detail {

template <class Space>
[[nodiscard]] constexpr JoinTuning join_tuning() {
  return compat::is_device<Space> ? JoinTuning::device() : JoinTuning::host();
}

/// One operand's elements of one row.
template <std::size_t I, class T, int Tile>
struct OperandRow {
  T value[Tile];

  EINDECOMP_FUNCTION void load(const T* from, Extent stride, int width) {
    if (stride == 1) {
      for (int j = 0; j < width; ++j) value[j] = from[j];
    } else if (stride == 0) {
      const T one = *from;
      for (int j = 0; j < width; ++j) value[j] = one;
    } else {
      for (int j = 0; j < width; ++j) value[j] = from[j * stride];
    }
  }
};

template <int Tile, class Indices, class... Ts>
struct OperandRows;
template <int Tile, std::size_t... I, class... Ts>
struct OperandRows<Tile, std::index_sequence<I...>, Ts...> : OperandRow<I, Ts, Tile>... {
  template <int Tensors>
  EINDECOMP_FUNCTION void load(const void* const* base, const Extent (&offset)[Tensors],
                               const Extent (&stride)[Tensors], int width) {
    (OperandRow<I, Ts, Tile>::load(static_cast<const Ts*>(base[I]) + offset[I], stride[I], width),
     ...);
  }
  template <class Join>
  EINDECOMP_FUNCTION auto join(const Join& join, int j) const {
    return join(OperandRow<I, Ts, Tile>::value[j]...);
  }
};

/// Item = rows of outputs, or one part of the reductions of one row (parts > 1).
template <int Tile, class Join, class Monoid, class... Ts>
struct JoinKernel {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  using State = typename Sig::State;
  using Rows = OperandRows<Tile, std::index_sequence_for<Ts...>, Ts...>;
  static constexpr int operands = Sig::operands;
  static constexpr int tensors = operands + 1;

  JoinSchedule<operands> schedule;
  Join join;
  Store<Monoid, Value> store;
  const void* operand[operands];
  State* partials;  ///< where parts > 1: [row][j][part]

  EINDECOMP_FUNCTION void operator()(const Extent item) const {
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
    for (; count > 0; --count) {
      const int width = output_width(out);
      reduce(out, width, 0, schedule.steps, lane);
      const Extent offset = out.offset[operands];
      const Extent stride = schedule.vector_stride[operands];
      for (int j = 0; j < width; ++j) store(offset + j * stride, lane[j]);
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

  /// Aggregates the inner positions first <= position < last of one row of outputs into lane[0],
  /// …, lane[output width - 1].
  EINDECOMP_FUNCTION void reduce(const Cursor<tensors>& out, int output_width, Extent first,
                                 Extent last, State* lane) const {
    Rows rows;
    if constexpr (Sig::elementwise) {
      rows.load(operand, out.offset, schedule.vector_stride, output_width);
      for (int j = 0; j < output_width; ++j) {
        lane[j] = Traits::lift(store.monoid, static_cast<Value>(rows.join(join, j)), 0);
      }
    } else {
      const int lanes = schedule.across_outputs ? output_width : schedule.width;
      for (int j = 0; j < Tile; ++j) lane[j] = Traits::identity(store.monoid);
      if (first < last) {
        Cursor<tensors> in;
        in.seek(schedule.inner, first);
        for (int t = 0; t < tensors; ++t) in.offset[t] += out.offset[t];
        for (Extent position = first; position < last; ++position) {
          if (schedule.across_outputs) {
            step(rows, in, output_width, schedule.first_index + position, 0, lane);
          } else {
            step(rows, in, row_width(in, schedule.inner),
                 schedule.first_index + in.coordinate[0] * Tile, 1, lane);
          }
          in.advance(schedule.inner);
        }
      }
      if (!schedule.across_outputs) {
        for (int j = 1; j < lanes; ++j) lane[0] = Traits::combine(store.monoid, lane[0], lane[j]);
      }
    }
  }

  /// Combines one row of joins into the lanes. Full rows have a width the compiler knows.
  EINDECOMP_FUNCTION void step(Rows& rows, const Cursor<tensors>& in, int width, Extent index,
                               Extent index_stride, State* lane) const {
    if (width == Tile) {
      rows.load(operand, in.offset, schedule.vector_stride, Tile);
      for (int j = 0; j < Tile; ++j) combine_into(rows, j, index + j * index_stride, lane[j]);
    } else {
      rows.load(operand, in.offset, schedule.vector_stride, width);
      for (int j = 0; j < width; ++j) combine_into(rows, j, index + j * index_stride, lane[j]);
    }
  }
  EINDECOMP_FUNCTION void combine_into(const Rows& rows, int j, Extent index, State& into) const {
    into =
        Traits::combine(store.monoid, into,
                        Traits::lift(store.monoid, static_cast<Value>(rows.join(join, j)), index));
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

/// Runs a shape on the generic path.
template <class Space, class Join, class Monoid, class... Ts>
void run_generic(const Space& space, const LocalEinsum& shape, Join join, Monoid monoid,
                 const void* const* operands, void* output, Write write) {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using State = typename Sig::State;
  constexpr JoinTuning tuning = join_tuning<Space>();
  using Kernel = JoinKernel<tuning.tile, Join, Monoid, Ts...>;

  Kernel kernel{JoinSchedule<Sig::operands>(shape, tuning), join, {monoid, output, write}, {}, {}};
  for (int t = 0; t < Sig::operands; ++t) kernel.operand[t] = operands[t];
  const JoinSchedule<Sig::operands>& schedule = kernel.schedule;
  if (schedule.parts <= 1) {
    launch(space, "EinDecomp::join",
           (schedule.rows + schedule.rows_per_item - 1) / schedule.rows_per_item, kernel);
    return;
  }
  const compat::Scratch<Space> scratch =
      compat::allocate_scratch(space, "EinDecomp::join scratch",
                               static_cast<std::size_t>(schedule.partials()) * sizeof(State));
  kernel.partials = reinterpret_cast<State*>(scratch.data());
  launch(space, "EinDecomp::join parts", schedule.rows * schedule.parts, kernel);
  const FoldKernel<Sig::operands, Monoid, Value> fold{schedule, kernel.store, kernel.partials};
  launch(space, "EinDecomp::join fold", schedule.partials() / schedule.parts, fold);
}

}  // namespace eindecomp::kernel::detail
