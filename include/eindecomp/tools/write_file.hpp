// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Files that are read whole, and written whole or not at all.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/relation/tensor_file.hpp"

namespace eindecomp::tools {

/// Throws an error that speaks of a place in a file and of no line of code.
[[noreturn]] inline void fail_at(const std::string& place, std::string_view sentence) {
  throw Error(ErrorKind::io, place + ": " + std::string(sentence), std::source_location{});
}

/// All bytes of a file.
/// \throws Error, which begins with the path, if it cannot be read.
[[nodiscard]] inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  if (file && !std::filesystem::is_directory(path, ignored)) {
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file.bad()) return text;
  }
  fail_at(path.string(), "the file cannot be read; name one that exists and is readable");
}

/// The file that symbolic links lead to: it is replaced, and the links stay. Links in /proc are not
/// followed, for they stand for open files, which need not have a name.
[[nodiscard]] inline std::filesystem::path followed(std::filesystem::path path) {
  constexpr int max_links = 40;
  std::error_code failed;
  for (int n = 0; n < max_links && path.native().rfind("/proc/", 0) != 0; ++n) {
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

/// Begins a new file beside that of a path, which it will replace. It is not made yet.
/// \throws Error if the path names a folder, or what is no file to be replaced.
[[nodiscard]] inline relation::UnfinishedFile begin_beside(const std::filesystem::path& path,
                                                           std::string_view what,
                                                           const std::source_location& where) {
  if (is_no_file(path)) fail_to_write(what, path, "it is no file", where);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    fail_to_write(what, path, "it is a folder", where);
  }
  return relation::UnfinishedFile(name_beside(path).string());
}

/// Has the system write a file to its device, as far as that takes orders. \returns whether it did.
[[nodiscard]] inline bool flush_file(const std::filesystem::path& path) {
  errno = 0;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool flushed = ::fsync(file) == 0 || errno == EINVAL;
  ::close(file);
  return flushed;
}

/// Puts a file that is complete in another's place, with that one's permissions. It is flushed
/// before, or after a power cut the name might be an empty file's.
/// \throws Error if that cannot be done; the file is then still there.
inline void put_in_place(const std::filesystem::path& complete, const std::filesystem::path& path,
                         std::string_view what, const std::source_location& where) {
  if (!flush_file(complete)) fail_to_write(what, path, why_not_written(), where);
  const std::filesystem::path old = followed(path);
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(old, failed);
  if (std::filesystem::exists(status)) {
    std::filesystem::permissions(complete, status.permissions(), failed);
  }
  std::filesystem::rename(complete, old, failed);
  if (failed) fail_to_write(what, path, failed.message(), where);
}

/// Writes a new file, or to a device.
/// \param parts  of its content, one after the other
/// \param shown  the path that the message names
/// \throws Error if it cannot be written; what was written is then still there.
inline void write_file(const std::filesystem::path& path,
                       const std::vector<std::string_view>& parts,
                       const std::filesystem::path& shown, std::string_view what,
                       const std::source_location& where) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  for (const std::string_view part : parts) file << part;
  file.close();
  if (!file) fail_to_write(what, shown, why_not_written(), where);
}

/// Writes a file, which is replaced as a whole or, on an error, left as it was; a link to it stays
/// one, and its permissions stay. What is no file, such as /dev/stdout, is written to.
/// \param parts  of its content, one after the other
/// \param what   what it holds, for the message
/// \throws Error if the file cannot be written.
inline void replace_file(const std::filesystem::path& path,
                         const std::vector<std::string_view>& parts, std::string_view what,
                         const std::source_location& where) {
  if (is_no_file(path)) return write_file(path, parts, path, what, where);
  const relation::UnfinishedFile partial = begin_beside(path, what, where);
  write_file(partial.path(), parts, path, what, where);
  put_in_place(partial.path(), path, what, where);
}

}  // namespace eindecomp::tools
