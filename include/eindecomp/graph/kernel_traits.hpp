// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What the planner knows of kernels.
#pragma once

namespace eindecomp {

/// What the kernels of a statement are known for, whatever its extents. Nothing is known of those
/// of a program that is never run.
struct KernelTraits {
  bool tiles = false;          ///< they may be called on tiles, each by one thread
  bool copies = false;         ///< where nothing is aggregated they only move elements
  bool multiplies = false;     ///< products of matrices have an algorithm of their own
  bool maps = false;           ///< element-wise, on vectors: piece by piece if their caller likes
  bool computes_long = false;  ///< longer than they write to memory
};

}  // namespace eindecomp
