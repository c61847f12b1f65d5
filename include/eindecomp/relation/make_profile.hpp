// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How the profile of a program is made: the programs of some ranks, each of which stands for those
/// that do alike, of one unit at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/peak_bytes.hpp"
#include "eindecomp/relation/phases.hpp"
#include "eindecomp/relation/profile_sink.hpp"
#include "eindecomp/relation/program_profile.hpp"
#include "eindecomp/relation/rank_classes.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/tuning.hpp"
#include "eindecomp/relation/unit_key.hpp"
#include "eindecomp/relation/walk.hpp"

namespace eindecomp::relation {

/// A placed program, and which of its ranks are to be profiled.
struct ProfiledProgram {
  const EinGraph& graph;
  const graph::Masks& masks;
  const Placement& placement;
  const std::vector<StepGroup>& groups;
  const SpaceFacts& space;
  int ranks = 0;
  RankRange made;
  bool with_phases = false;
  std::vector<VertexId> last_reader = {};           ///< per tensor
  std::vector<std::vector<VertexId>> readers = {};  ///< per tensor, ascending
};

/// Makes the profile of one unit.
class UnitProfiler {
 public:
  UnitProfiler(const ProfiledProgram& program, const Unit& unit)
      : m_program(program), m_unit(unit), m_phases(program.with_phases ? program.ranks : 0) {
    m_profile.shape_of.assign(static_cast<std::size_t>(program.ranks), -1);
    m_profile.statements.resize(unit.statements.size());
    for (UnitProfile::Statement& made : m_profile.statements) {
      made.received.assign(static_cast<std::size_t>(program.ranks), 0);
      made.operand_words.assign(unit.tensors.size(), 0);
    }
    for (const VertexId tensor : unit.tensors) {
      for (const VertexId reader : program.readers[to_index(tensor)]) {
        if (reader < unit.statements.front()) m_passed.push_back(reader);
      }
    }
    std::ranges::sort(m_passed);
    m_passed.erase(std::unique(m_passed.begin(), m_passed.end()), m_passed.end());
  }

  [[nodiscard]] UnitProfile profile() {
    const auto [first, last] = m_program.made;
    // Where the order of messages says in which order times are, as it does of constants, it
    // counts.
    const bool in_any_order = !m_program.with_phases || m_program.space.constants.empty();
    if (last - first > 1 && in_any_order &&
        RankClasses::are_comparable(m_program.graph, m_program.masks, m_unit)) {
      RankClasses ranks(m_program.graph, m_unit, m_program.space.longest_message,
                        m_program.placement.mesh.workers(), m_program.ranks, first, last);
      walk(ranks);
      note_rereads(ranks.rereads());
      m_classes = ranks.classes();
      take_classes(&ranks);
    } else {
      for (int r = first; r < last; ++r) m_classes.push_back({r});
      take_classes(nullptr);
    }
    if (m_program.with_phases) m_phases.finish(m_profile);
    return std::move(m_profile);
  }

  /// The instructions and buffers of all ranks' programs of the unit.
  [[nodiscard]] double items() const { return m_items; }
  /// Of those buffers, the ones that other units may use, per tensor of the unit.
  [[nodiscard]] const std::map<VertexId, std::array<Extent, 2>>& shared() const { return m_shared; }

 private:
  void walk(WalkSink& sink) const {
    Walk walk(m_program.graph, m_program.masks, m_program.placement, m_program.ranks, sink);
    for (const VertexId v : m_passed) walk.pass_statement(v);
    for (const VertexId v : m_unit.statements) walk.walk_statement(v);
  }

  /// Makes the program of the first rank of each class, a few at a time.
  void take_classes(RankClasses* ranks) {
    for (std::size_t first = 0; first < m_classes.size(); first += tuning::programs_at_once) {
      const std::size_t last = std::min(first + tuning::programs_at_once, m_classes.size());
      std::vector<int> wanted;
      for (std::size_t c = first; c < last; ++c) wanted.push_back(m_classes[c].front());
      ProfileSink sink(m_program.graph, m_program.masks, m_unit, m_program.groups, m_program.space,
                       m_program.ranks, wanted);
      walk(sink);
      note_rereads(sink.rereads());
      for (std::size_t n = 0; n < wanted.size(); ++n) take(sink, n, m_classes[first + n], ranks);
    }
  }

  void note_rereads(const std::vector<VertexId>& statements) {
    for (const VertexId v : statements) {
      m_profile.statements[place_in(m_unit.statements, v)].rereads = true;
    }
  }

  /// Takes what a rank does for all of its class.
  void take(ProfileSink& sink, std::size_t n, const std::vector<int>& alike, RankClasses* ranks) {
    const RankProgram program = sink.take(n, m_program.last_reader);
    const auto times = static_cast<Extent>(alike.size());
    count_words(program, alike);
    for (std::size_t s = 0; s < m_profile.statements.size(); ++s) {
      const Extent calls = sink.calls(n)[s];
      m_profile.statements[s].calls += times * calls;
      if (calls > 0) m_profile.statements[s].computing += static_cast<int>(times);
    }
    const int shape = number_of(sink.shape_of(n, program));
    for (const int rank : alike) m_profile.shape_of[to_index(rank)] = shape;
    if (m_program.with_phases) {
      m_phases.take(m_program.graph, program);
      for (const int rank : alike) {
        if (rank == program.rank) continue;
        m_phases.take_alike(rank, program.rank,
                            [&](int peer) { return ranks->peer_alike(program.rank, peer, rank); });
      }
    }
    m_items += static_cast<double>(times) *
               static_cast<double>(program.instructions.size() + program.buffers.size());
    for (const auto& [tensor, counts] : sink.counts(n)) {
      for (std::size_t k = 0; k < counts.size(); ++k) m_shared[tensor][k] += times * counts[k];
    }
  }

  void count_words(const RankProgram& program, const std::vector<int>& alike) {
    const auto times = static_cast<Extent>(alike.size());
    for (const Instruction& instruction : program.instructions) {
      const auto* receive = instruction.as<Receive>();
      if (receive == nullptr) continue;
      UnitProfile::Statement& statement =
          m_profile.statements[place_in(m_unit.statements, instruction.statement)];
      for (const int rank : alike) statement.received[to_index(rank)] += receive->words;
      for (const Region& region : receive->regions) {
        const Buffer& buffer = program.buffers[to_index(region.buffer)];
        Extent& words = buffer.partial
                            ? statement.partial_words
                            : statement.operand_words[place_in(m_unit.tensors, buffer.tensor)];
        words += times * region.box.size();
      }
    }
  }

  /// The number of a shape among the different ones.
  [[nodiscard]] int number_of(UnitProfile::Shape&& shape) {
    const std::size_t hash = hash_of(shape);
    const auto [first, last] = m_known.equal_range(hash);
    const auto known = std::find_if(first, last, [&](const auto& entry) {
      return m_profile.shapes[to_index(entry.second)] == shape;
    });
    if (known != last) return known->second;
    const auto number = static_cast<int>(m_profile.shapes.size());
    m_profile.shapes.push_back(std::move(shape));
    m_known.emplace(hash, number);
    return number;
  }
  [[nodiscard]] static std::size_t hash_of(const UnitProfile::Shape& shape) {
    std::size_t hash = shape.lives.size();
    const auto add = [&](std::int64_t number) {
      hash = (hash ^ static_cast<std::size_t>(number)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 32;
    };
    for (const UnitProfile::Life& l : shape.lives) {
      for (const int number : {l.tensor, l.copy, l.first, l.last}) add(number);
      add(l.bytes);
    }
    for (const UnitProfile::Stage& s : shape.stages) {
      add(s.area);
      add(s.held);
    }
    return hash;
  }

  const ProfiledProgram& m_program;
  const Unit& m_unit;
  std::vector<VertexId> m_passed;  ///< earlier statements that read the unit's tensors
  std::vector<std::vector<int>> m_classes;
  PhaseBuilder m_phases;
  UnitProfile m_profile;
  std::unordered_multimap<std::size_t, int> m_known;  ///< numbers of shapes, by hash
  double m_items = 0;
  std::map<VertexId, std::array<Extent, 2>> m_shared;
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
        m_masks(graph),
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
    UnitKeys keys(m_graph, m_masks, placement, m_space, m_numbers);
    std::optional<ProfiledProgram> program;
    Items items;
    for (Unit& unit : units_of(m_graph, groups)) {
      UnitKey key = keys.next(unit);
      auto known = m_units.find(key);
      if (known == m_units.end()) {
        if (!program) program.emplace(profiled(placement, groups));
        UnitProfiler profiler(*program, unit);
        auto profile = std::make_shared<const UnitProfile>(profiler.profile());
        m_spent += items.add(profiler);
        known = m_units.emplace(std::move(key), std::move(profile)).first;
      }
      made.parts.push_back({known->second, std::move(unit.statements), std::move(unit.tensors)});
    }
    return made;
  }
  /// Instructions and buffers of the programs of all ranks, of the units that were not known: a
  /// program is counted with the buffers that it has from such units before.
  [[nodiscard]] double spent() const { return m_spent; }

 private:
  /// Counts them, unit by unit.
  struct Items {
    std::map<VertexId, std::array<Extent, 2>> told;  ///< buffers that units share
    double before = 0;                               ///< those

    double add(const UnitProfiler& unit) {
      double items = before + unit.items();
      for (const auto& [tensor, counts] : unit.shared()) {
        for (std::size_t k = 0; k < counts.size(); ++k) {
          Extent& known = told[tensor][k];
          items -= static_cast<double>(std::min(known, counts[k]));
          before += static_cast<double>(std::max<Extent>(counts[k] - known, 0));
          known = std::max(known, counts[k]);
        }
      }
      return items;
    }
  };

  [[nodiscard]] ProfiledProgram profiled(const Placement& placement,
                                         const std::vector<StepGroup>& groups) const {
    ProfiledProgram program{m_graph, m_masks, placement, groups,
                            m_space, m_ranks, m_made,    m_with_phases};
    program.last_reader = last_readers(m_graph);
    program.readers.resize(m_graph.vertices.size());
    for (VertexId v = 0; v < m_graph.size(); ++v) {
      for (const Operand& o : m_graph[v].operands) {
        std::vector<VertexId>& readers = program.readers[to_index(o.vertex)];
        if (readers.empty() || readers.back() != v) readers.push_back(v);
      }
    }
    return program;
  }

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
  graph::Masks m_masks;
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

inline std::vector<std::int64_t> peak_bytes_of(const EinGraph& graph, const Placement& placement,
                                               int ranks, const std::vector<StepGroup>& groups,
                                               const SpaceFacts& space) {
  return profile_of(graph, placement, ranks, groups, space).memory().peak_bytes;
}
#endif

}  // namespace eindecomp::relation
