// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A part of a kernel call: what calls are cut into whose operands end early or have periods.
#pragma once

#include <cstdint>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/local_einsum.hpp"

namespace eindecomp::run {

/// A part of a kernel call, and by how many bytes its tensors begin behind those of the whole.
struct CallPart {
  kernel::LocalEinsum shape;
  std::int64_t operands[kernel::max_operands]{};
  std::int64_t output = 0;

  /// Keeps `extent` values of a label, from position `first` on. LocalEinsum::begin stays.
  /// \param bytes  of an element of each operand and, last, of the output
  void narrow(int label, Extent first, Extent extent, const std::vector<std::int64_t>& bytes) {
    for (int o = 0; o < shape.operands; ++o) {
      operands[o] += first * shape.operand_stride[o][label] * bytes[to_index(o)];
    }
    output += first * shape.output_stride[label] * bytes.back();
    shape.extent[label] = extent;
  }
};

}  // namespace eindecomp::run
