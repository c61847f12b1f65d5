// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The loop nest of a tile, by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/generic/join_kernel.hpp"
#include "eindecomp/kernel/generic/join_schedule.hpp"
#include "eindecomp/kernel/generic/masked_map.hpp"
#include "eindecomp/kernel/generic/prepared_loops.hpp"
#include "eindecomp/kernel/generic/reduce_lanes.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/tile_kernel.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// A loop nest by one thread.
template <class Space, class Join, class Monoid, class... Ts>
class LoopsOfTile final : public TileKernel {
 public:
  using Sig = Signature<Join, Monoid, Ts...>;

  LoopsOfTile(const LocalEinsum& shape, const Join& join, const Monoid& monoid)
      : m_schedule(shape, tuning), m_join(join), m_monoid(monoid), m_pieces(join) {
    m_schedule.parts = 1;  // one thread has nobody to share a reduction with
    m_schedule.share_panels(1);
    if constexpr (is_lane_map) set_runs();
    if constexpr (is_masked_map) {
      const MaskedReads<Join, Ts...> reads(m_schedule.vector_stride, m_schedule.values);
      m_masked_run = reads.apply && m_schedule.rows > 0 &&
                     m_schedule.vector_stride[Sig::operands] == 1 && m_schedule.dense_outputs();
      if (m_masked_run) m_run = m_schedule.first_output(m_schedule.rows);
    }
    if constexpr (is_lane_reduction) {
      m_along_rows = !m_schedule.across_outputs && m_schedule.outer.loops == 1 &&
                     m_schedule.inner.loops == 1 && m_schedule.contiguous_operands() != 0 &&
                     m_schedule.run_length() >= sum_lanes<Value>;
    }
  }

  void run(const void* const* operands, void* output, const MemoryHints& hints) const override {
    if constexpr (is_lane_map) {
      if (m_contiguous != 0) return map_all(operands, output, hints);
    }
    if constexpr (is_masked_map) {
      if (m_masked_run) {
        return masked_run(operands, output).run(0, m_run, hints_on(operands, output, hints));
      }
    }
    if constexpr (is_lane_reduction) {
      if (m_along_rows) return reduce_rows(std::index_sequence_for<Ts...>{}, operands, output);
    }
    // Nothing is copied that is read again soon: what is stored in one way and loaded in another
    // waits for all stores before it, results on their way to memory among them.
    JoinMemory<Monoid, Value, Sig::operands> memory{
        {m_monoid, output, Write::finished}, {}, nullptr, hints_on(operands, output, hints)};
    for (int t = 0; t < Sig::operands; ++t) memory.operand[t] = operands[t];
    const JoinItems<tuning.tile, Join, Monoid, Ts...> items{m_schedule, m_join, memory};
    for (Extent item = 0; item < m_schedule.items(); ++item) items.compute(item);
  }

  [[nodiscard]] Extent resumable_outputs() const override {
    return (m_contiguous != 0 && m_runs == 1) || m_masked_run ? m_run : 0;
  }

  [[nodiscard]] ResumableMap resumable(const void* const* operands, void* output,
                                       const MemoryHints& hints) const override {
    if constexpr (is_lane_map || is_masked_map) {
      const auto* const to = static_cast<const Value*>(output);
      ResumableMap call = begin_map(operands, output, hints);
      call.outputs = m_run;
      call.chunk = chunk;
      call.first_chunk = chunk - static_cast<Extent>(reinterpret_cast<std::uintptr_t>(to) %
                                                     line_bytes / sizeof(Value));
      return call;
    }
    return {};
  }

 private:
  using Value = typename Sig::Value;
  /// Outputs of a chunk: enough to pay for a call, and few enough for the processor to begin the
  /// next while it waits for their stores.
  static constexpr Extent chunk =
      tuning::chunk_vectors * vector_bytes / static_cast<Extent>(sizeof(Value));
  static constexpr bool is_lane_map = Sig::elementwise && maps_lanes<Join, Monoid, Ts...>();
  using Run = MaskedRunOf<Join, Monoid, Ts...>;
  static constexpr bool is_masked_map = Run::there_is_one;
  static constexpr bool is_lane_reduction = reduces_lanes<Join, Monoid, Ts...>();
  static constexpr JoinTuning tuning = join_tuning<Space, Join, Monoid, Ts...>();

  /// Finds the runs of a map's outputs.
  void set_runs() {
    if (m_schedule.outer.loops > 2 || m_schedule.vector_stride[Sig::operands] != 1) return;
    if (m_schedule.dense_rows && m_schedule.anew != 0) return;  // rows are copied
    m_contiguous = m_schedule.contiguous_operands();
    m_run = m_schedule.run_length();
    if (m_schedule.dense_rows) {
      m_rows = run_rows(m_schedule);
      m_run *= m_schedule.outer.extent[1];
    } else if (m_schedule.outer.loops == 2) {
      m_runs = m_schedule.outer.extent[1];
    }
  }

  /// Outputs that are one run or a few, as tiles' mostly are: nothing but their elements is
  /// computed.
  void map_all(const void* const* operands, void* output, MemoryHints hints) const {
    const LoopNest<Sig::operands + 1>& outer = m_schedule.outer;
    if (m_runs > 1 && (m_run <= tuning::max_unhinted_row || is_unhinted(operands, output, hints))) {
      RowBlocks<Sig::operands + 1> rows{m_run, m_runs, 1, {}, {}};
      for (int t = 0; t <= Sig::operands; ++t) rows.row_step[t] = outer.stride[t][1];
      const Value* first[Sig::operands];
      for (int t = 0; t < Sig::operands; ++t) first[t] = static_cast<const Value*>(operands[t]);
      return map_blocks<Sig::operands>(m_contiguous, m_join, first, static_cast<Value*>(output),
                                       rows);
    }
    const void* first[Sig::operands];
    for (int t = 0; t < Sig::operands; ++t) first[t] = operands[t];
    for (Extent run = 0; run < m_runs; ++run) {
      ResumableMap call = call_on(first, output, hints);
      call.compute(call, 0, m_run);
      if (run + 1 == m_runs) break;
      for (int t = 0; t < Sig::operands; ++t) {
        first[t] = static_cast<const Value*>(first[t]) + outer.stride[t][1];
      }
      output = static_cast<Value*>(output) + outer.stride[Sig::operands][1];
      if (hints.prefetch != nullptr) {
        hints.prefetch += m_run * static_cast<Extent>(sizeof(Value)) >> hints.prefetch_shift;
      }
    }
  }

  /// Outputs of neighbouring terms each, as tiles' mostly are.
  template <std::size_t... I>
  void reduce_rows(std::index_sequence<I...> all, const void* const* operands, void* output) const {
    const LoopNest<Sig::operands + 1>& outer = m_schedule.outer;
    const Value* const first[] = {static_cast<const Value*>(operands[I])...};
    const Extent step[] = {outer.stride[I][0]...};
    auto* const to = static_cast<Value*>(output);
    reduce_run<Value>(all, m_join, m_monoid, m_schedule.vector_stride)
        .along_rows(first, step, m_schedule.rows, m_schedule.run_length(),
                    Sig::Traits::identity(m_monoid),
                    [to, its_step = outer.stride[Sig::operands][0]](Extent r, const Value& sum) {
                      to[r * its_step] = sum;
                    });
  }

  /// The outputs of one run.
  [[nodiscard]] ResumableMap call_on(const void* const* operands, void* output,
                                     const MemoryHints& hints) const {
    const Value* first[Sig::operands];
    for (int t = 0; t < Sig::operands; ++t) first[t] = static_cast<const Value*>(operands[t]);
    return map_call<Sig::operands, true>(m_contiguous, m_join, first, static_cast<Value*>(output),
                                         m_rows, 0, hints_on(operands, output, hints));
  }
  [[nodiscard]] bool is_unhinted(const void* const* operands, const void* output,
                                 const MemoryHints& hints) const {
    return hints.prefetch == nullptr && !hints_on(operands, output, hints).streamed;
  }
  /// The hints as far as they hold of this kernel.
  [[nodiscard]] MemoryHints hints_on(const void* const* operands, const void* output,
                                     const MemoryHints& hints) const {
    const bool streamed =
        hints.streamed && may_stream<Sig>(m_schedule, operands, output, Write::finished);
    return {streamed, hints.prefetch, hints.prefetch_shift};
  }

  [[nodiscard]] auto masked_run(const void* const* operands, void* output) const {
    return typename Run::type(
        {m_pieces, m_monoid, operands, m_schedule.vector_stride, m_schedule.values}, m_schedule,
        static_cast<Value*>(output));
  }
  [[nodiscard]] ResumableMap begin_map(const void* const* operands, void* output,
                                       const MemoryHints& hints) const {
    if constexpr (is_masked_map) {
      using Masked = typename Run::type;
      ResumableMap call;
      call.hints = hints_on(operands, output, hints);
      call.compute = Masked::compute;
      ::new (static_cast<void*>(call.run)) Masked(masked_run(operands, output));
      return call;
    } else {
      return call_on(operands, output, hints);
    }
  }

  JoinSchedule<Sig::operands> m_schedule;
  Join m_join;
  Monoid m_monoid;
  unsigned m_contiguous = 0;  ///< of a map of a few runs, its operands as JoinSchedule's; else none
  RunRows m_rows;             ///< of each run
  Extent m_run = 0;           ///< outputs of each
  Extent m_runs = 1;
  bool m_along_rows = false;  ///< whether a reduction is reduce_rows'
  [[no_unique_address]] typename Run::Pieces m_pieces;
  bool m_masked_run = false;  ///< whether outputs are one run, of a join with masks
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail

namespace eindecomp::kernel {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Makes what TileKernel::run wrote visible to other threads before what follows.
inline void end_tiles() {
#if defined(EINDECOMP_STREAMING_BYTES)
  detail::end_streaming();
#endif
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel
