// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What an executor and the runs it made share: the program, this rank's schedule, the communicator
/// beside the plan's.
#pragma once

#include <cstdint>
#include <source_location>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/comm/agreement.hpp"
#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/schedule.hpp"
#include "eindecomp/run/block_memory.hpp"

namespace eindecomp::detail {

/// A block that some rank stores.
struct RankBlock {
  int rank = 0;
  Box box;
};

template <comm::Communicator Group>
struct Session {
  EinGraph graph;
  RankSchedule schedule;
  Group control;  ///< agreements, scattered inputs, gathered results: not the plan's words

  Session(EinGraph g, Group&& c) : graph(std::move(g)), control(std::move(c)) {}

  /// The buffers of a tensor's stored blocks on this rank, in the schedule's order.
  [[nodiscard]] std::vector<int> stored_buffers(VertexId v, Buffer::Role role) const {
    std::vector<int> found;
    for (std::size_t b = 0; b < schedule.buffers.size(); ++b) {
      if (schedule.buffers[b].tensor == v && schedule.buffers[b].role == role) {
        found.push_back(static_cast<int>(b));
      }
    }
    return found;
  }

  /// Every rank's stored blocks of a tensor, by rank. Collective.
  [[nodiscard]] std::vector<RankBlock> stored_everywhere(VertexId v, Buffer::Role role) {
    std::ostringstream mine;
    for (int b : stored_buffers(v, role)) {
      const Box& box = schedule.buffers[at(b)].box;
      for (Extent e : box.lo) mine << e << ' ';
      for (Extent e : box.hi) mine << e << ' ';
      mine << "; ";
    }
    const std::vector<std::string> texts = control.all_gather(mine.str());
    const std::size_t rank = at(graph[v].rank());
    std::vector<RankBlock> blocks;
    for (std::size_t r = 0; r < texts.size(); ++r) {
      std::istringstream text(texts[r]);
      while (text.peek() != std::istringstream::traits_type::eof()) {
        Box box{std::vector<Extent>(rank), std::vector<Extent>(rank)};
        for (Extent& e : box.lo) text >> e;
        for (Extent& e : box.hi) text >> e;
        char end = 0;
        text >> end;
        text.get();
        blocks.push_back({static_cast<int>(r), std::move(box)});
      }
    }
    return blocks;
  }

  /// The vertex a symbol names.
  /// \throws Error if the symbol is another graph's.
  template <class Symbol>
  [[nodiscard]] VertexId vertex_of(const Symbol& symbol, const std::source_location& where) const {
    const VertexId v = symbol.vertex();
    if (symbol.identity() != graph.identity() || v < 0 || v >= graph.size()) {
      throw Error(
          "a symbol of another graph (the plan knows the tensors of its own program and of "
          "copies of it); use the symbols of the program that was decomposed",
          where);
    }
    return v;
  }
};

}  // namespace eindecomp::detail
