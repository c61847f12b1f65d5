// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The blocks of a contraction that are predicted to take the least time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "eindecomp/core/config.hpp"
#include "eindecomp/kernel/blas/block_plan.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {
namespace block_detail {

/// Tiles of about `wanted` positions: of the first loop at most `of_first`, of the others what is
/// left.
EINDECOMP_COMPACT [[nodiscard]] constexpr Tiles tile_in_order(const LoopNest<3>& nest,
                                                              Extent wanted, Extent of_first) {
  Extent tile[max_labels]{};
  Extent left = std::max<Extent>(wanted, 1);
  for (int l = 0; l < nest.loops; ++l) {
    const Extent most = std::min(nest.extent[l], l == 0 ? std::min(left, of_first) : left);
    tile[l] = even_piece(nest.extent[l], most);
    left = std::max<Extent>(1, left / tile[l]);
  }
  return Tiles(nest, tile);
}

/// Tiles of the loops, in order, that one stride of a tensor walks.
EINDECOMP_COMPACT [[nodiscard]] constexpr Tiles tile_one_stride(const LoopNest<3>& nest,
                                                                Extent wanted, int tensor) {
  Extent tile[max_labels]{};
  Extent left = std::max<Extent>(wanted, 1);
  bool one = true;
  for (int l = 0; l < nest.loops; ++l) {
    one = one &&
          (l == 0 || (tile[l - 1] == nest.extent[l - 1] &&
                      nest.stride[tensor][l] == nest.stride[tensor][l - 1] * nest.extent[l - 1]));
    tile[l] = one ? even_piece(nest.extent[l], std::min(nest.extent[l], left)) : 1;
    left = std::max<Extent>(1, left / tile[l]);
  }
  return Tiles(nest, tile);
}

[[nodiscard]] constexpr int fastest(const LoopNest<3>& nest, int tensor) {
  int least = 0;
  for (int l = 1; l < nest.loops; ++l) {
    if (nest.stride[tensor][l] < nest.stride[tensor][least]) least = l;
  }
  return least;
}

/// A nest in the orders that tiles are cut in: by the strides of each of the two tensors that have
/// its labels, and with the fastest loops of both in front.
struct Orders {
  LoopNest<3> order[3];
  int orders = 0;
  int tensor[2];

  EINDECOMP_COMPACT constexpr Orders(const LoopNest<3>& nest, int one, int other)
      : tensor{one, other} {
    order[orders++] = nest;
    if (nest.loops < 2) return;
    order[0].sort_by(one);
    order[orders] = nest;
    order[orders++].sort_by(other);
    const int second = fastest(order[0], other);
    if (second == 0) return;
    LoopNest<3>& both = order[orders++];
    both = order[0];
    both.make_fastest(second);
    both.swap_loops(0, 1);
  }
};

/// The ways to cut one nest that are worth a try.
struct Cuts {
  const LoopNest<3>* nest[5]{};  ///< in the order of that way
  Tiles tiles[5];
  int ways = 0;

  EINDECOMP_COMPACT constexpr Cuts(const Orders& orders, Extent wanted) {
    const auto add = [this](const LoopNest<3>& order, const Tiles& cut) {
      nest[ways] = &order;
      tiles[ways++] = cut;
    };
    const LoopNest<3>* const order = orders.order;
    add(order[0], tile_in_order(order[0], wanted, wanted));
    if (orders.orders == 1) return;
    for (int i = 0; i < 2; ++i) {
      if (i == 1) add(order[1], tile_in_order(order[1], wanted, wanted));
      const Tiles one_stride = tile_one_stride(order[i], wanted, orders.tensor[i]);
      if (one_stride.in_tile != tiles[ways - 1].in_tile) add(order[i], one_stride);
    }
    if (orders.orders == 2) return;
    // Long along the fastest loops of both.
    const Extent root = static_cast<Extent>(std::sqrt(static_cast<double>(wanted)));
    const Extent of_second = std::max<Extent>(1, std::min(order[2].extent[1], root));
    add(order[2], tile_in_order(order[2], wanted, std::max<Extent>(1, wanted / of_second)));
  }
};

[[nodiscard]] constexpr Extent min_stride(const LoopNest<3>& nest, int tensor) {
  Extent least = std::numeric_limits<Extent>::max();
  for (int l = 0; l < nest.loops; ++l) least = std::min(least, nest.stride[tensor][l]);
  return least;
}

/// How many entries of the batch a block takes: several where a tensor is contiguous along it.
EINDECOMP_COMPACT [[nodiscard]] constexpr TiledNest tiled_batch(const LoopNest<3>& batch,
                                                                Extent line) {
  TiledNest tiled;
  tiled.nest = batch;
  Extent wanted = 1;
  for (int l = 0; l < batch.loops && wanted == 1; ++l) {
    if (batch.stride[0][l] != 1 && batch.stride[1][l] != 1 && batch.stride[2][l] != 1) continue;
    tiled.nest.make_fastest(l);
    wanted = std::min(batch.extent[l], line);
  }
  static_cast<Tiles&>(tiled) = tile_in_order(tiled.nest, wanted, line);
  return tiled;
}

/// Rows, columns and terms of a block whose tiles take up `budget` elements.
struct BlockSize {
  Extent m;
  Extent n;
  Extent k;
};
EINDECOMP_COMPACT [[nodiscard]] constexpr BlockSize block_size(Extent m, Extent n, Extent k,
                                                               Extent terms, double budget) {
  // All of the output at once if that leaves room for a few hundred terms.
  const double outputs = static_cast<double>(m) * static_cast<double>(n);
  const auto terms_left =
      static_cast<Extent>((budget - outputs) / (static_cast<double>(m) + static_cast<double>(n)));
  if (terms_left >= tuning::block_terms) return {m, n, std::min(k, terms_left)};
  const Extent kb = k <= terms + terms / 2 ? k : terms;
  const double kd = static_cast<double>(kb);
  const auto rest = [&](Extent other) {
    const double o = static_cast<double>(other);
    return static_cast<Extent>(std::max(tuning::min_block_side, (budget - kd * o) / (kd + o)));
  };
  const Extent square =
      static_cast<Extent>(std::max(tuning::min_block_side, std::sqrt(kd * kd + budget) - kd));
  if (n <= square) return {std::min(m, rest(n)), n, kb};
  if (m <= square) return {m, std::min(n, rest(m)), kb};
  return {square, square, kb};
}

}  // namespace block_detail

/// The best blocks for a contraction of at least one join, on so many threads.
[[nodiscard]] constexpr BlockPlan block_plan(const Contraction& given, const MachineRates& rates,
                                             double element_bytes, int threads, bool accumulate) {
  using namespace block_detail;
  // The fastest label of the output is one of M.
  const bool swapped = min_stride(given.n, 2) < min_stride(given.m, 2);
  Contraction product = given;
  if (swapped) product.exchange();
  const Orders orders[] = {{product.m, 2, 0}, {product.n, 2, 1}, {product.k, 0, 1}};
  BlockPlan best;
  best.swapped = swapped;
  best.batch = tiled_batch(product.batch, static_cast<Extent>(tuning::line_bytes / element_bytes));
  const LoopNest<3>* best_nest[3] = {&orders[0].order[0], &orders[1].order[0], &orders[2].order[0]};
  const Tiles& batch = best.batch;
  // Half of K in a block leaves room for longer runs of the other labels.
  struct Attempt {
    bool cached;
    Extent terms;
  };
  const Extent half = std::min(tuning::block_terms, ceil_div(product.k.size(), 2));
  const Attempt attempts[] = {
      {true, tuning::block_terms}, {true, half}, {false, tuning::shared_block_terms}};
  for (const Attempt& tried : attempts) {
    const bool cached = tried.cached;
    const double bytes = cached ? std::min(static_cast<double>(rates.cache_bytes),
                                           static_cast<double>(rates.workspace_bytes) / threads)
                                : static_cast<double>(rates.workspace_bytes);
    // Workspaces of threads are rounded up to lines of memory.
    const double budget = (bytes - tuning::line_bytes) / element_bytes;
    const BlockSize size = block_size(product.m.size(), product.n.size(), product.k.size(),
                                      tried.terms, budget / static_cast<double>(batch.in_tile));
    const Cuts ms(orders[0], size.m);
    const Cuts ns(orders[1], size.n);
    const Cuts ks(orders[2], size.k);
    for (int i = 0; i < ms.ways * ns.ways * ks.ways; ++i) {
      const int way[] = {i % ms.ways, i / ms.ways % ns.ways, i / ms.ways / ns.ways};
      const Tiles& m = ms.tiles[way[0]];
      const Tiles& n = ns.tiles[way[1]];
      const Tiles& k = ks.tiles[way[2]];
      BlockMatrix matrix[3] = {matrix_of(0, m, k), matrix_of(1, k, n), matrix_of(2, m, n)};
      const auto attempt = [&] {
        double seconds =
            predicted(matrix, batch, m, n, k, rates, element_bytes, cached, accumulate);
        if (cached) {
          const double blocks = static_cast<double>(batch.tiles * m.tiles * n.tiles);
          seconds *= std::ceil(blocks / threads) / blocks;
        } else {
          seconds /= threads;
        }
        if (seconds >= best.seconds) return;
        const Extent elements = tile_elements(matrix[0], m, k, batch) +
                                tile_elements(matrix[1], k, n, batch) +
                                tile_elements(matrix[2], m, n, batch);
        if (static_cast<double>(elements) > budget) return;
        best.seconds = seconds;
        best.one_thread = cached;
        static_cast<Tiles&>(best.m) = m;
        static_cast<Tiles&>(best.n) = n;
        static_cast<Tiles&>(best.k) = k;
        for (int t = 0; t < 3; ++t) best.matrix[t] = matrix[t];
        best_nest[0] = ms.nest[way[0]];
        best_nest[1] = ns.nest[way[1]];
        best_nest[2] = ks.nest[way[2]];
      };
      attempt();
      // Even where the BLAS could write the output, non-temporal stores may be faster.
      if (cached && !matrix[2].packed) {
        matrix[2] = {true, false, 0};
        attempt();
      }
    }
  }
  best.m.nest = *best_nest[0];
  best.n.nest = *best_nest[1];
  best.k.nest = *best_nest[2];
  return best;
}

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
