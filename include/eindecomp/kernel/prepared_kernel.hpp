// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Kernel calls made ready: chosen once, then reported, sized and run as often as one likes.
#pragma once

#include <cstdint>
#include <string>

#include "eindecomp/kernel/algorithm.hpp"

namespace eindecomp::kernel {

/// An EinSum of one signature and one shape whose algorithm has been chosen. What it says of itself
/// is what it runs. It refers to nothing: the shape, ⊗ and ⊕ have been copied into it.
///
/// Any number of threads may call its functions at a time, with workspaces, outputs and instances
/// of Space of their own.
template <class Space>
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
  /// The algorithm.
  [[nodiscard]] virtual Algorithm algorithm() const = 0;
  /// The bytes of workspace that run() needs.
  [[nodiscard]] virtual std::int64_t workspace_bytes() const { return 0; }
  /// Seconds that a run is predicted to take; 0 where the algorithm has no cost model.
  [[nodiscard]] virtual double predicted_seconds() const { return 0; }
  /// The algorithm, the product that the EinSum amounts to and, where there is a cost model, why it
  /// was chosen. \param operands, output  where the tensors lie: some algorithms store differently.
  [[nodiscard]] virtual std::string explain(const void* const* operands,
                                            const void* output) const = 0;
  /// Computes the output. Launches on `space`, which is the one it was prepared for or has as many
  /// threads, and allocates nothing. Does not fence, but where a device looks up indices.
  /// \param operands, output  the first element of each, in memory that Space can access.
  /// \param workspace  of workspace_bytes(), aligned to 64 and in use until the kernels have run;
  ///   null if that is 0.
  virtual void run(const Space& space, const void* const* operands, void* output,
                   unsigned char* workspace) const = 0;
};

/// An element-wise pass over a box made ready: a copy, or accumulators that are combined or
/// finished. Any number of threads may call it at a time, on instances of Space of their own.
template <class Space>
class PreparedBox {
 public:
  virtual ~PreparedBox() = default;
  /// Launches on `space`, does not fence and allocates nothing.
  /// \param into, from  the first element of each, in memory that Space can access.
  virtual void run(const Space& space, void* into, const void* from) const = 0;
};

}  // namespace eindecomp::kernel
