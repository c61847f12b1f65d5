// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// An argument that knows its line.
#pragma once

#include <concepts>
#include <source_location>
#include <utility>

namespace eindecomp::core {

/// An argument, and the line it is given in: for functions whose last parameters are a pack, behind
/// which no default argument can be.
template <class T>
struct Located {
  T value;                     ///< the argument
  std::source_location where;  ///< of the call
  template <class From>
    requires(std::convertible_to<From, T>)
  // The caller writes the argument alone; one that is Located is no T.
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
  Located(From&& from, std::source_location line = std::source_location::current())
      : value(std::forward<From>(from)), where(line) {}
};

}  // namespace eindecomp::core
