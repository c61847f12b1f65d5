// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How the terms of a sum accumulate in the place of its result (StepGroup::accumulates).
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/masks.hpp"
#include "eindecomp/relation/mask_splitter.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/step_group.hpp"

namespace eindecomp::relation {

/// Lets the calls of a group, which are those since an instruction, write where those of its last
/// statement would, which go: the first writes what the next ones add to. An operand that is there
/// before is copied there first. Joins that masks make 0 are left out then: operands were gathered
/// without what those would read.
inline void accumulate(const EinGraph& graph, const graph::Masks& masks, RankProgram& program,
                       const StepGroup& group, std::size_t begin) {
  std::vector<Instruction> before(
      std::make_move_iterator(program.instructions.begin() + static_cast<std::ptrdiff_t>(begin)),
      std::make_move_iterator(program.instructions.end()));
  program.instructions.resize(begin);
  const auto is_sum = [&](const Instruction& instruction) {
    return instruction.statement == group.last && instruction.as<KernelCall>() != nullptr;
  };
  std::vector<std::pair<KernelCall, bool>> sums;  // and whether its output has been written
  for (const Instruction& instruction : before) {
    if (is_sum(instruction)) sums.emplace_back(*instruction.as<KernelCall>(), false);
  }
  const auto add_call = [&](const Instruction& instruction) {
    std::vector<KernelCall> calls{*instruction.as<KernelCall>()};
    const std::vector<graph::Condition>& conditions = masks.of(instruction.statement);
    if (!conditions.empty()) MaskSplitter(graph[instruction.statement], conditions).split(calls);
    for (KernelCall& call : calls) {
      program.instructions.push_back({instruction.statement, instruction.turn, std::move(call)});
    }
  };
  for (Instruction& instruction : before) {
    if (is_sum(instruction)) continue;
    auto* const term = std::get_if<KernelCall>(&instruction.work);
    const auto sum = std::find_if(sums.begin(), sums.end(), [&](const auto& other) {
      const std::vector<int>& operands = other.first.operands;
      return term != nullptr &&
             std::find(operands.begin(), operands.end(), term->output) != operands.end();
    });
    if (term == nullptr) {
      program.instructions.push_back(std::move(instruction));
      continue;
    }
    if (sum == sums.end()) {
      add_call(instruction);
      continue;
    }
    auto& [call, written] = *sum;
    const std::vector<Operand>& operands = graph[group.last].operands;
    for (std::size_t o = 0; o < operands.size() && !written; ++o) {
      const VertexId tensor = operands[o].vertex;
      if (group.contains(tensor) && !graph[tensor].is_input()) continue;
      const Box& box = program.buffers[static_cast<std::size_t>(call.output)].box;
      program.instructions.push_back(
          {instruction.statement, instruction.turn, Copy{call.operands[o], call.output, box}});
      written = true;
    }
    term->accumulate = term->accumulate || written;
    term->output = call.output;
    written = true;
    add_call(instruction);
  }
}

}  // namespace eindecomp::relation
