// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The one exception of the library and the grammar of its messages.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

#include "eindecomp/core/text.hpp"

namespace eindecomp {

/// What every public function throws when it is handed something it cannot work with.
///
/// Grammar: `EinDecomp: problem (why it is one); what to do [file:line]`. The problem names the
/// label, the extents and the tensors; the place is the caller's, not ours.
class Error : public std::runtime_error {
 public:
  explicit Error(std::string_view sentence,
                 std::source_location where = std::source_location::current())
      : std::runtime_error(format(sentence, where)), m_where(where) {}

  /// The caller's line the error speaks of.
  [[nodiscard]] const std::source_location& where() const noexcept { return m_where; }

 private:
  [[gnu::cold]] static std::string format(std::string_view sentence,
                                          const std::source_location& where) {
    std::string text = "EinDecomp: ";
    text += sentence;
    // An error that reached us from another process has no place of its own.
    if (where.line() != 0) {
      text += " [";
      text += where.file_name();
      text += ':';
      text += std::to_string(where.line());
      text += ']';
    }
    return text;
  }

  std::source_location m_where;
};

namespace detail {

/// Throws; kept out of line of constexpr code so that a failing check in a constant expression
/// shows the sentence's call in the compiler's output.
[[noreturn, gnu::cold]] inline void fail(
    std::string_view sentence, std::source_location where = std::source_location::current()) {
  throw Error(sentence, where);
}

}  // namespace detail
}  // namespace eindecomp
