// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The constants that kernels are tuned by: what each counts, and what it was measured on.
///
/// MachineRates has those that another machine should have otherwise, and a program may set. The
/// rest belongs to the code, sizes of its buffers and distances of its prefetches: constants.
/// What was tried besides is in docs/tuning.md.
#pragma once

#include <cstdint>

#include "eindecomp/core/types.hpp"

namespace eindecomp::kernel {

/// What kernels assume of the machine. The defaults suit server processors with 2 MiB of second
/// cache per core; they were measured on Emerald Rapids and Zen 5, with OpenBLAS.
///
/// They are given, not measured at the start: measured ones would let two runs of a program choose
/// differently, and so round differently. The choice among algorithms depends on the ratios of the
/// rates alone.
struct MachineRates {
  // The BLAS. Measured on the TCCG contractions.
  double gemm_bytes = 340e9;     ///< multiplications a second, times bytes of an element
  double call_seconds = 0.4e-6;  ///< of a call that does nothing
  /// Of a tile that is packed or written back, beside its bytes. Rough: from batches of 8 x 8 to
  /// 16 x 16, which it leaves where they lie.
  double tile_seconds = 0.1e-6;
  double share_seconds = 5e-6;    ///< more for a call that it shares out among its threads
  double min_shared = 4 * 65536;  ///< multiplications from which on it does: OpenBLAS' figure
  Extent min_shared_terms = 50;   ///< below, its threads wait for each other as long as they work
  double min_gemm = 512;          ///< multiplications worth a call: small products
  double min_gemv = 128;          ///< the same of a matrix and a vector
  double min_blocks = 1 << 18;    ///< multiplications worth a search for blocks
  Extent min_gemv_share = 32768;  ///< multiplications of matrices and vectors worth a thread

  // Memory. Measured on the TCCG contractions, the non-temporal stores on transpositions.
  double memory_bytes = 20e9;  ///< bytes a second from memory, or to it by non-temporal stores
  double cached_bytes = 30e9;  ///< bytes a second moved within the caches
  double run_seconds = 25e-9;  ///< wait for the first line of contiguous elements
  /// Bytes of a target from which on it is written by non-temporal stores: more than a core's own
  /// caches hold.
  std::int64_t min_streamed_bytes = std::int64_t{4} << 20;

  // Workspace of products.
  /// Bytes that the tiles of a block may take up to stay in a core's own cache.
  std::int64_t cache_bytes = 512 << 10;
  /// Bytes that the tiles of all threads may take up together: less than the 32 MiB from which on
  /// glibc returns memory at once, so that every call would touch new pages.
  std::int64_t workspace_bytes = 28 << 20;
  // Panels of products over any algebra. Measured on the `semirings` benchmark, n = 1024.
  Extent packed_a_bytes = Extent{2} << 20;  ///< of all panels of A packed at once
  Extent packed_b_bytes = Extent{8} << 20;  ///< of B: more, since A is packed once for each of them
  Extent panel_pair_bytes = 224 << 10;      ///< of a panel of each operand, read by one tile
  Extent packed_group_bytes = 512 << 10;    ///< of A's panels that stay in the second cache
  Extent packed_strip_bytes = 256 << 10;    ///< of B's panels that stay there instead
};

/// The rates that kernels use. To be set, alike on all ranks, before the first kernel and the first
/// executor: what they choose, and with it the rounding of results, depends on them.
///
///     eindecomp::kernel::machine_rates.gemm_bytes = 1.5e12;
inline MachineRates machine_rates;

/// How the generic kernel cuts a shape.
struct JoinTuning {
  int tile;                 ///< elements of the vectorised loop done at once
  Extent item_joins;        ///< joins that make an item worth scheduling
  Extent part_joins;        ///< joins that make a part of a cut reduction worth an item
  Extent split_outputs;     ///< reductions to more outputs than this are never cut
  Extent partials;          ///< accumulators of all parts together, at most (and see states_bytes)
  bool dense_rows = false;  ///< the signature computes rows that are dense as one run
  int element_bytes = 8;    ///< of an element that is joined
  bool row_blocks = false;  ///< and rows that are short, wherever they lie, in one loop over rows
  Extent folded = 0;        ///< parts that one thread folds, more in two steps; 0: all

  /// Of hosts. Measured on 4096 x 6144 and 6291 x 4000.
  static constexpr JoinTuning host() { return {16, 4096, 8192, 256, 16384}; }
  /// Of devices: one output per thread, neighbouring threads on neighbouring elements, and of few
  /// outputs 65,536 parts that are folded into 256 before they are folded into one. Reckoned.
  static constexpr JoinTuning device() {
    JoinTuning tuning{1, 1, 256, 4096, 65536};
    tuning.folded = 256;
    return tuning;
  }
};

/// Constants of the code. Bytes, unless a line says otherwise.
namespace tuning {

inline constexpr int line_bytes = 64;  ///< what memory moves at once

// The cost model of products, in blas/: what a BLAS does, and sizes of blocks. Measured on the TCCG
// contractions.
inline constexpr double gemm_tile_rows = 16;    ///< it computes whole tiles of so many rows
inline constexpr double gemm_tile_columns = 4;  ///< and columns
inline constexpr double gemm_tile_terms = 8;    ///< terms of K that a tile costs besides its own
inline constexpr double gemm_terms = 384;       ///< terms of K between two accesses to the output
inline constexpr double small_gemm = 1e6;       ///< multiplications up to which it packs nothing
inline constexpr double small_gemm_time = 1.1;  ///< of these, relative to others'
inline constexpr double uncached_moves = 6;  ///< to move a tile beyond the caches, relative to one
                                             ///< within
inline constexpr double overlapped_waits = 3;  ///< waits for memory at a time while it computes
inline constexpr double shared_lines_bytes = 1 << 20;  ///< of lines that two blocks write parts of
inline constexpr Extent block_terms = 256;             ///< terms of K in a block of one thread
inline constexpr Extent shared_block_terms = 768;      ///< and in one of all threads
inline constexpr double min_block_side = 16;           ///< rows or columns of a block

// Copies and transpositions, in copy/. Measured on 6291 x 4000 and 4096 x 4096.
inline constexpr std::int64_t copy_item_bytes = 32768;     ///< that make an item worth scheduling
inline constexpr std::int64_t transpose_tile_bytes = 512;  ///< of a tile along its fastest loop
inline constexpr Extent transpose_tile_columns = 64;       ///< of a tile, in words
/// Words of rows and of columns below which a plane takes longer to begin than to transpose. Of
/// 65,536 doubles in 2 x 2 and 3 x 3.
inline constexpr Extent min_plane = 4;
/// Rows of the source in a tile that is streamed: so few that the translations of their pages are
/// still known when the next columns of these rows are read.
inline constexpr Extent streamed_tile_rows = 512;
inline constexpr std::int64_t min_streamed_run = 256;  ///< shorter runs end in too many part lines
/// Bytes of runs with gaps between them. Where shorter ones are streamed, their ends wait for parts
/// of lines: of 27 words 22, of 250 to 2000 1.2 times as long as by ordinary stores.
inline constexpr std::int64_t min_streamed_copy = std::int64_t{1} << 13;
inline constexpr std::int64_t min_copied_run = 16;    ///< shorter ones are copied across
inline constexpr std::int64_t min_streamed_word = 4;  ///< smaller words are rare
inline constexpr std::int64_t gather_buffer = 16384;  ///< of target that short runs are put into
inline constexpr std::int64_t run_prefetch = 512;     ///< of the next run, asked for at a time
inline constexpr Extent buffered_rows_ahead = 32;     ///< rows asked for ahead, of narrow planes
inline constexpr Extent box_piece = 4096;             ///< elements combined at once by an item

// Reductions and maps, in generic/. Measured on 4096 x 6144 and 6291 x 4000, chunks on softmax.
inline constexpr Extent max_panel_rows = 64;  ///< rows of outputs reduced together
/// Joins of a row, of outputs or terms side by side, below which it takes longer to begin than to
/// compute: then a loop is vectorised whose elements lie apart, if one makes longer rows. Of 2 to 7
/// columns that takes 0.1 to 1.2 of the time, of 8 doubles up to three times as long.
inline constexpr Extent min_row_joins = 8;
/// The same where rows are mapped in loops over rows, and outputs of a block of them. Of 2 x 5 to
/// 8 x 5 that takes 0.2 to 0.9 of the time, of 4 x 2 floats up to 1.4.
inline constexpr Extent min_block_row = 2;
inline constexpr Extent min_block_outputs = 9;  ///< see there
/// Elements of a row up to which it is mapped so whatever is known of its memory: to begin a row by
/// non-temporal stores, or to ask for other memory meanwhile, would take longer than it is worth.
inline constexpr Extent max_unhinted_row = 128;
/// Of reductions with fewer than min_row_joins outputs side by side and terms: what all tensors go
/// on by, together, from one output to the next of another loop, if that is vectorised instead. Up
/// to this it takes 0.2 to 0.6 of the time (`nij,nj->ni` of 3 x 3, 4 x 4 floats), beyond it up to
/// twice where the tensors come from memory.
inline constexpr std::int64_t near_outputs_bytes = 128;
/// Of accumulators that a thread has on its stack, or a cut reduction in its workspace. Of elements
/// of up to 128 bytes, and 16, there are as many as help; of larger ones fewer, and one at least.
inline constexpr Extent states_bytes = Extent{256} << 10;
// Batches of small matrices. Measured on 65,536 elements of 2 x 2 to 32 x 32.
/// Members of a batch that are interleaved at least, and of which their number is a multiple.
inline constexpr Extent min_batch_block = 16;
inline constexpr Extent max_batch_block = 256;  ///< and at most
/// Of their elements in all tensors, which stay in the first cache.
inline constexpr std::int64_t batch_block_bytes = std::int64_t{16} << 10;
/// The same of the fewest members: with more, those of 16 and more rows are slower than as they
/// are.
inline constexpr std::int64_t max_batch_block_bytes = std::int64_t{128} << 10;
inline constexpr Extent max_member_joins = 1024;  ///< of a member: more are worth packing by itself
/// Of a row of neighbouring joins that is computed where it lies; and the same of three operands
/// and more, to begin which takes longer.
inline constexpr std::int64_t min_long_row = 128;
inline constexpr std::int64_t min_long_row_of_many = 512;  ///< see there
inline constexpr Extent panel_steps = 64;  ///< positions at a time of rows that lie apart
inline constexpr Extent map_piece = 128;   ///< elements of a map that is not vectorised
/// Of operands of a map that begin anew with each row, copies of the row side by side: of 8 to 64
/// columns that takes 0.05 to 0.6 of the time that rows one by one take, of 256 as long or 0.8.
/// With 16 KiB, rows of 32 and 64 doubles took 1.2 times as long as with 8; with 4 KiB as long.
inline constexpr Extent copied_rows_bytes = Extent{8} << 10;
inline constexpr Extent min_copied_rows = 4;  ///< of which there is room: longer are not copied
inline constexpr Extent min_dense_rows = 4;   ///< of a block: fewer are mapped one by one
/// Outputs of a block of dense rows among several: to begin a smaller one takes as long as it does
/// (8 x 3 took 1.4 of the time that another loop takes, 8 x 6 0.6).
inline constexpr Extent min_dense_block = 32;
/// Vectors of a row from which on it is mapped by itself although it is dense. With AVX-512, which
/// loads and stores parts of vectors, one.
inline constexpr Extent dense_row_vectors = 16;
/// Bytes of a row of a map, of rows apart: where shorter ones are streamed, their ends wait for
/// parts of lines. Of stencils with rows of 1 to 16 KiB, 0.46 to 1.0 of the rate without.
inline constexpr std::int64_t min_streamed_row = std::int64_t{1} << 14;
/// What a map of three operands and more that is streamed asks for ahead, of each operand but those
/// that another one is so near before. Of stencils of seven points, 192^3 to 256^3.
inline constexpr std::int64_t operand_prefetch = 2048;
inline constexpr std::int64_t near_operands = 8192;  ///< see there
/// The same with AVX-512: the caches of such machines hold planes of a stencil, and to ask for them
/// again costs as much as to load them (192^3 to 322^3: 1.10 to 1.17 times the rate).
inline constexpr std::int64_t near_wide_operands = std::int64_t{2} << 20;
/// Lines that a map with masks asks for of what its next row reads. Of (t <= s) * X(h, s, t), 1024
/// floats a row: none 1.35, 12 1.10, 24 1.0 times as long as 2 * X.
inline constexpr Extent asked_lines = 24;
inline constexpr Extent chunk_vectors = 16;  ///< vectors of a chunk of interleaved maps

// Scans, in scan/. Measured on 2^20 doubles and 1024 x 1024.
inline constexpr int scan_group = 4;          ///< pieces of a scan computed in turns
inline constexpr int scan_piece = 256;        ///< elements of a piece, at most
inline constexpr int min_scan_piece = 64;     ///< and at least
inline constexpr int scan_strip = 512;        ///< neighbouring scans computed together
inline constexpr Extent min_scan_groups = 8;  ///< of a scan that threads share
// Maps of operands that lie across. Measured on 4000 x 4000 doubles.
inline constexpr Extent crossed_rows = 32;         ///< of a block that is put in order for a map
inline constexpr Extent crossed_length = 512;      ///< of these rows
inline constexpr Extent min_crossed_length = 256;  ///< shorter rows stay in cache as they lie
inline constexpr Extent min_crossed_rows = 32;     ///< and so do fewer
inline constexpr Extent crossed_items = 64;        ///< items of a map, if it has as many blocks

// Of devices. Reckoned.
inline constexpr int device_scan_piece = 64;  ///< elements of a piece, one thread's, at least
/// Multiplications that make one of several calls of the BLAS worth its launch, of some
/// microseconds. One kernel of the library's own computes smaller ones together.
inline constexpr double min_device_call = 1e6;
inline constexpr Extent device_lookup_items = 32768;  ///< of gathers and scatters, not measured
/// Scans, or pieces of them, that keep a device busy, one thread each.
inline constexpr Extent device_scans = 16384;

// Products over any algebra, in semiring/. Measured on the `semirings` benchmark, n = 1024.
/// Joins, positions of K, rows and columns below which the generic kernel is at least as fast.
inline constexpr Extent min_packed_joins = 4096;
inline constexpr Extent min_packed_steps = 4;         ///< as above
inline constexpr Extent min_packed_side = 4;          ///< as above, rows and columns
inline constexpr Extent min_windows_side = 2;         ///< the same beside a BLAS, of windows
inline constexpr Extent max_packed_steps = 1024;      ///< positions of K packed at once
inline constexpr Extent min_packed_block_steps = 64;  ///< positions of K, whatever the rates say
inline constexpr Extent max_group_rows = 64;          ///< panels of A in an item
inline constexpr Extent min_packed_items = 64;        ///< of a block, if it has as many tiles
inline constexpr int panels_together = 8;  ///< at most, packed at once where rows are contiguous
inline constexpr Extent steps_together = 128;    ///< positions of K that an item packs of them
inline constexpr Extent pack_panels_ahead = 64;  ///< their rows asked for ahead
inline constexpr Extent pack_steps_ahead = 8;    ///< positions of K asked for ahead of other rows
inline constexpr Extent pack_lines_ahead = 8;    ///< lines asked for ahead along a row
inline constexpr int tile_a_ahead = 12;          ///< positions of K asked for ahead by a tile, of A
inline constexpr int tile_b_ahead = 32;          ///< the same of B, which comes from further away
inline constexpr Extent panels_in_turn = 32;     ///< of B that a row of tiles goes through at most
/// Bytes of each of them, which stays in the first cache. Of longer ones one at a time is as fast.
inline constexpr Extent short_panel_bytes = Extent{32} << 10;
/// Rows of tiles that read an operand B, and bytes of it, up to which it is not worth packing.
/// Measured on 16 x 16 to 64 x 64 doubles over min-plus.
inline constexpr Extent max_in_place_reads = 8;
inline constexpr Extent max_in_place_bytes = Extent{16} << 10;  ///< see there
inline constexpr int tile_panels_ahead = 2;  ///< panels asked for ahead of B that is not packed
// Where K is long and the outputs are few. Measured on the gradients by filters 64 → 64 of VGG and
// 3 → 96 of AlexNet.
inline constexpr Extent min_part_steps = 2048;  ///< positions of K worth an output of their own
inline constexpr Extent max_parts = 64;         ///< more of them would only be merged
/// Extents of M and N up to which parts are faster than a BLAS on several threads, and the same
/// where the operand is contiguous along K, so that panels transpose it. Measured on two threads:
/// 0.3 to 1.05 of OpenBLAS' time; beyond the second, of floats, up to 1.45.
inline constexpr Extent max_shared_side = 128;
inline constexpr Extent max_transposed_side = 64;  ///< see there
inline constexpr Extent part_unit = 8;        ///< their number is a multiple, as that of threads is
inline constexpr Extent part_step_unit = 16;  ///< their positions of K as well: whole lines
inline constexpr Extent part_outputs_bytes = Extent{8} << 20;  ///< of all parts
inline constexpr Extent part_panel_bytes = Extent{1} << 20;    ///< of both operands in a block
inline constexpr Extent min_fitting_steps = 128;  ///< positions of K that these have room for
// Where both operands are contiguous along K. Measured on VGG's gradient by filters 3 → 64.
/// As many rows, or fewer of one and more of the other: above, packing pays.
inline constexpr Extent max_dot_columns = 64;
inline constexpr Extent min_dot_run = 32;      ///< contiguous positions of K: several vectors
inline constexpr Extent min_dot_steps = 1024;  ///< positions of K: many for each sum over lanes
inline constexpr Extent dot_steps = 1024;      ///< of a row at a time, so that it stays in cache
// Where operand and output lie across each other. Measured on the TCCG contractions over min-plus.
inline constexpr Extent max_interleaved = 96;      ///< neighbours of the output transposed at once
inline constexpr Extent max_gathered_runs = 32;    ///< neighbours of the operand
inline constexpr Extent max_gathered_steps = 128;  ///< positions of K
inline constexpr Extent max_gathered = 8192;       ///< elements of all three together

// Tiles of teams of threads on devices, in semiring/tiled_*. Reckoned, not measured (docs/gpu.md).
inline constexpr int device_team_rows = 16;     ///< threads of a team along M
inline constexpr int device_team_columns = 16;  ///< and along N
inline constexpr int tiled_steps = 16;          ///< positions of K whose elements a team shares
/// Rows, columns and positions of K below which the generic kernel keeps more threads busy.
inline constexpr Extent min_tiled_rows = 16;
inline constexpr Extent min_tiled_columns = 16;  ///< as above
inline constexpr Extent min_tiled_steps = 8;     ///< as above

}  // namespace tuning
}  // namespace eindecomp::kernel
