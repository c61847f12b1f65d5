// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Maps whose rows of outputs follow one another without a gap, as in X(i, j) · b(j): many rows are
/// one run, for which what begins anew with each row is copied a few times side by side.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic/join_schedule.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/generic/map_row.hpp"
#include "eindecomp/kernel/tile_kernel.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The rows of a schedule whose outputs are one run.
template <int Operands>
[[nodiscard]] RunRows run_rows(const JoinSchedule<Operands>& schedule) {
  static_assert(Operands <= RunRows::most_operands);
  RunRows rows;
  if (schedule.outer.loops == 1) return rows;
  rows.length = schedule.run_length();
  for (int t = 0; t < Operands; ++t) rows.step[t] = schedule.outer.stride[t][1];
  return rows;
}

/// Blocks of dense rows (JoinSchedule::dense_rows), of one term per output.
template <class Join, class Monoid, class... Ts>
class DenseRows {
 public:
  using Row = MapRow<Join, Monoid, Ts...>;
  using Value = typename Row::Value;
  static constexpr int operands = Row::operands;
  static constexpr int tensors = operands + 1;
  static constexpr bool by_vectors = maps_lanes<Join, Monoid, Ts...>();
  static constexpr bool by_many = maps_many<Join, Monoid, Ts...>();

  /// Whether compute() is possible, and rows of several vectors or in blocks are not better mapped
  /// one by one (map_blocks).
  [[nodiscard]] static bool apply(const JoinSchedule<operands>& schedule, const Row& row,
                                  Write write, bool streamed) {
    constexpr Extent vectors = vector_bytes == 64 ? 1 : tuning::dense_row_vectors;
    constexpr Extent most = vectors * vector_bytes / static_cast<Extent>(sizeof(Value));
    if (by_vectors && !streamed && (schedule.outer.loops > 2 || schedule.run_length() >= most)) {
      return false;
    }
    return schedule.dense_rows && row.contiguous != 0 && row.ends == nullptr &&
           write != Write::accumulate && rows_at_a_time(schedule, copied_operands(schedule)) > 0;
  }

  /// \param schedule, row  outlive this
  DenseRows(const JoinSchedule<operands>& schedule, const Row& row)
      : m_row(row),
        m_length(schedule.run_length()),
        m_copied(copied_operands(schedule)),
        m_most(rows_at_a_time(schedule, m_copied)) {
    Value* copies = m_copies;
    for (int t = 0; t < operands; ++t) {
      m_step[t] = schedule.outer.stride[t][1];
      m_stride[t] = schedule.vector_stride[t];
      m_copy[t] = copies;
      if ((m_copied >> t & 1U) != 0) copies += m_most * m_length;
    }
    if constexpr (by_vectors) m_rows = run_rows(schedule);
  }
  DenseRows(const DenseRows&) = delete;
  DenseRows& operator=(const DenseRows&) = delete;

  /// Computes outputs begin <= i < end of a block.
  /// \param first   of each operand, where the block begins
  /// \param output  where it does
  /// \param hints   of memory from there on
  void compute(const Value* const* first, Extent begin, Extent end, Value* output, Write write,
               const MemoryHints& hints) {
    while (begin < end) {
      const Extent row = begin / m_length;
      const Extent before = row * m_length;
      const Extent next = std::min(end, before + m_most * m_length);
      const void* from[operands];
      for (int t = 0; t < operands; ++t) {
        const Value* const here = first[t] + row * m_step[t];
        from[t] = (m_copied >> t & 1U) == 0 ? here : copy(t, here, ceil_div(next, m_length) - row);
      }
      run(from, begin - before, next - before, output + before, write, hints_at(hints, before));
      begin = next;
    }
  }

 private:
  static constexpr Extent copied_outputs =
      tuning::copied_rows_bytes / static_cast<Extent>(sizeof(Value));

  /// Bit t: operand t is read from copies. Those are operands that begin anew with each row and,
  /// for map_many(), which knows no rows, those that are the same along a row but not along all.
  [[nodiscard]] static unsigned copied_operands(const JoinSchedule<operands>& schedule) {
    unsigned copied = schedule.anew;
    for (int t = 0; t < operands && by_many; ++t) {
      if (schedule.vector_stride[t] == 0 && schedule.outer.stride[t][1] != 0) copied |= 1U << t;
    }
    return copied;
  }
  /// As many as copies of so many operands have room for: 0 where it is not worth it.
  [[nodiscard]] static Extent rows_at_a_time(const JoinSchedule<operands>& schedule,
                                             unsigned copied) {
    if (copied == 0) return schedule.outer.extent[1];
    const Extent rows = copied_outputs / std::popcount(copied) / schedule.run_length();
    if (rows < tuning::min_copied_rows || schedule.outer.extent[1] < tuning::min_dense_rows) {
      return 0;
    }
    return rows > line_bytes ? rows - rows % line_bytes : rows;  // all begin on a line, or none
  }

  [[nodiscard]] static MemoryHints hints_at(MemoryHints hints, Extent output) {
    if (hints.prefetch != nullptr) {
      hints.prefetch += output * static_cast<Extent>(sizeof(Value)) >> hints.prefetch_shift;
    }
    return hints;
  }

  /// \returns so many rows of an operand side by side.
  const Value* copy(int t, const Value* from, Extent rows) {
    Value* const to = m_copy[t];
    const Extent count = rows * m_length;
    if (m_stride[t] == 0) {
      for (Extent r = 0; r < rows; ++r)
        std::fill_n(to + r * m_length, m_length, from[r * m_step[t]]);
    } else if (m_source[t] != from || m_count[t] < count) {
      const auto bytes = [](Extent n) { return static_cast<std::size_t>(n) * sizeof(Value); };
      std::memcpy(to, from, bytes(m_length));
      for (Extent done = m_length; done < count;) {
        const Extent more = std::min(done, count - done);
        std::memcpy(to + done, to, bytes(more));
        done += more;
      }
      m_source[t] = from;
      m_count[t] = count;
    }
    return to;
  }

  /// Computes outputs begin <= i < end of rows, at most as many as are copied.
  void run(const void* const* from, Extent begin, Extent end, Value* output, Write write,
           const MemoryHints& hints) {
    Row row = m_row;
    row.operand = from;
    if constexpr (by_many) {
      Extent stride[operands];
      Extent offset[operands];
      for (int t = 0; t < operands; ++t) {
        stride[t] = (m_copied >> t & 1U) != 0 ? 1 : m_stride[t];
        offset[t] = begin * stride[t];
      }
      row.stride = stride;
      row.contiguous |= m_copied;
      (void)row.template direct<false>(offset, {end - begin}, output + begin, write, hints);
    } else {
      constexpr Extent offset[tensors]{};
      (void)row.template by_lanes<Row::Sig::elementwise>(offset, m_rows, {begin, end}, output,
                                                         write, hints);
    }
  }

  const Row& m_row;
  Extent m_length;            ///< of a row
  unsigned m_copied;          ///< as copied_operands() has it
  Extent m_most;              ///< rows at a time
  Extent m_step[operands];    ///< from row to row, of each operand
  Extent m_stride[operands];  ///< along a row
  RunRows m_rows;
  const Value* m_source[operands]{};  ///< of copies of a row
  Extent m_count[operands]{};         ///< of their elements
  Value* m_copy[operands];            ///< where copies of it lie
  alignas(vector_bytes) Value m_copies[copied_outputs];
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
