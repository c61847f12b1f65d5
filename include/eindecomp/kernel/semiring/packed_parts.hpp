// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The packed product part of K by part, for long K and few outputs. Threads that took turns at the
/// blocks of K would wait for each other twice in each; here one has a part for itself, with panels
/// and an output of its own. It has no types, and is compiled once for all signatures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/semiring/packed_blocks.hpp"
#include "eindecomp/kernel/semiring/packed_panels.hpp"
#include "eindecomp/kernel/semiring/packed_run.hpp"
#include "eindecomp/kernel/semiring/packed_shape.hpp"
#include "eindecomp/kernel/semiring/packed_tile.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// A packed product in parts of K. How many there are depends on the shape alone, and they are
/// merged in order, so that results do not depend on the number of threads.
class PackedParts {
 public:
  explicit PackedParts(const PackedProduct& product)
      : m_product(product),
        m_parts(product.blocks.parts),
        m_outputs(product.shape.rows * product.shape.columns),
        m_output_bytes(ceil_div(m_outputs * product.panel.c_bytes, packed_alignment) *
                       packed_alignment),
        m_panel_bytes(run_into(nullptr).workspace_bytes()) {}

  /// Scratch for the outputs of all parts and the panels of every worker.
  [[nodiscard]] Extent workspace_bytes() const {
    return m_parts * m_output_bytes + std::min<Extent>(m_product.workers, m_parts) * m_panel_bytes +
           packed_alignment;
  }

  /// Computes a part of K. \param worker  of those who compute at the moment
  void compute(unsigned char* workspace, Extent part, Extent worker) const {
    PackedRun run = run_into(output_of(workspace, part));
    const Extent steps = m_product.blocks.part_steps;
    const Extent all = m_product.shape.steps;
    run.restrict_steps(std::min(part * steps, all), std::min((part + 1) * steps, all));
    run.for_each_block(output_of(workspace, m_parts) + worker * m_panel_bytes, [&](bool packed) {
      run.pack(packed, 0, 1);
      for (Extent i = 0; i < run.own_items(0, 1); ++i) run.compute(0, 1, i, 0);
    });
  }

  /// Pieces of the output that are merged at once.
  [[nodiscard]] Extent merging_items() const { return ceil_div(m_outputs, piece); }
  /// Merges what the parts have computed of a piece.
  void merge(unsigned char* workspace, Extent item) const {
    const Extent first = item * piece;
    const Extent count = std::min(piece, m_outputs - first);
    const auto& tile = m_product.tile;
    const void* const algebra = m_product.algebra;
    const Write write = m_product.write;
    const Extent bytes = m_product.panel.c_bytes;
    const Extent begin = first * bytes;
    std::byte* const to = static_cast<std::byte*>(m_product.c) + begin;
    Extent part = 0;
    if (write != Write::accumulate) {
      std::memcpy(to, output_of(workspace, part++) + begin, count * bytes);
    }
    for (; part < m_parts; ++part) {
      tile.merge(algebra, to, output_of(workspace, part) + begin, count);
    }
    if (write == Write::finished && tile.finish != nullptr) {
      tile.finish(algebra, to, 1, static_cast<int>(count));
    }
  }

 private:
  static constexpr Extent piece = 1024;  ///< elements of the output merged at once

  [[nodiscard]] PackedRun run_into(std::byte* output) const {
    PackedProduct product = m_product;
    product.c = output;
    product.write = Write::partial;
    product.workers = 1;
    return PackedRun(product);
  }
  [[nodiscard]] std::byte* output_of(unsigned char* workspace, Extent part) const {
    return aligned(reinterpret_cast<std::byte*>(workspace)) + part * m_output_bytes;
  }

  PackedProduct m_product;
  Extent m_parts;
  Extent m_outputs;
  Extent m_output_bytes;
  Extent m_panel_bytes;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
