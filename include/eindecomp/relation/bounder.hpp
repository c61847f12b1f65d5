// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What calls read at indices that are divided, or taken back into the tensor where they leave it:
/// put together on each rank, from the pieces that it gathered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/bounded_index.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/read_relation.hpp"
#include "eindecomp/relation/walk_sink.hpp"

namespace eindecomp::relation {

/// Tells a walk's sink how a buffer becomes one that has an element for every index. Where all of
/// a block's indices are elements, as those of most blocks are far from the ends of a tensor, the
/// buffer that was gathered is read as it is.
class Bounder {
 public:
  explicit Bounder(WalkSink& sink) : m_sink(sink) {}

  /// Forgets the buffers of the statement before.
  void begin() { m_made.clear(); }

  /// A buffer for the calls on a rank that read a block.
  /// \param way     how the tensor is cut, for which `read` is a piece
  /// \param pieces  the buffers of all pieces of the block; -1 of an empty one
  int buffer(VertexId tensor, std::size_t way, const ReadRelation& read, Extent block, int rank,
             std::span<const int> pieces) {
    const Box indices = read.indices_of(block);
    const auto divided = [](const OperandIndex& index) { return index.divisor != 1; };
    const bool gaps =
        !read.is_divided() && std::any_of(read.indices().begin(), read.indices().end(), divided);
    const bool nothing = std::all_of(pieces.begin(), pieces.end(), [](int b) { return b < 0; });
    if (!gaps && !nothing && !leaves(indices, read.bound())) return pieces.front();
    for (const Made& made : m_made) {
      if (made.tensor == tensor && made.way == way && made.block == block && made.rank == rank) {
        return made.buffer;
      }
    }
    const int buffer = m_sink.arranged(tensor, indices, rank);
    m_made.push_back({tensor, way, block, rank, buffer});
    if (nothing) {
      m_sink.filled(rank, buffer, indices, read.outside());
    } else {
      spread(read, indices, gaps, rank, buffer, pieces);
    }
    return buffer;
  }

 private:
  struct Made {
    VertexId tensor = -1;
    std::size_t way = 0;
    Extent block = 0;
    int rank = 0;
    int buffer = -1;
  };

  void spread(const ReadRelation& read, const Box& indices, bool gaps, int rank, int buffer,
              std::span<const int> pieces) {
    const std::size_t dimensions = read.indices().size();
    std::vector<OperandIndex> of = read.indices();
    if (read.is_divided()) {
      for (OperandIndex& index : of) index.divisor = 1;
    }
    std::vector<std::vector<graph::IndexRun>> runs;
    Box covered = indices;
    for (std::size_t k = 0; k < dimensions; ++k) {
      runs.push_back(graph::index_runs(of[k], {indices.lo[k], indices.hi[k]}, read.bound()[k]));
      covered.lo[k] = runs[k].empty() ? indices.lo[k] : runs[k].front().indices.lo;
      covered.hi[k] = runs[k].empty() ? indices.lo[k] : runs[k].back().indices.hi;
    }
    std::vector<Box> empty;
    if (gaps) {
      empty.push_back(indices);
    } else {
      subtract(indices, covered, empty);
    }
    for (const Box& part : empty) m_sink.filled(rank, buffer, part, read.outside());
    if (covered.empty()) return;

    std::vector<std::size_t> at(dimensions, 0);  // a run of each dimension
    while (true) {
      Spread part{-1, buffer, indices, indices, {}};
      int piece = 0;
      int stride = 1;
      for (std::size_t k = 0; k < dimensions; ++k) {
        const graph::IndexRun& run = runs[k][at[k]];
        const OperandIndex& index = of[k];
        part.read.lo[k] = run.read.lo;
        part.read.hi[k] = run.read.hi;
        part.written.lo[k] = run.indices.lo;
        part.written.hi[k] = run.indices.hi;
        part.steps.push_back(run.step);
        const graph::IndexRange first =
            graph::read_range(index, {indices.lo[k], indices.hi[k]}, read.bound()[k], 0);
        if (run.read.lo < first.lo || run.read.hi > first.hi) piece += stride;
        stride *= graph::interval_count(index);
      }
      part.from = pieces[static_cast<std::size_t>(piece)];
      m_sink.spread(rank, std::move(part));
      std::size_t k = 0;
      while (k < dimensions && ++at[k] == runs[k].size()) at[k++] = 0;
      if (k == dimensions) return;
    }
  }

  WalkSink& m_sink;
  std::vector<Made> m_made;  ///< for the statement at hand
};

}  // namespace eindecomp::relation
