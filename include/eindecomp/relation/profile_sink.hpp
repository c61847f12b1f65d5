// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What some ranks do and hold for a unit, from their programs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/gather_once.hpp"
#include "eindecomp/relation/place_buffers.hpp"
#include "eindecomp/relation/rank_builder.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/unit_key.hpp"
#include "eindecomp/relation/unit_profile.hpp"
#include "eindecomp/relation/walk_programs.hpp"

namespace eindecomp::relation {

/// Where a vertex is in a list; its size if it is not there.
[[nodiscard]] inline std::size_t place_in(const std::vector<VertexId>& list, VertexId v) {
  return to_index(std::find(list.begin(), list.end(), v) - list.begin());
}

/// How many buffers there are of a tensor: stored ones, assembled ones.
using BufferCounts = std::array<int, 2>;

/// Takes a walk of a unit and makes the programs of some ranks, of the unit alone.
class ProfileSink final : public RankProgramSink {
 public:
  /// \param wanted  ascending
  ProfileSink(const EinGraph& graph, const graph::Masks& masks, const Unit& unit,
              const std::vector<StepGroup>& groups, const SpaceFacts& space, int ranks,
              const std::vector<int>& wanted)
      : RankProgramSink(graph, masks, groups, space, ranks, wanted, {}),
        m_graph(graph),
        m_unit(unit),
        m_constants(space.constants),
        m_told(wanted.size()) {
    for (Told& told : m_told) told.calls.assign(unit.statements.size(), 0);
  }

  int stored(VertexId tensor, const Box& box, int worker, int rank) override {
    const int buffer = RankProgramSink::stored(tensor, box, worker, rank);
    return number(rank, tensor, buffer, 0);
  }
  int assembled(VertexId tensor, const Box& box, int rank) override {
    const int buffer = RankProgramSink::assembled(tensor, box, rank);
    return number(rank, tensor, buffer, 1);
  }
  void called(VertexId statement, const WalkedCall& call) override {
    RankProgramSink::called(statement, call);
    if (!wants(call.rank)) return;
    ++m_told[to_index(place_of(call.rank))].calls[place_in(m_unit.statements, statement)];
  }
  /// Of the last statement later, rank by rank: what one does for it then stays in the caches
  /// until it has been looked at.
  void end(VertexId statement) override {
    if (statement != m_unit.statements.back()) RankProgramSink::end(statement);
  }
  [[nodiscard]] bool wants_rereads() const override { return true; }
  void reread(VertexId statement) override { m_rereads.push_back(statement); }

  // --- After the walk, of the n-th rank wanted ---

  /// The program, tiles placed, buffers not. Once.
  [[nodiscard]] RankProgram take(std::size_t n, const std::vector<VertexId>& last_reader) {
    builders()[n].end();
    RankProgram program = std::move(builders()[n].program());
    gather_once(program, m_constants);
    if (program.instructions.empty()) return program;
    find_lives(program);
    for (TiledCalls& tiled : program.tiled) place_tiles(m_graph, last_reader, program, tiled);
    return program;
  }
  /// What it holds, by its program.
  [[nodiscard]] UnitProfile::Shape shape_of(std::size_t n, const RankProgram& program) {
    UnitProfile::Shape shape;
    if (program.instructions.empty()) return shape;
    std::vector<int> stage_of(program.instructions.size(), 0);
    const auto statement = [&](std::size_t i) {
      return static_cast<int>(place_in(m_unit.statements, program.instructions[i].statement));
    };
    for_each_area(program,
                  [&](std::size_t first, std::size_t last, std::int64_t area, std::int64_t held) {
                    for (std::size_t i = first; i <= last; ++i) {
                      stage_of[i] = static_cast<int>(shape.stages.size());
                    }
                    shape.stages.push_back({area, held, statement(first), statement(last)});
                  });
    std::vector<int>& copies = m_told[n].copies;
    copies.resize(program.buffers.size(), -1);
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      if (buffer.role != Buffer::Role::scratch || buffer.first > buffer.last) continue;
      const std::size_t tensor = place_in(m_unit.tensors, buffer.tensor);
      const bool kept = is_kept(program, buffer);
      if (kept && tensor == m_unit.tensors.size()) continue;  // of no use to this unit
      shape.lives.push_back({static_cast<int>(tensor), copies[b], stage_of[to_index(buffer.first)],
                             stage_of[to_index(buffer.last)], buffer.bytes, kept});
    }
    std::ranges::sort(shape.lives, {}, [](const UnitProfile::Life& l) {
      return std::tuple(l.tensor, l.copy, l.first, l.last, l.bytes);
    });
    return shape;
  }
  /// Its kernel calls, per statement.
  [[nodiscard]] const std::vector<Extent>& calls(std::size_t n) const { return m_told[n].calls; }
  /// Its buffers that other units may use, per tensor.
  [[nodiscard]] const std::unordered_map<VertexId, BufferCounts>& counts(std::size_t n) const {
    return m_told[n].counts;
  }
  /// The statements of which a call on a rank reads what the rank has received before.
  [[nodiscard]] const std::vector<VertexId>& rereads() const { return m_rereads; }

 private:
  /// What is told of a rank, beside its program.
  struct Told {
    std::vector<int> copies;  ///< per buffer, UnitProfile::Life::copy
    std::unordered_map<VertexId, BufferCounts> counts;
    std::vector<Extent> calls;
  };

  /// Notes which of its tensor's buffers one is. \param kind  in BufferCounts
  int number(int rank, VertexId tensor, int buffer, std::size_t kind) {
    if (!wants(rank)) return buffer;
    Told& told = m_told[to_index(place_of(rank))];
    told.copies.resize(to_index(buffer) + 1, -1);
    told.copies.back() = 2 * told.counts[tensor][kind]++ + static_cast<int>(kind);
    return buffer;
  }

  const EinGraph& m_graph;
  const Unit& m_unit;
  std::vector<VertexId> m_constants;
  std::vector<Told> m_told;
  std::vector<VertexId> m_rereads;
};

}  // namespace eindecomp::relation
