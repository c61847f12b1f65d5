// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The packed path: products of two operands over any ⊗ and ⊕, blocked for registers and caches,
/// from and to tensors of any strides.
///
/// Block by block the operands are copied into panels, and tiles of C are accumulated in registers
/// from a panel of each. A tile is one item's, and its blocks of K follow one another, so that
/// results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/algebra.hpp"
#include "eindecomp/expr/monoid.hpp"
#include "eindecomp/kernel/launch.hpp"
#include "eindecomp/kernel/semiring/packed_blocks.hpp"
#include "eindecomp/kernel/semiring/packed_run.hpp"
#include "eindecomp/kernel/semiring/packed_shape.hpp"
#include "eindecomp/kernel/semiring/packed_tile.hpp"
#include "eindecomp/kernel/workspace.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Whether the packed path serves a signature on a space.
template <class Space, class Join, class Monoid, class... Ts>
[[nodiscard]] constexpr bool has_packed() {
  return compat::is_synchronous<Space> && packs<Join, Monoid, Ts...>();
}

// Below these the generic path is at least as fast.
inline constexpr Extent least_packed_joins = 4096;
inline constexpr Extent least_packed_steps = 4;
inline constexpr Extent least_packed_rows = 4;
inline constexpr Extent least_packed_columns = 4;

/// Operands may be exchanged: the tile calls ⊗ with an element of A and one of B.
template <class Join, class A, class B>
inline constexpr bool exchangeable = is_commutative<Join>&& std::is_same_v<A, B>;

/// The product that a shape is to the packed path of a signature.
template <class Join, class A, class B>
[[nodiscard]] constexpr PackedShape packed_shape_of(const LocalEinsum& shape) {
  PackedShape product = packed_shape(shape, exchangeable<Join, A, B>);
  interleave(product.m, 0);
  interleave(product.n, 1);
  return product;
}

/// What the packed path does for a product of a signature.
template <class Join, class Monoid, class A, class B>
[[nodiscard]] constexpr PackedWork packed_work_of(const PackedShape& shape) {
  using Algebra = TileAlgebra<Join, Monoid, A, B>;
  constexpr TileShape tile = Algebra::shape;
  return packed_work(shape, tile,
                     panel_code<A, B, typename Algebra::State, tile.rows, tile.columns()>());
}

/// Whether a shape has work enough for the packed path: a quick look before the close one.
[[nodiscard]] constexpr bool enough_to_pack(const LocalEinsum& shape) {
  Extent outputs = 1;
  Extent steps = 1;
  for (int l = 0; l < shape.labels; ++l) {
    (shape.aggregated[l] ? steps : outputs) *= shape.extent[l];
  }
  return steps >= least_packed_steps && outputs * steps >= least_packed_joins;
}

/// Whether the packed path is faster than the generic one for a shape with work enough: every
/// element packed meets many.
[[nodiscard]] constexpr bool worth_packing(const PackedShape& product) {
  return product.rows >= least_packed_rows && product.columns >= least_packed_columns;
}

/// One instantiation per space.
template <class Space>
void run_packed_blocks(const Space& space, PackedRun& run) {
  compat::Scratch<Space> own;
  unsigned char* const workspace = take_workspace(
      space, "EinDecomp::packed scratch", static_cast<std::size_t>(run.workspace_bytes()), own);
  run.for_each_block(workspace, [&](Extent packed) {
    launch(space, "EinDecomp::pack", run.packing_items() - packed,
           [&](Extent item) { run.pack(packed + item); });
    launch_in_turn(space, "EinDecomp::packed", run.tile_items(),
                   [&](Extent item) { run.compute(item); });
  });
}

/// The packed path's code for a signature.
template <class Algebra>
inline constexpr TileCode tile_functions = tile_code<Algebra>();
template <class Algebra>
inline constexpr PanelCode panel_functions =
    panel_code<typename Algebra::A, typename Algebra::B, typename Algebra::State,
               Algebra::shape.rows, Algebra::shape.columns()>();

/// The bytes that run_packed takes for itself, at most packed_workspace_bytes.
template <class Join, class Monoid, class A, class B>
[[nodiscard]] Extent packed_workspace(const PackedShape& shape) {
  using Algebra = TileAlgebra<Join, Monoid, A, B>;
  return PackedRun(shape, tile_functions<Algebra>, panel_functions<Algebra>, nullptr, nullptr,
                   nullptr, nullptr, Write::finished)
      .workspace_bytes();
}

/// Runs a product on the packed path. Launches on `space`, which is a host space, and does not
/// fence.
template <class Space, class Join, class Monoid, class A, class B>
void run_packed(const Space& space, const PackedShape& shape, const Join& join,
                const Monoid& monoid, const void* const* operands, void* output, Write write) {
  using Algebra = TileAlgebra<Join, Monoid, A, B>;
  const Algebra algebra{join, monoid};
  PackedRun run(shape, tile_functions<Algebra>, panel_functions<Algebra>, &algebra,
                operands[shape.exchanged ? 1 : 0], operands[shape.exchanged ? 0 : 1], output,
                write);
  run_packed_blocks(space, run);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
