// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The one place that decides which code computes a kernel call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/blas/product_path.hpp"
#include "eindecomp/kernel/compiled_kernels.hpp"
#include "eindecomp/kernel/copy/path.hpp"
#include "eindecomp/kernel/generic/path.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/path.hpp"
#include "eindecomp/kernel/semiring/packed_path.hpp"
#include "eindecomp/kernel/semiring/tiled_path.hpp"
#include "eindecomp/kernel/separate/usual_kernels.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/workspace.hpp"

namespace eindecomp::kernel {
namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// What the functions of the same name below do, compiled here.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] Path path_here(const LocalEinsum& shape) {
  if constexpr (has_copy<Join, Monoid, Ts...>()) {
    if (aggregates_nothing(shape)) return Path::copy;
  }
  if constexpr (is_blas_product<Space, Join, Monoid, Ts...>()) {
    using Value = typename Signature<Join, Monoid, Ts...>::Value;
    const Path path = choose_product<Value>(Space(), shape, false).path;
    if (path != Path::direct) return path;
  }
  if constexpr (has_packed<Space, Join, Monoid, Ts...>()) {
    if (enough_to_pack(shape) && worth_packing(packed_shape_of<Join, Ts...>(shape))) {
      return Path::packed;
    }
  }
  if constexpr (has_tiled<Space, Join, Monoid, Ts...>()) {
    if (worth_tiling(packed_shape(shape, false))) return Path::tiled;
  }
  constexpr int operands = static_cast<int>(sizeof...(Ts));
  return JoinSchedule<operands>(shape, join_tuning<Space>()).path();
}

template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] std::int64_t workspace_here(const Space& space, const LocalEinsum& shape) {
  using Sig = Signature<Join, Monoid, Ts...>;
  if constexpr (has_copy<Join, Monoid, Ts...>()) {
    if (aggregates_nothing(shape)) return 0;
  }
  const auto without_blas = [&shape]() -> std::int64_t {
    if constexpr (has_packed<Space, Join, Monoid, Ts...>()) {
      if (enough_to_pack(shape)) {
        const PackedShape product = packed_shape_of<Join, Ts...>(shape);
        if (worth_packing(product)) {
          return packed_workspace<Join, Monoid, Ts...>(product);
        }
      }
    }
    if constexpr (has_tiled<Space, Join, Monoid, Ts...>()) {
      if (worth_tiling(packed_shape(shape, false))) return 0;
    }
    const JoinSchedule<Sig::operands> schedule(shape, join_tuning<Space>());
    return schedule.parts > 1 ? schedule.partials() * std::int64_t{sizeof(typename Sig::State)} : 0;
  };
  if constexpr (is_blas_product<Space, Join, Monoid, Ts...>()) {
    using Value = typename Sig::Value;
    std::int64_t most = 0;
    for (const bool accumulate : {false, true}) {
      const ProductChoice choice = choose_product<Value>(space, shape, accumulate);
      if (choice.path == Path::direct) {
        most = std::max(most, without_blas());
      } else if (choice.path == Path::blocks) {
        const auto [items, elements] = BlockWorkspace::of<Value>(space, choice.blocks);
        most = std::max(most, items * elements * std::int64_t{sizeof(Value)});
      }
    }
    return most;
  } else {
    return without_blas();
  }
}

template <class Space, class Join, class Monoid, class... Ts>
void join_here(const Space& space, const LocalEinsum& shape, Join join, Monoid monoid,
               const void* const* operands, void* output, Write write) {
  if constexpr (has_copy<Join, Monoid, Ts...>()) {
    if (write != Write::accumulate && aggregates_nothing(shape)) {
      run_copy<typename Signature<Join, Monoid, Ts...>::Value>(space, shape, operands[0], output);
      return;
    }
  }
  if constexpr (is_blas_product<Space, Join, Monoid, Ts...>()) {
    using Value = typename Signature<Join, Monoid, Ts...>::Value;
    const Value alpha = product_factor<Value>(join);
    const Value beta(write == Write::accumulate ? 1 : 0);
    if (run_product(space, shape, alpha, operands, beta, static_cast<Value*>(output))) {
      return;
    }
  }
  if constexpr (has_packed<Space, Join, Monoid, Ts...>()) {
    if (enough_to_pack(shape)) {
      const PackedShape product = packed_shape_of<Join, Ts...>(shape);
      if (worth_packing(product)) {
        run_packed<Space, Join, Monoid, Ts...>(space, product, join, monoid, operands, output,
                                               write);
        return;
      }
    }
  }
  if constexpr (has_tiled<Space, Join, Monoid, Ts...>()) {
    const PackedShape product = packed_shape(shape, false);
    if (worth_tiling(product)) {
      run_tiled<device_team_rows, device_team_columns, Space, Join, Monoid, Ts...>(
          space, shape, product, join, monoid, operands, output, write);
      return;
    }
  }
  run_generic<Space, Join, Monoid, Ts...>(space, shape, join, monoid, operands, output, write);
}

/// As Launcher::prepare.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] std::unique_ptr<const PreparedJoin> prepare_here(const LocalEinsum& shape, Join join,
                                                               Monoid monoid) {
  if constexpr (compat::is_synchronous<Space>) {
    if (path_here<Space, Join, Monoid, Ts...>(shape) == Path::direct) {
      return std::make_unique<PreparedGeneric<Space, Join, Monoid, Ts...>>(shape, join, monoid);
    }
  }
  return nullptr;
}

/// output = beta·output + Σ join(operands) for a join that is a product with a factor.
template <class Space, class T, class... Ts>
void scaled_here(const Space& space, const LocalEinsum& shape, ScaledMul<T> product, T beta,
                 const void* const* operands, void* output) {
  if constexpr (is_blas_product<Space, ScaledMul<T>, Sum, Ts...>()) {
    if (run_product(space, shape, product.factor, operands, beta, static_cast<T*>(output))) return;
  }
  // Taken before the output is scaled, so that a failure leaves it as it was.
  compat::Scratch<Space> own;
  unsigned char* workspace = nullptr;
  const auto bytes =
      static_cast<std::size_t>(workspace_here<Space, ScaledMul<T>, Sum, Ts...>(space, shape));
  if (bytes > 0) workspace = take_workspace(space, "EinDecomp::workspace", bytes, own);
  const ScopedWorkspace<Space> scope(workspace, bytes);
  if (beta != T(0) && beta != T(1)) {
    LocalEinsum of_output;
    of_output.operands = 1;
    for (int l = 0; l < shape.labels; ++l) {
      if (shape.aggregated[l]) continue;
      of_output.extent[of_output.labels] = shape.extent[l];
      of_output.operand_stride[0][of_output.labels] = shape.output_stride[l];
      of_output.output_stride[of_output.labels++] = shape.output_stride[l];
    }
    const void* const itself[] = {output};
    join_here<Space, ScaledMul<T>, NoAggregation, T>(space, of_output, {beta}, {}, itself, output,
                                                     Write::finished);
  }
  const Write write = beta == T(0) ? Write::finished : Write::accumulate;
  join_here<Space, ScaledMul<T>, Sum, Ts...>(space, shape, product, {}, operands, output, write);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace detail

inline namespace EINDECOMP_INSTRUCTION_SET {

/// The code that run_join takes for a shape, unless it accumulates.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] Path path_of(const LocalEinsum& shape) {
  if constexpr (is_compiled<Space, Join, Monoid, Ts...>) {
    return CompiledKernels<Space, Join, Monoid, Ts...>::get().path_of(shape);
  } else {
    return detail::path_here<Space, Join, Monoid, Ts...>(shape);
  }
}

/// The bytes that run_join takes for itself for a shape, whether it accumulates or not.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] std::int64_t workspace_of(const Space& space, const LocalEinsum& shape) {
  if constexpr (is_compiled<Space, Join, Monoid, Ts...>) {
    return CompiledKernels<Space, Join, Monoid, Ts...>::get().workspace_of(space, shape);
  } else {
    return detail::workspace_here<Space, Join, Monoid, Ts...>(space, shape);
  }
}

/// output = ⊕ ⊗(operands), as Launcher::join. Launches on `space` and does not fence.
template <class Space, class Join, class Monoid, class... Ts>
void run_join(const Space& space, const LocalEinsum& shape, Join join, Monoid monoid,
              const void* const* operands, void* output, Write write) {
  if constexpr (is_compiled<Space, Join, Monoid, Ts...>) {
    CompiledKernels<Space, Join, Monoid, Ts...>::get().run_join(space, shape, join, monoid,
                                                                operands, output, write);
  } else {
    detail::join_here<Space, Join, Monoid, Ts...>(space, shape, join, monoid, operands, output,
                                                  write);
  }
}

/// output = beta·output + Σ product(operands), as run_join otherwise.
template <class Space, class T, class... Ts>
void run_scaled(const Space& space, const LocalEinsum& shape, ScaledMul<T> product, T beta,
                const void* const* operands, void* output) {
  if constexpr (is_compiled<Space, ScaledMul<T>, Sum, Ts...>) {
    CompiledKernels<Space, ScaledMul<T>, Sum, Ts...>::get().run_scaled(space, shape, product, beta,
                                                                       operands, output);
  } else {
    detail::scaled_here<Space, T, Ts...>(space, shape, product, beta, operands, output);
  }
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel
