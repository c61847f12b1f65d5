// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Checkpoints chosen by a limit of memory: as few as let a plan fit.
#pragma once

#include <cstddef>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/diagnostic.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/graph/checkpoint_sets.hpp"
#include "eindecomp/graph/gradient.hpp"

namespace eindecomp {

/// Calls `attempt`, which writes gradients into a program and plans it within a limit of memory,
/// with more and more checkpoints until the plan fits:
///
///     const auto plan = with_checkpoints(g, loss, [&](auto& h) {
///       const auto gradients = gradient(h.symbol(loss), h.symbol(W1), h.symbol(W2));
///       return decompose(h, {.workers = 8, .memory = 2'000'000'000});
///     });
///
/// First there are none. Then the statements that lead to the loss are cut into 2, 3, 4, 6, 8, …
/// segments of about equal bytes, at places where little is read across, and what is read across is
/// a checkpoint: of n segments all but the last are computed twice. Not collective: ranks that call
/// it with equal arguments get equal results.
///
/// \param program  in which nothing but the forward pass is written.
/// \param loss     of which gradients will be asked.
/// \param attempt  is called with copies of the program, and last with the program itself, after
///   its checkpoints were made. Throws an Error of ErrorKind::memory where the plan does not fit,
///   as decompose() does.
/// \returns what the last call of `attempt` returns.
/// \throws Error of ErrorKind::memory if none fits, what `attempt` throws else; nothing is then
///   written into the program.
template <class Backend, class T, class Attempt>
[[nodiscard]] auto with_checkpoints(BasicProgram<Backend>& program,
                                    const Symbol<T, 0, Backend>& loss, const Attempt& attempt,
                                    std::source_location where = std::source_location::current()) {
  graph::require_differentiable<Backend>();
  using Program = BasicProgram<Backend>;
  const VertexId to = program.symbol(loss, where).vertex();
  const auto mark = [](Program& in, const std::vector<VertexId>& checkpoints) {
    if constexpr (graph::is_differentiable<Backend>) {
      for (const VertexId v : checkpoints) {
        in.state()->records.checkpoints.push_back(v);
      }
    }
  };
  const auto fits = [&](const std::vector<VertexId>& checkpoints, Text& why) {
    Program copy(program);
    mark(copy, checkpoints);
    try {
      static_cast<void>(attempt(copy));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory) throw;
      why = error.sentence();
      return false;
    }
    return true;
  };
  Text why;
  const graph::ForwardPass forward(program.graph(), to);
  std::vector<VertexId> checkpoints;
  int tried = 1;
  bool found = fits(checkpoints, why);
  for (const int segments : graph::segment_counts) {
    if (found || !forward.takes(segments)) break;
    std::vector<VertexId> next = forward.checkpoints(segments);
    if (next == checkpoints) continue;
    checkpoints = std::move(next);
    tried = segments;
    found = fits(checkpoints, why);
  }
  if (!found) {
    core::fail(ErrorKind::memory, where, "checkpoints do not save enough memory (of ", loss.name(),
               ", whose forward pass was cut into up to ", tried, " segments); ", why);
  }
  mark(program, checkpoints);
  return attempt(program);
}

}  // namespace eindecomp
