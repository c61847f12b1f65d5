// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The one exception of the library and the grammar of its messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string_view>

#include "eindecomp/core/text.hpp"

namespace eindecomp {

/// What an Error is about, for callers that act on it instead of printing it; docs/running.md says
/// what they can do.
enum class ErrorKind : std::uint8_t {
  statement,      ///< a statement breaks a rule of the language, or names a tensor it may not
  shape,          ///< ranks or extents that do not fit each other
  binding,        ///< an input or a view bound wrongly, or a result asked of a run that is none
  memory,         ///< less memory than the call needs, or than it may take
  plan,           ///< a plan, option, layout or machine that cannot be, or asked for what it lacks
  ranks,          ///< ranks that called with different programs, plans, options or tensors
  communication,  ///< MPI failed, or MPI or Kokkos is not running
  io,             ///< a file that cannot be read or written, or is not what it should be
  user,           ///< a function of the caller's threw
};

/// The name of a kind, as it stands above.
[[nodiscard]] constexpr std::string_view to_string(ErrorKind kind) {
  constexpr std::string_view names[] = {"statement", "shape",         "binding", "memory", "plan",
                                        "ranks",     "communication", "io",      "user"};
  return names[static_cast<std::size_t>(kind)];
}

/// What every public function throws when it is handed something it cannot work with.
///
/// Grammar: `EinDecomp: problem (why it is one); what to do [file:line]`. The problem names the
/// label, the extents and the tensors; the place is the caller's, not ours.
class Error : public std::runtime_error {
 public:
  /// An error about `kind`; `sentence` without the name of the library, `where` is the place it
  /// cites.
  Error(ErrorKind kind, std::string_view sentence,
        std::source_location where = std::source_location::current())
      : std::runtime_error(format(sentence, where)),
        m_kind(kind),
        m_length(sentence.size()),
        m_where(where) {}

  /// What it is about. Of an error that several ranks agreed on, that of the first rank that
  /// failed.
  [[nodiscard]] ErrorKind kind() const noexcept { return m_kind; }

  /// What it says, without the library's name before it and the place behind it.
  [[nodiscard]] std::string_view sentence() const noexcept {
    return std::string_view(what() + prefix.size(), m_length);
  }

  /// The caller's line the error speaks of.
  [[nodiscard]] const std::source_location& where() const noexcept { return m_where; }

 private:
  static constexpr std::string_view prefix = "EinDecomp: ";

  [[gnu::cold]] static Text format(std::string_view sentence, const std::source_location& where) {
    Text text;
    text << prefix << sentence;
    // An error that reached us from another process has no place of its own.
    if (where.line() != 0) text << " [" << where.file_name() << ':' << where.line() << ']';
    return text;
  }

  ErrorKind m_kind;
  std::size_t m_length;
  std::source_location m_where;
};

namespace core {

/// Throws; kept out of line of constexpr code so that a failing check in a constant expression
/// shows the sentence's call in the compiler's output.
[[noreturn, gnu::cold]] inline void fail(
    ErrorKind kind, std::string_view sentence,
    std::source_location where = std::source_location::current()) {
  throw Error(kind, sentence, where);
}

/// The same, with a sentence that is put together from texts, characters and whole numbers.
template <class... Pieces>
[[noreturn, gnu::cold]] void fail(ErrorKind kind, const std::source_location& where,
                                  const Pieces&... pieces) {
  Text sentence;
  (sentence << ... << pieces);
  throw Error(kind, sentence, where);
}

}  // namespace core
}  // namespace eindecomp
