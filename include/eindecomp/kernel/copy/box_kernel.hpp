// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Element-wise passes from one strided box to another: copies, combining and finishing
/// accumulators.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel {
namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The loops of a box.
[[nodiscard]] inline CopyNest loops_of(const StridedBox& box) {
  return copy_loops(box.rank, box.extent, box.into_stride, box.from_stride);
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

/// The same made ready.
template <class Space, class Monoid, class Value, bool Finish>
class PreparedPass final : public PreparedBox<Space> {
 public:
  PreparedPass(const StridedBox& box, const Monoid& monoid)
      : m_kernel{loops_of(box), 0, 0, 0, 0, 0, monoid, nullptr, nullptr} {
    CopyNest& nest = m_kernel.pieces;
    nest.sort_by(0);
    nest.merge();
    nest.push_if_none();
    if (nest.size() == 0) return;
    m_kernel.length = nest.extent[0];
    m_kernel.piece = compat::is_device<Space> ? 1 : tuning::box_piece;
    m_kernel.into_stride = nest.stride[0][0];
    m_kernel.from_stride = nest.stride[1][0];
    m_kernel.pieces_per_item = std::max<Extent>(1, m_kernel.piece / m_kernel.length);
    nest.extent[0] = ceil_div(m_kernel.length, m_kernel.piece);
    for (int t = 0; t < 2; ++t) nest.stride[t][0] *= m_kernel.piece;
    m_items = ceil_div(nest.size(), m_kernel.pieces_per_item);
  }

  void run(const Space& space, void* into, const void* from) const override {
    Kernel kernel = m_kernel;
    kernel.into = static_cast<typename Kernel::Into*>(into);
    kernel.from = static_cast<const typename Kernel::State*>(from);
    launch(space, Finish ? "EinDecomp::finish" : "EinDecomp::combine", m_items, kernel);
  }

 private:
  using Kernel = BoxKernel<Monoid, Value, Finish>;

  Kernel m_kernel;  ///< without memory
  Extent m_items = 0;
};

/// A copy of elements, whatever they are. One instantiation per space.
template <class Space>
class PreparedBoxCopy final : public PreparedBox<Space> {
 public:
  PreparedBoxCopy(const StridedBox& box, std::int64_t element_bytes)
      : m_nest(loops_of(box)),
        m_element_bytes(element_bytes),
        m_policy(store_policy(m_nest.size() * element_bytes)) {}

  /// Source and target do not overlap, or are the same.
  void run(const Space& space, void* into, const void* from) const override {
    if (into == from) return;
    copy_nest(space, "EinDecomp::copy", m_nest, m_element_bytes, m_policy, into, from);
  }

 private:
  CopyNest m_nest;
  std::int64_t m_element_bytes;
  StorePolicy m_policy;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace detail

inline namespace EINDECOMP_INSTRUCTION_SET {

/// Copies the elements of a box, whatever they are, between memories that `Space` can access.
/// Source and target must not overlap. Launches on `space` and does not fence.
template <compat::ExecutionSpace Space>
void copy_box(const Space& space, std::int64_t element_bytes, const StridedBox& box, void* into,
              const void* from) {
  detail::PreparedBoxCopy<Space>(box, element_bytes).run(space, into, from);
}

/// The same made ready.
template <compat::ExecutionSpace Space>
[[nodiscard]] std::unique_ptr<const PreparedBox<Space>> prepare_copy(std::int64_t element_bytes,
                                                                     const StridedBox& box) {
  return std::make_unique<const detail::PreparedBoxCopy<Space>>(box, element_bytes);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel
