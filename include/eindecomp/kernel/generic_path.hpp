// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The generic path: a shape computed at once and by all threads, or made ready for calls on many
/// blocks by one thread each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/copy_kernel.hpp"
#include "eindecomp/kernel/join_kernel.hpp"
#include "eindecomp/kernel/join_schedule.hpp"
#include "eindecomp/kernel/lanes.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/workspace.hpp"

namespace eindecomp::kernel::detail {

/// Whether outputs may be written past the caches: they are of one term each, and stored as they
/// are. They may not where they replace what was just read.
template <class Sig>
[[nodiscard]] bool may_stream(const JoinSchedule<Sig::operands>& schedule,
                              const void* const* operands, const void* output, Write write) {
  constexpr bool stored_as_is =
      std::is_same_v<typename Sig::State, typename Sig::Result> && !Sig::Traits::finishes;
  if (!stored_as_is || write != Write::finished || !schedule.one_term()) return false;
  if (schedule.vector_stride[Sig::operands] != 1) return false;
  for (int t = 0; t < Sig::operands; ++t) {
    if (operands[t] == output) return false;
  }
  return true;
}

/// Whether they are, being so many.
template <class Sig>
[[nodiscard]] bool streams_outputs(const JoinSchedule<Sig::operands>& schedule,
                                   const void* const* operands, const void* output, Write write) {
  const Extent outputs = (schedule.rows - 1) * schedule.width + schedule.last_width;
  const Extent bytes = outputs * static_cast<Extent>(sizeof(typename Sig::State));
  return target_of(bytes) == Target::streamed && may_stream<Sig>(schedule, operands, output, write);
}

/// A shape on the generic path, made ready.
template <class Space, class Join, class Monoid, class... Ts>
class PreparedGeneric final : public PreparedJoin {
 public:
  PreparedGeneric(const LocalEinsum& shape, const Join& join, const Monoid& monoid)
      : m_kernel{JoinSchedule<Sig::operands>(shape, tuning),
                 join,
                 {monoid, nullptr, Write::finished},
                 {},
                 nullptr} {
    m_kernel.schedule.share_panels(1);
    const JoinSchedule<Sig::operands>& schedule = m_kernel.schedule;
    if (is_lane_map && schedule.outer.loops <= 2 && schedule.vector_stride[Sig::operands] == 1) {
      m_contiguous = schedule.contiguous_operands();
      m_run = (schedule.outer.extent[0] - 1) * schedule.width + schedule.last_width;
      if (m_contiguous != 0 && schedule.outer.loops == 1) m_outputs = m_run;
    }
  }

  void run(const void* const* operands, void* output, const MemoryHints& hints) const override {
    const JoinSchedule<Sig::operands>& schedule = m_kernel.schedule;
    const bool streamed =
        hints.streamed && may_stream<Sig>(schedule, operands, output, Write::finished);
    if constexpr (is_lane_map) {
      if (m_contiguous != 0) {
        return map_all(operands, output, {streamed, hints.ahead, hints.ahead_shift});
      }
    }
    Kernel kernel = m_kernel;
    for (int t = 0; t < Sig::operands; ++t) kernel.operand[t] = operands[t];
    kernel.store.output = output;
    kernel.streamed = streamed;
    kernel.ahead = hints.ahead;
    kernel.ahead_shift = hints.ahead_shift;
    for (Extent item = 0; item < schedule.items(); ++item) {
      kernel.compute(item);
    }
  }

  [[nodiscard]] bool asks_ahead() const override { return is_lane_map; }
  [[nodiscard]] bool takes_long() const override { return eindecomp::takes_long<Join>; }
  [[nodiscard]] Extent outputs_by_turns() const override { return m_outputs; }

  Extent run_turn(const void* const* operands, void* output, const MemoryHints& hints,
                  Extent begin) const override {
    if constexpr (is_lane_map) {
      Extent end = m_outputs;
      if (begin + turn < end) {
        const auto there = reinterpret_cast<std::uintptr_t>(static_cast<Value*>(output) + begin);
        end = begin + turn - static_cast<Extent>(there % line_bytes / sizeof(Value));
      }
      const bool streamed =
          hints.streamed && may_stream<Sig>(m_kernel.schedule, operands, output, Write::finished);
      map_some(operands, output, {streamed, hints.ahead, hints.ahead_shift}, begin, end);
      return end;
    }
    return m_outputs;
  }

 private:
  using Sig = Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  /// Outputs of a turn, 16 vectors: enough to pay for a call, and few enough for the processor to
  /// begin the next while it waits for their stores.
  static constexpr Extent turn = 16 * vector_bytes / static_cast<Extent>(sizeof(Value));
  static constexpr bool is_lane_map = Sig::elementwise && maps_lanes<Join, Monoid, Ts...>();
  static constexpr JoinTuning tuning = join_tuning<Space>();
  using Kernel = JoinKernel<tuning.tile, Join, Monoid, Ts...>;

  /// Outputs that are one run or a few, as strips' mostly are: nothing but their elements is
  /// computed.
  void map_all(const void* const* operands, void* output, const MemoryHints& hints) const {
    const LoopNest<Sig::operands + 1>& outer = m_kernel.schedule.outer;
    if (outer.loops == 1) return map_some(operands, output, hints, 0, m_run);
    const Value* first[Sig::operands];
    for (int t = 0; t < Sig::operands; ++t) first[t] = static_cast<const Value*>(operands[t]);
    auto* to = static_cast<Value*>(output);
    for (Extent run = 0; run < outer.extent[1]; ++run) {
      map_run<Sig::operands, true>(m_contiguous, m_kernel.join, first, to, m_run, run * m_run,
                                   hints);
      for (int t = 0; t < Sig::operands; ++t) first[t] += outer.stride[t][1];
      to += outer.stride[Sig::operands][1];
    }
  }

  /// Of outputs that are one run begin <= i < end.
  void map_some(const void* const* operands, void* output, const MemoryHints& hints, Extent begin,
                Extent end) const {
    const Value* first[Sig::operands];
    for (int t = 0; t < Sig::operands; ++t) {
      first[t] = static_cast<const Value*>(operands[t]) + ((m_contiguous >> t & 1U) * begin);
    }
    map_run<Sig::operands, true>(m_contiguous, m_kernel.join, first,
                                 static_cast<Value*>(output) + begin, end - begin, begin, hints);
  }

  Kernel m_kernel;
  unsigned m_contiguous = 0;  ///< of a map of a few runs, its operands as JoinSchedule's; else none
  Extent m_run = 0;           ///< outputs of each
  Extent m_outputs = 0;       ///< of a map of one run
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
    kernel.schedule.share_panels(compat::host_threads(space));
    kernel.streamed = streams_outputs<Sig>(schedule, operands, output, write);
    launch(space, "EinDecomp::join", schedule.items(), kernel);
    return;
  }
  compat::Scratch<Space> own;
  kernel.partials = reinterpret_cast<State*>(
      take_workspace(space, "EinDecomp::join scratch",
                     static_cast<std::size_t>(schedule.partials()) * sizeof(State), own));
  launch(space, "EinDecomp::join parts", schedule.items(), kernel);
  const FoldKernel<Sig::operands, Monoid, Value> fold{schedule, kernel.store, kernel.partials};
  launch(space, "EinDecomp::join fold", schedule.partials() / schedule.parts, fold);
}

}  // namespace eindecomp::kernel::detail

namespace eindecomp::kernel {

/// Makes what PreparedJoin::run wrote visible to other threads before what follows.
inline void end_prepared() {
#if defined(EINDECOMP_STREAMING_BYTES)
  detail::end_streaming();
#endif
}

}  // namespace eindecomp::kernel
