// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The packed product block by block. It has no types, and is compiled once for all signatures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/semiring/packed_blocks.hpp"
#include "eindecomp/kernel/semiring/packed_offsets.hpp"
#include "eindecomp/kernel/semiring/packed_panels.hpp"
#include "eindecomp/kernel/semiring/packed_shape.hpp"
#include "eindecomp/kernel/semiring/packed_tile.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The first address from there on that panels may start at.
[[nodiscard]] inline std::byte* aligned(std::byte* address) {
  const auto beyond = reinterpret_cast<std::uintptr_t>(address) % packed_alignment;
  return beyond == 0 ? address : address + (packed_alignment - beyond);
}

/// A product, the code that computes it, and where its tensors are.
struct PackedProduct {
  const PackedShape& shape;
  const PackedBlocks& blocks;
  const TileCode& tile;
  const PanelCode& panel;
  const void* algebra;
  const void* a;
  const void* b;
  void* c;
  Write write;
  int workers;  ///< threads at most that compute at a time
};

/// A packed product and the block of it that is being computed.
class PackedRun {
 public:
  explicit PackedRun(const PackedProduct& product)
      : m_shape(product.shape),
        m_tile(product.tile),
        m_panel(product.panel),
        m_blocks(product.blocks),
        m_algebra(product.algebra),
        m_operand{static_cast<const std::byte*>(product.a),
                  static_cast<const std::byte*>(product.b)},
        m_output(static_cast<std::byte*>(product.c)),
        m_write(product.write),
        m_workers(product.workers),
        m_last_step(product.shape.steps) {}

  /// Leaves all positions of K but first, …, last - 1 out.
  void restrict_steps(Extent first, Extent last) {
    m_first_step = first;
    m_last_step = last;
  }

  /// Scratch for the panels of a block, or of strips those of every worker.
  [[nodiscard]] Extent workspace_bytes() const {
    return a_bytes() + (m_blocks.strips ? m_workers * strip_bytes() : b_bytes()) +
           2 * packed_alignment;
  }

  /// Calls visit(packed) for one block after another, whose panels are in `workspace`: they are to
  /// be packed, those of B unless `packed`, then all tiles computed.
  template <class Visit>
  EINDECOMP_COMPACT void for_each_block(void* workspace, const Visit& visit) {
    m_panels[0] = aligned(static_cast<std::byte*>(workspace));
    m_panels[1] = aligned(m_panels[0] + a_bytes());
    const Extent all_rows = ceil_div(m_shape.rows, m_tile.shape.rows);
    const Extent all_columns = ceil_div(m_shape.columns, m_tile.shape.columns());
    for (Extent entry = 0; entry < m_shape.entries; entry += m_blocks.entries) {
      m_entry = {entry, std::min(m_blocks.entries, m_shape.entries - entry)};
      for (Extent column = 0; column < all_columns; column += m_blocks.column_panels) {
        m_column = {column, std::min(m_blocks.column_panels, all_columns - column)};
        Extent step = m_first_step;
        do {
          set_steps(step);
          for (Extent row = 0; row < all_rows; row += m_blocks.row_panels) {
            m_row = {row, std::min(m_blocks.row_panels, all_rows - row)};
            // B stays as it is while blocks of rows go by, or is packed strip by strip.
            visit(row > 0 || m_blocks.strips);
          }
          step += m_blocks.steps;
        } while (step < m_last_step);
      }
    }
  }

  /// Parts of the block's panels, of the operand that has more.
  [[nodiscard]] Extent packing_items(bool packed) const {
    return std::max(items_of(packing(0)), packed ? 0 : items_of(packing(1)));
  }
  /// Packs a worker's share of the block's panels: neighbours, and the same ones in every block, so
  /// that they stay in caches near the worker.
  void pack(bool packed, Extent worker, Extent workers) const {
    for (int operand = packed ? 0 : 1; operand >= 0; --operand) {
      const Packing packing = this->packing(operand);
      const Range items = share(items_of(packing), worker, workers);
      for (Extent i = 0; i < items.count; ++i) pack_item(operand, packing, items.first + i);
    }
  }

  /// Groups of tiles of the block.
  [[nodiscard]] Extent tile_items() const { return m_entry.count * item_rows() * column_groups(); }
  /// Those whose panels of B a worker has packed.
  [[nodiscard]] Extent own_items(Extent worker, Extent workers) const {
    return m_entry.count > 1 ? share(tile_items(), worker, workers).count
                             : share(column_groups(), worker, workers).count * item_rows();
  }
  /// Computes item `number` of an owner's. \param worker  of those who compute at the moment
  void compute(Extent owner, Extent owners, Extent number, Extent worker) const {
    if (m_entry.count > 1) {
      number += share(tile_items(), owner, owners).first;
    } else {
      // Items that follow one another have the same rows.
      const Range columns = share(column_groups(), owner, owners);
      number = number / columns.count * column_groups() + columns.first + number % columns.count;
    }
    m_blocks.strips ? compute_strip(number, worker) : compute_group(number);
  }

 private:
  static constexpr int max_tile_rows = 12;
  static constexpr int max_tile_columns = max_panel_width;
  static_assert(max_tile_rows <= max_panel_width);
  static constexpr std::size_t max_tile_bytes = std::size_t{max_tile_rows} * max_tile_columns;

  struct Range {
    Extent first = 0;
    Extent count = 0;
  };

  void compute_group(Extent item) const {
    const Extent group = item % (row_groups() * column_groups());
    const Extent entry = item / (row_groups() * column_groups());
    const Range columns = piece(group % column_groups(), m_blocks.group_columns, m_column.count);
    compute_tiles(entry, piece(group / column_groups(), m_blocks.group_rows, m_row.count), columns,
                  m_panels[1] + panel_bytes(1) * (entry * m_column.count + columns.first));
  }

  void compute_strip(Extent item, Extent worker) const {
    const Extent entry = item / column_groups();
    const Range columns = piece(item % column_groups(), m_blocks.group_columns, m_column.count);
    std::byte* const panels = m_panels[1] + worker * strip_bytes();
    pack_straight(part(1, entry, columns, {0, m_steps[1].count}, panels));
    for (Extent group = 0; group < row_groups(); ++group) {
      compute_tiles(entry, piece(group, m_blocks.group_rows, m_row.count), columns, panels);
    }
  }

  /// \param rows, columns  panels of the block  \param b  the first of these columns
  void compute_tiles(Extent entry, const Range& rows, const Range& columns,
                     const std::byte* b) const {
    const int tile_rows = m_tile.shape.rows;
    Cursor<3> batch;
    batch.seek(m_shape.batch, m_entry.first + entry);
    TileRowOffsets row;
    row.fill(m_shape.m, 2, (m_row.first + rows.first) * tile_rows, rows.count * tile_rows,
             m_shape.rows, batch.offset[2]);
    // Short panels that follow one another in C row by row of tiles, so that a line of C is
    // followed by the next one: as many as stay in the second cache.
    const Extent bytes = std::max<Extent>(1, panel_bytes(1));
    const Extent together = bytes > tuning::short_panel_bytes
                                ? 1
                                : std::clamp<Extent>(machine_rates.packed_strip_bytes / bytes, 1,
                                                     tuning::panels_in_turn);
    ColumnPanel panel[static_cast<std::size_t>(tuning::panels_in_turn)];
    for (Extent first = 0; first < columns.count; first += together) {
      const Extent panels = std::min(together, columns.count - first);
      for (Extent j = 0; j < panels; ++j, b += panel_bytes(1)) {
        set_panel(panel[j], m_column.first + columns.first + first + j, batch, b);
      }
      join_panels(panel, panels);
      const bool joined = panel[0].from.tiles > 1;
      Extent end = 0;
      for (Extent begin = 0; begin < panels; begin = end) {
        end = joined ? panels : begin + panel[begin].from.tiles;
        compute_rows(m_panels[0] + panel_bytes(0) * (entry * m_row.count + rows.first), row,
                     panel + begin, end - begin, begin == 0, end < panels);
      }
    }
  }

  /// A panel of B and where its columns are in C.
  struct ColumnPanel {
    Offsets<max_tile_columns> column;
    int run_end[max_tile_columns];
    int runs;
    TileColumns from;
  };

  using TileRowOffsets = Offsets<tuning::max_group_rows * max_tile_rows>;
  /// Computes the tiles of some rows and panels, row by row, each asked for during the one before.
  /// \param a  the panel of the first rows \param is_first  nothing has asked for the first tile
  /// \param goes_on  panel[panels] is next
  void compute_rows(const std::byte* a, const TileRowOffsets& row, const ColumnPanel* panel,
                    Extent panels, bool is_first, bool goes_on) const {
    const int tile_rows = m_tile.shape.rows;
    for (int done = 0; done < row.count; done += tile_rows, a += panel_bytes(0)) {
      const auto place = [&](int above, const ColumnPanel& p) {
        return TilePlace{m_output,        row.offset + above,
                         p.column.offset, std::min(row.count - above, tile_rows),
                         p.column.count,  p.run_end,
                         p.runs};
      };
      if (done == 0 && is_first) m_panel.prefetch(place(0, panel[0]));
      for (Extent j = 0; j < panels;) {
        const Extent next = j + panel[j].from.tiles;
        if (next < panels) {
          m_panel.prefetch(place(done, panel[next]));
        } else if (done + tile_rows < row.count) {
          m_panel.prefetch(place(done + tile_rows, panel[0]));
        } else if (goes_on) {
          m_panel.prefetch(place(0, panel[panels]));
        }
        if (computes_in_place(place(done, panel[j]))) {
          compute_tiles_in_place(a, panel[j].from, place(done, panel[j]));
          j = next;
        } else {
          for (; j < next; ++j) compute_tile(a, panel[j].from, place(done, panel[j]));
        }
      }
    }
  }

  /// Lets whole panels that follow one another in C, and at equal steps in B, be one.
  void join_panels(ColumnPanel* panel, Extent panels) const {
    const int width = width_of(1);
    const auto address = [](const ColumnPanel& p) {
      return static_cast<const std::byte*>(p.from.first);
    };
    for (Extent j = 0; j + 1 < panels;) {
      ColumnPanel& first = panel[j];
      const auto step = address(panel[j + 1]) - address(first);
      for (++j; j < panels; ++j) {
        const ColumnPanel& next = panel[j];
        const auto to = first.from.tiles;
        if (next.runs != 1 || next.column.count != width || first.runs != 1 ||
            first.column.count != width ||
            next.column.offset[0] != first.column.offset[0] + to * width ||
            address(next) != address(first) + to * step || next.from.ahead != first.from.ahead) {
          break;
        }
        ++first.from.tiles;
      }
      first.from.tile_step = step / m_panel.operand[1].packed_bytes;
    }
  }

  /// \param number  of the panel in B  \param b  where it is packed
  void set_panel(ColumnPanel& panel, Extent number, const Cursor<3>& batch,
                 const std::byte* b) const {
    const int width = width_of(1);
    panel.column.fill(m_shape.n, 2, number * width, width, m_shape.columns);
    panel.runs = find_runs(panel.column.offset, panel.column.count, panel.run_end);
    panel.from = {b, m_panel_step.offset, tuning::tile_b_ahead * width};
    if (!m_blocks.in_place) return;
    Offsets<max_tile_columns> there;
    there.fill(m_shape.n, 1, number * width, width, m_shape.columns, batch.offset[1]);
    if (stays_in_place(1, there)) {
      panel.from = {m_operand[1] + there.offset[0] * m_panel.operand[1].bytes, m_steps[1].offset,
                    tuning::tile_panels_ahead * width};
    }
  }

  /// Whether a panel's rows, which are columns of B, are read where they lie.
  [[nodiscard]] bool stays_in_place(int operand, const Offsets<max_tile_columns>& row) const {
    return m_blocks.in_place && operand == 1 && row.stride == 1 && row.count == width_of(1);
  }

  /// Those of `count` things that are a worker's.
  [[nodiscard]] static Range share(Extent count, Extent worker, Extent workers) {
    const Extent first = count * worker / workers;
    return {first, count * (worker + 1) / workers - first};
  }

  /// Piece `number` of `count` things that are cut into pieces of `size`.
  [[nodiscard]] static Range piece(Extent number, Extent size, Extent count) {
    const Extent first = number * size;
    return {first, std::min(size, count - first)};
  }

  /// What an item of packing is: several panels and some of their steps where the rows are
  /// contiguous in the tensor, else one panel.
  struct Packing {
    Range block;  ///< the operand's panels in the block
    Extent panels;
    Extent steps;
    Extent panel_groups;
    Extent step_groups;
  };

  /// Bytes of a panel of A (0) or B (1) as the blocks have room for.
  [[nodiscard]] Extent panel_bytes(int operand) const {
    return m_blocks.steps * width_of(operand) * m_panel.operand[operand].packed_bytes;
  }
  [[nodiscard]] Extent a_bytes() const {
    return panel_bytes(0) * m_blocks.entries * m_blocks.row_panels;
  }
  [[nodiscard]] Extent b_bytes() const {
    if (m_blocks.in_place) return 0;
    return panel_bytes(1) * m_blocks.entries * m_blocks.column_panels;
  }
  [[nodiscard]] Extent strip_bytes() const {
    return ceil_div(panel_bytes(1) * m_blocks.group_columns, packed_alignment) * packed_alignment;
  }
  [[nodiscard]] const PackedShape::Nest& rows_of(int operand) const {
    return operand == 0 ? m_shape.m : m_shape.n;
  }
  [[nodiscard]] Packing packing(int operand) const {
    const PackedShape::Nest& nest = rows_of(operand);
    Packing packing{operand == 0 ? m_row : m_column, 1, tuning::max_packed_steps, 0, 0};
    if (contiguous(nest, operand)) {
      packing.panels = tuning::panels_together;
      packing.steps = tuning::steps_together;
    } else if (interleaved(nest, operand)) {
      const Extent rows = nest.extent[0] * std::min(nest.extent[1], tuning::max_gathered_runs);
      packing.panels = ceil_div(rows, width_of(operand));
      packing.steps = std::min(tuning::max_gathered / (packing.panels * width_of(operand)),
                               tuning::max_gathered_steps);
    }
    packing.panel_groups = ceil_div(packing.block.count, packing.panels);
    packing.step_groups = ceil_div(m_steps[operand].count, packing.steps);
    return packing;
  }
  [[nodiscard]] Extent items_of(const Packing& packing) const {
    return m_entry.count * packing.panel_groups * packing.step_groups;
  }
  /// Groups of tiles of the same columns.
  [[nodiscard]] Extent item_rows() const { return m_blocks.strips ? 1 : row_groups(); }
  [[nodiscard]] Extent row_groups() const { return ceil_div(m_row.count, m_blocks.group_rows); }
  [[nodiscard]] Extent column_groups() const {
    return ceil_div(m_column.count, m_blocks.group_columns);
  }

  [[nodiscard]] int width_of(int operand) const {
    return operand == 0 ? m_tile.shape.rows : m_tile.shape.columns();
  }

  void set_steps(Extent first) {
    for (int operand = 0; operand < 2; ++operand) {
      auto& steps = m_steps[operand];
      steps.fill(m_shape.k, operand, first, m_blocks.steps, m_last_step);
      m_run[operand].fill(steps.offset, steps.count);
    }
    m_panel_step.count = m_steps[1].count;
    for (int i = 0; i < m_panel_step.count; ++i) m_panel_step.offset[i] = Extent{i} * width_of(1);
    m_merge = first > m_first_step || m_write == Write::accumulate;
    m_finish = m_write == Write::finished && first + m_blocks.steps >= m_last_step;
  }

  /// What an item packs: rows first <= row < last of an operand, some of the block's steps.
  struct PanelPart {
    int operand;
    Extent first;
    Extent last;
    Extent origin;  ///< of the batch entry
    Extent first_step;
    Extent steps;
    std::byte* panel;  ///< of the first rows
  };

  /// \param rows  panels of the operand in the block  \param panel  where the first of them goes
  [[nodiscard]] PanelPart part(int operand, Extent entry, const Range& rows, const Range& steps,
                               std::byte* panel) const {
    const Extent first = (operand == 0 ? m_row : m_column).first + rows.first;
    const Extent width = width_of(operand);
    Cursor<3> batch;
    batch.seek(m_shape.batch, m_entry.first + entry);
    return {operand,
            first * width,
            std::min((first + rows.count) * width, operand == 0 ? m_shape.rows : m_shape.columns),
            batch.offset[operand],
            steps.first,
            steps.count,
            panel};
  }

  /// \param packing  packing(operand)  \param item  of items_of(packing)
  void pack_item(int operand, const Packing& packing, Extent item) const {
    const Range steps = piece(item % packing.step_groups, packing.steps, m_steps[operand].count);
    const Extent group = item / packing.step_groups % packing.panel_groups;
    const Extent entry = item / packing.step_groups / packing.panel_groups;
    const Range rows = piece(group, packing.panels, packing.block.count);
    const Extent bytes = panel_bytes(operand);
    std::byte* panel = m_panels[operand] + bytes * (entry * packing.block.count + rows.first) +
                       bytes / m_blocks.steps * steps.first;
    const PanelPart part = this->part(operand, entry, rows, steps, panel);
    interleaved(rows_of(operand), operand) ? pack_gathered(part) : pack_straight(part);
    if (operand == 0 && m_tile.prepare != nullptr) {
      for (Extent i = 0; i < rows.count; ++i, panel += bytes) {
        m_tile.prepare(m_algebra, panel, steps.count * width_of(operand));
      }
    }
  }

  void pack_straight(const PanelPart& part) const {
    const PackedShape::Nest& nest = rows_of(part.operand);
    const auto& steps = m_steps[part.operand];
    const Extent bytes = panel_bytes(part.operand);
    const Extent width = width_of(part.operand);
    Offsets<max_panel_width> row;
    std::byte* panel = part.panel;
    for (Extent first = part.first; first < part.last;) {
      row.fill(nest, part.operand, first, width, part.last, part.origin);
      Extent panels = 1;
      if (contiguous(nest, part.operand)) {
        const Extent run = nest.extent[0] - first % nest.extent[0];
        panels = std::clamp<Extent>(std::min(run, part.last - first) / width, 1,
                                    tuning::panels_together);
      }
      if (!stays_in_place(part.operand, row))
        m_panel.operand[part.operand].pack(
            {m_operand[part.operand], row.offset, steps.offset + part.first_step,
             panels > 1 ? static_cast<int>(panels * width) : row.count, part.steps, row.stride,
             m_run[part.operand].of(part.first_step)},
            panel, bytes);
      panel += bytes * panels;
      first += panels * width;
    }
  }

  /// Through a buffer in which the rows of an interleaved nest are contiguous.
  EINDECOMP_NEVER_INLINE void pack_gathered(const PanelPart& part) const {
    const PackedShape::Nest& nest = rows_of(part.operand);
    const OperandCode& code = m_panel.operand[part.operand];
    alignas(packed_alignment) std::byte buffer[tuning::max_gathered * sizeof(std::int64_t)];
    const Extent rows = part.last - part.first;
    for (Extent row = 0; row < rows;) {
      Cursor<3> at;
      at.seek(nest, part.first + row);
      PlaneSource source{
          m_operand[part.operand] + (part.origin + at.offset[part.operand]) * code.bytes,
          nest.stride[part.operand][0],
          std::min(nest.extent[0] - at.coordinate[0], rows - row),
          1,
          m_steps[part.operand].offset + part.first_step,
          part.steps};
      if (source.rows == nest.extent[0]) {
        source.runs = std::min(nest.extent[1] - at.coordinate[1], (rows - row) / source.rows);
      }
      code.gather(source, buffer + row * code.bytes, rows);
      row += source.rows * source.runs;
    }
    const Extent width = width_of(part.operand);
    const Extent bytes = panel_bytes(part.operand);
    Extent neighbours[max_panel_width];
    for (Extent i = 0; i < width; ++i) neighbours[i] = i;
    Extent step_offset[tuning::max_gathered_steps];
    for (Extent s = 0; s < part.steps; ++s) step_offset[s] = s * rows;
    std::byte* panel = part.panel;
    for (Extent row = 0; row < rows;) {
      const int panels =
          row + tuning::panels_together * width <= rows ? tuning::panels_together : 1;
      code.pack({buffer + row * code.bytes, neighbours, step_offset,
                 static_cast<int>(std::min(panels * width, rows - row)), part.steps, 1, nullptr},
                panel, bytes);
      panel += bytes * panels;
      row += panels * width;
    }
  }

  /// Whether tiles are whole parts of a tile, which are accumulated where they lie.
  [[nodiscard]] bool computes_in_place(const TilePlace& place) const {
    const TileShape& shape = m_tile.shape;
    return place.unit_columns() && (place.rows & (shape.edge_rows - 1)) == 0 &&
           (place.columns & (shape.width - 1)) == 0 && (!m_finish || m_tile.finish == nullptr);
  }
  void compute_tiles_in_place(const std::byte* a, const TileColumns& b,
                              const TilePlace& place) const {
    std::byte* const first =
        static_cast<std::byte*>(place.tensor) + place.column_offset[0] * m_panel.c_bytes;
    m_tile.accumulate(m_algebra, a, b, m_steps[0].count, place.rows, place.columns,
                      {first, place.row_offset, m_merge});
  }

  /// The other ones, one by one.
  void compute_tile(const std::byte* a, TileColumns b, const TilePlace& place) const {
    b.tiles = 1;
    const TileShape& shape = m_tile.shape;
    const Extent steps = m_steps[0].count;
    const bool finish = m_finish && m_tile.finish != nullptr;
    // In a whole tile on the stack: what is beyond the edge is merged too.
    alignas(vector_bytes) std::byte tile[max_tile_bytes];
    const bool whole = place.rows == shape.rows && place.columns == shape.columns();
    if (m_merge && !whole) std::memset(tile, 0, sizeof tile);
    Extent row_offset[max_tile_rows];
    for (int i = 0; i < max_tile_rows; ++i) row_offset[i] = i * shape.columns();
    if (m_merge) m_panel.load(place, tile);
    m_tile.accumulate(m_algebra, a, b, steps, place.rows, place.columns,
                      {tile, row_offset, m_merge});
    if (finish) m_tile.finish(m_algebra, tile, place.rows, place.columns);
    m_panel.store(place, tile);
  }

  const PackedShape& m_shape;
  const TileCode& m_tile;
  const PanelCode& m_panel;
  const PackedBlocks& m_blocks;
  const void* m_algebra;
  const std::byte* m_operand[2];
  std::byte* m_output;
  Write m_write;
  int m_workers;
  Extent m_first_step = 0;
  Extent m_last_step;

  std::byte* m_panels[2] = {nullptr, nullptr};
  Offsets<tuning::max_packed_steps> m_steps[2];
  StepRuns m_run[2];
  Offsets<tuning::max_packed_steps> m_panel_step;  ///< in a panel of B
  Range m_entry;                                   ///< batch entries of the block
  Range m_row;                                     ///< its panels of A
  Range m_column;                                  ///< its panels of B
  bool m_merge = false;
  bool m_finish = false;
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
