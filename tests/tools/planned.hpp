// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tool does with a file, in one function that one translation unit compiles.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace eindecomp_tests {

/// A plan as JSON, or what is wrong.
struct Planned {
  nlohmann::ordered_json plan;  ///< null if something is wrong
  std::string complaint;        ///< one line then
  bool was_read = false;        ///< whether the program was
};

Planned planned(std::string_view text, int workers, const std::string& strategy,
                bool rewrite = false);

}  // namespace eindecomp_tests
