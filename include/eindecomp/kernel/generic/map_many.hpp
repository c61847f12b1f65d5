// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Element-wise joins of three operands and more over runs of neighbouring outputs, by vectors,
/// also where operands end before rows of the outputs do, as those of stencils.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/simd/streaming_store.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The ends of operands (LocalEinsum::Ends) along rows that follow one another in a run.
template <std::size_t Operands>
struct RowEnds {
  Extent row = 0;             ///< outputs of a row; 0: no operand has ends
  Extent first[Operands]{};   ///< as LocalEinsum::Ends has them
  Extent last[Operands]{};    ///< see there
  Extent period[Operands]{};  ///< see there
  Extent inner_first = 0;     ///< outputs of a row that all operands have
  Extent inner_last = 0;      ///< see there
  Extent longest_period = 0;  ///< of all

  RowEnds() = default;
  explicit RowEnds(const LocalEinsum& shape) {
    if (shape.ends.label < 0) return;
    row = inner_last = shape.extent[shape.ends.label];
    for (std::size_t t = 0; t < Operands; ++t) {
      first[t] = shape.ends.first[t];
      last[t] = shape.ends.last[t];
      period[t] = shape.ends.period[t];
      inner_first = std::max(inner_first, first[t]);
      inner_last = std::min(inner_last, last[t]);
      longest_period = std::max(longest_period, period[t]);
    }
  }
};

/// Where a map that is streamed asks for its operands ahead, if some read what others have read: at
/// each, but those that another one is so little before that it has asked for what they read.
template <class T, std::size_t Operands>
struct Leaders {
  int count = 0;
  const T* leader[Operands];  ///< at output 0

  /// \param contiguous  bit t: operand t is asked for at all
  Leaders(const T* const* operand, unsigned contiguous) {
    constexpr auto near = static_cast<std::uintptr_t>(
        vector_bytes == 64 ? tuning::near_wide_operands : tuning::near_operands);
    for (std::size_t t = 0; t < Operands; ++t) {
      bool leads = (contiguous >> t & 1U) != 0;
      for (std::size_t o = 0; o < Operands && leads; ++o) {
        // Of those at one place the first leads. Those behind are far away before.
        const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(operand[o]) -
                                      reinterpret_cast<std::uintptr_t>(operand[t]);
        if ((contiguous >> o & 1U) != 0) leads = before == 0 ? o >= t : before > near;
      }
      if (leads) leader[count++] = operand[t];
    }
    // Streams of their own the machine foresees.
    if (count == std::popcount(contiguous)) count = 0;
  }
};

/// A run of a map of many operands.
template <class T, std::size_t Operands>
struct ManyRun {
  static constexpr int width = vector_bytes / static_cast<int>(sizeof(T));
  const T* operand[Operands];  ///< at output 0
  Extent mask[Operands];       ///< 0: a vector of what the operand is all along; else all bits
  T* output;
  bool streamed;
  const Leaders<T, Operands>* leaders;  ///< where it is streamed, or null

  /// Outputs from one of them on to the next at which so many bytes begin: a vector's, a line's.
  [[nodiscard]] Extent to_next(Extent i, int bytes) const {
    const auto size = static_cast<std::uintptr_t>(bytes);
    const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(output + i) % size;
    return static_cast<Extent>((size - beyond) % size / sizeof(T));
  }
};

#if defined(EINDECOMP_STREAMING_BYTES)
/// Where a line of outputs begins, asks for what later ones need.
template <class T, std::size_t Operands>
EINDECOMP_ALWAYS_INLINE void ask_ahead(const ManyRun<T, Operands>& run, Extent i) {
  constexpr Extent ahead = tuning::operand_prefetch / static_cast<Extent>(sizeof(T));
  if (reinterpret_cast<std::uintptr_t>(run.output + i) % line_bytes != 0) return;
  translate_next_page(run.output + i);
  if (run.leaders == nullptr) return;
  for (int l = 0; l < run.leaders->count; ++l) prefetch_to_read(run.leaders->leader[l] + i + ahead);
}
#endif

/// Stores a vector of outputs.
template <class T, std::size_t Operands, class V>
EINDECOMP_ALWAYS_INLINE void put(const ManyRun<T, Operands>& run, Extent i, const V& result) {
#if defined(EINDECOMP_STREAMING_BYTES)
  if (run.streamed) {
    ask_ahead(run, i);
    stream(run.output + i, reinterpret_cast<StreamLine>(result));
    return;
  }
#endif
  std::memcpy(run.output + i, &result, sizeof result);
}

/// Computes `count` outputs, a number of whole vectors, from `begin` on.
///
/// A vector is stored when the next one has been loaded: the machine lets a load wait for a store
/// before it whose address is the same modulo 4096, and that of X(i - 1), read after what is
/// computed from X(i) was stored to a result that begins in a page where X does, would be.
/// \tparam Contiguous  all operands are.
template <bool Contiguous, class Join, class T, std::size_t... I>
EINDECOMP_FLATTEN EINDECOMP_NEVER_INLINE void map_vectors(std::index_sequence<I...>,
                                                          const Join& functor,
                                                          const ManyRun<T, sizeof...(I)>& given,
                                                          Extent begin, Extent count) {
  if (count <= 0) return;
  const auto run = given;  // in registers, whatever is stored
  const Join join = functor;
  const auto at = [&](Extent i) {
    return join(load_lanes<T, run.width>(run.operand[I] + (Contiguous ? i : i & run.mask[I]))...);
  };
  auto result = at(begin);  // apart: otherwise the loop spills
  Extent i = begin;
  for (; i + run.width < begin + count; i += run.width) {
    const auto next = at(i + run.width);
    put(run, i, result);
    result = next;
  }
  put(run, i, result);
}

/// What operand t, which may have ends, is at an output.
template <class T, std::size_t Operands>
[[nodiscard]] T operand_at(const ManyRun<T, Operands>& run, const RowEnds<Operands>& ends,
                           std::size_t t, Extent i) {
  const Extent in_row = i % ends.row;
  const bool before = in_row < ends.first[t];
  if (before || in_row >= ends.last[t]) {
    if (ends.period[t] == 0) return T{};
    i += before ? ends.period[t] : -ends.period[t];
  }
  return run.operand[t][i & run.mask[t]];
}

/// Computes outputs begin <= i < end, at most as many as a vector has, by way of copies: whole
/// vectors are the only code that the join is compiled into. Nothing is read but what they need.
template <bool Contiguous, class Join, class T, std::size_t... I>
void map_part(std::index_sequence<I...> all, const Join& join, const ManyRun<T, sizeof...(I)>& run,
              const RowEnds<sizeof...(I)>& ends, Extent begin, Extent end) {
  alignas(vector_bytes) T operand[sizeof...(I)][run.width];
  alignas(vector_bytes) T output[run.width];
  const auto count = static_cast<std::size_t>(end - begin);
  for (std::size_t t = 0; t < sizeof...(I); ++t) {
    T* const to = operand[t];
    if (ends.row == 0) {
      const T* const from = run.operand[t] + (begin & run.mask[t]);
      std::fill(to, to + run.width, *from);
      std::memcpy(to, from, count * sizeof(T));
    } else {
      for (std::size_t n = 0; n < count; ++n) {
        to[n] = operand_at(run, ends, t, begin + static_cast<Extent>(n));
      }
      std::fill(to + count, to + run.width, to[0]);
    }
  }
  const ManyRun<T, sizeof...(I)> copied{{operand[I]...}, {}, output, false, nullptr};
  map_vectors<Contiguous>(all, join, copied, 0, run.width);
  std::memcpy(run.output + begin, output, count * sizeof(T));
}

/// What operand t is at the vector of outputs from i on. What lies beyond its ends is read, too.
/// \param row_begin  where a row begins: ends before those there are not met
template <class T, std::size_t Operands>
void load_ends(const ManyRun<T, Operands>& run, const RowEnds<Operands>& ends, std::size_t t,
               Extent row_begin, Extent i, T* vector) {
  constexpr int width = ManyRun<T, Operands>::width;
  const auto lane = lane_numbers<T, width>();
  const T* const from = run.operand[t] + i;
  auto result = load_lanes<T, width>(from);
  const auto replace = [&](Extent begin, Extent end, Extent distance) {
    if (begin >= end || end <= i || begin >= i + width) return;
    Lanes<T, width> other{};
    if (distance != 0) other = load_lanes<T, width>(from + distance);
    const auto lane_of = [&](Extent output) {
      return repeat<T, width>(static_cast<T>(std::clamp<Extent>(output - i, 0, width)));
    };
    result = lane < lane_of(begin) ? result : lane < lane_of(end) ? other : result;
  };
  const Extent lacking = ends.row - ends.last[t];
  for (; row_begin - lacking < i + width; row_begin += ends.row) {
    replace(row_begin - lacking, row_begin, -ends.period[t]);
    replace(row_begin, row_begin + ends.first[t], ends.period[t]);
  }
  std::memcpy(vector, &result, sizeof result);
}

/// Computes vectors of outputs at which operands end. What lies beyond the ends is read, too.
template <bool Contiguous, class Join, class T, std::size_t... I>
class EndVectors {
 public:
  using Run = ManyRun<T, sizeof...(I)>;
  EndVectors(const Join& join, const Run& run, const RowEnds<sizeof...(I)>& ends)
      : m_join(join), m_run(run), m_ends(ends), m_copied(run) {
    for (std::size_t t = 0; t < sizeof...(I); ++t) {
      if (ends.first[t] == 0 && ends.last[t] == ends.row) continue;
      m_ending[m_count++] = t;
      m_copied.mask[t] = -1;
    }
  }
  EndVectors(const EndVectors&) = delete;
  EndVectors& operator=(const EndVectors&) = delete;

  /// That from output i on. \param row_begin  as load_ends() has it
  void compute(Extent row_begin, Extent i) {
    for (std::size_t n = 0; n < m_count; ++n) {
      const std::size_t t = m_ending[n];
      load_ends(m_run, m_ends, t, row_begin, i, m_operand[n]);
      // Where output i reads it.
      m_copied.operand[t] =
          reinterpret_cast<const T*>(reinterpret_cast<std::uintptr_t>(m_operand[n]) -
                                     static_cast<std::uintptr_t>(i) * sizeof(T));
    }
    map_vectors<Contiguous>(std::index_sequence<I...>{}, m_join, m_copied, i, Run::width);
  }

 private:
  const Join& m_join;
  const Run& m_run;
  const RowEnds<sizeof...(I)>& m_ends;
  std::size_t m_ending[sizeof...(I)]{};  ///< the operands that have ends
  std::size_t m_count = 0;
  alignas(vector_bytes) T m_operand[sizeof...(I)][Run::width];
  Run m_copied;
};

/// Computes outputs begin <= i < end of a run of `length`, whose operands have ends.
template <bool Contiguous, class Join, class T, std::size_t... I>
void map_rows_with_ends(std::index_sequence<I...> all, const Join& join,
                        const ManyRun<T, sizeof...(I)>& run, const RowEnds<sizeof...(I)>& ends,
                        Extent begin, Extent end, Extent length) {
  constexpr Extent width = ManyRun<T, sizeof...(I)>::width;
  EndVectors<Contiguous, Join, T, I...> at_ends(join, run, ends);
  Extent i = begin;
  const auto part = [&](Extent count) {
    if (count > 0) map_part<Contiguous>(all, join, run, ends, i, i + count);
    i += count;
  };
  if (run.streamed) part(std::min(end - i, run.to_next(i, vector_bytes)));
  // Vectors from here and up to there find memory wherever they look.
  const Extent safe = ends.inner_first + ends.longest_period;
  const Extent safe_end = length - (ends.row - ends.inner_last) - ends.longest_period;
  for (Extent row_begin = i / ends.row * ends.row; i + width <= end; row_begin += ends.row) {
    while (i < row_begin + ends.inner_first && i + width <= end) {
      if (i < safe || i + width > safe_end) {
        part(width);
      } else {
        at_ends.compute(row_begin, i);
        i += width;
      }
    }
    const Extent inside = std::min(row_begin + ends.inner_last, end) - i;
    if (inside < width) continue;
    map_vectors<Contiguous>(all, join, run, i, inside - inside % width);
    i += inside - inside % width;
  }
  part(end - i);
}

/// Computes outputs begin <= i < end.
template <bool Contiguous, class Join, class T, std::size_t... I>
void map_run(std::index_sequence<I...> all, const Join& join, const ManyRun<T, sizeof...(I)>& run,
             Extent begin, Extent end) {
  const RowEnds<sizeof...(I)> none;
  const Extent length = end - begin;
  if (run.streamed) {
    const Extent first = std::min(end, begin + run.to_next(begin, vector_bytes));
    if (first > begin) map_part<Contiguous>(all, join, run, none, begin, first);
    begin = first;
  }
  const Extent rest = (end - begin) % run.width;
  map_vectors<Contiguous>(all, join, run, begin, end - begin - rest);
  if (rest == 0) return;
  const bool in_place = ((run.operand[I] == run.output) || ...);
  if (in_place || run.streamed || length < run.width) {
    map_part<Contiguous>(all, join, run, none, end - rest, end);
  } else {  // a few outputs once more
    map_vectors<Contiguous>(all, join, run, end - run.width, run.width);
  }
}

/// A part of a run of outputs.
struct RunPart {
  Extent length;      ///< its outputs
  Extent before = 0;  ///< those of the run before it
  Extent after = 0;   ///< and after it
};

/// Computes a part of output[i] = join(operands[i]…) by vectors. An operand may be the output
/// itself. Of a run that is streamed, parts begin and end on lines.
/// \param run  of which the masks are set here
/// \param contiguous  bit t: operand t is contiguous, or else the same all along.
template <class Join, class T, std::size_t... I>
void map_many(std::index_sequence<I...> all, unsigned contiguous, const Join& join,
              ManyRun<T, sizeof...(I)>& run, const RowEnds<sizeof...(I)>& ends,
              const RunPart& part) {
  const Extent length = part.before + part.length + part.after;
  Extent begin = part.before;
  Extent end = part.before + part.length;
  if (run.streamed) {
    if (part.before > 0) begin = std::min(length, begin + run.to_next(begin, line_bytes));
    if (part.after > 0) end = std::min(length, end + run.to_next(end, line_bytes));
  }
  if (begin >= end) return;
  const Leaders<T, sizeof...(I)> leaders(run.operand, run.streamed ? contiguous : 0);
  run.leaders = &leaders;
  const auto compute = [&]<bool Contiguous>() {
    if (ends.row > 0)
      return map_rows_with_ends<Contiguous>(all, join, run, ends, begin, end, length);
    map_run<Contiguous>(all, join, run, begin, end);
  };
  if (contiguous + 1 == 1U << sizeof...(I)) {
    ((run.mask[I] = -1), ...);
    return compute.template operator()<true>();
  }
  alignas(vector_bytes) T same[sizeof...(I)][run.width];
  for (std::size_t t = 0; t < sizeof...(I); ++t) {
    run.mask[t] = (contiguous >> t & 1U) != 0 ? -1 : 0;
    if (run.mask[t] != 0) continue;
    std::fill(same[t], same[t] + run.width, *run.operand[t]);
    run.operand[t] = same[t];
  }
  compute.template operator()<false>();
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
