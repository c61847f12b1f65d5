// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What every worker of a machine does when, as plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp {

/// Something a worker does from one time to another, in seconds from the start of the run.
struct Event {
  /// What is done.
  enum class Kind : std::uint8_t {
    send,       ///< a message to `peer`
    receive,    ///< the same message, there
    copy,       ///< local pieces into an assembled operand
    call,       ///< a kernel call
    aggregate,  ///< partial results combined
  };
  Kind kind = Kind::call;   ///< what is done
  VertexId statement = -1;  ///< the one that it is done for
  VertexId tensor = -1;     ///< the one that is moved, copied or written
  int peer = -1;            ///< the other worker of a message
  Extent words = 0;         ///< elements moved, copied or written
  double begin = 0;         ///< in seconds
  double end = 0;           ///< in seconds

  /// Whether it keeps the worker's processor busy; else one of its links.
  [[nodiscard]] constexpr bool computes() const {
    return kind != Kind::send && kind != Kind::receive;
  }
  /// How long it takes.
  [[nodiscard]] constexpr double seconds() const { return end - begin; }
};

/// When one statement is run; if it runs in steps, all of them together.
struct StatementTime {
  VertexId statement = -1;  ///< the result of the statement
  double begin = 0;         ///< of its first event on any worker
  double end = 0;           ///< of its last
  double adds = 0;       ///< by how much the program takes longer for it; they sum up to the whole
  double transfers = 0;  ///< for which the busiest worker sends, or receives, for it
  double kernels = 0;    ///< for which the busiest worker computes and copies for it
};

/// A run, on a described machine (make_timeline) or a real one (Run::timeline).
struct Timeline {
  /// Per rank of the plan, in the order in which they are done: events of one kind of `computes`,
  /// sends and receives each one after another.
  std::vector<std::vector<Event>> events;
  std::vector<StatementTime> statements;  ///< in the order of the graph
  double seconds = 0;                     ///< until the last event ends
};

/// The timeline of these events, per rank in the order in which they were done: each statement's
/// times are theirs.
[[nodiscard]] Timeline timeline_of(const EinGraph& graph, std::vector<std::vector<Event>> events);

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/plan/statement_times.hpp"
#endif
