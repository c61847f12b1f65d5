// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a rank does for a group of statements that run in steps: their calls, block by block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mask_splitter.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/rounds.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"

namespace eindecomp::relation {

/// Emits the calls of one group of statements on one rank. All that they read of tensors made
/// elsewhere has been gathered.
class StepBuilder {
 public:
  /// A statement of the group, and its calls before they are cut.
  struct Statement {
    VertexId statement = -1;
    std::vector<KernelCall> calls;
  };

  /// \param results      of the program, by vertex
  /// \param last_reader  as last_readers() says
  StepBuilder(const EinGraph& graph, const graph::Masks& masks, const Flags& results,
              RankProgram& program, const StepGroup& group,
              const std::vector<VertexId>& last_reader)
      : m_graph(graph),
        m_masks(masks),
        m_results(results),
        m_program(program),
        m_group(group),
        m_inside(passed_on(graph, group, last_reader)),
        m_adds(adds_blocks(graph, group)) {}

  /// \param statements  of the group, in order
  void emit(const std::vector<Statement>& statements) {
    const Extent blocks = m_group.steps();
    if (m_masks.any()) find_readers(statements);
    for (Extent n = 0; n < blocks; ++n) {
      m_blocks.clear();
      const std::size_t begin = m_program.instructions.size();
      if (m_masks.any()) find_unread(statements, n);
      for (std::size_t s = 0; s < statements.size(); ++s) {
        m_statement = statements[s].statement;
        const Vertex& v = m_graph[m_statement];
        for (const KernelCall& whole : statements[s].calls) {
          KernelCall call = block_call(whole, s, n);
          if (call.domain.empty() || (m_masks.any() && m_unread[s])) continue;
          if (is_masked(m_statement, call)) {
            const bool adds = m_adds && m_statement == m_group.last;
            if (adds ? has_sum(call) : call.accumulate) continue;
            leave_out_joins(v, call);
          }
          for (std::size_t o = 0; o < v.operands.size(); ++o) {
            call.operands[o] = block_of(call.operands[o], v.operands[o].labels, call.domain);
          }
          call.output = block_of(call.output, v.output, call.domain);
          if (m_adds && m_statement == m_group.last) add_up(call);
          emit_unmasked(std::move(call));
        }
        ++m_program.turns;
      }
      if (m_program.threads > 0) {
        for (const StepGroup& tiles : m_group.tiles) emit_tiles(tiles, begin);
      }
    }
    for (const auto& [key, sum] : m_sums) {
      if (sum.buffer >= 0) emit(Combine{{key.first, sum.box}, {{sum.buffer, sum.box}}});
    }
  }

 private:
  using Work = decltype(Instruction::work);
  /// A box of results that calls on several blocks add to.
  struct Sum {
    Box box;
    int buffer = -1;  ///< of accumulators, where final elements are not
  };
  using SumKey = std::pair<int, std::vector<Extent>>;  ///< buffer, where the box begins

  void emit(Work&& work) {
    m_program.instructions.push_back({m_statement, m_program.turns, std::move(work)});
  }
  int add(VertexId tensor, const Box& box, bool partial) {
    return add_buffer(m_graph, m_program, tensor, box, partial, Buffer::Role::scratch);
  }

  /// A call, on the n-th block alone. \param s  the number of its statement in the group
  [[nodiscard]] KernelCall block_call(KernelCall call, std::size_t s, Extent n) const {
    restrict_domain(call.domain, m_group.axes, s, n);
    return call;
  }
  /// Whether a call of a statement computes nothing that counts.
  [[nodiscard]] bool is_masked(VertexId statement, const KernelCall& call) const {
    const std::vector<graph::Condition>& conditions = m_masks.of(statement);
    return !conditions.empty() &&
           counting_joins(m_graph[statement], conditions, call.domain).empty();
  }
  /// A call, without most of the joins that a mask makes 0. Those of tiles stay whole: threads have
  /// one call for each statement.
  void emit_unmasked(KernelCall&& call) {
    const std::vector<graph::Condition>& conditions = m_masks.of(m_statement);
    const bool in_tiles =
        std::any_of(m_group.tiles.begin(), m_group.tiles.end(),
                    [&](const StepGroup& tiles) { return tiles.contains(m_statement); });
    if (conditions.empty() || in_tiles) {
      keep_counting(m_graph[m_statement], conditions, call);
      emit(std::move(call));
      return;
    }
    std::vector<KernelCall> calls{std::move(call)};
    MaskSplitter(m_graph[m_statement], conditions).split(calls);
    for (KernelCall& part : calls) emit(std::move(part));
  }
  /// Finds, for every statement, the later ones that read what it passes on.
  void find_readers(const std::vector<Statement>& statements) {
    m_readers.resize(statements.size());
    for (std::size_t s = 0; s < statements.size(); ++s) {
      const VertexId tensor = statements[s].statement;
      if (!m_inside[to_index(tensor - m_group.first)]) continue;
      for (std::size_t r = s + 1; r < statements.size(); ++r) {
        if (is_read_by(m_graph, {statements[r].statement}, tensor)) m_readers[s].push_back(r);
      }
    }
  }
  /// Finds the statements whose results on the n-th block are read by such calls alone as compute
  /// nothing that counts.
  void find_unread(const std::vector<Statement>& statements, Extent n) {
    m_unread.assign(statements.size(), 0);
    Flags reads(statements.size(), 0);  // whether it reads something of this block
    for (std::size_t s = statements.size(); s-- > 0;) {
      const std::vector<std::size_t>& readers = m_readers[s];
      m_unread[s] = !readers.empty() && std::none_of(readers.begin(), readers.end(),
                                                     [&](std::size_t r) { return reads[r] != 0; })
                        ? 1
                        : 0;
      if (m_unread[s]) continue;
      for (const KernelCall& call : statements[s].calls) {
        if (!is_masked(statements[s].statement, block_call(call, s, n))) reads[s] = 1;
      }
    }
  }

  /// Lets calls of the block that begins with an instruction run tile by tile, if each statement is
  /// one call on this rank and there is more than one tile.
  void emit_tiles(const StepGroup& tiles, std::size_t begin) {
    const std::vector<VertexId> statements = statements_of(m_graph, tiles);
    const std::vector<Instruction>& list = m_program.instructions;
    while (begin < list.size() && list[begin].statement < tiles.first) ++begin;
    const std::size_t end = begin + statements.size();
    if (end > list.size() || (end < list.size() && list[end].statement == tiles.last)) return;
    TiledCalls tiled;
    tiled.first = static_cast<int>(begin);
    tiled.last = static_cast<int>(end) - 1;
    tiled.axes = tiles.axes;
    const Box& front = list[begin].as<KernelCall>()->domain;
    for (std::size_t s = 0; s < statements.size(); ++s) {
      const Instruction& instruction = list[begin + s];
      if (instruction.statement != statements[s]) return;
      if (!m_graph[statements[s]].periods.empty()) return;
      if (m_graph[statements[s]].op.index_tensors > 0) return;   // it has no kernel for tiles
      if (instruction.as<KernelCall>()->domain.empty()) return;  // it has no joins
      if (statements[s] == tiles.interleaved) tiled.interleaved = static_cast<int>(begin + s);
      const Box& domain = instruction.as<KernelCall>()->domain;
      for (const StepAxis& axis : tiles.axes) {
        const auto here = to_index(axis.positions[s]);
        const auto there = to_index(axis.positions.front());
        if (domain.lo[here] != front.lo[there] || domain.hi[here] != front.hi[there]) return;
      }
    }
    if (tile_count(tiled, front) < 2) return;
    m_program.tiled.push_back(std::move(tiled));
    for (std::size_t i = begin; i < end; ++i) {
      Instruction& instruction = m_program.instructions[i];
      std::get<KernelCall>(instruction.work).unread =
          m_results[to_index(instruction.statement)] &&
          !is_read_by(m_graph, statements_of(m_graph, m_group), instruction.statement);
    }
  }

  /// The buffer of one block in place of the whole one, if the tensor exists block by block.
  int block_of(int whole, const std::vector<int>& positions, const Box& domain) {
    const VertexId tensor = m_program.buffers[to_index(whole)].tensor;
    if (!m_group.contains(tensor) || !m_inside[to_index(tensor - m_group.first)]) {
      return whole;
    }
    const auto [found, fresh] = m_blocks.try_emplace(whole, 0);
    if (fresh) {
      Box box = m_program.buffers[to_index(whole)].box;
      for (std::size_t k = 0; k < positions.size(); ++k) {
        box.lo[k] = domain.lo[to_index(positions[k])];
        box.hi[k] = domain.hi[to_index(positions[k])];
      }
      found->second = add(tensor, box, m_program.buffers[to_index(whole)].partial);
    }
    return found->second;
  }

  /// Whether calls on blocks before have left something where one of the last statement writes.
  [[nodiscard]] bool has_sum(const KernelCall& call) const {
    return m_sums.contains({call.output, results_of(m_graph[m_statement], call.domain).lo});
  }
  /// Lets a call of the last statement add to what those on the blocks before have left.
  void add_up(KernelCall& call) {
    Box box = results_of(m_graph[m_statement], call.domain);
    const auto [at, fresh] = m_sums.try_emplace({call.output, box.lo});
    Sum& sum = at->second;
    if (fresh) {
      sum.box = std::move(box);
      const bool adds_elsewhere = call.finish && m_graph[m_statement].op.finishes;
      if (adds_elsewhere) sum.buffer = add(m_statement, sum.box, true);
    }
    if (sum.buffer >= 0) {
      call.output = sum.buffer;
      call.finish = false;
    }
    call.accumulate = !fresh;
  }

  const EinGraph& m_graph;
  const graph::Masks& m_masks;
  const Flags& m_results;
  RankProgram& m_program;
  const StepGroup& m_group;
  Flags m_inside;  ///< what the group passes on, by vertex less its first
  std::vector<std::vector<std::size_t>> m_readers;  ///< by number; empty where nothing is masked
  Flags m_unread;  ///< statements whose results on the block at hand nobody reads, by number
  bool m_adds;     ///< the last statement, block by block
  VertexId m_statement = -1;
  std::unordered_map<int, int> m_blocks;  ///< of the block at hand, by whole buffer
  std::map<SumKey, Sum> m_sums;
};

}  // namespace eindecomp::relation
