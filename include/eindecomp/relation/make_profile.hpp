// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How the profile of a program is made: the programs of all ranks, of one unit at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/gather_once.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/phases.hpp"
#include "eindecomp/relation/place_buffers.hpp"
#include "eindecomp/relation/program_profile.hpp"
#include "eindecomp/relation/rank_builder.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/unit_key.hpp"
#include "eindecomp/relation/walk.hpp"
#include "eindecomp/relation/walk_programs.hpp"

namespace eindecomp::relation {

/// Takes a walk over some units of a program, and makes the profile of each from the instructions
/// that the ranks' builders have for it.
class ProfileSink : public RankProgramSink {
 public:
  ProfileSink(const EinGraph& graph, const std::vector<StepGroup>& groups, const SpaceFacts& space,
              int workers, int ranks, RankRange made, bool with_phases)
      : RankProgramSink(graph, groups, space, ranks, made.first, made.last),
        m_with_phases(with_phases),
        m_graph(graph),
        m_constants(space.constants),
        m_workers(workers),
        m_ranks(ranks),
        m_last_reader(last_readers(graph)),
        m_copies(static_cast<std::size_t>(ranks)),
        m_counts(static_cast<std::size_t>(ranks)) {}

  int stored(VertexId tensor, const Box& box, int worker, int rank) {
    const int buffer = RankProgramSink::stored(tensor, box, worker, rank);
    return number(rank, tensor, buffer, 0);
  }
  int assembled(VertexId tensor, const Box& box, int rank) {
    const int buffer = RankProgramSink::assembled(tensor, box, rank);
    return number(rank, tensor, buffer, 1);
  }
  void begin(VertexId statement, const BlockMap& calls, const std::vector<JoinedBlocks>& joined) {
    RankProgramSink::begin(statement, calls, joined);
    UnitProfile::Statement made;
    made.calls = static_cast<Extent>(joined.size());
    Flags computing(static_cast<std::size_t>(m_ranks), 0);
    for (std::size_t n = 0; n < joined.size(); ++n) {
      const int worker = calls.worker(static_cast<Extent>(n));
      computing[static_cast<std::size_t>(rank_of(worker, m_workers, m_ranks))] = 1;
    }
    made.computing = static_cast<int>(std::count(computing.begin(), computing.end(), 1));
    made.received.assign(static_cast<std::size_t>(m_ranks), 0);
    m_profile.statements.push_back(std::move(made));
  }
  void reread(VertexId) { m_profile.statements.back().rereads = true; }

  /// The instructions of one rank at a time, of the unit's last statement.
  void end(VertexId statement) {
    m_profile.statements.back().operand_words.assign(m_unit->tensors.size(), 0);
    for (RankBuilder& builder : builders()) {
      builder.end();
      if (statement == m_unit->statements.back()) take(builder.program());
    }
  }

  /// The profile of a unit, whose statements `walk` walks.
  template <class Walk>
  [[nodiscard]] UnitProfile profile(const Unit& unit, const Walk& walk) {
    m_unit = &unit;
    m_profile = {};
    m_profile.shape_of.assign(static_cast<std::size_t>(m_ranks), -1);
    m_known.clear();
    for (const VertexId v : unit.statements) walk(v);
    if (m_with_phases) m_phases.finish(m_profile);
    return std::move(m_profile);
  }
  /// Instructions and buffers looked at so far.
  [[nodiscard]] double spent() const { return m_spent; }

 private:
  /// Notes which of its tensor's buffers one is. \param kind  0: stored; 1: assembled
  int number(int rank, VertexId tensor, int buffer, int kind) {
    if (!wants(rank)) return buffer;
    std::vector<int>& copies = m_copies[to_index(rank)];
    copies.resize(static_cast<std::size_t>(buffer) + 1, -1);
    auto& counts = m_counts[to_index(rank)][tensor];
    copies.back() = 2 * counts[static_cast<std::size_t>(kind)]++ + kind;
    return buffer;
  }
  [[nodiscard]] static int place(const std::vector<VertexId>& list, VertexId v) {
    return static_cast<int>(std::find(list.begin(), list.end(), v) - list.begin());
  }

  /// Takes a rank's instructions of the unit, which are complete.
  void take(RankProgram& program) {
    count_words(*m_unit, program);
    program.constants.clear();  // of the unit before
    gather_once(program, m_constants);
    UnitProfile::Shape shape = shape_of(*m_unit, program);
    const auto [found, fresh] =
        m_known.try_emplace(numbers_of(shape), static_cast<int>(m_profile.shapes.size()));
    if (fresh) m_profile.shapes.push_back(std::move(shape));
    m_profile.shape_of[to_index(program.rank)] = found->second;
    if (m_with_phases) m_phases.take(m_graph, program);
    m_spent += static_cast<double>(program.instructions.size() + program.buffers.size());
    program.instructions = {};
    program.tiled = {};
    // Nothing else will use the unit's own buffers: those at the end can go.
    std::vector<int>& copies = m_copies[to_index(program.rank)];
    while (!copies.empty() && copies.back() < 0) copies.pop_back();
    program.buffers.resize(copies.size());
  }

  void count_words(const Unit& unit, const RankProgram& program) {
    for (const Instruction& instruction : program.instructions) {
      const auto* receive = instruction.as<Receive>();
      if (receive == nullptr) continue;
      UnitProfile::Statement& statement =
          m_profile.statements[to_index(place(unit.statements, instruction.statement))];
      statement.received[to_index(program.rank)] += receive->words;
      for (const Region& region : receive->regions) {
        const Buffer& buffer = program.buffers[static_cast<std::size_t>(region.buffer)];
        Extent& words =
            buffer.partial
                ? statement.partial_words
                : statement
                      .operand_words[static_cast<std::size_t>(place(unit.tensors, buffer.tensor))];
        words += region.box.size();
      }
    }
  }

  [[nodiscard]] UnitProfile::Shape shape_of(const Unit& unit, RankProgram& program) {
    UnitProfile::Shape shape;
    if (program.instructions.empty()) return shape;
    find_lives(program);
    for (TiledCalls& tiled : program.tiled) place_tiles(m_graph, m_last_reader, program, tiled);
    std::vector<int> stage_of(program.instructions.size(), 0);
    for_each_area(
        program, [&](std::size_t first, std::size_t last, std::int64_t area, std::int64_t held) {
          for (std::size_t i = first; i <= last; ++i) {
            stage_of[i] = static_cast<int>(shape.stages.size());
          }
          shape.stages.push_back({area, held,
                                  place(unit.statements, program.instructions[first].statement),
                                  place(unit.statements, program.instructions[last].statement)});
        });
    std::vector<int>& copies = m_copies[to_index(program.rank)];
    copies.resize(program.buffers.size(), -1);
    const auto known_tensors = static_cast<int>(unit.tensors.size());
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      if (buffer.role != Buffer::Role::scratch || buffer.first > buffer.last) continue;
      // Kept, but of no use to this unit.
      if (is_kept(program, buffer) && place(unit.tensors, buffer.tensor) == known_tensors) continue;
      shape.lives.push_back({place(unit.tensors, buffer.tensor), copies[b],
                             stage_of[static_cast<std::size_t>(buffer.first)],
                             stage_of[static_cast<std::size_t>(buffer.last)], buffer.bytes,
                             is_kept(program, buffer)});
    }
    std::sort(shape.lives.begin(), shape.lives.end(), [](const auto& a, const auto& b) {
      return std::tie(a.tensor, a.copy, a.first, a.last, a.bytes) <
             std::tie(b.tensor, b.copy, b.first, b.last, b.bytes);
    });
    return shape;
  }
  [[nodiscard]] static std::vector<std::int64_t> numbers_of(const UnitProfile::Shape& shape) {
    std::vector<std::int64_t> numbers{static_cast<std::int64_t>(shape.lives.size())};
    for (const UnitProfile::Life& l : shape.lives) {
      for (const std::int64_t n :
           {std::int64_t{l.tensor}, std::int64_t{l.copy}, std::int64_t{l.first},
            std::int64_t{l.last}, l.bytes, std::int64_t{l.kept}}) {
        numbers.push_back(n);
      }
    }
    for (const UnitProfile::Stage& s : shape.stages) {
      for (const std::int64_t n :
           {s.area, s.held, std::int64_t{s.first_statement}, std::int64_t{s.last_statement}}) {
        numbers.push_back(n);
      }
    }
    return numbers;
  }

  bool m_with_phases;
  PhaseBuilder m_phases;
  const EinGraph& m_graph;
  std::vector<VertexId> m_constants;
  int m_workers;
  int m_ranks;
  std::vector<VertexId> m_last_reader;
  std::vector<std::vector<int>> m_copies;  ///< per rank and buffer, UnitProfile::Life::copy
  std::vector<std::unordered_map<VertexId, std::array<int, 2>>> m_counts;  ///< so far, by kind
  double m_spent = 0;
  // Of the unit at hand.
  const Unit* m_unit = nullptr;
  UnitProfile m_profile;
  std::map<std::vector<std::int64_t>, int> m_known;  ///< shapes
};

/// Makes the profiles of one graph's placements, and keeps what it knows of units from one to the
/// next: placements that differ in one statement share the others.
class Profiler {
 public:
  /// \param with_phases  whether profiles have what is needed to predict times.
  Profiler(const EinGraph& graph, int ranks, SpaceFacts space, bool with_phases = false)
      : Profiler(graph, ranks, {0, ranks}, std::move(space), with_phases) {}
  /// Of some ranks alone: profiles know what those move and hold.
  Profiler(const EinGraph& graph, int ranks, RankRange made, SpaceFacts space,
           bool with_phases = false)
      : m_graph(graph),
        m_ranks(ranks),
        m_made(made),
        m_space(std::move(space)),
        m_with_phases(with_phases) {}

  /// As profile_of().
  [[nodiscard]] ProgramProfile profile(const Placement& placement,
                                       const std::vector<StepGroup>& groups) {
    ProgramProfile made;
    made.vertices = m_graph.vertices.size();
    made.known = m_made;
    add_stored(placement, made);
    const int workers = placement.mesh.workers();
    UnitKeys keys(m_graph, placement, m_space, m_numbers);
    std::optional<ProfileSink> sink;
    std::optional<Walk<ProfileSink>> walk;
    std::vector<VertexId> passed;
    for (Unit& unit : units_of(m_graph, groups)) {
      UnitKey key = keys.next(unit);
      auto known = m_units.find(key);
      if (known == m_units.end()) {
        if (!walk) {
          sink.emplace(m_graph, groups, m_space, workers, m_ranks, m_made, m_with_phases);
          walk.emplace(m_graph, placement, m_ranks, *sink);
        }
        for (const VertexId v : passed) walk->pass_statement(v);
        passed.clear();
        auto profile = std::make_shared<const UnitProfile>(
            sink->profile(unit, [&](VertexId v) { walk->walk_statement(v); }));
        known = m_units.emplace(std::move(key), std::move(profile)).first;
      } else {
        passed.insert(passed.end(), unit.statements.begin(), unit.statements.end());
      }
      made.parts.push_back({known->second, std::move(unit.statements), std::move(unit.tensors)});
    }
    if (sink) m_spent += sink->spent();
    return made;
  }
  /// Instructions and buffers looked at so far: a microsecond each, or less.
  [[nodiscard]] double spent() const { return m_spent; }

 private:
  /// The bytes of inputs and results that each rank stores.
  void add_stored(const Placement& placement, ProgramProfile& made) {
    const auto ranks = static_cast<std::size_t>(m_ranks);
    const int workers = placement.mesh.workers();
    made.input_bytes.assign(ranks, 0);
    made.result_bytes.assign(ranks, 0);
    std::map<std::pair<std::vector<Extent>, AxisLists>, std::vector<Extent>> known;
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      const Vertex& tensor = m_graph[v];
      if (!tensor.is_input() && !tensor.is_result()) continue;
      const AxisLists& lists = placement.stored[to_index(v)];
      const auto [found, fresh] = known.try_emplace({tensor.bound, lists});
      if (fresh) {
        found->second.assign(ranks, 0);
        const BlockMap blocks(placement.mesh, tensor.bound, lists);
        for (int w = 0; w < workers; ++w) {
          const Extent n = blocks.block(w);
          if (n < 0) continue;
          found->second[to_index(rank_of(w, workers, m_ranks))] +=
              blocks.relation().block(n).size();
        }
      }
      std::vector<std::int64_t>& bytes = tensor.is_input() ? made.input_bytes : made.result_bytes;
      for (std::size_t r = 0; r < ranks; ++r) bytes[r] += found->second[r] * tensor.element.bytes;
    }
  }

  const EinGraph& m_graph;
  int m_ranks;
  RankRange m_made;
  SpaceFacts m_space;
  bool m_with_phases;
  double m_spent = 0;
  HistoryNumbers m_numbers;
  std::unordered_map<UnitKey, std::shared_ptr<const UnitProfile>, UnitKeyHash> m_units;
};

#ifndef EINDECOMP_SEPARATE_PLANNER
inline ProgramProfile profile_of(const EinGraph& graph, const Placement& placement, int ranks,
                                 const std::vector<StepGroup>& groups, const SpaceFacts& space) {
  return Profiler(graph, ranks, space).profile(placement, groups);
}
#endif

}  // namespace eindecomp::relation
