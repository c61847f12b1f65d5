// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Element-wise joins from or to 16-bit numbers: a few elements at a time become floats, are joined
/// by vectors, and are rounded.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/compose.hpp"
#include "eindecomp/expr/half.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/simd/half_rows.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// What a join rounds to 16 bits at its end, as a join of its own: `type`; of others the join.
template <class Join>
struct Unrounded {
  using type = Join;
  static const type& of(const Join& join) { return join; }
};
template <Half T>
struct Unrounded<Cast<T>> {
  using type = Identity;
  static type of(const Cast<T>&) { return {}; }
};
template <Half T, class Inner>
struct Unrounded<Composed<Cast<T>, Inner>> {
  using type = Inner;
  static const type& of(const Composed<Cast<T>, Inner>& join) { return join.template child<0>(); }
};

/// Whether map_halves computes a signature's outputs: element by element, of 16-bit numbers and
/// floats alone, by a functor that takes vectors.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool maps_halves() {
  using Value = typename Signature<Join, Monoid, Ts...>::Value;
  if constexpr (sizeof...(Ts) > 2 || !std::is_same_v<Monoid, NoAggregation> ||
                !(Half<Value> || (Half<Ts> || ...)) || !std::is_same_v<Widened<Value>, float> ||
                !(std::is_same_v<Widened<Ts>, float> && ...)) {
    return false;
  } else {
    return JoinsLanes<typename Unrounded<Join>::type, float, Widened<Ts>...>;
  }
}

/// Operand elements as floats: where they lie, or in `buffer`. \param count  how many there are
[[nodiscard]] inline const float* as_floats(const float* from, int, float*) { return from; }
template <Half T>
[[nodiscard]] const float* as_floats(const T* from, int count, float* buffer) {
  widen_row(buffer, from, count);
  return buffer;
}

/// results[i] = join(operands[i]…) for at most tuning::map_piece neighbours.
/// \param contiguous  as map_call has it
template <class Result, class Join, class... Ts, std::size_t... I>
EINDECOMP_FLATTEN void map_halves(std::index_sequence<I...>, const Join& join, unsigned contiguous,
                                  int count, Result* results, const Ts*... operands) {
  constexpr auto most = static_cast<std::size_t>(tuning::map_piece);
  alignas(64) float wide[sizeof...(Ts)][most];
  alignas(64) float joined[most];
  const float* const first[] = {
      as_floats(operands, (contiguous >> I & 1U) != 0 ? count : 1, wide[I])...};
  const auto& unrounded = Unrounded<Join>::of(join);
  float* to = joined;
  if constexpr (std::is_same_v<Result, float>) to = results;
  ResumableMap call = map_call<static_cast<int>(sizeof...(Ts)), false>(contiguous, unrounded, first,
                                                                       to, RunRows{}, 0, {});
  call.compute(call, 0, count);
  if constexpr (Half<Result>) narrow_row(results, joined, count);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
