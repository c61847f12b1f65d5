// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What errors say.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <source_location>
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

/// The same without the place, which is to be in the caller's file, of an error of that kind, if
/// one is given; of any other error, that it is another.
template <class Work>
std::string message_here(const Work& work, std::optional<eindecomp::ErrorKind> kind = std::nullopt,
                         std::string_view file = std::source_location::current().file_name()) {
  try {
    work();
  } catch (const eindecomp::Error& error) {
    const std::string what = error.what();
    if (error.where().file_name() != file) return "an error that cites another file";
    if (kind.value_or(error.kind()) != error.kind()) return "an error of another kind";
    return what.substr(0, what.rfind(" ["));
  }
  return "no error";
}

/// Checks that `work` throws an Error whose sentence contains `part`.
template <class Work>
void check_error(const Work& work, const char* part) {
  CHECK_THROWS_WITH_AS(work(), doctest::Contains(part), eindecomp::Error);
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace eindecomp_tests
