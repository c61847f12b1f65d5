// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Computes a contraction block by block: transposes into a workspace what the BLAS cannot take
/// where it lies, multiplies, transposes back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/blas/binding.hpp"
#include "eindecomp/kernel/blas/block_plan.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/launch.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// C = alpha·A·B + beta·C, the tensors in the plan's order.
template <class T, class Space>
struct BlockProduct {
  const BlockPlan& plan;
  T alpha;
  T beta;
  const T* a;
  const T* b;
  T* c;
  StorePolicy output_policy;  ///< how what was put apart is written to C
  const Space* together;      ///< whose threads share the work on a block; null: it is one thread's

  /// The tiles of blocks that are computed one after another, and which of the operands' they hold.
  struct Workspace {
    T* tile[3]{};
    Extent held[2]{-1, -1};
  };

  /// \param elements plan.elements() of them.
  [[nodiscard]] Workspace workspace(T* elements) const {
    Workspace space;
    for (int t = 0; t < 3; ++t) {
      space.tile[t] = elements;
      elements += plan.elements(t);
    }
    return space;
  }

  /// Computes one block.
  EINDECOMP_COMPACT void run(Extent block, Workspace& space) const {
    const Extent n_tile = block % plan.n.tiles;
    const Extent m_tile = block / plan.n.tiles % plan.m.tiles;
    const Extent b_tile = block / plan.n.tiles / plan.m.tiles;
    const Tile batch(plan.batch, b_tile);
    const Tile m(plan.m, m_tile);
    const Tile n(plan.n, n_tile);
    T* const output = c + batch.at.offset[2] + m.at.offset[2] + n.at.offset[2];
    const bool apart = plan.matrix[2].packed;
    if (apart && beta != T(0))
      copy(tile_nest(2, m, n, batch), space.tile[2], output, StorePolicy::cached);
    for (Extent k_tile = 0; k_tile < plan.k.tiles; ++k_tile) {
      const Tile k(plan.k, k_tile);
      const T* left = a + batch.at.offset[0] + m.at.offset[0] + k.at.offset[0];
      const T* right = b + batch.at.offset[1] + n.at.offset[1] + k.at.offset[1];
      hold(0, (b_tile * plan.m.tiles + m_tile) * plan.k.tiles + k_tile, m, k, batch, left, space);
      hold(1, (b_tile * plan.n.tiles + n_tile) * plan.k.tiles + k_tile, k, n, batch, right, space);
      multiply(m, n, k, batch, left, right, apart ? space.tile[2] : output,
               k_tile == 0 ? beta : T(1));
    }
    if (apart) {
      copy(reversed(tile_nest(2, m, n, batch)), output, space.tile[2], output_policy);
    }
  }

 private:
  /// A tile's place and the loops inside it.
  struct Tile {
    Cursor<3> at;
    LoopNest<3> inside;
    EINDECOMP_COMPACT Tile(const TiledNest& tiled, Extent number) {
      at.seek(tiled.grid(), number);
      inside = tiled.inside(at.coordinate);
    }
  };

  /// The loops of a tensor's tile: tensor 0 of the nest is the workspace, tensor 1 the tensor.
  EINDECOMP_COMPACT [[nodiscard]] CopyNest tile_nest(int tensor, const Tile& rows,
                                                     const Tile& columns, const Tile& batch) const {
    CopyNest nest;
    Extent step = 1;
    const bool transposed = plan.matrix[tensor].transposed;
    const Tile* const order[] = {transposed ? &columns : &rows, transposed ? &rows : &columns,
                                 &batch};
    for (const Tile* tile : order) {
      const LoopNest<3>& loops = tile->inside;
      for (int l = 0; l < loops.loops; ++l) {
        if (loops.extent[l] == 1) continue;
        nest.push(loops.extent[l], {step, loops.stride[tensor][l]});
        step *= loops.extent[l];
      }
    }
    return nest;
  }
  EINDECOMP_COMPACT void copy(const CopyNest& nest, T* into, const T* from,
                              StorePolicy policy) const {
    if (together != nullptr) {
      copy_nest<T>(*together, "EinDecomp::transpose", nest, policy, into, from);
    } else {
      copy_nest<T>(nest, policy, into, from);
    }
  }
  [[nodiscard]] static CopyNest reversed(CopyNest nest) {
    std::swap(nest.stride[0], nest.stride[1]);
    return nest;
  }

  /// Sees to it that an operand's tile is where the BLAS takes it, which is where `from` points to
  /// then.
  EINDECOMP_COMPACT void hold(int tensor, Extent number, const Tile& rows, const Tile& columns,
                              const Tile& batch, const T*& from, Workspace& space) const {
    if (!plan.matrix[tensor].packed) return;
    if (space.held[tensor] != number) {
      copy(tile_nest(tensor, rows, columns, batch), space.tile[tensor], from, StorePolicy::cached);
      space.held[tensor] = number;
    }
    from = space.tile[tensor];
  }

  EINDECOMP_COMPACT void multiply(const Tile& m, const Tile& n, const Tile& k, const Tile& batch,
                                  const T* left, const T* right, T* output, T its_beta) const {
    const Extent rows = m.inside.size();
    const Extent columns = n.inside.size();
    const Extent terms = k.inside.size();
    // The stored matrix of a tensor; `data` is of the first entry.
    const auto matrix = [&]<class U>(int tensor, U* data, Extent its_rows, Extent its_columns) {
      const BlockMatrix& stored = plan.matrix[tensor];
      if (stored.transposed) std::swap(its_rows, its_columns);
      return blas::Matrix<U>{data, its_rows, its_columns,
                             stored.packed ? its_rows : stored.leading};
    };
    blas::Matrix<const T> of_left = matrix(0, left, rows, terms);
    blas::Matrix<const T> of_right = matrix(1, right, terms, columns);
    blas::Matrix<T> of_output = matrix(2, output, rows, columns);
    const Extent entries = batch.inside.size();
    Cursor<3> entry;
    entry.seek(batch.inside, 0);
    for (Extent i = 0; i < entries; ++i, entry.advance(batch.inside)) {
      const auto offset = [&](int tensor, Extent size) {
        return plan.matrix[tensor].packed ? i * size : entry.offset[tensor];
      };
      of_left.data = left + offset(0, rows * terms);
      of_right.data = right + offset(1, terms * columns);
      of_output.data = output + offset(2, rows * columns);
      blas::host_gemm(plan.matrix[0].transposed, plan.matrix[1].transposed, alpha, of_left,
                      of_right, its_beta, of_output);
    }
  }
};

/// Item = the blocks of one thread, which follow one another.
template <class T, class Space>
struct BlocksOfThread {
  const BlockProduct<T, Space>* product;
  T* workspaces;
  Extent elements;  ///< of one of them
  Extent items;

  void operator()(const Extent item) const {
    const Extent blocks = product->plan.blocks();
    auto workspace = product->workspace(workspaces + item * elements);
    for (Extent block = item * blocks / items; block < (item + 1) * blocks / items; ++block) {
      product->run(block, workspace);
    }
  }
};

/// How a plan's workspace is cut up: one piece per item of parallel work.
struct BlockWorkspace {
  Extent items = 1;
  Extent elements = 0;  ///< of a piece

  BlockWorkspace() = default;
  BlockWorkspace(const BlockPlan& plan, int threads, Extent element_bytes) {
    if (plan.one_thread) items = std::min<Extent>(threads, plan.blocks());
    // Pieces of different threads share no line of memory.
    const Extent line = 64 / element_bytes;
    elements = ceil_div(plan.elements(), line) * line;
  }
};

/// How what a plan puts apart is written to C.
[[nodiscard]] inline StorePolicy output_policy(const BlockPlan& plan, Extent element_bytes) {
  return store_policy(plan.batch.size * plan.m.size * plan.n.size * element_bytes);
}

/// C = alpha·A·B + beta·C block by block, on a host space.
/// \param workspace  cut up as `pieces` says; null where these have no elements.
template <class T, class Space>
EINDECOMP_COMPACT void run_blocks(const Space& space, const BlockPlan& plan,
                                  const BlockWorkspace& pieces, T alpha,
                                  const void* const* operands, T beta, T* output, T* workspace) {
  const compat::ScopedRegion region("EinDecomp::blocks");
  const int left = plan.swapped ? 1 : 0;
  const BlockProduct<T, Space> product{plan,
                                       alpha,
                                       beta,
                                       static_cast<const T*>(operands[left]),
                                       static_cast<const T*>(operands[1 - left]),
                                       output,
                                       output_policy(plan, static_cast<Extent>(sizeof(T))),
                                       plan.one_thread ? nullptr : &space};
  if (plan.one_thread) {
    launch(space, "EinDecomp::blocks", pieces.items,
           BlocksOfThread<T, Space>{&product, workspace, pieces.elements, pieces.items});
    return;
  }
  auto tiles = product.workspace(workspace);
  const Extent blocks = plan.blocks();
  for (Extent block = 0; block < blocks; ++block) product.run(block, tiles);
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
