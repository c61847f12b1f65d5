// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// From a placed program to what each rank does: its buffers and their places, and the instructions
/// that read and write them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/rank_builder.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/walk.hpp"

namespace eindecomp {
namespace relation {

/// Hands a walk to the builders of some ranks.
class RankProgramSink {
 public:
  /// For the ranks from `first` to before `last`.
  RankProgramSink(const EinGraph& graph, const std::vector<StepGroup>& groups,
                  const SpaceFacts& space, int ranks, int first, int last)
      : m_ranks(ranks), m_first(first), m_results(graph.vertices.size(), false) {
    for (VertexId v : graph.results()) m_results[static_cast<std::size_t>(v)] = true;
    std::vector<Text> names;
    for (const Vertex& v : graph.vertices) names.push_back(v.name);
    const TensorNames shared{std::make_shared<const std::vector<Text>>(std::move(names))};
    for (int r = first; r < last; ++r) {
      m_builders.emplace_back(graph, m_results, groups, shared, space, ranks, r);
    }
  }
  RankProgramSink(const RankProgramSink&) = delete;  // the builders point into it
  RankProgramSink& operator=(const RankProgramSink&) = delete;

  [[nodiscard]] bool wants_all() const { return static_cast<int>(m_builders.size()) == m_ranks; }
  [[nodiscard]] bool wants(int rank) const {
    return rank >= m_first && rank < m_first + static_cast<int>(m_builders.size());
  }

  int stored(VertexId tensor, const Box& box, int, int rank) {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_stored(tensor, box) : -1;
  }
  void begin(VertexId statement, const BlockMap& calls, const std::vector<JoinedBlocks>& joined) {
    for (RankBuilder& b : m_builders) b.begin(statement, calls, joined);
  }
  int assembled(VertexId tensor, const Box& box, int rank) {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_assembled(tensor, box) : -1;
  }
  void filled(int rank, int buffer, const Box& box, OutsideValue value) {
    if (RankBuilder* b = of(rank)) b->fill(buffer, box, value);
  }
  int counted(VertexId statement, const Box& values, int rank) {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_values(statement, values) : -1;
  }
  void spread(int rank, Spread&& spread) {
    if (RankBuilder* b = of(rank)) b->spread(std::move(spread));
  }
  void copied(int rank, int from, int to, const Box& box, int round) {
    if (RankBuilder* b = of(rank)) b->copy(from, to, box, round);
  }
  void moved(VertexId tensor, int from_rank, int from, int to_rank, int to, const Box& box,
             int round) {
    if (RankBuilder* b = of(from_rank)) b->send(tensor, from, to_rank, box, round);
    if (RankBuilder* b = of(to_rank)) b->receive(tensor, to, from_rank, box, round);
  }
  int partial(VertexId statement, const Box& box, int rank) {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_partial(statement, box) : -1;
  }
  void called(VertexId, const WalkedCall& call) {
    if (RankBuilder* b = of(call.rank)) b->call(call);
  }
  void moved_partial(VertexId statement, int from_rank, int from, int to_rank, int to,
                     const Box& box, int round) {
    if (RankBuilder* b = of(from_rank)) b->send_partial(statement, from, to_rank, box, round);
    if (RankBuilder* b = of(to_rank)) b->receive_partial(statement, to, from_rank, box, round);
  }
  void aggregated(int rank, int target, const Box& box, const std::vector<int>& parts, int round) {
    if (RankBuilder* b = of(rank)) b->combine(target, box, parts, round);
  }
  void end(VertexId) {
    for (RankBuilder& b : m_builders) b.end();
  }

  [[nodiscard]] std::vector<RankProgram> finish() {
    std::vector<RankProgram> programs;
    programs.reserve(m_builders.size());
    for (RankBuilder& b : m_builders) programs.push_back(b.finish());
    return programs;
  }

 protected:
  [[nodiscard]] std::vector<RankBuilder>& builders() { return m_builders; }

 private:
  [[nodiscard]] RankBuilder* of(int rank) {
    return wants(rank) ? &m_builders[static_cast<std::size_t>(rank - m_first)] : nullptr;
  }

  int m_ranks;
  int m_first;
  Flags m_results;
  std::vector<RankBuilder> m_builders;
};

/// Walks a program for the programs of the ranks from `first` to before `last`.
[[nodiscard]] inline std::vector<RankProgram> walk_programs(const EinGraph& graph,
                                                            const Placement& placement, int ranks,
                                                            int first, int last,
                                                            const std::vector<StepGroup>& groups,
                                                            const SpaceFacts& space) {
  RankProgramSink sink(graph, groups, space, ranks, first, last);
  Walk<RankProgramSink>(graph, placement, ranks, sink).run();
  return sink.finish();
}

/// walk_programs; with EINDECOMP_SEPARATE_PLANNER, the caller's translation unit does not compile
/// it.
[[nodiscard]] std::vector<RankProgram> programs_of(const EinGraph& graph,
                                                   const Placement& placement, int ranks, int first,
                                                   int last, const std::vector<StepGroup>& groups,
                                                   const SpaceFacts& space);
#ifndef EINDECOMP_SEPARATE_PLANNER
inline std::vector<RankProgram> programs_of(const EinGraph& graph, const Placement& placement,
                                            int ranks, int first, int last,
                                            const std::vector<StepGroup>& groups,
                                            const SpaceFacts& space) {
  return walk_programs(graph, placement, ranks, first, last, groups, space);
}
#endif

}  // namespace relation

/// What one rank does to run a placed program on so many ranks, the groups among its statements in
/// steps and tiles. Every rank makes its own, without communication; sends and receives of all
/// ranks match in number, order and regions. \throws Error if the placement does not suit the
/// graph, a group cannot run in steps, or there is
///   no such rank.
[[nodiscard]] inline RankProgram compile_rank(
    const EinGraph& graph, const Placement& placement, int ranks, int rank,
    const std::vector<StepGroup>& groups = {}, const SpaceFacts& space = {},
    const std::source_location& where = std::source_location::current()) {
  relation::check_ranks(ranks, where);
  if (rank < 0 || rank >= ranks) {
    core::fail(ErrorKind::plan,
               "the instructions of rank " + core::to_text(rank) + " of " + core::to_text(ranks) +
                   " (ranks count from 0); give a rank of the communicator",
               where);
  }
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, groups, where);
  return std::move(
      relation::programs_of(graph, placement, ranks, rank, rank + 1, groups, space).front());
}

/// The programs of all ranks, as compile_rank gives them one by one, at the cost of one walk.
/// \throws Error if the placement does not suit the graph, a group cannot run in steps, or there is
///   no rank.
[[nodiscard]] inline std::vector<RankProgram> compile_ranks(
    const EinGraph& graph, const Placement& placement, int ranks,
    const std::vector<StepGroup>& groups = {}, const SpaceFacts& space = {},
    const std::source_location& where = std::source_location::current()) {
  relation::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, groups, where);
  return relation::programs_of(graph, placement, ranks, 0, ranks, groups, space);
}

/// Calls `use` with the program of every rank, in the order of ranks, as compile_ranks gives
/// them: for many ranks, whose programs together would take gigabytes. Holds 64 at a time, at the
/// cost of a walk for every 64 ranks. \throws Error as compile_ranks, before the first call; and
/// what `use` throws.
template <class Use>
void for_each_rank_program(const EinGraph& graph, const Placement& placement, int ranks,
                           const std::vector<StepGroup>& groups, const SpaceFacts& space, Use&& use,
                           const std::source_location& where = std::source_location::current()) {
  relation::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, groups, where);
  constexpr int at_once = 64;
  for (int first = 0; first < ranks; first += at_once) {
    const int last = std::min(first + at_once, ranks);
    for (const RankProgram& program :
         relation::programs_of(graph, placement, ranks, first, last, groups, space)) {
      use(program);
    }
  }
}

}  // namespace eindecomp
