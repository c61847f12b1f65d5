// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Training to its end: `fit(trainer, {.steps = 1000, …}, batch)`.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <ostream>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/stored_tensor.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/train/stop_signals.hpp"
#include "eindecomp/train/trainer.hpp"

namespace eindecomp {

/// How far fit() has come.
struct FitProgress {
  Extent step = 0;     ///< steps taken, those before a checkpoint included
  Extent steps = 0;    ///< when all are
  double loss = 0;     ///< of the last step
  double seconds = 0;  ///< since fit() was called
  Extent here = 0;     ///< steps taken since then
  int rank = 0;        ///< of this process
  bool last = false;   ///< whether fit() returns
};

/// What fit() is told. The same on every rank.
struct FitOptions {
  Extent steps = 0;  ///< how many the trainer shall have taken, those before a checkpoint included
  /// The rate of learning in a step; steps count from 0.
  std::function<double(Extent)> rate = [](Extent) { return 0.001; };
  Extent report_every = 0;  ///< steps between two reports; 0: none
  /// Called on every rank, and after the last step.
  std::function<void(const FitProgress&)> report = nullptr;
  Extent checkpoint_every = 0;  ///< steps between two checkpoints; 0: none but at the end
  /// Called on rank 0, with all weights and states, and after the last step.
  std::function<void(const Checkpoint&)> checkpoint = nullptr;
};

/// A report that rank 0 prints, each over the one before: "step 300 of 1000, loss 0.0123, 41.2
/// steps/s".
[[nodiscard]] inline std::function<void(const FitProgress&)> progress_line(std::ostream& out) {
  return [&out](const FitProgress& p) {
    if (p.rank != 0) return;
    char line[128];
    std::snprintf(line, sizeof line, "\rstep %lld of %lld, loss %.4g, %.1f steps/s   ",
                  static_cast<long long>(p.step), static_cast<long long>(p.steps), p.loss,
                  p.seconds > 0 ? static_cast<double>(p.here) / p.seconds : 0.0);
    out << line << (p.last ? "\n" : "") << std::flush;
  };
}

/// Lets a trainer take steps until it has taken `options.steps`. SIGINT and SIGTERM, sent to any
/// rank, end it after the step at hand and a checkpoint. Collective.
/// \param batch  called with the step's number, from 0: bindings of all inputs but weights, states
///   and the rate, a vector of Binding<Space>. Where training was resumed it goes on with the
///   number that it stopped before, so that what it draws by that number (Batches, uniform_numbers)
///   is the same.
/// \returns whether all steps were taken, and no signal came.
/// \throws Error as Trainer::step(); what `checkpoint` throws ends it on all ranks alike.
template <class T, class Space, comm::Communicator Group, class Batch>
bool fit(Trainer<T, Space, Group>& trainer, const FitOptions& options, const Batch& batch,
         std::source_location where = std::source_location::current()) {
  using Clock = std::chrono::steady_clock;
  const StopSignals signals;
  const Clock::time_point begin = Clock::now();
  const Extent first = trainer.steps();
  bool stopped = false;
  while (!stopped && trainer.steps() < options.steps) {
    const Extent n = trainer.steps();
    trainer.step(options.rate(n), std::vector<Binding<Space>>(batch(n)), where);
    stopped = trainer.any(signals.raised(), where);
    const bool last = stopped || n + 1 == options.steps;
    const auto is_due = [&](Extent every) { return last || (every > 0 && (n + 1) % every == 0); };
    if (options.report != nullptr && is_due(options.report_every)) {
      const std::chrono::duration<double> passed = Clock::now() - begin;
      options.report({n + 1, options.steps, static_cast<double>(trainer.loss(where)),
                      passed.count(), n + 1 - first, trainer.rank(), last});
    }
    if (options.checkpoint != nullptr && is_due(options.checkpoint_every)) {
      const Checkpoint made = trainer.checkpoint(where);
      trainer.on_first_rank([&] { options.checkpoint(made); }, where);
    }
  }
  return !stopped;
}

}  // namespace eindecomp
