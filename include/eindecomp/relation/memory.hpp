// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How much memory the programs of ranks need, and for which statement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/rank_program.hpp"

namespace eindecomp {

/// Bytes of tensors that a rank holds while each of its instructions runs: stored inputs and
/// results, assembled operands, accumulators and messages.
[[nodiscard]] inline std::vector<std::int64_t> bytes_by_instruction(const RankProgram& program) {
  // What begins and ends with an instruction, then summed up.
  std::vector<std::int64_t> bytes(program.instructions.size() + 1, 0);
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role != Buffer::Role::scratch) continue;
    bytes[static_cast<std::size_t>(buffer.first)] += buffer.bytes;
    bytes[static_cast<std::size_t>(buffer.last) + 1] -= buffer.bytes;
  }
  for (const TiledCalls& tiled : program.tiled) {
    bytes[static_cast<std::size_t>(tiled.first)] += program.threads * tiled.thread_bytes;
    bytes[static_cast<std::size_t>(tiled.last) + 1] -= program.threads * tiled.thread_bytes;
  }
  for_each_stage(program, [&](std::size_t first, std::size_t last) {
    std::int64_t staged = 0;
    for (std::size_t i = first; i <= last; ++i) {
      const Message* const message = program.instructions[i].message();
      if (message == nullptr || message->staging < 0) continue;
      staged += relation::message_bytes(program, *message);
    }
    bytes[first] += staged;
    bytes[last + 1] -= staged;
  });
  bytes.pop_back();
  std::int64_t held = program.input_bytes + program.result_bytes;
  for (std::int64_t& here : bytes) {
    held += here;
    here = held;
  }
  return bytes;
}

/// The most bytes of tensors on any rank, and where.
struct MemoryPeak {
  std::int64_t bytes = 0;   ///< held by that rank
  int rank = 0;             ///< the one that holds most
  VertexId statement = -1;  ///< during which the rank holds most; -1 if there is none
};

/// The rank that holds most of these, and its bytes as RankProgram::peak_bytes() has them: what a
/// run allocates, gaps between blocks included.
[[nodiscard]] inline MemoryPeak memory_peak(const std::vector<RankProgram>& programs) {
  const auto most = std::max_element(
      programs.begin(), programs.end(),
      [](const RankProgram& a, const RankProgram& b) { return a.peak_bytes() < b.peak_bytes(); });
  if (most == programs.end()) return {};
  MemoryPeak peak{most->peak_bytes(), most->rank, -1};
  const std::vector<std::int64_t> bytes = bytes_by_instruction(*most);
  const auto busiest = std::max_element(bytes.begin(), bytes.end());
  if (busiest != bytes.end()) {
    peak.statement =
        most->instructions[static_cast<std::size_t>(busiest - bytes.begin())].statement;
  }
  return peak;
}

}  // namespace eindecomp
