// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How a packed product is cut: what is packed at once, and what one item of parallel work is. It
/// depends on the shape and the element types, not on the number of threads, and so do results.
#pragma once

#include <algorithm>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/semiring/packed_panels.hpp"
#include "eindecomp/kernel/semiring/packed_shape.hpp"
#include "eindecomp/kernel/semiring/packed_tile.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Panels of both start on a cache line.
inline constexpr Extent packed_alignment = 64;
/// Sizes of blocks, which are packed one after another, and of items within a block.
struct PackedBlocks {
  Extent steps = 1;          ///< positions of K
  Extent row_panels = 1;     ///< panels of A of a batch entry
  Extent column_panels = 1;  ///< panels of B of a batch entry
  Extent entries = 1;        ///< of the batch
  Extent group_rows = 1;     ///< panels of A in an item
  Extent group_columns = 1;  ///< panels of B in an item
  /// An item packs its panels of B itself, and computes all tiles that they are in: few enough
  /// panels to stay in the second cache meanwhile.
  bool strips = false;
  /// Panels of B whose columns lie side by side are not packed, as few tiles read each. Without
  /// strips, all of them are such.
  bool in_place = false;
  /// Of K. If there are several, each is an item that packs its own panels and has an output of its
  /// own, all of which are merged at the end.
  Extent parts = 1;
  Extent part_steps = 1;  ///< positions of K in each, at most

  EINDECOMP_COMPACT PackedBlocks(const PackedShape& shape, const TileShape& tile,
                                 const PanelCode& panel) {
    const Extent a_step = tile.rows * panel.operand[0].packed_bytes;
    const Extent b_step = tile.columns() * panel.operand[1].packed_bytes;
    const MachineRates& rates = machine_rates;
    steps = even_piece(shape.steps,
                       std::clamp(rates.panel_pair_bytes / (a_step + b_step),
                                  tuning::min_packed_block_steps, tuning::max_packed_steps));
    const Extent a_panel = std::max<Extent>(1, steps) * a_step;
    const Extent b_panel = std::max<Extent>(1, steps) * b_step;
    const Extent all_rows = ceil_div(shape.rows, tile.rows);
    const Extent all_columns = ceil_div(shape.columns, tile.columns());
    row_panels = even_piece(all_rows, std::max<Extent>(1, rates.packed_a_bytes / a_panel));
    column_panels = even_piece(all_columns, std::max<Extent>(1, rates.packed_b_bytes / b_panel));
    if (row_panels == all_rows && column_panels == all_columns) {
      const Extent fit = std::min(rates.packed_a_bytes / (a_panel * row_panels),
                                  rates.packed_b_bytes / (b_panel * column_panels));
      entries = even_piece(shape.entries, std::max<Extent>(1, fit));
    }
    // Items have many rows and few columns: items that follow one another share the panels of A,
    // and each loads its panels of B, which come from further away, once.
    group_rows = even_piece(row_panels, std::clamp<Extent>(rates.packed_group_bytes / a_panel, 1,
                                                           tuning::max_group_rows));
    strips = row_panels == all_rows && all_columns >= tuning::min_packed_items &&
             all_columns * b_panel > rates.packed_strip_bytes && !interleaved(shape.n, 1);
    if (panel.operand[1].bytes == panel.operand[1].packed_bytes) {
      in_place = strips ? shape.windows && all_rows == 1
                        : all_rows <= tuning::max_in_place_reads && has_whole_panels(shape, tile) &&
                              shape.steps * shape.columns * panel.operand[1].bytes <=
                                  tuning::max_in_place_bytes;
    }
    if (strips) {
      column_panels = all_columns;
      group_columns =
          even_piece(all_columns, std::clamp<Extent>(rates.packed_strip_bytes / b_panel, 1,
                                                     all_columns / tuning::min_packed_items));
      return;
    }
    const Extent tiles = entries * row_panels * column_panels;
    group_columns = even_piece(
        column_panels,
        std::clamp<Extent>(tiles / (tuning::min_packed_items * group_rows), 1, column_panels));
    const Extent items =
        entries * ceil_div(row_panels, group_rows) * ceil_div(column_panels, group_columns);
    if (shape.entries == 1 && row_panels == all_rows && column_panels == all_columns) {
      cut_steps(shape, items, row_panels * a_step + column_panels * b_step,
                shape.rows * shape.columns * panel.c_bytes);
    }
  }

 private:
  /// Whether the columns of every panel of B lie side by side.
  [[nodiscard]] static constexpr bool has_whole_panels(const PackedShape& shape,
                                                       const TileShape& tile) {
    return shape.n.loops == 1 && contiguous(shape.n, 1) && shape.columns % tile.columns() == 0;
  }

  /// Threads that share the tiles of a block wait for each other after every block, and read what
  /// others have packed. Where K is long and the outputs are few, cuts K into parts instead, unless
  /// these are less than half as many as the items of a block.
  /// \param step_bytes  of all panels, for one position of K  \param output_bytes  of a part
  EINDECOMP_COMPACT void cut_steps(const PackedShape& shape, Extent items, Extent step_bytes,
                                   Extent output_bytes) {
    constexpr Extent unit = tuning::part_unit;
    const Extent most = std::min({shape.steps / tuning::min_part_steps, tuning::max_parts,
                                  tuning::part_outputs_bytes / output_bytes}) /
                        unit * unit;
    const Extent fit = tuning::part_panel_bytes / step_bytes;
    if (2 * most < std::max(items, unit) || fit < tuning::min_fitting_steps ||
        !shape.has_dense_output()) {
      return;
    }
    parts = most;
    // Whole lines of operands that are contiguous along K.
    const auto whole = [](Extent count) {
      return ceil_div(count, tuning::part_step_unit) * tuning::part_step_unit;
    };
    part_steps = whole(ceil_div(shape.steps, parts));
    steps = whole(even_piece(part_steps, std::min(fit, steps)));
    group_rows = std::min(row_panels, tuning::max_group_rows);
    group_columns = column_panels;
  }
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
