// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The walk of a placed program that writes what each rank does: compile.hpp without its checks.
#pragma once

#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/layout.hpp"
#include "eindecomp/relation/rank_builder.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"
#include "eindecomp/relation/tensor_relation.hpp"
#include "eindecomp/relation/walk.hpp"

namespace eindecomp::relation {

/// The names of a graph's tensors, for programs to share.
[[nodiscard]] inline TensorNames names_of(const EinGraph& graph) {
  std::vector<Text> names;
  for (const Vertex& v : graph.vertices) names.push_back(v.name);
  return {std::make_shared<const std::vector<Text>>(std::move(names))};
}

/// Hands a walk to the builders of some ranks.
class RankProgramSink : public WalkSink {
 public:
  /// \param masks   of the graph; kept by reference
  /// \param wanted  ascending
  RankProgramSink(const EinGraph& graph, const graph::Masks& masks,
                  const std::vector<StepGroup>& groups, const SpaceFacts& space, int ranks,
                  const std::vector<int>& wanted, const TensorNames& names)
      : m_builder_of(static_cast<std::size_t>(ranks), -1),
        m_results(graph.vertices.size(), false),
        m_readers(graph.reader_counts()) {
    for (VertexId v : graph.results()) m_results[static_cast<std::size_t>(v)] = true;
    m_builders.reserve(wanted.size());
    for (const int rank : wanted) {
      m_builder_of[to_index(rank)] = static_cast<int>(m_builders.size());
      m_builders.emplace_back(graph, masks, m_results, m_readers, groups, names, space, ranks,
                              rank);
    }
  }

  [[nodiscard]] bool wants_all() const override { return m_builders.size() == m_builder_of.size(); }
  [[nodiscard]] bool wants(int rank) const override { return place_of(rank) >= 0; }

  int stored(VertexId tensor, const Box& box, int, int rank) override {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_stored(tensor, box) : -1;
  }
  void begin(VertexId statement, const BlockMap& calls,
             const std::vector<JoinedBlocks>& joined) override {
    for (RankBuilder& b : m_builders) b.begin(statement, calls, joined);
  }
  int assembled(VertexId tensor, const Box& box, int rank) override {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_assembled(tensor, box) : -1;
  }
  int arranged(VertexId tensor, const Box& indices, int rank) override {
    return RankProgramSink::assembled(tensor, indices, rank);
  }
  void filled(int rank, int buffer, const Box& box, OutsideValue value) override {
    if (RankBuilder* b = of(rank)) b->fill(buffer, box, value);
  }
  int counted(VertexId statement, const Box& values, int rank) override {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_values(statement, values) : -1;
  }
  void spread(int rank, Spread&& spread) override {
    if (RankBuilder* b = of(rank)) b->spread(std::move(spread));
  }
  void copied(int rank, int from, int to, const Box& box, int round) override {
    if (RankBuilder* b = of(rank)) b->copy(from, to, box, round);
  }
  void moved(VertexId tensor, int from_rank, int from, int to_rank, int to, const Box& box,
             int round) override {
    if (RankBuilder* b = of(from_rank)) b->send(tensor, from, to_rank, box, round);
    if (RankBuilder* b = of(to_rank)) b->receive(tensor, to, from_rank, box, round);
  }
  int partial(VertexId statement, const Box& box, int rank) override {
    RankBuilder* b = of(rank);
    return b != nullptr ? b->add_partial(statement, box) : -1;
  }
  void called(VertexId, const WalkedCall& call) override {
    if (RankBuilder* b = of(call.rank)) b->call(call);
  }
  void moved_partial(VertexId statement, int from_rank, int from, int to_rank, int to,
                     const Box& box, int round) override {
    if (RankBuilder* b = of(from_rank)) b->send_partial(statement, from, to_rank, box, round);
    if (RankBuilder* b = of(to_rank)) b->receive_partial(statement, to, from_rank, box, round);
  }
  void aggregated(int rank, int target, const Box& box, const std::vector<int>& parts,
                  int round) override {
    if (RankBuilder* b = of(rank)) b->combine(target, box, parts, round);
  }
  void end(VertexId) override {
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
  /// The place of a rank among those that it wants; -1 if it does not.
  [[nodiscard]] int place_of(int rank) const { return m_builder_of[to_index(rank)]; }

 private:
  [[nodiscard]] RankBuilder* of(int rank) {
    const int builder = place_of(rank);
    return builder >= 0 ? &m_builders[to_index(builder)] : nullptr;
  }

  std::vector<int> m_builder_of;  ///< per rank; -1: none
  Flags m_results;
  std::vector<int> m_readers;
  std::vector<RankBuilder> m_builders;
};

/// Walks a program for the programs of the ranks from `first` to before `last`.
[[nodiscard]] inline std::vector<RankProgram> walk_programs(const EinGraph& graph,
                                                            const Placement& placement, int ranks,
                                                            int first, int last,
                                                            const std::vector<StepGroup>& groups,
                                                            const SpaceFacts& space) {
  std::vector<int> wanted(static_cast<std::size_t>(last - first));
  std::iota(wanted.begin(), wanted.end(), first);
  const graph::Masks masks(graph);
  RankProgramSink sink(graph, masks, groups, space, ranks, wanted, names_of(graph));
  Walk(graph, masks, placement, ranks, sink).run();
  return sink.finish();
}

}  // namespace eindecomp::relation
