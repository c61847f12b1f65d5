// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How a scan is walked: from the shape alone, so that results do not depend on the number of
/// threads.
#pragma once

#include <algorithm>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {

/// A scan in pieces. An output is what the pieces before its own aggregate, combined with what its
/// own does up to there: pieces can be aggregated at a time, and be continued once it is known what
/// comes before them.
struct ScanSchedule {
  static constexpr int operand = 0;
  static constexpr int output = 1;

  /// Over all labels but the scan's. Loop 0 counts strips of scans that are neighbours.
  LoopNest<2> outer;
  int width = 1;             ///< scans of a strip
  int last_width = 1;        ///< scans of the last strip of loop 0
  Extent piece = 1;          ///< elements of a piece, at most
  Extent before = 0;         ///< elements that come before the first output
  Extent length = 0;         ///< outputs of a scan
  Extent step[2]{};          ///< in its direction, from one element of a scan to the next
  Extent first[2]{};         ///< from the first element of the call to the first of a scan
  Extent strips = 0;         ///< outer.size()
  Extent pieces_before = 0;  ///< of `before` elements
  Extent pieces = 0;         ///< of a scan
  bool backwards = false;    ///< a scan ends at the first element

  ScanSchedule() = default;
  /// \param shape  one with LocalEinsum::scan
  /// \param strip  scans of a strip, at most
  /// \param group  how many pieces are computed in turns
  /// \param most   elements of a piece; where `enough` is given the fewest, since what each piece
  ///   aggregates is carried on one by one
  /// \param enough  pieces of all scans together that keep a device busy; 0 of a host
  ScanSchedule(const LocalEinsum& shape, int strip, int group, Extent most, Extent enough = 0) {
    const int along = shape.scan.along;
    const int over = shape.scan.over;
    backwards = shape.scan.backwards;
    length = shape.extent[along];
    step[operand] = shape.operand_stride[0][along];
    step[output] = shape.output_stride[along];
    before = shape.begin[along];
    first[operand] = -before * step[operand];
    if (backwards) {
      before = shape.extent[over] - before - length;
      first[operand] = (before + length - 1) * step[operand];
      first[output] = (length - 1) * step[output];
      for (Extent& s : step) s = -s;
    }
    for (int l = 0; l < shape.labels; ++l) {
      if (l == along || l == over || shape.extent[l] == 1) continue;
      outer.push(shape.extent[l], {shape.operand_stride[0][l], shape.output_stride[l]});
    }
    outer.sort_by(output);
    outer.merge();
    cut_strips(strip);
    strips = length > 0 ? outer.size() : 0;
    piece = enough > 0 ? std::max(most, ceil_div(strips * (before + length), enough))
                       : std::clamp<Extent>(length / group,
                                            std::min<Extent>(most, tuning::min_scan_piece), most);
    pieces_before = ceil_div(before, piece);
    pieces = pieces_before + ceil_div(length, piece);
  }

  /// The elements of a scan that a piece has: from `begin` on, which is relative to `before` and
  /// negative in pieces before that.
  struct Piece {
    Extent begin;
    Extent size;
  };
  [[nodiscard]] EINDECOMP_FUNCTION Piece piece_at(Extent number) const {
    const bool is_before = number < pieces_before;
    const Extent at = (is_before ? number : number - pieces_before) * piece;
    const Extent rest = (is_before ? before : length) - at;
    return {is_before ? at - before : at, rest < piece ? rest : piece};
  }

  [[nodiscard]] EINDECOMP_FUNCTION int width_at(const Cursor<2>& strip) const {
    return strip.coordinate[0] == outer.extent[0] - 1 ? last_width : width;
  }

 private:
  /// Makes strips along a loop whose elements are neighbours, where those of a scan are not.
  void cut_strips(int strip) {
    int best = -1;
    const bool along =
        (step[output] == 1 || step[output] == -1) && (step[operand] == 1 || step[operand] == -1);
    for (int l = 0; l < outer.loops && !along && strip > 1; ++l) {
      if (outer.stride[operand][l] == 1 && outer.stride[output][l] == 1) best = l;
    }
    if (best < 0) {
      outer.push_if_none();
      return;
    }
    outer.make_fastest(best);
    const Extent extent = outer.extent[0];
    if (extent == 0) return;
    width = static_cast<int>(std::min<Extent>(strip, extent));
    outer.extent[0] = ceil_div(extent, width);
    last_width = static_cast<int>(extent - (outer.extent[0] - 1) * width);
    for (auto& stride : outer.stride) stride[0] = width;
  }
};

}  // namespace eindecomp::kernel::detail
