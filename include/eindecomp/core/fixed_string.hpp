// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A string that can be a template argument.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace eindecomp {

/// A string literal as a non-type template argument: label names, statement names, the einsum
/// string, and the sentences of compile-time errors.
template <std::size_t N>
struct fixed_string {
  char text[N]{};  ///< with the terminating zero

  constexpr fixed_string() = default;
  /// From a string literal, whose length it takes.
  // NOLINTNEXTLINE(google-explicit-constructor): a literal must convert.
  constexpr fixed_string(const char (&literal)[N]) { std::copy_n(literal, N, text); }

  [[nodiscard]] static constexpr std::size_t size() { return N - 1; }
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }

  constexpr bool operator==(const fixed_string&) const = default;
};

}  // namespace eindecomp
