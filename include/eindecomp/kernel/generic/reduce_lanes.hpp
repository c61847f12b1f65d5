// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Reductions by vectors from operands to sums: of neighbouring terms, and of neighbouring outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether ReduceRun computes a signature's reductions.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool reduces_lanes() {
  return !Signature<Join, Monoid, Ts...>::elementwise && maps_lanes<Join, Monoid, Ts...>();
}

/// Lanes of a vector of sums; small elements do not fill a register.
template <class T>
inline constexpr int sum_lanes = std::min(vector_bytes / static_cast<int>(sizeof(T)), 16);

/// Aggregates joins of runs of at least a vector's width.
template <class Join, class Monoid, class T, std::size_t... I>
struct ReduceRun {
  static constexpr int width = sum_lanes<T>;
  static constexpr int operands = static_cast<int>(sizeof...(I));
  using V = Lanes<T, width>;

  Join join;
  Monoid monoid;
  /// Of an operand's position along the run: all bits, or none where it is the same all along.
  Extent mask[operands];

  /// Aggregates the joins of `positions` rows, which lie `step` apart, into sums of their columns.
  /// A last vector that is not whole overlaps the one before: settle_overlap puts its sums in their
  /// place.
  EINDECOMP_FLATTEN void across(const T* const* first, const Extent* step, Extent positions,
                                Extent outputs, T* sums) const {
    const ReduceRun local = *this;  // in registers, whatever is stored
    Extent p = 0;
    // Several rows at once load and store the sums once; more of them are too many streams.
    for (; p + 4 <= positions; p += 4) local.add_rows<4>(first, step, p, outputs, sums);
    for (; p < positions; ++p) local.add_rows<1>(first, step, p, outputs, sums);
  }

  /// The aggregate of the joins of `length` neighbouring terms.
  EINDECOMP_FLATTEN T along(const T* const* first, Extent length, T identity) const {
    const ReduceRun local = *this;
    const T* from[operands] = {first[I]...};
    return local.aggregate(from, length, identity);
  }

  /// The same for rows that lie `step` apart: put(row, aggregate).
  template <class Put>
  EINDECOMP_FLATTEN void along_rows(const T* const* first, const Extent* step, Extent rows,
                                    Extent length, T identity, const Put& put) const {
    const ReduceRun local = *this;
    const T* from[operands] = {first[I]...};
    const Extent steps[operands] = {step[I]...};
    for (Extent r = 0; r < rows; ++r) {
      put(r, local.aggregate(from, length, identity));
      ((from[I] += steps[I]), ...);
    }
  }

 private:
  [[nodiscard]] V add(const V& sum, const V& terms) const {
    return expr::aggregated(monoid, sum, terms);
  }
  [[nodiscard]] T aggregate(const T* const* first, Extent length, T identity) const {
    const T* row[operands];
    V repeated[operands];
    (set_row<I>(first[I], row, repeated), ...);
    const V none = repeat<T, width>(identity);
    V sum[4] = {none, none, none, none};
    Extent i = 0;
    for (; i + 4 * width <= length; i += 4 * width) {
      EINDECOMP_UNROLLED(4)
      for (int k = 0; k < 4; ++k) sum[k] = add(sum[k], joined(row, i + k * width));
    }
    for (; i + width <= length; i += width) sum[0] = add(sum[0], joined(row, i));
    if (i < length) {
      // What has been aggregated already counts for nothing.
      const V last = joined(row, length - width);
      const V number = lane_numbers<T, width>();
      const V begin = repeat<T, width>(static_cast<T>(i - (length - width)));
      sum[1] = add(sum[1], number < begin ? none : last);
    }
    return fold<width / 2>(add(add(sum[0], sum[1]), add(sum[2], sum[3])));
  }

  /// Operand O's elements from `first` on, which are one vector if they are all the same.
  template <std::size_t O>
  void set_row(const T* first, const T** row, V* repeated) const {
    row[O] = first;
    if (operands > 1 && mask[O] == 0) {
      repeated[O] = repeat<T, width>(*first);
      row[O] = reinterpret_cast<const T*>(&repeated[O]);
    }
  }
  [[nodiscard]] V joined(const T* const* row, Extent i) const {
    return join(load_lanes<T, width>(row[I] + (operands > 1 ? i & mask[I] : i))...);
  }

  template <int Count>
  void add_rows(const T* const* first, const Extent* step, Extent p, Extent outputs,
                T* sums) const {
    const T* row[Count][operands];
    V repeated[Count][operands];
    EINDECOMP_UNROLLED(4)
    for (int n = 0; n < Count; ++n) {
      (set_row<I>(first[I] + (p + n) * step[I], row[n], repeated[n]), ...);
    }
    const auto add = [&](Extent i, T* sum) {
      V all = load_lanes<T, width>(sum);
      EINDECOMP_UNROLLED(4)
      for (int n = 0; n < Count; ++n) all = this->add(all, joined(row[n], i));
      std::memcpy(sum, &all, sizeof all);
    };
    // No more than this in the loop: the less, the further ahead the machine reads.
    Extent i = 0;
    EINDECOMP_UNROLLED(2)
    for (; i + width <= outputs; i += width) add(i, sums + i);
    if (i < outputs) add(outputs - width, sums + i);
  }

  template <int Distance>
  [[nodiscard]] T fold(const V& lanes) const {
    if constexpr (Distance == 0) {
      return lanes[0];
    } else {
      return fold<Distance / 2>(add(lanes, exchange_lanes<Distance, T, width>(lanes)));
    }
  }
};

/// Puts the last sums that ReduceRun::across left where they belong. Its last vector had the sums
/// of the last columns, as many as it has lanes, and lies where the columns that no whole vector
/// had begin: those are its last lanes.
template <Extent Width, class T>
void settle_overlap(Extent outputs, T* sums) {
  const Extent rest = outputs % Width;
  if (rest == 0) return;
  T* const last = sums + outputs - rest;
  std::memmove(last, last + Width - rest, static_cast<std::size_t>(rest) * sizeof(T));
}

/// \param stride  of each operand, 0 or 1 and not all 0.
template <class T, class Join, class Monoid, std::size_t... I>
[[nodiscard]] ReduceRun<Join, Monoid, T, I...> reduce_run(std::index_sequence<I...>,
                                                          const Join& join, const Monoid& monoid,
                                                          const Extent* stride) {
  return {join, monoid, {-stride[I]...}};
}

/// The aggregate of the joins of `length` neighbouring terms, however few. \param stride  as
///   reduce_run has it
template <class T, class Join, class Monoid, std::size_t... I>
[[nodiscard]] T aggregate_terms(std::index_sequence<I...> all, const Join& join,
                                const Monoid& monoid, const T* const* first, const Extent* stride,
                                Extent length) {
  using Traits = MonoidTraits<Monoid, T>;
  T sum = Traits::identity(monoid);
  if (length >= sum_lanes<T>) {
    return reduce_run<T>(all, join, monoid, stride).along(first, length, sum);
  }
  EINDECOMP_VECTOR_LOOP
  for (Extent i = 0; i < length; ++i) {
    sum = Traits::combine(monoid, sum, join(first[I][i * stride[I]]...));
  }
  return sum;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
