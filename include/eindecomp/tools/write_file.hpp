// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Files that are written whole or not at all.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>

#include "eindecomp/core/error.hpp"

namespace eindecomp::detail {

/// A name beside a path that nobody else uses: processes may write the same file at once, and the
/// last to rename its own wins.
[[nodiscard]] inline std::filesystem::path name_beside(std::filesystem::path path) {
  path += ".partial-" + std::to_string(std::random_device{}());
  return path;
}

/// Refuses to have written `what` to a path.
[[noreturn]] inline void fail_to_write(std::string_view what, const std::filesystem::path& path,
                                       std::string_view why, const std::source_location& where) {
  fail(ErrorKind::io,
       "cannot write " + Text(what) + " to " + Text(path.string()) + " (" + Text(why) +
           "); give a path in a folder that exists and is writable",
       where);
}

/// Puts a file that is complete in another's place; on an error removes it.
/// \throws Error if that cannot be done.
inline void put_in_place(const std::filesystem::path& complete, const std::filesystem::path& path,
                         std::string_view what, const std::source_location& where) {
  std::error_code failed;
  std::filesystem::rename(complete, path, failed);
  if (!failed) return;
  std::error_code ignored;
  std::filesystem::remove(complete, ignored);
  fail_to_write(what, path, failed.message(), where);
}

/// Writes a new file. On an error nothing is left of it.
/// \param shown  the path that the message names
/// \throws Error if the file cannot be written.
inline void write_file(const std::filesystem::path& path, std::string_view content,
                       const std::filesystem::path& shown, std::string_view what,
                       const std::source_location& where) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (file) return;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  fail_to_write(what, shown, "the file beside it could not be written", where);
}

/// Writes a file, which is replaced as a whole or, on an error, left as it was.
/// \param what  what it holds, for the message
/// \throws Error if the file cannot be written.
inline void replace_file(const std::filesystem::path& path, std::string_view content,
                         std::string_view what, const std::source_location& where) {
  const std::filesystem::path partial = name_beside(path);
  write_file(partial, content, path, what, where);
  put_in_place(partial, path, what, where);
}

}  // namespace eindecomp::detail
