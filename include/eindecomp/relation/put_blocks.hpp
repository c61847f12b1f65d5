// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How the blocks of a result are put together (Operator::blocks): each is copied to where it
/// belongs, and what lies between them is filled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/bounded_index.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/reducer.hpp"

namespace eindecomp::relation {

/// What a call would compute of a result, as copies into its output.
/// \param domain  of the call, whose operands are buffers of what it reads; -1: nothing
inline void put_blocks(const EinGraph& graph, VertexId statement, const Box& domain,
                       const WalkedCall& call, std::vector<Fill>& fills,
                       std::vector<Spread>& spreads) {
  const Vertex& v = graph[statement];
  Box target{{}, {}};
  for (const int l : v.output) {
    target.lo.push_back(domain.lo[to_index(l)]);
    target.hi.push_back(domain.hi[to_index(l)]);
  }
  std::vector<Box> rest{target};
  bool gaps = false;
  for (std::size_t o = 0; o < v.operands.size(); ++o) {
    if (call.operands[o] < 0) continue;
    const Operand& operand = v.operands[o];
    Spread part{call.operands[o], call.output, target, target, {}};
    for (std::size_t k = 0; k < v.output.size(); ++k) {
      OperandIndex index;
      if (operand.is_computed()) index = operand.indices[k];
      const graph::IndexRun run =
          graph::index_runs(index, {target.lo[k] + index.offset, target.hi[k] + index.offset},
                            operand.block[k])
              .front();
      part.read.lo[k] = run.read.lo;
      part.read.hi[k] = run.read.hi;
      part.written.lo[k] = run.indices.lo - index.offset;
      part.written.hi[k] = run.indices.hi - index.offset;
      part.steps.push_back(run.step);
      gaps = gaps || run.step != 1;
    }
    std::vector<Box> left;
    for (const Box& box : rest) subtract(box, part.written, left);
    rest = std::move(left);
    spreads.push_back(std::move(part));
  }
  if (v.op.state.empty()) return;
  if (gaps) rest.assign(1, target);  // before what is written between them
  for (Box& box : rest) fills.push_back({{call.output, std::move(box)}, OutsideValue::stated});
}

}  // namespace eindecomp::relation
