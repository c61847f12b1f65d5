// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What a user may ask of the planner.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/carried_tensor.hpp"
#include "eindecomp/plan/machine.hpp"
#include "eindecomp/relation/distribution.hpp"

namespace eindecomp {

/// The parts of one label in a partition vector given by hand.
struct LabelParts {
  Text label;        ///< its name
  Extent parts = 1;  ///< how many the label is cut into; 1: whole
};

/// The partition vector of one statement, given by hand. Labels that are not named stay whole.
struct StatementParts {
  Text statement;                 ///< its name
  std::vector<LabelParts> parts;  ///< each label at most once
};

/// What is said of where a tensor lies: how an input is to be stored, as its parts per dimension;
/// or in which distribution an input is bound or a result is wanted.
struct TensorLayout {
  constexpr TensorLayout() = default;
  /// `{"A", {4, 1}}`: the input is stored so.
  constexpr TensorLayout(Text name, std::vector<Extent> parts_of_it)
      : tensor(std::move(name)), parts(std::move(parts_of_it)) {}
  /// `{"A", rows}`: the input comes in it, or the result goes out in it. The planner stores the
  /// tensor as it likes and counts what moves in between.
  constexpr TensorLayout(Text name, Distribution lies)
      : tensor(std::move(name)), distribution(std::move(lies)) {}

  Text tensor;  ///< its name
  std::vector<Extent>
      parts;  ///< of an input, one per dimension; empty where a distribution is given
  Distribution distribution;  ///< of no rank where parts are given
};

/// Statements that are to run in steps, given by hand: block by block along labels of the first.
struct StatementSteps {
  Text first;                     ///< the name of the first statement
  Text last;                      ///< that of the last
  std::vector<LabelParts> parts;  ///< of each kernel call of the first; last label fastest
};

/// The length of tiles along one label.
struct LabelSize {
  Text label;       ///< its name
  Extent size = 1;  ///< positions of a tile
};

/// Statements whose blocks are to run tile by tile, given by hand.
struct StatementTiles {
  Text first;                    ///< the name of the first statement
  Text last;                     ///< that of the last
  std::vector<LabelSize> sizes;  ///< along one or two labels of the first; last label fastest
};

/// What makes one plan better than another.
enum class Objective : std::uint8_t {
  words,  ///< the words that the busiest rank receives; of equal ones, those of all ranks
  time,   ///< the predicted time on `machine`, transfers and kernels in turn (make_timeline)
  paper,  ///< the paper's cost
};

/// What the strategy exact may spend before it settles for a labeling with a certified gap.
struct ExactOptions {
  /// The states of one table: an elimination that leaves more is split in two, which only bounds
  /// the cost from below.
  double max_states = 1 << 24;
  /// The additions of all different eliminations together, roughly; what is left when they are
  /// spent is split likewise.
  double max_work = 0x1p35;
};

/// How much searches may do. Limits count what is done and not the time it takes, so that every
/// process on every machine finds the same plan.
struct SearchEffort {
  /// For placed, when to be content with what is found: the search on all workers, in units of some
  /// thirty milliseconds; the searches on fewer workers have half of it together. Programs of few
  /// placements take what it takes to evaluate all.
  std::int64_t placed = 45;
  /// For placed, where it must fit into memory or goes by time or the paper's cost: the buffers,
  /// steps and calls of all programs that it makes, a microsecond or a few each.
  double programs = 4'000'000;
  ExactOptions exact = {};  ///< for exact
};

/// How to decompose a program; meant for designated initialisers:
/// `decompose(g, {.workers = 16, .strategy = "square"})`.
struct DecomposeOptions {
  /// The number of kernel calls each statement is cut into where its extents allow: any number up
  /// to max_workers, or a power of two.
  int workers = 1;
  /// The number of processes that share the workers; 0: one per worker. Need not divide anything;
  /// at most max_workers, or one per worker.
  int ranks = 0;
  /// The name of one of `strategies` (strategy.hpp). The default searches and is the only one that
  /// does not work in a constant expression.
  Text strategy = "placed";
  /// For the strategy by_hand, and only for it: the partition vector of every statement, as
  /// `{{"H", {{"i", 4}, {"k", 4}}}, {"R", {{"i", 16}}}}`.
  std::vector<StatementParts> by_hand = {};
  /// Tensors whose layout is the user's, as `{{"A", {4, 1}}, {"B", rows}}`: inputs stored in so
  /// many parts; inputs that are bound, and results that are wanted, in a distribution. What moves
  /// between a distribution and the plan's layout counts when placements are compared.
  std::vector<TensorLayout> layouts = {};
  /// Results that are inputs of the next run, as `{{"W'", "W"}}` (Run::carry). The two are stored
  /// alike, unless all words together are fewer when what moves between runs is paid for.
  std::vector<CarriedTensor> carry = {};
  /// For the strategy placed: the most workers, in percent, that it may leave without work. It does
  /// so where the busiest then receives fewer words by more than the share left out. Negative: 3 %,
  /// but at least one worker.
  double max_idle = -1;
  /// For the strategy hybrid: into how many groups the workers are shared out, a divisor of their
  /// number. 0: the largest up to its square root.
  int groups = 0;
  /// Statements that run in steps (StepGroup), as `{{"T", "O", {{"h", 4}, {"s", 8}}}}`; if given,
  /// no others do, none is streamed, and no terms of a sum accumulate in its result. One that names
  /// a label which it aggregates is streamed: `{{"C", "C", {{"j", 4}}}}`.
  std::vector<StatementSteps> steps = {};
  /// Statements that threads run tile by tile (StepGroup::tiles), as `{{"T", "O", {{"s", 16}}}}`,
  /// each list within one step group or outside all; if given, no others do. Devices have no tiles.
  std::vector<StatementTiles> tiles = {};
  /// What statements that run in steps may pass on to each other at a time, in bytes: about half of
  /// the cache that a worker has to itself. Where that would take more than 16,384 steps, they pass
  /// on more. 0: only those given by hand run in steps or are streamed, and no terms accumulate.
  std::int64_t cache_bytes = std::int64_t{2} << 20;
  /// For the strategy placed: what it chooses by.
  Objective objective = Objective::words;
  /// The cluster that the plan is for: its worker r is the plan's rank r. Needed to choose by time.
  Machine machine = {};
  /// The most bytes of tensors that a rank may hold at any time: stored inputs and results,
  /// operands received or put together, accumulators and messages, as Plan::peak_bytes() has them.
  /// No strategy may exceed it; placed looks for a plan that does not. 0: the memory of `machine`.
  std::int64_t memory = 0;
  /// The threads that each rank will run on, each of which holds tiles of its own that count
  /// towards `memory`: SpaceFacts::threads of the run. 0: devices, which have no tiles; programs
  /// for a device are always planned so.
  int threads = 1;
  /// When searches are content with what they have found.
  SearchEffort effort = {};
};

/// The largest number of workers that need not be a power of two; of those that `placed` searches
/// for, and for which words from outside are counted.
inline constexpr int max_workers = 1 << 16;

namespace plan {

/// The number of processes that share the workers.
[[nodiscard]] constexpr int ranks_of(const DecomposeOptions& options) {
  return options.ranks == 0 ? options.workers : options.ranks;
}

/// The most bytes that a rank may hold; 0: no limit.
[[nodiscard]] constexpr std::int64_t memory_limit(const DecomposeOptions& options) {
  return options.memory > 0 ? options.memory : options.machine.memory;
}

/// \throws Error unless the numbers, by_hand and the machine make sense.
constexpr void check_options(const DecomposeOptions& options, const std::source_location& where) {
  if (options.workers < 1) {
    core::fail(ErrorKind::plan, where, "a plan for ", options.workers,
               " workers (a plan has at least one); give workers >= 1");
  }
  if (options.workers > max_workers &&
      !std::has_single_bit(static_cast<unsigned>(options.workers))) {
    core::fail(ErrorKind::plan, where, "a plan for ", options.workers,
               " workers (numbers that are no power of two go up to ", max_workers,
               "); give fewer, or a power of two");
  }
  if (options.workers > max_workers) {
    if (options.strategy == "placed") {
      core::fail(ErrorKind::plan, where, "the strategy placed for ", options.workers,
                 " workers (it searches for up to ", max_workers,
                 "); give fewer workers, or choose another strategy");
    }
    const bool has_distributions =
        std::any_of(options.layouts.begin(), options.layouts.end(),
                    [](const TensorLayout& given) { return given.distribution.ranks() > 0; });
    if (has_distributions || !options.carry.empty()) {
      core::fail(ErrorKind::plan, where, "a plan for ", options.workers,
                 " workers has distributions or a result that is carried (their words are counted "
                 "for up to ",
                 max_workers, " workers); leave them out, or give fewer workers");
    }
  }
  if (options.ranks < 0) {
    core::fail(ErrorKind::plan, where, "a plan for ", options.ranks,
               " ranks (a plan runs on at least one); give ranks >= 1, or 0 for one per worker");
  }
  if (options.ranks > std::max(options.workers, max_workers)) {
    core::fail(ErrorKind::plan, where, "a plan for ", options.ranks, " ranks and ", options.workers,
               " workers (ranks without a worker are idle, and there are no more than ",
               max_workers, " ranks then); give fewer ranks, or more workers");
  }
  if (!(options.max_idle <= 100)) {
    core::fail(
        ErrorKind::plan, where,
        "a plan that may leave more than all workers idle (max_idle is a share in percent); give "
        "max_idle <= 100, or leave it out");
  }
  const SearchEffort& effort = options.effort;
  // Not all of them are at least 0 if one is no number.
  if (!(effort.placed >= 0 && effort.programs >= 0 && effort.exact.max_states >= 0 &&
        effort.exact.max_work >= 0)) {
    core::fail(ErrorKind::plan, where,
               "a search of negative effort, or of one that is no number (it could not end); give "
               "numbers of at least 0 in effort, or leave it out");
  }
  check_memory_limit(options.memory, "rank", where);
  if (options.threads < 0) {
    core::fail(
        ErrorKind::plan, where, "a plan for ranks of ", options.threads,
        " threads (a rank runs on at least one, or on a device); give threads >= 1, or 0 for "
        "devices");
  }
  if (options.machine.described()) {
    check_machine(options.machine, where);
  } else if (options.objective == Objective::time) {
    core::fail(
        ErrorKind::plan, where,
        "a plan is to be chosen by time but no machine is described (the time depends on it); set "
        "machine, or another objective");
  }
  if (!options.by_hand.empty() && options.strategy != "by_hand") {
    core::fail(ErrorKind::plan, where, "partition vectors are given by hand but the strategy is '",
               options.strategy, "' (it would not look at them); set strategy = \"by_hand\"");
  }
}

}  // namespace plan
}  // namespace eindecomp
