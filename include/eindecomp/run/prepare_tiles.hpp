// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Calls that a program runs tile by tile, made ready for memory of one geometry.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/kernel/copy/schedule.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/fused_tiles.hpp"

namespace eindecomp::run {

/// The launchers of a program's statements, by vertex; null for inputs.
template <class Space>
using Launchers = std::vector<const kernel::Launcher<Space>*>;

/// Works out which kernels tiles need, and where their tensors lie.
template <class Space>
class TilePreparer {
 public:
  using Kernels = std::vector<std::unique_ptr<const kernel::TileKernel>>;

  /// \param kernels  takes what is made; blocks of equal shape share one.
  TilePreparer(const EinGraph& graph, const RankProgram& program, const Launchers<Space>& launchers,
               const std::vector<BlockMemory>& buffers, Kernels& kernels)
      : m_graph(graph),
        m_program(program),
        m_launchers(launchers),
        m_buffers(buffers),
        m_kernels(kernels) {}

  [[nodiscard]] FusedTiles prepare(const TiledCalls& tiled) {
    m_tiled = &tiled;
    FusedTiles made;
    const Box& domain = call(0).domain;
    for (std::size_t a = 0; a < tiled.axes.size(); ++a) {
      made.count[a] = tiled.axes[a].pieces(domain.extent(tiled.axes[a].positions.front()));
    }
    made.offset = tiled.offset;
    made.thread_bytes = tiled.thread_bytes;
    for (std::size_t c = 0; c < size(); ++c) made.calls.push_back(prepare(c, made));
    if (tiled.interleaved >= 0) {
      const int partner = tiled.interleaved - tiled.first;
      const Extent outputs = made.calls.back().kernel[0][0]->resumable_outputs();
      if (outputs > 0 &&
          made.calls[to_index(partner)].kernel[0][0]->resumable_outputs() == outputs) {
        made.interleaved = partner;
      }
    }
    prefetch_next(made);
    return made;
  }

 private:
  using Place = FusedTiles::Place;

  [[nodiscard]] std::size_t size() const { return to_index(m_tiled->last - m_tiled->first) + 1; }
  [[nodiscard]] const Instruction& instruction(std::size_t c) const {
    return m_program.instructions[to_index(m_tiled->first) + c];
  }
  [[nodiscard]] const Vertex& statement(std::size_t c) const {
    return m_graph[instruction(c).statement];
  }
  [[nodiscard]] const KernelCall& call(std::size_t c) const {
    return *instruction(c).template as<KernelCall>();
  }
  [[nodiscard]] const Buffer& buffer(int b) const { return m_program.buffers[to_index(b)]; }
  [[nodiscard]] bool is_own(int b) const { return buffer(b).role == Buffer::Role::tile; }

  /// The domain of a call of one tile.
  [[nodiscard]] Box tile(std::size_t c, const FusedTiles& made, Place place) const {
    Box domain = call(c).domain;
    relation::restrict_domain(domain, m_tiled->axes, c, place.row * made.count[1] + place.piece);
    return domain;
  }

  /// What of a buffer has these labels in a domain.
  [[nodiscard]] static Box box_of(Box box, const std::vector<int>& labels, const Box& domain) {
    for (std::size_t k = 0; k < labels.size(); ++k) {
      box.lo[k] = domain.lo[to_index(labels[k])];
      box.hi[k] = domain.hi[to_index(labels[k])];
    }
    return box;
  }

  /// A buffer, or the tile of it that a thread holds.
  [[nodiscard]] BlockMemory block(int b, const FusedTiles& made, Place place) const {
    const BlockMemory& whole = m_buffers[to_index(b)];
    if (!is_own(b)) return whole;
    std::size_t writer = 0;
    while (call(writer).output != b) ++writer;
    return BlockMemory::dense(
        whole.data, box_of(whole.box, statement(writer).output, tile(writer, made, place)),
        whole.bytes);
  }

  /// A call of one tile, on memory that stands for that of any thread.
  [[nodiscard]] CallMemory memory_of(std::size_t c, const FusedTiles& made, Place place) const {
    BlockMemory blocks[kernel::max_operands];
    const BlockMemory* operands[kernel::max_operands]{};
    const std::vector<int>& read = call(c).operands;
    for (std::size_t o = 0; o < read.size(); ++o) {
      blocks[o] = block(read[o], made, place);
      operands[o] = &blocks[o];
    }
    CallMemory memory = call_memory(statement(c), tile(c, made, place), {operands, read.size()},
                                    block(call(c).output, made, place));
    memory.shape.forget_begins();
    return memory;
  }

  [[nodiscard]] TileCall prepare(std::size_t c, const FusedTiles& made) {
    const Place last{made.count[0] - 1, made.count[1] - 1};
    const CallMemory first = memory_of(c, made, {});
    const CallMemory next_row = last.row > 0 ? memory_of(c, made, {1, 0}) : first;
    const CallMemory next_piece = last.piece > 0 ? memory_of(c, made, {0, 1}) : first;
    const auto tensor = [&](int b, const void* begin, const void* row, const void* piece) {
      const auto bytes = [](const void* pointer) { return static_cast<const char*>(pointer); };
      const std::int64_t offset = bytes(begin) - m_buffers[to_index(b)].data;
      if (is_own(b)) return TileTensor{-1, buffer(b).offset + offset, 0, 0};
      return TileTensor{b, offset, bytes(row) - bytes(begin), bytes(piece) - bytes(begin)};
    };
    TileCall tiles;
    const VertexId of = instruction(c).statement;
    tiles.kernel[0][0] = kernel_for(of, first.shape);
    const auto kernel_at = [&](Place place) {
      return kernel_for(of, memory_of(c, made, place).shape);
    };
    const bool rows = last.row > 0;
    const bool pieces = last.piece > 0;
    tiles.kernel[1][0] = rows ? kernel_at({last.row, 0}) : tiles.kernel[0][0];
    tiles.kernel[0][1] = pieces ? kernel_at({0, last.piece}) : tiles.kernel[0][0];
    tiles.kernel[1][1] = rows && pieces ? kernel_at(last) : tiles.kernel[rows][pieces];
    const std::vector<int>& read = call(c).operands;
    tiles.operands = static_cast<int>(read.size());
    for (std::size_t o = 0; o < read.size(); ++o) {
      tiles.operand[o] =
          tensor(read[o], first.operands[o], next_row.operands[o], next_piece.operands[o]);
    }
    const int output = call(c).output;
    tiles.output = tensor(output, first.output, next_row.output, next_piece.output);
    tiles.streamed = call(c).unread && kernel::detail::store_policy(buffer(output).bytes) ==
                                           kernel::detail::StorePolicy::non_temporal;
    return tiles;
  }

  /// Lets the maps prefetch the next tile of their largest input, so that main memory is busy while
  /// they compute: as many of the last maps as are a power of two, each an equal part.
  void prefetch_next(FusedTiles& made) const {
    std::int64_t bytes = 0;
    for (std::size_t c = 0; c < size(); ++c) {
      for (std::size_t o = 0; o < statement(c).operands.size(); ++o) {
        const int b = call(c).operands[o];
        if (buffer(b).role != Buffer::Role::input) continue;
        const BlockMemory& memory = m_buffers[to_index(b)];
        const Box part = box_of(memory.box, statement(c).operands[o].labels, tile(c, made, {}));
        if (!memory.contiguous(part) || part.size() * memory.bytes <= bytes) continue;
        bytes = part.size() * memory.bytes;
        made.read = made.calls[c].operand[o];
      }
    }
    // Not the call that reads what was asked for, nor one that waits for its own stores already.
    std::vector<TileCall*> maps;
    const std::size_t end = size() - (made.interleaved >= 0 ? 1 : 0);
    for (std::size_t c = made.interleaved == 0 ? 0 : 1; c < end; ++c) {
      if (statement(c).kernel.maps &&
          bytes == tile(c, made, {}).size() * m_buffers[to_index(call(c).output)].bytes) {
        maps.push_back(&made.calls[c]);
      }
    }
    if (bytes == 0 || maps.empty()) return;
    const std::size_t parts = std::bit_floor(maps.size());
    made.prefetch_shift = std::bit_width(parts) - 1;
    for (std::size_t part = 0; part < parts; ++part) {
      maps[maps.size() - parts + part]->prefetch =
          bytes / static_cast<std::int64_t>(parts) * static_cast<std::int64_t>(part);
    }
  }

  [[nodiscard]] const kernel::TileKernel* kernel_for(VertexId of,
                                                     const kernel::LocalEinsum& shape) {
    for (const Known& known : m_known) {
      if (known.statement == of && known.shape == shape) return known.kernel;
    }
    m_kernels.push_back(m_launchers[to_index(of)]->prepare_tile(shape));
    m_known.push_back({of, shape, m_kernels.back().get()});
    return m_known.back().kernel;
  }

  struct Known {
    VertexId statement = -1;
    kernel::LocalEinsum shape;
    const kernel::TileKernel* kernel = nullptr;
  };

  const EinGraph& m_graph;
  const RankProgram& m_program;
  const Launchers<Space>& m_launchers;
  const std::vector<BlockMemory>& m_buffers;
  Kernels& m_kernels;
  const TiledCalls* m_tiled = nullptr;
  std::vector<Known> m_known;
};

}  // namespace eindecomp::run
