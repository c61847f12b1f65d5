// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How long a plan takes on a described machine, and what it moves and holds there.
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/machine.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/plan/timeline.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/task_graph.hpp"

namespace eindecomp {

/// Whether a worker may compute while its messages are under way.
enum class Overlap : std::uint8_t {
  none,    ///< a statement's transfers, its kernels, the next statement's: one after another
  as_run,  ///< as the executor runs: messages that are posted move while kernels run, no others
  all,     ///< messages leave as soon as what they carry is there and the links are free
};

/// A run of these programs, one per rank, on a machine whose worker r is rank r.
///
/// A worker computes one thing, sends one message and receives one message at a time. A message
/// takes the latency of its link and its bytes by the bandwidth; a kernel call its operations by
/// the rate or the bytes of its operands and result by the memory's bandwidth, whichever is longer;
/// combining partial results likewise. That some of those bytes may be in a cache counts nothing,
/// but for tiles (TiledCalls), whose bytes take no time.
/// Messages leave and arrive in the order of the programs, in which the executor posts them (see
/// RankProgram), those of one statement before those of the next. Packing a message takes no time.
/// With Overlap::all messages may arrive long before they are needed, which takes memory that the
/// programs do not count: that time is one to aim at, not one to expect. With Overlap::as_run
/// kernels wait where the executor waits: for every message but those of streamed statements, and
/// for those when they are awaited. That MPI is called only now and then counts nothing.
///
/// \param programs  of all ranks, from compile_ranks()
/// \throws Error if the machine is not well described or has fewer workers than there are ranks, or
///   the programs are of different plans.
[[nodiscard]] Timeline make_timeline(
    const EinGraph& graph, const std::vector<RankProgram>& programs, const Machine& machine,
    Overlap overlap, const std::source_location& where = std::source_location::current());

/// A plan on a machine, one worker of it per rank.
struct Simulation {
  Timeline in_turn;                      ///< transfers and kernels one after the other
  Timeline as_run;                       ///< transfers while kernels run where execute() does so
  Timeline overlapped;                   ///< transfers while kernels run, wherever that is possible
  std::vector<std::int64_t> peak_bytes;  ///< of tensors, per rank
  std::vector<PairWords> pairs;          ///< pairs of ranks that exchange any, by sender, receiver
};

/// Runs a plan's programs on a machine: those that execute() runs, so the words, the memory and
/// the order are a run's own. See make_timeline() for what takes how long.
/// \throws Error as make_timeline().
[[nodiscard]] Simulation simulate(
    const Plan& plan, const Machine& machine,
    const std::source_location& where = std::source_location::current());

}  // namespace eindecomp

#ifndef EINDECOMP_SEPARATE_PLANNER
#include "eindecomp/plan/make_timeline.hpp"
#endif
