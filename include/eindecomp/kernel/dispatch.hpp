// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The one place that decides which code computes a kernel call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "eindecomp/kernel/copy_path.hpp"
#include "eindecomp/kernel/generic_path.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/packed_path.hpp"
#include "eindecomp/kernel/path.hpp"
#include "eindecomp/kernel/product_path.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/tiled_path.hpp"
#include "eindecomp/kernel/usual_kernels.hpp"

namespace eindecomp::kernel {

/// The code that run_join takes for a shape, unless it accumulates.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] Path path_of(const LocalEinsum& shape) {
  if constexpr (detail::has_copy<Join, Monoid, Ts...>()) {
    if (detail::aggregates_nothing(shape)) return Path::copy;
  }
  if constexpr (detail::is_blas_product<Space, Join, Monoid, Ts...>()) {
    using Value = typename Signature<Join, Monoid, Ts...>::Value;
    const Path path = detail::choose_product<Value>(Space(), shape, false).path;
    if (path != Path::direct) return path;
  }
  if constexpr (detail::has_packed<Space, Join, Monoid, Ts...>()) {
    if (detail::enough_to_pack(shape) &&
        detail::worth_packing(detail::packed_shape_of<Join, Ts...>(shape))) {
      return Path::packed;
    }
  }
  if constexpr (detail::has_tiled<Space, Join, Monoid, Ts...>()) {
    if (detail::worth_tiling(detail::packed_shape(shape, false))) return Path::tiled;
  }
  constexpr int operands = static_cast<int>(sizeof...(Ts));
  return detail::JoinSchedule<operands>(shape, detail::join_tuning<Space>()).path();
}

/// The bytes that run_join takes for itself for a shape, whether it accumulates or not.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] std::int64_t workspace_of(const Space& space, const LocalEinsum& shape) {
  using Sig = Signature<Join, Monoid, Ts...>;
  if constexpr (detail::has_copy<Join, Monoid, Ts...>()) {
    if (detail::aggregates_nothing(shape)) return 0;
  }
  const auto without_blas = [&shape]() -> std::int64_t {
    if constexpr (detail::has_packed<Space, Join, Monoid, Ts...>()) {
      if (detail::enough_to_pack(shape)) {
        const detail::PackedShape product = detail::packed_shape_of<Join, Ts...>(shape);
        if (detail::worth_packing(product)) {
          return detail::packed_workspace<Join, Monoid, Ts...>(product);
        }
      }
    }
    if constexpr (detail::has_tiled<Space, Join, Monoid, Ts...>()) {
      if (detail::worth_tiling(detail::packed_shape(shape, false))) return 0;
    }
    const detail::JoinSchedule<Sig::operands> schedule(shape, detail::join_tuning<Space>());
    return schedule.parts > 1 ? schedule.partials() * std::int64_t{sizeof(typename Sig::State)} : 0;
  };
  if constexpr (detail::is_blas_product<Space, Join, Monoid, Ts...>()) {
    using Value = typename Sig::Value;
    std::int64_t most = 0;
    for (const bool accumulate : {false, true}) {
      const detail::ProductChoice choice = detail::choose_product<Value>(space, shape, accumulate);
      if (choice.path == Path::direct) {
        most = std::max(most, without_blas());
      } else if (choice.path == Path::blocks) {
        const auto [items, elements] = detail::BlockWorkspace::of<Value>(space, choice.blocks);
        most = std::max(most, items * elements * std::int64_t{sizeof(Value)});
      }
    }
    return most;
  } else {
    return without_blas();
  }
}

/// output = ⊕ ⊗(operands), as Launcher::join. Launches on `space` and does not fence.
template <class Space, class Join, class Monoid, class... Ts>
void run_join(const Space& space, const LocalEinsum& shape, Join join, Monoid monoid,
              const void* const* operands, void* output, Write write) {
  if constexpr (detail::has_copy<Join, Monoid, Ts...>()) {
    if (write != Write::accumulate && detail::aggregates_nothing(shape)) {
      detail::run_copy<typename Signature<Join, Monoid, Ts...>::Value>(space, shape, operands[0],
                                                                       output);
      return;
    }
  }
  if constexpr (detail::is_blas_product<Space, Join, Monoid, Ts...>()) {
    using Value = typename Signature<Join, Monoid, Ts...>::Value;
    const Value alpha = detail::product_factor<Value>(join);
    const Value beta(write == Write::accumulate ? 1 : 0);
    if (detail::run_product(space, shape, alpha, operands, beta, static_cast<Value*>(output))) {
      return;
    }
  }
  if constexpr (detail::has_packed<Space, Join, Monoid, Ts...>()) {
    if (detail::enough_to_pack(shape)) {
      const detail::PackedShape product = detail::packed_shape_of<Join, Ts...>(shape);
      if (detail::worth_packing(product)) {
        detail::run_packed<Space, Join, Monoid, Ts...>(space, product, join, monoid, operands,
                                                       output, write);
        return;
      }
    }
  }
  if constexpr (detail::has_tiled<Space, Join, Monoid, Ts...>()) {
    const detail::PackedShape product = detail::packed_shape(shape, false);
    if (detail::worth_tiling(product)) {
      detail::run_tiled<detail::device_team_rows, detail::device_team_columns, Space, Join, Monoid,
                        Ts...>(space, shape, product, join, monoid, operands, output, write);
      return;
    }
  }
  detail::run_generic<Space, Join, Monoid, Ts...>(space, shape, join, monoid, operands, output,
                                                  write);
}

/// As Launcher::prepare.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] std::unique_ptr<const PreparedJoin> prepare_join(const LocalEinsum& shape, Join join,
                                                               Monoid monoid) {
  if constexpr (compat::is_synchronous<Space>) {
    if (path_of<Space, Join, Monoid, Ts...>(shape) == Path::direct) {
      return std::make_unique<detail::PreparedGeneric<Space, Join, Monoid, Ts...>>(shape, join,
                                                                                   monoid);
    }
  }
  return nullptr;
}

#ifdef EINDECOMP_SEPARATE_KERNELS
// Compiled in the one translation unit that includes separate_kernels.hpp.
EINDECOMP_USUAL_KERNELS(extern)
#endif

}  // namespace eindecomp::kernel
