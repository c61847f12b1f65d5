// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The best values and their positions (argmin, argmax) by vectors: values and positions apart,
/// where accumulators have them in pairs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/generic/row_access.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether ⊕ is argmin or argmax.
template <class Monoid>
inline constexpr bool is_best_index = false;
template <bool Smallest>
inline constexpr bool is_best_index<expr::ArgExtremum<Smallest>> = true;

/// Whether BestLanes hold a signature's accumulators.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool keeps_best() {
  using Value = typename Signature<Join, Monoid, Ts...>::Value;
  return is_best_index<Monoid> && is_lane<Value> && sizeof(Value) >= 4;
}

/// Elements j and on of a row, a vector of them.
template <class T, int Width>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE Lanes<T, Width> load_row(const ContiguousRow<T>& row, int j) {
  return load_lanes<T, Width>(row.first + j);
}
template <class T, int Width>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE Lanes<T, Width> load_row(const RepeatedRow<T>& row, int) {
  return repeat<T, Width>(row.value);
}
template <class T, int Width>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE Lanes<T, Width> load_row(const StridedRow<T>& row, int j) {
  return [&]<std::size_t... L>(std::index_sequence<L...>) {
    return Lanes<T, Width>{row[j + static_cast<int>(L)]...};
  }
  (std::make_index_sequence<std::size_t{Width}>());
}

/// The joins of a row's elements.
template <class Join, class T, class... Rows>
struct JoinedRow {
  const Join& join;
  std::tuple<Rows...> rows;

  [[nodiscard]] T operator()(int j) const {
    return std::apply([&](const Rows&... row) { return static_cast<T>(join(row[j]...)); }, rows);
  }

  /// Those from j on, as many as a vector has.
  template <int Width>
  [[nodiscard]] EINDECOMP_ALWAYS_INLINE Lanes<T, Width> lanes(int j) const {
    if constexpr (JoinsLanes<Join, T, typename Rows::Element...>) {
      return std::apply([&](const Rows&... row) { return join(load_row<T, Width>(row, j)...); },
                        rows);
    } else {
      return lane_by_lane<T, Width>([&](int l) { return (*this)(j + l); });
    }
  }
};

/// That row of every operand, from `offset` on and with `stride` along it.
template <class Access, class T, class... Ts, class Join, std::size_t... I>
[[nodiscard]] EINDECOMP_ALWAYS_INLINE auto joined_row(std::index_sequence<I...>, const Join& join,
                                                      const void* const* operand,
                                                      const Extent* offset, const Extent* stride) {
  return JoinedRow<Join, T,
                   decltype(Access::template row<I>(static_cast<const Ts*>(nullptr), 0))...>{
      join,
      {Access::template row<I>(static_cast<const Ts*>(operand[I]) + offset[I], stride[I])...}};
}

/// Count lanes of best values, each with the number of the row that it was in. What is not a number
/// is never better.
template <bool Smallest, class T, int Count>
class BestLanes {
 public:
  using Monoid = expr::ArgExtremum<Smallest>;
  using Number = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  /// Rows that have different numbers.
  static constexpr Extent max_rows = Extent{1} << 30;

  /// The worst values, all in row `first`.
  EINDECOMP_ALWAYS_INLINE explicit BestLanes(Number first) {
    for (int k = 0; k < vectors; ++k) {
      m_best[k] = repeat<T, width>(Monoid::template identity<T>().value);
      m_row[k] = repeat<Number, width>(first);
    }
  }
  EINDECOMP_ALWAYS_INLINE BestLanes(const T* best, Number first) : BestLanes(first) {
    for (int k = 0; k < vectors; ++k) m_best[k] = load_lanes<T, width>(best + k * width);
  }

  /// Of equal values the one before stays.
  template <class Joined>
  EINDECOMP_ALWAYS_INLINE void take(const Joined& values, Number row) {
    const auto number = repeat<Number, width>(row);
    EINDECOMP_UNROLLED(16)
    for (int k = 0; k < vectors; ++k) {
      const Lanes<T, width> value = values.template lanes<width>(k * width);
      const auto better = Smallest ? value < m_best[k] : value > m_best[k];
      m_best[k] = better ? value : m_best[k];
      m_row[k] = better ? number : m_row[k];
    }
  }

  void store(T* best, Number* row) const {
    std::memcpy(best, m_best, sizeof m_best);
    std::memcpy(row, m_row, sizeof m_row);
  }

 private:
  static constexpr int width = std::min(Count, vector_bytes / static_cast<int>(sizeof(T)));
  static constexpr int vectors = Count / width;
  static_assert(vectors * width == Count);

  Lanes<T, width> m_best[vectors];
  Lanes<Number, width> m_row[vectors];
};

/// Aggregates joins of runs, whatever their strides.
template <class Join, bool Smallest, class T, class... Ts>
struct BestRun {
  using Monoid = expr::ArgExtremum<Smallest>;
  using State = Indexed<T>;
  static constexpr int operands = static_cast<int>(sizeof...(Ts));
  /// Of so many vectors that none has to wait for the one before.
  static constexpr int lanes = 4 * vector_bytes / static_cast<int>(sizeof(T));
  using Best = BestLanes<Smallest, T, lanes>;
  using Number = typename Best::Number;

  const Join& join;
  const void* const* operand;
  const Extent* stride;  ///< of each operand along the run
  unsigned contiguous;   ///< as with_access() has it

  /// The best of `length` neighbouring terms, row after row: put(row, best).
  /// \param offset  of each operand's first term, which is moved along
  /// \param step  of each operand from row to row
  /// \param index  of the first term
  template <class Put>
  void along_rows(Extent* offset, const Extent* step, Extent rows, Extent length, Extent index,
                  const Put& put) const {
    with_access<operands>(contiguous, [&]<class Access>() {
      for (Extent r = 0; r < rows; ++r) {
        put(r, along<Access>(offset, length, index));
        for (int t = 0; t < operands; ++t) offset[t] += step[t];
      }
    });
  }

 private:
  template <class Access>
  [[nodiscard]] State along(const Extent* offset, Extent length, Extent index) const {
    State best{Monoid::template identity<T>().value, index};
    Extent first = 0;
    while (length - first >= 2 * lanes) {
      const Extent rows = std::min((length - first) / lanes, Best::max_rows);
      const State of_rows = best_of_rows<Access>(offset, first, rows);
      // Of equal values the first, which is the smaller index.
      if (is_better(of_rows.value, best.value)) best = {of_rows.value, index + of_rows.index};
      first += rows * lanes;
    }
    const auto value = values<Access>(offset, first);
    const int rest = static_cast<int>(length - first);
    for (int j = 0; j < rest; ++j) {
      const T other = value(j);
      const bool better = is_better(other, best.value);
      best.value = better ? other : best.value;
      best.index = better ? index + first + j : best.index;
    }
    return best;
  }

  [[nodiscard]] static bool is_better(T a, T b) { return Smallest ? a < b : a > b; }

  /// The joins from position `first` on.
  template <class Access>
  [[nodiscard]] auto values(const Extent* offset, Extent first) const {
    Extent at[operands];
    for (int t = 0; t < operands; ++t) at[t] = offset[t] + first * stride[t];
    return joined_row<Access, T, Ts...>(std::index_sequence_for<Ts...>{}, join, operand, at,
                                        stride);
  }

  /// The best of rows of lanes, its index from `first` on counted from 0.
  template <class Access>
  [[nodiscard]] State best_of_rows(const Extent* offset, Extent first, Extent rows) const {
    Best best(0);
    for (Extent r = 0; r < rows; ++r) {
      best.take(values<Access>(offset, first + r * lanes), static_cast<Number>(r));
    }
    T value[lanes];
    Number row[lanes];
    best.store(value, row);
    T of_all = value[0];
    for (int l = 1; l < lanes; ++l) of_all = is_better(value[l], of_all) ? value[l] : of_all;
    Extent index = rows * lanes;
    for (int l = 0; l < lanes; ++l) {
      if (value[l] == of_all) index = std::min(index, Extent{row[l]} * lanes + l);
    }
    return {of_all, first + index};
  }
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
