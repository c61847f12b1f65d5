// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Where the rows, columns and steps of a packed product lie in its tensors.
#pragma once

#include <algorithm>
#include <cstddef>

#include "eindecomp/core/config.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/loop_nest.hpp"
#include "eindecomp/kernel/semiring/packed_shape.hpp"
#include "eindecomp/kernel/tuning.hpp"

namespace eindecomp::kernel::detail {
inline namespace EINDECOMP_INSTRUCTION_SET {

/// Writes the offsets in a tensor, from `origin` on, of positions first, …, first + count - 1 of a
/// nest. \returns the stride between neighbours; 0 where it is not always the same.
EINDECOMP_NEVER_INLINE inline Extent fill_offsets(const PackedShape::Nest& nest, int tensor,
                                                  Extent first, int count, Extent origin,
                                                  Extent* offset) {
  if (count <= 0) return 1;
  offset[0] = origin;
  if (nest.loops == 0) return 1;
  const Extent along = nest.stride[tensor][0];
  if (nest.loops == 1) {
    for (int i = 0; i < count; ++i) offset[i] = origin + (first + i) * along;
    return count == 1 ? 1 : along;
  }
  bool even = true;
  Cursor<3> at;
  at.seek(nest, first);
  for (int i = 0; i < count;) {
    const auto run =
        static_cast<int>(std::min<Extent>(nest.extent[0] - at.coordinate[0], count - i));
    const Extent begin = origin + at.offset[tensor];
    if (i > 0 && begin != offset[i - 1] + along) even = false;
    for (int j = 0; j < run; ++j) offset[i + j] = begin + j * along;
    at.skip(nest, run);
    i += run;
  }
  return count == 1 ? 1 : even ? along : 0;
}

/// Offsets of consecutive positions of a nest in one tensor.
template <Extent Most>
struct Offsets {
  Extent offset[static_cast<std::size_t>(Most)];
  int count = 0;
  Extent stride = 1;  ///< as fill_offsets has it

  /// Those of positions first, first + 1, … of a nest, at most `most`, not beyond `end`.
  void fill(const PackedShape::Nest& nest, int tensor, Extent first, Extent most, Extent end,
            Extent origin = 0) {
    count = static_cast<int>(std::min(most, end - first));
    stride = fill_offsets(nest, tensor, first, count, origin, offset);
  }
};

/// How many steps follow one another in a tensor from each step on.
struct StepRuns {
  int length[static_cast<std::size_t>(tuning::max_packed_steps)];
  bool few = true;  ///< on average fewer than four

  void fill(const Extent* offset, int count) {
    int runs = 0;
    for (int i = count - 1; i >= 0; --i) {
      const bool last = i == count - 1 || offset[i + 1] != offset[i] + 1;
      length[i] = last ? 1 : length[i + 1] + 1;
      if (last) ++runs;
    }
    few = 4 * runs > count;
  }
  /// Those from a step on; null where they are few.
  [[nodiscard]] const int* of(Extent step) const { return few ? nullptr : length + step; }
};

}  // namespace EINDECOMP_INSTRUCTION_SET
}  // namespace eindecomp::kernel::detail
