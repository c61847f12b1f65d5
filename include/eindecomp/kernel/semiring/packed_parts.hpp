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
  /// \param workers  threads at most that compute at a time
  PackedParts(const PackedShape& shape, const PackedBlocks& blocks, const TileCode& tile,
              const PanelCode& panel, const void* algebra, const void* a, const void* b, void* c,
              Write write, int workers)
      : m_shape(shape),
        m_blocks(blocks),
        m_tile(tile),
        m_panel(panel),
        m_algebra(algebra),
        m_a(a),
        m_b(b),
        m_output(static_cast<std::byte*>(c)),
        m_write(write),
        m_workers(workers),
        m_outputs(shape.rows * shape.columns),
        m_output_bytes(ceil_div(m_outputs * panel.c_bytes, packed_alignment) * packed_alignment),
        m_panel_bytes(run_into(nullptr).workspace_bytes()) {}

  /// Scratch for the outputs of all parts and the panels of every worker.
  [[nodiscard]] Extent workspace_bytes() const {
    return m_blocks.parts * m_output_bytes + m_workers * m_panel_bytes + packed_alignment;
  }

  /// Computes a part of K. \param worker  of those who compute at the moment
  void compute(unsigned char* workspace, Extent part, Extent worker) const {
    PackedRun run = run_into(output_of(workspace, part));
    const Extent steps = m_blocks.part_steps;
    run.restrict_steps(std::min(part * steps, m_shape.steps),
                       std::min((part + 1) * steps, m_shape.steps));
    run.for_each_block(output_of(workspace, m_blocks.parts) + worker * m_panel_bytes,
                       [&](bool packed) {
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
    const Extent begin = first * m_panel.c_bytes;
    std::byte* const to = m_output + begin;
    Extent part = 0;
    if (m_write != Write::accumulate) {
      std::memcpy(to, output_of(workspace, part++) + begin, count * m_panel.c_bytes);
    }
    for (; part < m_blocks.parts; ++part) {
      m_tile.merge(m_algebra, to, output_of(workspace, part) + begin, count);
    }
    if (m_write == Write::finished && m_tile.finish != nullptr) {
      m_tile.finish(m_algebra, to, 1, static_cast<int>(count));
    }
  }

 private:
  static constexpr Extent piece = 1024;  ///< elements of the output merged at once

  [[nodiscard]] PackedRun run_into(std::byte* output) const {
    return {m_shape, m_blocks, m_tile, m_panel, m_algebra, m_a, m_b, output, Write::partial, 1};
  }
  [[nodiscard]] std::byte* output_of(unsigned char* workspace, Extent part) const {
    return aligned(reinterpret_cast<std::byte*>(workspace)) + part * m_output_bytes;
  }

  const PackedShape& m_shape;
  const PackedBlocks& m_blocks;
  const TileCode& m_tile;
  const PanelCode& m_panel;
  const void* m_algebra;
  const void* m_a;
  const void* m_b;
  std::byte* m_output;
  Write m_write;
  int m_workers;
  Extent m_outputs;
  Extent m_output_bytes;
  Extent m_panel_bytes;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
