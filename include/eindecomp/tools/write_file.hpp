// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Files that are read whole, and written whole or not at all.
#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>

#include "eindecomp/core/error.hpp"

namespace eindecomp::tools {

/// All bytes of a file.
/// \throws Error, which begins with the path, if it cannot be read.
[[nodiscard]] inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  if (file && !std::filesystem::is_directory(path, ignored)) {
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file.bad()) return text;
  }
  throw Error(
      ErrorKind::io,
      Text(path.string()) + ": the file cannot be read; name one that exists and is readable",
      std::source_location{});
}

/// What a path names by symbolic links, which stay links where it is written. Those of /proc are
/// files that are open, and have no name to go by.
[[nodiscard]] inline std::filesystem::path followed(std::filesystem::path path) {
  constexpr int most_links = 40;
  std::error_code failed;
  for (int n = 0; n < most_links && path.native().rfind("/proc/", 0) != 0; ++n) {
    if (!std::filesystem::is_symlink(path, failed)) break;
    path = path.parent_path() / std::filesystem::read_symlink(path, failed);
  }
  return path;
}

/// A name beside the file of a path that nobody else uses: processes may write the same file at
/// once, and the last to rename its own wins.
[[nodiscard]] inline std::filesystem::path name_beside(const std::filesystem::path& of) {
  std::filesystem::path path = followed(of);
  path += ".partial-" + std::to_string(std::random_device{}());
  return path;
}

/// Refuses to have written `what` to a path.
[[noreturn]] inline void fail_to_write(std::string_view what, const std::filesystem::path& path,
                                       std::string_view why, const std::source_location& where) {
  core::fail(ErrorKind::io,
             "cannot write " + Text(what) + " to " + Text(path.string()) + " (" + Text(why) +
                 "); give a path in a folder that exists, is writable and has room",
             where);
}

/// Why the last write failed, as far as the system says.
[[nodiscard]] inline std::string why_not_written() {
  return errno != 0 ? std::generic_category().message(errno) : "it does not take it";
}

/// Whether a path names something that is no file to be replaced, such as /dev/stdout.
[[nodiscard]] inline bool is_no_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path named = followed(path);
  return std::filesystem::is_symlink(named, ignored) || std::filesystem::is_other(named, ignored);
}

/// Puts a file that is complete in another's place; on an error removes it.
/// \throws Error if that cannot be done.
inline void put_in_place(const std::filesystem::path& complete, const std::filesystem::path& path,
                         std::string_view what, const std::source_location& where) {
  std::error_code failed;
  std::filesystem::rename(complete, followed(path), failed);
  if (!failed) return;
  std::error_code ignored;
  std::filesystem::remove(complete, ignored);
  fail_to_write(what, path, failed.message(), where);
}

/// Writes a new file, or to a device. On an error nothing is left of a file.
/// \param shown  the path that the message names
/// \throws Error if it cannot be written.
inline void write_file(const std::filesystem::path& path, std::string_view content,
                       const std::filesystem::path& shown, std::string_view what,
                       const std::source_location& where) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (file) return;
  const std::string why = why_not_written();
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  fail_to_write(what, shown, why, where);
}

/// Writes a file, which is replaced as a whole or, on an error, left as it was; a link to it stays
/// one. What is no file, such as /dev/stdout, is written to.
/// \param what  what it holds, for the message
/// \throws Error if the file cannot be written.
inline void replace_file(const std::filesystem::path& path, std::string_view content,
                         std::string_view what, const std::source_location& where) {
  if (is_no_file(path)) return write_file(path, content, path, what, where);
  const std::filesystem::path partial = name_beside(path);
  write_file(partial, content, path, what, where);
  put_in_place(partial, path, what, where);
}

/// A file beside another, removed where it has not been put in that one's place.
class PartialFileGuard {
 public:
  explicit PartialFileGuard(const std::filesystem::path& beside) : m_path(name_beside(beside)) {}
  PartialFileGuard(const PartialFileGuard&) = delete;
  PartialFileGuard& operator=(const PartialFileGuard&) = delete;
  ~PartialFileGuard() {
    std::error_code ignored;
    std::filesystem::remove(m_path, ignored);
  }
  /// Where it lies.
  [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

 private:
  std::filesystem::path m_path;
};

}  // namespace eindecomp::tools
