// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Whether the figures of a plan fit into their integers, whatever the plan.
#pragma once

#include <cstddef>
#include <limits>
#include <source_location>
#include <string_view>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp {

/// Refuses a program if a plan of it might move or hold more than 64-bit integers count. A plan may
/// send every operand to every worker and make a partial result of every statement on each.
/// \param program  its name, for the message
/// \throws Error if one might.
inline void check_countable(const EinGraph& graph, int workers, std::string_view program) {
  constexpr double largest = 0x1p62;
  // The longest accumulator, and as much again for what is under way.
  constexpr double bytes_per_word = 32;
  double words = 0;
  for (const Vertex& v : graph.vertices) {
    words += static_cast<double>(v.size());
    for (const Operand& operand : v.operands) {
      words += static_cast<double>(graph[operand.vertex].size());
    }
    if (words * workers <= largest && words * bytes_per_word <= largest) continue;
    core::fail(ErrorKind::plan,
               Text(program) + ": with tensor " + v.name + " the plan may move more than a " +
                   "64-bit integer counts on " + workers +
                   " workers; use smaller extents or fewer workers",
               std::source_location{});
  }
}

}  // namespace eindecomp
