// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// One EinSum over blocks in the memory of one execution space, without types: the arguments of
/// every kernel, whether called by a user on views or by the executor on blocks.
#pragma once

#include <cstdint>
#include <memory>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/kernel_traits.hpp"
#include "eindecomp/kernel/algorithm.hpp"
#include "eindecomp/kernel/prepared_kernel.hpp"
#include "eindecomp/kernel/tile_kernel.hpp"

namespace eindecomp::kernel {

/// The most labels one kernel call may have, and the most operands.
inline constexpr int max_labels = 24;
using eindecomp::max_operands;
/// The most index tensors: each takes an operand, and one for the value of its label.
inline constexpr int max_index_tensors = max_operands / 2;

/// The geometry of a local EinSum: a loop nest over labels, and for each label the stride of every
/// operand and of the output (0 where a tensor lacks it, the sum of strides where it is repeated).
/// Strides are in elements.
struct LocalEinsum {
  int labels = 0;               ///< how many are in use
  int operands = 0;             ///< how many are in use
  Extent extent[max_labels]{};  ///< per label
  Extent begin[max_labels]{};   ///< the index in the whole tensor of the first position, for argmin
  bool aggregated[max_labels]{};                      ///< per label, whether the output lacks it
  Extent operand_stride[max_operands][max_labels]{};  ///< per operand and label
  Extent output_stride[max_labels]{};                 ///< per label

  /// A label whose value an index tensor holds.
  struct Lookup {
    int label = 0;      ///< the label
    Extent extent = 0;  ///< of it in the whole tensor: the indices that there are
    constexpr bool operator==(const Lookup&) const = default;
  };
  int lookups = 0;                     ///< how many of the first operands are index tensors
  Lookup lookup[max_index_tensors]{};  ///< per index tensor

  /// Of a scan (Vertex::scanned): the output aggregates of the operand, which has all elements
  /// along the label `over`, those up to its index along the label `along`, or those from there on.
  /// The operand's strides are those of the index along - over, or along + over, and its first
  /// element is that where `over` is 0; what lies beyond its ends is not read.
  struct Scan {
    int along = -1;          ///< -1: no scan, windows are read as they are
    int over = -1;           ///< the aggregated label
    bool backwards = false;  ///< from there on
    constexpr bool operator==(const Scan&) const = default;
  };
  Scan scan;  ///< see there

  /// Operands that end before a label does, as those of stencils: of its values v an operand has
  /// first <= v < last. Elsewhere the operand is 0, or what it is a period further on or back.
  struct Ends {
    int label = -1;                 ///< -1: no operand ends
    Extent first[max_operands]{};   ///< per operand
    Extent last[max_operands]{};    ///< per operand
    Extent period[max_operands]{};  ///< per operand, in values; 0: there is none
    constexpr bool operator==(const Ends&) const = default;
  };
  Ends ends;  ///< of a label alone whose neighbouring values are neighbours in the output

  bool from_windows = false;  ///< part of a product whose windows overlap, as its own may not

  int values = 0;  ///< how many of the last operands are values of labels: consecutive integers

  /// Forgets where labels begin that are not aggregated, which nobody asks: more shapes are equal.
  constexpr void forget_begins() {
    if (lookups > 0) return;  // indices are counted from them
    for (int l = 0; l < labels; ++l) {
      if (!aggregated[l] && l != scan.along) begin[l] = 0;
    }
  }
  constexpr bool operator==(const LocalEinsum&) const = default;
};

/// What a kernel call leaves in its output.
enum class Write {
  partial,     ///< accumulators of ⊕
  accumulate,  ///< accumulators, combined with those already there
  finished,    ///< final elements
};

/// Strided elements of rank <= max_rank, for copies and element-wise passes. Strides in elements.
struct StridedBox {
  int rank = 0;                    ///< dimensions in use
  Extent extent[max_rank]{};       ///< per dimension
  Extent into_stride[max_rank]{};  ///< of what is written
  Extent from_stride[max_rank]{};  ///< of what is read
};

/// The kernels of one statement on one execution space, its operators erased: the executor knows
/// the space but no longer the types. One class per operator signature and space implements it.
/// Any number of threads may call its functions at a time.
template <class Space>
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// What the kernels are known for.
  [[nodiscard]] virtual KernelTraits traits() const = 0;
  /// The EinSum of a shape made ready: output[…] = ⊕ ⊗(operands[…]) over the aggregated labels.
  /// Null if operands have ends and no kernel computes the shape with them.
  [[nodiscard]] virtual std::unique_ptr<const PreparedKernel<Space>> prepare(
      const Space& space, const LocalEinsum& shape, Write write) const = 0;
  /// The same for tiles of one thread each, as a loop nest. Null on devices, and where labels are
  /// looked up.
  [[nodiscard]] virtual std::unique_ptr<const TileKernel> prepare_tile(
      const LocalEinsum& shape) const = 0;
  /// into = into ⊕ from, both accumulators. Null where nothing is aggregated.
  [[nodiscard]] virtual std::unique_ptr<const PreparedBox<Space>> prepare_combine(
      const StridedBox& box) const = 0;
  /// into = the final elements of the accumulators `from`; the same memory where both have one size
  /// and the same strides.
  [[nodiscard]] virtual std::unique_ptr<const PreparedBox<Space>> prepare_finish(
      const StridedBox& box) const = 0;
};

}  // namespace eindecomp::kernel
