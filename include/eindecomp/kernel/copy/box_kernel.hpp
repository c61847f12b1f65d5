// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Element-wise passes from one strided box to another: copies, combining and finishing
/// accumulators.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel {
namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The loops of a box, those of extent 1 left out.
[[nodiscard]] inline CopyNest loops_of(const StridedBox& box) {
  CopyNest nest;
  for (int k = 0; k < box.rank; ++k) {
    if (box.extent[k] == 1) continue;
    nest.stride[0][nest.loops] = box.into_stride[k];
    nest.stride[1][nest.loops] = box.from_stride[k];
    nest.push(box.extent[k]);
  }
  return nest;
}

/// into = into ⊕ from, or, if Finish, into = the final elements of the accumulators `from`. An item
/// is a piece of the fastest loop, or, where that is short, several such loops.
template <class Monoid, class Value, bool Finish>
struct BoxKernel {
  using Traits = MonoidTraits<Monoid, Value>;
  using State = typename Traits::State;
  using Into = std::conditional_t<Finish, std::decay_t<typename Traits::Result>, State>;

  CopyNest pieces;  ///< the nest, loop 0 over pieces of its fastest loop
  Extent length;    ///< of the fastest loop
  Extent piece;     ///< of its elements, at most
  Extent into_stride;
  Extent from_stride;
  Extent pieces_per_item;
  Monoid monoid;
  Into* into;
  const State* from;

  EINDECOMP_FUNCTION void operator()(const Extent item) const {
    const Extent first = item * pieces_per_item;
    Extent count = pieces.size() - first;
    if (count > pieces_per_item) count = pieces_per_item;
    Cursor<2> at;
    at.seek(pieces, first);
    for (; count > 0; --count, at.advance(pieces)) {
      Extent n = length - at.coordinate[0] * piece;
      if (n > piece) n = piece;
      run(into + at.offset[0], from + at.offset[1], n);
    }
  }

  EINDECOMP_FUNCTION void run(Into* to, const State* source, Extent n) const {
    for (Extent i = 0; i < n; ++i) {
      Into& element = to[i * into_stride];
      const State& state = source[i * from_stride];
      if constexpr (Finish) {
        element = Traits::finish(monoid, state);
      } else {
        element = Traits::combine(monoid, element, state);
      }
    }
  }
};

template <class Value, bool Finish, class Space, class Monoid>
void run_box(const Space& space, const char* label, const StridedBox& box, const Monoid& monoid,
             void* into, const void* from) {
  using Kernel = BoxKernel<Monoid, Value, Finish>;
  CopyNest nest = loops_of(box);
  nest.sort_by(0);
  nest.merge();
  if (nest.loops == 0) nest.push(1);
  if (nest.size() == 0) return;
  const Extent length = nest.extent[0];
  const Extent piece = compat::is_device<Space> ? 1 : tuning::box_piece;
  const Extent stride[] = {nest.stride[0][0], nest.stride[1][0]};
  nest.extent[0] = ceil_div(length, piece);
  for (int t = 0; t < 2; ++t) nest.stride[t][0] *= piece;
  const Extent pieces_per_item = std::max<Extent>(1, piece / length);
  launch(space, label, ceil_div(nest.size(), pieces_per_item),
         Kernel{nest, length, piece, stride[0], stride[1], pieces_per_item, monoid,
                static_cast<typename Kernel::Into*>(into),
                static_cast<const typename Kernel::State*>(from)});
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace detail

inline namespace EINDECOMP_INSTRUCTION_SET {

/// Copies the elements of a box, whatever they are, between memories that `Space` can access.
/// Source and target must not overlap. Launches on `space` and does not fence.
template <compat::ExecutionSpace Space>
void copy_box(const Space& space, std::int64_t element_bytes, const StridedBox& box, void* into,
              const void* from) {
  const detail::CopyNest nest = detail::loops_of(box);
  detail::copy_nest(space, "EinDecomp::copy", nest, element_bytes,
                    detail::store_policy(nest.size() * element_bytes), into, from);
}

/// into = into ⊕ from, accumulators both. Launches on `space` and does not fence.
template <class Monoid, class Value, compat::ExecutionSpace Space>
void combine_box(const Space& space, Monoid monoid, const StridedBox& box, void* into,
                 const void* from) {
  detail::run_box<Value, false>(space, "EinDecomp::combine", box, monoid, into, from);
}

/// into = the final elements of the accumulators `from`; the same memory where both have one size
/// and the same strides. Launches on `space` and does not fence.
template <class Monoid, class Value, compat::ExecutionSpace Space>
void finish_box(const Space& space, Monoid monoid, const StridedBox& box, void* into,
                const void* from) {
  using Traits = MonoidTraits<Monoid, Value>;
  using State = typename Traits::State;
  using Result = std::decay_t<typename Traits::Result>;
  if constexpr (std::is_same_v<State, Value> && std::is_same_v<State, Result> &&
                !Traits::finishes) {
    if (into != from) {
      copy_box(space, static_cast<std::int64_t>(sizeof(State)), box, into, from);
    }
  } else {
    detail::run_box<Value, true>(space, "EinDecomp::finish", box, monoid, into, from);
  }
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel
