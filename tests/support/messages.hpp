// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What errors say.
#pragma once

#include <string>
#include <string_view>

#include "eindecomp/core/error.hpp"

namespace eindecomp_tests {

/// What the Error says that `work` throws, with its place; "no error" if it throws none.
template <class Work>
std::string message_of(const Work& work) {
  try {
    work();
  } catch (const eindecomp::Error& error) {
    return error.what();
  }
  return "no error";
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace eindecomp_tests
