// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a rank copies, exchanges and combines for one statement, as a walk tells of it: pieces,
/// which are put together to messages when all are known.
#pragma once

#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"

namespace eindecomp::relation {

/// Elements that are to be sent or received.
struct MessagePiece {
  int round = 0;
  VertexId tensor = -1;
  int peer = -1;
  Region region;
};

/// What is done in rounds, each list in any order of them.
struct Rounds {
  std::vector<std::pair<int, Copy>> copies;
  std::vector<MessagePiece> receives;
  std::vector<MessagePiece> sends;
  std::vector<std::pair<int, Combine>> combines;
};

/// Adds a buffer to a program. \returns its number.
inline int add_buffer(const EinGraph& graph, RankProgram& program, VertexId tensor, const Box& box,
                      bool partial, Buffer::Role role) {
  Buffer b;
  b.tensor = tensor;
  b.box = box;
  b.partial = partial;
  b.role = role;
  const Vertex& v = graph[tensor];
  b.bytes = box.size() * (partial ? v.partial.bytes : v.element.bytes);
  program.buffers.push_back(std::move(b));
  return static_cast<int>(program.buffers.size()) - 1;
}

/// How far a peer is from a rank, in the order that RankProgram states. \param direction  1 of
/// sends, -1 of receives.
[[nodiscard]] constexpr int peer_distance(int peer, int rank, int direction, int ranks) {
  const int distance = direction * (peer - rank);
  return distance < 0 ? distance + ranks : distance;
}

}  // namespace eindecomp::relation
