// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The one place that chooses the algorithm of a kernel call, and what is done with the one chosen.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/make_as.hpp"
#include "eindecomp/kernel/blas/gemm_calls.hpp"
#include "eindecomp/kernel/blas/prepared_product.hpp"
#include "eindecomp/kernel/compiled_kernels.hpp"
#include "eindecomp/kernel/copy/prepared_copy.hpp"
#include "eindecomp/kernel/generic/crossed_map.hpp"
#include "eindecomp/kernel/generic/interleaved_batch.hpp"
#include "eindecomp/kernel/generic/map_lanes.hpp"
#include "eindecomp/kernel/generic/prepared_loops.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/lookup/device_lookup.hpp"
#include "eindecomp/kernel/lookup/prepared_lookup.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/scan/prepared_scan.hpp"
#include "eindecomp/kernel/semiring/prepared_packed.hpp"
#include "eindecomp/kernel/semiring/prepared_tiled.hpp"
#include "eindecomp/kernel/separate/usual_kernels.hpp"
#include "eindecomp/kernel/signature.hpp"
#include "eindecomp/kernel/tuning.hpp"
#include "eindecomp/kernel/workspace.hpp"

namespace eindecomp::kernel {
namespace detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Chooses the algorithm for a shape, makes it ready on the stack and returns use(it), a
/// PreparedKernel of its own type: what is run at once allocates nothing, and what is kept is
/// moved.
template <class Space, class Join, class Monoid, class... Ts, class Use>
decltype(auto) with_kernel(const Space& space, const LocalEinsum& shape, const Join& join,
                           const Monoid& monoid, Write write, const Use& use) {
  if constexpr (expr::index_tensors < Join >> 0) {
    using Lookup = std::conditional_t<compat::is_synchronous<Space>,
                                      PreparedLookup<Space, Join, Monoid, Ts...>,
                                      PreparedDeviceLookup<Space, Join, Monoid, Ts...>>;
    Lookup lookup(space, shape, join, monoid, write);
    return use(lookup);
  } else {
    using Value = typename Signature<Join, Monoid, Ts...>::Value;
    if constexpr (has_scan<Join, Monoid, Ts...>()) {
      if (shape.scan.along >= 0) {
        PreparedScan<Space, Monoid, Ts...> scan(space, shape, monoid, write);
        return use(scan);
      }
    }
    if constexpr (has_copy<Join, Monoid, Ts...>()) {
      if (write != Write::accumulate && aggregates_nothing(shape)) {
        PreparedCopy<Space, Value> copy(shape);
        return use(copy);
      }
    }
    const char* refusal = nullptr;
    bool packs = false;  // although a BLAS knows it
    if constexpr (is_blas_product<Space, Join, Monoid, Ts...>()) {
      if constexpr (packs_beside_blas<Space, Join, Monoid, Ts...>()) {
        using Packed = PreparedPacked<Space, Join, Monoid, Ts...>;
        refusal = Packed::why_not_blas(shape, compat::host_threads(space));
        packs = refusal != nullptr;
      }
      if (!packs) {
        refusal = "too small for a call of the BLAS";
        const Value factor = product_factor<Value>(join);
        if (factor == Value(0)) {
          // 0 times an infinity is not a number.
          refusal = "a BLAS does not read what it multiplies by 0";
        } else if (all_joins(shape) >= machine_rates.min_gemv) {
          const Value beta(write == Write::accumulate ? 1 : 0);
          PreparedProduct<Space, Value> product(space, shape, factor, beta);
          if (product.worthwhile()) return use(product);
          refusal = product.reason();
        }
      }
    }
    if constexpr (has_interleaved<Space, Join, Monoid, Ts...>()) {
      using Batch = InterleavedBatch<static_cast<int>(sizeof...(Ts))>;
      if (Batch::has_long_label(shape)) {
        const Batch batch(shape, sizeof(Value));
        if (batch.applies()) {
          PreparedInterleaved<Space, Join, Monoid, Ts...> interleaved(space, batch, join, monoid,
                                                                      write, refusal);
          return use(interleaved);
        }
      }
    }
    if constexpr (has_packed<Space, Join, Monoid, Ts...>()) {
      if (packs || worth_packing(shape)) {
        PreparedPacked<Space, Join, Monoid, Ts...> packed(space, shape, join, monoid, write,
                                                          refusal);
        return use(packed);
      }
    }
    if constexpr (has_tiled<Space, Join, Monoid, Ts...>()) {
      const PackedShape product = packed_shape(shape, false);
      if (worth_tiling(product)) {
        PreparedTiled<tuning::device_team_rows, tuning::device_team_columns, Space, Join, Monoid,
                      Ts...>
            tiled(shape, product, join, monoid, write, refusal);
        return use(tiled);
      }
    }
    if constexpr (has_crossed<Space, Join, Monoid, Ts...>()) {
      const CrossedMap<static_cast<int>(sizeof...(Ts))> map(shape);
      if (map.applies()) {
        PreparedCrossed<Space, Join, Monoid, Ts...> crossed(space, map, join, monoid, write);
        return use(crossed);
      }
    }
    PreparedLoops<Space, Join, Monoid, Ts...> loops(space, shape, join, monoid, write, refusal);
    return use(loops);
  }
}

/// Runs a kernel in the workspace that is given, or else one of its own. \param before  is called
///   once there is one.
/// \throws Error, without a place, if there is not enough memory; the output is as it was.
template <class Space, class Kernel, class Before>
void run_in_workspace(const Space& space, const Kernel& kernel, const void* const* operands,
                      void* output, const Before& before) {
  Scratch<Space> own;
  unsigned char* workspace = nullptr;
  if (const auto bytes = static_cast<std::size_t>(kernel.workspace_bytes()); bytes > 0) {
    workspace = take_workspace(space, "EinDecomp::workspace", bytes, own);
  }
  before();
  kernel.run(space, operands, output, workspace);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace detail

inline namespace EINDECOMP_INSTRUCTION_SET {

/// The kernels of a signature as this translation unit compiles them.
template <class Space, class Join, class Monoid, class... Ts>
struct KernelsHere {
  /// What ⊗ gives.
  using Value = typename Signature<Join, Monoid, Ts...>::Value;
  /// A kernel call made ready.
  using Prepared = std::unique_ptr<const PreparedKernel<Space>>;

  /// As Launcher::prepare.
  [[nodiscard]] static Prepared prepare(const Space& space, const LocalEinsum& shape, Join join,
                                        Monoid monoid, Write write) {
    if (shape.ends.label >= 0) return prepare_with_ends(space, shape, join, monoid, write);
    return detail::with_kernel<Space, Join, Monoid, Ts...>(
        space, shape, join, monoid, write, []<class Kernel>(Kernel& kernel) -> Prepared {
          return core::make_unique_as<PreparedKernel<Space>, Kernel>(std::move(kernel));
        });
  }

  /// The same run once, in the workspace that is given or else one of its own.
  static void run(const Space& space, const LocalEinsum& shape, Join join, Monoid monoid,
                  const void* const* operands, void* output, Write write) {
    detail::with_kernel<Space, Join, Monoid, Ts...>(
        space, shape, join, monoid, write, [&](const auto& kernel) {
          detail::run_in_workspace(space, kernel, operands, output, [] {});
        });
  }

  /// output = beta·output + Σ product(operands), once, where ⊗ is a product with a factor.
  static void run_scaled(const Space& space, const LocalEinsum& shape, Join product, Value beta,
                         const void* const* operands, void* output) {
    const Write write = beta == Value(0) ? Write::finished : Write::accumulate;
    detail::with_kernel<Space, Join, Monoid, Ts...>(
        space, shape, product, Monoid{}, write, [&]<class Kernel>(Kernel& kernel) {
          constexpr bool scales = std::is_same_v<Kernel, detail::PreparedProduct<Space, Value>>;
          if constexpr (scales) kernel.set_beta(beta);
          detail::run_in_workspace(space, kernel, operands, output, [&] {
            if constexpr (!scales) {
              if (beta != Value(0) && beta != Value(1)) scale_output(space, shape, beta, output);
            }
          });
        });
  }

 private:
  static Prepared prepare_with_ends(const Space& space, const LocalEinsum& shape, const Join& join,
                                    const Monoid& monoid, Write write) {
    if constexpr (detail::maps_many<Join, Monoid, Ts...>()) {
      using Loops = detail::PreparedLoops<Space, Join, Monoid, Ts...>;
      Loops loops(space, shape, join, monoid, write, nullptr);
      if (loops.takes_ends(shape)) {
        return core::make_unique_as<PreparedKernel<Space>, Loops>(std::move(loops));
      }
    }
    return nullptr;
  }
  static void scale_output(const Space& space, const LocalEinsum& shape, Value beta, void* output) {
    LocalEinsum of_output;
    of_output.operands = 1;
    for (int l = 0; l < shape.labels; ++l) {
      if (shape.aggregated[l]) continue;
      of_output.extent[of_output.labels] = shape.extent[l];
      of_output.operand_stride[0][of_output.labels] = shape.output_stride[l];
      of_output.output_stride[of_output.labels++] = shape.output_stride[l];
    }
    const void* const itself[] = {output};
    KernelsHere<Space, Join, NoAggregation, Value>::run(space, of_output, {beta}, {}, itself,
                                                        output, Write::finished);
  }
};

/// The kernels of a signature, wherever they are compiled.
template <class Space, class Join, class Monoid, class... Ts>
decltype(auto) kernels_of() {
  if constexpr (is_compiled<Space, Join, Monoid, Ts...>) {
    return CompiledKernels<Space, Join, Monoid, Ts...>::get();
  } else {
    return KernelsHere<Space, Join, Monoid, Ts...>();
  }
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel
