// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// EinSums that only put elements elsewhere: permutations, diagonals, broadcasts of one operand.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/expr/operator.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
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
    // Of a single NaN a minimum is the identity, and so may be what another ⊕ gives.
    constexpr bool keeps_nan =
        expr::is_one_of<Monoid, NoAggregation, Sum, Prod> || std::is_integral_v<Value>;
    return unchanged && keeps_nan && !Sig::Traits::lifts && !Sig::Traits::finishes &&
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

/// What a copy moves at once, and whether its target stays in cache.
[[nodiscard]] EINDECOMP_COMPACT inline std::string describe(const CopySchedule& schedule) {
  std::string text = schedule.gathered ? "short runs gathered into lines"
                     : schedule.planes ? "planes transposed in tiles"
                                       : "runs";
  if (schedule.gathered || schedule.streamed) text += ", non-temporal stores";
  return text;
}

/// output = the operand's elements. How they are moved depends on where the output lies, and is
/// decided by each run.
template <class Space, class T>
class PreparedCopy final : public PreparedKernel<Space> {
 public:
  /// \param shape  aggregates nothing.
  explicit PreparedCopy(const LocalEinsum& shape)
      : m_loops(
            copy_loops(shape.labels, shape.extent, shape.output_stride, shape.operand_stride[0])) {}

  [[nodiscard]] Algorithm algorithm() const override { return Algorithm::copy; }
  [[nodiscard]] std::string explain(const void* const* operands,
                                    const void* output) const override {
    return "algorithm copy: " + describe(kernel(operands[0], const_cast<void*>(output)).schedule);
  }
  void run(const Space& space, const void* const* operands, void* output,
           unsigned char*) const override {
    const auto kernel = this->kernel(operands[0], output);
    launch(space, "EinDecomp::copy", kernel.schedule.items, kernel);
  }

 private:
  [[nodiscard]] CopyKernel<WordOf<T>> kernel(const void* operand, void* output) const {
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
    return {m_loops, bytes,   store_policy(m_loops.size() * bytes),
            output,  operand, compat::is_device<Space>};
  }

  CopyNest m_loops;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
