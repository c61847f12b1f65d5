// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a run may be told, and what it tells of itself.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <source_location>
#include <string_view>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp {

/// How far a run has come on this rank.
struct Progress {
  std::string_view statement;  ///< the last that something was done for
  int done = 0;                ///< stages of this rank: exchanges, copies, kernel calls
  int stages = 0;              ///< of the whole run
  double seconds = 0;          ///< since it began
};

/// Settings of an Executor. The same on every rank but for `memory_limit`, `time_limit`, `trace`
/// and `progress`.
struct ExecuteOptions {
  /// The most elements of one message, at least 1; longer transfers are cut.
  Extent chunk = comm::default_chunk;
  /// The most bytes of one message that is on its way while kernels run: somewhat less than MPI's
  /// eager limit, above which a message waits until both ranks call MPI. 0: as chunk has it.
  std::int64_t eager_bytes = run::tuning::eager_bytes;
  /// The most bytes this rank may allocate for the run: arena, results, inputs that are generated
  /// or scattered, and the kernels' workspace. Exceeding it is an Error on all ranks before the
  /// run.
  std::int64_t memory_limit = std::numeric_limits<std::int64_t>::max();
  /// The most seconds that this rank waits for others at a time, in an exchange of a run or where
  /// ranks agree on something; a call may have several such waits. After them it ends the program
  /// on all ranks, with a message that names the ranks that did not come and what they were last
  /// seen doing. 0: no limit. Time in kernels does not count.
  double time_limit = 0;
  /// Whether MPI may be given pointers to a GPU's memory by the messages of a plan; if not, they
  /// pass through the host. Unset, the MPI library is asked. What is scattered, gathered or
  /// redistributed passes through the host in any case. Without meaning where the host can reach
  /// the space's memory.
  std::optional<bool> gpu_aware_mpi = std::nullopt;
  /// Whether runs record what this rank does when, for Run::timeline(). Each stage then ends with a
  /// fence, so that kernels of a device count where they run; 40 bytes a message or kernel call.
  /// Off, it costs nothing.
  bool trace = false;
  /// Called by runs on this rank, on the thread that runs: at most ten times a second, between two
  /// stages, and once at the end where this rank has any. What it throws ends the program on all
  /// ranks with a message, for the others are in the middle of the run.
  std::function<void(const Progress&)> progress = nullptr;
};

namespace run {

/// \throws Error if messages may have no element.
inline void check_messages(const ExecuteOptions& options, const std::source_location& where) {
  if (options.eager_bytes < 0) {
    core::fail(ErrorKind::plan, where, "the option eager_bytes is ", options.eager_bytes,
               " (messages have 0 bytes at least); leave it out, or give 0 for none");
  }
  if (options.chunk >= 1) return;
  core::fail(ErrorKind::plan, where, "the option chunk is ", options.chunk,
             " (it is the most elements of a message, at least 1); leave it out, or give more");
}

}  // namespace run

/// What a redistribution moved on this rank.
struct RedistributionStatistics {
  Extent words_sent = 0;         ///< elements to other ranks, as MPI was told
  Extent words_received = 0;     ///< elements from other ranks: those of redistributed_words()
  Extent messages_sent = 0;      ///< as MPI was told: long transfers are several
  Extent messages_received = 0;  ///< the same, at this end
  double seconds = 0;            ///< from the agreement that all arrays are there to the last fence
};

/// What a run did on this rank.
struct RunStatistics {
  Extent words_sent = 0;         ///< elements to other ranks for the plan, as MPI was told
  Extent words_received = 0;     ///< elements from other ranks
  Extent messages_sent = 0;      ///< as MPI was told: a long transfer is several
  Extent messages_received = 0;  ///< the same, at this end
  double seconds = 0;            ///< from the agreement that all inputs are there to the last fence
  /// What was sent and received, and how long it took, to bring inputs from the distributions they
  /// are bound in to those of the plan, before the plan's first instruction and apart from its
  /// words.
  RedistributionStatistics inputs;
  /// Kernels that were chosen and made ready for this run: 0 where inputs lie as in the run before.
  Extent kernels_prepared = 0;
  std::int64_t arena_bytes = 0;   ///< held between runs by the executor
  std::int64_t kept_bytes = 0;    ///< of the arena, what is kept of constants for later runs
  std::int64_t result_bytes = 0;  ///< of the run, then kept by the executor for a later one
  /// Of inputs the executor filled, and what their messages took (1 MiB if any was scattered);
  /// those bound in place count 0.
  std::int64_t input_bytes = 0;
  std::int64_t workspace_bytes = 0;  ///< of kernels, held between runs by the executor
  /// The most bytes that the run needed: arena, results, inputs, workspace. The executor may keep
  /// up to twice as many bytes of results again.
  [[nodiscard]] std::int64_t peak_bytes() const {
    return arena_bytes + result_bytes + input_bytes + workspace_bytes;
  }
};

}  // namespace eindecomp
