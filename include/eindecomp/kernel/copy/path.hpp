// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// EinSums that only put elements elsewhere: permutations, diagonals, broadcasts of one operand.
#pragma once

#include <cstdint>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/signature.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether a signature's results are elements of its operand where nothing is aggregated.
template <class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool has_copy() {
  if constexpr (sizeof...(Ts) == 1) {
    using Sig = Signature<Join, Monoid, Ts...>;
    using Value = typename Sig::Value;
    constexpr bool unchanged = std::is_same_v<Join, Identity> || std::is_same_v<Join, Mul>;
    // Of a label of one value too they are the identity where that is NaN.
    constexpr bool passes_over_nan = std::is_floating_point_v<Value> &&
                                     (std::is_same_v<Monoid, Min> || std::is_same_v<Monoid, Max>);
    return unchanged && !passes_over_nan && !Sig::Traits::lifts && !Sig::Traits::finishes &&
           (std::is_same_v<Ts, Value> && ...) && std::is_same_v<typename Sig::State, Value> &&
           std::is_same_v<typename Sig::Result, Value>;
  } else {
    return false;
  }
}

/// Whether a shape of one operand aggregates nothing and has something to copy.
[[nodiscard]] constexpr bool aggregates_nothing(const LocalEinsum& shape) {
  for (int l = 0; l < shape.labels; ++l) {
    if (shape.extent[l] == 0 || (shape.aggregated[l] && shape.extent[l] > 1)) return false;
  }
  return true;
}

/// The loops of a shape of one operand that aggregates nothing.
[[nodiscard]] constexpr CopyNest copied_loops(const LocalEinsum& shape) {
  CopyNest nest;
  for (int l = 0; l < shape.labels; ++l) {
    if (shape.extent[l] == 1) continue;
    nest.stride[0][nest.loops] = shape.output_stride[l];
    nest.stride[1][nest.loops] = shape.operand_stride[0][l];
    nest.push(shape.extent[l]);
  }
  return nest;
}

/// The kernel of output = the operand's elements.
template <class Space, class T>
[[nodiscard]] CopyKernel<WordOf<T>> copy_kernel(const LocalEinsum& shape, const void* operand,
                                                void* output) {
  const CopyNest nest = copied_loops(shape);
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
  return {nest, bytes, target_of(nest.size() * bytes), output, operand, compat::is_device<Space>};
}

/// output = the operand's elements. Launches on `space` and does not fence.
template <class T, class Space>
void run_copy(const Space& space, const LocalEinsum& shape, const void* operand, void* output) {
  const auto kernel = copy_kernel<Space, T>(shape, operand, output);
  launch(space, "EinDecomp::copy", kernel.schedule.items, kernel);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
