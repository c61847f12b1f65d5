// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which statements of a step group run tile by tile, and how long tiles are. Decided from shapes
/// and what kernels are known for, never from the number of threads, so that results do not depend
/// on it.
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
#include "eindecomp/graph/scanned_label.hpp"
#include "eindecomp/plan/tuning.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"

namespace eindecomp::plan {

/// Cuts the blocks of a step group on into tiles. Statements that follow one another do so together
/// where each loses nothing by being cut: maps, and reductions along short labels.
class TileChooser {
 public:
  /// \param last_reader  as last_readers() says
  TileChooser(const EinGraph& graph, const Placement& placement, const StepGroup& group,
              const std::vector<VertexId>& last_reader)
      : m_graph(graph),
        m_statements(statements_of(graph, group)),
        m_adds_blocks(relation::adds_blocks(graph, group)),
        m_last_reader(last_reader) {
    for (std::size_t s = 0; s < m_statements.size(); ++s) {
      const VertexId v = m_statements[s];
      const std::vector<Extent> parts = parts_of(placement.mesh, placement.calls[to_index(v)]);
      std::vector<Extent> extents = graph[v].extents;
      for (std::size_t l = 0; l < extents.size(); ++l) extents[l] = ceil_div(extents[l], parts[l]);
      m_call_bytes.push_back(bytes(v, graph[v].output, extents));
      for (const StepAxis& axis : group.axes) {
        Extent& cut = extents[to_index(axis.positions[s])];
        cut = ceil_div(cut, axis.parts);
      }
      m_extents.push_back(std::move(extents));
    }
  }

  [[nodiscard]] std::vector<StepGroup> choose() const {
    std::vector<StepGroup> found;
    for (std::size_t s = 0; s < m_statements.size();) {
      std::size_t end = s;
      while (end < m_statements.size() && may_be_cut(end)) ++end;
      std::optional<StepGroup> tiles;
      while (end >= s + 2 && !(tiles = tiles_of({s, end}))) --end;
      if (tiles) found.push_back(std::move(*tiles));
      s = tiles ? end : s + 1;
    }
    return found;
  }

 private:
  /// Statements of the group, from number `begin` to before number `end`.
  struct Range {
    std::size_t begin;
    std::size_t end;
  };

  [[nodiscard]] const Vertex& statement(std::size_t s) const { return m_graph[m_statements[s]]; }

  /// Bytes of a tensor under labels of such extents, `without` one of them.
  [[nodiscard]] std::int64_t bytes(VertexId tensor, const std::vector<int>& labels,
                                   const std::vector<Extent>& extents, int without = -1) const {
    std::int64_t bytes = m_graph[tensor].element.bytes;
    for (int l : labels) {
      if (l != without) bytes *= extents[to_index(l)];
    }
    return bytes;
  }

  [[nodiscard]] static bool has(const std::vector<int>& labels, int label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }

  /// Whether a statement loses nothing by being cut: its kernel neither copies, which is done best
  /// at once, nor multiplies matrices, nor shares out reductions among threads, nor scans across
  /// rows, of which tiles would have too little. None that adds blocks up may be.
  [[nodiscard]] bool may_be_cut(std::size_t s) const {
    if (m_adds_blocks && s + 1 == m_statements.size()) return false;
    const Vertex& v = statement(s);
    const std::vector<Extent>& extents = m_extents[s];
    if (!v.kernel.tiles || !v.periods.empty() ||
        std::find(extents.begin(), extents.end(), 0) != extents.end()) {
      return false;
    }
    if (v.scanned >= 0 && graph::scan_along(v) != v.output.back()) return false;
    Extent terms = 1;
    for (int l : v.aggregated) terms *= extents[to_index(l)];
    if (terms == 1) return !v.kernel.copies;
    if (terms > tuning::max_tile_terms) return false;
    if (!v.kernel.multiplies || v.operands.size() != 2) return true;
    Extent alone[] = {1, 1};  // positions of labels that one operand alone has
    for (int l : v.output) {
      const bool in_first = has(v.operands[0].labels, l);
      if (in_first != has(v.operands[1].labels, l)) alone[in_first ? 0 : 1] *= extents[to_index(l)];
    }
    return alone[0] == 1 || alone[1] == 1;
  }

  [[nodiscard]] std::optional<StepGroup> tiles_of(Range range) const {
    const VertexId partner = interleaved_statement(range);
    if (partner >= 0) {
      for (std::int64_t limit : {tuning::interleaved_tile_bytes, tuning::tile_bytes}) {
        std::optional<StepGroup> tiles = cut(range, limit);
        if (!tiles || 2 * thread_bytes(range, *tiles) > tuning::max_interleaved_bytes) continue;
        tiles->interleaved = partner;
        return tiles;
      }
    }
    return cut(range, tuning::tile_bytes);
  }

  /// The statement with which the last one is interleaved: the last of those that compute longer
  /// than they write, if the last one's result is written past the caches, and both are maps that
  /// divide alike. -1 if there is none.
  [[nodiscard]] VertexId interleaved_statement(Range range) const {
    const std::size_t last = range.end - 1;
    const Vertex& v = statement(last);
    if (!v.kernel.maps || !v.is_result() || m_call_bytes[last] < tuning::min_streamed_bytes ||
        relation::is_read_by(m_graph, m_statements, m_statements[last])) {
      return -1;
    }
    for (std::size_t s = last; s-- > range.begin;) {
      const Vertex& other = statement(s);
      if (!other.kernel.maps || !other.kernel.computes_long) continue;
      if (outputs(s) == outputs(last)) return m_statements[s];
    }
    return -1;
  }
  [[nodiscard]] Extent outputs(std::size_t s) const {
    return bytes(m_statements[s], statement(s).output, m_extents[s]) / statement(s).element.bytes;
  }

  /// Rows of tensors that are so many bytes together; parts of one row, if a row is too long and
  /// can be cut.
  [[nodiscard]] std::optional<StepGroup> cut(Range range, std::int64_t limit) const {
    std::vector<StepAxis> axes = axes_of(range);
    if (axes.empty()) return std::nullopt;
    StepAxis& rows = axes.front();
    const std::int64_t row = bytes_along(rows, range, true);
    if (bytes_along(rows, range, false) > tuning::max_shared_bytes) return std::nullopt;
    rows.size = std::clamp<Extent>(limit / row, 1, extent(rows, range));
    // As many rows as are whole lines of memory, if that many fit.
    const std::size_t last = range.end - 1;
    const std::int64_t output =
        bytes(m_statements[last], statement(last).output, m_extents[last], rows.positions.back());
    const std::int64_t line = tuning::line_bytes / std::gcd(tuning::line_bytes, output);
    if (rows.size > line) rows.size -= rows.size % line;
    bool in_pieces = row > limit && axes.size() > 1;
    if (in_pieces) {
      // Pieces of equal length, of whole lines of memory.
      StepAxis& inner = axes[1];
      const Extent whole = extent(inner, range);
      const Extent size = ceil_div(whole, std::min(ceil_div(row, limit), whole));
      inner.size = ceil_div(size, tuning::piece_elements) * tuning::piece_elements;
      in_pieces = inner.pieces(whole) > 1;
    }
    axes.resize(in_pieces ? 2 : 1);
    if (!in_pieces && rows.pieces(extent(rows, range)) < 2) return std::nullopt;
    return StepGroup{m_statements[range.begin], m_statements[last], std::move(axes)};
  }

  /// The labels along which statements can be cut, outermost first.
  [[nodiscard]] std::vector<StepAxis> axes_of(Range range) const {
    const StepGroup group{m_statements[range.begin], m_statements[range.end - 1]};
    const std::vector<VertexId> statements(
        m_statements.begin() + static_cast<std::ptrdiff_t>(range.begin),
        m_statements.begin() + static_cast<std::ptrdiff_t>(range.end));
    std::vector<StepAxis> axes;
    for (int position : m_graph[group.first].output) {
      StepAxis axis = relation::axis_through(m_graph, statements, position);
      if (!relation::axis_fault(m_graph, group, statements, axis, false).empty()) continue;
      if (extent(axis, range) > 1) axes.push_back(std::move(axis));
    }
    return axes;
  }
  /// Of a label in a block.
  [[nodiscard]] Extent extent(const StepAxis& axis, Range range) const {
    return m_extents[range.begin][to_index(axis.positions.front())];
  }

  /// Bytes that statements touch of tensors that have a label, at one position of it; or those of
  /// tensors that do not. What they pass on is counted where it is made.
  [[nodiscard]] std::int64_t bytes_along(const StepAxis& axis, Range range, bool having) const {
    std::int64_t total = 0;
    for (std::size_t s = range.begin; s < range.end; ++s) {
      const int label = axis.positions[s - range.begin];
      const auto add = [&](VertexId tensor, const std::vector<int>& labels) {
        if (has(labels, label) == having) total += bytes(tensor, labels, m_extents[s], label);
      };
      for (const Operand& o : statement(s).operands) {
        const auto first = m_statements.begin() + static_cast<std::ptrdiff_t>(range.begin);
        const auto here = m_statements.begin() + static_cast<std::ptrdiff_t>(s);
        if (std::find(first, here, o.vertex) == here) add(o.vertex, o.labels);
      }
      add(m_statements[s], statement(s).output);
    }
    return total;
  }

  /// Bytes of the tiles that statements pass on to each other alone.
  [[nodiscard]] std::int64_t thread_bytes(Range range, const StepGroup& tiles) const {
    std::int64_t total = 0;
    for (std::size_t s = range.begin; s < range.end; ++s) {
      const VertexId v = m_statements[s];
      if (!relation::is_passed_on(m_graph, tiles, v, m_last_reader[to_index(v)])) continue;
      std::vector<Extent> extents = m_extents[s];
      for (const StepAxis& axis : tiles.axes) {
        Extent& cut = extents[to_index(axis.positions[s - range.begin])];
        cut = std::min(cut, axis.size);
      }
      total += bytes(v, m_graph[v].output, extents);
    }
    return total;
  }

  const EinGraph& m_graph;
  std::vector<VertexId> m_statements;
  bool m_adds_blocks;  ///< the last of them
  const std::vector<VertexId>& m_last_reader;
  std::vector<std::vector<Extent>> m_extents;  ///< per statement, of its labels in a block
  std::vector<std::int64_t> m_call_bytes;      ///< per statement, of its result on one worker
};

}  // namespace eindecomp::plan
