// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How the generic kernel walks a shape: which loop is vectorised, what one item of parallel work
/// is, how long reductions are cut. What an output aggregates, in which order and by which
/// instructions, follows from the shape alone, so that results do not depend on the number of
/// threads; that only decides how many rows an item has.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/algorithm.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// The walk. A row is `tile` neighbouring positions of the vectorised loop at one position of the
/// others; that loop counts rows, as loop 0 of the nest it belongs to.
///
/// In place of loops over elements, outer.loops is over rows of outputs, or outputs, and
/// inner.loops over aggregated positions, or rows of them.
template <int Operands>
struct JoinSchedule : SplitNest<Operands> {
  using Nests = SplitNest<Operands>;
  using Nests::inner, Nests::outer, Nests::tensors;

  bool across_outputs = true;  ///< the vectorised loop is over outputs
  int last_width = 1;          ///< width of the last row of the vectorised loop
  int width = 1;               ///< width of the others
  /// Outputs are of one term each, and loops 0 and 1 give blocks of rows that follow one another
  /// without a gap. An operand's elements do so, too, are the same along each row, or begin anew
  /// with each.
  bool dense_rows = false;
  unsigned anew = 0;                ///< bit t: operand t begins anew with each dense row
  Extent vector_stride[tensors]{};  ///< along the vectorised loop
  Extent rows = 1;                  ///< outer.size()
  Extent steps = 1;                 ///< inner.size()
  Extent parts = 1;                 ///< pieces each reduction is cut into
  Extent rows_per_item = 1;
  /// The vectorised loop is over outputs, and rows of an item are reduced together: what is read
  /// are long pieces of few streams, where each row by itself would jump from page to page.
  bool panels = false;
  int values = 0;  ///< LocalEinsum::values

  JoinSchedule(const LocalEinsum& shape, const JoinTuning& tuning)
      : Nests(shape), values(shape.values) {
    // Operands end along a label alone, which only rows along it heed.
    vectorise(tuning, shape.ends.label < 0);
    // Kernels rely on a fastest loop in both nests.
    outer.push_if_none();
    inner.push_if_none();
    rows = outer.size();
    steps = inner.size();
    panels = across_outputs && tuning.tile > 1 &&
             (width == tuning.tile || steps >= 2 * tuning::panel_steps);
    const Extent outputs = rows * (across_outputs ? width : 1);
    const Extent row_joins = std::max<Extent>(1, steps) * width;
    if (outputs > 0 && outputs <= tuning.split_outputs) {
      const Extent wanted = (panels ? rows : 1) * steps * width / tuning.part_joins;
      const Extent most = std::min(tuning.partials / outputs, steps);
      parts = std::max<Extent>(1, std::min(wanted, most));
    }
    if (parts == 1) {
      rows_per_item = std::max<Extent>(1, tuning.item_joins / row_joins);
    } else if (panels) {
      rows_per_item = rows;
    }
  }

  /// Makes items so large that panels are read in long pieces, but no larger than that each of so
  /// many threads has some. What an output aggregates, in which order, does not depend on it.
  /// \param threads  0 of a space whose threads are not known: items stay as they are.
  void share_panels(int threads) {
    if (threads == 0 || !panels || parts > 1 || one_term()) return;
    const Extent share = ceil_div(rows, 2 * threads);
    const Extent panel = std::min(threads > 1 ? share : rows, tuning::max_panel_rows);
    rows_per_item = std::max(rows_per_item, panel);
  }

  [[nodiscard]] Extent items() const { return ceil_div(rows, rows_per_item) * parts; }

  struct Steps {
    Extent first, last;
  };
  /// The aggregated positions first <= position < last of a part; parts are of nearly equal length,
  /// as part_begin of the blocks has them.
  [[nodiscard]] EINDECOMP_FUNCTION Steps steps_of(Extent part) const {
    if (parts == 1) return {0, steps};
    const Extent quotient = steps / parts;
    const Extent rest = steps % parts;
    const Extent first = part * quotient + (part < rest ? part : rest);
    return {first, first + quotient + (part < rest ? 1 : 0)};
  }

  [[nodiscard]] Algorithm algorithm() const {
    if (rows == 0) return Algorithm::none;
    return parts > 1 ? Algorithm::split : Algorithm::direct;
  }

  /// Elements of `count` rows that follow one another along the vectorised loop, to its end or not.
  [[nodiscard]] EINDECOMP_FUNCTION Extent length_of(Extent count, bool to_end) const {
    return (count - 1) * width + (to_end ? last_width : width);
  }
  /// Those of a run: of all its rows.
  [[nodiscard]] EINDECOMP_FUNCTION Extent run_length() const {
    return length_of((across_outputs ? outer : inner).extent[0], true);
  }

  /// Whether an output is one term, the vectorised loop being over outputs.
  [[nodiscard]] EINDECOMP_FUNCTION bool one_term() const { return across_outputs && steps == 1; }

  /// Bit t says that operand t is contiguous along the vectorised loop; no bits where an operand
  /// is neither that nor the same all along.
  [[nodiscard]] EINDECOMP_FUNCTION unsigned contiguous_operands() const {
    unsigned contiguous = 0;
    for (int t = 0; t < Operands; ++t) {
      if (vector_stride[t] == 1) {
        contiguous |= 1U << t;
      } else if (vector_stride[t] != 0) {
        return 0;
      }
    }
    return contiguous;
  }

  /// Whether rows of outputs follow one another without a gap, whatever operands do.
  [[nodiscard]] bool dense_outputs() const {
    Extent length = run_length();
    for (int l = 1; l < outer.loops; ++l) {
      if (outer.stride[Operands][l] != length) return false;
      length *= outer.extent[l];
    }
    return true;
  }

  /// Number of a row's first output among all of them.
  [[nodiscard]] EINDECOMP_FUNCTION Extent first_output(Extent row) const {
    return row / outer.extent[0] * run_length() + row % outer.extent[0] * width;
  }

  /// Accumulators held between the two stages of a split reduction; the last row of outputs may
  /// leave some unused.
  [[nodiscard]] Extent partials() const { return rows * (across_outputs ? width : 1) * parts; }

 private:
  /// Whether dense_rows holds if this loop over outputs is vectorised, and is worth it.
  [[nodiscard]] bool makes_dense_rows(int loop) const {
    if (outer.loops < 2 || inner.loops > 0) return false;
    const int next = loop == 0 ? 1 : 0;  // is loop 1 then
    const Extent block = outer.extent[loop] * outer.extent[next];
    if (outer.loops > 2 && block < tuning::min_dense_block) return false;
    for (int t = 0; t < tensors; ++t) {
      const bool same = t < Operands && outer.stride[t][loop] == 0;
      const bool dense = outer.stride[t][loop] == 1 && outer.stride[t][next] == outer.extent[loop];
      if (!same && !dense && !begins_anew(t, loop)) return false;
    }
    return true;
  }
  /// Whether rows of this loop over outputs are contiguous, or the same all along, in all tensors.
  [[nodiscard]] bool makes_row_blocks(int loop) const {
    if (outer.loops < 2 || inner.loops > 0 || outer.stride[Operands][loop] != 1) return false;
    int contiguous = 0;
    for (int t = 0; t < Operands; ++t) {
      if (outer.stride[t][loop] != 0 && outer.stride[t][loop] != 1) return false;
      contiguous += static_cast<int>(outer.stride[t][loop]);
    }
    const Extent length = outer.extent[loop];
    return contiguous > 0 && length >= tuning::min_block_row &&
           length * outer.extent[loop == 0 ? 1 : 0] >= tuning::min_block_outputs;
  }
  /// Whether an operand then begins anew with each row.
  [[nodiscard]] bool begins_anew(int tensor, int loop) const {
    return tensor < Operands && outer.stride[tensor][loop] == 1 &&
           outer.stride[tensor][loop == 0 ? 1 : 0] == 0;
  }

  /// Whether a loop over outputs has many whose elements lie within a few lines of memory.
  [[nodiscard]] bool has_near_outputs(int element_bytes) const {
    for (int l = 0; l < outer.loops; ++l) {
      Extent step = 0;
      for (int t = 0; t < tensors; ++t) step += std::abs(outer.stride[t][l]);
      const bool near = step * element_bytes <= tuning::near_outputs_bytes;
      if (near && outer.extent[l] >= tuning::min_row_joins) return true;
    }
    return false;
  }

  /// How well a loop lends itself to vectorisation: contiguous tensors, then length.
  /// \param short_rows  it makes rows of few joins, which is worth less than any that does not
  static int worth(const LoopNest<tensors>& nest, int loop, bool output, bool short_rows) {
    if (nest.extent[loop] == 0) return -1;
    int contiguous = 0;
    for (int t = 0; t < (output ? tensors : Operands); ++t) {
      if (nest.stride[t][loop] == 1) contiguous += 2;
      if (nest.stride[t][loop] == 0) contiguous += 1;
    }
    if (short_rows) return contiguous;
    constexpr int most_contiguous = 2 * tensors;
    return most_contiguous + 4 * contiguous + (output ? 2 : 4) + (nest.extent[loop] >= 8 ? 8 : 0);
  }

  void vectorise(const JoinTuning& tuning, bool any_loop) {
    const int tile = tuning.tile;
    int best = -1;
    int best_worth = -1;
    const Extent terms = inner.loops > 0 ? inner.size() : 1;
    const bool may_choose = any_loop && tile > 1;
    const auto is_short = [may_choose](Extent joins) {
      return may_choose && joins < tuning::min_row_joins;
    };
    const auto is_dense = [&](int loop) { return tuning.dense_rows && makes_dense_rows(loop); };
    // Few outputs, of few terms each, are worth less than many that lie near each other.
    const bool terms_count =
        terms >= tuning::min_row_joins || !has_near_outputs(tuning.element_bytes);
    const auto is_block = [&](int loop) { return tuning.row_blocks && makes_row_blocks(loop); };
    for (int l = 0; l < outer.loops; ++l) {
      const Extent joins = outer.extent[l] * (terms_count ? terms : 1);
      const bool short_rows = is_short(joins) && !is_dense(l) && !is_block(l);
      const int w = worth(outer, l, true, short_rows);
      if (w > best_worth) {
        best = l;
        best_worth = w;
      }
    }
    if (tile > 1) {
      for (int l = 0; l < inner.loops; ++l) {
        const int w = worth(inner, l, false, is_short(terms));
        if (w > best_worth) {
          best = l;
          best_worth = w;
          across_outputs = false;
        }
      }
    }
    if (best < 0) return;
    dense_rows = across_outputs && is_dense(best);
    for (int t = 0; dense_rows && t < Operands; ++t) {
      if (begins_anew(t, best)) anew |= 1U << t;
    }
    LoopNest<tensors>& nest = across_outputs ? outer : inner;
    nest.make_fastest(best);
    const Extent length = nest.extent[0];
    if (length == 0) return;
    const Extent count = ceil_div(length, tile);
    width = static_cast<int>(std::min<Extent>(tile, length));
    last_width = static_cast<int>(length - (count - 1) * tile);
    nest.extent[0] = count;
    for (int t = 0; t < tensors; ++t) {
      vector_stride[t] = nest.stride[t][0];
      nest.stride[t][0] *= tile;
    }
  }
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
