// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which calls of a program run tile by tile, and how long tiles are. Decided from shapes and
/// places alone, never from the number of threads, so that results do not depend on it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/kernel/copy/kernel.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/relation/arena.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/cut_tiles.hpp"
#include "eindecomp/run/fused_tiles.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp::run {

/// What of a program runs tile by tile, and the kernels for it.
struct TiledCalls {
  std::vector<FusedTiles> runs;  ///< in the program's order
  std::vector<std::unique_ptr<const kernel::TileKernel>> joins;

  /// The most bytes that any run takes for each thread.
  [[nodiscard]] std::int64_t most_own_bytes() const {
    std::int64_t most = 0;
    for (const FusedTiles& run : runs) most = std::max(most, run.own_bytes);
    return most;
  }
};

/// Of the statements of a step group, those that follow one another on one block run tile by tile
/// if each is one call of a kernel on the generic algorithm, which loses nothing by being cut.
template <class Space>
class TileFinder {
 public:
  using Launchers = std::vector<const kernel::Launcher<Space>*>;

  TileFinder(const EinGraph& graph, const std::vector<StepGroup>& groups,
             const RankProgram& program, const Launchers& launchers,
             const std::vector<BlockMemory>& buffers)
      : m_graph(graph),
        m_groups(groups),
        m_program(program),
        m_launchers(launchers),
        m_buffers(buffers),
        m_cutter(graph, program, buffers) {}

  [[nodiscard]] TiledCalls find() {
    if constexpr (compat::is_synchronous<Space>) {
      for (const StepGroup& group : m_groups) find_in(group);
    }
    return std::move(m_tiles);
  }

 private:
  [[nodiscard]] const Instruction& instruction(std::size_t s) const {
    return m_program.instructions[s];
  }
  [[nodiscard]] VertexId statement(std::size_t s) const { return instruction(s).statement; }
  [[nodiscard]] const KernelCall& call(std::size_t s) const {
    return *instruction(s).template as<KernelCall>();
  }
  [[nodiscard]] const Buffer& buffer(int b) const { return m_program.buffers[at(b)]; }

  void find_in(const StepGroup& group) {
    const std::size_t count = m_program.instructions.size();
    for (std::size_t s = 0; s < count;) {
      std::size_t end = s;
      while (end < count && group.contains(statement(end)) && is_one_call(end) && has_tiles(end) &&
             (end == s || (statement(end - 1) < statement(end) &&
                           instruction(end - 1).turn + 1 == instruction(end).turn))) {
        ++end;
      }
      std::optional<FusedTiles> run;
      for (; end >= s + 2 && !run; --end) run = run_of(group, s, end);
      s = run ? run->end : s + 1;
      if (run) m_tiles.runs.push_back(std::move(*run));
    }
  }

  /// Whether an instruction is the only one of its turn, a call that gives final elements.
  [[nodiscard]] bool is_one_call(std::size_t s) const {
    const auto same_turn = [&](std::size_t other) {
      return other < m_program.instructions.size() &&
             instruction(other).turn == instruction(s).turn;
    };
    if (same_turn(s + 1) || (s > 0 && same_turn(s - 1))) return false;
    const auto* const one = instruction(s).template as<KernelCall>();
    return one != nullptr && one->finish && !one->accumulate;
  }

  /// Whether a call may be cut into tiles; those that it is cut into may, too, or are not found.
  [[nodiscard]] bool has_tiles(std::size_t s) const {
    const CallMemory memory = call_memory(m_graph[statement(s)], call(s), m_buffers);
    return m_launchers[at(statement(s))]->prepare_tile(memory.shape) != nullptr;
  }

  [[nodiscard]] std::optional<FusedTiles> run_of(const StepGroup& group, std::size_t begin,
                                                 std::size_t end) {
    if (shares_memory(begin, end)) return std::nullopt;
    std::optional<FusedTiles> run = run_of_tiles(group, begin, end, tuning::tile_bytes);
    if (!run || run->interleaved_with < 0) return run;
    std::optional<FusedTiles> longer =
        run_of_tiles(group, begin, end, tuning::interleaved_tile_bytes);
    return longer && longer->interleaved_with >= 0 ? longer : run;
  }

  /// \param bytes  of a tile's tensors together, if its rows are short enough or can be cut.
  [[nodiscard]] std::optional<FusedTiles> run_of_tiles(const StepGroup& group, std::size_t begin,
                                                       std::size_t end, std::int64_t bytes) {
    const std::optional<TileCut> cut = m_cutter.cut_of(begin, end, bytes);
    if (!cut) return std::nullopt;
    FusedTiles run;
    run.begin = begin;
    run.end = end;
    run.rows = cut->rows.tiles();
    if (cut->pieces) run.pieces = cut->pieces->tiles();
    const std::vector<std::int64_t> own = place_own(*cut, run);
    for (std::size_t s = begin; s < end; ++s) {
      std::optional<TileCall> tiles = tile_call(*cut, run, s, own, group);
      if (!tiles) return std::nullopt;
      run.calls.push_back(*tiles);
    }
    interleave_last(run);
    prefetch_next(*cut, run);
    return run;
  }

  /// Interleaves the last call, if it writes by non-temporal stores, with the last of those before
  /// it that are compute-bound, where both divide alike and two tiles fit the second cache.
  static void interleave_last(FusedTiles& run) {
    const TileCall& last = run.calls.back();
    const Extent outputs = last.join->resumable_outputs();
    if (!last.streamed || outputs == 0 || 2 * run.own_bytes > tuning::max_interleaved_bytes) return;
    for (std::size_t c = 0; c + 1 < run.calls.size(); ++c) {
      const kernel::TileKernel& join = *run.calls[c].join;
      if (join.is_compute_bound() && join.resumable_outputs() == outputs)
        run.interleaved_with = static_cast<int>(c);
    }
    if (run.interleaved_with >= 0) run.own_bytes *= 2;
  }

  /// Whether a tensor exists within the run only, so that every thread has one tile of it.
  [[nodiscard]] bool is_own(int b, std::size_t begin, std::size_t end) const {
    const Buffer& its = buffer(b);
    return its.role == Buffer::Role::scratch && at(its.first) >= begin && at(its.last) < end;
  }

  /// Whether tensors that live one after another, and so may have one place, would live together.
  [[nodiscard]] bool shares_memory(std::size_t begin, std::size_t end) const {
    std::vector<int> used;
    for (std::size_t s = begin; s < end; ++s) {
      used.insert(used.end(), call(s).operands.begin(), call(s).operands.end());
      used.push_back(call(s).output);
    }
    std::erase_if(used, [&](int b) {
      return buffer(b).role != Buffer::Role::scratch || is_own(b, begin, end);
    });
    for (int a : used) {
      for (int b : used) {
        if (a < b && buffer(a).offset < buffer(b).offset + buffer(b).bytes &&
            buffer(b).offset < buffer(a).offset + buffer(a).bytes) {
          return true;
        }
      }
    }
    return false;
  }

  /// Offsets, by step of the run, of the outputs that each thread has for itself; -1 of others.
  [[nodiscard]] std::vector<std::int64_t> place_own(const TileCut& cut, FusedTiles& run) const {
    std::vector<std::int64_t> offset(run.end - run.begin, -1);
    std::vector<std::int64_t> bytes(offset.size());
    Arena arena;
    for (std::size_t s = run.begin; s < run.end; ++s) {
      if (!is_own(call(s).output, run.begin, run.end)) continue;
      for (std::size_t before = run.begin; before < s; ++before) {
        std::int64_t& size = bytes[before - run.begin];
        if (size == 0 || at(buffer(call(before).output).last) >= s) continue;
        arena.release(offset[before - run.begin], size);
        size = 0;
      }
      bytes[s - run.begin] =
          own_block(cut, run, s, {}).box.size() * m_buffers[at(call(s).output)].bytes;
      offset[s - run.begin] = arena.allocate(bytes[s - run.begin]);
    }
    run.own_bytes = arena.peak();
    return offset;
  }

  /// A tile of what a step writes, where that has a place of its own.
  [[nodiscard]] BlockMemory own_block(const TileCut& cut, const FusedTiles& run, std::size_t s,
                                      TilePlace place) const {
    const std::vector<int>& labels = m_graph[statement(s)].output;
    const Box domain = cut.tile(call(s).domain, s - run.begin, place);
    const BlockMemory& whole = m_buffers[at(call(s).output)];
    Box box = whole.box;
    for (std::size_t k = 0; k < labels.size(); ++k) {
      box.lo[k] = domain.lo[at(labels[k])];
      box.hi[k] = domain.hi[at(labels[k])];
    }
    return BlockMemory::dense(whole.data, box, whole.bytes);
  }

  /// The step of a run that writes a buffer of its own; the run's end if none does.
  [[nodiscard]] std::size_t writer(const FusedTiles& run, int b,
                                   const std::vector<std::int64_t>& own) const {
    for (std::size_t s = run.begin; s < run.end; ++s) {
      if (call(s).output == b && own[s - run.begin] >= 0) return s;
    }
    return run.end;
  }

  /// A call of one tile, on memory that stands for that of any thread.
  [[nodiscard]] CallMemory memory_of(const TileCut& cut, const FusedTiles& run, std::size_t s,
                                     TilePlace place, const std::vector<std::int64_t>& own) const {
    BlockMemory blocks[kernel::max_operands + 1];
    const BlockMemory* operands[kernel::max_operands]{};
    const auto block = [&](int b) {
      const std::size_t from = writer(run, b, own);
      return from == run.end ? m_buffers[at(b)] : own_block(cut, run, from, place);
    };
    const std::vector<int>& read = call(s).operands;
    for (std::size_t o = 0; o < read.size(); ++o) {
      blocks[o] = block(read[o]);
      operands[o] = &blocks[o];
    }
    CallMemory memory =
        call_memory(m_graph[statement(s)], cut.tile(call(s).domain, s - run.begin, place),
                    {operands, read.size()}, block(call(s).output));
    // Only an aggregation asks where it begins.
    for (int l = 0; l < memory.shape.labels; ++l) {
      if (!memory.shape.aggregated[l]) memory.shape.begin[l] = 0;
    }
    return memory;
  }

  [[nodiscard]] std::optional<TileCall> tile_call(const TileCut& cut, const FusedTiles& run,
                                                  std::size_t s,
                                                  const std::vector<std::int64_t>& own,
                                                  const StepGroup& group) {
    const TilePlace last{run.rows - 1, run.pieces - 1};
    const CallMemory first = memory_of(cut, run, s, {}, own);
    const CallMemory next_row = memory_of(cut, run, s, {std::min<Extent>(1, last.row), 0}, own);
    const CallMemory next_piece = memory_of(cut, run, s, {0, std::min<Extent>(1, last.piece)}, own);
    TileCall tiles;
    tiles.join = join_of(statement(s), first.shape);
    tiles.last_join = join_of(statement(s), memory_of(cut, run, s, last, own).shape);
    if (tiles.join == nullptr || tiles.last_join == nullptr) return std::nullopt;
    const auto tensor = [&](int b, const void* begin, const void* row, const void* piece) {
      const auto bytes = [](const void* pointer) { return static_cast<const char*>(pointer); };
      TileTensor place;
      place.first = bytes(begin) - m_buffers[at(b)].data;
      const std::size_t from = writer(run, b, own);
      if (from != run.end) {
        place.first += own[from - run.begin];
      } else {
        place.buffer = b;
        place.row_step = bytes(row) - bytes(begin);
        place.piece_step = bytes(piece) - bytes(begin);
      }
      return place;
    };
    const std::vector<int>& read = call(s).operands;
    tiles.operands = static_cast<int>(read.size());
    for (std::size_t o = 0; o < read.size(); ++o) {
      tiles.operand[o] =
          tensor(read[o], first.operands[o], next_row.operands[o], next_piece.operands[o]);
    }
    tiles.output = tensor(call(s).output, first.output, next_row.output, next_piece.output);
    tiles.streamed = is_streamed(call(s).output, group);
    return tiles;
  }

  /// Whether a tensor is larger than the caches and not read by the group.
  [[nodiscard]] bool is_streamed(int b, const StepGroup& group) const {
    const Buffer& its = buffer(b);
    if (its.role != Buffer::Role::result ||
        kernel::detail::store_policy(its.bytes) != kernel::detail::StorePolicy::non_temporal) {
      return false;
    }
    const std::vector<VertexId> statements = statements_of(m_graph, group);
    return std::none_of(statements.begin(), statements.end(), [&](VertexId v) {
      const std::vector<Operand>& operands = m_graph[v].operands;
      return std::any_of(operands.begin(), operands.end(),
                         [&](const Operand& o) { return o.vertex == its.tensor; });
    });
  }

  /// Lets the maps of a group prefetch the next tile of its largest input, so that main memory is
  /// busy while they compute: as many of the last maps as are a power of two, each an equal part.
  void prefetch_next(const TileCut& cut, FusedTiles& run) const {
    std::int64_t bytes = 0;
    for (std::size_t s = run.begin; s < run.end; ++s) {
      const Vertex& v = m_graph[statement(s)];
      for (std::size_t o = 0; o < v.operands.size(); ++o) {
        const int b = call(s).operands[o];
        if (buffer(b).role != Buffer::Role::input) continue;
        const std::int64_t its = contiguous_bytes(cut, s - run.begin, call(s).domain,
                                                  v.operands[o].labels, m_buffers[at(b)]);
        if (its <= bytes) continue;
        bytes = its;
        run.read = run.calls[s - run.begin].operand[o];
      }
    }
    // Not the call that reads what was asked for, nor one that waits for its own stores already.
    const std::size_t first = run.begin + (run.interleaved_with == 0 ? 0 : 1);
    const std::size_t last = run.end - (run.interleaved_with >= 0 ? 1 : 0);
    std::vector<TileCall*> maps;
    for (std::size_t s = first; s < last; ++s) {
      TileCall& tiles = run.calls[s - run.begin];
      const BlockMemory& output = m_buffers[at(call(s).output)];
      if (tiles.join->prefetches() &&
          bytes == cut.tile(call(s).domain, s - run.begin, {}).size() * output.bytes) {
        maps.push_back(&tiles);
      }
    }
    if (bytes == 0 || maps.empty()) return;
    const std::size_t parts = std::bit_floor(maps.size());
    run.prefetch_shift = std::bit_width(parts) - 1;
    for (std::size_t part = 0; part < parts; ++part) {
      maps[maps.size() - parts + part]->prefetch =
          bytes / static_cast<std::int64_t>(parts) * static_cast<std::int64_t>(part);
    }
  }

  /// The bytes of a tile of an operand; 0 if they do not lie without gaps.
  [[nodiscard]] static std::int64_t contiguous_bytes(const TileCut& cut, std::size_t step,
                                                     const Box& domain,
                                                     const std::vector<int>& labels,
                                                     const BlockMemory& memory) {
    const Box tile = cut.tile(domain, step, {});
    Box part = memory.box;
    for (std::size_t k = 0; k < labels.size(); ++k) {
      part.lo[k] = tile.lo[at(labels[k])];
      part.hi[k] = tile.hi[at(labels[k])];
    }
    return memory.contiguous(part) ? part.size() * memory.bytes : 0;
  }

  /// The kernel of a statement for a shape; null if it has none. Blocks of equal shape share one.
  [[nodiscard]] const kernel::TileKernel* join_of(VertexId of, const kernel::LocalEinsum& shape) {
    for (const Prepared& known : m_prepared) {
      if (known.statement == of && known.shape == shape) return known.join;
    }
    std::unique_ptr<const kernel::TileKernel> join = m_launchers[at(of)]->prepare_tile(shape);
    m_prepared.push_back({of, shape, join.get()});
    m_tiles.joins.push_back(std::move(join));
    return m_prepared.back().join;
  }

  struct Prepared {
    VertexId statement = -1;
    kernel::LocalEinsum shape;
    const kernel::TileKernel* join = nullptr;
  };

  const EinGraph& m_graph;
  const std::vector<StepGroup>& m_groups;
  const RankProgram& m_program;
  const Launchers& m_launchers;
  const std::vector<BlockMemory>& m_buffers;
  TileCutter m_cutter;
  std::vector<Prepared> m_prepared;
  TiledCalls m_tiles;
};

}  // namespace eindecomp::run
