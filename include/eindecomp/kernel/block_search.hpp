// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The blocks of a contraction that are predicted to take the least time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "eindecomp/kernel/block_plan.hpp"

namespace eindecomp::kernel::detail {
namespace block_detail {

/// As few equal tiles of at most `most` as there can be.
[[nodiscard]] constexpr Extent even(Extent extent, Extent most) {
  const Extent count = (extent + most - 1) / most;
  return (extent + count - 1) / count;
}

/// Tiles of about `wanted` positions: of the first loop at most `of_first`, of the others what is
/// left.
[[nodiscard]] constexpr TiledNest tile_in_order(const LoopNest<3>& nest, Extent wanted,
                                                Extent of_first) {
  Extent tile[max_labels]{};
  Extent left = std::max<Extent>(wanted, 1);
  for (int l = 0; l < nest.loops; ++l) {
    const Extent most = std::min(nest.extent[l], l == 0 ? std::min(left, of_first) : left);
    tile[l] = even(nest.extent[l], most);
    left = std::max<Extent>(1, left / tile[l]);
  }
  return TiledNest(nest, tile);
}

/// Tiles of the loops, in order, that one stride of a tensor walks.
[[nodiscard]] constexpr TiledNest tile_one_stride(const LoopNest<3>& nest, Extent wanted,
                                                  int tensor) {
  Extent tile[max_labels]{};
  Extent left = std::max<Extent>(wanted, 1);
  bool one = true;
  for (int l = 0; l < nest.loops; ++l) {
    one = one &&
          (l == 0 || (tile[l - 1] == nest.extent[l - 1] &&
                      nest.stride[tensor][l] == nest.stride[tensor][l - 1] * nest.extent[l - 1]));
    tile[l] = one ? even(nest.extent[l], std::min(nest.extent[l], left)) : 1;
    left = std::max<Extent>(1, left / tile[l]);
  }
  return TiledNest(nest, tile);
}

[[nodiscard]] constexpr int fastest(const LoopNest<3>& nest, int tensor) {
  int least = 0;
  for (int l = 1; l < nest.loops; ++l) {
    if (nest.stride[tensor][l] < nest.stride[tensor][least]) least = l;
  }
  return least;
}

/// The ways to cut one nest that are worth a try.
struct Cuts {
  TiledNest way[5];
  int ways = 0;

  /// \param one, other the tensors that have the nest's labels.
  constexpr Cuts(const LoopNest<3>& nest, Extent wanted, int one, int other) {
    const auto ordered = [&nest](int tensor) {
      LoopNest<3> by = nest;
      by.sort([tensor](const LoopNest<3>& n, int l) { return n.stride[tensor][l]; });
      return by;
    };
    if (nest.loops < 2) {
      way[ways++] = tile_in_order(nest, wanted, wanted);
      return;
    }
    for (const int tensor : {one, other}) {
      const LoopNest<3> order = ordered(tensor);
      way[ways++] = tile_in_order(order, wanted, wanted);
      way[ways] = tile_one_stride(order, wanted, tensor);
      if (way[ways].in_tile != way[ways - 1].in_tile) ++ways;
    }
    // Long along the fastest loops of both.
    LoopNest<3> both = ordered(one);
    const int second = fastest(both, other);
    if (second == 0) return;
    both.make_fastest(second);
    both.swap_loops(0, 1);
    const Extent root = static_cast<Extent>(std::sqrt(static_cast<double>(wanted)));
    const Extent of_second = std::max<Extent>(1, std::min(both.extent[1], root));
    way[ways++] = tile_in_order(both, wanted, std::max<Extent>(1, wanted / of_second));
  }
};

/// The same contraction with its operands in the other order.
[[nodiscard]] constexpr Contraction exchanged(const Contraction& product) {
  Contraction other{product.batch, product.n, product.m, product.k};
  for (LoopNest<3>* nest : {&other.batch, &other.m, &other.n, &other.k}) {
    for (int l = 0; l < nest->loops; ++l) std::swap(nest->stride[0][l], nest->stride[1][l]);
  }
  return other;
}

[[nodiscard]] constexpr Extent least_stride(const LoopNest<3>& nest, int tensor) {
  Extent least = std::numeric_limits<Extent>::max();
  for (int l = 0; l < nest.loops; ++l) least = std::min(least, nest.stride[tensor][l]);
  return least;
}

/// How many entries of the batch a block takes: several where a tensor is contiguous along it.
[[nodiscard]] constexpr TiledNest tiled_batch(const LoopNest<3>& batch, Extent line) {
  for (int l = 0; l < batch.loops; ++l) {
    const bool contiguous =
        batch.stride[0][l] == 1 || batch.stride[1][l] == 1 || batch.stride[2][l] == 1;
    if (!contiguous) continue;
    LoopNest<3> ordered = batch;
    ordered.make_fastest(l);
    return tile_in_order(ordered, std::min(batch.extent[l], line), line);
  }
  return tile_in_order(batch, 1, 1);
}

/// Rows, columns and terms of a block whose tiles take up `budget` elements.
struct BlockSize {
  Extent m;
  Extent n;
  Extent k;
};
[[nodiscard]] constexpr BlockSize block_size(Extent m, Extent n, Extent k, Extent terms,
                                             double budget) {
  // All of the output at once if that leaves room for a few hundred terms.
  const double outputs = static_cast<double>(m) * static_cast<double>(n);
  const auto terms_left =
      static_cast<Extent>((budget - outputs) / (static_cast<double>(m) + static_cast<double>(n)));
  if (terms_left >= 256) return {m, n, std::min(k, terms_left)};
  const Extent kb = k <= terms + terms / 2 ? k : terms;
  const double kd = static_cast<double>(kb);
  const auto rest = [&](Extent other) {
    const double o = static_cast<double>(other);
    return static_cast<Extent>(std::max(16.0, (budget - kd * o) / (kd + o)));
  };
  const Extent square = static_cast<Extent>(std::max(16.0, std::sqrt(kd * kd + budget) - kd));
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
  const bool swapped = least_stride(given.n, 2) < least_stride(given.m, 2);
  const Contraction product = swapped ? exchanged(given) : given;
  const TiledNest batch = tiled_batch(product.batch, static_cast<Extent>(64 / element_bytes));
  BlockPlan best;
  // Half of K in a block leaves room for longer runs of the other labels.
  struct Attempt {
    bool cached;
    Extent terms;
  };
  const Extent half = std::min<Extent>(256, (product.k.size() + 1) / 2);
  for (const auto [cached, terms] :
       {Attempt{true, 256}, Attempt{true, half}, Attempt{false, 768}}) {
    const double bytes = cached ? std::min(static_cast<double>(rates.cache_bytes),
                                           static_cast<double>(rates.workspace_bytes) / threads)
                                : static_cast<double>(rates.workspace_bytes);
    // Workspaces of threads are rounded up to lines of memory.
    const double budget = (bytes - 64) / element_bytes;
    const BlockSize size = block_size(product.m.size(), product.n.size(), product.k.size(), terms,
                                      budget / static_cast<double>(batch.in_tile));
    const Cuts ms(product.m, size.m, 2, 0);
    const Cuts ns(product.n, size.n, 2, 1);
    const Cuts ks(product.k, size.k, 0, 1);
    for (int i = 0; i < ms.ways * ns.ways * ks.ways; ++i) {
      const TiledNest& m = ms.way[i % ms.ways];
      const TiledNest& n = ns.way[i / ms.ways % ns.ways];
      const TiledNest& k = ks.way[i / ms.ways / ns.ways];
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
        BlockPlan plan{batch, m, n, k, {matrix[0], matrix[1], matrix[2]}, swapped, cached, seconds};
        if (static_cast<double>(plan.elements()) <= budget) best = plan;
      };
      attempt();
      // Where the BLAS could write the output it may still be faster to, past the caches.
      if (cached && !matrix[2].packed) {
        matrix[2] = {true, false, 0};
        attempt();
      }
    }
  }
  return best;
}

}  // namespace eindecomp::kernel::detail
