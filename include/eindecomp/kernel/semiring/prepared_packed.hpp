// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The packed algorithm: products of two operands over any ⊗ and ⊕, blocked for registers and
/// caches, from and to tensors of any strides.
///
/// Block by block the operands are copied into panels, and tiles of C are accumulated in registers
/// from a panel of each. A tile is one item's, and its blocks of K follow one another, so that
/// results do not depend on the number of threads. (Of few outputs and long K: packed_parts.hpp.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/product_sizes.hpp"
#include "eindecomp/kernel/semiring/dots.hpp"
#include "eindecomp/kernel/semiring/packed_blocks.hpp"
#include "eindecomp/kernel/semiring/packed_parts.hpp"
#include "eindecomp/kernel/semiring/packed_run.hpp"
#include "eindecomp/kernel/semiring/packed_shape.hpp"
#include "eindecomp/kernel/semiring/packed_tile.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether the packed algorithm serves a signature on a space.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool has_packed() {
  return compat::is_synchronous<Space> && packs<Join, Monoid, Ts...>();
}

/// Operands may be exchanged: the tile calls ⊗ with an element of A and one of B.
template <class Join, class A, class B>
inline constexpr bool exchangeable = is_commutative<Join>&& std::is_same_v<Widened<A>, Widened<B>>;

/// The product that a shape is to the packed algorithm of a signature.
template <class Join, class A, class B>
[[nodiscard]] constexpr PackedShape packed_shape_of(const LocalEinsum& shape) {
  PackedShape product = packed_shape(shape, exchangeable<Join, A, B>);
  interleave(product.m, 0);
  interleave(product.n, 1);
  return product;
}

/// Whether the packed algorithm is faster than a loop nest: there is work enough, and every element
/// packed meets many. \param least  rows and columns
[[nodiscard]] constexpr bool worth_packing(const LocalEinsum& shape,
                                           Extent least = tuning::min_packed_side) {
  const ProductSizes sizes = product_sizes(shape);
  return sizes.joins() >= tuning::min_packed_joins && sizes.k >= tuning::min_packed_steps &&
         sizes.m >= least && sizes.n >= least;
}

/// Whether the packed algorithm computes products that a BLAS knows where it is the faster of the
/// two: windows that overlap, which it reads where they lie, and long sums of few outputs, which
/// threads share. The factor of a product would take as long as the product.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool packs_beside_blas() {
  return EINDECOMP_FUSED_MULTIPLY_ADD && std::is_same_v<Join, Mul> &&
         has_packed<Space, Join, Monoid, Ts...>();
}

/// One instantiation per space.
template <class Space>
void run_packed_blocks(const Space& space, PackedRun& run, unsigned char* workspace) {
  const auto workers_of = [threads = std::min<Extent>(compat::host_threads(space), max_owners)](
                              Extent items) { return std::min(threads, items); };
  run.for_each_block(workspace, [&](bool packed) {
    const Extent packers = workers_of(run.packing_items(packed));
    launch(space, "EinDecomp::pack", packers,
           [&](Extent worker) { run.pack(packed, worker, packers); });
    const Extent workers = workers_of(run.tile_items());
    launch_own_first(
        space, "EinDecomp::packed", workers,
        [&](Extent owner) { return run.own_items(owner, workers); },
        [&](Extent owner, Extent number, Extent worker) {
          run.compute(owner, workers, number, worker);
        });
  });
}

/// The same for a product in parts of K. \param count  of them
template <class Space>
void run_packed_parts(const Space& space, const PackedParts& parts, Extent count,
                      unsigned char* workspace) {
  launch_in_turn(space, "EinDecomp::packed parts", count,
                 [&](Extent part, Extent worker) { parts.compute(workspace, part, worker); });
  launch(space, "EinDecomp::merge parts", parts.merging_items(),
         [&](Extent item) { parts.merge(workspace, item); });
}

/// The packed algorithm's code for a signature.
template <class Algebra>
inline constexpr TileCode tile_functions = tile_code<Algebra>();
/// That of operands A and B, which become the algebra's in the panels.
template <class Algebra, class A, class B>
inline constexpr PanelCode panel_functions =
    panel_code<A, B, typename Algebra::State, Algebra::shape.rows, Algebra::shape.columns()>();

/// A product of two operands on the packed algorithm, on a host space.
template <class Space, class Join, class Monoid, class A, class B>
class PreparedPacked final : public PreparedKernel<Space> {
 public:
  /// \param refusal  why the BLAS does not compute it, null if it could not compute any such.
  PreparedPacked(const Space& space, const LocalEinsum& shape, const Join& join,
                 const Monoid& monoid, Write write, const char* refusal)
      : m_shape(packed_shape_of<Join, A, B>(shape)),
        m_blocks(m_shape, Algebra::shape, panels_of(m_shape)),
        m_algebra{join, monoid},
        m_write(write),
        m_workers(compat::host_threads(space)),
        m_refusal(refusal) {}

  /// Why it computes a product that a BLAS knows, too; null where the BLAS is to be asked first.
  /// \param threads  that compute
  [[nodiscard]] static const char* why_not_blas(const LocalEinsum& shape, int threads) {
    if (worth_packing(shape, tuning::min_windows_side) && reads_windows(shape)) {
      return "windows overlap, which the BLAS would have to be given one by one";
    }
    if (threads > 1 && shares_sum(shape, threads)) {
      return "threads share the terms of a long sum, where a BLAS shares out outputs alone";
    }
    return nullptr;
  }

  [[nodiscard]] Algorithm algorithm() const override { return Algorithm::packed; }
  [[nodiscard]] std::int64_t workspace_bytes() const override {
    if (dots()) return 0;
    return m_blocks.parts > 1 ? run_on<PackedParts>(nullptr, nullptr, nullptr).workspace_bytes()
                              : run_on<PackedRun>(nullptr, nullptr, nullptr).workspace_bytes();
  }
  [[nodiscard]] std::string explain(const void* const*, const void*) const override {
    return describe(m_shape, Algorithm::packed, m_refusal) +
           (dots() ? "; contiguous along K, so nothing is packed" : describe_parts());
  }
  void run(const Space& space, const void* const* operands, void* output,
           unsigned char* workspace) const override {
    const void* const a = operands[m_shape.exchanged ? 1 : 0];
    const void* const b = operands[m_shape.exchanged ? 0 : 1];
    if constexpr (has_dots<Join, Monoid, A, B>) {
      if (dots()) {
        run_dots(space, m_shape, static_cast<const A*>(a), static_cast<const B*>(b),
                 static_cast<A*>(output), m_write == Write::accumulate);
        return;
      }
    }
    if (m_blocks.parts > 1) {
      run_packed_parts(space, run_on<PackedParts>(a, b, output), m_blocks.parts, workspace);
      return;
    }
    auto run = run_on<PackedRun>(a, b, output);
    run_packed_blocks(space, run, workspace);
  }

 private:
  using Algebra = TileAlgebra<Join, Monoid, Widened<A>, Widened<B>>;

  /// Whether there are few outputs, and terms enough that every thread has a part of them.
  [[nodiscard]] static bool shares_sum(const LocalEinsum& shape, int threads) {
    const ProductSizes sizes = product_sizes(shape);
    // What a BLAS computes without packing takes it a fraction of the time.
    if (sizes.k < tuning::min_part_steps * tuning::part_unit ||
        static_cast<double>(sizes.joins()) <= tuning::small_gemm || !worth_packing(shape)) {
      return false;
    }
    const auto is_few = [&](Extent side, int operand) {
      bool transposed = false;  // for the panels
      for (int l = 0; l < shape.labels; ++l) {
        transposed = transposed || (shape.aggregated[l] && shape.operand_stride[operand][l] == 1);
      }
      return side <= (transposed ? tuning::max_transposed_side : tuning::max_shared_side);
    };
    if (!is_few(sizes.m, 0) || !is_few(sizes.n, 1)) return false;
    const PackedShape product = packed_shape_of<Join, A, B>(shape);
    return PackedBlocks(product, Algebra::shape, panels_of(product)).parts >= threads;
  }
  [[nodiscard]] std::string describe_parts() const {
    return m_blocks.parts == 1 ? ""
                               : "; K in " + std::to_string(m_blocks.parts) +
                                     " parts, each with an output of its own";
  }
  [[nodiscard]] bool dots() const { return has_dots<Join, Monoid, A, B> && worth_dots(m_shape); }
  [[nodiscard]] static const PanelCode& panels_of(const PackedShape& shape) {
    return shape.exchanged ? panel_functions<Algebra, B, A> : panel_functions<Algebra, A, B>;
  }

  template <class Run>
  [[nodiscard]] Run run_on(const void* a, const void* b, void* c) const {
    return Run({m_shape, m_blocks, tile_functions<Algebra>, panels_of(m_shape), &m_algebra, a, b, c,
                m_write, m_workers});
  }

  PackedShape m_shape;
  PackedBlocks m_blocks;
  Algebra m_algebra;
  Write m_write;
  int m_workers;
  const char* m_refusal;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
