// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Whole tensors on the host with their names: what is written to files and read from them.
#pragma once

#include <string>
#include <vector>

#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"

namespace eindecomp {

/// A tensor's elements, apart from any program.
struct StoredTensor {
  Text name;                  ///< of the tensor
  ElementType element;        ///< of its elements
  std::vector<Extent> bound;  ///< its extents
  std::string bytes;          ///< the elements, row-major, in the machine's order of bytes
  /// Whether all of it is equal, bit for bit.
  bool operator==(const StoredTensor&) const = default;
};

/// Where training has come to: what a Trainer needs to go on as if it had not stopped.
struct Checkpoint {
  Extent steps = 0;                   ///< that were taken
  std::vector<StoredTensor> tensors;  ///< weights, then the optimiser's states
  /// Whether all of it is equal, bit for bit.
  bool operator==(const Checkpoint&) const = default;
};

}  // namespace eindecomp
