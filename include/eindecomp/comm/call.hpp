// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A collective call as errors name it.
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace eindecomp::comm {

/// A call that all ranks of a group must make: what it is, of which tensor, and the caller's line.
class Call {
 public:
  Call() = default;
  /// \param what "run", "gather of C": the same on every rank where the ranks are in the same call.
  Call(std::string what, const std::source_location& where)
      : m_what(std::move(what)), m_where(where) {}

  /// "gather of C".
  [[nodiscard]] std::string_view what() const { return m_what; }
  /// The caller's line.
  [[nodiscard]] const std::source_location& where() const { return m_where; }

  /// "gather of C [solver.cpp:31]".
  [[nodiscard]] std::string text() const {
    if (m_where.line() == 0) return m_what;
    return m_what + " [" + m_where.file_name() + ':' + std::to_string(m_where.line()) + ']';
  }

 private:
  std::string m_what;
  std::source_location m_where;
};

}  // namespace eindecomp::comm
