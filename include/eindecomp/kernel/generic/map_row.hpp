// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Outputs of one term each along a row: by vectors where the signature and the strides allow, and
/// by elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic/map_halves.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/generic/map_many.hpp"
#include "eindecomp/kernel/generic/row_access.hpp"
#include "eindecomp/kernel/generic/row_block.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/tile_kernel.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Accumulators of a map that a thread has on its stack.
template <class State>
inline constexpr Extent map_piece = std::clamp<Extent>(tuning::states_bytes / Extent{sizeof(State)},
                                                       1, tuning::map_piece);

/// Rows of outputs, each of one term.
template <class Join, class Monoid, class... Ts>
struct MapRow {
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using Traits = typename Sig::Traits;
  using State = typename Sig::State;
  using Indices = std::index_sequence_for<Ts...>;
  static constexpr int operands = Sig::operands;
  using Ends = RowEnds<sizeof...(Ts)>;
  static constexpr bool is_of_lanes = maps_lanes<Join, Monoid, Ts...>();
  /// Whether it asks which operands are contiguous.
  static constexpr bool takes_contiguous = operands <= 2 || maps_many<Join, Monoid, Ts...>();

  const Join& join;
  const Monoid& monoid;
  const void* const* operand;  ///< where each lies
  const Extent* stride;        ///< of each along a row
  unsigned contiguous = 0;     ///< as JoinSchedule::contiguous_operands() has it
  Extent first_index = 0;      ///< JoinSchedule::first_index
  /// Null where no operand has ends; else direct() computes all rows.
  const Ends* ends = nullptr;

  /// Of a run of outputs, first <= i < last.
  struct Range {
    Extent first, last;
  };

  /// Computes a part of a row of outputs to where they belong, by vectors. \returns whether that is
  /// possible.
  /// \param offset  of every operand, of the part's first output
  /// \param output  the part's first
  /// \tparam MayAsk  hints.prefetch may be other than null
  template <bool MayAsk>
  [[nodiscard]] bool direct(const Extent* offset, const RunPart& part, State* output, Write write,
                            const MemoryHints& hints) const {
    return map_many_by_lanes(offset, part, output, write, hints.streamed) ||
           by_lanes<(MayAsk && Sig::elementwise)>(offset, {}, {0, part.length}, output, write,
                                                  hints);
  }

  /// Computes rows by vectors to where they belong, of signatures of lanes, with operands that are
  /// contiguous or the same all along, and have no ends. \param offset  of the first row
  void blocks(const Extent* offset, const RowBlocks<operands + 1>& rows, State* output,
              Write write) const {
    const Value* first[operands];
    for (int t = 0; t < operands; ++t) {
      first[t] = static_cast<const Value*>(operand[t]) + offset[t];
    }
    if constexpr (Sig::elementwise) {
      map_blocks<operands>(contiguous, join, first, output, rows);
    } else {
      const OneTerm<Join, Monoid, Value> term{join, monoid, Traits::identity(monoid)};
      if (write == Write::accumulate) {
        return add_blocks<operands>(contiguous, term, first, output, rows);
      }
      map_blocks<operands>(contiguous, term, first, output, rows);
    }
  }

  /// Computes a range of a run of outputs that begins at `offset` by vectors, into neighbouring
  /// elements or, as `write` says, a whole row combined with them, if the signature and the strides
  /// allow. \returns whether they do.
  template <bool MayAsk>
  [[nodiscard]] bool by_lanes(const Extent* offset, const RunRows& rows, const Range& range,
                              State* output, Write write, const MemoryHints& hints) const {
    if constexpr (maps_lanes<Join, Monoid, Ts...>()) {
      if (contiguous == 0) return false;
      const Value* first[operands];
      for (int t = 0; t < operands; ++t) {
        first[t] = static_cast<const Value*>(operand[t]) + offset[t];
      }
      const auto compute = [&]<bool Asks>(const auto& map) {
        ResumableMap call =
            map_call<operands, Asks>(contiguous, map, first, output, rows, range.first, hints);
        call.compute(call, range.first, range.last);
      };
      if constexpr (Sig::elementwise) {
        compute.template operator()<MayAsk>(join);
      } else {
        const OneTerm<Join, Monoid, Value> term{join, monoid, Traits::identity(monoid)};
        if (write == Write::accumulate) {
          add_run<operands>(contiguous, term, first, output, range.last);
        } else {
          compute.template operator()<false>(term);
        }
      }
      return true;
    }
    return false;
  }

  /// Computes at most map_piece<State> outputs as accumulators.
  EINDECOMP_FUNCTION void into(const Extent* offset, int width, State* states) const {
    if constexpr (maps_lanes<Join, Monoid, Ts...>()) {
      if (by_lanes<Sig::elementwise>(offset, {}, {0, width}, states, Write::partial, {})) return;
    } else if constexpr (maps_by_floats) {
      if (contiguous != 0) return map_by_floats(Indices{}, offset, width, states);
    } else if constexpr (maps_many<Join, Monoid, Ts...>()) {
      if (map_many_by_lanes(offset, {width}, states, Write::partial, false)) return;
    } else if constexpr (operands <= 2) {
      switch (contiguous) {
        case 1:
          return by_elements<KnownStride<1>>(Indices{}, offset, width, states);
        case 2:
          return by_elements<KnownStride<2>>(Indices{}, offset, width, states);
        case 3:
          return by_elements<KnownStride<3>>(Indices{}, offset, width, states);
        default:
          break;
      }
    }
    by_elements<AnyStride>(Indices{}, offset, width, states);
  }

  /// The same by elements, whatever their strides.
  template <class Access, std::size_t... I>
  EINDECOMP_FUNCTION void by_elements(std::index_sequence<I...>, const Extent* offset, int width,
                                      State* states) const {
    const auto value = [this, ... element = Access::template row<I>(
                                  static_cast<const Ts*>(operand[I]) + offset[I], stride[I])](
                           int j) { return static_cast<Value>(join(element[j]...)); };
    for (int j = 0; j < width; ++j) {
      const State state = Traits::lift(monoid, value(j), first_index);
      if constexpr (Sig::elementwise) {
        states[j] = state;
      } else {
        states[j] = Traits::combine(monoid, Traits::identity(monoid), state);
      }
    }
  }

 private:
#if defined(EINDECOMP_REGISTER_BYTES)
  static constexpr bool maps_by_floats = maps_halves<Join, Monoid, Ts...>();
#else
  static constexpr bool maps_by_floats = false;
#endif

  /// A part of a row of a map of many operands, as direct().
  [[nodiscard]] bool map_many_by_lanes([[maybe_unused]] const Extent* offset,
                                       [[maybe_unused]] const RunPart& part,
                                       [[maybe_unused]] State* output, [[maybe_unused]] Write write,
                                       [[maybe_unused]] bool streamed) const {
    if constexpr (maps_many<Join, Monoid, Ts...>()) {
      if (contiguous == 0) return false;
      if (!Sig::elementwise && write == Write::accumulate) return false;
      ManyRun<Value, operands> run;
      for (int t = 0; t < operands; ++t) {
        run.operand[t] =
            static_cast<const Value*>(operand[t]) + (offset[t] - part.before * stride[t]);
      }
      run.output = output - part.before;
      run.streamed = streamed;
      const auto compute = [&](const auto& term) {
        map_many(Indices{}, contiguous, term, run, ends != nullptr ? *ends : Ends{}, part);
      };
      if constexpr (Sig::elementwise) {
        compute(join);
      } else {
        compute(OneTerm<Join, Monoid, Value>{join, monoid, Traits::identity(monoid)});
      }
      return true;
    }
    return false;
  }
  template <std::size_t... I>
  void map_by_floats(std::index_sequence<I...> all, const Extent* offset, int width,
                     State* states) const {
    map_halves(all, join, contiguous, width, states,
               static_cast<const Ts*>(operand[I]) + offset[I]...);
  }
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
