// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Element-wise passes from one strided box to another: copies, combining and finishing
/// accumulators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel {
namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Tensor 0 is what is written, tensor 1 what is read.
using BoxNest = CopyNest;

/// The loops of a box, those of extent 1 left out.
[[nodiscard]] inline BoxNest loops_of(const StridedBox& box) {
  BoxNest nest;
  for (int k = 0; k < box.rank; ++k) {
    if (box.extent[k] == 1) continue;
    nest.stride[0][nest.loops] = box.into_stride[k];
    nest.stride[1][nest.loops] = box.from_stride[k];
    nest.push(box.extent[k]);
  }
  return nest;
}

/// The same merged, the fastest one that along which the target is contiguous.
[[nodiscard]] inline BoxNest box_nest(const StridedBox& box) {
  BoxNest nest = loops_of(box);
  nest.sort_by(0);
  nest.merge();
  if (nest.loops == 0) nest.push(1);
  return nest;
}

/// Item = a piece of the fastest loop, or several of its runs where they are short.
template <class Operation>
struct BoxKernel {
  BoxNest nest;   ///< the slower loops; loop 0 counts pieces of a run
  Extent length;  ///< of the fastest loop
  Extent piece;   ///< elements of a run done at once
  Extent stride[2];
  Extent runs_per_item;
  Extent runs;
  Operation operation;

  EINDECOMP_FUNCTION void operator()(const Extent item) const {
    Cursor<2> at;
    const Extent first = item * runs_per_item;
    Extent count = runs - first;
    if (count > runs_per_item) count = runs_per_item;
    at.seek(nest, first);
    for (; count > 0; --count) {
      Extent n = length - at.coordinate[0] * piece;
      if (n > piece) n = piece;
      operation.run(at.offset[0], stride[0], at.offset[1], stride[1], n);
      at.advance(nest);
    }
  }
};

/// Runs operation.run(into offset, stride, from offset, stride, n) over a box.
template <class Space, class Operation>
void run_box(const Space& space, const char* label, BoxNest nest, const Operation& operation) {
  if (nest.size() == 0) return;
  constexpr Extent item_elements = compat::is_device<Space> ? 1 : 4096;
  BoxKernel<Operation> kernel{nest, nest.extent[0], item_elements, {}, 1, 0, operation};
  for (int t = 0; t < 2; ++t) {
    kernel.stride[t] = nest.stride[t][0];
    kernel.nest.stride[t][0] *= kernel.piece;
  }
  kernel.nest.extent[0] = ceil_div(kernel.length, kernel.piece);
  kernel.runs = kernel.nest.size();
  if (kernel.length < kernel.piece) kernel.runs_per_item = kernel.piece / kernel.length;
  launch(space, label, ceil_div(kernel.runs, kernel.runs_per_item), kernel);
}

template <class Monoid, class Value>
struct CombineRun {
  using Traits = MonoidTraits<Monoid, Value>;
  using State = typename Traits::State;
  Monoid monoid;
  State* into;
  const State* from;

  EINDECOMP_FUNCTION void run(Extent into_offset, Extent into_stride, Extent from_offset,
                              Extent from_stride, Extent n) const {
    for (Extent i = 0; i < n; ++i) {
      State& state = into[into_offset + i * into_stride];
      state = Traits::combine(monoid, state, from[from_offset + i * from_stride]);
    }
  }
};

template <class Monoid, class Value>
struct FinishRun {
  using Traits = MonoidTraits<Monoid, Value>;
  using State = typename Traits::State;
  using Result = std::decay_t<typename Traits::Result>;
  Monoid monoid;
  Result* into;
  const State* from;

  EINDECOMP_FUNCTION void run(Extent into_offset, Extent into_stride, Extent from_offset,
                              Extent from_stride, Extent n) const {
    for (Extent i = 0; i < n; ++i) {
      into[into_offset + i * into_stride] =
          Traits::finish(monoid, from[from_offset + i * from_stride]);
    }
  }
};

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
                    detail::target_of(nest.size() * element_bytes), into, from);
}

/// into = into ⊕ from, accumulators both. Launches on `space` and does not fence.
template <class Monoid, class Value, compat::ExecutionSpace Space>
void combine_box(const Space& space, Monoid monoid, const StridedBox& box, void* into,
                 const void* from) {
  using State = typename MonoidTraits<Monoid, Value>::State;
  detail::run_box(space, "EinDecomp::combine", detail::box_nest(box),
                  detail::CombineRun<Monoid, Value>{monoid, static_cast<State*>(into),
                                                    static_cast<const State*>(from)});
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
    detail::run_box(space, "EinDecomp::finish", detail::box_nest(box),
                    detail::FinishRun<Monoid, Value>{monoid, static_cast<Result*>(into),
                                                     static_cast<const State*>(from)});
  }
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel
