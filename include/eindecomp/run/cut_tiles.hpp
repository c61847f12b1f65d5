// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How calls of a program that follow one another are cut into tiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/kernel/simd/lanes.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp::run {

/// A label along which calls are cut.
struct TileAxis {
  std::vector<int> label;  ///< by call, its position among the statement's labels
  Extent lo = 0;
  Extent hi = 0;
  Extent size = 1;  ///< of a tile

  [[nodiscard]] Extent extent() const { return hi - lo; }
  [[nodiscard]] Extent tiles() const { return (extent() + size - 1) / size; }
};

/// A tile's place along the labels.
struct TilePlace {
  Extent row = 0;
  Extent piece = 0;
};

/// TiledCalls are some rows, or pieces of one row.
struct TileCut {
  TileAxis rows;
  std::optional<TileAxis> pieces;

  [[nodiscard]] Extent tiles() const { return rows.tiles() * (pieces ? pieces->tiles() : 1); }
  /// Leaves of a call's domain what belongs to a tile.
  [[nodiscard]] Box tile(Box domain, std::size_t step, TilePlace place) const {
    restrict(domain, rows, step, place.row);
    if (pieces) restrict(domain, *pieces, step, place.piece);
    return domain;
  }

 private:
  static void restrict(Box& domain, const TileAxis& axis, std::size_t step, Extent n) {
    const std::size_t l = at(axis.label[step]);
    domain.lo[l] = axis.lo + n * axis.size;
    domain.hi[l] = std::min(domain.lo[l] + axis.size, axis.hi);
  }
};

/// Cuts instructions `begin` to `end` - 1 of a program, calls of one step group and block.
class TileCutter {
 public:
  TileCutter(const EinGraph& graph, const RankProgram& program,
             const std::vector<BlockMemory>& buffers)
      : m_graph(graph), m_program(program), m_buffers(buffers) {}

  /// Rows of tensors that are so many bytes together; parts of one row, if a row is too long and
  /// can be cut.
  [[nodiscard]] std::optional<TileCut> cut_of(std::size_t begin, std::size_t end,
                                              std::int64_t tile_bytes) const {
    std::vector<TileAxis> axes = axes_of(begin, end);
    if (axes.empty()) return std::nullopt;
    TileCut cut{std::move(axes.front()), std::nullopt};
    const std::int64_t row = bytes_along(cut.rows, begin, end, true);
    if (bytes_along(cut.rows, begin, end, false) > tuning::max_shared_bytes) return std::nullopt;
    cut.rows.size = std::clamp<Extent>(tile_bytes / row, 1, cut.rows.extent());
    // As many rows as are whole lines of memory, if that many fit.
    constexpr std::int64_t line_bytes = kernel::detail::line_bytes;
    const std::int64_t line =
        line_bytes / std::gcd(line_bytes, output_bytes(cut.rows, end - 1, begin));
    if (cut.rows.size > line) cut.rows.size -= cut.rows.size % line;
    if (row > tile_bytes && axes.size() > 1) {
      TileAxis& inner = axes[1];
      // Pieces of equal length, of whole lines of memory.
      const Extent pieces = std::min((row + tile_bytes - 1) / tile_bytes, inner.extent());
      const Extent size = (inner.extent() + pieces - 1) / pieces;
      inner.size =
          (size + tuning::piece_elements - 1) / tuning::piece_elements * tuning::piece_elements;
      if (inner.tiles() > 1) cut.pieces = std::move(inner);
    }
    if (cut.tiles() < 2) return std::nullopt;
    return cut;
  }

 private:
  [[nodiscard]] VertexId statement(std::size_t s) const {
    return m_program.instructions[s].statement;
  }
  [[nodiscard]] const KernelCall& call(std::size_t s) const {
    return *m_program.instructions[s].as<KernelCall>();
  }

  /// The labels along which a run can be cut, outermost first.
  [[nodiscard]] std::vector<TileAxis> axes_of(std::size_t begin, std::size_t end) const {
    const StepGroup run{statement(begin), statement(end - 1), {}};
    const std::vector<VertexId> statements = statements_of(m_graph, run);
    std::vector<TileAxis> axes;
    for (int position : m_graph[run.first].output) {
      StepAxis axis{{position}, 1};
      std::vector<VertexId> before{run.first};
      for (std::size_t s = 1; s < statements.size(); ++s) {
        axis.positions.push_back(relation::axis_position(m_graph, before, axis, statements[s]));
        before.push_back(statements[s]);
      }
      if (!relation::axis_fault(m_graph, run, statements, axis).empty()) continue;
      TileAxis found{axis.positions, 0, 0, 1};
      bool same = true;
      for (std::size_t s = begin; s < end; ++s) {
        const Box& domain = call(s).domain;
        const std::size_t l = at(axis.positions[s - begin]);
        if (s == begin) {
          found.lo = domain.lo[l];
          found.hi = domain.hi[l];
        }
        same = same && domain.lo[l] == found.lo && domain.hi[l] == found.hi;
      }
      if (same && found.extent() > 1) axes.push_back(std::move(found));
    }
    return axes;
  }

  /// Bytes of a call's output at one position of a label.
  [[nodiscard]] std::int64_t output_bytes(const TileAxis& axis, std::size_t s,
                                          std::size_t begin) const {
    std::int64_t bytes = m_buffers[at(call(s).output)].bytes;
    for (int l : m_graph[statement(s)].output) {
      if (l != axis.label[s - begin]) bytes *= call(s).domain.extent(l);
    }
    return bytes;
  }

  /// Bytes that a run's calls touch of tensors that have a label, at one position of it; or those
  /// of tensors that do not.
  [[nodiscard]] std::int64_t bytes_along(const TileAxis& axis, std::size_t begin, std::size_t end,
                                         bool having) const {
    std::int64_t total = 0;
    for (std::size_t s = begin; s < end; ++s) {
      const Vertex& v = m_graph[statement(s)];
      const int label = axis.label[s - begin];
      const auto add = [&](const std::vector<int>& labels, int b) {
        const bool has = std::find(labels.begin(), labels.end(), label) != labels.end();
        if (has != having) return;
        std::int64_t bytes = m_buffers[at(b)].bytes;
        for (int l : labels) {
          if (l != label) bytes *= call(s).domain.extent(l);
        }
        total += bytes;
      };
      // What the run itself made is counted where it was made.
      for (std::size_t o = 0; o < v.operands.size(); ++o) {
        const int b = call(s).operands[o];
        bool made = false;
        for (std::size_t before = begin; before < s; ++before) made |= call(before).output == b;
        if (!made) add(v.operands[o].labels, b);
      }
      add(v.output, call(s).output);
    }
    return total;
  }

  const EinGraph& m_graph;
  const RankProgram& m_program;
  const std::vector<BlockMemory>& m_buffers;
};

}  // namespace eindecomp::run
