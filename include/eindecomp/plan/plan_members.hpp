// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a plan says of its words, its memory and its programs. With EINDECOMP_SEPARATE_PLANNER, one
/// translation unit compiles it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <vector>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/carried_result.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/relation/block_map.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/peak_bytes.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/redistribution.hpp"
#include "eindecomp/relation/step_rules.hpp"
#include "eindecomp/relation/stored_distribution.hpp"
#include "eindecomp/relation/task_graph.hpp"
#include "eindecomp/relation/tensor_relation.hpp"

namespace eindecomp {

EINDECOMP_PLANNER_INLINE std::vector<Box> Plan::stored_boxes(
    VertexId v, int rank, const std::source_location& where) const {
  check_rank(rank, where);
  const BlockMap blocks(placement.mesh, graph[v].bound, placement.stored[to_index(v)]);
  const WorkerRange hosted = workers_of(rank, workers_in_use(), ranks);
  std::vector<Box> boxes;
  for (int worker = hosted.first; worker < hosted.last; ++worker) {
    const Extent block = blocks.block(worker);
    if (block >= 0) boxes.push_back(blocks.relation().block(block));
  }
  return boxes;
}

EINDECOMP_PLANNER_INLINE Distribution Plan::stored_distribution(VertexId v) const {
  return relation::stored_distribution(placement.mesh, graph[v].bound,
                                       placement.stored[to_index(v)], ranks);
}

EINDECOMP_PLANNER_INLINE std::vector<Extent> Plan::carried_words() const {
  std::vector<Extent> words(to_index(ranks), 0);
  for (const CarriedResult& pair : carry) {
    const std::vector<Extent> own =
        redistributed_words(distribution(pair.next), distribution(pair.input));
    for (std::size_t r = 0; r < words.size(); ++r) words[r] += own[r];
  }
  return words;
}

EINDECOMP_PLANNER_INLINE std::vector<Extent> Plan::repeated_words(
    const std::vector<Text>& constants, const std::source_location& where) const {
  SpaceFacts facts;
  for (const Text& name : constants) {
    const VertexId v = vertex(name, where);
    if (!graph[v].is_input()) {
      core::fail(ErrorKind::plan, where, "tensor '", name,
                 "' cannot be constant (a statement computes it anew in every run); name inputs");
    }
    facts.constants.push_back(v);
  }
  std::sort(facts.constants.begin(), facts.constants.end());
  std::vector<Extent> words;
  const auto add = [&words](const RankProgram& p) {
    Extent received = 0;
    for (const Instruction& instruction : p.instructions) {
      const auto* const message = instruction.as<Receive>();
      if (message != nullptr && !relation::is_done_once(p, instruction)) received += message->words;
    }
    words.push_back(received);
  };
  for_each_rank_program(graph, placement, ranks, steps, facts.uninterrupted(), add);
  return words;
}

EINDECOMP_PLANNER_INLINE RankProgram Plan::program(int rank, const SpaceFacts& space,
                                                   const std::source_location& where) const {
  return compile(*this, rank, space, where);
}

EINDECOMP_PLANNER_INLINE TaskGraph Plan::tasks() const {
  return make_task_graph(graph, placement, ranks);
}

EINDECOMP_PLANNER_INLINE std::vector<std::int64_t> Plan::peak_bytes(
    const SpaceFacts& space, const std::source_location& where) const {
  relation::check_ranks(ranks, where);
  check_placement(graph, placement, where);
  check_step_groups(graph, placement, steps, where);
  return relation::peak_bytes_of(graph, placement, ranks, steps, space.uninterrupted());
}

EINDECOMP_PLANNER_INLINE RankProgram compile(const Plan& plan, int rank, const SpaceFacts& space,
                                             const std::source_location& where) {
  plan.check_rank(rank, where);
  return compile_rank(plan.graph, plan.placement, plan.ranks, rank, plan.steps, space, where);
}

}  // namespace eindecomp
