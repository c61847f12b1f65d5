// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Compile-time errors that are sentences.
///
/// The message of a broken rule is computed in a constant expression, and static_assert takes
/// literals only. So the message becomes a template argument, which the compiler prints.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "eindecomp/core/fixed_string.hpp"
#include "eindecomp/core/text.hpp"

namespace eindecomp::core {

/// Always refused; the sentence stands in the compiler's output as the template argument.
template <fixed_string Sentence>
struct Rejected {
  static_assert(Sentence.size() == 0,
                "EinDecomp: this statement breaks a rule, see the sentence in Rejected<…>");
};

/// The text that the function Fault returns, as a template argument.
template <auto Fault>
[[nodiscard]] consteval auto sentence_of() {
  constexpr std::string_view prefix = "EinDecomp: ";
  constexpr std::size_t size = prefix.size() + Fault().size();
  fixed_string<size + 1> sentence;
  const Text fault = Fault();
  std::copy(fault.view().begin(), fault.view().end(),
            std::copy(prefix.begin(), prefix.end(), sentence.text));
  return sentence;
}

/// Refuses to compile if the function Fault returns anything but an empty string.
/// \returns true if it does not, so that callers can skip what would only add noise.
template <auto Fault>
consteval bool accept() {
  constexpr bool accepted = Fault().empty();  // clang 16 cannot destroy a text in the condition
  if constexpr (accepted) {
    return true;
  } else {
    return sizeof(Rejected<sentence_of<Fault>()>) == 0;
  }
}

/// The name of T as the compiler writes it.
template <class T>
[[nodiscard]] constexpr std::string_view type_name() {
#if defined(__clang__) || defined(__GNUC__)
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::size_t begin = text.find("T = ") + 4;
  constexpr std::size_t end = std::min(text.find(';', begin), text.rfind(']'));
  return text.substr(begin, end - begin);
#else
  return "a type";
#endif
}

}  // namespace eindecomp::core
