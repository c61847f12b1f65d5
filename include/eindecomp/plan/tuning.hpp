// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The planner's hand-set constants, each with its unit. What a user may want to change is in
/// DecomposeOptions instead.
///
/// The limits of searches bound the time of planning. They were set with benchmarks/plan_time and
/// benchmarks/plan_quality: on the latter's 106 programs no strategy's plan moves fewer words than
/// that of `placed`, and a LLaMA prefill is placed on 1,024 workers within seconds. No machine's
/// speed enters: the same program gives the same plan everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "eindecomp/core/types.hpp"

namespace eindecomp::plan::tuning {

// --- The strategy `placed`: words ---------------------------------------------------------------

/// Units of WordCounter::spent in one unit of SearchEffort::placed.
inline constexpr std::int64_t placed_effort_unit = 1'000'000;
/// Regions that readers need of one tensor, up to which words are counted in closed form: its terms
/// grow as 2 to their number.
inline constexpr std::size_t max_aligned_needs = 4;
/// Readers of one tensor up to which what they need is compared without a count of the effort, of
/// which counting words is most.
inline constexpr std::size_t max_needs_for_free = 64;
/// Receivers up to which what each needs of a tensor is kept from one count of words to the next:
/// some kilobytes each.
inline constexpr int max_receivers_kept = 4096;
/// Numbers that AgreeingIndices keeps: 8 MiB.
inline constexpr std::size_t max_agreeing_kept = std::size_t{1} << 20;
/// The budgets of `exact` where it is to give a start: the states of one table, and the additions
/// of each try (ExactOptions).
inline constexpr double max_start_states = 1 << 20;
inline constexpr double start_work[] = {0x1p33, 0x1p28, 0x1p25, 0x1p22};
/// Likewise of `k_cut` (KCutOptions).
inline constexpr std::size_t max_start_tilings = std::size_t{1} << 16;
/// Placements that a local search starts from, the best of those known.
inline constexpr std::size_t max_starts = 3;
/// Lists of labels, the same throughout a program, that are tried as a start.
inline constexpr std::size_t max_label_lists = 2000;
/// The best of those lists, which are combined pair by pair: one for outer axes, one for inner.
inline constexpr std::size_t max_mixed_lists = 8;
/// Labels of a program up to which lists of three are tried; beyond, lists of two.
inline constexpr int max_labels_for_triples = 12;
/// One part of so many of the effort is for those lists.
inline constexpr std::int64_t label_lists_share = 4;
/// Partition vectors that are tried for a statement, those that cost it least by themselves.
inline constexpr std::size_t max_vectors = 48;
/// A change of calls is not evaluated if a bound on its words exceeds the words now by more than
/// one part of so many: the bound is rough.
inline constexpr Extent bound_tolerance = 16;
/// Statements of a program below which repeated blocks are not looked for.
inline constexpr std::size_t min_statements_to_fold = 24;

// --- The strategy `placed`: all placements of small programs ------------------------------------

inline constexpr std::size_t max_exhaustive_statements = 6;
inline constexpr Extent max_exhaustive_workers = 64;
/// Ways to cut one statement or tensor.
inline constexpr std::size_t max_exhaustive_cuts = 20'000;
/// Additions of words, about.
inline constexpr std::int64_t max_exhaustive_steps = 60'000'000;
/// What one count of a tensor's words takes, in such additions: so many, and so many per receiver.
inline constexpr std::int64_t steps_per_count = 300;
inline constexpr std::int64_t steps_per_receiver = 8;

// --- The strategy `placed`: fewer workers -------------------------------------------------------

/// Numbers of workers whose words are estimated, those with the smallest prime factors first.
inline constexpr std::size_t max_estimated_counts = 64;
/// Numbers of workers that are searched, those with the least estimates.
inline constexpr std::size_t max_searched_counts = 4;
/// Programs of at most so many statements, whose search costs little, are also searched where the
/// estimate misses by 2 % what leaving workers idle must gain.
inline constexpr std::size_t max_statements_for_slack = 4;
inline constexpr double estimate_slack = 1.02;

// --- Placements by time, memory or the paper's cost ---------------------------------------------

/// Rounds in which the layouts of tensors that come and go are chosen, each for those of the
/// others.
inline constexpr int outside_rounds = 3;
/// The most layouts of a tensor that are tried for what moves outside the plan.
inline constexpr double max_outside_layouts = 256;
/// Placements from which labelings are searched, the best of those known.
inline constexpr std::size_t max_labeling_starts = 4;
/// Buffers, steps and calls that a program has per statement and rank, about.
inline constexpr double items_per_statement = 6;
/// If ranks hold too much, what a group of steps may pass on is lowered to these parts of the
/// limit.
inline constexpr std::int64_t memory_divisors[] = {2, 16, 128};
/// Of more ranks, a search within a limit of memory looks at what the first and the last hold, and
/// at all of them in the end. A profile of 32 layers on 1,024 ranks takes 1.5 seconds, or ten where
/// much is streamed; of one of these ranks 0.02.
inline constexpr int max_profiled_ranks = 64;

// --- Statements in steps: measured on attention (docs/tuning.md) --------------------------------

/// Statements of one group.
inline constexpr std::size_t max_group_statements = 32;
/// Steps of one group: programs list every step of every rank.
inline constexpr std::int64_t max_steps = 1 << 14;
/// The same where steps are for memory's sake.
inline constexpr std::int64_t max_steps_for_memory = 1 << 10;
/// What a step costs beside its work, as bytes of main memory that could have been read meanwhile.
inline constexpr std::int64_t step_bytes = 16 * 1024;

// --- Statements streamed in panels: products on four emulated nodes (docs/performance.md)

/// Panels of one statement.
inline constexpr Extent max_panels = 16;
/// The same where they are for memory's sake.
inline constexpr Extent max_panels_for_memory = 64;
/// The same, with the messages of all ranks together: programs list every one.
inline constexpr Extent max_streamed_messages = Extent{1} << 19;
/// The fewest terms of the sums of one kernel call: a BLAS reads and writes its results once for so
/// many in any case.
inline constexpr Extent min_panel_terms = 256;
/// Bytes of a panel's shortest message. The time of beginning one is to be small beside its own.
inline constexpr std::int64_t min_panel_bytes = std::int64_t{1} << 20;
/// The same where nothing is known of the network: beginning a message takes three thousandths of
/// its own time at 100 Gbit/s and 2 us.
inline constexpr std::int64_t min_free_panel_bytes = std::int64_t{1} << 23;
/// Bytes that a worker gathers, above which it is worth holding less of them: panels of 256 terms
/// took a product of two ranks that exchange through memory up to 1.03 of its time whole.
inline constexpr std::int64_t min_free_gather_bytes = std::int64_t{1} << 28;
/// The least share of a statement's time that streaming it must gain.
inline constexpr double min_streaming_gain = 0.05;

// --- Tiles: softmax of 6291 x 4000 and chains of four maps, one and two threads, 2 MiB of second
// --- cache per core.

/// Bytes of a tile's tensors together.
inline constexpr std::int64_t tile_bytes = 64 << 10;
/// The same where two statements are interleaved: more has to be begun and ended.
inline constexpr std::int64_t interleaved_tile_bytes = 96 << 10;
/// The most bytes that a thread holds of two such tiles.
inline constexpr std::int64_t max_interleaved_bytes = 256 << 10;
/// The most bytes that every tile reads again.
inline constexpr std::int64_t max_shared_bytes = 64 << 10;
/// Bytes that memory moves at once, on which tiles begin where they can.
inline constexpr std::int64_t line_bytes = 64;
/// Pieces of a row are multiples of so many elements, and so begin on cache lines as the row does.
inline constexpr Extent piece_elements = 16;
/// The most terms of a reduction in a tile: kernels share longer ones out among threads.
inline constexpr Extent max_tile_terms = 16 << 10;
/// Bytes of a result from which on it is written past the caches, as kernel::MachineRates has them.
inline constexpr std::int64_t min_streamed_bytes = 4 << 20;

// --- The strategy `exact` -----------------------------------------------------------------------

/// Sweeps over all statements that improve a labeling, if none has stopped it before.
inline constexpr int max_sweeps = 32;
/// Repartition costs, counted, up to which linearize() is affordable as another start.
inline constexpr double max_linearized_entries = 1 << 26;
/// Columns of a product over (min, +) that are held at a time: a row comes into the cache once for
/// all of them.
inline constexpr std::size_t held_columns = 16;
/// Values that share a minimum in a tree of minima.
inline constexpr std::size_t min_tree_fan = 16;

}  // namespace eindecomp::plan::tuning
