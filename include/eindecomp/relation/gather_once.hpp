// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Constants of a rank's program: what is gathered of them is gathered by the first run alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"

namespace eindecomp::relation {

/// The part of a message whose regions are of constants, or the rest of it; of no regions if there
/// is none.
template <class SendOrReceive>
[[nodiscard]] SendOrReceive part_of_message(const RankProgram& program,
                                            const std::vector<VertexId>& constants,
                                            const SendOrReceive& message, bool of_constants) {
  SendOrReceive part;
  part.peer = message.peer;
  part.round = message.round;
  part.flight = message.flight;
  for (const Region& region : message.regions) {
    const VertexId tensor = program.buffers[static_cast<std::size_t>(region.buffer)].tensor;
    if (std::binary_search(constants.begin(), constants.end(), tensor) != of_constants) continue;
    part.regions.push_back(region);
    part.words += region.box.size();
  }
  return part;
}

/// Says which inputs of a program are constant: takes what is of them out of the messages that
/// carry other tensors as well, and lets every exchange begin with it. Both ends of a message are
/// divided alike. Before the buffers get their places. O(regions).
/// \param constants  ascending.
inline void gather_once(RankProgram& program, const std::vector<VertexId>& constants) {
  if (constants.empty()) return;
  std::vector<Instruction> list;
  std::vector<int> moved_to(program.instructions.size());
  for (std::size_t i = 0; i < program.instructions.size();) {
    const std::size_t end = exchange_end(program, i);
    if (end == i) {
      moved_to[i] = static_cast<int>(list.size());
      list.push_back(std::move(program.instructions[i++]));
      continue;
    }
    for (const bool of_constants : {true, false}) {
      for (std::size_t m = i; m < end; ++m) {
        const Instruction& whole = program.instructions[m];
        const auto add = [&](const auto& message) {
          auto part = part_of_message(program, constants, message, of_constants);
          if (part.regions.empty()) return;
          list.push_back({whole.statement, whole.turn, std::move(part)});
        };
        if (const auto* receive = whole.as<Receive>()) add(*receive);
        if (const auto* send = whole.as<Send>()) add(*send);
      }
    }
    i = end;
  }
  for (TiledCalls& tiled : program.tiled) {
    for (int* const call : {&tiled.first, &tiled.last, &tiled.interleaved}) {
      if (*call >= 0) *call = moved_to[static_cast<std::size_t>(*call)];
    }
  }
  program.instructions = std::move(list);
  program.constants = constants;
}

}  // namespace eindecomp::relation
