// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Training to its end: `fit(trainer, {.steps = 1000, …}, batch)`.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <ostream>
#include <source_location>
#include <string>
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
  Extent step = 0;                        ///< steps taken, those before a checkpoint included
  Extent steps = 0;                       ///< steps taken when training is finished
  double loss = 0;                        ///< of the last step
  double seconds = 0;                     ///< since fit() was called
  Extent here = 0;                        ///< steps taken since then
  int rank = 0;                           ///< of this process
  bool last = false;                      ///< whether fit() returns
  std::vector<MetricValue> metrics = {};  ///< of the last step, those that minimise() was given
};

/// What fit() returns.
struct FitResult {
  bool finished = false;  ///< whether all steps were taken, and no signal came
  /// Of the last step. If there was none to take, its steps and `finished` alone are set.
  FitProgress progress;
  /// Whether it is finished.
  explicit operator bool() const { return finished; }
};

/// What fit() is told. The same on every rank.
struct FitOptions {
  Extent steps = 0;  ///< how many the trainer shall have taken, those before a checkpoint included
  /// The learning rate in a step; steps count from 0.
  std::function<double(Extent)> rate = [](Extent) { return 0.001; };
  Extent report_every = 0;  ///< steps between two reports; 0: none
  /// Called on every rank, and after the last step.
  std::function<void(const FitProgress&)> report = nullptr;
  Extent checkpoint_every = 0;  ///< steps between two checkpoints; 0: none but at the end
  /// Called on rank 0, with all weights and states, and after the last step.
  std::function<void(const Checkpoint&)> checkpoint = nullptr;
};

/// A report that rank 0 prints, each over the one before: "step 300 of 1000, loss 0.0123, accuracy
/// 0.931, 41.2 steps/s", with the metrics that minimise() was given.
[[nodiscard]] inline std::function<void(const FitProgress&)> progress_line(std::ostream& out) {
  return [&out, longest = std::size_t{0}](const FitProgress& p) mutable {
    if (p.rank != 0) return;
    const auto number = [](const char* format, double value) {
      char text[32];
      std::snprintf(text, sizeof text, format, value);
      return std::string(text);
    };
    std::string line = "\rstep " + std::to_string(p.step) + " of " + std::to_string(p.steps) +
                       ", loss " + number("%.4g", p.loss);
    for (const MetricValue& m : p.metrics) line += ", " + m.name + " " + number("%.4g", m.value);
    const double rate = p.seconds > 0 ? static_cast<double>(p.here) / p.seconds : 0.0;
    line += ", " + number("%.1f", rate) + " steps/s";
    longest = std::max(longest, line.size());
    line.resize(longest, ' ');  // over what is left of a longer line
    out << line << (p.last ? "\n" : "") << std::flush;
  };
}

/// Lets a trainer take steps until it has taken `options.steps`. SIGINT and SIGTERM, sent to any
/// rank, end it after the step at hand and a checkpoint. Collective.
/// \param batch  called with the step's number, from 0, or, where steps are of several
///   microbatches, with the microbatch's, numbered through: bindings of all inputs but weights,
///   states and the rate, a vector of Binding<Space>. Where training was resumed it goes on with
///   the number that it stopped before, so that what it draws by that number (Batches,
///   uniform_numbers) is the same.
/// \returns how far it came, with loss and metrics of the last step, the same on every rank.
/// \throws Error as Trainer::step(); what `checkpoint` throws ends it on all ranks alike.
template <class T, class Space, comm::Communicator Group, class Batch>
FitResult fit(Trainer<T, Space, Group>& trainer, const FitOptions& options, const Batch& batch,
              std::source_location where = std::source_location::current()) {
  using Clock = std::chrono::steady_clock;
  if (options.rate == nullptr) {
    throw Error(ErrorKind::binding,
                "fit is given no rate of learning (a step has one); give a function of the step's "
                "number",
                where);
  }
  const StopSignals signals;
  const Clock::time_point begin = Clock::now();
  const Extent first = trainer.steps();
  FitResult result{true, {first, options.steps}};
  while (result.finished && trainer.steps() < options.steps) {
    const Extent n = trainer.steps();
    trainer.step(
        options.rate(n), [&](Extent number) { return std::vector<Binding<Space>>(batch(number)); },
        where);
    result.finished = !trainer.any(signals.raised(), where);
    const bool last = !result.finished || n + 1 == options.steps;
    const auto is_due = [&](Extent every) { return last || (every > 0 && (n + 1) % every == 0); };
    const bool reports = options.report != nullptr && is_due(options.report_every);
    if (last || reports) {
      const std::chrono::duration<double> passed = Clock::now() - begin;
      result.progress = {
          n + 1,          options.steps,         static_cast<double>(trainer.loss(where)),
          passed.count(), n + 1 - first,         trainer.rank(),
          last,           trainer.metrics(where)};
      if (reports) options.report(result.progress);
    }
    if (options.checkpoint != nullptr && is_due(options.checkpoint_every)) {
      const Checkpoint made = trainer.checkpoint(where);
      trainer.on_first_rank([&] { options.checkpoint(made); }, where);
    }
  }
  // One may have come since the last step.
  result.finished = result.finished && !trainer.any(signals.raised(), where);
  return result;
}

}  // namespace eindecomp
