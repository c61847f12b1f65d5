// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What goes round from one run of a program to the next, by name.
#pragma once

#include "eindecomp/core/text.hpp"

namespace eindecomp {

/// A result that is an input of the next run.
struct CarriedTensor {
  Text next;   ///< the result
  Text input;  ///< the input, of the same extents and value type
};

}  // namespace eindecomp
